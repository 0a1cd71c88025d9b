//! `clockweave merge`.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::command::{names, run};
use crate::fixture;

fn merge(dir: &Path, more: &[&str]) -> crate::command::Ran {
    run([OsStr::new("merge"), dir.as_os_str()].into_iter().chain(more.iter().map(OsStr::new)))
}

#[test]
fn two_clocks_become_one_log_in_exact_order() {
    let place = tempfile::tempdir().unwrap();
    fixture::run(place.path());
    let ran = merge(place.path(), &[]).expect(0, &["merged 6 events of run `hand` from 2 logs"]);
    assert_eq!(ran.text(), fixture::MERGED);
}

#[test]
fn the_report_is_one_documented_object() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    fixture::run(&dir);
    let out = place.path().join("merged.tsv");
    let ran = merge(&dir, &["--json", "-o", out.to_str().unwrap()]).expect(0, &[]);
    let report = ran.json();
    assert_eq!(report["report"], "merge");
    assert_eq!(report["version"], 1);
    assert_eq!(
        (&report["run_id"], &report["events"], &report["complete"]),
        (&"hand".into(), &6.into(), &true.into())
    );
    assert_eq!(report["logs"][1]["domain"], "lts");
    assert_eq!(report["logs"][1]["ordered"], true);
    assert_eq!(report["logs"][1]["torn"], serde_json::Value::Null);
    assert_eq!(fs::read_to_string(&out).unwrap(), fixture::MERGED);
    merge(&dir, &["--json"]).expect(2, &["--output FILE"]);
}

#[test]
fn a_killed_run_loses_its_torn_line_and_says_so() {
    let place = tempfile::tempdir().unwrap();
    fixture::run(place.path());
    let log = place.path().join("text-domain-sm.log");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, &text[..text.len() - 1]).unwrap();
    let ran = merge(place.path(), &["--quiet"])
        .expect(1, &["text-domain-sm.log:5: the last line has no line feed"]);
    let kept: Vec<&str> = fixture::MERGED.lines().take(6).collect();
    assert_eq!(ran.text().lines().collect::<Vec<_>>(), kept);
}

#[test]
fn a_bad_line_stops_everything_unless_told_otherwise() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    fixture::run(&dir);
    let log = dir.join("text-domain-lts.log");
    let text = fs::read_to_string(&log).unwrap().replace("1\t2\tuser\t1", "1\t2\tusr\t1");
    fs::write(&log, text).unwrap();
    let words =
        ["text-domain-lts.log:4: event `usr` is not in the manifest's `events`; did you mean `user`?"];
    let out = place.path().join("out.tsv");
    for mode in ["halt", "collect"] {
        let ran = merge(&dir, &["--on-error", mode]).expect(2, &words);
        assert!(ran.stdout.is_empty());
        merge(&dir, &["--on-error", mode, "-o", out.to_str().unwrap()]).expect(2, &words);
        assert_eq!(names(place.path()), ["run"]);
    }
    let ran = merge(&dir, &["--on-error", "skip"]).expect(1, &words).text().to_owned();
    let kept: Vec<&str> = fixture::MERGED.lines().filter(|line| !line.contains("\t6\t1")).collect();
    assert_eq!(ran.lines().collect::<Vec<_>>(), kept);
    let ran = merge(&dir, &["--on-error", "skip", "--json", "-o", out.to_str().unwrap()]).expect(1, &words);
    let report = ran.json();
    assert_eq!((&report["skipped_lines"], &report["complete"]), (&1.into(), &false.into()));
    assert_eq!(report["skipped"][0]["line"], 4);
}

