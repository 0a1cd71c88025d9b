//! Head and reference under the same operations.
//!
//! After every step everything that can be asked is compared: the operation's own answer, every
//! query of every queue, and what a leaving thread takes away. Hidden state shows through these
//! alone, which is what "decides the same" means.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use clockweave_runqueue::{Affinity, Class, CpuMask, Job, RunQueue, Standing, Task, UNIT_WEIGHT};

use crate::random::Random;
use crate::reference;

/// The machine has one CPU more than it has queues here, so that surplus is asked for from outside, too.
const CPUS: usize = 4;
const SLICE: u64 = 3_000_000;
const CHARGES: [u64; 10] = [0, 1, 17, 999, 333_333, 1_000_000, 1_000_000, 2_999_999, 3_000_000, 12_345_678];

/// Where head and reference part.
#[derive(Debug)]
pub(crate) struct Difference {
    pub(crate) schedule: u64,
    pub(crate) step: usize,
    pub(crate) what: String,
}

type Carried = (Option<Standing>, Option<reference::Standing>);

enum Place {
    Out(Carried),
    Queued,
}

struct Thread {
    job: usize,
    real_time: bool,
    mask: Arc<CpuMask>,
    place: Place,
}

struct Pair {
    head: RunQueue,
    reference: reference::RunQueue,
}

struct World {
    random: Random,
    machine: CpuMask,
    masks: Vec<Arc<CpuMask>>,
    jobs: Vec<(Arc<Job>, Rc<reference::Job>)>,
    threads: Vec<Thread>,
    queues: Vec<Pair>,
}

/// Runs schedule number `schedule` for `steps` operations.
pub(crate) fn run(schedule: u64, steps: usize) -> Result<(), Difference> {
    let mut step = 0;
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let mut world = World::new(schedule);
        while step < steps {
            let found = world.step().and_then(|operation| world.compare(operation));
            found.map_err(|what| Difference { schedule, step, what })?;
            step += 1;
        }
        Ok(())
    }));
    ran.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(Difference { schedule, step, what: format!("panic: {}", text.unwrap_or_default()) })
    })
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, head: T, reference: T) -> Result<(), String> {
    if head == reference {
        return Ok(());
    }
    Err(format!("{what}: head {head:?}, reference {reference:?}"))
}

type Plain = ((i128, i128), Option<(i128, i128)>);

fn plain_head(standing: &Standing) -> Plain {
    let left = |left: &clockweave_runqueue::Left| (left.lag, left.request_left);
    (left(&standing.left), standing.group_lag.as_ref().map(left))
}

fn plain_reference(standing: &reference::Standing) -> Plain {
    let left = |left: &reference::eevdf::Left| (left.lag, left.request_left);
    (left(&standing.left), standing.group_lag.as_ref().map(left))
}

impl World {
    fn new(schedule: u64) -> Self {
        let mut random = Random::new(schedule);
        let machine = CpuMask::first(CPUS);
        let mut masks = vec![Arc::new(machine)];
        masks.extend((0..CPUS).map(|cpu| Arc::new(CpuMask::of([cpu]))));
        masks.extend([(0, 1), (1, 2), (0, 3)].map(|(a, b)| Arc::new(CpuMask::of([a, b]))));
        masks.push(Arc::new(CpuMask::EMPTY));
        let jobs: Vec<_> = (0..1 + random.below(4) as u64)
            .map(|number| {
                // Inserted in no order, so that groups have places to find.
                let key = [20, 5, 90, 11][number as usize];
                let reference =
                    reference::Job { key, weight: UNIT_WEIGHT, runnable: std::cell::Cell::new(0) };
                (Arc::new(Job::new(key, UNIT_WEIGHT)), Rc::new(reference))
            })
            .collect();
        let threads = (0..3 + random.below(10))
            .map(|_| Thread {
                job: random.below(jobs.len()),
                real_time: random.one_in(8),
                mask: Arc::clone(&masks[random.below(masks.len())]),
                place: Place::Out((None, None)),
            })
            .collect();
        let queues = (0..1 + random.below(3))
            .map(|_| Pair { head: RunQueue::new(SLICE), reference: reference::RunQueue::new(SLICE, machine) })
            .collect();
        Self { random, machine, masks, jobs, threads, queues }
    }

