//! Records the events of the reference FIFO run (914 MHz into 1326 MHz + 137 ps, depth 16, 2 stages, both
//! ends busy on every edge) and reports what recording costs over producing the events alone.
//!
//!     cargo run --release -p clockweave-recorder --example record_fifo -- [EVENTS] [ROUNDS] [MODE…]
//!
//! Modes: `raw deflate text both full full-raw annotations record yardsticks`, all by default; `deflate:N` and `zstd:N` for
//! other levels. `yardsticks` is what libdeflate alone and writing alone take for the bytes of `raw`, to compare machines
//! by. Modes are interleaved; figures are CPU time of the whole process, medians over the rounds with the spread. The peak of
//! resident memory is the process's, so it is a mode's own only where that mode is run alone.

use std::collections::VecDeque;
use std::path::Path;

use clockweave_model::{ClockDomain, FifoEntry, KindId, Phase, Seconds};
use clockweave_recorder::{ArgsEncoding, Compression, Recorder, RunTotals, SerialRecorder, StreamId, View};

/// Where events go.
trait Target {
    fn record(&mut self, writer: bool, cycle: u64, kind: KindId, transaction: u64, value: u64, phase: Phase);
    fn end_instant(&mut self, ns: i64);
}

/// Nowhere; they are counted and summed so that they have to be computed.
#[derive(Default)]
struct Off {
    events: u64,
    sum: u64,
}

impl Target for Off {
    #[inline]
    fn record(&mut self, _: bool, cycle: u64, kind: KindId, transaction: u64, value: u64, phase: Phase) {
        self.events += 1;
        self.sum = self.sum.wrapping_add(cycle ^ transaction ^ value ^ u64::from(kind.0) ^ phase as u64);
    }

    #[inline]
    fn end_instant(&mut self, ns: i64) {
        self.sum = self.sum.wrapping_add(ns.unsigned_abs());
    }
}

struct On {
    recorder: SerialRecorder,
    streams: [StreamId; 4],
    events: u64,
}

impl Target for On {
    #[inline]
    fn record(&mut self, writer: bool, cycle: u64, kind: KindId, transaction: u64, value: u64, phase: Phase) {
        self.events += 1;
        let stream = self.streams[usize::from(!writer) * 2 + phase as usize];
        self.recorder.record(stream, cycle, kind, transaction, value, 1, phase);
    }

    #[inline]
    fn end_instant(&mut self, ns: i64) {
        self.recorder.end_instant(ns).expect("recording");
    }
}

/// Lattice of both clocks: 1/(457 * 663 * 1000) ns.
const PER_NS: u64 = 457 * 663 * 1000;
const WRITE_PERIOD: u64 = 500 * 663 * 1000;
const READ_PERIOD: u64 = 500 * 457 * 1000;
const READ_PHASE: u64 = 137 * 457 * 663;
const DEPTH: u64 = 16;

/// The FIFO as unwrapped counters: a synchronizer is a short queue of counts.
struct Fifo {
    written: u64,
    read: u64,
    to_reader: [u64; 2],
    to_writer: [u64; 2],
    full: bool,
    empty: bool,
    output: Option<u64>,
    ram: VecDeque<u64>,
}

fn produce(events: u64, target: &mut impl Target) {
    let mut fifo = Fifo {
        written: 0,
        read: 0,
        to_reader: [0; 2],
        to_writer: [0; 2],
        full: false,
        empty: true,
        output: None,
        ram: VecDeque::with_capacity(16),
    };
    let (mut write_at, mut read_at) = (0u64, READ_PHASE);
    let (mut write_cycle, mut read_cycle) = (0u64, 0u64);
    let mut produced = 0;
    while produced < events {
        let now = write_at.min(read_at);
        let (old_written, old_read) = (fifo.written, fifo.read);
        if read_at == now {
            produced += fifo.read_edge(read_cycle, old_written, target);
            read_cycle += 1;
            read_at += READ_PERIOD;
        }
        if write_at == now {
            produced += fifo.write_edge(write_cycle, old_read, target);
            write_cycle += 1;
            write_at += WRITE_PERIOD;
        }
        target.end_instant((now / PER_NS).cast_signed());
    }
}

