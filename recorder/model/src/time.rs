//! One exact instant, and the wide comparison of any two.
//!
//! # Invariants
//!
//! * An instant is `ns + num / den` nanoseconds with `0 <= num < den`, so `ns` *is* the display
//!   nanosecond and never has to be derived by division.
//! * Equality and order are those of the rational value; the representation need not be reduced,
//!   because instants of one domain then share their denominator and compare by numerator alone.

use std::cmp::Ordering;
use std::fmt;

use num_bigint::BigUint;
use num_integer::Integer;
use num_rational::Ratio;
use num_traits::ToPrimitive;

use crate::quantity::Seconds;

/// A time outside what Perfetto's signed 64-bit nanoseconds, or a 64-bit local cycle, can hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TimeError {
    /// The edge is later than the domain can represent.
    #[error(
        "domain `{domain}`: edge {cycle} is out of range; the last edge whose time fits 64-bit nanoseconds \
         and whose number fits 64 bits is {max_edge}"
    )]
    EdgeOutOfRange {
        /// Name of the clock domain.
        domain: String,
        /// The edge asked for. 2^64 - 1 stands for that edge and any beyond.
        cycle: u64,
        /// The last representable edge.
        max_edge: u64,
    },
    /// No edge of the domain lies at or after the time asked for.
    #[error("domain `{domain}`: no representable edge at or after {time}")]
    NoSuchEdge {
        /// Name of the clock domain.
        domain: String,
        /// The time asked for.
        time: String,
    },
    /// The time does not fit 64-bit nanoseconds.
    #[error("{time} s does not fit signed 64-bit nanoseconds (about 292 years)")]
    OutOfRange {
        /// The time, as a ratio of seconds.
        time: String,
    },
}

/// An exact instant: a non-negative rational number of seconds below 2^63 nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct ExactTime {
    ns: u64,
    num: u128,
    den: u128,
}

/// The full product of two 128-bit numbers as (high, low).
fn wide_product(a: u128, b: u128) -> (u128, u128) {
    const LOW: u128 = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> 64, a & LOW, b >> 64, b & LOW);
    let low = a0 * b0;
    let middle = a1 * b0 + (low >> 64);
    let other = a0 * b1 + (middle & LOW);
    (a1 * b1 + (middle >> 64) + (other >> 64), (other << 64) | (low & LOW))
}

/// Compares `an / ad` with `bn / bd`; both denominators are positive.
fn compare_fractions(an: u128, ad: u128, bn: u128, bd: u128) -> Ordering {
    if ad == bd {
        return an.cmp(&bn);
    }
    if (an | ad | bn | bd) >> 64 == 0 {
        return (an * bd).cmp(&(bn * ad));
    }
    wide_product(an, bd).cmp(&wide_product(bn, ad))
}

impl ExactTime {
    /// The start of simulated time.
    pub const ZERO: Self = Self { ns: 0, num: 0, den: 1 };

    /// `ns + num / den` nanoseconds.
    ///
    /// # Panics
    /// If the fraction is not in `[0, 1)` or `ns` exceeds `i64::MAX`: callers hold these.
    pub(crate) fn from_parts(ns: u64, num: u128, den: u128) -> Self {
        assert!(num < den && i64::try_from(ns).is_ok(), "an instant is whole ns plus a fraction below one");
        Self { ns, num, den }
    }

    /// A whole number of nanoseconds.
    ///
    /// # Errors
    /// More than `i64::MAX`.
    pub fn from_ns(ns: u64) -> Result<Self, TimeError> {
        match i64::try_from(ns) {
            Ok(_) => Ok(Self { ns, num: 0, den: 1 }),
            Err(_) => Err(TimeError::OutOfRange { time: format!("{ns}/1000000000") }),
        }
    }

    /// The instant `seconds` after the start.
    ///
    /// # Errors
    /// 2^63 nanoseconds or more.
    pub fn from_seconds(seconds: Seconds) -> Result<Self, TimeError> {
        let (num, den) = (u128::from(*seconds.ratio().numer()), u128::from(*seconds.ratio().denom()));
        let scaled = num * 1_000_000_000;
        match i64::try_from(scaled / den) {
            Ok(ns) => Ok(Self { ns: ns.unsigned_abs(), num: scaled % den, den }),
            Err(_) => Err(TimeError::OutOfRange { time: format!("{num}/{den}") }),
        }
    }

