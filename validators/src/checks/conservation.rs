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

/// The imported events counted once, so that every total is one look-up whatever the number of units and kinds.
struct Counts<'a> {
    events: &'a Imported,
    /// Complete events by unit and kind.
    rows: BTreeMap<(u32, u16), u64>,
    /// The same by unit.
    units: Vec<u64>,
    unit_of_id: BTreeMap<u64, u32>,
    kind_of_name: BTreeMap<&'a str, u16>,
}

impl<'a> Counts<'a> {
    fn new(events: &'a Imported) -> Self {
        let mut rows: BTreeMap<(u32, u16), u64> = BTreeMap::new();
        let mut units = vec![0; events.unit_ids.len()];
        for event in events.complete() {
            *rows.entry((events.unit[event], events.kind[event])).or_default() += 1;
            units[events.unit[event] as usize] += 1;
        }
        let unit_of_id = (0..).zip(&events.unit_ids).map(|(unit, id)| (*id, unit)).collect();
        let kinds = events.kinds.iter().enumerate();
        let kind_of_name = kinds.map(|(kind, name)| (&**name, kind as u16)).collect();
        Self { events, rows, units, unit_of_id, kind_of_name }
    }

    fn of_unit(&self, unit: Option<u32>) -> u64 {
        unit.map_or(0, |unit| self.units[unit as usize])
    }

    fn of_unit_and_kind(&self, unit: Option<u32>, kind: &str) -> u64 {
        let key = unit.zip(self.kind_of_name.get(kind).copied());
        key.and_then(|key| self.rows.get(&key)).copied().unwrap_or(0)
    }
}

/// Holds two numbers against each other; `what` names them.
type Expect<'a> = &'a mut dyn FnMut(u64, u64, &dyn Fn() -> String);

pub(crate) fn check(
    events: &Imported,
    (counts, files): (&EngineCounts, &[u64]),
    stats: Totals<'_>,
    limit: usize,
) -> CheckReport {
    let mut check = Check::new("conservation", "counts", limit);
    let mut expect = |found: u64, expected: u64, what: &dyn Fn() -> String| {
        check.rows += 1;
        if found != expected {
            check.find(|| Finding::new(format!("{}: found {found}, expected {expected}", what())).hint(LOST));
        }
    };
    let known = Counts::new(events);
    engine_side(&known, counts, &mut expect);
    match stats {
        Totals::Of(stats) => statistics_side(&known, files, stats, &mut expect),
        Totals::NotAsked(why) => return check.skip(why),
        Totals::Missing => check.find(|| {
            Finding::new("found no clock-stats.json, expected the totals that closing a run writes")
                .hint("what a killed run left is validated with --prefix")
        }),
    }
    check.finish()
}

fn engine_side(known: &Counts<'_>, counts: &EngineCounts, expect: Expect<'_>) {
    let mut of_kind = vec![0_u64; known.events.kinds.len()];
    known.events.kind.iter().for_each(|kind| of_kind[usize::from(*kind)] += 1);
    for (name, (count, lasting)) in counts {
        let read = known.kind_of_name.get(&**name).map_or(0, |kind| of_kind[usize::from(*kind)]);
        expect(read, *count, &|| format!("events {name} read, against the engine's own count"));
        expect(*lasting, 0, &|| format!("events {name} that are no instants"));
    }
}

fn statistics_side(known: &Counts<'_>, files: &[u64], stats: &Stats, expect: Expect<'_>) {
    let events = known.events;
    expect(events.len() as u64, stats.events, &|| "all events imported, against the statistics".into());
    if let Some(totals) = &stats.totals {
        expect(stats.events, totals.retained, &|| "events in the statistics, against retained".into());
        expect(stats.dropped, totals.dropped, &|| "dropped_events in the statistics, against dropped".into());
        let accounted = totals.retained.saturating_add(totals.dropped);
        expect(accounted, totals.produced, &|| "retained + dropped of the run, against produced".into());
    }
    if !stats.segments.is_empty() {
        expect(files.len() as u64, stats.segments.len() as u64, &|| "files of the trace".into());
        let dropped = stats.segments.iter().fold(0, |sum: u64, segment| sum.saturating_add(segment.dropped));
        expect(dropped, stats.dropped, &|| "events dropped by the files together, against dropped".into());
    }
    for (segment, events) in stats.segments.iter().zip(files) {
        expect(*events, segment.events, &|| format!("events of {}, against its totals", segment.file));
    }
    let mut listed = vec![false; known.units.len()];
    for stream in &stats.streams {
        let unit = known.unit_of_id.get(&stream.unit_id).copied();
        if let Some(unit) = unit {
            listed[unit as usize] = true;
        }
        check_stream(known, unit, stream, expect);
    }
    if !stats.streams.is_empty() {
        let unlisted = known.units.iter().zip(&listed).filter(|(_, listed)| !**listed);
        let unlisted = unlisted.map(|(count, _)| count).sum();
        expect(unlisted, 0, &|| "events of units that the statistics do not list".into());
    }
}

fn check_stream(known: &Counts<'_>, unit: Option<u32>, stream: &StreamTotals, expect: Expect<'_>) {
    let label =
        || unit.map_or_else(|| format!("unit {}", stream.unit_id), |unit| known.events.unit_label(unit));
    expect(known.of_unit(unit), stream.retained, &|| format!("events of {}, against retained", label()));
    let accounted = stream.retained.saturating_add(stream.dropped);
    expect(accounted, stream.produced, &|| format!("retained + dropped of {}, against produced", label()));
    if let Some(kinds) = &stream.kinds {
        let counted = kinds.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
        expect(counted, stream.retained, &|| format!("events of {} by kind, against retained", label()));
    }
    for (name, count) in stream.kinds.iter().flatten() {
        expect(known.of_unit_and_kind(unit, name), *count, &|| format!("events {name} of {}", label()));
    }
}
