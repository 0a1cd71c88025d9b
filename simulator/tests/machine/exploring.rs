//! Sweeps over seeds, gates, shrinking, the corpus.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clockweave_simulator::machine::{
    Cause, Choices, Corpus, Demand, Expectation, GATES, Gate, Law, Machine, Op, SCENARIOS, SEEDS, Scenario,
    Share, Spread, Variant, Workload, explore, shrink, sweep,
};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/runqueue")
}

#[test]
fn the_sound_machine_breaks_no_rule_in_any_scenario() {
    assert!(SCENARIOS.len() >= 8);
    let (mut reached, mut causes) = (BTreeSet::new(), BTreeSet::new());
    for scenario in SCENARIOS {
        let sweep = sweep(scenario, Variant::Sound, SEEDS);
        reached.extend(Law::ALL.into_iter().filter(|law| sweep.reach.of(*law) > 0));
        for (cause, waits) in Cause::ALL.into_iter().zip(sweep.waits) {
            causes.extend((waits.count > 0).then_some(cause));
            // Nobody waits longer than for everybody's turn.
            assert!(
                waits.second <= waits.longest && waits.longest <= (scenario.build)().patience(),
                "{waits:?}"
            );
        }
        assert!(sweep.shares(scenario).iter().all(Share::is_within), "{:?}", sweep.shares(scenario));
        let first = sweep.first.map(|(seed, outcome)| (seed, outcome.violations));
        assert_eq!(first, None, "{}", scenario.name);
        assert!(sweep.steps > SEEDS * 20, "{}: {} steps", scenario.name, sweep.steps);
    }
    // A rule that never had anything to look at proves nothing.
    assert_eq!(reached, Law::ALL.into());
    assert_eq!(causes, Cause::ALL.into());
}

#[test]
fn broken_machines_are_caught_and_controls_pass() {
    let caught = GATES.iter().filter(|gate| gate.demand != Demand::Passes).count();
    assert!(caught >= 5 && GATES.len() - caught == 2);
    // Every rule is seen red on some machine.
    let demanded: BTreeSet<Law> = GATES
        .iter()
        .filter_map(|gate| if let Demand::Caught(law) = gate.demand { Some(law) } else { None })
        .collect();
    assert_eq!(demanded, Law::ALL.into());
    for gate in GATES {
        let sweep = sweep(gate.scenario(), gate.variant, SEEDS);
        let first = sweep.first.as_ref().map(|(seed, outcome)| (seed, &outcome.violations));
        assert!(gate.holds(&sweep), "{gate:?}: {:?}, first {first:?}", sweep.laws);
    }
}

/// Where there is nothing to choose a scenario explores nothing.
#[test]
fn scenarios_have_choices_and_runs_differ() {
    for scenario in SCENARIOS {
        let made: BTreeSet<Vec<u32>> =
            (0..10).map(|seed| explore(scenario, Variant::Sound, Choices::random(seed)).decisions).collect();
        assert!(made.len() > 1 || scenario.name == "fairness", "{}: every seed chooses alike", scenario.name);
    }
}

#[test]
fn a_failing_run_shrinks_to_choices_that_fail_for_the_same_reason() {
    for gate in GATES {
        let Demand::Caught(law) = gate.demand else { continue };
        let sweep = sweep(gate.scenario(), gate.variant, SEEDS);
        let (_, outcome) = sweep.first.expect("a broken machine fails");
        let decisions = shrink(gate.scenario(), gate.variant, &outcome);
        assert!(decisions.len() <= outcome.decisions.len());
        let expect = Expectation::Fail(outcome.laws());
        let stored = Corpus { scenario: gate.scenario(), variant: gate.variant, expect, decisions };
        let read = Corpus::parse(&stored.text()).unwrap();
        assert_eq!(
            (read.variant, &read.expect, &read.decisions),
            (stored.variant, &stored.expect, &stored.decisions)
        );
        let again = read.replay();
        assert!(read.holds(&again), "{gate:?}: {:?}", again.violations);
        assert!(sweep.laws.contains(&law));
    }
}

/// Stores the shortest failing choices of every broken machine.
fn store_corpus() {
    assert!(std::env::var_os("CI").is_none(), "golden files are not updated in CI");
    std::fs::create_dir_all(corpus()).unwrap();
    let mut named = BTreeSet::new();
    for gate in GATES.iter().filter(|gate| gate.demand != Demand::Passes) {
        let (_, outcome) = sweep(gate.scenario(), gate.variant, SEEDS).first.unwrap();
        let decisions = shrink(gate.scenario(), gate.variant, &outcome);
        let expect = Expectation::Fail(outcome.laws());
        let stored = Corpus { scenario: gate.scenario(), variant: gate.variant, expect, decisions };
        let more =
            if named.insert(gate.variant.name()) { String::new() } else { format!("-{}", gate.scenario) };
        let name = format!("{}{more}.txt", gate.variant.name());
        std::fs::write(corpus().join(name), stored.text()).unwrap();
    }
}

#[test]
fn the_corpus_replays() {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        store_corpus();
    }
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(corpus()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 3, "{files:?}");
    let mut failing = 0;
    for file in files {
        let stored = Corpus::parse(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let outcome = stored.replay();
        assert!(stored.holds(&outcome), "{}: {:?}", file.display(), outcome.violations);
        failing += usize::from(stored.expect != Expectation::Pass);
        // What fails on the broken machine passes on the sound one.
        let sound = explore(stored.scenario, Variant::Sound, Choices::replay(stored.decisions));
        assert_eq!(sound.violations, [], "{}", file.display());
    }
    assert!(failing >= 2);
}

