//! A run of two clocks that tests record into: `a` at 1 GHz, `b` at 2 GHz with a phase of 250 ps.

use std::path::Path;

use clockweave_model::{ClockDomain, Seconds};
use clockweave_recorder::{Recorder, RecorderBuilder};

pub(crate) fn domain(id: u32, name: &str, frequency: &str, phase_ps: u64) -> ClockDomain {
    ClockDomain::new(id, name, frequency.parse().unwrap(), Seconds::from_ps(phase_ps)).unwrap()
}

pub(crate) fn builder(dir: &Path) -> RecorderBuilder {
    let mut builder = Recorder::builder(dir);
    builder.run_id("two clocks").tool_version("1.2.3");
    builder.domain(&domain(1, "a", "1GHz", 0)).unwrap();
    builder.domain(&domain(2, "b", "2GHz", 250)).unwrap();
    builder
}
