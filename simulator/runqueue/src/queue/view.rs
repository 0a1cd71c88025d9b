//! What can be asked of a run queue.

use alloc::sync::Arc;

use super::groups::Group;
use super::{Current, Place, RunQueue};
use crate::affinity::Reach;
use crate::eevdf::Eevdf;
use crate::task::{Class, Job, Task};

/// A fair thread's state within its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FairView {
    /// Service owed to the thread within its group (positive) or by it, in fine units.
    pub lag: i128,
    /// Its virtual deadline.
    pub deadline: i128,
    /// The number that decides between equal deadlines.
    pub seq: u64,
    /// Eligible threads of its group.
    pub eligible: usize,
    /// Service owed to its group on this CPU (positive) or by it, in fine units.
    pub group_lag: i128,
    /// Its group's weight.
    pub group_weight: u64,
    /// Eligible groups.
    pub eligible_groups: usize,
}

impl RunQueue {
    /// The current thread.
    pub fn current(&self) -> Option<&Task> {
        match self.current.as_ref()? {
            Current::RealTime(task) => Some(task),
            Current::Fair { place, .. } => Some(self.groups.get(place.slot).task(place.thread)),
        }
    }

    /// Threads that are ready.
    pub fn len(&self) -> usize {
        self.real_time.len() + self.fair_len()
    }

    /// Fair threads that are ready.
    pub fn fair_len(&self) -> usize {
        self.counts.all()
    }

    /// Whether no thread is ready.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a real-time thread is ready.
    pub fn has_rt(&self) -> bool {
        !self.real_time.is_empty()
    }

    /// How many ready fair threads `cpu` could take.
    pub fn takers(&self, cpu: usize) -> usize {
        let mut takers = self.counts.unrestricted;
        if self.counts.pinned + self.counts.several > 0 {
            self.each_ready(|task| {
                let affinity = task.affinity();
                takers += usize::from(affinity.reach() != Reach::Unrestricted && affinity.allows(cpu));
            });
        }
        takers
    }

    /// Whether a ready fair thread is not pinned.
    pub fn holds_movable(&self) -> bool {
        self.counts.several + self.counts.unrestricted > 0
    }

    /// The sum of the groups' weights.
    pub fn weight(&self) -> u64 {
        self.top.total()
    }

    /// Jobs and the weights of their groups, in job order.
    pub fn groups(&self) -> impl Iterator<Item = (&Arc<Job>, u64)> {
        self.groups.iter().map(|(_, group)| (group.job(), self.top.weight_of(group.entity)))
    }

    /// Runnable threads of `job` on this CPU.
    pub fn runnable_here(&self, job: u64) -> usize {
        self.groups.find(job).map_or(0, |slot| self.groups.get(slot).queue.len())
    }

    /// Shows every ready thread: real-time ones in their order, then the groups in job order and within each the
    /// threads by deadline.
    pub fn tasks(&self, mut visit: impl FnMut(&Task)) {
        self.real_time.iter().for_each(&mut visit);
        self.each_ready(visit);
    }

    /// The keys of [`RunQueue::tasks`].
    pub fn keys(&self, mut visit: impl FnMut(u64)) {
        self.tasks(|task| visit(task.key()));
    }

    fn each_ready(&self, mut visit: impl FnMut(&Task)) {
        let current = self.current_place();
        for (slot, group) in self.groups.iter() {
            group.queue.walk(|thread| {
                if Some(Place { slot, thread }) != current {
                    visit(group.task(thread));
                }
            });
        }
    }

    /// Nanoseconds until the choice can change with no outside event; `None` while idle or in real time.
    pub fn decision(&self) -> Option<u64> {
        let place = self.current_place()?;
        let group = self.groups.get(place.slot);
        if group.task(place.thread).class() == Class::RealTime {
            return None;
        }
        Some(group.queue.decision(place.thread).min(self.top.decision(group.entity)))
    }

    /// Whether the ready thread `key` should run in place of the current one. Asked behind an insertion; it is said of
    /// the requests as they are, without reweighting.
    pub fn would_preempt_for(&self, key: u64) -> bool {
        let Some(current) = self.current() else { return true };
        if current.class() == Class::RealTime {
            return false;
        }
        if self.real_time.iter().any(|task| task.key() == key) {
            return true;
        }
        let (Some(place), Some(current)) = (self.find_ready(key), self.current_place()) else {
            return false;
        };
        let (group, running) = (self.groups.get(place.slot), self.groups.get(current.slot));
        if place.slot == current.slot {
            group.queue.beats(place.thread, current.thread)
        } else {
            self.top.beats(group.entity, running.entity)
        }
    }

    /// The state of a fair thread that is ready or current.
    pub fn view(&self, key: u64) -> Option<FairView> {
        let (group, thread) = self.groups.find_map_slot(|slot, group| {
            let thread = group.find(key)?;
            Some((slot, thread))
        })?;
        let group: &Group = self.groups.get(group);
        let (_, deadline) = group.queue.times_of(thread);
        Some(FairView {
            lag: group.queue.lag_of(thread),
            deadline,
            seq: group.queue.seq_of(thread),
            eligible: group.queue.eligible_count(),
            group_lag: self.top.lag_of(group.entity),
            group_weight: self.top.weight_of(group.entity),
            eligible_groups: self.top.eligible_count(),
        })
    }

    /// Whether sums and counts are those of what is in the queue; for tests.
    #[doc(hidden)]
    pub fn is_consistent(&self) -> bool {
        let mut counts = super::Counts::default();
        self.each_ready(|task| counts.add(task.affinity().reach()));
        let sound = |group: &Group| !group.queue.is_empty() && group.queue.is_consistent();
        let top: &Eevdf = &self.top;
        counts == self.counts && top.is_consistent() && self.groups.iter().all(|(_, group)| sound(group))
    }
}
