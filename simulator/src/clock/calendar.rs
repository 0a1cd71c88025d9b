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
//! The next domain is found by searching the keys; once every domain has had its first edge, the order
//! of a lattice's edges repeats with the hyperperiod, and where that has few edges it is tabulated.
//!
//! # Invariants
//!
//! * `cycle(d)` is the number of completed edges of domain `d`, and its key is that edge's time.
//! * Equal keys mean the same exact instant, and unequal keys different ones.
//!
//! The calendar does not know what happens at an edge.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use clockweave_model::{ClockDomain, ExactTime, Lattice};
use num_integer::Integer;

use super::queue::Queue;
use super::table::{Batch, Table};

/// The exact time of an edge in a form that a period advances by addition.
pub(crate) trait Key: Copy + Ord {
    /// The key one period `step` later; `per_ns` are the ticks of the lattice, if there is one.
    fn plus(self, step: &Self, per_ns: u64) -> Self;
    /// Display nanosecond.
    fn ns(self) -> i64;
    /// The key of an edge of a covered domain.
    fn of_edge(time: &ExactTime, per_ns: u64) -> Self;
    /// The first key at or after any time.
    fn ceiling(time: &ExactTime, per_ns: u64) -> Self;
    /// One period as a key difference; 0 where it is so long that edge 1 is not representable.
    fn of_period(domain: &ClockDomain, per_ns: u64) -> Self;
}

/// `ns << 64 | tick` with `tick < per_ns`.
impl Key for u128 {
    #[inline]
    fn plus(self, step: &Self, per_ns: u64) -> Self {
        // Ticks are below `per_ns`, which is below 2^63: the low words add without a carry.
        let sum = self + step;
        if sum as u64 >= per_ns { sum + ((1 << 64) - Self::from(per_ns)) } else { sum }
    }

    #[inline]
    fn ns(self) -> i64 {
        ((self >> 64) as u64).cast_signed()
    }

    fn of_edge(time: &ExactTime, per_ns: u64) -> Self {
        let (num, den) = time.fraction_ns();
        // A covered domain's denominator divides `per_ns`.
        (Self::from(time.floor_ns().unsigned_abs()) << 64) | (num * (Self::from(per_ns) / den))
    }

    fn ceiling(time: &ExactTime, per_ns: u64) -> Self {
        let ns = Self::from(time.floor_ns().unsigned_abs());
        let tick = time.fraction_ceiling(per_ns);
        if tick == per_ns { (ns + 1) << 64 } else { ns << 64 | Self::from(tick) }
    }

    fn of_period(domain: &ClockDomain, per_ns: u64) -> Self {
        let Ok(period) = ExactTime::from_seconds(domain.period()) else { return 0 };
        let (num, den) = period.fraction_ns();
        // The reduced denominator divides `per_ns`.
        let shared = num.gcd(&den);
        let tick = num / shared * (Self::from(per_ns) / (den / shared));
        Self::from(period.floor_ns().unsigned_abs()) << 64 | tick
    }
}

/// An edge without a lattice: `(fixed + num / den) * 2^-64` ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedKey {
    fixed: u128,
    num: u128,
    den: u128,
}

impl Key for FixedKey {
    #[inline]
    fn plus(mut self, step: &Self, _: u64) -> Self {
        self.fixed += step.fixed;
        // Both are below `den`; their sum may not fit 128 bits.
        if self.num >= self.den - step.num {
            self.num -= self.den - step.num;
            self.fixed += 1;
        } else {
            self.num += step.num;
        }
        self
    }

    #[inline]
    fn ns(self) -> i64 {
        ((self.fixed >> 64) as u64).cast_signed()
    }

    fn of_edge(time: &ExactTime, _: u64) -> Self {
        let (num, den) = time.fraction_ns();
        let (low, num) = binary_fraction(num, den);
        Self { fixed: u128::from(time.floor_ns().unsigned_abs()) << 64 | u128::from(low), num, den }
    }

    fn ceiling(time: &ExactTime, per_ns: u64) -> Self {
        Self::of_edge(time, per_ns)
    }

