//! Where checkpoints and blocks begin, and what a checkpoint repeats.

use std::path::Path;

use clockweave_model::{KindId, Phase};
use clockweave_recorder::{Compression, RecordError, Recorder, RunTotals, TRACE_FILE};

use crate::reading::{self, TraceFile, arguments};
use crate::two_clocks;

const MARKER: [u8; 16] =
    [0x82, 0x47, 0x7a, 0x76, 0xb2, 0x8d, 0x42, 0xba, 0x81, 0xdc, 0x33, 0x32, 0x6d, 0x57, 0xa0, 0x79];

/// One event per nanosecond; all values of about `width` bits.
fn record(dir: &Path, events: u64, width: u32, interval: Option<u64>, compression: Compression) -> TraceFile {
    let mut builder = two_clocks::builder(dir);
    builder.text(false).checkpoint_interval(interval).compression(compression);
    let unit = builder.add_stream(1, 1, "unit").unwrap();
    let mut recorder = builder.start_serial().unwrap();
    let wide = 1u64 << width;
    for n in 0..events {
        recorder.record(unit, wide + n, KindId::USER, wide + n, n, 3, Phase::Commit);
        recorder.end_instant(n as i64).unwrap();
    }
    recorder.close(RunTotals::default()).unwrap();
    reading::read(&dir.join(TRACE_FILE))
}

#[test]
fn a_checkpoint_repeats_everything_a_reader_needs() {
    for compression in [Compression::default(), Compression::None] {
        let dir = tempfile::tempdir().unwrap();
        let file = record(dir.path(), 7, 10, Some(3), compression);
        let at: Vec<usize> = (0..file.packets.len())
            .filter(|at| file.packets[*at].packet.has_synchronization_marker())
            .collect();
        // 1 descriptor, 3 tracks, state, 2 explanations, then 3 events per stretch.
        assert_eq!(at, [4 + 3 + 3, 4 + 3 + 3 + 6 + 3]);
        for (stretch, at) in at.into_iter().enumerate() {
            let packets = &file.packets[at..];
            assert_eq!(packets[0].packet.synchronization_marker(), MARKER);
            assert_eq!(packets[1].bytes, file.packets[0].bytes);
            for (again, first) in packets[2..5].iter().zip(&file.packets[1..4]) {
                assert!(first.packet.has_track_descriptor());
                assert_eq!(again.bytes, first.bytes);
            }
            assert!(packets[..5].iter().all(|packet| packet.wrapper.is_none()), "readable without inflating");
            let state = &packets[5].packet;
            assert_eq!(state.sequence_flags(), 1);
            assert!(!state.has_first_packet_on_sequence(), "only the first is");
            assert!(!state.has_track_event());
            let first = file.packets.iter().find(|packet| packet.packet.has_clock_snapshot()).unwrap();
            assert_eq!(state.interned_data, first.packet.interned_data);
            assert_eq!(state.trace_packet_defaults.timestamp_clock_id(), 64);
            // The largest time so far: events are at 0, 1, 2, …
            let last = 3 * (stretch as u64 + 1) - 1;
            let clocks: Vec<(u32, u64, bool)> = state
                .clock_snapshot()
                .clocks
                .iter()
                .map(|clock| (clock.clock_id(), clock.timestamp(), clock.is_incremental()))
                .collect();
            assert_eq!(clocks, [(64, last, true), (65, last, false), (11, last, false)]);
            let wrapper = packets[5].wrapper;
            assert_eq!(wrapper, (compression != Compression::None).then_some(stretch + 1));
            assert!(
                packets[6..]
                    .iter()
                    .take(3)
                    .all(|packet| packet.wrapper == wrapper || packet.wrapper.is_none())
            );
            assert_eq!(packets[6].packet.timestamp(), 1, "relative to the snapshot");
        }
        let explanations =
            file.packets.iter().filter(|p| p.packet.track_event().category_iids == [2]).count();
        assert_eq!(explanations, 2, "said once");
    }
}

#[test]
fn no_checkpoint_ends_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = record(dir.path(), 6, 10, Some(3), Compression::default());
    assert_eq!(file.packets.iter().filter(|p| p.packet.has_synchronization_marker()).count(), 1);
    assert!(file.packets.last().unwrap().packet.has_track_event());
}

