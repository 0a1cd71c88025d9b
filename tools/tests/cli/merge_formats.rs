//! `clockweave merge`: forms of logs and of the merged log, several runs, filters.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use crate::command::{Ran, names, run};
use crate::fixture;
use crate::record::record;

fn merge(dirs: &[&Path], more: &[&str]) -> Ran {
    let dirs = dirs.iter().map(|dir| dir.as_os_str());
    run([OsStr::new("merge")].into_iter().chain(dirs).chain(more.iter().map(OsStr::new)))
}

/// The cells of a merged log's rows, its header included.
fn cells(text: &str, separator: char) -> Vec<Vec<String>> {
    text.lines().map(|line| line.split(separator).map(str::to_owned).collect()).collect()
}

#[test]
fn csv_and_json_lines_say_what_the_table_says() {
    let place = tempfile::tempdir().unwrap();
    fixture::run(place.path());
    let expected = cells(fixture::MERGED, '\t');
    let csv = merge(&[place.path()], &["--format", "csv"]).expect(0, &[]);
    assert_eq!(cells(csv.text(), ','), expected);
    let json = merge(&[place.path()], &["--format", "jsonl"]).expect(0, &[]);
    let mut rows = vec![expected[0].clone()];
    for line in json.text().lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(row.as_object().unwrap().len(), 12);
        let cell = |key: &String| match &row[key] {
            serde_json::Value::String(text) => text.clone(),
            number => number.as_u64().unwrap().to_string(),
        };
        rows.push(expected[0].iter().map(cell).collect());
    }
    assert_eq!(rows, expected);
}

/// Puts a gap of three events and a unit whose name needs quotes into the run.
fn odd_run(dir: &Path) {
    fixture::run(dir);
    let manifest = fixture::MANIFEST.replace("\"unit\":\"producer\"", "\"unit\":\"p,\\\"1\\\"\"");
    fs::write(dir.join("clock-manifest.json"), manifest).unwrap();
    let log = dir.join("text-domain-sm.log");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text + "# gap unit=1 ordinal=3 count=4 cycle=2 phase=1\n").unwrap();
}

#[test]
fn names_are_quoted_and_gaps_are_rows() {
    let place = tempfile::tempdir().unwrap();
    odd_run(place.path());
    let csv = merge(&[place.path()], &["--format", "csv"]).expect(0, &[]);
    assert!(csv.text().contains("0,1,0,1,\"p,\"\"1\"\"\",0,fifo.write,1,1,1,0,0\n"), "{}", csv.text());
    assert!(
        csv.text().ends_with("1,457000000,2,1,\"p,\"\"1\"\"\",2,trace.gap,1,0,0,4,3\n"),
        "{}",
        csv.text()
    );
    let json = merge(&[place.path()], &["--format", "jsonl"]).expect(0, &[]);
    let last = json.text().lines().last().unwrap();
    assert_eq!(
        last,
        "{\"time_num\":\"1\",\"time_den\":\"457000000\",\"ts\":2,\"domain_id\":1,\"unit\":\"p,\\\"1\\\"\",\
         \"local_cycle\":2,\"event\":\"trace.gap\",\"phase\":1,\"transaction_id\":0,\"fifo_id\":0,\"value\":4,\
         \"ordinal\":3}"
    );
}

