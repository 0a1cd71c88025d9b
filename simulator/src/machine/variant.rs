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
    /// A thread that is woken on its way to waiting runs where it was woken, before it has left its CPU.
    EarlyWake,
    /// A thread that waits stays in its queue.
    KeptEntry,
    /// A real-time thread runs on top of the one that it interrupts, which is never left.
    NestedRun,
    /// What is lent to a thread is never taken back.
    KeptLend,
    /// Within a job the ready thread of the lowest number always goes first.
    IdentityOrder,
    /// Every CPU counts a job's threads by itself.
    OwnCounts,
    /// The time of sections is charged to no thread.
    FreeSections,
    /// A killed thread that waits is not woken.
    StarvedCorpse,
    /// A killed thread that runs is taken out of its queue before it has ended.
    BuriedAlive,
    /// The timer is not set for those who wait.
    DeafTimer,
    /// A control: asking and leaving the CPU are one step.
    FusedCommit,
    /// A control: what is due at one time happens in order of the CPUs, whatever is chosen.
    IdentityTies,
}

impl Variant {
    /// All of them, by name.
    pub const ALL: [(&'static str, Self); 23] = [
        ("sound", Self::Sound),
        ("lost-wake", Self::LostWake),
        ("old-steal", Self::OldSteal),
        ("migrated-corpse", Self::MigratedCorpse),
        ("ignored-mask", Self::IgnoredMask),
        ("double-charge", Self::DoubleCharge),
        ("per-thread-shares", Self::PerThreadShares),
        ("late-timer", Self::LateTimer),
        ("deaf-idle", Self::DeafIdle),
        ("real-time-late", Self::RealTimeLate),
        ("first-come-first-served", Self::FirstComeFirstServed),
        ("early-wake", Self::EarlyWake),
        ("kept-entry", Self::KeptEntry),
        ("nested-run", Self::NestedRun),
        ("kept-lend", Self::KeptLend),
        ("identity-order", Self::IdentityOrder),
        ("own-counts", Self::OwnCounts),
        ("free-sections", Self::FreeSections),
        ("starved-corpse", Self::StarvedCorpse),
        ("buried-alive", Self::BuriedAlive),
        ("deaf-timer", Self::DeafTimer),
        ("fused-commit", Self::FusedCommit),
        ("identity-ties", Self::IdentityTies),
    ];

    /// Its name in reports, scenarios and corpus files.
    pub fn name(self) -> &'static str {
        let known = Self::ALL.iter().find(|(_, variant)| *variant == self);
        known.map_or("", |(name, _)| name)
    }

    /// The variant of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, variant)| *variant)
    }
}
