//! What holds of a machine after every step, and at its end.

use std::collections::BTreeMap;
use std::fmt;

use clockweave_runqueue::{Class, Task};

use super::events::Machine;
use super::state::{State, Thread};

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Law {
    /// A live thread is in exactly one place, its state says which, and its class is the queue's.
    OnePlace,
    /// A thread is only where its mask lets it be.
    MaskRespected,
    /// A CPU that halts has nothing ready and no letter, or one is under way to it.
    NoLostWork,
    /// No thread waits on a channel that has a post.
    NoLostWake,
    /// A CPU's timer is not later than what it owes: to its running thread's turn, and to those who wait there up to a time.
    TimerInTime,
    /// A fair thread gives way to a real-time one within a message and the longest section.
    RealTimePrompt,
    /// Jobs of equal weight on one CPU get equal service.
    JobsShareEqually,
    /// Threads of one job on one CPU get equal service.
    ThreadsShareEqually,
    /// A lend buys a quantum of running at most, and the longest section.
    LendBounded,
    /// A job's count is that of its threads in the queues.
    CountsAgree,
    /// The threads' service is the CPUs' busy time.
    TimeConserved,
    /// A thread's context is saved before it moves.
    ContextSaved,
    /// A killed thread is not moved.
    KilledStays,
    /// A scenario that ends does so in time, with every thread done.
    AllDone,
    /// No assertion fails.
    NoPanic,
}

impl Law {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::OnePlace,
        Self::MaskRespected,
        Self::NoLostWork,
        Self::NoLostWake,
        Self::TimerInTime,
        Self::RealTimePrompt,
        Self::JobsShareEqually,
        Self::ThreadsShareEqually,
        Self::LendBounded,
        Self::CountsAgree,
        Self::TimeConserved,
        Self::ContextSaved,
        Self::KilledStays,
        Self::AllDone,
        Self::NoPanic,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::OnePlace => "one-place",
            Self::MaskRespected => "mask-respected",
            Self::NoLostWork => "no-lost-work",
            Self::NoLostWake => "no-lost-wake",
            Self::TimerInTime => "timer-in-time",
            Self::RealTimePrompt => "real-time-prompt",
            Self::JobsShareEqually => "jobs-share-equally",
            Self::ThreadsShareEqually => "threads-share-equally",
            Self::LendBounded => "lend-bounded",
            Self::CountsAgree => "counts-agree",
            Self::TimeConserved => "time-conserved",
            Self::ContextSaved => "context-saved",
            Self::KilledStays => "killed-stays",
            Self::AllDone => "all-done",
            Self::NoPanic => "no-panic",
        }
    }

    /// The rule of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|law| law.name() == name)
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub law: Law,
    /// When, in nanoseconds.
    pub ns: u64,
    /// How.
    pub what: String,
}

/// How often, and for how long, each rule had something to look at. A rule that never had proves nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    times: [u64; Law::ALL.len()],
    /// Nanoseconds between looks of which the first had something.
    ns: [u64; Law::ALL.len()],
    /// Widest differences found.
    widest: [u64; Law::ALL.len()],
    /// Nanoseconds between looks.
    total: u64,
    /// `times` before the latest look, and when that was.
    before: [u64; Law::ALL.len()],
    at: u64,
}

impl Reach {
    /// How often `law` had something to look at.
    pub fn of(&self, law: Law) -> u64 {
        self.times[law as usize]
    }

    /// For how many nanoseconds it had, and of how many. The rules that look at single events or at the end have none.
    pub fn ns(&self, law: Law) -> (u64, u64) {
        (self.ns[law as usize], self.total)
    }

    /// The widest difference that a rule of sharing found, in nanoseconds.
    pub fn widest(&self, law: Law) -> u64 {
        self.widest[law as usize]
    }

    pub(super) fn add(&mut self, law: Law, times: usize) {
        self.times[law as usize] += times as u64;
    }

    /// Begins a look at the time `now`: what was open since the one before was so until now.
    fn look(&mut self, now: u64) {
        let elapsed = now - self.at;
        for (law, ns) in self.ns.iter_mut().enumerate() {
            *ns += if self.times[law] > self.before[law] { elapsed } else { 0 };
        }
        self.total += elapsed;
        (self.before, self.at) = (self.times, now);
    }

    fn widen(&mut self, law: Law, spread: u64) {
        let widest = &mut self.widest[law as usize];
        *widest = spread.max(*widest);
    }

