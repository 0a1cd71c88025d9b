//! The exact order of events: exact time, then phase, then unit name, then ordinal.

use std::cmp::Ordering;

use super::imported::Imported;
use crate::exact::EdgeTimes;
use crate::run::Manifest;

/// Events beside the clocks that say when they were.
pub(crate) struct ExactOrder<'a> {
    pub(crate) events: &'a Imported,
    pub(crate) manifest: &'a Manifest,
    /// By domain.
    pub(crate) times: &'a [EdgeTimes],
}

impl ExactOrder<'_> {
    /// Whether the manifest has the event's unit, without which it has no time.
    pub(crate) fn knows(&self, event: usize) -> bool {
        (self.events.unit[event] as usize) < self.manifest.units.len()
    }

    fn domain(&self, event: usize) -> usize {
        self.manifest.units[self.events.unit[event] as usize].domain
    }

    /// Which of two events is at the earlier instant.
    pub(crate) fn compare_time(&self, left: usize, right: usize) -> Ordering {
        self.compare_edge(left, self.events.cycle[left], right)
    }

    /// Whether edge `cycle` of `left`'s domain is before the instant of `right`.
    pub(crate) fn compare_edge(&self, left: usize, cycle: u64, right: usize) -> Ordering {
        let (left, domain, other) = (cycle, self.domain(left), self.domain(right));
        let right = self.events.cycle[right];
        if domain == other {
            return left.cmp(&right);
        }
        self.times[domain].compare(left, &self.times[other], right)
    }

    /// Exact order of two events.
    pub(crate) fn compare(&self, left: usize, right: usize) -> Ordering {
        let events = self.events;
        // Units are in ascending order of name.
        let rest = |event: usize| (events.phase[event], events.unit[event], events.ordinal[event]);
        self.compare_time(left, right).then_with(|| rest(left).cmp(&rest(right)))
    }
}
