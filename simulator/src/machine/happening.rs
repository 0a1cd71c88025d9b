//! What a machine did, for whoever shows it.

use clockweave_runqueue::Class;

/// Why a thread stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is still ready: another one goes first.
    Preempted,
    /// It let others go first.
    Yielded,
    /// It waits.
    Blocked,
    /// It ended.
    Ended,
}

/// Something that happened on a CPU. Threads and jobs are indices of the workload's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// Another thread runs, or none.
    Switch {
        /// Who ran, if it was not idle, and why it stopped.
        from: Option<(usize, Why)>,
        /// Who runs now, and its class.
        to: Option<(usize, Class)>,
    },
    /// A thread is woken: it goes to the queue of `target`.
    Waking {
        /// The thread.
        thread: usize,
        /// Who did it; `None` for a device or a timer.
        by: Option<usize>,
        /// Its queue.
        target: usize,
    },
    /// A thread is started: it goes to the queue of `target`.
    Spawned {
        /// The thread.
        thread: usize,
        /// Who did it; `None` at the start.
        by: Option<usize>,
        /// Its queue.
        target: usize,
    },
    /// A waiting thread moves to another CPU's queue.
    Migrated {
        /// The thread.
        thread: usize,
        /// Whose queue it was in.
        from: usize,
        /// Where it goes.
        to: usize,
    },
    /// A thread that ended is forgotten.
    Freed {
        /// The thread.
        thread: usize,
    },
    /// A channel got a post, whether anyone waited or not.
    Posted {
        /// The channel.
        channel: usize,
        /// Who did it; `None` for a device.
        by: Option<usize>,
    },
    /// A fair thread was picked.
    Picked {
        /// The thread.
        thread: usize,
        /// Its virtual deadline, in units of 2^-32 ns at the unit weight.
        deadline: i128,
        /// The number that decides between equal deadlines.
        seq: u64,
        /// Eligible threads of its group.
        eligible: usize,
    },
    /// The lag of a thread within its group, in nanoseconds, rounded down.
    Lag {
        /// The thread.
        thread: usize,
        /// Owed to it (positive) or by it.
        ns: i64,
    },
    /// The lag of a job's group on its CPU, in nanoseconds, rounded down.
    GroupLag {
        /// The job.
        job: usize,
        /// Owed to it (positive) or by it.
        ns: i64,
    },
    /// The state of a CPU's queue at the end of a pass.
    Queue {
        /// The sum of the groups' weights.
        weight: u64,
        /// Threads that are ready.
        ready: usize,
        /// Nanoseconds until the choice can change by itself; 0 while idle or in real time.
        decision: u64,
    },
    /// A job's first thread came to this CPU, or its share of the job changed.
    GroupFormed {
        /// The job.
        job: usize,
        /// The group's weight.
        weight: u64,
        /// Runnable threads of the job here.
        here: u64,
        /// Runnable threads of the job on all CPUs.
        all: u64,
    },
    /// A job's last thread left this CPU.
    GroupDissolved {
        /// The job.
        job: usize,
    },
}
