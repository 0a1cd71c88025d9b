//! Exact figures: ratios of big integers, and times as whole ticks that compare as words.

use num_bigint::BigUint;
use num_integer::Integer;
use num_rational::Ratio;
use serde::ser::{Serialize, SerializeMap, Serializer};

use clockweave_model::{ClockDomain, ExactTime};

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Edges of a clock.
    Edges,
    /// Entries of a FIFO's memory.
    Entries,
    /// Packets.
    Packets,
    /// Packets per second.
    PerSecond,
    /// Packets per edge.
    PerEdge,
    /// Events.
    Events,
    /// Stretches of time.
    Stretches,
    /// A part of a whole, 1 for all of it.
    Share,
}

impl Unit {
    /// The unit's name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Edges => "edges",
            Self::Entries => "entries",
            Self::Packets => "packets",
            Self::PerSecond => "packets/s",
            Self::PerEdge => "packets/edge",
            Self::Events => "events",
            Self::Stretches => "stretches",
            Self::Share => "1",
        }
    }
}

/// An exact figure and what it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// What it counts.
    pub unit: Unit,
    /// The reduced value.
    pub value: Ratio<BigUint>,
}

impl Figure {
    pub(crate) fn new(unit: Unit, value: Ratio<BigUint>) -> Self {
        Self { unit, value }
    }

    /// `part / all`, if there is anything to be part of.
    pub(crate) fn quotient(unit: Unit, part: &Ratio<BigUint>, all: &Ratio<BigUint>) -> Option<Self> {
        (*all.numer() != BigUint::ZERO).then(|| Self { unit, value: part / all })
    }

    /// The value in decimal, rounded half up to `places` digits after the point.
    pub fn decimal(&self, places: u32) -> String {
        decimal(&self.value, places)
    }
}

/// Seconds have the keys `time_num` and `time_den`, anything else `num` and `den`; all are strings of digits.
impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (num, den) = if self.unit == Unit::Seconds { ("time_num", "time_den") } else { ("num", "den") };
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry(num, &self.value.numer().to_string())?;
        map.serialize_entry(den, &self.value.denom().to_string())?;
        map.end()
    }
}

/// A whole number as a ratio.
pub(crate) fn whole(value: impl Into<BigUint>) -> Ratio<BigUint> {
    Ratio::from_integer(value.into())
}

/// A ratio of words as one of big integers.
pub(crate) fn wide(ratio: Ratio<u64>) -> Ratio<BigUint> {
    let (num, den) = ratio.into();
    Ratio::new_raw(num.into(), den.into())
}

/// A ratio in decimal, rounded half up to `places` digits after the point.
pub(crate) fn decimal(value: &Ratio<BigUint>, places: u32) -> String {
    let scale = BigUint::from(10u32).pow(places);
    let twice = value.denom() * 2u32;
    let scaled = (value.numer() * &scale * 2u32 + value.denom()) / twice;
    let (before, after) = scaled.div_rem(&scale);
    match places {
        0 => before.to_string(),
        _ => format!("{before}.{after:0>width$}", width = places as usize),
    }
}

/// Words of [`Ticks`], the highest first.
const WORDS: usize = 5;

/// A time in ticks of some [`Scale`]. Times end at 2^63 ns, which are fewer than 2^34 s, and a scale has fewer
/// than 2^256 ticks per second, so 320 bits hold any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Ticks(pub(crate) [u64; WORDS]);

impl From<u128> for Ticks {
    fn from(value: u128) -> Self {
        Self([0, 0, 0, (value >> 64) as u64, value as u64])
    }
}

impl From<u64> for Ticks {
    fn from(value: u64) -> Self {
        Self([0, 0, 0, 0, value])
    }
}

impl Ticks {
    fn from_big(value: &BigUint) -> Self {
        let mut words = [0; WORDS];
        for (word, digit) in words.iter_mut().rev().zip(value.iter_u64_digits()) {
            *word = digit;
        }
        Self(words)
    }

    /// The number.
    pub(crate) fn to_big(self) -> BigUint {
        self.0.iter().fold(BigUint::ZERO, |value, word| (value << 64u32) + *word)
    }
}

/// Ticks that make every edge of two clocks a whole number.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    /// Ticks per second.
    per_second: BigUint,
    /// Phase and period of each clock in ticks.
    wide: [(BigUint, BigUint); 2],
    /// The same where every edge fits 128 bits.
    narrow: Option<[(u128, u128); 2]>,
}

impl Scale {
    pub(crate) fn new(clocks: [&ClockDomain; 2]) -> Self {
        let parts = clocks.map(|clock| (clock.phase().ratio(), clock.period().ratio()));
        let dens = parts.iter().flat_map(|(phase, period)| [*phase.denom(), *period.denom()]);
        let per_second = dens.fold(BigUint::from(1u32), |all, den| all.lcm(&den.into()));
        let ticks = |ratio: &Ratio<u64>| &per_second / *ratio.denom() * *ratio.numer();
        let wide = parts.each_ref().map(|(phase, period)| (ticks(phase), ticks(period)));
        let fits = wide.iter().zip(clocks).all(|((phase, period), clock)| {
            (phase + period * clock.max_edge()).bits() <= 128 && period.bits() <= 128
        });
        let word = |value: &BigUint| u128::try_from(value).ok();
        let narrow = fits
            .then(|| {
                let [first, second] =
                    wide.each_ref().map(|(phase, period)| Some((word(phase)?, word(period)?)));
                Some([first?, second?])
            })
            .flatten();
        Self { per_second, wide, narrow }
    }

