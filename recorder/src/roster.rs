//! Who records: clock domains, units and their producers, frozen at start.
//!
//! # Invariants
//!
//! * Units are kept by ascending id, which is the canonical order of a run; domains by id.
//! * A stream's *rank* orders streams by unit name, then producer order: the part of the total
//!   order that does not depend on the event.
//! * Declaring and freezing cost `O(n log n)` in the number of units.

use std::collections::{BTreeMap, BTreeSet};

use clockweave_model::{ClockDomain, ClockDomains, check_printable};

use crate::error::RecordError;

/// A producer of one unit's events; handed out by [`RecorderBuilder`](crate::RecorderBuilder).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub(crate) u32);

struct DeclaredUnit {
    id: u64,
    name: String,
    domain: u32,
}

/// What was declared so far.
#[derive(Default)]
pub(crate) struct Declarations {
    domains: ClockDomains,
    units: Vec<DeclaredUnit>,
    /// Unit (by declaration) and producer order.
    streams: Vec<(usize, u64)>,
    ids: BTreeSet<u64>,
    names: BTreeSet<String>,
    producers: BTreeSet<(usize, u64)>,
}

/// One unit.
pub(crate) struct Unit {
    pub(crate) id: u64,
    pub(crate) name: String,
    /// Index into [`Roster::domains`].
    pub(crate) domain: usize,
}

/// The frozen declarations.
pub(crate) struct Roster {
    /// Domains with units, by id.
    pub(crate) domains: Vec<ClockDomain>,
    /// Units by id.
    pub(crate) units: Vec<Unit>,
    /// Rank of each stream.
    pub(crate) ranks: Vec<u32>,
    /// Unit (index into `units`) of each rank.
    pub(crate) unit_of_rank: Vec<u32>,
}

impl Declarations {
    pub(crate) fn domain(&mut self, domain: &ClockDomain) -> Result<(), RecordError> {
        match self.domains.get(domain.id()) {
            Some(known) if known == domain => Ok(()),
            _ => Ok(self.domains.insert(domain.clone())?),
        }
    }

    pub(crate) fn add_stream(&mut self, domain: u32, id: u64, name: &str) -> Result<StreamId, RecordError> {
        if !check_printable(name, 128) {
            return Err(RecordError::bad_name("unit name", name));
        }
        if self.domains.get(domain).is_none() {
            return Err(RecordError::UnknownDomain { unit: name.to_owned(), domain });
        }
        if id == 0 || self.ids.contains(&id) || self.names.contains(name) {
            return Err(RecordError::DuplicateUnit { unit: name.to_owned(), id });
        }
        self.ids.insert(id);
        self.names.insert(name.to_owned());
        self.units.push(DeclaredUnit { id, name: name.to_owned(), domain });
        self.push_stream(self.units.len() - 1, 0)
    }

    pub(crate) fn add_producer(&mut self, of: StreamId, order: u64) -> Result<StreamId, RecordError> {
        let Some(&(unit, _)) = self.streams.get(of.0 as usize) else {
            return Err(RecordError::UnknownStream { stream: of.0 });
        };
        if order == 0 {
            return Err(RecordError::DuplicateProducer { unit: self.units[unit].name.clone(), order });
        }
        self.push_stream(unit, order)
    }

    fn push_stream(&mut self, unit: usize, order: u64) -> Result<StreamId, RecordError> {
        if !self.producers.insert((unit, order)) {
            return Err(RecordError::DuplicateProducer { unit: self.units[unit].name.clone(), order });
        }
        // The rank shares a word with the phase.
        let number = u32::try_from(self.streams.len()).ok().filter(|n| *n < MAX_STREAMS).ok_or(
            RecordError::BadOption {
                option: "the number of streams",
                found: self.streams.len() as u64,
                expected: "less than 2^31",
            },
        )?;
        self.streams.push((unit, order));
        Ok(StreamId(number))
    }

    pub(crate) fn stream_count(&self) -> usize {
        self.streams.len()
    }

    pub(crate) fn unit_count(&self) -> usize {
        self.units.len()
    }

