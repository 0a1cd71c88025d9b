//! What a validation compared and what it found, as a SQLite database for questions of one's own.
//!
//! Tables `result`, `checks`, `finding`, `domain`, `unit`, `kind`, `trace_event`, `arrow`, `log_event` and `log_gap`; the views
//! `trace` and `log` have the events of each side with names, `only_in_trace`, `only_in_log` and `changed` what differs.
//! SQLite has no unsigned 64-bit integers: a number above `i64::MAX` is its decimal as text. An argument that an event
//! lacks is NULL. Deliberately judges nothing: the findings are those of the report.

use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, params};

use crate::checks::imported::Imported;
use crate::content::Content;
use crate::report::Report;
use crate::run::{LogLine, RunDir};
use crate::validate::ValidateError;

const SCHEMA: &str = "
CREATE TABLE result (subject TEXT NOT NULL, engine TEXT NOT NULL, events INTEGER NOT NULL, passed INTEGER NOT NULL);
CREATE TABLE checks (
  name TEXT NOT NULL, status TEXT NOT NULL, rows INTEGER NOT NULL, counted TEXT NOT NULL, found INTEGER NOT NULL,
  note TEXT);
CREATE TABLE finding (
  check_name TEXT NOT NULL, message TEXT NOT NULL, hint TEXT, file TEXT, line INTEGER, offset INTEGER, rule TEXT,
  sequence INTEGER, slice INTEGER);
CREATE TABLE domain (domain INTEGER PRIMARY KEY, domain_id NOT NULL, name TEXT NOT NULL, file TEXT NOT NULL);
CREATE TABLE unit (unit INTEGER PRIMARY KEY, unit_id NOT NULL, name TEXT NOT NULL);
CREATE TABLE kind (kind INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE trace_event (
  slice INTEGER NOT NULL, ts INTEGER NOT NULL, kind INTEGER NOT NULL REFERENCES kind, unit INTEGER REFERENCES unit,
  local_cycle, phase, transaction_id, fifo_id, value, ordinal);
CREATE TABLE arrow (slice_out INTEGER NOT NULL, slice_in INTEGER NOT NULL);
CREATE TABLE log_event (
  domain INTEGER NOT NULL REFERENCES domain, line INTEGER NOT NULL, kind INTEGER NOT NULL REFERENCES kind,
  unit INTEGER NOT NULL REFERENCES unit, local_cycle NOT NULL, phase NOT NULL, transaction_id NOT NULL,
  fifo_id NOT NULL, value NOT NULL, ordinal NOT NULL);
CREATE TABLE log_gap (
  domain INTEGER NOT NULL REFERENCES domain, unit INTEGER NOT NULL REFERENCES unit, ordinal NOT NULL, lost NOT NULL);
CREATE VIEW trace AS
  SELECT slice, ts, unit.name AS unit, local_cycle, kind.name AS event, phase, transaction_id, fifo_id, value, ordinal
  FROM trace_event LEFT JOIN unit USING (unit) JOIN kind USING (kind);
CREATE VIEW log AS
  SELECT domain.file, line, unit.name AS unit, local_cycle, kind.name AS event, phase, transaction_id, fifo_id, value,
    ordinal
  FROM log_event JOIN domain USING (domain) JOIN unit USING (unit) JOIN kind USING (kind);
CREATE VIEW only_in_trace AS
  SELECT slice, ts, unit.name AS unit, local_cycle, kind.name AS event, phase, transaction_id, fifo_id, value, ordinal
  FROM trace_event AS found LEFT JOIN unit USING (unit) JOIN kind USING (kind)
  WHERE NOT EXISTS (SELECT 1 FROM log_event WHERE (log_event.unit, log_event.ordinal) = (found.unit, found.ordinal));
CREATE VIEW only_in_log AS
  SELECT domain.file, line, unit.name AS unit, local_cycle, kind.name AS event, phase, transaction_id, fifo_id, value,
    ordinal
  FROM log_event AS said JOIN domain USING (domain) JOIN unit USING (unit) JOIN kind USING (kind)
  WHERE NOT EXISTS (SELECT 1 FROM trace_event WHERE (trace_event.unit, trace_event.ordinal) = (said.unit, said.ordinal));
CREATE VIEW changed AS
  SELECT unit.name AS unit, found.ordinal, found.slice, found.ts, domain.file, said.line,
    found.local_cycle AS trace_local_cycle, said.local_cycle AS log_local_cycle,
    (SELECT name FROM kind WHERE kind = found.kind) AS trace_event, (SELECT name FROM kind WHERE kind = said.kind) AS log_event,
    found.phase AS trace_phase, said.phase AS log_phase,
    found.transaction_id AS trace_transaction_id, said.transaction_id AS log_transaction_id,
    found.fifo_id AS trace_fifo_id, said.fifo_id AS log_fifo_id, found.value AS trace_value, said.value AS log_value
  FROM trace_event AS found JOIN log_event AS said USING (unit, ordinal) JOIN domain USING (domain) JOIN unit USING (unit)
  WHERE (found.local_cycle, found.kind, found.phase, found.transaction_id, found.fifo_id, found.value)
    IS NOT (said.local_cycle, said.kind, said.phase, said.transaction_id, said.fifo_id, said.value);
";

const INDEXES: &str = "
CREATE INDEX trace_event_by_unit ON trace_event (unit, ordinal);
CREATE INDEX trace_event_by_slice ON trace_event (slice);
CREATE INDEX log_event_by_unit ON log_event (unit, ordinal);
COMMIT;
";

impl From<rusqlite::Error> for ValidateError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(Box::new(error))
    }
}

