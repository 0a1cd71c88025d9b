//! The least of a fixed number of keys, one per domain.
//!
//! Up to [`SCAN`] keys a scan wins; above, a tournament tree gives the least key in O(1) and
//! replaces one in O(log n).
//!
//! # Invariants
//!
//! * Among equal keys the smallest index comes first, so the domains of one instant are found in
//!   ascending order.
//! * `winners[1]` is the index of the least key; `winners[i]` the better of `winners[2i]` and
//!   `winners[2i + 1]`; leaves beyond the keys repeat the last index.

const SCAN: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct Queue<K> {
    keys: Vec<K>,
    winners: Vec<u32>,
    leaves: usize,
}

impl<K: Ord + Copy> Queue<K> {
    pub(super) fn new(keys: Vec<K>) -> Self {
        let leaves = keys.len().next_power_of_two();
        let mut queue = Self { keys, winners: Vec::new(), leaves };
        queue.rebuild();
        queue
    }

    fn rebuild(&mut self) {
        self.winners.clear();
        if self.keys.len() <= SCAN {
            return;
        }
        let last = self.keys.len() - 1;
        self.winners.resize(self.leaves, 0);
        self.winners.extend((0..self.leaves).map(|leaf| leaf.min(last) as u32));
        for node in (1..self.leaves).rev() {
            self.winners[node] = self.better(self.winners[2 * node], self.winners[2 * node + 1]);
        }
    }

    #[inline]
    fn better(&self, left: u32, right: u32) -> u32 {
        if self.keys[right as usize] < self.keys[left as usize] { right } else { left }
    }

    #[inline]
    pub(super) fn key(&self, index: usize) -> K {
        self.keys[index]
    }

    /// The least key, if there are any.
    #[inline]
    pub(super) fn least(&self) -> Option<K> {
        if self.winners.is_empty() {
            self.keys.iter().min().copied()
        } else {
            Some(self.keys[self.winners[1] as usize])
        }
    }

    /// Puts the indices that share the least key into `due`, ascending.
    #[inline]
    pub(super) fn due(&self, due: &mut Vec<u32>) {
        due.clear();
        if self.winners.is_empty() {
            let Some(mut least) = self.keys.first().copied() else { return };
            due.push(0);
            for (index, &key) in self.keys.iter().enumerate().skip(1) {
                if key < least {
                    least = key;
                    due.clear();
                    due.push(index as u32);
                } else if key == least {
                    due.push(index as u32);
                }
            }
        } else {
            let least = self.keys[self.winners[1] as usize];
            self.collect(1, least, due);
        }
    }

    /// Visits only the subtrees whose winner has the least key.
    fn collect(&self, node: usize, least: K, due: &mut Vec<u32>) {
        let winner = self.winners[node];
        if self.keys[winner as usize] != least {
            return;
        }
        if node >= self.leaves {
            if (node - self.leaves) < self.keys.len() {
                due.push(winner);
            }
            return;
        }
        self.collect(2 * node, least, due);
        self.collect(2 * node + 1, least, due);
    }

    #[inline]
    pub(super) fn replace(&mut self, index: usize, key: K) {
        self.keys[index] = key;
        if self.winners.is_empty() {
            return;
        }
        // The last key stands on every leaf from its own to the end.
        let mut node = (self.leaves + index) / 2;
        if index + 1 == self.keys.len() && self.keys.len() < self.leaves {
            self.rebuild_tail();
            node = 0;
        }
        while node >= 1 {
            self.winners[node] = self.better(self.winners[2 * node], self.winners[2 * node + 1]);
            node /= 2;
        }
    }

    /// Replays every node above the leaves that repeat the last key.
    fn rebuild_tail(&mut self) {
        let (mut first, mut last) = ((self.leaves + self.keys.len() - 1) / 2, (2 * self.leaves - 1) / 2);
        while last >= 1 {
            for node in first..=last {
                self.winners[node] = self.better(self.winners[2 * node], self.winners[2 * node + 1]);
            }
            (first, last) = (first / 2, last / 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_a_sorted_list(
            keys in proptest::collection::vec(0u64..20, 1..70),
            updates in proptest::collection::vec((any::<prop::sample::Index>(), 0u64..20), 0..50),
        ) {
            let mut queue = Queue::new(keys.clone());
            let mut keys = keys;
            let mut due = Vec::new();
            for (index, key) in updates {
                let index = index.index(keys.len());
                keys[index] = key;
                queue.replace(index, key);
                let least = *keys.iter().min().unwrap();
                let expected: Vec<u32> =
                    (0..keys.len() as u32).filter(|&i| keys[i as usize] == least).collect();
                queue.due(&mut due);
                prop_assert_eq!(&due, &expected);
                prop_assert_eq!(queue.least(), Some(least));
            }
        }
    }
}