    pub(crate) fn freeze(self) -> Roster {
        let used: BTreeSet<u32> = self.units.iter().map(|unit| unit.domain).collect();
        let domains: Vec<ClockDomain> =
            self.domains.iter().filter(|domain| used.contains(&domain.id())).cloned().collect();
        let place: BTreeMap<u32, usize> = domains.iter().enumerate().map(|(at, d)| (d.id(), at)).collect();

        let mut by_rank: Vec<usize> = (0..self.streams.len()).collect();
        by_rank.sort_by_key(|&stream| {
            let (unit, order) = self.streams[stream];
            (self.units[unit].name.as_str(), order)
        });

        let mut by_id: Vec<usize> = (0..self.units.len()).collect();
        by_id.sort_by_key(|&unit| self.units[unit].id);
        let mut index = vec![0u32; self.units.len()];
        for (at, &unit) in (0u32..).zip(&by_id) {
            index[unit] = at;
        }

        let mut ranks = vec![0u32; self.streams.len()];
        for (rank, &stream) in (0u32..).zip(&by_rank) {
            ranks[stream] = rank;
        }
        let unit_of_rank = by_rank.iter().map(|&stream| index[self.streams[stream].0]).collect();

        let mut declared: Vec<Unit> = self
            .units
            .into_iter()
            .map(|unit| Unit { id: unit.id, name: unit.name, domain: place[&unit.domain] })
            .collect();
        declared.sort_by_key(|unit| unit.id);
        Roster { domains, units: declared, ranks, unit_of_rank }
    }
}

/// Ranks are 31 bits.
const MAX_STREAMS: u32 = 1 << 31;

#[cfg(test)]
mod tests {
    use super::*;
    use clockweave_model::{Frequency, Seconds};

    fn domain(id: u32, name: &str, mhz: u64) -> ClockDomain {
        ClockDomain::new(id, name, Frequency::from_hz(mhz * 1_000_000).unwrap(), Seconds::ZERO).unwrap()
    }

    #[test]
    fn ranks_follow_names_then_producer_order() {
        let mut declared = Declarations::default();
        declared.domain(&domain(7, "b", 2)).unwrap();
        declared.domain(&domain(3, "a", 1)).unwrap();
        declared.domain(&domain(9, "unused", 1)).unwrap();
        let zeta = declared.add_stream(7, 1, "zeta").unwrap();
        let alpha = declared.add_stream(3, 2, "alpha").unwrap();
        let alpha_9 = declared.add_producer(alpha, 9).unwrap();
        let alpha_2 = declared.add_producer(alpha_9, 2).unwrap();
        let roster = declared.freeze();
        let rank = |stream: StreamId| roster.ranks[stream.0 as usize];
        assert_eq!([rank(alpha), rank(alpha_2), rank(alpha_9), rank(zeta)], [0, 1, 2, 3]);
        let names: Vec<&str> =
            roster.unit_of_rank.iter().map(|&u| roster.units[u as usize].name.as_str()).collect();
        assert_eq!(names, ["alpha", "alpha", "alpha", "zeta"]);
        assert_eq!(roster.domains.iter().map(ClockDomain::id).collect::<Vec<_>>(), [3, 7]);
        assert_eq!(roster.units[0].name, "zeta");
        assert_eq!(roster.units[0].domain, 1);
    }

    #[test]
    fn contradictions_are_refused() {
        let mut declared = Declarations::default();
        declared.domain(&domain(1, "a", 1)).unwrap();
        declared.domain(&domain(1, "a", 1)).unwrap();
        assert!(matches!(declared.domain(&domain(1, "a", 2)), Err(RecordError::Domain(_))));
        assert!(matches!(declared.domain(&domain(2, "A", 2)), Err(RecordError::Domain(_))));
        let unit = declared.add_stream(1, 1, "u").unwrap();
        assert!(matches!(declared.add_stream(1, 1, "v"), Err(RecordError::DuplicateUnit { .. })));
        assert!(matches!(declared.add_stream(1, 2, "u"), Err(RecordError::DuplicateUnit { .. })));
        assert!(matches!(declared.add_stream(1, 0, "w"), Err(RecordError::DuplicateUnit { .. })));
        assert!(matches!(declared.add_stream(5, 3, "w"), Err(RecordError::UnknownDomain { .. })));
        assert!(matches!(declared.add_stream(1, 3, "a\tb"), Err(RecordError::BadName { .. })));
        declared.add_producer(unit, 4).unwrap();
        assert!(matches!(declared.add_producer(unit, 4), Err(RecordError::DuplicateProducer { .. })));
        assert!(matches!(declared.add_producer(unit, 0), Err(RecordError::DuplicateProducer { .. })));
        assert!(matches!(
            declared.add_producer(StreamId(9), 1),
            Err(RecordError::UnknownStream { stream: 9 })
        ));
    }
}
