//! The clock-crossing circuit: a dual-clock FIFO with Gray-coded pointers, register by register.
//!
//! # Invariants
//!
//! * All registers take their new values together: a commit reads only the state before the
//!   instant, also when both domains have an edge at it.
//! * Acceptance, `full` and `empty` follow from the registers alone; counters are diagnostics.
//!
//! The circuit knows no scheduler, no time and no payload type: it stores transaction ids, and the
//! payload follows them in order of acceptance. It does not model metastability, skew between
//! pointer bits, mean time between failures, first-word-fall-through reads, or depths that are no
//! power of two.

mod async_fifo;
mod gray;
mod synchronizer;

pub use async_fifo::{AsyncFifo, CircuitError, Commit, CommitEvents, FifoState, Ignore};
pub use gray::{from_gray, to_gray};
