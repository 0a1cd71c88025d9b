//! The exact time of every edge in two forms: one that compares fast, and the text of merged rows.
//!
//! Invariants: both forms are exact for every edge up to a domain's horizon; the fast path (integers
//! on a common lattice, gcd in machine words) and the wide one (cross products, big rationals) give
//! the same order and the same text. Deliberately knows nothing of logs.

use std::fmt::Write as _;

use clockweave_model::{ClockDomain, ExactTime, Lattice};
use num_integer::Integer;

/// Instants that compare across domains.
pub(crate) trait Timeline {
    /// An exact instant.
    type Instant: Copy + Ord;
    /// The instant of edge `cycle`, at most the horizon, of the domain with index `domain`.
    fn at(&self, domain: u32, cycle: u64) -> Self::Instant;
    /// Display nanoseconds.
    fn floor_ns(&self, at: &Self::Instant) -> i64;
}

/// All domains on one lattice: 128-bit integers.
#[derive(Debug)]
pub(crate) struct OnLattice {
    per_ns: u64,
    /// (phase, period) in ticks, by domain index.
    clocks: Vec<(u128, u128)>,
}

impl OnLattice {
    /// The common lattice of `domains`, if there is one.
    pub(crate) fn new(domains: &[ClockDomain]) -> Option<Self> {
        let lattice = Lattice::covering(domains)?;
        let clock = |domain: &ClockDomain| {
            let phase = lattice.tick(&domain.edge(0).ok()?)?;
            // A period beyond the horizon is never multiplied by more than 0.
            Some((phase, lattice.period(domain).unwrap_or(0)))
        };
        Some(Self { per_ns: lattice.per_ns(), clocks: domains.iter().map(clock).collect::<Option<_>>()? })
    }
}

/// `a / b` without the wide division where machine words do.
#[inline]
fn quotient(a: u128, b: u64) -> u128 {
    match u64::try_from(a) {
        Ok(a) => (a / b).into(),
        Err(_) => a / u128::from(b),
    }
}

impl Timeline for OnLattice {
    type Instant = u128;

    #[inline]
    fn at(&self, domain: u32, cycle: u64) -> u128 {
        let (phase, period) = self.clocks[domain as usize];
        phase + period * u128::from(cycle)
    }

    #[inline]
    fn floor_ns(&self, at: &u128) -> i64 {
        i64::try_from(quotient(*at, self.per_ns)).expect("an edge up to the horizon fits 64-bit nanoseconds")
    }
}

/// Any domains: wide cross products.
#[derive(Debug)]
pub(crate) struct Wide<'a>(pub(crate) &'a [ClockDomain]);

impl Timeline for Wide<'_> {
    type Instant = ExactTime;

    fn at(&self, domain: u32, cycle: u64) -> ExactTime {
        self.0[domain as usize].edge(cycle).expect("a cycle up to the horizon has a time")
    }

    fn floor_ns(&self, at: &ExactTime) -> i64 {
        at.floor_ns()
    }
}

/// The reduced ratio of seconds of a domain's edges.
#[derive(Debug)]
pub(crate) enum Seconds<'a> {
    /// `(phase + n * period) / den`, at most 98 bits over 64.
    Narrow { phase: u128, period: u128, den: u64 },
    /// The common denominator of period and phase is wider.
    Wide(&'a ClockDomain),
}

impl<'a> Seconds<'a> {
    pub(crate) fn new(domain: &'a ClockDomain) -> Self {
        let (period, phase) = (domain.period().ratio(), domain.phase().ratio());
        let shared = period.denom().gcd(phase.denom());
        match (period.denom() / shared).checked_mul(*phase.denom()) {
            Some(den) => Self::Narrow {
                phase: u128::from(*phase.numer()) * u128::from(den / phase.denom()),
                period: u128::from(*period.numer()) * u128::from(den / period.denom()),
                den,
            },
            None => Self::Wide(domain),
        }
    }

