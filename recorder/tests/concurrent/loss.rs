//! Lossy runs: nothing waits but the account of what was lost, which is complete in statistics, logs and trace.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use clockweave_model::{KindId, Phase};
use clockweave_recorder::{
    Compression, ConcurrentRecorder, Producer, RecordError, RunTotals, Stats, TRACE_FILE,
};

use crate::reading;
use crate::workload;

/// A line of a log: an event or a gap of a unit, with ordinal, count, cycle, phase and value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    gap: bool,
    unit: u64,
    ordinal: u64,
    count: u64,
    cycle: u64,
    phase: u64,
    value: u64,
}

fn lines(dir: &Path, domain: &str) -> Vec<Line> {
    let text = fs::read_to_string(dir.join(format!("text-domain-{domain}.log"))).unwrap();
    let parse = |line: &str| -> Option<Line> {
        if let Some(gap) = line.strip_prefix("# gap ") {
            let fields: BTreeMap<&str, u64> = gap
                .split(' ')
                .filter_map(|f| f.split_once('='))
                .map(|(k, v)| (k, v.parse().unwrap()))
                .collect();
            let (unit, count) = (fields["unit"], fields["count"]);
            let (ordinal, cycle, phase) = (fields["ordinal"], fields["cycle"], fields["phase"]);
            return Some(Line { gap: true, unit, ordinal, count, cycle, phase, value: 0 });
        }
        let columns: Vec<&str> = line.split('\t').collect();
        let number = |at: usize| columns[at].parse::<u64>().unwrap();
        (!line.starts_with('#')).then(|| Line {
            gap: false,
            unit: number(1),
            ordinal: number(7),
            count: 1,
            cycle: number(0),
            phase: number(3),
            value: number(6),
        })
    };
    text.lines().filter_map(parse).collect()
}

/// Every event of a unit is in the log or in a gap, at its own ordinal: `produced` are cycle, phase and value by
/// ordinal.
fn assert_accounted(lines: &[Line], unit: u64, produced: &[(u64, u64, u64)], stats: &Stats) {
    let mut next = 0;
    let (mut retained, mut dropped) = (0, 0);
    for line in lines.iter().filter(|line| line.unit == unit) {
        assert_eq!(line.ordinal, next, "{line:?}");
        let of = &produced[next as usize..][..line.count as usize];
        for (cycle, phase, _) in of {
            assert_eq!(
                (*cycle, *phase),
                (line.cycle, line.phase),
                "a gap is of one edge and phase: {line:?}"
            );
        }
        if line.gap {
            dropped += line.count;
        } else {
            retained += 1;
            assert_eq!(line.value, of[0].2);
        }
        next += line.count;
    }
    assert_eq!(next, produced.len() as u64);
    let stream = stats.clockweave.streams.iter().find(|stream| stream.unit_id == unit).unwrap();
    assert_eq!((stream.produced, stream.retained, stream.dropped), (next, retained, dropped));
}

/// The trace's gaps: their `count`s by order, and the count that the importer takes for lost.
fn trace_gaps(dir: &Path) -> (Vec<u64>, Option<u64>) {
    let file = reading::read(&dir.join(TRACE_FILE));
    let mut names = BTreeMap::new();
    let mut gaps = Vec::new();
    let mut lost = None;
    for packet in &file.packets {
        let packet = &packet.packet;
        for name in &packet.interned_data.event_names {
            names.insert(name.iid(), name.name().to_owned());
        }
        if packet.has_track_event()
            && names.get(&packet.track_event().name_iid()).is_some_and(|n| n == "trace.gap")
        {
            gaps.push(packet.track_event().debug_annotations[0].uint_value());
        }
        if packet.has_trace_stats() {
            lost = Some(packet.trace_stats().buffer_stats[0].trace_writer_packet_loss());
        }
    }
    (gaps, lost)
}