    fn of_period(domain: &ClockDomain, _: u64) -> Self {
        let den = domain.denominator_ns();
        let none = Self { fixed: 0, num: 0, den };
        let Ok(period) = ExactTime::from_seconds(domain.period()) else { return none };
        // The period over the domain's own denominator, so that remainders add without reduction.
        let (num, period_den) = period.fraction_ns();
        let shared = num.gcd(&period_den);
        let (low, num) = binary_fraction((num / shared) * (den / (period_den / shared)), den);
        Self { fixed: u128::from(period.floor_ns().unsigned_abs()) << 64 | u128::from(low), num, den }
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

/// The domains due at one instant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Due {
    /// One domain.
    One(u32),
    /// Several; [`Clocks::take_tied`] lists them, ascending.
    Tied,
}

/// How the next domain is found.
#[derive(Clone, Debug)]
enum Order<K> {
    /// By its key.
    Search(Queue<K>),
    /// From the order of one hyperperiod; keys are kept only while someone looks at them.
    Table { table: Table, timed: bool },
}

/// Most edges of a table.
const TABLE: u64 = 1 << 14;

/// The next edges of the domains, in one kind of key.
#[derive(Clone, Debug)]
pub(crate) struct Clocks<K> {
    /// Completed edges.
    cycles: Vec<u64>,
    /// Time of the next edge, unless a table is followed without time.
    keys: Vec<K>,
    steps: Vec<K>,
    max_edges: Vec<u64>,
    order: Order<K>,
    per_ns: u64,
    /// Edges of each domain in one hyperperiod, where a table is worth it.
    hyperperiod: Option<Vec<u64>>,
    /// Edges found by search since the start or the last seek.
    searched: u64,
    tied: Vec<u32>,
}

impl<K: Key> Clocks<K> {
    fn new(domains: &[ClockDomain], per_ns: u64, hyperperiod: Option<Vec<u64>>) -> Self {
        let first = |d: &ClockDomain| d.edge(0).expect("a domain's edge 0 is representable");
        let keys: Vec<K> = domains.iter().map(|d| K::of_edge(&first(d), per_ns)).collect();
        Self {
            cycles: vec![0; domains.len()],
            order: Order::Search(Queue::new(keys.clone())),
            keys,
            steps: domains.iter().map(|d| K::of_period(d, per_ns)).collect(),
            max_edges: domains.iter().map(ClockDomain::max_edge).collect(),
            per_ns,
            hyperperiod,
            searched: 0,
            tied: Vec::new(),
        }
    }

    /// The domains of the next batch. There is at least one domain.
    #[inline]
    pub(crate) fn due(&mut self) -> Due {
        match &self.order {
            Order::Table { table, .. } => match table.next() {
                Batch::One(domain) => return Due::One(domain),
                Batch::Several(due) => {
                    self.tied.clear();
                    self.tied.extend_from_slice(due);
                }
            },
            Order::Search(queue) => {
                let (first, key, tie) = queue.first();
                if !tie {
                    return Due::One(first);
                }
                queue.ties(key, &mut self.tied);
            }
        }
        Due::Tied
    }

    /// The domains of the last [`Due::Tied`], to be given back by [`Clocks::give_tied`] for reuse.
    #[inline]
    pub(crate) fn take_tied(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.tied)
    }

    /// Takes back the list of [`Clocks::take_tied`].
    #[inline]
    pub(crate) fn give_tied(&mut self, tied: Vec<u32>) {
        self.tied = tied;
    }

    /// Completed edges of a domain, which is also its next local cycle.
    #[inline]
    pub(crate) fn cycle(&self, domain: u32) -> u64 {
        self.cycles[domain as usize]
    }

    /// Exact time of a domain's next edge; it is kept after [`Clocks::prepare`] with `timed`.
    #[inline]
    pub(crate) fn key(&self, domain: u32) -> K {
        self.keys[domain as usize]
    }

