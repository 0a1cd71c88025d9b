//! A pass of one CPU over its run queue.

use std::collections::BTreeMap;
use std::sync::Arc;

use clockweave_runqueue::{Class, FINE_BITS, Task};

use super::advance::Fate;
use super::events::Machine;
use super::happening::{Happening, Why};
use super::latency::Cause;
use super::laws::Law;
use super::state::{Letter, Message, State};
use super::variant::Variant;
use super::workload::Op;

impl Machine {
    /// The queue's view of a thread's key.
    fn thread_of(task: &Task) -> usize {
        usize::try_from(task.key()).expect("keys are indices")
    }

    /// Forgets who ended, charges, takes what came, sees to the running thread, chooses, answers, and sets the timer.
    pub(super) fn pass(&mut self, cpu: usize) {
        for thread in std::mem::take(&mut self.cpus[cpu].zombies) {
            self.tell(cpu, Happening::Freed { thread });
        }
        self.charge(cpu);
        let loaded = self.cpus[cpu].running;
        let mut due = self.now >= self.cpus[cpu].due;
        let mut asked = Vec::new();
        while let Some(letter) = self.cpus[cpu].mailbox.pop_front() {
            self.open(cpu, letter, &mut asked);
        }
        self.fire_deadlines(cpu);
        due |= self.end_lend(cpu);
        let mut why = Why::Preempted;
        if let Some(thread) = self.cpus[cpu].running {
            let fate = self.advance(cpu, thread);
            due |= self.another_goes_first(cpu);
            why = self.dispose(cpu, thread, fate, due);
        }
        let mut from = loaded.map(|thread| (thread, why));
        let mut turns = 0;
        while self.cpus[cpu].running.is_none() {
            turns += 1;
            assert!(turns <= self.most_turns, "a pass of CPU {cpu} comes to no end");
            let Some(thread) = self.choose(cpu) else { break };
            if Some(thread) != from.map(|(thread, _)| thread) {
                let to = Some((thread, self.threads[thread].class));
                let nested = self.variant == Variant::NestedRun
                    && self.threads[thread].class == Class::RealTime
                    && from.is_some_and(|(_, why)| why == Why::Preempted);
                let from = from.filter(|_| !nested);
                self.tell(cpu, Happening::Switch { from, to });
            }
            let fate = self.advance(cpu, thread);
            let due = self.another_goes_first(cpu);
            let why = self.dispose(cpu, thread, fate, due);
            from = Some((thread, why));
        }
        if self.cpus[cpu].running.is_none() && from.is_some() {
            self.tell(cpu, Happening::Switch { from, to: None });
        }
        for thief in asked {
            self.answer(cpu, thief, loaded);
        }
        self.publish(cpu);
        self.arm(cpu);
        self.show(cpu);
    }

    pub(super) fn charge(&mut self, cpu: usize) {
        let op = self.cpus[cpu].running.and_then(|thread| self.op_of(thread));
        let (now, c) = (self.now, &mut self.cpus[cpu]);
        let ns = now - std::mem::replace(&mut c.since, now);
        let Some(thread) = c.running else { return };
        let in_section = matches!(op, Some(Op::Section(_)));
        c.queue.charge(ns);
        if self.variant == Variant::DoubleCharge && self.work.threads[thread].job == 0 {
            c.queue.charge(ns);
        }
        c.busy += ns;
        let slot = &mut self.threads[thread];
        if self.variant != Variant::FreeSections || !in_section {
            slot.cpu_time += ns;
        }
        slot.left = slot.left.saturating_sub(ns);
        if let Some(lent) = &mut slot.lent {
            *lent = lent.saturating_sub(ns);
            slot.borrowed += ns;
        }
    }

    /// Takes back what was lent to the running thread when it has run for it. Says whether that was now.
    fn end_lend(&mut self, cpu: usize) -> bool {
        let running = self.cpus[cpu].running.filter(|thread| self.threads[*thread].lent == Some(0));
        let Some(thread) = running else { return false };
        self.take_back(thread);
        let class = self.threads[thread].class;
        self.cpus[cpu].queue.set_current_class(class);
        class == Class::Fair
    }

    /// Puts a thread that is in no queue into that of `cpu`.
    pub(super) fn enqueue(&mut self, cpu: usize, thread: usize) {
        let slot = &mut self.threads[thread];
        let mut task = slot.task.take().expect("a thread in no queue keeps its task");
        if let Some(own) = self.own_counts.get(cpu) {
            let job = Arc::clone(&own[self.work.threads[thread].job]);
            task = Task::new(task.key(), job, slot.class, task.affinity().clone());
        }
        task.set_class(slot.class);
        (slot.state, slot.home) = (State::Ready(cpu), cpu);
        // A real-time thread brings back no lag; one that was lent its rank keeps its own.
        let standing = slot.standing.take_if(|_| slot.class == Class::Fair);
        self.cpus[cpu].queue.insert(task, standing.as_ref());
    }

