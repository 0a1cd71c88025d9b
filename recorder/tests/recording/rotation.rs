//! A trace cut into files: each opens by itself, and together they hold every event once.

use std::fs;
use std::path::Path;

use clockweave_model::{KindId, Phase};
use clockweave_recorder::{
    Compression, RecordError, Recorder, RunTotals, Stats, TRACE_FILE, is_run_file, segment_name,
};

use crate::reading::{self, TraceFile, arguments};
use crate::two_clocks;

/// One event every 7 ns; a checkpoint every 300, a file every 1,000.
fn record(dir: &Path, events: u64, compression: Compression) -> Stats {
    let mut builder = two_clocks::builder(dir);
    builder.text(false).compression(compression).checkpoint_interval(Some(300)).rotate_events(Some(1000));
    let unit = builder.add_stream(1, 1, "unit").unwrap();
    let mut recorder = builder.start_serial().unwrap();
    for n in 0..events {
        recorder.record(unit, 7 * n, KindId::USER, n + 1, n, 3, Phase::Commit);
        recorder.end_instant(7 * n as i64).unwrap();
        if n % 701 == 0 {
            recorder.flush().unwrap();
        }
    }
    recorder.close(RunTotals::default()).unwrap()
}

fn segments(dir: &Path) -> Vec<TraceFile> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".pftrace"))
        .collect();
    names.sort();
    let expected: Vec<String> = (0..names.len() as u64).map(segment_name).collect();
    assert_eq!(names, expected);
    assert!(names.iter().all(|name| is_run_file(name)));
    names.iter().map(|name| reading::read(&dir.join(name))).collect()
}

/// Times and ordinals of a file's events, from what the file itself says.
fn events(file: &TraceFile) -> Vec<(u64, u64)> {
    let mut now = None;
    let mut events = Vec::new();
    for packet in &file.packets {
        if packet.packet.has_clock_snapshot() {
            now = Some(packet.packet.clock_snapshot().clocks[0].timestamp());
        }
        if packet.packet.has_track_event() {
            let at = now.expect("a snapshot comes first") + packet.packet.timestamp();
            now = Some(at);
            if packet.packet.track_event().category_iids == [1] {
                events.push((at, arguments(packet.packet.track_event()).ordinal));
            }
        }
    }
    events
}

#[test]
fn every_file_opens_alone_and_together_they_hold_every_event_once() {
    for compression in [Compression::default(), Compression::None] {
        let dir = tempfile::tempdir().unwrap();
        let stats = record(dir.path(), 2500, compression);
        let files = segments(dir.path());
        let counts: Vec<usize> = files.iter().map(|file| file.events().count()).collect();
        assert_eq!(counts, [1000, 1000, 500]);
        let all: Vec<(u64, u64)> = files.iter().flat_map(events).collect();
        assert_eq!(all, (0..2500).map(|n| (7 * n, n)).collect::<Vec<_>>());
        for file in &files {
            let firsts = file.packets.iter().filter(|packet| packet.packet.first_packet_on_sequence());
            assert_eq!(firsts.count(), 1);
            assert!(file.packets[0].packet.has_extension_descriptor());
            // Descriptor, three tracks, state, two explanations, as in the first file.
            let shape = |file: &TraceFile| -> Vec<bool> {
                let packets = file.packets[1..].iter();
                packets.take(7).map(|packet| packet.packet.has_track_event()).collect()
            };
            assert_eq!(shape(file), shape(&files[0]));
            let markers = file.packets.iter().filter(|packet| packet.packet.has_synchronization_marker());
            // 300, 600, 900; a file ends without one.
            assert_eq!(markers.count(), if file.events().count() == 1000 { 3 } else { 1 });
        }
        let totals = stats.clockweave.segments;
        let sizes = (0..3).map(|n| fs::metadata(dir.path().join(segment_name(n))).unwrap().len());
        let expected: Vec<_> = (0..).zip([1000, 1000, 500]).zip(sizes).collect();
        let found = totals.iter().map(|s| (s.file.clone(), s.events, s.dropped, s.bytes));
        let expected = expected.into_iter().map(|((n, events), bytes)| (segment_name(n), events, 0, bytes));
        assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }
}

/// Each file tells its own losses: in the statistics, and to the importer.
#[test]
fn losses_are_told_by_the_file_they_are_in() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = two_clocks::builder(dir.path());
    builder.text(false).compression(Compression::None).lossy(true).rotate_events(Some(10));
    let unit = builder.add_stream(1, 1, "unit").unwrap();
    let mut recorder = builder.start_serial().unwrap();
    for n in 0..28 {
        // Gaps count for the ten as events do.
        match n {
            3 => recorder.lose(unit, n, 5, Phase::Commit),
            12 => recorder.lose(unit, n, 7, Phase::Commit),
            14 => recorder.lose(unit, n, 1, Phase::Commit),
            _ => recorder.record(unit, n, KindId::USER, 0, n, 0, Phase::Commit),
        }
        recorder.end_instant(n as i64).unwrap();
    }
    let stats = recorder.close(RunTotals::default()).unwrap();
    let told = stats.clockweave.segments.iter().map(|segment| (segment.events, segment.dropped));
    assert_eq!(told.collect::<Vec<_>>(), [(9, 5), (8, 8), (8, 0)]);
    assert_eq!((stats.events, stats.dropped_events, stats.clockweave.gaps), (25, 13, 3));
    let files = segments(dir.path());
    assert_eq!(files.iter().map(|file| file.events().count()).collect::<Vec<_>>(), [9, 8, 8]);
    let lost = |file: &TraceFile| {
        let losses = file.packets.iter().filter(|packet| packet.packet.has_trace_stats());
        losses
            .map(|packet| packet.packet.trace_stats().buffer_stats[0].trace_writer_packet_loss())
            .collect::<Vec<_>>()
    };
    assert_eq!(files.iter().map(lost).collect::<Vec<_>>(), [vec![5], vec![8], vec![]]);
}

#[test]
fn no_file_is_empty() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), 2000, Compression::default());
    assert_eq!(segments(dir.path()).len(), 2);
}

/// A file that is there already is not taken for a segment.
#[test]
fn a_segment_that_cannot_be_created_ends_the_run_with_the_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = two_clocks::builder(dir.path());
    builder.text(false).rotate_events(Some(10));
    let unit = builder.add_stream(1, 1, "unit").unwrap();
    let mut recorder = builder.start_serial().unwrap();
    fs::write(dir.path().join(segment_name(1)), "mine").unwrap();
    for n in 0..15 {
        recorder.record(unit, n, KindId::USER, 0, 0, 0, Phase::Commit);
        // The writing thread may or may not have noticed yet.
        let _ = recorder.end_instant(n as i64);
    }
    let error = recorder.close(RunTotals::default()).unwrap_err();
    assert!(matches!(&error, RecordError::Io { path, .. } if path.ends_with(segment_name(1))), "{error}");
    assert_eq!(fs::read(dir.path().join(segment_name(1))).unwrap(), b"mine");
    assert_eq!(events(&reading::read(&dir.path().join(segment_name(0)))).len(), 10);
}

#[test]
fn rotation_after_no_events_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let mut builder = Recorder::builder(root.path().join("run"));
    builder.rotate_events(Some(0));
    let refused = builder.start_serial().err().unwrap();
    assert!(matches!(refused, RecordError::BadOption { option: "rotate_events", found: 0, .. }));
    assert!(!root.path().join("run").join(TRACE_FILE).exists());
}
