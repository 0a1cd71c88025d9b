//! tracks: every event is on the track of its unit, and that track is below the one of the unit's clock.
//!
//! The second half holds where the trace says which tracks are its clocks'.

use std::collections::BTreeMap;

use super::imported::Imported;
use super::manifest::DomainTracks;
use crate::engine::{Cell, EngineError, Session};
use crate::report::{Check, CheckReport, Finding};
use crate::run::{Manifest, Unit};

const TRACKS: &str = include_str!("../../checks/tracks.sql");
const HINT: &str = "a unit's track is named exactly as the unit";

/// A row of the track table.
#[derive(Debug, Default)]
struct Track {
    /// Empty if it has none.
    name: String,
    parent: Option<u32>,
    /// Its number (uuid) in the trace.
    uuid: Option<u64>,
}

/// By row of the track table.
#[derive(Debug, Default)]
pub(crate) struct Tracks(BTreeMap<u32, Track>);

impl Tracks {
    pub(crate) fn read(session: &mut Session) -> Result<Self, EngineError> {
        let mut tracks = BTreeMap::new();
        session.query("tracks", TRACKS, |row| -> Result<(), EngineError> {
            let Ok(id) = u32::try_from(row.int(0)?) else { return Ok(()) };
            let cells = row.cells();
            let name =
                if cells.get(1) == Some(&Cell::Null) { String::new() } else { row.text(1)?.into_owned() };
            let parent =
                if cells.get(2) == Some(&Cell::Null) { None } else { u32::try_from(row.int(2)?).ok() };
            let uuid = match cells.get(3) {
                Some(Cell::Int(uuid)) => Some(uuid.cast_unsigned()),
                _ => None,
            };
            tracks.insert(id, Track { name, parent, uuid });
            Ok(())
        })?;
        Ok(Self(tracks))
    }

    /// A track's name; empty if it has none.
    pub(crate) fn name(&self, track: u32) -> &str {
        self.0.get(&track).map_or("", |track| &track.name)
    }

    pub(crate) fn parent(&self, track: u32) -> Option<u32> {
        self.0.get(&track).and_then(|track| track.parent)
    }

    /// One more than the last row.
    pub(crate) fn end(&self) -> u32 {
        self.0.keys().next_back().map_or(0, |last| last.saturating_add(1))
    }

    /// Adds the tracks of the next file, whose rows are counted on from `start`.
    pub(crate) fn append(&mut self, next: Self, start: u32) {
        let moved = |track: u32| track.saturating_add(start);
        let next = next.0.into_iter();
        self.0
            .extend(next.map(|(id, track)| (moved(id), Track { parent: track.parent.map(moved), ..track })));
    }

    /// The clock whose track is above, if there is one.
    fn domain(&self, mut track: u32, domains: &DomainTracks) -> Option<usize> {
        // A tree of tracks is never deeper than it has tracks.
        for _ in 0..self.0.len() {
            track = self.parent(track)?;
            if let Some(domain) = domains.get(&track) {
                return Some(*domain);
            }
        }
        None
    }
}

pub(crate) fn check(
    events: &Imported,
    manifest: &Manifest,
    tracks: &Tracks,
    domains: &DomainTracks,
    limit: usize,
) -> CheckReport {
    let mut check = Check::new("tracks", "events", limit);
    let unit_of_name: BTreeMap<&str, u32> =
        (0..).zip(&manifest.units).map(|(index, unit)| (&*unit.name, index)).collect();
    let mut unit_of_track: BTreeMap<u32, Option<u32>> = BTreeMap::new();
    let (mut track, mut expected) = (u32::MAX, None);
    for event in events.complete() {
        check.rows += 1;
        if events.track[event] != track {
            track = events.track[event];
            expected = *unit_of_track.entry(track).or_insert_with(|| {
                let unit = unit_of_name.get(tracks.name(track)).copied();
                if let Some(unit) = unit.filter(|_| !domains.is_empty()) {
                    below_its_clock(&mut check, manifest, tracks, (track, unit), domains);
                }
                if let Some(unit) = unit {
                    as_the_manifest_says(&mut check, &manifest.units[unit as usize], tracks.0.get(&track));
                }
                unit
            });
        }
        if expected != Some(events.unit[event]) {
            check.find(|| {
                let name = match tracks.name(track) {
                    "" => "a track without name",
                    name => name,
                };
                let unit = events.unit_label(events.unit[event]);
                Finding::new(format!(
                    "{}: found it on track {name:?}, expected {unit:?}",
                    events.label(event)
                ))
                .hint(HINT)
                .at_slice(events.slice[event])
            });
        }
    }
    check.finish()
}

/// The track's number, where both the manifest and the importer tell it.
fn as_the_manifest_says(check: &mut Check, unit: &Unit, track: Option<&Track>) {
    let Some(uuid) = track.and_then(|track| track.uuid) else { return };
    if unit.tracks.is_empty() || unit.tracks.contains(&uuid) {
        return;
    }
    check.find(|| {
        let (name, expected) = (&unit.name, &unit.tracks);
        Finding::new(format!("{name}: found its events on track {uuid}, the manifest says {expected:?}"))
            .hint("readers of the manifest look for a unit's events by its track's number")
    });
}

fn below_its_clock(
    check: &mut Check,
    manifest: &Manifest,
    tracks: &Tracks,
    (track, unit): (u32, u32),
    domains: &DomainTracks,
) {
    let unit = &manifest.units[unit as usize];
    let found = tracks.domain(track, domains);
    if found == Some(unit.domain) {
        return;
    }
    check.find(|| {
        let found = found.map_or("no clock", |domain| &*manifest.domains[domain].name);
        let expected = &manifest.domains[unit.domain].name;
        Finding::new(format!("{}: found its track below that of {found}, expected {expected}", unit.name))
            .hint("a unit's track is below the track of its clock domain")
    });
}
