//! The bytes of a run follow from its events alone: not from flushing, not from the order in which
//! units, kinds, domains and options were declared.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use clockweave_model::{FifoEntry, KindId, KindTable, Phase};
use clockweave_recorder::{Compression, Recorder, RunTotals, STATS_FILE, StreamId, View};

use crate::two_clocks;

/// Every file but the statistics.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap().map(Result::unwrap);
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .filter(|(name, _)| name != STATS_FILE)
        .collect()
}

fn record(
    (compression, view): (Compression, View),
    backwards: bool,
    flush_every: usize,
) -> BTreeMap<String, Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let mut builder = Recorder::builder(dir.path());
    let fifo = |id: u32| FifoEntry {
        id,
        name: format!("f{id}"),
        depth: 2,
        stages: 2,
        writer: "u1".into(),
        reader: "u2".into(),
    };
    let mut order = vec![1u32, 2, 3];
    let mut kinds = vec!["x", "y", "z"];
    if backwards {
        order.reverse();
        kinds.reverse();
    }
    builder.rotate_events((view == View::Full).then_some(7000));
    builder.view(view).flush_interval(backwards.then_some(Duration::from_millis(1)));
    builder.compression(compression).checkpoint_interval(Some(5000)).kinds(KindTable::new(kinds).unwrap());
    for id in &order {
        builder.configure(format!("key{id}"), "value").fifo(fifo(*id));
        builder.domain(&two_clocks::domain(*id, &format!("d{id}"), "1GHz", 0)).unwrap();
    }
    let mut streams: BTreeMap<u32, StreamId> = BTreeMap::new();
    for id in &order {
        streams.insert(*id, builder.add_stream(*id, u64::from(*id), &format!("u{id}")).unwrap());
    }
    let mut recorder = builder.start_serial().unwrap();
    for cycle in 0..8000u64 {
        for (id, stream) in &streams {
            let kind = KindId(257 + (cycle % 3) as u16);
            recorder.record(
                *stream,
                cycle,
                kind,
                cycle << 2 | u64::from(*id),
                cycle * cycle,
                *id,
                Phase::Commit,
            );
        }
        recorder.end_instant(cycle as i64).unwrap();
        if (cycle as usize).is_multiple_of(flush_every) {
            recorder.flush().unwrap();
        }
    }
    recorder.close(RunTotals::default()).unwrap();
    files(dir.path())
}

#[test]
fn flushing_and_order_of_declaration_do_not_show() {
    let codecs =
        [Compression::None, Compression::default(), Compression::Deflate { level: 4 }, Compression::ZSTD];
    let full = (Compression::default(), View::Full);
    for variant in codecs.map(|codec| (codec, View::Events)).into_iter().chain([full]) {
        let expected = record(variant, false, usize::MAX);
        // 24,000 events are four files.
        assert_eq!(expected.len(), if variant.1 == View::Full { 8 } else { 5 });
        let trace = expected.iter().filter(|(name, _)| name.starts_with("timeline"));
        assert!(trace.map(|(_, bytes)| bytes.len()).sum::<usize>() > 100_000);
        for (backwards, flush_every) in [(false, 17), (true, 23), (true, 700), (false, 7999)] {
            assert!(record(variant, backwards, flush_every) == expected, "{variant:?} {flush_every}");
        }
    }
}
