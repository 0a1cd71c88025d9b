//! Everything that readers of version 1 look for, in one place: files, keys, columns, categories, event and argument
//! names, sequence and clock ids. A name that changes here breaks other people's tools.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use clockweave_model::{FifoEntry, KindId, KindShape, KindTable, Phase};
use clockweave_recorder::{ArgsEncoding, RecorderBuilder, RunTotals, View};
use serde_json::Value;

use crate::reading::{self, TraceFile};
use crate::two_clocks;

/// A run with every built-in kind, one of its own that counts and one that spans.
fn record(dir: &Path, set: impl FnOnce(&mut RecorderBuilder)) {
    let mut kinds = KindTable::new(["busy", "level"]).unwrap();
    let [busy, level] = ["busy", "level"].map(|name| kinds.id(name).unwrap());
    kinds.set_shape(busy, KindShape::Span);
    kinds.set_shape(level, KindShape::Counter);
    let mut builder = two_clocks::builder(dir);
    builder.kinds(kinds).configure("batches", "8");
    let (writer, reader) = ("send".to_owned(), "take".to_owned());
    builder.fifo(FifoEntry { id: 5, name: "cross".to_owned(), depth: 4, stages: 2, writer, reader });
    set(&mut builder);
    let send = builder.add_stream(1, 1, "send").unwrap();
    let take = builder.add_stream(2, 2, "take").unwrap();
    let mut recorder = builder.start_serial().unwrap();
    let of_sender = [(KindId::FIFO_WRITE, 9, 0), (KindId::FIFO_FULL, 0, 1), (busy, 0, 1), (level, 0, 3)];
    for (kind, transaction, value) in of_sender {
        recorder.record(send, 0, kind, transaction, value, 5, Phase::Commit);
    }
    recorder.end_instant(0).unwrap();
    let of_reader = [
        (KindId::FIFO_CONSUME, 9),
        (KindId::FIFO_VISIBLE, 9),
        (KindId::FIFO_READ, 9),
        (KindId::FIFO_OUTPUT, 9),
        (KindId::FIFO_EMPTY, 0),
        (KindId::USER, 0),
    ];
    for (kind, transaction) in of_reader {
        recorder.record(take, 4, kind, transaction, 1, 5, Phase::Commit);
    }
    recorder.end_instant(2).unwrap();
    recorder.close(RunTotals::default()).unwrap();
}

/// A run of which half is lost: its one ring holds two of the four events at 1 ns.
fn record_lossy(dir: &Path) {
    let mut builder = two_clocks::builder(dir);
    builder.lossy(true).ring_capacity(Some(2));
    builder.add_stream(1, 1, "send").unwrap();
    builder.add_stream(2, 2, "take").unwrap();
    let (mut recorder, mut producers) = builder.start_independent().unwrap();
    (0..4).for_each(|n| producers[0].record(1, KindId::USER, 0, n, 0, Phase::Evaluate).unwrap());
    producers.reverse();
    producers.clear();
    recorder.close(RunTotals::default()).unwrap();
}

fn names(dir: &Path) -> BTreeSet<String> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn json(dir: &Path, name: &str) -> Value {
    serde_json::from_slice(&fs::read(dir.join(name)).unwrap()).unwrap()
}

/// Checks that `value` has these keys, of these kinds: `i`nteger, `s`tring, `b`oolean, `l`ist, `o`bject, `n`ull.
fn assert_keys(value: &Value, expected: &[(&str, char)]) {
    for (key, kind) in expected {
        let found = match &value[key] {
            Value::Number(number) if number.is_u64() => 'i',
            Value::Number(_) => 'f',
            Value::String(_) => 's',
            Value::Bool(_) => 'b',
            Value::Array(_) => 'l',
            Value::Object(_) => 'o',
            Value::Null => 'n',
        };
        assert_eq!(found, *kind, "`{key}` of {value}");
    }
}

