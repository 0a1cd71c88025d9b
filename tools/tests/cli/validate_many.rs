//! `clockweave validate` with many paths, and with a Trace Processor in a process of its own.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::Ran;
use crate::record::record;
use crate::validate::validate;

/// Reports without what differs from one time to the next.
fn results(ran: &Ran) -> Vec<serde_json::Value> {
    let mut results = ran.json()["results"].as_array().unwrap().clone();
    for result in &mut results {
        result.as_object_mut().unwrap().remove("elapsed_ms");
    }
    results
}

#[test]
fn many_paths_give_the_same_results_in_order_on_any_number_of_jobs() {
    let place = tempfile::tempdir().unwrap();
    let mut paths: Vec<PathBuf> = (0..6).map(|number| place.path().join(format!("run-{number}"))).collect();
    for (dir, batches) in paths.iter().zip(["3000", "10", "400", "20", "30", "200"]) {
        record("fifo", dir, &["--batches", batches]).expect(0, &[]);
    }
    let trace = paths[2].join("timeline.pftrace");
    let whole = fs::read(&trace).unwrap();
    fs::write(&trace, &whole[..whole.len() - 3]).unwrap();
    paths.insert(3, place.path().join("missing"));
    let one = validate(&["--json", "--jobs", "1"], &paths).expect(2, &["missing"]);
    let subjects: Vec<_> =
        results(&one).iter().map(|result| result["subject"].as_str().unwrap().to_owned()).collect();
    assert!(subjects.iter().zip(&paths).all(|(subject, path)| Path::new(subject) == path), "{subjects:?}");
    let three = validate(&["--json", "--jobs", "3"], &paths).expect(2, &["missing"]);
    assert_eq!(results(&three), results(&one));
    validate(&["--jobs", "0"], &paths).expect(2, &["--jobs"]);
    validate(&[], ["-", "-"]).expect(2, &["`-` twice"]);
}

/// A program that speaks as `trace_processor_shell --stdiod` does: the embedded engine behind the stream protocol.
#[cfg(unix)]
pub(crate) fn shell(place: &Path, before: &str) -> PathBuf {
    let (text_file, program) = (place.join("shell.txt"), place.join("trace_processor_shell"));
    let clockweave = env!("CARGO_BIN_EXE_clockweave");
    let compiled = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-engine");
    let text = format!(
        "#!/bin/sh\n{before}\nexport CLOCKWEAVE_COMPILED_DIR='{}'\nexec '{clockweave}' engine serve \"$@\"\n",
        compiled.display()
    );
    fs::write(&text_file, text).unwrap();
    // Written by a process of its own: what another test starts meanwhile would hold a file open that this one writes,
    // and nobody could run it.
    let install =
        std::process::Command::new("install").args(["-m", "700"]).args([&text_file, &program]).status();
    assert!(install.unwrap().success());
    program
}

#[cfg(unix)]
#[test]
fn a_native_engine_sees_what_the_embedded_one_sees_and_is_started_once_per_job() {
    let place = tempfile::tempdir().unwrap();
    let mut paths: Vec<PathBuf> = (0..5).map(|number| place.path().join(format!("run-{number}"))).collect();
    for dir in &paths {
        record("fifo", dir, &["--batches", "300"]).expect(0, &[]);
    }
    let log = paths[1].join("text-domain-sm.log");
    fs::write(&log, fs::read_to_string(&log).unwrap().replacen("\t1\t", "\t0\t", 1)).unwrap();
    paths.push(place.path().join("run-0/timeline.pftrace"));
    let starts = place.path().join("starts");
    let program = shell(place.path(), &format!("echo started >> '{}'", starts.display()));
    let native = ["--json", "--jobs", "2", "--trace-processor", program.to_str().unwrap()];
    let mut found = results(&validate(&native, &paths).expect(1, &[]));
    let mut expected = results(&validate(&["--json"], &paths).expect(1, &[]));
    for result in &mut found {
        let engine = result.as_object_mut().unwrap().remove("engine").unwrap();
        let engine = engine.as_str().unwrap();
        assert!(engine.starts_with(program.to_str().unwrap()) && engine.contains("v52.0"), "{engine}");
    }
    expected.iter_mut().for_each(|result| drop(result.as_object_mut().unwrap().remove("engine")));
    assert_eq!(found, expected);
    let started = fs::read_to_string(&starts).unwrap().lines().count();
    assert!((1..=2).contains(&started), "{started} processes for two jobs");
}

#[cfg(unix)]
#[test]
fn a_native_engine_that_is_no_engine_or_hangs_is_an_environment_error() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    record("fifo", &dir, &["--batches", "100"]).expect(0, &[]);
    let with = |before: &str, words: &[&str]| {
        let program = shell(place.path(), before);
        validate(&["--engine-timeout", "1", "--trace-processor", program.to_str().unwrap()], [&dir])
            .expect(3, words);
    };
    with("exec sleep 1000", &["no whole answer within 1 s", "--engine-timeout"]);
    with("echo 'unknown option' >&2; exit 1", &["exit status: 1", "unknown option"]);
    with("exec echo nonsense", &["is not the one this version drives"]);
    let missing = place.path().join("nothing");
    validate(&["--trace-processor", missing.to_str().unwrap()], [&dir])
        .expect(3, &["embedded engine is used"]);
}

#[test]
fn many_small_traces_start_an_engine_per_job() {
    let good = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace-fixtures/good/two-clocks");
    for (jobs, most, traces) in [("1", 1, 6), ("2", 2, 30)] {
        let report = validate(&["--json", "--jobs", jobs], vec![&good; traces]).expect(0, &[]).json();
        assert_eq!(report["results"].as_array().unwrap().len(), traces);
        let starts = report["engine_starts"].as_u64().unwrap();
        assert!((1..=most).contains(&starts), "{starts} engines for {jobs} jobs");
    }
}

#[cfg(unix)]
#[test]
fn a_native_engine_is_a_path_and_never_looked_for() {
    let place = tempfile::tempdir().unwrap();
    let folder = shell(place.path(), "").parent().unwrap().to_owned();
    let validate = |path: &str| {
        let mut command = crate::command::clockweave();
        command.args(["validate", "--quiet", "--trace-processor", "trace_processor_shell"]);
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace-fixtures/good/two-clocks"));
        Ran::from(command.current_dir(place.path().join(path)).env("PATH", &folder).output().unwrap())
    };
    fs::create_dir(place.path().join("elsewhere")).unwrap();
    validate("elsewhere").expect(3, &["trace_processor_shell: No such file"]);
    validate(".").expect(0, &[]);
}