/// What SQLite's own shell answers, each row as a line of `|` separated cells.
fn query(database: &Path, sql: &str) -> String {
    let ran = Command::new("sqlite3").args(["-batch", "-bail"]).arg(database).arg(sql).output().unwrap();
    assert!(ran.status.success() && ran.stderr.is_empty(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn a_database_answers_in_exact_order() {
    let place = tempfile::tempdir().unwrap();
    let (dir, out) = (place.path().join("run"), place.path().join("out.db"));
    odd_run(&dir);
    let ran = merge(&[&dir], &["--format", "sqlite", "--json", "-o", out.to_str().unwrap()]).expect(0, &[]);
    assert_eq!((&ran.json()["format"], &ran.json()["run_id"]), (&"sqlite".into(), &"hand".into()));
    assert_eq!(names(place.path()), ["out.db", "run"]);
    let rows = query(&out, "SELECT * FROM merged");
    let expected: String = fixture::MERGED
        .replace("producer", "p,\"1\"")
        .lines()
        .skip(1)
        .map(|line| format!("hand|{}\n", line.replace('\t', "|")))
        .collect();
    assert_eq!(rows, expected);
    // Beyond what SQLite calls an integer a number is text; nothing is rounded.
    let types =
        "SELECT typeof(value), typeof(ts), typeof(time_num) FROM event WHERE event = 'user' ORDER BY rank";
    assert_eq!(query(&out, types).lines().last(), Some("text|integer|text"));
    assert_eq!(query(&out, "SELECT rank, unit, ts, ordinal, lost FROM gap"), "6|0|2|3|4\n");
    assert_eq!(
        query(&out, "SELECT domain_id, name, period_num, period_den, phase_num, phase_den FROM domain"),
        "1|sm|1|914000000|0|1\n2|lts|1|1326000000|137|1000000000000\n"
    );
    for (search, index) in [
        ("unit = 1 ORDER BY rank", "event_by_unit"),
        ("transaction_id = 1 AND transaction_id <> 0 ORDER BY rank", "event_by_transaction"),
        ("ts BETWEEN 1 AND 2", "event_by_time"),
    ] {
        let plan = query(&out, &format!("EXPLAIN QUERY PLAN SELECT * FROM event WHERE {search}"));
        assert!(plan.contains(index), "{plan}");
    }
    assert_eq!(query(&out, "PRAGMA integrity_check"), "ok\n");
    merge(&[&dir], &["--format", "sqlite"]).expect(2, &["--output FILE"]);
    merge(&[&dir], &["--format", "sqlite", "-o", "/dev/null"]).expect(2, &["--output FILE"]);
}

/// The second run: the same units, a clock of its own, another name.
fn second_run(dir: &Path) {
    fixture::run(dir);
    for name in ["clock-manifest.json", "text-domain-sm.log", "text-domain-lts.log"] {
        let text = fs::read_to_string(dir.join(name)).unwrap();
        let text =
            text.replace("\"run_id\":\"hand\"", "\"run_id\":\"a hand\"").replace("run=hand", "run=a hand");
        fs::write(dir.join(name), text.replace("\"period_den\":914000000", "\"period_den\":457000000"))
            .unwrap();
    }
}

#[test]
fn several_runs_merge_by_time_then_run() {
    let place = tempfile::tempdir().unwrap();
    let (one, two) = (place.path().join("one"), place.path().join("two"));
    fixture::run(&one);
    second_run(&two);
    let ran = merge(&[&one, &two], &[]).expect(0, &["merged 12 events of 2 runs from 4 logs"]);
    let rows = cells(ran.text(), '\t');
    let shown: Vec<String> = rows[1..]
        .iter()
        .map(|row| [&row[0], &row[1], &row[2], &row[5], &row[6]].map(String::as_str).join(" "))
        .collect();
    assert_eq!(rows[0][..2], ["run", "time_num"]);
    assert_eq!(
        shown,
        [
            "a hand 0 1 producer 0",
            "hand 0 1 producer 0",
            "a hand 137 1000000000000 consumer 0",
            "hand 137 1000000000000 consumer 0",
            "a hand 590831 663000000000000 consumer 1",
            "hand 590831 663000000000000 consumer 1",
            "hand 1 914000000 producer 1",
            "a hand 1090831 663000000000000 consumer 2",
            "hand 1090831 663000000000000 consumer 2",
            "a hand 1 457000000 producer 1",
            "hand 1 457000000 producer 2",
            "a hand 1 228500000 producer 2",
        ]
    );
    merge(&[&one, &one], &[]).expect(2, &["two run directories hold a run `hand`"]);
    let database = place.path().join("both.db");
    merge(&[&one, &two], &["--format", "sqlite", "-o", database.to_str().unwrap()]).expect(0, &[]);
    let found = query(&database, "SELECT run, time_num, time_den, unit, local_cycle FROM merged");
    assert_eq!(found.replace('|', " ").lines().collect::<Vec<_>>(), shown);
    merge(&[&one, &two], &["--format", "pftrace"]).expect(2, &["2 run directories, expected one"]);
}

#[test]
fn filters_keep_what_matches_and_count_the_rest() {
    let place = tempfile::tempdir().unwrap();
    fixture::run(place.path());
    let kept = |args: &[&str]| -> Vec<String> {
        let ran = merge(&[place.path()], args).expect(0, &[]);
        let rows = cells(ran.text(), '\t');
        let left_out = format!("; {} event", 7 - rows.len());
        assert!(rows.len() == 7 || ran.stderr.contains(&left_out), "{left_out:?} in {}", ran.stderr);
        rows[1..].iter().map(|row| format!("{}{}", &row[4][..1], row[5])).collect()
    };
    assert_eq!(kept(&["--domain", "l*"]), ["c0", "c1", "c2"]);
    assert_eq!(kept(&["--unit", "prod?cer", "--event", "user"]), ["p2"]);
    assert_eq!(kept(&["--event", "fifo.*"]), ["p0", "p1", "c2"]);
    assert_eq!(kept(&["--event", "fifo.w*", "--event", "user"]), ["p0", "c0", "c1", "p1", "p2"]);
    assert_eq!(kept(&["--transaction", "1"]), ["p0", "c2"]);
    // 137 ps is the consumer's first edge: from it on, and before it.
    assert_eq!(kept(&["--from", "137ps"]), ["c0", "c1", "p1", "c2", "p2"]);
    assert_eq!(kept(&["--to", "137ps"]), ["p0"]);
    assert_eq!(kept(&["--from", "1ns", "--to", "2ns"]), ["p1", "c2"]);
    assert_eq!(kept(&["--unit", "nobody"]), Vec::<String>::new());
    // Brackets are themselves.
    assert_eq!(kept(&["--unit", "prod[u]cer"]), Vec::<String>::new());
    assert_eq!(kept(&["--unit", "a["]), Vec::<String>::new());
    merge(&[place.path()], &["--from", "soon"]).expect(2, &["soon"]);
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

#[test]
fn compressed_logs_are_read_and_damaged_ones_refused() {
    let place = tempfile::tempdir().unwrap();
    fixture::run(place.path());
    let (sm, lts) = (place.path().join("text-domain-sm.log"), place.path().join("text-domain-lts.log"));
    let (sm_gz, lts_zst) = (sm.with_extension("log.gz"), lts.with_extension("log.zst"));
    let (sm_text, lts_text) = (fs::read(&sm).unwrap(), fs::read(&lts).unwrap());
    // Two members, as appending gives; the second has the last line.
    let split = sm_text.len() - 10;
    fs::write(&sm_gz, [gzip(&sm_text[..split]), gzip(&sm_text[split..])].concat()).unwrap();
    merge(&[place.path()], &[]).expect(2, &["text-domain-sm.log.gz", "second log"]);
    fs::remove_file(&sm).unwrap();
    fs::write(&lts_zst, zstd::encode_all(&lts_text[..], 3).unwrap()).unwrap();
    fs::remove_file(&lts).unwrap();
    assert_eq!(merge(&[place.path()], &[]).expect(0, &[]).text(), fixture::MERGED);
    for (file, whole) in [(&sm_gz, fs::read(&sm_gz).unwrap()), (&lts_zst, fs::read(&lts_zst).unwrap())] {
        fs::write(file, &whole[..whole.len() - 3]).unwrap();
        let ran = merge(&[place.path()], &[]).expect(2, &[file.to_str().unwrap()]);
        assert!(ran.stdout.is_empty());
        fs::write(file, &whole).unwrap();
    }
    // What is out of order is sorted, with temporary files too.
    let unordered = tempfile::tempdir().unwrap();
    fixture::long_run(unordered.path(), 60_000, false);
    let expected = merge(&[unordered.path()], &[]).expect(0, &[]);
    for name in ["text-domain-sm.log", "text-domain-lts.log"] {
        let log = unordered.path().join(name);
        fs::write(log.with_extension("log.gz"), gzip(&fs::read(&log).unwrap())).unwrap();
        fs::remove_file(&log).unwrap();
    }
    let sorted = merge(&[unordered.path()], &["--memory", "1MiB"]).expect(0, &["outside memory"]);
    assert!(sorted.stdout == expected.stdout);
}

#[test]
fn a_trace_rebuilt_from_text_is_the_recorded_one() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    let rebuilt = place.path().join("rebuilt.pftrace");
    let lossy: &[&str] = &["--lossy", "--ring-records", "2"];
    let three: &[&str] = &["--batches", "2000"];
    for (scenario, options) in [("fifo", three), ("three-clocks", three), ("fifo", lossy)] {
        record(scenario, &dir, &[options, &["--force"]].concat()).expect(0, &[]);
        let recorded = fs::read(dir.join("timeline.pftrace")).unwrap();
        fs::remove_file(dir.join("timeline.pftrace")).unwrap();
        let out = rebuilt.to_str().unwrap();
        merge(&[&dir], &["--format", "pftrace", "--force", "-o", out]).expect(0, &[]);
        assert!(fs::read(&rebuilt).unwrap() == recorded, "{scenario} {options:?}: the rebuilt trace differs");
    }
    let ran = merge(&[&dir], &["--format", "pftrace", "--event", "user"]).expect(2, &["whole units"]);
    assert!(ran.stdout.is_empty());
    let part = merge(&[&dir], &["--format", "pftrace", "--unit", "producer"]).expect(0, &[]);
    assert!(!part.stdout.is_empty() && part.stdout.len() < fs::read(&rebuilt).unwrap().len());
}

#[test]
fn logs_that_no_trace_can_hold_say_why() {
    let place = tempfile::tempdir().unwrap();
    fixture::run(place.path());
    let log = place.path().join("text-domain-sm.log");
    let text = fs::read_to_string(&log).unwrap();
    let pftrace = || merge(&[place.path()], &["--format", "pftrace"]);
    // Commit before evaluate in one edge: the trace would number them the other way round.
    fs::write(&log, text.clone() + "3\t1\tuser\t1\t0\t0\t0\t3\n3\t1\tuser\t0\t0\t0\t0\t4\n").unwrap();
    pftrace().expect(2, &["unit `producer` has ordinal 3 at cycle 3 after 4"]);
    fs::write(&log, text.clone() + "3\t1\tuser\t1\t0\t4294967296\t0\t3\n").unwrap();
    pftrace().expect(2, &["unit `producer`, ordinal 3: fifo_id is 4294967296"]);
    // Ordinals that skip some are told as a loss.
    fs::write(&log, text + "3\t1\tuser\t1\t0\t0\t0\t13\n").unwrap();
    let trace = pftrace().expect(0, &[]).stdout;
    let out = place.path().join("t.pftrace");
    fs::write(&out, trace).unwrap();
    let report = run([OsStr::new("inspect"), OsStr::new("--json"), out.as_os_str()]).expect(0, &[]).json();
    let events = report["events"].as_array().unwrap();
    assert!(events.iter().any(|event| event["name"] == "trace.gap" && event["count"] == 1), "{events:?}");
}
