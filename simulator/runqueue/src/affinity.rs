//! Which CPUs a thread may run on.

use alloc::sync::Arc;
use core::fmt;

/// The most CPUs of a machine.
pub const MAX_CPUS: usize = 1024;

/// A set of CPUs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CpuMask {
    words: [u64; MAX_CPUS / 64],
}

impl CpuMask {
    /// No CPU.
    pub const EMPTY: Self = Self { words: [0; MAX_CPUS / 64] };

    /// The CPUs 0 to `count - 1`.
    ///
    /// # Panics
    /// If `count` is above [`MAX_CPUS`].
    pub fn first(count: usize) -> Self {
        Self::of(0..count)
    }

    /// These CPUs.
    ///
    /// # Panics
    /// If one is [`MAX_CPUS`] or above.
    pub fn of(cpus: impl IntoIterator<Item = usize>) -> Self {
        let mut mask = Self::EMPTY;
        for cpu in cpus {
            assert!(cpu < MAX_CPUS, "CPU {cpu}: a machine has at most {MAX_CPUS}");
            mask.words[cpu / 64] |= 1 << (cpu % 64);
        }
        mask
    }

    /// Whether `cpu` is one of them.
    #[inline]
    pub fn contains(&self, cpu: usize) -> bool {
        self.words.get(cpu / 64).is_some_and(|word| word >> (cpu % 64) & 1 == 1)
    }

    /// How many they are.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Them, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..MAX_CPUS).filter(|cpu| self.contains(*cpu))
    }
}

impl fmt::Debug for CpuMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// What a mask means on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Exactly one CPU.
    Pinned,
    /// Neither of the others, the empty mask included.
    Several,
    /// Every CPU of the machine.
    Unrestricted,
}

/// A mask and its reach, which are one value so that no place can change one of them alone.
#[derive(Clone, Debug)]
pub struct Affinity {
    mask: Arc<CpuMask>,
    reach: Reach,
}

impl Affinity {
    /// `mask` on a machine that has the CPUs `machine`.
    pub fn new(mask: &Arc<CpuMask>, machine: &CpuMask) -> Self {
        let reach = match mask.count() {
            _ if **mask == *machine => Reach::Unrestricted,
            1 => Reach::Pinned,
            _ => Reach::Several,
        };
        Self { mask: Arc::clone(mask), reach }
    }

    /// The same thread with another mask.
    pub fn change(&mut self, mask: &Arc<CpuMask>, machine: &CpuMask) {
        *self = Self::new(mask, machine);
    }

    /// The mask.
    pub fn mask(&self) -> &CpuMask {
        &self.mask
    }

    /// What it means.
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// Whether `cpu` is allowed.
    #[inline]
    pub fn allows(&self, cpu: usize) -> bool {
        self.reach == Reach::Unrestricted || self.mask.contains(cpu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reach_of_masks() {
        let machine = CpuMask::first(3);
        let reach =
            |cpus: &[usize]| Affinity::new(&Arc::new(CpuMask::of(cpus.iter().copied())), &machine).reach();
        assert_eq!(reach(&[0, 1, 2]), Reach::Unrestricted);
        assert_eq!(reach(&[2]), Reach::Pinned);
        assert_eq!(reach(&[0, 2]), Reach::Several);
        assert_eq!(reach(&[]), Reach::Several);
        assert_eq!(reach(&[0, 1, 2, 1023]), Reach::Several);
        let one = CpuMask::first(1);
        assert_eq!(Affinity::new(&Arc::new(one), &one).reach(), Reach::Unrestricted);
    }

    #[test]
    fn masks_span_words() {
        let mask = CpuMask::of([0, 63, 64, 1023]);
        assert_eq!((mask.count(), mask.contains(64), mask.contains(65)), (4, true, false));
        assert!(mask.iter().eq([0, 63, 64, 1023]) && !mask.contains(5000));
    }
}
