//! The built-in scenarios do what their descriptions say.

use clockweave_simulator::models::{Forwarder, Sink, Source};
use clockweave_simulator::scenario::{
    Limit, RunSummary, Scenario, builtin, builtins, closest_builtin, models,
};
use clockweave_simulator::{ExactTime, RunStatus, Simulation, StopReason, TerminationReason};

fn scenario(name: &str) -> Scenario {
    Scenario::parse(&builtin(name).unwrap(), name).unwrap()
}

fn run(scenario: &Scenario) -> (Simulation, RunSummary) {
    let mut sim = scenario.build(None).unwrap();
    let summary = scenario.run(&mut sim, |_| {}).unwrap();
    (sim, summary)
}

#[test]
fn every_one_has_its_name_and_a_limit() {
    for known in builtins() {
        let scenario = scenario(known.name);
        assert_eq!(scenario.run_id(), known.name);
        let limit = match known.name.starts_with("runqueue") {
            true => Limit::Time(ExactTime::from_ns(100_000_000).unwrap()),
            false => Limit::Batches(100_000),
        };
        assert_eq!(scenario.limit(), &limit, "{}", known.name);
        assert!(!known.summary.is_empty());
    }
    assert!(builtin("nothing").is_none());
}

#[test]
fn three_clocks_passes_one_hundred_packets_and_stops() {
    let (sim, summary) = run(&scenario("three-clocks"));
    let termination = summary.termination.as_ref().unwrap();
    assert_eq!(summary.status, RunStatus::Stopped);
    assert_eq!((termination.domain_id, termination.unit.as_deref()), (3, Some("dram")));
    assert_eq!(termination.reason, TerminationReason::Unit(StopReason::Completed));
    assert_eq!(termination.message, "100 packets taken");
    // A margin of 0: nothing runs after the batch of the request, whose edge takes packets.
    assert_eq!(termination.requested_at, termination.settled_at);
    assert_eq!(termination.cycle % 5, 0);
    // Packets leave the last FIFO at one in 5 cycles at best.
    assert!(termination.cycle >= 495, "{}", termination.cycle);
    assert_eq!(summary.drained, Some(true));

    let state = sim.inspect().unwrap();
    assert_eq!(state.unit::<Source>("sm").unwrap().sent(), 100);
    let lts = state.unit::<Forwarder>("lts").unwrap();
    assert_eq!((lts.forwarded(), lts.held()), (100, None));
    let dram = state.unit::<Sink>("dram").unwrap();
    assert_eq!(dram.received(), 100);
    let last = dram.last().unwrap();
    assert_eq!((last.transaction_id, last.data), (100, 100));
    let checksum = (1..=100u64).fold(0u64, |sum, n| (sum ^ n).wrapping_mul(0x100000001b3));
    assert_eq!(dram.checksum(), checksum);
    for (id, depth) in [(1, 8), (2, 4)] {
        let fifo = state.fifo(id).unwrap();
        assert_eq!((fifo.writes, fifo.reads, fifo.depth), (100, 100, depth));
        assert!(!fifo.full && fifo.empty);
    }
}

#[test]
fn a_faster_reader_never_lets_the_fifo_fill() {
    let (sim, summary) = run(&scenario("fifo"));
    assert_eq!((summary.batches, summary.status), (100_000, RunStatus::Finished));
    assert_eq!((summary.drained, summary.termination), (None, None));
    let state = sim.inspect().unwrap();
    // The batches are the edges of both clocks: no two coincide, 137 ps being no multiple of what
    // their periods differ by.
    let (write, read) = (state.domain_cycles("sm").unwrap(), state.domain_cycles("lts").unwrap());
    assert_eq!(write + read, 100_000);
    assert_eq!(state.unit::<Source>("producer").unwrap().sent(), write);
    assert_eq!(state.fifo_refusals(1), Some(0));
    let received = state.unit::<Sink>("consumer").unwrap().received();
    assert!(write - received < 16, "{write} sent, {received} received");
}

#[test]
fn a_slower_reader_makes_the_source_wait() {
    let (sim, _) = run(&scenario("fifo-swapped"));
    let state = sim.inspect().unwrap();
    let (write, read) = (state.domain_cycles("lts").unwrap(), state.domain_cycles("sm").unwrap());
    let source = state.unit::<Source>("producer").unwrap();
    assert_eq!(source.sent() + state.fifo_refusals(1).unwrap(), write);
    // After the first packet has arrived the reader takes one on every edge.
    let received = state.unit::<Sink>("consumer").unwrap().received();
    assert!(read - received < 10, "{read} edges, {received} received");
}

#[test]
fn names_that_describe_pairs_are_canonical() {
    for name in ["p4-d2-w4000-s1", "p0-d0-w0-s0", "p1-d64-w18446744073709551615-s1"] {
        assert!(builtin(name).unwrap().contains(&format!("run_id = \"{name}\"\n")), "{name}");
    }
    for name in
        ["p4-d2-w4000", "p4-d2-w4000-s1-", "p04-d2-w1-s1", "p+4-d2-w1-s1", "4-d2-w1-s1", "d2-p4-w1-s1"]
    {
        assert!(builtin(name).is_none(), "{name}");
    }
    assert_eq!(closest_builtin("tree-clocks"), Some("three-clocks"));
    assert_eq!(closest_builtin("something else"), None);
}

#[test]
fn every_model_and_parameter_is_documented() {
    let docs = include_str!("../../src/scenario/mod.rs");
    for model in models() {
        let row = docs.lines().find(|line| line.starts_with(&format!("//! | `{}` |", model.name)));
        let row = row.unwrap_or_else(|| panic!("no row of {}", model.name));
        let listed = row.split(" | ").last().unwrap().trim_end_matches(" |");
        let mut listed: Vec<&str> = listed.split(", ").map(|key| key.trim_matches('`')).collect();
        let mut known: Vec<&str> = model.parameters.iter().map(|parameter| parameter.key).collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known, "{}", model.name);
        assert!(model.parameters.iter().all(|parameter| !parameter.meaning.is_empty()));
    }
}
