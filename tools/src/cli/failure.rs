//! How a command ends, and what a library's error means for the exit code.

use std::error::Error;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use clockweave::merge::{MergeError, RebuildError};
use clockweave::output::{Output, OutputError, is_dash};
use clockweave::record::RecordFailure;
use clockweave::recorded::RecordedError;
use clockweave::recover::RecoverError;
use clockweave::run::RunError;
use clockweave::trace::TraceRunError;
use clockweave_simulator::{RecordError, RunError as SimulationError};
use clockweave_validators::engine::EngineError;
use clockweave_validators::scan::ReadError;

/// How a command ended that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing to report.
    Fine,
    /// Something was found or lost.
    Findings,
    /// A signal ended it early, but in order.
    Interrupted,
    /// Another exit code, already explained.
    Told(u8),
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Fine => Self::SUCCESS,
            Outcome::Findings => Self::from(FINDINGS),
            Outcome::Interrupted => Self::from(INTERRUPTED),
            Outcome::Told(code) => Self::from(code),
        }
    }
}

/// Exit code of a command that did its work and found or lost something.
const FINDINGS: u8 = 1;
/// Exit code of an interrupted command.
pub(crate) const INTERRUPTED: u8 = 130;
/// Exit code of a usage or input error.
const INPUT: u8 = 2;
/// Exit code of an error of the environment.
const ENVIRONMENT: u8 = 3;

/// How a command ended that did not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Whoever read stdout went away; that ends quietly.
    ClosedPipe,
    /// An error.
    Error {
        /// Exit code.
        code: u8,
        /// What to tell.
        message: String,
    },
}

impl Failure {
    /// A usage or input error.
    pub(crate) fn input(error: impl ToString) -> Self {
        Self::Error { code: INPUT, message: error.to_string() }
    }

    /// An error of the environment.
    pub(crate) fn environment(error: impl ToString) -> Self {
        Self::Error { code: ENVIRONMENT, message: error.to_string() }
    }

    /// Temporary files could not be written.
    pub(crate) fn scratch(error: impl ToString) -> Self {
        Self::environment(format!("{}; --temp-dir FOLDER names another place", error.to_string()))
    }

    /// What was asked for happened, and went wrong.
    pub(crate) fn finding(error: impl ToString) -> Self {
        Self::Error { code: FINDINGS, message: error.to_string() }
    }

    /// An error of reading or creating something, which either does not exist or cannot be had.
    pub(crate) fn access(error: &dyn Error, source: &io::Error) -> Self {
        use io::ErrorKind::{
            InvalidData, InvalidFilename, InvalidInput, IsADirectory, NotADirectory, NotFound, UnexpectedEof,
        };
        match source.kind() {
            NotFound | NotADirectory | IsADirectory | InvalidInput | InvalidFilename | InvalidData
            | UnexpectedEof => Self::input(error),
            _ => Self::environment(error),
        }
    }

    /// An error of writing to `output`, whose words hold those of `source`.
    pub(crate) fn writing(error: &dyn Error, source: &io::Error, output: &Path) -> Self {
        if source.kind() == io::ErrorKind::BrokenPipe && is_dash(output) {
            return Self::ClosedPipe;
        }
        let path = if is_dash(output) { "stdout".to_owned() } else { output.display().to_string() };
        Self::environment(format!("{path}: {error}"))
    }

    pub(crate) fn of_merge(error: MergeError, output: &Path) -> Self {
        match &error {
            MergeError::Write(source) => Self::writing(&error, source, output),
            MergeError::Read { source, .. } => Self::access(&error, source),
            MergeError::Database(_) => {
                let path = output.display();
                Self::environment(format!("{path}: {error}"))
            }
            MergeError::Scratch { .. }
            | MergeError::Rebuild(RebuildError::Record(RecordError::Io { .. })) => Self::scratch(&error),
            _ => Self::input(error),
        }
    }

    pub(crate) fn of_recover(error: RecoverError, input: &Path, output: &Path) -> Self {
        match &error {
            RecoverError::Write(source) => Self::writing(&error, source, output),
            RecoverError::Read { source, .. } => Self::access(&error, source).about(input),
            _ => Self::input(error).about(input),
        }
    }

    /// An error of opening `path` for reading.
    pub(crate) fn opening(path: &Path, error: &io::Error) -> Self {
        Self::access(error, error).about(path)
    }

    /// An error of reading `path`, whose words hold those of `source`.
    pub(crate) fn reading(path: &Path, error: &dyn Error, source: &io::Error) -> Self {
        Self::access(error, source).about(path)
    }

    /// The error with the name of the file it is about.
    pub(crate) fn about(self, path: &Path) -> Self {
        let name = if is_dash(path) { "stdin".to_owned() } else { path.display().to_string() };
        match self {
            Self::Error { code, message } => Self::Error { code, message: format!("{name}: {message}") },
            Self::ClosedPipe => self,
        }
    }
}

impl From<RecordFailure> for Failure {
    fn from(error: RecordFailure) -> Self {
        match &error {
            RecordFailure::Directory { source, .. } => Self::access(&error, source),
            RecordFailure::Run { error: stopped, directory } => of_run(stopped, directory.as_deref()),
            _ => Self::input(error),
        }
    }
}

fn of_run(error: &SimulationError, directory: Option<&Path>) -> Failure {
    let kept = match directory {
        Some(directory) => format!("; what was recorded until then is in {}", directory.display()),
        None => String::new(),
    };
    match error {
        SimulationError::Recording(refused @ RecordError::DirectoryNotEmpty { .. }) => {
            Failure::input(format_args!("{refused} (--force)"))
        }
        // The directory was taken before: if it is not there, it was taken away.
        SimulationError::Recording(failed @ RecordError::Io { .. }) => {
            Failure::environment(format_args!("{failed}{kept}"))
        }
        SimulationError::Recording(refused) => Failure::input(refused),
        SimulationError::Topology(refused) => Failure::input(refused),
        other => Failure::finding(format_args!("{other}{kept}")),
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match &error {
            EngineError::Io { source, .. } => Self::access(&error, source),
            EngineError::BadArchive { .. } | EngineError::HashMismatch { .. } => Self::input(error),
            _ => Self::environment(error),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match &error {
            RunError::Io { source, .. } => Self::access(&error, source),
            _ => Self::input(error),
        }
    }
}

impl From<RecordedError> for Failure {
    fn from(error: RecordedError) -> Self {
        match error {
            RecordedError::Run(error) => error.into(),
            RecordedError::Io { ref source, .. } => Self::access(&error, source),
            RecordedError::Trace { error, path } => match *error {
                TraceRunError::Scratch { .. } => Self::scratch(error),
                TraceRunError::Read(ReadError::Io { ref source, .. }) => Self::reading(&path, &error, source),
                error => Self::input(error).about(&path),
            },
            _ => Self::input(error),
        }
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        match &error {
            OutputError::Io { source, path }
                if source.kind() == io::ErrorKind::BrokenPipe && is_dash(path) =>
            {
                Self::ClosedPipe
            }
            OutputError::Io { source, .. } => Self::access(&error, source),
            _ => Self::input(error),
        }
    }
}

/// Commits `output`; what was found before does not change by it.
pub(crate) fn commit(output: Output, outcome: Outcome) -> Result<Outcome, Failure> {
    output.commit()?;
    Ok(outcome)
}
