//! A simulation with a unit of its own, recorded; then a heartbeat from a loop without any simulation.
//!
//!     cargo run -- DIRECTORY

use std::error::Error;
use std::path::Path;

use clockweave_model::{ClockDomain, KindId, Phase, Seconds};
use clockweave_recorder::{Recorder, RunTotals};
use clockweave_simulator::{
    Fifo, FifoIn, FifoOut, Packet, RecordingOptions, Simulation, Tick, TickResult, Unit,
};

/// Sends the squares of 1 to 50.
struct Squares {
    out: FifoOut<u64>,
    next: u64,
}

impl Unit for Squares {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        let sent =
            self.next <= 50 && cx.write(&self.out, Packet::new(self.next, self.next * self.next)).is_ok();
        self.next += u64::from(sent);
        Ok(())
    }
}

struct Sum {
    input: FifoIn<u64>,
    sum: u64,
}

impl Unit for Sum {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        if let Some(packet) = cx.take(&self.input) {
            self.sum += packet.data;
        }
        cx.request(&self.input);
        Ok(())
    }
}

fn simulate(dir: &Path) -> Result<u64, Box<dyn Error>> {
    let mut sim = Simulation::new();
    sim.add_clock(1, "fast", "1GHz")?;
    sim.add_clock(2, "slow", "600MHz")?;
    sim.add_unit("fast", "squares", |ports| Squares { out: ports.fifo_out("out"), next: 1 })?;
    sim.add_unit("slow", "sum", |ports| Sum { input: ports.fifo_in("in"), sum: 0 })?;
    sim.add_fifo(Fifo::new(1), "squares.out", "sum.in")?;
    sim.record(RecordingOptions::new(dir, "embedded"))?;
    sim.run_batches(500)?;
    sim.finish()?;
    let state = sim.inspect().ok_or("nothing has run")?;
    Ok(state.unit::<Sum>("sum").ok_or("there is no sum")?.sum)
}

fn heartbeat(dir: &Path) -> Result<u64, Box<dyn Error>> {
    let clock = ClockDomain::new(1, "heart", "3Hz".parse()?, Seconds::ZERO)?;
    let mut builder = Recorder::builder(dir);
    builder.run_id("heartbeat").domain(&clock)?;
    let heart = builder.add_stream(1, 1, "heart")?;
    let mut recorder = builder.start_serial()?;
    for beat in 0..100 {
        recorder.record(heart, beat, KindId::USER, 0, beat, 0, Phase::Commit);
        recorder.end_instant(clock.edge(beat)?.floor_ns())?;
    }
    Ok(recorder.close(RunTotals::default())?.events)
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args().nth(1).ok_or("usage: embed DIRECTORY")?;
    let dir = Path::new(&dir);
    println!("sum {}", simulate(&dir.join("simulation"))?);
    println!("beats {}", heartbeat(&dir.join("heartbeat"))?);
    Ok(())
}
