//! Follows a run event by event, in exact order, and tells what it saw.

use std::collections::BTreeMap;

use clockweave_model::{ClockDomain, ExactTime, FifoEntry};
use num_bigint::BigUint;

use super::distribution::{Distribution, Summary};
use super::exact::{Figure, Unit, elapsed, whole};
use super::fifo::{FifoObserver, Happening, Measure, PACKET_BYTES, Role, observed_edges};
use super::tally::Tally;
use super::{FifoReport, ReportOptions, RunReport, Span, UnitReport};
use crate::logs::{Catalog, Unit as CatalogUnit};
use crate::merge::{MergeError, Row, RowWriter};

/// Most FIFOs that are told apart.
const MOST_FIFOS: usize = 1 << 16;

/// What is known of a unit.
#[derive(Clone, Debug, Default)]
struct UnitObserver {
    events: u64,
    lost: u64,
    busy: u64,
    last_busy: Option<u64>,
}

/// Follows a run.
pub(super) struct Observer<'r> {
    catalog: &'r Catalog,
    /// By event index.
    roles: Vec<Option<Role>>,
    fifos: Vec<FifoObserver>,
    by_id: BTreeMap<u64, u32>,
    units: Vec<UnitObserver>,
    tally: Tally,
    inside: u64,
    most_inside: u64,
    instant: u64,
    /// Exact time of the instant as text.
    time: Vec<u8>,
    /// Domain and edge of the first and of the last event.
    ends: Option<[(u32, u64); 2]>,
}

impl<'r> Observer<'r> {
    pub(super) fn new(catalog: &'r Catalog, known: &[FifoEntry], options: &ReportOptions) -> Self {
        let roles = catalog.event_names().iter().map(|name| Role::of(name)).collect();
        let mut observer = Self {
            catalog,
            roles,
            fifos: Vec::new(),
            by_id: BTreeMap::new(),
            units: vec![UnitObserver::default(); catalog.units().len()],
            tally: Tally::new(options.memory / 4, &options.scratch),
            inside: 0,
            most_inside: (options.memory / 4 / PACKET_BYTES).max(1),
            instant: 0,
            time: Vec::new(),
            ends: None,
        };
        for entry in known {
            observer.fifo(entry.id.into());
        }
        observer
    }

    fn fifo(&mut self, id: u64) -> u32 {
        *self.by_id.entry(id).or_insert_with(|| {
            let index = u32::try_from(self.fifos.len()).expect("fewer FIFOs than 2^32");
            self.fifos.push(FifoObserver::new(id, index));
            index
        })
    }

    fn observe(&mut self, row: &Row<'_>) -> Result<(), MergeError> {
        let fields = &row.entry.fields;
        let unit = &mut self.units[row.entry.unit as usize];
        if row.entry.lost > 0 {
            unit.lost = unit.lost.saturating_add(row.entry.lost);
            return Ok(());
        }
        self.step(row);
        let role = self.roles[row.entry.event as usize];
        let unit = &mut self.units[row.entry.unit as usize];
        unit.events += 1;
        if role.is_none_or(Role::is_action) && unit.last_busy != Some(fields.cycle) {
            unit.last_busy = Some(fields.cycle);
            unit.busy += 1;
        }
        let Some(role) = role.filter(|_| fields.fifo != 0) else { return Ok(()) };
        let index = self.fifo(fields.fifo) as usize;
        if self.fifos.len() > MOST_FIFOS {
            return Err(MergeError::Row(format!(
                "found events of more than {MOST_FIFOS} FIFOs, which a report does not tell apart"
            )));
        }
        let fifo = &mut self.fifos[index];
        let before = fifo.inside();
        let happening = Happening {
            role,
            unit: row.entry.unit,
            cycle: fields.cycle,
            transaction: fields.transaction,
            value: fields.value,
            instant: self.instant,
        };
        if let Some(other) = fifo.take(happening, self.catalog, &mut self.tally)? {
            let other = &self.catalog.units()[other as usize].name;
            return Err(MergeError::Row(format!(
                "unit `{}`, ordinal {}: found `{}` of FIFO {}, whose other events of that end are of unit \
                 `{other}`; an end of a FIFO belongs to one unit",
                row.unit(),
                fields.ordinal,
                row.event(),
                fields.fifo,
            )));
        }
        self.inside = self.inside + self.fifos[index].inside() - before;
        if self.inside > self.most_inside {
            return Err(MergeError::Row(format!(
                "FIFO {}: found {} packets written and not consumed, in all FIFOs {}, more than fit the memory; \
                 give more with --memory, or look for the reader's log",
                fields.fifo,
                self.fifos[index].inside(),
                self.inside,
            )));
        }
        Ok(())
    }

