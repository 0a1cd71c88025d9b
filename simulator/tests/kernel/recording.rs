//! What a run records at library level: events, order, phases and ordinals of small timelines derived
//! by hand, and bytes that depend on nothing but the graph.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clockweave_simulator::{Fifo, FifoIn, Packet, RecordingOptions, RunStatus, Simulation, Stats, Tick};

use crate::runs::machine;
use crate::scripted::{Log, add, one_clock};

/// Runs with text logs alone and gives the lines of one domain, comments left out, with the columns
/// cycle, unit, event, phase, transaction, FIFO, value, ordinal.
fn text(mut sim: Simulation, batches: u64, domains: &[&str]) -> Vec<Vec<String>> {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    sim.record(RecordingOptions::new(&dir, "small").perfetto(false)).unwrap();
    sim.run_batches(batches).unwrap();
    sim.finish().unwrap();
    domains.iter().map(|domain| lines(&dir, domain)).collect()
}

fn lines(dir: &Path, domain: &str) -> Vec<String> {
    let text = std::fs::read_to_string(dir.join(format!("text-domain-{domain}.log"))).unwrap();
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.replace('\t', " ")).collect()
}

/// A writer of `count` packets 11, 12, … into FIFO `fifo`.
fn writer(sim: &mut Simulation, domain: &str, name: &str, count: u64) {
    add(sim, domain, name, |p| {
        let out = p.fifo_out::<u64>("out");
        let mut sent = 0;
        move |cx: &mut Tick<'_>| {
            if sent < count && cx.write(&out, Packet::new(11 + sent, 0)).is_ok() {
                sent += 1;
            }
            Ok(())
        }
    });
}

/// A reader that takes whatever is there and has `count` requests accepted.
fn reader(sim: &mut Simulation, domain: &str, name: &str, count: u64) {
    add(sim, domain, name, |p| {
        let input: FifoIn<u64> = p.fifo_in("in");
        let mut read = 0;
        move |cx: &mut Tick<'_>| {
            cx.take(&input);
            if read < count && cx.request(&input) {
                read += 1;
            }
            Ok(())
        }
    });
}

fn crossing(depth: u32, writes: u64, reads: u64) -> Simulation {
    let mut sim = Simulation::new();
    sim.add_clock(1, "w", "1GHz").unwrap();
    sim.add_clock(2, "r", "1GHz").unwrap();
    writer(&mut sim, "w", "writer", writes);
    reader(&mut sim, "r", "reader", reads);
    sim.add_fifo(Fifo::new(7).depth(depth), "writer.out", "reader.in").unwrap();
    sim
}

#[test]
fn one_packet_leaves_the_specified_events() {
    let logs = text(crossing(16, 1, 1), 20, &["w", "r"]);
    assert_eq!(logs[0], ["0 1 fifo.write 1 11 7 0 0"]);
    let expected = [
        "3 2 fifo.visible 1 11 7 0 0",
        "3 2 fifo.empty 1 0 7 0 1",
        "4 2 fifo.read 1 11 7 0 2",
        "4 2 fifo.output 1 11 7 0 3",
        "4 2 fifo.empty 1 0 7 1 4",
        "5 2 fifo.consume 0 11 7 0 5",
    ];
    assert_eq!(logs[1], expected);
}

/// Depth 2: the second packet becomes visible with the read of the first, and stays.
#[test]
fn full_and_its_fall_are_recorded_at_the_writer() {
    let logs = text(crossing(2, 3, 1), 20, &["w", "r"]);
    let expected = [
        "0 1 fifo.write 1 11 7 0 0",
        "1 1 fifo.write 1 12 7 0 1",
        "1 1 fifo.full 1 0 7 1 2",
        "7 1 fifo.full 1 0 7 0 3",
        "8 1 fifo.write 1 13 7 0 4",
        "8 1 fifo.full 1 0 7 1 5",
    ];
    assert_eq!(logs[0], expected);
    let expected = [
        "3 2 fifo.visible 1 11 7 0 0",
        "3 2 fifo.empty 1 0 7 0 1",
        "4 2 fifo.visible 1 12 7 0 2",
        "4 2 fifo.read 1 11 7 0 3",
        "4 2 fifo.output 1 11 7 0 4",
        "5 2 fifo.consume 0 11 7 0 5",
        "11 2 fifo.visible 1 13 7 0 6",
    ];
    assert_eq!(logs[1], expected);
}