    /// Adds what another run showed.
    pub fn add_all(&mut self, other: &Self) {
        for law in 0..Law::ALL.len() {
            self.times[law] += other.times[law];
            self.ns[law] += other.ns[law];
            self.widest[law] = self.widest[law].max(other.widest[law]);
        }
        self.total += other.total;
    }
}

impl Machine {
    /// The rules broken now, and in `reach` what they looked at. `shares` says that everyone computes all the time, on
    /// one CPU or alike on each, so that service can be compared.
    pub fn broken(&self, shares: bool, reach: &mut Reach) -> Vec<Violation> {
        let mut found: Vec<(Law, String)> = self.misdeeds.clone();
        reach.look(self.now);
        reach.add(Law::NoPanic, 1);
        self.check_places(&mut found, reach);
        self.check_cpus(&mut found, reach);
        self.check_real_time(&mut found, reach);
        self.check_counts(&mut found, reach);
        for thread in &self.threads {
            let waits = thread.waits_on.filter(|_| thread.state == State::Parked);
            reach.add(Law::NoLostWake, usize::from(waits.is_some()));
            if let Some(channel) = waits.filter(|channel| self.channels[*channel].posts > 0) {
                found.push((
                    Law::NoLostWake,
                    format!("a thread waits on channel {channel}, which has a post"),
                ));
            }
        }
        let bound = self.work.quantum + self.work.longest_section();
        for thread in self.threads.iter().filter(|thread| thread.lent.is_some()) {
            reach.add(Law::LendBounded, 1);
            if thread.borrowed > bound {
                let text = format!(
                    "a thread ran {} ns with what was lent, at most {bound} are allowed",
                    thread.borrowed
                );
                found.push((Law::LendBounded, text));
            }
        }
        if shares {
            self.check_shares(&mut found, reach);
        }
        found.into_iter().map(|(law, what)| Violation { law, ns: self.now, what }).collect()
    }

    /// The rules broken at the end, beside those of every step.
    pub fn broken_at_end(&self, finishes: bool, reach: &mut Reach) -> Vec<Violation> {
        reach.add(Law::AllDone, usize::from(finishes));
        let [handed, withheld] = self.handovers;
        reach.add(Law::ContextSaved, handed);
        reach.add(Law::KilledStays, withheld);
        let live =
            self.threads.iter().filter(|thread| !matches!(thread.state, State::Dead | State::New)).count();
        let queued = self.cpus.iter().any(|cpu| !cpu.queue.is_empty() || cpu.running.is_some());
        if !finishes || live == 0 && !queued {
            return Vec::new();
        }
        let what = format!("{live} threads are not done");
        vec![Violation { law: Law::AllDone, ns: self.now, what }]
    }

    fn check_places(&self, found: &mut Vec<(Law, String)>, reach: &mut Reach) {
        let mut queued: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (number, cpu) in self.cpus.iter().enumerate() {
            cpu.queue.keys(|key| queued.entry(key).or_default().push(number));
        }
        for (number, thread) in self.threads.iter().enumerate() {
            let ready: &[usize] = queued.get(&(number as u64)).map_or(&[], |cpus| &cpus[..]);
            let on: Vec<usize> =
                (0..self.cpus.len()).filter(|cpu| self.cpus[*cpu].running == Some(number)).collect();
            let letters = self.letters_of(number);
            let (ready_on, runs_on, flying) = match thread.state {
                State::Ready(cpu) => (Some(cpu), None, 0),
                State::Running(cpu) | State::Parking(cpu) => (None, Some(cpu), 0),
                State::Flying(_) => (None, None, 1),
                State::New | State::Parked | State::Dead => (None, None, 0),
            };
            reach.add(Law::OnePlace, usize::from(ready_on.or(runs_on).is_some() || flying > 0));
            let same = |found: &[usize], expected: Option<usize>| found.iter().copied().eq(expected);
            if !same(ready, ready_on) || !same(&on, runs_on) || letters != flying {
                let state = thread.state;
                let text = format!(
                    "thread {number} is {state:?}: ready on {ready:?}, runs on {on:?}, in {letters} letters"
                );
                found.push((Law::OnePlace, text));
            }
            let mask = &self.work.threads[number].mask;
            let bound = ready_on.or(runs_on).is_some() && mask.count() < self.work.cpus;
            reach.add(Law::MaskRespected, usize::from(bound));
            if let Some(cpu) = ready_on.or(runs_on).filter(|cpu| !mask.contains(*cpu)) {
                found
                    .push((Law::MaskRespected, format!("thread {number} is on CPU {cpu}, outside {mask:?}")));
            }
        }
        for (number, cpu) in self.cpus.iter().enumerate() {
            let current = cpu.queue.current().map(Task::key);
            if current != cpu.running.map(|thread| thread as u64) {
                let text = format!("CPU {number} runs {:?}, its queue says {current:?}", cpu.running);
                found.push((Law::OnePlace, text));
            }
            let mut agrees = |task: &Task| {
                let class = usize::try_from(task.key()).map(|thread| self.threads[thread].class);
                if class != Ok(task.class()) {
                    let (key, queued) = (task.key(), task.class());
                    let text =
                        format!("thread {key} is {class:?}, the queue of CPU {number} says {queued:?}");
                    found.push((Law::OnePlace, text));
                }
            };
            cpu.queue.tasks(&mut agrees);
            cpu.queue.current().into_iter().for_each(agrees);
        }
    }