    /// Takes a letter.
    fn open(&mut self, cpu: usize, letter: Letter, asked: &mut Vec<usize>) {
        match letter.message {
            Message::Take(thread) => {
                self.enqueue(cpu, thread);
                self.cpus[cpu].probing = false;
            }
            Message::Steal => asked.push(letter.from),
            Message::Refused => {
                self.cpus[cpu].probing = false;
                self.cpus[cpu].backoff = self.now + self.work.quantum;
            }
            Message::Kick => self.cpus[cpu].kicked = false,
            Message::Kill => self.bury(cpu),
        }
    }

    fn goes_first(&self, cpu: usize, thread: usize) -> bool {
        if self.variant == Variant::RealTimeLate && self.threads[thread].class == Class::RealTime {
            return false;
        }
        let of = |thread: usize| self.work.threads[thread].job;
        let behind = |running: usize| running < thread && of(running) == of(thread);
        if self.variant == Variant::IdentityOrder && self.cpus[cpu].running.is_some_and(behind) {
            return false;
        }
        self.cpus[cpu].running.is_some() && self.cpus[cpu].queue.would_preempt_for(thread as u64)
    }

    /// Whether a ready thread goes before the running one.
    fn another_goes_first(&self, cpu: usize) -> bool {
        let mut first = false;
        self.cpus[cpu].queue.keys(|key| {
            let thread = usize::try_from(key).expect("keys are indices");
            first |= self.goes_first(cpu, thread);
        });
        first
    }

    /// Removes killed threads that are ready.
    fn bury(&mut self, cpu: usize) {
        let running = self.cpus[cpu].running.filter(|thread| self.threads[*thread].killed);
        if self.variant == Variant::BuriedAlive && running.is_some() {
            self.cpus[cpu].queue.block();
        }
        let mut keys = Vec::new();
        self.cpus[cpu].queue.keys(|key| keys.push(key));
        for key in keys {
            let thread = usize::try_from(key).expect("keys are indices");
            if self.threads[thread].killed {
                self.cpus[cpu].queue.remove(key);
                self.threads[thread].state = State::Dead;
                self.cpus[cpu].zombies.push(thread);
            }
        }
    }

    /// Wakes the threads whose patience ends.
    fn fire_deadlines(&mut self, cpu: usize) {
        for thread in 0..self.threads.len() {
            let slot = &self.threads[thread];
            let over = slot.deadline.is_some_and(|at| at <= self.now);
            if !over || slot.state != State::Parked || slot.home != cpu {
                continue;
            }
            if let Some(channel) = slot.waits_on {
                self.channels[channel].waiters.retain(|waiter| *waiter != thread);
            }
            self.wake(cpu, None, thread);
        }
    }

    /// Sees to the running thread; says why it stopped, if it did.
    fn dispose(&mut self, cpu: usize, thread: usize, fate: Fate, due: bool) -> Why {
        let parking = matches!(self.threads[thread].state, State::Parking(_));
        let ghost = self.is_ghost(cpu, thread);
        let c = &mut self.cpus[cpu];
        let why = match fate {
            // A thread on its way to waiting gets there.
            Fate::Runs if !due || parking => return Why::Preempted,
            Fate::Runs => {
                c.queue.put_back();
                Why::Preempted
            }
            Fate::Yields => {
                c.queue.yield_now();
                Why::Yielded
            }
            Fate::Blocks if self.variant == Variant::KeptEntry => {
                c.queue.yield_now();
                c.running = None;
                self.threads[thread].state = State::Parked;
                return Why::Blocked;
            }
            Fate::Blocks if ghost => {
                c.queue.block();
                c.running = None;
                return Why::Blocked;
            }
            Fate::Blocks | Fate::Ends => {
                let (task, standing) = c.queue.block().expect("a thread runs");
                self.take_back(thread);
                let slot = &mut self.threads[thread];
                (slot.task, slot.standing) = (Some(task), standing.or(slot.standing.take()));
                if fate == Fate::Blocks { Why::Blocked } else { Why::Ended }
            }
        };
        self.cpus[cpu].running = None;
        let slot = &mut self.threads[thread];
        (slot.owed_since, slot.owed_for) = (self.now, Cause::Preempted);
        slot.state = match why {
            Why::Blocked => State::Parked,
            Why::Ended => State::Dead,
            _ => State::Ready(cpu),
        };
        if why == Why::Ended {
            self.cpus[cpu].zombies.push(thread);
        }
        why
    }

