//! What a machine that schedules threads does, as events of one unit: each kind's value is packed from small numbers.
//!
//! # Invariants
//!
//! * Unpacking what was packed gives it back, but for numbers beyond their bits: those are the nearest that fit.
//! * Any value of any kind unpacks or is refused; nothing here panics on what others wrote.
//!
//! What the numbers mean on a screen, and how a machine decides, is not known here.

use serde::{Deserialize, Serialize};

const CPU_BITS: u32 = 10;
const THREAD_BITS: u32 = 17;
const NOBODY: u64 = (1 << THREAD_BITS) - 1;

/// The most threads, jobs or channels of a machine.
pub const MOST_THREADS: usize = NOBODY as usize;
/// The most CPUs of a machine.
pub const MOST_CPUS: usize = 1 << CPU_BITS;

/// A machine as the manifest describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineEntry {
    /// The unit whose events it are.
    pub unit: String,
    /// CPUs, numbered from 0.
    pub cpus: u32,
    /// Nanoseconds of a request.
    pub slice_ns: u64,
    /// The longest turn in nanoseconds.
    pub quantum_ns: u64,
    /// Nanoseconds that a message between CPUs takes.
    pub latency_ns: u64,
    /// The longest time in nanoseconds in which a CPU decides nothing.
    pub section_ns: u64,
    /// The longest time in nanoseconds that a ready thread waits.
    pub patience_ns: u64,
    /// Whether every thread computes all the time on one CPU.
    pub steady: bool,
    /// Jobs, numbered from 0.
    pub jobs: Vec<MachineJob>,
    /// Threads, numbered from 0.
    pub threads: Vec<MachineThread>,
}

/// A job of a [`MachineEntry`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineJob {
    /// Its name.
    pub name: String,
    /// The weight of all its threads together.
    pub weight: u64,
}

/// A thread of a [`MachineEntry`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineThread {
    /// Its name.
    pub name: String,
    /// Its job.
    pub job: u32,
    /// Where it may run.
    pub cpus: Vec<u32>,
}

/// How a thread was left that stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// It lets others go first.
    Yielded = 0,
    /// It waits.
    Waiting = 1,
    /// It ended.
    Ended = 2,
    /// Another one goes first.
    Preempted = 3,
}

/// A kind of scheduling event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SchedKind {
    /// A CPU turns to another thread, or to none.
    Switch,
    /// A waiting thread is made ready.
    Waking,
    /// A thread is started.
    Start,
    /// A ready thread goes to another CPU.
    Migrate,
    /// An ended thread is forgotten.
    Free,
    /// A channel got a post.
    Post,
    /// The virtual deadline of the [`SchedKind::Pick`] that follows, in ns at the unit weight.
    Deadline,
    /// The sequence number of the [`SchedKind::Pick`] that follows.
    Sequence,
    /// A fair thread was chosen.
    Pick,
    /// A thread's lag within its group.
    Lag,
    /// A group's lag on its CPU.
    GroupLag,
    /// The sum of the weights of a CPU's groups.
    Weight,
    /// Ready threads of a CPU.
    Ready,
    /// Nanoseconds until a CPU's choice can change by itself.
    Decision,
    /// The weight of the group of the [`SchedKind::Group`] that follows.
    Share,
    /// A group was formed or has another share of its job.
    Group,
    /// A group was dissolved.
    Dissolve,
}

