//! `clockweave record` and `clockweave scenarios`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::command::{Ran, clockweave, names, run, run_with};

/// Records into `dir`.
pub(crate) fn record(scenario: &str, dir: &Path, more: &[&str]) -> Ran {
    let args = [OsStr::new("record"), OsStr::new(scenario), OsStr::new("-o"), dir.as_os_str()];
    run(args.into_iter().chain(more.iter().map(OsStr::new)))
}

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let read = |name: String| (name.clone(), fs::read(dir.join(name)).unwrap());
    names(dir).into_iter().map(read).collect()
}

#[test]
fn a_run_is_written_and_summed_up() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    let ran = record("fifo", &dir, &["--batches", "1000"]).expect(0, &[]);
    for words in
        ["run             fifo\n", "batches         1,000\n", "dropped         0\n", "peak memory     "]
    {
        assert!(ran.stderr.contains(words), "{words:?} in {}", ran.stderr);
    }
    let next =
        |dir: &Path| format!("next: clockweave validate {0}\n      clockweave open {0}\n", dir.display());
    assert!(ran.stderr.ends_with(&next(&dir)), "{}", ran.stderr);
    assert_eq!(ran.text(), "");
    let expected = [
        "clock-manifest.json",
        "clock-stats.json",
        "text-domain-lts.log",
        "text-domain-sm.log",
        "timeline.pftrace",
    ];
    assert_eq!(names(&dir), expected);
    let merged = run([OsStr::new("merge"), dir.as_os_str()]).expect(0, &["from 2 logs\n"]);
    let stats: serde_json::Value =
        serde_json::from_slice(&fs::read(dir.join("clock-stats.json")).unwrap()).unwrap();
    assert_eq!(merged.text().lines().count() as u64 - 1, stats["events"].as_u64().unwrap());
}

/// What is proposed next works on what was written.
#[test]
fn the_next_command_fits_the_run() {
    let place = tempfile::tempdir().unwrap();
    let (text, parts) = (place.path().join("text"), place.path().join("parts"));
    let ran = record("fifo", &text, &["--batches", "100", "--trace", "text"]).expect(0, &[]);
    assert!(ran.stderr.ends_with(&format!("\n\nnext: clockweave merge {} | less\n", text.display())));
    let ran = record("fifo", &parts, &["--batches", "100", "--rotate-events", "50"]).expect(0, &[]);
    assert!(ran.stderr.ends_with(&format!("\n\nnext: clockweave validate {}\n", parts.display())));
}

/// The directory was there when the run began: that it is gone is no fault of the input.
#[cfg(unix)]
#[test]
fn a_directory_that_is_taken_away_is_the_environments_fault() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    // Long enough to be seen beginning on any machine; it ends at the next segment.
    let arguments = ["record", "fifo", "--batches", "1000000000", "--rotate-events", "1000", "-o"];
    let mut child = clockweave().args(arguments).arg(&dir).stderr(Stdio::piped()).spawn().unwrap();
    while !dir.join("timeline-00001.pftrace").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before the directory was moved");
        std::thread::yield_now();
    }
    fs::rename(&dir, place.path().join("elsewhere")).unwrap();
    Ran::from(child.wait_with_output().unwrap()).expect(3, &["No such file or directory"]);
}

#[test]
fn the_report_is_one_documented_object() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    let report = record("three-clocks", &dir, &["--json"]).expect(0, &[]).json();
    assert_eq!((&report["report"], &report["version"]), (&"record".into(), &1.into()));
    assert_eq!((&report["run_id"], &report["ended"]), (&"three-clocks".into(), &"stopped".into()));
    assert_eq!((&report["stop"]["unit"], &report["stop"]["reason"]), (&"dram".into(), &"completed".into()));
    assert_eq!(report["drained"], true);
    assert_eq!(report["directory"], dir.to_str().unwrap());
    assert_eq!(report["stats"]["dropped_events"], 0);
    // Edge 0 of sm is at 0, edge 0 of lts at 137 ps.
    let two = place.path().join("two");
    let report = record("fifo", &two, &["--batches", "2", "--json"]).expect(0, &[]).json();
    assert_eq!((&report["batches"], &report["stats"]["events"]), (&2.into(), &1.into()));
    assert_eq!(report["time"]["time_num"], 137);
    assert_eq!(report["time"]["time_den"], 1_000_000_000_000_u64);
}

