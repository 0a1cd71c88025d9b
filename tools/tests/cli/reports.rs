//! `--json`: every key that a report may have is documented.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::command::{Ran, clockweave, run};
use crate::fixture;

/// Keys of an object and of those in it, but for objects that have documentation of their own.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
        Value::Object(fields) => {
            for (key, field) in fields {
                let is_id = key.bytes().all(|byte| byte.is_ascii_digit());
                if !is_id {
                    found.insert(key.clone());
                }
                // Statistics have a schema; the cut's reason is told in words beside it.
                if key != "stats" && !(key == "reason" && field.is_object()) {
                    keys(field, found);
                }
            }
        }
        _ => {}
    }
}

/// The part of the documentation that is before the first heading, and the parts below each, by report.
fn documented() -> (String, BTreeMap<String, String>) {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/json-reports.md");
    let docs = fs::read_to_string(docs).unwrap();
    let mut parts = docs.split("\n## ");
    let preamble = parts.next().unwrap().to_owned();
    let mut sections = BTreeMap::new();
    for part in parts {
        let (heading, text) = part.split_once('\n').unwrap();
        for report in heading.split('`').skip(1).step_by(2) {
            assert!(sections.insert(report.to_owned(), text.to_owned()).is_none(), "{report} twice");
        }
    }
    (preamble, sections)
}

#[test]
fn every_key_of_every_report_is_documented() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name).into_os_string();
    let text = |args: &[&str]| -> Vec<std::ffi::OsString> { args.iter().map(Into::into).collect() };
    let (preamble, sections) = documented();
    let mut found = BTreeSet::new();
    let mut missing = BTreeSet::new();
    let mut take = |ran: Ran| {
        let report = ran.json();
        assert!(report["version"].is_u64(), "{report}");
        let name = report["report"].as_str().unwrap();
        let section = sections.get(name).unwrap_or_else(|| panic!("no section of `{name}`"));
        let mut here = BTreeSet::new();
        keys(&report, &mut here);
        for key in &here {
            let word = format!("`{key}`");
            if !section.contains(&word) && !preamble.contains(&word) {
                missing.insert(format!("{name}: {key}"));
            }
        }
        found.extend(here);
    };

    // A stop, drained FIFOs.
    take(run([text(&["record", "three-clocks", "--json", "-o"]), vec![path("recorded")]].concat()));
    take(run(["scenarios", "--json"]));
    // A refused line, a torn one.
    let dir = place.path().join("hand");
    fixture::run(&dir);
    let log = dir.join("text-domain-sm.log");
    fs::write(&log, fs::read_to_string(&log).unwrap() + "nonsense\n3\t1\tuser").unwrap();
    let out = [OsStr::new("-o").to_owned(), path("merged.tsv")];
    take(run([text(&["merge", "--json", "--on-error", "skip"]), vec![dir.into()], out.to_vec()].concat()));
    // A torn packet of an open slice: field 11 is a track event whose type (field 9) is a slice's begin.
    let trace = [0x0a, 6, 0x50, 2, 0x5a, 2, 0x48, 1, 0x0a, 9, 0x50];
    fs::write(path("torn"), trace).unwrap();
    take(run([text(&["recover", "--json"]), vec![path("torn"), "-o".into(), path("whole")]].concat()));
    take(run([
        text(&["recover", "--salvage", "--force", "--json"]),
        vec![path("torn"), "-o".into(), path("whole")],
    ]
    .concat()));
    take(run([text(&["inspect", "--lint", "--json"]), vec![path("torn")]].concat()));
    let (one, two) = (place.path().join("one"), place.path().join("two"));
    fixture::run(&one);
    fixture::run(&two);
    let log = two.join("text-domain-sm.log");
    fs::write(&log, fs::read_to_string(&log).unwrap().replace("18446744073709551615", "1")).unwrap();
    take(run([text(&["diff", "--json"]), vec![one.into(), two.into()]].concat()));
    let report = ["report", "--json", "--assert", "fifo.*.p99 < 1ns"];
    take(run([text(&report), vec![path("recorded")]].concat()));
    take(run([text(&["report", "--json", "--transaction", "1"]), vec![path("recorded")]].concat()));
    // A missing log line, a missing file.
    let recorded = place.path().join("recorded");
    let log = recorded.join("text-domain-sm.log");
    let lines = fs::read_to_string(&log).unwrap();
    fs::write(&log, &lines[..lines.trim_end().rfind('\n').unwrap() + 1]).unwrap();
    let mut validate = clockweave();
    validate.args(["validate", "--json"]).arg(&recorded).arg(path("missing"));
    validate.env("CLOCKWEAVE_COMPILED_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-engine"));
    take(validate.output().unwrap().into());
    take(clockweave().args(["engine", "install", "--json"]).output().unwrap().into());

    for key in [
        "stop",
        "torn",
        "skipped",
        "open_slices",
        "findings",
        "error",
        "changed",
        "holes",
        "after_a",
        "largest",
        "longest_edges",
        "reasons",
        "since_previous",
    ] {
        assert!(found.contains(key), "the reports above show `{key}`");
    }
    assert!(missing.is_empty(), "not in its section of docs/json-reports.md: {missing:?}");
}
