//! `runqueue`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use clockweave_simulator::machine::{Choices, Machine, MachineUnit, RECORDED, SCENARIOS, Variant, Workload};
use clockweave_simulator::{Compression, ExactTime, RecordingOptions, Simulation};

use crate::command::{Ran, clockweave, names, run};

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
    let on = |command: &str, file: &Path| on(&["runqueue", command], file);
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
fn a_stored_run_replaces_a_file_only_on_request() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("a b ü.txt");
    let explore = |variant: &str, file: &Path, more: &[&str]| {
        let mut command = clockweave();
        command
            .args(["runqueue", "explore", "fairness", "--seeds", "2", "--variant", variant, "-o"])
            .arg(file);
        Ran::from(command.args(more).output().unwrap())
    };
    explore("sound", &file, &[]).expect(0, &["not written, as no run breaks a rule"]);
    assert!(!file.exists());
    fs::write(&file, "old").unwrap();
    explore("late-timer", &file, &[]).expect(2, &["the file exists; pass --force"]);
    explore("sound", &file, &["--force"]).expect(0, &["not written"]);
    assert_eq!(fs::read(&file).unwrap(), b"old");
    explore("late-timer", &file, &["--force"]).expect(1, &[]);
    assert!(fs::read_to_string(&file).unwrap().starts_with("# scenario: fairness\n"));
    explore("late-timer", place.path(), &[]).expect(2, &["found a folder"]);
    if Path::new("/dev/full").exists() {
        explore("late-timer", Path::new("/dev/full"), &[]).expect(3, &["/dev/full"]);
    }
}

/// Devices, pipes, folders and files that no corpus file is as long as: each is an input error, and at once.
#[test]
fn a_corpus_file_is_bounded() {
    let place = tempfile::tempdir().unwrap();
    let (long, words, bytes) =
        (place.path().join("long"), place.path().join("words"), place.path().join("bytes"));
    fs::File::create(&long).unwrap().set_len(10 << 30).unwrap();
    fs::write(&words, format!("# scenario: {}\n", "x".repeat(1 << 20))).unwrap();
    fs::write(&bytes, b"# scenario: fairness\n\xff\n").unwrap();
    for command in ["replay", "shrink"] {
        let on = |file: &Path| on(&["runqueue", command], file);
        on(Path::new("/dev/zero")).expect(2, &["/dev/zero: found a device"]);
        on(place.path()).expect(2, &["folder"]);
        on(&long).expect(2, &["long: found more than 16777216 bytes"]);
        let ran = on(&words).expect(2, &["words: line 1: found no scenario \"xxx"]);
        assert!(ran.stderr.len() < 2000, "{}", ran.stderr.len());
        on(&bytes).expect(2, &["bytes: ", "UTF-8"]);
    }
}

/// Sources are files: a pipe is not waited for, and a link in a circle is not followed.
#[cfg(unix)]
#[test]
fn sources_that_are_no_files_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("runqueue");
    let mutants = || {
        let args = ["runqueue", "mutants", "--only", "2", "--sources"];
        Ran::from(clockweave().args(args).arg(&copy).output().unwrap())
    };
    let copied = std::process::Command::new("cp").arg("-r").args([&sources(), &copy]).status().unwrap();
    assert!(copied.success());
    std::os::unix::fs::symlink("..", copy.join("src/circle")).unwrap();
    let ran = mutants();
    assert!(ran.code != Some(0) && ran.stderr.contains("circle"), "{}", ran.stderr);
    fs::remove_file(copy.join("src/circle")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(copy.join("src/pipe")).status().unwrap();
    assert!(made.success());
    assert!(mutants().stderr.contains("pipe"), "a pipe");
}

#[test]
fn names_that_are_unknown_are_told_with_those_that_are() {
    run(["runqueue", "explore", "nothing"]).expect(2, &["\"nothing\"; there are lost-wake,"]);
    run(["runqueue", "explore", "fairness", "--variant", "odd"]).expect(2, &["sound, lost-wake"]);
}

const MS: u64 = 1_000_000;