impl SchedKind {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::Switch,
        Self::Waking,
        Self::Start,
        Self::Migrate,
        Self::Free,
        Self::Post,
        Self::Deadline,
        Self::Sequence,
        Self::Pick,
        Self::Lag,
        Self::GroupLag,
        Self::Weight,
        Self::Ready,
        Self::Decision,
        Self::Share,
        Self::Group,
        Self::Dissolve,
    ];

    /// Its name as an event kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Switch => "sched.switch",
            Self::Waking => "sched.waking",
            Self::Start => "sched.start",
            Self::Migrate => "sched.migrate",
            Self::Free => "sched.free",
            Self::Post => "sched.post",
            Self::Deadline => "sched.deadline",
            Self::Sequence => "sched.sequence",
            Self::Pick => "sched.pick",
            Self::Lag => "sched.lag",
            Self::GroupLag => "sched.group_lag",
            Self::Weight => "sched.weight",
            Self::Ready => "sched.ready",
            Self::Decision => "sched.decision",
            Self::Share => "sched.share",
            Self::Group => "sched.group",
            Self::Dissolve => "sched.dissolve",
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A scheduling event. Threads, jobs, channels and CPUs are numbers from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are named for what they are; each variant says the rest")]
pub enum SchedRecord {
    /// `from` ran, `to` runs now; nobody is the idle thread.
    Switch { cpu: u32, from: Option<u32>, left: Left, to: Option<u32>, real_time: bool },
    /// `thread` goes to the queue of `target`; `by` nobody: a device or a timer.
    Waking { cpu: u32, thread: u32, by: Option<u32>, target: u32 },
    /// The same of a new thread; `by` nobody: it was there from the start.
    Start { cpu: u32, thread: u32, by: Option<u32>, target: u32 },
    /// `thread` goes from the queue of `cpu` to that of `target`.
    Migrate { cpu: u32, thread: u32, target: u32 },
    /// `thread` is forgotten.
    Free { cpu: u32, thread: u32 },
    /// `by` nobody: a device.
    Post { cpu: u32, channel: u32, by: Option<u32> },
    /// In ns of virtual time at the unit weight.
    Deadline { ns: i64 },
    /// What decides between equal deadlines.
    Sequence { number: u64 },
    /// `eligible` threads of its group were eligible.
    Pick { cpu: u32, thread: u32, eligible: u32 },
    /// In ns, rounded down; owed to the thread if positive. 47 bits.
    Lag { thread: u32, ns: i64 },
    /// In ns, rounded down; owed to the group if positive. 37 bits.
    GroupLag { cpu: u32, job: u32, ns: i64 },
    /// 54 bits.
    Weight { cpu: u32, weight: u64 },
    /// Ready threads, without the running one.
    Ready { cpu: u32, threads: u64 },
    /// 0 while idle or in real time. 54 bits.
    Decision { cpu: u32, ns: u64 },
    /// 54 bits.
    Share { cpu: u32, weight: u64 },
    /// Runnable threads of the job: here, and on all CPUs.
    Group { cpu: u32, job: u32, here: u32, all: u32 },
    /// The job has no thread on the CPU any more.
    Dissolve { cpu: u32, job: u32 },
}

/// Numbers behind one another, the first in the lowest bits.
#[derive(Default)]
struct Packed {
    value: u64,
    at: u32,
}

impl Packed {
    fn put(mut self, value: u64, bits: u32) -> Self {
        self.value |= value.min(u64::MAX >> (64 - bits)) << self.at;
        self.at += bits;
        self
    }

    fn cpu(self, cpu: u32) -> Self {
        self.put(cpu.into(), CPU_BITS)
    }

    fn thread(self, thread: u32) -> Self {
        self.put(u64::from(thread).min(NOBODY - 1), THREAD_BITS)
    }

    fn anybody(self, thread: Option<u32>) -> Self {
        match thread {
            Some(thread) => self.thread(thread),
            None => self.put(NOBODY, THREAD_BITS),
        }
    }

    /// What is left of the bits, in two's complement.
    fn rest(self, value: i64) -> u64 {
        let bits = 64 - self.at;
        let most = i64::MAX >> (64 - bits);
        self.value | (value.clamp(-most - 1, most).cast_unsigned() << self.at)
    }
}

/// The other way.
struct Unpacked(u64);

impl Unpacked {
    fn take(&mut self, bits: u32) -> u64 {
        let value = self.0 & (u64::MAX >> (64 - bits));
        self.0 >>= bits;
        value
    }

    fn cpu(&mut self) -> u32 {
        self.take(CPU_BITS) as u32
    }

    fn thread(&mut self) -> u32 {
        self.take(THREAD_BITS) as u32
    }

