//! The last pass: all logs, each in order, as one.

use std::io::{self, Read};

use clockweave_model::ClockDomain;

use crate::logs::{Checks, FileLog, LineSource, Lines, LogReader, LogSource, Next, ReadError, Step};
use crate::progress::Progress;

use super::kway::{self, Ordered};
use super::part::Part;
use super::rows::Row;
use super::sort::{Chunk, ChunkLines, Sorted};
use super::survey::BUFFER;
use super::timeline::{Seconds, Timeline, push_decimal};
use super::{MergeError, OnError, read_error, scratch_error};

/// More sources than this are not all held open.
const OPEN_SOURCES: usize = 64;
/// Events between two reports of progress.
const STRIDE: u64 = 1 << 15;

enum Source {
    Log,
    Chunk(Chunk),
    File(FileLog),
}

/// Everything that is merged.
pub(super) struct Cursors<'r, T> {
    timeline: &'r T,
    memory: u64,
    sources: Vec<(Part<'r>, Source)>,
}

impl<'r, T: Timeline> Cursors<'r, T> {
    pub(super) fn new(timeline: &'r T, memory: u64) -> Self {
        Self { timeline, memory, sources: Vec::new() }
    }

    /// Adds a log that is in order as it is.
    pub(super) fn add_log(&mut self, part: Part<'r>) {
        self.sources.push((part, Source::Log));
    }

    /// Adds a log that had to be sorted.
    pub(super) fn add_sorted(&mut self, part: Part<'r>, sorted: Sorted) {
        match sorted {
            Sorted::Memory(chunk) => self.sources.push((part, Source::Chunk(chunk))),
            Sorted::Files(files) => {
                self.sources.extend(files.into_iter().map(|file| (part, Source::File(file))));
            }
        }
    }

    /// Gives `emit` every row in order; returns the rows per domain of all `clocks`.
    pub(super) fn merge(
        &self,
        clocks: &[ClockDomain],
        on_error: OnError,
        mut emit: impl FnMut(&Row<'_>) -> Result<(), MergeError>,
        progress: &mut dyn Progress,
    ) -> Result<Vec<u64>, MergeError> {
        let seconds: Vec<Seconds<'_>> = clocks.iter().map(Seconds::new).collect();
        let mut cursors = Vec::with_capacity(self.sources.len());
        for (part, source) in &self.sources {
            let mut cursor = Cursor {
                reader: self.reader(part, source)?,
                timeline: self.timeline,
                part: *part,
                seconds: &seconds[part.clock as usize],
                skips: on_error == OnError::Skip,
                stamp: Stamp::new(self.timeline.at(part.clock, 0), part.domain()),
            };
            if cursor.advance()? {
                cursors.push(cursor);
            }
        }
        let (mut written, mut count) = (vec![0; clocks.len()], 0u64);
        kway::merge(&mut cursors, |cursor| {
            let row = Row {
                run: cursor.part.run,
                catalog: cursor.part.catalog,
                domain: cursor.part.log.domain(),
                ts: cursor.stamp.ts,
                stamp: &cursor.stamp.text,
                entry: cursor.reader.entry(),
                line: cursor.reader.line(),
            };
            emit(&row)?;
            written[cursor.part.clock as usize] += 1;
            count += 1;
            if count.is_multiple_of(STRIDE) {
                progress.advance(STRIDE);
            }
            Ok(())
        })?;
        Ok(written)
    }

    fn reader<'a>(
        &'a self,
        part: &Part<'a>,
        source: &'a Source,
    ) -> Result<LogReader<'a, Feed<'a>>, MergeError> {
        let count = self.sources.len();
        let share = usize::try_from(self.memory / 4).unwrap_or(usize::MAX) / count;
        let open = |source: &'a dyn LogSource| {
            let bytes = if count > OPEN_SOURCES { source.open_lightly() } else { source.open() };
            Ok(Feed::Stream(Lines::new(bytes?, share.clamp(4096, BUFFER))))
        };
        let (feed, checks) = match source {
            Source::Log => (open(part.log.source()).map_err(read_error(part.log))?, Checks::All),
            Source::Chunk(chunk) => (Feed::Chunk(chunk.lines()), Checks::Sorted),
            Source::File(file) => (open(file).map_err(scratch_error(file.path()))?, Checks::Sorted),
        };
        Ok(part.reader(feed, checks))
    }
}