#[test]
fn files_have_their_names() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), |_| {});
    let logs_and_json = ["clock-manifest.json", "clock-stats.json", "text-domain-a.log", "text-domain-b.log"];
    let mut expected = set(&logs_and_json);
    expected.insert("timeline.pftrace".to_owned());
    assert_eq!(names(dir.path()), expected);

    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), |builder| {
        builder.rotate_events(Some(5));
    });
    let mut expected = set(&logs_and_json);
    expected.extend(set(&["timeline-00000.pftrace", "timeline-00001.pftrace"]));
    assert_eq!(names(dir.path()), expected);
}

#[test]
fn the_manifest_has_its_keys() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), |_| {});
    let manifest = json(dir.path(), "clock-manifest.json");
    assert_keys(
        &manifest,
        &[
            ("version", 'i'),
            ("run_id", 's'),
            ("time_unit", 's'),
            ("perfetto_unit", 's'),
            ("lossless", 'b'),
            ("stream_capacity", 'i'),
            ("domains", 'l'),
            ("streams", 'l'),
            ("events", 'o'),
            ("clockweave", 'o'),
        ],
    );
    assert_eq!(manifest["version"], 1);
    assert_eq!(manifest["time_unit"], "rational seconds");
    assert_eq!(manifest["perfetto_unit"], "ns (floor)");
    let of_domains = ["id", "period_num", "period_den", "phase_num", "phase_den"].map(|key| (key, 'i'));
    assert_keys(&manifest["domains"][0], &of_domains);
    assert_keys(&manifest["domains"][0], &[("name", 's')]);
    let of_streams = ["unit_id", "domain_id", "sequence", "track", "producer_order"].map(|key| (key, 'i'));
    assert_keys(&manifest["streams"][0], &of_streams);
    assert_keys(&manifest["streams"][0], &[("unit", 's')]);
    let kinds: BTreeMap<&str, &str> = manifest["events"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(number, name)| (number.as_str(), name.as_str().unwrap()))
        .collect();
    let expected = [
        ("1", "fifo.write"),
        ("2", "fifo.visible"),
        ("3", "fifo.read"),
        ("4", "fifo.output"),
        ("5", "fifo.consume"),
        ("6", "fifo.full"),
        ("7", "fifo.empty"),
        ("256", "user"),
        ("257", "busy"),
        ("258", "level"),
    ];
    assert_eq!(kinds, BTreeMap::from(expected));
    let own = &manifest["clockweave"];
    assert_keys(
        own,
        &[("tool_version", 's'), ("configuration", 'o'), ("view", 's'), ("args", 's'), ("fifos", 'l')],
    );
    assert_keys(&own["fifos"][0], &["id", "depth", "stages"].map(|key| (key, 'i')));
    assert_keys(&own["fifos"][0], &["name", "writer", "reader"].map(|key| (key, 's')));
}

#[test]
fn the_statistics_have_their_keys() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), |_| {});
    let stats = json(dir.path(), "clock-stats.json");
    let integers = [
        "events",
        "dropped_events",
        "producer_stalls",
        "producer_stall_ns",
        "admission_retries",
        "progress_stalls",
        "progress_stall_ns",
        "allocated_ingress_bytes",
        "peak_ingress_bytes_upper_bound",
        "allocated_staging_bytes",
        "peak_staging_records",
        "native_buffer_peak_bytes",
        "native_buffer_peak_records",
        "first_output_ns",
        "file_bytes",
    ];
    assert_keys(&stats, &integers.map(|key| (key, 'i')));
    let own = &stats["clockweave"];
    assert_keys(own, &["flow_edges", "gaps", "batches", "refusals"].map(|key| (key, 'i')));
    assert_keys(own, &[("events", 'o'), ("streams", 'l'), ("last_committed", 'n'), ("segments", 'l')]);
    assert_keys(&own["events"], &["produced", "retained", "dropped", "filtered"].map(|key| (key, 'i')));
    assert_keys(&own["streams"][0], &[("unit", 's'), ("kinds", 'o')]);
    assert_keys(&own["streams"][0], &["unit_id", "produced", "retained", "dropped"].map(|key| (key, 'i')));
    assert_keys(&own["segments"][0], &[("file", 's'), ("events", 'i'), ("dropped", 'i'), ("bytes", 'i')]);
}

