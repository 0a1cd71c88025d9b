//! A small trace, packet by packet, as Perfetto's own schema reads it.

use std::path::Path;

use clockweave_model::{KindId, KindTable, Phase};
use clockweave_recorder::{ArgsEncoding, Compression, RecorderBuilder, RunTotals, TRACE_FILE};
use perfetto_protos::debug_annotation::DebugAnnotation;
use perfetto_protos::track_event::track_event::Type;
use protobuf::text_format::print_to_string;

use crate::reading::{self, Arguments, TraceFile, arguments};
use crate::two_clocks;

/// Two events: a write at cycle 0 of `a` (0 ns), a visible at cycle 2 of `b` (1.25 ns), and one
/// without a transaction of a kind of the run.
fn record(dir: &Path, set: impl FnOnce(&mut RecorderBuilder)) -> TraceFile {
    let mut builder = two_clocks::builder(dir);
    builder.text(false).kinds(KindTable::new(["stall"]).unwrap());
    set(&mut builder);
    let take = builder.add_stream(2, 2, "take").unwrap();
    let send = builder.add_stream(1, 1, "send").unwrap();
    let mut recorder = builder.start_serial().unwrap();
    recorder.record(send, 0, KindId::FIFO_WRITE, 300, 5, 7, Phase::Commit);
    recorder.end_instant(0).unwrap();
    recorder.end_instant(0).unwrap();
    recorder.record(take, 2, KindId::FIFO_VISIBLE, 300, 0, 7, Phase::Commit);
    recorder.record(take, 2, KindId(257), 0, u64::MAX, 0, Phase::Evaluate);
    recorder.end_instant(1).unwrap();
    recorder.close(RunTotals::default()).unwrap();
    reading::read(&dir.join(TRACE_FILE))
}

// FNV-1a-64 of run, run/a, run/b, run/a/send, run/b/take; halves xored, 28 bits.
const ROOT: u64 = 158_855_763;
const A: u64 = 161_243_632;
const B: u64 = 161_243_789;
const SEND: u64 = 249_159_442;
const TAKE: u64 = 165_598_128;

#[test]
fn metadata_packets() {
    let dir = tempfile::tempdir().unwrap();
    let file = record(dir.path(), |_| {});
    let texts: Vec<String> = file.packets.iter().map(|packet| print_to_string(&packet.packet)).collect();
    assert_eq!(file.packets.len(), 1 + 5 + 1 + 3 + 3);
    assert_eq!(file.packets[0].wrapper, None, "readers need the descriptor even of a damaged file");
    assert!(file.packets[1..].iter().all(|packet| packet.wrapper == Some(0)));

    let set = &file.packets[0].packet.extension_descriptor().extension_set;
    assert_eq!(set.file.len(), 1);
    let extension = &set.file[0].extension[0];
    assert_eq!(
        (extension.name(), extension.extendee(), extension.number(), extension.type_name()),
        ("debug", ".perfetto.protos.TrackEvent", 9900, ".clockweave.ClockEvent")
    );
    let fields: Vec<(&str, i32)> =
        set.file[0].message_type[0].field.iter().map(|f| (f.name(), f.number())).collect();
    assert_eq!(
        fields,
        [
            ("unit_id", 1),
            ("fifo_id", 2),
            ("phase", 3),
            ("value", 4),
            ("ordinal", 5),
            ("local_cycle", 6),
            ("transaction_id", 7)
        ]
    );

    let track = |text: String| format!("track_descriptor {{{text}}} trusted_packet_sequence_id: 2");
    let expected = [
        format!("uuid: {ROOT} name: \"two clocks\" child_ordering: EXPLICIT"),
        format!(
            "uuid: {A} parent_uuid: {ROOT} name: \"a (1 GHz)\" child_ordering: EXPLICIT sibling_order_rank: 1"
        ),
        format!(
            "uuid: {B} parent_uuid: {ROOT} name: \"b (2 GHz)\" child_ordering: EXPLICIT sibling_order_rank: 2"
        ),
        // Merge behaviour NONE is newer than this schema.
        format!("uuid: {SEND} parent_uuid: {A} name: \"send\" sibling_order_rank: 0 15: 2"),
        format!("uuid: {TAKE} parent_uuid: {B} name: \"take\" sibling_order_rank: 0 15: 2"),
    ];
    assert_eq!(texts[1..6], expected.map(track));
    let names = |kind: &str, from: usize, names: &[&str]| -> String {
        let entry = |(iid, name): (usize, &&str)| format!("{kind} {{iid: {iid} name: \"{name}\"}} ");
        (from..).zip(names).map(entry).collect()
    };
    // The trace file's own clock, 11, is newer than this schema.
    assert_eq!(
        texts[6],
        format!(
            "clock_snapshot {{clocks {{clock_id: 64 timestamp: 0 is_incremental: true}} clocks {{clock_id: 65 timestamp: 0}} \
             clocks {{clock_id: 11 timestamp: 0}} primary_trace_clock: : 11}} trusted_packet_sequence_id: 2 \
             interned_data {{{}{}{}}} sequence_flags: 1 trace_packet_defaults {{timestamp_clock_id: 64}} \
             first_packet_on_sequence: true",
            names("event_categories", 1, &["clock", "meta"]),
            names(
                "event_names",
                1,
                &[
                    "fifo.write",
                    "fifo.visible",
                    "fifo.read",
                    "fifo.output",
                    "fifo.consume",
                    "fifo.full",
                    "fifo.empty",
                    "clock.domain",
                    "run",
                    "user",
                    "stall"
                ]
            ),
            names(
                "debug_annotation_names",
                1,
                &[
                    "id",
                    "period_num",
                    "period_den",
                    "phase_num",
                    "phase_den",
                    "run_id",
                    "tool_version",
                    "view",
                    "lossless"
                ]
            )
            .trim_end(),
        )
    );
}

