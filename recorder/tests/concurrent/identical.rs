//! What a run holds depends on its events alone: not on threads, rings, batches, or which ring is looked at first.

use std::fs;
use std::path::Path;
use std::time::Duration;

use clockweave_model::Phase;
use clockweave_recorder::{Compression, RecorderBuilder, RunTotals, Stats, TRACE_FILE};
use perfetto_protos::clock_snapshot::clock_snapshot::Clock;

use crate::reading::{self, arguments};
use crate::workload::{self, Placed, Planned};

/// Four threads, each with a stream and a chunk size of its own.
fn run(
    dir: &Path,
    lanes: &[Vec<Planned>],
    chunks: [usize; 4],
    set: impl FnOnce(&mut RecorderBuilder),
) -> Stats {
    let mut builder = workload::builder(dir);
    set(&mut builder);
    workload::add_lanes(&mut builder);
    let (mut recorder, producers) = builder.start_independent().unwrap();
    std::thread::scope(|scope| {
        for ((mut producer, events), chunk) in producers.into_iter().zip(lanes).zip(chunks) {
            scope.spawn(move || workload::play(&mut producer, events, chunk));
        }
    });
    recorder.close(RunTotals::default()).unwrap()
}

fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension != "json"))
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

/// Every event of a trace, as it should be.
fn content(dir: &Path) -> Vec<Placed> {
    let trace = reading::read(&dir.join(TRACE_FILE));
    let mut ns = 0;
    let events = trace.packets.iter().filter_map(|packet| {
        // The clock is incremental, and set anew by each clock snapshot.
        if packet.packet.has_clock_snapshot() {
            let clocks = &packet.packet.clock_snapshot().clocks;
            ns = clocks.iter().find(|clock| clock.clock_id() >= 64).map_or(ns, Clock::timestamp);
        }
        if packet.packet.track_event().category_iids != [1] {
            return None;
        }
        ns += packet.packet.timestamp();
        let found = arguments(packet.packet.track_event());
        let phase = if found.phase == 0 { Phase::Evaluate } else { Phase::Commit };
        let event = Planned {
            cycle: found.local_cycle,
            phase,
            transaction: found.transaction_id,
            value: found.value,
            fifo: found.fifo_id as u32,
        };
        let domain = if found.unit_id == 1 { 1 } else { 2 };
        Some(Placed { ns, domain, unit: found.unit_id, ordinal: found.ordinal, event })
    });
    events.collect()
}

#[test]
fn eighty_thousand_events_under_every_timing_are_the_same_bytes() {
    let root = tempfile::tempdir().unwrap();
    let lanes: Vec<Vec<Planned>> = (0..4).map(|lane| workload::plan(lane, 20_000)).collect();
    let expected = workload::expected(&lanes);
    let dir = |name: &str| root.path().join(name);

    let stats = run(&dir("reference"), &lanes, [1000; 4], |_| {});
    assert_eq!((stats.events, stats.dropped_events), (80_000, 0));
    let reference = files(&dir("reference"));
    for (domain, name) in [(1, "a"), (2, "b")] {
        let text = fs::read_to_string(dir("reference").join(format!("text-domain-{name}.log"))).unwrap();
        let lines: String = text.split_inclusive('\n').filter(|line| !line.starts_with('#')).collect();
        assert!(lines == workload::log(&expected, domain), "the log of `{name}`");
    }
    assert!(content(&dir("reference")) == expected, "the trace");

    type Set = fn(&mut RecorderBuilder);
    let variants: [(&str, [usize; 4], Set); 6] = [
        ("chunks", [7, 20_000, 130, 999], |_| {}),
        ("reversed", [500; 4], |builder| {
            builder.reversed_drain(true).drain_batch(1);
        }),
        ("tiny rings", [3000; 4], |builder| {
            builder.ring_capacity(Some(2)).reversed_drain(true);
        }),
        ("large rings", [20_000; 4], |builder| {
            builder.ring_capacity(Some(32_768)).drain_batch(1_000_000);
        }),
        ("numbers wrap", [64; 4], |builder| {
            builder.first_local(u32::MAX - 5000).ring_capacity(Some(64));
        }),
        ("flushed", [333, 1, 4000, 50], |builder| {
            builder.flush_interval(Some(Duration::from_millis(1))).ring_capacity(Some(256));
        }),
    ];
    for (name, chunks, set) in variants {
        run(&dir(name), &lanes, chunks, set);
        assert!(files(&dir(name)) == reference, "{name}");
    }

    for (name, interval, compression) in
        [("often", 1000, Compression::None), ("raw", 65_536, Compression::None)]
    {
        run(&dir(name), &lanes, [2500; 4], |builder| {
            builder.checkpoint_interval(Some(interval)).compression(compression);
        });
        assert!(content(&dir(name)) == expected, "{name}");
    }
}

/// The serial recorder, fed the same events instant by instant.
#[test]
fn a_serial_run_of_the_same_events_has_the_same_bytes() {
    let root = tempfile::tempdir().unwrap();
    let lanes: Vec<Vec<Planned>> = (0..4).map(|lane| workload::plan(lane, 2500)).collect();
    run(&root.path().join("threads"), &lanes, [100, 1, 17, 2500], |_| {});

    let mut builder = workload::builder(&root.path().join("serial"));
    let streams = workload::add_lanes(&mut builder);
    let mut recorder = builder.start_serial().unwrap();
    let mut all: Vec<(u64, usize, usize)> = Vec::new();
    for (lane, events) in lanes.iter().enumerate() {
        let times =
            events.iter().map(|event| workload::picoseconds(workload::LANES[lane].domain, event.cycle));
        all.extend(times.enumerate().map(|(at, ps)| (ps, lane, at)));
    }
    all.sort_unstable();
    for (n, &(ps, lane, at)) in all.iter().enumerate() {
        let Planned { cycle, phase, transaction, value, fifo } = lanes[lane][at];
        recorder.record(
            streams[lane],
            cycle,
            clockweave_model::KindId::USER,
            transaction,
            value,
            fifo,
            phase,
        );
        if all.get(n + 1).is_none_or(|next| next.0 != ps) {
            recorder.end_instant((ps / 1000) as i64).unwrap();
        }
    }
    recorder.close(RunTotals::default()).unwrap();
    assert!(files(&root.path().join("threads")) == files(&root.path().join("serial")));
}
