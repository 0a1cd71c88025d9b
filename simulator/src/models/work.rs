//! Deterministic busy work, so that a tick can cost as much as a real model's.

/// `steps` steps of `x = x * 6364136223846793005 + i + 1` (i from 0) per tick, on 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    steps: u64,
    state: u64,
}

/// Knuth's multiplier for 64-bit linear congruential generators.
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;

impl Work {
    /// Work from state 0.
    pub fn new(steps: u64) -> Self {
        Self { steps, state: 0 }
    }

    /// One tick's work.
    #[inline]
    pub fn run(&mut self) {
        if self.steps == 0 {
            return;
        }
        let mut x = self.state;
        for i in 0..self.steps {
            x = x.wrapping_mul(MULTIPLIER).wrapping_add(i).wrapping_add(1);
        }
        self.state = std::hint::black_box(x);
    }

    /// The state after the ticks so far.
    pub fn state(&self) -> u64 {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_by_hand() {
        let mut work = Work::new(2);
        work.run();
        // 0 -> 1 -> M + 2.
        assert_eq!(work.state(), 6_364_136_223_846_793_007);
        let mut none = Work::new(0);
        none.run();
        assert_eq!(none.state(), 0);
    }
}
