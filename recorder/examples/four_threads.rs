//! Four threads that record without knowing of each other. Each promises, batch by batch, how far it has come; that is
//! all it takes for one trace in exact order.
//!
//!     cargo run -p clockweave-recorder --example four_threads -- DIRECTORY

use clockweave_model::{ClockDomain, KindId, Phase, Seconds};
use clockweave_recorder::{Producer, RecordError, Recorder, RunTotals};

/// Edges each thread simulates.
const EDGES: u64 = 20_000;
/// Edges between two promises: what a thread may be ahead of the others.
const BATCH: u64 = 500;

fn simulate(producer: &mut Producer, seed: u64) -> Result<(), RecordError> {
    let mut state = seed;
    for cycle in 0..EDGES {
        if cycle % BATCH == 0 {
            // No event before this edge any more; waits for threads that are behind.
            producer.advance(cycle)?;
        }
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if state >> 63 == 0 {
            producer.record(cycle, KindId::USER, 0, state >> 40, 0, Phase::Evaluate)?;
        }
    }
    producer.finish()
}

pub(crate) fn run(dir: &std::path::Path) -> Result<u64, Box<dyn std::error::Error>> {
    let mut builder = Recorder::builder(dir);
    builder.run_id("four threads");
    for (id, name, frequency) in
        [(1, "a", "914MHz"), (2, "b", "1326MHz"), (3, "c", "1GHz"), (4, "d", "333.5MHz")]
    {
        builder.domain(&ClockDomain::new(id, name, frequency.parse()?, Seconds::ZERO)?)?;
        builder.add_stream(id, id.into(), &format!("core.{name}"))?;
    }
    let (mut recorder, producers) = builder.start_independent()?;
    let threads: Vec<_> = (1..)
        .zip(producers)
        .map(|(seed, mut producer)| std::thread::spawn(move || simulate(&mut producer, seed)))
        .collect();
    for thread in threads {
        thread.join().map_err(|_| "a thread panicked")??;
    }
    Ok(recorder.close(RunTotals::default())?.events)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).ok_or("usage: four_threads DIRECTORY")?;
    println!("{} events in {dir}", run(dir.as_ref())?);
    Ok(())
}
