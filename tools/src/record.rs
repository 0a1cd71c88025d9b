//! Runs a scenario and records it into a run directory.
//!
//! The simulator and its recorder do the work; this module finds the scenario, chooses the directory,
//! passes on progress and the wish to stop, and sees to it that the recording is closed however the
//! run ended.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clockweave_simulator::scenario::{self, Progress as RunProgress, RunSummary, Scenario, ScenarioError};
use clockweave_simulator::{Compression, RunError, Simulation, Stats, StopHandle};

/// Most bytes of a scenario file.
const MAX_SCENARIO: u64 = 64 << 20;
/// Folder of the run directories that nobody named.
const OUT: &str = "out";

/// Why a run could not be recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// Neither a file nor a built-in scenario.
    #[error("there is no scenario `{name}`: no file of that name, and no built-in one{}", suggestion(.closest.as_deref()))]
    NoScenario {
        /// The name given.
        name: String,
        /// The built-in scenario most like it.
        closest: Option<String>,
    },
    /// The scenario's file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The scenario's file is no text, or too long.
    #[error("{}: {fault}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: &'static str,
    },
    /// The scenario was refused.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The run failed; what was recorded before is kept.
    #[error("{0}")]
    Run(#[from] RunError),
    /// No free name for the run directory.
    #[error("{OUT}/{run_id} and its successors are all taken; name a directory with -o")]
    NoFreeDirectory {
        /// The run id.
        run_id: String,
    },
}

fn suggestion(closest: Option<&str>) -> String {
    closest.map_or_else(
        || "; `clockweave scenarios` lists those".to_owned(),
        |name| format!("; did you mean `{name}`?"),
    )
}

/// What to record.
#[derive(Clone, Debug, Default)]
pub struct RecordOptions {
    /// `key=value` overrides of the scenario.
    pub overrides: Vec<String>,
    /// The run directory; without one the first free of `out/RUN_ID`, `out/RUN_ID-2`, ….
    pub dir: Option<PathBuf>,
    /// Replace the files of an earlier run in it.
    pub force: bool,
    /// Which outputs to write, if not those of the scenario: text logs and the trace.
    pub outputs: Option<Outputs>,
    /// The trace's compression, if not that of the scenario.
    pub compression: Option<Compression>,
}

/// Which outputs a run writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outputs {
    /// Text logs.
    pub text: bool,
    /// The Perfetto trace.
    pub perfetto: bool,
}

impl Outputs {
    /// Neither: the run is not recorded.
    pub const OFF: Self = Self { text: false, perfetto: false };
}

/// What was recorded.
#[derive(Debug)]
pub struct Recorded {
    /// The run id.
    pub run_id: String,
    /// The run directory, if the run was recorded.
    pub dir: Option<PathBuf>,
    /// What the run was.
    pub summary: RunSummary,
    /// Statistics of the recording.
    pub stats: Option<Stats>,
}

/// Reads the scenario `name`: a file, or a built-in one where there is no such file.
///
/// # Errors
/// Neither, a file that cannot be read or is no text, a scenario that is wrong.
pub fn read_scenario(name: &str, overrides: &[String]) -> Result<Scenario, RecordError> {
    let path = Path::new(name);
    let overrides = overrides.iter().map(String::as_str);
    if !path.exists() {
        let Some(text) = scenario::builtin(name) else {
            let closest = scenario::closest_builtin(name).map(str::to_owned);
            return Err(RecordError::NoScenario { name: name.chars().take(200).collect(), closest });
        };
        return Ok(Scenario::with_overrides(&text, name, overrides)?);
    }
    let read = |source| RecordError::Read { path: path.to_owned(), source };
    let length = fs::metadata(path).map_err(read)?.len();
    let fault = |fault| RecordError::Text { path: path.to_owned(), fault };
    if length > MAX_SCENARIO {
        return Err(fault("a scenario has at most 64 MiB"));
    }
    let text = String::from_utf8(fs::read(path).map_err(read)?)
        .map_err(|_| fault("this is no UTF-8 text; expected a scenario in TOML"))?;
    Ok(Scenario::with_overrides(&text, name, overrides)?)
}

