//! `clockweave report`: figures worked out by hand.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::command::{Ran, names, run, run_with};
use crate::record::record;

/// Writer `w` at 0, 1, 2, … ns; reader `r` at 0.5, 2, 3.5, … ns: edge 3 of it is edge 5 of the writer.
const MANIFEST: &str = r#"{"version":1,"run_id":"hand","time_unit":"rational seconds","perfetto_unit":"ns (floor)",
"lossless":true,"stream_capacity":4096,
"domains":[{"id":1,"name":"wclk","period_num":1,"period_den":1000000000,"phase_num":0,"phase_den":1},
{"id":2,"name":"rclk","period_num":3,"period_den":2000000000,"phase_num":1,"phase_den":2000000000}],
"streams":[{"unit_id":1,"unit":"w","domain_id":1,"sequence":2,"track":11,"producer_order":0},
{"unit_id":2,"unit":"r","domain_id":2,"sequence":2,"track":12,"producer_order":0}],
"events":{"1":"fifo.write","2":"fifo.visible","3":"fifo.read","4":"fifo.output","5":"fifo.consume","6":"fifo.full",
"7":"fifo.empty","256":"user"}}"#;

/// (cycle, event, phase, transaction, fifo, value) of `w`.
const WRITER: &[(u64, &str, u8, u64, u64, u64)] = &[
    (0, "fifo.write", 1, 1, 1, 0),
    (1, "fifo.write", 1, 2, 1, 0),
    (1, "fifo.full", 1, 0, 1, 1),
    (3, "user", 0, 0, 0, 9),
    (4, "fifo.full", 1, 0, 1, 0),
    (5, "fifo.write", 1, 3, 1, 0),
    (12, "fifo.write", 1, 4, 1, 0),
    (12, "fifo.full", 1, 0, 1, 1),
];

const READER: &[(u64, &str, u8, u64, u64, u64)] = &[
    (2, "fifo.visible", 1, 1, 1, 0),
    (2, "fifo.empty", 1, 0, 1, 0),
    (3, "fifo.visible", 1, 2, 1, 0),
    (3, "fifo.read", 1, 1, 1, 0),
    (3, "fifo.output", 1, 1, 1, 0),
    (4, "fifo.consume", 0, 1, 1, 0),
    (4, "fifo.read", 1, 2, 1, 0),
    (4, "fifo.output", 1, 2, 1, 0),
    (4, "fifo.empty", 1, 0, 1, 1),
    (6, "fifo.consume", 0, 2, 1, 0),
    (6, "fifo.visible", 1, 3, 1, 0),
    (6, "fifo.empty", 1, 0, 1, 0),
    (7, "fifo.read", 1, 3, 1, 0),
    (7, "fifo.output", 1, 3, 1, 0),
    (7, "fifo.empty", 1, 0, 1, 1),
    (8, "fifo.consume", 0, 3, 1, 0),
    (9, "user", 1, 0, 0, 5),
];

fn log(domain: &str, unit: u64, events: &[(u64, &str, u8, u64, u64, u64)]) -> String {
    let mut text = format!(
        "# run=hand domain={domain}\n# local_cycle\tunit_id\tevent\tphase\ttransaction_id\tfifo_id\tvalue\tordinal\n"
    );
    for (ordinal, (cycle, event, phase, transaction, fifo, value)) in events.iter().enumerate() {
        text += &format!("{cycle}\t{unit}\t{event}\t{phase}\t{transaction}\t{fifo}\t{value}\t{ordinal}\n");
    }
    text
}

/// Writes the run of four packets through one FIFO.
pub(crate) fn four_packets(at: &Path) {
    fs::create_dir_all(at).unwrap();
    fs::write(at.join("clock-manifest.json"), MANIFEST).unwrap();
    fs::write(at.join("text-domain-wclk.log"), log("wclk", 1, WRITER)).unwrap();
    fs::write(at.join("text-domain-rclk.log"), log("rclk", 2, READER)).unwrap();
}

pub(crate) fn report(path: &Path, more: &[&str]) -> Ran {
    run([OsStr::new("report"), path.as_os_str()].into_iter().chain(more.iter().map(OsStr::new)))
}

