//! The imported events as compact columns, read from the engine in one pass per table.
//!
//! Invariants: row i of every column is one event, in the importer's order; units and kinds are indexes that start
//! with the manifest's, so an index beyond them is unknown to it. An event's arguments come from one query per
//! argument, merged by argument set. Deliberately judges only whether an event has all its arguments.

use std::collections::BTreeMap;

use crate::engine::{Cell, EngineError, Row, Session};
use crate::report::{Check, CheckReport, Finding};
use crate::run::Manifest;

const EVENTS: &str = include_str!("../../checks/identity_events.sql");
const ARGUMENT: &str = include_str!("../../checks/identity_argument.sql");

/// The arguments of an event, in the order of the presence bits.
const KEYS: [&str; 7] = ["unit_id", "local_cycle", "phase", "transaction_id", "fifo_id", "value", "ordinal"];
const ALL_KEYS: u8 = 0x7f;
const NO_SET: u32 = u32::MAX;

/// All imported events.
#[derive(Debug, Default)]
pub(crate) struct Imported {
    /// Row of the slice table.
    pub(crate) slice: Vec<u32>,
    pub(crate) ts: Vec<i64>,
    pub(crate) track: Vec<u32>,
    pub(crate) kind: Vec<u16>,
    pub(crate) unit: Vec<u32>,
    pub(crate) cycle: Vec<u64>,
    pub(crate) phase: Vec<u64>,
    pub(crate) transaction: Vec<u64>,
    pub(crate) fifo: Vec<u64>,
    pub(crate) value: Vec<u64>,
    pub(crate) ordinal: Vec<u64>,
    /// Which arguments an event has.
    present: Vec<u8>,
    /// Unit ids by index.
    pub(crate) unit_ids: Vec<u64>,
    /// Unit names by index, where a manifest gives them.
    unit_names: Vec<String>,
    /// Kind names by index.
    pub(crate) kinds: Vec<String>,
}

impl Imported {
    /// Reads all events; the check is that each has all its arguments.
    pub(crate) fn read(
        session: &mut Session,
        manifest: Option<&Manifest>,
        limit: usize,
    ) -> Result<(Self, CheckReport), EngineError> {
        let mut events = Self::of_manifest(manifest);
        let sets = events.read_slices(session)?;
        events.read_arguments(session, sets)?;
        let check = events.check_arguments(limit);
        Ok((events, check))
    }

    /// No events, but the units and kinds of a manifest.
    pub(crate) fn of_manifest(manifest: Option<&Manifest>) -> Self {
        let Some(manifest) = manifest else { return Self::default() };
        Self {
            unit_ids: manifest.units.iter().map(|unit| unit.id).collect(),
            unit_names: manifest.units.iter().map(|unit| unit.name.clone()).collect(),
            kinds: manifest.kinds.clone(),
            ..Self::default()
        }
    }

    /// Adds the events of the next file of the trace, whose rows are counted on from `slices` and `tracks`.
    pub(crate) fn append(&mut self, next: Self, slices: u32, tracks: u32) {
        let units = merge_into(&mut self.unit_ids, next.unit_ids);
        let kinds = merge_into(&mut self.kinds, next.kinds);
        self.slice.extend(next.slice.iter().map(|slice| slice.saturating_add(slices)));
        self.track.extend(next.track.iter().map(|track| track.saturating_add(tracks)));
        self.unit.extend(next.unit.iter().map(|unit| units[*unit as usize]));
        // Beyond what 16 bits tell apart, kinds share the last one, as within a file.
        let kind = |kind: &u16| u16::try_from(kinds[usize::from(*kind)]).unwrap_or(u16::MAX);
        self.kind.extend(next.kind.iter().map(kind));
        self.kinds.truncate(1 << 16);
        self.ts.extend(next.ts);
        self.cycle.extend(next.cycle);
        self.phase.extend(next.phase);
        self.transaction.extend(next.transaction);
        self.fifo.extend(next.fifo);
        self.value.extend(next.value);
        self.ordinal.extend(next.ordinal);
        self.present.extend(next.present);
    }

