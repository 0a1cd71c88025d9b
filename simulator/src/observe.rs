//! The only place that names the recorder: it opens a recording for an assembled graph and passes
//! events on.
//!
//! A serial simulation submits whole instants in exact order; the recorder orders the events within
//! one. What this module adds is the mapping from the graph to streams: a unit's own events and its
//! FIFO consumes use its stream, a FIFO's commits a producer stream of each end's unit, ordered by
//! FIFO id.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clockweave_model::{FifoEntry, KindId, Phase, Seconds};
pub(crate) use clockweave_recorder::RunTotals;
pub use clockweave_recorder::{ArgsEncoding, Compression, RecordError, Stats, View};
use clockweave_recorder::{LossyRecorder, Recorder, SerialRecorder, StreamId};

use crate::graph::Assembly;

/// What to record, and where.
#[derive(Clone, Debug)]
pub struct RecordingOptions {
    dir: PathBuf,
    run_id: String,
    text: bool,
    perfetto: bool,
    compression: Compression,
    args: ArgsEncoding,
    view: View,
    checkpoint_interval: Option<u64>,
    rotate_events: Option<u64>,
    /// Zero: none.
    flush_interval: Option<Seconds>,
    open_records: Option<usize>,
    /// Whether events may be lost, and the records per ring then.
    lossy: Option<Option<usize>>,
    force: bool,
    configuration: Vec<(String, String)>,
}

impl RecordingOptions {
    /// Records text logs and a deflated trace into `dir`, which is new or empty, as run `run_id`.
    pub fn new(dir: &Path, run_id: &str) -> Self {
        Self {
            dir: dir.to_owned(),
            run_id: run_id.to_owned(),
            text: true,
            perfetto: true,
            compression: Compression::default(),
            args: ArgsEncoding::default(),
            view: View::default(),
            checkpoint_interval: None,
            rotate_events: None,
            flush_interval: None,
            open_records: None,
            lossy: None,
            force: false,
            configuration: Vec::new(),
        }
    }

    /// Whether to write text logs.
    #[must_use]
    pub fn text(mut self, on: bool) -> Self {
        self.text = on;
        self
    }

    /// Whether to write a Perfetto trace.
    #[must_use]
    pub fn perfetto(mut self, on: bool) -> Self {
        self.perfetto = on;
        self
    }

    /// Sets the trace's compression.
    #[must_use]
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Sets how arguments are encoded in the trace.
    #[must_use]
    pub fn args(mut self, args: ArgsEncoding) -> Self {
        self.args = args;
        self
    }

    /// Sets what the trace shows.
    #[must_use]
    pub fn view(mut self, view: View) -> Self {
        self.view = view;
        self
    }

    /// Sets the events between two checkpoints of the trace.
    #[must_use]
    pub fn checkpoint_interval(mut self, events: u64) -> Self {
        self.checkpoint_interval = Some(events);
        self
    }

    /// Cuts the trace into files of so many events.
    #[must_use]
    pub fn rotate_events(mut self, events: u64) -> Self {
        self.rotate_events = Some(events);
        self
    }

    /// Sets the host time after which what is recorded reaches the files at the latest, so that a killed process loses
    /// no more: at least a millisecond, one second unless set. With zero, only whole blocks are written.
    #[must_use]
    pub fn flush_interval(mut self, interval: Seconds) -> Self {
        self.flush_interval = Some(interval);
        self
    }

    /// Sets the most records of one nanosecond.
    #[must_use]
    pub fn open_records(mut self, records: usize) -> Self {
        self.open_records = Some(records);
        self
    }

    /// Loses events rather than host time: each stream has a ring, of `ring_capacity` records or a share of 8 MiB, and
    /// what a full one cannot take is counted and told.
    #[must_use]
    pub fn lossy(mut self, ring_capacity: Option<usize>) -> Self {
        self.lossy = Some(ring_capacity);
        self
    }

    /// Replaces the files of an earlier run in the directory.
    #[must_use]
    pub fn force(mut self, replace: bool) -> Self {
        self.force = replace;
        self
    }

    /// Notes an option of the run in its manifest.
    #[must_use]
    pub fn note(mut self, key: &str, value: &str) -> Self {
        self.configuration.push((key.to_owned(), value.to_owned()));
        self
    }
}

/// Who records: on this thread, or through rings that may lose events.
#[allow(clippy::large_enum_variant, reason = "there is one per run, and the larger one is the fast one")]
enum Target {
    Lossless(SerialRecorder),
    Lossy(LossyRecorder),
}

/// An open recording.
pub(crate) struct Recording {
    recorder: Target,
    units: Vec<StreamId>,
    /// Streams of the writing and of the reading end of each FIFO.
    fifos: Vec<(StreamId, StreamId)>,
    /// Whether the open instant has events.
    pending: bool,
}