    /// Exact time of the next batch, kept as [`Clocks::key`] is.
    #[inline]
    pub(crate) fn next_key(&self) -> K {
        self.key(self.next_domain())
    }

    /// The last representable edge of a domain.
    pub(crate) fn max_edge(&self, domain: u32) -> u64 {
        self.max_edges[domain as usize]
    }

    /// Batches for which the successor of every edge is certainly representable.
    pub(crate) fn safe_batches(&self) -> u64 {
        let left = self.cycles.iter().zip(&self.max_edges).map(|(cycle, max_edge)| max_edge - cycle);
        left.min().unwrap_or(0)
    }

    /// Completes the next batch, which has an edge of every domain in `due`; their successors are
    /// representable.
    #[inline(always)]
    pub(crate) fn complete(&mut self, due: &[u32]) {
        let keep_time = match &mut self.order {
            Order::Search(_) => true,
            Order::Table { table, timed } => {
                table.step();
                *timed
            }
        };
        for &domain in due {
            self.cycles[domain as usize] += 1;
            if keep_time {
                self.advance_key(domain);
            }
        }
    }

    /// Whether [`Clocks::follow`] can be used.
    pub(crate) fn is_followable(&self) -> bool {
        matches!(self.order, Order::Table { timed: false, .. })
    }

