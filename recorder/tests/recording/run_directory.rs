//! What a run directory holds and when: manifest first, logs, trace, statistics last.

use std::fs;
use std::path::Path;

use clockweave_model::{ExactTime, FifoEntry, KindId, KindTable, Manifest, Phase};
use clockweave_recorder::{
    Compression, MANIFEST_FILE, RecordError, RunTotals, STATS_FILE, StreamId, TRACE_FILE,
};
use serde_json::{Value, json};

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn the_manifest_is_complete_before_the_first_event() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("new/run");
    let mut builder = crate::two_clocks::builder(&dir);
    builder.domain(&crate::two_clocks::domain(3, "unused", "1GHz", 0)).unwrap();
    builder.kinds(KindTable::new(["stall", "issue"]).unwrap());
    builder.configure("batches", "10").configure("compress", "deflate:1");
    builder.fifo(FifoEntry {
        id: 1,
        name: "f".into(),
        depth: 16,
        stages: 2,
        writer: "core.send".into(),
        reader: "core.take".into(),
    });
    let take = builder.add_stream(2, 2, "core.take").unwrap();
    builder.add_stream(1, 1, "core.send").unwrap();
    builder.add_producer_stream(take, 2).unwrap();
    let recorder = builder.start_serial().unwrap();

    let text = fs::read(dir.join(MANIFEST_FILE)).unwrap();
    Manifest::from_json(&text).unwrap();
    // FNV-1a-64 of run/a/core.send and run/b/core.take, halves xored, 28 bits.
    let expected = json!({
        "version": 1, "run_id": "two clocks", "time_unit": "rational seconds", "perfetto_unit": "ns (floor)",
        "lossless": true, "stream_capacity": 4096,
        "domains": [
            {"id": 1, "name": "a", "period_num": 1, "period_den": 1_000_000_000, "phase_num": 0, "phase_den": 1},
            {"id": 2, "name": "b", "period_num": 1, "period_den": 2_000_000_000, "phase_num": 1,
             "phase_den": 4_000_000_000u64},
        ],
        "streams": [
            {"unit_id": 1, "unit": "core.send", "domain_id": 1, "sequence": 2, "track": TRACK_SEND,
             "producer_order": 0},
            {"unit_id": 2, "unit": "core.take", "domain_id": 2, "sequence": 2, "track": TRACK_TAKE,
             "producer_order": 0},
        ],
        "events": {"1": "fifo.write", "2": "fifo.visible", "3": "fifo.read", "4": "fifo.output",
            "5": "fifo.consume", "6": "fifo.full", "7": "fifo.empty", "256": "user", "257": "issue", "258": "stall"},
        "clockweave": {"tool_version": "1.2.3", "configuration": {"batches": "10", "compress": "deflate:1"},
            "view": "events", "args": "debug",
            "fifos": [{"id": 1, "name": "f", "depth": 16, "stages": 2, "writer": "core.send",
                "reader": "core.take"}]},
    });
    assert_eq!(json(&dir.join(MANIFEST_FILE)), expected);
    assert!(!dir.join(STATS_FILE).exists());
    drop(recorder);
}

const TRACK_SEND: u64 = 22_486_437;
const TRACK_TAKE: u64 = 126_402_480;

#[test]
fn the_text_log_is_exact() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = crate::two_clocks::builder(dir.path());
    builder.perfetto(false);
    let send = builder.add_stream(1, 1, "send").unwrap();
    let take = builder.add_stream(2, 20, "take").unwrap();
    let mut recorder = builder.start_serial().unwrap();
    recorder.record(send, 0, KindId::FIFO_WRITE, 1, 0, 7, Phase::Commit);
    recorder.end_instant(0).unwrap();
    recorder.record(take, u64::MAX, KindId::USER, u64::MAX, u64::MAX, u32::MAX, Phase::Evaluate);
    recorder.record(send, 1, KindId::FIFO_FULL, 0, 1, 7, Phase::Commit);
    recorder.end_instant(1).unwrap();
    recorder.close(RunTotals::default()).unwrap();
    assert_eq!(names(dir.path()), [MANIFEST_FILE, STATS_FILE, "text-domain-a.log", "text-domain-b.log"]);
    let head = "\n# local_cycle\tunit_id\tevent\tphase\ttransaction_id\tfifo_id\tvalue\tordinal\n";
    assert_eq!(
        fs::read_to_string(dir.path().join("text-domain-a.log")).unwrap(),
        format!(
            "# run=two clocks domain=a{head}0\t1\tfifo.write\t1\t1\t7\t0\t0\n1\t1\tfifo.full\t1\t0\t7\t1\t1\n"
        )
    );
    let most = u64::MAX;
    assert_eq!(
        fs::read_to_string(dir.path().join("text-domain-b.log")).unwrap(),
        format!("# run=two clocks domain=b{head}{most}\t20\tuser\t0\t{most}\t4294967295\t{most}\t0\n")
    );
}

