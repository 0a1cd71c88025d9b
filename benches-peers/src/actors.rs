//! `fifo` on nexosim: one actor for each side, which schedules its own edges and sends its pointer to
//! the other.
//!
//! nexosim's clock has whole nanoseconds, so one of them stands for a femtosecond. Each edge is at its
//! exact time rounded down; no two edges of `fifo` round to one instant, so their order is exact. (At a
//! shared instant actors would see each other's messages in any order.)

use std::time::Duration;

use cpu_time::ProcessTime;
use nexosim::model::{Context, Model, schedulable};
use nexosim::ports::{EventSinkReader, EventSource, Output, SinkState, event_slot};
use nexosim::simulation::{Mailbox, SimInit, SimulationError};
use nexosim::time::MonotonicTime;
use serde::{Deserialize, Serialize};

use crate::outcome::{Measured, Outcome, fold};
use crate::workload::{DEPTH, FIFO_TICKS, READ_MHZ, STAGES, Ticks, WRITE_MHZ};

const WRAP: u64 = 2 * DEPTH - 1;
const TOP_TWO: u64 = DEPTH | (DEPTH / 2);

fn gray(pointer: u64) -> u64 {
    pointer ^ pointer >> 1
}

/// Femtoseconds of edge `cycle`, one later than in truth: nothing can be scheduled at the start.
fn edge(clock: Ticks, cycle: u64) -> u64 {
    let units = u128::from(clock.phase) + u128::from(clock.period) * u128::from(cycle);
    // A unit is 10^15 / (914 * 10^6 * 1326 * 10^6) fs.
    (units * 1_000 / u128::from(WRITE_MHZ * READ_MHZ)) as u64 + 1
}

fn until_next(clock: Ticks, cycle: u64) -> Duration {
    Duration::from_nanos(edge(clock, cycle + 1) - edge(clock, cycle))
}

#[derive(Default, Serialize, Deserialize)]
struct Writer {
    /// The pointer's Gray code, with the packet written.
    written: Output<(u64, u64)>,
    cycle: u64,
    sent: u64,
    pointer: u64,
    gray: u64,
    full: bool,
    read_gray: u64,
    chain: [u64; STAGES],
    /// The count of packets, on request.
    count: Output<u64>,
}

#[Model]
impl Writer {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        cx.schedule_event(Duration::from_nanos(edge(FIFO_TICKS[0], 0)), schedulable!(Self::tick), ())
            .expect("the first edge is after the start");
    }

    #[nexosim(schedulable)]
    async fn tick(&mut self, _: (), cx: &Context<Self>) {
        let accepted = !self.full;
        if accepted {
            self.sent += 1;
            self.pointer = (self.pointer + 1) & WRAP;
            self.gray = gray(self.pointer);
        }
        self.full = self.gray == self.chain[STAGES - 1] ^ TOP_TWO;
        self.chain = [self.read_gray, self.chain[0]];
        if accepted {
            self.written.send((self.gray, self.sent)).await;
        }
        cx.schedule_event(until_next(FIFO_TICKS[0], self.cycle), schedulable!(Self::tick), ())
            .expect("edges have their distance");
        self.cycle += 1;
    }

    /// The reader's pointer changed.
    async fn read(&mut self, gray: u64) {
        self.read_gray = gray;
    }

    async fn report(&mut self) {
        self.count.send(self.sent).await;
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Reader {
    /// The pointer's Gray code.
    read: Output<u64>,
    cycle: u64,
    ram: [u64; DEPTH as usize],
    write_entry: u64,
    pointer: u64,
    gray: u64,
    filled: bool,
    output: Option<u64>,
    write_gray: u64,
    chain: [u64; STAGES],
    received: u64,
    checksum: u64,
    /// Packets and checksum, on request.
    count: Output<(u64, u64)>,
}

#[Model]
impl Reader {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        cx.schedule_event(Duration::from_nanos(edge(FIFO_TICKS[1], 0)), schedulable!(Self::tick), ())
            .expect("the first edge is after the start");
    }

    #[nexosim(schedulable)]
    async fn tick(&mut self, _: (), cx: &Context<Self>) {
        if let Some(value) = self.output.take() {
            self.received += 1;
            self.checksum = fold(self.checksum, value, self.cycle);
        }
        let accepted = self.filled;
        if accepted {
            self.output = Some(self.ram[(self.pointer & (DEPTH - 1)) as usize]);
            self.pointer = (self.pointer + 1) & WRAP;
            self.gray = gray(self.pointer);
        }
        self.filled = self.gray != self.chain[STAGES - 1];
        self.chain = [self.write_gray, self.chain[0]];
        if accepted {
            self.read.send(self.gray).await;
        }
        cx.schedule_event(until_next(FIFO_TICKS[1], self.cycle), schedulable!(Self::tick), ())
            .expect("edges have their distance");
        self.cycle += 1;
    }

    /// The writer's pointer changed.
    async fn written(&mut self, (gray, value): (u64, u64)) {
        self.write_gray = gray;
        self.ram[(self.write_entry & (DEPTH - 1)) as usize] = value;
        self.write_entry += 1;
    }

    async fn report(&mut self) {
        self.count.send((self.received, self.checksum)).await;
    }
}

/// Runs `fifo` on one thread.
pub fn measure(batches: u64) -> Result<Measured, SimulationError> {
    let (mut writer, mut reader) = (Writer::default(), Reader::default());
    let (writer_mailbox, reader_mailbox) = (Mailbox::new(), Mailbox::new());
    writer.written.connect(Reader::written, &reader_mailbox);
    reader.read.connect(Writer::read, &writer_mailbox);
    let (sink, mut sent) = event_slot(SinkState::Enabled);
    writer.count.connect_sink(sink);
    let (sink, mut received) = event_slot(SinkState::Enabled);
    reader.count.connect_sink(sink);

    let mut bench = SimInit::with_num_threads(1);
    let report_sent = EventSource::new().connect(Writer::report, &writer_mailbox).register(&mut bench);
    let report_received = EventSource::new().connect(Reader::report, &reader_mailbox).register(&mut bench);
    let mut simulation = bench
        .add_model(writer, writer_mailbox, "writer")
        .add_model(reader, reader_mailbox, "reader")
        .init(MonotonicTime::EPOCH)?;

    let start = ProcessTime::now();
    for _ in 0..batches {
        simulation.step()?;
    }
    let cpu_ns = start.elapsed().as_nanos() as u64;

    simulation.process_event(&report_sent, ())?;
    simulation.process_event(&report_received, ())?;
    let (received, checksum) = received.try_read().expect("the reader reported");
    let sent = sent.try_read().expect("the writer reported");
    Ok(Measured { cpu_ns, outcome: Outcome { sent, received, checksum } })
}
