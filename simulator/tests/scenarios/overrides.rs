//! Overrides of single values.

use clockweave_simulator::Compression;
use clockweave_simulator::scenario::{Limit, Place, Scenario, builtin};

const CONNECTED: &str = r#"
run_id = "connected"

[units."a.b"]
model = "source"

[units.sink]
model = "sink"

[[connections]]
from = "a.b.out"
to = "sink.in"

[run]
batches = 10
"#;

fn with(text: &str, overrides: &[&str]) -> Result<Scenario, String> {
    Scenario::with_overrides(text, "s.toml", overrides.iter().copied()).map_err(|error| error.to_string())
}

#[test]
fn values_are_toml_or_plain_text() {
    let fifo = builtin("fifo").unwrap();
    let scenario = with(
        &fifo,
        &[
            "run_id=other",
            "units.producer.pattern=burst",
            "domains.sm.frequency = 1.5GHz",
            "record.compress=\"none\"",
            "record.text=false",
            "record.checkpoint_interval=1_000",
        ],
    )
    .unwrap();
    assert_eq!(scenario.run_id(), "other");
    assert_eq!(scenario.domains().next().unwrap().frequency().to_string(), "1500 MHz");
    assert_eq!(scenario.record().compression, Compression::None);
    assert_eq!((scenario.record().text, scenario.record().perfetto), (false, true));
    assert_eq!(scenario.record().checkpoint_interval, Some(1000));
}

#[test]
fn quoted_keys_and_places_in_lists() {
    let scenario = with(CONNECTED, &["units.\"a.b\".packets=3", "connections.0.delay=4"]).unwrap();
    let mut sim = scenario.build(None).unwrap();
    scenario.run(&mut sim, |_| {}).unwrap();
    let sink = sim.inspect().unwrap().unit::<clockweave_simulator::models::Sink>("sink").unwrap().received();
    // Edges 4, 5, 6.
    assert_eq!(sink, 3);
    assert_eq!(
        with(CONNECTED, &["connections.1.delay=4"]).unwrap_err(),
        "override `connections.1.delay=4`, column 13: the place in the list is `1`; expected a number from 0 to 0"
    );
}

#[test]
fn a_limit_replaces_another_and_the_last_one_counts() {
    let fifo = builtin("fifo").unwrap();
    let limit = |overrides: &[&str]| with(&fifo, overrides).unwrap().limit().clone();
    let cycles = |domain: &str, cycles| Limit::Cycles { domain: domain.to_owned(), cycles };
    assert_eq!(limit(&["run.cycles.sm=5"]), cycles("sm", 5));
    assert_eq!(limit(&["run.cycles.sm=5", "run.cycles.lts=6"]), cycles("lts", 6));
    assert_eq!(limit(&["run.time=1ns", "run.batches=7"]), Limit::Batches(7));
    assert_eq!(limit(&["run={batches=9}"]), Limit::Batches(9));
    // A scenario without a limit may be given one.
    let without = fifo.replace("batches = 100_000", "");
    assert!(
        with(&without, &[]).unwrap_err().starts_with("s.toml:31:1: `run` has no `batches`; expected a limit")
    );
    assert_eq!(*with(&without, &["run.batches=1"]).unwrap().limit(), Limit::Batches(1));
}

#[test]
fn mistakes_are_reported_at_the_override() {
    let fifo = builtin("fifo").unwrap();
    for (text, expected) in [
        ("nonsense", "column 9: no `=`; expected KEY=VALUE, as in run.batches=1000"),
        (
            "units.producer.patern=burst",
            "column 16: unknown key `patern` in unit `producer` (model `source`); did you mean `pattern`? expected one of `model`, `domain`, `pattern`, `every`, `burst_period`, `burst_from`, `burst_to`, `seed`, `packets`, `work`, `sleep`",
        ),
        (
            "units.producer.pattern=bursts",
            "column 24: `pattern` of unit `producer` (model `source`) is \"bursts\"; expected one of \"continuous\", \"burst\", \"random\" (did you mean \"burst\"?)",
        ),
        (
            "unit.producer.pattern=burst",
            "column 1: unknown key `unit` in the scenario; did you mean `units`? expected one of `run_id`, `generate`, `default_frequency`, `domains`, `units`, `fifos`, `connections`, `record`, `run`",
        ),
        (
            "fifos.1.depth=10",
            "column 15: `depth` of FIFO 1 is 10; expected a power of two from 2 to 1073741824",
        ),
        ("run.batches=[1", "column 15: unclosed array, expected `]`"),
        ("run..batches=1", "column 5: unquoted keys cannot be empty, expected letters, numbers, `-`, `_`"),
    ] {
        let error = Scenario::with_overrides(&fifo, "fifo.toml", [text]).unwrap_err();
        assert!(matches!(&error.place, Place::Override { text: named, .. } if named == text));
        assert_eq!(error.to_string(), format!("override `{text}`, {expected}"));
    }
}