    /// Picks a thread, and makes it the running one.
    fn choose(&mut self, cpu: usize) -> Option<usize> {
        let key = self.cpus[cpu].queue.pick().map(Self::thread_of)?;
        let thread = self.out_of_turn(cpu, key);
        (self.cpus[cpu].running, self.cpus[cpu].since) = (Some(thread), self.now);
        self.cpus[cpu].picked_at = self.now;
        self.cpus[cpu].due = u64::MAX;
        let slot = &mut self.threads[thread];
        (slot.state, slot.home) = (State::Running(cpu), cpu);
        self.waits[slot.owed_for as usize].add(self.now - slot.owed_since);
        if self.log.is_some()
            && let Some(view) = self.cpus[cpu].queue.view(thread as u64)
        {
            let (deadline, seq, eligible) = (view.deadline, view.seq, view.eligible);
            self.tell(cpu, Happening::Picked { thread, deadline, seq, eligible });
        }
        Some(thread)
    }

    /// For the variants with an order of their own: gives the thread that is first in it its turn.
    fn out_of_turn(&mut self, cpu: usize, picked: usize) -> usize {
        let mut first = picked;
        self.cpus[cpu].queue.keys(|key| {
            let thread = usize::try_from(key).expect("keys are indices");
            let goes_before = match self.variant {
                Variant::FirstComeFirstServed => {
                    self.threads[thread].owed_since < self.threads[first].owed_since
                }
                Variant::IdentityOrder => {
                    thread < first && self.work.threads[thread].job == self.work.threads[picked].job
                }
                _ => false,
            };
            if goes_before {
                first = thread;
            }
        });
        if first != picked {
            // The queue is emptied down to the one wanted, and filled again.
            let queue = &mut self.cpus[cpu].queue;
            let (task, standing) = queue.block().expect("one was picked");
            let mut others = vec![(task, standing)];
            let mut keys = Vec::new();
            queue.keys(|key| keys.push(key));
            let others_keys = keys.into_iter().filter(|key| *key != first as u64);
            others.extend(others_keys.filter_map(|key| queue.remove(key)));
            queue.pick();
            for (task, standing) in others {
                queue.insert(task, standing.as_ref());
            }
        }
        first
    }

    /// Answers a CPU that asked for a thread. A running and a ready one are needed for a surplus.
    fn answer(&mut self, cpu: usize, thief: usize, loaded: Option<usize>) {
        let kept = loaded.filter(|_| self.variant != Variant::OldSteal).map(|thread| thread as u64);
        let dest = if self.variant == Variant::IgnoredMask { cpu } else { thief };
        while let Some((task, standing)) = self.cpus[cpu].queue.pop_surplus(dest, kept) {
            let thread = Self::thread_of(&task);
            let slot = &mut self.threads[thread];
            (slot.task, slot.standing) = (Some(task), Some(standing));
            if slot.killed && self.variant != Variant::MigratedCorpse {
                self.handovers[1] += 1;
                slot.state = State::Dead;
                self.cpus[cpu].zombies.push(thread);
                continue;
            }
            if slot.killed {
                self.misdeeds.push((Law::KilledStays, format!("thread {thread} was killed and moves")));
            }
            if Some(thread) == loaded {
                let text = format!("thread {thread} moves while CPU {cpu} stands on its stack");
                self.misdeeds.push((Law::ContextSaved, text));
            }
            self.handovers[0] += 1;
            let owed_since = self.threads[thread].owed_since;
            self.tell(cpu, Happening::Migrated { thread, from: cpu, to: thief });
            self.fly(cpu, thief, thread);
            self.threads[thread].owed_since = owed_since;
            return;
        }
        self.send(cpu, thief, Message::Refused);
    }

