//! Exact edge times from the manifest's rationals alone.
//!
//! Edge n of a domain is at (offset + n * step) / den nanoseconds with integers reduced once per domain. Where every
//! edge fits 128 bits, that is the arithmetic; otherwise big integers are. No float, no rounding but the one floor.

use std::cmp::Ordering;

use num_bigint::BigUint;
use num_integer::Integer;
use num_traits::ToPrimitive;

use crate::run::Domain;

const NS: u64 = 1_000_000_000;

/// One domain's edge times.
#[derive(Clone, Debug)]
pub(crate) struct EdgeTimes {
    offset: BigUint,
    step: BigUint,
    den: BigUint,
    /// The same where (offset + u64::MAX * step) fits 128 bits.
    narrow: Option<(u128, u128, u128)>,
}

impl EdgeTimes {
    pub(crate) fn new(domain: &Domain) -> Self {
        let den = domain.period.1.lcm(&domain.phase.1);
        let offset = &domain.phase.0 * (&den / &domain.phase.1) * NS;
        let step = &domain.period.0 * (&den / &domain.period.1) * NS;
        let common = offset.gcd(&step).gcd(&den);
        let (offset, step, den) = (offset / &common, step / &common, den / &common);
        let last = &offset + &step * u64::MAX;
        let narrow = last.to_u128().and_then(|_| Some((offset.to_u128()?, step.to_u128()?, den.to_u128()?)));
        Self { offset, step, den, narrow }
    }

    /// floor of the edge's time in ns, or `None` beyond what a trace can hold.
    #[inline]
    pub(crate) fn floor_ns(&self, cycle: u64) -> Option<i64> {
        match self.narrow {
            Some((offset, step, den)) => {
                let numerator = offset + u128::from(cycle) * step;
                let ns = match (u64::try_from(numerator), u64::try_from(den)) {
                    (Ok(numerator), Ok(den)) => u128::from(numerator / den),
                    _ => numerator / den,
                };
                i64::try_from(ns).ok()
            }
            None => ((&self.offset + &self.step * cycle) / &self.den).to_i64(),
        }
    }

    /// The edge's time in ns as (numerator, denominator).
    fn fraction(&self, cycle: u64) -> (BigUint, &BigUint) {
        (&self.offset + &self.step * cycle, &self.den)
    }

    /// Which of two edges is earlier, exactly.
    pub(crate) fn compare(&self, cycle: u64, other: &Self, other_cycle: u64) -> Ordering {
        if let (Some((offset, step, den)), Some((other_offset, other_step, other_den))) =
            (self.narrow, other.narrow)
        {
            let left = offset + u128::from(cycle) * step;
            let right = other_offset + u128::from(other_cycle) * other_step;
            let whole = (left / den).cmp(&(right / other_den));
            let (left, right) = (left % den, right % other_den);
            if whole != Ordering::Equal {
                return whole;
            }
            if let (Some(left), Some(right)) = (left.checked_mul(other_den), right.checked_mul(den)) {
                return left.cmp(&right);
            }
        }
        let ((left, left_den), (right, right_den)) = (self.fraction(cycle), other.fraction(other_cycle));
        (left * right_den).cmp(&(right * left_den))
    }
}

#[cfg(test)]
mod tests {
    use num_rational::Ratio;

    use super::*;

    fn domain(period: (&str, &str), phase: (&str, &str)) -> Domain {
        let number = |text: &str| text.parse::<BigUint>().unwrap();
        let ratio = |(num, den): (&str, &str)| (number(num), number(den));
        Domain { id: 1, name: "d".into(), period: ratio(period), phase: ratio(phase) }
    }

    /// The definition, in rationals.
    fn seconds(domain: &Domain, cycle: u64) -> Ratio<BigUint> {
        let ratio = |pair: &(BigUint, BigUint)| Ratio::new(pair.0.clone(), pair.1.clone());
        ratio(&domain.phase) + ratio(&domain.period) * Ratio::from_integer(BigUint::from(cycle))
    }

    fn zoo() -> Vec<Domain> {
        vec![
            domain(("1", "914000000"), ("0", "1")),
            domain(("2", "2652000000"), ("137", "1000000000000")),
            domain(("3", "5"), ("1", "7")),
            domain(("1", "1"), ("0", "1")),
            domain(("1", "4000000000"), ("0", "9")),
            domain(("1", "1000000000000"), ("1", "1000000000000000")),
            domain(
                (
                    "340282366920938463463374607431768211457",
                    "340282366920938463463374607431768211456000000000",
                ),
                ("1", "3"),
            ),
        ]
    }

    #[test]
    fn floors_are_those_of_the_definition_in_rationals() {
        for domain in zoo() {
            let times = EdgeTimes::new(&domain);
            for cycle in (0..200).chain([1_000_000_007, 10_u64.pow(12), 1 << 53, u64::MAX / 3, u64::MAX]) {
                let exact = (seconds(&domain, cycle) * BigUint::from(NS)).floor().to_integer();
                assert_eq!(times.floor_ns(cycle), exact.to_i64(), "{domain:?} edge {cycle}");
            }
        }
        assert!(EdgeTimes::new(&zoo()[6]).narrow.is_none() && EdgeTimes::new(&zoo()[1]).narrow.is_some());
    }

    #[test]
    fn comparisons_are_those_of_the_definition_in_rationals() {
        for left in zoo() {
            for right in zoo() {
                let (left_times, right_times) = (EdgeTimes::new(&left), EdgeTimes::new(&right));
                for (a, b) in
                    [(0, 0), (1, 1), (914, 1326), (3, 2), (457_000_000, 663_000_000), (u64::MAX, u64::MAX)]
                {
                    let exact = seconds(&left, a).cmp(&seconds(&right, b));
                    assert_eq!(left_times.compare(a, &right_times, b), exact, "{left:?} {a}, {right:?} {b}");
                }
            }
        }
    }

    #[test]
    fn hand_computed_edges() {
        // 914 MHz: edge 171 is at 187.0897… ns. 1326 MHz + 137 ps: edge 248 at 187.1657… ns.
        assert_eq!(EdgeTimes::new(&zoo()[0]).floor_ns(171), Some(187));
        assert_eq!(EdgeTimes::new(&zoo()[1]).floor_ns(248), Some(187));
        // 4 GHz: four edges share a nanosecond.
        let fast = EdgeTimes::new(&zoo()[4]);
        assert_eq!([3, 4, 7, 8].map(|cycle| fast.floor_ns(cycle).unwrap()), [0, 1, 1, 2]);
    }
}