#[test]
fn statistics_have_every_key_that_tools_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = crate::two_clocks::builder(dir.path());
    let send = builder.add_stream(1, 1, "send").unwrap();
    let take = builder.add_stream(2, 2, "take").unwrap();
    let mut recorder = builder.start_serial().unwrap();
    for id in 1..=10u64 {
        recorder.record(send, id, KindId::FIFO_WRITE, id, 0, 1, Phase::Commit);
        if id > 3 {
            recorder.record(take, id, KindId::FIFO_READ, id - 3, 0, 1, Phase::Commit);
            recorder.record(take, id, KindId::FIFO_OUTPUT, id - 3, 0, 1, Phase::Commit);
        }
        recorder.end_instant(id as i64).unwrap();
    }
    let last = ExactTime::from_ns(10).unwrap();
    let totals = RunTotals { batches: 11, last_committed: Some(last), refusals: 4, filtered: 2 };
    let stats = recorder.close(totals).unwrap();
    assert_eq!(recorder.close(RunTotals::default()).unwrap(), stats);

    let mut found = json(&dir.path().join(STATS_FILE));
    let host_figures =
        ["producer_stalls", "producer_stall_ns", "allocated_staging_bytes", "first_output_ns", "file_bytes"];
    for key in host_figures {
        assert!(found.as_object_mut().unwrap().remove(key).unwrap().is_u64(), "{key}");
    }
    assert!(found["clockweave"].as_object_mut().unwrap().remove("peak_rss_bytes").is_some());
    let trace_bytes = fs::metadata(dir.path().join(TRACE_FILE)).unwrap().len();
    assert_eq!(
        found,
        json!({
            "events": 24, "dropped_events": 0, "admission_retries": 0, "progress_stalls": 0, "progress_stall_ns": 0,
            "allocated_ingress_bytes": 0, "peak_ingress_bytes_upper_bound": 0, "peak_staging_records": 3,
            "native_buffer_peak_bytes": 144, "native_buffer_peak_records": 3,
            "clockweave": {
                "events": {"produced": 24, "retained": 24, "dropped": 0, "filtered": 2},
                "streams": [
                    {"unit_id": 1, "unit": "send", "produced": 10, "retained": 10, "dropped": 0,
                     "kinds": {"fifo.write": 10}},
                    {"unit_id": 2, "unit": "take", "produced": 14, "retained": 14, "dropped": 0,
                     "kinds": {"fifo.read": 7, "fifo.output": 7}},
                ],
                // Seven transactions have three events, three have one.
                "flow_edges": 14, "gaps": 0, "batches": 11,
                "last_committed": {"time_num": 1, "time_den": 100_000_000}, "refusals": 4,
                "segments": [{"file": "timeline.pftrace", "events": 24, "dropped": 0, "bytes": trace_bytes}],
            },
        })
    );
    let files: u64 = names(dir.path())
        .iter()
        .filter(|name| *name != STATS_FILE)
        .map(|name| fs::metadata(dir.path().join(name)).unwrap().len())
        .sum();
    assert_eq!(stats.file_bytes, files);
    assert!(stats.first_output_ns > 0);
}

#[test]
fn a_directory_with_anything_in_it_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("notes"), "mine").unwrap();
    fs::write(dir.path().join("clock-stats.json"), "old").unwrap();
    fs::write(dir.path().join("text-domain-gone.log"), "old").unwrap();
    let builder = || {
        let mut builder = crate::two_clocks::builder(dir.path());
        builder.add_stream(1, 1, "u").unwrap();
        builder
    };
    assert!(matches!(builder().start_serial(), Err(RecordError::DirectoryNotEmpty { .. })));
    assert_eq!(names(dir.path()), ["clock-stats.json", "notes", "text-domain-gone.log"]);
    let mut forced = builder();
    forced.force(true);
    forced.start_serial().unwrap().close(RunTotals::default()).unwrap();
    assert_eq!(names(dir.path()), [MANIFEST_FILE, STATS_FILE, "notes", "text-domain-a.log", TRACE_FILE]);
}

