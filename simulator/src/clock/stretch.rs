//! Counts the batches of a stretch of time without visiting them.
//!
//! Each domain's edges in the stretch are an arithmetic progression; a batch is a distinct instant of
//! their union. Elements of one progression that also lie in an earlier one are taken off by
//! inclusion and exclusion: the intersection of two progressions is a progression again (Chinese
//! remainder theorem), and most intersections are empty or tiny, so few terms remain. Where more than
//! [`TERMS`] would be needed there is no answer, and the caller visits the batches instead.

use clockweave_model::ClockDomain;
use num_bigint::{BigInt, BigUint};
use num_integer::Integer;
use num_traits::{ToPrimitive, Zero};

/// Most progressions looked at for one count.
const TERMS: u32 = 20_000;

/// `start, start + step, …, last`; never empty.
#[derive(Clone, Debug)]
struct Progression {
    start: BigInt,
    step: BigInt,
    last: BigInt,
}

impl Progression {
    fn new(start: BigInt, step: BigInt, end: &BigInt) -> Option<Self> {
        if start > *end {
            return None;
        }
        let last = &start + (end - &start).div_floor(&step) * &step;
        Some(Self { start, step, last })
    }

    fn len(&self) -> BigInt {
        (&self.last - &self.start) / &self.step + 1
    }

    fn intersect(&self, other: &Self) -> Option<Self> {
        let euclid = self.step.extended_gcd(&other.step);
        let distance = &other.start - &self.start;
        if !distance.is_multiple_of(&euclid.gcd) {
            return None;
        }
        let step = &self.step / &euclid.gcd * &other.step;
        let turns = (&distance / &euclid.gcd * euclid.x).mod_floor(&(&other.step / &euclid.gcd));
        let common = &self.start + turns * &self.step;
        let from = (&self.start).max(&other.start);
        let start = from + (common - from).mod_floor(&step);
        Self::new(start, step, (&self.last).min(&other.last))
    }

    fn within(&self, other: &Self) -> bool {
        other.start <= self.start
            && self.last <= other.last
            && self.step.is_multiple_of(&other.step)
            && (&self.start - &other.start).is_multiple_of(&other.step)
    }
}

/// Elements of `of` that are in none of `others`.
fn alone(of: &Progression, others: &[Progression], terms: &mut u32) -> Option<BigInt> {
    *terms = terms.checked_sub(1)?;
    let mut count = of.len();
    for (at, other) in others.iter().enumerate() {
        if let Some(both) = of.intersect(other) {
            count -= alone(&both, &others[..at], terms)?;
        }
    }
    Some(count)
}

/// Distinct instants among the edges `from[d]..to[d]` of each domain `d`; `None` where that takes too
/// many terms. The edges must be representable.
pub(crate) fn count_instants(domains: &[ClockDomain], from: &[u64], to: &[u64]) -> Option<u128> {
    let grid = domains.iter().fold(BigUint::from(1u32), |grid, d| grid.lcm(&d.denominator_ns().into()));
    let position = |domain: &ClockDomain, cycle| {
        let time = domain.edge(cycle).expect("an edge of the stretch is representable");
        let (num, den) = time.fraction_ns();
        BigInt::from(&grid * time.floor_ns().unsigned_abs() + BigUint::from(num) * (&grid / den))
    };
    let mut progressions: Vec<Progression> = Vec::new();
    for ((domain, &from), &to) in domains.iter().zip(from).zip(to) {
        let Some(last) = to.checked_sub(1).filter(|last| *last >= from) else { continue };
        let (start, end) = (position(domain, from), position(domain, last));
        let step = if last == from { BigInt::from(1) } else { (&end - &start) / (last - from) };
        let progression = Progression { start, step, last: end };
        if !progressions.iter().any(|known| progression.within(known)) {
            progressions.retain(|known| !known.within(&progression));
            progressions.push(progression);
        }
    }
    let mut terms = TERMS;
    let mut total = BigInt::zero();
    for (at, progression) in progressions.iter().enumerate() {
        total += alone(progression, &progressions[..at], &mut terms)?;
    }
    total.to_u128()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clockweave_model::Seconds;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn domain(id: u32, period_ps: u64, phase_ps: u64) -> ClockDomain {
        let (period, phase) = (Seconds::from_ps(period_ps), Seconds::from_ps(phase_ps));
        ClockDomain::with_period(id, &format!("d{id}"), period, phase).unwrap()
    }

    proptest! {
        #[test]
        fn equals_a_set_of_instants(
            clocks in proptest::collection::vec((1u64..40, 0u64..60, 0u64..100, 0u64..200), 1..6),
        ) {
            let domains: Vec<ClockDomain> =
                (1u32..).zip(&clocks).map(|(id, c)| domain(id, c.0, c.1)).collect();
            let from: Vec<u64> = clocks.iter().map(|c| c.2).collect();
            let to: Vec<u64> = clocks.iter().map(|c| c.2 + c.3).collect();
            let instants: BTreeSet<u64> =
                clocks.iter().flat_map(|c| (c.2..c.2 + c.3).map(|n| c.1 + n * c.0)).collect();
            prop_assert_eq!(count_instants(&domains, &from, &to), Some(instants.len() as u128));
        }
    }

    #[test]
    fn ten_simulated_seconds_of_coprime_clocks() {
        let ghz = |id, mhz: u64| {
            ClockDomain::new(id, &format!("d{id}"), format!("{mhz}MHz").parse().unwrap(), Seconds::ZERO)
                .unwrap()
        };
        let domains = [ghz(1, 914), ghz(2, 1326)];
        let counts = [9_140_000_000u64, 13_260_000_000];
        // They meet every 1/gcd = 1/(2 MHz): 2,000,000 times a second.
        assert_eq!(
            count_instants(&domains, &[0, 0], &counts),
            Some(9_140_000_000 + 13_260_000_000 - 10 * 2_000_000)
        );
    }
}
