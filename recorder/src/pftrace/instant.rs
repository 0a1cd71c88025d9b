//! Exact instants as text, and where one ends and the next begins.

use clockweave_model::{ClockDomain, ExactTime};
use num_integer::Integer;

/// A domain's latest edge.
struct Edge {
    domain: ClockDomain,
    cycle: Option<u64>,
    /// Absent beyond the domain's last edge.
    time: Option<ExactTime>,
    num: String,
    den: String,
}

/// The edges that events are at.
pub(crate) struct Instants {
    edges: Vec<Edge>,
    /// Display nanosecond, domain and cycle of the event before.
    now: Option<(i64, usize, u64)>,
}

impl Instants {
    pub(crate) fn new(domains: impl Iterator<Item = ClockDomain>) -> Self {
        let edge = |domain| Edge { domain, cycle: None, time: None, num: String::new(), den: String::new() };
        Self { edges: domains.map(edge).collect(), now: None }
    }

    /// Whether the event at `cycle` of `domain` is at another instant than the one before.
    pub(crate) fn enter(&mut self, ns: i64, domain: usize, cycle: u64) -> bool {
        let before = self.now.replace((ns, domain, cycle));
        match before {
            Some((then, ..)) if then != ns => true,
            Some((_, same, at)) if same == domain => at != cycle,
            Some((_, other, at)) => {
                self.edges[other].go_to(at);
                self.edges[domain].go_to(cycle);
                self.edges[other].time != self.edges[domain].time
            }
            None => false,
        }
    }

    /// Id of a domain, and the exact time of its edge `cycle` as a reduced ratio of seconds.
    pub(crate) fn describe(&mut self, domain: usize, cycle: u64) -> (u32, Option<(&str, &str)>) {
        let edge = &mut self.edges[domain];
        edge.go_to(cycle);
        (edge.domain.id(), edge.time.as_ref().map(|_| (edge.num.as_str(), edge.den.as_str())))
    }
}

impl Edge {
    fn go_to(&mut self, cycle: u64) {
        if self.cycle == Some(cycle) {
            return;
        }
        self.cycle = Some(cycle);
        self.time = self.domain.edge(cycle).ok();
        if let Some(time) = &self.time {
            (self.num, self.den) = ratio(time);
        }
    }
}

/// Seconds as a reduced ratio.
fn ratio(time: &ExactTime) -> (String, String) {
    const NS: u128 = 1_000_000_000;
    let (num, den) = time.fraction_ns();
    let ns = u128::from(time.floor_ns().unsigned_abs());
    let whole = ns.checked_mul(den).and_then(|whole| whole.checked_add(num)).zip(den.checked_mul(NS));
    let Some((num, den)) = whole else {
        let ratio = time.to_ratio();
        return (ratio.numer().to_string(), ratio.denom().to_string());
    };
    // Where the denominator fits a word, so does the remainder.
    let common = match (u64::try_from(den), u64::try_from(num % den)) {
        (Ok(den), Ok(rest)) => den.gcd(&rest).into(),
        _ => den.gcd(&num),
    };
    ((num / common).to_string(), (den / common).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clockweave_model::Seconds;

    fn domain(id: u32, frequency: &str, phase_ps: u64) -> ClockDomain {
        ClockDomain::new(id, &format!("d{id}"), frequency.parse().unwrap(), Seconds::from_ps(phase_ps))
            .unwrap()
    }

    #[test]
    fn times_are_reduced_ratios_of_seconds() {
        let mut instants = Instants::new([domain(7, "914MHz", 0), domain(9, "1326MHz", 137)].into_iter());
        assert_eq!(instants.describe(0, 0), (7, Some(("0", "1"))));
        // 457 / 914e6 = 1 / 2e6.
        assert_eq!(instants.describe(0, 457), (7, Some(("1", "2000000"))));
        // 137e-12 + 1 / 1326e6 = (137 * 663 + 500,000) / (663e12) = 590,831 / 663e12.
        assert_eq!(instants.describe(1, 1), (9, Some(("590831", "663000000000000"))));
        assert_eq!(instants.describe(0, u64::MAX), (7, None));
    }

    #[test]
    fn equal_times_of_two_domains_are_one_instant() {
        // 1 GHz and 1.5 GHz meet every 2 ns; both have an edge in every nanosecond.
        let mut instants = Instants::new([domain(1, "1GHz", 0), domain(2, "1500MHz", 0)].into_iter());
        assert!(!instants.enter(0, 0, 0));
        assert!(!instants.enter(0, 1, 0));
        assert!(!instants.enter(0, 1, 0));
        assert!(instants.enter(0, 1, 1));
        assert!(instants.enter(1, 0, 1));
        // 2/1.5 = 1.33 ns.
        assert!(instants.enter(1, 1, 2));
        assert!(instants.enter(2, 0, 2));
        assert!(!instants.enter(2, 1, 3));
    }
}
