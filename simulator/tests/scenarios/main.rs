//! Scenario files: what they build, what they refuse, and how the models behave.

mod builtins;
mod generated;
mod hostile;
mod models;
mod overrides;
mod refusals;
mod running;
mod sleeping;
mod traffic;

use clockweave_simulator::Simulation;
use clockweave_simulator::scenario::Scenario;

/// A simulation of a scenario's text, without its first line and its limit.
fn build(parts: &str) -> Simulation {
    let text = format!("run_id = \"test\"\n{parts}\n[run]\nbatches = 1\n");
    Scenario::parse(&text, "test.toml").unwrap().build(None).unwrap()
}

/// A source in front of unit `m` and a sink behind it, joined by connections of delay 1; all in the
/// implicit domain, whose edges are the batches.
fn between(packets: u64, model: &str, sink: &str) -> Simulation {
    build(&format!(
        r#"
        [units.source]
        model = "source"
        packets = {packets}

        [units.m]
        {model}

        [units.sink]
        model = "sink"
        {sink}

        [[connections]]
        from = "source.out"
        to = "m.in"

        [[connections]]
        from = "m.out"
        to = "sink.in"
        "#
    ))
}
