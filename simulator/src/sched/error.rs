//! Why a run ended without reaching its limit.

use std::fmt;

use clockweave_model::{ExactTime, TimeError};

use crate::graph::TopologyError;
use crate::observe::RecordError;

/// Where in a run something happened: the unit, its domain, its local cycle and the exact time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitPlace {
    /// The unit's path name.
    pub unit: String,
    /// Its domain's name.
    pub domain: String,
    /// Its local cycle.
    pub cycle: u64,
    /// Exact time of that edge.
    pub time: ExactTime,
}

impl fmt::Display for UnitPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unit `{}`, domain `{}`, cycle {}, time {}", self.unit, self.domain, self.cycle, self.time)
    }
}

/// Why a run stopped with an error. After any but [`RunError::TimePassed`] and
/// [`RunError::UnknownDomain`] the run cannot be resumed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The graph was refused.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// A unit's tick returned an error.
    #[error("{place}: {message}")]
    Unit {
        /// Which unit, and when.
        place: Box<UnitPlace>,
        /// What it said.
        message: String,
    },
    /// A unit panicked.
    #[error("{place}: the unit panicked: {message}")]
    Panic {
        /// Which unit, and when.
        place: Box<UnitPlace>,
        /// The panic's message.
        message: String,
    },
    /// The next batch has an edge whose successor is not representable; no part of it ran.
    #[error("after {batches} batches: {error}")]
    Time {
        /// Completed batches.
        batches: u128,
        /// The edge that does not fit.
        error: TimeError,
    },
    /// A time limit that has passed already.
    #[error("the run is past {limit} already: its next batch is at {next}")]
    TimePassed {
        /// The limit given.
        limit: ExactTime,
        /// The next batch.
        next: ExactTime,
    },
    /// A domain without units, or none of that name.
    #[error("there is no clock domain `{name}` with units")]
    UnknownDomain {
        /// The name given.
        name: String,
    },
    /// The recording failed.
    #[error("recording: {0}")]
    Recording(#[from] RecordError),
    /// An earlier error ended the run.
    #[error("the run cannot be resumed after an error: {first}")]
    Ended {
        /// The error.
        first: String,
    },
}
