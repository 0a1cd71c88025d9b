//! Threads: their scripts, waiting and waking.

use std::sync::Arc;

use clockweave_runqueue::{Affinity, Class, CpuMask, Task};

use super::events::Machine;
use super::happening::Happening;
use super::latency::Cause;
use super::state::{Message, State};
use super::variant::Variant;
use super::workload::Op;

/// What becomes of the running thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It goes on.
    Runs,
    /// It lets others go first.
    Yields,
    /// It has to wait.
    Blocks,
    /// It is over.
    Ends,
}

/// Steps without time that a thread may take at once.
const MOST_STEPS: usize = 100_000;

impl Machine {
    pub(super) fn op_of(&self, thread: usize) -> Option<Op> {
        let slot = &self.threads[thread];
        (slot.rounds > 0).then(|| self.work.threads[thread].script[slot.op])
    }

    fn next_op(&mut self, thread: usize) {
        let last = self.work.threads[thread].script.len() - 1;
        let slot = &mut self.threads[thread];
        slot.begun = false;
        if slot.op == last {
            (slot.op, slot.rounds) = (0, slot.rounds.saturating_sub(1));
        } else {
            slot.op += 1;
        }
    }

    /// Takes the running thread of `cpu` through its script until something takes time.
    pub(super) fn advance(&mut self, cpu: usize, thread: usize) -> Fate {
        for _ in 0..MOST_STEPS {
            if self.is_ghost(cpu, thread) {
                return Fate::Blocks;
            }
            if self.threads[thread].killed && !matches!(self.threads[thread].state, State::Parking(_)) {
                return Fate::Ends;
            }
            let Some(op) = self.op_of(thread) else { return Fate::Ends };
            let slot = &mut self.threads[thread];
            if slot.begun {
                if slot.left > 0 {
                    return Fate::Runs;
                }
                match op {
                    Op::Block { .. } | Op::Sleep(_) => {
                        if let Some(fate) = self.commit(cpu, thread) {
                            return fate;
                        }
                    }
                    _ => self.next_op(thread),
                }
                continue;
            }
            match op {
                Op::Run(ns) | Op::Section(ns) => (slot.begun, slot.left) = (true, ns),
                Op::Block { channel, patience } => self.ask(cpu, thread, channel, patience),
                Op::Sleep(ns) => {
                    slot.deadline = Some(self.now + ns);
                    self.begin_parking(cpu, thread);
                }
                Op::Yield => {
                    self.next_op(thread);
                    return Fate::Yields;
                }
                Op::Wake { channel, all } => {
                    self.next_op(thread);
                    self.post(cpu, Some(thread), channel, all);
                }
                Op::Lend { channel } => {
                    self.next_op(thread);
                    self.lend(channel);
                    self.post(cpu, Some(thread), channel, false);
                }
                Op::Spawn(child) => {
                    self.next_op(thread);
                    self.spawn(cpu, Some(thread), child);
                }
                Op::SetClass(class) => {
                    (slot.class, slot.lent) = (class, None);
                    self.cpus[cpu].queue.set_current_class(class);
                    self.next_op(thread);
                }
                Op::Teardown(job) => {
                    self.next_op(thread);
                    self.teardown(cpu, thread, job);
                }
            }
        }
        unreachable!("a script takes some time")
    }

    /// A thread asks a channel: it takes a post, or is on its way to waiting.
    fn ask(&mut self, cpu: usize, thread: usize, channel: usize, patience: Option<u64>) {
        if self.channels[channel].posts > 0 {
            self.channels[channel].posts -= 1;
            return self.next_op(thread);
        }
        self.threads[thread].waits_on = Some(channel);
        self.threads[thread].deadline = patience.map(|ns| self.now + ns);
        if self.variant != Variant::LostWake {
            self.channels[channel].waiters.push_back(thread);
        }
        self.begin_parking(cpu, thread);
    }

    fn begin_parking(&mut self, cpu: usize, thread: usize) {
        let park = if self.variant == Variant::FusedCommit { 0 } else { self.work.park };
        let slot = &mut self.threads[thread];
        (slot.state, slot.begun, slot.left, slot.claimed) = (State::Parking(cpu), true, park, false);
    }

    /// The thread has come to leave the CPU: it does, unless it was woken meanwhile.
    fn commit(&mut self, cpu: usize, thread: usize) -> Option<Fate> {
        let slot = &mut self.threads[thread];
        match slot.state {
            State::Parking(_) if slot.claimed || slot.killed => {
                slot.state = State::Running(cpu);
                (slot.claimed, slot.deadline) = (false, None);
                if let Some(channel) = slot.waits_on.take() {
                    self.channels[channel].waiters.retain(|waiter| *waiter != thread);
                }
                self.next_op(thread);
                None
            }
            State::Parking(_) => {
                if let (Variant::LostWake, Some(channel)) = (self.variant, slot.waits_on) {
                    self.channels[channel].waiters.push_back(thread);
                }
                Some(Fate::Blocks)
            }
            _ => {
                self.next_op(thread);
                None
            }
        }
    }

