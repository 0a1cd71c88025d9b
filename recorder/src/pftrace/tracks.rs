//! The track tree: a root for the run, a track per clock domain, one per unit.
//!
//! # Invariants
//!
//! * A uuid is a function of plain names (`run/DOMAIN/UNIT`), not of the run id, so that the tracks
//!   of two runs compare. Uuids are never 0 and never equal.
//! * Every track but the root has a parent that comes before it in the list.
//! * A domain with more than [`UNGROUPED_UNITS`] units gets a group per dotted prefix of its units'
//!   names; a unit's own track keeps the full name.

use std::collections::{BTreeMap, BTreeSet};

use clockweave_model::FifoEntry;

use crate::pftrace::METADATA_PER_NAME;
use crate::pftrace::checkpoint::counter_track;
use crate::pftrace::schema::{ChildOrdering, SiblingMerge, TrackDescriptor};
use crate::roster::Roster;

/// Units that one domain may have before they are grouped.
const UNGROUPED_UNITS: usize = 32;
/// Uuids have 28 bits: four bytes on the wire.
const UUID_MASK: u64 = (1 << 28) - 1;

/// The tracks of a run.
pub(crate) struct TrackPlan {
    pub(crate) root: u64,
    /// By domain, as in the roster.
    pub(crate) domains: Vec<u64>,
    /// By unit, as in the roster.
    pub(crate) units: Vec<u64>,
    /// Group and occupancy of each FIFO.
    pub(crate) fifos: Vec<(u64, u64)>,
    pub(crate) descriptors: Vec<TrackDescriptor>,
    pub(crate) uuids: Uuids,
}

/// FNV-1a, 64 bits.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn fold(hash: u64) -> u64 {
    (hash >> 32 ^ hash) & UUID_MASK
}

/// Hands out uuids.
pub(crate) struct Uuids {
    used: BTreeSet<u64>,
}

impl Uuids {
    pub(crate) fn new() -> Self {
        Self { used: BTreeSet::from([0]) }
    }

    pub(crate) fn assign(&mut self, path: &str) -> u64 {
        let first = fold(fnv1a(path));
        if self.used.insert(first) {
            return first;
        }
        (1u64..)
            .map(|n| fold(fnv1a(&format!("{path}#{n}"))))
            .find(|uuid| self.used.insert(*uuid))
            .expect("a run has far fewer tracks than uuids")
    }
}

