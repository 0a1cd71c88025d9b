//! Visits the batches of a set of domains in exact order.
//!
//! A domain's next edge is kept as a key that a period advances by additions alone. The high word of
//! either kind of key counts nanoseconds, so the display nanosecond of a batch needs no division.
//!
//! * Where the domains have a lattice (see [`Lattice`]), the low word counts its ticks within the
//!   nanosecond: `ns << 64 | tick`, exact as it is.
//! * Otherwise the low word counts 2^-64 ns, and a remainder over the domain's own denominator makes
//!   it exact; it is cross-multiplied only when the words tie.
//!
//! # Invariants
//!
//! * `cycle(d)` is the number of completed edges of domain `d`, and its key is that edge's time.
//! * Equal keys mean the same exact instant, and unequal keys different ones.
//!
//! The calendar does not know what happens at an edge.

use std::cmp::Ordering;

use clockweave_model::{ClockDomain, ExactTime, Lattice};
use num_integer::Integer;

use super::queue::Queue;

/// `ns << 64 | tick`, and its advance by one period with a carry at `per_ns`.
#[derive(Clone, Copy, Debug)]
struct LatticeStep {
    ns: u64,
    tick: u64,
}

/// An edge without a lattice: `(fixed + num / den) * 2^-64` ns.
#[derive(Clone, Copy, Debug)]
struct FixedKey {
    fixed: u128,
    num: u128,
    den: u128,
}

impl FixedKey {
    fn new(time: &ExactTime) -> Self {
        let (num, den) = time.fraction_ns();
        let (low, num) = binary_fraction(num, den);
        Self { fixed: u128::from(time.floor_ns().unsigned_abs()) << 64 | u128::from(low), num, den }
    }

    #[inline]
    fn advance(&mut self, step: &Self) {
        self.fixed += step.fixed;
        // Both are below `den`; their sum may not fit 128 bits.
        if self.num >= self.den - step.num {
            self.num -= self.den - step.num;
            self.fixed += 1;
        } else {
            self.num += step.num;
        }
    }
}

/// `floor(num / den * 2^64)` and the remainder, for `num < den`.
fn binary_fraction(mut num: u128, den: u128) -> (u64, u128) {
    if den >> 64 == 0 {
        return (((num << 64) / den) as u64, (num << 64) % den);
    }
    let mut bits = 0u64;
    for _ in 0..64 {
        let carry = num >= den - num;
        num = if carry { num - (den - num) } else { num + num };
        bits = bits << 1 | u64::from(carry);
    }
    (bits, num)
}

impl PartialEq for FixedKey {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for FixedKey {}

impl PartialOrd for FixedKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for FixedKey {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.fixed.cmp(&other.fixed).then_with(|| {
            if self.den == other.den {
                return self.num.cmp(&other.num);
            }
            match (self.num.checked_mul(other.den), other.num.checked_mul(self.den)) {
                (Some(left), Some(right)) => left.cmp(&right),
                _ => ExactTime::compare_fractions((self.num, self.den), (other.num, other.den)),
            }
        })
    }
}

#[derive(Clone, Debug)]
enum Keys {
    Lattice { lattice: Lattice, queue: Queue<u128>, steps: Vec<LatticeStep> },
    Fixed { queue: Queue<FixedKey>, steps: Vec<FixedKey> },
}

/// An exclusive end of time in the calendar's own keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit(LimitKey);

#[derive(Clone, Copy, Debug)]
enum LimitKey {
    Lattice(u128),
    Fixed(FixedKey),
}

/// The next edges of the domains that have units.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    domains: Vec<ClockDomain>,
    cycles: Vec<u64>,
    keys: Keys,
}

impl Calendar {
    /// A calendar before edge 0 of every domain; `domains` ascend by id.
    pub(crate) fn new(domains: Vec<ClockDomain>) -> Self {
        let lattice = Lattice::covering(&domains);
        Self::with_lattice(domains, lattice)
    }