#[test]
fn logs_out_of_order_are_sorted_also_outside_memory() {
    let place = tempfile::tempdir().unwrap();
    let (ordered, shuffled) = (place.path().join("ordered"), place.path().join("shuffled"));
    fixture::long_run(&ordered, 60_000, true);
    fixture::long_run(&shuffled, 60_000, false);
    let scratch = place.path().join("scratch");
    fs::create_dir(&scratch).unwrap();
    let expected = merge(&ordered, &[]).expect(0, &["from 2 logs\n"]);
    assert_eq!(expected.text().lines().count(), 120_001);
    let args = ["--memory", "1MiB", "--temp-dir", scratch.to_str().unwrap()];
    let sorted = merge(&shuffled, &args).expect(0, &["2 logs had to be sorted", "outside memory"]);
    // The two differ in which of an edge's two events is of phase 0, not in the order of phases.
    let column = |text: &str, at: usize| -> Vec<String> {
        text.lines().skip(1).map(|line| line.split('\t').nth(at).unwrap().to_owned()).collect()
    };
    for at in [0, 1, 2, 3, 7] {
        assert_eq!(column(sorted.text(), at), column(expected.text(), at));
    }
    assert_eq!(names(&scratch), Vec::<String>::new());
    merge(&shuffled, &["--memory", "1MiB", "--temp-dir", "/nowhere/at/all"]).expect(3, &["--temp-dir"]);
}

/// Peak of resident memory of a living process, in KiB.
#[cfg(target_os = "linux")]
fn peak_memory(child: &std::process::Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn memory_stays_within_its_limit_whatever_the_length_of_the_run() {
    use crate::command::clockweave;
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    const EVENTS: u64 = 300_000;
    let place = tempfile::tempdir().unwrap();
    fixture::long_run(place.path(), EVENTS, false);
    let logs = ["sm", "lts"].map(|domain| place.path().join(format!("text-domain-{domain}.log")));
    let bytes: u64 = logs.iter().map(|log| fs::metadata(log).unwrap().len()).sum();
    let peak = |memory: &str| {
        let mut command = clockweave();
        command
            .arg("merge")
            .arg(place.path())
            .args(["--quiet", "--memory", memory, "--temp-dir"])
            .arg(place.path());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // What is left is more than a pipe and the reader hold, so the process waits for it.
        let most = usize::try_from(EVENTS * 2 - 20_000).unwrap();
        assert_eq!(lines.by_ref().take(most).filter(Result::is_ok).count(), most);
        let peak = peak_memory(&child);
        assert_eq!(lines.count(), 20_001);
        assert!(child.wait().unwrap().success());
        peak << 10
    };
    // The text of the logs is 19 MB, sorting it in memory takes about twice that.
    let (small, large) = (peak("4MiB"), peak("256MiB"));
    assert!(bytes > 16 << 20, "{bytes}");
    assert!(small < bytes, "{small} bytes of memory for {bytes} bytes of logs");
    assert!(large > small + bytes, "{large}: more memory is used where it is given");
}

#[test]
fn a_directory_of_another_recorder_is_read() {
    let place = tempfile::tempdir().unwrap();
    // Numbers beyond 2^53 and 2^64, producers of one unit in rows of their own, kinds without a system, keys of its
    // own, units after each other within a log, comments, a gap by name.
    let manifest = r#"{"streams":[{"producer_order":1,"track":18446744073709551615,"sequence":9,"domain_id":4294967295,
        "unit":"b unit","unit_id":18446744073709551615},{"producer_order":0,"track":5,"sequence":8,"domain_id":4294967295,
        "unit":"b unit","unit_id":18446744073709551615},{"producer_order":0,"track":7,"sequence":8,"domain_id":4294967295,
        "unit":"a unit","unit_id":7}],"vendor":{"deep":[1e300,null]},"events":{"9000":"it happened","9":"fifo.write"},
        "domains":[{"phase_den":36893488147419103232,"phase_num":36893488147419103232,"period_den":3000000000000000000000,
        "period_num":2000000000000,"name":"x","id":4294967295}],"stream_capacity":1,"lossless":false,
        "perfetto_unit":"ns (floor)","time_unit":"rational seconds","run_id":"their run","version":1}"#;
    let log = "# run=their run domain=x\n#local_cycle unit_id event phase transaction_id fifo_id value ordinal\n\
        0\t18446744073709551615\tit happened\t1\t18446744073709551615\t18446744073709551615\t0\t5\n\
        3\t18446744073709551615\tfifo.write\t0\t1\t2\t3\t18446744073709551614\n\
        # whatever else\n\
        # gap unit=a unit ordinal=0 count=4 cycle=1 phase=0\n\
        1\t7\tfifo.write\t1\t0\t0\t0\t4\n";
    fs::write(place.path().join("clock-manifest.json"), manifest).unwrap();
    fs::write(place.path().join("text-domain-x.log"), log).unwrap();
    fs::write(place.path().join("their-notes.txt"), "").unwrap();
    // Edge n is at 1 s + n * 2/3 ns.
    let expected = "\
        1\t1\t1000000000\t4294967295\tb unit\t0\tit happened\t1\t18446744073709551615\t18446744073709551615\t0\t5\n\
        # gap unit=a unit ordinal=0 count=4 cycle=1 phase=0\n\
        1500000001\t1500000000\t1000000000\t4294967295\ta unit\t1\tfifo.write\t1\t0\t0\t0\t4\n\
        500000001\t500000000\t1000000002\t4294967295\tb unit\t3\tfifo.write\t0\t1\t2\t3\t18446744073709551614\n";
    let ran =
        merge(place.path(), &[]).expect(0, &["1 log had to be sorted", "the run lost 4 events in 1 gap"]);
    assert_eq!(ran.text().split_once('\n').unwrap().1, expected);
}