const LAWS: [&str; 13] = [
    "exclusive",
    "one-thread",
    "affinity",
    "lost-wake",
    "latency",
    "work-conserving",
    "dispatch",
    "lag",
    "counters",
    "conservation",
    "wakes",
    "real-time",
    "packets",
];

fn recorded(name: &str) -> Workload {
    (RECORDED.iter().find(|workload| workload.name == name).unwrap().build)()
}

fn explored(name: &str) -> Workload {
    (SCENARIOS.iter().find(|scenario| scenario.name == name).unwrap().build)()
}

/// The built-in scenario of a workload.
fn scenario(workload: &str) -> String {
    if workload == "mixed" { "runqueue".to_owned() } else { format!("runqueue-{workload}") }
}

fn on(command: &[&str], dir: &Path) -> Ran {
    Ran::from(clockweave().args(command).arg(dir).output().unwrap())
}

/// Records machines for `ns` nanoseconds.
fn record(dir: &Path, machines: impl IntoIterator<Item = (Workload, Variant)>, ns: u64) {
    let mut sim = Simulation::new();
    sim.add_clock(1, "ns", "1GHz").unwrap();
    for (number, (work, variant)) in machines.into_iter().enumerate() {
        let machine = Machine::new(work, variant).unwrap();
        sim.add_unit("ns", &format!("machine-{number}"), |p| MachineUnit::new(p, machine, Choices::first()))
            .unwrap();
    }
    sim.record(RecordingOptions::new(dir, "machines").compression(Compression::None)).unwrap();
    sim.run_until_time(ExactTime::from_ns(ns).unwrap()).unwrap();
    sim.finish().unwrap();
}

/// The laws that `validate` found broken, how far each reached, and whether anything else was found.
fn laws(dir: &Path) -> (BTreeSet<String>, BTreeMap<String, u64>, bool) {
    let report = on(&["validate", "--json"], dir).json();
    let (mut broken, mut reach, mut other) = (BTreeSet::new(), BTreeMap::new(), false);
    for check in report["results"][0]["checks"].as_array().unwrap() {
        let failed = check["status"] == "failed";
        match check["name"].as_str().unwrap().strip_prefix("runqueue-") {
            Some(law) => {
                reach.insert(law.to_owned(), check["rows"].as_u64().unwrap());
                if failed {
                    broken.insert(law.to_owned());
                }
            }
            None => other |= failed,
        }
    }
    (broken, reach, other)
}

#[test]
fn every_recorded_machine_is_a_run_that_imports_cleanly_and_obeys_the_laws() {
    let place = tempfile::tempdir().unwrap();
    let mut reached = BTreeSet::new();
    for workload in RECORDED {
        let (name, dir) = (scenario(workload.name), place.path().join(workload.name));
        let again = || on(&["record", &name, "-o"], &dir);
        again().expect(0, &["simulated time  99,999,999 ns", "clockweave validate"]);
        again().expect(2, &["--force"]);
        let files = ["clock-manifest.json", "clock-stats.json", "text-domain-ns.log", "timeline.pftrace"];
        assert_eq!(names(&dir), files);
        on(&["validate"], &dir).expect(0, &[]);
        let (broken, reach, other) = laws(&dir);
        assert!(broken.is_empty() && !other, "{name}: {broken:?}");
        assert_eq!(reach.keys().map(String::as_str).collect::<BTreeSet<_>>(), LAWS.into(), "{name}");
        reached.extend(reach.into_iter().filter(|(_, rows)| *rows > 0).map(|(law, _)| law));
    }
    assert_eq!(reached.iter().map(String::as_str).collect::<BTreeSet<_>>(), LAWS.into());
}

