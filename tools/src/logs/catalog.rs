//! What a manifest allows the logs of its run to say: domains, units and event names.

use std::collections::BTreeMap;

use clockweave_model::{ClockDomain, Manifest, ManifestError};

/// One unit, whatever the number of its producers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) id: u64,
    pub(crate) name: String,
    /// Index of its domain among the domains by id.
    pub(crate) domain: u32,
    /// Its place among all units by domain, then name.
    pub(crate) rank: u32,
}

/// The domains, units and event names of one run.
#[derive(Debug)]
pub struct Catalog {
    run_id: String,
    domains: Vec<ClockDomain>,
    units: Vec<Unit>,
    /// Unit ids are 1, 2, … without a hole.
    dense: bool,
    events: EventNames,
}

impl Catalog {
    /// What `manifest` describes.
    ///
    /// # Errors
    /// Domains that cannot be.
    pub fn new(manifest: &Manifest) -> Result<Self, ManifestError> {
        let domains: Vec<ClockDomain> = manifest.clock_domains()?.iter().cloned().collect();
        let rows: BTreeMap<u64, (&str, u32)> =
            manifest.streams.iter().map(|row| (row.unit_id, (row.unit.as_str(), row.domain_id))).collect();
        // Domains are sorted by id, so their ids order as their indices do.
        let mut ranked: Vec<(u32, &str)> = rows.values().map(|(name, domain)| (*domain, *name)).collect();
        ranked.sort_unstable();
        let place = |found: Result<usize, usize>| {
            u32::try_from(found.expect("every unit is sorted and its domain listed"))
                .expect("fewer than 2^32")
        };
        let units: Vec<Unit> = rows
            .iter()
            .map(|(id, (name, domain))| Unit {
                id: *id,
                name: (*name).to_owned(),
                domain: place(domains.binary_search_by_key(domain, ClockDomain::id)),
                rank: place(ranked.binary_search(&(*domain, name))),
            })
            .collect();
        let dense = units.iter().zip(1..).all(|(unit, id)| unit.id == id);
        let events = EventNames::new(manifest.events.values().map(String::as_str));
        Ok(Self { run_id: manifest.run_id.clone(), domains, units, dense, events })
    }

    /// The run's name.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// The domains by ascending id.
    pub fn domains(&self) -> &[ClockDomain] {
        &self.domains
    }

    /// The units by ascending id.
    pub(crate) fn units(&self) -> &[Unit] {
        &self.units
    }

    /// Index of the unit with this id.
    #[inline]
    pub(crate) fn unit(&self, id: u64) -> Option<u32> {
        let found = if self.dense {
            usize::try_from(id.checked_sub(1)?).ok().filter(|at| *at < self.units.len())
        } else {
            self.units.binary_search_by_key(&id, |unit| unit.id).ok()
        };
        found.and_then(|at| u32::try_from(at).ok())
    }

    /// Index of the unit whose id or name this is.
    pub(crate) fn unit_by_text(&self, text: &str) -> Option<u32> {
        let by_id = text.parse().ok().and_then(|id| self.unit(id));
        by_id.or_else(|| {
            let at = self.units.iter().position(|unit| unit.name == text)?;
            u32::try_from(at).ok()
        })
    }

    /// Index of the event of this name among those by name.
    #[inline]
    pub(crate) fn event(&self, name: &[u8]) -> Option<u32> {
        self.events.find(name)
    }

    /// The names of events, sorted.
    pub(crate) fn event_names(&self) -> &[String] {
        &self.events.names
    }

    /// The listed event name most like `name`, if one is.
    pub(crate) fn event_like(&self, name: &str) -> Option<&str> {
        let near =
            |known: &&String| strsim::damerau_levenshtein(known, name) <= name.len().div_ceil(4).max(1);
        self.events
            .names
            .iter()
            .filter(near)
            .min_by_key(|known| strsim::damerau_levenshtein(known, name))
            .map(String::as_str)
    }

    /// The unit ids there are, in words.
    pub(crate) fn unit_ids(&self) -> String {
        match self.units.as_slice() {
            [] => "no units".to_owned(),
            [only] => format!("only unit id {}", only.id),
            [first, .., last] => format!("{} unit ids from {} to {}", self.units.len(), first.id, last.id),
        }
    }
}

