//! A machine as a unit: CPUs with run queues, jobs, threads that follow scripts, devices; and the
//! exploration of what may happen to it at one time.
//!
//! # Invariants
//!
//! * One unit, [`MachineUnit`], owns all CPUs of its machine, because they share the jobs' counts. Time is whole
//!   nanoseconds; a message from one CPU to another takes at least two.
//! * A CPU acts in passes: charge, mailbox, deadlines, what became of the running thread, choice,
//!   answers, timer. There is one timer per CPU, set for what it owes first.
//! * The only freedom is the order of what is due at the same time. [`Choices`] decides it; by itself it is the
//!   order of the CPUs.
//!
//! How a recording looks is not known here: a machine tells what happened as [`Happening`]s.

mod advance;
mod choice;
mod corpus;
mod events;
mod explore;
mod gates;
mod happening;
mod latency;
mod laws;
mod pass;
mod recorded;
mod scenarios;
mod state;
mod unit;
mod variant;
mod workload;

pub use choice::Choices;
pub use clockweave_runqueue::{Class, CpuMask};
pub use corpus::{Corpus, CorpusError, Expectation};
pub use events::{Machine, Observed};
pub use explore::{Outcome, explore, shrink};
pub use gates::{Demand, GATES, Gate, SEEDS, Share, Sweep, sweep};
pub use happening::{Happening, Why};
pub use latency::{Cause, Waits};
pub use laws::{Law, Reach, Violation};
pub use recorded::{RECORDED, Recorded};
pub use scenarios::{SCENARIOS, Scenario, Spread};
pub use unit::MachineUnit;
pub use variant::Variant;
pub use workload::{Device, JobSpec, Op, ThreadSpec, Workload};
