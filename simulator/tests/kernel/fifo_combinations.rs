//! Two units and a FIFO in a simulation equal the reference after every batch, for every combination
//! of rates, phases, depths, stages and traffic that the suite promises.

use std::collections::VecDeque;

use clockweave_simulator::Simulation;

use crate::pair::{Pair, Reader, Writer};
use crate::reference::Reference;
use crate::traffic::Traffic;

/// Write and read rates in MHz.
const RATES: [(u64, u64); 9] = [
    (1000, 1000),
    (2000, 500),
    (500, 2000),
    (1500, 1000),
    (1000, 1500),
    (1000, 600),
    (1000, 1001),
    (914, 1326),
    (1326, 914),
];

/// Everything compared after a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    /// Exact time in units of 1 / (write MHz * read MHz) ps; `None` off that grid.
    time: Option<u128>,
    cycles: (u64, u64),
    accepted: Option<(u64, u64)>,
    requested: Option<u64>,
    taken: Option<(u64, u64)>,
    full: bool,
    empty: bool,
    output: Option<u64>,
    occupancy: u64,
    pointers: (u64, u64),
    refusals: u64,
}

/// The two ends of the reference, in integer time.
struct Expected {
    pair: Pair,
    fifo: Reference,
    /// Next edges in units of 1 / (write MHz * read MHz) ps.
    next: (u128, u128),
    periods: (u128, u128),
    state: State,
    sent: u64,
}

impl Expected {
    fn new(pair: Pair) -> Self {
        let (write, read) = (u128::from(pair.write_mhz), u128::from(pair.read_mhz));
        let state = State {
            time: Some(0),
            cycles: (0, 0),
            accepted: None,
            requested: None,
            taken: None,
            full: false,
            empty: true,
            output: None,
            occupancy: 0,
            pointers: (0, 0),
            refusals: 0,
        };
        Self {
            pair,
            fifo: Reference::new(pair.depth.into(), pair.stages as usize),
            next: (0, u128::from(pair.phase_ps) * write * read),
            periods: (1_000_000 * read, 1_000_000 * write),
            state,
            sent: 0,
        }
    }

    fn batch(&mut self) {
        let time = self.next.0.min(self.next.1);
        let (write_edge, read_edge) = (self.next.0 == time, self.next.1 == time);
        let state = &mut self.state;
        let (write_cycle, read_cycle) = state.cycles;
        if write_edge && self.pair.traffic.source(write_cycle) {
            if self.fifo.write(self.sent + 1) {
                self.sent += 1;
                state.accepted = Some((write_cycle, self.sent));
            } else {
                state.refusals += 1;
            }
        }
        if read_edge && self.pair.traffic.sink(read_cycle) {
            if let Some(value) = self.fifo.take() {
                state.taken = Some((read_cycle, value));
            }
            if self.fifo.request() {
                state.requested = Some(read_cycle);
            }
        }
        self.fifo.commit(write_edge, read_edge);
        if write_edge {
            self.next.0 += self.periods.0;
            state.cycles.0 += 1;
        }
        if read_edge {
            self.next.1 += self.periods.1;
            state.cycles.1 += 1;
        }
        state.time = Some(time);
        (state.full, state.empty, state.output) = (self.fifo.full, self.fifo.empty, self.fifo.output);
        state.occupancy = self.fifo.occupancy();
        state.pointers = (self.fifo.pointer(self.fifo.written), self.fifo.pointer(self.fifo.read));
    }
}

fn state_of(sim: &Simulation, pair: &Pair) -> State {
    let seen = sim.inspect().unwrap();
    let fifo = seen.fifo(1).unwrap();
    let (writer, reader) = (seen.unit::<Writer>("writer").unwrap(), seen.unit::<Reader>("reader").unwrap());
    let time = seen.last_committed();
    let per_ns = u128::from(1000 * pair.write_mhz * pair.read_mhz);
    let (num, den) = time.fraction_ns();
    let whole = u128::from(time.floor_ns().unsigned_abs()) * per_ns;
    State {
        time: (num * per_ns % den == 0).then(|| whole + num * per_ns / den),
        cycles: (seen.domain_cycles("write").unwrap(), seen.domain_cycles("read").unwrap()),
        accepted: writer.accepted,
        requested: reader.requested,
        taken: reader.taken,
        full: fifo.full,
        empty: fifo.empty,
        output: fifo.output,
        occupancy: fifo.occupancy.into(),
        pointers: (fifo.write_pointer.into(), fifo.read_pointer.into()),
        refusals: seen.fifo_refusals(1).unwrap(),
    }
}

/// Runs a pair beside the reference; gives the packets taken, and how often `full` rose.
fn compare(pair: Pair, batches: u64) -> (u64, u64) {
    let mut sim = pair.simulation();
    let mut expected = Expected::new(pair);
    let mut last = VecDeque::with_capacity(33);
    let mut fulls = 0;
    for batch in 0..batches {
        let report = sim.run_batches(1).unwrap();
        assert_eq!(report.batches, 1);
        let was_full = expected.state.full;
        expected.batch();
        let found = state_of(&sim, &pair);
        fulls += u64::from(!was_full && expected.state.full);
        let equal = found == expected.state;
        last.push_back((batch, found));
        if last.len() > 32 {
            last.pop_front();
        }
        if !equal {
            let states: Vec<String> = last.iter().map(|(at, state)| format!("{at}: {state:?}")).collect();
            panic!(
                "{pair:?}: batch {batch} differs\nlast states:\n{}\nexpected:\n{:?}",
                states.join("\n"),
                expected.state
            );
        }
    }
    (expected.state.taken.map_or(0, |(_, value)| value), fulls)
}

fn combinations(traffic: Traffic) {
    let (mut count, mut fulls) = (0, 0);
    for (write_mhz, read_mhz) in RATES {
        for phase_ps in [0, 1, 137, 500] {
            for depth in [2, 4, 16] {
                for stages in [2, 3, 5] {
                    let pair = Pair { write_mhz, read_mhz, phase_ps, depth, stages, traffic };
                    let (taken, rose) = compare(pair, 3000);
                    assert!(taken > 50, "{pair:?}: {taken}");
                    count += 1;
                    fulls += rose;
                }
            }
        }
    }
    assert_eq!(count, 972 / 3);
    assert!(fulls > 10_000, "{fulls}");
}

#[test]
fn continuous_traffic_equals_the_reference_in_324_combinations() {
    combinations(Traffic::Continuous);
}

#[test]
fn burst_traffic_equals_the_reference_in_324_combinations() {
    combinations(Traffic::Burst);
}

#[test]
fn random_traffic_equals_the_reference_in_324_combinations() {
    combinations(Traffic::Random);
}

#[test]
fn a_million_batches_equal_the_reference() {
    let pair = Pair {
        write_mhz: 914,
        read_mhz: 1326,
        phase_ps: 137,
        depth: 16,
        stages: 3,
        traffic: Traffic::Random,
    };
    let (taken, _) = compare(pair, 1_000_000);
    assert!(taken > 100_000, "{taken}");
}

/// The clocks of `fifo-swapped`: the faster writer must meet `full`, again and again.
#[test]
fn a_faster_writer_meets_full() {
    let pair = Pair {
        write_mhz: 1326,
        read_mhz: 914,
        phase_ps: 137,
        depth: 16,
        stages: 2,
        traffic: Traffic::Continuous,
    };
    let (taken, fulls) = compare(pair, 100_000);
    assert!(fulls > 1000 && taken > 10_000, "{fulls} {taken}");
}