/// The named figures of `--csv` as `num/den`, empty where unknown; bins of histograms as `from..to`.
pub(crate) fn figures(table: &str) -> BTreeMap<String, String> {
    let mut rows = table.lines();
    assert_eq!(rows.next(), Some("figure,unit,num,den,from_num,from_den,to_num,to_den"));
    let figure = |row: &str| {
        let cells: Vec<&str> = row.split(',').collect();
        let ratio = |at: usize| match (cells[at], cells[at + 1]) {
            ("", "") => String::new(),
            (num, "1") => num.to_owned(),
            (num, den) => format!("{num}/{den}"),
        };
        let name = match cells[4] {
            "" => cells[0].to_owned(),
            _ => format!("{} {}..{}", cells[0], ratio(4), ratio(6)),
        };
        (name, ratio(2))
    };
    rows.map(figure).collect()
}

/// The figures of [`four_packets`] by hand. Packets 1, 2, 3 are written at 0, 1, 5 ns, visible at 3.5, 5, 9.5 ns, read
/// at 5, 6.5, 11 ns and consumed at 6.5, 9.5, 12.5 ns; packet 4 is written at 12 ns. The last event is at 14 ns.
const BY_HAND: &str = "\
run.time 7/500000000
run.events 25
run.lost_events 0
fifo.1.min 13/2000000000
fifo.1.mean 3/400000000
fifo.1.median 3/400000000
fifo.1.p90 17/2000000000
fifo.1.p99 17/2000000000
fifo.1.max 17/2000000000
fifo.1.histogram 1/156250000..33/5000000000 1
fifo.1.histogram 33/5000000000..17/2500000000 0
fifo.1.histogram 17/2500000000..7/1000000000 0
fifo.1.histogram 7/1000000000..9/1250000000 0
fifo.1.histogram 9/1250000000..37/5000000000 0
fifo.1.histogram 37/5000000000..19/2500000000 1
fifo.1.histogram 19/2500000000..39/5000000000 0
fifo.1.histogram 39/5000000000..1/125000000 0
fifo.1.histogram 1/125000000..41/5000000000 0
fifo.1.histogram 41/5000000000..21/2500000000 0
fifo.1.histogram 21/2500000000..43/5000000000 1
fifo.1.reader_edges.min 5
fifo.1.reader_edges.mean 16/3
fifo.1.reader_edges.median 5
fifo.1.reader_edges.p90 6
fifo.1.reader_edges.p99 6
fifo.1.reader_edges.max 6
fifo.1.reader_edges.histogram 5..6 2
fifo.1.reader_edges.histogram 6..7 1
fifo.1.writer_edges.min 6
fifo.1.writer_edges.mean 7
fifo.1.writer_edges.median 7
fifo.1.writer_edges.p90 8
fifo.1.writer_edges.p99 8
fifo.1.writer_edges.max 8
fifo.1.writer_edges.histogram 6..7 1
fifo.1.writer_edges.histogram 7..8 1
fifo.1.writer_edges.histogram 8..9 1
fifo.1.write_to_visible.min 7/2000000000
fifo.1.write_to_visible.mean 1/250000000
fifo.1.write_to_visible.median 1/250000000
fifo.1.write_to_visible.p90 9/2000000000
fifo.1.write_to_visible.p99 9/2000000000
fifo.1.write_to_visible.max 9/2000000000
fifo.1.write_to_visible.edges.min 3
fifo.1.write_to_visible.edges.mean 3
fifo.1.write_to_visible.edges.median 3
fifo.1.write_to_visible.edges.p90 3
fifo.1.write_to_visible.edges.p99 3
fifo.1.write_to_visible.edges.max 3
fifo.1.visible_to_read.min 3/2000000000
fifo.1.visible_to_read.mean 3/2000000000
fifo.1.visible_to_read.median 3/2000000000
fifo.1.visible_to_read.p90 3/2000000000
fifo.1.visible_to_read.p99 3/2000000000
fifo.1.visible_to_read.max 3/2000000000
fifo.1.visible_to_read.edges.min 1
fifo.1.visible_to_read.edges.mean 1
fifo.1.visible_to_read.edges.median 1
fifo.1.visible_to_read.edges.p90 1
fifo.1.visible_to_read.edges.p99 1
fifo.1.visible_to_read.edges.max 1
fifo.1.read_to_consume.min 3/2000000000
fifo.1.read_to_consume.mean 1/500000000
fifo.1.read_to_consume.median 3/2000000000
fifo.1.read_to_consume.p90 3/1000000000
fifo.1.read_to_consume.p99 3/1000000000
fifo.1.read_to_consume.max 3/1000000000
fifo.1.read_to_consume.edges.min 1
fifo.1.read_to_consume.edges.mean 4/3
fifo.1.read_to_consume.edges.median 1
fifo.1.read_to_consume.edges.p90 2
fifo.1.read_to_consume.edges.p99 2
fifo.1.read_to_consume.edges.max 2
fifo.1.written 4
fifo.1.read 3
fifo.1.consumed 3
fifo.1.inside 1
fifo.1.unmatched 0
fifo.1.occupancy.mean 37/28
fifo.1.occupancy.max 2
fifo.1.throughput.per_second 1500000000/7
fifo.1.throughput.per_edge 3/10
fifo.1.full.stretches 2
fifo.1.full.edges 5
fifo.1.full.longest_edges 3
fifo.1.full.time 1/200000000
fifo.1.full.share 5/14
fifo.1.empty.stretches 3
fifo.1.empty.edges 7
fifo.1.empty.longest_edges 3
fifo.1.empty.time 19/2000000000
fifo.1.empty.share 19/28
unit.w.events 8
unit.w.lost_events 0
unit.w.busy_edges 5
unit.w.edges 15
unit.w.utilisation 1/3
unit.r.events 17
unit.r.lost_events 0
unit.r.busy_edges 6
unit.r.edges 10
unit.r.utilisation 3/5
";

