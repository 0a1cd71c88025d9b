//! Ways to break a machine, for the gates that must catch it; and two that are none.

/// How a machine differs from the sound one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// Not at all.
    #[default]
    Sound,
    /// A waiter is entered when it has left the CPU, not when it asked: a post in between is missed.
    LostWake,
    /// A thread is given away while the CPU still stands on its stack.
    OldSteal,
    /// A killed thread is given away.
    MigratedCorpse,
    /// A thread is given away to a CPU where it may not run.
    IgnoredMask,
    /// The first job's threads are charged twice.
    DoubleCharge,
    /// Every thread is a job of its own.
    PerThreadShares,
    /// The timer is set for eight quanta, whatever is decided earlier.
    LateTimer,
    /// A CPU without work does not hear of work.
    DeafIdle,
    /// A real-time thread waits for the end of the turn.
    RealTimeLate,
    /// First come, first served, without deadlines.
    FirstComeFirstServed,
    /// A control: asking and leaving the CPU are one step.
    FusedCommit,
    /// A control: what is due at one time happens in order of the CPUs, whatever is chosen.
    IdentityTies,
}
