//! A set of small numbers that is cheap to walk while it changes.

/// A fixed-capacity set of `0..len`.
#[derive(Clone, Debug, Default)]
pub(super) struct IndexSet {
    words: Vec<u64>,
}

impl IndexSet {
    pub(super) fn new(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(64)] }
    }

    /// Adds `index`; says whether it was absent.
    #[inline]
    pub(super) fn insert(&mut self, index: u32) -> bool {
        let word = &mut self.words[(index / 64) as usize];
        let bit = 1u64 << (index % 64);
        let absent = *word & bit == 0;
        *word |= bit;
        absent
    }

    /// Takes `index` out; says whether it was present.
    #[inline]
    pub(super) fn remove(&mut self, index: u32) -> bool {
        let word = &mut self.words[(index / 64) as usize];
        let bit = 1u64 << (index % 64);
        let present = *word & bit != 0;
        *word &= !bit;
        present
    }

    /// The least member that is at least `from`.
    #[inline]
    pub(super) fn next_from(&self, from: u32) -> Option<u32> {
        let mut at = (from / 64) as usize;
        let mut word = self.words.get(at)? & (u64::MAX << (from % 64));
        while word == 0 {
            at += 1;
            word = *self.words.get(at)?;
        }
        Some(at as u32 * 64 + word.trailing_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_ascending_across_words() {
        let mut set = IndexSet::new(200);
        for index in [199, 0, 64, 63, 128] {
            assert!(set.insert(index));
            assert!(!set.insert(index));
        }
        assert!(set.remove(128) && !set.remove(128));
        let (mut from, mut seen) = (0, Vec::new());
        while let Some(index) = set.next_from(from) {
            seen.push(index);
            from = index + 1;
        }
        assert_eq!(seen, [0, 63, 64, 199]);
        assert_eq!(IndexSet::new(0).next_from(0), None);
    }
}