#[test]
fn every_figure_of_a_small_run_is_the_one_worked_out_by_hand() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    four_packets(&dir);
    let expected: BTreeMap<String, String> = BY_HAND
        .lines()
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let table = report(&dir, &["--csv"]).expect(0, &[]);
    assert_eq!(figures(table.text()), expected);
    assert_eq!(table.text().lines().count(), BY_HAND.lines().count() + 1);
    // The same from a trace, on stdin too, and with distinct values in temporary files.
    let trace = place.path().join("run.pftrace");
    let args = ["merge", "--format", "pftrace", "-o"].map(OsStr::new);
    run(args.into_iter().chain([trace.as_os_str(), dir.as_os_str()])).expect(0, &[]);
    assert_eq!(report(&trace, &["--csv"]).expect(0, &[]).text(), table.text());
    let piped = run_with(["report", "-", "--csv"], &fs::read(&trace).unwrap()).expect(0, &[]);
    assert_eq!(piped.text(), table.text());
}

#[test]
fn figures_in_json_have_the_keys_of_their_names() {
    let place = tempfile::tempdir().unwrap();
    four_packets(place.path());
    let found = report(place.path(), &["--json", "--assert", "fifo.1.max <= 8.5ns"]).expect(0, &[]).json();
    assert_eq!((&found["report"], &found["run_id"]), (&"report".into(), &"hand".into()));
    let fifo = &found["fifos"][0];
    assert_eq!(fifo["latency"]["p99"], serde_json::json!({"time_num": "17", "time_den": "2000000000"}));
    assert_eq!(fifo["reader_edges"]["mean"], serde_json::json!({"num": "16", "den": "3"}));
    assert_eq!(fifo["latency"]["count"], 3);
    assert_eq!(fifo["occupancy"], serde_json::json!({"mean": {"num": "37", "den": "28"}, "max": 2}));
    assert_eq!((&fifo["writer"], &fifo["depth"]), (&"w".into(), &serde_json::Value::Null));
    assert_eq!(found["units"][1]["utilisation"], serde_json::json!({"num": "3", "den": "5"}));
    assert_eq!(found["observed"]["to"], serde_json::json!({"time_num": "7", "time_den": "500000000"}));
    let verdict = serde_json::json!({"assertion": "fifo.1.max <= 8.5ns", "holds": true, "reasons": []});
    assert_eq!(found["assertions"], serde_json::json!([verdict]));
}

