//! One trace in one file: what is written when, and the first failure.
//!
//! # Invariants
//!
//! * A checkpoint comes before the event that is one too many, so none ends a file.
//! * A refused event changes nothing; a failed output is returned by every later call.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::encoder::names::Names;
use crate::encoder::packet::{PacketBuffers, Time};
use crate::encoder::tracks::Tracks;
use crate::encoder::{Event, Name, TraceError, Track};
use crate::error::RecordError;
use crate::pftrace::schema::TracePacket;
use crate::pftrace::{
    Blocks, CHECKPOINT_EVENTS, Compression, METADATA_PER_NAME, TRACE_BLOCK_BYTES, Wrapper, clock_snapshot,
    first_state, marker_packet,
};
use crate::writer::{Writer, WriterSetup};

/// Most bytes of one event.
const EVENT_LIMIT: usize = 64 * 1024;
/// Most bytes of one name.
const NAME_LIMIT: usize = 32 * 1024;

/// How a trace is written.
#[derive(Clone, Debug)]
pub struct PftraceOptions {
    compression: Compression,
    checkpoint_interval: Option<u64>,
    flush_interval: Option<Duration>,
    metadata_bytes: usize,
}

impl Default for PftraceOptions {
    fn default() -> Self {
        Self {
            compression: Compression::default(),
            checkpoint_interval: None,
            flush_interval: Some(Duration::from_secs(1)),
            metadata_bytes: 4 * 1024 * 1024,
        }
    }
}

impl PftraceOptions {
    /// Sets the compression. Default: deflate, level 1.
    #[must_use]
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Sets the events between two checkpoints, from which reading can resume. Default, and the most: 65,536.
    #[must_use]
    pub fn checkpoint_interval(mut self, events: u64) -> Self {
        self.checkpoint_interval = Some(events);
        self
    }

    /// Sets the host time after which what was written reaches the file at the latest, looked at with every event.
    /// `None`: only whole blocks do. At least a millisecond; default: one second.
    #[must_use]
    pub fn flush_interval(mut self, interval: Option<Duration>) -> Self {
        self.flush_interval = interval.map(|interval| interval.max(Duration::from_millis(1)));
        self
    }

    /// Sets the bytes that names and tracks may take. Default: 4 MiB.
    #[must_use]
    pub fn metadata_bytes(mut self, bytes: usize) -> Self {
        self.metadata_bytes = bytes;
        self
    }
}

/// What a closed trace was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceSummary {
    /// Events written.
    pub events: u64,
    /// Of these, how many were before the one written before them.
    pub regressed: u64,
    /// Checkpoints after the first state.
    pub checkpoints: u64,
    /// Slices that were still open; importers show them as not ended.
    pub open_slices: u64,
    /// Size of the file.
    pub file_bytes: u64,
}

/// The open outputs.
struct Running {
    blocks: Blocks,
    writer: Writer,
}

/// Writes one Perfetto trace. See the [module](crate::encoder).
///
/// Dropping it unclosed completes the file as far as the system lets it, and says so on standard error.
pub struct PftraceWriter {
    running: Option<Running>,
    failure: Option<RecordError>,
    tracks: Tracks,
    names: Names,
    buffers: PacketBuffers,
    state: TracePacket,
    interval: u64,
    /// Events until the next checkpoint.
    remaining: u64,
    metadata_left: usize,
    metadata_bytes: usize,
    /// The greatest time written.
    latest: u64,
    watermark: u64,
    summary: TraceSummary,
    path: String,
}

