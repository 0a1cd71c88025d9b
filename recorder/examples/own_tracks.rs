//! A trace without clock domains: interrupts of a processor and its load, by the encoder alone.
//!
//!     cargo run -p clockweave-recorder --example own_tracks -- FILE

use std::path::Path;

use clockweave_recorder::encoder::{Event, Level, PftraceOptions, PftraceWriter, TraceSummary, Value};

pub(crate) fn run(path: &Path) -> Result<TraceSummary, Box<dyn std::error::Error>> {
    let mut trace = PftraceWriter::create(path, PftraceOptions::default())?;
    let cpu = trace.track("cpu 0", None)?;
    let load = trace.counter_track("load", Some(cpu), Some("percent"))?;
    let (irq, cause, number) = (trace.name("irq")?, trace.name("cause")?, trace.name("number")?);
    for n in 0..1000 {
        let args =
            [(cause, Value::Text(if n % 2 == 0 { "timer" } else { "network" })), (number, Value::Uint(n))];
        trace.write(&Event::begin(1000 * n, cpu, irq).args(&args))?;
        trace.write(&Event::counter(1000 * n + 100, load, Level::Int(n as i64 % 100)))?;
        trace.write(&Event::end(1000 * n + 700, cpu))?;
    }
    Ok(trace.close()?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: own_tracks FILE")?;
    println!("{} events, {} bytes", run(path.as_ref())?.events, std::fs::metadata(&path)?.len());
    Ok(())
}