/// Runs a scenario to its limit, a stop, or a request through the handle that `started` is given.
///
/// # Errors
/// A directory that cannot be used, a unit or a recording that failed. The recording is closed in any
/// case, and holds every batch completed before.
pub fn record(
    scenario: &Scenario,
    options: &RecordOptions,
    started: impl FnOnce(StopHandle),
    progress: impl FnMut(&RunProgress),
) -> Result<Recorded, RecordError> {
    let settings = scenario.record();
    let outputs = options.outputs.unwrap_or(Outputs { text: settings.text, perfetto: settings.perfetto });
    let dir = if outputs == Outputs::OFF { None } else { Some(directory(scenario, options)?) };
    let recording = dir.as_deref().map(|dir| {
        let mut recording = settings
            .options(dir, scenario.run_id())
            .text(outputs.text)
            .perfetto(outputs.perfetto)
            .force(options.force);
        if let Some(compression) = options.compression {
            recording = recording.compression(compression);
        }
        for text in &options.overrides {
            let (key, value) = text.split_once('=').unwrap_or((text, ""));
            recording = recording.note(key.trim(), value.trim());
        }
        recording
    });
    let mut sim = scenario.build(recording)?;
    started(sim.stop_handle());
    let ran = scenario.run(&mut sim, progress);
    let stats = finish(&mut sim);
    let summary = ran?;
    Ok(Recorded { run_id: scenario.run_id().to_owned(), dir, summary, stats: stats? })
}

fn finish(sim: &mut Simulation) -> Result<Option<Stats>, RunError> {
    sim.finish()
}

fn directory(scenario: &Scenario, options: &RecordOptions) -> Result<PathBuf, RecordError> {
    if let Some(dir) = &options.dir {
        return Ok(dir.clone());
    }
    let run_id = scenario.run_id();
    // A run id may hold characters that no folder name should.
    let safe: String = run_id
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' })
        .collect();
    let names = (1u32..10_000).map(|n| if n == 1 { safe.clone() } else { format!("{safe}-{n}") });
    let mut paths = names.map(|name| Path::new(OUT).join(name));
    paths
        .find(|path| !path.exists())
        .ok_or_else(|| RecordError::NoFreeDirectory { run_id: run_id.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_scenario_is_told_apart_from_a_broken_one() {
        let missing = read_scenario("fifi", &[]).unwrap_err();
        assert!(missing.to_string().contains("did you mean `fifo`?"), "{missing}");
        let broken = read_scenario("fifo", &["run.batches=-1".to_owned()]).unwrap_err();
        assert!(matches!(broken, RecordError::Scenario(_)), "{broken}");
        assert!(read_scenario("fifo", &[]).is_ok());
    }

    #[test]
    fn a_run_without_outputs_has_no_directory() {
        let scenario = read_scenario("fifo", &["run.batches=100".to_owned()]).unwrap();
        let options = RecordOptions { outputs: Some(Outputs::OFF), ..RecordOptions::default() };
        let recorded = record(&scenario, &options, |_| {}, |_| {}).unwrap();
        assert_eq!((recorded.summary.batches, recorded.dir), (100, None));
        assert!(recorded.stats.is_none());
    }

    #[test]
    fn an_outside_stop_ends_the_run_and_closes_the_recording() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("run");
        let scenario = read_scenario("fifo", &[]).unwrap();
        let options = RecordOptions { dir: Some(dir.clone()), ..RecordOptions::default() };
        let recorded = record(&scenario, &options, |stop| stop.request("enough"), |_| {}).unwrap();
        assert_eq!(recorded.summary.batches, 0);
        assert_eq!(recorded.summary.termination.unwrap().message, "enough");
        assert!(dir.join("clock-stats.json").exists());
    }
}