impl PftraceWriter {
    /// Creates the file, which must not exist.
    ///
    /// # Errors
    /// An option out of range, a file that cannot be created.
    pub fn create(path: impl AsRef<Path>, options: PftraceOptions) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let most = CHECKPOINT_EVENTS;
        let interval = options.checkpoint_interval.unwrap_or(most).min(most);
        if interval == 0 {
            let (option, expected) = ("checkpoint_interval", "a number of events above 0");
            return Err(RecordError::BadOption { option, found: 0, expected }.into());
        }
        let wrapper = Wrapper::new(options.compression)?;
        let compressed = wrapper.is_some();
        let mut setup = WriterSetup::new(path.parent().unwrap_or(Path::new("")), wrapper, Instant::now());
        setup.flush_every(options.flush_interval);
        let file = setup.create(path.file_name().unwrap_or_default())?;
        let outlet = setup.outlet(TRACE_BLOCK_BYTES, 0);
        let blocks = Blocks::new(outlet, file, compressed);
        let writer = setup.start()?;
        let mut trace = Self {
            running: Some(Running { blocks, writer }),
            failure: None,
            tracks: Tracks::new(),
            names: Names::default(),
            buffers: PacketBuffers::default(),
            state: first_state(),
            interval,
            remaining: interval,
            metadata_left: options.metadata_bytes,
            metadata_bytes: options.metadata_bytes,
            latest: 0,
            watermark: 0,
            summary: TraceSummary { events: 0, regressed: 0, checkpoints: 0, open_slices: 0, file_bytes: 0 },
            path: path.display().to_string(),
        };
        trace.write_state();
        trace.state.first_packet_on_sequence = None;
        Ok(trace)
    }

    /// Declares a track of slices and instants, below `parent` or at the top, behind its siblings. Siblings may have
    /// equal names.
    ///
    /// # Errors
    /// Names beyond their budget, a parent of another trace, the first failure of the output.
    pub fn track(&mut self, name: &str, parent: Option<Track>) -> Result<Track, TraceError> {
        self.add_track(name, parent, None)
    }

    /// Declares a track of a counter's values, in `unit`.
    ///
    /// # Errors
    /// As [`PftraceWriter::track`].
    pub fn counter_track(
        &mut self,
        name: &str,
        parent: Option<Track>,
        unit: Option<&str>,
    ) -> Result<Track, TraceError> {
        self.add_track(name, parent, Some(unit))
    }

    fn add_track(
        &mut self,
        name: &str,
        parent: Option<Track>,
        counter: Option<Option<&str>>,
    ) -> Result<Track, TraceError> {
        check_name(name)?;
        check_name(counter.flatten().unwrap_or_default())?;
        self.running()?;
        let above = parent.map_or(0, |parent| self.tracks.path_bytes(parent));
        let unit = counter.flatten().map_or(0, str::len);
        let needed = self.reserve(METADATA_PER_NAME + above + 3 * name.len() + unit)?;
        let (track, packet) = self.tracks.add(name, parent, counter)?;
        if let Some(Running { blocks, .. }) = &mut self.running {
            blocks.append(packet);
        }
        self.metadata_left -= needed;
        Ok(track)
    }

    /// The name of a text. The same text has the same name.
    ///
    /// # Errors
    /// A text of more than 32 KiB, more than 65,536 names, names beyond their budget.
    pub fn name(&mut self, text: &str) -> Result<Name, TraceError> {
        check_name(text)?;
        let (name, new) = self.names.get(text)?;
        if new {
            match self.reserve(METADATA_PER_NAME + text.len()) {
                Ok(needed) => self.metadata_left -= needed,
                Err(error) => {
                    self.names.forget_last();
                    return Err(error);
                }
            }
        }
        Ok(name)
    }

    /// Whether so many bytes are left of the budget; gives them back.
    fn reserve(&self, bytes: usize) -> Result<usize, TraceError> {
        if bytes > self.metadata_left {
            let what = "metadata budget in bytes";
            return Err(TraceError::MetadataBudget { what, budget: self.metadata_bytes });
        }
        Ok(bytes)
    }

    /// Writes an event. Times may go back, except for slices of one track, but not below the watermark; events of one
    /// time are shown in the order in which they are written.
    ///
    /// # Errors
    /// An event that the [`TraceError`] describes, which is then not part of the trace; the first failure of the output.
    pub fn write(&mut self, event: &Event<'_>) -> Result<(), TraceError> {
        self.running()?;
        if event.ns > i64::MAX.unsigned_abs() {
            return Err(TraceError::TimeRange { ns: event.ns });
        }
        if event.ns < self.watermark {
            return Err(TraceError::Late { ns: event.ns, watermark: self.watermark });
        }
        let track = self.tracks.check(event)?;
        let due = self.remaining == 0;
        if due {
            // What the event needs stated has to be known as behind the checkpoint.
            self.names.clear_state();
        }
        let regressed = event.ns < self.latest;
        let time = if regressed { Time::Absolute(event.ns) } else { Time::Delta(event.ns - self.latest) };
        let encoded = self.buffers.encode(event, time, track, &mut self.names);
        let bytes = self.buffers.entry().len();
        let too_large = TraceError::EventTooLarge { ns: event.ns, bytes, limit: EVENT_LIMIT };
        if let Err(error) = encoded.and(if bytes > EVENT_LIMIT { Err(too_large) } else { Ok(()) }) {
            self.names.undo();
            return Err(error);
        }
        if due {
            self.checkpoint();
        }
        self.names.keep();
        self.tracks.note(event);
        self.remaining -= 1;
        self.latest = self.latest.max(event.ns);
        self.summary.events += 1;
        self.summary.regressed += u64::from(regressed);
        let Some(Running { blocks, writer }) = &mut self.running else { return Ok(()) };
        blocks.append(self.buffers.entry());
        if writer.wants_attention() {
            match writer.attend() {
                Ok(true) => blocks.flush(),
                Ok(false) => {}
                Err(error) => return Err(self.fail(error)),
            }
        }
        Ok(())
    }

    fn write_state(&mut self) {
        self.names.clear_state();
        self.state.clock_snapshot = Some(clock_snapshot(self.latest));
        let Some(Running { blocks, .. }) = &mut self.running else { return };
        blocks.append(&self.state.entry());
    }

    /// Repeats what a reader needs, so that it can begin here.
    #[cold]
    fn checkpoint(&mut self) {
        self.remaining = self.interval;
        self.summary.checkpoints += 1;
        self.state.clock_snapshot = Some(clock_snapshot(self.latest));
        let Some(Running { blocks, .. }) = &mut self.running else { return };
        blocks.outside(std::iter::once(&marker_packet()).chain(self.tracks.packets()));
        blocks.append(&self.state.entry());
    }

    /// Promises that no event before `ns` comes any more: such an event is refused from here on. Writes nothing.
    ///
    /// # Errors
    /// A watermark below an earlier one, the first failure of the output.
    pub fn advance_watermark(&mut self, ns: u64) -> Result<(), TraceError> {
        self.running()?;
        if ns < self.watermark {
            return Err(TraceError::WatermarkFell { ns, last: self.watermark });
        }
        self.watermark = ns;
        Ok(())
    }

    /// Makes everything written so far reach the file. Does not change what it holds in the end.
    ///
    /// # Errors
    /// The first failure of the output.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        self.running()?;
        let Some(Running { blocks, writer }) = &mut self.running else { return Ok(()) };
        blocks.flush();
        writer.flush().map_err(|error| self.fail(error))
    }

    /// Completes the file.
    ///
    /// # Errors
    /// The first failure of the output.
    pub fn close(mut self) -> Result<TraceSummary, TraceError> {
        self.end()
    }

    fn end(&mut self) -> Result<TraceSummary, TraceError> {
        let Some(Running { mut blocks, writer }) = self.running.take() else {
            return Err(RecordError::Closed.into());
        };
        blocks.send();
        drop(blocks);
        let written = writer.join();
        if let Some(failure) = &self.failure {
            return Err(failure.clone().into());
        }
        let file_bytes = written?.bytes;
        Ok(TraceSummary { open_slices: self.tracks.open_slices(), file_bytes, ..self.summary })
    }

    fn running(&self) -> Result<(), TraceError> {
        self.failure.clone().map_or(Ok(()), |failure| Err(failure.into()))
    }

    #[cold]
    fn fail(&mut self, error: RecordError) -> TraceError {
        self.failure.get_or_insert(error).clone().into()
    }
}

impl Drop for PftraceWriter {
    fn drop(&mut self) {
        if self.running.is_none() {
            return;
        }
        match self.end() {
            Ok(_) => eprintln!("clockweave: the trace {} was not closed; it is complete", self.path),
            Err(error) => eprintln!("clockweave: the trace {} was not closed: {error}", self.path),
        }
    }
}

fn check_name(text: &str) -> Result<(), TraceError> {
    if text.len() > NAME_LIMIT {
        return Err(TraceError::NameTooLong { bytes: text.len(), limit: NAME_LIMIT });
    }
    Ok(())
}
