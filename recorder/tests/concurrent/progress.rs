//! Promises: who waits for whom, how far streams may be apart, and what becomes of those that break their word.

use std::path::Path;
use std::sync::mpsc::channel;

use clockweave_model::{KindId, Phase};
use clockweave_recorder::{
    ConcurrentRecorder, Producer, RecordError, RecorderBuilder, RunTotals, STATS_FILE, TRACE_FILE,
};

use crate::reading::{self, arguments};
use crate::workload;

/// Two streams of the same clock, 1 GHz: edge n is at n ns.
fn pair(dir: &Path, set: impl FnOnce(&mut RecorderBuilder)) -> (ConcurrentRecorder, Producer, Producer) {
    let mut builder = workload::builder(dir);
    set(&mut builder);
    builder.add_stream(1, 1, "first").unwrap();
    builder.add_stream(1, 2, "second").unwrap();
    let (recorder, mut producers) = builder.start_independent().unwrap();
    let second = producers.pop().unwrap();
    (recorder, producers.pop().unwrap(), second)
}

fn event(producer: &mut Producer, cycle: u64) -> Result<(), RecordError> {
    producer.record(cycle, KindId::USER, 0, cycle, 0, Phase::Commit)
}

/// Unit id and value of every event of the trace.
fn values(dir: &Path) -> Vec<(u64, u64)> {
    let file = reading::read(&dir.join(TRACE_FILE));
    let found = file.events().map(|packet| arguments(packet.packet.track_event()));
    found.map(|found| (found.unit_id, found.value)).collect()
}

#[test]
fn a_stream_that_only_advances_lets_its_peer_go_on() {
    let dir = tempfile::tempdir().unwrap();
    // A ring has room for what is recorded between two of the sleeper's promises.
    let (mut recorder, mut busy, mut quiet) = pair(dir.path(), |builder| {
        builder.ring_capacity(Some(128));
    });
    let (wake, sleep) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for cycle in 0..5000 {
                if cycle % 100 == 0 {
                    // One message per call that waits for the sleeper.
                    wake.send(cycle).unwrap();
                    busy.advance(cycle).unwrap();
                }
                event(&mut busy, cycle).unwrap();
            }
        });
        scope.spawn(move || {
            while let Ok(cycle) = sleep.recv() {
                quiet.advance(cycle).unwrap();
            }
            quiet.finish().unwrap();
        });
    });
    let stats = recorder.close(RunTotals::default()).unwrap();
    assert_eq!(stats.events, 5000);
    assert_eq!(values(dir.path()), (0..5000).map(|cycle| (1, cycle)).collect::<Vec<_>>());
}

/// The second stream's time begins 300 s after the first one's: neither does its memory grow, nor does anyone fail.
#[test]
fn streams_hundreds_of_seconds_apart_stay_within_the_budget() {
    const APART: u64 = 300_000_000_000;
    let dir = tempfile::tempdir().unwrap();
    let (mut recorder, mut early, mut late) = pair(dir.path(), |builder| {
        builder.ring_capacity(Some(64)).open_records(16);
    });
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for n in 0..3000 {
                event(&mut early, n * 90_000_000).unwrap();
            }
            early.finish().unwrap();
        });
        scope.spawn(move || {
            for n in 0..3000 {
                if n % 500 == 0 {
                    late.advance(APART + n).unwrap();
                }
                event(&mut late, APART + n).unwrap();
            }
            late.finish().unwrap();
        });
    });
    let stats = recorder.close(RunTotals::default()).unwrap();
    assert_eq!(stats.events, 6000);
    assert!(stats.peak_staging_records <= 16, "{}", stats.peak_staging_records);
    // Two rings of 64 records of 40 bytes.
    assert_eq!(stats.allocated_ingress_bytes, 5120);
    assert!(stats.peak_ingress_bytes_upper_bound <= 5120);
    let expected: Vec<(u64, u64)> =
        (0..3000).map(|n| (1, n * 90_000_000)).chain((0..3000).map(|n| (2, APART + n))).collect();
    assert_eq!(values(dir.path()), expected);
}

