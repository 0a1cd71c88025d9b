//! tracks: every event is on the track of its unit.

use std::collections::BTreeMap;

use super::imported::Imported;
use crate::engine::{EngineError, Session};
use crate::report::{Check, CheckReport, Finding};
use crate::run::Manifest;

const TRACKS: &str = include_str!("../../checks/tracks.sql");

/// Track names by row of the track table.
pub(crate) fn names(session: &mut Session) -> Result<BTreeMap<u32, String>, EngineError> {
    let mut names = BTreeMap::new();
    session.query("tracks", TRACKS, |row| -> Result<(), EngineError> {
        if let Ok(id) = u32::try_from(row.int(0)?) {
            names.insert(id, row.text(1)?.into_owned());
        }
        Ok(())
    })?;
    Ok(names)
}

pub(crate) fn check(
    events: &Imported,
    manifest: &Manifest,
    names: &BTreeMap<u32, String>,
    limit: usize,
) -> CheckReport {
    let mut check = Check::new("tracks", "events", limit);
    let unit_of_name: BTreeMap<&str, u32> =
        (0..).zip(&manifest.units).map(|(index, unit)| (&*unit.name, index)).collect();
    let unit_of_track: BTreeMap<u32, u32> =
        names.iter().filter_map(|(track, name)| Some((*track, *unit_of_name.get(&**name)?))).collect();
    let (mut track, mut expected) = (u32::MAX, None);
    for event in events.complete() {
        check.rows += 1;
        if events.track[event] != track {
            track = events.track[event];
            expected = unit_of_track.get(&track).copied();
        }
        if expected != Some(events.unit[event]) {
            check.find(|| {
                let name = names.get(&track).map_or("a track without name", |name| &**name);
                let unit = events.unit_label(events.unit[event]);
                Finding::new(format!(
                    "{}: found it on track {name:?}, expected {unit:?}",
                    events.label(event)
                ))
                .hint("a unit's track is named exactly as the unit")
                .at_slice(events.slice[event])
            });
        }
    }
    check.finish()
}
