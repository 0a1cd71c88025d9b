//! The guide's code is that of the examples, which run (here, and in the importer's tests).

#[allow(dead_code, reason = "the example's own entry is not called")]
#[path = "../../examples/lossy_probe.rs"]
mod lossy_probe;

#[allow(dead_code, reason = "the example's own entry is not called")]
#[path = "../../examples/own_tracks.rs"]
mod own_tracks;

use std::fs;

use crate::reading;

const GUIDE: &str = include_str!("../../../docs/guide-recording.md");
const EXAMPLES: [&str; 4] = [
    include_str!("../../examples/foreign_loop.rs"),
    include_str!("../../examples/four_threads.rs"),
    include_str!("../../examples/lossy_probe.rs"),
    include_str!("../../examples/own_tracks.rs"),
];

#[test]
fn the_guide_quotes_the_examples() {
    let blocks = GUIDE.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let quoted: Vec<&str> = blocks.collect();
    assert!(quoted.len() >= 7);
    for example in EXAMPLES {
        assert!(quoted.iter().any(|block| example.contains(block)), "every example is quoted");
    }
    for block in quoted {
        assert!(
            EXAMPLES.iter().any(|example| example.contains(block)),
            "no example has these lines:\n{block}"
        );
    }
}

#[test]
fn the_probe_keeps_or_counts_every_event() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    let stats = lossy_probe::run(&dir).unwrap();
    assert_eq!(stats.events + stats.dropped_events, 100_000);
    let log = fs::read_to_string(dir.join("text-domain-bus.log")).unwrap();
    let (gaps, events): (Vec<&str>, Vec<&str>) = log.lines().skip(2).partition(|line| line.starts_with('#'));
    let count =
        |line: &&str| line.split("count=").nth(1).unwrap().split(' ').next().unwrap().parse::<u64>().unwrap();
    assert_eq!(gaps.iter().map(count).sum::<u64>(), stats.dropped_events);
    assert_eq!(events.len() as u64, stats.events);
}

#[test]
fn the_encoders_example_writes_three_events_per_interrupt() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("own.pftrace");
    let summary = own_tracks::run(&path).unwrap();
    assert_eq!((summary.events, summary.regressed, summary.open_slices), (3000, 0, 0));
    let file = reading::read(&path);
    assert_eq!(file.packets.iter().filter(|packet| packet.packet.has_track_event()).count(), 3000);
    assert!(file.wrapped.iter().sum::<usize>() > 60_000, "it is compressed");
}
