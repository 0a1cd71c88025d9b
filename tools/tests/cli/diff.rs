//! `clockweave diff`.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::command::{Ran, names, run, run_with};
use crate::fixture;
use crate::record::record;

fn diff(a: &Path, b: &Path, more: &[&str]) -> Ran {
    let args = [OsStr::new("diff"), a.as_os_str(), b.as_os_str()];
    run(args.into_iter().chain(more.iter().map(OsStr::new)))
}

#[test]
fn a_run_equals_its_trace_and_its_merged_log_whatever_the_packing() {
    let place = tempfile::tempdir().unwrap();
    let (one, two) = (place.path().join("one"), place.path().join("two"));
    record("three-clocks", &one, &["--batches", "1500"]).expect(0, &[]);
    let options = ["--batches", "1500", "--compress", "none", "--args", "annotations", "--view", "full"];
    record("three-clocks", &two, &[&options[..], &["--set", "run_id=\"other\""]].concat()).expect(0, &[]);
    let log = place.path().join("one.tsv");
    let merged = run([OsStr::new("merge"), one.as_os_str()]).expect(0, &[]);
    fs::write(&log, &merged.stdout).unwrap();
    let (trace_one, trace_two) = (one.join("timeline.pftrace"), two.join("timeline.pftrace"));
    let events = merged.text().lines().count() - 1;
    let scratch = place.path().join("scratch");
    fs::create_dir(&scratch).unwrap();
    let temp = ["--temp-dir", scratch.to_str().unwrap()];
    for (a, b) in [(&one, &two), (&one, &trace_one), (&trace_one, &trace_two), (&trace_two, &log)] {
        let ran = diff(a, b, &temp).expect(0, &[]);
        assert_eq!(ran.text().replace(',', ""), format!("equal: {events} events\n"));
    }
    assert_eq!(names(&scratch), Vec::<String>::new());
    let piped = run_with([OsStr::new("diff"), OsStr::new("-"), one.as_os_str()], &merged.stdout);
    piped.expect(0, &[]);
    // A number is the same however it is written.
    let text = merged.text();
    let last = text.trim_end().rfind('\t').unwrap() + 1;
    let padded = format!("{}0{}", &text[..last], &text[last..]);
    run_with([OsStr::new("diff"), OsStr::new("-"), one.as_os_str()], padded.as_bytes()).expect(0, &[]);
}

#[test]
fn the_first_changed_event_in_exact_order_is_shown_with_its_neighbours() {
    let place = tempfile::tempdir().unwrap();
    let (one, two) = (place.path().join("one"), place.path().join("two"));
    fixture::run(&one);
    fixture::run(&two);
    // The consumer's second event is the third of the merged log; the producer's last is the sixth.
    for (log, from, to) in [("lts", "\t6\t1", "\t7\t1"), ("sm", "18446744073709551615", "1")] {
        let path = two.join(format!("text-domain-{log}.log"));
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from));
        fs::write(&path, text.replace(from, to)).unwrap();
    }
    let report = diff(&one, &two, &["--json"]).expect(1, &[]).json();
    assert_eq!((&report["report"], &report["equal"]), (&"diff".into(), &false.into()));
    assert_eq!(
        (&report["events"], &report["common"], &report["changed"]),
        (&[6, 6].into(), &4.into(), &2.into())
    );
    assert_eq!((&report["only_in"], &report["changed_columns"]["value"]), (&[0, 0].into(), &2.into()));
    let first = &report["first"];
    assert_eq!((&first["kind"], &first["columns"]), (&"changed".into(), &["value"].as_slice().into()));
    assert_eq!((&first["a"]["unit"], &first["a"]["local_cycle"]), (&"consumer".into(), &1.into()));
    assert_eq!(
        (&first["a"]["time_num"], &first["a"]["time_den"]),
        (&"590831".into(), &"663000000000000".into())
    );
    assert_eq!((&first["a"]["value"], &first["b"]["value"]), (&6.into(), &7.into()));
    let units = |key: &str| -> Vec<String> {
        let rows = first[key].as_array().unwrap();
        rows.iter()
            .map(|row| format!("{}{}", &row["unit"].as_str().unwrap()[..1], row["local_cycle"]))
            .collect()
    };
    assert_eq!(
        (units("before"), units("after_a")),
        (vec!["p0".to_owned(), "c0".to_owned()], units("after_b"))
    );
    assert_eq!(units("after_a"), ["p1", "c2", "p2"]);
    let words = diff(&one, &two, &[]).expect(1, &[]);
    assert!(words.text().starts_with("first difference: the events differ in value\n"), "{}", words.text());
    assert!(words.text().contains("\n>A 0 ns (590831/663000000000000 s) consumer cycle 1 phase 1 user: transaction 0, fifo 0, value 6, ordinal 1\n"), "{}", words.text());
}