#[test]
fn the_trace_explains_itself() {
    let dir = tempfile::tempdir().unwrap();
    let file = record(dir.path(), |_| {});
    let texts: Vec<String> =
        file.packets[7..10].iter().map(|packet| print_to_string(&packet.packet)).collect();
    let instant = |name: u64, track: u64, annotations: &str| {
        format!(
            "timestamp: 0 track_event {{category_iids: 2 name_iid: {name} type: TYPE_INSTANT track_uuid: {track} \
             {annotations}}} trusted_packet_sequence_id: 2 sequence_flags: 2"
        )
    };
    let clock = |values: [u64; 5]| -> String {
        let values = (1..).zip(values);
        let texts: Vec<String> =
            values.map(|(iid, v)| format!("debug_annotations {{name_iid: {iid} uint_value: {v}}}")).collect();
        texts.join(" ")
    };
    assert_eq!(texts[0], instant(8, A, &clock([1, 1, 1_000_000_000, 0, 1])));
    assert_eq!(texts[1], instant(8, B, &clock([2, 1, 2_000_000_000, 1, 4_000_000_000])));
    let run = "debug_annotations {name_iid: 6 string_value: \"two clocks\"} \
               debug_annotations {name_iid: 7 string_value: \"1.2.3\"} \
               debug_annotations {name_iid: 8 string_value: \"events\"} \
               debug_annotations {name_iid: 9 bool_value: true}";
    assert_eq!(texts[2], instant(9, ROOT, run));
}

/// Timestamp, name, track and flows of an event.
fn frame(packet: &reading::Packet) -> (u64, u64, u64, Vec<u64>) {
    let event = packet.packet.track_event();
    assert_eq!(event.type_(), Type::TYPE_INSTANT);
    assert_eq!((packet.packet.sequence_flags(), packet.packet.trusted_packet_sequence_id()), (2, 2));
    (packet.packet.timestamp(), event.name_iid(), event.track_uuid(), event.flow_ids.clone())
}