#[test]
fn the_logs_have_their_columns() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), |_| {});
    let text = fs::read_to_string(dir.path().join("text-domain-b.log")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "# run=two clocks domain=b");
    let columns: Vec<&str> = lines[1].strip_prefix("# ").unwrap().split('\t').collect();
    let expected =
        ["local_cycle", "unit_id", "event", "phase", "transaction_id", "fifo_id", "value", "ordinal"];
    assert_eq!(columns, expected);
    assert_eq!(lines[2], "4\t2\tfifo.consume\t1\t9\t5\t1\t0");

    let dir = tempfile::tempdir().unwrap();
    record_lossy(dir.path());
    let text = fs::read_to_string(dir.path().join("text-domain-a.log")).unwrap();
    assert_eq!(text.lines().last(), Some("# gap unit=1 ordinal=2 count=2 cycle=1 phase=0"));
}

/// What the names of a trace are, by what they name.
#[derive(Debug, Default, PartialEq, Eq)]
struct Names {
    categories: BTreeSet<String>,
    /// Category and name of every event, and its annotations.
    events: BTreeMap<(String, String), Vec<String>>,
    tracks: Vec<String>,
    arguments: Vec<(String, i32)>,
    counter_units: BTreeSet<String>,
}

fn names_of(file: &TraceFile) -> Names {
    let mut found = Names::default();
    let (mut categories, mut events, mut annotations) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for packet in file.packets.iter().map(|packet| &packet.packet) {
        for set in &packet.extension_descriptor().extension_set {
            assert_eq!(set.file[0].extension[0].name(), "debug");
            let fields = &set.file[0].message_type[0].field;
            found.arguments = fields.iter().map(|f| (f.name().to_owned(), f.number())).collect();
        }
        if packet.has_track_descriptor() {
            let track = packet.track_descriptor();
            found.tracks.push(track.name().to_owned());
            found.counter_units.extend(track.counter.iter().map(|counter| counter.unit_name().to_owned()));
        }
        let data = &packet.interned_data;
        categories.extend(data.event_categories.iter().map(|e| (e.iid(), e.name().to_owned())));
        events.extend(data.event_names.iter().map(|e| (e.iid(), e.name().to_owned())));
        annotations.extend(data.debug_annotation_names.iter().map(|e| (e.iid(), e.name().to_owned())));
        if packet.has_track_event() && !packet.track_event().category_iids.is_empty() {
            let event = packet.track_event();
            let category = categories[&event.category_iids[0]].clone();
            found.categories.insert(category.clone());
            let names = event.debug_annotations.iter().map(|a| annotations[&a.name_iid()].clone());
            found.events.insert((category, events[&event.name_iid()].clone()), names.collect());
        }
    }
    found
}

const ARGUMENTS: [&str; 10] = [
    "unit_id",
    "fifo_id",
    "phase",
    "value",
    "ordinal",
    "local_cycle",
    "transaction_id",
    "domain_id",
    "time_num",
    "time_den",
];
const KINDS: [&str; 10] = [
    "fifo.write",
    "fifo.visible",
    "fifo.read",
    "fifo.output",
    "fifo.consume",
    "fifo.full",
    "fifo.empty",
    "user",
    "busy",
    "level",
];

fn trace_names(view: View, args: ArgsEncoding) -> Names {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), |builder| {
        builder.view(view).args(args);
    });
    names_of(&reading::read(&dir.path().join("timeline.pftrace")))
}

/// The events of a trace: `annotated` are the annotations of recorded ones.
fn expected_events(annotated: &[&str]) -> BTreeMap<(String, String), Vec<String>> {
    let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    let own = |category: &str, name: &str, names: &[&str]| ((category.into(), name.into()), list(names));
    let mut events: BTreeMap<(String, String), Vec<String>> =
        KINDS.iter().map(|kind| own("clock", kind, annotated)).collect();
    events.extend([
        own("meta", "clock.domain", &["id", "period_num", "period_den", "phase_num", "phase_den"]),
        own("meta", "run", &["run_id", "tool_version", "view", "lossless"]),
    ]);
    events
}

