//! What a run is, until it starts: options, kinds, domains, streams.
//!
//! Starting checks everything, prepares the directory, writes the manifest, opens the outputs and
//! only then gives a recorder, so a manifest is there before any event.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clockweave_model::{
    ClockDomain, FifoEntry, KindTable, MachineEntry, Manifest, ManifestDomain, ManifestExtension,
    ManifestStream, check_printable,
};

use crate::bucket::OpenBucket;
use crate::concurrent::{self, ConcurrentRecorder, RING_RECORD_BYTES, RingOptions};
use crate::directory::{self, MANIFEST_FILE, TRACE_FILE, segment_name, text_log_name};
use crate::error::RecordError;
use crate::ledger::Ledger;
use crate::lossy::LossyRecorder;
use crate::pftrace::{
    ArgsEncoding, Arguments, CHECKPOINT_EVENTS, CHECKPOINT_EVENTS_PER_UNIT, Cadence, Compression, Events,
    Framing, FullSink, METADATA_PER_NAME, Preamble, RunFacts, SEQUENCE, SMALLEST_EVENT, SchedPlan,
    ScheduledSink, Scheduling, TRACE_BLOCK_BYTES, TraceSink, TrackPlan, View, Wrapper, kind_names,
};
use crate::producer::Producer;
use crate::roster::{Declarations, Roster, StreamId};
use crate::serial::SerialRecorder;
use crate::session::{Outputs, Session};
use crate::text::{self, TextSink};
use crate::writer::WriterSetup;

/// Bytes that the rings of all streams share where their capacity is not chosen.
const RING_BYTES: usize = 8 * 1024 * 1024;
/// Records per ring, at least and at most.
const RING_RECORDS: (usize, usize) = (64, 4096);
/// Most event packets of a block of the trace.
const HINTS_PER_BLOCK: usize = TRACE_BLOCK_BYTES / SMALLEST_EVENT;
/// The most records a ring may be asked to hold, and the most bytes of all rings and the open records together.
const MAX_RING_RECORDS: usize = 1 << 20;
const MAX_RING_BYTES: usize = 256 * 1024 * 1024;
/// The most open records: they take no more than rings may.
const MAX_OPEN_RECORDS: usize = MAX_RING_BYTES / OpenBucket::RECORD_BYTES;
/// Open records: at least, and per stream.
const OPEN_RECORDS: (usize, usize) = (8192, 16);

/// Options and declarations of a run.
pub struct RecorderBuilder {
    dir: PathBuf,
    run_id: String,
    tool_version: String,
    text: bool,
    perfetto: bool,
    compression: Compression,
    args: ArgsEncoding,
    view: View,
    checkpoint_interval: Option<u64>,
    rotate_events: Option<u64>,
    flush_interval: Option<Duration>,
    open_records: Option<usize>,
    metadata_bytes: usize,
    pub(crate) lossless: bool,
    ring_capacity: Option<usize>,
    drain_batch: u64,
    reversed_drain: bool,
    first_local: u32,
    force: bool,
    disabled: bool,
    kinds: KindTable,
    fifos: BTreeMap<u32, FifoEntry>,
    machines: Vec<MachineEntry>,
    configuration: BTreeMap<String, String>,
    declared: Declarations,
}

