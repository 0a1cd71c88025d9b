//! An event record as the five words of a ring slot.
//!
//! A *gap* is a record too: `value` events were lost from local number `local` on, at `cycle` and `phase`. It is told
//! apart by a mark that no recorded event can carry; behind the ring it has [`GAP`] as its kind.

use clockweave_model::{EventRecord, KindId, Phase};

use crate::ring::Words;

/// Kind of a gap. Kinds are below 2,048, so no event has it.
pub(crate) const GAP: KindId = KindId(u16::MAX);

/// Where the words have what is looked at without unpacking.
pub(crate) const CYCLE: usize = 0;
const VALUE: usize = 2;
const PHASE_SHIFT: u32 = 16;
const MARK: u64 = 1 << 24;

/// A ring slot that is no record: an event with the kind that gaps have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Forged;

/// The words of an event.
#[inline]
pub(crate) fn pack(record: &EventRecord) -> Words {
    [
        record.cycle,
        record.transaction,
        record.value,
        u64::from(record.fifo) | u64::from(record.local) << 32,
        u64::from(record.kind.0) | (record.phase as u64) << PHASE_SHIFT,
    ]
}

/// The words of a gap of `count` events, the first of them with number `local`.
pub(crate) fn pack_gap(cycle: u64, phase: Phase, local: u32, count: u64) -> Words {
    let record = EventRecord { cycle, transaction: 0, value: count, fifo: 0, local, kind: GAP, phase };
    let mut words = pack(&record);
    words[4] |= MARK;
    words
}

/// How many events of their stream some words stand for.
pub(crate) fn events(words: &Words) -> u64 {
    if words[4] & MARK == 0 { 1 } else { words[VALUE] }
}

/// The record of some words.
#[inline]
pub(crate) fn unpack(words: &Words) -> Result<EventRecord, Forged> {
    let record = EventRecord {
        cycle: words[0],
        transaction: words[1],
        value: words[2],
        fifo: words[3] as u32,
        local: (words[3] >> 32) as u32,
        kind: KindId(words[4] as u16),
        phase: if words[4] >> PHASE_SHIFT & 1 == 0 { Phase::Evaluate } else { Phase::Commit },
    };
    if record.kind == GAP && words[4] & MARK == 0 { Err(Forged) } else { Ok(record) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_and_gaps_cannot_be_forged() {
        let event = EventRecord {
            cycle: u64::MAX - 1,
            transaction: 1 << 63,
            value: 0x0123_4567_89ab_cdef,
            fifo: u32::MAX,
            local: 7,
            kind: KindId(2047),
            phase: Phase::Commit,
        };
        assert_eq!(unpack(&pack(&event)), Ok(event));
        let event =
            EventRecord { fifo: 7, local: u32::MAX, kind: KindId(1), phase: Phase::Evaluate, ..event };
        assert_eq!(unpack(&pack(&event)), Ok(event));
        assert_eq!(unpack(&pack(&EventRecord { kind: GAP, ..event })), Err(Forged));
        let gap = unpack(&pack_gap(9, Phase::Commit, 3, 1 << 40)).unwrap();
        assert_eq!(
            (gap.kind, gap.cycle, gap.phase, gap.local, gap.value),
            (GAP, 9, Phase::Commit, 3, 1 << 40)
        );
    }
}
