//! What `Producer::record` costs the thread that calls it.
//!
//!     cargo run --release -p clockweave-recorder --example record_cost -- [EVENTS] [ROUNDS]
//!
//! Each round records EVENTS events through one ring into a run without outputs, and produces them once more without
//! recording. The figure is the difference in CPU time of the producing thread alone (user and system, from
//! `/proc/thread-self/schedstat`), per event; waiting for the ordering thread costs no CPU time but for the first spins.
//! Three rings: of 4,096 records, of 65,536, and one of 2^20 that a round never fills, which is the cost without any
//! waiting.

use std::hint::black_box;

use clockweave_model::{ClockDomain, KindId, Phase, Seconds};
use clockweave_recorder::{Recorder, RunTotals};

/// CPU time of this thread in nanoseconds.
fn cpu() -> u64 {
    let text =
        std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux with scheduler statistics");
    text.split(' ').next().and_then(|ns| ns.parse().ok()).expect("nanoseconds on the CPU")
}

fn events(count: u64, mut each: impl FnMut(u64, u64)) -> u64 {
    let before = cpu();
    let mut state = 1u64;
    for n in 0..count {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        each(n / 2, state);
    }
    cpu() - before
}

fn recorded(count: u64, capacity: usize) -> u64 {
    let root = std::env::temp_dir().join(format!("clockweave-record-cost-{}", std::process::id()));
    let mut builder = Recorder::builder(&root);
    builder.text(false).perfetto(false).ring_capacity(Some(capacity));
    let domain =
        ClockDomain::new(1, "clk", "1GHz".parse().expect("a frequency"), Seconds::ZERO).expect("a domain");
    builder.domain(&domain).expect("a domain");
    builder.add_stream(1, 1, "unit").expect("a stream");
    let (mut recorder, mut producers) = builder.start_independent().expect("a recorder");
    let producer = &mut producers[0];
    let ns = events(count, |cycle, value| {
        producer.record(cycle, KindId::USER, cycle, value, 1, Phase::Commit).expect("recording");
    });
    producers.clear();
    let stats = recorder.close(RunTotals::default()).expect("closing");
    assert_eq!(stats.events, count);
    std::fs::remove_dir_all(&root).expect("the run's own directory");
    ns
}

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<u64>().expect("a number"));
    let (count, rounds) = (args.next().unwrap_or(5_000_000), args.next().unwrap_or(7));
    let cases = [(4096, count), (65_536, count), (1 << 20, 500_000)];
    let mut readings = vec![Vec::new(); cases.len()];
    for _ in 0..rounds {
        for ((capacity, count), readings) in cases.into_iter().zip(&mut readings) {
            let off = events(count, |cycle, value| {
                black_box((cycle, value));
            });
            readings.push((recorded(count, capacity).saturating_sub(off) * 100) / count);
        }
    }
    println!("ring records | ns/event, median (least to greatest)");
    for ((capacity, _), mut readings) in cases.into_iter().zip(readings) {
        readings.sort_unstable();
        let shown = |at: usize| format!("{}.{:02}", readings[at] / 100, readings[at] % 100);
        println!(
            "{capacity:>12} | {} ({} to {})",
            shown(readings.len() / 2),
            shown(0),
            shown(readings.len() - 1)
        );
    }
}
