//! Jobs and threads as a run queue sees them.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::affinity::{Affinity, CpuMask};
use crate::eevdf::MAX_WEIGHT;

/// A process. Run queues of several CPUs share it.
#[derive(Debug)]
pub struct Job {
    key: u64,
    weight: u64,
    /// Fair threads that are ready or running, on all CPUs.
    runnable: AtomicU64,
}

impl Job {
    /// A job without threads. Keys are unique; they order the groups of a run queue.
    ///
    /// # Panics
    /// If `weight` is 0 or above [`MAX_WEIGHT`].
    pub fn new(key: u64, weight: u64) -> Self {
        assert!((1..=MAX_WEIGHT).contains(&weight), "job {key}: weight {weight}, expected 1 to 2^40");
        Self { key, weight, runnable: AtomicU64::new(0) }
    }

    /// Its key.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// The weight of all its threads together.
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// Fair threads that are ready or running, on all CPUs.
    // Relaxed throughout: the count orders nothing; a CPU that reads an old one reweights at a later pick.
    #[inline]
    pub fn runnable(&self) -> u64 {
        self.runnable.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn add_runnable(&self) {
        self.runnable.fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn drop_runnable(&self) {
        let before = self.runnable.fetch_sub(1, Ordering::Relaxed);
        assert!(before > 0, "job {}: a thread left that was not counted", self.key);
    }
}

/// How a thread is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// By its share.
    Fair,
    /// Before all fair threads, first in, first out.
    RealTime,
}

/// A thread.
#[derive(Clone, Debug)]
pub struct Task {
    key: u64,
    job: Arc<Job>,
    pub(crate) class: Class,
    pub(crate) affinity: Affinity,
}

impl Task {
    /// A thread of `job`; keys are unique.
    pub fn new(key: u64, job: Arc<Job>, class: Class, affinity: Affinity) -> Self {
        Self { key, job, class, affinity }
    }

    /// Its key.
    #[inline]
    pub fn key(&self) -> u64 {
        self.key
    }

    /// Its job.
    #[inline]
    pub fn job(&self) -> &Arc<Job> {
        &self.job
    }

    /// How it is scheduled.
    #[inline]
    pub fn class(&self) -> Class {
        self.class
    }

    /// Schedules it otherwise from its next insertion on.
    pub fn set_class(&mut self, class: Class) {
        self.class = class;
    }

    /// Where it may run.
    #[inline]
    pub fn affinity(&self) -> &Affinity {
        &self.affinity
    }

    /// Lets it run elsewhere. A thread in a queue is not reachable for this, because it is counted
    /// there by its reach; see [`crate::RunQueue::set_current_mask`] for the running one.
    pub fn set_mask(&mut self, mask: &Arc<CpuMask>, machine: &CpuMask) {
        self.affinity.change(mask, machine);
    }
}