/// When events reach the files changes nothing of what the files hold in the end.
#[test]
fn flush_intervals_give_equal_bytes() {
    let place = tempfile::tempdir().unwrap();
    let written = |name: &str, options: &[&str]| {
        let dir = place.path().join(name);
        record("fifo", &dir, &[&["--batches", "200000"], options].concat()).expect(0, &[]);
        let mut files = files(&dir);
        // Statistics hold host times, and the manifest the options.
        assert!(files.remove("clock-stats.json").is_some() && files.remove("clock-manifest.json").is_some());
        files
    };
    let expected = written("default", &[]);
    for interval in ["1ms", "0", "1/3 s"] {
        assert!(
            written(&interval.replace('/', "-"), &["--flush-interval", interval]) == expected,
            "{interval}"
        );
    }
}

#[test]
fn equal_options_give_equal_bytes() {
    let place = tempfile::tempdir().unwrap();
    let (first, second) = (place.path().join("first"), place.path().join("second"));
    let options = ["--batches", "5000", "--set", "units.producer.pattern=random", "--quiet"];
    for dir in [&first, &second] {
        assert_eq!(record("fifo", dir, &options).expect(0, &[]).stderr, "");
    }
    let (mut first, mut second) = (files(&first), files(&second));
    // Statistics hold host times.
    assert!(first.remove("clock-stats.json").is_some() && second.remove("clock-stats.json").is_some());
    assert!(first == second);
}

#[test]
fn without_a_directory_the_first_free_one_is_taken() {
    let place = tempfile::tempdir().unwrap();
    for name in ["fifo", "fifo-2", "fifo-3"] {
        let args = ["record", "fifo", "--batches", "10"];
        let ran =
            Ran::from(clockweave().args(args).current_dir(place.path()).output().unwrap()).expect(0, &[]);
        assert!(ran.stderr.contains(&format!("directory       out/{name}\n")), "{}", ran.stderr);
        assert!(place.path().join("out").join(name).join("timeline.pftrace").exists());
    }
}

#[test]
fn a_directory_in_use_is_taken_only_on_request() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("notes.txt"), "mine").unwrap();
    record("fifo", place.path(), &["--batches", "10"]).expect(2, &["notes.txt", "--force"]);
    assert_eq!(names(place.path()), ["notes.txt"]);
    fs::write(place.path().join("timeline.pftrace"), "old").unwrap();
    record("fifo", place.path(), &["--batches", "10", "--force", "--trace", "text"]).expect(0, &[]);
    assert!(!place.path().join("timeline.pftrace").exists());
    assert_eq!(fs::read(place.path().join("notes.txt")).unwrap(), b"mine");
    record("fifo", &place.path().join("notes.txt"), &[])
        .expect(2, &["notes.txt: found a file, expected a directory"]);
}

#[cfg(unix)]
#[test]
fn a_directory_that_is_being_written_is_never_taken() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    let args = ["record", "fifo", "--batches", "1000000000", "--trace", "text", "--quiet", "-o"];
    let mut first = clockweave().args(args).arg(&dir).spawn().unwrap();
    while !dir.join("text-domain-sm.log").exists() {
        assert!(first.try_wait().unwrap().is_none(), "the first run goes on");
        std::thread::yield_now();
    }
    let second = record("fifo", &dir, &["--batches", "10", "--force"]);
    let kept = dir.join("text-domain-sm.log").exists();
    first.kill().unwrap();
    first.wait().unwrap();
    second.expect(2, &["run is being written by another run"]);
    assert!(kept);
    record("fifo", &dir, &["--batches", "10", "--force"]).expect(0, &[]);
}

#[test]
fn the_scenario_itself_is_never_replaced() {
    let place = tempfile::tempdir().unwrap();
    let scenario = place.path().join("text-domain-sm.log");
    fs::write(&scenario, run(["scenarios", "--print", "fifo"]).expect(0, &[]).stdout).unwrap();
    let ran = record(scenario.to_str().unwrap(), place.path(), &["--force"]);
    ran.expect(2, &["text-domain-sm.log", "replace the scenario"]);
    assert_eq!(names(place.path()), ["text-domain-sm.log"]);
}

