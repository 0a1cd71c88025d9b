//! The event record and the kinds of event.
//!
//! A record says what one unit observed at one of its own local edges. It has no time: time is
//! `E(cycle)` of the unit's domain.

use std::collections::{BTreeMap, BTreeSet};

/// Where in an edge an event lies. Evaluation comes before commit at one exact instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Phase {
    /// While units tick.
    Evaluate = 0,
    /// While registers take their new values.
    Commit = 1,
}

/// Number of an event kind; [`KindTable`] has its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindId(pub u16);

impl KindId {
    /// `fifo.write`: a write was accepted.
    pub const FIFO_WRITE: Self = Self(1);
    /// `fifo.visible`: the synchronizer's tail newly exposes an entry to the reader.
    pub const FIFO_VISIBLE: Self = Self(2);
    /// `fifo.read`: a read was accepted.
    pub const FIFO_READ: Self = Self(3);
    /// `fifo.output`: the output register was loaded.
    pub const FIFO_OUTPUT: Self = Self(4);
    /// `fifo.consume`: the reader took the output register.
    pub const FIFO_CONSUME: Self = Self(5);
    /// `fifo.full`: the full flag changed.
    pub const FIFO_FULL: Self = Self(6);
    /// `fifo.empty`: the empty flag changed.
    pub const FIFO_EMPTY: Self = Self(7);
    /// `user`: an event without a kind of its own.
    pub const USER: Self = Self(256);
    /// The first number of the kinds a run defines.
    pub const FIRST_DEFINED: Self = Self(257);
}

/// One event as a producer records it: 40 bytes, plain words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct EventRecord {
    /// Edge of the unit's own domain.
    pub cycle: u64,
    /// Transaction, 0 for none.
    pub transaction: u64,
    /// Value.
    pub value: u64,
    /// FIFO, 0 for none.
    pub fifo: u32,
    /// Number within the producer; wraps.
    pub local: u32,
    /// Kind.
    pub kind: KindId,
    /// Place within the edge.
    pub phase: Phase,
}

/// The most kinds one run may have.
pub const MAX_KINDS: usize = 1024;

/// Why a kind was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KindError {
    /// A name that is not printable, empty or too long.
    #[error("`{name}` is no event kind: expected 1 to 128 printable ASCII characters")]
    BadName {
        /// The name given, cut to 64 characters.
        name: String,
    },
    /// A name defined twice, or that of a built-in kind.
    #[error("the event kind `{name}` is defined twice or built in")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// Too many kinds.
    #[error("a run has at most {MAX_KINDS} event kinds")]
    TooMany,
}

/// Whether `name` is `1..=max` printable ASCII characters (space to `~`).
pub fn check_printable(name: &str, max: usize) -> bool {
    (1..=max).contains(&name.len()) && name.bytes().all(|b| (b' '..=b'~').contains(&b))
}

/// What the events of a kind are to a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KindShape {
    /// Something that happened.
    #[default]
    Instant,
    /// The value that something has from now on.
    Counter,
    /// The beginning (value 1) or the end (value 0) of something; spans of one unit nest.
    Span,
}

/// The kinds of a run: the built-in ones and those defined before start, numbered from 257 by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindTable {
    kinds: Vec<(KindId, String)>,
    /// Kinds that are no instants, by number.
    shapes: BTreeMap<KindId, KindShape>,
}

const BUILT_IN: [(KindId, &str); 8] = [
    (KindId::FIFO_WRITE, "fifo.write"),
    (KindId::FIFO_VISIBLE, "fifo.visible"),
    (KindId::FIFO_READ, "fifo.read"),
    (KindId::FIFO_OUTPUT, "fifo.output"),
    (KindId::FIFO_CONSUME, "fifo.consume"),
    (KindId::FIFO_FULL, "fifo.full"),
    (KindId::FIFO_EMPTY, "fifo.empty"),
    (KindId::USER, "user"),
];

impl Default for KindTable {
    fn default() -> Self {
        let kinds = BUILT_IN.map(|(id, name)| (id, name.to_owned())).to_vec();
        Self { kinds, shapes: BTreeMap::new() }
    }
}

impl KindTable {
    /// The built-in kinds and `defined`, whose numbers do not depend on the order given.
    ///
    /// # Errors
    /// A bad or duplicate name, more than [`MAX_KINDS`] kinds.
    pub fn new<'a>(defined: impl IntoIterator<Item = &'a str>) -> Result<Self, KindError> {
        let mut table = Self::default();
        let mut names = BTreeSet::new();
        for name in defined {
            if !check_printable(name, 128) {
                return Err(KindError::BadName { name: name.chars().take(64).collect() });
            }
            if table.id(name).is_some() || !names.insert(name) {
                return Err(KindError::Duplicate { name: name.to_owned() });
            }
        }
        if table.kinds.len() + names.len() > MAX_KINDS {
            return Err(KindError::TooMany);
        }
        let numbers = KindId::FIRST_DEFINED.0..;
        table.kinds.extend(numbers.zip(names).map(|(id, name)| (KindId(id), name.to_owned())));
        Ok(table)
    }

    /// The number of a kind.
    pub fn id(&self, name: &str) -> Option<KindId> {
        self.kinds.iter().find(|(_, known)| known == name).map(|(id, _)| *id)
    }

    /// The name of a kind.
    pub fn name(&self, id: KindId) -> Option<&str> {
        self.kinds.binary_search_by_key(&id, |(known, _)| *known).ok().map(|at| self.kinds[at].1.as_str())
    }

    /// States what the events of a kind are; instants by default.
    pub fn set_shape(&mut self, id: KindId, shape: KindShape) {
        self.shapes.insert(id, shape);
    }

    /// What the events of a kind are.
    pub fn shape(&self, id: KindId) -> KindShape {
        self.shapes.get(&id).copied().unwrap_or_default()
    }

    /// All kinds by number.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (KindId, &str)> {
        self.kinds.iter().map(|(id, name)| (*id, name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_forty_bytes() {
        assert_eq!(size_of::<EventRecord>(), 40);
    }

    #[test]
    fn defined_kinds_are_numbered_by_name() {
        let table = KindTable::new(["stall", "issue"]).unwrap();
        assert_eq!(table.id("issue"), Some(KindId(257)));
        assert_eq!(table.id("stall"), Some(KindId(258)));
        assert_eq!(table.name(KindId(258)), Some("stall"));
        assert_eq!(table.name(KindId(1)), Some("fifo.write"));
        assert_eq!(table.name(KindId(8)), None);
        assert_eq!(KindTable::new(["issue", "stall"]).unwrap(), table);
    }

    #[test]
    fn refusals() {
        assert!(matches!(KindTable::new(["a", "a"]), Err(KindError::Duplicate { .. })));
        assert!(matches!(KindTable::new(["fifo.write"]), Err(KindError::Duplicate { .. })));
        assert!(matches!(KindTable::new(["a\tb"]), Err(KindError::BadName { .. })));
        assert!(matches!(KindTable::new([""]), Err(KindError::BadName { .. })));
        let names: Vec<String> = (0..MAX_KINDS).map(|i| format!("k{i}")).collect();
        assert_eq!(KindTable::new(names.iter().map(String::as_str)), Err(KindError::TooMany));
        assert!(KindTable::new(names[8..].iter().map(String::as_str)).is_ok());
    }
}