    fn anybody(&mut self) -> Option<u32> {
        let thread = self.thread();
        (u64::from(thread) != NOBODY).then_some(thread)
    }
}

impl SchedRecord {
    /// Kind and value.
    pub fn pack(self) -> (SchedKind, u64) {
        let packed = Packed::default();
        match self {
            Self::Switch { cpu, from, left, to, real_time } => {
                let packed = packed.cpu(cpu).anybody(from).anybody(to).put(left as u64, 2);
                (SchedKind::Switch, packed.put(real_time.into(), 1).value)
            }
            Self::Waking { cpu, thread, by, target } => {
                (SchedKind::Waking, packed.cpu(cpu).thread(thread).anybody(by).cpu(target).value)
            }
            Self::Start { cpu, thread, by, target } => {
                (SchedKind::Start, packed.cpu(cpu).thread(thread).anybody(by).cpu(target).value)
            }
            Self::Migrate { cpu, thread, target } => {
                (SchedKind::Migrate, packed.cpu(cpu).thread(thread).cpu(target).value)
            }
            Self::Free { cpu, thread } => (SchedKind::Free, packed.cpu(cpu).thread(thread).value),
            Self::Post { cpu, channel, by } => {
                (SchedKind::Post, packed.cpu(cpu).thread(channel).anybody(by).value)
            }
            Self::Deadline { ns } => (SchedKind::Deadline, ns.cast_unsigned()),
            Self::Sequence { number } => (SchedKind::Sequence, number),
            Self::Pick { cpu, thread, eligible } => {
                (SchedKind::Pick, packed.cpu(cpu).thread(thread).thread(eligible).value)
            }
            Self::Lag { thread, ns } => (SchedKind::Lag, packed.thread(thread).rest(ns)),
            Self::GroupLag { cpu, job, ns } => (SchedKind::GroupLag, packed.cpu(cpu).thread(job).rest(ns)),
            Self::Weight { cpu, weight } => (SchedKind::Weight, packed.cpu(cpu).put(weight, 54).value),
            Self::Ready { cpu, threads } => (SchedKind::Ready, packed.cpu(cpu).put(threads, 54).value),
            Self::Decision { cpu, ns } => (SchedKind::Decision, packed.cpu(cpu).put(ns, 54).value),
            Self::Share { cpu, weight } => (SchedKind::Share, packed.cpu(cpu).put(weight, 54).value),
            Self::Group { cpu, job, here, all } => {
                (SchedKind::Group, packed.cpu(cpu).thread(job).thread(here).thread(all).value)
            }
            Self::Dissolve { cpu, job } => (SchedKind::Dissolve, packed.cpu(cpu).thread(job).value),
        }
    }

