//! When the two ends of a FIFO are active, as functions of their own local cycle.

const SEED: u64 = 0xC10C_0914_1326;

/// The output function of splitmix64.
pub(crate) fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Traffic {
    Continuous,
    Burst,
    Random,
}

impl Traffic {
    pub(crate) fn source(self, cycle: u64) -> bool {
        match self {
            Self::Continuous => true,
            Self::Burst => cycle % 29 < 11,
            Self::Random => mix(cycle ^ SEED) & 7 != 0,
        }
    }

    pub(crate) fn sink(self, cycle: u64) -> bool {
        match self {
            Self::Continuous => true,
            Self::Burst => cycle % 37 > 12,
            Self::Random => mix(cycle ^ SEED ^ 0xA55A) & 7 < 4,
        }
    }
}

/// The first output of the published generator seeded with 0, and with 1234567.
#[test]
fn the_mixing_function_is_the_published_one() {
    assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
    assert_eq!(mix(1_234_567), 6_457_827_717_110_365_317);
}
