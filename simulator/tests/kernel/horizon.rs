//! The end of representable time: reached exactly, and an error beyond it before any part of that
//! batch ran.

use clockweave_model::TimeError;
use clockweave_simulator::{RunError, Simulation};
use num_bigint::BigUint;

use crate::clocks::{Batches, Clock, Exact, exact};
use crate::scripted::Log;
use crate::stretches::napping;

const THZ: u64 = 1_000_000_000_000;

/// Domains `d0`, `d1`, … with ids in order, each with one unit that ticks at edge 0 and at `wakes`.
struct Machine {
    clocks: Vec<Clock>,
    sim: Simulation,
    ticks: Vec<Log<u64>>,
}

impl Machine {
    fn new(clocks: &[Clock], wakes: &[Vec<u64>]) -> Self {
        let mut sim = Simulation::new();
        let mut ticks = Vec::new();
        for ((&clock, wakes), id) in clocks.iter().zip(wakes).zip(0u32..) {
            let wakes = wakes.clone();
            let nap = move |cycle| wakes.iter().find(|&&wake| wake > cycle).map(|wake| wake - cycle);
            ticks.push(napping(&mut sim, clock, id + 1, &format!("d{id}"), nap));
        }
        sim.start().unwrap();
        Self { clocks: clocks.to_vec(), sim, ticks }
    }

    fn cycles(&self) -> Vec<u64> {
        let seen = self.sim.inspect().unwrap();
        (0..self.clocks.len()).map(|at| seen.domain_cycles(&format!("d{at}")).unwrap()).collect()
    }

    fn batches(&self) -> u128 {
        self.sim.inspect().unwrap().batches()
    }

    fn ticks(&self) -> Vec<Vec<u64>> {
        self.ticks.iter().map(Log::take).collect()
    }

    fn edges_before(&self, time: &Exact) -> Vec<u64> {
        self.clocks.iter().map(|clock| clock.edges_before(time)).collect()
    }

    /// Expects the horizon error of `domain` on the next batch, and that nothing ran.
    fn fails(&mut self, domain: &str, max_edge: u64) {
        let before = (self.batches(), self.cycles());
        self.ticks();
        match self.sim.run_batches(1) {
            Err(RunError::Time {
                batches,
                error: TimeError::EdgeOutOfRange { domain: at, max_edge: max, .. },
            }) => {
                assert_eq!((batches, at.as_str(), max), (before.0, domain, max_edge));
            }
            other => panic!("expected the horizon, found {other:?}"),
        }
        assert_eq!((self.batches(), self.cycles()), before);
        assert!(self.ticks().iter().all(Vec::is_empty), "no part of the batch ran");
    }
}

/// 2^64 - 1 edges of 1 THz end after 213 days; the others follow that far. The batches are more than
/// 64 bits count: of the four clocks only 1 Hz and 914 MHz share instants, all of the former's.
#[test]
fn four_clocks_reach_the_last_edge_of_a_terahertz() {
    let clocks = [Clock::hz(1), Clock::mhz(914), Clock::mhz(1326).late_ps(137), Clock::hz(THZ).late_fs(1)];
    let last = u64::MAX - 1;
    let end = clocks[3].edge(u64::MAX);
    let counts: Vec<u64> = clocks.iter().map(|clock| clock.edges_before(&end)).collect();
    assert_eq!(counts[0], 18_446_745);
    assert_eq!(counts[3], u64::MAX);
    // The last two edges of every clock, and one in the middle.
    let wakes: Vec<Vec<u64>> = counts.iter().map(|count| vec![count / 2, count - 2, count - 1]).collect();
    let mut machine = Machine::new(&clocks, &wakes);
    let limit = clocks[3].domain(4, "d3").edge(u64::MAX).unwrap();
    assert_eq!(limit.to_ratio(), end);
    machine.sim.run_until_time(limit).unwrap();
    assert_eq!(machine.cycles(), counts);
    assert_eq!(machine.batches(), u128::from(counts[1]) + u128::from(counts[2]) + u128::from(counts[3]));
    let seen = machine.sim.inspect().unwrap().last_committed().to_ratio();
    let latest = clocks.iter().zip(&counts).map(|(clock, count)| clock.edge(count - 1)).max().unwrap();
    assert_eq!(seen, latest);
    assert_eq!(latest, clocks[3].edge(last));
    let expected: Vec<Vec<u64>> = wakes.iter().map(|wakes| [&[0], wakes.as_slice()].concat()).collect();
    assert_eq!(machine.ticks(), expected);
    machine.fails("d3", u64::MAX);
    assert!(matches!(machine.sim.run_batches(1), Err(RunError::Ended { .. })));
}

/// An edge of 200 GHz at the same instant, with a lower id and an awake unit: it does not tick.
#[test]
fn nothing_of_the_batch_beyond_the_horizon_runs() {
    // 2^64 - 1 is a multiple of 5.
    let clocks = [Clock::hz(THZ / 5).late_fs(1), Clock::hz(THZ).late_fs(1)];
    let shared = u64::MAX / 5;
    assert_eq!(clocks[0].edge(shared), clocks[1].edge(u64::MAX));
    let mut machine = Machine::new(&clocks, &[vec![shared - 1, shared], vec![u64::MAX - 1]]);
    machine.sim.run_until_time(clocks[1].domain(2, "d1").edge(u64::MAX).unwrap()).unwrap();
    assert_eq!(machine.cycles(), [shared, u64::MAX]);
    assert_eq!(machine.ticks(), [vec![0, shared - 1], vec![0, u64::MAX - 1]]);
    machine.fails("d1", u64::MAX);
}