#[test]
fn a_missing_event_and_lost_ones_are_differences() {
    let place = tempfile::tempdir().unwrap();
    let (one, two) = (place.path().join("one"), place.path().join("two"));
    fixture::run(&one);
    fixture::run(&two);
    let log = two.join("text-domain-lts.log");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replace("1\t2\tuser\t1\t0\t0\t6\t1\n", "")).unwrap();
    let report = diff(&one, &two, &["--json"]).expect(1, &[]).json();
    assert_eq!((&report["first"]["kind"], &report["only_in"]), (&"only_in_a".into(), &[1, 0].into()));
    assert_eq!(report["first"]["b"], serde_json::Value::Null);
    let report = diff(&two, &one, &["--json"]).expect(1, &[]).json();
    assert_eq!((&report["first"]["kind"], &report["only_in"]), (&"only_in_b".into(), &[0, 1].into()));
    fs::write(&log, text + "# gap unit=2 ordinal=3 count=2 cycle=2 phase=1\n").unwrap();
    let report = diff(&one, &two, &["--json"]).expect(1, &[]).json();
    assert_eq!((&report["first"], &report["losses_equal"]), (&serde_json::Value::Null, &false.into()));
    assert_eq!(report["losses"][1]["lost_events"], 2);
}

#[test]
fn sides_that_are_nothing_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let (one, file) = (place.path().join("one"), place.path().join("file"));
    fixture::run(&one);
    for (bytes, words) in [
        (&b"nonsense"[..], "begins with `nons`"),
        (b"", "an empty file"),
        (b"run\ttime_num\n", "merged log of several runs"),
        (b"time flies\nfoo bar\n", "file:1: found `time flies`, expected the names of the twelve columns"),
        (b"time_num\tand nothing else\n1\t2\n", "file:1: found `time_num\\tand nothing else`"),
        (&[0x0a, 2, 0x50, 2, 0x0a, 9], "damaged at byte 4"),
    ] {
        fs::write(&file, bytes).unwrap();
        diff(&file, &one, &[]).expect(2, &[words]);
        diff(&one, &file, &[]).expect(2, &[words]);
    }
    diff(&one, &place.path().join("missing"), &[]).expect(2, &["missing"]);
    run(["diff", "-", "-"]).expect(2, &["only one"]);
    let log = one.join("text-domain-sm.log");
    fs::write(&log, fs::read_to_string(&log).unwrap() + "torn").unwrap();
    diff(&one, &one, &[]).expect(2, &["text-domain-sm.log", "no line feed"]);
}