    /// A post to a channel, by a thread or a device on `cpu`.
    pub(super) fn post(&mut self, cpu: usize, by: Option<usize>, channel: usize, all: bool) {
        self.tell(cpu, Happening::Posted { channel, by });
        let mut woken = 0;
        while let Some(thread) = self.channels[channel].waiters.pop_front() {
            self.wake(cpu, by, thread);
            woken += 1;
            if !all {
                break;
            }
        }
        if woken == 0 {
            self.channels[channel].posts += 1;
        }
    }

    /// Lends the first waiter of a channel the rank of a real-time thread.
    fn lend(&mut self, channel: usize) {
        let Some(waiter) = self.channels[channel].waiters.front() else { return };
        let slot = &mut self.threads[*waiter];
        if slot.state == State::Parked && slot.class == Class::Fair {
            (slot.class, slot.lent, slot.borrowed) = (Class::RealTime, Some(self.work.quantum), 0);
        }
    }

    /// Takes back what was lent to a thread.
    pub(super) fn take_back(&mut self, thread: usize) {
        let slot = &mut self.threads[thread];
        if slot.lent.is_some() && self.variant != Variant::KeptLend {
            (slot.class, slot.lent) = (Class::Fair, None);
        }
    }

    /// Ends a thread's wait.
    pub(super) fn wake(&mut self, cpu: usize, by: Option<usize>, thread: usize) {
        let slot = &mut self.threads[thread];
        match slot.state {
            State::Parking(on) if self.variant == Variant::EarlyWake && on != cpu => {
                self.wake_early(cpu, by, thread);
            }
            State::Parking(_) => slot.claimed = true,
            // It is in the queue already.
            State::Parked if slot.task.is_none() => {
                let (target, on) = (slot.home, State::Ready(slot.home));
                (slot.state, slot.waits_on, slot.deadline) = (on, None, None);
                self.tell_at(
                    self.now + u64::from(target != cpu),
                    cpu,
                    Happening::Waking { thread, by, target },
                );
            }
            State::Parked => {
                (slot.waits_on, slot.deadline, slot.owed_for) = (None, None, Cause::Woken);
                let target = slot.home;
                let woken = Happening::Waking { thread, by, target };
                if target == cpu {
                    self.tell(cpu, woken);
                    self.threads[thread].owed_since = self.now;
                    self.enqueue(cpu, thread);
                } else {
                    // Another CPU's block may be of this very nanosecond.
                    self.tell_at(self.now + 1, cpu, woken);
                    self.fly(cpu, target, thread);
                }
            }
            _ => {}
        }
    }

    /// For the variant that wakes before a thread has left its CPU: it is made ready here at once, too.
    fn wake_early(&mut self, cpu: usize, by: Option<usize>, thread: usize) {
        let spec = &self.work.threads[thread];
        let affinity = Affinity::new(&Arc::new(spec.mask), &CpuMask::first(self.work.cpus));
        let task =
            Task::new(thread as u64, Arc::clone(&self.jobs[spec.job]), self.threads[thread].class, affinity);
        if !task.affinity().allows(cpu) {
            self.threads[thread].claimed = true;
            return;
        }
        let slot = &mut self.threads[thread];
        (slot.task, slot.waits_on, slot.deadline, slot.owed_since) = (Some(task), None, None, self.now);
        self.next_op(thread);
        self.tell(cpu, Happening::Waking { thread, by, target: cpu });
        self.enqueue(cpu, thread);
    }

    /// Whether `cpu` runs what is left of a thread that is elsewhere already.
    pub(super) fn is_ghost(&self, cpu: usize, thread: usize) -> bool {
        let state = self.threads[thread].state;
        let here = state == State::Running(cpu) || state == State::Parking(cpu);
        self.variant == Variant::EarlyWake && !here
    }

    /// Ends every other thread of a job.
    fn teardown(&mut self, cpu: usize, by: usize, job: usize) {
        for thread in 0..self.threads.len() {
            if thread == by || self.work.threads[thread].job != job {
                continue;
            }
            let slot = &mut self.threads[thread];
            slot.killed = true;
            match slot.state {
                State::New => slot.state = State::Dead,
                State::Parked => {
                    if let Some(channel) = slot.waits_on {
                        self.channels[channel].waiters.retain(|waiter| *waiter != thread);
                    }
                    if self.variant != Variant::StarvedCorpse {
                        self.wake(cpu, Some(by), thread);
                    }
                }
                _ => {}
            }
        }
        for other in 0..self.work.cpus {
            self.send(cpu, other, Message::Kill);
        }
    }
}
