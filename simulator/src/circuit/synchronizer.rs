//! A chain of registers that carries a Gray-coded pointer into another clock domain.
//!
//! Two registers are one word, the tail (the register the other domain reads) in its high half. A longer
//! chain is a ring: `registers[head]` is the tail, and a shift overwrites it with the new sample and
//! moves the head, so a shift costs the same for every number of stages.

/// Fewest and most registers of a chain.
pub(super) const STAGES: std::ops::RangeInclusive<u32> = 2..=64;

#[derive(Clone, Debug)]
pub(super) struct Synchronizer {
    /// The registers of a chain of two.
    pair: u64,
    /// The registers of a longer one; none otherwise.
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
        let ring = if stages == 2 { 0 } else { stages as usize };
        Self { pair: 0, registers: vec![0; ring].into(), head: 0 }
    }

    pub(super) fn stages(&self) -> u32 {
        if self.registers.is_empty() { 2 } else { self.registers.len() as u32 }
    }

    #[inline]
    pub(super) fn tail(&self) -> u32 {
        if self.registers.is_empty() {
            return (self.pair >> 32) as u32;
        }
        self.registers[self.head as usize]
    }

    /// Shifts `sample` in and gives the old tail.
    #[inline]
    pub(super) fn shift(&mut self, sample: u32) -> u32 {
        if self.registers.is_empty() {
            let old = (self.pair >> 32) as u32;
            self.pair = self.pair << 32 | u64::from(sample);
            return old;
        }
        let old = std::mem::replace(&mut self.registers[self.head as usize], sample);
        self.head += 1;
        if self.head as usize == self.registers.len() {
            self.head = 0;
        }
        old
    }

    /// Whether every register holds `source`.
    pub(super) fn holds(&self, source: u32) -> bool {
        if self.registers.is_empty() {
            return self.pair == u64::from(source) << 32 | u64::from(source);
        }
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
