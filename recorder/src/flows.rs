//! Distinct transactions, counted while they pass, in bounded memory.
//!
//! Transaction ids come in runs (1, 2, 3, … per source), so the set of those seen is kept as
//! intervals. Where ids are so scattered that [`MAX_RUNS`] intervals do not suffice, the count is
//! given up; the events themselves are not concerned.

use std::collections::BTreeMap;

/// Intervals kept at most.
const MAX_RUNS: usize = 16_384;

/// Ids from `first` to `last`; the next interval starts at `limit`.
#[derive(Clone, Copy)]
struct Run {
    first: u64,
    last: u64,
    limit: u64,
}

/// Holds no id.
const DEAD: Run = Run { first: 1, last: 0, limit: 1 };

/// The transactions seen so far.
pub(crate) struct Transactions {
    runs: Vec<Run>,
    by_first: BTreeMap<u64, u32>,
    free: Vec<u32>,
    /// Events that belong to a transaction.
    events: u64,
    distinct: u64,
    scattered: bool,
}

impl Transactions {
    pub(crate) fn new() -> Self {
        Self {
            runs: vec![DEAD],
            by_first: BTreeMap::new(),
            free: Vec::new(),
            events: 0,
            distinct: 0,
            scattered: false,
        }
    }

    /// Counts an event of transaction `id`, not 0. `hint` is any run, best the one where the last id
    /// from the same place was.
    #[inline]
    pub(crate) fn see(&mut self, id: u64, hint: &mut u32) {
        self.events += 1;
        let run = &mut self.runs[*hint as usize];
        if run.first <= id && id <= run.last {
            return;
        }
        if id == run.last.wrapping_add(1) && id < run.limit - 1 {
            run.last = id;
            self.distinct += 1;
            return;
        }
        self.search(id, hint);
    }

    #[cold]
    fn search(&mut self, id: u64, hint: &mut u32) {
        if self.scattered {
            return;
        }
        let before = self.by_first.range(..=id).next_back().map(|(_, at)| *at);
        if let Some(at) = before {
            let run = &mut self.runs[at as usize];
            if id <= run.last {
                *hint = at;
                return;
            }
            if id == run.last + 1 {
                run.last = id;
                self.distinct += 1;
                *hint = at;
                return self.merge(at);
            }
        }
        let limit = self.by_first.range(id..).next().map_or(u64::MAX, |(first, _)| *first);
        let run = Run { first: id, last: id, limit };
        let at = match self.free.pop() {
            Some(at) => at,
            None if self.runs.len() > MAX_RUNS => {
                self.scattered = true;
                return;
            }
            None => {
                self.runs.push(DEAD);
                u32::try_from(self.runs.len() - 1).expect("there are at most 2^14 runs")
            }
        };
        self.runs[at as usize] = run;
        if let Some(before) = before {
            self.runs[before as usize].limit = id;
        }
        self.by_first.insert(id, at);
        self.distinct += 1;
        *hint = at;
        self.merge(at);
    }

    /// Joins run `at` with its successor if nothing lies between them.
    fn merge(&mut self, at: u32) {
        let Run { first, last, limit } = self.runs[at as usize];
        if last.checked_add(1) != Some(limit) {
            return;
        }
        if let Some(next) = self.by_first.remove(&limit) {
            let Run { last, limit, .. } = std::mem::replace(&mut self.runs[next as usize], DEAD);
            self.runs[at as usize] = Run { first, last, limit };
            self.free.push(next);
        }
    }

    /// Edges of all flows, if the transactions could be told apart.
    pub(crate) fn edges(&self) -> Option<u64> {
        (!self.scattered).then(|| self.events - self.distinct)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn equals_a_set(
            ids in prop::collection::vec((1u64..40, 0u64..3), 0..200),
            hints in prop::collection::vec(0usize..4, 200),
        ) {
            let mut seen = BTreeSet::new();
            let mut transactions = Transactions::new();
            let mut places = [0u32; 4];
            for ((low, source), place) in ids.iter().zip(&hints) {
                let id = [*low, low + (1 << 40), u64::MAX - low + 1][*source as usize];
                seen.insert(id);
                transactions.see(id, &mut places[*place]);
            }
            prop_assert_eq!(transactions.edges(), Some((ids.len() - seen.len()) as u64));
        }
    }

    #[test]
    fn what_grows_together_is_one_interval() {
        let mut transactions = Transactions::new();
        let mut hint = 0;
        let most = MAX_RUNS as u64;
        // Every other id, then those between, twice: without joining there would be too many intervals.
        for base in [0, 4 * most] {
            for offset in [0, 1] {
                (1..most).for_each(|n| transactions.see(base + 2 * n + offset, &mut hint));
            }
        }
        assert_eq!(transactions.edges(), Some(0));
    }

    #[test]
    fn scattered_ids_give_no_count() {
        let mut transactions = Transactions::new();
        let mut hint = 0;
        for id in 0..MAX_RUNS as u64 {
            transactions.see(2 * id + 1, &mut hint);
        }
        assert_eq!(transactions.edges(), Some(0));
        transactions.see(u64::MAX, &mut hint);
        assert_eq!(transactions.edges(), None);
    }
}
