//! A run directory as its files say it is, read without any of the code that wrote it.
//!
//! Version 1 of the convention: a manifest, a log per clock domain, the trace, the statistics of a closed run.
//! Invariants: integers never pass through floating point; another version is refused by name; a log is streamed.

mod log;
mod manifest;
mod stats;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

pub(crate) use log::{Log, LogFault, LogGap, LogLine, LogRow};
pub(crate) use manifest::{Domain, Fifo, Machine, Manifest, Unit};
pub(crate) use stats::{Stats, StreamTotals};

use crate::printable::printable;
use crate::regular::open_regular;

/// Most bytes of a manifest or of statistics, which take about twelve times as much memory at worst: room for 300,000
/// units.
const LONGEST: u64 = 64 << 20;

/// A file or folder that cannot be used as input. Says nothing about the run.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}{}: {}",
    printable(&.path.display().to_string()),
    .line.map(|line| format!(":{line}")).unwrap_or_default(),
    printable(.problem)
)]
pub struct InputError {
    /// The file or folder.
    pub path: PathBuf,
    /// Line, where the file has lines that matter.
    pub line: Option<usize>,
    /// What was found and what was expected.
    pub problem: String,
    /// The system refused, which says nothing about the input.
    pub environment: bool,
}

impl InputError {
    /// An error about `path`.
    pub fn new(path: &Path, problem: impl ToString) -> Self {
        Self { path: path.to_owned(), line: None, problem: problem.to_string(), environment: false }
    }

    /// The system's answer about `path`.
    pub(crate) fn io(path: &Path, error: &io::Error) -> Self {
        use io::ErrorKind::{InvalidFilename, InvalidInput, IsADirectory, NotADirectory, NotFound};
        let of_input = [InvalidFilename, InvalidInput, IsADirectory, NotADirectory, NotFound];
        Self { environment: !of_input.contains(&error.kind()), ..Self::new(path, error) }
    }
}

/// The files of a run directory.
#[derive(Debug)]
pub(crate) struct RunDir {
    pub(crate) path: PathBuf,
    pub(crate) manifest: Manifest,
    pub(crate) stats: Option<Stats>,
}

impl RunDir {
    pub(crate) fn open(path: &Path) -> Result<Self, InputError> {
        let manifest_path = path.join("clock-manifest.json");
        let text = read(&manifest_path)?.ok_or_else(|| {
            InputError::new(path, "found no clock-manifest.json, expected a run directory with one")
        })?;
        let manifest =
            Manifest::parse(&text).map_err(|problem| InputError::new(&manifest_path, damaged(&problem)))?;
        let stats_path = path.join("clock-stats.json");
        let stats = read(&stats_path)?
            .map(|text| {
                Stats::parse(&text).map_err(|problem| InputError::new(&stats_path, damaged(&problem)))
            })
            .transpose()?;
        Ok(Self { path: path.to_owned(), manifest, stats })
    }

    /// Names of the files of the trace, in order: one, or its segments.
    pub(crate) fn traces(&self) -> Result<Vec<String>, InputError> {
        let whole = "timeline.pftrace".to_owned();
        let mut segments = Vec::new();
        for name in self.names()? {
            let digits = name.strip_prefix("timeline-").and_then(|rest| rest.strip_suffix(".pftrace"));
            let number = digits.filter(|digits| digits.len() >= 5).and_then(|digits| digits.parse().ok());
            segments.extend(number.map(|number: u64| (number, name)));
        }
        segments.sort();
        let expected = (0..).zip(&segments).find(|(expected, (number, _))| expected != number);
        if let Some((missing, (_, found))) = expected {
            let problem =
                format!("found {found} but no timeline-{missing:05}.pftrace, expected every segment");
            return Err(InputError::new(&self.path, problem));
        }
        if segments.is_empty() {
            return Ok(vec![whole]);
        }
        if self.path.join(&whole).exists() {
            let problem = format!("found both {whole} and segments, expected the files of one run");
            return Err(InputError::new(&self.path, problem));
        }
        Ok(segments.into_iter().map(|(_, name)| name).collect())
    }

    /// The log of a domain, or `None` if there is no such file.
    pub(crate) fn log<'a>(&'a self, domain: &Domain) -> Result<Option<Log<'a, BufReader<File>>>, InputError> {
        let path = self.path.join(domain.log_name());
        match open_regular(&path) {
            Ok(file) => {
                let source = BufReader::with_capacity(1 << 18, file);
                Ok(Some(Log::new(path, source, &self.manifest, domain)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(InputError::io(&path, &error)),
        }
    }

    /// Names of log files that belong to no domain of the manifest.
    pub(crate) fn foreign_logs(&self) -> Result<Vec<String>, InputError> {
        let known: BTreeSet<&str> = self.manifest.domains.iter().map(|domain| &*domain.name).collect();
        let mut names = Vec::new();
        for name in self.names()? {
            let domain = name.strip_prefix("text-domain-").and_then(|rest| rest.strip_suffix(".log"));
            if domain.is_some_and(|domain| !known.contains(domain)) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Names of all files, in no order.
    fn names(&self) -> Result<Vec<String>, InputError> {
        let failed = |error: io::Error| InputError::io(&self.path, &error);
        let entries = fs::read_dir(&self.path).map_err(failed)?;
        entries
            .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()).map_err(failed))
            .collect()
    }
}

fn damaged(problem: &str) -> String {
    format!("{problem}; the file is damaged or of another version: restore it, or record the run again")
}

fn read(path: &Path) -> Result<Option<String>, InputError> {
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(InputError::io(path, &error)),
    };
    let mut text = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut text).map_err(|error| InputError::io(path, &error))?;
    if text.len() as u64 > LONGEST {
        return Err(InputError::new(path, format!("found more than {LONGEST} bytes, expected at most that")));
    }
    let text = String::from_utf8(text).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        InputError::new(path, format!("byte {at} is not UTF-8, expected JSON; the file is damaged"))
    })?;
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_the_system_is_told_from_a_wrong_path() {
        let of = |kind: io::ErrorKind| InputError::io(Path::new("run"), &kind.into()).environment;
        assert!(of(io::ErrorKind::PermissionDenied));
        assert!(!of(io::ErrorKind::NotFound) && !of(io::ErrorKind::NotADirectory));
        assert!(!InputError::new(Path::new("run"), "damaged").environment);
    }
}