impl Fifo {
    #[inline]
    fn read_edge(&mut self, cycle: u64, written: u64, target: &mut impl Target) -> u64 {
        let mut events = 0;
        let mut event = |kind, transaction, value, phase| {
            events += 1;
            target.record(false, cycle, kind, transaction, value, phase);
        };
        if let Some(id) = self.output.take() {
            event(KindId::FIFO_CONSUME, id, 0, Phase::Evaluate);
        }
        let accepted = !self.empty;
        // The ids in RAM are consecutive, so entry `n` has id `n + 1`.
        for entry in self.to_reader[0]..self.to_reader[1] {
            event(KindId::FIFO_VISIBLE, entry + 1, 0, Phase::Commit);
        }
        self.to_reader[0] = self.to_reader[1];
        if accepted {
            let id = self.ram.pop_front().expect("an entry that is visible");
            self.read += 1;
            event(KindId::FIFO_READ, id, 0, Phase::Commit);
            event(KindId::FIFO_OUTPUT, id, 0, Phase::Commit);
            self.output = Some(id);
        }
        let empty = self.read == self.to_reader[0];
        if empty != self.empty {
            self.empty = empty;
            event(KindId::FIFO_EMPTY, 0, empty.into(), Phase::Commit);
        }
        self.to_reader[1] = written;
        events
    }

    #[inline]
    fn write_edge(&mut self, cycle: u64, read: u64, target: &mut impl Target) -> u64 {
        let mut events = 0;
        let mut event = |kind, transaction, value| {
            events += 1;
            target.record(true, cycle, kind, transaction, value, Phase::Commit);
        };
        if !self.full {
            self.written += 1;
            self.ram.push_back(self.written);
            event(KindId::FIFO_WRITE, self.written, 0);
        }
        let full = self.written - self.to_writer[0] == DEPTH;
        if full != self.full {
            self.full = full;
            event(KindId::FIFO_FULL, 0, full.into());
        }
        self.to_writer = [self.to_writer[1], read];
        events
    }
}

/// User and system time of this process so far, in nanoseconds.
fn cpu_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("/proc/self/stat");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks: u64 = [11, 12].iter().map(|at| fields[*at].parse::<u64>().expect("a number of ticks")).sum();
    ticks * 10_000_000
}

fn builder(dir: &Path, mode: &str) -> On {
    let mut builder = Recorder::builder(dir);
    builder.run_id("fifo").text(false).force(true);
    match mode {
        "raw" => builder.compression(Compression::None),
        "deflate" => &mut builder,
        "text" => builder.text(true).perfetto(false),
        "both" => builder.text(true),
        "annotations" => builder.compression(Compression::None).args(ArgsEncoding::Annotations),
        "full" => builder.view(View::Full),
        "full-raw" => builder.view(View::Full).compression(Compression::None),
        "record" => builder.perfetto(false),
        zstd if zstd.starts_with("zstd:") => {
            let level = zstd["zstd:".len()..].parse().expect("a level");
            builder.compression(Compression::Zstd { level })
        }
        level => {
            let level = level.strip_prefix("deflate:").expect("a mode").parse().expect("a level");
            builder.compression(Compression::Deflate { level })
        }
    };
    let sm =
        ClockDomain::new(1, "sm", "914MHz".parse().expect("a frequency"), Seconds::ZERO).expect("a domain");
    let hz = "1326MHz".parse().expect("a frequency");
    let lts = ClockDomain::new(2, "lts", hz, Seconds::from_ps(137)).expect("a domain");
    builder.domain(&sm).and_then(|b| b.domain(&lts)).expect("two domains");
    let (writer, reader) = ("producer".to_owned(), "consumer".to_owned());
    builder.fifo(FifoEntry { id: 1, name: "fifo".to_owned(), depth: DEPTH, stages: 2, writer, reader });
    let producer = builder.add_stream(1, 1, "producer").expect("a unit");
    let consumer = builder.add_stream(2, 2, "consumer").expect("a unit");
    let streams = [
        producer,
        builder.add_producer_stream(producer, 2).expect("a stream"),
        consumer,
        builder.add_producer_stream(consumer, 2).expect("a stream"),
    ];
    On { recorder: builder.start_serial().expect("a run"), streams, events: 0 }
}

/// What the machine needs for the parts nobody can save: compressing the same bytes in blocks, and
/// writing them. Nanoseconds per event each, and bytes of the compressed ones.
struct Yardsticks {
    raw: Vec<u8>,
    compressor: libdeflater::Compressor,
    copy: std::path::PathBuf,
}

