//! Traces written by hand that are almost runs.

use std::fs;
use std::path::Path;

use crate::command::run;

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn uint(number: u64, value: u64, out: &mut Vec<u8>) {
    varint(number << 3, out);
    varint(value, out);
}

fn bytes(number: u64, content: &[u8], out: &mut Vec<u8>) {
    varint(number << 3 | 2, out);
    varint(content.len() as u64, out);
    out.extend(content);
}

fn message(build: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    build(&mut out);
    out
}

/// A track: `TrackDescriptor` (field 60) with uuid 1, name 2, parent uuid 5.
fn track(uuid: u64, name: &str, parent: u64, trace: &mut Vec<u8>) {
    let descriptor = message(|out| {
        uint(1, uuid, out);
        bytes(2, name.as_bytes(), out);
        uint(5, parent, out);
    });
    bytes(1, &message(|out| bytes(60, &descriptor, out)), trace);
}

/// An instant of a category on a track, with numbers as debug annotations (name 10, value 3).
fn instant(ns: u64, on: u64, [category, name]: [&str; 2], numbers: &[(&str, u64)], trace: &mut Vec<u8>) {
    let event = message(|out| {
        uint(9, 3, out);
        uint(11, on, out);
        bytes(22, category.as_bytes(), out);
        bytes(23, name.as_bytes(), out);
        for (key, value) in numbers {
            let annotation = message(|out| {
                bytes(10, key.as_bytes(), out);
                uint(3, *value, out);
            });
            bytes(4, &annotation, out);
        }
    });
    let packet = message(|out| {
        uint(8, ns, out);
        uint(10, 2, out);
        bytes(11, &event, out);
    });
    bytes(1, &packet, trace);
}

fn event(unit: u64, ordinal: u64, on: u64, name: &str, trace: &mut Vec<u8>) {
    let numbers = [("unit_id", unit), ("ordinal", ordinal), ("local_cycle", ordinal), ("phase", 0)];
    instant(ordinal, on, ["clock", name], &numbers, trace);
}

/// A clock of 1 GHz on track 5, and below it the units' tracks.
fn begin(units: &[(u64, &str)]) -> Vec<u8> {
    let mut trace = Vec::new();
    track(5, "ns (1 GHz)", 0, &mut trace);
    for (uuid, name) in units {
        track(*uuid, name, 5, &mut trace);
    }
    let clock =
        [("id", 1), ("period_num", 1), ("period_den", 1_000_000_000), ("phase_num", 0), ("phase_den", 1)];
    instant(0, 5, ["meta", "clock.domain"], &clock, &mut trace);
    trace
}

#[test]
fn a_trace_by_hand_is_a_run() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("t.pftrace");
    let mut trace = begin(&[(11, "a"), (12, "b")]);
    event(1, 0, 11, "user", &mut trace);
    event(2, 0, 12, "user", &mut trace);
    fs::write(&path, &trace).unwrap();
    let words = run(["report".as_ref(), path.as_os_str()]).expect(0, &[]);
    assert!(words.text().contains("2 events"), "{}", words.text());
}

#[test]
fn contradictions_are_refused_with_their_place() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("t.pftrace");
    let long = "n".repeat(1025);
    /// Units by track, events, words.
    type Case<'a> = (&'a [(u64, &'a str)], &'a dyn Fn(&mut Vec<u8>), &'a str);
    let cases: [Case<'_>; 8] = [
        // The clock's own track has no description.
        (&[], &|trace| event(1, 0, 7, "user", trace), "without a described track"),
        (&[(11, "a\tb")], &|trace| event(1, 0, 11, "user", trace), "found the unit name \"a\\tb\""),
        (&[(11, "a\nb")], &|trace| event(1, 0, 11, "user", trace), "found the unit name \"a\\nb\""),
        (&[(11, "")], &|trace| event(1, 0, 11, "user", trace), "found the unit name \"\""),
        (&[(11, &long)], &|trace| event(1, 0, 11, "user", trace), "found the unit name \"nnn"),
        (&[(11, "a")], &|trace| event(1, 0, 11, "us\ter", trace), "found the event name \"us\\ter\""),
        (
            &[(11, "a"), (12, "b")],
            &|trace| {
                event(1, 0, 11, "user", trace);
                event(1, 1, 12, "user", trace);
            },
            "found unit 1 as \"b\" and as \"a\"",
        ),
        (
            &[(11, "a")],
            &|trace| {
                event(1, 0, 11, "user", trace);
                event(2, 0, 11, "user", trace);
            },
            "found unit 2 as \"a\" and as \"unit 1\"",
        ),
    ];
    for (units, build, words) in cases {
        let mut trace = begin(units);
        build(&mut trace);
        fs::write(&path, &trace).unwrap();
        let at: &Path = &path;
        run(["report".as_ref(), at.as_os_str()]).expect(2, &["at byte ", words]);
        run(["diff".as_ref(), at.as_os_str(), at.as_os_str()]).expect(2, &["at byte ", words]);
    }
    // A clock that is its events' track, and has no description.
    let mut trace = Vec::new();
    let clock = [("id", 1), ("period_num", 1), ("period_den", 1), ("phase_num", 0), ("phase_den", 1)];
    instant(0, 5, ["meta", "clock.domain"], &clock, &mut trace);
    event(1, 3, 5, "user", &mut trace);
    fs::write(&path, &trace).unwrap();
    for command in ["report", "inspect"] {
        let code = if command == "report" { 2 } else { 0 };
        run([command.as_ref(), path.as_os_str()]).expect(code, &[]);
    }
}

/// Two units of one name are one to the logs: the second is refused.
#[test]
fn two_units_of_one_name_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("t.pftrace");
    let mut trace = begin(&[(11, "a"), (12, "a")]);
    event(1, 0, 11, "user", &mut trace);
    event(2, 0, 12, "user", &mut trace);
    fs::write(&path, &trace).unwrap();
    run(["report".as_ref(), path.as_os_str()]).expect(2, &["found unit 2 as \"a\" and as \"unit 1\""]);
}