#[test]
fn the_trace_has_its_names() {
    let tracks = ["two clocks", "a (1 GHz)", "b (2 GHz)", "send", "take"];
    let found = trace_names(View::Events, ArgsEncoding::Debug);
    assert_eq!(found.categories, set(&["clock", "meta"]));
    assert_eq!(found.events, expected_events(&[]));
    assert_eq!(found.tracks, tracks);
    let numbered = |count: usize| (1..).zip(&ARGUMENTS[..count]).map(|(n, name)| ((*name).to_owned(), n));
    assert_eq!(found.arguments, numbered(7).collect::<Vec<_>>());

    let found = trace_names(View::Events, ArgsEncoding::Annotations);
    assert_eq!(found.events, expected_events(&ARGUMENTS[..7]));
    assert_eq!(found.arguments, []);
}

#[test]
fn the_full_view_has_its_names() {
    let found = trace_names(View::Full, ArgsEncoding::Debug);
    assert_eq!(found.categories, set(&["clock", "meta", "fifo", "unit"]));
    let mut events = expected_events(&[]);
    for (category, name) in [("fifo", "transaction"), ("unit", "busy"), ("meta", "trace.end")] {
        events.insert((category.to_owned(), name.to_owned()), Vec::new());
    }
    assert_eq!(found.events, events);
    let tracks = [
        "two clocks",
        "a (1 GHz)",
        "b (2 GHz)",
        "send",
        "take",
        "clock crossings",
        "cross",
        "occupancy",
        "level",
        "transactions",
        "spans",
    ];
    assert_eq!(found.tracks, tracks);
    assert_eq!(found.counter_units, set(&["entries", ""]));
    let numbered = (1..).zip(ARGUMENTS).map(|(n, name)| (name.to_owned(), n));
    assert_eq!(found.arguments, numbered.collect::<Vec<_>>());
}

#[test]
fn losses_have_their_names() {
    let dir = tempfile::tempdir().unwrap();
    record_lossy(dir.path());
    let file = reading::read(&dir.path().join("timeline.pftrace"));
    let gap = ("meta".to_owned(), "trace.gap".to_owned());
    assert_eq!(names_of(&file).events[&gap], ["count", "first_ordinal", "cycle", "phase"]);
    let stats = file.packets.last().unwrap().packet.trace_stats();
    assert_eq!(stats.buffer_stats[0].trace_writer_packet_loss(), 2);
}

#[test]
fn the_trace_has_its_sequence_and_clocks() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), |_| {});
    let file = reading::read(&dir.path().join("timeline.pftrace"));
    let own = |packet: &&reading::Packet| !packet.packet.has_extension_descriptor();
    assert!(file.packets.iter().filter(own).all(|p| p.packet.trusted_packet_sequence_id() == 2));
    let manifest = json(dir.path(), "clock-manifest.json");
    let mut tracks: Vec<u64> = file.events().map(|p| p.packet.track_event().track_uuid()).collect();
    tracks.dedup();
    assert_eq!(
        tracks,
        [0, 1].map(|at: usize| manifest["streams"][at]["track"].as_u64().unwrap()),
        "events name the manifest's tracks"
    );
    let state = file.packets.iter().find(|p| p.packet.has_clock_snapshot()).unwrap();
    assert_eq!(state.packet.trace_packet_defaults.timestamp_clock_id(), 64);
    let clocks = &state.packet.clock_snapshot().clocks;
    let clocks: Vec<(u32, bool)> = clocks.iter().map(|c| (c.clock_id(), c.is_incremental())).collect();
    assert_eq!(clocks, [(64, true), (65, false), (11, false)]);
    let flows: Vec<u64> = file.events().flat_map(|p| p.packet.track_event().flow_ids.clone()).collect();
    assert_eq!(flows, [9; 5], "the transaction of a write, and of what the reader does with it");
}
