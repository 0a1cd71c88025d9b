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

    /// The smallest index with the least key, that key, and whether others share it.
    #[inline]
    pub(super) fn first(&self) -> (u32, K, bool) {
        if self.winners.is_empty() {
            let (mut first, mut least, mut tie) = (0, self.keys[0], false);
            for (index, &key) in (1u32..).zip(&self.keys[1..]) {
                if key < least {
                    (first, least, tie) = (index, key, false);
                } else {
                    tie |= key == least;
                }
            }
            return (first, least, tie);
        }
        let first = self.winners[1];
        let least = self.keys[first as usize];
        (first, least, self.shared(first, least))
    }

    /// Whether a key equal to the winner's was beaten only by its index: then it won every node up to
    /// one where it met the winner.
    #[inline]
    fn shared(&self, winner: u32, least: K) -> bool {
        let mut node = self.leaves + winner as usize;
        while node > 1 {
            let other = self.winners[node ^ 1];
            if other != winner && self.keys[other as usize] == least {
                return true;
            }
            node /= 2;
        }
        false
    }

    /// Puts the indices whose key is `least`, the least one, into `tied`, ascending.
    pub(super) fn ties(&self, least: K, tied: &mut Vec<u32>) {
        tied.clear();
        if self.winners.is_empty() {
            tied.extend((0u32..).zip(&self.keys).filter(|(_, key)| **key == least).map(|(index, _)| index));
        } else {
            self.collect(1, least, tied);
        }
    }

    /// Visits only the subtrees whose winner has the least key.
    fn collect(&self, node: usize, least: K, tied: &mut Vec<u32>) {
        let winner = self.winners[node];
        if self.keys[winner as usize] != least {
            return;
        }
        if node >= self.leaves {
            if (node - self.leaves) < self.keys.len() {
                tied.push(winner);
            }
            return;
        }
        self.collect(2 * node, least, tied);
        self.collect(2 * node + 1, least, tied);
    }

    #[inline]
    pub(super) fn replace(&mut self, index: u32, key: K) {
        self.keys[index as usize] = key;
        if !self.winners.is_empty() {
            self.replay(index as usize);
        }
    }

    fn replay(&mut self, index: usize) {
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
            let mut tied = Vec::new();
            for (index, key) in updates {
                let index = index.index(keys.len());
                keys[index] = key;
                queue.replace(index as u32, key);
                let least = *keys.iter().min().unwrap();
                let expected: Vec<u32> =
                    (0..keys.len() as u32).filter(|&i| keys[i as usize] == least).collect();
                prop_assert_eq!(queue.first(), (expected[0], least, expected.len() > 1));
                queue.ties(least, &mut tied);
                prop_assert_eq!(&tied, &expected);
            }
        }
    }
}
