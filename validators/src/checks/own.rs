//! Checks of the user's own: queries that must return no row, or exactly the rows of a CSV file.
//!
//! A check is `NAME.sql`, with or without `NAME.expected.csv` beside it. Each begins with the importer's own tables
//! only: what another check has created is gone. CSV cells are as the importer's shell prints them: text in quotes
//! where needed, `[NULL]` for NULL, floats with six decimals or as they are. Blobs are hexadecimal digits.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::engine::{Cell, EngineError, Session};
use crate::regular::open_regular;
use crate::report::{Check, CheckReport, Finding};
use crate::run::InputError;
use crate::validate::ValidateError;

/// Most bytes of a query or of expected rows.
const LONGEST: u64 = 64 << 20;
/// Most characters of a row that a finding shows.
const SHOWN: usize = 300;
const EXPECTED: &str = ".expected.csv";

/// One query of the user's.
#[derive(Clone, Debug)]
pub struct OwnCheck {
    /// `check/NAME`.
    name: String,
    path: PathBuf,
    sql: String,
    /// The expected rows, column names first; `None` for no row at all.
    expected: Option<Vec<Vec<String>>>,
}

impl OwnCheck {
    /// All checks of a folder, by name.
    ///
    /// # Errors
    /// The folder or a file cannot be read, there is no query in it, or expected rows without their query.
    pub fn read_folder(folder: &Path) -> Result<Vec<Self>, InputError> {
        let io = |error: io::Error| InputError::io(folder, &error);
        let mut names = Vec::new();
        for entry in fs::read_dir(folder).map_err(io)? {
            names.push(entry.map_err(io)?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        let stray = names.iter().find(|name| {
            let query = name.strip_suffix(EXPECTED).map(|name| format!("{name}.sql"));
            query.is_some_and(|query| names.binary_search(&query).is_err())
        });
        if let Some(stray) = stray {
            let problem = "found expected rows without a query, expected NAME.sql beside NAME.expected.csv";
            return Err(InputError::new(&folder.join(stray), problem));
        }
        let queries = names.iter().filter_map(|name| name.strip_suffix(".sql"));
        let checks: Vec<Self> = queries.map(|name| Self::read(folder, name)).collect::<Result<_, _>>()?;
        if checks.is_empty() {
            return Err(InputError::new(folder, "found no query, expected files named NAME.sql"));
        }
        Ok(checks)
    }

    fn read(folder: &Path, name: &str) -> Result<Self, InputError> {
        let path = folder.join(format!("{name}.sql"));
        let sql = text(&path)?;
        let rows = folder.join(format!("{name}{EXPECTED}"));
        let expected = if rows.exists() { Some(parse(&rows, &text(&rows)?)?) } else { None };
        Ok(Self { name: format!("check/{name}"), path, sql, expected })
    }

    /// Asks the engine.
    pub(crate) fn run(&self, session: &mut Session, limit: usize) -> Result<CheckReport, ValidateError> {
        session.restore_tables()?;
        let mut check = Check::new(self.name.clone(), "rows", limit);
        let mut expected = self.expected.as_ref().map(|rows| rows.iter().skip(1));
        let asked = session.query(&self.name, &self.sql, |row| -> Result<(), EngineError> {
            check.rows += 1;
            let number = check.rows;
            let cells = row.cells();
            match &mut expected {
                None => check.find(|| {
                    let pairs: Vec<String> = row
                        .columns()
                        .iter()
                        .zip(cells)
                        .map(|(name, cell)| format!("{name}={}", shown(cell)))
                        .collect();
                    Finding::new(format!("found a row: {}", clipped(&pairs.join(", "))))
                        .hint("the query names what must not be there")
                }),
                Some(rows) => match rows.next() {
                    None => check.find(|| {
                        Finding::new(format!("row {number}: found {}, expected no more rows", listed(cells)))
                    }),
                    Some(row)
                        if row.len() == cells.len()
                            && row.iter().zip(cells).all(|(text, cell)| is(text, cell)) => {}
                    Some(row) => check.find(|| {
                        let expected = clipped(&row.join(","));
                        Finding::new(format!("row {number}: found {}, expected {expected}", listed(cells)))
                    }),
                },
            }
            Ok(())
        });
        match asked {
            Ok(()) => {}
            Err(EngineError::Query { message, .. }) => {
                let problem = format!("the importer refused the query: {message}");
                return Err(InputError::new(&self.path, problem).into());
            }
            // The built-in queries have gone through before.
            Err(
                error @ (EngineError::Silent { .. }
                | EngineError::OutOfMemory { .. }
                | EngineError::Aborted { .. }),
            ) => return Err(InputError::new(&self.path, format!("found a query too much: {error}")).into()),
            Err(error) => return Err(error.into()),
        }
        if let Some(header) =
            self.expected.as_ref().and_then(|rows| rows.first()).filter(|header| *header != session.columns())
        {
            check.find(|| {
                let found = session.columns().join(",");
                Finding::new(format!("found the columns {found}, expected {}", clipped(&header.join(","))))
            });
        }
        let missing = expected.map_or(0, Iterator::count);
        if missing > 0 {
            let found = check.rows;
            check.find(|| Finding::new(format!("found {found} rows, expected {missing} more")));
        }
        Ok(check.finish())
    }
}

fn text(path: &Path) -> Result<String, InputError> {
    let io = |error: io::Error| InputError::io(path, &error);
    let mut text = String::new();
    open_regular(path).map_err(io)?.take(LONGEST + 1).read_to_string(&mut text).map_err(
        |error| match error.kind() {
            io::ErrorKind::InvalidData => {
                InputError::new(path, "found bytes that are not UTF-8, expected text")
            }
            _ => io(error),
        },
    )?;
    if text.len() as u64 > LONGEST {
        return Err(InputError::new(path, format!("found more than {LONGEST} bytes, expected at most that")));
    }
    Ok(text)
}

fn parse(path: &Path, text: &str) -> Result<Vec<Vec<String>>, InputError> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| InputError {
            line: error.position().and_then(|place| usize::try_from(place.line()).ok()),
            ..InputError::new(path, &error)
        })?;
        rows.push(record.iter().map(str::to_owned).collect());
    }
    if rows.is_empty() {
        return Err(InputError::new(path, "found an empty file, expected the names of the columns"));
    }
    Ok(rows)
}

/// Whether a cell is what the text of an expected one says.
fn is(text: &str, cell: &Cell<'_>) -> bool {
    match cell {
        Cell::Float(value) => text == format!("{value:.6}") || text.parse() == Ok(*value),
        other => text == shown(other),
    }
}

fn shown(cell: &Cell<'_>) -> String {
    match cell {
        Cell::Null => "[NULL]".to_owned(),
        Cell::Int(value) => value.to_string(),
        Cell::Float(value) => format!("{value:.6}"),
        Cell::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Cell::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

fn listed(cells: &[Cell<'_>]) -> String {
    clipped(&cells.iter().map(shown).collect::<Vec<_>>().join(","))
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
