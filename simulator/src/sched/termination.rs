//! Stops: requested inside or outside the hardware, settled at a boundary that follows from the
//! request alone.
//!
//! # Invariants
//!
//! * A request in batch `r` settles once `r + margin + 1` batches are complete; the first request in
//!   order of (exact time, domain id, canonical order) is kept.
//! * An external request settles at the batch that is complete when it is seen.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use clockweave_model::ExactTime;

use crate::graph::StopReason;

/// Why a run was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TerminationReason {
    /// A unit asked.
    Unit(StopReason),
    /// A [`StopHandle`] asked.
    External,
}

impl fmt::Display for TerminationReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit(reason) => reason.fmt(f),
            Self::External => f.write_str("external request"),
        }
    }
}

/// A stop and where it settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Termination {
    /// Domain of the request; [`clockweave_model::EXTERNAL_DOMAIN`] from outside.
    pub domain_id: u32,
    /// The requesting unit, if one did.
    pub unit: Option<String>,
    /// Local cycle of the request; 0 from outside.
    pub cycle: u64,
    /// Exact time of the request; the last committed time from outside.
    pub requested_at: ExactTime,
    /// Exact time of the last batch before the settled boundary.
    pub settled_at: ExactTime,
    /// Why.
    pub reason: TerminationReason,
    /// What the requester said.
    pub message: String,
}

#[derive(Debug, Default)]
struct Flag {
    requested: AtomicBool,
    message: Mutex<String>,
}

/// Stops a run from another thread.
#[derive(Clone, Debug, Default)]
pub struct StopHandle(Arc<Flag>);

impl StopHandle {
    /// Asks for a stop at the next completed batch.
    pub fn request(&self, message: &str) {
        *self.0.message.lock().unwrap_or_else(PoisonError::into_inner) = message.to_owned();
        // Pairs with the Acquire of `message`.
        self.0.requested.store(true, Ordering::Release);
    }

    #[inline]
    pub(super) fn is_requested(&self) -> bool {
        self.flag().load(Ordering::Relaxed)
    }

    /// Whether a stop is requested.
    pub(super) fn flag(&self) -> &AtomicBool {
        &self.0.requested
    }

    /// The message of a pending request.
    pub(super) fn message(&self) -> Option<String> {
        // Pairs with the Release of `request`.
        let requested = self.0.requested.load(Ordering::Acquire);
        requested.then(|| self.0.message.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    pub(super) fn clear(&self) {
        self.0.requested.store(false, Ordering::Relaxed);
    }
}