    fn check_cpus(&self, found: &mut Vec<(Law, String)>, reach: &mut Reach) {
        for (number, cpu) in self.cpus.iter().enumerate() {
            if cpu.running.is_none() {
                reach.add(Law::NoLostWork, 1);
                let idle = cpu.queue.is_empty() && cpu.mailbox.is_empty();
                if !idle && !self.is_written_to(number) {
                    let (ready, letters) = (cpu.queue.len(), cpu.mailbox.len());
                    let text = format!("CPU {number} halts with {ready} ready threads and {letters} letters");
                    found.push((Law::NoLostWork, text));
                }
            }
            if self.in_section(number) {
                continue;
            }
            let turn = cpu.running.map(|_| self.decides(number).min(cpu.picked_at + self.work.quantum));
            let here = |thread: &&Thread| thread.state == State::Parked && thread.home == number;
            let waits = self.threads.iter().filter(here).filter_map(|thread| thread.deadline);
            let Some(owed) = turn.into_iter().chain(waits).min() else { continue };
            let owed = owed.max(self.now);
            reach.add(Law::TimerInTime, 1);
            if cpu.timer.is_none_or(|timer| timer > owed) {
                let text = format!("CPU {number} owes a look at {owed} ns, its timer is {:?}", cpu.timer);
                found.push((Law::TimerInTime, text));
            }
        }
        let busy: u64 = self.cpus.iter().map(|cpu| cpu.busy).sum();
        let service: u64 = self.threads.iter().map(|thread| thread.cpu_time).sum();
        reach.add(Law::TimeConserved, usize::from(busy > 0));
        if busy != service {
            found.push((Law::TimeConserved, format!("CPUs were busy {busy} ns, threads ran {service} ns")));
        }
    }

    fn check_real_time(&self, found: &mut Vec<(Law, String)>, reach: &mut Reach) {
        let bound = self.work.latency + self.work.longest_section() + 1;
        for (number, thread) in self.threads.iter().enumerate() {
            let (State::Ready(cpu) | State::Flying(cpu), Class::RealTime) = (thread.state, thread.class)
            else {
                continue;
            };
            reach.add(Law::RealTimePrompt, 1);
            let fair = self.cpus[cpu].running.is_some_and(|other| self.threads[other].class == Class::Fair);
            let waited = self.now - thread.owed_since;
            if fair && waited > bound {
                let text = format!(
                    "thread {number} waits {waited} ns behind a fair one, at most {bound} are allowed"
                );
                found.push((Law::RealTimePrompt, text));
            }
        }
    }

    fn check_counts(&self, found: &mut Vec<(Law, String)>, reach: &mut Reach) {
        for job in &self.jobs {
            let here: usize = self.cpus.iter().map(|cpu| cpu.queue.runnable_here(job.key())).sum();
            let counted = job.runnable();
            reach.add(Law::CountsAgree, usize::from(here > 0));
            if counted != here as u64 {
                let text =
                    format!("job {} counts {counted} runnable threads, {here} are in queues", job.key());
                found.push((Law::CountsAgree, text));
            }
        }
    }

