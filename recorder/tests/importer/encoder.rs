//! The stand-alone encoder's traces in the real Trace Processor.

use clockweave_recorder::Compression;
use clockweave_recorder::encoder::{Event, Level, PftraceOptions, PftraceWriter, Value};

use crate::rows;

const INSTANTS: &str = "select ts || ' ' || slice.name || ' ' || track.name from slice \
                        join track on slice.track_id = track.id where dur = 0 order by slice.ts, slice.id";
const SLICES: &str = "select ts || ' ' || dur || ' ' || depth || ' ' || ifnull(category, '-') || ' ' || name from slice \
                      where dur <> 0 order by slice.id";
const COUNTERS: &str = "select counter.ts || ' ' || counter.value || ' ' || track.name || ' ' || parent.name from counter \
                        join track on counter.track_id = track.id join track parent on track.parent_id = parent.id \
                        order by counter.id";
const ARGS: &str = "select args.flat_key || ' ' || args.value_type || ' ' || args.display_value from slice \
                    join args using (arg_set_id) where slice.name = 'typed' order by args.id";
const FLOWS: &str = "select o.ts || ' ' || i.ts from flow join slice o on slice_out = o.id \
                     join slice i on slice_in = i.id order by o.ts";
const PROBLEMS: &str = "select name || ' ' || value from stats where severity <> 'info' and value <> 0";

#[test]
fn tracks_slices_counters_flows_and_typed_annotations_import() {
    for compression in [Compression::None, Compression::default()] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("own.pftrace");
        let options = PftraceOptions::default().compression(compression).checkpoint_interval(3);
        let mut trace = PftraceWriter::create(&path, options).unwrap();
        let cpu = trace.track("cpu", None).unwrap();
        // Of equal names, and yet two.
        let twins = [0, 1].map(|_| trace.track("thread", Some(cpu)).unwrap());
        let load = trace.counter_track("load", Some(cpu), Some("percent")).unwrap();
        let [tick, work, sched, typed] =
            ["tick", "work", "sched", "typed"].map(|name| trace.name(name).unwrap());
        for ns in [1000, 1, 2000, 0, 3000] {
            trace.write(&Event::instant(ns, twins[0], tick).flows(&[7])).unwrap();
        }
        trace.write(&Event::begin(4000, twins[1], work).category(sched)).unwrap();
        trace.write(&Event::begin(4100, twins[1], tick)).unwrap();
        trace.write(&Event::end(4200, twins[1])).unwrap();
        trace.write(&Event::counter(4250, load, Level::Int(-3))).unwrap();
        trace.write(&Event::counter(4260, load, Level::Double(0.5))).unwrap();
        trace.write(&Event::end(4500, twins[1])).unwrap();
        let keys = ["b", "u", "i", "d", "p", "t", "n"].map(|name| trace.name(name).unwrap());
        let values = [
            Value::Bool(true),
            Value::Uint(u64::MAX >> 1),
            Value::Int(-5),
            Value::Double(2.5),
            Value::Pointer(0xff),
            Value::Text("löng \"text\""),
            Value::Name(sched),
        ];
        let args: Vec<_> = keys.into_iter().zip(values).collect();
        trace.write(&Event::instant(5000, cpu, typed).args(&args).last_flows(&[7])).unwrap();
        trace.close().unwrap();

        let found = rows(&path, &[INSTANTS, SLICES, COUNTERS, ARGS, FLOWS, PROBLEMS]);
        let instants =
            ["0 tick thread", "1 tick thread", "1000 tick thread", "2000 tick thread", "3000 tick thread"];
        assert_eq!(found[0][..5], instants);
        assert_eq!(found[0][5..], ["5000 typed cpu"]);
        assert_eq!(found[1], ["4000 500 0 sched work", "4100 100 1 - tick"]);
        assert_eq!(found[2], ["4250 -3.0 load cpu", "4260 0.5 load cpu"]);
        let args = [
            "debug.b bool true",
            "debug.u uint 9223372036854775807",
            "debug.i int -5",
            "debug.d real 2.5",
            "debug.p pointer 0xff",
            "debug.t string löng \"text\"",
            "debug.n string sched",
        ];
        assert_eq!(found[3], args);
        assert_eq!(found[4], ["0 1", "1 1000", "1000 2000", "2000 3000", "3000 5000"]);
        assert_eq!(found[5], [""; 0]);
    }
}
