//! One trace through all checks that its surroundings allow.
//!
//! Order: the bytes, the import, then meaning. What the engine holds is read into columns and the engine let go before
//! anything is compared, so that the two memories do not add up. Deliberately prints nothing.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::checks::imported::Imported;
use crate::checks::structure::{Deflated, Structure};
use crate::checks::{conservation, flows, identity, import, structure, time, tracks};
use crate::engine::{Engine, EngineError, Session, Width};
use crate::exact::EdgeTimes;
use crate::regular::open_regular;
use crate::report::{Check, CheckReport, Finding, Report, Status};
use crate::run::{InputError, RunDir};

/// Traces of more uncompressed bytes than this need the wide engine.
const NARROW_RAW_BYTES: u64 = 400 << 20;

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
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The directory may be what a killed run left.
    pub prefix: bool,
    /// Findings listed per check; all are counted.
    pub max_findings: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { prefix: false, max_findings: 20 }
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
}

impl ValidateError {
    /// The process exit code that says the same: 2 for input, 3 for the environment.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Input(error) if !error.environment => 2,
            Self::Input(_) => 3,
            Self::Engine(_) => 3,
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
    let (subject, run, trace) = match target {
        Target::Run(path) => {
            let run = RunDir::open(path)?;
            let trace = run.trace();
            (path, Some(run), trace)
        }
        Target::Trace(path) => (path, None, path.clone()),
    };
    let structure = scan(&trace, options.prefix, limit)?;
    let mut checks = vec![structure.check.clone(), structure.lint.clone()];
    let mut events = 0;
    match import_trace(engine, &trace, &structure) {
        Err(EngineError::Import { message }) => checks.push(refused(&message, limit)),
        Err(error) => return Err(error.into()),
        Ok(session) => {
            let stats = run.as_ref().and_then(|run| run.stats.as_ref()).filter(|_| !options.prefix);
            let declared_loss = stats.map_or(0, |stats| stats.dropped);
            let content = Content::read(session, run.as_ref(), declared_loss, limit, &mut checks)?;
            events = content.events.len() as u64;
            content.check(run.as_ref(), options, &mut checks)?;
        }
    }
    Ok(Report {
        subject: subject.display().to_string(),
        passed: checks.iter().all(|check| check.status != Status::Failed),
        engine: engine.version(),
        events,
        elapsed_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        checks,
    })
}

fn open(trace: &Path) -> Result<File, InputError> {
    open_regular(trace).map_err(|error| InputError::io(trace, &error))
}

fn scan(trace: &Path, prefix: bool, limit: usize) -> Result<Structure, InputError> {
    let structure =
        structure::scan(open(trace)?, prefix, limit).map_err(|error| InputError::io(trace, &error))?;
    match &structure.nothing {
        Some(why) => Err(InputError::new(trace, why)),
        None => Ok(structure),
    }
}

/// Gives the part of the trace that stands to an engine wide enough for it.
fn import_trace(engine: &Engine, trace: &Path, structure: &Structure) -> Result<Session, EngineError> {
    let import = |width| {
        let whole = open_regular(trace).map_err(|error| EngineError::io(trace, error))?;
        let kept: Box<dyn Read> = Box::new(whole.take(structure.kept_bytes));
        let kept: Box<dyn Read> = if structure.has_zstd { Box::new(Deflated::new(kept)) } else { kept };
        engine.import(width, io::BufReader::with_capacity(1 << 16, kept))
    };
    if structure.raw_bytes > NARROW_RAW_BYTES {
        return import(Width::Wide);
    }
    match import(Width::Narrow) {
        Err(EngineError::OutOfMemory { .. }) => import(Width::Wide),
        other => other,
    }
}

fn refused(message: &str, limit: usize) -> CheckReport {
    let mut check = Check::new("import", "statistics", limit);
    check.find(|| {
        Finding::new(format!("the importer refused the trace: {message}"))
            .hint("nothing of it can be shown or queried")
    });
    check.finish()
}

/// Everything the checks need of the engine.
struct Content {
    events: Imported,
    counts: conservation::EngineCounts,
    track_names: std::collections::BTreeMap<u32, String>,
    edges: Vec<flows::Edge>,
}

impl Content {
    fn read(
        mut session: Session,
        run: Option<&RunDir>,
        declared_loss: u64,
        limit: usize,
        checks: &mut Vec<CheckReport>,
    ) -> Result<Self, EngineError> {
        import::probe(&mut session)?;
        checks.push(import::check(&mut session, declared_loss, limit)?);
        let counts = conservation::engine_counts(&mut session)?;
        let track_names = tracks::names(&mut session)?;
        let (events, arguments) = Imported::read(&mut session, run.map(|run| &run.manifest), limit)?;
        checks.push(arguments);
        let edges = flows::imported_edges(&mut session)?;
        Ok(Self { events, counts, track_names, edges })
    }

    fn check(
        &self,
        run: Option<&RunDir>,
        options: &Options,
        checks: &mut Vec<CheckReport>,
    ) -> Result<(), InputError> {
        let limit = options.max_findings;
        let stats = run.and_then(|run| run.stats.as_ref()).filter(|_| !options.prefix);
        let totals = match (run, stats) {
            (None, _) => conservation::Totals::NotAsked("no run directory"),
            (Some(_), _) if options.prefix => conservation::Totals::NotAsked("a killed run has no totals"),
            (Some(_), Some(stats)) => conservation::Totals::Of(stats),
            (Some(_), None) => conservation::Totals::Missing,
        };
        checks.push(conservation::check(&self.events, &self.counts, totals, limit));
        checks.extend(identity::check(&self.events, run, options.prefix, limit)?);
        let Some(run) = run else {
            for (name, unit) in [("tracks", "events"), ("time", "events"), ("flows", "edges")] {
                checks.push(Check::new(name, unit, limit).skip("no run directory"));
            }
            return Ok(());
        };
        let manifest = &run.manifest;
        let times: Vec<EdgeTimes> = manifest.domains.iter().map(EdgeTimes::new).collect();
        checks.push(tracks::check(&self.events, manifest, &self.track_names, limit));
        checks.push(time::check(&self.events, manifest, &times, limit));
        let declared = stats.and_then(|stats| stats.flow_edges);
        checks.push(flows::check(&self.events, manifest, &times, &self.edges, declared, limit));
        Ok(())
    }
}
