//! identity: every imported event is the text logs' event, field by field, and every event of the logs is there.
//!
//! The imported rows are put in (unit, ordinal) order; the logs are streamed beside them, each unit with a place of
//! its own, since only a unit's own order is promised within a log. In prefix mode both sides may end early, per
//! unit, but what they have in common must be equal and without holes.
//! The `logs` check holds the logs to their own rules on the way.

use std::collections::BTreeSet;
use std::io::BufRead;

use super::imported::Imported;
use crate::report::{Check, CheckReport, Finding};
use crate::run::{Domain, InputError, Log, LogFault, LogGap, LogLine, LogRow, Manifest, RunDir};

const RECORDER: &str = "trace and log were not written by the same run, or one of them was changed";
const FIELDS: [&str; 7] = ["local_cycle", "event", "phase", "transaction_id", "fifo_id", "value", "unit_id"];

/// One unit's imported events and how far the logs have come in them.
#[derive(Debug, Default)]
struct UnitRows {
    /// Events in ascending order of ordinal, each ordinal once.
    events: Vec<u32>,
    at: usize,
    /// The log's last line of this unit.
    last: Option<LogRow>,
    /// Ordinals that the run declares lost, in prefix mode: first, count.
    gaps: Vec<(u64, u64)>,
}

/// The comparison in progress.
struct Comparison<'a> {
    events: &'a Imported,
    manifest: &'a Manifest,
    prefix: bool,
    rows: Vec<UnitRows>,
    identity: Check,
    logs: Check,
}

/// Both checks, `identity` and `logs`. Without a directory only the uniqueness of (unit, ordinal) can be held.
pub(crate) fn check(
    events: &Imported,
    run: Option<&RunDir>,
    prefix: bool,
    limit: usize,
) -> Result<Vec<CheckReport>, InputError> {
    let mut identity = Check::new("identity", "events", limit);
    let rows = unit_rows(events, &mut identity);
    identity.rows = events.complete().count() as u64;
    let logs = Check::new("logs", "lines", limit);
    let Some(run) = run else {
        identity.note("no text logs to hold the events against; (unit, ordinal) is unique");
        return Ok(vec![identity.finish(), logs.skip("no run directory")]);
    };
    let manifest = &run.manifest;
    let mut comparison = Comparison { events, manifest, prefix, rows, identity, logs };
    comparison.check_units();
    let mut found = Vec::new();
    for domain in &manifest.domains {
        found.push((domain, run.log(domain)?));
    }
    if found.iter().all(|(_, log)| log.is_none()) {
        comparison.identity.note("no text logs to hold the events against; (unit, ordinal) is unique");
        comparison.check_contiguity();
        let Comparison { identity, logs, .. } = comparison;
        return Ok(vec![identity.finish(), logs.skip("the run wrote no text logs")]);
    }
    let with_units: BTreeSet<u64> =
        manifest.units.iter().map(|unit| manifest.domains[unit.domain].id).collect();
    for (domain, log) in found {
        match log {
            Some(log) => comparison.read_log(domain, log)?,
            None if with_units.contains(&domain.id) => comparison.missing_log(domain),
            None => {}
        }
    }
    for name in run.foreign_logs()? {
        comparison.logs.find(|| Finding {
            file: Some(name),
            ..Finding::new("found a log of no domain of the manifest")
                .hint("directories of two runs must not be mixed")
        });
    }
    comparison.finish_units();
    comparison.check_contiguity();
    Ok(vec![comparison.identity.finish(), comparison.logs.finish()])
}

