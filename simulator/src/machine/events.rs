//! The machine and its clock: what is due next, and in which order.

use std::collections::BTreeMap;
use std::sync::Arc;

use clockweave_runqueue::{Affinity, CpuMask, Job, Task};

use super::choice::Choices;
use super::happening::Happening;
use super::latency::{Cause, Waits};
use super::state::{Channel, Cpu, Letter, Message, State, Thread};
use super::variant::Variant;
use super::workload::Workload;

/// A happening with its time in nanoseconds and its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Nanoseconds.
    pub ns: u64,
    /// The CPU.
    pub cpu: usize,
    /// What happened.
    pub what: Happening,
}

/// Something due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Timer,
    Letter(u64),
    Device(usize),
}

/// A modelled machine.
#[derive(Debug)]
pub struct Machine {
    pub(super) work: Workload,
    pub(super) variant: Variant,
    pub(super) now: u64,
    pub(super) cpus: Vec<Cpu>,
    pub(super) jobs: Vec<Arc<Job>>,
    /// For the variant whose CPUs count by themselves: jobs by CPU. Otherwise empty.
    pub(super) own_counts: Vec<Vec<Arc<Job>>>,
    pub(super) threads: Vec<Thread>,
    pub(super) channels: Vec<Channel>,
    /// Letters under way, by time of arrival and number.
    letters: BTreeMap<(u64, u64), Letter>,
    next_letter: u64,
    /// Next time and times left, by device.
    devices: Vec<(u64, u64)>,
    pub(super) log: Option<Vec<Observed>>,
    /// Broken rules that no look at the state would show.
    pub(super) misdeeds: Vec<(super::laws::Law, String)>,
    /// Threads handed over to other CPUs, and killed ones that were not.
    pub(super) handovers: [usize; 2],
    /// Waits by cause.
    pub(super) waits: [Waits; Cause::ALL.len()],
    pub(super) steps: u64,
    /// More threads than a pass can choose: each takes some time once a round.
    pub(super) most_turns: usize,
    started: bool,
}

impl Machine {
    /// A machine at time 0.
    ///
    /// # Errors
    /// What does not fit together in the workload.
    pub fn new(work: Workload, variant: Variant) -> Result<Self, String> {
        if let Some(fault) = work.fault() {
            return Err(fault);
        }
        let machine = CpuMask::first(work.cpus);
        let jobs = || (0..).zip(&work.jobs).map(|(key, spec)| Arc::new(Job::new(key, spec.weight))).collect();
        let own_counts = match variant {
            Variant::OwnCounts => (0..work.cpus).map(|_| jobs()).collect(),
            _ => Vec::new(),
        };
        let jobs: Vec<Arc<Job>> = jobs();
        let threads = (0..)
            .zip(&work.threads)
            .map(|(key, spec)| {
                let job = match variant {
                    // Keys behind those of the jobs.
                    Variant::PerThreadShares => {
                        Arc::new(Job::new(jobs.len() as u64 + key, work.jobs[spec.job].weight))
                    }
                    _ => Arc::clone(&jobs[spec.job]),
                };
                let affinity = Affinity::new(&Arc::new(spec.mask), &machine);
                Thread {
                    state: State::New,
                    task: Some(Task::new(key, job, spec.class, affinity)),
                    standing: None,
                    class: spec.class,
                    home: spec.cpu,
                    op: 0,
                    left: 0,
                    begun: false,
                    rounds: spec.rounds,
                    claimed: false,
                    killed: false,
                    lent: None,
                    borrowed: 0,
                    waits_on: None,
                    deadline: None,
                    cpu_time: 0,
                    owed_since: 0,
                    owed_for: Cause::Fresh,
                }
            })
            .collect();
        let cpus = (0..work.cpus).map(|_| Cpu::new(work.slice)).collect();
        let channels = (0..work.channels).map(|_| Channel::default()).collect();
        let devices = work.devices.iter().map(|device| (device.first, device.count)).collect();
        let most_turns = work.threads.iter().map(|spec| spec.script.len() + 2).sum();
        Ok(Self {
            work,
            variant,
            now: 0,
            cpus,
            jobs,
            own_counts,
            threads,
            channels,
            letters: BTreeMap::new(),
            next_letter: 0,
            devices,
            log: None,
            misdeeds: Vec::new(),
            handovers: [0; 2],
            waits: [Waits::default(); Cause::ALL.len()],
            steps: 0,
            most_turns,
            started: false,
        })
    }

    /// Tells what happens from now on; [`Machine::take_log`] gives it.
    pub fn observe(&mut self) {
        self.log = Some(Vec::new());
    }