/// Rings of two records and instants of twenty: most events are lost.
#[test]
fn a_serial_run_through_small_rings_accounts_for_every_event() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = workload::builder(dir.path());
    builder.ring_capacity(Some(2)).compression(Compression::None);
    let unit = builder.add_stream(1, 1, "unit").unwrap();
    let fifo = builder.add_producer_stream(unit, 4).unwrap();
    let other = builder.add_stream(1, 2, "other").unwrap();
    let mut recorder = builder.start_serial_lossy().unwrap();
    let mut produced: BTreeMap<u64, Vec<(u64, u64, u64)>> = BTreeMap::new();
    for cycle in 0..500u64 {
        let mut put = |stream, id: u64, value: u64, phase: Phase| {
            recorder.record(stream, cycle, KindId::USER, 0, value, 0, phase);
            produced.entry(id).or_default().push((cycle, phase as u64, value));
        };
        for value in 0..20 {
            put(unit, 1, value, Phase::Evaluate);
        }
        for value in 0..(cycle % 5) {
            put(unit, 1, 100 + value, Phase::Commit);
            put(fifo, 3, 200 + value, Phase::Commit);
        }
        put(other, 2, cycle, Phase::Commit);
        recorder.end_instant(cycle as i64).unwrap();
    }
    let stats = recorder.close(RunTotals::default()).unwrap();
    // The second producer's events come after the unit's own of the same edge and phase.
    let of_fifo = produced.remove(&3).unwrap();
    let of_unit = produced.get_mut(&1).unwrap();
    of_unit.extend(of_fifo);
    of_unit.sort_by_key(|(cycle, phase, value)| (*cycle, *phase, *value));
    let lines = lines(dir.path(), "a");
    for (unit, produced) in &produced {
        assert_accounted(&lines, *unit, produced, &stats);
    }
    assert!(stats.dropped_events > 0, "twenty events do not fit a ring of two");
    assert_eq!(stats.clockweave.events.produced, stats.events + stats.dropped_events);
    let counts: Vec<u64> = lines.iter().filter(|line| line.gap).map(|line| line.count).collect();
    assert_eq!(stats.clockweave.gaps, counts.len() as u64);
    assert_eq!(trace_gaps(dir.path()), (counts, Some(stats.dropped_events)));
    let manifest = fs::read_to_string(dir.path().join("clock-manifest.json")).unwrap();
    assert!(manifest.contains("\"lossless\": false"), "{manifest}");
}

fn event(producer: &mut Producer, cycle: u64, value: u64, phase: Phase) -> Result<(), RecordError> {
    producer.record(cycle, KindId::USER, 0, value, 0, phase)
}

/// A stream with a ring of four records, and a peer that has promised nothing: what is recorded stays in the ring.
fn held_back(dir: &Path, first_local: u32) -> (ConcurrentRecorder, Producer, Producer) {
    let mut builder = workload::builder(dir);
    builder.lossy(true).ring_capacity(Some(4)).first_local(first_local);
    builder.add_stream(1, 1, "unit").unwrap();
    builder.add_stream(1, 2, "peer").unwrap();
    let (recorder, producers) = builder.start_independent().unwrap();
    let Ok([unit, peer]) = <[Producer; 2]>::try_from(producers) else { panic!("two streams") };
    (recorder, unit, peer)
}

/// The one stream whose ring nobody may empty, since a quiet peer holds the watermark: what is lost is known exactly.
#[test]
fn losses_have_their_place_and_events_their_ordinals() {
    let dir = tempfile::tempdir().unwrap();
    let (mut recorder, mut unit, mut peer) = held_back(dir.path(), u32::MAX - 4);
    (0..10).for_each(|value| event(&mut unit, 5, value, Phase::Evaluate).unwrap());
    peer.finish().unwrap();
    // The gap of six has to reach the ring first, then there is room.
    event(&mut unit, 6, 10, Phase::Evaluate).unwrap();
    unit.finish().unwrap();
    let stats = recorder.close(RunTotals::default()).unwrap();
    let line =
        |gap, ordinal, count, cycle, value| Line { gap, unit: 1, ordinal, count, cycle, phase: 0, value };
    let expected = [
        line(false, 0, 1, 5, 0),
        line(false, 1, 1, 5, 1),
        line(false, 2, 1, 5, 2),
        line(false, 3, 1, 5, 3),
        line(true, 4, 6, 5, 0),
        line(false, 10, 1, 6, 10),
    ];
    assert_eq!(lines(dir.path(), "a"), expected);
    assert_eq!((stats.events, stats.dropped_events, stats.clockweave.gaps), (5, 6, 1));
    // One ring was full of four records of 40 bytes, the other always empty.
    assert_eq!((stats.allocated_ingress_bytes, stats.peak_ingress_bytes_upper_bound), (320, 160));
}

