//! How long a FIFO's flag was set.
//!
//! A flag is a register: set at the commit of edge s and cleared at that of edge c, it is seen set at the edges
//! s + 1, …, c, which are c - s, and for c - s periods. A stretch that began before the first event of the run counts
//! from there, one that never ended until the last event.

use clockweave_model::{ClockDomain, ExactTime};
use num_bigint::BigUint;
use num_rational::Ratio;
use serde::Serialize;

use super::exact::{Figure, Unit, edges_until, elapsed, whole, wide};

/// How long a flag was set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlagTime {
    /// Stretches of time without a break.
    pub stretches: u64,
    /// Edges at which the flag was seen set, so that nothing was accepted.
    pub edges: u64,
    /// Those of the longest stretch.
    pub longest_edges: u64,
    /// Time that it was set.
    pub time: Figure,
    /// That time over the observed time.
    pub share: Option<Figure>,
}

/// A flag as its changes tell it.
#[derive(Clone, Debug, Default)]
pub(super) struct Flag {
    /// Some change was seen.
    seen: bool,
    /// The edge that set it, while it is set.
    since: Option<u64>,
    /// The edge that cleared it first, if nothing was seen to set it.
    first_cleared: Option<u64>,
    stretches: u64,
    edges: u64,
    longest: u64,
}

impl Flag {
    /// The flag became `value` at edge `cycle`.
    pub(super) fn change(&mut self, value: u64, cycle: u64) {
        match (value, self.since) {
            (0, Some(since)) => {
                let edges = cycle.saturating_sub(since);
                self.stretches += 1;
                self.edges = self.edges.saturating_add(edges);
                self.longest = self.longest.max(edges);
                self.since = None;
            }
            (0, None) if !self.seen => self.first_cleared = Some(cycle),
            (0, None) | (_, Some(_)) => {}
            (_, None) => self.since = Some(cycle),
        }
        self.seen = true;
    }

    pub(super) fn was_seen(&self) -> bool {
        self.seen
    }

    /// The time between `first` and `last`, the flag being one of `clock`.
    pub(super) fn finish(&self, clock: &ClockDomain, first: &ExactTime, last: &ExactTime) -> FlagTime {
        let mut time = wide(clock.period().ratio()) * whole(self.edges);
        let (mut stretches, mut edges, mut longest) = (self.stretches, self.edges, self.longest);
        let mut add = |more: u64, lasting: Ratio<BigUint>| {
            stretches += 1;
            edges = edges.saturating_add(more);
            longest = longest.max(more);
            time += lasting;
        };
        if let Some((cycle, at)) = self.first_cleared.and_then(|cycle| Some((cycle, clock.edge(cycle).ok()?)))
        {
            let before = clock.edge_at_or_after(first).unwrap_or(0);
            add((cycle + 1).saturating_sub(before), elapsed(first, &at));
        }
        if let Some((cycle, at)) = self.since.and_then(|cycle| Some((cycle, clock.edge(cycle).ok()?))) {
            add(edges_until(clock, last).saturating_sub(cycle + 1), elapsed(&at, last));
        }
        let share = Figure::quotient(Unit::Share, &time, &elapsed(first, last));
        FlagTime { stretches, edges, longest_edges: longest, time: Figure::new(Unit::Seconds, time), share }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clockweave_model::Seconds;

    fn told(changes: &[(u64, u64)]) -> [String; 5] {
        // 4 GHz, 100 ps late: edges at 0.1, 0.35, 0.6, 0.85, … ns; observed from 0.2 ns to 3 ns.
        let clock = ClockDomain::new(1, "d", "4GHz".parse().unwrap(), Seconds::from_ps(100)).unwrap();
        let at = |ps| ExactTime::from_seconds(Seconds::from_ps(ps)).unwrap();
        let mut flag = Flag::default();
        changes.iter().for_each(|(cycle, value)| flag.change(*value, *cycle));
        let found = flag.finish(&clock, &at(200), &at(3000));
        [
            found.stretches.to_string(),
            found.edges.to_string(),
            found.longest_edges.to_string(),
            found.time.decimal(12),
            found.share.unwrap().value.to_string(),
        ]
    }

    #[test]
    fn stretches_are_counted_in_edges_that_see_the_flag() {
        assert_eq!(told(&[]), ["0", "0", "0", "0.000000000000", "0"]);
        // 3 and 1 edges, 250 ps each; 1 ns of 2.8.
        assert_eq!(told(&[(1, 1), (4, 0), (6, 1), (7, 0)]), ["2", "4", "3", "0.000000001000", "5/14"]);
    }

    #[test]
    fn stretches_at_the_ends_count_within_the_observed_time() {
        // Set until edge 3 at 0.85 ns: edges 1, 2, 3 see it, for 650 ps.
        assert_eq!(told(&[(3, 0)]), ["1", "3", "3", "0.000000000650", "13/56"]);
        // Set at edge 9 at 2.35 ns: edges 10 and 11 (2.85 ns) see it, for 650 ps.
        assert_eq!(told(&[(9, 1)]), ["1", "2", "2", "0.000000000650", "13/56"]);
    }

    #[test]
    fn a_change_that_changes_nothing_is_none() {
        assert_eq!(told(&[(1, 1), (2, 1), (4, 0), (5, 0)]), told(&[(1, 1), (4, 0)]));
    }
}
