//! Merged rows as a SQLite database.
//!
//! Tables `run`, `domain`, `unit`, `event` and `gap`; the view `merged` has the columns of a merged
//! log. `rank` numbers events and gaps together in the exact order. SQLite has no unsigned 64-bit
//! integers: a number above `i64::MAX` is its decimal as text, and so are always the parts of rationals.

use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, Statement, params};

use crate::logs::Catalog;
use crate::progress::Progress;
use crate::run::Run;

use super::rows::{Row, RowWriter};
use super::{MergeError, MergeOptions, MergeReport, merge_rows};

const SCHEMA: &str = "
CREATE TABLE run (run INTEGER PRIMARY KEY, run_id TEXT NOT NULL);
CREATE TABLE domain (
  run INTEGER NOT NULL REFERENCES run, domain_id INTEGER NOT NULL, name TEXT NOT NULL,
  period_num TEXT NOT NULL, period_den TEXT NOT NULL, phase_num TEXT NOT NULL, phase_den TEXT NOT NULL,
  PRIMARY KEY (run, domain_id)) WITHOUT ROWID;
CREATE TABLE unit (
  unit INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run, unit_id NOT NULL, name TEXT NOT NULL,
  domain_id INTEGER NOT NULL);
CREATE TABLE event (
  rank INTEGER PRIMARY KEY, unit INTEGER NOT NULL REFERENCES unit, time_num TEXT NOT NULL, time_den TEXT NOT NULL,
  ts INTEGER NOT NULL, local_cycle NOT NULL, event TEXT NOT NULL, phase INTEGER NOT NULL, transaction_id NOT NULL,
  fifo_id NOT NULL, value NOT NULL, ordinal NOT NULL);
CREATE TABLE gap (
  rank INTEGER PRIMARY KEY, unit INTEGER NOT NULL REFERENCES unit, time_num TEXT NOT NULL, time_den TEXT NOT NULL,
  ts INTEGER NOT NULL, local_cycle NOT NULL, phase INTEGER NOT NULL, ordinal NOT NULL, lost NOT NULL);
CREATE VIEW merged AS
  SELECT run.run_id AS run, time_num, time_den, ts, domain_id, unit.name AS unit, local_cycle, event, phase,
    transaction_id, fifo_id, value, ordinal
  FROM event JOIN unit USING (unit) JOIN run USING (run) ORDER BY rank;
";

const INDEXES: &str = "
CREATE INDEX event_by_time ON event (ts, rank);
CREATE INDEX event_by_unit ON event (unit, rank);
CREATE INDEX event_by_transaction ON event (transaction_id, rank) WHERE transaction_id <> 0;
COMMIT;
";

impl From<rusqlite::Error> for MergeError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(Box::new(error))
    }
}

fn number(value: u64) -> Value {
    i64::try_from(value).map_or_else(|_| Value::Text(value.to_string()), Value::Integer)
}

struct Database<'c> {
    connection: &'c Connection,
    event: Statement<'c>,
    gap: Statement<'c>,
    /// Number of the first unit of each run.
    first_unit: Vec<i64>,
    rank: i64,
}

impl<'c> Database<'c> {
    fn new(connection: &'c Connection) -> Result<Self, MergeError> {
        Ok(Self {
            connection,
            event: connection.prepare("INSERT INTO event VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)")?,
            gap: connection.prepare("INSERT INTO gap VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)")?,
            first_unit: Vec::new(),
            rank: 0,
        })
    }
}

impl RowWriter for Database<'_> {
    fn begin(&mut self, runs: &[&Catalog], _holes: bool) -> Result<(), MergeError> {
        let mut run_row = self.connection.prepare("INSERT INTO run VALUES (?1,?2)")?;
        let mut domain_row = self.connection.prepare("INSERT INTO domain VALUES (?1,?2,?3,?4,?5,?6,?7)")?;
        let mut unit_row = self.connection.prepare("INSERT INTO unit VALUES (?1,?2,?3,?4,?5)")?;
        let mut units = 0i64;
        for (run, catalog) in (0i64..).zip(runs) {
            run_row.execute(params![run, catalog.run_id()])?;
            for domain in catalog.domains() {
                let (period, phase) = (domain.period().ratio(), domain.phase().ratio());
                let parts =
                    [period.numer(), period.denom(), phase.numer(), phase.denom()].map(u64::to_string);
                let [period_num, period_den, phase_num, phase_den] = parts;
                let name = domain.name();
                domain_row.execute(params![
                    run,
                    domain.id(),
                    name,
                    period_num,
                    period_den,
                    phase_num,
                    phase_den
                ])?;
            }
            self.first_unit.push(units);
            for unit in catalog.units() {
                let domain = catalog.domains()[unit.domain as usize].id();
                unit_row.execute(params![units, run, number(unit.id), unit.name, domain])?;
                units += 1;
            }
        }
        Ok(())
    }

    fn push(&mut self, row: &Row<'_>) -> Result<(), MergeError> {
        let fields = &row.entry.fields;
        let unit = self.first_unit[row.run] + i64::from(row.entry.unit);
        let (num, den) = row.time();
        let (rank, cycle, ordinal) = (self.rank, number(fields.cycle), number(fields.ordinal));
        self.rank += 1;
        if row.entry.lost > 0 {
            let lost = number(row.entry.lost);
            self.gap.execute(params![rank, unit, num, den, row.ts, cycle, fields.phase, ordinal, lost])?;
        } else {
            self.event.execute(params![
                rank,
                unit,
                num,
                den,
                row.ts,
                cycle,
                row.event(),
                fields.phase,
                number(fields.transaction),
                number(fields.fifo),
                number(fields.value),
                ordinal
            ])?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), MergeError> {
        Ok(self.connection.execute_batch(INDEXES)?)
    }
}

/// Merges the logs of `runs` into a new SQLite database in the empty file at `path`.
///
/// # Errors
/// As [`super::merge`]; [`MergeError::Database`] if SQLite cannot write.
pub fn merge_sqlite(
    runs: &[Run],
    options: &MergeOptions,
    path: &Path,
    progress: &mut dyn Progress,
) -> Result<MergeReport, MergeError> {
    let connection = Connection::open(path)?;
    // The file takes its place only when it is whole, so that SQLite need not protect it; its cache is a part of
    // the memory given, in KiB.
    let cache = i64::try_from(options.memory / 8 / 1024).unwrap_or(i64::MAX).max(1024);
    connection.execute_batch(&format!(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE; PRAGMA cache_size = -{cache};
         PRAGMA locking_mode = EXCLUSIVE; BEGIN;"
    ))?;
    connection.execute_batch(SCHEMA)?;
    let report = merge_rows(runs, options, &mut Database::new(&connection)?, progress)?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(report)
}
