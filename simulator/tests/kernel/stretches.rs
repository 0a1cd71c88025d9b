//! Stretches in which everything sleeps: skipped or walked, the same batches are counted and the same
//! ticks happen, as big rationals say.

use clockweave_model::{ExactTime, Seconds};
use clockweave_simulator::{Simulation, Tick};
use proptest::prelude::*;

use crate::clocks::{Batches, Clock, Exact, exact};
use crate::scripted::{Log, add};
use crate::traffic::mix;

/// Adds domain `name` with one unit that sleeps for as long as `nap` says on each tick.
pub(crate) fn napping(
    sim: &mut Simulation,
    clock: Clock,
    id: u32,
    name: &str,
    nap: impl Fn(u64) -> Option<u64> + Send + 'static,
) -> Log<u64> {
    sim.add_domain(clock.domain(id, name)).unwrap();
    let ticks = Log::new();
    let log = ticks.clone();
    add(sim, name, &format!("{name}.unit"), |_| {
        move |cx: &mut Tick<'_>| {
            log.push(cx.cycle());
            match nap(cx.cycle()) {
                Some(edges) => cx.sleep_until(cx.cycle() + edges),
                None => cx.sleep(),
            }
            Ok(())
        }
    });
    ticks
}

pub(crate) fn time(num: u64, den: u64) -> ExactTime {
    ExactTime::from_seconds(Seconds::from_ratio(num, den).unwrap()).unwrap()
}

/// Batches, cycles of every domain, last committed time, and the ticks of every unit.
type Outcome = (u128, Vec<u64>, Exact, Vec<Vec<u64>>);

fn outcome(sim: &Simulation, ticks: &[Log<u64>]) -> Outcome {
    let seen = sim.inspect().unwrap();
    let cycles = (0..ticks.len()).map(|at| seen.domain_cycles(&format!("d{at}")).unwrap()).collect();
    let ticks = ticks.iter().map(Log::take).collect();
    (seen.batches(), cycles, seen.last_committed().to_ratio(), ticks)
}

fn napper(seed: u64, longest: u64) -> impl Fn(u64) -> Option<u64> + Send + 'static {
    move |cycle| Some(1 + mix(seed ^ cycle) % longest)
}

/// Every domain's unit naps for a pseudorandom number of edges.
fn machine(clocks: &[Clock], seed: u64, longest: u64) -> (Simulation, Vec<Log<u64>>) {
    let mut sim = Simulation::new();
    let ticks = clocks
        .iter()
        .zip(0u32..)
        .map(|(&clock, at)| {
            napping(&mut sim, clock, at + 1, &format!("d{at}"), napper(seed + u64::from(at), longest))
        })
        .collect();
    (sim, ticks)
}

/// What the naps alone imply up to a number of batches.
fn expected(clocks: &[Clock], seed: u64, longest: u64, batches: u64) -> Outcome {
    let mut calendar = Batches::new(clocks);
    let mut last = exact(0, 1);
    for _ in 0..batches {
        last = calendar.advance().0;
    }
    let ticks = calendar.cycles.iter().zip(0u64..).map(|(&cycles, at)| {
        let nap = napper(seed + at, longest);
        let mut edges = vec![0];
        while let Some(next) = nap(edges[edges.len() - 1]).map(|edges_on| edges[edges.len() - 1] + edges_on) {
            if next >= cycles {
                break;
            }
            edges.push(next);
        }
        if cycles == 0 { Vec::new() } else { edges }
    });
    let ticks = ticks.collect();
    (batches.into(), calendar.cycles, last, ticks)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// In one call, in calls too short to skip, and in calls of any size, by batches.
    #[test]
    fn skipped_and_walked_stretches_are_the_same(
        clocks in proptest::collection::vec((1u64..30, 1u64..30, 0u64..50), 1..7),
        seed: u64,
        longest in prop::sample::select(vec![3u64, 300, 3_000, 100_000]),
        piece in 1u64..3000,
    ) {
        let clocks: Vec<Clock> = clocks
            .iter()
            .map(|&(num, den, phase)| Clock { period: (num, den * 1_000_000_000), phase: (phase, 7_000_000_000) })
            .collect();
        let (seed, total) = (seed >> 1, 6_000);
        let expected = expected(&clocks, seed, longest, total);
        for size in [total, 100, piece] {
            let (mut sim, ticks) = machine(&clocks, seed, longest);
            let mut left = total;
            while left > 0 {
                let report = sim.run_batches(size.min(left)).unwrap();
                prop_assert_eq!(report.batches, u128::from(size.min(left)));
                left -= size.min(left);
            }
            prop_assert_eq!(&outcome(&sim, &ticks), &expected, "in calls of {}", size);
        }
    }

    /// Bounded by a time or by a domain's cycles, where the skipped stretch must end exactly.
    #[test]
    fn skips_end_at_a_time_or_a_cycle(
        clocks in proptest::collection::vec((1u64..30, 1u64..30, 0u64..50), 1..7),
        seed: u64,
        end_ns in 1u64..100,
        third in 0u64..3,
        cycles in 1u64..200,
    ) {
        let clocks: Vec<Clock> = clocks
            .iter()
            .map(|&(num, den, phase)| Clock { period: (num, den * 1_000_000_000), phase: (phase, 7_000_000_000) })
            .collect();
        let seed = seed >> 1;
        let (num, den) = (3 * end_ns + third, 3_000_000_000);
        let mut calendar = Batches::new(&clocks);
        let mut batches = 0;
        while calendar.next_time() < exact(num, den) {
            calendar.advance();
            batches += 1;
        }
        let (mut sim, ticks) = machine(&clocks, seed, 100_000);
        sim.run_until_time(time(num, den)).unwrap();
        prop_assert_eq!(outcome(&sim, &ticks), expected(&clocks, seed, 100_000, batches));

        let goal = calendar.cycles[0] + cycles;
        while calendar.cycles[0] < goal && batches < 8_000 {
            calendar.advance();
            batches += 1;
        }
        let more = calendar.cycles[0] - sim.inspect().unwrap().domain_cycles("d0").unwrap();
        sim.run_domain_cycles("d0", more).unwrap();
        let (mut again, ticks) = (sim, ticks);
        let found = outcome(&again, &ticks);
        if calendar.cycles[0] == goal {
            prop_assert_eq!((found.0, found.1), (u128::from(batches), calendar.cycles.clone()));
        }
        prop_assert_eq!(again.run_domain_cycles("d0", 0).unwrap().batches, 0);
    }
}