    /// Display nanoseconds: `floor(t * 10^9)`.
    pub fn floor_ns(&self) -> i64 {
        self.ns.cast_signed()
    }

    /// The part below the display nanosecond, as an unreduced fraction of a nanosecond.
    pub fn fraction_ns(&self) -> (u128, u128) {
        (self.num, self.den)
    }

    /// Compares two fractions given as numerator and positive denominator.
    pub fn compare_fractions(left: (u128, u128), right: (u128, u128)) -> Ordering {
        compare_fractions(left.0, left.1, right.0, right.1)
    }

    /// The part below the display nanosecond in ticks of `1 / per_ns` ns, rounded up.
    pub fn fraction_ceiling(&self, per_ns: u64) -> u64 {
        let ceiling = match self.num.checked_mul(per_ns.into()) {
            Some(scaled) => scaled.div_ceil(self.den).to_u64(),
            None => (BigUint::from(self.num) * per_ns).div_ceil(&BigUint::from(self.den)).to_u64(),
        };
        ceiling.expect("a fraction below one has at most `per_ns` ticks")
    }

    /// Whether this is the start of simulated time.
    pub fn is_zero(&self) -> bool {
        self.ns == 0 && self.num == 0
    }

    /// The exact time in seconds, reduced.
    pub fn to_ratio(&self) -> Ratio<BigUint> {
        let den = BigUint::from(self.den);
        let num = BigUint::from(self.ns) * &den + self.num;
        Ratio::new(num, den * 1_000_000_000u32)
    }
}

impl PartialEq for ExactTime {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ExactTime {}

impl PartialOrd for ExactTime {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ExactTime {
    fn cmp(&self, other: &Self) -> Ordering {
        self.ns.cmp(&other.ns).then_with(|| compare_fractions(self.num, self.den, other.num, other.den))
    }
}

impl fmt::Display for ExactTime {
    /// The reduced ratio in seconds, as in `1/914000000 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ratio = self.to_ratio();
        write!(f, "{}/{} s", ratio.numer(), ratio.denom())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn wide_product_equals_big_integers(a: u128, b: u128) {
            let (high, low) = wide_product(a, b);
            prop_assert_eq!((BigUint::from(high) << 128u32) + low, BigUint::from(a) * b);
        }

        #[test]
        fn order_equals_that_of_big_rationals(
            ns in 0u64..3, a: u128, b: u128, ad in 1u128.., bd in 1u128.., small in any::<bool>(),
        ) {
            let shrink = |x: u128| if small { x >> 96 } else { x };
            let (ad, bd) = (shrink(ad).max(1), shrink(bd).max(1));
            let left = ExactTime::from_parts(1, shrink(a) % ad, ad);
            let right = ExactTime::from_parts(ns, shrink(b) % bd, bd);
            prop_assert_eq!(left.cmp(&right), left.to_ratio().cmp(&right.to_ratio()));
        }
    }

    #[test]
    fn equality_is_by_value() {
        assert_eq!(ExactTime::from_parts(3, 1, 2), ExactTime::from_parts(3, 500, 1000));
        assert_eq!(ExactTime::from_parts(0, 1, 2).to_string(), "1/2000000000 s");
    }

    #[test]
    fn the_display_range_ends_at_i64() {
        let last = i64::MAX.unsigned_abs();
        assert_eq!(ExactTime::from_ns(last).unwrap().floor_ns(), i64::MAX);
        assert!(ExactTime::from_ns(last + 1).is_err());
        assert!(ExactTime::from_seconds(Seconds::from_ratio(9_223_372_037, 1).unwrap()).is_err());
        assert_eq!(
            ExactTime::from_seconds(Seconds::from_ratio(9_223_372_036, 1).unwrap()).unwrap().floor_ns(),
            9_223_372_036_000_000_000
        );
    }
}