/// Without a terahertz the end is that of signed 64-bit nanoseconds: 2^63 ns is 9,223,372,036.85 s, so
/// edge 9,223,372,036 of 1 Hz has no successor. 914 MHz shares that instant and does not tick.
#[test]
fn slow_clocks_reach_the_end_of_nanoseconds() {
    let clocks = [Clock::mhz(914), Clock::hz(1), Clock::mhz(1326).late_ps(137)];
    let end = exact(9_223_372_036, 1);
    let shared = 9_223_372_036 * 914_000_000;
    let mut machine = Machine::new(&clocks, &[vec![shared - 1, shared], vec![9_223_372_035], vec![]]);
    let counts = machine.edges_before(&end);
    assert_eq!(counts[..2], [shared, 9_223_372_036]);
    machine.sim.run_until_time(clocks[1].domain(2, "d1").edge(9_223_372_036).unwrap()).unwrap();
    assert_eq!(machine.cycles(), counts);
    assert_eq!(machine.batches(), u128::from(counts[0]) + u128::from(counts[2]));
    assert_eq!(machine.ticks(), [vec![0, shared - 1], vec![0, 9_223_372_035], vec![0]]);
    machine.fails("d1", 9_223_372_036);
}

/// A run without a limit of its own finds the horizon by itself, also where a limit lies beyond it.
#[test]
fn a_run_meets_the_horizon_by_itself() {
    let clock = Clock::mhz(914);
    let max_edge = {
        // The last n with n / 914 MHz below 2^63 ns.
        let end = (BigUint::from(1u32) << 63u32) * 914u32;
        u64::try_from((end - 1u32) / 1000u32).unwrap()
    };
    let mut machine = Machine::new(&[clock], &[vec![max_edge - 1]]);
    match machine.sim.run_batches(u64::MAX) {
        Err(RunError::Time { batches, error: TimeError::EdgeOutOfRange { max_edge: max, .. } }) => {
            assert_eq!((batches, max), (max_edge.into(), max_edge));
        }
        other => panic!("expected the horizon, found {other:?}"),
    }
    assert_eq!(machine.cycles(), [max_edge]);
    assert_eq!(machine.ticks(), [vec![0, max_edge - 1]]);
}

/// 256 clocks from 1 Hz to 1 THz with phases of their own.
fn many_clocks() -> Vec<Clock> {
    (0..256u64)
        .map(|at| {
            // Frequencies spread over twelve decades, most of them no round numbers of anything.
            let decade = 10u64.pow(u32::try_from(at * 12 / 255).unwrap());
            let hz = match at {
                0 => 1,
                255 => THZ,
                _ => (decade * (256 + at * 37 % 2304) / 256).min(THZ),
            };
            Clock::hz(hz).late_fs(at * 3 + at * at)
        })
        .collect()
}

#[test]
fn many_clocks_are_exact_from_the_start_to_the_horizon() {
    let clocks = many_clocks();
    let mut machine = Machine::new(&clocks, &vec![vec![]; 256]);
    let end = clocks[255].edge(u64::MAX);
    let limit = |cycle| clocks[255].domain(256, "d255").edge(cycle).unwrap();
    // From the start, then far out, then at the very end.
    let stages: [u64; 4] = [0, 1_000_000_000_000_000, u64::MAX / 2, u64::MAX - 1500];
    for from in stages {
        if from > 0 {
            machine.sim.run_until_time(limit(from)).unwrap();
        }
        let counts = if from > 0 { machine.edges_before(&clocks[255].edge(from)) } else { vec![0; 256] };
        assert_eq!(machine.cycles(), counts);
        let mut calendar = Batches::from(&clocks, counts);
        for _ in 0..300 {
            let before = machine.batches();
            machine.sim.run_batches(1).unwrap();
            let (time, _) = calendar.advance();
            assert_eq!(machine.batches(), before + 1);
            assert_eq!(machine.cycles(), calendar.cycles);
            assert_eq!(machine.sim.inspect().unwrap().last_committed().to_ratio(), time);
        }
    }
    machine.sim.run_until_time(limit(u64::MAX)).unwrap();
    assert_eq!(machine.cycles(), machine.edges_before(&end));
    machine.fails("d255", u64::MAX);
}

/// Periods of whole picoseconds and phases of different femtoseconds never meet, so that every edge is
/// a batch of its own: the count over all 256 clocks is a sum.
#[test]
fn batches_of_many_clocks_are_counted_exactly() {
    let clocks: Vec<Clock> = (0..256u64)
        .map(|at| Clock { period: (1 + at * at * at * 59, THZ), phase: (at, 1_000 * THZ) })
        .collect();
    let end = clocks[0].edge(u64::MAX);
    let mut machine = Machine::new(&clocks, &vec![vec![]; 256]);
    machine.sim.run_until_time(clocks[0].domain(1, "d0").edge(u64::MAX).unwrap()).unwrap();
    let counts = machine.edges_before(&end);
    assert_eq!(machine.cycles(), counts);
    assert_eq!(machine.batches(), counts.iter().map(|&count| u128::from(count)).sum());
    machine.fails("d0", u64::MAX);
}
