//! `clockweave validate` for machines: JUnit, SARIF, annotations; own checks and references.
//!
//! `schemas/sarif-2.1.0.schema.json` is the schema that OASIS publishes with SARIF 2.1.0.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::{Ran, clockweave};
use crate::record::record;
use crate::validate::validate;

/// A good run, and one whose last line of a log is gone.
fn runs(place: &Path) -> [PathBuf; 2] {
    let runs = ["good", "bad"].map(|name| place.join(name));
    for dir in &runs {
        record("fifo", dir, &["--batches", "300"]).expect(0, &[]);
    }
    let log = runs[1].join("text-domain-sm.log");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, &text[..text.trim_end().rfind('\n').unwrap() + 1]).unwrap();
    runs
}

#[test]
fn junit_opens_in_an_xml_parser_and_has_a_case_per_trace_and_check() {
    let place = tempfile::tempdir().unwrap();
    let [good, bad] = runs(place.path());
    let (file, missing) = (place.path().join("junit.xml"), place.path().join("<&>\u{1}"));
    let args = ["--quiet", "--junit", file.to_str().unwrap()];
    validate(&args, [&good, &missing, &bad]).expect(2, &[]);
    let text = fs::read_to_string(&file).unwrap();
    let document = roxmltree::Document::parse(&text).unwrap();
    let root = document.root_element();
    let cases = validate(&["--json"], [&good]).expect(0, &[]).json()["results"][0]["checks"]
        .as_array()
        .unwrap()
        .len();
    let total = (2 * cases + 1).to_string();
    assert_eq!((root.attribute("tests"), root.attribute("failures")), (Some(&*total), Some("1")));
    assert_eq!(root.attribute("errors"), Some("1"));
    let suites: Vec<_> = root.children().filter(|node| node.has_tag_name("testsuite")).collect();
    assert_eq!(suites.len(), 3);
    assert_eq!(suites[0].attribute("name"), good.to_str());
    // What XML cannot hold is left out.
    assert!(suites[1].attribute("name").unwrap().ends_with("/<&>"));
    let failed: Vec<_> = suites[2].descendants().filter(|node| node.has_tag_name("failure")).collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].parent().unwrap().attribute("name"), Some("identity"));
    assert!(failed[0].attribute("message").unwrap().ends_with("found in the trace but not in the log"));
    // What was left out is told from what holds.
    let alone = place.path().join("alone.xml");
    let trace = good.join("timeline.pftrace");
    validate(&["--quiet", "--junit", alone.to_str().unwrap()], [&trace]).expect(0, &[]);
    let text = fs::read_to_string(&alone).unwrap();
    let document = roxmltree::Document::parse(&text).unwrap();
    let skipped = document.descendants().filter(|node| node.has_tag_name("skipped")).count();
    assert_eq!((skipped, document.root_element().attribute("failures")), (7, Some("0")), "{text}");
    // Never replaced unasked.
    validate(&args, [&good]).expect(2, &["--force"]);
    validate(&[&args[..], &["--force"]].concat(), [&good]).expect(0, &[]);
}

