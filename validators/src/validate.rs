//! One trace through all checks that its surroundings allow.
//!
//! Order: the bytes, the import, then meaning. What the engine holds is read into columns and a large engine let go
//! before anything is compared, so that the two memories do not add up. Deliberately prints nothing.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::checks::own::OwnCheck;
use crate::checks::reference::Reference;
use crate::checks::structure::{self, Structure};
use crate::content::Content;
use crate::database;
use crate::engine::{Engine, EngineError, Session, Width};
use crate::limits::Limits;
use crate::regular::open_regular;
use crate::report::{Check, CheckReport, Finding, Report, Status};
use crate::run::{InputError, RunDir};
use crate::scan::Deflated;

/// Traces of more uncompressed bytes than this need the wide engine.
const NARROW_RAW_BYTES: u64 = 400 << 20;
/// An engine that has held at most so many uncompressed bytes is kept for the next trace.
const REUSED_RAW_BYTES: u64 = 16 << 20;

/// A trace of one empty packet.
const SMALLEST: &[u8] = &[0x0a, 0x00];

/// What to validate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A run directory.
    Run(PathBuf),
    /// A trace alone.
    Trace(PathBuf),
}

impl Target {
    /// A directory is a run, anything else a trace.
    pub fn of(path: &Path) -> Self {
        if path.is_dir() { Self::Run(path.to_owned()) } else { Self::Trace(path.to_owned()) }
    }
}

/// How to validate.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory may be what a killed run left.
    pub prefix: bool,
    /// Findings listed per check; all are counted.
    pub max_findings: usize,
    /// How much of each file of a trace is taken in.
    pub limits: Limits,
    /// An independent expectation of the run: tab-separated columns `ts unit local_cycle event phase transaction_id
    /// fifo_id value ordinal`, named by the first line.
    pub reference: Option<PathBuf>,
    /// Queries of the user's own.
    pub own_checks: Vec<OwnCheck>,
    /// An empty file that becomes a SQLite database of both sides and the findings.
    pub database: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            prefix: false,
            max_findings: 20,
            limits: Limits::default(),
            reference: None,
            own_checks: Vec::new(),
            database: None,
        }
    }
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ValidateError {
    /// The input cannot be used.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The engine is missing or broken.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The database could not be written.
    #[error("{0}")]
    Database(Box<rusqlite::Error>),
}

impl ValidateError {
    /// The process exit code that says the same: 2 for input, 3 for the environment.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Input(error) if !error.environment => 2,
            Self::Input(_) | Self::Engine(_) | Self::Database(_) => 3,
        }
    }
}

/// Runs every check that the target allows.
///
/// # Errors
/// The input cannot be used at all, or the engine is missing or broken. Whatever is wrong with a usable trace or its
/// logs is a finding in the report.
pub fn validate(target: &Target, options: &Options, engine: &Engine) -> Result<Report, ValidateError> {
    let started = Instant::now();
    let limit = options.max_findings;
    let (subject, run, traces) = match target {
        Target::Run(path) => {
            let run = RunDir::open(path)?;
            let traces = run.traces()?.iter().map(|name| run.path.join(name)).collect();
            (path, Some(run), traces)
        }
        Target::Trace(path) => (path, None, vec![path.clone()]),
    };
    let reference = match (&options.reference, &run) {
        (None, _) => None,
        (Some(file), Some(run)) => Some(Reference::read(file, &run.manifest)?),
        (Some(_), None) => {
            let problem =
                "found a trace alone, expected a run directory: a reference names units of a manifest";
            return Err(InputError::new(subject, problem).into());
        }
    };
    let mut checks: Vec<CheckReport> = Vec::new();
    let mut union: Option<Content> = None;
    let stats = run.as_ref().and_then(|run| run.stats.as_ref()).filter(|_| !options.prefix);
    let mut whole = true;
    for (at, trace) in traces.iter().enumerate() {
        let declared_loss = match (&run, stats) {
            (None, _) => Some(0),
            (Some(_), None) => None,
            (Some(_), Some(stats)) if traces.len() == 1 => Some(stats.dropped),
            (Some(_), Some(stats)) => stats.segments.get(at).map(|segment| segment.dropped),
        };
        let (reports, content) = read_trace(engine, trace, run.as_ref(), declared_loss, options)?;
        let name = trace.file_name().unwrap_or_default().to_string_lossy();
        for report in reports {
            let report = if traces.len() > 1 { report.in_file(&name) } else { report };
            match checks.iter_mut().find(|known| known.name == report.name) {
                Some(known) => known.merge(report, limit),
                None => checks.push(report),
            }
        }
        whole &= content.is_some();
        match (&mut union, content) {
            (Some(union), Some(content)) => union.append(content),
            (union, content) => *union = union.take().or(content),
        }
    }
    // Where a file was refused, nothing can be said of the whole.
    let union = union.filter(|_| whole);
    let events = union.as_ref().map_or(0, |union| union.events.len() as u64);
    let width = if union.as_ref().is_some_and(|union| union.wide) { ", 64-bit" } else { "" };
    if let Some(union) = &union {
        union.check(run.as_ref(), reference.as_ref(), options, &mut checks)?;
    }
    let mut report = Report {
        subject: subject.display().to_string(),
        is_run: run.is_some(),
        passed: checks.iter().all(|check| check.status != Status::Failed),
        engine: engine.version().to_owned() + width,
        events,
        elapsed_ms: 0,
        checks,
    };
    if let Some(path) = &options.database {
        database::write(path, &report, union.as_ref(), run.as_ref())?;
    }
    report.elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(report)
}