#[test]
fn the_laws_are_red_on_broken_machines() {
    let place = tempfile::tempdir().unwrap();
    let red: [(Workload, Variant, u64, &[&str]); 8] = [
        (recorded("fairness"), Variant::FirstComeFirstServed, 100 * MS, &["lag", "counters"]),
        (recorded("fairness"), Variant::DoubleCharge, 100 * MS, &["counters", "lag"]),
        (recorded("real-time"), Variant::RealTimeLate, 50 * MS, &["real-time", "latency"]),
        (recorded("real-time"), Variant::NestedRun, 50 * MS, &["one-thread"]),
        (recorded("pinned"), Variant::DeafIdle, 100 * MS, &["work-conserving", "lost-wake"]),
        (recorded("lopsided"), Variant::IgnoredMask, 50 * MS, &["affinity"]),
        (explored("park-race"), Variant::EarlyWake, 5 * MS, &["exclusive", "conservation", "wakes"]),
        (recorded("lopsided"), Variant::KeptEntry, 50 * MS, &["dispatch"]),
    ];
    let mut seen = BTreeSet::from(["packets"]);
    for (number, (work, variant, ns, expected)) in red.into_iter().enumerate() {
        let dir = place.path().join(number.to_string());
        record(&dir, [(work, variant)], ns);
        let (broken, ..) = laws(&dir);
        let missing: Vec<_> = expected.iter().filter(|law| !broken.contains(**law)).collect();
        assert!(missing.is_empty(), "{variant:?}: {missing:?} hold, broken are {broken:?}");
        seen.extend(expected);
    }
    assert_eq!(seen, LAWS.into());
}

/// No machine can break this law: its packets are made of its events.
#[test]
fn packets_that_are_missing_are_missed() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    record(&dir, [(recorded("mixed"), Variant::Sound)], 20 * MS);
    let path = dir.join("timeline.pftrace");
    let bytes = fs::read(&path).unwrap();
    let varint = |at: &mut usize| {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = usize::from(bytes[*at]);
            *at += 1;
            value |= (byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    };
    let (mut at, mut kept, mut left_out) = (0, Vec::new(), 0);
    while at < bytes.len() {
        let begin = at;
        varint(&mut at);
        let size = varint(&mut at);
        // `TracePacket.ftrace_events` is its field 1.
        let bundle = bytes[at] == 0x0a;
        at += size;
        if bundle && left_out == 0 {
            left_out += 1;
        } else {
            kept.extend_from_slice(&bytes[begin..at]);
        }
    }
    fs::write(&path, kept).unwrap();
    assert!(laws(&dir).0.contains("packets"), "{left_out} packets left out");
}

/// A packet that says something else than its event: another thread, another CPU.
#[test]
fn packets_say_what_their_events_do() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    record(&dir, [(recorded("mixed"), Variant::Sound)], 20 * MS);
    let path = dir.join("timeline.pftrace");
    let bytes = fs::read(&path).unwrap();
    let last = |wanted: &[u8]| bytes.windows(wanted.len()).rposition(|found| found == wanted).unwrap();
    // The beginning and the end of the CPUs' rows are told by no event.
    let middle = |wanted: &[u8]| {
        let half = bytes.len() / 2;
        half + bytes[half..].windows(wanted.len()).position(|found| found == wanted).unwrap()
    };
    // `sched_switch.next_pid` (field 6) 1008 becomes 1009; `sched_waking.target_cpu` (field 5) 2 becomes 3, behind
    // `success` (field 4); `prev_state` (field 4) 256 becomes 0; `next_prio` (field 7), the last of a bundle's event, becomes
    // real-time.
    let changes = [
        (last(&[0x30, 0xf0, 0x07]) + 1, 0xf1),
        (last(&[0x20, 1, 0x28, 2]) + 3, 3),
        (middle(&[0x20, 0x80, 2]) + 2, 0),
        (middle(&[0x07, 0x38, 120]) + 2, 0),
    ];
    for (at, byte) in changes {
        let mut changed = bytes.clone();
        changed[at] = byte;
        fs::write(&path, &changed).unwrap();
        assert!(laws(&dir).0.contains("packets"), "byte {at}");
    }
}