    fn with_lattice(domains: Vec<ClockDomain>, lattice: Option<Lattice>) -> Self {
        let first = |d: &ClockDomain| d.edge(0).expect("a domain's edge 0 is representable");
        let keys = match lattice {
            Some(lattice) => {
                let steps = domains
                    .iter()
                    .map(|domain| {
                        // A longer period has no representable edge 1, so it is never advanced.
                        let period = lattice.period(domain).unwrap_or(0);
                        let per_ns = u128::from(lattice.per_ns());
                        LatticeStep { ns: (period / per_ns) as u64, tick: (period % per_ns) as u64 }
                    })
                    .collect();
                let keys = domains.iter().map(|d| lattice_key(lattice, &first(d))).collect();
                Keys::Lattice { lattice, queue: Queue::new(keys), steps }
            }
            None => {
                let steps = domains.iter().map(fixed_period).collect();
                let keys = domains.iter().map(|d| FixedKey::new(&first(d))).collect();
                Keys::Fixed { queue: Queue::new(keys), steps }
            }
        };
        Self { cycles: vec![0; domains.len()], domains, keys }
    }

    /// Puts the domains of the next batch into `due`, ascending, and gives its display nanosecond.
    #[inline]
    pub(crate) fn due(&self, due: &mut Vec<u32>) -> i64 {
        let word = match &self.keys {
            Keys::Lattice { queue, .. } => {
                queue.due(due);
                due.first().map_or(0, |&d| queue.key(d as usize))
            }
            Keys::Fixed { queue, .. } => {
                queue.due(due);
                due.first().map_or(0, |&d| queue.key(d as usize).fixed)
            }
        };
        ((word >> 64) as u64).cast_signed()
    }

    /// Completes the current edge of domain `domain`.
    ///
    /// The successor of the edge must be representable.
    #[inline]
    pub(crate) fn advance(&mut self, domain: u32) {
        let at = domain as usize;
        self.cycles[at] += 1;
        match &mut self.keys {
            Keys::Lattice { lattice, queue, steps } => {
                let (key, step) = (queue.key(at), steps[at]);
                // Both ticks are below `per_ns`, whose double may not fit 64 bits.
                let tick = u128::from(key as u64) + u128::from(step.tick);
                let carry = tick >= u128::from(lattice.per_ns());
                let tick = if carry { tick - u128::from(lattice.per_ns()) } else { tick };
                let ns = (key >> 64) + u128::from(step.ns) + u128::from(carry);
                queue.replace(at, ns << 64 | tick);
            }
            Keys::Fixed { queue, steps } => {
                let mut key = queue.key(at);
                key.advance(&steps[at]);
                queue.replace(at, key);
            }
        }
    }

    /// Completed edges of a domain, which is also its next local cycle.
    #[inline]
    pub(crate) fn cycle(&self, domain: u32) -> u64 {
        self.cycles[domain as usize]
    }

    /// Completed edges of all domains.
    pub(crate) fn cycles(&self) -> &[u64] {
        &self.cycles
    }

    pub(crate) fn domains(&self) -> &[ClockDomain] {
        &self.domains
    }

    /// Exact time of the next batch, if there are domains.
    pub(crate) fn next_time(&self) -> Option<ExactTime> {
        let (domain, cycle) = match &self.keys {
            Keys::Lattice { queue, .. } => {
                let least = queue.least()?;
                (0..self.cycles.len()).find(|&d| queue.key(d) == least).map(|d| (d, self.cycles[d]))?
            }
            Keys::Fixed { queue, .. } => {
                let least = queue.least()?;
                (0..self.cycles.len()).find(|&d| queue.key(d) == least).map(|d| (d, self.cycles[d]))?
            }
        };
        Some(self.domains[domain].edge(cycle).expect("a scheduled edge is representable"))
    }

    /// `time` as an exclusive end in this calendar's keys.
    pub(crate) fn limit(&self, time: &ExactTime) -> Limit {
        Limit(match &self.keys {
            Keys::Lattice { lattice, .. } => LimitKey::Lattice(lattice_ceiling(*lattice, time)),
            Keys::Fixed { .. } => LimitKey::Fixed(FixedKey::new(time)),
        })
    }

    /// Whether the next batch is before `limit`.
    #[inline]
    pub(crate) fn before(&self, limit: &Limit) -> bool {
        match (&self.keys, &limit.0) {
            (Keys::Lattice { queue, .. }, LimitKey::Lattice(end)) => {
                queue.least().is_some_and(|key| key < *end)
            }
            (Keys::Fixed { queue, .. }, LimitKey::Fixed(end)) => queue.least().is_some_and(|key| key < *end),
            _ => unreachable!("a limit is made by the calendar that it is used with"),
        }
    }