    /// Runs at most `most` batches by the table, which is followed without time, until `run` breaks.
    /// `run` gets a batch and the completed edges of all domains, and counts those of the batch; it
    /// breaks with `None` where there is more to do, and with an error where the batch failed.
    #[inline(always)]
    pub(crate) fn follow<E>(
        &mut self,
        most: u64,
        mut run: impl FnMut(Batch<'_>, &mut [u64]) -> ControlFlow<Option<E>>,
    ) -> Result<(), E> {
        let Order::Table { table, .. } = &mut self.order else { return Ok(()) };
        let cycles = &mut self.cycles[..];
        let ended = table.follow(most, Option::is_none, |batch| run(batch, cycles));
        ended.flatten().map_or(Ok(()), Err)
    }

    /// The completed edges of the only domain, whose order needs no table; `None` where there are others.
    /// For use as [`Clocks::follow`].
    #[inline]
    pub(crate) fn only_cycle(&mut self) -> Option<&mut u64> {
        if let [cycle] = &mut self.cycles[..] { Some(cycle) } else { None }
    }

    #[inline(never)]
    fn advance_key(&mut self, domain: u32) {
        let index = domain as usize;
        let key = self.keys[index].plus(&self.steps[index], self.per_ns);
        self.keys[index] = key;
        if let Order::Search(queue) = &mut self.order {
            self.searched += 1;
            queue.replace(domain, key);
        }
    }

    /// Makes ready for a walk, with keys kept or not, and tabulates the order once that pays.
    pub(crate) fn prepare(&mut self, domains: &[ClockDomain], keep_time: bool) {
        if matches!(self.order, Order::Table { timed: false, .. }) && keep_time {
            self.restore_keys(domains);
        }
        self.tabulate();
        if let Order::Table { timed, .. } = &mut self.order {
            *timed = keep_time;
        }
    }

    fn restore_keys(&mut self, domains: &[ClockDomain]) {
        for ((key, domain), &cycle) in self.keys.iter_mut().zip(domains).zip(&self.cycles) {
            let time = domain.edge(cycle).expect("a scheduled edge is representable");
            *key = K::of_edge(&time, self.per_ns);
        }
    }

    /// Edges to search until a table may be made, if one ever is.
    pub(crate) fn edges_to_table(&self) -> Option<u64> {
        let Order::Search(_) = self.order else { return None };
        let total: u64 = self.hyperperiod.as_ref()?.iter().sum();
        Some(total.saturating_sub(self.searched).max(1))
    }

    /// Tabulates the order once that pays: after as many edges were searched as the table has
    /// entries, and every domain has had its first edge.
    fn tabulate(&mut self) {
        let (Order::Search(queue), Some(counts)) = (&self.order, &self.hyperperiod) else { return };
        let total: u64 = counts.iter().sum();
        let near = |((cycle, max_edge), count): ((&u64, &u64), &u64)| {
            *cycle == 0 || max_edge - cycle < count.saturating_mul(2)
        };
        if self.searched < total || self.cycles.iter().zip(&self.max_edges).zip(counts).any(near) {
            return;
        }
        let (mut queue, mut keys) = (queue.clone(), self.keys.clone());
        let mut table = Table::with_capacity(total as usize);
        let (mut edges, mut tied) = (0, Vec::new());
        while edges < total {
            queue.ties(queue.first().1, &mut tied);
            for &domain in &tied {
                let index = domain as usize;
                keys[index] = keys[index].plus(&self.steps[index], self.per_ns);
                queue.replace(domain, keys[index]);
            }
            edges += tied.len() as u64;
            table.push(&tied);
        }
        table.finish();
        self.order = Order::Table { table, timed: true };
    }

    /// The first key at or after `time`.
    pub(crate) fn ceiling(&self, time: &ExactTime) -> K {
        K::ceiling(time, self.per_ns)
    }

    #[inline]
    fn next_domain(&self) -> u32 {
        match &self.order {
            Order::Search(queue) => queue.first().0,
            Order::Table { table, .. } => match table.next() {
                Batch::One(domain) => domain,
                Batch::Several(due) => due[0],
            },
        }
    }

    fn seek(&mut self, domains: &[ClockDomain], cycles: &[u64]) {
        self.cycles.copy_from_slice(cycles);
        self.restore_keys(domains);
        self.order = Order::Search(Queue::new(self.keys.clone()));
        self.searched = 0;
    }
}

/// Edges of each domain in one hyperperiod of a lattice, if together they are few enough.
fn hyperperiod(domains: &[ClockDomain], lattice: Lattice) -> Option<Vec<u64>> {
    let periods: Vec<u128> = domains.iter().map(|domain| lattice.period(domain)).collect::<Option<_>>()?;
    let mut common = 1u128;
    for period in &periods {
        common = common.checked_mul(period / common.gcd(period))?;
    }
    let counts =
        periods.iter().map(|period| u64::try_from(common / period).ok()).collect::<Option<Vec<_>>>()?;
    let total = counts.iter().try_fold(0u64, |total, count| total.checked_add(*count))?;
    (total <= TABLE).then_some(counts)
}

/// Either kind of calendar.
#[derive(Clone, Debug)]
pub(crate) enum AnyClocks {
    /// The domains have a lattice.
    Lattice(Clocks<u128>),
    /// They have none.
    Fixed(Clocks<FixedKey>),
}

/// Calls one generic expression on either kind of calendar.
macro_rules! on_clocks {
    ($any:expr, $clocks:ident => $body:expr) => {
        match $any {
            AnyClocks::Lattice($clocks) => $body,
            AnyClocks::Fixed($clocks) => $body,
        }
    };
}

/// The next edges of the domains that have units.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    pub(crate) domains: Vec<ClockDomain>,
    pub(crate) clocks: AnyClocks,
}

impl Calendar {
    /// A calendar before edge 0 of every domain; `domains` ascend by id, and there is at least one.
    pub(crate) fn new(domains: Vec<ClockDomain>) -> Self {
        let lattice = Lattice::covering(&domains);
        Self::with_lattice(domains, lattice)
    }

    fn with_lattice(domains: Vec<ClockDomain>, lattice: Option<Lattice>) -> Self {
        let clocks = match lattice.filter(|lattice| lattice.per_ns() < 1 << 63) {
            Some(lattice) => {
                let counts = hyperperiod(&domains, lattice);
                AnyClocks::Lattice(Clocks::new(&domains, lattice.per_ns(), counts))
            }
            None => AnyClocks::Fixed(Clocks::new(&domains, 0, None)),
        };
        Self { domains, clocks }
    }

    pub(crate) fn domains(&self) -> &[ClockDomain] {
        &self.domains
    }

