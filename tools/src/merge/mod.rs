//! The per-domain logs of a run as one, in exact physical time order.
//!
//! Three passes: every log is read and checked (`survey`); a log that is not in order is sorted in
//! bounded memory (`sort`); the logs are merged and written (`kway`, `tsv`).
//!
//! Invariants: no byte is written before every line was read, so a refused run writes nothing;
//! memory does not grow with the run; the order is exact time, phase, domain id, unit name, ordinal.
//! That is an order of presentation: the trace's own has no domain id in it, and flows follow that one.

mod cursor;
mod kway;
mod sort;
mod survey;
mod timeline;
mod tsv;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::logs::{LineError, TornLine};
use crate::progress::Progress;
use crate::run::{Run, RunLog};

use cursor::Cursors;
use sort::Sorter;
use survey::Survey;
use timeline::{OnLattice, Timeline, Wide};
use tsv::Tsv;

/// What to do about a line that is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// Stop at the first; nothing is written.
    #[default]
    Halt,
    /// Leave the line out and go on.
    Skip,
    /// Read everything, report every line; nothing is written if there was one.
    Collect,
}

/// Choices of a merge.
#[derive(Clone, Debug)]
pub struct MergeOptions {
    /// Bytes of memory to stay within, at least 64 KiB.
    pub memory: u64,
    /// What to do about refused lines.
    pub on_error: OnError,
    /// Where a temporary folder is created if logs have to be sorted outside memory.
    pub scratch: PathBuf,
}

impl Default for MergeOptions {
    fn default() -> Self {
        Self { memory: 256 << 20, on_error: OnError::Halt, scratch: std::env::temp_dir() }
    }
}

/// Why a merge failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// A line was refused.
    #[error(transparent)]
    Line(#[from] LineError),
    /// Lines were refused and every one reported.
    #[error("{count} lines were refused; nothing was written")]
    Refused {
        /// How many.
        count: u64,
    },
    /// A log could not be read.
    #[error("{file}: {source}")]
    Read {
        /// The log.
        file: String,
        /// The error.
        source: io::Error,
    },
    /// A log said something else the second time.
    #[error("{file}: the file changed while it was merged; merge a run that is no longer being written")]
    Changed {
        /// The log.
        file: String,
    },
    /// Sorting outside memory failed.
    #[error("sorting in {}: {source}", path.display())]
    Scratch {
        /// The temporary folder.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The output could not be written.
    #[error("writing the merged log: {0}")]
    Write(#[source] io::Error),
}

/// One log of a merge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogReport {
    /// The log.
    pub file: String,
    /// Its domain.
    pub domain: String,
    /// Events merged.
    pub events: u64,
    /// Gaps, each a comment in the output.
    pub gaps: u64,
    /// Events lost in those gaps when the run was recorded.
    pub lost_events: u64,
    /// Whether the log was in merge order already.
    pub ordered: bool,
    /// Lines refused and left out.
    pub skipped_lines: u64,
    /// A last line without its line feed, left out.
    pub torn: Option<TornLine>,
}

/// What a merge did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MergeReport {
    /// The run's name.
    pub run_id: String,
    /// Events merged.
    pub events: u64,
    /// Bytes sorted outside memory.
    pub spilled_bytes: u64,
    /// The logs by domain id.
    pub logs: Vec<LogReport>,
}

impl MergeReport {
    /// Whether every line of every log is in the output.
    pub fn is_complete(&self) -> bool {
        self.logs.iter().all(|log| log.torn.is_none() && log.skipped_lines == 0)
    }
}

/// Merges the logs of `run` into `out` as tab-separated rows.
///
/// # Errors
/// A refused line (see [`OnError`]), a log that cannot be read or changes, an output or a temporary
/// file that cannot be written. A closed pipe is [`MergeError::Write`].
pub fn merge(
    run: &Run,
    options: &MergeOptions,
    out: impl Write,
    progress: &mut dyn Progress,
) -> Result<MergeReport, MergeError> {
    let surveys = survey_all(run, options, progress)?;
    match OnLattice::new(run.catalog().domains()) {
        Some(lattice) => merge_on(&lattice, run, &surveys, options, out, progress),
        None => merge_on(&Wide(run.catalog().domains()), run, &surveys, options, out, progress),
    }
}

fn survey_all(
    run: &Run,
    options: &MergeOptions,
    progress: &mut dyn Progress,
) -> Result<Vec<Survey>, MergeError> {
    progress.stage("checking", run.logs().iter().map(|log| log.source().length()).sum());
    let surveys: Vec<Survey> = run
        .logs()
        .iter()
        .map(|log| survey::survey(run.catalog(), log, options, progress))
        .collect::<Result<_, _>>()?;
    match surveys.iter().map(|survey| survey.refused).sum() {
        count if count > 0 && options.on_error == OnError::Collect => Err(MergeError::Refused { count }),
        _ => Ok(surveys),
    }
}

fn merge_on<T: Timeline>(
    timeline: &T,
    run: &Run,
    surveys: &[Survey],
    options: &MergeOptions,
    out: impl Write,
    progress: &mut dyn Progress,
) -> Result<MergeReport, MergeError> {
    let unordered: u64 = run.logs().iter().zip(surveys).filter(|(_, survey)| !survey.ordered).count() as u64;
    let mut sorter = Sorter::new(run.catalog(), options, unordered);
    let mut cursors = Cursors::new(timeline, run.catalog(), options.memory);
    for (log, survey) in run.logs().iter().zip(surveys) {
        if survey.ordered {
            cursors.add_log(log);
        } else {
            progress.stage("sorting", log.source().length());
            cursors.add_sorted(log, sorter.sort(log, progress)?);
        }
    }
    let spilled_bytes = sorter.spilled_bytes();
    progress.stage("merging", surveys.iter().map(|survey| survey.events).sum());
    let mut tsv = Tsv::new(run.catalog(), out).map_err(MergeError::Write)?;
    let written = cursors.merge(options.on_error, |row| tsv.push(row), progress)?;
    tsv.finish().map_err(MergeError::Write)?;
    let logs: Vec<LogReport> =
        run.logs().iter().zip(surveys).map(|(log, survey)| report(run, log, survey)).collect();
    if let Some(changed) = run
        .logs()
        .iter()
        .zip(surveys)
        .find(|(log, survey)| written[log.domain() as usize] != survey.events + survey.gaps)
    {
        return Err(MergeError::Changed { file: changed.0.name().to_owned() });
    }
    Ok(MergeReport {
        run_id: run.catalog().run_id().to_owned(),
        events: logs.iter().map(|log| log.events).sum(),
        spilled_bytes,
        logs,
    })
}

fn report(run: &Run, log: &RunLog, survey: &Survey) -> LogReport {
    LogReport {
        file: log.name().to_owned(),
        domain: run.catalog().domains()[log.domain() as usize].name().to_owned(),
        events: survey.events,
        gaps: survey.gaps,
        lost_events: survey.lost,
        ordered: survey.ordered,
        skipped_lines: survey.refused,
        torn: survey.torn,
    }
}

fn scratch_error(path: &Path) -> impl FnOnce(io::Error) -> MergeError {
    let path = path.to_owned();
    move |source| MergeError::Scratch { path, source }
}

fn read_error(log: &RunLog) -> impl FnOnce(io::Error) -> MergeError {
    let file = log.name().to_owned();
    move |source| MergeError::Read { file, source }
}

#[cfg(test)]
mod tests;