/// A FIFO of depth 4 from a unit to itself: all seven kinds meet in one unit's commits.
#[test]
fn one_unit_that_owns_both_ends_keeps_the_order_of_a_commit() {
    let mut sim = one_clock();
    add(&mut sim, "clk", "both", |p| {
        let (out, input) = (p.fifo_out::<u64>("out"), p.fifo_in::<u64>("in"));
        let mut next = 1;
        move |cx: &mut Tick<'_>| {
            if cx.write(&out, Packet::new(next, 0)).is_ok() {
                next += 1;
            }
            cx.take(&input);
            cx.request(&input);
            Ok(())
        }
    });
    sim.add_fifo(Fifo::new(3).depth(4), "both.out", "both.in").unwrap();
    let expected = [
        (0, "write", 1, 1, 0),
        (1, "write", 1, 2, 0),
        (2, "write", 1, 3, 0),
        // The fourth write fills the RAM on the edge on which the first packet is seen.
        (3, "write", 1, 4, 0),
        (3, "visible", 1, 1, 0),
        (3, "full", 1, 0, 1),
        (3, "empty", 1, 0, 0),
        (4, "visible", 1, 2, 0),
        (4, "read", 1, 1, 0),
        (4, "output", 1, 1, 0),
        (5, "consume", 0, 1, 0),
        (5, "visible", 1, 3, 0),
        (5, "read", 1, 2, 0),
        (5, "output", 1, 2, 0),
        (6, "consume", 0, 2, 0),
        (6, "visible", 1, 4, 0),
        (6, "read", 1, 3, 0),
        (6, "output", 1, 3, 0),
        (7, "consume", 0, 3, 0),
        (7, "read", 1, 4, 0),
        (7, "output", 1, 4, 0),
        (7, "full", 1, 0, 0),
        (7, "empty", 1, 0, 1),
        (8, "consume", 0, 4, 0),
        (8, "write", 1, 5, 0),
        (9, "write", 1, 6, 0),
        (10, "write", 1, 7, 0),
        (11, "write", 1, 8, 0),
        (11, "visible", 1, 5, 0),
        (11, "full", 1, 0, 1),
        (11, "empty", 1, 0, 0),
    ];
    let line = |(ordinal, (cycle, kind, phase, transaction, value)): (usize, (u64, &str, u64, u64, u64))| {
        format!("{cycle} 1 fifo.{kind} {phase} {transaction} 3 {value} {ordinal}")
    };
    let expected: Vec<String> = expected.into_iter().enumerate().map(line).collect();
    assert_eq!(text(sim, 12, &["clk"]).remove(0), expected);
}

/// Commits of one unit's FIFOs follow its own events, by ascending id, whatever was created first.
#[test]
fn two_fifos_on_one_unit_commit_by_id() {
    let mut sim = Simulation::new();
    sim.add_clock(1, "w", "1GHz").unwrap();
    sim.add_clock(2, "r", "1GHz").unwrap();
    add(&mut sim, "r", "reader", |p| {
        let (nine, four) = (p.fifo_in::<u64>("nine"), p.fifo_in::<u8>("four"));
        move |cx: &mut Tick<'_>| {
            cx.take(&nine);
            cx.take(&four);
            cx.request(&nine);
            cx.request(&four);
            Ok(())
        }
    });
    add(&mut sim, "w", "writer", |p| {
        let (nine, four) = (p.fifo_out::<u64>("nine"), p.fifo_out::<u8>("four"));
        let (said, level, busy) = (p.event("said"), p.counter("level"), p.span("busy"));
        move |cx: &mut Tick<'_>| {
            if cx.cycle() == 0 {
                cx.begin(busy, 5);
                cx.write(&nine, Packet::new(90, 0)).map_err(|_| "refused")?;
                cx.event(said, 77, 8);
                cx.write(&four, Packet::new(40, 0)).map_err(|_| "refused")?;
                cx.counter(level, 6);
                cx.end(busy);
            }
            Ok(())
        }
    });
    sim.add_fifo(Fifo::new(9), "writer.nine", "reader.nine").unwrap();
    sim.add_fifo(Fifo::new(4), "writer.four", "reader.four").unwrap();
    let logs = text(sim, 12, &["w", "r"]);
    let expected = [
        "0 1 busy 0 5 0 1 0",
        "0 1 said 0 77 0 8 1",
        "0 1 level 0 0 0 6 2",
        "0 1 busy 0 0 0 0 3",
        "0 1 fifo.write 1 40 4 0 4",
        "0 1 fifo.write 1 90 9 0 5",
    ];
    assert_eq!(logs[0], expected);
    let expected = [
        "3 2 fifo.visible 1 40 4 0 0",
        "3 2 fifo.empty 1 0 4 0 1",
        "3 2 fifo.visible 1 90 9 0 2",
        "3 2 fifo.empty 1 0 9 0 3",
        "4 2 fifo.read 1 40 4 0 4",
        "4 2 fifo.output 1 40 4 0 5",
        "4 2 fifo.empty 1 0 4 1 6",
        "4 2 fifo.read 1 90 9 0 7",
        "4 2 fifo.output 1 90 9 0 8",
        "4 2 fifo.empty 1 0 9 1 9",
        // Takes are the unit's own events, in its program's order.
        "5 2 fifo.consume 0 90 9 0 10",
        "5 2 fifo.consume 0 40 4 0 11",
    ];
    assert_eq!(logs[1], expected);
}