/// Runs a misuse while the other stream waits: both get its error, `close` too, and what was accepted is written.
fn misuse(
    offence: impl FnOnce(&mut Producer) -> RecordError,
    expected: impl Fn(&RecordError) -> bool,
    kept: &[(u64, u64)],
) {
    let dir = tempfile::tempdir().unwrap();
    let (mut recorder, mut waiting, mut offender) = pair(dir.path(), |_| {});
    let (ready, begin) = channel();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(move || {
            event(&mut waiting, 3).unwrap();
            ready.send(()).unwrap();
            let error = waiting.advance(1000).unwrap_err();
            assert_eq!(event(&mut waiting, 2000).unwrap_err().to_string(), error.to_string());
            error
        });
        begin.recv().unwrap();
        let error = offence(&mut offender);
        assert!(expected(&error), "{error}");
        assert!(expected(&event(&mut offender, 5000).unwrap_err()));
        assert!(expected(&offender.advance(5000).unwrap_err()));
        let woken = waiter.join().unwrap();
        assert!(expected(&woken), "{woken}");
    });
    assert!(expected(&recorder.flush().unwrap_err()));
    assert!(expected(&recorder.close(RunTotals::default()).unwrap_err()));
    assert!(expected(&recorder.close(RunTotals::default()).unwrap_err()));
    assert!(!dir.path().join(STATS_FILE).exists());
    assert_eq!(values(dir.path()), kept);
}

#[test]
fn a_late_record_is_refused_and_ends_the_run() {
    misuse(
        |producer| {
            event(producer, 5).unwrap();
            producer.advance(7).unwrap();
            event(producer, 6).unwrap_err()
        },
        |error| matches!(error, RecordError::Late { unit, cycle: 6, promised: 7 } if unit == "second"),
        &[(1, 3), (2, 5)],
    );
}

#[test]
fn a_record_after_the_end_is_refused_and_ends_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let (mut recorder, mut first, mut second) = pair(dir.path(), |_| {});
    event(&mut second, 5).unwrap();
    second.finish().unwrap();
    second.finish().unwrap();
    let finished =
        |error: &RecordError| matches!(error, RecordError::Finished { unit, cycle: 9 } if unit == "second");
    let error = event(&mut second, 9).unwrap_err();
    assert!(finished(&error), "{error}");
    assert!(finished(&first.advance(1000).unwrap_err()));
    assert!(finished(&recorder.close(RunTotals::default()).unwrap_err()));
    assert_eq!(values(dir.path()), [(2, 5)]);
}

#[test]
fn a_cycle_that_goes_back_and_a_promise_that_falls_end_the_run() {
    misuse(
        |producer| {
            event(producer, 5).unwrap();
            event(producer, 4).unwrap_err()
        },
        |error| matches!(error, RecordError::CycleRegressed { unit, cycle: 4, last: 5 } if unit == "second"),
        &[(1, 3), (2, 5)],
    );
    misuse(
        |producer| {
            event(producer, 5).unwrap();
            producer.advance(7).unwrap();
            producer.advance(7).unwrap();
            producer.advance(6).unwrap_err()
        },
        |error| matches!(error, RecordError::PromiseFell { unit, cycle: 6, promised: 7 } if unit == "second"),
        &[(1, 3), (2, 5)],
    );
}

#[test]
fn a_cycle_without_a_time_is_refused() {
    let last = workload::domain(1, "a", "1GHz", 0).max_edge();
    misuse(
        |producer| event(producer, last + 1).unwrap_err(),
        |error| matches!(error, RecordError::Time(_)),
        &[(1, 3)],
    );
    let dir = tempfile::tempdir().unwrap();
    let (mut recorder, mut first, second) = pair(dir.path(), |_| {});
    drop(second);
    event(&mut first, last).unwrap();
    // Beyond the last edge there is nothing to come.
    first.advance(last + 1).unwrap();
    drop(first);
    assert_eq!(recorder.close(RunTotals::default()).unwrap().events, 1);
}

#[test]
fn coordinator_and_streams_keep_to_their_calls() {
    let dir = tempfile::tempdir().unwrap();
    let (mut recorder, mut first, _second) = pair(dir.path(), |_| {});
    let refused = |error: &RecordError| matches!(error, RecordError::NotCoordinated);
    assert!(refused(&recorder.advance(5).unwrap_err()));
    assert!(refused(&event(&mut first, 9).unwrap_err()));
    assert!(refused(&recorder.close(RunTotals::default()).unwrap_err()));

    let dir = tempfile::tempdir().unwrap();
    let mut builder = workload::builder(dir.path());
    workload::add_lanes(&mut builder);
    let (mut recorder, mut producers) = builder.start_coordinated().unwrap();
    event(&mut producers[0], 0).unwrap();
    let refused = |error: &RecordError| matches!(error, RecordError::Coordinated { unit } if unit == "zeta");
    assert!(refused(&producers[0].advance(5).unwrap_err()));
    assert!(refused(&recorder.advance(5).unwrap_err()));
    assert!(refused(&recorder.close(RunTotals::default()).unwrap_err()));
    assert_eq!(values(dir.path()), [(1, 0)]);
}

