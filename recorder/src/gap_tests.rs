//! Dropped events in every output.

use std::fs;
use std::path::Path;

use clockweave_model::{ClockDomain, KindId, Phase, Seconds};
use perfetto_protos::trace_packet::TracePacket;
use protobuf::Message;
use protobuf::text_format::print_to_string;

use crate::{ArgsEncoding, Compression, Recorder, RunTotals, TRACE_FILE, text_log_name};

/// Unit 1 keeps events 0 and 1, loses 2 to 4, keeps 5; unit 2 loses its first.
fn record(dir: &Path, compression: Compression, args: ArgsEncoding) {
    let mut builder = Recorder::builder(dir);
    let domain = ClockDomain::new(1, "a", "1GHz".parse().unwrap(), Seconds::ZERO).unwrap();
    builder.compression(compression).args(args).domain(&domain).unwrap();
    builder.lossless = false;
    let unit = builder.add_stream(1, 1, "unit").unwrap();
    let other = builder.add_stream(1, 2, "other").unwrap();
    let mut recorder = builder.start_serial().unwrap();
    let event = |recorder: &mut crate::SerialRecorder, unit, cycle: u64| {
        recorder.record(unit, cycle, KindId::USER, 0, 0, 0, Phase::Commit);
        recorder.end_instant(cycle as i64).unwrap();
    };
    event(&mut recorder, unit, 0);
    event(&mut recorder, unit, 1);
    recorder.drop_events(2, 0, 3, 2, Phase::Evaluate);
    recorder.drop_events(3, 1, 1, 3, Phase::Commit);
    event(&mut recorder, unit, 4);
    event(&mut recorder, other, 5);
    let stats = recorder.close(RunTotals::default()).unwrap();
    assert_eq!((stats.events, stats.dropped_events, stats.clockweave.gaps), (4, 4, 2));
    let totals = stats.clockweave.streams.iter().map(|s| (s.produced, s.retained, s.dropped));
    assert_eq!(totals.collect::<Vec<_>>(), [(6, 3, 3), (2, 1, 1)]);
}

#[test]
fn gaps_as_lines_and_packets() {
    let root = tempfile::tempdir().unwrap();
    record(root.path(), Compression::None, ArgsEncoding::Debug);
    let text = fs::read_to_string(root.path().join(text_log_name("a"))).unwrap();
    let lines: Vec<&str> = text.lines().skip(2).collect();
    assert_eq!(
        lines,
        [
            "0\t1\tuser\t1\t0\t0\t0\t0",
            "1\t1\tuser\t1\t0\t0\t0\t1",
            "# gap unit=1 ordinal=2 count=3 cycle=2 phase=0",
            "# gap unit=2 ordinal=0 count=1 cycle=3 phase=1",
            "4\t1\tuser\t1\t0\t0\t0\t5",
            "5\t2\tuser\t1\t0\t0\t0\t1",
        ]
    );
    let trace =
        perfetto_protos::trace::Trace::parse_from_bytes(&fs::read(root.path().join(TRACE_FILE)).unwrap());
    let packets: Vec<TracePacket> = trace.unwrap().packet;
    let state = packets.iter().find(|packet| packet.has_clock_snapshot()).unwrap();
    let name = |iid: u64| {
        let names = &state.interned_data.debug_annotation_names;
        names.iter().find(|name| name.iid() == iid).unwrap().name().to_owned()
    };
    let gap_name =
        state.interned_data.event_names.iter().find(|name| name.name() == "trace.gap").unwrap().iid();
    let gaps = packets
        .iter()
        .filter(|packet| packet.track_event().name_iid() == gap_name && packet.has_track_event());
    let gaps: Vec<_> = gaps
        .map(|packet| {
            let event = packet.track_event();
            assert_eq!(event.category_iids, [2]);
            let values = event.debug_annotations.iter().map(|a| (name(a.name_iid()), a.uint_value()));
            (packet.timestamp(), values.collect::<Vec<_>>())
        })
        .collect();
    let values = |values: [u64; 4]| -> Vec<(String, u64)> {
        ["count", "first_ordinal", "cycle", "phase"].map(str::to_owned).into_iter().zip(values).collect()
    };
    assert_eq!(gaps, [(1, values([3, 2, 2, 0])), (1, values([1, 0, 3, 1]))]);
    let last = print_to_string(packets.last().unwrap());
    assert_eq!(last, "trace_stats {buffer_stats {trace_writer_packet_loss: 4}}");
}
