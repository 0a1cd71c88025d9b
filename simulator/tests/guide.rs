//! The guide's code is the example's, and the example does what the guide says.

#[allow(dead_code, reason = "the example's own entry is not called")]
#[path = "../examples/gpu_memory.rs"]
mod example;

use clockweave_simulator::models::Sink;
use clockweave_simulator::scenario::Scenario;
use clockweave_simulator::{StopReason, TerminationReason};

const GUIDE: &str = include_str!("../../docs/guide-simulation.md");
const EXAMPLE: &str = include_str!("../examples/gpu_memory.rs");

/// The guide's blocks of one language.
fn blocks(language: &str) -> Vec<&'static str> {
    let opening = format!("```{language}\n");
    GUIDE.split(&opening).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_guide_quotes_the_example() {
    let quoted = blocks("rust");
    assert!(quoted.len() >= 10);
    for block in quoted {
        assert!(EXAMPLE.contains(block), "the example has no such lines:\n{block}");
    }
}

#[test]
fn the_example_prints_what_the_guide_shows() {
    let dir = tempfile::tempdir().unwrap();
    let sim = example::run(&dir.path().join("run")).unwrap();
    let termination = sim.termination().unwrap();
    assert_eq!(termination.unit.as_deref(), Some("sm0"));
    assert_eq!(termination.reason, TerminationReason::Unit(StopReason::Completed));

    let summary = example::summary(&sim).unwrap();
    let [shown] = blocks("text")[..] else { panic!("the guide shows one output") };
    assert_eq!(shown.trim_end(), summary);
    // The words of line n are n to n + 3. The lines are the even numbers below 1000, and for odd
    // reads i the line i / 4 * 2.
    let line = |i: u64| if i.is_multiple_of(2) { i } else { i / 4 * 2 };
    let sum: u64 = (0..1000).map(|i| 4 * line(i) + 6).sum();
    assert!(summary.contains(&format!("1000 lines read, sum {sum}, ")), "{summary}");
    for file in ["timeline.pftrace", "text-domain-sm.log", "text-domain-lts.log", "text-domain-dram.log"] {
        assert!(dir.path().join("run").join(file).exists(), "{file}");
    }
}

#[test]
fn the_guides_scenario_runs() {
    let [text] = blocks("toml")[..] else { panic!("the guide shows one scenario") };
    let scenario = Scenario::parse(text, "guide-simulation.md").unwrap();
    let mut sim = scenario.build(None).unwrap();
    let summary = scenario.run(&mut sim, |_| {}).unwrap();
    assert_eq!((summary.drained, summary.termination.unwrap().unit.as_deref()), (Some(true), Some("done")));
    assert_eq!(sim.inspect().unwrap().unit::<Sink>("done").unwrap().received(), 1000);
}