#[test]
fn words_are_rounded_and_say_what_they_count() {
    let place = tempfile::tempdir().unwrap();
    four_packets(place.path());
    let ran = report(place.path(), &[]).expect(0, &[]);
    for line in [
        "25 events in 14.000 ns, from 0.000 ns to 14.000 ns",
        "FIFO 1: w (wclk) -> r (rclk)",
        "  packets     4 written, 3 consumed, 1 inside at the end",
        "  throughput  214,285,714 packets/s, 0.3000 per edge of the reader",
        "  occupancy   mean 1.321, max 2",
        "  full        5.000 ns (35.71%) in 2 stretches, 5 edges of the writer, longest 3",
        "  empty       9.500 ns (67.86%) in 3 stretches, 7 edges of the reader, longest 3",
        "  latency, ns             6.500    7.500    7.500    8.500    8.500    8.500",
        "  in reader's edges           5    5.333        5        6        6        6",
        "            6.400 ns              1 ########################################",
        "     60.00%                6             10  r (rclk)",
    ] {
        assert!(ran.text().lines().any(|found| found == line), "expected {line:?} in\n{}", ran.text());
    }
    assert!(ran.text().lines().all(|line| line.len() <= 80), "{}", ran.text());
    assert_eq!(report(place.path(), &["-q"]).expect(0, &[]).text(), "");
}

#[test]
fn an_assertion_fails_with_the_reason() {
    let place = tempfile::tempdir().unwrap();
    four_packets(place.path());
    let holds = ["--assert", "fifo.1.p99 <= 8.5ns", "--assert", "fifo.*.full.share < 36%", "--csv"];
    report(place.path(), &holds).expect(0, &["holds: fifo.1.p99 <= 8.5ns"]);
    let ran =
        report(place.path(), &["--assert", "fifo.1.p99 < 8.5ns", "--assert", "unit.?.utilisation >= 50%"]);
    let ran = ran.expect(
        1,
        &[
            "error: `fifo.1.p99 < 8.5ns` does not hold: fifo.1.p99 is 8.500 ns (17/2000000000 s), expected < 8.5ns",
            "unit.w.utilisation is 33.33% (1/3), expected >= 50%",
        ],
    );
    assert!(ran.text().contains("FIFO 1"), "the report is there all the same");
    report(place.path(), &["--assert", "fifo.2.p99 < 1us"]).expect(1, &["no such FIFO; it has 1"]);
    for wrong in ["fifo.1.p99", "fifo.1.p98 < 1ns", "fifo.1.p99 < 1", "unit.w.utilisation > 1/0"] {
        let ran = report(place.path(), &["--assert", wrong]).expect(2, &["--assert"]);
        assert_eq!(ran.text(), "");
    }
}

#[test]
fn a_transaction_s_path_is_told_step_by_step() {
    let place = tempfile::tempdir().unwrap();
    four_packets(place.path());
    let found = report(place.path(), &["--transaction", "2", "--json"]).expect(0, &[]).json();
    let steps: Vec<String> = found["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| {
            let time =
                |key: &str| format!("{}/{}", step[key]["time_num"], step[key]["time_den"]).replace('"', "");
            let words = |key: &str| step[key].as_str().unwrap().to_owned();
            let places = [words("event"), words("unit"), words("domain"), step["local_cycle"].to_string()];
            format!(
                "{} {} {} {}",
                time("time"),
                time("since_first"),
                time("since_previous"),
                places.join(" ")
            )
        })
        .collect();
    assert_eq!(
        steps,
        [
            "1/1000000000 0/1 0/1 fifo.write w wclk 1",
            "1/200000000 1/250000000 1/250000000 fifo.visible r rclk 3",
            "13/2000000000 11/2000000000 3/2000000000 fifo.read r rclk 4",
            "13/2000000000 11/2000000000 0/1 fifo.output r rclk 4",
            "19/2000000000 17/2000000000 3/1000000000 fifo.consume r rclk 6",
        ]
    );
    let hop = serde_json::json!({"fifo_id": 1, "writer": "w", "reader": "r", "reader_edges": 6, "writer_edges": 8,
        "latency": {"time_num": "17", "time_den": "2000000000"}});
    assert_eq!((&found["hops"], &found["omitted"]), (&serde_json::json!([hop]), &0.into()));
    let words = report(place.path(), &["--transaction", "2"]).expect(0, &[]);
    assert!(
        words.text().contains("FIFO 1: w -> r in 8.500 ns, 6 edges of the reader, 8 edges of the writer")
    );
    report(place.path(), &["--transaction", "9"]).expect(2, &["no event of transaction 9"]);
}

