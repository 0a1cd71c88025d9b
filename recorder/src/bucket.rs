//! The open instant, its total order, and the budget of its nanosecond bucket.
//!
//! # Invariants
//!
//! * Events leave in the order exact time, phase, unit name, producer order, program order. Exact
//!   time is the caller's: it closes one instant after another. The rest is one 64-bit key.
//! * The records of one display nanosecond never exceed the budget, so that whether a run fits does
//!   not depend on how it is executed; one that does not fit is an error, never a dropped record.
//! * Nothing is allocated after construction.
//!
//! This module knows neither units nor encodings.

use clockweave_model::{EventRecord, KindId, Phase};

use crate::error::RecordError;

const RANK_SHIFT: u32 = 32;
const PHASE_SHIFT: u32 = 63;

/// The records of the instant that is being recorded.
pub(crate) struct OpenBucket {
    records: Box<[EventRecord]>,
    /// Phase, rank and program order of the record at the same index; sorted when the instant closes.
    keys: Box<[u64]>,
    len: usize,
    overflown: bool,
    /// Display nanosecond of the bucket that is open.
    ns: i64,
    /// Records of the bucket's closed instants.
    closed: usize,
    peak_bucket: usize,
}

const EMPTY: EventRecord = EventRecord {
    cycle: 0,
    transaction: 0,
    value: 0,
    fifo: 0,
    local: 0,
    kind: KindId(0),
    phase: Phase::Evaluate,
};

impl OpenBucket {
    /// Room for `budget` records in one nanosecond; at most 2^32 - 1.
    pub(crate) fn new(budget: usize) -> Self {
        Self {
            records: vec![EMPTY; budget].into_boxed_slice(),
            keys: vec![0; budget].into_boxed_slice(),
            len: 0,
            overflown: false,
            ns: 0,
            closed: 0,
            peak_bucket: 0,
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends to the open instant. A record beyond the budget is refused when the instant closes.
    #[inline]
    pub(crate) fn push(&mut self, rank: u32, record: EventRecord) {
        let at = self.len;
        let (Some(slot), Some(key)) = (self.records.get_mut(at), self.keys.get_mut(at)) else {
            self.overflown = true;
            return;
        };
        *slot = record;
        *key = (slot.phase as u64) << PHASE_SHIFT | u64::from(rank) << RANK_SHIFT | at as u64;
        self.len = at + 1;
    }

    /// Closes the instant whose display nanosecond is `ns` and puts its records in order.
    #[inline]
    pub(crate) fn close(&mut self, ns: i64) -> Result<(), Box<RecordError>> {
        let before = if ns == self.ns { self.closed } else { 0 };
        let closed = before + self.len;
        if ns < self.ns || closed > self.keys.len() || self.overflown {
            return Err(self.refuse(ns, closed));
        }
        self.ns = ns;
        self.closed = closed;
        self.peak_bucket = self.peak_bucket.max(closed);
        let keys = &mut self.keys[..self.len];
        // A handful, mostly in order already.
        if !keys.is_sorted() {
            keys.sort_unstable();
        }
        Ok(())
    }

    #[cold]
    fn refuse(&self, ns: i64, closed: usize) -> Box<RecordError> {
        Box::new(if ns < self.ns {
            RecordError::InstantRegressed { ns, last: self.ns }
        } else {
            let needed = closed + usize::from(self.overflown);
            RecordError::BucketBudget { ns, needed, budget: self.keys.len() }
        })
    }

    /// The closed instant's records in order, with their ranks.
    #[inline]
    pub(crate) fn ordered(&self) -> impl Iterator<Item = (u32, &EventRecord)> {
        self.keys[..self.len].iter().map(|&key| {
            let rank = (key >> RANK_SHIFT) as u32 & !(1 << 31);
            (rank, &self.records[key as u32 as usize])
        })
    }

    /// Forgets the instant's records.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// The most records one nanosecond had.
    pub(crate) fn peak_bucket(&self) -> usize {
        self.peak_bucket
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.records.len() * Self::RECORD_BYTES
    }

    /// Bytes per open record.
    pub(crate) const RECORD_BYTES: usize = size_of::<EventRecord>() + size_of::<u64>();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(value: u64, phase: Phase) -> EventRecord {
        EventRecord { value, phase, ..EMPTY }
    }

    fn values(bucket: &OpenBucket) -> Vec<(u32, u64)> {
        bucket.ordered().map(|(rank, record)| (rank, record.value)).collect()
    }

    #[test]
    fn phase_comes_before_rank_and_rank_before_program_order() {
        let mut bucket = OpenBucket::new(8);
        bucket.push(1, record(10, Phase::Commit));
        bucket.push(3, record(11, Phase::Evaluate));
        bucket.push(0, record(12, Phase::Commit));
        bucket.push(1, record(13, Phase::Commit));
        bucket.push((1 << 31) - 1, record(14, Phase::Evaluate));
        bucket.push(3, record(15, Phase::Evaluate));
        bucket.close(5).unwrap();
        let last = (1 << 31) - 1;
        assert_eq!(values(&bucket), [(3, 11), (3, 15), (last, 14), (0, 12), (1, 10), (1, 13)]);
    }

    #[test]
    fn the_budget_is_per_nanosecond() {
        let fill = |bucket: &mut OpenBucket, n: u64| {
            bucket.clear();
            (0..n).for_each(|i| bucket.push(0, record(i, Phase::Commit)));
        };
        let mut bucket = OpenBucket::new(2);
        fill(&mut bucket, 2);
        bucket.close(7).unwrap();
        fill(&mut bucket, 2);
        bucket.close(8).unwrap();
        fill(&mut bucket, 1);
        let error = *bucket.close(8).unwrap_err();
        assert!(matches!(error, RecordError::BucketBudget { ns: 8, needed: 3, budget: 2 }), "{error}");
        assert!(error.to_string().contains("raise open_records to at least 3"));

        let mut bucket = OpenBucket::new(2);
        fill(&mut bucket, 3);
        let error = *bucket.close(0).unwrap_err();
        assert!(matches!(error, RecordError::BucketBudget { ns: 0, needed: 3, budget: 2 }));
        assert_eq!(OpenBucket::new(2).peak_bucket(), 0);
    }

    #[test]
    fn instants_do_not_go_back() {
        let mut bucket = OpenBucket::new(2);
        bucket.push(0, record(0, Phase::Commit));
        bucket.close(9).unwrap();
        let error = *bucket.close(8).unwrap_err();
        assert!(matches!(error, RecordError::InstantRegressed { ns: 8, last: 9 }));
    }
}