    /// One operation on one queue; gives its name.
    fn step(&mut self) -> Result<&'static str, String> {
        let queue = self.random.below(self.queues.len());
        let busy = self.queues[queue].head.current().is_some();
        match self.random.below(20) {
            0..=4 => self.insert(queue),
            5..=6 if busy => self.end_turn(queue, false),
            5..=8 if !busy => self.pick(queue),
            7..=11 if busy => self.charge(queue),
            12 if busy => self.end_turn(queue, true),
            13..=14 if busy => self.block(queue),
            15 => self.remove(queue),
            16 => self.pop_surplus(queue),
            17 => {
                self.queues[queue].head.refresh();
                self.queues[queue].reference.refresh();
                Ok("refresh")
            }
            18 => self.move_mask(queue),
            19 if self.random.one_in(4) => self.change_class(queue),
            _ if busy => self.charge(queue),
            _ => self.pick(queue),
        }
    }

    fn insert(&mut self, queue: usize) -> Result<&'static str, String> {
        let out = |thread: &Thread| matches!(thread.place, Place::Out(_));
        let out: Vec<usize> = (0..self.threads.len()).filter(|at| out(&self.threads[*at])).collect();
        let Some(at) = self.random.of(&out) else { return self.remove(queue) };
        let carries = !self.random.one_in(4);
        let thread = &mut self.threads[at];
        let Place::Out(carried) = std::mem::replace(&mut thread.place, Place::Queued) else {
            unreachable!("a thread that is out")
        };
        let (head, reference) = if carries { carried } else { (None, None) };
        let (job, reference_job) = &self.jobs[thread.job];
        let class = if thread.real_time { Class::RealTime } else { Class::Fair };
        let affinity = Affinity::new(&thread.mask, &self.machine);
        let key = at as u64;
        let pair = &mut self.queues[queue];
        pair.head.insert(Task::new(key, Arc::clone(job), class, affinity), head.as_ref());
        let task = reference::Task {
            key,
            job: Rc::clone(reference_job),
            real_time: thread.real_time,
            mask: Arc::clone(&thread.mask),
        };
        pair.reference.insert(task, reference);
        let asked = (pair.head.would_preempt_for(key), pair.reference.would_preempt_for(key));
        same("would_preempt_for", asked.0, asked.1)?;
        Ok("insert")
    }

    fn pick(&mut self, queue: usize) -> Result<&'static str, String> {
        let pair = &mut self.queues[queue];
        let (head, reference) = (pair.head.pick().map(Task::key), pair.reference.pick());
        same("picked", head, reference)?;
        Ok("pick")
    }

    fn charge(&mut self, queue: usize) -> Result<&'static str, String> {
        let decision = self.queues[queue].reference.decision().filter(|_| self.random.one_in(3));
        let ns = match decision {
            Some(ns) => ns,
            None => self.random.of(&CHARGES).expect("some"),
        };
        self.queues[queue].head.charge(ns);
        self.queues[queue].reference.charge(ns);
        Ok("charge")
    }

    fn end_turn(&mut self, queue: usize, yields: bool) -> Result<&'static str, String> {
        let pair = &mut self.queues[queue];
        if yields {
            pair.head.yield_now();
        } else {
            pair.head.put_back();
        }
        pair.reference.end_turn(yields);
        Ok(if yields { "yield" } else { "put_back" })
    }

    fn block(&mut self, queue: usize) -> Result<&'static str, String> {
        let pair = &mut self.queues[queue];
        let (head, reference) = (pair.head.block(), pair.reference.block());
        self.left("block", head, reference)?;
        Ok("block")
    }

    fn remove(&mut self, queue: usize) -> Result<&'static str, String> {
        // Now and then a thread that is not there, or not ready.
        let key = self.random.below(self.threads.len() + 1) as u64;
        let pair = &mut self.queues[queue];
        let (head, reference) = (pair.head.remove(key), pair.reference.remove(key));
        self.left("remove", head, reference)?;
        Ok("remove")
    }

    fn pop_surplus(&mut self, queue: usize) -> Result<&'static str, String> {
        let dest = self.random.below(CPUS);
        let loaded = self.random.one_in(2).then(|| self.random.below(self.threads.len()) as u64);
        let pair = &mut self.queues[queue];
        let head = pair.head.pop_surplus(dest, loaded).map(|(task, standing)| (task, Some(standing)));
        let reference = pair.reference.pop_surplus(dest, loaded);
        let reference = reference.map(|(task, standing)| (task, Some(standing)));
        self.left("pop_surplus", head, reference)?;
        Ok("pop_surplus")
    }

    /// Compares what left, and keeps it.
    fn left(
        &mut self,
        operation: &str,
        head: Option<(Task, Option<Standing>)>,
        reference: Option<(reference::Task, Option<reference::Standing>)>,
    ) -> Result<(), String> {
        let key = |task: &Task| task.key();
        let keys = (head.as_ref().map(|(task, _)| key(task)), reference.as_ref().map(|(task, _)| task.key));
        same(operation, keys.0, keys.1)?;
        let (Some((task, head)), Some((_, reference))) = (head, reference) else { return Ok(()) };
        same("standing", head.as_ref().map(plain_head), reference.as_ref().map(plain_reference))?;
        self.threads[task.key() as usize].place = Place::Out((head, reference));
        Ok(())
    }

    /// A mask changes while its thread is out of every queue, or runs.
    fn move_mask(&mut self, queue: usize) -> Result<&'static str, String> {
        let mask = Arc::clone(&self.masks[self.random.below(self.masks.len())]);
        let pair = &mut self.queues[queue];
        let current = pair.head.current().map(Task::key);
        let at = match current {
            Some(key) if self.random.one_in(2) => {
                pair.head.set_current_mask(&mask, &self.machine);
                pair.reference.set_current_mask(&mask);
                key as usize
            }
            _ => self.random.below(self.threads.len()),
        };
        let thread = &mut self.threads[at];
        if matches!(thread.place, Place::Out(_)) || Some(at as u64) == current {
            thread.mask = mask;
        }
        Ok("mask")
    }

    fn change_class(&mut self, queue: usize) -> Result<&'static str, String> {
        let real_time = self.random.one_in(2);
        let pair = &mut self.queues[queue];
        let Some(key) = pair.head.current().map(Task::key) else { return Ok("class of nobody") };
        pair.head.set_current_class(if real_time { Class::RealTime } else { Class::Fair });
        pair.reference.set_current_class(real_time);
        self.threads[key as usize].real_time = real_time;
        Ok("class")
    }

    fn compare(&self, operation: &str) -> Result<(), String> {
        for (number, pair) in self.queues.iter().enumerate() {
            pair.compare().map_err(|what| format!("after {operation}, queue {number}: {what}"))?;
        }
        for (job, reference) in &self.jobs {
            same("runnable threads of a job", job.runnable(), reference.runnable.get())?;
        }
        Ok(())
    }
}

