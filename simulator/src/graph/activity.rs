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

    /// The members by words of 64: bit `b` of word `w` stands for `64 * w + b`.
    #[inline]
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }
}

/// The bits of a word above `bit`.
#[inline]
pub(super) fn above(bit: u32) -> u64 {
    (u64::MAX << bit) << 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_bits() {
        let mut set = IndexSet::new(200);
        for index in [199, 0, 64, 63, 128] {
            assert!(set.insert(index));
            assert!(!set.insert(index));
        }
        assert!(set.remove(128) && !set.remove(128));
        assert_eq!(set.words(), [1 | 1 << 63, 1, 0, 1 << 7]);
        assert_eq!(above(0), !1);
        assert_eq!(above(62), 1 << 63);
        assert_eq!(above(63), 0);
    }
}
