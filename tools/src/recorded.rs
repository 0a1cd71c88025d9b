//! A recorded run, whichever way it lies there: its directory, or a trace alone.
//!
//! Invariants: a damaged trace is refused, never taken for a shorter run. Deliberately does not read the logs of a
//! directory.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clockweave_recorder::TRACE_FILE;

use crate::logs::excerpt;
use crate::output::is_dash;
use crate::progress::Progress;
use crate::run::{Run, RunError};
use crate::trace::{TraceRun, TraceRunError, decoded, peek};

/// Why a path holds no recorded run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordedError {
    /// The file cannot be opened or read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The path given.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The directory is no run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The trace is no run.
    #[error("{}: {error}", path.display())]
    Trace {
        /// The trace.
        path: PathBuf,
        /// The error.
        error: Box<TraceRunError>,
    },
    /// The trace is damaged.
    #[error("{}: the trace is damaged {cut}; `clockweave recover` keeps what stands before", path.display())]
    Damaged {
        /// The trace.
        path: PathBuf,
        /// Where and why.
        cut: String,
    },
    /// The file is no trace.
    #[error("{}: found {found}, expected a run directory or a trace", path.display())]
    Kind {
        /// The path given.
        path: PathBuf,
        /// What it seems to be.
        found: String,
    },
}

enum Form {
    Directory(Box<Run>),
    Trace(Box<TraceRun>),
}

/// A recorded run.
pub struct Recorded(Form);

/// What lies at a path.
pub(crate) enum Found {
    Run(Recorded),
    /// No trace: its first bytes, and all of them.
    Other(Vec<u8>, Box<dyn Read + Send>),
}

impl Recorded {
    /// The run at `path`, which is a run directory, a trace, or `-` for a trace on stdin. What a trace holds goes to
    /// temporary files in `scratch`.
    ///
    /// # Errors
    /// Neither of them, damaged, or not to be read.
    pub fn open(path: &Path, scratch: &Path, progress: &mut dyn Progress) -> Result<Self, RecordedError> {
        match Self::find(path, scratch, progress)? {
            Found::Run(run) => Ok(run),
            Found::Other(head, _) => {
                Err(RecordedError::Kind { path: path.to_owned(), found: beginning(&head) })
            }
        }
    }

    /// What is at `path`; only what may be a trace is read.
    pub(crate) fn find(
        path: &Path,
        scratch: &Path,
        progress: &mut dyn Progress,
    ) -> Result<Found, RecordedError> {
        let io = |source| RecordedError::Io { path: path.to_owned(), source };
        let (source, length): (Box<dyn Read + Send>, u64) = if is_dash(path) {
            (Box::new(io::stdin()), 0)
        } else {
            let found = fs::metadata(path).map_err(io)?;
            if found.is_dir() {
                return Self::directory(path, scratch, progress).map(Found::Run);
            }
            (Box::new(fs::File::open(path).map_err(io)?), found.len())
        };
        let (text, _) = decoded(source).map_err(io)?;
        let (head, whole) = peek(text).map_err(io)?;
        if head.first() != Some(&0x0a) {
            return Ok(Found::Other(head, Box::new(whole)));
        }
        progress.stage("reading", length);
        let trace = TraceRun::read(whole, scratch, progress).map_err(|error| {
            let error = Box::new(error);
            RecordedError::Trace { path: path.to_owned(), error }
        })?;
        match &trace.cut {
            Some(cut) => Err(RecordedError::Damaged { path: path.to_owned(), cut: cut.to_string() }),
            None => Ok(Found::Run(Self(Form::Trace(Box::new(trace))))),
        }
    }

    /// The run in a directory: its logs, or its trace if it was recorded without text.
    fn directory(path: &Path, scratch: &Path, progress: &mut dyn Progress) -> Result<Self, RecordedError> {
        let refused = match Run::open(path) {
            Ok(run) => return Ok(Self(Form::Directory(Box::new(run)))),
            Err(error) => error,
        };
        let trace = path.join(TRACE_FILE);
        if matches!(refused, RunError::NoLog { .. }) && trace.is_file() && !has_logs(path) {
            return Self::open(&trace, scratch, progress);
        }
        Err(refused.into())
    }

    /// The run.
    pub(crate) fn run(&self) -> &Run {
        match &self.0 {
            Form::Directory(run) => run,
            Form::Trace(trace) => &trace.run,
        }
    }

    /// Paths of the files it was read from, of a directory; a trace is what was given.
    pub fn files(&self) -> Vec<PathBuf> {
        match &self.0 {
            Form::Directory(run) => run.logs().iter().map(|log| PathBuf::from(log.name())).collect(),
            Form::Trace(_) => Vec::new(),
        }
    }
}

fn has_logs(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return true };
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("text-domain-"))
}

/// A file's beginning in words.
pub(crate) fn beginning(head: &[u8]) -> String {
    if head.is_empty() {
        return "an empty file".to_owned();
    }
    format!("a file that begins with `{}`", excerpt(head))
}