#[test]
fn a_recorder_without_outputs_counts_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = crate::two_clocks::builder(dir.path());
    builder.text(false).perfetto(false);
    let unit = builder.add_stream(1, 1, "u").unwrap();
    let mut recorder = builder.start_serial().unwrap();
    recorder.record(unit, 0, KindId::USER, 0, 0, 0, Phase::Evaluate);
    recorder.end_instant(0).unwrap();
    recorder.flush().unwrap();
    let stats = recorder.close(RunTotals::default()).unwrap();
    assert_eq!((stats.events, stats.clockweave.segments.len()), (1, 0));
    assert_eq!(names(dir.path()), [MANIFEST_FILE, STATS_FILE]);
}

/// The blocks between encoder and writing thread are used again: what they take does not grow with the run.
#[test]
fn blocks_do_not_grow_with_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = crate::two_clocks::builder(dir.path());
    builder.text(false).compression(Compression::None);
    let unit = builder.add_stream(1, 1, "u").unwrap();
    let mut recorder = builder.start_serial().unwrap();
    for cycle in 0..100_000 {
        recorder.record(unit, cycle, KindId::USER, cycle, cycle, 0, Phase::Evaluate);
        recorder.end_instant(cycle as i64).unwrap();
    }
    let stats = recorder.close(RunTotals::default()).unwrap();
    // Five blocks of 262,500 bytes, and 8,192 records of 48 bytes for the open nanosecond.
    assert!(stats.file_bytes > 4_000_000, "{}", stats.file_bytes);
    assert!(stats.allocated_staging_bytes < 1_800_000, "{}", stats.allocated_staging_bytes);
}

#[test]
fn ten_thousand_units_in_two_hundred_domains_are_written() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = clockweave_recorder::Recorder::builder(dir.path());
    for id in 1..=200 {
        builder.domain(&crate::two_clocks::domain(id, &format!("d{id}"), "1GHz", 0)).unwrap();
    }
    let unit = |id: u64| format!("unit{id}");
    let streams: Vec<StreamId> =
        (1..=10_000u64).map(|id| builder.add_stream((id % 200 + 1) as u32, id, &unit(id)).unwrap()).collect();
    let mut recorder = builder.start_serial().unwrap();
    for stream in &streams {
        recorder.record(*stream, 0, KindId::USER, 0, 0, 0, Phase::Evaluate);
    }
    recorder.end_instant(0).unwrap();
    recorder.flush().unwrap();
    for stream in &streams {
        recorder.record(*stream, 1, KindId::USER, 0, 0, 0, Phase::Evaluate);
    }
    recorder.end_instant(1).unwrap();
    assert_eq!(recorder.close(RunTotals::default()).unwrap().events, 20_000);
    for id in 1..=200u64 {
        let text = fs::read_to_string(dir.path().join(format!("text-domain-d{id}.log"))).unwrap();
        assert_eq!(text.lines().count(), 2 + 2 * 50, "d{id}");
        assert!(text.ends_with("\t0\t0\t0\t1\n"));
    }
    let file = crate::reading::read(&dir.path().join(TRACE_FILE));
    assert_eq!(file.events().count(), 20_000);
}

#[test]
fn names_beyond_their_budget_are_refused_before_anything_is_written() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    let mut builder = crate::two_clocks::builder(&dir);
    builder.metadata_bytes(1000);
    for id in 1..=20 {
        builder.add_stream(1, id, &format!("unit{id}")).unwrap();
    }
    let error = builder.start_serial().err().unwrap();
    assert!(matches!(error, RecordError::MetadataBudget { budget: 1000, .. }), "{error}");
    assert!(!dir.exists());
}

#[test]
fn a_run_id_that_is_not_printable_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let mut builder = crate::two_clocks::builder(&root.path().join("run"));
    builder.run_id("a\nb");
    assert!(matches!(builder.start_serial(), Err(RecordError::BadName { what: "run id", .. })));
}
