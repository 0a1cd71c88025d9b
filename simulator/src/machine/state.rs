//! A machine's threads, CPUs and messages as they stand.

use std::collections::VecDeque;

use clockweave_runqueue::{Class, RunQueue, Standing, Task};

use super::latency::Cause;

/// Where a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not started.
    New,
    /// In the queue of a CPU.
    Ready(usize),
    /// On a CPU.
    Running(usize),
    /// On a CPU, on its way to waiting.
    Parking(usize),
    /// Waiting.
    Parked,
    /// In a message to a CPU.
    Flying(usize),
    Dead,
}

#[derive(Debug)]
pub(super) struct Thread {
    pub(super) state: State,
    /// Present while it is in no queue.
    pub(super) task: Option<Task>,
    pub(super) standing: Option<Standing>,
    pub(super) class: Class,
    /// The CPU it ran on last, where wakes send it.
    pub(super) home: usize,
    /// Step of the script, and the nanoseconds left of it.
    pub(super) op: usize,
    pub(super) left: u64,
    /// Whether the step was begun.
    pub(super) begun: bool,
    pub(super) rounds: u64,
    /// Woken before it had left the CPU.
    pub(super) claimed: bool,
    pub(super) killed: bool,
    /// Nanoseconds that it may run yet with a rank that was lent to it, and those it has run with it.
    pub(super) lent: Option<u64>,
    pub(super) borrowed: u64,
    pub(super) waits_on: Option<usize>,
    pub(super) deadline: Option<u64>,
    pub(super) cpu_time: u64,
    /// Since when it could run and does not.
    pub(super) owed_since: u64,
    /// And why.
    pub(super) owed_for: Cause,
}

/// What one CPU tells another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// A thread that was woken, started or handed over.
    Take(usize),
    /// An idle CPU asks for a thread.
    Steal,
    /// There is none.
    Refused,
    /// There is one: ask.
    Kick,
    /// Threads were killed.
    Kill,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Letter {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) message: Message,
}

#[derive(Debug)]
pub(super) struct Cpu {
    pub(super) queue: RunQueue,
    pub(super) running: Option<usize>,
    /// When the running thread was charged last.
    pub(super) since: u64,
    /// When the running thread was picked.
    pub(super) picked_at: u64,
    /// When the choice has to be looked at again.
    pub(super) due: u64,
    pub(super) timer: Option<u64>,
    pub(super) mailbox: VecDeque<Letter>,
    pub(super) busy: u64,
    /// Asked for a thread, and got no answer yet.
    pub(super) probing: bool,
    /// Told to ask, and has not yet.
    pub(super) kicked: bool,
    /// Not before this does it ask again.
    pub(super) backoff: u64,
    /// Threads it could give away, as others know it.
    pub(super) surplus: usize,
    /// Groups as they were shown last: job, weight, threads here.
    pub(super) shown: Vec<(usize, u64, u64)>,
    /// Threads that ended here and are not forgotten yet.
    pub(super) zombies: Vec<usize>,
}

impl Cpu {
    pub(super) fn new(slice: u64) -> Self {
        Self {
            queue: RunQueue::new(slice),
            running: None,
            since: 0,
            picked_at: 0,
            due: 0,
            timer: None,
            mailbox: VecDeque::new(),
            busy: 0,
            probing: false,
            kicked: false,
            backoff: 0,
            surplus: 0,
            shown: Vec::new(),
            zombies: Vec::new(),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Channel {
    pub(super) posts: u64,
    pub(super) waiters: VecDeque<usize>,
}