/// Neither a promise nor the end of a stream leaves a loss untold, though no event follows it.
#[test]
fn losses_are_told_before_a_promise_and_at_the_end() {
    for ends in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let (mut recorder, mut unit, mut peer) = held_back(dir.path(), 0);
        (0..10).for_each(|value| event(&mut unit, 5, value, Phase::Evaluate).unwrap());
        peer.finish().unwrap();
        if ends {
            unit.finish().unwrap();
        } else {
            unit.advance(6).unwrap();
        }
        // What was promised is written: a gap at 5 ns would come too late from here on.
        recorder.flush().unwrap();
        let told: Vec<(bool, u64)> =
            lines(dir.path(), "a").iter().map(|line| (line.gap, line.count)).collect();
        assert_eq!(told, [(false, 1), (false, 1), (false, 1), (false, 1), (true, 6)], "ends: {ends}");
        unit.finish().unwrap();
        let stats = recorder.close(RunTotals::default()).unwrap();
        assert_eq!((stats.events, stats.dropped_events, stats.clockweave.events.produced), (4, 6, 10));
    }
}

/// A burst that rings cannot take, and then nothing more of its unit: the loss has its place before time goes on.
#[test]
fn a_loss_in_a_serial_run_is_told_at_the_end_of_its_instant() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = workload::builder(dir.path());
    builder.ring_capacity(Some(2));
    let unit = builder.add_stream(1, 1, "unit").unwrap();
    let other = builder.add_stream(1, 2, "other").unwrap();
    let mut recorder = builder.start_serial_lossy().unwrap();
    let burst: Vec<(u64, u64, u64)> = (0..1000).map(|value| (0, Phase::Evaluate as u64, value)).collect();
    for (cycle, _, value) in &burst {
        recorder.record(unit, *cycle, KindId::USER, 0, *value, 0, Phase::Evaluate);
    }
    for cycle in 0..200 {
        recorder.record(other, cycle, KindId::USER, 0, 0, 0, Phase::Evaluate);
        recorder.end_instant(cycle.cast_signed()).unwrap();
    }
    // What is below 199 ns is written now, and nothing before it can follow.
    recorder.flush().unwrap();
    let stats = recorder.close(RunTotals::default()).unwrap();
    assert_accounted(&lines(dir.path(), "a"), 1, &burst, &stats);
    assert!(stats.clockweave.streams.iter().any(|stream| stream.unit_id == 1 && stream.dropped > 0));
}

/// Losses that no ring has heard of when the recorder is closed are part of what the stream says it lost.
#[test]
fn a_stream_that_is_closed_early_counts_its_open_gap() {
    let dir = tempfile::tempdir().unwrap();
    let (mut recorder, mut unit, mut peer) = held_back(dir.path(), 0);
    (0..10).for_each(|value| event(&mut unit, 5, value, Phase::Evaluate).unwrap());
    let stats = recorder.close(RunTotals::default()).unwrap();
    assert_eq!((stats.events, stats.dropped_events), (4, 0));
    let error = unit.finish().unwrap_err();
    assert!(matches!(&error, RecordError::ClosedEarly { unit, lost: 6 } if unit == "unit"), "{error}");
    assert!(matches!(peer.finish(), Err(RecordError::ClosedEarly { lost: 0, .. })));
}

/// An event of the kind that gaps have behind the ring is an event of an unknown kind, not a loss.
#[test]
fn a_gap_cannot_be_forged() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = workload::builder(dir.path());
    builder.lossy(true);
    builder.add_stream(1, 1, "unit").unwrap();
    let (mut recorder, mut producers) = builder.start_independent().unwrap();
    producers[0].record(1, KindId(u16::MAX), 0, 1000, 0, Phase::Commit).unwrap();
    let error = recorder.close(RunTotals::default()).unwrap_err();
    assert!(matches!(error, RecordError::UnknownKind { kind: u16::MAX, .. }), "{error}");
    let file = reading::read(&dir.path().join(TRACE_FILE));
    assert_eq!(file.events().count(), 0);
}
