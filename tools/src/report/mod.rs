//! The figures of a run that an architect wants first.
//!
//! The run is merged into exact order and followed event by event. Every figure is exact: times are ratios of
//! seconds, and nothing passes through floating point. What the figures mean:
//!
//! * The *observed time* lasts from the first event of the run to the last one.
//! * A *hop* is the passage of one packet through one FIFO, from its `fifo.write` to its `fifo.consume`. Its *latency*
//!   is the time between them; in *edges* it is the number of edges of a clock after the write, up to and with the
//!   edge of the consume.
//! * *Quantiles* are by nearest rank: the q-quantile of n samples is the ⌈q·n⌉-th smallest.
//! * *Occupancy* is the number of entries in a FIFO's memory, writes less reads; its mean is weighted by time.
//! * *Throughput* is packets consumed over the observed time, or over the reader's edges in it.
//! * A *stall* is a stretch of time during which `full` is set: at its edges no write is accepted, whether or not the
//!   writer has one. The same of `empty` for the reader.
//! * *Utilisation* is the share of the edges of a unit's clock at which the unit did something of its own: wrote, read
//!   or consumed a packet, or recorded an event that is none of the circuit's.
//!
//! Invariants: memory stays within the bound given, plus what the manifest lists and a few kilobytes per FIFO, of
//! which at most 65,536 are told apart; distinct latencies beyond that are counted in temporary files.

mod assertion;
mod chart;
mod distribution;
mod exact;
mod fifo;
mod figures;
mod flag;
mod observer;
mod path;
mod tally;

use std::path::PathBuf;

use serde::Serialize;

pub use assertion::{Assertion, AssertionError, Verdict};
pub use chart::chart;
pub use distribution::{BINS, Bin, Distribution};
pub use exact::{Figure, Unit};
pub use fifo::{FifoReport, Occupancy, Part, Throughput};
pub use figures::{Entry, entries, write_csv};
pub use flag::FlagTime;
pub use path::{Hop, PathReport, Step, path};

use crate::merge::{Filter, MergeError, MergeOptions, MergeReport, OnError, merge_rows};
use crate::progress::Progress;
use crate::recorded::Recorded;
use observer::Observer;

/// Choices of a report.
#[derive(Clone, Debug)]
pub struct ReportOptions {
    /// Bytes of memory to stay within, at least 1 MiB.
    pub memory: u64,
    /// Where temporary files go.
    pub scratch: PathBuf,
}

impl ReportOptions {
    fn merging(&self, filter: Filter) -> MergeOptions {
        MergeOptions {
            memory: self.memory / 2,
            on_error: OnError::Halt,
            filter,
            scratch: self.scratch.clone(),
        }
    }
}

/// The time from the first event of a run to the last one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// When it begins.
    pub from: Figure,
    /// When it ends.
    pub to: Figure,
    /// How long it lasts.
    pub time: Figure,
}

/// What is told of one unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UnitReport {
    /// Unit id.
    pub id: u64,
    /// Unit name.
    pub name: String,
    /// Its clock.
    pub domain: String,
    /// Events of the unit.
    pub events: u64,
    /// Events lost when the run was recorded.
    pub lost_events: u64,
    /// Edges at which it did something of its own.
    pub busy_edges: u64,
    /// Edges of its clock in the observed time.
    pub edges: u64,
    /// Busy edges over edges.
    pub utilisation: Option<Figure>,
}

/// What is told of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunReport {
    /// The run's name.
    pub run_id: String,
    /// The observed time; `None` of a run without events.
    pub observed: Option<Span>,
    /// Events.
    pub events: u64,
    /// Events lost when the run was recorded.
    pub lost_events: u64,
    /// The FIFOs by id.
    pub fifos: Vec<FifoReport>,
    /// The units by id.
    pub units: Vec<UnitReport>,
}

/// The figures of `run`, and how reading it went.
///
/// # Errors
/// A line is refused, a log cannot be read, an end of a FIFO belongs to two units, temporary files cannot be written.
pub fn report(
    run: &Recorded,
    options: &ReportOptions,
    progress: &mut dyn Progress,
) -> Result<(RunReport, MergeReport), MergeError> {
    let run = run.run();
    let known = run.manifest().clockweave.as_ref().map_or(&[][..], |ours| &ours.fifos);
    let mut observer = Observer::new(run.catalog(), known, options);
    let merged =
        merge_rows(std::slice::from_ref(run), &options.merging(Filter::default()), &mut observer, progress)?;
    Ok((observer.report(known)?, merged))
}
