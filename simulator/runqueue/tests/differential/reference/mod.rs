//! The reference: the same run queue in its plainest form.
//!
//! It is frozen. The head is changed to be faster, never to decide otherwise, and this is what says
//! so. A change that means to decide otherwise deletes this reference together with the test that
//! holds the head to it; the run queue of before that change becomes the next reference.
//!
//! Nothing of the head is used but the set of CPUs.

pub(crate) mod eevdf;

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use clockweave_runqueue::CpuMask;
use eevdf::{Eevdf, Left, count_division};

#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) key: u64,
    pub(crate) weight: u64,
    pub(crate) runnable: Cell<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) key: u64,
    pub(crate) job: Rc<Job>,
    pub(crate) real_time: bool,
    pub(crate) mask: Arc<CpuMask>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) left: Left,
    pub(crate) group_lag: Option<Left>,
}

#[derive(Debug)]
struct Group {
    job: Rc<Job>,
    entity: u64,
    queue: Eevdf,
    tasks: BTreeMap<u64, Task>,
}

fn weight(job: &Job, here: usize) -> u64 {
    count_division();
    (job.weight * here as u64 / job.runnable.get()).max(1)
}

#[derive(Debug)]
enum Current {
    RealTime(Task),
    Fair { job: u64, thread: u64, ended: (bool, bool) },
}

#[derive(Debug)]
pub(crate) struct RunQueue {
    machine: CpuMask,
    slice: u64,
    top: Eevdf,
    groups: BTreeMap<u64, Group>,
    real_time: VecDeque<Task>,
    current: Option<Current>,
    /// Job and thread put back with a request unfinished, and at which levels.
    protected: Option<(u64, u64, bool, bool)>,
    pinned: usize,
    several: usize,
    unrestricted: usize,
}

impl RunQueue {
    pub(crate) fn new(slice: u64, machine: CpuMask) -> Self {
        Self {
            machine,
            slice,
            top: Eevdf::default(),
            groups: BTreeMap::new(),
            real_time: VecDeque::new(),
            current: None,
            protected: None,
            pinned: 0,
            several: 0,
            unrestricted: 0,
        }
    }

    fn count(&mut self, mask: &CpuMask) -> &mut usize {
        if *mask == self.machine {
            &mut self.unrestricted
        } else if mask.count() == 1 {
            &mut self.pinned
        } else {
            &mut self.several
        }
    }

    pub(crate) fn insert(&mut self, task: Task, standing: Option<Standing>) {
        if task.real_time {
            self.real_time.push_back(task);
            return;
        }
        let job = Rc::clone(&task.job);
        job.runnable.set(job.runnable.get() + 1);
        if !self.groups.contains_key(&job.key) {
            let carried = standing.and_then(|standing| standing.group_lag);
            let entity = self.top.enter(weight(&job, 1), self.slice, carried);
            let (queue, tasks) = (Eevdf::default(), BTreeMap::new());
            self.groups.insert(job.key, Group { job: Rc::clone(&job), entity, queue, tasks });
        }
        *self.count(&task.mask) += 1;
        let group = self.groups.get_mut(&job.key).unwrap();
        let thread = group.queue.enter(1 << 16, self.slice, standing.map(|standing| standing.left));
        group.tasks.insert(thread, task);
    }

    fn leave(&mut self, job: u64, thread: u64) -> (Task, Standing) {
        if self.protected.is_some_and(|(j, t, ..)| (j, t) == (job, thread)) {
            self.protected = None;
        }
        let group = self.groups.get_mut(&job).unwrap();
        let left = group.queue.exit(thread);
        let task = group.tasks.remove(&thread).unwrap();
        group.job.runnable.set(group.job.runnable.get() - 1);
        let mut group_lag = None;
        if group.queue.len() == 0 {
            group_lag = Some(self.top.exit(group.entity));
            self.groups.remove(&job);
        }
        (task, Standing { left, group_lag })
    }

    pub(crate) fn refresh(&mut self) {
        for group in self.groups.values_mut() {
            let weight = weight(&group.job, group.queue.len());
            if weight != self.top.weight_of(group.entity) {
                let left = self.top.exit(group.entity);
                group.entity = self.top.enter(weight, self.slice, Some(left));
            }
        }
    }

    pub(crate) fn pick(&mut self) -> Option<u64> {
        assert!(self.current.is_none());
        self.refresh();
        let protected = self.protected.take();
        if let Some(task) = self.real_time.pop_front() {
            let key = task.key;
            self.current = Some(Current::RealTime(task));
            return Some(key);
        }
        if self.groups.is_empty() {
            return None;
        }
        let kept = protected.and_then(|(job, _, group, _)| group.then(|| self.groups[&job].entity));
        let entity = self.top.pick(kept);
        let (job, group) = self.groups.iter().find(|(_, group)| group.entity == entity).unwrap();
        let kept = protected.and_then(|(j, thread, _, kept)| (j == *job && kept).then_some(thread));
        let (job, thread) = (*job, group.queue.pick(kept));
        let task = &group.tasks[&thread];
        let (key, mask) = (task.key, Arc::clone(&task.mask));
        *self.count(&mask) -= 1;
        self.current = Some(Current::Fair { job, thread, ended: (false, false) });
        Some(key)
    }

    pub(crate) fn charge(&mut self, ns: u64) {
        if let Some(Current::Fair { job, thread, ended }) = &mut self.current {
            let group = self.groups.get_mut(job).unwrap();
            ended.0 |= self.top.charge(group.entity, ns);
            ended.1 |= group.queue.charge(*thread, ns);
        }
    }

