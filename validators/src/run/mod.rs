//! A run directory as its files say it is, read without any of the code that wrote it.
//!
//! Version 1 of the convention: a manifest, a log per clock domain, the trace, the statistics of a closed run.
//! Invariants: integers never pass through floating point; another version is refused by name; a log is streamed.

mod log;
mod manifest;
mod stats;

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

pub(crate) use log::{Log, LogFault, LogGap, LogLine, LogRow};
pub(crate) use manifest::{Domain, Manifest, Unit};
pub(crate) use stats::{Stats, StreamTotals};

/// A file or folder that cannot be used as input. Says nothing about the run.
#[derive(Debug, thiserror::Error)]
#[error("{}{}: {problem}", .path.display(), .line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct InputError {
    /// The file or folder.
    pub path: PathBuf,
    /// Line, where the file has lines that matter.
    pub line: Option<usize>,
    /// What was found and what was expected.
    pub problem: String,
}

impl InputError {
    pub(crate) fn new(path: &Path, problem: impl ToString) -> Self {
        Self { path: path.to_owned(), line: None, problem: problem.to_string() }
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
        let manifest = Manifest::parse(&text).map_err(|problem| InputError::new(&manifest_path, problem))?;
        let stats_path = path.join("clock-stats.json");
        let stats = read(&stats_path)?
            .map(|text| Stats::parse(&text).map_err(|problem| InputError::new(&stats_path, problem)))
            .transpose()?;
        Ok(Self { path: path.to_owned(), manifest, stats })
    }

    pub(crate) fn trace(&self) -> PathBuf {
        self.path.join("timeline.pftrace")
    }

    /// The log of a domain, or `None` if there is no such file.
    pub(crate) fn log<'a>(&'a self, domain: &Domain) -> Result<Option<Log<'a, BufReader<File>>>, InputError> {
        let path = self.path.join(format!("text-domain-{}.log", domain.name));
        match File::open(&path) {
            Ok(file) => {
                let source = BufReader::with_capacity(1 << 18, file);
                Ok(Some(Log::new(path, source, &self.manifest, domain)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(InputError::new(&path, error)),
        }
    }

    /// Names of log files that belong to no domain of the manifest.
    pub(crate) fn foreign_logs(&self) -> Result<Vec<String>, InputError> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(|error| InputError::new(&self.path, error))? {
            let entry = entry.map_err(|error| InputError::new(&self.path, error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let domain = name.strip_prefix("text-domain-").and_then(|rest| rest.strip_suffix(".log"));
            if domain.is_some_and(|domain| self.manifest.domains.iter().all(|known| known.name != domain)) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }
}

fn read(path: &Path) -> Result<Option<String>, InputError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(InputError::new(path, error)),
    }
}
