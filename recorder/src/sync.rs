//! The primitives of threads, from the standard library or from the model checker.
//!
//! [`ring`](crate::ring) and [`frontier`](crate::frontier) take theirs from here and from nowhere else, so that the
//! code that is checked is the code that runs. The crate in `loom/` compiles both files with `loom` set.

#[cfg(not(loom))]
mod primitives {
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub(crate) use std::thread::yield_now;
}

#[cfg(loom)]
mod primitives {
    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub(crate) use loom::thread::yield_now;
}

pub(crate) use primitives::{Arc, AtomicU64, Condvar, Mutex, MutexGuard, Ordering, spin_loop, yield_now};
