//! The per-domain logs of a run as one, in exact physical time order.
//!
//! Three passes: every log is read and checked (`survey`); a log that is not in order is sorted in
//! bounded memory (`sort`); the logs are merged (`kway`, `cursor`) and their rows written (`rows`, formats).
//!
//! Invariants: no byte is written before every line was read, so a refused run writes nothing;
//! memory does not grow with the run; the order is exact time, run, phase, domain id, unit name,
//! ordinal. That is an order of presentation: the trace's own has no domain id in it, and flows follow that one.

mod cursor;
mod filter;
mod kway;
#[cfg(feature = "parquet")]
mod parquet;
mod part;
mod pftrace;
mod rows;
mod sort;
mod sqlite;
mod survey;
mod text;
mod timeline;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clockweave_model::ClockDomain;
use serde::Serialize;

use crate::logs::{Catalog, LineError, Selection, TornLine};
use crate::progress::Progress;
use crate::run::{Run, RunLog};

use cursor::Cursors;
use part::Part;
use sort::Sorter;
use survey::Survey;
use text::Text;
use timeline::{OnLattice, Timeline, Wide};

pub use filter::Filter;
pub(crate) use kway::{Ordered, merge as merge_ordered};
#[cfg(feature = "parquet")]
pub use parquet::{ParquetPlace, merge_parquet};
pub use pftrace::{RebuildError, merge_pftrace};
pub(crate) use rows::{Row, RowWriter};
pub use sqlite::merge_sqlite;
pub use text::TextFormat;
pub(crate) use text::columns;

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
    /// What is merged.
    pub filter: Filter,
    /// Where a temporary folder is created if logs have to be sorted outside memory.
    pub scratch: PathBuf,
}

impl Default for MergeOptions {
    fn default() -> Self {
        Self {
            memory: 256 << 20,
            on_error: OnError::Halt,
            filter: Filter::default(),
            scratch: std::env::temp_dir(),
        }
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
    #[error("{count} {} refused; nothing was written", if *count == 1 { "line was" } else { "lines were" })]
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
    /// Two runs have one name.
    #[error("two run directories hold a run `{run_id}`; runs that are merged differ in their names")]
    SameRun {
        /// The name.
        run_id: String,
    },
    /// The logs cannot become a trace.
    #[error(transparent)]
    Rebuild(#[from] RebuildError),
    /// A row that what takes the rows refused.
    #[error("{0}")]
    Row(String),
    /// The database could not be written.
    #[error("writing the database: {0}")]
    Database(Box<rusqlite::Error>),
    /// The output could not be written.
    #[error("writing the merged log: {0}")]
    Write(#[source] io::Error),
}

/// One log of a merge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogReport {
    /// The log.
    pub file: String,
    /// Its run.
    pub run: String,
    /// Its domain.
    pub domain: String,
    /// Events merged.
    pub events: u64,
    /// Events left out by filters.
    pub filtered_events: u64,
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
    /// The runs' names.
    pub runs: Vec<String>,
    /// Events merged.
    pub events: u64,
    /// Events left out by filters.
    pub filtered_events: u64,
    /// Bytes sorted outside memory.
    pub spilled_bytes: u64,
    /// The logs by run and domain id.
    pub logs: Vec<LogReport>,
}

impl MergeReport {
    /// Whether every line of every log is in the output.
    pub fn is_complete(&self) -> bool {
        self.logs.iter().all(|log| log.torn.is_none() && log.skipped_lines == 0)
    }
}

/// Merges the logs of `runs` into `out` as text.
///
/// # Errors
/// A refused line (see [`OnError`]), a log that cannot be read or changes, two runs of one name, an
/// output or a temporary file that cannot be written. A closed pipe is [`MergeError::Write`].
pub fn merge(
    runs: &[Run],
    options: &MergeOptions,
    format: TextFormat,
    out: impl Write,
    progress: &mut dyn Progress,
) -> Result<MergeReport, MergeError> {
    merge_rows(runs, options, &mut Text::new(format, out), progress)
}

/// Merges the logs of `runs` and gives `writer` the rows.
pub(crate) fn merge_rows(
    runs: &[Run],
    options: &MergeOptions,
    writer: &mut impl RowWriter,
    progress: &mut dyn Progress,
) -> Result<MergeReport, MergeError> {
    let mut ranked: Vec<&str> = runs.iter().map(|run| run.catalog().run_id()).collect();
    ranked.sort_unstable();
    if let Some(same) = ranked.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(MergeError::SameRun { run_id: same[0].to_owned() });
    }
    let selections: Vec<Selection> = runs.iter().map(|run| options.filter.selection(run.catalog())).collect();
    let clocks: Vec<ClockDomain> =
        runs.iter().flat_map(|run| run.catalog().domains().iter().cloned()).collect();
    let mut parts = Vec::new();
    let mut first_clock = 0;
    for (number, (run, selection)) in runs.iter().zip(&selections).enumerate() {
        let catalog = run.catalog();
        let rank = ranked.binary_search(&catalog.run_id()).expect("every run is ranked");
        let run_rank = u32::try_from(rank).expect("fewer runs than 2^31");
        parts.extend(run.logs().iter().map(|log| Part {
            run: number,
            run_rank,
            clock: first_clock + log.domain(),
            catalog,
            log,
            selection,
        }));
        first_clock += u32::try_from(catalog.domains().len()).expect("fewer domains than 2^32");
    }
    let job = Job { runs, clocks: &clocks, parts: &parts, options };
    let surveys = job.survey(progress)?;
    match OnLattice::new(&clocks) {
        Some(lattice) => job.merge(&lattice, &surveys, writer, progress),
        None => job.merge(&Wide(&clocks), &surveys, writer, progress),
    }
}

/// All that one merge works on.
struct Job<'r> {
    runs: &'r [Run],
    /// The domains of all runs, run by run.
    clocks: &'r [ClockDomain],
    parts: &'r [Part<'r>],
    options: &'r MergeOptions,
}