/// Within an instant a log lists evaluation before commits and units by name, not by canonical order.
#[test]
fn units_of_one_instant_are_listed_by_name() {
    let mut sim = one_clock();
    for name in ["c", "a", "b"] {
        writer(&mut sim, "clk", name, 1);
        reader(&mut sim, "clk", &format!("{name}.reader"), 1);
    }
    for (id, name) in [(1, "c"), (2, "b"), (3, "a")] {
        sim.add_fifo(Fifo::new(id), &format!("{name}.out"), &format!("{name}.reader.in")).unwrap();
    }
    // Canonical order is a, a.reader, b, b.reader, c, c.reader: ids 1 to 6.
    let log = text(sim, 6, &["clk"]).remove(0);
    let expected = ["0 1 fifo.write 1 11 3 0 0", "0 3 fifo.write 1 11 2 0 0", "0 5 fifo.write 1 11 1 0 0"];
    assert_eq!(log[..3], expected);
    let takes: Vec<&String> = log.iter().filter(|line| line.starts_with("5 ")).collect();
    let expected =
        ["5 2 fifo.consume 0 11 3 0 5", "5 4 fifo.consume 0 11 2 0 5", "5 6 fifo.consume 0 11 1 0 5"];
    assert_eq!(takes, expected);
}

/// The files of a run directory but its statistics, which have figures of the host.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let mut files: BTreeMap<String, Vec<u8>> = entries
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect();
    assert!(files.remove("clock-stats.json").is_some());
    files
}

/// Records `machine` while `run` drives it.
fn bytes(stops: &'static [u64], run: impl FnOnce(&mut Simulation)) -> BTreeMap<String, Vec<u8>> {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    let mut sim = machine(&Log::new(), stops);
    sim.record(RecordingOptions::new(&dir, "bytes").checkpoint_interval(64)).unwrap();
    run(&mut sim);
    sim.finish().unwrap();
    files(&dir)
}

#[test]
fn segments_of_every_size_record_the_same_bytes() {
    let total = 1200;
    let whole = bytes(&[], |sim| _ = sim.run_batches(total).unwrap());
    assert_eq!(whole.len(), 5, "a manifest, a trace, three logs");
    assert!(whole.values().all(|bytes| bytes.len() > 100));
    for size in (1..=64).chain([97, 255, 256, 257, 700, 1199]) {
        let segmented = bytes(&[], |sim| {
            let mut left = total;
            while left > 0 {
                sim.run_batches(size.min(left)).unwrap();
                left -= size.min(left);
            }
        });
        assert!(segmented == whole, "segments of {size}");
    }
}

#[test]
fn stops_and_resumptions_record_the_same_bytes() {
    let whole = bytes(&[], |sim| _ = sim.run_batches(1200).unwrap());
    for margin in [0, 32] {
        let resumed = bytes(&[10, 11, 100, 250], |sim| {
            sim.set_stop_margin(margin);
            let mut left = 1200;
            while left > 0 {
                let report = sim.run_batches(left).unwrap();
                left -= u64::try_from(report.batches).unwrap();
                if report.status == RunStatus::Stopped {
                    sim.reset_termination();
                }
            }
        });
        assert!(resumed == whole, "margin {margin}");
    }
}

