//! Running a scenario: its limit, draining, progress and stops.

use clockweave_model::ExactTime;
use clockweave_simulator::scenario::{Limit, Progress, RunSummary, Scenario, builtin};
use clockweave_simulator::{RunStatus, Simulation, TerminationReason};

fn fifo(overrides: &[&str]) -> Scenario {
    Scenario::with_overrides(&builtin("fifo").unwrap(), "fifo", overrides.iter().copied()).unwrap()
}

fn run(scenario: &Scenario) -> (Simulation, RunSummary, Vec<Progress>) {
    let mut sim = scenario.build(None).unwrap();
    let mut reports = Vec::new();
    let summary = scenario.run(&mut sim, |progress| reports.push(*progress)).unwrap();
    (sim, summary, reports)
}

#[test]
fn the_limit_is_batches_time_or_cycles() {
    let (_, summary, reports) = run(&fifo(&["run.batches=123"]));
    assert_eq!(summary.batches, 123);
    assert_eq!(reports.iter().map(|report| (report.done, report.total)).collect::<Vec<_>>(), [(123, 123)]);

    // Edges before 1 us: 914 of the 914 MHz clock; 1326 MHz with 137 ps: floor(0.999863e-6 * f) + 1.
    let scenario = fifo(&["run.time=1us"]);
    assert_eq!(scenario.limit(), &Limit::Time(ExactTime::from_ns(1000).unwrap()));
    let (sim, summary, _) = run(&scenario);
    let state = sim.inspect().unwrap();
    assert_eq!((state.domain_cycles("sm"), state.domain_cycles("lts")), (Some(914), Some(1326)));
    assert_eq!((summary.batches, summary.status), (2240, RunStatus::Finished));
    assert_eq!(summary.time.floor_ns(), 999);

    let (sim, _, _) = run(&fifo(&["run.cycles.lts=77"]));
    assert_eq!(sim.inspect().unwrap().domain_cycles("lts"), Some(77));
}

#[test]
fn nothing_to_run_is_fine() {
    for limit in ["run.batches=0", "run.time=0", "run.cycles.sm=0"] {
        let (_, summary, reports) = run(&fifo(&[limit]));
        assert_eq!((summary.batches, summary.time), (0, ExactTime::ZERO), "{limit}");
        assert_eq!(reports.len(), 1);
    }
}

#[test]
fn segments_change_nothing_but_the_reports() {
    for limit in ["run.batches=5000", "run.time=3us", "run.cycles.lts=3000"] {
        let (whole, summary, _) = run(&fifo(&[limit]));
        let (cut, segmented, reports) = run(&fifo(&[limit, "run.segment=137"]));
        assert_eq!(segmented, summary);
        assert!(reports.len() as u64 == reports[0].total.div_ceil(137), "{limit}: {}", reports.len());
        assert!(reports.windows(2).all(|pair| pair[0].done < pair[1].done));
        assert_eq!(
            format!("{:?}", cut.inspect().unwrap().fifo(1)),
            format!("{:?}", whole.inspect().unwrap().fifo(1))
        );
    }
}

#[test]
fn long_runs_report_often_enough() {
    let (_, _, reports) = run(&fifo(&["run.batches=200000"]));
    assert_eq!(reports.len(), 4);
    assert_eq!(reports[3].batches, 200_000);
}

#[test]
fn draining_gives_up_after_its_batches() {
    let (_, summary, _) = run(&fifo(&["run.batches=1000", "run.drain=50"]));
    // The source never pauses, so the FIFO is never at rest.
    assert_eq!((summary.drained, summary.batches), (Some(false), 1050));
    let (_, summary, _) = run(&fifo(&["run.batches=1000", "run.drain=500", "units.producer.packets=10"]));
    assert_eq!(summary.drained, Some(true));
    let (_, summary, _) = run(&fifo(&["run.batches=0", "run.drain=0"]));
    assert_eq!(summary.drained, Some(true));
}

#[test]
fn a_stop_margin_lets_the_run_go_on() {
    let stop = ["units.consumer.stop_after=10", "run.batches=5000"];
    let (_, first, _) = run(&fifo(&stop));
    let (_, later, _) = run(&fifo(&[&stop[..], &["run.stop_margin=100"]].concat()));
    assert_eq!((first.status, later.status), (RunStatus::Stopped, RunStatus::Stopped));
    assert_eq!(later.batches, first.batches + 100);
    let [first, later] = [first, later].map(|summary| summary.termination.unwrap());
    assert_eq!(first.requested_at, later.requested_at);
    assert!(first.settled_at < later.settled_at);
}

#[test]
fn a_margin_ends_at_the_limit() {
    let (_, first, _) = run(&fifo(&["units.consumer.stop_after=10"]));
    let stop = ["units.consumer.stop_after=10", "run.stop_margin=1000000", "run.batches=500", "run.drain=9"];
    let (sim, summary, _) = run(&fifo(&stop));
    assert_eq!((summary.status, summary.batches, summary.drained), (RunStatus::Stopped, 509, Some(false)));
    let termination = summary.termination.unwrap();
    assert_eq!(termination.requested_at, first.termination.unwrap().requested_at);
    // Settled at the limit, before the nine batches of draining.
    let (_, plain, _) = run(&fifo(&["run.batches=500"]));
    assert_eq!(termination.settled_at, plain.time);
    assert!(sim.termination().is_none() && sim.requested_stop().is_none());
}

#[test]
fn a_stop_from_outside_is_not_drained() {
    let scenario = fifo(&["run.drain=1000"]);
    let mut sim = scenario.build(None).unwrap();
    sim.stop_handle().request("enough");
    let summary = scenario.run(&mut sim, |_| {}).unwrap();
    assert_eq!((summary.status, summary.batches, summary.drained), (RunStatus::Stopped, 0, None));
    assert_eq!(summary.termination.unwrap().reason, TerminationReason::External);
}

#[test]
fn further_requests_do_not_keep_the_fifos_from_draining() {
    // Both sinks ask for a stop; the second one while the FIFOs drain.
    let text = r#"
        run_id = "two"
        [domains.a]
        id = 1
        frequency = "1GHz"
        [domains.b]
        id = 2
        frequency = "1.1GHz"
        [units.source]
        model = "source"
        domain = "a"
        packets = 6
        [units.one]
        model = "sink"
        domain = "b"
        stop_after = 5
        [units.two]
        model = "sink"
        domain = "b"
        stop_after = 6
        [fifos.1]
        from = "source.out0"
        to = "one.in"
        [fifos.2]
        from = "source.out1"
        to = "two.in"
        [run]
        batches = 1000
        drain = 200
    "#;
    let scenario = Scenario::parse(text, "two.toml").unwrap();
    let (_, summary, _) = run(&scenario);
    assert_eq!(summary.drained, Some(true));
    assert_eq!(summary.termination.unwrap().unit.as_deref(), Some("one"));
}

#[test]
fn the_implicit_domain_serves_a_scenario_without_domains() {
    let text = "run_id = \"lone\"\ndefault_frequency = \"500MHz\"\n[units.m]\nmodel = \"compute\"\n[run]\ntime = \"1us\"\n";
    let (_, summary, _) = run(&Scenario::parse(text, "lone.toml").unwrap());
    assert_eq!(summary.batches, 500);
    let text = text.replace("default_frequency = \"500MHz\"\n", "");
    let (_, summary, _) = run(&Scenario::parse(&text, "lone.toml").unwrap());
    assert_eq!(summary.batches, 1000);
}
