//! The groups of a run queue: a vector sorted by job, over slots that keep their memory.
//!
//! A group comes and goes with its only thread, so forming one allocates nothing once a slot is
//! there. Entities of the top level lead to slots by an index.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::division::share;
use crate::eevdf::{Eevdf, Entity, Left, UNIT_WEIGHT};
use crate::task::{Job, Task};

/// The part of a job that is on this CPU.
#[derive(Debug)]
pub(super) struct Group {
    /// `None` while the slot is free.
    job: Option<Arc<Job>>,
    pub(super) entity: Entity,
    pub(super) queue: Eevdf,
    /// By entity of `queue`.
    tasks: Vec<Option<Task>>,
}

/// The weight of a group that holds `here` runnable threads of `job`: their share of its weight, at least 1.
pub(super) fn weight(job: &Job, here: u64) -> u64 {
    let all = job.runnable();
    if here == all {
        return job.weight();
    }
    let part = share(u128::from(job.weight()) * u128::from(here), all);
    u64::try_from(part).unwrap_or(u64::MAX).max(1)
}

impl Group {
    pub(super) fn job(&self) -> &Arc<Job> {
        self.job.as_ref().expect("a formed group has a job")
    }

    #[inline]
    pub(super) fn weight(&self) -> u64 {
        weight(self.job(), self.queue.len() as u64)
    }

    pub(super) fn enter(&mut self, task: Task, slice: u64, left: Option<&Left>) -> Entity {
        let thread = self.queue.enter(UNIT_WEIGHT, slice, left);
        if thread.index() == self.tasks.len() {
            self.tasks.push(Some(task));
        } else {
            self.tasks[thread.index()] = Some(task);
        }
        thread
    }

    pub(super) fn exit(&mut self, thread: Entity) -> (Task, Left) {
        let left = self.queue.exit(thread);
        let task = self.tasks[thread.index()].take();
        (task.expect("an entity has a task"), left)
    }

    #[inline]
    pub(super) fn task(&self, thread: Entity) -> &Task {
        self.tasks[thread.index()].as_ref().expect("an entity has a task")
    }

    pub(super) fn task_mut(&mut self, thread: Entity) -> &mut Task {
        self.tasks[thread.index()].as_mut().expect("an entity has a task")
    }

    /// The thread of this key.
    pub(super) fn find(&self, key: u64) -> Option<Entity> {
        let has = |task: &Option<Task>| task.as_ref().is_some_and(|task| task.key() == key);
        let at = self.tasks.iter().position(has)?;
        let mut found = None;
        self.queue.walk(|thread| {
            if thread.index() == at {
                found = Some(thread);
            }
        });
        found
    }
}

#[derive(Debug, Default)]
pub(super) struct Groups {
    slots: Vec<Group>,
    free: Vec<u32>,
    /// Job keys, ascending, and slots.
    sorted: Vec<(u64, u32)>,
    /// Slots by entity of the top level.
    by_entity: Vec<u32>,
}

impl Groups {
    /// The slot of a job's group, or the place among the others where it would be.
    #[inline]
    pub(super) fn find(&self, job: u64) -> Result<u32, usize> {
        self.sorted.binary_search_by_key(&job, |(key, _)| *key).map(|at| self.sorted[at].1)
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> &Group {
        &self.slots[slot as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: u32) -> &mut Group {
        &mut self.slots[slot as usize]
    }

    /// The slot of the group that an entity of the top level stands for.
    #[inline]
    pub(super) fn slot_of(&self, entity: Entity) -> u32 {
        self.by_entity[entity.index()]
    }

    fn bind(&mut self, entity: Entity, slot: u32) {
        if entity.index() >= self.by_entity.len() {
            self.by_entity.resize(entity.index() + 1, u32::MAX);
        }
        self.by_entity[entity.index()] = slot;
    }

    /// Adds the group of `job` at place `at`, without threads.
    pub(super) fn form(&mut self, at: usize, job: Arc<Job>, entity: Entity) -> u32 {
        let key = job.key();
        let slot = match self.free.pop() {
            Some(slot) => {
                let group = self.get_mut(slot);
                (group.job, group.entity) = (Some(job), entity);
                group.queue.reset();
                slot
            }
            None => {
                let slot = u32::try_from(self.slots.len()).expect("fewer than 2^32 groups");
                let (queue, tasks) = (Eevdf::new(), Vec::new());
                self.slots.push(Group { job: Some(job), entity, queue, tasks });
                slot
            }
        };
        self.sorted.insert(at, (key, slot));
        self.bind(entity, slot);
        slot
    }

    /// Removes a group without threads; gives its entity of the top level.
    pub(super) fn dissolve(&mut self, slot: u32) -> Entity {
        let group = self.get_mut(slot);
        let job = group.job.take().expect("a formed group has a job");
        let entity = group.entity;
        let at = self.sorted.binary_search_by_key(&job.key(), |(key, _)| *key);
        self.sorted.remove(at.expect("a formed group is in the vector"));
        self.free.push(slot);
        entity
    }

    /// Shows every group in job order; the entity of one may change.
    #[inline]
    pub(super) fn for_each(&mut self, mut visit: impl FnMut(&mut Group)) {
        for at in 0..self.sorted.len() {
            let slot = self.sorted[at].1;
            let group = &mut self.slots[slot as usize];
            let before = group.entity;
            visit(group);
            let entity = group.entity;
            if entity != before {
                self.bind(entity, slot);
            }
        }
    }

    /// Every group in job order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Group)> {
        self.sorted.iter().map(|(_, slot)| (*slot, self.get(*slot)))
    }

    pub(super) fn find_map_slot<T>(&self, mut find: impl FnMut(u32, &Group) -> Option<T>) -> Option<T> {
        self.iter().find_map(|(slot, group)| find(slot, group))
    }
}
