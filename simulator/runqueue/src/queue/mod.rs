//! The run queue of one CPU: real-time threads first in, first out; then groups of threads by job,
//! and threads within a group, each earliest eligible virtual deadline first.
//!
//! # Invariants
//!
//! * A group is there exactly while a thread of its job is ready or running on this CPU's fair side,
//!   so its queue is never empty.
//! * The running fair thread stays in both levels: its weight counts and its virtual time moves.
//! * The counts by reach are those of the ready fair threads.
//! * A job's runnable count is raised before the weight of any of its groups is computed.

mod counts;
mod groups;
mod view;

use alloc::collections::VecDeque;
use alloc::sync::Arc;

use crate::affinity::CpuMask;
use crate::eevdf::{Eevdf, Entity, Left};
use crate::task::{Class, Task};
use counts::Counts;
use groups::{Groups, weight};

pub use view::FairView;

/// What a thread takes away when it leaves, and brings back, perhaps to another CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The thread's, within its group.
    pub left: Left,
    /// The group's, if the departure dissolved it; used again if the return forms it.
    pub group_lag: Option<Left>,
}

/// A fair thread's place: its group and its entity there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    slot: u32,
    thread: Entity,
}

#[derive(Debug)]
enum Current {
    RealTime(Task),
    Fair {
        place: Place,
        /// Whether a request ended since it was picked, of the group and of the thread.
        ended: (bool, bool),
    },
}

/// A fair thread that was put back while a request of it is unfinished: at the next pick that level
/// counts it as eligible.
#[derive(Clone, Copy, Debug)]
struct Protected {
    place: Place,
    group: bool,
    thread: bool,
}

/// The run queue of one CPU.
#[derive(Debug)]
pub struct RunQueue {
    slice: u64,
    top: Eevdf,
    groups: Groups,
    real_time: VecDeque<Task>,
    current: Option<Current>,
    protected: Option<Protected>,
    counts: Counts,
}

impl RunQueue {
    /// An empty run queue; requests are `slice` nanoseconds long at both levels.
    ///
    /// # Panics
    /// If `slice` is 0.
    pub fn new(slice: u64) -> Self {
        assert!(slice > 0, "a request of 0 ns never ends");
        Self {
            slice,
            top: Eevdf::new(),
            groups: Groups::default(),
            real_time: VecDeque::new(),
            current: None,
            protected: None,
            counts: Counts::default(),
        }
    }

    /// Adds a thread that is ready: woken, spawned, or handed over by another CPU. Other groups keep their weight until
    /// the next [`RunQueue::refresh`].
    pub fn insert(&mut self, task: Task, standing: Option<&Standing>) {
        if task.class() == Class::RealTime {
            return self.real_time.push_back(task);
        }
        let job = task.job();
        job.add_runnable();
        let slot = match self.groups.find(job.key()) {
            Ok(slot) => slot,
            Err(at) => {
                let group_lag = standing.and_then(|standing| standing.group_lag);
                let weight = weight(job, 1);
                let entity = self.top.enter(weight, self.slice, group_lag.as_ref());
                self.groups.form(at, Arc::clone(job), entity)
            }
        };
        self.counts.add(task.affinity().reach());
        let left = standing.map(|standing| &standing.left);
        self.groups.get_mut(slot).enter(task, self.slice, left);
    }

    /// Takes a fair thread off both levels.
    fn leave(&mut self, place: Place) -> (Task, Standing) {
        if self.protected.is_some_and(|protected| protected.place == place) {
            self.protected = None;
        }
        let group = self.groups.get_mut(place.slot);
        let (task, left) = group.exit(place.thread);
        task.job().drop_runnable();
        let group_lag = group.queue.is_empty().then(|| {
            let entity = self.groups.dissolve(place.slot);
            self.top.exit(entity)
        });
        (task, Standing { left, group_lag })
    }

    /// Reweights every group whose share of its job has changed: it leaves and enters, with its lag.
    pub fn refresh(&mut self) {
        let (top, slice) = (&mut self.top, self.slice);
        self.groups.for_each(|group| {
            let weight = group.weight();
            if weight != top.weight_of(group.entity) {
                group.entity = top.reweight(group.entity, weight, slice);
            }
        });
    }

    /// Chooses the thread that runs next and makes it current; `None` if none is ready.
    ///
    /// # Panics
    /// If there is a current thread.
    pub fn pick(&mut self) -> Option<&Task> {
        assert!(self.current.is_none(), "a thread is picked only while none is current");
        self.refresh();
        let protected = self.protected.take();
        if let Some(task) = self.real_time.pop_front() {
            self.current = Some(Current::RealTime(task));
        } else if !self.top.is_empty() {
            let place = self.choose(protected);
            let group = self.groups.get(place.slot);
            self.counts.remove(group.task(place.thread).affinity().reach());
            self.current = Some(Current::Fair { place, ended: (false, false) });
        }
        self.current()
    }

