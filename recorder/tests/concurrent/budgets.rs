//! Dense nanoseconds: what fits never fails, what does not is named.

use std::path::Path;
use std::sync::Barrier;

use clockweave_model::{KindId, Phase};
use clockweave_recorder::{Producer, RecordError, RecorderBuilder, RunTotals, Stats, TRACE_FILE};

use crate::reading::{self, arguments};
use crate::workload;

fn event(producer: &mut Producer, cycle: u64, value: u64) -> Result<(), RecordError> {
    producer.record(cycle, KindId::USER, 0, value, 0, Phase::Commit)
}

/// One thread per stream, all of 1 GHz, started together; each plays its part.
fn crowd(
    dir: &Path,
    threads: usize,
    set: impl FnOnce(&mut RecorderBuilder),
    part: impl Fn(usize, &mut Producer) -> Result<(), RecordError> + Sync,
) -> Result<Stats, RecordError> {
    let mut builder = workload::builder(dir);
    builder.text(false);
    set(&mut builder);
    for n in 0..threads {
        builder.add_stream(1, n as u64 + 1, &format!("unit {n:04}")).unwrap();
    }
    let (mut recorder, producers) = builder.start_independent().unwrap();
    let together = Barrier::new(threads);
    let results: Vec<Result<(), RecordError>> = std::thread::scope(|scope| {
        let (together, part) = (&together, &part);
        let threads: Vec<_> = producers
            .into_iter()
            .enumerate()
            .map(|(n, mut producer)| {
                scope.spawn(move || {
                    together.wait();
                    part(n, &mut producer)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let stats = recorder.close(RunTotals::default());
    if let Err(error) = &stats {
        for result in results.into_iter().filter_map(Result::err) {
            assert_eq!(result.to_string(), error.to_string(), "everyone gets the first error");
        }
    }
    stats
}

/// Unit id and value of every event of the trace.
fn values(dir: &Path) -> Vec<(u64, u64)> {
    let file = reading::read(&dir.join(TRACE_FILE));
    let found = file.events().map(|packet| arguments(packet.packet.track_event()));
    found.map(|found| (found.unit_id, found.value)).collect()
}

#[test]
fn a_hundred_and_twenty_eight_producers_of_one_event_each() {
    let dir = tempfile::tempdir().unwrap();
    let stats = crowd(dir.path(), 128, |_| {}, |n, producer| event(producer, 5, n as u64)).unwrap();
    assert_eq!((stats.events, stats.peak_staging_records), (128, 128));
    assert_eq!(values(dir.path()), (0..128).map(|n| (n + 1, n)).collect::<Vec<_>>());
}

#[test]
fn sixty_four_bursts_of_eighty_in_one_nanosecond_fit_rings_of_two() {
    let dir = tempfile::tempdir().unwrap();
    let set = |builder: &mut RecorderBuilder| {
        builder.ring_capacity(Some(2)).open_records(64 * 80);
    };
    let burst = |_, producer: &mut Producer| (0..80).try_for_each(|value| event(producer, 7, value));
    let stats = crowd(dir.path(), 64, set, burst).unwrap();
    assert_eq!((stats.events, stats.peak_staging_records), (5120, 5120));
    let expected: Vec<(u64, u64)> =
        (1..=64).flat_map(|unit| (0..80).map(move |value| (unit, value))).collect();
    assert_eq!(values(dir.path()), expected);
}

/// Four threads for 512 units: each thread's streams take part in one event after another.
#[test]
fn five_hundred_and_twelve_units() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = workload::builder(dir.path());
    for n in 0..512 {
        builder.add_stream(1 + n % 2, u64::from(n) + 1, &format!("unit {n:04}")).unwrap();
    }
    let (mut recorder, mut producers) = builder.start_coordinated().unwrap();
    for round in 0..10u64 {
        std::thread::scope(|scope| {
            for part in producers.chunks_mut(128) {
                scope.spawn(move || {
                    for producer in part {
                        event(producer, round * 10, round).unwrap();
                    }
                });
            }
        });
        // Edge 10r of the slower clock is at 10r ns, of the faster at 5r ns.
        recorder.advance(round as i64 * 5).unwrap();
    }
    let stats = recorder.close(RunTotals::default()).unwrap();
    assert_eq!(stats.events, 5120);
    // The faster clock's units have odd indices, so even ids.
    let mut expected: Vec<(u64, u64, u64)> = Vec::new();
    for round in 0..10 {
        expected.extend(
            (1..=512).map(|id| (if id % 2 == 0 { round * 5000 + 250 } else { round * 10_000 }, id, round)),
        );
    }
    expected.sort_unstable();
    assert_eq!(
        values(dir.path()),
        expected.into_iter().map(|(_, id, round)| (id, round)).collect::<Vec<_>>()
    );
}

#[test]
fn three_records_in_a_budget_of_two() {
    let budget = |builder: &mut RecorderBuilder| {
        builder.open_records(2).ring_capacity(Some(2));
    };
    // In nanoseconds of their own they fit, however far each stream runs ahead.
    let dir = tempfile::tempdir().unwrap();
    let apart = |n, producer: &mut Producer| (0..30).try_for_each(|k| event(producer, 3 * k + n as u64, k));
    let stats = crowd(dir.path(), 3, budget, apart).unwrap();
    assert_eq!((stats.events, stats.peak_staging_records), (90, 1));
    assert_eq!(values(dir.path()).len(), 90);

    // In the same one they do not, whoever is first.
    let dir = tempfile::tempdir().unwrap();
    let error = crowd(dir.path(), 3, budget, |_, producer| {
        event(producer, 4, 0)?;
        producer.advance(5)?;
        event(producer, 9, 0)
    });
    let error = error.unwrap_err();
    assert!(matches!(error, RecordError::BucketBudget { ns: 4, needed: 3, budget: 2 }), "{error}");
    assert!(error.to_string().contains("nanosecond 4") && error.to_string().contains("open_records"));

    // One stream alone, more than its ring takes.
    let dir = tempfile::tempdir().unwrap();
    let error = crowd(dir.path(), 1, budget, |_, producer| {
        event(producer, 2, 1)?;
        (0..9).try_for_each(|k| event(producer, 4, k))
    });
    assert!(matches!(error, Err(RecordError::BucketBudget { ns: 4, needed: 3.., budget: 2 })));
    assert_eq!(values(dir.path()), [(1, 1)], "what came before the nanosecond that does not fit is kept");
}

#[test]
fn eight_thousand_records_in_a_budget_of_65_536() {
    let dir = tempfile::tempdir().unwrap();
    let set = |builder: &mut RecorderBuilder| {
        builder.open_records(65_536).ring_capacity(Some(64));
    };
    let part = |n: usize, producer: &mut Producer| {
        (0..2000)
            .try_for_each(|value| event(producer, 1, value))
            .and_then(|()| event(producer, 2 + n as u64, 9))
    };
    let stats = crowd(dir.path(), 4, set, part).unwrap();
    assert_eq!((stats.events, stats.peak_staging_records), (8004, 8000));
}

/// Nanoseconds 0, 0 and 1: two exact instants share a bucket, the third has its own.
#[test]
fn buckets_are_nanoseconds_not_instants() {
    for budget in [1, 2] {
        let dir = tempfile::tempdir().unwrap();
        let mut builder = workload::builder(dir.path());
        builder.open_records(budget);
        builder.add_stream(2, 1, "b").unwrap();
        let (mut recorder, mut producers) = builder.start_independent().unwrap();
        // 250 ps, 750 ps, 1250 ps.
        (0..3).for_each(|cycle| event(&mut producers[0], cycle, cycle).unwrap());
        let closed = recorder.close(RunTotals::default());
        if budget == 2 {
            assert_eq!(closed.unwrap().peak_staging_records, 2);
            assert_eq!(values(dir.path()), [(1, 0), (1, 1), (1, 2)]);
        } else {
            assert!(matches!(closed, Err(RecordError::BucketBudget { ns: 0, needed: 2, budget: 1 })));
        }
    }
}

#[test]
fn a_coordinator_that_lags_is_told_what_to_raise() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = workload::builder(dir.path());
    builder.open_records(100).ring_capacity(Some(4));
    builder.add_stream(1, 1, "unit").unwrap();
    let (mut recorder, mut producers) = builder.start_coordinated().unwrap();
    // As many as the budget fit, whatever the ring holds.
    for base in [0, 100] {
        (base..base + 100).for_each(|cycle| event(&mut producers[0], cycle, 0).unwrap());
        recorder.advance(base as i64 + 100).unwrap();
        recorder.flush().unwrap();
    }
    let error = (200..400).find_map(|cycle| event(&mut producers[0], cycle, 0).err()).unwrap();
    assert!(matches!(error, RecordError::OpenBudget { ns: 200, budget: 100 }), "{error}");
    let closed = recorder.close(RunTotals::default()).unwrap_err();
    assert_eq!(closed.to_string(), error.to_string());
    assert_eq!(values(dir.path()).len(), 200);
}

#[test]
fn rings_have_a_size_that_is_stated_and_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let capacity = |dir: &Path, capacity, streams: u64| {
        let mut builder = workload::builder(dir);
        builder.ring_capacity(capacity).metadata_bytes(1 << 30).text(false);
        for id in 1..=streams {
            builder.add_stream(1, id, &format!("{id}")).unwrap();
        }
        let stats = builder.start_independent()?.0.close(RunTotals::default()).unwrap();
        let manifest = std::fs::read_to_string(dir.join("clock-manifest.json")).unwrap();
        let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
        let stated = manifest["stream_capacity"].as_u64().unwrap();
        assert_eq!(stats.allocated_ingress_bytes, stated * streams * 40);
        Ok::<u64, RecordError>(stated)
    };
    assert_eq!(capacity(&dir.path().join("one"), None, 1).unwrap(), 4096);
    // 8 MiB / 40 bytes / 100 = 2,097.
    assert_eq!(capacity(&dir.path().join("hundred"), None, 100).unwrap(), 2048);
    assert_eq!(capacity(&dir.path().join("chosen"), Some(8), 3).unwrap(), 8);
    for bad in [0, 1, 3, 1 << 21] {
        let error = capacity(&dir.path().join("bad"), Some(bad), 1).unwrap_err();
        assert!(matches!(error, RecordError::BadOption { option: "ring_capacity", .. }), "{error}");
    }
    // 7 * 2^20 * 40 bytes are more than 256 MiB, 6 are not.
    let error = capacity(&dir.path().join("large"), Some(1 << 20), 7).unwrap_err();
    assert!(matches!(error, RecordError::RingBudget { streams: 7, budget: 268_435_456, .. }), "{error}");
    assert!(!dir.path().join("large").exists(), "nothing was begun");
}