    /// What happened since it was asked last, in the order of its telling: times of one CPU may step
    /// back by a nanosecond.
    pub fn take_log(&mut self) -> Vec<Observed> {
        self.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// What it runs.
    pub fn workload(&self) -> &Workload {
        &self.work
    }

    /// Nanoseconds that `thread` has run.
    pub fn service(&self, thread: usize) -> u64 {
        let running = match self.threads[thread].state {
            State::Running(cpu) | State::Parking(cpu) => self.now - self.cpus[cpu].since,
            _ => 0,
        };
        self.threads[thread].cpu_time + running
    }

    pub(super) fn tell(&mut self, cpu: usize, what: Happening) {
        self.tell_at(self.now, cpu, what);
    }

    pub(super) fn tell_at(&mut self, ns: u64, cpu: usize, what: Happening) {
        if let Some(log) = &mut self.log {
            log.push(Observed { ns, cpu, what });
        }
    }

    pub(super) fn send(&mut self, from: usize, to: usize, message: Message) {
        let at = self.now + self.work.latency;
        self.letters.insert((at, self.next_letter), Letter { from, to, message });
        self.next_letter += 1;
    }

    /// Whether a letter to `cpu` is under way.
    pub(super) fn is_written_to(&self, cpu: usize) -> bool {
        self.letters.values().any(|letter| letter.to == cpu)
    }

    /// Letters with `thread` in them, under way or in a mailbox.
    pub(super) fn letters_of(&self, thread: usize) -> usize {
        let waiting = self.cpus.iter().flat_map(|cpu| &cpu.mailbox);
        let letters = self.letters.values().chain(waiting);
        letters.filter(|letter| letter.message == Message::Take(thread)).count()
    }

    /// When something is due next.
    pub fn next_time(&self) -> Option<u64> {
        if !self.started {
            return Some(0);
        }
        let timers = self.cpus.iter().filter_map(|cpu| cpu.timer);
        let letters = self.letters.keys().next().map(|(at, _)| *at);
        let devices = self.devices.iter().filter(|(_, left)| *left > 0).map(|(at, _)| *at);
        timers.chain(letters).chain(devices).min().filter(|at| *at < self.work.until)
    }

    /// Does one of the things due next. `false` once nothing is due before the end.
    pub fn step(&mut self, choices: &mut Choices) -> bool {
        let Some(at) = self.next_time() else { return false };
        assert!(at >= self.now, "time goes back from {} to {at} ns", self.now);
        self.now = at;
        self.steps += 1;
        if !std::mem::replace(&mut self.started, true) {
            self.boot();
            return true;
        }
        let mut due: Vec<(usize, Due)> = Vec::new();
        due.extend((0..).zip(&self.cpus).filter(|(_, c)| c.timer == Some(at)).map(|(n, _)| (n, Due::Timer)));
        let letters = self.letters.range((at, 0)..=(at, u64::MAX));
        due.extend(letters.map(|((_, number), letter)| (letter.to, Due::Letter(*number))));
        let devices = (0..).zip(&self.devices).filter(|(_, (when, left))| *when == at && *left > 0);
        due.extend(devices.map(|(n, _)| (self.work.devices[n].cpu, Due::Device(n))));
        due.sort_unstable();
        let chosen = match (due.len(), self.variant) {
            (1, _) | (_, Variant::IdentityTies) => 0,
            (n, _) => choices.choose(n, |option| due[option].0),
        };
        match due[chosen] {
            (cpu, Due::Timer) => {
                self.cpus[cpu].timer = None;
                self.pass(cpu);
            }
            (cpu, Due::Letter(number)) => {
                let letter = self.letters.remove(&(at, number)).expect("a letter that is due");
                self.deliver(cpu, letter);
            }
            (cpu, Due::Device(number)) => self.interrupt(cpu, number),
        }
        true
    }

    /// Starts the threads that are there from the start.
    fn boot(&mut self) {
        for cpu in 0..self.work.cpus {
            self.tell(cpu, Happening::Switch { from: None, to: None });
        }
        for thread in 0..self.threads.len() {
            if self.work.threads[thread].started {
                self.spawn(0, None, thread);
            }
        }
    }

    pub(super) fn spawn(&mut self, cpu: usize, by: Option<usize>, thread: usize) {
        if self.threads[thread].state != State::New {
            return;
        }
        let target = self.threads[thread].home;
        self.tell_at(self.now + 1, cpu, Happening::Spawned { thread, by, target });
        self.fly(cpu, target, thread);
    }

    /// Sends a thread to the queue of `target`.
    pub(super) fn fly(&mut self, from: usize, target: usize, thread: usize) {
        let owed_since = self.now;
        let slot = &mut self.threads[thread];
        (slot.state, slot.owed_since) = (State::Flying(target), owed_since);
        self.send(from, target, Message::Take(thread));
    }

    fn deliver(&mut self, cpu: usize, letter: Letter) {
        self.cpus[cpu].mailbox.push_back(letter);
        if self.variant == Variant::DeafIdle && self.cpus[cpu].running.is_none() {
            return;
        }
        if !self.in_section(cpu) {
            self.pass(cpu);
        }
    }

    /// Whether the CPU makes no pass until the running thread's step ends.
    pub(super) fn in_section(&self, cpu: usize) -> bool {
        let Some(thread) = self.cpus[cpu].running else { return false };
        let slot = &self.threads[thread];
        let section = matches!(self.op_of(thread), Some(super::workload::Op::Section(_)));
        let ends = self.now >= self.cpus[cpu].since + slot.left;
        (section || matches!(slot.state, State::Parking(_))) && slot.begun && !ends
    }

    fn interrupt(&mut self, cpu: usize, number: usize) {
        let device = self.work.devices[number];
        let (at, left) = self.devices[number];
        self.devices[number] = (at + device.period.max(1), left - 1);
        self.post(cpu, None, device.channel, false);
        if !self.in_section(cpu) {
            self.pass(cpu);
        }
    }
}
