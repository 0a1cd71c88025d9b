//! One packet sequence: its incremental state, its interned entries, its clocks.

use std::collections::{BTreeMap, BTreeSet};

use super::event::{self, table};
use super::{Found, MOST, Place, Rule};
use crate::scan::{Field, Fields, Packet, SequenceClocks};

/// What a sequence has said so far.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    seen: bool,
    cleared: bool,
    /// Defined ids, by table.
    interned: BTreeSet<(u32, u64)>,
    /// Some definitions were passed over.
    incomplete: bool,
    clocks: SequenceClocks,
    /// Clocks of the latest snapshot, with their values.
    snapshot: Option<BTreeMap<u32, u64>>,
    last_ns: Option<u64>,
}

impl Sequence {
    pub(super) fn is_cleared(&self) -> bool {
        self.cleared
    }

    pub(super) fn default_track(&self) -> Option<u64> {
        self.clocks.default_track()
    }

    /// Takes in what a packet says of incremental state.
    pub(super) fn state(&mut self, place: Place, packet: &Packet<'_>, found: &mut Found) {
        if packet.clears_incremental_state() {
            self.cleared = true;
            self.incomplete = false;
            found.interned -= self.interned.len();
            self.interned.clear();
        } else if packet.previous_packet_dropped && self.seen {
            self.cleared = false;
            found.at(Rule::DroppedWithoutClear, place, || {
                "found a packet that says the one before it was dropped, expected it to clear the incremental state"
                    .to_owned()
            });
        }
        self.seen = true;
        for field in Fields::new(packet.interned_data.unwrap_or_default()).map_while(Result::ok) {
            let (true, Some(entry)) = (table::ALL.contains(&field.number), field.bytes()) else { continue };
            let iid = Fields::new(entry).map_while(Result::ok).find(|field| field.number == 1);
            if let Some(iid) = iid.and_then(|field| field.varint()) {
                if found.interned < MOST {
                    found.interned += usize::from(self.interned.insert((field.number, iid)));
                } else if !self.interned.contains(&(field.number, iid)) {
                    self.incomplete = true;
                    found.capped = true;
                }
            }
        }
    }

    /// Looks up what a field of an event refers to.
    pub(super) fn references(&self, place: Place, field: &Field<'_>, found: &mut Found) {
        event::references(field, &mut |table, iid| {
            // Id 0 means that there is none.
            if iid == 0 || self.incomplete || self.interned.contains(&(table, iid)) {
                return;
            }
            found.at(Rule::InterningUndefined, place, || {
                let what = match table {
                    table::CATEGORIES => "category",
                    table::NAMES => "event name",
                    table::ANNOTATION_NAMES => "annotation name",
                    table::SOURCE_LOCATIONS => "source location",
                    _ => "annotation value",
                };
                format!("found interned {what} {iid}, expected its definition since the state was cleared")
            });
        });
    }

    /// Compares a snapshot with those before it.
    pub(super) fn snapshot(&mut self, place: Place, snapshot: &[u8], found: &mut Found) {
        const CLOCKS: u32 = 1;
        let mut now = BTreeMap::new();
        for field in Fields::new(snapshot).map_while(Result::ok).filter(|field| field.number == CLOCKS) {
            let (mut id, mut value) = (0, 0);
            for field in Fields::new(field.bytes().unwrap_or_default()).map_while(Result::ok) {
                match field.number {
                    1 => id = field.varint().unwrap_or(0) as u32,
                    2 => value = field.varint().unwrap_or(0),
                    _ => {}
                }
            }
            if now.len() < MOST {
                now.insert(id, value);
            }
        }
        for (&id, &value) in &now {
            // Sequences are written one after another: what one says of a builtin clock may be older than another's word.
            let before = self.snapshot.as_ref().and_then(|snapshot| snapshot.get(&id).copied());
            if let Some(before) = before.filter(|before| *before > value) {
                found.at(Rule::SnapshotRegress, place, || {
                    format!("found clock {id} at {value} in a snapshot, expected at least {before} as in the one before")
                });
            }
        }
        if let Some(before) = &self.snapshot
            && !before.keys().eq(now.keys())
        {
            found.at(Rule::SnapshotClocks, place, || {
                let list = |clocks: &BTreeMap<u32, u64>| {
                    clocks.keys().map(u32::to_string).collect::<Vec<_>>().join(", ")
                };
                format!(
                    "found clocks {} in a snapshot, expected {} as in the one before",
                    list(&now),
                    list(before)
                )
            });
        }
        self.snapshot = Some(now);
    }

    /// Reads a packet's clock state and time.
    pub(super) fn time(&mut self, place: Place, packet: &Packet<'_>, found: &mut Found) {
        let time = self.clocks.apply(packet);
        let Some(raw) = packet.timestamp else { return };
        let clock = packet.timestamp_clock_id.unwrap_or_else(|| self.clocks.default_clock());
        let beyond = place.sequence.filter(|id| *id > i32::MAX as u32);
        if let Some(id) = beyond.filter(|_| self.clocks.is_incremental(clock)) {
            return found.at(Rule::SequenceId, place, || {
                format!("found a time on incremental clock {clock} of sequence {id}, expected a sequence id of 1 to 2147483647")
            });
        }
        if clock >= 64 && !self.clocks.declares(clock) {
            if packet.track_event.is_some() {
                found.at(Rule::ClockUndeclared, place, || {
                    format!("found a timestamp on clock {clock}, expected a snapshot that declares it before")
                });
            }
            return;
        }
        let Some(time) = time.filter(|time| i64::try_from(*time).is_ok()) else {
            return found.at(Rule::TimeRange, place, || {
                format!("found timestamp {raw} on clock {clock}, expected a time of 0 to 2^63 - 1 ns")
            });
        };
        if packet.track_event.is_none() {
            return;
        }
        // A builtin clock is absolute and the importer sorts: nothing is lost if times on it fall.
        let on_own_clock = packet.timestamp_clock_id.is_none() && clock >= 64;
        if let Some(last) = self.last_ns.filter(|last| *last > time && on_own_clock) {
            found.at(Rule::TimeFalls, place, || {
                format!(
                    "found an event at {time} ns on clock {clock} of the sequence, after one at {last} ns"
                )
            });
        }
        self.last_ns = Some(time);
    }
}
