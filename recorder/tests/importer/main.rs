//! Recorded runs in the real Trace Processor: what it imports equals the logs, the manifest's exact time
//! and the flows that follow from them.

mod encoder;
mod examples;
mod full_view;
mod killed;
mod threads;

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use clockweave_model::{ClockDomain, KindId, KindTable, Phase, Seconds};
use clockweave_recorder::{
    ArgsEncoding, Compression, Recorder, RecorderBuilder, RunTotals, SerialRecorder, StreamId,
};
use clockweave_validators::engine::{Engine, EngineDirs, EngineError, Row, Width};
use clockweave_validators::report::{CheckReport, Status};
use clockweave_validators::{Options, Target, validate};

fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| {
        let compiled = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-engine");
        let dirs = EngineDirs { compiled, ..EngineDirs::from_env().expect("a folder for the engine") };
        Engine::open(&dirs).unwrap_or_else(|error| {
            panic!("this test needs the Trace Processor; run `cargo run -p clockweave -- engine install` once: {error}")
        })
    })
}

/// Validates a run; panics with the report where anything is found.
fn assert_valid(dir: &Path, options: &Options) -> u64 {
    let report = validate(&Target::of(dir), options, engine()).unwrap();
    assert!(report.passed, "{report:#?}");
    report.events
}

/// [`assert_valid`] of events that no circuit could have: made up so that they meet in one instant, they break
/// the laws of FIFOs, and nothing else may be found.
fn assert_valid_but_for_fifo_laws(dir: &Path) -> u64 {
    let report = validate(&Target::of(dir), &Options::default(), engine()).unwrap();
    let other = |check: &&CheckReport| check.name != "fifo" && check.status == Status::Failed;
    assert!(report.checks.iter().find(other).is_none(), "{report:#?}");
    report.events
}

/// Rows of a query of one text column over a trace, joined cells separated by spaces in SQL.
fn rows(trace: &Path, queries: &[&str]) -> Vec<Vec<String>> {
    let mut session = engine().import(Width::Narrow, fs::File::open(trace).unwrap()).unwrap();
    let mut answer = |sql: &&str| {
        let mut rows = Vec::new();
        let take = |row: &Row<'_>| -> Result<(), EngineError> {
            rows.push(row.text(0)?.into_owned());
            Ok(())
        };
        session.query("rows", sql, take).unwrap();
        rows
    };
    queries.iter().map(&mut answer).collect()
}

/// Two clocks and pairs of a writer in the first and a reader in the second.
struct Pairs {
    domains: [ClockDomain; 2],
    streams: Vec<[StreamId; 2]>,
    /// Transactions on their way, with the read edge from which they can be taken.
    queues: Vec<VecDeque<(u64, u64)>>,
    cycles: [u64; 2],
    next: u64,
    kind: KindId,
}

impl Pairs {
    fn declare(builder: &mut RecorderBuilder, clocks: [(&str, u64); 2], names: &[(String, String)]) -> Self {
        let domain = |id: u32, name: &str, (frequency, ps): (&str, u64)| {
            ClockDomain::new(id, name, frequency.parse().unwrap(), Seconds::from_ps(ps)).unwrap()
        };
        let domains = [domain(1, "sm", clocks[0]), domain(2, "lts", clocks[1])];
        let kinds = KindTable::new(["queue.length"]).unwrap();
        let kind = kinds.id("queue.length").unwrap();
        builder.kinds(kinds);
        for domain in &domains {
            builder.domain(domain).unwrap();
        }
        let first_reader = names.len() as u64 + 1;
        let streams = (0..)
            .zip(names)
            .map(|(at, (writer, reader))| {
                let writer = builder.add_stream(1, at + 1, writer).unwrap();
                let reader = builder.add_stream(2, first_reader + at, reader).unwrap();
                [writer, builder.add_producer_stream(reader, at + 2).unwrap()]
            })
            .collect();
        Self { domains, streams, queues: vec![VecDeque::new(); names.len()], cycles: [0; 2], next: 1, kind }
    }

    /// Records the next `instants` instants.
    fn record(&mut self, recorder: &mut SerialRecorder, instants: usize) {
        for _ in 0..instants {
            let times = [0, 1].map(|d| self.domains[d].edge(self.cycles[d]).unwrap());
            let now = times[0].min(times[1]);
            for side in [1, 0].into_iter().filter(|side| times[*side] == now) {
                for pair in 0..self.streams.len() {
                    if side == 0 { self.write(recorder, pair) } else { self.read(recorder, pair) }
                }
            }
            recorder.end_instant(now.floor_ns()).unwrap();
            (0..2).for_each(|side| self.cycles[side] += u64::from(times[side] == now));
        }
    }