    fn check_shares(&self, found: &mut Vec<(Law, String)>, reach: &mut Reach) {
        let allowed = self.work.allowed_spread();
        let live = |thread: &usize| !matches!(self.threads[*thread].state, State::New | State::Flying(_));
        let threads: Vec<usize> = (0..self.threads.len()).filter(live).collect();
        if threads.len() < self.threads.len() {
            return;
        }
        let mut jobs: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for thread in threads {
            jobs.entry(self.work.threads[thread].job).or_default().push(self.service(thread));
        }
        let spread = |values: &[u64]| {
            let (least, most) = (values.iter().min(), values.iter().max());
            most.zip(least).map_or(0, |(most, least)| most - least)
        };
        reach.add(Law::JobsShareEqually, usize::from(jobs.len() > 1));
        for (job, service) in &jobs {
            reach.add(Law::ThreadsShareEqually, usize::from(service.len() > 1));
            let spread = spread(service);
            reach.widen(Law::ThreadsShareEqually, spread);
            if spread > allowed.threads {
                let most = allowed.threads;
                let text = format!("threads of job {job} differ by {spread} ns, at most {most} are allowed");
                found.push((Law::ThreadsShareEqually, text));
            }
        }
        let sums: Vec<u64> = jobs.values().map(|service| service.iter().sum()).collect();
        let (spread, most) = (spread(&sums), allowed.jobs);
        reach.widen(Law::JobsShareEqually, spread);
        if spread > most {
            let text = format!("jobs differ by {spread} ns, at most {most} are allowed");
            found.push((Law::JobsShareEqually, text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::choice::Choices;
    use super::super::scenarios::SCENARIOS;
    use super::super::state::Message;
    use super::super::variant::Variant;
    use super::*;

    /// The machine of a scenario, stepped until `found`.
    fn stepped(name: &str, found: impl Fn(&Machine) -> bool) -> Machine {
        let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name).unwrap();
        let mut machine = Machine::new((scenario.build)(), Variant::Sound).unwrap();
        let mut choices = Choices::first();
        while !found(&machine) {
            assert!(machine.step(&mut choices), "{name}: it never comes to that");
        }
        assert_eq!(machine.broken(false, &mut Reach::default()), []);
        machine
    }

    fn laws(machine: &Machine) -> Vec<Law> {
        machine.broken(false, &mut Reach::default()).iter().map(|violation| violation.law).collect()
    }

    /// A thread in a queue is in no letter, too.
    #[test]
    fn a_second_place_is_found() {
        let ready = |machine: &Machine| {
            machine.threads.iter().position(|thread| matches!(thread.state, State::Ready(_)))
        };
        let mut machine = stepped("fairness", |machine| ready(machine).is_some());
        let thread = ready(&machine).unwrap();
        machine.send(0, 0, Message::Take(thread));
        assert_eq!(laws(&machine), [Law::OnePlace]);
    }

    /// With a message of 1 us, a section of 50 us and 1 ns a real-time thread waits 51,001 ns and no longer.
    #[test]
    fn a_real_time_thread_waits_so_long_and_no_longer() {
        let waits = |machine: &Machine| {
            let fair = |cpu: &usize| {
                let running = machine.cpus[*cpu].running;
                running.is_some_and(|thread| machine.threads[thread].class == Class::Fair)
            };
            machine.threads.iter().position(|thread| {
                matches!(thread.state, State::Ready(cpu) | State::Flying(cpu) if fair(&cpu))
                    && thread.class == Class::RealTime
            })
        };
        let mut machine =
            stepped("real-time-latency", |machine| machine.now > 51_001 && waits(machine).is_some());
        let thread = waits(&machine).unwrap();
        machine.threads[thread].owed_since = machine.now - 51_001;
        assert_eq!(laws(&machine), []);
        machine.threads[thread].owed_since = machine.now - 51_002;
        assert_eq!(laws(&machine), [Law::RealTimePrompt]);
    }

    /// A quantum of 50 us, and the 1 us of leaving a CPU.
    #[test]
    fn a_lend_buys_so_much_and_no_more() {
        let lent = |machine: &Machine| machine.threads.iter().position(|thread| thread.lent.is_some());
        let mut machine = stepped("lend-then-block", |machine| lent(machine).is_some());
        let thread = lent(&machine).unwrap();
        machine.threads[thread].borrowed = 51_000;
        assert_eq!(laws(&machine), []);
        machine.threads[thread].borrowed = 51_001;
        assert_eq!(laws(&machine), [Law::LendBounded]);
    }
}