impl RecorderBuilder {
    pub(crate) fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            run_id: "run".to_owned(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            text: true,
            perfetto: true,
            compression: Compression::default(),
            args: ArgsEncoding::default(),
            view: View::default(),
            checkpoint_interval: None,
            rotate_events: None,
            flush_interval: Some(Duration::from_secs(1)),
            open_records: None,
            metadata_bytes: 4 * 1024 * 1024,
            lossless: true,
            ring_capacity: None,
            drain_batch: 256,
            reversed_drain: false,
            first_local: 0,
            force: false,
            disabled: false,
            kinds: KindTable::default(),
            fifos: BTreeMap::new(),
            machines: Vec::new(),
            configuration: BTreeMap::new(),
            declared: Declarations::default(),
        }
    }

    /// The run's name: 1 to 128 printable ASCII characters. Default `run`.
    pub fn run_id(&mut self, run_id: impl Into<String>) -> &mut Self {
        self.run_id = run_id.into();
        self
    }

    /// The version of the program that records, for the manifest. Default: this crate's.
    pub fn tool_version(&mut self, version: impl Into<String>) -> &mut Self {
        self.tool_version = version.into();
        self
    }

    /// Whether to write text logs. Default: yes.
    pub fn text(&mut self, on: bool) -> &mut Self {
        self.text = on;
        self
    }

    /// Whether to write the Perfetto trace. Default: yes.
    pub fn perfetto(&mut self, on: bool) -> &mut Self {
        self.perfetto = on;
        self
    }

    /// Compression of the Perfetto trace. Default: deflate, level 1.
    pub fn compression(&mut self, compression: Compression) -> &mut Self {
        self.compression = compression;
        self
    }

    /// How events of the Perfetto trace carry their values.
    pub fn args(&mut self, args: ArgsEncoding) -> &mut Self {
        self.args = args;
        self
    }

    /// What the Perfetto trace shows. Default: events.
    pub fn view(&mut self, view: View) -> &mut Self {
        self.view = view;
        self
    }

    /// Events between two checkpoints of the Perfetto trace. `None`, the default, is the most:
    /// 65,536, or 64 per unit if that is more.
    pub fn checkpoint_interval(&mut self, events: Option<u64>) -> &mut Self {
        self.checkpoint_interval = events;
        self
    }

    /// Events per file of the Perfetto trace, which then is `timeline-00000.pftrace`, …: each opens
    /// by itself. `None`, the default, writes a single file.
    pub fn rotate_events(&mut self, events: Option<u64>) -> &mut Self {
        self.rotate_events = events;
        self
    }

    /// Host time after which what is recorded reaches the files at the latest, so that a killed
    /// process loses no more; looked at when an instant ends. `None`: only whole blocks do. At least
    /// a millisecond; default: one second. Does not change what the files hold in the end.
    pub fn flush_interval(&mut self, interval: Option<Duration>) -> &mut Self {
        self.flush_interval = interval.map(|interval| interval.max(Duration::from_millis(1)));
        self
    }

    /// Records that one display nanosecond may hold, at most 5,592,405 (256 MiB). Default: 8,192, or
    /// 16 per stream if that is more.
    pub fn open_records(&mut self, records: usize) -> &mut Self {
        self.open_records = Some(records);
        self
    }

    /// Bytes that the names of units, kinds and tracks may take. Default: 4 MiB.
    pub fn metadata_bytes(&mut self, bytes: usize) -> &mut Self {
        self.metadata_bytes = bytes;
        self
    }

    /// Whether a full ring costs events rather than the host's time. What is lost is counted, and stands in every
    /// output. Default: no. A serial recorder has no rings and loses nothing by itself: it only takes
    /// what [`SerialRecorder::lose`] says.
    pub fn lossy(&mut self, lossy: bool) -> &mut Self {
        self.lossless = !lossy;
        self
    }

    /// Records that each stream's ring holds, for runs that have rings: a power of two from 2 to 2^20. `None`, the
    /// default, shares 8 MiB among all streams, from 64 to 4,096 records each.
    pub fn ring_capacity(&mut self, records: Option<usize>) -> &mut Self {
        self.ring_capacity = records;
        self
    }

    /// Promised records for which the ordering thread is woken, for runs that have rings. Default: 256.
    pub fn drain_batch(&mut self, records: u64) -> &mut Self {
        self.drain_batch = records;
        self
    }

    /// For tests: the ordering thread looks at the last stream first.
    #[doc(hidden)]
    pub fn reversed_drain(&mut self, reversed: bool) -> &mut Self {
        self.reversed_drain = reversed;
        self
    }

    /// For tests: the number of each producer's first event, which wraps.
    #[doc(hidden)]
    pub fn first_local(&mut self, number: u32) -> &mut Self {
        self.first_local = number;
        self
    }

    /// Whether to replace the files of an earlier run in the directory. Default: no.
    pub fn force(&mut self, replace: bool) -> &mut Self {
        self.force = replace;
        self
    }

    /// Whether to record nothing: every call of the recorder and its producers is accepted and does nothing, no file is
    /// touched, no thread is started, and the statistics are all zero. Options and declarations are checked as ever.
    /// Default: no.
    pub fn disabled(&mut self, disabled: bool) -> &mut Self {
        self.disabled = disabled;
        self
    }

    /// States an option of the run in the manifest.
    pub fn configure(&mut self, key: impl Into<String>, value: impl Into<String>) -> &mut Self {
        self.configuration.insert(key.into(), value.into());
        self
    }

    /// The event kinds. Default: the built-in ones.
    pub fn kinds(&mut self, kinds: KindTable) -> &mut Self {
        self.kinds = kinds;
        self
    }

    /// States a clock-crossing FIFO in the manifest.
    pub fn fifo(&mut self, fifo: FifoEntry) -> &mut Self {
        self.fifos.insert(fifo.id, fifo);
        self
    }

    /// States a machine in the manifest, and shows in the trace what the scheduling events of its unit say, as
    /// Perfetto's own scheduling. Such a trace is one file, and every event counts: it can be neither lossy nor
    /// rotated.
    pub fn machine(&mut self, machine: MachineEntry) -> &mut Self {
        self.machines.push(machine);
        self
    }

    /// Declares a clock domain; the same one may be declared again.
    ///
    /// # Errors
    /// Its id or name is another domain's.
    pub fn domain(&mut self, domain: &ClockDomain) -> Result<&mut Self, RecordError> {
        self.declared.domain(domain)?;
        Ok(self)
    }

    /// Adds a unit and its own stream. Unit ids rank the units in canonical order, from 1.
    ///
    /// # Errors
    /// An undeclared domain, a bad name, an id or name that is taken.
    pub fn add_stream(
        &mut self,
        domain_id: u32,
        unit_id: u64,
        unit_name: &str,
    ) -> Result<StreamId, RecordError> {
        self.declared.add_stream(domain_id, unit_id, unit_name)
    }

    /// Adds another producer of `unit`'s events, on the same track. Among events of one unit at one
    /// instant and phase, those of a smaller `order` come first; the unit's own stream has 0.
    ///
    /// # Errors
    /// An order of 0, or one that is taken.
    pub fn add_producer_stream(&mut self, unit: StreamId, order: u64) -> Result<StreamId, RecordError> {
        self.declared.add_producer(unit, order)
    }

    /// Starts recording for one thread that submits instants in exact order.
    ///
    /// # Errors
    /// An option out of range, names beyond their budget, a directory that is not empty, a file that
    /// cannot be written.
    pub fn start_serial(self) -> Result<SerialRecorder, RecordError> {
        let budget = self.open_budget()?;
        let capacity = ring_records(self.declared.stream_count());
        let lossless = self.lossless;
        let mut session = self.open(capacity)?;
        if !lossless {
            session.expect_gaps();
        }
        Ok(SerialRecorder::new(session, OpenBucket::new(budget)))
    }

    /// Starts recording for one thread that submits instants in exact order and must not wait: events that the rings
    /// cannot take are lost, counted, and told in every output.
    ///
    /// # Errors
    /// As [`RecorderBuilder::start_independent`].
    pub fn start_serial_lossy(mut self) -> Result<LossyRecorder, RecordError> {
        self.lossless = false;
        let open_records = self.open_budget()?;
        let (recorder, producers) = self.start_concurrent(true)?;
        Ok(LossyRecorder::new(recorder, producers, open_records))
    }

    /// Starts recording for threads that go their own ways. Gives a producer per stream, in the order in which streams
    /// were added, to be moved to the threads; each promises its progress with
    /// [`Producer::advance`] and ends with [`Producer::finish`].
    ///
    /// # Errors
    /// As [`RecorderBuilder::start_serial`], and rings beyond 256 MiB.
    pub fn start_independent(self) -> Result<(ConcurrentRecorder, Vec<Producer>), RecordError> {
        self.start_concurrent(false)
    }

    /// Starts recording for streams whose progress one thread knows and tells with [`ConcurrentRecorder::advance`].
    /// What is recorded between two such calls has to fit the budget of open records.
    ///
    /// # Errors
    /// As [`RecorderBuilder::start_independent`].
    pub fn start_coordinated(self) -> Result<(ConcurrentRecorder, Vec<Producer>), RecordError> {
        self.start_concurrent(true)
    }

    fn start_concurrent(self, coordinated: bool) -> Result<(ConcurrentRecorder, Vec<Producer>), RecordError> {
        let open_records = self.open_budget()?;
        let options = RingOptions {
            capacity: if self.disabled { 2 } else { self.ring_records(open_records)? },
            batch: self.drain_batch.max(1),
            coordinated,
            lossy: !self.lossless,
            open_records,
            reversed: self.reversed_drain,
            first_local: self.first_local,
        };
        let mut session = self.open(options.capacity as u64)?;
        if options.lossy {
            session.expect_gaps();
        }
        concurrent::start(session, OpenBucket::new(open_records), options)
    }

    /// Records per ring of a run that has rings.
    fn ring_records(&self, open_records: usize) -> Result<usize, RecordError> {
        let streams = self.declared.stream_count();
        let staging = concurrent::staging_bytes(open_records);
        let bytes = |records: usize| {
            let rings = records.checked_mul(streams).and_then(|n| n.checked_mul(RING_RECORD_BYTES));
            rings.and_then(|rings| rings.checked_add(staging)).unwrap_or(usize::MAX)
        };
        let records = match self.ring_capacity {
            Some(records) if !(2..=MAX_RING_RECORDS).contains(&records) || !records.is_power_of_two() => {
                return Err(RecordError::BadOption {
                    option: "ring_capacity",
                    found: records as u64,
                    expected: "a power of two from 2 to 1048576",
                });
            }
            Some(records) => records,
            None => {
                let mut records = ring_records(streams) as usize;
                while records > 2 && bytes(records) > MAX_RING_BYTES {
                    records /= 2;
                }
                records
            }
        };
        if bytes(records) > MAX_RING_BYTES {
            return Err(RecordError::RingBudget {
                streams,
                records,
                needed: bytes(records),
                budget: MAX_RING_BYTES,
            });
        }
        Ok(records)
    }

    /// Prepares the directory and opens the outputs.
    fn open(self, ring_capacity: u64) -> Result<Session, RecordError> {
        let opened = Instant::now();
        let cadence = self.cadence()?;
        let wrapper = if self.perfetto { Wrapper::new(self.compression)? } else { None };
        if !check_printable(&self.run_id, 128) {
            return Err(RecordError::bad_name("run id", &self.run_id));
        }
        if !check_printable(&self.tool_version, 128) {
            return Err(RecordError::bad_name("tool version", &self.tool_version));
        }
        for fifo in self.fifos.values() {
            let names =
                [("FIFO", &fifo.name), ("FIFO's writer", &fifo.writer), ("FIFO's reader", &fifo.reader)];
            if let Some((what, name)) = names.into_iter().find(|(_, name)| !check_printable(name, 128)) {
                return Err(RecordError::bad_name(what, name));
            }
        }
        let roster = self.declared.freeze();
        let fifos: Vec<FifoEntry> = self.fifos.into_values().collect();
        let shown = if self.view == View::Full { &fifos[..] } else { &[] };
        let mut tracks = TrackPlan::new(&self.run_id, &roster, shown);
        let machines = SchedPlan::new(&self.machines, &roster, &mut tracks)?;
        let names = self.kinds.iter().map(|(_, name)| METADATA_PER_NAME + name.len()).sum::<usize>();
        let needed = names + tracks.metadata_bytes() + machines.group_bytes();
        if needed > self.metadata_bytes {
            return Err(RecordError::MetadataBudget { needed, budget: self.metadata_bytes });
        }

        if self.disabled {
            let ledger = Ledger::new(&roster, &self.kinds);
            return Ok(Session::disabled(self.dir, roster, self.kinds, ledger));
        }
        let claim = directory::prepare(&self.dir, self.force)?;
        let description = Description {
            run_id: &self.run_id,
            tool_version: &self.tool_version,
            lossless: self.lossless,
            args: self.args,
            view: self.view,
            kinds: &self.kinds,
            roster: &roster,
            tracks: &tracks,
            machines: &self.machines,
        };
        let manifest = description.manifest(ring_capacity, fifos.clone(), self.configuration);
        let manifest_bytes = directory::write_file(&self.dir, MANIFEST_FILE, &manifest.to_json())?;

        let compressed = wrapper.is_some();
        let mut setup = WriterSetup::new(&self.dir, wrapper, opened);
        setup.flush_every(self.flush_interval);
        let trace_name = self.rotate_events.map_or_else(|| TRACE_FILE.to_owned(), |_| segment_name(0));
        let trace_file = if self.perfetto { Some(setup.create(&trace_name)?) } else { None };
        let mut logs = Vec::new();
        if self.text {
            for domain in &roster.domains {
                logs.push(setup.create(text_log_name(domain.name()))?);
            }
        }
        // What is derived repeats nothing that hints tell of.
        let full = self.view == View::Full;
        let plain = machines.is_empty();
        let hinted = compressed && self.compression.uses_hints() && !full && plain;
        let hints =
            if hinted || self.args == ArgsEncoding::Annotations && !full { HINTS_PER_BLOCK } else { 0 };
        let trace = trace_file.map(|file| (setup.outlet(TRACE_BLOCK_BYTES, hints), file));
        let text = self.text.then(|| setup.outlet(text::block_bytes(logs.len()), 0));
        let writer = setup.start()?;
        let text = text.map(|outlet| TextSink::new(outlet, &logs, &self.run_id, &roster, &self.kinds));
        let framing = trace
            .map(|(outlet, file)| Framing::new(outlet, file, compressed, description.preamble(), cadence));
        let outputs = match (framing, self.args) {
            (None, _) => Outputs::without_trace(text),
            (Some(framing), args) if !plain => {
                let events = match args {
                    _ if full => {
                        Events::Full(FullSink::new(framing, args, &roster, &self.kinds, fifos, tracks))
                    }
                    ArgsEncoding::Debug => Events::Debug(description.trace(framing)),
                    ArgsEncoding::Annotations => Events::Annotations(description.trace(framing)),
                };
                let open = |framing: &mut Framing| Scheduling::open(machines, &self.kinds, framing);
                Outputs::with_scheduling(ScheduledSink::new(events, open), text)
            }
            (Some(framing), args) if full => {
                let trace = FullSink::new(framing, args, &roster, &self.kinds, fifos, tracks);
                Outputs::with_full(trace, text)
            }
            (Some(framing), ArgsEncoding::Debug) if hinted => {
                Outputs::with_hinted(description.trace(framing), text)
            }
            (Some(framing), ArgsEncoding::Debug) => Outputs::with_debug(description.trace(framing), text),
            (Some(framing), ArgsEncoding::Annotations) => {
                Outputs::with_annotations(description.trace(framing), text)
            }
        };
        let ledger = Ledger::new(&roster, &self.kinds);
        Ok(Session::new(
            (self.dir, claim),
            roster,
            self.kinds,
            ledger,
            outputs,
            writer,
            (manifest_bytes, self.rotate_events.is_some()),
        ))
    }

    fn open_budget(&self) -> Result<usize, RecordError> {
        let (least, per_stream) = OPEN_RECORDS;
        let default = least.max(per_stream * self.declared.stream_count()).min(MAX_OPEN_RECORDS);
        let records = self.open_records.unwrap_or(default);
        if !(1..=MAX_OPEN_RECORDS).contains(&records) {
            return Err(RecordError::BadOption {
                option: "open_records",
                found: records as u64,
                expected: "1 to 5592405 (256 MiB)",
            });
        }
        Ok(records)
    }

    /// Events between checkpoints, and per file.
    fn cadence(&self) -> Result<Cadence, RecordError> {
        let most = CHECKPOINT_EVENTS.max(CHECKPOINT_EVENTS_PER_UNIT * self.declared.unit_count() as u64);
        if !self.machines.is_empty() && (self.rotate_events.is_some() || !self.lossless) {
            let (option, expected) = match self.rotate_events {
                Some(_) => ("rotate_events", "one file: a machine's scheduling goes on from its first event"),
                None => ("lossy", "no loss: a machine's scheduling needs every event"),
            };
            return Err(RecordError::BadOption { option, found: self.rotate_events.unwrap_or(1), expected });
        }
        let given =
            [("checkpoint_interval", self.checkpoint_interval), ("rotate_events", self.rotate_events)];
        for (option, value) in given {
            if value == Some(0) {
                return Err(RecordError::BadOption {
                    option,
                    found: 0,
                    expected: "a number of events above 0",
                });
            }
        }
        let checkpoint = self.checkpoint_interval.map_or(most, |events| events.min(most));
        Ok(Cadence { checkpoint, segment: self.rotate_events })
    }
}

