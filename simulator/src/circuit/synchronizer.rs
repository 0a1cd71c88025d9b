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
    newest: u32,
    /// Shifts since the sample last changed, up to the number of stages.
    still: u32,
}

impl Synchronizer {
    /// All registers hold 0, as after a reset.
    ///
    /// # Panics
    /// If `stages` is outside [`STAGES`]; the FIFO checks it.
    pub(super) fn new(stages: u32) -> Self {
        assert!(STAGES.contains(&stages));
        Self { registers: vec![0; stages as usize].into(), head: 0, newest: 0, still: stages }
    }

    #[inline]
    pub(super) fn stages(&self) -> u32 {
        self.registers.len() as u32
    }

    #[inline]
    pub(super) fn tail(&self) -> u32 {
        self.registers[self.head as usize]
    }

    #[inline]
    pub(super) fn shift(&mut self, sample: u32) {
        let stages = self.stages();
        self.registers[self.head as usize] = sample;
        self.head = if self.head + 1 == stages { 0 } else { self.head + 1 };
        self.still = if sample == self.newest { (self.still + 1).min(stages) } else { 0 };
        self.newest = sample;
    }

    /// Whether another shift of `source` would change nothing that anyone can see: every register
    /// holds it, and the tail already did before the last shift.
    #[inline]
    pub(super) fn settled_on(&self, source: u32) -> bool {
        self.newest == source && self.still == self.stages()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_reaches_the_tail_after_one_shift_per_stage() {
        for stages in [2, 3, 64] {
            let mut chain = Synchronizer::new(stages);
            assert!(chain.settled_on(0));
            for shift in 1..=stages {
                assert_eq!(chain.tail(), 0);
                chain.shift(5);
                assert!(!chain.settled_on(5), "{shift}");
            }
            assert_eq!(chain.tail(), 5);
            chain.shift(5);
            assert!(chain.settled_on(5) && !chain.settled_on(0));
        }
    }
}
