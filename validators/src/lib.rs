//! Checks that a trace says exactly what a run did.
//!
//! [`scan`] reads a trace's structure from its bytes; [`engine`] runs Perfetto's real Trace Processor; [`validate`]
//! holds what it imported against the run's manifest, logs and statistics and gives a [`report`]. The crate depends
//! on no other part of the suite: a checker that shares code with the writer repeats its mistakes.
//!
//! ```
//! use clockweave_validators::scan;
//!
//! // One whole packet (sequence 2), then one whose last byte is missing.
//! let trace = [0x0a, 0x02, 0x50, 0x02, 0x0a, 0x02, 0x50];
//! let report = scan::prefix(&trace, &scan::PrefixOptions::default());
//! assert_eq!((report.kept_packets, report.kept_bytes), (1, 4));
//! assert_eq!(
//!     report.cut.unwrap().to_string(),
//!     "at byte 4: found 1 bytes of a packet, expected the 2 bytes its header announces"
//! );
//! ```

mod checks;
mod content;
mod database;
pub mod engine;
mod exact;
mod limits;
pub mod lint;
mod printable;
mod regular;
pub mod report;
mod run;
pub mod scan;
mod validate;

pub use checks::own::OwnCheck;
pub use limits::Limits;
pub use regular::{check_regular, open_regular};
pub use run::InputError;
pub use validate::{Options, Target, ValidateError, check_bytes, validate};