/// What the manifest and the trace say of a run.
struct Description<'a> {
    run_id: &'a str,
    tool_version: &'a str,
    lossless: bool,
    args: ArgsEncoding,
    view: View,
    kinds: &'a KindTable,
    roster: &'a Roster,
    tracks: &'a TrackPlan,
    machines: &'a [MachineEntry],
}

impl Description<'_> {
    fn manifest(
        &self,
        ring_capacity: u64,
        fifos: Vec<FifoEntry>,
        configuration: BTreeMap<String, String>,
    ) -> Manifest {
        let mut manifest = Manifest::new(self.run_id);
        manifest.lossless = self.lossless;
        manifest.stream_capacity = ring_capacity;
        manifest.domains = self.roster.domains.iter().map(ManifestDomain::from).collect();
        let units = self.roster.units.iter().zip(&self.tracks.units);
        manifest.streams = units
            .map(|(unit, track)| ManifestStream {
                unit_id: unit.id,
                unit: unit.name.clone(),
                domain_id: self.roster.domains[unit.domain].id(),
                sequence: SEQUENCE.into(),
                track: *track,
                producer_order: 0,
            })
            .collect();
        manifest.events = self.kinds.iter().map(|(kind, name)| (kind.0.into(), name.to_owned())).collect();
        manifest.clockweave = Some(ManifestExtension {
            tool_version: self.tool_version.to_owned(),
            configuration,
            view: self.view.name().to_owned(),
            args: self.args.name().to_owned(),
            fifos,
            machines: self.machines.to_vec(),
        });
        manifest
    }

    fn preamble(&self) -> Preamble {
        let facts = RunFacts {
            run_id: self.run_id,
            tool_version: self.tool_version,
            view: self.view,
            lossless: self.lossless,
            schedules: !self.machines.is_empty(),
        };
        Preamble::new(&facts, self.roster, self.tracks, self.kinds, self.args)
    }

    fn trace<A: Arguments>(&self, framing: Framing) -> TraceSink<A> {
        let ids = self.roster.units.iter().map(|unit| unit.id);
        let units: Vec<(u64, u64)> = self.tracks.units.iter().copied().zip(ids).collect();
        TraceSink::new(framing, &kind_names(self.kinds), &units)
    }
}

