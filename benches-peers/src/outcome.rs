//! What a simulation ends with, by which readings are checked.

use anyhow::{Context, Result};
use serde::Serialize;

/// Multiplier of the checksums and of the busy units.
pub const MULTIPLIER: u64 = 6_364_136_223_846_793_005;

/// The result of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Packets accepted by FIFOs.
    pub sent: u64,
    /// Packets taken out of FIFOs; ticks where there is none.
    pub received: u64,
    /// See [`fold`]; over several pairs or units, the wrapping sum.
    pub checksum: u64,
}

impl Outcome {
    /// Adds the outcome of an independent part.
    pub fn add(&mut self, part: Self) {
        self.sent += part.sent;
        self.received += part.received;
        self.checksum = self.checksum.wrapping_add(part.checksum);
    }
}

/// The checksum after taking `value` on the reader's local cycle `cycle`: it tells apart other values,
/// another order, and other times.
pub fn fold(checksum: u64, value: u64, cycle: u64) -> u64 {
    checksum.wrapping_mul(MULTIPLIER).wrapping_add(value ^ cycle << 32)
}

/// An outcome and the CPU time in which it was reached.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// User and system time of the run alone, in nanoseconds.
    pub cpu_ns: u64,
    /// What came out.
    pub outcome: Outcome,
}

impl Measured {
    /// One line, the form in which every measured process answers.
    pub fn to_line(self) -> String {
        let Outcome { sent, received, checksum } = self.outcome;
        format!("{} {sent} {received} {checksum}", self.cpu_ns)
    }

    /// Reads such a line.
    pub fn from_line(line: &str) -> Result<Self> {
        let numbers: Vec<u64> = line
            .split_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()
            .with_context(|| format!("expected four numbers, found `{line}`"))?;
        let [cpu_ns, sent, received, checksum] = numbers[..] else {
            anyhow::bail!("expected four numbers, found `{line}`");
        };
        Ok(Self { cpu_ns, outcome: Outcome { sent, received, checksum } })
    }
}