#[test]
fn a_coordinated_run_refuses_what_its_watermark_has_passed() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = workload::builder(dir.path());
    builder.add_stream(1, 1, "a").unwrap();
    builder.add_stream(2, 2, "b").unwrap();
    let (mut recorder, mut producers) = builder.start_coordinated().unwrap();
    let [a, b] = &mut producers[..] else { panic!("two streams") };
    for cycle in 0..1000 {
        event(a, cycle).unwrap();
        // 2 GHz + 250 ps: edges 2n and 2n + 1 are in nanosecond n.
        event(b, 2 * cycle).unwrap();
        event(b, 2 * cycle + 1).unwrap();
        recorder.advance(cycle as i64).unwrap();
    }
    recorder.advance(999).unwrap();
    event(b, 1999).unwrap();
    recorder.advance(1000).unwrap();
    let late = |error: &RecordError| matches!(error, RecordError::Late { unit, cycle: 1999, promised: 2000 } if unit == "b");
    assert!(late(&event(b, 1999).unwrap_err()));
    assert!(late(&recorder.close(RunTotals::default()).unwrap_err()));
    assert_eq!(values(dir.path()).len(), 3001);

    let dir = tempfile::tempdir().unwrap();
    let mut builder = workload::builder(dir.path());
    builder.add_stream(1, 1, "a").unwrap();
    let (mut recorder, _producers) = builder.start_coordinated().unwrap();
    recorder.advance(7).unwrap();
    let fell = |error: &RecordError| matches!(error, RecordError::WatermarkFell { ns: 6, last: 7 });
    assert!(fell(&recorder.advance(6).unwrap_err()));
    assert!(fell(&recorder.close(RunTotals::default()).unwrap_err()));
}

#[test]
fn a_closed_run_takes_nothing_and_says_what_it_lost() {
    let dir = tempfile::tempdir().unwrap();
    let (mut recorder, mut first, mut second) = pair(dir.path(), |_| {});
    event(&mut first, 1).unwrap();
    event(&mut second, 2).unwrap();
    let stats = recorder.close(RunTotals::default()).unwrap();
    assert_eq!(stats.events, 2, "streams that had not ended are ended");
    assert!(matches!(event(&mut first, 3), Err(RecordError::Closed)));
    assert!(matches!(recorder.flush(), Err(RecordError::Closed)));
    assert!(matches!(first.advance(9), Err(RecordError::Closed)));
    assert!(matches!(second.finish(), Err(RecordError::ClosedEarly { lost: 0, .. })));
    assert_eq!(recorder.close(RunTotals::default()).unwrap().events, 2);
    assert_eq!(values(dir.path()), [(1, 1), (2, 2)]);
}

#[test]
fn a_flush_writes_what_is_safe() {
    let dir = tempfile::tempdir().unwrap();
    let (mut recorder, mut first, mut second) = pair(dir.path(), |_| {});
    (0..10).for_each(|cycle| event(&mut first, cycle).unwrap());
    second.advance(0).unwrap();
    first.finish().unwrap();
    event(&mut second, 6).unwrap();
    // The second stream may still record at 6 ns.
    recorder.flush().unwrap();
    assert_eq!(values(dir.path()), (0..6).map(|cycle| (1, cycle)).collect::<Vec<_>>());
    drop(second);
    recorder.flush().unwrap();
    assert_eq!(values(dir.path()).len(), 11);
    recorder.close(RunTotals::default()).unwrap();
}

/// What an unclosed recorder leaves is complete, but for the statistics.
#[test]
fn a_dropped_recorder_completes_its_files() {
    let dir = tempfile::tempdir().unwrap();
    let (recorder, mut first, second) = pair(dir.path(), |_| {});
    (0..10).for_each(|cycle| event(&mut first, cycle).unwrap());
    drop((first, second));
    drop(recorder);
    assert_eq!(values(dir.path()).len(), 10);
    assert!(!dir.path().join(STATS_FILE).exists());
}