    /// The event of a kind and a value; bits that the kind does not use are ignored.
    pub fn unpack(kind: SchedKind, value: u64) -> Self {
        let mut packed = Unpacked(value);
        let it = &mut packed;
        match kind {
            SchedKind::Switch => {
                let (cpu, from, to) = (it.cpu(), it.anybody(), it.anybody());
                let left = match it.take(2) {
                    0 => Left::Yielded,
                    1 => Left::Waiting,
                    2 => Left::Ended,
                    _ => Left::Preempted,
                };
                Self::Switch { cpu, from, left, to, real_time: it.take(1) == 1 }
            }
            SchedKind::Waking => {
                Self::Waking { cpu: it.cpu(), thread: it.thread(), by: it.anybody(), target: it.cpu() }
            }
            SchedKind::Start => {
                Self::Start { cpu: it.cpu(), thread: it.thread(), by: it.anybody(), target: it.cpu() }
            }
            SchedKind::Migrate => Self::Migrate { cpu: it.cpu(), thread: it.thread(), target: it.cpu() },
            SchedKind::Free => Self::Free { cpu: it.cpu(), thread: it.thread() },
            SchedKind::Post => Self::Post { cpu: it.cpu(), channel: it.thread(), by: it.anybody() },
            SchedKind::Deadline => Self::Deadline { ns: value.cast_signed() },
            SchedKind::Sequence => Self::Sequence { number: value },
            SchedKind::Pick => Self::Pick { cpu: it.cpu(), thread: it.thread(), eligible: it.thread() },
            SchedKind::Lag => Self::Lag { thread: it.thread(), ns: value.cast_signed() >> THREAD_BITS },
            SchedKind::GroupLag => Self::GroupLag {
                cpu: it.cpu(),
                job: it.thread(),
                ns: value.cast_signed() >> (CPU_BITS + THREAD_BITS),
            },
            SchedKind::Weight => Self::Weight { cpu: it.cpu(), weight: it.take(54) },
            SchedKind::Ready => Self::Ready { cpu: it.cpu(), threads: it.take(54) },
            SchedKind::Decision => Self::Decision { cpu: it.cpu(), ns: it.take(54) },
            SchedKind::Share => Self::Share { cpu: it.cpu(), weight: it.take(54) },
            SchedKind::Group => {
                Self::Group { cpu: it.cpu(), job: it.thread(), here: it.thread(), all: it.thread() }
            }
            SchedKind::Dissolve => Self::Dissolve { cpu: it.cpu(), job: it.thread() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_is_unpacked() {
        let (cpu, thread, job, target) = (1023, 131_070, 5, 1);
        let records = [
            SchedRecord::Switch { cpu, from: None, left: Left::Yielded, to: Some(thread), real_time: true },
            SchedRecord::Switch { cpu, from: Some(0), left: Left::Ended, to: None, real_time: false },
            SchedRecord::Waking { cpu, thread, by: Some(7), target },
            SchedRecord::Start { cpu, thread, by: None, target },
            SchedRecord::Migrate { cpu, thread, target },
            SchedRecord::Free { cpu, thread },
            SchedRecord::Post { cpu, channel: 3, by: None },
            SchedRecord::Deadline { ns: i64::MIN },
            SchedRecord::Sequence { number: u64::MAX },
            SchedRecord::Pick { cpu, thread, eligible: 4 },
            SchedRecord::Lag { thread, ns: -1 },
            SchedRecord::Lag { thread: 1, ns: 70_368_744_177_663 },
            SchedRecord::GroupLag { cpu, job, ns: -68_719_476_736 },
            SchedRecord::Weight { cpu, weight: (1 << 54) - 1 },
            SchedRecord::Ready { cpu, threads: 9 },
            SchedRecord::Decision { cpu, ns: 0 },
            SchedRecord::Share { cpu, weight: 1 },
            SchedRecord::Group { cpu, job, here: 2, all: 3 },
            SchedRecord::Dissolve { cpu, job },
        ];
        for record in records {
            let (kind, value) = record.pack();
            assert_eq!(SchedRecord::unpack(kind, value), record);
        }
        for (number, kind) in (0..).zip(SchedKind::ALL) {
            assert_eq!((kind as usize, SchedKind::named(kind.name())), (number, Some(kind)));
        }
    }

    #[test]
    fn numbers_are_where_the_documentation_says() {
        // CPU in bits 0 to 9, threads of 17 bits behind it.
        let waking = SchedRecord::Waking { cpu: 3, thread: 2, by: Some(1), target: 4 };
        assert_eq!(waking.pack().1, 3 | 2 << 10 | 1 << 27 | 4 << 44);
        assert_eq!(SchedRecord::Lag { thread: 1, ns: -1 }.pack().1, u64::MAX << 17 | 1);
    }

    #[test]
    fn numbers_that_do_not_fit_are_the_nearest_that_do() {
        let value = |record: SchedRecord| {
            let (kind, value) = record.pack();
            SchedRecord::unpack(kind, value)
        };
        let far = value(SchedRecord::Lag { thread: 1, ns: i64::MIN });
        assert_eq!(far, SchedRecord::Lag { thread: 1, ns: -(1 << 46) });
        let heavy = value(SchedRecord::Weight { cpu: 1, weight: u64::MAX });
        assert_eq!(heavy, SchedRecord::Weight { cpu: 1, weight: (1 << 54) - 1 });
    }
}
