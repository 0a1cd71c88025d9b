//! The simulator's side: every FIFO of a model between a source and a sink of its own.

use clockweave_simulator::{Fifo, FifoIn, FifoOut, Packet, Simulation, Tick, TickResult, Unit};

use crate::model::Instance;
use crate::{Case, Instant, Pattern, Seen};

const SEED: u64 = 0xC10C_0914_1326;

fn splitmix64(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

struct Source {
    out: FifoOut<u64>,
    pattern: Pattern,
    next: u64,
}

impl Unit for Source {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        let active = match self.pattern {
            Pattern::Continuous => true,
            Pattern::Burst => cx.cycle() % 29 < 11,
            Pattern::Random | Pattern::Apart => splitmix64(cx.cycle() ^ SEED) & 7 != 0,
        };
        if active && cx.write(&self.out, Packet::new(self.next, self.next)).is_ok() {
            self.next += 1;
        }
        Ok(())
    }
}

struct Sink {
    input: FifoIn<u64>,
    pattern: Pattern,
    taken: Option<u64>,
}

impl Unit for Sink {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        let drawn = splitmix64(cx.cycle() ^ SEED ^ 0xA55A);
        let (takes, requests) = match self.pattern {
            Pattern::Continuous => (true, true),
            Pattern::Burst => (cx.cycle() % 37 > 12, cx.cycle() % 37 > 12),
            Pattern::Random => (drawn & 7 < 4, drawn & 7 < 4),
            Pattern::Apart => (drawn & 7 < 4, drawn >> 3 & 7 < 4),
        };
        self.taken = if takes { cx.take(&self.input).map(|packet| packet.data) } else { None };
        if requests {
            cx.request(&self.input);
        }
        Ok(())
    }
}

/// Runs a FIFO of the shape of each instance, batch by batch.
pub(crate) fn run(case: &Case, instances: &[Instance]) -> Vec<Instant> {
    let mut sim = Simulation::new();
    let pattern = case.pattern;
    sim.add_clock(1, "write", &format!("{}MHz", case.write_mhz)).unwrap();
    let (frequency, phase) = (format!("{}MHz", case.read_mhz), format!("{}ps", case.read_phase_ps));
    sim.add_clock_with_phase(2, "read", &frequency, &phase).unwrap();
    let names = |index: usize| (format!("source{index}"), format!("sink{index}"));
    for (index, instance) in instances.iter().enumerate() {
        let (source, sink) = names(index);
        sim.add_unit("write", &source, |p| Source { out: p.fifo_out("out"), pattern, next: 1 }).unwrap();
        sim.add_unit("read", &sink, |p| Sink { input: p.fifo_in("in"), pattern, taken: None }).unwrap();
        let fifo = Fifo::new(index as u32 + 1).depth(instance.depth).stages(instance.stages);
        sim.add_fifo(fifo, &format!("{source}.out"), &format!("{sink}.in")).unwrap();
    }
    sim.start().unwrap();

    let mut instants = Vec::with_capacity(case.batches);
    let mut cycles = [0, 0];
    let mut counts = vec![(0, 0); instances.len()];
    let sinks: Vec<String> = (0..instances.len()).map(|index| names(index).1).collect();
    for _ in 0..case.batches {
        sim.run_batches(1).unwrap();
        let state = sim.inspect().unwrap();
        let before = cycles;
        cycles = ["write", "read"].map(|domain| state.domain_cycles(domain).unwrap());
        let [write_edge, read_edge] = [0, 1].map(|domain| cycles[domain] - before[domain] == 1);
        let seen = counts.iter_mut().zip(&sinks).zip(1..).map(|((counts, sink), id)| {
            let fifo = state.fifo(id).unwrap();
            let (writes, reads) = std::mem::replace(counts, (fifo.writes, fifo.reads));
            Seen {
                written: fifo.writes - writes == 1,
                read: fifo.reads - reads == 1,
                taken: state.unit::<Sink>(sink).unwrap().taken.filter(|_| read_edge),
                full: fifo.full,
                empty: fifo.empty,
                valid: fifo.output.is_some(),
            }
        });
        instants.push(Instant { write_edge, read_edge, fifos: seen.collect() });
    }
    instants
}