    fn write(&mut self, recorder: &mut SerialRecorder, pair: usize) {
        let ([stream, _], fifo) = (self.streams[pair], pair as u32 + 1);
        let cycle = self.cycles[0];
        if !(cycle + pair as u64).is_multiple_of(3) {
            recorder.record(stream, cycle, KindId::FIFO_WRITE, self.next, 0, fifo, Phase::Commit);
            self.queues[pair].push_back((self.next, self.cycles[1] + 2));
            self.next += 1;
        }
        let length = self.queues[pair].len() as u64;
        recorder.record(stream, cycle, self.kind, 0, length << 33, 0, Phase::Evaluate);
    }

    fn read(&mut self, recorder: &mut SerialRecorder, pair: usize) {
        let ([_, stream], fifo) = (self.streams[pair], pair as u32 + 1);
        let cycle = self.cycles[1];
        if let Some((id, _)) = self.queues[pair].pop_front_if(|(_, from)| *from <= cycle) {
            for kind in [KindId::FIFO_VISIBLE, KindId::FIFO_READ, KindId::FIFO_OUTPUT] {
                recorder.record(stream, cycle, kind, id, 0, fifo, Phase::Commit);
            }
        }
    }
}

const REFERENCE: [(&str, u64); 2] = [("914MHz", 0), ("1326MHz", 137)];

fn names(pairs: usize) -> Vec<(String, String)> {
    (0..pairs).map(|n| (format!("core{}.send{n}", n % 3), format!("bank{}.take{n}", n % 2))).collect()
}

#[test]
fn every_encoding_imports_as_recorded() {
    let variants = [
        (Compression::default(), ArgsEncoding::Debug),
        (Compression::Deflate { level: 6 }, ArgsEncoding::Debug),
        (Compression::ZSTD, ArgsEncoding::Debug),
        (Compression::None, ArgsEncoding::Debug),
        (Compression::default(), ArgsEncoding::Annotations),
        (Compression::None, ArgsEncoding::Annotations),
    ];
    for (compression, args) in variants {
        let dir = tempfile::tempdir().unwrap();
        let mut builder = Recorder::builder(dir.path());
        builder.compression(compression).args(args).checkpoint_interval(Some(3000));
        let mut pairs = Pairs::declare(&mut builder, REFERENCE, &names(2));
        let mut recorder = builder.start_serial().unwrap();
        pairs.record(&mut recorder, 6000);
        let stats = recorder.close(RunTotals { batches: 6000, ..RunTotals::default() }).unwrap();
        assert!(stats.events > 10_000, "several blocks and checkpoints: {}", stats.events);
        assert_eq!(assert_valid(dir.path(), &Options::default()), stats.events, "{compression:?} {args:?}");
    }
}

/// More than 32 units per domain: their tracks are grouped.
#[test]
fn grouped_tracks_import() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = Recorder::builder(dir.path());
    let mut pairs = Pairs::declare(&mut builder, REFERENCE, &names(40));
    let mut recorder = builder.start_serial().unwrap();
    pairs.record(&mut recorder, 300);
    let stats = recorder.close(RunTotals { batches: 300, ..RunTotals::default() }).unwrap();
    assert_eq!(assert_valid(dir.path(), &Options::default()), stats.events);
}

/// At 4 GHz a write and what follows from it share a display nanosecond; the arrow must not turn, even
/// though the reader's name comes first.
#[test]
fn flows_keep_their_direction_within_a_nanosecond() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = Recorder::builder(dir.path());
    let clocks = [("4GHz", 10), ("4GHz", 130)];
    let mut pairs = Pairs::declare(&mut builder, clocks, &[("z.writer".into(), "a.reader".into())]);
    let mut recorder = builder.start_serial().unwrap();
    pairs.record(&mut recorder, 4000);
    recorder.close(RunTotals { batches: 4000, ..RunTotals::default() }).unwrap();
    assert_valid(dir.path(), &Options::default());
}

/// A copy taken while the run goes on, right after a flush and right after the first block.
#[test]
fn a_live_copy_imports() {
    for compression in [Compression::default(), Compression::None] {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("run");
        let mut builder = Recorder::builder(&dir);
        builder.compression(compression).checkpoint_interval(Some(3000));
        let mut pairs = Pairs::declare(&mut builder, REFERENCE, &names(2));
        let mut recorder = builder.start_serial().unwrap();
        for (number, instants) in [10, 1500, 3000].into_iter().enumerate() {
            pairs.record(&mut recorder, instants);
            recorder.flush().unwrap();
            let copy = root.path().join(format!("copy{number}"));
            fs::create_dir(&copy).unwrap();
            for entry in fs::read_dir(&dir).unwrap() {
                let entry = entry.unwrap();
                fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
            }
            let prefix = Options { prefix: true, ..Options::default() };
            assert!(assert_valid(&copy, &prefix) >= instants as u64);
        }
    }
}
