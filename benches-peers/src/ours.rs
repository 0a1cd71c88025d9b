//! The workloads on clockweave's simulator, through its public interface.

use anyhow::{Context, Result};
use clockweave_simulator::{Fifo, FifoIn, FifoOut, Packet, RunStatus, Simulation, Tick, TickResult, Unit};
use cpu_time::ProcessTime;

use crate::outcome::{MULTIPLIER, Measured, Outcome, fold};
use crate::workload::{DEPTH, READ_MHZ, READ_PHASE_PS, STAGES, WRITE_MHZ, Workload};

struct Producer {
    out: FifoOut<u64>,
    sent: u64,
}

impl Unit for Producer {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        let next = self.sent + 1;
        if cx.write(&self.out, Packet::new(next, next)).is_ok() {
            self.sent = next;
        }
        Ok(())
    }
}

struct Consumer {
    input: FifoIn<u64>,
    received: u64,
    checksum: u64,
}

impl Unit for Consumer {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        if let Some(packet) = cx.take(&self.input) {
            self.received += 1;
            self.checksum = fold(self.checksum, packet.data, cx.cycle());
        }
        cx.request(&self.input);
        Ok(())
    }
}

#[derive(Default)]
struct Busy {
    ticks: u64,
    state: u64,
}

impl Unit for Busy {
    fn tick(&mut self, _: &mut Tick<'_>) -> TickResult {
        self.ticks += 1;
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(1);
        Ok(())
    }
}

fn add_fifo_clocks(sim: &mut Simulation) -> Result<()> {
    sim.add_clock(1, "d0", &format!("{WRITE_MHZ}MHz"))?;
    sim.add_clock_with_phase(2, "d1", &format!("{READ_MHZ}MHz"), &format!("{READ_PHASE_PS}ps"))?;
    Ok(())
}

fn add_pair(sim: &mut Simulation, pair: u32) -> Result<()> {
    let (producer, consumer) = (format!("producer{pair}"), format!("consumer{pair}"));
    sim.add_unit(&format!("d{}", 2 * pair), &producer, |p| Producer { out: p.fifo_out("out"), sent: 0 })?;
    sim.add_unit(&format!("d{}", 2 * pair + 1), &consumer, |p| Consumer {
        input: p.fifo_in("in"),
        received: 0,
        checksum: 0,
    })?;
    let fifo = Fifo::new(pair + 1).depth(DEPTH as u32).stages(STAGES as u32);
    sim.add_fifo(fifo, &format!("{producer}.out"), &format!("{consumer}.in"))?;
    Ok(())
}

fn build(workload: Workload) -> Result<Simulation> {
    let mut sim = Simulation::new();
    match workload {
        Workload::Fifo => {
            add_fifo_clocks(&mut sim)?;
            add_pair(&mut sim, 0)?;
        }
        Workload::Pairs(domains) => {
            for i in 0..domains {
                let (frequency, phase) = (format!("{}MHz", 250 << (i % 4)), format!("{}ps", 37 * i));
                sim.add_clock_with_phase(i + 1, &format!("d{i}"), &frequency, &phase)?;
            }
            (0..domains / 2).try_for_each(|pair| add_pair(&mut sim, pair))?;
        }
        Workload::Calendar => {
            add_fifo_clocks(&mut sim)?;
            ["d0", "d1"]
                .iter()
                .try_for_each(|d| sim.add_unit(d, &format!("{d}.busy"), |_| Busy::default()))?;
        }
        Workload::Single => {
            sim.add_clock(1, "d0", &format!("{WRITE_MHZ}MHz"))?;
            ["a", "b"].iter().try_for_each(|name| sim.add_unit("d0", name, |_| Busy::default()))?;
        }
    }
    sim.start()?;
    Ok(sim)
}

/// Runs a workload.
pub fn measure(workload: Workload, batches: u64) -> Result<Measured> {
    let mut sim = build(workload)?;
    let start = ProcessTime::now();
    let report = sim.run_batches(batches)?;
    let cpu_ns = start.elapsed().as_nanos() as u64;
    anyhow::ensure!(
        report.batches == u128::from(batches) && report.status == RunStatus::Finished,
        "expected {batches} batches, found {report:?}"
    );
    let state = sim.inspect().context("a simulation that ran has a state")?;
    let mut outcome = Outcome::default();
    for name in state.units() {
        if let Some(unit) = state.unit::<Producer>(name) {
            outcome.sent += unit.sent;
        } else if let Some(unit) = state.unit::<Consumer>(name) {
            outcome.add(Outcome { sent: 0, received: unit.received, checksum: unit.checksum });
        } else if let Some(unit) = state.unit::<Busy>(name) {
            outcome.add(Outcome { sent: 0, received: unit.ticks, checksum: unit.state });
        }
    }
    Ok(Measured { cpu_ns, outcome })
}
