//! An event loop of its own, with clocks of its own, that records through the library alone: a sender at 914 MHz, a
//! receiver at 1,326 MHz and 137 ps later, and messages that take two of the receiver's edges.
//!
//!     cargo run -p clockweave-recorder --example foreign_loop -- DIRECTORY

use std::collections::VecDeque;

use clockweave_model::{ClockDomain, KindId, Phase, Seconds};
use clockweave_recorder::{Recorder, RunTotals};

pub(crate) fn run(dir: &std::path::Path) -> Result<u64, Box<dyn std::error::Error>> {
    let sender = ClockDomain::new(1, "sender", "914MHz".parse()?, Seconds::ZERO)?;
    let receiver = ClockDomain::new(2, "receiver", "1326MHz".parse()?, Seconds::from_ps(137))?;

    let mut builder = Recorder::builder(dir);
    builder.run_id("foreign loop").domain(&sender)?.domain(&receiver)?;
    let send = builder.add_stream(1, 1, "send")?;
    let take = builder.add_stream(2, 2, "take")?;
    let mut recorder = builder.start_serial()?;

    let (mut cycles, mut next, mut wire, mut instants) = ([0u64; 2], 1, VecDeque::new(), 0);
    while cycles[0] < 1000 {
        // Whichever edge is earlier; both, where they coincide.
        let times = [sender.edge(cycles[0])?, receiver.edge(cycles[1])?];
        let now = times[0].min(times[1]);
        if times[0] == now {
            recorder.record(send, cycles[0], KindId::FIFO_WRITE, next, 0, 0, Phase::Commit);
            wire.push_back((next, receiver.edge_after(&now)? + 1));
            (next, cycles[0]) = (next + 1, cycles[0] + 1);
        }
        if times[1] == now {
            if let Some((message, _)) = wire.pop_front_if(|(_, due)| *due <= cycles[1]) {
                recorder.record(take, cycles[1], KindId::FIFO_READ, message, 0, 0, Phase::Commit);
            }
            cycles[1] += 1;
        }
        recorder.end_instant(now.floor_ns())?;
        instants += 1;
    }
    Ok(recorder.close(RunTotals { batches: instants, ..RunTotals::default() })?.events)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).ok_or("usage: foreign_loop DIRECTORY")?;
    println!("{} events in {dir}", run(dir.as_ref())?);
    Ok(())
}
