//! A common denominator for a set of domains: the fast path of cross-domain comparison.
//!
//! A lattice divides the nanosecond into `per_ns` ticks such that every edge of every covered
//! domain is a whole tick. It exists when that number fits 64 bits; any representable instant is
//! then below 2^127 ticks, so 128-bit integers add, compare and test for coincidence exactly.
//! Where no lattice exists, [`ExactTime`] compares by a wide cross product instead.

use num_integer::Integer;

use crate::domain::ClockDomain;
use crate::time::ExactTime;

/// Ticks per nanosecond that make every edge of the covered domains a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lattice {
    per_ns: u64,
}

impl Lattice {
    /// The coarsest lattice for `domains`, if its ticks per nanosecond fit 64 bits.
    pub fn covering<'a>(domains: impl IntoIterator<Item = &'a ClockDomain>) -> Option<Self> {
        let mut per_ns = 1u64;
        for domain in domains {
            let den = u64::try_from(domain.denominator_ns()).ok()?;
            per_ns = per_ns.checked_mul(den / per_ns.gcd(&den))?;
        }
        Some(Self { per_ns })
    }

    /// Ticks per nanosecond.
    pub fn per_ns(self) -> u64 {
        self.per_ns
    }

    /// The tick of `time`, if it is on the lattice.
    pub fn tick(self, time: &ExactTime) -> Option<u128> {
        let (num, den) = time.fraction_ns();
        let part = num.checked_mul(self.per_ns.into())?;
        (part % den == 0)
            .then(|| u128::from(time.floor_ns().unsigned_abs()) * u128::from(self.per_ns) + part / den)
    }

    /// One period of a covered domain in ticks; `None` where it is longer than 2^63 nanoseconds, or
    /// the domain is not covered.
    pub fn period(self, domain: &ClockDomain) -> Option<u128> {
        let (num, den) = (*domain.period().ratio().numer(), *domain.period().ratio().denom());
        let scaled = u128::from(num) * 1_000_000_000;
        let (whole, rest) = (scaled / u128::from(den), scaled % u128::from(den));
        let part = rest * u128::from(self.per_ns);
        if i64::try_from(whole).is_err() || part % u128::from(den) != 0 {
            return None;
        }
        Some(whole * u128::from(self.per_ns) + part / u128::from(den))
    }

    /// The instant at `tick`.
    ///
    /// # Panics
    /// If the instant is 2^63 nanoseconds or later; covered edges never are.
    pub fn time(self, tick: u128) -> ExactTime {
        let per_ns = u128::from(self.per_ns);
        let ns = u64::try_from(tick / per_ns).expect("a tick within 64-bit nanoseconds");
        ExactTime::from_parts(ns, tick % per_ns, per_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::Seconds;
    use proptest::prelude::*;

    fn domain(id: u32, num: u64, den: u64, phase_num: u64, phase_den: u64) -> ClockDomain {
        let period = Seconds::from_ratio(num, den).unwrap();
        let phase = Seconds::from_ratio(phase_num, phase_den).unwrap();
        ClockDomain::with_period(id, &format!("d{id}"), period, phase).unwrap()
    }

    #[test]
    fn the_reference_pair_has_a_small_lattice() {
        let sm = domain(1, 1, 914_000_000, 0, 1);
        let lts = domain(2, 1, 1_326_000_000, 137, 1_000_000_000_000);
        let lattice = Lattice::covering([&sm, &lts]).unwrap();
        // 914 MHz has denominator 457, 1326 MHz 663, 137 ps 1000; all coprime.
        assert_eq!(lattice.per_ns(), 457 * 663 * 1000);
        assert_eq!(lattice.period(&sm), Some(500 * 663 * 1000));
        assert_eq!(lattice.tick(&lts.edge(0).unwrap()), Some(137 * 457 * 663));
    }

    proptest! {
        #[test]
        fn lattice_and_cross_product_agree(
            an in 1u64..5000, ad in 1u64..5_000_000_000, bn in 1u64..5000, bd in 1u64..5_000_000_000,
            phase in 0u64..10_000, n in 0u64..1_000_000, m in 0u64..1_000_000,
        ) {
            let a = domain(1, an, ad, phase, 1_000_000_000_000);
            let b = domain(2, bn, bd, 0, 1);
            let (s, t) = (a.edge(n).unwrap(), b.edge(m).unwrap());
            if let Some(lattice) = Lattice::covering([&a, &b]) {
                let (x, y) = (lattice.tick(&s).unwrap(), lattice.tick(&t).unwrap());
                prop_assert_eq!(x.cmp(&y), s.cmp(&t));
                prop_assert_eq!(lattice.time(x), s);
                let phase = lattice.tick(&a.edge(0).unwrap()).unwrap();
                prop_assert_eq!(phase + lattice.period(&a).unwrap() * u128::from(n), x);
            }
        }
    }
}
