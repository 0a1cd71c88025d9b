//! The shortest complete simulation: numbers cross from one clock into another and are added up.
//!
//! The guide `docs/guide-simulation.md` explains it. It records into the folder that is given:
//!
//!     cargo run -p clockweave-simulator --example two_clocks -- out/two-clocks

use std::error::Error;
use std::path::Path;

use clockweave_simulator::{
    Counter, Fifo, FifoIn, FifoOut, Packet, RecordingOptions, Simulation, Tick, TickResult, Unit,
};

struct Numbers {
    out: FifoOut<u64>,
    next: u64,
}

impl Unit for Numbers {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        if self.next <= 100 && cx.write(&self.out, Packet::new(self.next, self.next)).is_ok() {
            self.next += 1;
        }
        Ok(())
    }
}

struct Adder {
    input: FifoIn<u64>,
    level: Counter,
    sum: u64,
}

impl Unit for Adder {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        if let Some(packet) = cx.take(&self.input) {
            self.sum += packet.data;
            cx.counter(self.level, self.sum);
        }
        cx.request(&self.input);
        Ok(())
    }
}

pub(crate) fn run(dir: &Path) -> Result<String, Box<dyn Error>> {
    let mut sim = Simulation::new();
    sim.add_clock(1, "fast", "1GHz")?;
    sim.add_clock(2, "slow", "600MHz")?;
    sim.add_unit("fast", "numbers", |ports| Numbers { out: ports.fifo_out("out"), next: 1 })?;
    sim.add_unit("slow", "adder", |ports| Adder {
        input: ports.fifo_in("in"),
        level: ports.counter("sum"),
        sum: 0,
    })?;
    sim.add_fifo(Fifo::new(1), "numbers.out", "adder.in")?;

    sim.record(RecordingOptions::new(dir, "two-clocks"))?;
    sim.run_batches(1000)?;
    sim.finish()?;

    let state = sim.inspect().ok_or("nothing has run")?;
    let adder: &Adder = state.unit("adder").ok_or("there is no adder")?;
    let fifo = state.fifo(1).ok_or("there is no FIFO 1")?;
    let refused = state.fifo_refusals(1).unwrap_or(0);
    Ok(format!("sum {}, {} packets crossed, {refused} writes refused", adder.sum, fifo.reads))
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args().nth(1).ok_or("usage: two_clocks DIR")?;
    println!("{}", run(Path::new(&dir))?);
    Ok(())
}
