//! When units tick: batches in exact time order, run limits, termination, and the skipping of idle
//! stretches.
//!
//! `serial` is the oracle: every other way of execution must equal it.

mod error;
mod serial;
mod simulation;
mod termination;

pub use error::{RunError, UnitPlace};
pub use simulation::{Inspection, RunReport, RunStatus, Simulation};
pub use termination::{StopHandle, Termination, TerminationReason};