    /// Complete events as unit, kind, then the other arguments in the order of [`KEYS`], in time zero.
    #[cfg(test)]
    pub(crate) fn of(manifest: &Manifest, rows: impl Iterator<Item = (u32, u16, [u64; 6])>) -> Self {
        let mut events = Self::of_manifest(Some(manifest));
        for (unit, kind, [cycle, phase, transaction, fifo, value, ordinal]) in rows {
            events.slice.push(events.slice.len() as u32);
            events.ts.push(0);
            events.track.push(0);
            events.kind.push(kind);
            events.unit.push(unit);
            events.cycle.push(cycle);
            events.phase.push(phase);
            events.transaction.push(transaction);
            events.fifo.push(fifo);
            events.value.push(value);
            events.ordinal.push(ordinal);
            events.present.push(ALL_KEYS);
        }
        events
    }

    pub(crate) fn len(&self) -> usize {
        self.slice.len()
    }

    /// Whether an event has everything that identifies it.
    #[inline]
    pub(crate) fn is_complete(&self, event: usize) -> bool {
        self.present[event] == ALL_KEYS
    }

    /// What an event has of its arguments, in the order of [`KEYS`]; the first is the unit's index.
    pub(crate) fn arguments(&self, event: usize) -> [Option<u64>; 7] {
        let columns = [&self.cycle, &self.phase, &self.transaction, &self.fifo, &self.value, &self.ordinal];
        let [cycle, phase, transaction, fifo, value, ordinal] = columns.map(|column| column[event]);
        let all = [self.unit[event].into(), cycle, phase, transaction, fifo, value, ordinal];
        std::array::from_fn(|bit| (self.present[event] & (1 << bit) != 0).then_some(all[bit]))
    }

    /// The events that have everything that identifies them.
    pub(crate) fn complete(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len()).filter(|event| self.is_complete(*event))
    }

    pub(crate) fn unit_label(&self, unit: u32) -> String {
        let unit = unit as usize;
        self.unit_names.get(unit).cloned().unwrap_or_else(|| format!("unit {}", self.unit_ids[unit]))
    }

    /// An event as people know it.
    pub(crate) fn label(&self, event: usize) -> String {
        let kind = &self.kinds[usize::from(self.kind[event])];
        if !self.is_complete(event) {
            return format!("{kind} at {} ns", self.ts[event]);
        }
        let (unit, ordinal) = (self.unit_label(self.unit[event]), self.ordinal[event]);
        format!("{unit} #{ordinal} ({kind}, cycle {})", self.cycle[event])
    }

    /// Gives every event's argument set with its event, ascending by set.
    fn read_slices(&mut self, session: &mut Session) -> Result<Vec<(u32, u32)>, EngineError> {
        let mut sets = Vec::new();
        let mut kind_of_name: BTreeMap<Vec<u8>, u16> = BTreeMap::new();
        for (index, name) in self.kinds.iter().enumerate() {
            kind_of_name.insert(name.clone().into_bytes(), index as u16);
        }
        session.query("identity_events", EVENTS, |row| -> Result<(), EngineError> {
            let event = self.slice.len() as u32;
            self.slice.push(index(row, 0)?);
            self.ts.push(row.int(1)?);
            self.track.push(index(row, 2)?);
            let set = if row.cells().get(3) == Some(&Cell::Null) { NO_SET } else { index(row, 3)? };
            sets.push((set, event));
            let name = match row.cells().get(4) {
                Some(Cell::Text(name)) => *name,
                _ => b"(no name)",
            };
            let kind = match kind_of_name.get(name) {
                Some(kind) => *kind,
                None => self.add_kind(&mut kind_of_name, name),
            };
            self.kind.push(kind);
            Ok(())
        })?;
        sets.sort_unstable();
        Ok(sets)
    }

    /// The index of a new name. Names beyond what 16 bits tell apart share the last index, which the engine's own
    /// counts contradict.
    fn add_kind(&mut self, kind_of_name: &mut BTreeMap<Vec<u8>, u16>, name: &[u8]) -> u16 {
        let kind = u16::try_from(self.kinds.len()).unwrap_or(u16::MAX);
        if kind == u16::MAX {
            self.kinds.resize(1 << 16, "(another name)".to_owned());
            return kind;
        }
        self.kinds.push(String::from_utf8_lossy(name).into_owned());
        kind_of_name.insert(name.to_owned(), kind);
        kind
    }

    fn read_arguments(&mut self, session: &mut Session, sets: Vec<(u32, u32)>) -> Result<(), EngineError> {
        let count = self.len();
        self.present = vec![0; count];
        self.unit = vec![0; count];
        let mut units: BTreeMap<u64, u32> =
            (0..).zip(&self.unit_ids).map(|(index, id)| (*id, index)).collect();
        for (bit, key) in KEYS.iter().enumerate() {
            let mut column = vec![0_u64; if bit == 0 { 0 } else { count }];
            let mut at = 0;
            let query = ARGUMENT.replace("$KEY", key);
            session.query("identity_argument", &query, |row| -> Result<(), EngineError> {
                let Some(Cell::Int(value)) = row.cells().get(1) else { return Ok(()) };
                let (set, value) = (index(row, 0)?, *value as u64);
                at = seek(&sets, at, set);
                for (_, event) in sets[at..].iter().take_while(|(found, _)| *found == set) {
                    let event = *event as usize;
                    self.present[event] |= 1 << bit;
                    match column.get_mut(event) {
                        Some(slot) => *slot = value,
                        None => {
                            let next = self.unit_ids.len() as u32;
                            self.unit[event] = *units.entry(value).or_insert_with(|| {
                                self.unit_ids.push(value);
                                next
                            });
                        }
                    }
                }
                Ok(())
            })?;
            match bit {
                1 => self.cycle = column,
                2 => self.phase = column,
                3 => self.transaction = column,
                4 => self.fifo = column,
                5 => self.value = column,
                6 => self.ordinal = column,
                _ => {}
            }
        }
        Ok(())
    }

    fn check_arguments(&self, limit: usize) -> CheckReport {
        let mut check = Check::new("arguments", "events", limit);
        check.rows = self.len() as u64;
        for event in (0..self.len()).filter(|event| !self.is_complete(*event)) {
            check.find(|| {
                let bit_set = |bit: usize| self.present[event] & (1 << bit) != 0;
                let missing: Vec<&str> = (0..7).filter(|bit| !bit_set(*bit)).map(|bit| KEYS[bit]).collect();
                let message = format!("{}: found no integer {}", self.label(event), missing.join(", "));
                Finding::new(message)
                    .hint("every event of category clock carries the seven arguments under `debug`")
                    .at_slice(self.slice[event])
            });
        }
        check.finish()
    }
}

