//! CPU time of the simulation kernel with tracing off, per batch and per unit tick.
//!
//! Runs each workload five times, interleaved, and prints the median with the least and the greatest
//! reading. CPU time is that of this process, from `/proc/self/schedstat`.
//!
//!     cargo run --release -p clockweave-simulator --example kernel [-- WORKLOAD...]

use std::error::Error;

use clockweave_simulator::{Fifo, FifoIn, FifoOut, Packet, Simulation, Tick, TickResult, Unit};

const READINGS: usize = 5;

struct Producer {
    out: FifoOut<u64>,
    sent: u64,
}

impl Unit for Producer {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        if cx.write(&self.out, Packet::new(self.sent + 1, self.sent)).is_ok() {
            self.sent += 1;
        }
        Ok(())
    }
}

struct Consumer {
    input: FifoIn<u64>,
    received: u64,
    sum: u64,
}

impl Unit for Consumer {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        if let Some(packet) = cx.take(&self.input) {
            self.received += 1;
            self.sum = self.sum.wrapping_add(packet.data);
        }
        cx.request(&self.input);
        Ok(())
    }
}

struct Generator(u64);

impl Unit for Generator {
    fn tick(&mut self, _: &mut Tick<'_>) -> TickResult {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Ok(())
    }
}

type Built = Result<Simulation, Box<dyn Error>>;

/// The two clocks of `fifo`.
fn clocks() -> Built {
    let mut sim = Simulation::new();
    sim.add_clock(1, "sm", "914MHz")?;
    sim.add_clock_with_phase(2, "lts", "1326MHz", "137ps")?;
    Ok(sim)
}

fn add_pair(sim: &mut Simulation, pair: u32, write: &str, read: &str) -> Result<(), Box<dyn Error>> {
    let (producer, consumer) = (format!("producer{pair:02}"), format!("consumer{pair:02}"));
    sim.add_unit(write, &producer, |ports| Producer { out: ports.fifo_out("out"), sent: 0 })?;
    let build = |ports: &mut clockweave_simulator::Ports<'_>| Consumer {
        input: ports.fifo_in("in"),
        received: 0,
        sum: 0,
    };
    sim.add_unit(read, &consumer, build)?;
    sim.add_fifo(Fifo::new(pair + 1), &format!("{producer}.out"), &format!("{consumer}.in"))?;
    Ok(())
}

fn fifo() -> Built {
    let mut sim = clocks()?;
    add_pair(&mut sim, 0, "sm", "lts")?;
    Ok(sim)
}

fn calendar() -> Built {
    let mut sim = clocks()?;
    sim.add_unit("sm", "a", |_| Generator(1))?;
    sim.add_unit("lts", "b", |_| Generator(1))?;
    Ok(sim)
}

fn single() -> Built {
    let mut sim = Simulation::new();
    sim.add_unit("default", "a", |_| Generator(1))?;
    sim.add_unit("default", "b", |_| Generator(1))?;
    Ok(sim)
}

/// `domains / 2` pairs: domain `i` at 250 MHz * 2^(i mod 4), phase 37 ps * i.
fn pairs(domains: u32) -> Built {
    let mut sim = Simulation::new();
    for i in 0..domains {
        let (frequency, phase) = (format!("{}MHz", 250u64 << (i % 4)), format!("{}ps", 37 * i));
        sim.add_clock_with_phase(i + 1, &format!("d{i}"), &frequency, &phase)?;
    }
    for pair in 0..domains / 2 {
        add_pair(&mut sim, pair, &format!("d{}", 2 * pair), &format!("d{}", 2 * pair + 1))?;
    }
    Ok(sim)
}

/// CPU nanoseconds of this process.
fn cpu_ns() -> Result<u64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    Ok(text.split(' ').next().unwrap_or_default().parse()?)
}

/// Every packet is received in order: the sum of the payloads 0, 1, … is that of their number.
fn check(sim: &Simulation) {
    let state = sim.inspect().expect("the simulation has started");
    for name in state.units() {
        if let Some(consumer) = state.unit::<Consumer>(name) {
            let n = consumer.received;
            assert!(n > 0 && consumer.sum == n * (n - 1) / 2, "{name} received other packets than were sent");
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let ticks_per_batch = |name: &str| if name == "single" { 2 } else { 1 };
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    let mut workloads = vec![
        ("fifo", "ns/batch", 20_000_000u64, fifo()?),
        ("calendar", "ns/tick", 20_000_000, calendar()?),
        ("single", "ns/tick", 40_000_000, single()?),
        ("pairs, 8 domains", "ns/batch", 10_000_000, pairs(8)?),
        ("pairs, 32 domains", "ns/batch", 10_000_000, pairs(32)?),
        ("pairs, 64 domains", "ns/batch", 10_000_000, pairs(64)?),
    ];
    workloads.retain(|(name, ..)| chosen.is_empty() || chosen.iter().any(|c| c == name));
    let mut readings = vec![Vec::new(); workloads.len()];
    for _ in 0..READINGS {
        for ((name, _, batches, sim), readings) in workloads.iter_mut().zip(&mut readings) {
            sim.start()?;
            let before = cpu_ns()?;
            sim.run_batches(*batches)?;
            readings.push((cpu_ns()? - before) * 100 / (*batches * ticks_per_batch(name)));
        }
    }
    for ((name, unit, _, sim), mut readings) in workloads.iter().zip(readings) {
        check(sim);
        readings.sort_unstable();
        let shown = |at: usize| format!("{}.{:02}", readings[at] / 100, readings[at] % 100);
        println!("{name:18} {:>7} {unit:8} ({} to {})", shown(READINGS / 2), shown(0), shown(READINGS - 1));
    }
    Ok(())
}
