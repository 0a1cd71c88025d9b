//! What is known per unit while events pass: ordinals, cycles and counts.
//!
//! # Invariants
//!
//! * A unit's ordinals are 0, 1, 2, … in the total order, whichever producers its events come from;
//!   dropped events have theirs too.
//! * A unit's local cycles never decrease.

use clockweave_model::{KindId, KindTable, Phase};

use crate::bucket::OpenBucket;
use crate::error::RecordError;
use crate::flows::Transactions;
use crate::packed::GAP;
use crate::roster::Roster;
use crate::sink::{Event, Gap, Sink};

/// Kind numbers are below this: 1,024 kinds from 256 on, at most.
const KIND_SPACE: usize = 2048;
/// Marks a number without a kind.
const NO_KIND: u16 = u16::MAX;

#[derive(Clone, Copy, Default)]
struct UnitState {
    ordinal: u64,
    cycle: u64,
    /// Where the unit's last transaction was among those seen.
    run: u32,
}

/// The accounts of all units.
pub(crate) struct Ledger {
    units: Box<[UnitState]>,
    unit_of_rank: Box<[u32]>,
    kind_index: Box<[u16; KIND_SPACE]>,
    kinds: usize,
    /// Events by unit, then kind.
    counts: Box<[u64]>,
    /// Dropped events by unit.
    dropped: Box<[u64]>,
    gaps: u64,
    /// Whether records of kind [`GAP`] are gaps; elsewhere they are events of an unknown kind.
    takes_gaps: bool,
    transactions: Transactions,
}

/// An event that cannot be: its place in the order and why.
enum Refused {
    Kind { unit: usize, kind: u16 },
    Cycle { unit: usize, cycle: u64, last: u64 },
}

impl Ledger {
    pub(crate) fn new(roster: &Roster, kinds: &KindTable) -> Self {
        let mut kind_index = Box::new([NO_KIND; KIND_SPACE]);
        for (at, (kind, _)) in (0u16..).zip(kinds.iter()) {
            kind_index[usize::from(kind.0)] = at;
        }
        let kinds = kinds.iter().len();
        Self {
            units: vec![UnitState::default(); roster.units.len()].into_boxed_slice(),
            unit_of_rank: roster.unit_of_rank.clone().into_boxed_slice(),
            kind_index,
            kinds,
            counts: vec![0; roster.units.len() * kinds].into_boxed_slice(),
            dropped: vec![0; roster.units.len()].into_boxed_slice(),
            gaps: 0,
            takes_gaps: false,
            transactions: Transactions::new(),
        }
    }

    /// Takes gaps among the records.
    pub(crate) fn expect_gaps(&mut self) {
        self.takes_gaps = true;
    }

    /// Passes a closed instant on.
    #[inline]
    pub(crate) fn pass<S: Sink>(
        &mut self,
        sink: &mut S,
        ns: i64,
        bucket: &OpenBucket,
        roster: &Roster,
    ) -> Result<(), Box<RecordError>> {
        for (rank, record) in bucket.ordered() {
            let unit = self.unit_of_rank[rank as usize] as usize;
            let kind = self.index(record.kind);
            if kind == usize::from(NO_KIND) {
                if self.takes_gaps && record.kind == GAP {
                    self.gap(sink, ns, unit, record.value, record.cycle, record.phase);
                    continue;
                }
                return Err(refuse(roster, &Refused::Kind { unit, kind: record.kind.0 }));
            }
            let state = &mut self.units[unit];
            if record.cycle < state.cycle {
                let refused = Refused::Cycle { unit, cycle: record.cycle, last: state.cycle };
                return Err(refuse(roster, &refused));
            }
            state.cycle = record.cycle;
            let ordinal = state.ordinal;
            state.ordinal += 1;
            self.counts[unit * self.kinds + kind] += 1;
            if record.transaction != 0 {
                self.transactions.see(record.transaction, &mut state.run);
            }
            sink.event(ns, &Event { record, unit, kind, ordinal });
        }
        Ok(())
    }

    /// Passes on that `count` events of `unit` were dropped here, the first at `cycle` and `phase`.
    pub(crate) fn gap<S: Sink>(
        &mut self,
        sink: &mut S,
        ns: i64,
        unit: usize,
        count: u64,
        cycle: u64,
        phase: Phase,
    ) {
        let state = &mut self.units[unit];
        let ordinal = state.ordinal;
        state.ordinal += count;
        self.dropped[unit] += count;
        self.gaps += 1;
        sink.gap(ns, &Gap { unit, ordinal, count, cycle, phase });
    }

    #[inline]
    fn index(&self, kind: KindId) -> usize {
        self.kind_index.get(usize::from(kind.0)).copied().unwrap_or(NO_KIND).into()
    }

    /// Events of unit `unit` by kind.
    pub(crate) fn counts(&self, unit: usize) -> &[u64] {
        &self.counts[unit * self.kinds..(unit + 1) * self.kinds]
    }

    /// Edges of all flows, if they could be counted.
    pub(crate) fn flow_edges(&self) -> Option<u64> {
        self.transactions.edges()
    }

    /// Events of unit `unit` that were passed on, and that were dropped.
    pub(crate) fn events(&self, unit: usize) -> (u64, u64) {
        let dropped = self.dropped[unit];
        (self.units[unit].ordinal - dropped, dropped)
    }

    /// Gaps of all units.
    pub(crate) fn gaps(&self) -> u64 {
        self.gaps
    }
}

#[cold]
fn refuse(roster: &Roster, refused: &Refused) -> Box<RecordError> {
    let name = |unit: usize| roster.units[unit].name.clone();
    Box::new(match *refused {
        Refused::Kind { unit, kind } => RecordError::UnknownKind { unit: name(unit), kind },
        Refused::Cycle { unit, cycle, last } => RecordError::CycleRegressed { unit: name(unit), cycle, last },
    })
}