impl Recording {
    #[inline]
    pub(crate) fn unit_stream(&self, unit: u32) -> StreamId {
        self.units[unit as usize]
    }

    #[inline]
    pub(crate) fn fifo_streams(&self, fifo: usize) -> (StreamId, StreamId) {
        self.fifos[fifo]
    }

    /// Adds an event to the open instant.
    #[inline]
    #[allow(clippy::too_many_arguments, reason = "the fields of one event record")]
    pub(crate) fn record(
        &mut self,
        stream: StreamId,
        cycle: u64,
        kind: KindId,
        transaction: u64,
        value: u64,
        fifo: u32,
        phase: Phase,
    ) {
        self.pending = true;
        match &mut self.recorder {
            Target::Lossless(recorder) => {
                recorder.record(stream, cycle, kind, transaction, value, fifo, phase);
            }
            Target::Lossy(recorder) => {
                recorder.record(stream, cycle, kind, transaction, value, fifo, phase);
            }
        }
    }

    /// Ends an instant whose display nanosecond is `ns`.
    #[inline]
    pub(crate) fn end_instant(&mut self, ns: i64) -> Result<(), RecordError> {
        if !std::mem::take(&mut self.pending) {
            return Ok(());
        }
        match &mut self.recorder {
            Target::Lossless(recorder) => recorder.end_instant(ns),
            Target::Lossy(recorder) => recorder.end_instant(ns),
        }
    }

    /// Ends the recording; an instant that was not ended is left out.
    pub(crate) fn close(mut self: Box<Self>, totals: RunTotals) -> Result<Stats, RecordError> {
        match &mut self.recorder {
            Target::Lossless(recorder) => recorder.close(totals),
            Target::Lossy(recorder) => recorder.close(totals),
        }
    }
}

fn host_time(time: Seconds) -> Duration {
    let ratio = time.ratio();
    let ns = u128::from(*ratio.numer()) * 1_000_000_000 / u128::from(*ratio.denom());
    Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
}

/// Opens the recording of a graph.
pub(crate) fn open(options: RecordingOptions, graph: &mut Assembly) -> Result<(), RecordError> {
    let mut builder = Recorder::builder(&options.dir);
    builder
        .run_id(&options.run_id)
        .text(options.text)
        .perfetto(options.perfetto)
        .compression(options.compression)
        .args(options.args)
        .view(options.view)
        .checkpoint_interval(options.checkpoint_interval)
        .rotate_events(options.rotate_events)
        .force(options.force)
        .kinds(graph.kinds.clone());
    if let Some(interval) = options.flush_interval {
        builder.flush_interval((!interval.is_zero()).then(|| host_time(interval)));
    }
    if let Some(records) = options.open_records {
        builder.open_records(records);
    }
    for (key, value) in &options.configuration {
        builder.configure(key, value);
    }
    for domain in &graph.domains {
        builder.domain(domain)?;
    }
    let mut units = Vec::new();
    for unit in 0..graph.cx.fabric.unit_count() {
        let domain = graph.domains[graph.cx.fabric.unit_domain(unit) as usize].id();
        units.push(builder.add_stream(domain, u64::from(unit) + 1, graph.cx.fabric.unit_name(unit))?);
    }
    let mut fifos = Vec::new();
    for fifo in &graph.fifos {
        let [writer, reader] = [fifo.writer, fifo.reader].map(|unit| units[unit as usize]);
        let order = u64::from(fifo.id) + 1;
        let write = builder.add_producer_stream(writer, order)?;
        let read = if reader == writer { write } else { builder.add_producer_stream(reader, order)? };
        fifos.push((write, read));
        builder.fifo(FifoEntry {
            id: fifo.id,
            name: fifo.name.clone(),
            depth: fifo.depth.into(),
            stages: fifo.stages,
            writer: graph.cx.fabric.unit_name(fifo.writer).to_owned(),
            reader: graph.cx.fabric.unit_name(fifo.reader).to_owned(),
        });
    }
    for machine in &graph.machines {
        builder.machine(machine.clone());
    }
    let recorder = match options.lossy {
        None => Target::Lossless(builder.start_serial()?),
        Some(ring_capacity) => {
            builder.ring_capacity(ring_capacity);
            Target::Lossy(builder.start_serial_lossy()?)
        }
    };
    graph.cx.fabric.attach(Box::new(Recording { recorder, units, fifos, pending: false }));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_times_are_whole_nanoseconds() {
        for (text, ns) in
            [("1ms", 1_000_000), ("2.5us", 2500), ("1/3 s", 333_333_333), ("1000s", 1_000_000_000_000)]
        {
            assert_eq!(host_time(text.parse().unwrap()), Duration::from_nanos(ns), "{text}");
        }
    }
}
