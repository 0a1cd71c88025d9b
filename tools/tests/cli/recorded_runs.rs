//! What the other commands make of a recorded run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use clockweave::recover;
use clockweave_validators::engine::{Engine, EngineDirs};
use clockweave_validators::{Options, Target, validate};
use num_bigint::BigUint;
use num_rational::Ratio;

use crate::command::run;
use crate::recover::boundaries;

/// Two 4 GHz clocks, the reader's 37 ps late: every nanosecond has four edges of each.
const SHARED_NANOSECONDS: &str = r#"
run_id = "shared-nanoseconds"

[domains.fast]
id = 9
frequency = "4GHz"

[domains.late]
id = 4
frequency = "4GHz"
phase = "37ps"

[units.z-source]
model = "source"
domain = "fast"

[units.a-sink]
model = "sink"
domain = "late"

[fifos.1]
depth = 4
stages = 2
from = "z-source.out"
to = "a-sink.in"

[run]
batches = 2000
"#;

pub(crate) fn engine() -> Engine {
    let compiled = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-engine");
    let dirs = EngineDirs { compiled, ..EngineDirs::from_env().expect("a folder for the engine") };
    Engine::open(&dirs).unwrap_or_else(|error| {
        panic!("this test needs the Trace Processor; run `cargo run -p clockweave -- engine install` once: {error}")
    })
}

fn recorded(dir: &Path, args: &[&str]) {
    let dir = dir.to_str().unwrap();
    run([&["record"], args, &["-o", dir]].concat()).expect(0, &["events", "clockweave validate"]);
}

#[test]
fn wrong_scenarios_and_options_are_usage_errors_with_their_place() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("bad.toml");
    fs::write(&file, SHARED_NANOSECONDS.replace("depth", "dephts")).unwrap();
    let path = file.to_str().unwrap();
    let dir = place.path().join("run");
    let out = dir.to_str().unwrap();
    run(["record", path, "-o", out]).expect(2, &["bad.toml:22:1", "unknown key `dephts`", "depth"]);
    run(["record", "fifo", "-o", out, "--batches", "5", "--time", "1us"]).expect(2, &["cannot be used with"]);
    run(["record", "fifo", "-o", out, "--cycles", "sm"]).expect(2, &["sm=1000"]);
    run(["record", "fifo", "-o", out, "--compress", "lz4"]).expect(2, &["deflate", "zstd"]);
    run(["record", place.path().to_str().unwrap(), "-o", out]).expect(2, &[]);
    assert!(!dir.exists(), "nothing was written");
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_is_complete_up_to_where_it_stopped() {
    use crate::command::{Ran, clockweave};
    use std::process::{Command, Stdio};

    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    let mut child = clockweave()
        .args(["record", "fifo", "--batches", "18446744073709551615", "-o"])
        .arg(&dir)
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    while fs::metadata(dir.join("timeline.pftrace")).map_or(0, |file| file.len()) < 100_000 {
        assert!(child.try_wait().unwrap().is_none(), "the run goes on until it is stopped");
        std::thread::yield_now();
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ran = Ran::from(child.wait_with_output().unwrap());
    ran.expect(130, &["stopped         external request, settled at ", ": interrupted"]);
    let report = validate(&Target::of(&dir), &Options::default(), &engine()).unwrap();
    assert!(report.passed, "{report}");
}

/// Every event of a run's text logs with its exact time from the manifest, in the order of `merge`.
fn expected_log(dir: &Path) -> String {
    let manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(dir.join("clock-manifest.json")).unwrap()).unwrap();
    let big = |value: &serde_json::Value| BigUint::from(value.as_u64().unwrap());
    let units: BTreeMap<u64, &str> = manifest["streams"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stream| (stream["unit_id"].as_u64().unwrap(), stream["unit"].as_str().unwrap()))
        .collect();
    let mut rows = Vec::new();
    for domain in manifest["domains"].as_array().unwrap() {
        let period = Ratio::new(big(&domain["period_num"]), big(&domain["period_den"]));
        let phase = Ratio::new(big(&domain["phase_num"]), big(&domain["phase_den"]));
        let log =
            fs::read_to_string(dir.join(format!("text-domain-{}.log", domain["name"].as_str().unwrap())))
                .unwrap();
        for line in log.lines().filter(|line| !line.starts_with('#')) {
            let cells: Vec<&str> = line.split('\t').collect();
            let time = &phase + &period * BigUint::from(cells[0].parse::<u64>().unwrap());
            let number = |at: usize| cells[at].parse::<u64>().unwrap();
            let unit = units[&number(1)];
            let key = (time.clone(), number(3), domain["id"].as_u64().unwrap(), unit, number(7));
            let ns = (&time * BigUint::from(1_000_000_000u64)).to_integer();
            let text = format!(
                "{}\t{}\t{ns}\t{}\t{unit}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n",
                time.numer(),
                time.denom(),
                domain["id"],
                cells[0],
                cells[2],
                cells[3],
                cells[4],
                cells[5],
                cells[6],
                cells[7],
            );
            rows.push((key, text));
        }
    }
    rows.sort();
    rows.into_iter().map(|(_, text)| text).collect()
}

