//! One log of a merge, with what reading it takes.

use clockweave_model::ClockDomain;

use crate::logs::{Catalog, Checks, LineSource, LogReader, Selection};
use crate::run::RunLog;

/// A log among those of all runs.
#[derive(Clone, Copy)]
pub(super) struct Part<'r> {
    /// Index of its run.
    pub(super) run: usize,
    /// Place of its run among all by name.
    pub(super) run_rank: u32,
    /// Index of its domain among those of all runs.
    pub(super) clock: u32,
    pub(super) catalog: &'r Catalog,
    pub(super) log: &'r RunLog,
    pub(super) selection: &'r Selection,
}

impl<'r> Part<'r> {
    pub(super) fn reader<S: LineSource>(&self, lines: S, checks: Checks) -> LogReader<'r, S> {
        let Self { catalog, log, selection, .. } = *self;
        LogReader::new(lines, catalog, log.domain(), log.name(), checks, selection)
    }

    pub(super) fn domain(&self) -> &'r ClockDomain {
        &self.catalog.domains()[self.log.domain() as usize]
    }
}
