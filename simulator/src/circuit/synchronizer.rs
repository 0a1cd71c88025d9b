//! A chain of registers that carries a Gray-coded pointer into another clock domain.
//!
//! The chain is a ring: `registers[head]` is the tail (the register the other domain reads), and a
//! shift overwrites it with the new sample and moves the head, so a shift costs the same for every
//! number of stages.

/// Fewest and most registers of a chain.
pub(super) const STAGES: std::ops::RangeInclusive<u32> = 2..=64;

#[derive(Clone, Debug)]
pub(super) struct Synchronizer {
    registers: Box<[u32]>,
    head: u32,
}

impl Synchronizer {
    /// All registers hold 0, as after a reset.
    ///
    /// # Panics
    /// If `stages` is outside [`STAGES`]; the FIFO checks it.
    pub(super) fn new(stages: u32) -> Self {
        assert!(STAGES.contains(&stages));
        Self { registers: vec![0; stages as usize].into(), head: 0 }
    }

    pub(super) fn stages(&self) -> u32 {
        self.registers.len() as u32
    }

    #[inline]
    pub(super) fn tail(&self) -> u32 {
        self.registers[self.head as usize]
    }

    /// Shifts `sample` in and gives the old tail.
    #[inline]
    pub(super) fn shift(&mut self, sample: u32) -> u32 {
        let old = std::mem::replace(&mut self.registers[self.head as usize], sample);
        self.head += 1;
        if self.head as usize == self.registers.len() {
            self.head = 0;
        }
        old
    }

    /// Whether every register holds `source`.
    pub(super) fn holds(&self, source: u32) -> bool {
        self.registers.iter().all(|&register| register == source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_reaches_the_tail_after_one_shift_per_stage() {
        for stages in [2, 3, 64] {
            let mut chain = Synchronizer::new(stages);
            assert!(chain.holds(0));
            for _ in 0..stages {
                assert_eq!(chain.tail(), 0);
                assert!(!chain.holds(5));
                assert_eq!(chain.shift(5), 0);
            }
            assert_eq!(chain.tail(), 5);
            assert!(chain.holds(5) && !chain.holds(0));
            assert_eq!(chain.shift(6), 5);
        }
    }
}