    fn choose(&self, protected: Option<Protected>) -> Place {
        const NOT_EMPTY: &str = "a queue that is not empty has an eligible entity";
        let group_of = |protected: Protected| self.groups.get(protected.place.slot).entity;
        let running = protected.filter(|protected| protected.group).map(group_of);
        let entity = self.top.pick(running).expect(NOT_EMPTY);
        let slot = self.groups.slot_of(entity);
        let here = protected.filter(|protected| protected.thread && protected.place.slot == slot);
        let running = here.map(|protected| protected.place.thread);
        let thread = self.groups.get(slot).queue.pick(running).expect(NOT_EMPTY);
        Place { slot, thread }
    }

    /// Accounts `ns` nanoseconds of running to the current thread and its group; nothing to a real-time thread.
    pub fn charge(&mut self, ns: u64) {
        if let Some(Current::Fair { place, ended }) = &mut self.current {
            let group = self.groups.get_mut(place.slot);
            ended.1 |= group.queue.charge(place.thread, ns);
            ended.0 |= self.top.charge(group.entity, ns);
        }
    }

    /// Makes the current thread ready again. A fair one leaves neither level; if it has become real-time meanwhile it
    /// changes sides now.
    pub fn put_back(&mut self) {
        self.end_turn(false);
    }

    /// Makes the current thread ready again, with new requests at both levels: it waits behind its equals.
    pub fn yield_now(&mut self) {
        self.end_turn(true);
    }

    fn end_turn(&mut self, yields: bool) {
        match self.current.take() {
            None => {}
            Some(Current::RealTime(task)) => self.insert(task, None),
            Some(Current::Fair { place, ended }) => {
                if self.groups.get(place.slot).task(place.thread).class() == Class::RealTime {
                    let (task, _) = self.leave(place);
                    return self.real_time.push_back(task);
                }
                let group = self.groups.get_mut(place.slot);
                self.counts.add(group.task(place.thread).affinity().reach());
                if yields {
                    group.queue.fresh(place.thread);
                    self.top.fresh(group.entity);
                } else {
                    self.protected = Some(Protected { place, group: !ended.0, thread: !ended.1 });
                }
            }
        }
    }

    /// The current thread leaves; a fair one with its standing.
    pub fn block(&mut self) -> Option<(Task, Option<Standing>)> {
        match self.current.take()? {
            Current::RealTime(task) => Some((task, None)),
            Current::Fair { place, .. } => {
                let (task, standing) = self.leave(place);
                let standing = (task.class() == Class::Fair).then_some(standing);
                Some((task, standing))
            }
        }
    }

    /// A ready thread leaves; a fair one with its standing. `None` if no ready thread has this key.
    pub fn remove(&mut self, key: u64) -> Option<(Task, Option<Standing>)> {
        if let Some(at) = self.real_time.iter().position(|task| task.key() == key) {
            return self.real_time.remove(at).map(|task| (task, None));
        }
        let place = self.find_ready(key)?;
        let (task, standing) = self.leave_ready(place);
        Some((task, Some(standing)))
    }

    /// Gives away a ready fair thread that may run on `dest`: of the first job that has one, the thread whose turn is
    /// furthest away. Never `loaded`, on whose stack the CPU may still be standing.
    pub fn pop_surplus(&mut self, dest: usize, loaded: Option<u64>) -> Option<(Task, Standing)> {
        let current = self.current_place();
        let mut found = None;
        self.groups.find_map_slot(|slot, group| {
            let thread = group.queue.last_where(|thread| {
                let task = group.task(thread);
                let free = Some(Place { slot, thread }) != current && Some(task.key()) != loaded;
                free && task.affinity().allows(dest)
            })?;
            found = Some(Place { slot, thread });
            found
        });
        let place = found?;
        Some(self.leave_ready(place))
    }

    fn leave_ready(&mut self, place: Place) -> (Task, Standing) {
        let reach = self.groups.get(place.slot).task(place.thread).affinity().reach();
        self.counts.remove(reach);
        self.leave(place)
    }

    /// Changes how the current thread is scheduled, from when it is put back on.
    pub fn set_current_class(&mut self, class: Class) {
        if let Some(task) = self.current_mut() {
            task.class = class;
        }
    }

    /// Changes where the current thread may run; it is in no count while it runs.
    pub fn set_current_mask(&mut self, mask: &Arc<CpuMask>, machine: &CpuMask) {
        if let Some(task) = self.current_mut() {
            task.set_mask(mask, machine);
        }
    }

    fn current_mut(&mut self) -> Option<&mut Task> {
        match self.current.as_mut()? {
            Current::RealTime(task) => Some(task),
            Current::Fair { place, .. } => Some(self.groups.get_mut(place.slot).task_mut(place.thread)),
        }
    }

    fn current_place(&self) -> Option<Place> {
        match self.current {
            Some(Current::Fair { place, .. }) => Some(place),
            _ => None,
        }
    }

    fn find_ready(&self, key: u64) -> Option<Place> {
        let current = self.current_place();
        self.groups.find_map_slot(|slot, group| {
            let thread = group.find(key)?;
            let place = Place { slot, thread };
            (Some(place) != current).then_some(place)
        })
    }
}
