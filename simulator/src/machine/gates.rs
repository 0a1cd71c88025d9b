//! The one list of what exploration must find, for the tests and for the command.

use std::collections::BTreeSet;

use super::choice::Choices;
use super::explore::{Outcome, explore};
use super::latency::{Cause, Waits};
use super::laws::{Law, Reach};
use super::scenarios::{SCENARIOS, Scenario};
use super::variant::Variant;

/// Seeds of a sweep; even ones are uniform, odd ones PCT.
pub const SEEDS: u64 = 100;

/// What a machine must show over a scenario's seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// This rule is broken in some of them.
    Caught(Law),
    /// No rule is broken in any.
    Passes,
}

/// A machine to be explored, and what it must show.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// The scenario.
    pub scenario: &'static str,
    /// The machine.
    pub variant: Variant,
    /// What it must show.
    pub demand: Demand,
}

const fn caught(scenario: &'static str, variant: Variant, law: Law) -> Gate {
    Gate { scenario, variant, demand: Demand::Caught(law) }
}

const fn passes(scenario: &'static str, variant: Variant) -> Gate {
    Gate { scenario, variant, demand: Demand::Passes }
}

/// Every broken machine and both controls. The sound machine is swept over all scenarios beside them.
pub const GATES: &[Gate] = &[
    caught("lost-wake", Variant::LostWake, Law::NoLostWake),
    caught("mask-race", Variant::OldSteal, Law::ContextSaved),
    caught("teardown", Variant::MigratedCorpse, Law::KilledStays),
    caught("mask-race", Variant::IgnoredMask, Law::MaskRespected),
    caught("fairness", Variant::DoubleCharge, Law::JobsShareEqually),
    caught("fairness-two", Variant::DoubleCharge, Law::JobsShareEqually),
    caught("fairness", Variant::PerThreadShares, Law::JobsShareEqually),
    caught("fairness", Variant::LateTimer, Law::TimerInTime),
    caught("idle-race", Variant::DeafIdle, Law::NoLostWork),
    caught("real-time-latency", Variant::RealTimeLate, Law::RealTimePrompt),
    caught("park-race", Variant::EarlyWake, Law::OnePlace),
    caught("interactive", Variant::KeptEntry, Law::OnePlace),
    caught("lend-then-block", Variant::KeptLend, Law::LendBounded),
    caught("fairness", Variant::IdentityOrder, Law::ThreadsShareEqually),
    caught("fork-storm", Variant::OwnCounts, Law::CountsAgree),
    caught("real-time-latency", Variant::FreeSections, Law::TimeConserved),
    caught("teardown", Variant::StarvedCorpse, Law::AllDone),
    caught("teardown", Variant::BuriedAlive, Law::NoPanic),
    caught("lost-wake-patience", Variant::DeafTimer, Law::TimerInTime),
    passes("lost-wake", Variant::FusedCommit),
    passes("idle-race", Variant::IdentityTies),
];

/// What a sweep over seeds showed.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Steps of all runs.
    pub steps: u64,
    /// Choices of all runs.
    pub choices: u64,
    /// Runs that broke a rule.
    pub failures: u64,
    /// What the rules looked at.
    pub reach: Reach,
    /// How long threads were ready before they ran, by cause.
    pub waits: [Waits; Cause::ALL.len()],
    /// All broken rules.
    pub laws: BTreeSet<Law>,
    /// The first failing seed and its run.
    pub first: Option<(u64, Outcome)>,
}

/// Runs a scenario with each of `seeds` seeds.
pub fn sweep(scenario: &Scenario, variant: Variant, seeds: u64) -> Sweep {
    let mut sweep = Sweep {
        steps: 0,
        choices: 0,
        failures: 0,
        reach: Reach::default(),
        waits: Default::default(),
        laws: BTreeSet::new(),
        first: None,
    };
    for seed in 0..seeds {
        let choices = if seed % 2 == 0 { Choices::random(seed) } else { Choices::pct(seed) };
        let outcome = explore(scenario, variant, choices);
        sweep.steps += outcome.steps;
        sweep.reach.add_all(&outcome.reach);
        sweep.waits.iter_mut().zip(&outcome.waits).for_each(|(sum, more)| sum.add_all(more));
        sweep.choices += outcome.decisions.len() as u64;
        if !outcome.violations.is_empty() {
            sweep.failures += 1;
            sweep.laws.extend(outcome.laws());
            sweep.first.get_or_insert((seed, outcome));
        }
    }
    sweep
}

/// The widest difference of service that a sweep showed, and what it is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The rule that compares it.
    pub law: Law,
    /// Nanoseconds.
    pub widest: u64,
    /// What was recorded before.
    pub recorded: u64,
    /// What the rule allows.
    pub allowed: u64,
}

impl Share {
    /// Whether it is at most a quarter wider than what was recorded.
    pub fn is_within(&self) -> bool {
        u128::from(self.widest) * 4 <= u128::from(self.recorded) * 5
    }
}

impl Sweep {
    /// Differences of service, where the scenario lets them be compared.
    pub fn shares(&self, scenario: &Scenario) -> Vec<Share> {
        let Some(recorded) = scenario.shares else { return Vec::new() };
        let allowed = (scenario.build)().allowed_spread();
        let share = |law, recorded, allowed| Share { law, widest: self.reach.widest(law), recorded, allowed };
        vec![
            share(Law::JobsShareEqually, recorded.jobs, allowed.jobs),
            share(Law::ThreadsShareEqually, recorded.threads, allowed.threads),
        ]
    }
}

impl Gate {
    /// Its scenario.
    ///
    /// # Panics
    /// If there is none of that name.
    pub fn scenario(&self) -> &'static Scenario {
        let found = SCENARIOS.iter().find(|scenario| scenario.name == self.scenario);
        found.expect("a gate names a scenario")
    }

    /// Whether a sweep shows what it must.
    pub fn holds(&self, sweep: &Sweep) -> bool {
        match self.demand {
            Demand::Caught(law) => sweep.laws.contains(&law),
            Demand::Passes => sweep.failures == 0,
        }
    }
}