    /// Ticks from edge `from` of one clock to edge `to` of one; 0 if that is earlier. Both edges are at most their
    /// horizon.
    #[inline]
    pub(crate) fn between(&self, from: (usize, u64), to: (usize, u64)) -> Ticks {
        match &self.narrow {
            Some(clocks) => {
                let at = |(clock, cycle): (usize, u64)| clocks[clock].0 + clocks[clock].1 * u128::from(cycle);
                at(to).saturating_sub(at(from)).into()
            }
            None => {
                let at = |(clock, cycle): (usize, u64)| &self.wide[clock].0 + &self.wide[clock].1 * cycle;
                let (from, to) = (at(from), at(to));
                if to > from { Ticks::from_big(&(to - from)) } else { Ticks::default() }
            }
        }
    }

    /// Ticks per second.
    pub(crate) fn per_second(&self) -> &BigUint {
        &self.per_second
    }
}

/// The time between two instants; none if the second is earlier.
pub(crate) fn elapsed(from: &ExactTime, to: &ExactTime) -> Ratio<BigUint> {
    if to > from { to.to_ratio() - from.to_ratio() } else { whole(0u32) }
}

/// Edges of `clock` after `from`, up to and with `to`.
#[inline]
pub(crate) fn edges_between(clock: &ClockDomain, from: &ExactTime, to: &ExactTime) -> u64 {
    edges_until(clock, to).saturating_sub(edges_until(clock, from))
}

/// Edges of `clock` up to and with `time`, as far as they are representable.
pub(crate) fn edges_until(clock: &ClockDomain, time: &ExactTime) -> u64 {
    clock.edge_after(time).unwrap_or_else(|_| clock.max_edge().saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clockweave_model::Seconds;
    use proptest::prelude::*;

    fn domain(id: u32, period: (u64, u64), phase: (u64, u64)) -> ClockDomain {
        let span = |(num, den)| Seconds::from_ratio(num, den).unwrap();
        ClockDomain::with_period(id, &format!("d{id}"), span(period), span(phase)).unwrap()
    }

    #[test]
    fn decimals_round_half_up() {
        let of = |num: u32, den: u32, places| decimal(&Ratio::new(num.into(), den.into()), places);
        assert_eq!(of(2, 3, 3), "0.667");
        assert_eq!(of(1, 8, 2), "0.13");
        assert_eq!(of(1, 8, 3), "0.125");
        assert_eq!(of(1999, 1000, 2), "2.00");
        assert_eq!(of(5, 2, 0), "3");
        assert_eq!(of(0, 1, 2), "0.00");
    }

    proptest! {
        #[test]
        fn ticks_are_the_rational_difference_and_order_as_it_does(
            pn in 1u64..100_000, pd in 1u64.., qn in 0u64..1_000, qd in 1u64..,
            other in 1u64..5_000_000_000, small in any::<bool>(), cycles in (any::<u64>(), any::<u64>(), any::<u64>()),
        ) {
            let shrink = |x: u64| if small { x % 5_000_000_000 + 1 } else { x };
            let (period, phase) = ((pn, shrink(pd)), (qn, shrink(qd)));
            let clocks = [domain(1, period, phase), domain(2, (1, other), (0, 1))];
            let scale = Scale::new([&clocks[0], &clocks[1]]);
            let cycle = |clock: usize, cycle: u64| cycle % clocks[clock].max_edge().max(1);
            let at = |clock: usize, cycle: u64| clocks[clock].edge(cycle).unwrap();
            let (a, b, c) = (cycle(0, cycles.0), cycle(1, cycles.1), cycle(1, cycles.2));
            let expected = elapsed(&at(0, a), &at(1, b));
            let found = scale.between((0, a), (1, b));
            prop_assert_eq!(Ratio::new(found.to_big(), scale.per_second().clone()), expected.clone());
            let other = scale.between((0, a), (1, c));
            prop_assert_eq!(found.cmp(&other), expected.cmp(&elapsed(&at(0, a), &at(1, c))));
        }
    }

    #[test]
    fn machine_words_do_for_usual_clocks() {
        let sm = domain(1, (1, 914_000_000), (0, 1));
        let lts = domain(2, (1, 1_326_000_000), (137, 1_000_000_000_000));
        assert!(Scale::new([&sm, &lts]).narrow.is_some());
        let odd = domain(3, (1, u64::MAX), (1, u64::MAX - 2));
        assert!(Scale::new([&sm, &odd]).narrow.is_none());
    }

    #[test]
    fn edges_are_counted_after_the_first_instant_and_with_the_second() {
        let clock = domain(1, (1, 1_000_000_000), (0, 1));
        let at = |ns| ExactTime::from_ns(ns).unwrap();
        assert_eq!(edges_between(&clock, &at(0), &at(5)), 5);
        let late = domain(2, (1, 1_000_000_000), (137, 1_000_000_000_000));
        assert_eq!(edges_between(&late, &at(0), &at(5)), 5);
        assert_eq!(edges_between(&late, &at(0), &at(0)), 0);
        assert_eq!(edges_between(&late, &at(5), &at(0)), 0);
    }
}