/// Lines of a file or of memory.
enum Feed<'a> {
    Stream(Lines<Box<dyn Read + Send + 'a>>),
    Chunk(ChunkLines<'a>),
}

impl LineSource for Feed<'_> {
    #[inline]
    fn advance(&mut self) -> io::Result<Step> {
        match self {
            Self::Stream(lines) => lines.advance(),
            Self::Chunk(lines) => lines.advance(),
        }
    }

    #[inline]
    fn line(&self) -> &[u8] {
        match self {
            Self::Stream(lines) => lines.line(),
            Self::Chunk(lines) => lines.line(),
        }
    }

    fn number(&self) -> u64 {
        match self {
            Self::Stream(lines) => lines.number(),
            Self::Chunk(lines) => lines.number(),
        }
    }

    fn begin(&self) -> u64 {
        match self {
            Self::Stream(lines) => lines.begin(),
            Self::Chunk(lines) => lines.begin(),
        }
    }

    fn offset(&self) -> u64 {
        match self {
            Self::Stream(lines) => lines.offset(),
            Self::Chunk(lines) => lines.offset(),
        }
    }
}

/// The time columns of one edge, kept while the edge lasts: most edges have several events.
struct Stamp<I> {
    at: I,
    cycle: Option<u64>,
    ts: i64,
    text: Vec<u8>,
    domain_id: u32,
}

impl<I> Stamp<I> {
    fn new(at: I, domain: &ClockDomain) -> Self {
        Self { at, cycle: None, ts: 0, text: Vec::with_capacity(128), domain_id: domain.id() }
    }
}

/// The order of a merged log: exact time, run, phase, domain id, unit name, ordinal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key<I> {
    at: I,
    /// Rank of the run in bits 33 on, phase in bit 32, rank of the unit by domain and name.
    place: u64,
    ordinal: u64,
}

struct Cursor<'a, T: Timeline> {
    reader: LogReader<'a, Feed<'a>>,
    timeline: &'a T,
    part: Part<'a>,
    seconds: &'a Seconds<'a>,
    skips: bool,
    stamp: Stamp<T::Instant>,
}

impl<T: Timeline> Cursor<'_, T> {
    #[inline]
    fn stamp(&mut self) {
        let cycle = self.reader.entry().fields.cycle;
        if self.stamp.cycle != Some(cycle) {
            let stamp = &mut self.stamp;
            stamp.cycle = Some(cycle);
            stamp.at = self.timeline.at(self.part.clock, cycle);
            stamp.ts = self.timeline.floor_ns(&stamp.at);
            stamp.text.clear();
            self.seconds.push(cycle, &mut stamp.text);
            push_decimal(stamp.ts.unsigned_abs(), &mut stamp.text);
            stamp.text.push(b'\t');
            push_decimal(stamp.domain_id.into(), &mut stamp.text);
            stamp.text.push(b'\t');
        }
    }
}

impl<T: Timeline> Ordered for Cursor<'_, T> {
    type Key = Key<T::Instant>;

    #[inline]
    fn key(&self) -> Self::Key {
        let entry = self.reader.entry();
        let rank = self.part.catalog.units()[entry.unit as usize].rank;
        let place =
            (u64::from(self.part.run_rank) << 33) | (u64::from(entry.fields.phase) << 32) | u64::from(rank);
        Key { at: self.stamp.at, place, ordinal: entry.fields.ordinal }
    }

    #[inline]
    fn advance(&mut self) -> Result<bool, MergeError> {
        loop {
            match self.reader.advance() {
                Ok(Next::Entry) => {
                    self.stamp();
                    return Ok(true);
                }
                Ok(Next::Torn(_)) => {}
                Ok(Next::End) => return Ok(false),
                Err(ReadError::Io(error)) => return Err(read_error(self.part.log)(error)),
                Err(ReadError::Line(_)) if self.skips => {}
                Err(ReadError::Line(error)) => return Err(error.into()),
            }
        }
    }

    fn disorder(&self) -> MergeError {
        MergeError::Changed { file: self.part.log.name().to_owned() }
    }
}