    /// Moves every domain to its first edge at or after `time`. Such an edge, or that of the horizon,
    /// must exist in each.
    pub(crate) fn seek(&mut self, cycles: &[u64]) {
        for (at, &cycle) in cycles.iter().enumerate() {
            if cycle == self.cycles[at] {
                continue;
            }
            let time = self.domains[at].edge(cycle).expect("the edge sought is representable");
            self.cycles[at] = cycle;
            match &mut self.keys {
                Keys::Lattice { lattice, queue, .. } => queue.replace(at, lattice_key(*lattice, &time)),
                Keys::Fixed { queue, .. } => queue.replace(at, FixedKey::new(&time)),
            }
        }
    }
}

fn lattice_key(lattice: Lattice, time: &ExactTime) -> u128 {
    let (num, den) = time.fraction_ns();
    // A covered domain's denominator divides `per_ns`.
    u128::from(time.floor_ns().unsigned_abs()) << 64 | num * (u128::from(lattice.per_ns()) / den)
}

/// The first key at or after any `time`.
fn lattice_ceiling(lattice: Lattice, time: &ExactTime) -> u128 {
    let ns = u128::from(time.floor_ns().unsigned_abs());
    let tick = time.fraction_ceiling(lattice.per_ns());
    if tick == lattice.per_ns() { (ns + 1) << 64 } else { ns << 64 | u128::from(tick) }
}

