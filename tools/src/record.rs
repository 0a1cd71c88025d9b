//! A scenario run and recorded into a directory.
//!
//! Invariants: a directory is taken only if it is new or empty, unless replacing is asked for; what
//! was recorded is on disk when [`record`] returns, after an error too. Deliberately knows nothing of
//! scenario text: that is the simulator's.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clockweave_recorder::{Stats, is_run_file};
use clockweave_simulator::scenario::{RunSummary, Scenario, ScenarioError};
use clockweave_simulator::{RunError, StopHandle};

use crate::output::folder_holds;
use crate::progress::Progress;

/// More directories of one name than this are not looked through.
const MOST_DIRECTORIES: u32 = 1_000_000;

/// Where a recording goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// This directory, which is new or empty, or holds a run to be replaced.
    Directory {
        /// The directory.
        path: PathBuf,
        /// Whether the files of an earlier run are replaced.
        force: bool,
    },
    /// The first free one of `RUN_ID`, `RUN_ID-2`, … below this directory.
    FirstFree {
        /// The directory above.
        below: PathBuf,
    },
    /// Nothing is recorded.
    Nowhere,
}

/// Why a scenario was not recorded, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordFailure {
    /// What does not fit together in the scenario.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The scenario lies where its recording would replace it.
    #[error("{}: the run directory would replace the scenario itself; move one of them", path.display())]
    ScenarioInside {
        /// The scenario.
        path: PathBuf,
    },
    /// Something else is in the directory's place.
    #[error("{}: found a file, expected a directory that is new or empty", path.display())]
    NoDirectory {
        /// The path given.
        path: PathBuf,
    },
    /// No directory could be created.
    #[error("creating {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// All names are taken.
    #[error("{}: {MOST_DIRECTORIES} runs of that name are there; remove some or name a directory", path.display())]
    NoFreeDirectory {
        /// The first of them.
        path: PathBuf,
    },
    /// The run ended with an error; what it recorded up to there is kept.
    #[error("{error}")]
    Run {
        /// The error.
        error: Box<RunError>,
        /// The directory with what was recorded, if there is one.
        directory: Option<PathBuf>,
    },
}

/// A run that came to its end.
#[derive(Debug)]
pub struct Recorded {
    /// The run directory, if anything was recorded.
    pub directory: Option<PathBuf>,
    /// How the run went.
    pub summary: RunSummary,
    /// What was recorded.
    pub stats: Option<Stats>,
    /// Host time from the start of the run until everything was written.
    pub host_time: Duration,
}

/// Runs `scenario` and records it at `place`, with `notes` in the manifest. `source` is the scenario's
/// file, if it has one; `started` gets a handle that stops the run.
///
/// # Errors
/// The scenario does not fit together, the directory cannot be had, the run or its recording fails.
pub fn record(
    scenario: &Scenario,
    place: &Place,
    notes: &[(String, String)],
    source: Option<&Path>,
    started: impl FnOnce(StopHandle),
    progress: &mut dyn Progress,
) -> Result<Recorded, RecordFailure> {
    // A scenario that cannot be built leaves no directory behind.
    scenario.build(None)?;
    let (directory, created) = take_directory(scenario.run_id(), place, source)?;
    let options = directory.as_ref().map(|dir| {
        let force = matches!(place, Place::Directory { force: true, .. });
        let options = scenario.record().options(dir, scenario.run_id()).force(force);
        notes.iter().fold(options, |options, (key, value)| options.note(key, value))
    });
    let mut sim = scenario.build(options)?;
    started(sim.stop_handle());
    progress.stage("recording", 0);
    let (begin, mut done) = (Instant::now(), 0);
    let ran = scenario.run(&mut sim, |now| {
        if done == 0 {
            progress.stage("recording", now.total);
        }
        progress.advance(now.done - done);
        done = now.done;
    });
    let finished = sim.finish();
    let host_time = begin.elapsed();
    let failed = |error| {
        if let (Some(dir), true) = (&directory, created) {
            // Only an empty directory goes.
            let _ = fs::remove_dir(dir);
        }
        RecordFailure::Run { error: Box::new(error), directory: directory.clone().filter(|dir| dir.exists()) }
    };
    let summary = ran.map_err(failed)?;
    let stats = finished.map_err(failed)?;
    Ok(Recorded { directory, summary, stats, host_time })
}

/// The directory to record into, and whether it was created for that.
fn take_directory(
    run_id: &str,
    place: &Place,
    source: Option<&Path>,
) -> Result<(Option<PathBuf>, bool), RecordFailure> {
    match place {
        Place::Nowhere => Ok((None, false)),
        Place::Directory { path, .. } => {
            let replaced = |source: &Path| {
                source.file_name().and_then(|name| name.to_str()).is_some_and(is_run_file)
                    && folder_holds(path, source)
            };
            if let Some(path) = source.filter(|source| replaced(source)) {
                return Err(RecordFailure::ScenarioInside { path: path.to_owned() });
            }
            if path.exists() && !path.is_dir() {
                return Err(RecordFailure::NoDirectory { path: path.clone() });
            }
            Ok((Some(path.clone()), !path.exists()))
        }
        Place::FirstFree { below } => first_free(below, run_id).map(|dir| (Some(dir), true)),
    }
}

/// Creates the first of `RUN_ID`, `RUN_ID-2`, … that is not there yet.
fn first_free(below: &Path, run_id: &str) -> Result<PathBuf, RecordFailure> {
    let failed = |path: &Path, source| RecordFailure::Directory { path: path.to_owned(), source };
    fs::create_dir_all(below).map_err(|error| failed(below, error))?;
    for number in 1..=MOST_DIRECTORIES {
        let name = if number == 1 { run_id.to_owned() } else { format!("{run_id}-{number}") };
        let path = below.join(name);
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(&path, error)),
        }
    }
    Err(RecordFailure::NoFreeDirectory { path: below.join(run_id) })
}
