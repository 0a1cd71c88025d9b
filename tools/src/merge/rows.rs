//! A row of a merged log, and what takes rows.

use std::io::{self, Write};

use crate::logs::{Catalog, Entry};

use super::MergeError;

/// The columns of a merged log; with several runs the run's name comes first.
pub(crate) const COLUMNS: [&str; 12] = [
    "time_num",
    "time_den",
    "ts",
    "domain_id",
    "unit",
    "local_cycle",
    "event",
    "phase",
    "transaction_id",
    "fifo_id",
    "value",
    "ordinal",
];

/// What formats without comments call a gap; its value is the number of events lost.
pub(crate) const GAP_EVENT: &str = "trace.gap";

/// One event, or gap, at its place.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    /// Index of the run.
    pub(crate) run: usize,
    pub(crate) catalog: &'a Catalog,
    /// Index of the domain in its run.
    pub(crate) domain: u32,
    /// Floor of the exact time in ns.
    pub(crate) ts: i64,
    /// `time_num time_den ts domain_id`, each with its tab.
    pub(crate) stamp: &'a [u8],
    pub(crate) entry: &'a Entry,
    /// The log's line.
    pub(crate) line: &'a [u8],
}

impl<'a> Row<'a> {
    /// Name of the unit.
    #[inline]
    pub(crate) fn unit(&self) -> &'a str {
        &self.catalog.units()[self.entry.unit as usize].name
    }

    /// Name of the event; of a gap, [`GAP_EVENT`].
    pub(crate) fn event(&self) -> &'a str {
        let name = self.catalog.event_names().get(self.entry.event as usize);
        name.map_or(GAP_EVENT, String::as_str)
    }

    /// Value of the event; of a gap, the number of events lost.
    pub(crate) fn value(&self) -> u64 {
        if self.entry.lost > 0 { self.entry.lost } else { self.entry.fields.value }
    }

    /// Numerator and denominator of the exact time in seconds, as decimals.
    pub(crate) fn time(&self) -> (&'a str, &'a str) {
        let text = str::from_utf8(self.stamp).expect("decimals are text");
        let mut columns = text.split('\t');
        (columns.next().unwrap_or_default(), columns.next().unwrap_or_default())
    }
}

/// Takes the rows of a merge in their order.
pub(crate) trait RowWriter {
    /// Comes before the first row, when every line of every log has been checked; `holes` tells whether some unit's
    /// ordinals do not begin with 0 or skip some.
    fn begin(&mut self, runs: &[&Catalog], holes: bool) -> Result<(), MergeError>;
    /// Takes the next row.
    fn push(&mut self, row: &Row<'_>) -> Result<(), MergeError>;
    /// Comes after the last row.
    fn finish(&mut self) -> Result<(), MergeError>;
}

/// Bytes on their way out, written in blocks.
pub(super) struct Blocks<W> {
    out: W,
    pub(super) block: Vec<u8>,
}

/// Bytes written at once.
const BLOCK: usize = 128 * 1024;

impl<W: Write> Blocks<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, block: Vec::with_capacity(BLOCK + 4096) }
    }

    /// Writes the block if it is full.
    #[inline]
    pub(super) fn pass(&mut self) -> Result<(), MergeError> {
        if self.block.len() >= BLOCK { self.write().map_err(MergeError::Write) } else { Ok(()) }
    }

    fn write(&mut self) -> io::Result<()> {
        self.out.write_all(&self.block)?;
        self.block.clear();
        Ok(())
    }

    pub(super) fn finish(&mut self) -> Result<(), MergeError> {
        self.write().and_then(|()| self.out.flush()).map_err(MergeError::Write)
    }
}