impl TrackPlan {
    /// `fifos` are those that get tracks of their own.
    pub(crate) fn new(run_id: &str, roster: &Roster, fifos: &[FifoEntry]) -> Self {
        let mut uuids = Uuids::new();
        let root = uuids.assign("run");
        let mut plan = Self {
            root,
            domains: Vec::with_capacity(roster.domains.len()),
            units: vec![0; roster.units.len()],
            fifos: Vec::with_capacity(fifos.len()),
            uuids: Uuids::new(),
            descriptors: vec![TrackDescriptor {
                uuid: Some(root),
                name: Some(run_id.to_owned()),
                child_ordering: Some(ChildOrdering::Explicit.into()),
                ..TrackDescriptor::default()
            }],
        };
        for (rank, domain) in (1i32..).zip(&roster.domains) {
            let uuid = uuids.assign(&format!("run/{}", domain.name()));
            plan.domains.push(uuid);
            plan.descriptors.push(TrackDescriptor {
                uuid: Some(uuid),
                name: Some(format!("{} ({})", domain.name(), domain.frequency().label())),
                parent_uuid: Some(root),
                child_ordering: Some(ChildOrdering::Explicit.into()),
                sibling_order_rank: Some(rank),
                ..TrackDescriptor::default()
            });
        }
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); roster.domains.len()];
        for (at, unit) in roster.units.iter().enumerate() {
            members[unit.domain].push(at);
        }
        for (domain, units) in members.iter().enumerate() {
            plan.add_units(&mut uuids, roster, domain, units);
        }
        if !fifos.is_empty() {
            plan.add_fifos(&mut uuids, roster, fifos);
        }
        plan.uuids = uuids;
        plan
    }

    fn add_fifos(&mut self, uuids: &mut Uuids, roster: &Roster, fifos: &[FifoEntry]) {
        let group = |uuid: u64, name: &str, parent: u64, rank: usize| TrackDescriptor {
            uuid: Some(uuid),
            name: Some(name.to_owned()),
            parent_uuid: Some(parent),
            child_ordering: Some(ChildOrdering::Explicit.into()),
            sibling_order_rank: i32::try_from(rank).ok(),
            sibling_merge_behavior: Some(SiblingMerge::None.into()),
            ..TrackDescriptor::default()
        };
        let crossings = uuids.assign("run/crossings");
        self.descriptors.push(group(crossings, "clock crossings", self.root, roster.domains.len() + 1));
        for (rank, fifo) in fifos.iter().enumerate() {
            let name = fifo.name.as_str();
            let uuid = uuids.assign(&format!("run/crossings/{name}"));
            let occupancy = uuids.assign(&format!("run/crossings/{name}/occupancy"));
            self.descriptors.push(group(uuid, name, crossings, rank));
            self.descriptors.push(counter_track(occupancy, uuid, "occupancy", Some("entries"), 0));
            self.fifos.push((uuid, occupancy));
        }
    }

    /// Bytes that the tracks take, about.
    pub(crate) fn metadata_bytes(&self) -> usize {
        let name = |d: &TrackDescriptor| d.name.as_ref().map_or(0, String::len);
        self.descriptors.iter().map(|d| METADATA_PER_NAME + name(d)).sum()
    }

    fn add_units(&mut self, uuids: &mut Uuids, roster: &Roster, domain: usize, units: &[usize]) {
        let grouped = units.len() > UNGROUPED_UNITS;
        let path = format!("run/{}", roster.domains[domain].name());
        let mut groups: BTreeMap<&str, u64> = BTreeMap::new();
        let mut children: BTreeMap<u64, i32> = BTreeMap::new();
        let mut next_rank = |parent: u64| {
            let count = children.entry(parent).or_insert(0);
            *count += 1;
            *count - 1
        };
        for &at in units {
            let name = roster.units[at].name.as_str();
            let mut parent = self.domains[domain];
            for (end, _) in name.match_indices('.').filter(|(end, _)| grouped && *end > 0) {
                let prefix = &name[..end];
                parent = *groups.entry(prefix).or_insert_with(|| {
                    let uuid = uuids.assign(&format!("{path}/{prefix}.*"));
                    self.descriptors.push(TrackDescriptor {
                        uuid: Some(uuid),
                        name: Some(prefix.to_owned()),
                        parent_uuid: Some(parent),
                        child_ordering: Some(ChildOrdering::Explicit.into()),
                        sibling_order_rank: Some(next_rank(parent)),
                        sibling_merge_behavior: Some(SiblingMerge::None.into()),
                        ..TrackDescriptor::default()
                    });
                    uuid
                });
            }
            let uuid = uuids.assign(&format!("{path}/{name}"));
            self.units[at] = uuid;
            self.descriptors.push(TrackDescriptor {
                uuid: Some(uuid),
                name: Some(name.to_owned()),
                parent_uuid: Some(parent),
                sibling_order_rank: Some(next_rank(parent)),
                sibling_merge_behavior: Some(SiblingMerge::None.into()),
                ..TrackDescriptor::default()
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roster::Declarations;
    use clockweave_model::{ClockDomain, Frequency, Seconds};

    fn plan(units: &[String]) -> TrackPlan {
        let mut declared = Declarations::default();
        let hz = Frequency::from_hz(914_000_000).unwrap();
        declared.domain(&ClockDomain::new(1, "sm", hz, Seconds::ZERO).unwrap()).unwrap();
        for (id, name) in (1..).zip(units) {
            declared.add_stream(1, id, name).unwrap();
        }
        TrackPlan::new("r", &declared.freeze(), &[])
    }

    #[test]
    fn fnv1a_of_known_strings() {
        // The published test vectors of the hash.
        assert_eq!(fnv1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn uuids_are_those_of_the_stored_sample() {
        let plan = plan(&["producer".to_owned()]);
        assert_eq!((plan.root, plan.domains[0], plan.units[0]), (158_855_763, 3_141_150, 47_958_747));
        assert_eq!(plan.descriptors[1].name.as_deref(), Some("sm (914 MHz)"));
        assert_eq!(plan.descriptors.len(), 3);
    }

    #[test]
    fn a_taken_uuid_is_hashed_again() {
        let mut uuids = Uuids::new();
        uuids.used.insert(fold(fnv1a("run")));
        assert_eq!(uuids.assign("run"), fold(fnv1a("run#1")));
        assert_eq!(uuids.assign("run"), fold(fnv1a("run#2")));
    }

    #[test]
    fn thirty_three_units_are_grouped_by_prefix() {
        let names = |n: usize| -> Vec<String> { (0..n).map(|i| format!("core{}.alu.{i}", i % 2)).collect() };
        assert_eq!(plan(&names(32)).descriptors.len(), 2 + 32);
        let plan = plan(&names(33));
        // core0, core0.alu, core1, core1.alu
        assert_eq!(plan.descriptors.len(), 2 + 33 + 4);
        let find = |name: &str| plan.descriptors.iter().find(|d| d.name.as_deref() == Some(name)).unwrap();
        let (core, alu, leaf) = (find("core1"), find("core1.alu"), find("core1.alu.3"));
        assert_eq!(core.parent_uuid, Some(plan.domains[0]));
        assert_eq!(core.sibling_order_rank, Some(1));
        assert_eq!(alu.parent_uuid, core.uuid);
        assert_eq!((leaf.parent_uuid, leaf.sibling_order_rank), (alu.uuid, Some(1)));
        let mut seen = BTreeSet::new();
        for descriptor in &plan.descriptors {
            assert!(descriptor.parent_uuid.is_none_or(|parent| seen.contains(&parent)));
            assert!(seen.insert(descriptor.uuid.unwrap()));
        }
    }
}