#[test]
fn sarif_passes_its_schema() {
    let place = tempfile::tempdir().unwrap();
    let [good, bad] = runs(place.path());
    let trace = bad.join("timeline.pftrace");
    let whole = fs::read(&trace).unwrap();
    fs::write(&trace, [&whole[..], &[0x0a, 0x20, 0x40]].concat()).unwrap();
    let missing = place.path().join("missing");
    let log = validate(&["--quiet", "--sarif", "-", "--max-findings", "1"], [&good, &bad, &missing]);
    let log = Ran { stdout: log.stdout[log.text().find("{\n").unwrap()..].to_vec(), ..log };
    let log = log.expect(2, &["missing"]).json();

    let schema = include_str!("schemas/sarif-2.1.0.schema.json");
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    compiler.add_resource("http://test/sarif.json", serde_json::from_str(schema).unwrap()).unwrap();
    let compiled = compiler.compile("http://test/sarif.json", &mut schemas).unwrap();
    if let Err(error) = schemas.validate(&log, compiled) {
        panic!("{error}\n{log:#}");
    }
    let mut odd = log.clone();
    odd["runs"][0]["results"][0]["level"] = "fatal".into();
    assert!(schemas.validate(&odd, compiled).is_err(), "the schema is held");

    let results = log["runs"][0]["results"].as_array().unwrap();
    let torn = &results[0];
    assert_eq!(torn["ruleId"], "structure");
    let place = &torn["locations"][0]["physicalLocation"];
    assert_eq!(place["region"]["byteOffset"], whole.len());
    assert_eq!(place["artifactLocation"]["uri"], format!("file://{}", trace.display()));
    assert!(results.iter().any(|result| result["ruleId"] == "identity"));
    let unlisted = validate(&["--quiet", "--sarif", "-", "--max-findings", "0"], [&bad]);
    assert!(unlisted.text().contains("1 more findings of identity are not listed"), "{}", unlisted.text());
    let path = good.join("text-domain-sm.log");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\tfifo.write\t", "\tfifo.write\t\t", 1)).unwrap();
    let torn = validate(&["--quiet", "--sarif", "-"], [&good]).expect(1, &[]);
    let text = torn.text();
    let lines: serde_json::Value = serde_json::from_str(&text[text.find("{\n").unwrap()..]).unwrap();
    let results = lines["runs"][0]["results"].as_array().unwrap();
    let place = &results.iter().find(|result| result["ruleId"] == "logs").unwrap()["locations"][0];
    // Two lines of names stand before the first event.
    assert_eq!(place["physicalLocation"]["region"]["startLine"], 3);
    let invocation = &log["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    assert!(
        invocation["toolExecutionNotifications"][0]["message"]["text"].as_str().unwrap().contains("missing")
    );
}

#[test]
fn github_is_told_and_nobody_else() {
    let place = tempfile::tempdir().unwrap();
    let [_, bad] = runs(place.path());
    let told = |value: &str| {
        let mut command = clockweave();
        command.args(["validate", "--json"]).arg(&bad).env("GITHUB_ACTIONS", value);
        command
            .env("CLOCKWEAVE_COMPILED_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-engine"));
        Ran::from(command.output().unwrap()).expect(1, &[])
    };
    let ran = told("true");
    let expected =
        format!("::error file={}/timeline.pftrace,title=clockweave validate%3A identity::", bad.display());
    assert!(ran.stderr.contains(&expected), "{}", ran.stderr);
    assert_eq!(ran.json()["passed"], false);
    assert!(!told("false").stderr.contains("::error"));
}

#[test]
fn own_checks_give_no_row_or_the_expected_ones() {
    let place = tempfile::tempdir().unwrap();
    let [good, _] = runs(place.path());
    let folder = place.path().join("checks");
    fs::create_dir(&folder).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    let check = |code: i32, words: &[&str]| {
        validate(&["--check", folder.to_str().unwrap()], [&good]).expect(code, words)
    };
    check(2, &["checks: found no query, expected files named NAME.sql"]);
    write(
        "order.sql",
        "CREATE PERFETTO TABLE mine AS SELECT ts FROM slice; SELECT ts FROM mine WHERE ts < 0",
    );
    write("again.sql", "CREATE PERFETTO TABLE mine AS SELECT 1 AS one; SELECT one FROM mine WHERE one != 1");
    write("kinds.sql", "SELECT 'a,\"b\"' AS text, 7 AS number, NULL AS gap, 0.5 AS part, x'0aff' AS bytes");
    write(
        "kinds.expected.csv",
        "\"text\",\"number\",\"gap\",\"part\",\"bytes\"\n\"a,\"\"b\"\"\",7,\"[NULL]\",0.500000,0aff\n",
    );
    let text = check(0, &[]).text().to_owned();
    for name in ["check/again", "check/kinds", "check/order"] {
        assert!(text.contains(&format!("ok      {name}")), "{text}");
    }

    write("kinds.expected.csv", "text,count,gap,part,bytes\n\"a,\"\"b\"\"\",7,[NULL],0.5,0aff\n");
    let text = check(1, &[]).text().to_owned();
    assert!(text.contains("found the columns text,number,gap,part,bytes, expected text,count,"), "{text}");
    write("kinds.expected.csv", "text,number,gap,part,bytes\n\"a,\"\"b\"\"\",8,[NULL],0.5,0aff\nx,1,1,1,1\n");
    write("order.sql", "SELECT ts, name FROM slice WHERE name = 'fifo.write' ORDER BY ts LIMIT 2");
    let text = check(1, &[]).text().to_owned();
    assert!(
        text.contains("row 1: found a,\"b\",7,[NULL],0.500000,0aff, expected a,\"b\",8,[NULL],0.5,0aff"),
        "{text}"
    );
    assert!(text.contains("found 1 rows, expected 1 more") && text.contains("found a row: ts="), "{text}");

    write("order.sql", "SELECT nonsense FROM nowhere");
    check(2, &["order.sql: the importer refused the query", "nowhere"]);
    write("stray.expected.csv", "a\n");
    check(2, &["stray.expected.csv: found expected rows without a query"]);
}

