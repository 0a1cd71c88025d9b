//! `fifo` as one loop written for it alone: two integer clocks, the registers as local variables. No
//! simulator of anything else; a lower bound.

use cpu_time::ProcessTime;

use crate::outcome::{Measured, Outcome, fold};
use crate::workload::{DEPTH, FIFO_TICKS};

const WRAP: u64 = 2 * DEPTH - 1;
const TOP_TWO: u64 = DEPTH | (DEPTH / 2);

fn gray(pointer: u64) -> u64 {
    pointer ^ pointer >> 1
}

/// Runs `fifo`.
pub fn measure(batches: u64) -> Measured {
    let start = ProcessTime::now();
    let outcome = run(std::hint::black_box(batches));
    Measured { cpu_ns: start.elapsed().as_nanos() as u64, outcome: std::hint::black_box(outcome) }
}

fn run(batches: u64) -> Outcome {
    let [write_clock, read_clock] = FIFO_TICKS;
    let (mut write_time, mut read_time) = (write_clock.phase, read_clock.phase);
    let mut ram = [0; DEPTH as usize];
    let (mut write_pointer, mut read_pointer) = (0, 0);
    let (mut write_gray, mut read_gray) = (0, 0);
    let (mut into_read, mut into_write) = ([0; 2], [0; 2]);
    let (mut full, mut empty) = (false, true);
    let mut output = None;
    let mut read_cycle = 0;
    let mut outcome = Outcome::default();
    for _ in 0..batches {
        let (sample_write, sample_read) = (write_gray, read_gray);
        let (write_edge, read_edge) = (write_time <= read_time, read_time <= write_time);
        if read_edge {
            if let Some(value) = output.take() {
                outcome.received += 1;
                outcome.checksum = fold(outcome.checksum, value, read_cycle);
            }
            if !empty {
                output = Some(ram[(read_pointer & (DEPTH - 1)) as usize]);
                read_pointer = (read_pointer + 1) & WRAP;
                read_gray = gray(read_pointer);
            }
            empty = read_gray == into_read[1];
            into_read = [sample_write, into_read[0]];
            read_cycle += 1;
            read_time += read_clock.period;
        }
        if write_edge {
            if !full {
                outcome.sent += 1;
                ram[(write_pointer & (DEPTH - 1)) as usize] = outcome.sent;
                write_pointer = (write_pointer + 1) & WRAP;
                write_gray = gray(write_pointer);
            }
            full = write_gray == into_write[1] ^ TOP_TWO;
            into_write = [sample_read, into_write[0]];
            write_time += write_clock.period;
        }
    }
    outcome
}