/// A set of names with a look-up cheap enough for every line: open addressing over both ends of a name.
#[derive(Debug)]
struct EventNames {
    names: Vec<String>,
    /// Index plus one into `names`; 0 is free. A power of two, at most half full.
    slots: Vec<u32>,
}

impl EventNames {
    fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
        let mut set = Self { slots: vec![0; (names.len() * 4).next_power_of_two().max(16)], names };
        for (name, number) in set.names.iter().zip(1..) {
            let mut slot = set.slot(name.as_bytes());
            while set.slots[slot] != 0 {
                slot = (slot + 1) & (set.slots.len() - 1);
            }
            set.slots[slot] = number;
        }
        set
    }

    #[inline]
    fn slot(&self, name: &[u8]) -> usize {
        let word = |bytes: &[u8]| bytes.iter().fold(0u64, |word, byte| (word << 8) | u64::from(*byte));
        let (head, tail) = match (name.first_chunk::<8>(), name.last_chunk::<8>()) {
            (Some(head), Some(tail)) => (u64::from_le_bytes(*head), u64::from_le_bytes(*tail)),
            _ => (word(name), 0),
        };
        let mixed = (head.rotate_left(29) ^ tail ^ name.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & (self.slots.len() - 1)
    }

    #[inline]
    fn find(&self, name: &[u8]) -> Option<u32> {
        let mut slot = self.slot(name);
        loop {
            let at = self.slots[slot].checked_sub(1)?;
            if self.names[at as usize].as_bytes() == name {
                return Some(at);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clockweave_model::{ManifestDomain, ManifestStream};

    fn manifest(units: &[(u64, &str)]) -> Manifest {
        let mut manifest = Manifest::new("r");
        let clock = |id: u32, name: &str| ManifestDomain {
            id,
            name: name.to_owned(),
            period_num: 1,
            period_den: 1_000_000_000,
            phase_num: 0,
            phase_den: 1,
        };
        manifest.domains = vec![clock(9, "b"), clock(4, "a")];
        let row = |(unit_id, unit): &(u64, &str)| ManifestStream {
            unit_id: *unit_id,
            unit: (*unit).to_owned(),
            domain_id: 9,
            sequence: 0,
            track: 0,
            producer_order: 0,
        };
        manifest.streams = units.iter().map(row).collect();
        manifest.streams.push(ManifestStream { producer_order: 3, ..row(&units[0]) });
        manifest.events = [(1, "fifo.write".to_owned()), (256, "user".to_owned())].into();
        manifest
    }

    #[test]
    fn units_are_found_by_id_and_ranked_by_name() {
        for ids in [[1, 2, 3], [2, 7, u64::MAX]] {
            let catalog = Catalog::new(&manifest(&[(ids[0], "z"), (ids[1], "B"), (ids[2], "a")])).unwrap();
            let ranks: Vec<u32> =
                ids.iter().map(|id| catalog.units()[catalog.unit(*id).unwrap() as usize].rank).collect();
            assert_eq!(ranks, [2, 0, 1]);
            assert_eq!(catalog.units().len(), 3);
            assert!(catalog.units().iter().all(|unit| unit.domain == 1));
            assert_eq!((catalog.unit(0), catalog.unit(5)), (None, None));
            assert_eq!(catalog.unit_by_text("B"), catalog.unit(ids[1]));
            assert_eq!(catalog.unit_by_text("2"), catalog.unit(2));
        }
    }

    #[test]
    fn event_names_are_a_set() {
        let names: Vec<String> = (0..1000).map(|i| format!("kind.{}.end", i * 7)).collect();
        let set = EventNames::new(names.iter().map(String::as_str));
        for name in &names {
            assert_eq!(&set.names[set.find(name.as_bytes()).unwrap() as usize], name);
        }
        assert_eq!(set.find(b"kind.1.end"), None);
        assert_eq!(set.find(b""), None);
        assert_eq!(EventNames::new([].into_iter()).find(b"x"), None);
    }

    #[test]
    fn a_typo_has_a_suggestion() {
        let catalog = Catalog::new(&manifest(&[(1, "u")])).unwrap();
        assert_eq!(catalog.event_like("fifo.wirte"), Some("fifo.write"));
        assert_eq!(catalog.event_like("stall"), None);
    }
}