impl Pair {
    fn compare(&self) -> Result<(), String> {
        let (head, reference) = (&self.head, &self.reference);
        let tasks = reference.tasks();
        same("current", head.current().map(Task::key), reference.current().map(|task| task.key))?;
        same("len", head.len(), reference.real_time_len() + reference.fair_len())?;
        same("fair_len", head.fair_len(), reference.fair_len())?;
        same("is_empty", head.is_empty(), tasks.is_empty())?;
        same("has_rt", head.has_rt(), reference.real_time_len() > 0)?;
        same("holds_movable", head.holds_movable(), reference.movable() > 0)?;
        same("weight", head.weight(), reference.weight())?;
        same("decision", head.decision(), reference.decision())?;
        if !head.groups().map(|(job, weight)| (job.key(), weight)).eq(reference.groups()) {
            let head: Vec<_> = head.groups().map(|(job, weight)| (job.key(), weight)).collect();
            same("groups", head, reference.groups().collect())?;
        }
        let (mut expected, mut equal) = (tasks.iter(), true);
        head.tasks(|task| {
            equal &= expected.next().is_some_and(|expected| {
                let real_time = task.class() == Class::RealTime;
                (task.key(), real_time) == (expected.key, expected.real_time)
                    && task.affinity().mask() == &*expected.mask
            });
        });
        if !equal || expected.next().is_some() {
            let mut keys = Vec::new();
            head.keys(|key| keys.push(key));
            same("keys", keys, tasks.iter().map(|task| task.key).collect())?;
            return Err("class or mask of a ready thread differs".to_owned());
        }
        for cpu in 0..CPUS {
            same("takers", head.takers(cpu), reference.takers(cpu))?;
        }
        for task in tasks {
            let asked = (head.would_preempt_for(task.key), reference.would_preempt_for(task.key));
            same("would_preempt_for a ready thread", asked.0, asked.1)?;
        }
        Ok(())
    }
}