impl Job<'_> {
    fn survey(&self, progress: &mut dyn Progress) -> Result<Vec<Survey>, MergeError> {
        progress.stage("checking", self.parts.iter().map(|part| part.log.source().length()).sum());
        let surveys: Vec<Survey> = self
            .parts
            .iter()
            .map(|part| survey::survey(part, self.options, progress))
            .collect::<Result<_, _>>()?;
        match surveys.iter().map(|survey| survey.refused).sum() {
            count if count > 0 && self.options.on_error == OnError::Collect => {
                Err(MergeError::Refused { count })
            }
            _ => Ok(surveys),
        }
    }

    fn merge<T: Timeline>(
        &self,
        timeline: &T,
        surveys: &[Survey],
        writer: &mut impl RowWriter,
        progress: &mut dyn Progress,
    ) -> Result<MergeReport, MergeError> {
        let unordered = surveys.iter().filter(|survey| !survey.ordered).count() as u64;
        let mut sorter = Sorter::new(self.options, unordered);
        let mut cursors = Cursors::new(timeline, self.options.memory);
        for (part, survey) in self.parts.iter().zip(surveys) {
            if survey.ordered {
                cursors.add_log(*part);
            } else {
                progress.stage("sorting", part.log.source().length());
                cursors.add_sorted(*part, sorter.sort(part, progress)?);
            }
        }
        let spilled_bytes = sorter.spilled_bytes();
        progress.stage("merging", surveys.iter().map(|survey| survey.events).sum());
        let catalogs: Vec<&Catalog> = self.runs.iter().map(Run::catalog).collect();
        writer.begin(&catalogs, surveys.iter().any(|survey| survey.holes))?;
        let written = cursors.merge(self.clocks, self.options.on_error, |row| writer.push(row), progress)?;
        let mut expected = self.parts.iter().zip(surveys);
        if let Some((part, _)) =
            expected.find(|(part, survey)| written[part.clock as usize] != survey.events + survey.gaps)
        {
            return Err(MergeError::Changed { file: part.log.name().to_owned() });
        }
        writer.finish()?;
        let logs: Vec<LogReport> =
            self.parts.iter().zip(surveys).map(|(part, survey)| report(part, survey)).collect();
        Ok(MergeReport {
            runs: catalogs.iter().map(|catalog| catalog.run_id().to_owned()).collect(),
            events: logs.iter().map(|log| log.events).sum(),
            filtered_events: logs.iter().map(|log| log.filtered_events).sum(),
            spilled_bytes,
            logs,
        })
    }
}

fn report(part: &Part<'_>, survey: &Survey) -> LogReport {
    LogReport {
        file: part.log.name().to_owned(),
        run: part.catalog.run_id().to_owned(),
        domain: part.domain().name().to_owned(),
        events: survey.events,
        filtered_events: survey.filtered,
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