    /// Appends `numerator TAB denominator TAB` of edge `cycle`, at most the horizon.
    #[inline]
    pub(crate) fn push(&self, cycle: u64, out: &mut Vec<u8>) {
        match self {
            Self::Narrow { phase, period, den } => {
                // The horizon bounds the product: 2^63 ns in units of 1/den s.
                let num = phase + period * u128::from(cycle);
                let (num, den) = reduced(num, *den);
                match u64::try_from(num) {
                    Ok(num) => push_decimal(num, out),
                    Err(_) => out.extend_from_slice(itoa::Buffer::new().format(num).as_bytes()),
                }
                out.push(b'\t');
                push_decimal(den, out);
                out.push(b'\t');
            }
            Self::Wide(domain) => {
                let ratio = domain.edge(cycle).expect("a cycle up to the horizon has a time").to_ratio();
                let mut text = String::new();
                write!(text, "{}\t{}\t", ratio.numer(), ratio.denom())
                    .expect("strings take what they are given");
                out.extend_from_slice(text.as_bytes());
            }
        }
    }
}

#[inline]
fn reduced(num: u128, den: u64) -> (u128, u64) {
    let rest = match u64::try_from(num) {
        Ok(num) => num % den,
        Err(_) => u64::try_from(num % u128::from(den)).expect("a remainder is below its divisor"),
    };
    let shared = rest.gcd(&den);
    (quotient(num, shared), den / shared)
}

#[inline]
pub(crate) fn push_decimal(value: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use clockweave_model::Seconds as Span;
    use num_bigint::BigUint;
    use num_rational::Ratio;
    use proptest::prelude::*;

    fn domain(id: u32, period: (u64, u64), phase: (u64, u64)) -> ClockDomain {
        let span = |(num, den)| Span::from_ratio(num, den).unwrap();
        ClockDomain::with_period(id, &format!("d{id}"), span(period), span(phase)).unwrap()
    }

    fn text(domain: &ClockDomain, cycle: u64) -> String {
        let mut out = Vec::new();
        Seconds::new(domain).push(cycle, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// The reduced time by big rationals alone.
    fn big(period: (u64, u64), phase: (u64, u64), cycle: u64) -> Ratio<BigUint> {
        let ratio = |(num, den): (u64, u64)| Ratio::new(BigUint::from(num), BigUint::from(den));
        ratio(phase) + ratio(period) * BigUint::from(cycle)
    }

    #[test]
    fn known_times() {
        let lts = domain(2, (1, 1_326_000_000), (137, 1_000_000_000_000));
        assert_eq!(text(&lts, 0), "137\t1000000000000\t");
        // 1451 / 1326 MHz + 137 ps over 663 * 10^12.
        assert_eq!(text(&lts, 1451), "725590831\t663000000000000\t");
        assert_eq!(text(&domain(1, (1, 4_000_000_000), (0, 1)), 6), "3\t2000000000\t");
        assert_eq!(text(&domain(1, (1, 4_000_000_000), (0, 1)), 0), "0\t1\t");
    }

    proptest! {
        #[test]
        fn text_and_order_equal_those_of_big_rationals(
            pn in 1u64..100_000, pd in 1u64.., qn in 0u64..1_000, qd in 1u64..,
            other in 1u64..5_000_000_000, small in any::<bool>(), cycles in (any::<u64>(), any::<u64>()),
        ) {
            let shrink = |x: u64| if small { x % 5_000_000_000 + 1 } else { x };
            let (period, phase) = ((pn, shrink(pd)), (qn, shrink(qd)));
            let (a, b) = (domain(1, period, phase), domain(2, (1, other), (0, 1)));
            let (n, m) = (cycles.0 % a.max_edge().saturating_add(1).max(1), cycles.1 % b.max_edge());
            let (exact, second) = (big(period, phase, n), big((1, other), (0, 1), m));
            prop_assert_eq!(text(&a, n), format!("{}\t{}\t", exact.numer(), exact.denom()));
            let ns = (&exact * BigUint::from(1_000_000_000u32)).floor().to_integer();
            let domains = [a, b];
            let wide = Wide(&domains);
            prop_assert_eq!(wide.at(0, n).cmp(&wide.at(1, m)), exact.cmp(&second));
            prop_assert_eq!(BigUint::from(wide.floor_ns(&wide.at(0, n)).unsigned_abs()), ns.clone());
            if let Some(lattice) = OnLattice::new(&domains) {
                prop_assert_eq!(lattice.at(0, n).cmp(&lattice.at(1, m)), exact.cmp(&second));
                prop_assert_eq!(BigUint::from(lattice.floor_ns(&lattice.at(0, n)).unsigned_abs()), ns);
            }
        }
    }
}