/// Buckets the events by unit in ascending order of ordinal; repeated ordinals are findings and left out.
fn unit_rows(events: &Imported, check: &mut Check) -> Vec<UnitRows> {
    let mut rows: Vec<UnitRows> = events.unit_ids.iter().map(|_| UnitRows::default()).collect();
    for event in events.complete() {
        rows[events.unit[event] as usize].events.push(event as u32);
    }
    let ordinal = |event: &u32| events.ordinal[*event as usize];
    for unit in &mut rows {
        if !unit.events.is_sorted_by_key(ordinal) {
            unit.events.sort_by_key(ordinal);
        }
        unit.events.dedup_by(|next, kept| {
            let (next, kept) = (*next as usize, *kept as usize);
            let repeated = events.ordinal[next] == events.ordinal[kept];
            if repeated {
                check.find(|| {
                    let (event, other) = (events.label(next), events.slice[kept]);
                    Finding::new(format!(
                        "{event}: found it twice, first in slice {other}, expected every ordinal once"
                    ))
                    .hint("a packet is in the trace twice")
                    .at_slice(events.slice[next])
                });
            }
            repeated
        });
    }
    rows
}

impl Comparison<'_> {
    /// Events of units or kinds that the manifest does not know.
    fn check_units(&mut self) {
        let (events, manifest) = (self.events, self.manifest);
        for event in events.complete() {
            if events.unit[event] as usize >= manifest.units.len() {
                self.identity.find(|| {
                    let message =
                        format!("{}: found a unit that the manifest does not list", events.label(event));
                    Finding::new(message).hint(RECORDER).at_slice(events.slice[event])
                });
            }
            if usize::from(events.kind[event]) >= manifest.kinds.len() {
                self.identity.find(|| {
                    let message =
                        format!("{}: found a kind that the manifest does not list", events.label(event));
                    Finding::new(message).hint(RECORDER).at_slice(events.slice[event])
                });
            }
        }
    }

    /// A domain with units has no log.
    fn missing_log(&mut self, domain: &Domain) {
        if !self.prefix {
            self.logs.find(|| {
                Finding::new(format!("found no {}, expected one", domain.log_name()))
                    .hint("other domains of the run have their logs")
            });
        }
    }

    fn read_log(&mut self, domain: &Domain, mut log: Log<'_, impl BufRead>) -> Result<(), InputError> {
        let file = log.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        loop {
            let line = log.next_line().map_err(|error| InputError::io(&log.path, &error))?;
            match line {
                None => return Ok(()),
                Some(LogLine::Fault(fault)) => self.fault(&file, fault),
                Some(LogLine::Gap(gap)) => self.gap(gap),
                Some(LogLine::Row(row)) => self.row(&file, domain, &row),
            }
        }
    }

    fn fault(&mut self, file: &str, fault: LogFault) {
        if fault.torn && self.prefix {
            return;
        }
        self.logs.find(|| Finding::new(fault.problem).hint(fault.hint).at_line(file, fault.line));
    }

    fn gap(&mut self, gap: LogGap) {
        if !self.prefix {
            return;
        }
        self.rows[gap.unit as usize].gaps.push((gap.ordinal, gap.count));
    }

    fn row(&mut self, file: &str, domain: &Domain, row: &LogRow) {
        self.logs.rows += 1;
        let unit = &self.manifest.units[row.unit as usize];
        let own = &self.manifest.domains[unit.domain];
        if own.id != domain.id {
            self.logs.find(|| {
                Finding::new(format!(
                    "found unit {} of domain {}, expected units of {}",
                    unit.name, own.name, domain.name
                ))
                .hint("the line is in another domain's file")
                .at_line(file, row.line)
            });
        }
        if let Some(last) = self.rows[row.unit as usize].last {
            let problem = if row.ordinal <= last.ordinal {
                Some(("ordinal", row.ordinal, format!("more than {}", last.ordinal)))
            } else if row.cycle < last.cycle {
                Some(("local_cycle", row.cycle, format!("at least {}", last.cycle)))
            } else {
                None
            };
            if let Some((column, found, expected)) = problem {
                self.logs.find(|| {
                    let name = &unit.name;
                    Finding::new(format!(
                        "{name}: found {column} {found}, expected {expected} as in line {}",
                        last.line
                    ))
                    .hint("a unit's lines must be in its own order")
                    .at_line(file, row.line)
                });
            }
            if row.ordinal <= last.ordinal {
                return;
            }
        }
        self.compare(file, row);
        self.rows[row.unit as usize].last = Some(*row);
    }

    /// Holds a line of a log against the unit's next imported events.
    fn compare(&mut self, file: &str, row: &LogRow) {
        let events = self.events;
        let unit = &mut self.rows[row.unit as usize];
        while let Some(event) = unit.events.get(unit.at).map(|event| *event as usize) {
            if events.ordinal[event] > row.ordinal {
                break;
            }
            unit.at += 1;
            if events.ordinal[event] < row.ordinal {
                not_in_log(&mut self.identity, events, event);
                continue;
            }
            let found = [
                events.cycle[event],
                events.kind[event].into(),
                events.phase[event],
                events.transaction[event],
                events.fifo[event],
                events.value[event],
                events.unit[event].into(),
            ];
            let expected = [
                row.cycle,
                row.kind.into(),
                row.phase,
                row.transaction,
                row.fifo,
                row.value,
                row.unit.into(),
            ];
            if found != expected {
                self.differs(file, row, event, &found, &expected);
            }
            return;
        }
        let trace_ended = unit.at == unit.events.len();
        if self.prefix && trace_ended {
            return;
        }
        self.identity.find(|| {
            let (name, ordinal) = (events.unit_label(row.unit), row.ordinal);
            let kind = &self.manifest.kinds[usize::from(row.kind)];
            Finding::new(format!("{name} #{ordinal} ({kind}): found in the log but not in the trace"))
                .hint("an event was lost on the way into the importer")
                .at_line(file, row.line)
        });
    }

    fn differs(&mut self, file: &str, row: &LogRow, event: usize, found: &[u64; 7], expected: &[u64; 7]) {
        let (events, manifest) = (self.events, self.manifest);
        self.identity.find(|| {
            let show = |field: usize, value: u64| match FIELDS[field] {
                "event" => {
                    manifest.kinds.get(value as usize).cloned().unwrap_or_else(|| "an unknown kind".into())
                }
                _ => value.to_string(),
            };
            let differences: Vec<String> = (0..FIELDS.len())
                .filter(|field| found[*field] != expected[*field])
                .map(|field| {
                    let (found, expected) = (show(field, found[field]), show(field, expected[field]));
                    format!("{} {found}, expected {expected}", FIELDS[field])
                })
                .collect();
            Finding::new(format!("{}: found {}", events.label(event), differences.join("; ")))
                .hint(RECORDER)
                .at_line(file, row.line)
                .at_slice(events.slice[event])
        });
    }

    /// What is left of the trace when the logs have ended.
    fn finish_units(&mut self) {
        if self.prefix {
            return;
        }
        let units = self.manifest.units.len();
        for unit in self.rows.iter().take(units) {
            for event in &unit.events[unit.at..] {
                not_in_log(&mut self.identity, self.events, *event as usize);
            }
        }
    }

    /// In prefix mode: every unit's ordinals count from 0 without holes but the declared ones.
    fn check_contiguity(&mut self) {
        if !self.prefix {
            return;
        }
        let events = self.events;
        for unit in &mut self.rows {
            unit.gaps.sort_unstable();
            let mut gaps = unit.gaps.iter().peekable();
            let mut next = 0;
            for event in unit.events.iter().map(|event| *event as usize) {
                while let Some((first, count)) = gaps.next_if(|(first, _)| *first <= next) {
                    next = next.max(first.saturating_add(*count));
                }
                let ordinal = events.ordinal[event];
                if ordinal != next {
                    self.identity.find(|| {
                        Finding::new(format!(
                            "{}: found ordinal {ordinal}, expected {next}",
                            events.label(event)
                        ))
                        .hint("events are missing in the middle, which no killed run explains")
                        .at_slice(events.slice[event])
                    });
                }
                next = ordinal.saturating_add(1);
            }
        }
    }
}

fn not_in_log(check: &mut Check, events: &Imported, event: usize) {
    check.find(|| {
        Finding::new(format!("{}: found in the trace but not in the log", events.label(event)))
            .hint(RECORDER)
            .at_slice(events.slice[event])
    });
}