/// The checks that need no engine, structure and lint, of the trace that `source` gives; `name` is what errors call it.
///
/// # Errors
/// The source fails, holds no whole packet, or more than the limits of `options` allow.
pub fn check_bytes(
    name: &Path,
    source: impl Read,
    options: &Options,
) -> Result<Vec<CheckReport>, InputError> {
    let structure = scan(name, source, options)?;
    Ok(vec![structure.check, structure.lint])
}

/// Looks at the bytes of one file of the trace and imports it; there is no content where the importer refuses it.
fn read_trace(
    engine: &Engine,
    trace: &Path,
    run: Option<&RunDir>,
    declared_loss: Option<u64>,
    options: &Options,
) -> Result<(Vec<CheckReport>, Option<Content>), ValidateError> {
    let limit = options.max_findings;
    let structure = scan(trace, open(trace)?, options)?;
    let mut checks = vec![structure.check.clone(), structure.lint.clone()];
    let read = import_trace(engine, trace, &structure).and_then(|(mut session, width)| {
        let content = Content::read(&mut session, width, run, declared_loss, options, &mut checks)?;
        Ok((session, width, content))
    });
    let message = match read {
        Ok((mut session, width, content)) => {
            for own in &options.own_checks {
                checks.push(own.run(&mut session, limit)?);
            }
            if width == Width::Narrow && structure.raw_bytes <= REUSED_RAW_BYTES {
                engine.recycle(session);
            }
            return Ok((checks, Some(content)));
        }
        Err(EngineError::Import { message }) => format!("the importer refused the trace: {message}"),
        // An engine that still takes the smallest of traces broke off because of this one.
        Err(EngineError::Aborted { detail }) if engine.import(Width::Narrow, SMALLEST).is_ok() => {
            format!("the importer broke off: {detail}")
        }
        Err(error @ EngineError::OutOfMemory { .. }) => return Err(InputError::new(trace, error).into()),
        Err(error) => return Err(error.into()),
    };
    checks.retain(|check| check.name != "import");
    let mut check = Check::new("import", "statistics", limit);
    check.find(|| Finding::new(message).hint("nothing of it can be shown or queried"));
    checks.push(check.finish());
    Ok((checks, None))
}

fn open(trace: &Path) -> Result<File, InputError> {
    open_regular(trace).map_err(|error| InputError::io(trace, &error))
}

fn scan(trace: &Path, source: impl Read, options: &Options) -> Result<Structure, InputError> {
    let structure = structure::scan(source, options.prefix, &options.limits, options.max_findings)
        .map_err(|error| InputError::io(trace, &error))?;
    match &structure.unusable {
        Some(why) => Err(InputError::new(trace, why)),
        None => Ok(structure),
    }
}

/// Gives the part of the trace that stands to an engine wide enough for it.
fn import_trace(
    engine: &Engine,
    trace: &Path,
    structure: &Structure,
) -> Result<(Session, Width), EngineError> {
    let import = |width| {
        let whole = open_regular(trace).map_err(|error| EngineError::io(trace, error))?;
        let kept: Box<dyn Read> = Box::new(whole.take(structure.kept_bytes));
        let kept: Box<dyn Read> = if structure.has_zstd { Box::new(Deflated::new(kept)) } else { kept };
        engine.import(width, io::BufReader::with_capacity(1 << 16, kept)).map(|session| (session, width))
    };
    if structure.raw_bytes > NARROW_RAW_BYTES {
        return import(Width::Wide);
    }
    match import(Width::Narrow) {
        Err(EngineError::OutOfMemory { .. }) => import(Width::Wide),
        other => other,
    }
}
