//! What a merge is asked to keep, and what that means for one run.

use clockweave_model::{ClockDomain, ExactTime, Seconds};
use glob::Pattern;

use crate::logs::{Catalog, Selection};

/// Which events are kept; without any condition, all. Of the patterns of one kind an event has to
/// match one. Gaps go by time, domain and unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Exact time from which on events are kept.
    pub from: Option<Seconds>,
    /// Exact time before which events are kept.
    pub to: Option<Seconds>,
    /// Names of domains.
    pub domains: Vec<Pattern>,
    /// Names of units.
    pub units: Vec<Pattern>,
    /// Names of events.
    pub events: Vec<Pattern>,
    /// One transaction.
    pub transaction: Option<u64>,
}

fn any(patterns: &[Pattern], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(name))
}

impl Filter {
    /// Whether some events of a unit may be kept and others not.
    pub fn splits_units(&self) -> bool {
        self.from.is_some() || !self.events.is_empty() || self.transaction.is_some()
    }

    /// Whether nothing is left out.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn selection(&self, catalog: &Catalog) -> Selection {
        let domains = catalog.domains();
        let keeps_unit = |name: &str, domain: u32| {
            any(&self.domains, domains[domain as usize].name()) && any(&self.units, name)
        };
        Selection {
            cycles: domains
                .iter()
                .map(|domain| (first(domain, self.from, 0), first(domain, self.to, u64::MAX)))
                .collect(),
            units: catalog.units().iter().map(|unit| keeps_unit(&unit.name, unit.domain)).collect(),
            events: catalog.event_names().iter().map(|name| any(&self.events, name)).collect(),
            transaction: self.transaction,
            narrows: !self.is_empty(),
        }
    }
}

/// The first edge at or after `time`; beyond the last one `u64::MAX`.
fn first(domain: &ClockDomain, time: Option<Seconds>, otherwise: u64) -> u64 {
    let Some(time) = time else { return otherwise };
    let edge = ExactTime::from_seconds(time).and_then(|time| domain.edge_at_or_after(&time));
    edge.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_edges() {
        // 4 GHz, 100 ps late: edges at 100, 350, 600 ps.
        let domain = ClockDomain::new(1, "d", "4GHz".parse().unwrap(), Seconds::from_ps(100)).unwrap();
        let at = |ps| first(&domain, Some(Seconds::from_ps(ps)), 7);
        assert_eq!([at(0), at(100), at(101), at(350), at(351)], [0, 0, 1, 1, 2]);
        assert_eq!(first(&domain, None, 7), 7);
        let far = Seconds::from_ratio(u64::MAX, 1).unwrap();
        assert_eq!(first(&domain, Some(far), 7), u64::MAX);
    }
}
