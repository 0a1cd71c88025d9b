//! The stored sample was written by hand from the description of the format: the first 3,000 events
//! of the reference FIFO run, a checkpoint every 1,000. Recording the same events must give the same
//! event packets, byte for byte, in the same places.

use std::path::Path;

use clockweave_model::{ClockDomain, KindId, Phase, Seconds};
use clockweave_recorder::{Compression, Recorder, RunTotals, TRACE_FILE};

use crate::reading::{TraceFile, arguments};

fn sample() -> TraceFile {
    crate::reading::read(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace-fixtures/good/layout-sample.pftrace"),
    )
}

/// Records the sample's events, each as an instant of its own.
fn record_again(sample: &TraceFile, compression: Compression) -> TraceFile {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = Recorder::builder(dir.path());
    builder.run_id("fifo").text(false).compression(compression).checkpoint_interval(Some(1000));
    let sm = ClockDomain::new(1, "sm", "914MHz".parse().unwrap(), Seconds::ZERO).unwrap();
    let lts = ClockDomain::new(2, "lts", "1326MHz".parse().unwrap(), Seconds::from_ps(137)).unwrap();
    builder.domain(&lts).unwrap().domain(&sm).unwrap();
    let consumer = builder.add_stream(2, 2, "consumer").unwrap();
    let producer = builder.add_stream(1, 1, "producer").unwrap();
    let mut recorder = builder.start_serial().unwrap();
    let mut ns = 0;
    for event in sample.events() {
        ns += event.packet.timestamp();
        let args = arguments(event.packet.track_event());
        recorder.record(
            if args.unit_id == 1 { producer } else { consumer },
            args.local_cycle,
            KindId(u16::try_from(event.packet.track_event().name_iid()).unwrap()),
            args.transaction_id,
            args.value,
            u32::try_from(args.fifo_id).unwrap(),
            if args.phase == 0 { Phase::Evaluate } else { Phase::Commit },
        );
        recorder.end_instant(i64::try_from(ns).unwrap()).unwrap();
    }
    recorder.close(RunTotals::default()).unwrap();
    crate::reading::read(&dir.path().join(TRACE_FILE))
}

#[test]
fn event_packets_are_identical_and_in_the_same_wrappers() {
    let sample = sample();
    let again = record_again(&sample, Compression::Deflate { level: 1 });
    assert_eq!(sample.events().count(), 3000);
    for (at, (ours, theirs)) in again.events().zip(sample.events()).enumerate() {
        assert_eq!(ours.bytes, theirs.bytes, "event {at}");
        assert_eq!(ours.wrapper, theirs.wrapper, "event {at}");
    }
    assert_eq!(again.events().count(), 3000);
}

/// Everything else equals the sample's packets as Perfetto's schema reads them. The sample calls its
/// root `run`, explains only its first domain, does not name the kind `user`, and its `run` instant
/// lacks two arguments.
#[test]
fn other_packets_say_the_same() {
    let sample = sample();
    let again = record_again(&sample, Compression::Deflate { level: 1 });
    let in_sample = |packet: &&crate::reading::Packet| {
        let event = packet.packet.track_event();
        !(event.name_iid() == 8 && event.track_uuid() == 48_136_207)
    };
    assert_eq!(again.packets.iter().filter(in_sample).count(), sample.packets.len());
    for (at, (ours, theirs)) in again.packets.iter().filter(in_sample).zip(&sample.packets).enumerate() {
        let (mut ours, theirs) = (ours.packet.clone(), &theirs.packet);
        if ours.track_descriptor().uuid() == 158_855_763 {
            assert_eq!(ours.track_descriptor().name(), "fifo");
            ours.mut_track_descriptor().set_name("run".to_owned());
        }
        let names = &mut ours.interned_data.mut_or_insert_default().event_names;
        names.retain(|name| name.name() != "user");
        if theirs.interned_data.is_none() {
            ours.interned_data = None.into();
        }
        if theirs.has_track_event() && theirs.track_event().name_iid() == 9 {
            ours.mut_track_event().debug_annotations.retain(|a| a.name_iid() == 6 || a.name_iid() == 9);
        }
        assert_eq!(&ours, theirs, "packet {at}");
    }
}

#[test]
fn raw_packets_are_those_of_the_wrappers() {
    let sample = sample();
    let again = record_again(&sample, Compression::None);
    assert!(again.packets.iter().all(|packet| packet.wrapper.is_none()));
    let same = again.events().zip(sample.events()).filter(|(ours, theirs)| ours.bytes == theirs.bytes);
    assert_eq!(same.count(), 3000);
}