#[test]
fn a_directory_that_is_no_run_is_refused() {
    let place = tempfile::tempdir().unwrap();
    merge(place.path(), &[]).expect(2, &["found no clock-manifest.json"]);
    merge(&place.path().join("nowhere"), &[]).expect(2, &["nowhere"]);
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    merge(&file, &[]).expect(2, &["expected a run directory"]);

    let dir = place.path().join("run");
    fixture::run(&dir);
    fs::write(dir.join("text-domain-old.log"), "").unwrap();
    merge(&dir, &[]).expect(2, &["text-domain-old.log", "no domain"]);
    fs::rename(dir.join("text-domain-old.log"), dir.join("text-domain-lts.log")).unwrap();
    merge(&dir, &[]).expect(1, &["text-domain-lts.log: the file is empty"]);
    fs::remove_file(dir.join("text-domain-lts.log")).unwrap();
    merge(&dir, &[]).expect(2, &["text-domain-lts.log", "recorded without text"]);

    let manifest = dir.join("clock-manifest.json");
    fs::write(&manifest, fixture::MANIFEST.replace("\"version\":1", "\"version\":7")).unwrap();
    merge(&dir, &[]).expect(2, &["clock-manifest.json", "version is 7; expected 1"]);
    fs::write(&manifest, "{").unwrap();
    merge(&dir, &[]).expect(2, &["clock-manifest.json"]);
}

#[test]
fn odd_sizes_and_formats_are_usage_errors() {
    let place = tempfile::tempdir().unwrap();
    fixture::run(place.path());
    merge(place.path(), &["--memory", "1kB"]).expect(2, &["at least 1MiB"]);
    merge(place.path(), &["--memory", "lots"]).expect(2, &["256MiB"]);
    merge(place.path(), &["--format", "xml"]).expect(2, &["tsv"]);
}

/// Of several runs a gap names its run; in one it names its unit, as the rows do.
#[test]
fn a_gap_says_whose_it_is() {
    let place = tempfile::tempdir().unwrap();
    let (one, two) = (place.path().join("one"), place.path().join("two"));
    for (dir, id) in [(&one, "hand"), (&two, "other")] {
        fixture::run(dir);
        for file in ["clock-manifest.json", "text-domain-sm.log", "text-domain-lts.log"] {
            let text = fs::read_to_string(dir.join(file)).unwrap();
            let text = text
                .replace("\"run_id\":\"hand\"", &format!("\"run_id\":\"{id}\""))
                .replace("run=hand", &format!("run={id}"));
            let gap =
                if file.contains("sm") { "# gap unit=1 ordinal=03 count=4 cycle=2 phase=1\n" } else { "" };
            fs::write(dir.join(file), text + gap).unwrap();
        }
    }
    let gaps = |runs: &[&Path]| -> Vec<String> {
        let ran = run([OsStr::new("merge")].into_iter().chain(runs.iter().map(|run| run.as_os_str())))
            .expect(0, &[]);
        ran.text().lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect()
    };
    assert_eq!(gaps(&[&one]), ["# gap unit=producer ordinal=3 count=4 cycle=2 phase=1"]);
    assert_eq!(
        gaps(&[&one, &two]),
        ["hand", "other"]
            .map(|run| format!("# gap run={run} unit=producer ordinal=3 count=4 cycle=2 phase=1"))
    );
    // Almost a gap is none of the comments that may be passed over.
    for gap in
        ["#gap unit=1 ordinal=3 count=4 cycle=2 phase=1", "# gap\tunit=1 ordinal=3 count=4 cycle=2 phase=1"]
    {
        let log = one.join("text-domain-sm.log");
        let text = fs::read_to_string(&log).unwrap();
        fs::write(&log, text.replace("# gap unit=1 ordinal=03 count=4 cycle=2 phase=1", gap)).unwrap();
        run([OsStr::new("merge"), one.as_os_str()]).expect(2, &["text-domain-sm.log:6: "]);
        fs::write(&log, text).unwrap();
    }
}

