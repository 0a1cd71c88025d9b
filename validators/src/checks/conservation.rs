//! conservation: as many events as the run says it kept, and nothing unaccounted for.
//!
//! The engine's own counts, the rows read from it and the recorder's statistics must agree, per unit and kind where
//! the statistics have them. Deliberately does not look at which events they are.

use std::collections::BTreeMap;

use super::imported::Imported;
use crate::engine::{EngineError, Session};
use crate::report::{Check, CheckReport, Finding};
use crate::run::{Stats, StreamTotals};

const COUNTS: &str = include_str!("../../checks/conservation.sql");
const LOST: &str = "events were lost or doubled on the way into the importer";

/// Events by name as the engine counts them, and how many of them last.
pub(crate) type EngineCounts = BTreeMap<String, (u64, u64)>;

/// What the counts are held against.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Totals<'a> {
    /// The statistics of a closed run.
    Of(&'a Stats),
    /// A run directory without them, which is not what a closed run leaves.
    Missing,
    /// Nothing, for this reason.
    NotAsked(&'static str),
}

pub(crate) fn engine_counts(session: &mut Session) -> Result<EngineCounts, EngineError> {
    let mut counts = BTreeMap::new();
    session.query("conservation", COUNTS, |row| -> Result<(), EngineError> {
        let name = if row.cells().first() == Some(&crate::engine::Cell::Null) {
            "(no name)".to_owned()
        } else {
            row.text(0)?.into_owned()
        };
        counts.insert(name, (row.word(1)?, row.word(2)?));
        Ok(())
    })?;
    Ok(counts)
}

pub(crate) fn check(
    events: &Imported,
    (counts, files): (&EngineCounts, &[u64]),
    stats: Totals<'_>,
    limit: usize,
) -> CheckReport {
    let mut check = Check::new("conservation", "counts", limit);
    let mut rows: BTreeMap<(u32, u16), u64> = BTreeMap::new();
    for event in events.complete() {
        *rows.entry((events.unit[event], events.kind[event])).or_default() += 1;
    }
    let mut expect = |found: u64, expected: u64, what: &dyn Fn() -> String| {
        check.rows += 1;
        if found != expected {
            check.find(|| Finding::new(format!("{}: found {found}, expected {expected}", what())).hint(LOST));
        }
    };
    for (name, (count, lasting)) in counts {
        let kind = events.kinds.iter().position(|kind| kind == name);
        let of_kind = events.kind.iter().filter(|found| Some(usize::from(**found)) == kind).count();
        expect(of_kind as u64, *count, &|| format!("events {name} read, against the engine's own count"));
        expect(*lasting, 0, &|| format!("events {name} that are no instants"));
    }
    let stats = match stats {
        Totals::Of(stats) => stats,
        Totals::NotAsked(why) => return check.skip(why),
        Totals::Missing => {
            check.find(|| {
                Finding::new("found no clock-stats.json, expected the totals that closing a run writes")
                    .hint("what a killed run left is validated with --prefix")
            });
            return check.finish();
        }
    };
    expect(events.len() as u64, stats.events, &|| "all events imported, against the statistics".into());
    if let Some(totals) = &stats.totals {
        expect(stats.events, totals.retained, &|| "events in the statistics, against retained".into());
        expect(stats.dropped, totals.dropped, &|| "dropped_events in the statistics, against dropped".into());
        let accounted = totals.retained.saturating_add(totals.dropped);
        expect(accounted, totals.produced, &|| "retained + dropped of the run, against produced".into());
    }
    if !stats.segments.is_empty() {
        expect(files.len() as u64, stats.segments.len() as u64, &|| "files of the trace".into());
    }
    for (segment, events) in stats.segments.iter().zip(files) {
        expect(*events, segment.events, &|| format!("events of {}, against its totals", segment.file));
    }
    for stream in &stats.streams {
        check_stream(events, &rows, stream, &mut expect);
    }
    if !stats.streams.is_empty() {
        let listed = |unit: u32| {
            let id = events.unit_ids[unit as usize];
            stats.streams.iter().any(|stream| stream.unit_id == id)
        };
        let unlisted: u64 = rows.iter().filter(|((unit, _), _)| !listed(*unit)).map(|(_, count)| count).sum();
        expect(unlisted, 0, &|| "events of units that the statistics do not list".into());
    }
    check.finish()
}

fn check_stream(
    events: &Imported,
    rows: &BTreeMap<(u32, u16), u64>,
    stream: &StreamTotals,
    expect: &mut impl FnMut(u64, u64, &dyn Fn() -> String),
) {
    let unit = events.unit_ids.iter().position(|id| *id == stream.unit_id).map(|unit| unit as u32);
    let label = || unit.map_or_else(|| format!("unit {}", stream.unit_id), |unit| events.unit_label(unit));
    let of_unit = |kind: Option<u16>| -> u64 {
        let wanted = |key: &(u32, u16)| Some(key.0) == unit && kind.is_none_or(|kind| key.1 == kind);
        rows.iter().filter(|(key, _)| wanted(key)).map(|(_, count)| count).sum()
    };
    expect(of_unit(None), stream.retained, &|| format!("events of {}, against retained", label()));
    let accounted = stream.retained.saturating_add(stream.dropped);
    expect(accounted, stream.produced, &|| format!("retained + dropped of {}, against produced", label()));
    let Some(kinds) = &stream.kinds else { return };
    for (name, count) in kinds {
        let kind = events.kinds.iter().position(|kind| kind == name);
        let found = kind.map_or(0, |kind| of_unit(Some(kind as u16)));
        expect(found, *count, &|| format!("events {name} of {}", label()));
    }
}