/// The failed batch is left out, everything before it is kept.
#[test]
fn a_failed_run_keeps_what_was_complete() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    let mut sim = one_clock();
    add(&mut sim, "clk", "a", |p| {
        let said = p.event("said");
        move |cx: &mut Tick<'_>| {
            cx.event(said, 0, cx.cycle());
            Ok(())
        }
    });
    add(&mut sim, "clk", "b", |_| {
        move |cx: &mut Tick<'_>| if cx.cycle() == 3 { Err("enough".into()) } else { Ok(()) }
    });
    sim.record(RecordingOptions::new(&dir, "failed").perfetto(false)).unwrap();
    sim.run_batches(10).unwrap_err();
    let stats = sim.finish().unwrap().unwrap();
    assert_eq!((stats.events, stats.clockweave.batches), (3, 3));
    assert_eq!(lines(&dir, "clk"), ["0 1 said 0 0 0 0 0", "1 1 said 0 0 0 1 1", "2 1 said 0 0 0 2 2"]);
    assert!(sim.finish().unwrap().is_none(), "there is nothing left to finish");
}

#[test]
fn spans_nest() {
    let root = tempfile::tempdir().unwrap();
    let mut sim = one_clock();
    add(&mut sim, "clk", "u", |p| {
        let (outer, inner) = (p.span("outer"), p.span("inner"));
        move |cx: &mut Tick<'_>| {
            cx.begin(outer, 1);
            cx.begin(inner, 2);
            cx.end(outer);
            Ok(())
        }
    });
    sim.record(RecordingOptions::new(&root.path().join("run"), "spans").perfetto(false)).unwrap();
    let error = sim.run_batches(1).unwrap_err().to_string();
    assert!(
        error.ends_with("a span was ended that is not the one begun last; spans of a unit nest"),
        "{error}"
    );
}

/// Whether a run is recorded changes nothing that its units see.
#[test]
fn recording_changes_nothing() {
    let (plain, recorded) = (Log::new(), Log::new());
    machine(&plain, &[]).run_batches(3000).unwrap();
    let root = tempfile::tempdir().unwrap();
    let mut sim = machine(&recorded, &[]);
    sim.record(RecordingOptions::new(&root.path().join("run"), "seen")).unwrap();
    sim.run_batches(3000).unwrap();
    assert_eq!(recorded.take(), plain.take());
}

/// Rings of two records: events are lost, but what is left are the very lines of a lossless run, and the simulation is
/// the same.
#[test]
fn a_lossy_run_has_a_part_of_the_lossless_lines_and_says_which() {
    let record = |options: fn(RecordingOptions) -> RecordingOptions| {
        let root = tempfile::tempdir().unwrap();
        let mut sim = machine(&Log::new(), &[]);
        sim.record(options(RecordingOptions::new(&root.path().join("run"), "loss"))).unwrap();
        sim.run_batches(3000).unwrap();
        let stats = sim.finish().unwrap().expect("the run is recorded");
        (files(&root.path().join("run")), stats)
    };
    let (whole, all) = record(|options| options);
    let (part, stats) = record(|options| options.lossy(Some(2)));
    assert_eq!(stats.events + stats.dropped_events, all.events);
    let units = |stats: &Stats| stats.clockweave.streams.iter().map(|s| s.produced).collect::<Vec<_>>();
    assert_eq!(units(&stats), units(&all));
    let mut told = 0;
    for (name, bytes) in part.iter().filter(|(name, _)| name.ends_with(".log")) {
        let whole: BTreeSet<&[u8]> = whole[name].split(|byte| *byte == b'\n').collect();
        for line in bytes.split(|byte| *byte == b'\n') {
            match std::str::from_utf8(line).unwrap().split_once("count=") {
                Some((_, rest)) => told += rest.split(' ').next().unwrap().parse::<u64>().unwrap(),
                None => assert!(whole.contains(line), "{name}: {}", String::from_utf8_lossy(line)),
            }
        }
    }
    assert_eq!(told, stats.dropped_events);
}