    /// Counts exact instants.
    fn step(&mut self, row: &Row<'_>) {
        let (num, den) = row.time();
        let time = &row.stamp[..num.len() + 1 + den.len()];
        if time != self.time {
            self.time.clear();
            self.time.extend_from_slice(time);
            self.instant += 1;
        }
        let here = (row.domain, row.entry.fields.cycle);
        self.ends.get_or_insert([here; 2])[1] = here;
    }

    /// What was seen.
    pub(super) fn report(self, known: &[FifoEntry]) -> Result<RunReport, MergeError> {
        let Self { catalog, mut fifos, units, tally, ends, .. } = self;
        let clocks = catalog.domains();
        let [first, last] = match ends {
            Some(ends) => {
                ends.map(|(domain, cycle)| clocks[domain as usize].edge(cycle).unwrap_or(ExactTime::ZERO))
            }
            None => [ExactTime::ZERO; 2],
        };
        let mut measured = distributions(&fifos, tally)?;
        let lost_at = |unit: Option<u32>| unit.is_some_and(|unit| units[unit as usize].lost > 0);
        fifos.sort_by_key(FifoObserver::id);
        let known: BTreeMap<u64, &FifoEntry> = known.iter().map(|entry| (entry.id.into(), entry)).collect();
        let fifos = fifos.into_iter().map(|fifo| {
            let lost = fifo.ends().into_iter().any(lost_at);
            let index = self.by_id[&fifo.id()];
            let mut take = |measure: Measure| measured[measure.distribution(index) as usize].take();
            let report = fifo.finish(catalog, [&first, &last], lost, &mut take);
            listed(report, &known)
        });
        let fifos = fifos.collect();
        let of_unit = |(unit, seen): (&CatalogUnit, &UnitObserver)| {
            let clock: &ClockDomain = &clocks[unit.domain as usize];
            let edges = if ends.is_some() { observed_edges(clock, &first, &last) } else { 0 };
            UnitReport {
                id: unit.id,
                name: unit.name.clone(),
                domain: clock.name().to_owned(),
                events: seen.events,
                lost_events: seen.lost,
                busy_edges: seen.busy,
                edges,
                utilisation: Figure::quotient(Unit::Share, &whole(seen.busy), &whole(edges))
                    .filter(|_| seen.lost == 0),
            }
        };
        Ok(RunReport {
            run_id: catalog.run_id().to_owned(),
            observed: ends.map(|_| Span {
                from: Figure::new(Unit::Seconds, first.to_ratio()),
                to: Figure::new(Unit::Seconds, last.to_ratio()),
                time: Figure::new(Unit::Seconds, elapsed(&first, &last)),
            }),
            events: units.iter().map(|unit| unit.events).sum(),
            lost_events: units.iter().fold(0, |sum, unit| sum.saturating_add(unit.lost)),
            fifos,
            units: catalog.units().iter().zip(&units).map(of_unit).collect(),
        })
    }
}

/// Adds what the manifest's table says.
fn listed(report: FifoReport, known: &BTreeMap<u64, &FifoEntry>) -> FifoReport {
    let Some(entry) = known.get(&report.id) else { return report };
    FifoReport {
        name: Some(entry.name.clone()),
        depth: Some(entry.depth),
        stages: Some(entry.stages),
        writer: report.writer.or_else(|| Some(entry.writer.clone())),
        reader: report.reader.or_else(|| Some(entry.reader.clone())),
        ..report
    }
}

/// The distributions by number.
fn distributions(fifos: &[FifoObserver], tally: Tally) -> Result<Vec<Option<Distribution>>, MergeError> {
    let one = BigUint::from(1u32);
    let mut summaries = Vec::with_capacity(fifos.len() * Measure::ALL.len());
    for fifo in fifos {
        let ticks = fifo.ticks_per_second();
        for measure in Measure::ALL {
            let scale = if measure.unit() == Unit::Seconds { &ticks } else { &one };
            let at = u32::try_from(summaries.len()).expect("fewer distributions than 2^32");
            summaries.push(Summary::new(measure.unit(), scale, tally.extent(at)));
        }
    }
    tally.finish(|distribution, value, count| summaries[distribution as usize].push(value, count))?;
    Ok(summaries.into_iter().map(Summary::finish).collect())
}

impl RowWriter for Observer<'_> {
    fn begin(&mut self, _runs: &[&Catalog], _holes: bool) -> Result<(), MergeError> {
        Ok(())
    }

    fn push(&mut self, row: &Row<'_>) -> Result<(), MergeError> {
        self.observe(row)
    }

    fn finish(&mut self) -> Result<(), MergeError> {
        Ok(())
    }
}
