//! time: every event's timestamp is the floor of its exact time, from the manifest alone.

use super::imported::Imported;
use crate::exact::EdgeTimes;
use crate::report::{Check, CheckReport, Finding};
use crate::run::Manifest;

pub(crate) fn check(
    events: &Imported,
    manifest: &Manifest,
    edges: &[EdgeTimes],
    limit: usize,
) -> CheckReport {
    let mut check = Check::new("time", "events", limit);
    for event in events.complete() {
        let Some(unit) = manifest.units.get(events.unit[event] as usize) else { continue };
        check.rows += 1;
        let expected = edges[unit.domain].floor_ns(events.cycle[event]);
        let found = events.ts[event];
        if expected == Some(found) {
            continue;
        }
        check.find(|| {
            let domain = &manifest.domains[unit.domain].name;
            let expected = match expected {
                Some(expected) => format!("{expected} ns (domain {domain})"),
                None => format!("no event: this edge of domain {domain} is beyond 2^63 ns"),
            };
            let message = format!("{}: found ts {found} ns, expected {expected}", events.label(event));
            Finding::new(message)
                .hint("the timestamp is not floor(E(local cycle) * 10^9) of the manifest's clock")
                .at_slice(events.slice[event])
        });
    }
    check.finish()
}
