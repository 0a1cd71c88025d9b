//! A multiprocessor, a slice of its second-level cache and its memory: three clocks, four FIFOs.
//!
//! The guide `docs/guide-simulation.md` explains it. It records into the folder that is given:
//!
//!     cargo run -p clockweave-simulator --example gpu_memory -- out/gpu-memory

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::error::Error;
use std::path::Path;

use clockweave_simulator::{
    Connection, Counter, Event, Fifo, FifoIn, FifoOut, In, Out, Packet, Ports, RecordingOptions, RunStatus,
    Simulation, Span, StopReason, Tick, TickResult, Unit, WriteError,
};

/// A read of one cache line.
struct Request {
    line: u64,
}

/// The line that was read.
struct Line {
    line: u64,
    words: Box<[u64; 4]>,
}

/// A streaming multiprocessor: it reads `reads` lines, with at most `window` reads in flight.
struct Sm {
    requests: FifoOut<Request>,
    lines: FifoIn<Line>,
    latency: Out<u64>,
    in_flight: Counter,
    reads: u64,
    window: usize,
    issued: u64,
    received: u64,
    sum: u64,
    /// When each read in flight was issued, by transaction.
    started: BTreeMap<u64, u64>,
}

impl Sm {
    fn new(ports: &mut Ports<'_>, reads: u64, window: usize) -> Self {
        ports.may_stop();
        Self {
            requests: ports.fifo_out("requests"),
            lines: ports.fifo_in("lines"),
            latency: ports.out("latency"),
            in_flight: ports.counter("sm.in_flight"),
            reads,
            window,
            issued: 0,
            received: 0,
            sum: 0,
            started: BTreeMap::new(),
        }
    }

    /// Every second line is one that was read before.
    fn next_line(&self) -> u64 {
        if self.issued.is_multiple_of(2) { self.issued } else { self.issued / 4 * 2 }
    }
}

impl Unit for Sm {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        let before = self.started.len();
        if let Some(packet) = cx.take(&self.lines) {
            self.received += 1;
            self.sum += packet.data.words.iter().sum::<u64>();
            let started = self.started.remove(&packet.transaction_id).ok_or("a line nobody asked for")?;
            cx.send(&self.latency, cx.cycle() - started).map_err(|_| "the monitor is too slow")?;
            if self.received == self.reads {
                cx.request_stop(StopReason::Completed, "all lines are here")?;
            }
        }
        cx.request(&self.lines);

        if self.issued < self.reads && self.started.len() < self.window && cx.can_write(&self.requests) {
            let id = cx.new_transaction();
            if cx.write(&self.requests, Packet::new(id, Request { line: self.next_line() })).is_ok() {
                self.issued += 1;
                self.started.insert(id, cx.cycle());
            }
        }
        if self.started.len() != before {
            cx.counter(self.in_flight, self.started.len() as u64);
        }
        Ok(())
    }
}

/// Keeps the longest latency, in cycles of the multiprocessor.
struct Monitor {
    latency: In<u64>,
    longest: u64,
}

impl Unit for Monitor {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        while let Some(latency) = cx.receive(&self.latency) {
            self.longest = self.longest.max(latency);
        }
        cx.sleep();
        Ok(())
    }
}

/// A cache slice: lines it has seen are answered at once, others are fetched from memory.
struct L2 {
    requests: FifoIn<Request>,
    lines: FifoOut<Line>,
    misses: FifoOut<Request>,
    fills: FifoIn<Line>,
    hit: Event,
    miss: Event,
    cached: BTreeSet<u64>,
    answers: VecDeque<Packet<Line>>,
    missing: Option<Packet<Request>>,
    hits: u64,
}

impl L2 {
    fn new(ports: &mut Ports<'_>) -> Self {
        Self {
            requests: ports.fifo_in("requests"),
            lines: ports.fifo_out("lines"),
            misses: ports.fifo_out("misses"),
            fills: ports.fifo_in("fills"),
            hit: ports.event("l2.hit"),
            miss: ports.event("l2.miss"),
            cached: BTreeSet::new(),
            answers: VecDeque::new(),
            missing: None,
            hits: 0,
        }
    }
}

impl Unit for L2 {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        if let Some(fill) = cx.take(&self.fills) {
            self.cached.insert(fill.data.line);
            self.answers.push_back(fill);
        }
        cx.request(&self.fills);

        // One request at a time: while a miss waits for its FIFO, nothing else is taken.
        if self.missing.is_none()
            && let Some(packet) = cx.take(&self.requests)
        {
            let line = packet.data.line;
            if self.cached.contains(&line) {
                self.hits += 1;
                cx.event(self.hit, packet.transaction_id, line);
                self.answers.push_back(Packet::new(packet.transaction_id, read_line(line)));
            } else {
                cx.event(self.miss, packet.transaction_id, line);
                self.missing = Some(packet);
            }
        }
        cx.request(&self.requests);