    /// Completed edges of a domain.
    pub(crate) fn cycle(&self, domain: u32) -> u64 {
        on_clocks!(&self.clocks, clocks => clocks.cycle(domain))
    }

    /// Completed edges of all domains.
    pub(crate) fn cycles(&self) -> Vec<u64> {
        on_clocks!(&self.clocks, clocks => clocks.cycles.clone())
    }

    /// Exact time of the next batch.
    pub(crate) fn next_time(&self) -> ExactTime {
        let domain = on_clocks!(&self.clocks, clocks => clocks.next_domain());
        let cycle = self.cycle(domain);
        self.domains[domain as usize].edge(cycle).expect("a scheduled edge is representable")
    }

    /// Moves every domain to its edge in `cycles`, which must be representable.
    pub(crate) fn seek(&mut self, cycles: &[u64]) {
        on_clocks!(&mut self.clocks, clocks => clocks.seek(&self.domains, cycles));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clockweave_model::Seconds;
    use num_bigint::BigUint;
    use num_rational::Ratio;
    use proptest::prelude::*;

    type Exact = Ratio<BigUint>;
    /// Period and phase in seconds.
    type Clock = ((u64, u64), (u64, u64));

    fn big(num: u64, den: u64) -> Exact {
        Ratio::new(BigUint::from(num), BigUint::from(den))
    }

    /// Ids are 1, 2, ….
    fn domains(clocks: &[Clock]) -> Vec<ClockDomain> {
        (1u32..)
            .zip(clocks)
            .map(|(id, &(period, phase))| {
                let seconds = |(num, den)| Seconds::from_ratio(num, den).unwrap();
                ClockDomain::with_period(id, &format!("d{id}"), seconds(period), seconds(phase)).unwrap()
            })
            .collect()
    }

    /// Completes one batch; gives its domains and display nanosecond.
    fn step(calendar: &mut Calendar) -> (Vec<u32>, i64) {
        on_clocks!(&mut calendar.clocks, clocks => {
            clocks.prepare(&calendar.domains, true);
            assert!(clocks.safe_batches() > 0);
            let due = match clocks.due() {
                Due::One(domain) => vec![domain],
                Due::Tied => clocks.take_tied(),
            };
            let key = clocks.key(due[0]);
            clocks.complete(&due);
            (due, key.ns())
        })
    }

    /// Walks `batches` batches beside a scheduler of big rationals.
    fn agrees(clocks: &[Clock], mut calendar: Calendar, batches: usize) {
        let mut next: Vec<Exact> = clocks.iter().map(|(_, phase)| big(phase.0, phase.1)).collect();
        let periods: Vec<Exact> = clocks.iter().map(|(period, _)| big(period.0, period.1)).collect();
        for batch in 0..batches {
            let least = next.iter().min().unwrap().clone();
            let expected: Vec<u32> = (0..next.len() as u32).filter(|&d| next[d as usize] == least).collect();
            let (due, ns) = step(&mut calendar);
            assert_eq!(due, expected, "batch {batch}");
            let floor = (&least * BigUint::from(1_000_000_000u64)).to_integer();
            assert_eq!(BigUint::from(ns.unsigned_abs()), floor, "batch {batch}");
            for &d in &due {
                next[d as usize] += &periods[d as usize];
            }
        }
        let least = next.iter().min().unwrap();
        assert_eq!(&calendar.next_time().to_ratio(), least);
    }

    fn both_ways(clocks: &[Clock], batches: usize) {
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
        for _ in 0..1_000_000 {
            let least = next[0].min(next[1]);
            let (due, ns) = step(&mut calendar);
            assert_eq!(u128::from(ns.unsigned_abs()), least / grid);
            assert_eq!(due, (0..2).filter(|&d| next[d as usize] == least).collect::<Vec<u32>>());
            for &d in &due {
                next[d as usize] += periods[d as usize];
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
            assert_eq!(calendar.next_time().to_ratio(), write);
            let (due, ns) = step(&mut calendar);
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
                on_clocks!(&calendar.clocks, clocks => clocks.key(0) < clocks.ceiling(&time))
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