#[test]
fn every_option_reaches_the_run() {
    let place = tempfile::tempdir().unwrap();
    let dir = |name: &str| place.path().join(name);
    let batches = |name: &str, more: &[&str]| -> u64 {
        let ran = record("fifo", &dir(name), &[more, &["--json"]].concat()).expect(0, &[]);
        ran.json()["batches"].as_u64().unwrap()
    };
    // The last option of two limits would be a guess; one flag and one override are an order.
    assert_eq!(batches("n", &["--set", "run.batches=7", "--batches", "20"]), 20);
    // Edges of 914 MHz before 10 ns: 0 to 9; of 1326 MHz + 137 ps: 0 to 13.
    assert_eq!(batches("t", &["--time", "10ns"]), 24);
    // Edge 9 of `sm` is at 9.847 ns; edges 0 to 12 of `lts` are before it.
    assert_eq!(batches("c", &["--cycles", "sm=10"]), 23);
    batches("text", &["--batches", "20", "--trace", "text"]);
    assert!(!dir("text").join("timeline.pftrace").exists());
    batches("trace", &["--batches", "20", "--trace", "perfetto"]);
    assert!(!dir("trace").join("text-domain-sm.log").exists());
    let size = |name: &str, more: &[&str]| {
        batches(name, &[&["--batches", "2000"], more].concat());
        fs::metadata(dir(name).join("timeline.pftrace")).unwrap().len()
    };
    let (raw, small) = (size("raw", &["--compress", "none"]), size("small", &["--compress", "deflate:9"]));
    assert!(small * 3 < raw, "{small} of {raw}");
    let annotated = size("annotated", &["--compress", "none", "--args", "annotations"]);
    assert!(annotated > raw + raw / 4, "{annotated} of {raw}");
}

#[test]
fn nothing_is_written_where_nothing_is_recorded() {
    let place = tempfile::tempdir().unwrap();
    let args = ["record", "fifo", "--batches", "100", "--trace", "off"];
    let ran = Ran::from(clockweave().args(args).current_dir(place.path()).output().unwrap()).expect(0, &[]);
    assert!(ran.stderr.contains("batches         100\n"));
    assert_eq!(names(place.path()), Vec::<String>::new());
    record("fifo", &place.path().join("x"), &["--trace", "off"]).expect(2, &["--output"]);
    record("fifo", &place.path().join("x"), &["--trace", "off,text"]).expect(2, &["stands alone"]);
}

#[test]
fn scenarios_are_listed_printed_and_run_from_stdin() {
    let place = tempfile::tempdir().unwrap();
    let listed = run(["scenarios"]).expect(0, &[]);
    assert!(listed.text().lines().any(|line| line.starts_with("three-clocks  ")));
    let json = run(["scenarios", "--json"]).expect(0, &[]).json();
    assert_eq!(json["scenarios"].as_array().unwrap().len(), listed.text().lines().count());
    run(["scenarios", "--print", "fifoo"]).expect(2, &["did you mean `fifo`?"]);
    let text = run(["scenarios", "--print", "fifo"]).expect(0, &[]).stdout;
    let (piped, built_in) = (place.path().join("piped"), place.path().join("built-in"));
    let args = ["record", "-", "--batches", "100", "-o", piped.to_str().unwrap()];
    run_with(args, &text).expect(0, &[]);
    record("fifo", &built_in, &["--batches", "100"]).expect(0, &[]);
    assert!(files(&piped)["timeline.pftrace"] == files(&built_in)["timeline.pftrace"]);
}

#[test]
fn mistakes_name_their_place() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    record("fiffo", &dir, &[]).expect(2, &["neither a file nor a built-in", "did you mean `fifo`?"]);
    record("fifo", &dir, &["--set", "run.bathces=1"])
        .expect(2, &["run.bathces=1", "did you mean `batches`?"]);
    record("fifo", &dir, &["--compress", "lzma"]).expect(2, &["lzma", "deflate:LEVEL"]);
    record("fifo", &dir, &["--batches", "1", "--time", "1ns"]).expect(2, &["--batches", "--time"]);
    record("fifo", &dir, &["--cycles", "sm"]).expect(2, &["sm=1000"]);
    record("fifo", &dir, &["--cycles", "dram=5"]).expect(2, &["dram"]);
    let file = place.path().join("mine.toml");
    fs::write(&file, "run_id = \"x\"\nfrequenzy = 1\n").unwrap();
    record(file.to_str().unwrap(), &dir, &[]).expect(2, &["mine.toml:2:1"]);
    fs::write(&file, [b'x', 0xff]).unwrap();
    record(file.to_str().unwrap(), &dir, &[]).expect(2, &["mine.toml: byte 1 is not UTF-8"]);
    assert_eq!(names(place.path()), ["mine.toml"]);
}
