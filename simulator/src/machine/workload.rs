//! What a machine runs: CPUs, jobs, threads with scripts, devices.

use clockweave_model::{MOST_THREADS, check_printable};
use clockweave_runqueue::{Class, CpuMask};

use super::scenarios::Spread;

/// The longest time that a workload states, in nanoseconds: 2^53, so that sums of some fit.
const MOST_NS: u64 = 1 << 53;

/// A step of a thread's script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Computes for so many nanoseconds.
    Run(u64),
    /// Computes for so many nanoseconds during which the CPU makes no pass.
    Section(u64),
    /// Takes a post of a channel, or waits for one, at most for the nanoseconds given.
    Block {
        /// The channel.
        channel: usize,
        /// The longest wait.
        patience: Option<u64>,
    },
    /// Waits for so many nanoseconds.
    Sleep(u64),
    /// Posts to a channel: wakes its first waiter, or all, or leaves the post for the next that asks.
    Wake {
        /// The channel.
        channel: usize,
        /// Whether all waiters are woken.
        all: bool,
    },
    /// Posts to a channel, and lends its first waiter, if that is a fair thread, the rank of a real-time one: until it
    /// has run for a quantum, or waits.
    Lend {
        /// The channel.
        channel: usize,
    },
    /// Lets equals go first.
    Yield,
    /// Starts another thread.
    Spawn(usize),
    /// Changes its own class.
    SetClass(Class),
    /// Ends every other thread of a job.
    Teardown(usize),
}

impl Op {
    /// The nanoseconds that it states.
    fn time(&self) -> Option<u64> {
        match *self {
            Self::Run(ns) | Self::Section(ns) | Self::Sleep(ns) => Some(ns),
            Self::Block { patience, .. } => patience,
            _ => None,
        }
    }

    /// Whether the thread keeps the CPU, or leaves it, for some time.
    pub(super) fn takes_time(self) -> bool {
        matches!(self, Self::Run(1..) | Self::Section(1..) | Self::Block { .. } | Self::Sleep(1..))
    }
}

/// A job.
#[derive(Clone, Debug)]
pub struct JobSpec {
    /// Its name; without spaces, at which importers cut.
    pub name: String,
    /// The weight of all its threads together.
    pub weight: u64,
}

/// A thread.
#[derive(Clone, Debug)]
pub struct ThreadSpec {
    /// Its name.
    pub name: String,
    /// Its job.
    pub job: usize,
    /// How it begins.
    pub class: Class,
    /// Where it may run.
    pub mask: CpuMask,
    /// Where it begins.
    pub cpu: usize,
    /// Whether it is there from the start; otherwise another one starts it.
    pub started: bool,
    /// What it does, over and over.
    pub script: Vec<Op>,
    /// How often it goes through its script before it ends.
    pub rounds: u64,
}

/// Something outside that posts to a channel now and then.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    /// The channel.
    pub channel: usize,
    /// The CPU that it interrupts.
    pub cpu: usize,
    /// The first time, in nanoseconds.
    pub first: u64,
    /// Nanoseconds between two.
    pub period: u64,
    /// How often.
    pub count: u64,
}

/// Everything a machine runs.
#[derive(Clone, Debug)]
pub struct Workload {
    /// CPUs, numbered from 0.
    pub cpus: usize,
    /// Nanoseconds of a request, at both levels.
    pub slice: u64,
    /// The longest time between two looks at the run queue, in nanoseconds.
    pub quantum: u64,
    /// Nanoseconds that a message between CPUs takes; at least 2, so that what it tells of can be
    /// shown one nanosecond before it arrives.
    pub latency: u64,
    /// Nanoseconds from asking a channel in vain to having left the CPU.
    pub park: u64,
    /// Channels, numbered from 0.
    pub channels: usize,
    /// Jobs.
    pub jobs: Vec<JobSpec>,
    /// Threads.
    pub threads: Vec<ThreadSpec>,
    /// Devices.
    pub devices: Vec<Device>,
    /// When it ends, in nanoseconds.
    pub until: u64,
}

impl Workload {
    /// A machine of `cpus` CPUs with nothing to do until `until`.
    pub fn new(cpus: usize, until: u64) -> Self {
        Self {
            cpus,
            slice: 3_000_000,
            quantum: 1_000_000,
            latency: 1_000,
            park: 1_000,
            channels: 0,
            jobs: Vec::new(),
            threads: Vec::new(),
            devices: Vec::new(),
            until,
        }
    }

    /// Adds a job of the unit weight.
    pub fn job(&mut self, name: &str) -> usize {
        self.jobs.push(JobSpec { name: name.to_owned(), weight: clockweave_runqueue::UNIT_WEIGHT });
        self.jobs.len() - 1
    }

    /// Adds a fair thread that may run everywhere and is there from the start; the last one added may be changed.
    pub fn thread(&mut self, name: &str, job: usize, cpu: usize, script: &[Op]) -> &mut ThreadSpec {
        let mask = CpuMask::first(self.cpus);
        let (name, script) = (name.to_owned(), script.to_vec());
        let spec =
            ThreadSpec { name, job, class: Class::Fair, mask, cpu, started: true, script, rounds: u64::MAX };
        self.threads.push(spec);
        self.threads.last_mut().expect("one was added")
    }

    /// Adds a channel.
    pub fn channel(&mut self) -> usize {
        self.channels += 1;
        self.channels - 1
    }

