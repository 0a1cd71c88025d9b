//! `clockweave validate`, with the installed engine.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::process::Command;

use crate::command::{Ran, clockweave, run, run_with};
use crate::record::record;

/// Validates with compiled modules kept between tests.
pub(crate) fn validate<A: AsRef<OsStr>>(args: &[&str], paths: impl IntoIterator<Item = A>) -> Ran {
    let mut command = clockweave();
    command.arg("validate").args(args).args(paths);
    command.env("CLOCKWEAVE_COMPILED_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-engine"));
    command.output().unwrap().into()
}

#[test]
fn what_was_recorded_holds() {
    let place = tempfile::tempdir().unwrap();
    let variants = [
        ("fifo", ["--rotate-events", "3000"]),
        ("fifo-swapped", ["--compress", "zstd"]),
        ("three-clocks", ["--view", "full"]),
    ];
    let runs: Vec<PathBuf> = variants
        .into_iter()
        .map(|(scenario, [option, value])| {
            let dir = place.path().join(scenario);
            record(scenario, &dir, &["--batches", "3000", option, value]).expect(0, &[]);
            dir
        })
        .collect();
    let ran = validate(&[], &runs).expect(0, &[]);
    assert_eq!(ran.text().matches(": all checks hold").count(), 3, "{}", ran.text());
    let report = validate(&["--json"], &runs).expect(0, &[]).json();
    assert_eq!(
        (&report["report"], &report["version"], &report["passed"]),
        (&"validate".into(), &1.into(), &true.into())
    );
    assert_eq!(report["results"].as_array().unwrap().len(), 3);
    assert_eq!(validate(&["--quiet"], &runs).expect(0, &[]).text(), "");
}

#[test]
fn findings_and_bad_input_have_exit_codes_of_their_own() {
    let place = tempfile::tempdir().unwrap();
    let (good, bad) = (place.path().join("good"), place.path().join("bad"));
    for dir in [&good, &bad] {
        record("fifo", dir, &["--batches", "500"]).expect(0, &[]);
    }
    let log = bad.join("text-domain-sm.log");
    let text = fs::read_to_string(&log).unwrap();
    let last = text.trim_end().rfind('\n').unwrap() + 1;
    fs::write(&log, &text[..last]).unwrap();
    let ran = validate(&["--quiet"], [&good, &bad]).expect(1, &[]);
    assert!(ran.text().contains("FAILED"), "{}", ran.text());
    assert!(!ran.text().contains("good"), "quiet about what holds: {}", ran.text());
    let missing = place.path().join("missing");
    let ran = validate(&[], [&missing, &bad, &good]).expect(2, &["missing"]);
    assert!(ran.text().contains("FAILED") && ran.text().contains("all checks hold"));
    let report = validate(&["--json"], [&missing, &bad]).expect(2, &[]).json();
    assert_eq!(report["passed"], false);
    assert_eq!(report["results"][0]["subject"], missing.to_str().unwrap());
    assert!(report["results"][0]["error"].is_string());
    validate(&[], Vec::<&str>::new()).expect(2, &["<PATH>"]);
}

/// One whole packet, which to the importer begins as JSON does: its tag is a line's end, its length a brace.
fn packet_that_reads_as_json() -> Vec<u8> {
    let mut bytes = b"\n{\"traceEvents\":[".to_vec();
    // The text is a field of 116 bytes; two numbers follow.
    bytes.resize(2 + 2 + 116, b'x');
    bytes.extend([0x40, 1, 0x50, 0x81, 0]);
    assert_eq!(bytes.len(), 2 + usize::from(b'{'));
    bytes
}

#[test]
fn what_the_importer_refuses_is_a_finding_and_nothing_is_said_of_the_rest() {
    let place = tempfile::tempdir().unwrap();
    let alone = place.path().join("odd.pftrace");
    fs::write(&alone, packet_that_reads_as_json()).unwrap();
    let ran = validate(&[], [&alone]).expect(1, &[]);
    assert!(ran.text().contains("the importer refused the trace: Failure parsing JSON"), "{}", ran.text());
    let run = place.path().join("run");
    record("fifo", &run, &["--batches", "300", "--rotate-events", "200"]).expect(0, &[]);
    fs::write(run.join("timeline-00001.pftrace"), packet_that_reads_as_json()).unwrap();
    let report = validate(&["--json"], [&run]).expect(1, &[]).json();
    let checks = report["results"][0]["checks"].as_array().unwrap();
    let failed: Vec<&str> = checks
        .iter()
        .filter(|check| check["status"] == "failed")
        .map(|check| check["name"].as_str().unwrap())
        .collect();
    assert_eq!(failed, ["import"]);
    assert!(checks.iter().all(|check| check["name"] != "conservation"), "{checks:?}");
}

#[test]
fn a_trace_on_stdin_is_validated_as_a_trace_alone() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    record("fifo", &dir, &["--batches", "500", "--trace", "perfetto"]).expect(0, &[]);
    let mut command = clockweave();
    command.args(["validate", "--json", "-"]).stdin(fs::File::open(dir.join("timeline.pftrace")).unwrap());
    command.env("CLOCKWEAVE_COMPILED_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-engine"));
    command.env("TMPDIR", place.path());
    let report = Ran::from(command.output().unwrap()).expect(0, &[]).json();
    assert_eq!(report["results"][0]["subject"], "stdin");
    assert_eq!(crate::command::names(place.path()), ["run"]);
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_spooled_or_refused_and_never_waited_for() {
    let place = tempfile::tempdir().unwrap();
    let (dir, pipe) = (place.path().join("run"), place.path().join("pipe"));
    record("fifo", &dir, &["--batches", "500"]).expect(0, &[]);
    let trace = fs::read(dir.join("timeline.pftrace")).unwrap();
    let mkfifo = |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    mkfifo(&pipe);
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::write(pipe, trace).unwrap()
    });
    let ran = validate(&[], [&pipe]).expect(0, &[]);
    assert!(ran.text().starts_with(&format!("{}: all checks hold", pipe.display())), "{}", ran.text());
    writer.join().unwrap();

    for name in ["timeline.pftrace", "clock-manifest.json", "clock-stats.json", "text-domain-sm.log"] {
        let (file, aside) = (dir.join(name), place.path().join("aside"));
        fs::rename(&file, &aside).unwrap();
        mkfifo(&file);
        let words = format!("{name}: found a pipe, expected a regular file");
        validate(&[], [&dir]).expect(2, &[&words]);
        if name.starts_with("clock-manifest") || name.starts_with("text") {
            run([OsStr::new("merge"), dir.as_os_str()]).expect(2, &[&words]);
        }
        fs::rename(&aside, &file).unwrap();
    }
}

#[test]
fn what_is_wrong_with_stdin_is_told_of_stdin() {
    let ran = run_with(["validate", "-"], b"no trace").expect(2, &["error: stdin: at byte 0"]);
    assert!(ran.stdout.is_empty());
}
