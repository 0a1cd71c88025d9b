//! The `generate` table: units, domains and FIFOs as documented, and what the shapes do.

use clockweave_simulator::models::{Compute, Sink, Source};
use clockweave_simulator::scenario::{Scenario, builtin};

fn with(name: &str, overrides: &[&str]) -> Scenario {
    Scenario::with_overrides(&builtin(name).unwrap(), name, overrides.iter().copied()).unwrap()
}

fn domains(scenario: &Scenario) -> Vec<(u32, String, String, String)> {
    let fact = |domain: &clockweave_model::ClockDomain| {
        (domain.id(), domain.name().to_owned(), domain.frequency().to_string(), domain.phase().to_string())
    };
    scenario.domains().map(fact).collect()
}

#[test]
fn clocks_follow_their_formulas() {
    let domain = |id: u32, frequency: &str, phase: &str| {
        (id, format!("clk{}", id - 1), frequency.to_owned(), phase.to_owned())
    };
    assert_eq!(
        domains(&with("pairs", &["generate.domains=6"])),
        [
            domain(1, "250 MHz", "0 s"),
            domain(2, "500 MHz", "37 ps"),
            domain(3, "1 GHz", "74 ps"),
            domain(4, "2 GHz", "111 ps"),
            domain(5, "250 MHz", "148 ps"),
            domain(6, "500 MHz", "185 ps"),
        ]
    );
    assert_eq!(
        domains(&with("shared-coincident", &[])),
        [domain(1, "250 MHz", "0 s"), domain(2, "500 MHz", "0 s")]
    );
    let coprime = domains(&with("fanin-coprime", &[]));
    assert_eq!(coprime.len(), 8);
    assert_eq!(coprime[0], domain(1, "914 MHz", "0 s"));
    assert_eq!(coprime[7], domain(8, "1173 MHz", "0 s"));
}

#[test]
fn pairs_are_spread_over_domains_and_numbered() {
    let scenario = with("p12-d4-w2-s3", &["run.cycles.clk0=100"]);
    assert_eq!(scenario.run_id(), "p12-d4-w2-s3");
    let mut sim = scenario.build(None).unwrap();
    scenario.run(&mut sim, |_| {}).unwrap();
    let state = sim.inspect().unwrap();
    // Pair p writes in domain 2p mod 4 and reads in 2p + 1 mod 4: canonical order is by domain.
    let names: Vec<&str> = state.units().collect();
    let expected: Vec<String> = (0..4u32)
        .flat_map(|domain| {
            let part = if domain % 2 == 0 { "producer" } else { "consumer" };
            (0..12).filter(move |p| p % 2 == domain / 2).map(move |p| format!("pair{p:02}.{part}"))
        })
        .collect();
    assert_eq!(names, expected);
    assert_eq!(state.domain_cycles("clk0"), Some(100));
    for pair in 0..12u32 {
        let fifo = state.fifo(pair + 1).unwrap();
        assert_eq!((fifo.depth, fifo.stages), (16, 2));
        let source = state.unit::<Source>(&format!("pair{pair:02}.producer")).unwrap();
        assert_eq!(source.sent(), fifo.writes);
        assert!(fifo.writes > 0);
        let steps = if pair == 0 { 6 } else { 2 };
        assert_eq!(source.work(), work(steps, source.ticks()), "{pair}");
    }
    assert!(state.fifo(13).is_none());
}

/// `steps` steps per tick, as documented.
fn work(steps: u64, ticks: u64) -> u64 {
    let step = |x: u64, i: u64| x.wrapping_mul(6364136223846793005).wrapping_add(i + 1);
    (0..ticks).fold(0, |x, _| (0..steps).fold(x, step))
}

#[test]
fn lanes_join_one_pair_by_several_fifos() {
    let scenario = with("shared-8", &["run.batches=3000"]);
    assert_eq!(scenario.units().len(), 8);
    let mut sim = scenario.build(None).unwrap();
    scenario.run(&mut sim, |_| {}).unwrap();
    let state = sim.inspect().unwrap();
    for pair in 0..4u32 {
        let source = state.unit::<Source>(&format!("pair{pair}.producer")).unwrap();
        let sink = state.unit::<Sink>(&format!("pair{pair}.consumer")).unwrap();
        let lanes = (8 * pair + 1..=8 * pair + 8).map(|id| state.fifo(id).unwrap());
        assert_eq!(lanes.clone().map(|lane| lane.writes).sum::<u64>(), source.sent());
        let waiting = lanes.clone().filter(|lane| lane.output.is_some()).count() as u64;
        assert_eq!(lanes.map(|lane| lane.reads).sum::<u64>() - waiting, sink.received());
        assert!(sink.received() > 8 * 100);
    }
    assert!(state.fifo(33).is_none());
}