    fn ops(&self) -> impl Iterator<Item = &Op> {
        self.threads.iter().flat_map(|thread| &thread.script)
    }

    /// A channel, thread, job or CPU that something names and that is not there.
    fn reference_fault(&self) -> Option<String> {
        for op in self.ops() {
            let (what, number, count) = match *op {
                Op::Block { channel, .. } | Op::Wake { channel, .. } | Op::Lend { channel } => {
                    ("channel", channel, self.channels)
                }
                Op::Spawn(thread) => ("thread", thread, self.threads.len()),
                Op::Teardown(job) => ("job", job, self.jobs.len()),
                _ => continue,
            };
            if number >= count {
                return Some(format!("a script: found {what} {number} of {count}"));
            }
        }
        self.devices.iter().find_map(|device| {
            let fits = device.channel < self.channels && device.cpu < self.cpus;
            (!fits).then(|| {
                let (channel, cpu) = (device.channel, device.cpu);
                format!(
                    "a device: found channel {channel} of {} and CPU {cpu} of {}",
                    self.channels, self.cpus
                )
            })
        })
    }

    /// The longest section in which a CPU makes no pass, in nanoseconds.
    pub fn longest_section(&self) -> u64 {
        let sections = self.ops().map(|op| if let Op::Section(ns) = op { *ns } else { 0 });
        sections.max().unwrap_or(0).max(self.park)
    }

    /// The longest time in nanoseconds that a ready thread waits: everybody's turn before it, at the least share there
    /// is, and one more for the balance; at most 2^63 - 1, which is the most that a trace's reader counts to.
    pub fn patience(&self) -> u64 {
        let weights = || self.jobs.iter().map(|job| job.weight);
        let (most, least) = (weights().max().unwrap_or(1), weights().min().unwrap_or(1));
        let messages = self.latency.saturating_mul(2);
        let turn = self.slice.saturating_add(self.quantum).saturating_add(self.longest_section());
        let turn = turn.saturating_add(messages);
        turn.saturating_mul(self.threads.len() as u64 + 1)
            .saturating_mul(most.div_ceil(least.max(1)))
            .min(i64::MAX as u64)
    }

    /// Differences of service that lags within one request at each level, and a turn, allow where everyone computes all
    /// the time; those of jobs add up over the CPUs.
    pub(super) fn allowed_spread(&self) -> Spread {
        let threads = 2 * (self.slice + self.quantum + self.longest_section());
        Spread { jobs: threads * self.cpus as u64, threads }
    }

    /// Whether every thread computes all the time on one CPU, which makes every lag a matter of service alone.
    pub(super) fn is_steady(&self) -> bool {
        self.threads.iter().all(|spec| {
            let computes = spec.script.iter().all(|op| matches!(op, Op::Run(_)));
            computes
                && spec.started
                && spec.rounds == u64::MAX
                && spec.mask.count() == 1
                && spec.class == Class::Fair
        })
    }

    /// What is wrong with it, if anything is.
    pub(super) fn fault(&self) -> Option<String> {
        if self.cpus == 0 || self.cpus > clockweave_runqueue::MAX_CPUS {
            return Some(format!(
                "found {} CPUs, expected 1 to {}",
                self.cpus,
                clockweave_runqueue::MAX_CPUS
            ));
        }
        if self.latency < 2 || self.slice == 0 || self.quantum == 0 {
            return Some("found a latency below 2 ns, or a slice or quantum of 0 ns".to_owned());
        }
        let times = [self.latency, self.slice, self.quantum, self.park];
        if let Some(found) = times.into_iter().chain(self.ops().filter_map(Op::time)).find(|ns| *ns > MOST_NS)
        {
            return Some(format!("found a time of {found} ns, expected at most {MOST_NS}"));
        }
        if let Some(found) = self.devices.iter().flat_map(|it| [it.first, it.period]).find(|ns| *ns > MOST_NS)
        {
            return Some(format!("found a device's time of {found} ns, expected at most {MOST_NS}"));
        }
        for (what, found) in
            [("jobs", self.jobs.len()), ("threads", self.threads.len()), ("channels", self.channels)]
        {
            if found >= MOST_THREADS {
                return Some(format!("found {found} {what}, expected less than {MOST_THREADS}"));
            }
        }
        let names =
            self.jobs.iter().map(|job| &job.name).chain(self.threads.iter().map(|thread| &thread.name));
        if let Some(name) = names.into_iter().find(|name| !check_printable(name, 64) || name.contains(' ')) {
            let shown: String = name.chars().take(64).collect();
            return Some(format!(
                "found the name {shown:?}, expected 1 to 64 printable characters without spaces"
            ));
        }
        if let Some(fault) = self.reference_fault() {
            return Some(fault);
        }
        self.threads.iter().find_map(|thread| {
            let (name, cpus) = (&thread.name, self.cpus);
            let fault = if thread.job >= self.jobs.len() {
                format!("job {} of {}", thread.job, self.jobs.len())
            } else if thread.cpu >= cpus || !thread.mask.contains(thread.cpu) {
                format!("a start on CPU {}, where it may not run", thread.cpu)
            } else if thread.mask.iter().any(|cpu| cpu >= cpus) {
                format!("CPU {:?} of {cpus}", thread.mask)
            } else if !thread.script.iter().any(|op| op.takes_time()) {
                "a script that takes no time".to_owned()
            } else {
                return None;
            };
            Some(format!("thread {name}: found {fault}"))
        })
    }
}
