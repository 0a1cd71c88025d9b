//! Events are written in the order exact time, phase, unit name, producer order, program order, and a
//! unit's ordinals number them in that order, in both outputs alike.

use std::path::Path;

use clockweave_model::{KindId, Phase};
use clockweave_recorder::{RunTotals, SerialRecorder, StreamId, TRACE_FILE};

use crate::reading::arguments;

const COMMIT: Phase = Phase::Commit;
const EVALUATE: Phase = Phase::Evaluate;

/// Unit id, ordinal and value of every event of the trace, in file order.
fn trace(dir: &Path) -> Vec<(u64, u64, u64)> {
    let file = crate::reading::read(&dir.join(TRACE_FILE));
    file.events()
        .map(|event| arguments(event.packet.track_event()))
        .map(|args| (args.unit_id, args.ordinal, args.value))
        .collect()
}

/// The same of a text log.
fn text(dir: &Path, domain: &str) -> Vec<(u64, u64, u64)> {
    let text = std::fs::read_to_string(dir.join(format!("text-domain-{domain}.log"))).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            let number = |at: usize| columns[at].parse().unwrap();
            (number(1), number(7), number(6))
        })
        .collect()
}

fn put(recorder: &mut SerialRecorder, stream: StreamId, cycle: u64, value: u64, phase: Phase) {
    recorder.record(stream, cycle, KindId::USER, 0, value, 0, phase);
}

#[test]
fn phase_comes_before_unit_name_and_unit_name_before_unit_id() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = crate::two_clocks::builder(dir.path());
    let zeta = builder.add_stream(1, 1, "zeta").unwrap();
    let alpha = builder.add_stream(1, 2, "alpha").unwrap();
    let mut recorder = builder.start_serial().unwrap();
    put(&mut recorder, zeta, 0, 1, COMMIT);
    put(&mut recorder, alpha, 0, 2, COMMIT);
    put(&mut recorder, zeta, 0, 3, EVALUATE);
    put(&mut recorder, alpha, 0, 4, EVALUATE);
    put(&mut recorder, zeta, 0, 5, COMMIT);
    recorder.end_instant(0).unwrap();
    recorder.close(RunTotals::default()).unwrap();
    let expected = [(2, 0, 4), (1, 0, 3), (2, 1, 2), (1, 1, 1), (1, 2, 5)];
    assert_eq!(trace(dir.path()), expected);
    assert_eq!(text(dir.path(), "a"), expected);
}

#[test]
fn an_earlier_instant_of_the_same_nanosecond_comes_first_whatever_phase_and_name() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = crate::two_clocks::builder(dir.path());
    let late = builder.add_stream(1, 1, "a.unit").unwrap();
    let early = builder.add_stream(2, 2, "z.unit").unwrap();
    let mut recorder = builder.start_serial().unwrap();
    // 2 GHz + 250 ps: edges at 0.25 and 0.75 ns; 1 GHz: at 0 and 1 ns.
    put(&mut recorder, early, 0, 1, COMMIT);
    recorder.end_instant(0).unwrap();
    put(&mut recorder, early, 1, 2, COMMIT);
    recorder.end_instant(0).unwrap();
    put(&mut recorder, late, 1, 3, EVALUATE);
    recorder.end_instant(1).unwrap();
    put(&mut recorder, early, 2, 4, EVALUATE);
    recorder.end_instant(1).unwrap();
    recorder.close(RunTotals::default()).unwrap();
    assert_eq!(trace(dir.path()), [(2, 0, 1), (2, 1, 2), (1, 0, 3), (2, 2, 4)]);
    assert_eq!(text(dir.path(), "b"), [(2, 0, 1), (2, 1, 2), (2, 2, 4)]);
    let file = crate::reading::read(&dir.path().join(TRACE_FILE));
    let deltas: Vec<u64> = file.events().map(|event| event.packet.timestamp()).collect();
    assert_eq!(deltas, [0, 0, 1, 0]);
}

#[test]
fn producers_of_one_unit_follow_their_order_and_share_its_ordinals() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = crate::two_clocks::builder(dir.path());
    let unit = builder.add_stream(1, 1, "unit").unwrap();
    let fifo_9 = builder.add_producer_stream(unit, 10).unwrap();
    let fifo_2 = builder.add_producer_stream(unit, 3).unwrap();
    let mut recorder = builder.start_serial().unwrap();
    for cycle in 0..2 {
        put(&mut recorder, fifo_9, cycle, 1, COMMIT);
        put(&mut recorder, fifo_9, cycle, 2, COMMIT);
        put(&mut recorder, fifo_2, cycle, 3, COMMIT);
        put(&mut recorder, unit, cycle, 4, COMMIT);
        put(&mut recorder, fifo_9, cycle, 5, EVALUATE);
        recorder.end_instant(cycle as i64).unwrap();
    }
    recorder.close(RunTotals::default()).unwrap();
    let expected = [
        (1, 0, 5),
        (1, 1, 4),
        (1, 2, 3),
        (1, 3, 1),
        (1, 4, 2),
        (1, 5, 5),
        (1, 6, 4),
        (1, 7, 3),
        (1, 8, 1),
        (1, 9, 2),
    ];
    assert_eq!(trace(dir.path()), expected);
    assert_eq!(text(dir.path(), "a"), expected);
}

/// Many units recorded in an order that is neither that of names nor of ids.
#[test]
fn a_wide_instant_is_put_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = crate::two_clocks::builder(dir.path());
    let units: Vec<StreamId> =
        (0..500).map(|n| builder.add_stream(1, n + 1, &format!("u{:03}", 499 - n)).unwrap()).collect();
    let mut recorder = builder.start_serial().unwrap();
    for at in 0..500 {
        put(&mut recorder, units[at * 7 % 500], 3, at as u64, COMMIT);
    }
    recorder.end_instant(3).unwrap();
    recorder.close(RunTotals::default()).unwrap();
    let ids: Vec<u64> = trace(dir.path()).iter().map(|(unit, _, _)| *unit).collect();
    assert_eq!(ids, (1..=500).rev().collect::<Vec<u64>>());
}
