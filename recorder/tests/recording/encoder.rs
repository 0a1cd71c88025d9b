//! The stand-alone encoder: what it writes is what was said, and what would mislead is refused.

use std::fs;
use std::time::Duration;

use clockweave_recorder::encoder::{Event, Level, PftraceOptions, PftraceWriter, TraceError, Value};
use clockweave_recorder::{Compression, RecordError};
use proptest::prelude::*;

use crate::{encoder_oracle, reading};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_trace_says_what_was_written(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
        let dir = tempfile::tempdir().unwrap();
        encoder_oracle::check(&bytes, &dir.path().join("trace"));
    }
}

fn raw() -> PftraceOptions {
    PftraceOptions::default().compression(Compression::None)
}

/// Times and clocks of the packets with events.
fn times(bytes: &[u8]) -> Vec<(u64, u32)> {
    let file = reading::parse(bytes);
    let events = file.packets.iter().filter(|packet| packet.packet.has_track_event());
    events.map(|packet| (packet.packet.timestamp(), packet.packet.timestamp_clock_id())).collect()
}

#[test]
fn times_that_go_back_are_absolute_and_leave_the_others_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    let mut trace = PftraceWriter::create(&path, raw()).unwrap();
    let (track, name) = (trace.track("t", None).unwrap(), trace.name("n").unwrap());
    for ns in [1000, 1, 2000, 0, 3000] {
        trace.write(&Event::instant(ns, track, name)).unwrap();
    }
    let summary = trace.close().unwrap();
    assert_eq!((summary.events, summary.regressed), (5, 2));
    let expected = [(1000, 0), (1, 11), (1000, 0), (0, 11), (1000, 0)];
    assert_eq!(times(&fs::read(&path).unwrap()), expected);
}

#[test]
fn what_would_mislead_is_refused_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, refused: bool| {
        let path = dir.path().join(name);
        let mut trace = PftraceWriter::create(&path, raw().checkpoint_interval(3)).unwrap();
        let track = trace.track("t", None).unwrap();
        let counter = trace.counter_track("c", Some(track), None).unwrap();
        let name = trace.name("n").unwrap();
        let new = trace.name("said in a refused event first").unwrap();
        let long = "x".repeat(70_000);
        let other = PftraceWriter::create(dir.path().join(format!("{refused} other")), raw());
        let mut other = other.unwrap();
        (0..5).for_each(|n| _ = other.track(&format!("{n}"), None).unwrap());
        let foreign = other.track("foreign", None).unwrap();
        let stranger = (0..9).map(|n| other.name(&format!("{n}")).unwrap()).last().unwrap();
        let refusals = |trace: &mut PftraceWriter| {
            let mut error = |event: &Event<'_>| trace.write(event).unwrap_err();
            let begin = Event::begin(20, track, name);
            assert!(matches!(error(&Event::end(25, track)), TraceError::NothingOpen { ns: 25, .. }));
            assert!(matches!(error(&Event::instant(25, counter, name)), TraceError::WrongTrack { .. }));
            let value = Event::counter(25, track, Level::Int(1));
            assert!(matches!(error(&value), TraceError::WrongTrack { .. }));
            let args = [(new, Value::Text(&long))];
            let large = begin.args(&args);
            assert!(matches!(error(&large), TraceError::EventTooLarge { limit: 65_536, .. }));
            assert!(matches!(
                error(&Event::instant(5, track, name)),
                TraceError::Late { ns: 5, watermark: 10 }
            ));
            assert!(matches!(error(&Event::instant(1 << 63, track, name)), TraceError::TimeRange { .. }));
            assert!(matches!(
                error(&Event::instant(25, foreign, name)),
                TraceError::Unknown { what: "track", .. }
            ));
            assert!(matches!(
                error(&Event::instant(25, track, stranger)),
                TraceError::Unknown { what: "name", .. }
            ));
            assert!(matches!(trace.advance_watermark(9), Err(TraceError::WatermarkFell { ns: 9, last: 10 })));
        };
        trace.advance_watermark(10).unwrap();
        for round in 0..7 {
            if refused {
                refusals(&mut trace);
            }
            trace.write(&Event::instant(20 + round, track, name)).unwrap();
        }
        trace.write(&Event::begin(40, track, new)).unwrap();
        let back = trace.write(&Event::end(39, track)).unwrap_err();
        assert!(matches!(back, TraceError::SliceRegressed { ns: 39, last: 40, .. }), "{back}");
        trace.write(&Event::end(41, track).args(&[(new, Value::Name(new))])).unwrap();
        let deep = (0..600).find_map(|_| trace.write(&Event::begin(50, track, name)).err());
        assert!(matches!(deep, Some(TraceError::TooDeep { limit: 512, .. })));
        assert_eq!(trace.close().unwrap().open_slices, 512);
        other.close().unwrap();
        fs::read(path).unwrap()
    };
    assert!(write("plain", false) == write("refused", true));
}

