//! Small changes to a good run, each meant to be noticed by one check.

use std::fs;
use std::path::{Path, PathBuf};

use super::run::{self, Event};
use super::wire::{self, Message};

/// A run directory in a temporary folder, with what it was made from.
pub struct Fixture {
    pub folder: tempfile::TempDir,
    pub events: Vec<Event>,
}

impl Fixture {
    /// The good run of a number of transactions, in plain packets.
    pub fn good(transactions: u64) -> Self {
        Self::of(run::events(transactions))
    }

    pub fn of(events: Vec<Event>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        run::write(folder.path(), &events, &run::trace(&events, false));
        Self { folder, events }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn dir(&self) -> &Path {
        self.folder.path()
    }

    pub fn trace(&self) -> Vec<u8> {
        fs::read(self.path("timeline.pftrace")).unwrap()
    }

    pub fn set_trace(&self, bytes: &[u8]) {
        fs::write(self.path("timeline.pftrace"), bytes).unwrap();
    }

    /// Decodes the trace, changes its packets and writes it again.
    pub fn edit_trace(&self, change: impl FnOnce(&mut Vec<Message>)) {
        let mut packets = wire::packets(&self.trace());
        change(&mut packets);
        self.set_trace(&wire::raw_trace(&packets));
    }

    /// Changes one event's packet, found by unit and ordinal.
    pub fn edit_event(&self, unit: u64, ordinal: u64, change: impl FnOnce(&mut Message)) {
        self.edit_trace(|packets| {
            let at = position(packets, unit, ordinal);
            change(&mut packets[at]);
        });
    }

    pub fn edit_text(&self, name: &str, change: impl FnOnce(&mut String)) {
        let mut text = fs::read_to_string(self.path(name)).unwrap();
        change(&mut text);
        fs::write(self.path(name), text).unwrap();
    }

    /// Changes the lines of a file that are not its two header lines.
    pub fn edit_lines(&self, name: &str, change: impl FnOnce(&mut Vec<String>)) {
        self.edit_text(name, |text| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let mut records = lines.split_off(2);
            change(&mut records);
            lines.append(&mut records);
            *text = lines.iter().flat_map(|line| [line, "\n"]).collect();
        });
    }

    pub fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }

    /// Takes an event out of the trace; the next one takes over its time, so that no other moves.
    pub fn remove_event(&self, event: &Event) {
        self.edit_trace(|packets| {
            let at = position(packets, event.unit, event.ordinal);
            let delta = packets[at].uint(8).unwrap();
            packets.remove(at);
            let next = packets[at].uint(8).unwrap();
            packets[at].set(8, next + delta);
        });
    }

    /// Writes a read and the output of the same instant in the wrong order.
    pub fn turn_read_and_output(&self) {
        let read = self.some(3);
        self.edit_trace(|packets| {
            let (read, output) = (position(packets, 2, read.ordinal), position(packets, 2, read.ordinal + 1));
            assert_eq!((output, packets[output].uint(8)), (read + 1, Some(0)), "both share their instant");
            let delta = packets[read].uint(8).unwrap();
            packets[read].set(8, 0);
            packets[output].set(8, delta);
            packets.swap(read, output);
        });
    }

    /// Adds a counter's value on a track of instants, which the importer drops.
    pub fn count_among_instants(&self) {
        self.edit_trace(|packets| {
            let mut stray = packets.iter().rfind(|packet| packet.has(11)).unwrap().clone();
            stray.set(8, 0);
            stray.edit(11, |event| {
                event.set(9, 4);
                event.0.push((30, wire::Value::Uint(5)));
            });
            packets.push(stray);
        });
    }

    /// Makes the trace say that its writer lost `count` packets.
    pub fn declare_lost(&self, count: u64) {
        self.edit_trace(|packets| {
            packets.retain(|packet| !packet.has(35));
            let buffer = wire::message(|out| wire::uint(19, count, out));
            let stats = wire::message(|out| wire::bytes(1, &buffer, out));
            packets.push(Message::decode(&wire::message(|out| wire::bytes(35, &stats, out))));
        });
    }

    /// The first event of a kind after the first few.
    pub fn some(&self, kind: u64) -> Event {
        *self.events.iter().filter(|event| event.kind == kind).nth(2).unwrap()
    }
}

/// Where the packet of an event is.
pub fn position(packets: &[Message], unit: u64, ordinal: u64) -> usize {
    let is_event = |packet: &Message| {
        let arguments = packet.sub(11).and_then(|event| event.sub(9900));
        arguments.is_some_and(|found| found.uint(1) == Some(unit) && found.uint(5) == Some(ordinal))
    };
    packets.iter().position(is_event).expect("the event's packet")
}