        // A refused packet comes back in the error.
        if let Some(packet) = self.missing.take() {
            self.missing = cx.write(&self.misses, packet).err().map(WriteError::into_packet);
        }
        if let Some(packet) = self.answers.pop_front()
            && let Err(refused) = cx.write(&self.lines, packet)
        {
            self.answers.push_front(refused.into_packet());
        }
        Ok(())
    }
}

/// A memory that works on one read at a time, for `latency` of its cycles.
struct Dram {
    misses: FifoIn<Request>,
    fills: FifoOut<Line>,
    access: Span,
    latency: u64,
    job: Option<(u64, Packet<Request>)>,
    done: Option<Packet<Line>>,
    accesses: u64,
}

impl Dram {
    fn new(ports: &mut Ports<'_>, latency: u64) -> Self {
        Self {
            misses: ports.fifo_in("misses"),
            fills: ports.fifo_out("fills"),
            access: ports.span("dram.access"),
            latency,
            job: None,
            done: None,
            accesses: 0,
        }
    }
}

impl Unit for Dram {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        if let Some((end, packet)) = self.job.take() {
            if cx.cycle() < end {
                self.job = Some((end, packet));
                // Nothing to do before that edge, whatever arrives.
                cx.sleep_until(end);
                return Ok(());
            }
            cx.end(self.access);
            self.accesses += 1;
            self.done = Some(Packet::new(packet.transaction_id, read_line(packet.data.line)));
        }
        if let Some(packet) = self.done.take() {
            self.done = cx.write(&self.fills, packet).err().map(WriteError::into_packet);
        }
        if self.done.is_none()
            && let Some(packet) = cx.take(&self.misses)
        {
            cx.begin(self.access, packet.transaction_id);
            self.job = Some((cx.cycle() + self.latency, packet));
        }
        cx.request(&self.misses);
        Ok(())
    }
}

fn read_line(line: u64) -> Line {
    Line { line, words: Box::new([line, line + 1, line + 2, line + 3]) }
}

fn system() -> Result<Simulation, Box<dyn Error>> {
    let mut sim = Simulation::new();
    sim.add_clock(1, "sm", "914MHz")?;
    sim.add_clock_with_phase(2, "lts", "1326MHz", "137ps")?;
    sim.add_clock_with_phase(3, "dram", "1001MHz", "311ps")?;

    sim.add_unit("sm", "sm0", |ports| Sm::new(ports, 1000, 16))?;
    sim.add_unit("sm", "monitor", |ports| Monitor { latency: ports.input("latency"), longest: 0 })?;
    sim.add_unit("lts", "l2", L2::new)?;
    sim.add_unit("dram", "dram", |ports| Dram::new(ports, 20))?;

    sim.add_fifo(Fifo::new(1).depth(8).name("sm0 to l2"), "sm0.requests", "l2.requests")?;
    sim.add_fifo(Fifo::new(2).depth(4).stages(3).name("l2 to dram"), "l2.misses", "dram.misses")?;
    sim.add_fifo(Fifo::new(3).depth(4).stages(3).name("dram to l2"), "dram.fills", "l2.fills")?;
    sim.add_fifo(Fifo::new(4).depth(8).name("l2 to sm0"), "l2.lines", "sm0.lines")?;
    sim.connect(Connection::delayed(1).capacity(2), "sm0.latency", "monitor.latency")?;
    Ok(sim)
}

pub(crate) fn run(dir: &Path) -> Result<Simulation, Box<dyn Error>> {
    let mut sim = system()?;
    sim.record(RecordingOptions::new(dir, "gpu-memory"))?;
    let report = sim.run_batches(1_000_000)?;
    assert_eq!(report.status, RunStatus::Stopped, "the reads take less than a million batches");
    sim.finish()?;
    Ok(sim)
}

pub(crate) fn summary(sim: &Simulation) -> Option<String> {
    let state = sim.inspect()?;
    let (sm, monitor): (&Sm, &Monitor) = (state.unit("sm0")?, state.unit("monitor")?);
    let (l2, dram): (&L2, &Dram) = (state.unit("l2")?, state.unit("dram")?);
    let mut lines = vec![
        format!("{} batches, {} ns", state.batches(), state.last_committed().floor_ns()),
        format!("{} lines read, sum {}, longest latency {} cycles", sm.received, sm.sum, monitor.longest),
        format!("{} hits, {} accesses to memory", l2.hits, dram.accesses),
    ];
    for id in 1..=4 {
        let (fifo, refused) = (state.fifo(id)?, state.fifo_refusals(id)?);
        lines.push(format!("FIFO {id}: {} packets, {refused} writes refused", fifo.writes));
    }
    Some(lines.join("\n"))
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args().nth(1).ok_or("usage: gpu_memory DIR")?;
    let sim = run(Path::new(&dir))?;
    println!("{}", summary(&sim).ok_or("the simulation has not started")?);
    Ok(())
}