/// `collect` lists every line, however many.
#[test]
fn all_refused_lines_are_listed() {
    let place = tempfile::tempdir().unwrap();
    fixture::run(place.path());
    let log = place.path().join("text-domain-sm.log");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text + &"nonsense\n".repeat(250)).unwrap();
    let numbered = |line: &str| {
        line.split_once(".log:").is_some_and(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let listed =
        |text: &str| text.lines().filter(|line| line.starts_with("warning: ") && numbered(line)).count();
    let merge = |mode: &str| run(["merge", "--on-error", mode, place.path().to_str().unwrap()]);
    let collected = merge("collect").expect(2, &["250 lines were refused"]);
    assert_eq!(listed(&collected.stderr), 250);
    let skipped = merge("skip").expect(1, &["150 more refused lines are not listed"]);
    assert_eq!(listed(&skipped.stderr), 100);
}

/// What a trace cannot hold is told once, and not as a recording that was left open.
#[test]
fn a_refused_trace_is_told_in_its_own_words() {
    let place = tempfile::tempdir().unwrap();
    fixture::run(place.path());
    let log = place.path().join("text-domain-sm.log");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replace("1\t2\t1\t0\t1\n", "1\t2\t4294967296\t0\t1\n")).unwrap();
    let ran =
        run(["merge", "--format", "pftrace", place.path().to_str().unwrap()]).expect(2, &["4294967296"]);
    assert!(!ran.stderr.contains("was not closed"), "{}", ran.stderr);
}

/// A log that has to be sorted keeps the whole of an ordinal: 2^32 comes after 2^32 - 1.
#[test]
fn sorting_heeds_all_of_an_ordinal() {
    let place = tempfile::tempdir().unwrap();
    fixture::run(place.path());
    let log = place.path().join("text-domain-lts.log");
    let text = fs::read_to_string(&log).unwrap();
    let head = text.lines().take(2).collect::<Vec<_>>().join("\n");
    let manifest = fixture::MANIFEST.replace(
        "\"streams\":[",
        "\"streams\":[{\"unit_id\":3,\"unit\":\"early\",\"domain_id\":2,\"sequence\":5,\"track\":13,\"producer_order\":0},",
    );
    fs::write(place.path().join("clock-manifest.json"), manifest).unwrap();
    let rows =
        "5\t2\tuser\t0\t0\t0\t1\t4294967295\n5\t2\tuser\t0\t0\t0\t2\t4294967296\n0\t3\tuser\t0\t0\t0\t3\t0\n";
    fs::write(&log, format!("{head}\n{rows}")).unwrap();
    let ran = merge(place.path(), &["--domain", "lts"]).expect(0, &["1 log had to be sorted"]);
    let values: Vec<&str> =
        ran.text().lines().skip(1).map(|line| line.split('\t').nth(10).unwrap()).collect();
    assert_eq!(values, ["3", "1", "2"]);
}

/// The last edge of 914 MHz within 2^63 ns is far below 2^64 - 1.
#[test]
fn a_gap_beyond_the_horizon_is_refused() {
    let place = tempfile::tempdir().unwrap();
    fixture::run(place.path());
    let log = place.path().join("text-domain-sm.log");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text + "# gap unit=1 ordinal=3 count=1 cycle=18446744073709551615 phase=1\n").unwrap();
    merge(place.path(), &[]).expect(2, &["text-domain-sm.log:6: ", "18446744073709551615"]);
}