#[test]
fn the_picture_has_a_bar_for_each_bin() {
    let place = tempfile::tempdir().unwrap();
    let (dir, picture) = (place.path().join("run"), place.path().join("latency.svg"));
    four_packets(&dir);
    let out = ["--svg", "-o", picture.to_str().unwrap()];
    report(&dir, &out).expect(0, &[]);
    let text = fs::read_to_string(&picture).unwrap();
    let parsed = roxmltree::Document::parse(&text).unwrap();
    let titles: Vec<&str> = parsed
        .descendants()
        .filter(|node| node.has_tag_name("title"))
        .filter_map(|node| node.text())
        .collect();
    assert_eq!(titles.len(), 11);
    assert_eq!((titles[0], titles[1]), ("6.400 ns to 6.600 ns: 1", "6.600 ns to 6.800 ns: 0"));
    assert!(text.contains("latency: min 6.500 ns, median 7.500 ns, p99 8.500 ns, max 8.500 ns"));
    report(&dir, &out).expect(2, &["--force"]);
    report(&dir, &["--csv", "--force", "-o", dir.join("text-domain-wclk.log").to_str().unwrap()])
        .expect(2, &["same file as the input"]);
    assert_eq!(names(place.path()), ["latency.svg", "run"]);
}

#[test]
fn what_cannot_be_known_is_left_out() {
    let place = tempfile::tempdir().unwrap();
    four_packets(place.path());
    let log = place.path().join("text-domain-wclk.log");
    let text = fs::read_to_string(&log).unwrap();
    // The write of packet 2 is lost.
    let line = "1\t1\tfifo.write\t1\t2\t1\t0\t1\n";
    assert!(text.contains(line));
    fs::write(&log, text.replace(line, "# gap unit=1 ordinal=1 count=1 cycle=1 phase=1\n")).unwrap();
    let found = figures(report(place.path(), &["--csv"]).expect(0, &[]).text());
    // Latencies of packets 1 and 3; three events of packet 2 without its write.
    let of = |name: &str| found[name].as_str();
    assert_eq!((of("fifo.1.mean"), of("fifo.1.max")), ("7/1000000000", "3/400000000"));
    assert_eq!((of("fifo.1.unmatched"), of("fifo.1.consumed"), of("run.lost_events")), ("3", "3", "1"));
    let unknown = [
        "occupancy.mean",
        "occupancy.max",
        "full.time",
        "full.edges",
        "empty.share",
        "throughput.per_second",
        "throughput.per_edge",
    ];
    let of_fifo = unknown.iter().map(|name| format!("fifo.1.{name}"));
    for unknown in of_fifo.chain(["unit.w.utilisation".to_owned()]) {
        assert_eq!(found[&unknown], "", "{unknown}");
    }
    assert_ne!(found["unit.r.utilisation"], "");
    report(place.path(), &["--assert", "fifo.1.occupancy.max <= 99"])
        .expect(1, &["fifo.1.occupancy.max is not known, expected <= 99"]);
    let words = report(place.path(), &[]).expect(0, &[]);
    assert!(words.text().contains("1 event lost when the run was recorded"));
}

#[test]
fn an_overtaken_packet_is_no_hop_and_does_not_shift_the_others() {
    let place = tempfile::tempdir().unwrap();
    four_packets(place.path());
    let log = place.path().join("text-domain-rclk.log");
    let text = fs::read_to_string(&log).unwrap();
    // The consume of packet 2 is gone without a word.
    let line = "6\t2\tfifo.consume\t0\t2\t1\t0\t9\n";
    assert!(text.contains(line));
    fs::write(&log, text.replace(line, "")).unwrap();
    let found = figures(report(place.path(), &["--csv"]).expect(0, &[]).text());
    let of = |name: &str| found[name].as_str();
    assert_eq!((of("fifo.1.min"), of("fifo.1.max")), ("13/2000000000", "3/400000000"));
    assert_eq!((of("fifo.1.unmatched"), of("fifo.1.inside"), of("fifo.1.consumed")), ("1", "1", "2"));
}