#[test]
fn activity_thins_traffic_out() {
    let scenario = with("sparse-64", &["run.cycles.clk0=1600"]);
    let mut sim = scenario.build(None).unwrap();
    scenario.run(&mut sim, |_| {}).unwrap();
    let state = sim.inspect().unwrap();
    for pair in 0..64 {
        let source = state.unit::<Source>(&format!("pair{pair:02}.producer")).unwrap();
        assert_eq!(source.sent(), source.ticks().div_ceil(16), "{pair}");
    }
    assert_eq!(state.unit::<Source>("pair00.producer").unwrap().sent(), 100);
}

#[test]
fn a_ring_turns_without_losing_or_multiplying_packets() {
    let scenario = with("feedback", &["run.batches=20000"]);
    let mut sim = scenario.build(None).unwrap();
    scenario.run(&mut sim, |_| {}).unwrap();
    let state = sim.inspect().unwrap();
    let mut inside = 0;
    for node in 0..16u32 {
        let unit = state.unit::<Compute>(&format!("node{node:02}")).unwrap();
        let next = state.unit::<Compute>(&format!("node{:02}", (node + 1) % 16)).unwrap();
        assert!(unit.received() > 20, "node {node} received {}", unit.received());
        assert_eq!(unit.sent(), state.fifo(node + 1).unwrap().writes);
        inside += unit.sent() - next.received();
        // Beyond its token a node sends only what it received, and holds at most two.
        assert!(unit.sent() <= unit.received() + 1 && unit.sent() + 2 > unit.received());
    }
    assert!(inside <= 16);
}

#[test]
fn no_transaction_passes_a_fifo_of_a_ring_twice() {
    let scenario = with("feedback", &["run.batches=20000", "record.perfetto=false"]);
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    let mut sim = scenario.build(Some(scenario.record().options(&run, scenario.run_id()))).unwrap();
    scenario.run(&mut sim, |_| {}).unwrap();
    sim.finish().unwrap();
    let mut written = std::collections::BTreeSet::new();
    for domain in scenario.domains() {
        let log = std::fs::read_to_string(run.join(format!("text-domain-{}.log", domain.name()))).unwrap();
        let heading = log.lines().rfind(|line| line.starts_with('#')).unwrap_or_default();
        let column = |name: &str| heading.trim_start_matches("# ").split('\t').position(|c| c == name);
        let columns = ["event", "fifo_id", "transaction_id"].map(|name| column(name).unwrap());
        for line in log.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&str> = line.split('\t').collect();
            let [event, fifo, transaction] = columns.map(|column| fields[column]);
            if event == "fifo.write" {
                assert!(written.insert((fifo.to_owned(), transaction.to_owned())), "{line}");
            }
        }
    }
    assert!(written.len() > 16 * 20, "{} writes", written.len());
}

#[test]
fn a_fan_in_receives_from_every_source() {
    let scenario = with("fanin", &["run.batches=8000"]);
    let mut sim = scenario.build(None).unwrap();
    scenario.run(&mut sim, |_| {}).unwrap();
    let state = sim.inspect().unwrap();
    let sent: Vec<u64> =
        (0..16).map(|n| state.unit::<Source>(&format!("producer{n:02}")).unwrap().sent()).collect();
    assert!(sent.iter().all(|sent| *sent > 500));
    let received = state.unit::<Sink>("consumer").unwrap().received();
    let held: u64 = (1..=16).map(|id| u64::from(state.fifo(id).unwrap().occupancy) + 1).sum();
    assert!(received <= sent.iter().sum() && received + held >= sent.iter().sum());
}

#[test]
fn a_scenario_of_ten_thousand_units_is_read_and_run() {
    let mut text = String::from("run_id = \"large\"\n[domains.a]\nid = 1\nfrequency = \"1GHz\"\n");
    text += "[domains.b]\nid = 2\nfrequency = \"1.1GHz\"\n";
    for pair in 0..5000 {
        text += &format!(
            "[units.source{pair}]\nmodel = \"source\"\ndomain = \"a\"\n\
             [units.sink{pair}]\nmodel = \"sink\"\ndomain = \"b\"\n\
             [fifos.{}]\nfrom = \"source{pair}.out\"\nto = \"sink{pair}.in\"\n",
            pair + 1
        );
    }
    text += "[run]\nbatches = 100\n";
    let scenario = Scenario::parse(&text, "large.toml").unwrap();
    assert_eq!(scenario.units().len(), 10_000);
    let mut sim = scenario.build(None).unwrap();
    scenario.run(&mut sim, |_| {}).unwrap();
    assert!(sim.inspect().unwrap().unit::<Sink>("sink4999").unwrap().received() > 20);
}
