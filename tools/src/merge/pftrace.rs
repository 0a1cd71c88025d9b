//! A Perfetto trace rebuilt from text logs alone.
//!
//! The merged rows are recorded again by the recorder itself, so the trace has its layout and order.
//! Invariants: what the logs do not hold is a gap in the trace, never closed up: ordinals are those of
//! the logs. The trace is written in a temporary folder and copied to the output when it is whole.

use std::fs::File;
use std::io::{self, Write};

use clockweave_model::{KindId, KindTable, MachineEntry, Phase};
use clockweave_recorder::{
    RecordError, Recorder, RecorderBuilder, RunTotals, SerialRecorder, StreamId, TRACE_FILE,
};

use crate::logs::Catalog;
use crate::progress::Progress;
use crate::run::Run;
use crate::scratch::TempFolder;

use super::rows::{Row, RowWriter};
use super::{MergeError, MergeOptions, MergeReport, merge_rows, scratch_error};

/// Records that one nanosecond of a rebuilt trace may hold.
const OPEN_RECORDS: usize = 1 << 18;

/// Why logs cannot become a trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RebuildError {
    /// More than one run.
    #[error("found {runs} run directories, expected one: a trace holds one run; rebuild each by itself")]
    Runs {
        /// How many.
        runs: usize,
    },
    /// A filter that would tear holes into the order of a unit.
    #[error("a trace takes whole units: select with --domain, --unit and --to, or merge to another format")]
    Filter,
    /// A unit's ordinals contradict the order of a trace.
    #[error(
        "unit `{unit}` has ordinal {found} at cycle {cycle} after {last} in the order of exact time and phase; a \
         trace numbers a unit's events in that order"
    )]
    Disorder {
        /// Unit name.
        unit: String,
        /// The ordinal.
        found: u64,
        /// Its cycle.
        cycle: u64,
        /// The largest before.
        last: u64,
    },
    /// A FIFO id that no record takes.
    #[error("unit `{unit}`, ordinal {ordinal}: fifo_id is {found}, expected at most 4294967295 in a trace")]
    Fifo {
        /// Unit name.
        unit: String,
        /// The event's ordinal.
        ordinal: u64,
        /// The id.
        found: u64,
    },
    /// Names of events that no recorder takes.
    #[error(transparent)]
    Kinds(#[from] clockweave_model::KindError),
    /// The recorder refused.
    #[error(transparent)]
    Record(#[from] RecordError),
}

struct Rebuilder {
    recorder: Option<SerialRecorder>,
    builder: Option<RecorderBuilder>,
    /// The manifest says so.
    lossless: bool,
    /// Whose scheduling is shown, unless events are missing.
    machines: Vec<MachineEntry>,
    /// By unit index.
    streams: Vec<StreamId>,
    /// Ordinal that comes next, by unit index.
    next: Vec<u64>,
    /// By event index.
    kinds: Vec<KindId>,
    /// Exact time of the open instant, as text, and its floor in ns.
    instant: Option<(Vec<u8>, i64)>,
}

impl Rebuilder {
    fn new(run: &Run, folder: &std::path::Path) -> Result<Self, RebuildError> {
        let catalog = run.catalog();
        let built_in = KindTable::default();
        let defined = catalog.event_names().iter().filter(|name| built_in.id(name).is_none());
        let table = KindTable::new(defined.map(String::as_str))?;
        let kinds = catalog.event_names().iter().filter_map(|name| table.id(name)).collect();
        let mut builder = Recorder::builder(folder);
        builder.run_id(catalog.run_id()).kinds(table).text(false).flush_interval(None);
        builder.open_records(OPEN_RECORDS).metadata_bytes(usize::MAX);
        for domain in catalog.domains() {
            builder.domain(domain)?;
        }
        let mut streams = Vec::with_capacity(catalog.units().len());
        for unit in catalog.units() {
            let domain = catalog.domains()[unit.domain as usize].id();
            streams.push(builder.add_stream(domain, unit.id, &unit.name)?);
        }
        Ok(Self {
            recorder: None,
            builder: Some(builder),
            lossless: run.manifest().lossless,
            machines: run.manifest().clockweave.as_ref().map_or_else(Vec::new, |ours| ours.machines.clone()),
            next: vec![0; streams.len()],
            streams,
            kinds,
            instant: None,
        })
    }

    fn recorder(&mut self) -> &mut SerialRecorder {
        self.recorder.as_mut().expect("recording begins before the first row")
    }

    /// Ends the open instant unless `row` belongs to it.
    fn settle(&mut self, row: Option<&Row<'_>>) -> Result<(), RebuildError> {
        let time = row.map(|row| {
            let mut tabs = row.stamp.iter().enumerate().filter(|(_, byte)| **byte == b'\t');
            let end = tabs.nth(1).map_or(row.stamp.len(), |(at, _)| at);
            (&row.stamp[..end], row.ts)
        });
        if let Some((text, ns)) = &self.instant
            && time.is_none_or(|(next, _)| next != text)
        {
            let ns = *ns;
            self.recorder().end_instant(ns)?;
        }
        match (time, &mut self.instant) {
            (Some((text, ns)), Some(open)) => {
                open.0.clear();
                open.0.extend_from_slice(text);
                open.1 = ns;
            }
            (time, open) => *open = time.map(|(text, ns)| (text.to_vec(), ns)),
        }
        Ok(())
    }

    fn record(&mut self, row: &Row<'_>) -> Result<(), RebuildError> {
        self.settle(Some(row))?;
        let fields = &row.entry.fields;
        let unit = row.entry.unit as usize;
        let (stream, next) = (self.streams[unit], self.next[unit]);
        let phase = if fields.phase == 0 { Phase::Evaluate } else { Phase::Commit };
        let Some(missing) = fields.ordinal.checked_sub(next) else {
            let unit = row.unit().to_owned();
            return Err(RebuildError::Disorder {
                unit,
                found: fields.ordinal,
                cycle: fields.cycle,
                last: next - 1,
            });
        };
        let lost = missing.saturating_add(row.entry.lost);
        if lost > 0 {
            self.recorder().lose(stream, fields.cycle, lost, phase);
        }
        if row.entry.lost == 0 {
            let fifo = u32::try_from(fields.fifo).map_err(|_| RebuildError::Fifo {
                unit: row.unit().to_owned(),
                ordinal: fields.ordinal,
                found: fields.fifo,
            })?;
            let kind = self.kinds[row.entry.event as usize];
            self.recorder().record(stream, fields.cycle, kind, fields.transaction, fields.value, fifo, phase);
        }
        self.next[unit] = fields.ordinal.saturating_add(row.entry.lost.max(1));
        Ok(())
    }
}

impl RowWriter for Rebuilder {
    fn begin(&mut self, _runs: &[&Catalog], holes: bool) -> Result<(), MergeError> {
        let mut builder = self.builder.take().expect("recording begins once");
        let lossless = self.lossless && !holes;
        builder.lossy(!lossless);
        for machine in self.machines.drain(..).filter(|_| lossless) {
            builder.machine(machine);
        }
        self.recorder = Some(builder.start_serial().map_err(RebuildError::from)?);
        Ok(())
    }

    fn push(&mut self, row: &Row<'_>) -> Result<(), MergeError> {
        Ok(self.record(row)?)
    }

    fn finish(&mut self) -> Result<(), MergeError> {
        self.settle(None)?;
        self.recorder().close(RunTotals::default()).map_err(RebuildError::from)?;
        Ok(())
    }
}

/// Merges the logs of one run into a Perfetto trace.
///
/// # Errors
/// As [`super::merge`]; [`MergeError::Rebuild`] for what a trace cannot hold.
pub fn merge_pftrace(
    runs: &[Run],
    options: &MergeOptions,
    mut out: impl Write,
    progress: &mut dyn Progress,
) -> Result<MergeReport, MergeError> {
    let [run] = runs else { return Err(RebuildError::Runs { runs: runs.len() }.into()) };
    if options.filter.splits_units() {
        return Err(RebuildError::Filter.into());
    }
    let mut scratch = TempFolder::new_in(&options.scratch);
    let folder = scratch.folder().map_err(scratch_error(&options.scratch))?;
    let mut rebuilder = Rebuilder::new(run, &folder)?;
    let merged = merge_rows(runs, options, &mut rebuilder, progress);
    if merged.is_err()
        && let Some(mut recorder) = rebuilder.recorder.take()
    {
        // What it has is of no use, and a recorder that is dropped open would complain of its folder.
        let _ = recorder.close(RunTotals::default());
    }
    let report = merged?;
    let trace = folder.join(TRACE_FILE);
    let mut trace = File::open(&trace).map_err(scratch_error(&trace))?;
    io::copy(&mut trace, &mut out).and_then(|_| out.flush()).map_err(MergeError::Write)?;
    Ok(report)
}