#[test]
fn runs_that_are_none_or_damaged_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let (dir, file) = (place.path().join("run"), place.path().join("file"));
    four_packets(&dir);
    report(&place.path().join("missing"), &[]).expect(2, &["missing"]);
    fs::write(&file, "nonsense").unwrap();
    report(&file, &[]).expect(2, &["begins with `nons`", "expected a run directory or a trace"]);
    fs::write(&file, [0x0a, 2, 0x50, 2, 0x0a, 9]).unwrap();
    report(&file, &[]).expect(2, &["damaged at byte 4", "clockweave recover"]);
    let log = dir.join("text-domain-rclk.log");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.clone() + "9\t2\tus").unwrap();
    let ran =
        report(&dir, &["--csv"]).expect(1, &["text-domain-rclk.log:20: the last line has no line feed"]);
    assert_eq!(figures(ran.text())["fifo.1.consumed"], "3");
    fs::write(&log, text.replace("fifo.consume\t0\t2", "fifo.consume\t0\tx")).unwrap();
    report(&dir, &[]).expect(2, &["text-domain-rclk.log:12: transaction_id is `x`"]);
    // Both units write.
    fs::write(&log, text.replace("2\tfifo.visible\t1\t1\t1\t0\t0", "2\tfifo.write\t1\t1\t1\t0\t0")).unwrap();
    report(&dir, &[]).expect(2, &["unit `r`, ordinal 0", "belongs to one unit"]);
    report(&dir, &["--memory", "1kB"]).expect(2, &["at least 1MiB"]);
}

#[test]
fn memory_bounds_what_is_held_and_changes_no_figure() {
    let place = tempfile::tempdir().unwrap();
    let (dir, scratch) = (place.path().join("run"), place.path().join("scratch"));
    fs::create_dir(&scratch).unwrap();
    let odd = ["--batches", "20000", "--set", "domains.sm.frequency=\"913.7MHz\""];
    record("fifo", &dir, &odd).expect(0, &[]);
    let little = ["--csv", "--memory", "1MiB", "--temp-dir", scratch.to_str().unwrap()];
    // More distinct latencies than a share of 1 MiB holds.
    assert_eq!(report(&dir, &little).expect(0, &[]).text(), report(&dir, &["--csv"]).expect(0, &[]).text());
    assert_eq!(names(&scratch), Vec::<String>::new());
    // Packets that are never consumed.
    four_packets(&dir);
    let mut log = log("wclk", 1, &[]);
    for n in 0..3000 {
        log += &format!("{n}\t1\tfifo.write\t1\t{}\t1\t0\t{n}\n", n + 1);
    }
    fs::write(dir.join("text-domain-wclk.log"), log).unwrap();
    for stray in ["sm", "lts"] {
        fs::remove_file(dir.join(format!("text-domain-{stray}.log"))).unwrap();
    }
    report(&dir, &little).expect(2, &["FIFO 1: found ", "packets written and not consumed", "--memory"]);
    assert_eq!(figures(report(&dir, &["--csv"]).expect(0, &[]).text())["fifo.1.written"], "3000");
    assert_eq!(names(&scratch), Vec::<String>::new());
}

#[test]
fn a_run_recorded_without_text_is_read_from_its_trace() {
    let place = tempfile::tempdir().unwrap();
    let (both, alone) = (place.path().join("both"), place.path().join("alone"));
    record("three-clocks", &both, &[]).expect(0, &[]);
    record("three-clocks", &alone, &["--trace", "perfetto"]).expect(0, &[]);
    let of = |dir: &Path| figures(report(dir, &["--csv"]).expect(0, &[]).text());
    assert_eq!(of(&both), of(&alone));
    assert_eq!(of(&both)["fifo.2.consumed"], "100");
    // What a directory's table adds.
    let found = report(&both, &["--json"]).expect(0, &[]).json();
    assert_eq!((&found["fifos"][1]["depth"], &found["fifos"][1]["stages"]), (&4.into(), &3.into()));
}