/// Whatever is accepted is in the trace or told as lost, at whatever moment the run is closed: nothing is told that was
/// written, and nothing is lost without a word.
#[test]
fn a_run_that_is_closed_in_the_middle_accounts_for_every_event() {
    for round in 0..60u64 {
        let dir = tempfile::tempdir().unwrap();
        let mut builder = workload::builder(dir.path());
        builder.ring_capacity(Some(64)).text(false);
        for unit in 1..=4 {
            builder.add_stream(1, unit, &format!("unit-{unit}")).unwrap();
        }
        let (mut recorder, producers) = builder.start_independent().unwrap();
        let (send, running) = channel();
        let threads: Vec<_> = producers
            .into_iter()
            .map(|mut producer| {
                let send = send.clone();
                std::thread::spawn(move || {
                    let mut accepted = 0;
                    while event(&mut producer, accepted).is_ok() {
                        accepted += 1;
                        if accepted.is_multiple_of(20) && producer.advance(accepted).is_err() {
                            break;
                        }
                        if accepted == 20 * (1 + round) {
                            send.send(()).unwrap();
                        }
                    }
                    match producer.finish() {
                        Err(RecordError::ClosedEarly { lost, .. }) => (accepted, lost),
                        other => panic!("{other:?}"),
                    }
                })
            })
            .collect();
        running.recv().unwrap();
        let stats = recorder.close(RunTotals::default()).unwrap();
        let (accepted, lost) = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .fold((0, 0), |sum, (accepted, lost)| (sum.0 + accepted, sum.1 + lost));
        assert_eq!(stats.events + lost, accepted, "round {round}");
    }
}

/// More than a ring takes at the last cycle that there is.
#[test]
fn the_last_cycle_is_no_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = workload::builder(dir.path());
    builder.ring_capacity(Some(4));
    // 2^64 - 1 edges at 4 GHz are 146 years.
    builder.domain(&workload::domain(9, "fast", "4GHz", 0)).unwrap();
    builder.add_stream(9, 1, "unit").unwrap();
    let (mut recorder, mut producers) = builder.start_independent().unwrap();
    for value in 0..20 {
        producers[0].record(u64::MAX, KindId::USER, 0, value, 0, Phase::Commit).unwrap();
    }
    producers[0].finish().unwrap();
    assert_eq!(recorder.close(RunTotals::default()).unwrap().events, 20);
    assert_eq!(values(dir.path()), (0..20).map(|value| (1, value)).collect::<Vec<_>>());
}

#[test]
fn a_run_without_streams_is_empty() {
    let dir = tempfile::tempdir().unwrap();
    let builder = |name: &str| workload::builder(&dir.path().join(name));
    let (mut recorder, producers) = builder("independent").start_independent().unwrap();
    assert!(producers.is_empty());
    recorder.flush().unwrap();
    assert_eq!(recorder.close(RunTotals::default()).unwrap().events, 0);
    let (mut recorder, _) = builder("coordinated").start_coordinated().unwrap();
    recorder.advance(9).unwrap();
    recorder.flush().unwrap();
    assert_eq!(recorder.close(RunTotals::default()).unwrap().events, 0);
}

/// Closed is closed for the last cycle, too; and behind the last edge everything is late, which is not closed.
#[test]
fn what_comes_after_everything_is_refused_in_its_own_words() {
    let start = |name: &Path| {
        let mut builder = workload::builder(name);
        builder.domain(&workload::domain(9, "fast", "4GHz", 0)).unwrap();
        builder.add_stream(9, 1, "unit").unwrap();
        builder.start_coordinated().unwrap()
    };
    let dir = tempfile::tempdir().unwrap();
    let (mut recorder, mut producers) = start(&dir.path().join("closed"));
    event(&mut producers[0], 1).unwrap();
    recorder.close(RunTotals::default()).unwrap();
    assert!(matches!(event(&mut producers[0], u64::MAX), Err(RecordError::Closed)));
    let (mut recorder, mut producers) = start(&dir.path().join("late"));
    recorder.advance(i64::MAX).unwrap();
    let late = |error: &RecordError| matches!(error, RecordError::Late { cycle: 5, .. });
    assert!(late(&event(&mut producers[0], 5).unwrap_err()));
    assert!(late(&recorder.close(RunTotals::default()).unwrap_err()));
}