    pub(crate) fn end_turn(&mut self, yields: bool) {
        match self.current.take() {
            None => {}
            Some(Current::RealTime(task)) if task.real_time => self.real_time.push_back(task),
            Some(Current::RealTime(task)) => self.insert(task, None),
            Some(Current::Fair { job, thread, .. }) if self.groups[&job].tasks[&thread].real_time => {
                let (task, _) = self.leave(job, thread);
                self.real_time.push_back(task);
            }
            Some(Current::Fair { job, thread, ended }) => {
                let mask = Arc::clone(&self.groups[&job].tasks[&thread].mask);
                *self.count(&mask) += 1;
                let group = self.groups.get_mut(&job).unwrap();
                if yields {
                    group.queue.fresh(thread);
                    self.top.fresh(group.entity);
                } else {
                    self.protected = Some((job, thread, !ended.0, !ended.1));
                }
            }
        }
    }

    pub(crate) fn block(&mut self) -> Option<(Task, Option<Standing>)> {
        match self.current.take()? {
            Current::RealTime(task) => Some((task, None)),
            Current::Fair { job, thread, .. } => {
                let (task, standing) = self.leave(job, thread);
                let standing = if task.real_time { None } else { Some(standing) };
                Some((task, standing))
            }
        }
    }

    pub(crate) fn remove(&mut self, key: u64) -> Option<(Task, Option<Standing>)> {
        if let Some(at) = self.real_time.iter().position(|task| task.key == key) {
            return Some((self.real_time.remove(at).unwrap(), None));
        }
        let (job, thread) = self.find_ready(key)?;
        let mask = Arc::clone(&self.groups[&job].tasks[&thread].mask);
        *self.count(&mask) -= 1;
        let (task, standing) = self.leave(job, thread);
        Some((task, Some(standing)))
    }

    pub(crate) fn pop_surplus(&mut self, dest: usize, loaded: Option<u64>) -> Option<(Task, Standing)> {
        let mut found = None;
        'groups: for (job, group) in &self.groups {
            for thread in group.queue.order().into_iter().rev() {
                let task = &group.tasks[&thread];
                let current = self.current_fair() == Some((*job, thread));
                if !current && Some(task.key) != loaded && task.mask.contains(dest) {
                    found = Some((*job, thread));
                    break 'groups;
                }
            }
        }
        let (job, thread) = found?;
        let mask = Arc::clone(&self.groups[&job].tasks[&thread].mask);
        *self.count(&mask) -= 1;
        Some(self.leave(job, thread))
    }

    pub(crate) fn set_current_class(&mut self, real_time: bool) {
        if let Some(task) = self.current_task_mut() {
            task.real_time = real_time;
        }
    }

    pub(crate) fn set_current_mask(&mut self, mask: &Arc<CpuMask>) {
        if let Some(task) = self.current_task_mut() {
            task.mask = Arc::clone(mask);
        }
    }

    fn current_task_mut(&mut self) -> Option<&mut Task> {
        match self.current.as_mut()? {
            Current::RealTime(task) => Some(task),
            Current::Fair { job, thread, .. } => self.groups.get_mut(job)?.tasks.get_mut(thread),
        }
    }

    pub(crate) fn current(&self) -> Option<&Task> {
        match self.current.as_ref()? {
            Current::RealTime(task) => Some(task),
            Current::Fair { job, thread, .. } => Some(&self.groups[job].tasks[thread]),
        }
    }

    fn current_fair(&self) -> Option<(u64, u64)> {
        match self.current {
            Some(Current::Fair { job, thread, .. }) => Some((job, thread)),
            _ => None,
        }
    }

    fn find_ready(&self, key: u64) -> Option<(u64, u64)> {
        for (job, group) in &self.groups {
            for (thread, task) in &group.tasks {
                if task.key == key && self.current_fair() != Some((*job, *thread)) {
                    return Some((*job, *thread));
                }
            }
        }
        None
    }

    /// Ready threads, as the head walks them.
    pub(crate) fn tasks(&self) -> Vec<&Task> {
        let mut tasks: Vec<&Task> = self.real_time.iter().collect();
        for (job, group) in &self.groups {
            for thread in group.queue.order() {
                if self.current_fair() != Some((*job, thread)) {
                    tasks.push(&group.tasks[&thread]);
                }
            }
        }
        tasks
    }

    pub(crate) fn real_time_len(&self) -> usize {
        self.real_time.len()
    }

    pub(crate) fn movable(&self) -> usize {
        self.several + self.unrestricted
    }

    pub(crate) fn fair_len(&self) -> usize {
        self.pinned + self.movable()
    }

    pub(crate) fn takers(&self, cpu: usize) -> usize {
        self.tasks().iter().filter(|task| !task.real_time && task.mask.contains(cpu)).count()
    }

    pub(crate) fn weight(&self) -> u64 {
        self.top.total()
    }

    pub(crate) fn groups(&self) -> impl Iterator<Item = (u64, u64)> {
        self.groups.iter().map(|(job, group)| (*job, self.top.weight_of(group.entity)))
    }

    pub(crate) fn decision(&self) -> Option<u64> {
        let (job, thread) = self.current_fair()?;
        let group = &self.groups[&job];
        if group.tasks[&thread].real_time {
            return None;
        }
        Some(group.queue.decision(thread).min(self.top.decision(group.entity)))
    }

    pub(crate) fn would_preempt_for(&self, key: u64) -> bool {
        let Some(current) = self.current() else { return true };
        if current.real_time {
            return false;
        }
        if self.real_time.iter().any(|task| task.key == key) {
            return true;
        }
        let (Some((job, thread)), Some((own, running))) = (self.find_ready(key), self.current_fair()) else {
            return false;
        };
        if job == own {
            self.groups[&job].queue.beats(thread, running)
        } else {
            self.top.beats(self.groups[&job].entity, self.groups[&own].entity)
        }
    }
}