#[test]
fn corpus_files_that_are_none_say_where() {
    for (text, line, words) in [
        ("", 1, "# scenario"),
        ("# scenario: nothing\n", 1, "no scenario \"nothing\""),
        ("# scenario: fairness\n1 2\n", 2, "# expect"),
        ("# scenario: fairness\n# expect: fail\n", 2, "expected the rules"),
        ("# scenario: fairness\n# expect: fail gravity\n", 2, "no rule \"gravity\""),
        ("# scenario: fairness\n# expect: pass\n1 x\n", 3, "\"x\""),
        ("# scenario: fairness\n# variant: odd\n", 2, "no variant \"odd\""),
    ] {
        let error = Corpus::parse(text).unwrap_err();
        assert_eq!(error.line, line, "{text:?}");
        assert!(error.problem.contains(words), "{text:?}: {error}");
    }
}

#[test]
fn a_machine_repeats_itself() {
    for scenario in SCENARIOS {
        let run = || {
            let mut machine = Machine::new((scenario.build)(), Variant::Sound).unwrap();
            machine.observe();
            let mut choices = Choices::random(3);
            while machine.step(&mut choices) {}
            machine.take_log()
        };
        let log = run();
        assert!(log.len() > 20 && log == run(), "{}", scenario.name);
    }
}

#[test]
fn every_rule_has_its_name() {
    for law in [Law::OnePlace, Law::NoLostWake, Law::NoPanic, Law::AllDone] {
        assert_eq!(Law::named(law.name()), Some(law));
    }
    assert_eq!(Law::named("nothing"), None);
}

fn endless() -> Workload {
    let mut work = Workload::new(1, 1_000_000_000);
    work.quantum = 1_000;
    let job = work.job("job");
    for name in ["a", "b"] {
        work.thread(name, job, 0, &[Op::Run(1_000), Op::Yield]);
    }
    work
}

/// A million turns of 1 us: the run is given up, and that is no success, whether it was to end or not.
#[test]
fn a_run_that_does_not_end_breaks_a_rule() {
    let scenario = Scenario { name: "endless", summary: "", build: endless, shares: None, finishes: false };
    let outcome = explore(&scenario, Variant::Sound, Choices::first());
    assert_eq!(outcome.laws(), BTreeSet::from([Law::AllDone]));
    assert!(outcome.violations[0].what.contains("200000 steps"), "{:?}", outcome.violations);
}

/// In turns of 3 ms the jobs of `fairness` differ by one turn: 3 ms, a quarter more than 2.4 ms.
#[test]
fn service_is_held_to_a_recorded_sample() {
    let named = |name| SCENARIOS.iter().find(|scenario| scenario.name == name).unwrap();
    for (recorded, within) in [(2_399_999, false), (2_400_000, true)] {
        let shares = Some(Spread { jobs: recorded, threads: recorded });
        let scenario = Scenario { shares, ..*named("fairness") };
        let swept = sweep(&scenario, Variant::Sound, 2);
        let shares = swept.shares(&scenario);
        let laws = [Law::JobsShareEqually, Law::ThreadsShareEqually];
        assert_eq!(shares.iter().map(|share| share.law).collect::<Vec<_>>(), laws);
        for share in shares {
            // Two slices of 3 ms, two quanta of 1 ms, twice the microsecond of leaving a CPU.
            assert_eq!((share.widest, share.allowed), (3_000_000, 8_002_000));
            assert_eq!(share.is_within(), within, "{share:?}");
        }
    }
    assert_eq!(sweep(named("teardown"), Variant::Sound, 2).shares(named("teardown")), []);
}

/// Four threads that compute from 1 us on, when their messages have arrived, to 120 ms.
#[test]
fn reach_is_told_in_time() {
    let fairness = SCENARIOS.iter().find(|scenario| scenario.name == "fairness").unwrap();
    let reach = sweep(fairness, Variant::Sound, 3).reach;
    // The last look is at 119.001 ms, as the next would be at the end.
    assert_eq!(reach.ns(Law::JobsShareEqually), (3 * 119_000_000, 3 * 119_001_000));
    assert_eq!(reach.ns(Law::NoLostWake).0, 0);
    assert_eq!(reach.of(Law::NoLostWake), 0);
}

/// A gate is held to its own rule: another one that is broken is not what it asks for.
#[test]
fn a_gate_is_not_satisfied_by_another_rule() {
    let gate = GATES.iter().find(|gate| gate.variant == Variant::LateTimer).unwrap();
    let swept = sweep(gate.scenario(), gate.variant, 3);
    assert!(gate.holds(&swept));
    assert!(!Gate { demand: Demand::Caught(Law::OnePlace), ..*gate }.holds(&swept));
    assert!(!Gate { demand: Demand::Passes, ..*gate }.holds(&swept));
}

/// Choices that break another rule are no shorter form of a run: nothing is left out of it.
#[test]
fn shrinking_takes_nothing_that_fails_for_another_reason() {
    let gate = GATES.iter().find(|gate| gate.variant == Variant::LostWake).unwrap();
    let (_, outcome) = sweep(gate.scenario(), gate.variant, 1).first.unwrap();
    assert!(outcome.decisions.len() > 1 && outcome.decisions.last() != Some(&0), "{:?}", outcome.decisions);
    let mut other = outcome.clone();
    other.violations.iter_mut().for_each(|violation| violation.law = Law::OnePlace);
    assert_eq!(shrink(gate.scenario(), gate.variant, &other), outcome.decisions);
}
