//! A streaming, bounded-memory recorder for events in exact multi-clock time.
//!
//! While a run goes on it writes a run directory: a manifest, a native Perfetto trace, a text log
//! per clock domain, and in the end statistics. Nothing is kept for later: memory does not depend
//! on the number of events, and the bytes written do not depend on host timing.
//!
//! # Invariants
//!
//! * Events are written in one total order: exact time, phase, unit name, producer order, program
//!   order. A unit's *ordinals* number its events in that order.
//! * At any moment the trace on disk is valid up to its last complete packet.
//! * The first error is kept, returned by every later call, and never makes anyone wait.
//!
//! # Example
//!
//! ```
//! use clockweave_model::{ClockDomain, KindId, Phase, Seconds};
//! use clockweave_recorder::{Recorder, RunTotals};
//!
//! # let root = tempfile::tempdir()?;
//! # let dir = root.path().join("run");
//! let sm = ClockDomain::new(1, "sm", "914MHz".parse()?, Seconds::ZERO)?;
//! let mut builder = Recorder::builder(&dir);
//! builder.run_id("demo").domain(&sm)?;
//! let unit = builder.add_stream(1, 1, "producer")?;
//!
//! let mut recorder = builder.start_serial()?;
//! for cycle in 0..1000 {
//!     recorder.record(unit, cycle, KindId::FIFO_WRITE, cycle + 1, 0, 1, Phase::Commit);
//!     recorder.end_instant(sm.edge(cycle)?.floor_ns())?;
//! }
//! let stats = recorder.close(RunTotals { batches: 1000, ..RunTotals::default() })?;
//! assert_eq!(stats.events, 1000);
//! assert!(dir.join("timeline.pftrace").exists());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod backend;
mod bucket;
mod builder;
mod concurrent;
mod cursor;
mod directory;
pub mod encoder;
mod error;
mod flows;
mod frontier;
#[cfg(test)]
mod gap_tests;
mod ledger;
mod lossy;
mod merge;
mod packed;
mod pftrace;
mod producer;
mod ring;
mod roster;
mod serial;
mod session;
mod sink;
mod stats;
mod sync;
mod text;
mod writer;

use std::path::Path;

pub use builder::RecorderBuilder;
pub use concurrent::ConcurrentRecorder;
pub use directory::{MANIFEST_FILE, STATS_FILE, TRACE_FILE, is_run_file, segment_name, text_log_name};
pub use error::RecordError;
pub use lossy::LossyRecorder;
pub use pftrace::{ArgsEncoding, Compression, UnknownCompression, View};
pub use producer::Producer;
pub use roster::StreamId;
pub use serial::SerialRecorder;
pub use stats::{EventTotals, ExactSeconds, RunTotals, SegmentStats, Stats, StatsExtension, StreamStats};

/// Where recording begins.
pub struct Recorder;

impl Recorder {
    /// A run to be written into `dir`, which must be new or empty.
    pub fn builder(dir: impl AsRef<Path>) -> RecorderBuilder {
        RecorderBuilder::new(dir.as_ref())
    }
}