impl Yardsticks {
    fn new(dir: &Path, events: u64) -> Self {
        let mut on = builder(dir, "raw");
        produce(events, &mut on);
        on.recorder.close(RunTotals::default()).expect("closing");
        let raw = std::fs::read(dir.join(clockweave_recorder::TRACE_FILE)).expect("the trace");
        let level = libdeflater::CompressionLvl::new(1).expect("a level");
        Self { raw, compressor: libdeflater::Compressor::new(level), copy: dir.join("copy") }
    }

    fn compress(&mut self) -> (u64, usize) {
        let mut out = vec![0; self.compressor.zlib_compress_bound(262_144)];
        let before = cpu_ns();
        let blocks = self.raw.chunks(262_144);
        let size = blocks.map(|block| self.compressor.zlib_compress(block, &mut out).expect("room")).sum();
        (cpu_ns() - before, size)
    }

    fn write(&self) -> u64 {
        let before = cpu_ns();
        let mut file = std::fs::File::create(&self.copy).expect("a file");
        let blocks = self.raw.chunks(262_144);
        blocks.for_each(|block| std::io::Write::write_all(&mut file, block).expect("writing"));
        cpu_ns() - before
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let events: u64 = args.next().map_or(5_000_000, |n| n.parse().expect("a number of events"));
    let rounds: usize = args.next().map_or(5, |n| n.parse().expect("a number of rounds"));
    let mut modes: Vec<String> = args.collect();
    if modes.is_empty() {
        modes = ["raw", "deflate", "text", "both", "full", "full-raw", "annotations", "record", "yardsticks"]
            .map(str::to_owned)
            .to_vec();
    }
    let dir = std::env::temp_dir().join(format!("record_fifo-{}", std::process::id()));
    let mut yardsticks = modes.iter().any(|mode| mode == "yardsticks").then(|| Yardsticks::new(&dir, events));
    modes.retain(|mode| mode != "yardsticks");
    let mut cost: Vec<Vec<f64>> = vec![Vec::new(); modes.len()];
    let mut offs = Vec::new();
    let (mut compressing, mut writing) = (Vec::new(), Vec::new());
    let mut bytes = vec![0.0; modes.len()];
    let (mut first_output, mut peak_rss) = (vec![0; modes.len()], 0);
    for _ in 0..rounds {
        let before = cpu_ns();
        let mut off = Off::default();
        produce(events, &mut off);
        let off_ns = (cpu_ns() - before) as f64 / off.events as f64;
        std::hint::black_box(off.sum);
        offs.push(off_ns);
        if let Some(yardsticks) = &mut yardsticks {
            compressing.push(yardsticks.compress().0 as f64 / off.events as f64);
            writing.push(yardsticks.write() as f64 / off.events as f64);
        }
        for (at, mode) in modes.iter().enumerate() {
            let before = cpu_ns();
            let mut on = builder(&dir, mode);
            produce(events, &mut on);
            let stats = on.recorder.close(RunTotals::default()).expect("closing");
            let spent = (cpu_ns() - before) as f64 / on.events as f64;
            cost[at].push(spent - off_ns);
            bytes[at] = stats.file_bytes as f64 / on.events as f64;
            first_output[at] = first_output[at].max(stats.first_output_ns);
            peak_rss = stats.clockweave.peak_rss_bytes.unwrap_or(0);
        }
    }
    let spread = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        (values[values.len() / 2], values[0], values[values.len() - 1])
    };
    let (median, low, high) = spread(&mut offs);
    println!("off          {median:7.1} ns/event ({low:.1} to {high:.1})");
    if let Some(yardsticks) = &mut yardsticks {
        let size = yardsticks.compress().1 as f64 / events as f64;
        let (median, low, high) = spread(&mut compressing);
        println!("libdeflate 1 {median:7.1} ns/event alone ({low:.1} to {high:.1}) at {size:.3} B/event");
        let (median, low, high) = spread(&mut writing);
        println!("write        {median:7.1} ns/event alone ({low:.1} to {high:.1})");
    }
    for (at, mode) in modes.iter().enumerate() {
        let (median, low, high) = spread(&mut cost[at]);
        let (size, first) = (bytes[at], first_output[at] as f64 / 1e6);
        println!(
            "{mode:12} {median:7.1} ns/event over off ({low:.1} to {high:.1}) at {size:.3} B/event, first output \
             after {first:.2} ms at most"
        );
    }
    println!("peak of resident memory {:.1} MiB", peak_rss as f64 / f64::from(1 << 20));
    std::fs::remove_dir_all(&dir).expect("removing the run");
}
