//! When sources and sinks are active: patterns over the local cycle.
//!
//! A pattern is a pure function of the cycle, so a unit that slept or was held up continues as if it
//! had not been.

/// Seed of random traffic unless another is given.
pub const DEFAULT_SEED: u64 = 0xC10C_0914_1326;
/// Told apart from a source's sequence, a sink's uses the seed xor this.
const SINK_SEED: u64 = 0xA55A;

/// The output function of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
/// generators): the value the generator gives in state `x`.
#[inline]
pub fn splitmix64(x: u64) -> u64 {
    let z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Which cycles are active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// All.
    Continuous,
    /// Those with `from <= cycle % period < to`.
    Burst {
        /// Cycles after which the pattern repeats, at least 1.
        period: u64,
        /// First active cycle of a period.
        from: u64,
        /// First cycle of a period after the active ones.
        to: u64,
    },
    /// Those with `least <= (splitmix64(cycle ^ seed) & 7) <= most`.
    Random {
        /// Mixed into the cycle.
        seed: u64,
        /// Least active value.
        least: u64,
        /// Largest active value.
        most: u64,
    },
}

impl Pattern {
    /// A source's bursts: `cycle % 29 < 11`.
    pub const SOURCE_BURST: Self = Self::Burst { period: 29, from: 0, to: 11 };
    /// A sink's bursts: `cycle % 37 > 12`.
    pub const SINK_BURST: Self = Self::Burst { period: 37, from: 13, to: 37 };

    /// A source's random traffic: active on 7 of 8 cycles.
    pub fn source_random(seed: u64) -> Self {
        Self::Random { seed, least: 1, most: 7 }
    }

    /// A sink's random traffic: active on 4 of 8 cycles, by a sequence of its own.
    pub fn sink_random(seed: u64) -> Self {
        Self::Random { seed: seed ^ SINK_SEED, least: 0, most: 3 }
    }

    /// Whether `cycle` is active.
    #[inline]
    pub fn active(&self, cycle: u64) -> bool {
        match *self {
            Self::Continuous => true,
            Self::Burst { period, from, to } => (from..to).contains(&(cycle % period)),
            Self::Random { seed, least, most } => (least..=most).contains(&(splitmix64(cycle ^ seed) & 7)),
        }
    }
}

/// A pattern on every `every`-th cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The pattern.
    pub pattern: Pattern,
    /// Only cycles divisible by this are active; at least 1.
    pub every: u64,
}

impl Default for Gate {
    fn default() -> Self {
        Self { pattern: Pattern::Continuous, every: 1 }
    }
}

impl Gate {
    /// Whether `cycle` is active.
    #[inline]
    pub fn active(&self, cycle: u64) -> bool {
        self.is_open()
            || ((self.every == 1 || cycle.is_multiple_of(self.every)) && self.pattern.active(cycle))
    }

    /// The next cycle after `cycle` that may be active.
    pub fn next(&self, cycle: u64) -> u64 {
        cycle.saturating_add(self.every - cycle % self.every)
    }

    /// Whether every cycle is active.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.every == 1 && matches!(self.pattern, Pattern::Continuous)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The generator's published outputs: seed 0 (Vigna's reference code), and seed 1234567 (Rosetta
    /// Code, "Pseudo-random numbers/Splitmix64").
    #[test]
    fn splitmix64_gives_the_published_numbers() {
        let outputs = |seed: u64, count: u64| -> Vec<u64> {
            (0..count).map(|n| splitmix64(seed.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)))).collect()
        };
        assert_eq!(outputs(0, 3), [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
        assert_eq!(
            outputs(1_234_567, 5),
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
    }

    #[test]
    fn bursts_as_written_down() {
        for cycle in 0..5000u64 {
            assert_eq!(Pattern::SOURCE_BURST.active(cycle), cycle % 29 < 11, "{cycle}");
            assert_eq!(Pattern::SINK_BURST.active(cycle), cycle % 37 > 12, "{cycle}");
        }
    }

    #[test]
    fn gates_open_every_so_many_cycles() {
        let gate = Gate { pattern: Pattern::Burst { period: 10, from: 0, to: 6 }, every: 5 };
        let active: Vec<u64> = (0..30).filter(|&cycle| gate.active(cycle)).collect();
        assert_eq!(active, [0, 5, 10, 15, 20, 25]);
        assert_eq!((gate.next(0), gate.next(4), gate.next(5)), (5, 5, 10));
        assert_eq!(gate.next(u64::MAX), u64::MAX);
    }
}