fn number(value: u64) -> Value {
    i64::try_from(value).map_or_else(|_| Value::Text(value.to_string()), Value::Integer)
}

/// Makes the empty file at `path` a database of `report` and of what there was to compare.
pub(crate) fn write(
    path: &Path,
    report: &Report,
    content: Option<&Content>,
    run: Option<&RunDir>,
) -> Result<(), ValidateError> {
    let connection = Connection::open(path)?;
    // Whoever keeps the file does so when it is whole: SQLite need not protect it.
    connection.execute_batch(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE; PRAGMA locking_mode = EXCLUSIVE; BEGIN;",
    )?;
    connection.execute_batch(SCHEMA)?;
    write_report(&connection, report)?;
    match content {
        Some(content) => {
            write_names(&connection, &content.events)?;
            write_trace(&connection, content)?;
        }
        // The log has names too.
        None => write_names(&connection, &Imported::of_manifest(run.map(|run| &run.manifest)))?,
    }
    if let Some(run) = run {
        write_log(&connection, run)?;
    }
    connection.execute_batch(INDEXES)?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(())
}

fn write_report(connection: &Connection, report: &Report) -> Result<(), ValidateError> {
    let Report { subject, engine, events, passed, checks, .. } = report;
    let row = params![subject, engine, number(*events), passed];
    connection.execute("INSERT INTO result VALUES (?1, ?2, ?3, ?4)", row)?;
    let mut check_row = connection.prepare("INSERT INTO checks VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    let mut finding_row =
        connection.prepare("INSERT INTO finding VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?;
    for check in checks {
        let (rows, found) = (number(check.rows), number(check.found));
        check_row.execute(params![check.name, check.status.name(), rows, check.unit, found, check.note])?;
        for finding in &check.findings {
            finding_row.execute(params![
                check.name,
                finding.message,
                finding.hint,
                finding.file,
                finding.line.map(|line| number(line as u64)),
                finding.offset.map(number),
                finding.rule,
                finding.sequence,
                finding.slice.map(number)
            ])?;
        }
    }
    Ok(())
}

fn write_names(connection: &Connection, events: &Imported) -> Result<(), ValidateError> {
    let mut unit_row = connection.prepare("INSERT INTO unit VALUES (?1, ?2, ?3)")?;
    for (unit, id) in (0_u32..).zip(&events.unit_ids) {
        unit_row.execute(params![unit, number(*id), events.unit_label(unit)])?;
    }
    let mut kind_row = connection.prepare("INSERT INTO kind VALUES (?1, ?2)")?;
    for (kind, name) in (0_u32..).zip(&events.kinds) {
        kind_row.execute(params![kind, name])?;
    }
    Ok(())
}

fn write_trace(connection: &Connection, content: &Content) -> Result<(), ValidateError> {
    let events = &content.events;
    let mut row =
        connection.prepare("INSERT INTO trace_event VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?;
    for event in 0..events.len() {
        let [unit, cycle, phase, transaction, fifo, value, ordinal] =
            events.arguments(event).map(|argument| argument.map(number));
        let (slice, ts, kind) = (events.slice[event], events.ts[event], events.kind[event]);
        row.execute(params![slice, ts, kind, unit, cycle, phase, transaction, fifo, value, ordinal])?;
    }
    let mut row = connection.prepare("INSERT INTO arrow VALUES (?1, ?2)")?;
    for (from, to) in &content.edges {
        row.execute(params![from, to])?;
    }
    Ok(())
}

/// The logs as they are; lines that are no events are findings.
fn write_log(connection: &Connection, run: &RunDir) -> Result<(), ValidateError> {
    let mut domain_row = connection.prepare("INSERT INTO domain VALUES (?1, ?2, ?3, ?4)")?;
    let mut event_row =
        connection.prepare("INSERT INTO log_event VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?;
    let mut gap_row = connection.prepare("INSERT INTO log_gap VALUES (?1, ?2, ?3, ?4)")?;
    for (domain, listed) in (0_u32..).zip(&run.manifest.domains) {
        let file = listed.log_name();
        domain_row.execute(params![domain, number(listed.id), listed.name, file])?;
        let Some(mut log) = run.log(listed)? else { continue };
        while let Some(line) = log.next_line().map_err(|error| crate::InputError::io(&log.path, &error))? {
            match line {
                LogLine::Row(row) => {
                    event_row.execute(params![
                        domain,
                        number(row.line as u64),
                        row.kind,
                        row.unit,
                        number(row.cycle),
                        number(row.phase),
                        number(row.transaction),
                        number(row.fifo),
                        number(row.value),
                        number(row.ordinal)
                    ])?;
                }
                LogLine::Gap(gap) => {
                    gap_row.execute(params![domain, gap.unit, number(gap.ordinal), number(gap.count)])?;
                }
                LogLine::Fault(_) => {}
            }
        }
    }
    Ok(())
}
