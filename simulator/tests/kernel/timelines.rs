//! When a packet that crosses is visible, read and taken, and when the room it leaves comes back:
//! edges derived by hand from the registers on the way.

use clockweave_simulator::circuit::FifoState;
use clockweave_simulator::{Fifo, FifoIn, FifoOut, Packet, Simulation, Tick, TickResult, Unit};
use proptest::prelude::*;

use crate::clocks::Clock;

/// Tries to write from edge `from` on, until `count` packets are accepted.
struct Writer {
    out: FifoOut<u64>,
    from: u64,
    count: usize,
    accepted: Vec<u64>,
}

impl Unit for Writer {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        let id = self.accepted.len() as u64 + 1;
        if cx.cycle() >= self.from
            && self.accepted.len() < self.count
            && cx.write(&self.out, Packet::new(id, id)).is_ok()
        {
            self.accepted.push(cx.cycle());
        }
        Ok(())
    }
}

/// Takes whatever is there; requests from edge `from` on, until `count` reads are accepted.
struct Reader {
    input: FifoIn<u64>,
    from: u64,
    count: usize,
    read: Vec<u64>,
    taken: Vec<u64>,
}

impl Unit for Reader {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        if cx.take(&self.input).is_some() {
            self.taken.push(cx.cycle());
        }
        if cx.cycle() >= self.from && self.read.len() < self.count && cx.request(&self.input) {
            self.read.push(cx.cycle());
        }
        Ok(())
    }
}

struct Crossing {
    write: Clock,
    read: Clock,
    depth: u32,
    stages: u32,
    /// First edge and number of writes, then of reads.
    writes: (u64, usize),
    reads: (u64, usize),
}

/// The local edges at which something happened or a register changed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Timeline {
    accepted: Vec<u64>,
    read: Vec<u64>,
    taken: Vec<u64>,
    full: Vec<(u64, bool)>,
    empty: Vec<(u64, bool)>,
    /// Changes of the synchronizers' tails: in the read domain, in the write domain.
    write_tail: Vec<u64>,
    read_tail: Vec<u64>,
}

impl Crossing {
    fn simulation(&self) -> Simulation {
        let mut sim = Simulation::new();
        sim.add_domain(self.write.domain(1, "write")).unwrap();
        sim.add_domain(self.read.domain(2, "read")).unwrap();
        let ((from, count), accepted) = (self.writes, Vec::new());
        sim.add_unit("write", "w", |p| Writer { out: p.fifo_out("out"), from, count, accepted }).unwrap();
        let ((from, count), read, taken) = (self.reads, Vec::new(), Vec::new());
        sim.add_unit("read", "r", |p| Reader { input: p.fifo_in("in"), from, count, read, taken }).unwrap();
        sim.add_fifo(Fifo::new(1).depth(self.depth).stages(self.stages), "w.out", "r.in").unwrap();
        sim
    }

    /// Runs `batches` batches and notes every change.
    fn timeline(&self, batches: u64) -> Timeline {
        let mut sim = self.simulation();
        sim.start().unwrap();
        let mut timeline = Timeline::default();
        let fifo = |sim: &Simulation| -> FifoState { sim.inspect().unwrap().fifo(1).unwrap() };
        let mut before = fifo(&sim);
        for _ in 0..batches {
            sim.run_batches(1).unwrap();
            let after = fifo(&sim);
            let edge = |name| sim.inspect().unwrap().domain_cycles(name).unwrap().wrapping_sub(1);
            if after.full != before.full {
                timeline.full.push((edge("write"), after.full));
            }
            if after.empty != before.empty {
                timeline.empty.push((edge("read"), after.empty));
            }
            if after.write_tail != before.write_tail {
                timeline.write_tail.push(edge("read"));
            }
            if after.read_tail != before.read_tail {
                timeline.read_tail.push(edge("write"));
            }
            before = after;
        }
        let seen = sim.inspect().unwrap();
        let (writer, reader) = (seen.unit::<Writer>("w").unwrap(), seen.unit::<Reader>("r").unwrap());
        timeline.accepted.clone_from(&writer.accepted);
        (timeline.read, timeline.taken) = (reader.read.clone(), reader.taken.clone());
        timeline
    }
}

const GHZ: Clock = Clock { period: (1, 1_000_000_000), phase: (0, 1) };

/// Edge 0: written. Edge 1: sampled by the first register. Edge 2: in the second, the tail. Edge 3:
/// `empty` is computed from that tail. Edge 4: the read. Edge 5: the take.
#[test]
fn one_packet_over_equal_clocks() {
    let crossing = Crossing { write: GHZ, read: GHZ, depth: 16, stages: 2, writes: (0, 1), reads: (0, 1) };
    let expected = Timeline {
        accepted: vec![0],
        read: vec![4],
        taken: vec![5],
        full: vec![],
        empty: vec![(3, false), (4, true)],
        write_tail: vec![2],
        read_tail: vec![6],
    };
    assert_eq!(crossing.timeline(20), expected);
}

