//! The run queue of one CPU: jobs over threads, earliest eligible virtual deadline first at both
//! levels, with CPU affinity and real-time threads.
//!
//! # Invariants
//!
//! * Every effect is a value: there is no clock, no CPU, no I/O and no unsafe code here.
//! * All arithmetic is on integers, divisions round towards minus infinity, and an overflow panics:
//!   it never wraps or saturates.
//! * What a queue answers follows from the operations on it (and from the counts of the jobs, which
//!   several queues share) and from nothing else; the shape of a tree cannot be seen.
//!
//! When a thread runs, for how long and on which CPU is the caller's to decide; this crate says only
//! whose turn it is.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//! use clockweave_runqueue::{Affinity, Class, CpuMask, Job, RunQueue, Task, UNIT_WEIGHT};
//!
//! let cpus = CpuMask::first(2);
//! let job = Arc::new(Job::new(7, UNIT_WEIGHT));
//! let anywhere = Affinity::new(&Arc::new(cpus), &cpus);
//! let mut queue = RunQueue::new(3_000_000);
//! queue.insert(Task::new(1, job.clone(), Class::Fair, anywhere.clone()), None);
//! queue.insert(Task::new(2, job, Class::Fair, anywhere), None);
//!
//! assert_eq!(queue.pick().map(Task::key), Some(1));
//! queue.charge(3_000_000);
//! queue.put_back();
//! assert_eq!(queue.pick().map(Task::key), Some(2));
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]

extern crate alloc;

mod affinity;
pub mod division;
mod eevdf;
mod queue;
mod task;

pub use affinity::{Affinity, CpuMask, MAX_CPUS, Reach};
pub use eevdf::{Eevdf, Entity, FINE_BITS, Left, MAX_WEIGHT, UNIT_WEIGHT};
pub use queue::{FairView, RunQueue, Standing};
pub use task::{Class, Job, Task};