#[test]
fn a_checkpoint_is_forced_after_65_536_events() {
    for interval in [None, Some(1_000_000)] {
        let dir = tempfile::tempdir().unwrap();
        let file = record(dir.path(), 65_537, 10, interval, Compression::default());
        let marker = file.packets.iter().position(|p| p.packet.has_synchronization_marker()).unwrap();
        let before =
            file.packets[..marker].iter().filter(|p| p.packet.track_event().category_iids == [1]).count();
        assert_eq!(before, 65_536);
        assert_eq!(file.events().count(), 65_537);
    }
}

#[test]
fn many_units_have_64_events_each_per_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = Recorder::builder(dir.path());
    builder.text(false).domain(&two_clocks::domain(1, "a", "1GHz", 0)).unwrap();
    let streams: Vec<_> = (1..=1100).map(|n| builder.add_stream(1, n, &format!("u{n}")).unwrap()).collect();
    let mut recorder = builder.start_serial().unwrap();
    for cycle in 0..65 {
        for stream in &streams {
            recorder.record(*stream, cycle, KindId::USER, 0, 0, 0, Phase::Commit);
        }
        recorder.end_instant(cycle as i64).unwrap();
    }
    recorder.close(RunTotals::default()).unwrap();
    let file = reading::read(&dir.path().join(TRACE_FILE));
    let marker = file.packets.iter().position(|p| p.packet.has_synchronization_marker()).unwrap();
    let before =
        file.packets[..marker].iter().filter(|p| p.packet.track_event().category_iids == [1]).count();
    assert_eq!(before, 64 * 1100);
}

#[test]
fn a_block_is_as_full_as_it_can_be_and_never_fuller() {
    for width in [0, 6, 13, 20, 41, 63] {
        let dir = tempfile::tempdir().unwrap();
        let file = record(dir.path(), 20_000, width, None, Compression::default());
        assert!(file.wrapped.len() > 2, "{width}");
        let size =
            |at: usize| file.packets[at].bytes.len() + if file.packets[at].bytes.len() < 128 { 2 } else { 3 };
        for wrapper in 0..file.wrapped.len() - 1 {
            assert!(file.wrapped[wrapper] <= 262_144, "{width}");
            let next =
                (0..file.packets.len()).find(|at| file.packets[*at].wrapper == Some(wrapper + 1)).unwrap();
            assert!(
                file.wrapped[wrapper] + size(next) > 262_144,
                "{width}: the next packet would have fitted"
            );
        }
        let ordinals: Vec<u64> = file.events().map(|e| arguments(e.packet.track_event()).ordinal).collect();
        assert_eq!(ordinals, (0..20_000).collect::<Vec<u64>>());
    }
}

/// Every character of the unit's name moves the events by a byte; for one of these names they end exactly
/// at the limit.
#[test]
fn a_block_may_be_full_to_the_byte() {
    let first_block = |length: usize| {
        let dir = tempfile::tempdir().unwrap();
        let mut builder = two_clocks::builder(dir.path());
        builder.text(false);
        let unit = builder.add_stream(1, 1, &"x".repeat(length)).unwrap();
        let mut recorder = builder.start_serial().unwrap();
        for n in 0..5500 {
            recorder.record(unit, n, KindId::USER, n + 1, 0, 3, Phase::Commit);
            recorder.end_instant(n as i64).unwrap();
        }
        recorder.close(RunTotals::default()).unwrap();
        reading::read(&dir.path().join(TRACE_FILE)).wrapped[0]
    };
    let sizes: Vec<usize> = (1..=60).map(first_block).collect();
    assert_eq!(sizes.iter().max(), Some(&262_144), "{sizes:?}");
}

#[test]
fn an_interval_of_zero_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let mut builder = two_clocks::builder(&root.path().join("run"));
    builder.checkpoint_interval(Some(0));
    let error = builder.start_serial().err().unwrap();
    assert!(matches!(error, RecordError::BadOption { option: "checkpoint_interval", .. }), "{error}");
}