/// Depth 2 is full with the second write. The read at edge 4 is sampled at 5, in the tail at 6; `full`
/// falls at 7, and the third write is accepted at 8, which fills it again.
#[test]
fn full_falls_after_the_way_back_over_equal_clocks() {
    let crossing = Crossing { write: GHZ, read: GHZ, depth: 2, stages: 2, writes: (0, 3), reads: (0, 1) };
    let expected = Timeline {
        accepted: vec![0, 1, 8],
        read: vec![4],
        taken: vec![5],
        full: vec![(1, true), (7, false), (8, true)],
        // The second packet stays: its tail arrives at edge 3, so `empty` does not rise at 4.
        empty: vec![(3, false)],
        write_tail: vec![2, 3, 10],
        read_tail: vec![6],
    };
    assert_eq!(crossing.timeline(20), expected);
}

/// A read edge at the instant of the write samples the pointer as it was before.
#[test]
fn a_coincident_edge_sees_the_state_before() {
    // Read edges at 0, 2, 4, … ns; the write at edge 4 = 4 ns coincides with read edge 2.
    let read = Clock { period: (2, 1_000_000_000), phase: (0, 1) };
    let crossing = Crossing { write: GHZ, read, depth: 4, stages: 3, writes: (4, 1), reads: (0, 1) };
    let timeline = crossing.timeline(40);
    assert_eq!(timeline.accepted, [4]);
    // The first read edge strictly after is 3: tail at 5, `empty` falls at 6, read at 7, taken at 8.
    assert_eq!(timeline.write_tail, [5]);
    assert_eq!(timeline.empty, [(6, false), (7, true)]);
    assert_eq!((timeline.read, timeline.taken), (vec![7], vec![8]));
}

/// With k the first read edge strictly after the write: tail at k+N-1, `empty` falls at k+N, read at
/// k+N+1, taken at k+N+2.
fn forward(write: Clock, read: Clock, stages: u32, at: u64) {
    let crossing = Crossing { write, read, depth: 4, stages, writes: (at, 1), reads: (0, 1) };
    let (k, n) = (read.first_after(&write.edge(at)), u64::from(stages));
    let end = read.edge(k + n + 3);
    let batches = write.edges_before(&end) + k + n + 3;
    let timeline = crossing.timeline(batches);
    let found = (timeline.accepted, timeline.write_tail, timeline.empty, timeline.read, timeline.taken);
    let empty = vec![(k + n, false), (k + n + 1, true)];
    let expected = (vec![at], vec![k + n - 1], empty, vec![k + n + 1], vec![k + n + 2]);
    assert_eq!(found, expected, "{write:?} {read:?} {stages} {at}");
}

/// The way back, with k the first write edge strictly after the read: tail at k+N-1, `full` falls at
/// k+N, the next write is accepted at k+N+1.
fn back(write: Clock, read: Clock, stages: u32, at: u64) {
    let n = u64::from(stages);
    // Both packets are visible before the read is asked for.
    let visible = read.first_after(&write.edge(1)) + n + 1;
    let at = at + visible;
    let crossing = Crossing { write, read, depth: 2, stages, writes: (0, 3), reads: (at, 1) };
    let k = write.first_after(&read.edge(at));
    let end = write.edge(k + n + 3);
    let timeline = crossing.timeline(read.edges_before(&end) + k + n + 3);
    assert_eq!(timeline.read, [at], "{write:?} {read:?} {stages}");
    let found = (timeline.accepted, timeline.read_tail, timeline.full);
    let full = vec![(1, true), (k + n, false), (k + n + 1, true)];
    assert_eq!(found, (vec![0, 1, k + n + 1], vec![k + n - 1], full), "{write:?} {read:?} {stages} {at}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    /// The second clock is a small ratio of the first, so that edges often coincide.
    #[test]
    fn related_clocks_follow_the_general_formula(
        period in (1u64..20, 1u64..20),
        ratio in (1u64..7, 1u64..7),
        phase in 0u64..6,
        stages in 2u32..6,
        at in 0u64..12,
    ) {
        const NS: u64 = 1_000_000_000;
        let one = Clock { period: (period.0, period.1 * NS), phase: (0, 1) };
        let other = Clock {
            period: (period.0 * ratio.0, period.1 * ratio.1 * NS),
            phase: (phase * period.0, period.1 * NS),
        };
        forward(one, other, stages, at);
        forward(other, one, stages, at);
        back(one, other, stages, at);
        back(other, one, stages, at);
    }

    #[test]
    fn unrelated_clocks_follow_the_general_formula(
        write in (1u64..3000, 1u64..3000),
        scale in (1u64..3000, 1u64..3000),
        phase in 0u64..100_000,
        stages in prop::sample::select(vec![2u32, 3, 5, 17, 64]),
        at in 0u64..12,
    ) {
        // Periods within a factor of nine of each other keep the number of edges small.
        let period = |(num, den): (u64, u64)| (num % 1000 + 500, (den % 1000 + 500) * 1_000_000_000);
        let write = Clock { period: period(write), phase: (0, 1) };
        let read = Clock { period: period(scale), phase: (phase, 1_000_000_000_000_000) };
        forward(write, read, stages, at);
        back(write, read, stages, at);
    }
}
