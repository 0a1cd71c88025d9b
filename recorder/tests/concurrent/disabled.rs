//! A disabled recorder takes every call and leaves nothing.

use clockweave_model::{KindId, Phase};
use clockweave_recorder::{RecordError, RecorderBuilder, RunTotals};

use crate::workload;

fn builder(dir: &std::path::Path) -> RecorderBuilder {
    let mut builder = workload::builder(dir);
    builder.disabled(true).open_records(4);
    builder
}

#[test]
fn a_disabled_run_takes_everything_and_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");

    let mut serial = builder(&dir);
    let unit = serial.add_stream(1, 1, "unit").unwrap();
    let mut recorder = serial.start_serial().unwrap();
    for cycle in 0..1000u64 {
        (0..9).for_each(|value| recorder.record(unit, cycle, KindId::USER, 0, value, 0, Phase::Commit));
        recorder.end_instant(cycle as i64).unwrap();
    }
    recorder.flush().unwrap();
    let stats = recorder.close(RunTotals { batches: 1000, ..RunTotals::default() }).unwrap();
    assert_eq!((stats.events, stats.file_bytes, stats.clockweave.batches), (0, 0, 0));
    drop(recorder);

    for coordinated in [false, true] {
        let mut threads = builder(&dir);
        threads.add_stream(1, 1, "unit").unwrap();
        threads.add_stream(2, 2, "peer").unwrap();
        let started = if coordinated { threads.start_coordinated() } else { threads.start_independent() };
        let (mut recorder, mut producers) = started.unwrap();
        // More than any ring holds, and a peer that never promises.
        for cycle in 0..10_000 {
            producers[0].record(cycle, KindId::USER, 0, 0, 0, Phase::Commit).unwrap();
            producers[0].advance(cycle).unwrap();
        }
        producers[0].settle().unwrap();
        recorder.advance(5).unwrap();
        recorder.flush().unwrap();
        producers[1].finish().unwrap();
        drop(producers);
        assert_eq!(recorder.close(RunTotals::default()).unwrap().events, 0);
        assert_eq!(recorder.close(RunTotals::default()).unwrap().dropped_events, 0);
    }

    let mut lossy = builder(&dir);
    let unit = lossy.add_stream(1, 1, "unit").unwrap();
    let mut recorder = lossy.start_serial_lossy().unwrap();
    for cycle in 0..1000u64 {
        recorder.record(unit, cycle, KindId::USER, 0, 0, 0, Phase::Commit);
        recorder.end_instant(cycle as i64).unwrap();
    }
    recorder.flush().unwrap();
    assert_eq!(recorder.close(RunTotals::default()).unwrap().dropped_events, 0);
    assert!(!dir.exists(), "no file is touched");
}

#[test]
fn a_disabled_run_is_checked_as_any_other() {
    let root = tempfile::tempdir().unwrap();
    let mut builder = builder(&root.path().join("run"));
    builder.run_id("a\nb");
    assert!(matches!(builder.start_serial(), Err(RecordError::BadName { what: "run id", .. })));
}
