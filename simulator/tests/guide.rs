//! The guide's code is that of the examples, and the examples do what the guide says.

#[allow(dead_code, reason = "the example's own entry is not called")]
#[path = "../examples/two_clocks.rs"]
mod first;

#[allow(dead_code, reason = "the example's own entry is not called")]
#[path = "../examples/gpu_memory.rs"]
mod example;

use clockweave_simulator::models::Sink;
use clockweave_simulator::scenario::Scenario;
use clockweave_simulator::{StopReason, TerminationReason};

const GUIDE: &str = include_str!("../../docs/guide-simulation.md");
const FIRST: &str = include_str!("../examples/two_clocks.rs");
const EXAMPLE: &str = include_str!("../examples/gpu_memory.rs");

/// The guide's blocks of one language.
fn blocks(language: &str) -> Vec<&'static str> {
    let opening = format!("```{language}\n");
    GUIDE.split(&opening).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_guide_quotes_the_examples() {
    let quoted = blocks("rust");
    assert!(quoted.len() >= 12);
    for block in quoted {
        assert!(FIRST.contains(block) || EXAMPLE.contains(block), "no example has these lines:\n{block}");
    }
    // The first one is there as a whole, but for its entry.
    let [code, run] = blocks("rust")[..2] else { panic!("the guide begins with a whole program") };
    let whole = FIRST.split_once("\n\nuse ").unwrap().1.split_once("\nfn main").unwrap().0;
    assert_eq!(format!("{code}\n{run}"), format!("use {whole}"));
}

#[test]
fn the_first_example_prints_what_the_guide_shows() {
    let dir = tempfile::tempdir().unwrap();
    let summary = first::run(&dir.path().join("run")).unwrap();
    assert_eq!(blocks("text")[0].trim_end(), summary);
    // 1 + 2 + … + 100.
    assert!(summary.starts_with("sum 5050, 100 packets crossed, "), "{summary}");
}

#[test]
fn the_example_prints_what_the_guide_shows() {
    let dir = tempfile::tempdir().unwrap();
    let sim = example::run(&dir.path().join("run")).unwrap();
    let termination = sim.termination().unwrap();
    assert_eq!(termination.unit.as_deref(), Some("sm0"));
    assert_eq!(termination.reason, TerminationReason::Unit(StopReason::Completed));

    let summary = example::summary(&sim).unwrap();
    let [_, shown] = blocks("text")[..] else { panic!("the guide shows an output of each example") };
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
