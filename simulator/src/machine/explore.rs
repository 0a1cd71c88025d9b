//! One run of a scenario with the laws held against every step, and the search for its shortest
//! failing choices.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use super::choice::Choices;
use super::events::Machine;
use super::latency::{Cause, Waits};
use super::laws::{Law, Reach, Violation};
use super::scenarios::Scenario;
use super::variant::Variant;

/// Steps after which a run that should have ended is taken not to.
const MOST_STEPS: u64 = 200_000;

/// What a run showed.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The rules broken at the first step that broke any.
    pub violations: Vec<Violation>,
    /// What was chosen.
    pub decisions: Vec<u32>,
    /// Steps taken.
    pub steps: u64,
    /// What the rules looked at.
    pub reach: Reach,
    /// How long threads were ready before they ran, by cause.
    pub waits: [Waits; Cause::ALL.len()],
}

impl Outcome {
    /// The broken rules.
    pub fn laws(&self) -> BTreeSet<Law> {
        self.violations.iter().map(|violation| violation.law).collect()
    }
}

thread_local! {
    /// Where the run of this thread failed; `None` while there is none.
    static FAILED_AT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Gives what `run` gives, or the words and place of the assertion in it that failed, which are printed nowhere.
fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let ours = FAILED_AT.with_borrow_mut(|place| {
                let place = place.as_mut()?;
                *place =
                    info.location().map_or_else(String::new, |at| format!(" ({}:{})", at.file(), at.line()));
                Some(())
            });
            if ours.is_none() {
                before(info);
            }
        }));
    });
    FAILED_AT.set(Some(String::new()));
    let ran = catch_unwind(AssertUnwindSafe(run));
    let place = FAILED_AT.take().unwrap_or_default();
    ran.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("an assertion failed");
        format!("{text}{place}")
    })
}

/// Runs a scenario up to its end or the first broken rule. An assertion that fails in the machine is a broken rule, too;
/// a panic hook, installed once, keeps quiet about those and leaves all others to the hook before it.
///
/// # Panics
/// If the scenario's workload does not fit together.
pub fn explore(scenario: &Scenario, variant: Variant, mut choices: Choices) -> Outcome {
    let mut machine = Machine::new((scenario.build)(), variant).expect("a scenario's workload fits together");
    let mut reach = Reach::default();
    let ran = caught(|| {
        while machine.step(&mut choices) {
            let broken = machine.broken(scenario.shares.is_some(), &mut reach);
            if !broken.is_empty() {
                return broken;
            }
            if machine.steps >= MOST_STEPS {
                let what = format!("the run is not over after {MOST_STEPS} steps");
                return vec![Violation { law: Law::AllDone, ns: machine.now, what }];
            }
        }
        machine.broken_at_end(scenario.finishes, &mut reach)
    });
    let violations = ran.unwrap_or_else(|what| vec![Violation { law: Law::NoPanic, ns: machine.now, what }]);
    Outcome {
        violations,
        decisions: choices.made().to_vec(),
        steps: machine.steps,
        reach,
        waits: machine.waits,
    }
}

/// Shortens failing choices: first to the shortest failing prefix, then by leaving out parts of it. What is left breaks
/// the same rules; a candidate that fails otherwise is not taken.
pub fn shrink(scenario: &Scenario, variant: Variant, outcome: &Outcome) -> Vec<u32> {
    let laws = outcome.laws();
    let fails =
        |decisions: &[u32]| explore(scenario, variant, Choices::replay(decisions.to_vec())).laws() == laws;
    let mut kept = outcome.decisions.clone();
    let (mut passing, mut failing) = (0, kept.len());
    if fails(&[]) {
        return Vec::new();
    }
    while failing - passing > 1 {
        let middle = passing + (failing - passing) / 2;
        if fails(&kept[..middle]) {
            failing = middle;
        } else {
            passing = middle;
        }
    }
    kept.truncate(failing);
    let mut size = kept.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < kept.len() {
            let end = (at + size).min(kept.len());
            let candidate = [&kept[..at], &kept[end..]].concat();
            if fails(&candidate) {
                kept = candidate;
            } else {
                at = end;
            }
        }
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
    // Choices behind the last are 0.
    while kept.last() == Some(&0) {
        kept.pop();
    }
    kept
}
