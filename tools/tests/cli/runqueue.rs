//! `runqueue`.

use std::fs;
use std::path::Path;

use clockweave::scheduling;
use clockweave_recorder::{PrevState, SchedEvent, SchedProcess, SchedTask, SchedThread, SchedTrace};
use clockweave_simulator::machine::{RECORDED, Variant, Workload};

use crate::command::{Ran, clockweave, run};

fn sources() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../simulator/runqueue")
}

#[test]
fn seven_mutants_are_red_and_the_eighth_is_equivalent() {
    let ran =
        clockweave().args(["runqueue", "mutants", "--json", "--sources"]).arg(sources()).output().unwrap();
    let report = Ran::from(ran).expect(0, &[]).json();
    let mutations = report["mutations"].as_array().unwrap();
    assert_eq!((mutations.len(), report["caught"].as_bool()), (8, Some(true)));
    for (number, mutation) in (1..).zip(mutations) {
        assert_eq!(mutation["number"], number);
        if number == 8 {
            assert!(mutation["first_red"].is_null() && mutation["division_red"] == true, "{mutation}");
        } else {
            // A control that needs luck to be red is none.
            assert!(mutation["first_red"]["schedule"].as_u64().unwrap() < 10, "{mutation}");
        }
    }
}

/// A test that says green whatever is done does not pass for a proof.
#[test]
fn a_mutation_that_is_not_caught_fails_the_command() {
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("runqueue");
    for folder in ["src/eevdf", "src/queue", "tests/differential/reference"] {
        fs::create_dir_all(copy.join(folder)).unwrap();
        for entry in fs::read_dir(sources().join(folder)).unwrap().map(Result::unwrap) {
            fs::copy(entry.path(), copy.join(folder).join(entry.file_name())).unwrap();
        }
    }
    for entry in fs::read_dir(sources().join("src")).unwrap().map(Result::unwrap) {
        if entry.path().is_file() {
            fs::copy(entry.path(), copy.join("src").join(entry.file_name())).unwrap();
        }
    }
    fs::write(copy.join("tests/differential/main.rs"), "#[test] fn head_and_reference_agree() {}").unwrap();
    let mutants = |only: &str| {
        let args = ["runqueue", "mutants", "--only", only, "--sources"];
        Ran::from(clockweave().args(args).arg(&copy).output().unwrap())
    };
    mutants("2").expect(1, &["expected red, found green  NOT CAUGHT"]);
    fs::write(copy.join("src/affinity.rs"), "").unwrap();
    mutants("4").expect(2, &["src/affinity.rs: found the text of mutation 4 0 times"]);
    run(["runqueue", "mutants", "--sources", "/nowhere"]).expect(2, &["/nowhere: found no src/"]);
}

#[test]
fn a_failing_run_is_stored_shrunk_and_replayed() {
    let place = tempfile::tempdir().unwrap();
    let (long, short) = (place.path().join("long.txt"), place.path().join("short.txt"));
    let explored = clockweave()
        .args(["runqueue", "explore", "idle-race", "--variant", "old-steal", "--output"])
        .arg(&long)
        .output()
        .unwrap();
    let explored = Ran::from(explored).expect(1, &[]);
    assert!(explored.text().contains("context-saved"), "{}", explored.text());
    let on = |command: &str, file: &Path| {
        Ran::from(clockweave().args(["runqueue", command]).arg(file).output().unwrap())
    };
    let shrunk = on("shrink", &long).expect(0, &["choices"]);
    fs::write(&short, shrunk.text()).unwrap();
    assert!(fs::metadata(&short).unwrap().len() < fs::metadata(&long).unwrap().len());
    assert!(on("replay", &short).expect(0, &[]).text().contains("holds"));
    // The same choices break nothing on a sound machine.
    let sound = shrunk.text().replace("# variant: old-steal\n", "");
    fs::write(&short, &sound).unwrap();
    assert!(on("replay", &short).expect(1, &[]).text().contains("BROKEN"));
    fs::write(&short, sound.replace("fail context-saved", "pass")).unwrap();
    on("replay", &short).expect(0, &[]);
    on("shrink", &short).expect(2, &["nothing to shrink"]);
    fs::write(&short, "# scenario: idle-race\n# expect: pass\n1 two\n").unwrap();
    on("replay", &short).expect(2, &["short.txt: line 3: found \"two\""]);
}

#[test]
fn names_that_are_unknown_are_told_with_those_that_are() {
    run(["runqueue", "explore", "nothing"]).expect(2, &["\"nothing\"; there are lost-wake,"]);
    run(["runqueue", "explore", "fairness", "--variant", "odd"]).expect(2, &["sound, lost-wake"]);
}

fn recorded(name: &str) -> Workload {
    (RECORDED.iter().find(|workload| workload.name == name).unwrap().build)()
}