/// What the laws rest on is stated twice, in the manifest and in the trace.
#[test]
fn the_facts_of_a_machine_are_those_of_the_manifest() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    record(&dir, [(recorded("pinned"), Variant::Sound), (recorded("fairness"), Variant::Sound)], 10 * MS);
    on(&["validate"], &dir).expect(0, &[]);
    let path = dir.join("clock-manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    for (from, to, words) in [
        ("\"patience_ns\": ", "\"patience_ns\": 1", "found patience"),
        ("\"slice_ns\": ", "\"slice_ns\": 1", "found r 3000000"),
        ("\"weight\": ", "\"weight\": 1", "found weight"),
        (
            "\"cpus\": [\n              0\n",
            "\"cpus\": [\n              1\n",
            "found mask 1 in the trace, expected 2",
        ),
    ] {
        assert!(text.contains(from), "{from} {text}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let ran = on(&["validate"], &dir).expect(1, &[]);
        assert!(ran.text().contains("FAILED  manifest") && ran.text().contains(words), "{}", ran.text());
    }
}

#[test]
fn machines_share_a_trace() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    record(&dir, [(recorded("mixed"), Variant::Sound), (recorded("fairness"), Variant::Sound)], 40 * MS);
    let (broken, reach, other) = laws(&dir);
    assert!(broken.is_empty() && !other, "{broken:?}");
    assert!(reach["lag"] > 100, "{reach:?}");
}

/// The one waits up to 2^40 times as long as the other runs: longer than any trace, and no rule is broken.
#[test]
fn extreme_weights_break_no_law() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    let mut work = recorded("fairness");
    (work.jobs[0].weight, work.jobs[1].weight) = (1, 1 << 40);
    assert_eq!(work.patience(), i64::MAX as u64);
    record(&dir, [(work, Variant::Sound)], 40 * MS);
    let (broken, reach, other) = laws(&dir);
    assert!(broken.is_empty() && !other && reach["lost-wake"] > 0, "{broken:?} {reach:?}");
}

#[test]
fn machines_are_recorded_as_everything_else_is() {
    let place = tempfile::tempdir().unwrap();
    let dir = |name: &str| place.path().join(name);
    let recorded = |name: &str, options: &[&str]| {
        let dir = dir(name);
        on(&[&["record", "runqueue"], options, &["-o"]].concat(), &dir)
    };
    for (name, options) in [
        ("full", &["--view", "full", "--args", "annotations", "--compress", "none", "--time", "20ms"][..]),
        ("set", &["--set", "units.machine.slice=2ms", "--set", "units.machine.seed=7", "--time", "20ms"]),
        // Leaving a CPU takes longer than some sleeps.
        ("park", &["--set", "units.machine.park=1ms", "--time", "20ms"]),
        ("batches", &["--batches", "20000000", "--compress", "deflate:9"]),
    ] {
        recorded(name, options).expect(0, &["simulated time  19,999,999 ns"]);
        on(&["validate"], &dir(name)).expect(0, &[]);
    }
    recorded("text", &["--trace", "text", "--time", "20ms"]).expect(0, &[]);
    // The log has all that the trace shows.
    let trace = dir("merged.pftrace");
    Ran::from(
        clockweave()
            .args(["merge", "--format", "pftrace"])
            .arg(dir("text"))
            .arg("-o")
            .arg(&trace)
            .output()
            .unwrap(),
    )
    .expect(0, &[]);
    let (broken, reach, other) = laws(&trace);
    assert!(broken.is_empty() && !other && reach["exclusive"] > 20, "{broken:?} {reach:?}");
    recorded("lossy", &["--lossy"]).expect(2, &["every event"]);
    recorded("cut", &["--rotate-events", "100"]).expect(2, &["in one file"]);
    recorded("slow", &["--set", "domains.ns.frequency=2GHz"]).expect(2, &["expected a domain of 1 GHz"]);
    recorded("odd", &["--set", "units.machine.slice=1ps"]).expect(2, &["whole nanoseconds"]);
    recorded("quick", &["--set", "units.machine.latency=1ns"]).expect(2, &["a latency below 2 ns"]);
    recorded("what", &["--set", "units.machine.workload=mixd"]).expect(2, &["did you mean \"mixed\""]);
    let broken = recorded("broken", &["--set", "units.machine.variant=deaf-idle"]).expect(0, &[]);
    drop(broken);
    on(&["validate"], &dir("broken")).expect(1, &[]);
}