/// Records per ring where the capacity is not chosen: a power of two. Stated in every run's
/// manifest, whether it needs rings or not, because the manifest does not depend on how a run is
/// executed.
fn ring_records(streams: usize) -> u64 {
    let (least, most) = RING_RECORDS;
    let share = RING_BYTES / RING_RECORD_BYTES / streams.max(1);
    let records = if share < least { least } else { (1 << share.ilog2()).min(most) };
    records as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_records_are_bounded_by_256_mebibytes() {
        assert_eq!(MAX_OPEN_RECORDS, 5_592_405);
        let root = tempfile::tempdir().unwrap();
        let budget = |records: Option<usize>| {
            let mut builder = RecorderBuilder::new(&root.path().join("run"));
            builder.open_records = records;
            builder.open_budget()
        };
        assert_eq!(budget(None).unwrap(), 8192);
        assert_eq!(budget(Some(MAX_OPEN_RECORDS)).unwrap(), MAX_OPEN_RECORDS);
        for bad in [0, MAX_OPEN_RECORDS + 1, u32::MAX as usize, usize::MAX] {
            let error = budget(Some(bad)).unwrap_err();
            assert!(matches!(error, RecordError::BadOption { option: "open_records", .. }), "{error}");
            // The greatest one was asked of the allocator once, after the directory was taken.
            let mut builder = RecorderBuilder::new(&root.path().join("run"));
            builder.open_records(bad);
            assert!(builder.start_serial().is_err() && !root.path().join("run").exists());
        }
    }

    #[test]
    fn rings_share_eight_mebibytes() {
        // 8 MiB / 40 bytes = 209,715 records.
        assert_eq!(ring_records(0), 4096);
        assert_eq!(ring_records(51), 4096);
        assert_eq!(ring_records(52), 2048);
        assert_eq!(ring_records(3276), 64);
        assert_eq!(ring_records(1_000_000), 64);
    }
}
