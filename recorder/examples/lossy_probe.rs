//! A probe that must never slow down what it watches: events that its ring cannot take are counted instead, and the
//! trace says where.
//!
//!     cargo run -p clockweave-recorder --example lossy_probe -- DIRECTORY

use std::path::Path;

use clockweave_model::{ClockDomain, KindId, Phase, Seconds};
use clockweave_recorder::{Recorder, RunTotals, Stats};

pub(crate) fn run(dir: &Path) -> Result<Stats, Box<dyn std::error::Error>> {
    let clock = ClockDomain::new(1, "bus", "800MHz".parse()?, Seconds::ZERO)?;
    let mut builder = Recorder::builder(dir);
    builder.run_id("probe").domain(&clock)?;
    builder.lossy(true).ring_capacity(Some(64));
    builder.add_stream(1, 1, "probe")?;
    let (mut recorder, mut producers) = builder.start_independent()?;
    let mut probe = producers.remove(0);
    for cycle in 0..100_000 {
        probe.record(cycle, KindId::USER, 0, cycle % 7, 0, Phase::Commit)?;
        // What was lost at this edge is told before the next one.
        probe.settle()?;
    }
    probe.finish()?;
    Ok(recorder.close(RunTotals::default())?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).ok_or("usage: lossy_probe DIRECTORY")?;
    let stats = run(dir.as_ref())?;
    println!("{} events kept, {} lost in {} gaps", stats.events, stats.dropped_events, stats.clockweave.gaps);
    Ok(())
}