/// Adds what `known` lacks of `more`; gives where each of `more` is in it.
fn merge_into<T: Ord + Clone>(known: &mut Vec<T>, more: Vec<T>) -> Vec<u32> {
    let mut place: BTreeMap<T, u32> = (0..).zip(&*known).map(|(at, item)| (item.clone(), at)).collect();
    let add = |item: T| {
        *place.entry(item).or_insert_with_key(|item| {
            known.push(item.clone());
            known.len() as u32 - 1
        })
    };
    more.into_iter().map(add).collect()
}

/// A table row index or id in 32 bits.
#[inline]
fn index(row: &Row<'_>, column: usize) -> Result<u32, EngineError> {
    let value = row.int(column)?;
    u32::try_from(value).map_err(|_| EngineError::Shape {
        name: "identity".into(),
        found: format!("row number {value}"),
        expected: "a row number of 32 bits".into(),
    })
}

/// The first position at or after which `set` may be, given where the last one was: rows come in ascending order.
#[inline]
fn seek(sets: &[(u32, u32)], mut at: usize, set: u32) -> usize {
    if at > 0 && sets[at - 1].0 >= set {
        return sets.partition_point(|(found, _)| *found < set);
    }
    while sets.get(at).is_some_and(|(found, _)| *found < set) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeking_finds_the_first_of_equal_sets_also_backwards() {
        let sets = [(3, 0), (5, 1), (5, 2), (9, 3)];
        assert_eq!(seek(&sets, 0, 5), 1);
        assert_eq!(seek(&sets, 1, 9), 3);
        assert_eq!(seek(&sets, 3, 5), 1);
        assert_eq!(seek(&sets, 1, 5), 1);
        assert_eq!(seek(&sets, 0, 10), 4);
        assert_eq!(seek(&sets, 4, 10), 4);
    }
}