#[test]
fn names_and_tracks_are_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let mut trace = PftraceWriter::create(dir.path().join("a"), raw().metadata_bytes(10_000)).unwrap();
    let error = (0..).find_map(|n| trace.name(&format!("name {n}")).err()).unwrap();
    assert!(matches!(error, TraceError::MetadataBudget { budget: 10_000, .. }), "{error}");
    assert!(trace.track("a track", None).is_ok() || trace.name("name 0").is_ok(), "known names cost nothing");
    let error = (0..1000).find_map(|_| trace.track("t", None).err()).unwrap();
    assert!(matches!(error, TraceError::MetadataBudget { budget: 10_000, .. }), "{error}");
    assert!(matches!(trace.name(&"x".repeat(32_769)), Err(TraceError::NameTooLong { bytes: 32_769, .. })));
    trace.close().unwrap();

    let options = raw().metadata_bytes(1 << 30);
    let mut trace = PftraceWriter::create(dir.path().join("b"), options).unwrap();
    let names: Vec<_> = (0..65_536).map(|n| trace.name(&format!("{n}")).unwrap()).collect();
    assert!(matches!(trace.name("one more"), Err(TraceError::MetadataBudget { budget: 65_536, .. })));
    assert_eq!(trace.name("65535").unwrap(), names[65_535]);
    trace.close().unwrap();
}

/// Neither flushing nor host time shows in the bytes.
#[test]
fn bytes_follow_from_the_calls() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, compression: Compression, flush_every: u64, interval: Option<Duration>| {
        let path = dir.path().join(name);
        let options = PftraceOptions::default().compression(compression).checkpoint_interval(4000);
        let mut trace = PftraceWriter::create(&path, options.flush_interval(interval)).unwrap();
        let tracks = [0, 1, 2].map(|n| trace.track(&format!("t{n}"), None).unwrap());
        let names = [0, 1, 2, 3, 4].map(|n| trace.name(&format!("n{n}")).unwrap());
        for n in 0..12_000u64 {
            let args = [(names[4], Value::Uint(n * n)), (names[3], Value::Name(names[n as usize % 5]))];
            let event = Event::instant(3 * n, tracks[n as usize % 3], names[n as usize % 4]).args(&args);
            trace.write(&event.flows(&[n / 2])).unwrap();
            if n % flush_every == 0 {
                trace.flush().unwrap();
            }
        }
        trace.close().unwrap();
        fs::read(path).unwrap()
    };
    for (number, codec) in
        [Compression::None, Compression::default(), Compression::ZSTD].into_iter().enumerate()
    {
        let expected = write(&format!("{number}"), codec, u64::MAX, None);
        assert!(expected.len() > 50_000);
        let again = write(&format!("{number} flushed"), codec, 997, Some(Duration::from_millis(1)));
        assert!(again == expected, "{codec:?}");
    }
}

#[test]
fn a_file_that_is_there_is_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    fs::write(&path, "mine").unwrap();
    let error = PftraceWriter::create(&path, raw()).err().unwrap();
    assert!(matches!(error, TraceError::Output(RecordError::Io { .. })), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    let error = PftraceWriter::create(dir.path().join("new"), raw().checkpoint_interval(0)).err().unwrap();
    assert!(matches!(error, TraceError::Output(RecordError::BadOption { .. })), "{error}");
}