/// One period as a key difference; 0 where it is so long that edge 1 is not representable.
fn fixed_period(domain: &ClockDomain) -> FixedKey {
    let den = domain.denominator_ns();
    let none = FixedKey { fixed: 0, num: 0, den };
    let Ok(period) = ExactTime::from_seconds(domain.period()) else { return none };
    // The period over the domain's own denominator, so that remainders add without reduction.
    let (num, period_den) = period.fraction_ns();
    let shared = num.gcd(&period_den);
    let (low, num) = binary_fraction((num / shared) * (den / (period_den / shared)), den);
    FixedKey { fixed: u128::from(period.floor_ns().unsigned_abs()) << 64 | u128::from(low), num, den }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clockweave_model::Seconds;
    use num_bigint::BigUint;
    use num_rational::Ratio;
    use proptest::prelude::*;

    type Exact = Ratio<BigUint>;

    fn big(num: u64, den: u64) -> Exact {
        Ratio::new(BigUint::from(num), BigUint::from(den))
    }

    /// (period, phase) pairs in seconds; ids are 1, 2, ….
    fn domains(clocks: &[((u64, u64), (u64, u64))]) -> Vec<ClockDomain> {
        (1u32..)
            .zip(clocks)
            .map(|(id, &(period, phase))| {
                let seconds = |(num, den)| Seconds::from_ratio(num, den).unwrap();
                ClockDomain::with_period(id, &format!("d{id}"), seconds(period), seconds(phase)).unwrap()
            })
            .collect()
    }

    /// Walks `batches` batches beside a scheduler of big rationals.
    fn agrees(clocks: &[((u64, u64), (u64, u64))], mut calendar: Calendar, batches: usize) {
        let mut next: Vec<Exact> = clocks.iter().map(|(_, phase)| big(phase.0, phase.1)).collect();
        let periods: Vec<Exact> = clocks.iter().map(|(period, _)| big(period.0, period.1)).collect();
        let mut due = Vec::new();
        for batch in 0..batches {
            let least = next.iter().min().unwrap().clone();
            let expected: Vec<u32> = (0..next.len() as u32).filter(|&d| next[d as usize] == least).collect();
            let ns = calendar.due(&mut due);
            assert_eq!(due, expected, "batch {batch}");
            let floor = (&least * BigUint::from(1_000_000_000u64)).to_integer();
            assert_eq!(BigUint::from(ns.unsigned_abs()), floor, "batch {batch}");
            for &d in &due {
                calendar.advance(d);
                next[d as usize] += &periods[d as usize];
            }
        }
        let least = next.iter().min().unwrap();
        assert_eq!(&calendar.next_time().unwrap().to_ratio(), least);
    }

    fn both_ways(clocks: &[((u64, u64), (u64, u64))], batches: usize) {
        let domains = domains(clocks);
        if let Some(lattice) = Lattice::covering(&domains) {
            agrees(clocks, Calendar::with_lattice(domains.clone(), Some(lattice)), batches);
        }
        agrees(clocks, Calendar::with_lattice(domains, None), batches);
    }

    const GHZ: u64 = 1_000_000_000;
    const PS: u64 = 1_000_000_000_000;

    #[test]
    fn the_specified_mixes_are_exact() {
        let zero = (0, 1);
        for phase in [0, 1, 137, 500] {
            let late = (phase, PS);
            both_ways(&[((1, GHZ), zero), ((1, GHZ), late)], 3000);
            both_ways(&[((1, 2 * GHZ), zero), ((1, GHZ), late)], 3000);
            both_ways(&[((1, 3), zero), ((1, 2), late)], 3000);
            both_ways(&[((3, 5), zero), ((1, 3), late)], 3000);
            both_ways(&[((1, GHZ), zero), ((1, 1_001_000_000), late)], 3000);
            both_ways(&[((1, 914_000_000), zero), ((1, 1_326_000_000), late)], 3000);
        }
    }

    #[test]
    fn a_million_batches_equal_big_integers() {
        // Integers on a grid that divides all times: 1/(457 * 663 * 1000) ns.
        let clocks = [((1, 914_000_000), (0, 1)), ((1, 1_326_000_000), (137, PS))];
        let mut calendar = Calendar::new(domains(&clocks));
        let grid = 457u128 * 663 * 1000;
        let (periods, mut next) = ([500 * 663_000u128, 500 * 457_000], [0u128, 137 * 457 * 663]);
        let mut due = Vec::new();
        for _ in 0..1_000_000 {
            let least = next[0].min(next[1]);
            let ns = calendar.due(&mut due);
            assert_eq!(u128::from(ns.unsigned_abs()), least / grid);
            assert_eq!(due, (0..2).filter(|&d| next[d as usize] == least).collect::<Vec<u32>>());
            for &d in &due {
                next[d as usize] += periods[d as usize];
                calendar.advance(d);
            }
        }
    }

    #[test]
    fn seeking_lands_on_edge_ten_to_the_twelve() {
        let clocks = [((1, 914_000_000), (0, 1)), ((1, 1_326_000_000), (137, PS))];
        let n = 1_000_000_000_000u64;
        for lattice in [true, false] {
            let domains = domains(&clocks);
            let lattice = lattice.then(|| Lattice::covering(&domains)).flatten();
            let mut calendar = Calendar::with_lattice(domains, lattice);
            // Edge m of the read clock is the first at or after edge n of the write clock.
            let m = 1_450_765_864_333u64;
            calendar.seek(&[n, m]);
            let write = big(n, 914_000_000);
            let read = |m: u64| big(m, 1_326_000_000) + big(137, PS);
            assert!(read(m) >= write && read(m - 1) < write);
            assert_eq!(calendar.next_time().unwrap().to_ratio(), write);
            let mut due = Vec::new();
            let ns = calendar.due(&mut due);
            assert_eq!((due.as_slice(), ns), ([0].as_slice(), 1_094_091_903_719));
        }
    }

    #[test]
    fn limits_are_exclusive_and_exact() {
        let clocks = [((1, GHZ), (0, 1)), ((2, 3 * GHZ), (0, 1))];
        for lattice in [true, false] {
            let domains = domains(&clocks);
            let lattice = lattice.then(|| Lattice::covering(&domains)).flatten();
            let calendar = Calendar::with_lattice(domains, lattice);
            let before = |num, den| {
                let time = ExactTime::from_seconds(Seconds::from_ratio(num, den).unwrap()).unwrap();
                calendar.before(&calendar.limit(&time))
            };
            assert!(!before(0, 1));
            assert!(before(1, u64::MAX), "a limit off the grid is after an earlier edge");
            assert!(before(1, 1));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn random_rational_clocks_are_exact(
            clocks in proptest::collection::vec(((1u64..40, 1u64..2_000_000_000), (0u64..1000, 1u64..PS)), 1..14),
        ) {
            both_ways(&clocks, 200);
        }

        #[test]
        fn hostile_denominators_are_exact(
            clocks in proptest::collection::vec(((1u64..9, 1u64 << 60..), (0u64..9, 1u64 << 60..)), 1..5),
        ) {
            both_ways(&clocks, 60);
        }
    }
}