/// The events of a run as its logs have them, with times of the trace: 914 MHz and 1326 MHz + 137 ps.
fn reference(dir: &Path) -> String {
    let manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(dir.join("clock-manifest.json")).unwrap()).unwrap();
    let mut text =
        "ts\tunit\tlocal_cycle\tevent\tphase\ttransaction_id\tfifo_id\tvalue\tordinal\n".to_owned();
    for domain in manifest["domains"].as_array().unwrap() {
        let number = |key: &str| u128::from(domain[key].as_u64().unwrap());
        let (num, den) = (number("period_num"), number("period_den"));
        let (phase_num, phase_den) = (number("phase_num"), number("phase_den"));
        let log = dir.join(format!("text-domain-{}.log", domain["name"].as_str().unwrap()));
        for line in fs::read_to_string(log).unwrap().lines().filter(|line| !line.starts_with('#')) {
            let columns: Vec<&str> = line.split('\t').collect();
            let cycle: u128 = columns[0].parse().unwrap();
            let ts = (phase_num * den + cycle * num * phase_den) * 1_000_000_000 / (phase_den * den);
            let streams = manifest["streams"].as_array().unwrap().iter();
            let unit = streams
                .clone()
                .find(|row| row["unit_id"].as_u64() == columns[1].parse().ok())
                .unwrap()["unit"]
                .clone();
            text += &format!("{ts}\t{}\t{cycle}\t{}\n", unit.as_str().unwrap(), columns[2..].join("\t"));
        }
    }
    text
}

#[test]
fn a_reference_is_held_event_by_event_and_has_a_digest() {
    let place = tempfile::tempdir().unwrap();
    let [good, bad] = runs(place.path());
    let file = place.path().join("reference.tsv");
    let text = reference(&good);
    let check = |text: &str, code: i32, words: &[&str]| {
        fs::write(&file, text).unwrap();
        validate(&["--reference", file.to_str().unwrap()], [&good]).expect(code, words).text().to_owned()
    };
    let held = check(&text, 0, &[]);
    let digest = |text: &str| text.split("unit and ordinal: ").nth(1).unwrap()[..64].to_owned();
    // The digest does not depend on the order of the rows.
    let (header, rows) = text.split_once('\n').unwrap();
    let mut reversed: Vec<&str> = rows.lines().rev().collect();
    let backwards = format!("{header}\n{}\n", reversed.join("\n"));
    assert_eq!(digest(&check(&backwards, 0, &[])), digest(&held));

    let missing = reversed.pop().unwrap();
    let fewer = format!("{header}\n{}\n", reversed.join("\n"));
    assert!(check(&fewer, 1, &[]).contains("found it in the trace but not in the reference"));
    let more = format!("{text}{}\n", missing.rsplit_once('\t').unwrap().0.to_owned() + "\t99999");
    assert!(
        check(&more, 1, &[]).contains("found 1 events of the reference not in the trace, expected the 0")
    );
    let late = text.replacen("\n0\t", "\n1\t", 1);
    assert_ne!(late, text);
    assert!(check(&late, 1, &[]).contains("found ts 0, expected 1 in line "));

    check("a\tb\n", 2, &["reference.tsv:1: found \"a\\tb\", expected the columns"]);
    check(&format!("{header}\n1\t2\n"), 2, &["reference.tsv:2: found 2 columns, expected 9"]);
    check(&format!("{text}{missing}\n"), 2, &["found ordinal ", "again"]);
    validate(&["--reference", "x"], [&good, &bad]).expect(2, &["expected one run directory"]);
    fs::write(&file, &text).unwrap();
    let trace = good.join("timeline.pftrace");
    validate(&["--reference", file.to_str().unwrap()], [&trace]).expect(2, &["expected a run directory"]);
}
