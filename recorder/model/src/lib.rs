//! The vocabulary every part of clockweave shares: exact time, clock domains, event records and
//! the run manifest.
//!
//! This crate is a leaf. It knows nothing of simulation, of encodings, or of files.
//!
//! # Invariants
//!
//! * Every instant is an exact rational number of seconds. No operation rounds, wraps or saturates;
//!   what cannot be represented is a typed error.
//! * Display nanoseconds are `floor(t * 10^9)` of the exact time, computed anew for every edge, so
//!   the display error is in `[0, 1)` ns and never accumulates.
//!
//! # Example
//!
//! ```
//! use clockweave_model::{ClockDomain, Frequency, Seconds};
//!
//! let sm: Frequency = "914MHz".parse()?;
//! let lts: Frequency = "1.326GHz".parse()?;
//! let write = ClockDomain::new(1, "sm", sm, Seconds::ZERO)?;
//! let read = ClockDomain::new(2, "lts", lts, "137ps".parse()?)?;
//!
//! // The first read edge strictly after write edge 1000, and its display nanosecond.
//! let written = write.edge(1000)?;
//! let cycle = read.edge_after(&written)?;
//! assert_eq!(cycle, 1451);
//! assert_eq!(read.edge(cycle)?.floor_ns(), 1094);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(clippy::float_arithmetic)]

mod domain;
mod event;
mod lattice;
mod manifest;
mod quantity;
mod scheduling;
mod time;

pub use domain::{
    ClockDomain, ClockDomains, DomainError, EXTERNAL_DOMAIN, IMPLICIT_DOMAIN, IMPLICIT_NAME, check_name,
};
pub use event::{EventRecord, KindError, KindId, KindShape, KindTable, MAX_KINDS, Phase, check_printable};
pub use lattice::Lattice;
pub use manifest::{FifoEntry, Manifest, ManifestDomain, ManifestError, ManifestExtension, ManifestStream};
pub use quantity::{Frequency, QuantityError, Seconds};
pub use scheduling::{
    Left, MOST_CPUS, MOST_THREADS, MachineEntry, MachineJob, MachineThread, SchedKind, SchedRecord,
};
pub use time::{ExactTime, TimeError};
