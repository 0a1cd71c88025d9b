//! The examples run, and what they record imports.

#[allow(dead_code, reason = "the example's own entry is not called")]
#[path = "../../examples/foreign_loop.rs"]
mod foreign_loop;

#[allow(dead_code, reason = "the example's own entry is not called")]
#[path = "../../examples/four_threads.rs"]
mod four_threads;

use clockweave_validators::Options;

use crate::assert_valid;

/// Every message is taken at the second of the receiver's edges after its sending.
#[test]
fn a_foreign_loop_records_its_own_clocks() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    let events = foreign_loop::run(&dir).unwrap();
    // In parts of 1 / (914 * 1326 * 10^12) s: sending n is at n / 914 us, edge k at k / 1326 us + 137 ps.
    let sent = |n: u64| n * 1_326_000_000;
    let edge = |k: u64| k * 914_000_000 + 137 * 914 * 1326;
    let taken = |n: u64| (0..).find(|k| edge(*k) > sent(n)).unwrap() + 1;
    let last = sent(999);
    let received = (0..1000).filter(|n| edge(taken(*n)) <= last).count() as u64;
    assert_eq!(events, 1000 + received);
    assert_eq!(assert_valid(&dir, &Options::default()), events);
}

/// About half of 20,000 edges have an event: those whose draw has its highest bit clear.
#[test]
fn four_threads_record_independently() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    let events = four_threads::run(&dir).unwrap();
    let drawn = |seed: u64| {
        let draws = std::iter::successors(Some(seed), |state| {
            Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1))
        });
        draws.skip(1).take(20_000).filter(|state| *state < 1 << 63).count() as u64
    };
    assert_eq!(events, (1..=4).map(drawn).sum::<u64>());
    assert_eq!(assert_valid(&dir, &Options::default()), events);
}