#[test]
fn event_packets() {
    let dir = tempfile::tempdir().unwrap();
    let file = record(dir.path(), |_| {});
    let events: Vec<_> = file.events().map(|p| (frame(p), arguments(p.packet.track_event()))).collect();
    let write =
        Arguments { unit_id: 1, fifo_id: 7, phase: 1, value: 5, transaction_id: 300, ..Arguments::default() };
    let stall = Arguments { unit_id: 2, value: u64::MAX, local_cycle: 2, ..Arguments::default() };
    let visible = Arguments {
        unit_id: 2,
        fifo_id: 7,
        phase: 1,
        ordinal: 1,
        local_cycle: 2,
        transaction_id: 300,
        ..Arguments::default()
    };
    assert_eq!(
        events,
        [
            ((0, 1, SEND, vec![300]), write),
            ((1, 11, TAKE, vec![]), stall),
            ((0, 2, TAKE, vec![300]), visible)
        ]
    );
}

#[test]
fn annotations_carry_the_same_in_the_same_order() {
    let dir = tempfile::tempdir().unwrap();
    let file = record(dir.path(), |builder| {
        builder.args(ArgsEncoding::Annotations);
    });
    assert!(file.packets.iter().all(|packet| !packet.packet.has_extension_descriptor()));
    let state = file.packets.iter().find(|packet| packet.packet.clock_snapshot().clocks.len() == 3).unwrap();
    let name = |iid: u64| {
        let names = &state.packet.interned_data.debug_annotation_names;
        names.iter().find(|entry| entry.iid() == iid).unwrap().name().to_owned()
    };
    let events: Vec<_> = file
        .events()
        .map(|packet| {
            let values = packet.packet.track_event().debug_annotations.iter();
            (frame(packet), values.map(|a| (name(a.name_iid()), a.uint_value())).collect::<Vec<_>>())
        })
        .collect();
    let values = |values: [u64; 7]| -> Vec<(String, u64)> {
        let names = ["unit_id", "fifo_id", "phase", "value", "ordinal", "local_cycle", "transaction_id"];
        names.map(str::to_owned).into_iter().zip(values).collect()
    };
    assert_eq!(
        events,
        [
            ((0, 1, SEND, vec![300]), values([1, 7, 1, 5, 0, 0, 300])),
            ((1, 11, TAKE, vec![]), values([2, 0, 0, u64::MAX, 0, 2, 0])),
            ((0, 2, TAKE, vec![300]), values([2, 7, 1, 0, 1, 2, 300]))
        ]
    );
}

/// The widest possible values: the packet's own length no longer fits one byte with annotations.
#[test]
fn the_widest_values_are_written_in_full() {
    for args in [ArgsEncoding::Debug, ArgsEncoding::Annotations] {
        let dir = tempfile::tempdir().unwrap();
        let mut builder = two_clocks::builder(dir.path());
        builder.text(false).args(args).compression(Compression::None);
        let unit = builder.add_stream(1, u64::MAX, "unit").unwrap();
        let mut recorder = builder.start_serial().unwrap();
        for _ in 0..2 {
            recorder.record(unit, u64::MAX, KindId::USER, u64::MAX, u64::MAX, u32::MAX, Phase::Commit);
            recorder.end_instant(i64::MAX).unwrap();
        }
        recorder.close(RunTotals::default()).unwrap();
        let file = reading::read(&dir.path().join(TRACE_FILE));
        let events: Vec<_> = file.events().collect();
        assert_eq!(events.len(), 2);
        assert_eq!(events[0].packet.timestamp(), i64::MAX.unsigned_abs());
        for (ordinal, event) in (0..).zip(events) {
            let event = event.packet.track_event();
            assert_eq!(event.flow_ids, [u64::MAX]);
            let most = u64::MAX;
            if args == ArgsEncoding::Debug {
                let expected = Arguments {
                    unit_id: most,
                    fifo_id: u32::MAX.into(),
                    phase: 1,
                    value: most,
                    ordinal,
                    local_cycle: most,
                    transaction_id: most,
                };
                assert_eq!(arguments(event), expected);
            } else {
                let values: Vec<u64> =
                    event.debug_annotations.iter().map(DebugAnnotation::uint_value).collect();
                assert_eq!(values, [most, u32::MAX.into(), 1, most, ordinal, most, most]);
            }
        }
    }
}