/// What `validate` says of a trace: its exit code and text.
fn validated(trace: &[u8]) -> (Option<i32>, String) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("timeline.pftrace");
    fs::write(&path, trace).unwrap();
    let ran = Ran::from(clockweave().arg("validate").arg(&path).output().unwrap());
    (ran.code, ran.text().to_owned() + &ran.stderr)
}

#[test]
fn every_recorded_machine_imports_cleanly_and_obeys_the_laws() {
    let place = tempfile::tempdir().unwrap();
    for workload in RECORDED {
        let dir = place.path().join(workload.name);
        let record = || clockweave().args(["record", workload.name, "-o"]).arg(&dir).output().unwrap();
        Ran::from(record()).expect(0, &["switches"]);
        Ran::from(record()).expect(2, &["--force"]);
        let trace = fs::read(dir.join("timeline.pftrace")).unwrap();
        let (code, text) = validated(&trace);
        assert_eq!(code, Some(0), "{}: {text}", workload.name);
        assert!(text.contains("runqueue"), "{}: {text}", workload.name);
        let (done, again) = scheduling::record((workload.build)(), Variant::Sound, Vec::new()).unwrap();
        assert!(again == trace && done.switches > 50, "{}: {done:?}", workload.name);
    }
}

#[test]
fn the_laws_are_red_on_broken_machines() {
    for (name, variant, law) in [
        ("runqueue-fairness", Variant::FirstComeFirstServed, "lag: "),
        ("runqueue-real-time", Variant::RealTimeLate, "real-time: "),
        ("runqueue-pinned", Variant::DeafIdle, "work-conserving: "),
        ("runqueue-pinned", Variant::DeafIdle, "lost-wake: "),
    ] {
        let (_, trace) = scheduling::record(recorded(name), variant, Vec::new()).unwrap();
        let (code, text) = validated(&trace);
        assert!(code == Some(1) && text.contains(law), "{name} {variant:?}: {text}");
    }
    let mut work = recorded("runqueue-lopsided");
    for spec in work.threads.iter_mut().take(4) {
        spec.mask = clockweave_simulator::machine::CpuMask::first(2);
    }
    let (_, trace) = scheduling::record(work, Variant::IgnoredMask, Vec::new()).unwrap();
    let (code, text) = validated(&trace);
    assert!(code == Some(1) && text.contains("affinity: "), "{text}");
}

/// A small trace of one thread on two CPUs, by hand.
fn by_hand(events: &[(u64, usize, SchedEvent)]) -> Vec<u8> {
    let process = SchedProcess { pid: 100, name: "job".to_owned() };
    let thread = SchedThread { tid: 101, pid: 100, name: "thread".to_owned() };
    let mut trace = SchedTrace::new(Vec::new(), 2, &[process], vec![thread]).unwrap();
    let facts = trace.track("facts", None, None).unwrap();
    let arguments = [
        ("tid", 101),
        ("weight", 65_536),
        ("mask", 3),
        ("slice", 3_000_000),
        ("quantum", 1_000_000),
        ("latency", 1_000),
        ("patience", 10_000_000),
        ("section", 1_000),
        ("steady", 0),
    ];
    trace.instant(0, facts, "runqueue.thread", &arguments).unwrap();
    for (ns, cpu, event) in events {
        trace.event(*ns, *cpu, *event).unwrap();
    }
    trace.finish().unwrap()
}

#[test]
fn the_laws_are_red_on_traces_that_no_machine_here_writes() {
    let thread = SchedTask { thread: Some(0), real_time: false };
    let idle = SchedTask::IDLE;
    let switch = |prev, state, next| SchedEvent::Switch { prev, state, next };
    let on = switch(idle, PrevState::Runnable, thread);
    let off = switch(thread, PrevState::Sleeping, idle);
    let waking = SchedEvent::Waking { task: thread, by: idle, target: 0 };
    let good = [(10, 0, waking), (20, 0, on), (90, 0, off), (90, 1, switch(idle, PrevState::Runnable, idle))];
    assert_eq!(validated(&by_hand(&good)).0, Some(0), "{}", validated(&by_hand(&good)).1);
    let red = |events: &[(u64, usize, SchedEvent)], law: &str| {
        let (code, text) = validated(&by_hand(events));
        assert!(code == Some(1) && text.contains(law), "{law}: {text}");
    };
    let twice = [(10, 0, waking), (20, 0, on), (30, 1, on), (80, 1, off), (90, 0, off)];
    red(&twice, "exclusive: ");
    // The thread's own states hide the overlap, so its time is less than the CPUs'.
    red(&twice, "conservation: ");
    red(&[(10, 0, waking), (20, 0, on), (50, 0, off), (60, 0, on), (90, 0, off)], "dispatch: ");
    red(&[(10, 0, waking), (20, 0, on), (50, 0, waking), (90, 0, off)], "wakes: ");
    // A switch whose previous thread is not the one that ran.
    red(&[(10, 0, waking), (20, 0, on), (30, 0, on), (90, 0, off)], "mismatched_sched_switch_tids");
}