/// What a unit is called in a gap does not matter, which unit it is does.
#[test]
fn losses_are_those_of_a_unit() {
    let place = tempfile::tempdir().unwrap();
    let with = |name: &str, unit: &str, gap: &str| {
        let dir = place.path().join(name);
        fixture::run(&dir);
        let manifest = fixture::MANIFEST.replace("\"unit\":\"producer\"", &format!("\"unit\":\"{unit}\""));
        fs::write(dir.join("clock-manifest.json"), manifest).unwrap();
        let log = dir.join("text-domain-sm.log");
        let text = fs::read_to_string(&log).unwrap();
        fs::write(&log, text + gap + "\n").unwrap();
        dir
    };
    let by_id = with("id", "producer", "# gap unit=1 ordinal=3 count=4 cycle=2 phase=1");
    let by_name = with("name", "producer", "# gap unit=producer ordinal=03 count=4 cycle=002 phase=1");
    diff(&by_id, &by_name, &[]).expect(0, &[]);
    // A merged log is a side, too.
    let merged = place.path().join("merged.tsv");
    run(["merge".as_ref(), by_id.as_os_str(), "-o".as_ref(), merged.as_os_str()]).expect(0, &[]);
    diff(&merged, &by_name, &[]).expect(0, &[]);
    let odd = with("odd", "a count=1 b", "# gap unit=1 ordinal=3 count=30 cycle=2 phase=1");
    let report = diff(&odd, &odd, &["--json"]).expect(0, &[]).json();
    assert_eq!(report["losses"][0]["lost_events"], 30);
    let other = with("other", "producer", "# gap unit=1 ordinal=3 count=4 cycle=2 phase=0");
    assert!(diff(&by_id, &other, &[]).expect(1, &[]).text().contains("not the same ones"));
    fs::write(&merged, fs::read_to_string(&merged).unwrap() + "# gap unit=producer count=1\n").unwrap();
    diff(&merged, &by_id, &[])
        .expect(2, &["merged.tsv:9: found `# gap unit=producer count=1`, expected a gap"]);
}

/// A merged log is looked at as a run's own logs are: each row, and their order.
#[test]
fn a_merged_log_as_found_is_checked() {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("log");
    let lines: Vec<&str> = fixture::MERGED.lines().collect();
    let of = |rows: &[&str]| [&lines[..1], rows].concat().join("\n") + "\n";
    fs::write(&log, of(&lines[1..])).unwrap();
    diff(&log, &log, &[]).expect(0, &[]);
    for (rows, words) in [
        (of(&[lines[2], lines[1]]), "log:3: found `0\\t1\\t0\\t1\\tproducer"),
        (of(&[lines[1], lines[1]]), "log:3: "),
        (of(&["foo bar"]), "log:2: found `foo bar`, expected the twelve columns"),
        (lines[1..].join("\n") + "\n", "found a file that begins with"),
    ] {
        fs::write(&log, rows).unwrap();
        diff(&log, &log, &[]).expect(2, &[words]);
    }
    diff(&log, &log, &["--memory", "0"]).expect(2, &["--memory 0: expected at least 1MiB"]);
}

/// Two events of one nanosecond at different exact times are two events, and a FIFO is part of what an event says.
#[test]
fn exact_times_and_fifos_are_compared() {
    let place = tempfile::tempdir().unwrap();
    let (one, two) = (place.path().join("one"), place.path().join("two"));
    fixture::run(&one);
    fixture::run(&two);
    let manifest = two.join("clock-manifest.json");
    // The consumer's clock is a picosecond later: no nanosecond changes.
    fs::write(&manifest, fixture::MANIFEST.replace("\"phase_num\":137", "\"phase_num\":138")).unwrap();
    let report = diff(&one, &two, &["--json"]).expect(1, &[]).json();
    assert_eq!((&report["common"], &report["only_in"]), (&3.into(), &[3, 3].into()));
    fs::write(&manifest, fixture::MANIFEST).unwrap();
    let log = two.join("text-domain-sm.log");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replace("1\t2\t1\t0\t1\n", "1\t2\t7\t0\t1\n")).unwrap();
    let report = diff(&one, &two, &["--json"]).expect(1, &[]).json();
    assert_eq!(report["changed_columns"], serde_json::json!({"fifo_id": 1}));
}

/// A time is the same as whichever fraction it is written.
#[test]
fn times_are_compared_as_fractions() {
    let place = tempfile::tempdir().unwrap();
    let (one, two) = (place.path().join("one"), place.path().join("two"));
    let other = fixture::MERGED.replace("\n1\t457000000\t2\t", "\n2\t914000000\t2\t");
    assert_ne!(other, fixture::MERGED);
    fs::write(&one, fixture::MERGED).unwrap();
    fs::write(&two, other).unwrap();
    assert_eq!(diff(&one, &two, &[]).expect(0, &[]).text(), "equal: 6 events\n");
}