#[test]
fn merge_gives_every_event_of_a_run_in_exact_order() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("shared.toml");
    fs::write(&file, SHARED_NANOSECONDS).unwrap();
    for scenario in [file.to_str().unwrap(), "fifo-swapped", "three-clocks"] {
        let dir = tempfile::tempdir_in(place.path()).unwrap();
        recorded(dir.path(), &[scenario]);
        let merged = run(["merge", dir.path().to_str().unwrap()]).expect(0, &[]);
        let (header, rows) = merged.text().split_once('\n').unwrap();
        assert!(header.starts_with("time_num\ttime_den\tts\tdomain_id\tunit\t"));
        assert!(rows.lines().count() > 1000);
        assert!(rows == expected_log(dir.path()), "{scenario}: the merged log is not the expected one");
        let report = validate(&Target::of(dir.path()), &Options::default(), &engine()).unwrap();
        assert!(report.passed, "{report}");
    }
}

/// Cuts a recorded trace at every length; whole packets up to the cut are kept, and every distinct
/// prefix is what a killed run of this directory may have left.
fn recovers_at_every_length(compress: &str) {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    recorded(
        &dir,
        &["fifo", "--batches", "24", "--compress", compress, "--set", "record.checkpoint_interval=12"],
    );
    let trace = fs::read(dir.join("timeline.pftrace")).unwrap();
    let ends = boundaries(&trace);
    assert!(ends.len() > 10, "{}", ends.len());
    for length in 0..=trace.len() {
        let mut kept = Vec::new();
        let done = recover::recover(&trace[..length], recover::Extent::Prefix, &mut kept, &mut ());
        let expected = ends.iter().rev().find(|end| **end <= length);
        match (done, expected) {
            (Ok(report), Some(&end)) => {
                assert_eq!(kept, trace[..end], "length {length}");
                assert_eq!(report.cut.is_none(), length == end, "length {length}");
            }
            (Err(_), None) => assert!(kept.is_empty(), "length {length}"),
            (done, _) => panic!("length {length}: {done:?}"),
        }
    }
    let engine = engine();
    for &end in &ends {
        fs::write(dir.join("timeline.pftrace"), &trace[..end]).unwrap();
        let options = Options { prefix: true, ..Options::default() };
        let report = validate(&Target::of(&dir), &options, &engine).unwrap();
        assert!(report.passed, "{compress}, cut at {end}: {report}");
    }
}

#[test]
fn a_raw_trace_is_recovered_at_every_length() {
    recovers_at_every_length("none");
}

#[test]
fn a_compressed_trace_is_recovered_at_every_length() {
    recovers_at_every_length("deflate");
}