    /// Lets others know what could be taken, and asks one of them if there is nothing to do here.
    fn publish(&mut self, cpu: usize) {
        let c = &self.cpus[cpu];
        self.cpus[cpu].surplus = if c.queue.holds_movable() { c.queue.fair_len() } else { 0 };
        if self.cpus[cpu].running.is_some() {
            let idle = (0..self.work.cpus).find(|other| {
                let o = &self.cpus[*other];
                let free = o.running.is_none() && !o.probing && !o.kicked && o.backoff <= self.now;
                free && *other != cpu && self.cpus[cpu].queue.takers(*other) > 0
            });
            if let Some(idle) = idle {
                self.cpus[idle].kicked = true;
                self.send(cpu, idle, Message::Kick);
            }
            return;
        }
        if self.cpus[cpu].probing || self.cpus[cpu].backoff > self.now {
            return;
        }
        let others = (0..self.work.cpus).filter(|other| *other != cpu && self.cpus[*other].surplus > 0);
        // The largest surplus, of equal ones the first CPU's.
        if let Some(victim) = others.max_by_key(|other| (self.cpus[*other].surplus, usize::MAX - other)) {
            self.cpus[cpu].probing = true;
            self.send(cpu, victim, Message::Steal);
        }
    }

    /// Sets the timer for what the CPU owes first.
    fn arm(&mut self, cpu: usize) {
        if self.cpus[cpu].running.is_some() {
            self.cpus[cpu].due = match self.variant {
                Variant::LateTimer => self.cpus[cpu].picked_at + self.work.quantum * 8,
                _ => self.decides(cpu),
            };
        }
        self.cpus[cpu].timer = self.owes(cpu);
    }

    /// When the choice has to be looked at again: at the decision instant, or when the quantum ends.
    pub(super) fn decides(&self, cpu: usize) -> u64 {
        let c = &self.cpus[cpu];
        let decision = c.queue.decision().map_or(u64::MAX, |ns| c.since.saturating_add(ns));
        decision.min(c.picked_at + self.work.quantum)
    }

    /// When the CPU has to act by itself, at the earliest.
    pub(super) fn owes(&self, cpu: usize) -> Option<u64> {
        let c = &self.cpus[cpu];
        let parked = self.threads.iter().filter(|slot| slot.state == State::Parked && slot.home == cpu);
        let deadline = parked.filter_map(|slot| slot.deadline).min();
        // Who left the CPU later than that is woken at once.
        let deadline = deadline.map(|at| at.max(self.now));
        let deadline = deadline.filter(|_| self.variant != Variant::DeafTimer);
        let Some(thread) = c.running else {
            let retry = (c.backoff > self.now && self.cpus.iter().any(|other| other.surplus > 0))
                .then_some(c.backoff);
            return deadline.into_iter().chain(retry).min();
        };
        let ends = c.since + self.threads[thread].left;
        if self.in_section(cpu) {
            return Some(ends);
        }
        let lent = self.threads[thread].lent.filter(|ns| *ns > 0).map(|ns| c.since + ns);
        [Some(ends), Some(c.due.max(self.now + 1)), deadline, lent].into_iter().flatten().min()
    }

    /// Tells the state of the queue and of those concerned.
    fn show(&mut self, cpu: usize) {
        if self.log.is_none() {
            return;
        }
        let queue = &self.cpus[cpu].queue;
        let all = queue.groups().map(|(job, weight)| {
            let here = queue.runnable_here(job.key());
            (usize::try_from(job.key()).expect("keys are indices"), weight, here as u64, job.runnable())
        });
        let groups: Vec<(usize, u64, u64, u64)> = all.collect();
        let (weight, ready) = (queue.weight(), queue.len());
        let decision = queue.decision().unwrap_or(0);
        let (mut lags, mut group_lags) = (Vec::new(), BTreeMap::new());
        let mut keys: Vec<u64> = queue.current().map(Task::key).into_iter().collect();
        queue.keys(|key| keys.push(key));
        for key in keys {
            if let Some(view) = queue.view(key) {
                let ns = |lag: i128| i64::try_from(lag >> FINE_BITS).unwrap_or(i64::MAX);
                let thread = usize::try_from(key).expect("keys are indices");
                lags.push((thread, ns(view.lag)));
                group_lags.insert(self.work.threads[thread].job, ns(view.group_lag));
            }
        }
        let shown = groups.iter().map(|(job, weight, here, _)| (*job, *weight, *here)).collect();
        let before = std::mem::replace(&mut self.cpus[cpu].shown, shown);
        for (job, ..) in &before {
            if !groups.iter().any(|group| group.0 == *job) {
                self.tell(cpu, Happening::GroupDissolved { job: *job });
            }
        }
        for (job, weight, here, all) in groups {
            if !before.contains(&(job, weight, here)) {
                self.tell(cpu, Happening::GroupFormed { job, weight, here, all });
            }
        }
        for (job, ns) in group_lags {
            self.tell(cpu, Happening::GroupLag { job, ns });
        }
        for (thread, ns) in lags {
            self.tell(cpu, Happening::Lag { thread, ns });
        }
        self.tell(cpu, Happening::Queue { weight, ready, decision });
    }
}