#[test]
fn ten_seconds_of_an_idle_gigahertz_are_ten_billion_batches() {
    let mut sim = Simulation::new();
    let ticks = napping(&mut sim, Clock::mhz(1000), 1, "clk", |_| None);
    sim.run_until_time(time(10, 1)).unwrap();
    let seen = sim.inspect().unwrap();
    assert_eq!(seen.batches(), 10_000_000_000);
    assert_eq!(seen.domain_cycles("clk"), Some(10_000_000_000));
    assert_eq!(seen.last_committed().to_ratio(), exact(9_999_999_999, 1_000_000_000));
    assert_eq!(ticks.take(), [0]);
}

/// A unit that is awake on every edge of a slow clock leaves the stretches between them to be skipped.
#[test]
fn fast_clocks_sleep_beside_a_slow_one_that_is_awake() {
    let mut sim = Simulation::new();
    let slow = napping(&mut sim, Clock::hz(1).late_ps(10), 2, "slow", |_| Some(1));
    let fast = napping(&mut sim, Clock::mhz(1000), 1, "fast", |cycle| Some(3_000_000_000 - cycle % 2));
    let other = napping(&mut sim, Clock::mhz(914), 3, "other", |_| None);
    sim.run_batches(5).unwrap();
    sim.run_until_time(time(10, 1)).unwrap();
    let seen = sim.inspect().unwrap();
    // 1 GHz and 914 MHz meet every 500 ns; the slow edges are their own.
    assert_eq!(seen.batches(), 10_000_000_000 + 9_140_000_000 - 10 * 2_000_000 + 10);
    assert_eq!(seen.domain_cycles("fast"), Some(10_000_000_000));
    assert_eq!(seen.domain_cycles("other"), Some(9_140_000_000));
    assert_eq!(slow.take(), (0..10).collect::<Vec<_>>());
    assert_eq!(fast.take(), [0, 3_000_000_000, 6_000_000_000, 9_000_000_000]);
    assert_eq!(other.take(), [0]);
}

/// By batches alone the end of the stretch has to be searched for, in five clocks at once.
#[test]
fn a_stretch_ends_at_an_exact_number_of_batches() {
    let clocks = [
        Clock::mhz(1000),
        Clock::mhz(1500),
        Clock::mhz(914).late_ps(137),
        Clock::mhz(1326),
        Clock { period: (7, 5_000_000_000), phase: (1, 3_000_000_000) },
    ];
    for total in [255, 256, 257, 1000, 99_999] {
        let mut sim = Simulation::new();
        let mut ticks = Vec::new();
        for (&clock, at) in clocks.iter().zip(0u32..) {
            ticks.push(napping(&mut sim, clock, at + 1, &format!("d{at}"), |_| None));
        }
        sim.run_batches(total).unwrap();
        let mut calendar = Batches::new(&clocks);
        (0..total).for_each(|_| drop(calendar.advance()));
        let found = outcome(&sim, &ticks);
        assert_eq!((found.0, found.1), (u128::from(total), calendar.cycles));
        assert!(found.3.iter().all(|edges| edges == &[0]));
    }
}

/// The next edges after a skip are the right ones, in the right order.
#[test]
fn batches_after_a_skip_are_exact() {
    let clocks = [Clock::mhz(914), Clock::mhz(1326).late_ps(137), Clock::mhz(1001).late_fs(3), Clock::hz(3)];
    let mut sim = Simulation::new();
    let mut ticks = Vec::new();
    for (&clock, at) in clocks.iter().zip(0u32..) {
        ticks.push(napping(&mut sim, clock, at + 1, &format!("d{at}"), |_| None));
    }
    let end = time(86_400 * 365, 1);
    sim.run_until_time(end).unwrap();
    let cycles = clocks.iter().map(|clock| clock.edges_before(&exact(86_400 * 365, 1))).collect();
    let mut calendar = Batches::from(&clocks, cycles);
    assert_eq!(outcome(&sim, &ticks).1, calendar.cycles);
    for _ in 0..2000 {
        sim.run_batches(1).unwrap();
        let (time, _) = calendar.advance();
        let found = outcome(&sim, &ticks);
        assert_eq!((found.1, found.2), (calendar.cycles.clone(), time));
    }
}
