//! Which part of the time a page shows so that what is selected is in the middle of it.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::link::{Selection, View};
use super::server::ServedTrace;
use crate::logs::Catalog;
use crate::merge::{MergeError, MergeOptions, Row, RowWriter, merge_rows};
use crate::progress::Progress;
use crate::trace::{TraceRun, TraceRunError};

/// Nanoseconds with an event that are shown on each side of a time.
const AROUND: usize = 10;
/// Least time shown on each side of a transaction, in ns.
const LEAST: i64 = 10;

/// Why an event cannot be found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The trace cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The trace is no run of this suite.
    #[error(transparent)]
    Trace(#[from] TraceRunError),
    /// Its events cannot be ordered.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// No event of the transaction.
    #[error("found no event of transaction {id}")]
    NoTransaction {
        /// The transaction.
        id: u64,
    },
}

/// First and last of something, in ns.
type Ends = Option<(i64, i64)>;

fn widen(ends: &mut Ends, ns: i64) {
    let (first, last) = ends.get_or_insert((ns, ns));
    (*first, *last) = ((*first).min(ns), (*last).max(ns));
}

struct Moments {
    wanted: Selection,
    run: Ends,
    found: Ends,
    before: VecDeque<i64>,
    /// The times after it, as many as are shown.
    after: Vec<i64>,
}

impl RowWriter for Moments {
    fn begin(&mut self, _runs: &[&Catalog], _holes: bool) -> Result<(), MergeError> {
        Ok(())
    }

    fn push(&mut self, row: &Row<'_>) -> Result<(), MergeError> {
        let ns = row.ts;
        widen(&mut self.run, ns);
        match self.wanted {
            Selection::Transaction(id) if row.entry.lost == 0 && row.entry.fields.transaction == id => {
                widen(&mut self.found, ns);
            }
            Selection::Transaction(_) => {}
            Selection::At(at) if ns <= at => {
                if self.before.back() != Some(&ns) {
                    self.before.push_back(ns);
                }
                if self.before.len() > AROUND {
                    self.before.pop_front();
                }
            }
            Selection::At(_) => {
                if self.after.last() != Some(&ns) && self.after.len() < AROUND {
                    self.after.push(ns);
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), MergeError> {
        Ok(())
    }
}

impl Moments {
    /// First and last ns to show.
    fn window(&self) -> Ends {
        let (first, last) = self.run?;
        let (from, to) = match self.wanted {
            Selection::Transaction(_) => {
                let (from, to) = self.found?;
                let margin = ((to - from) / 4).max(LEAST);
                (from.saturating_sub(margin), to.saturating_add(margin))
            }
            Selection::At(_) => {
                let mut near = self.before.iter().chain(&self.after);
                let from = *near.next()?;
                (from, near.last().copied().unwrap_or(from))
            }
        };
        Some((from.max(first), to.min(last))).filter(|(from, to)| from < to)
    }
}

/// What a page shows of `trace` with this selection. Of a trace of other producers a time can be selected, but no part
/// of the time is chosen.
///
/// # Errors
/// There is no event of the transaction, or the trace cannot be read.
pub fn view(
    trace: &ServedTrace,
    wanted: Selection,
    scratch: &Path,
    progress: &mut dyn Progress,
) -> Result<View, ViewError> {
    let source = File::open(&trace.path)?.take(trace.length);
    progress.stage("searching", trace.length);
    let read = match (TraceRun::read(source, scratch, progress), wanted) {
        (Ok(read), _) => read,
        (
            Err(
                TraceRunError::NoClock
                | TraceRunError::Event { .. }
                | TraceRunError::Unit { .. }
                | TraceRunError::Name { .. }
                | TraceRunError::Run(_),
            ),
            Selection::At(_),
        ) => {
            return Ok(View { selection: Some(wanted), window: None });
        }
        (Err(error), _) => return Err(error.into()),
    };
    let options = MergeOptions { scratch: scratch.to_owned(), ..MergeOptions::default() };
    let mut moments = Moments { wanted, run: None, found: None, before: VecDeque::new(), after: Vec::new() };
    merge_rows(std::slice::from_ref(&read.run), &options, &mut moments, progress)?;
    if let Selection::Transaction(id) = wanted
        && moments.found.is_none()
    {
        return Err(ViewError::NoTransaction { id });
    }
    Ok(View { selection: Some(wanted), window: moments.window() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(wanted: Selection, run: Ends) -> Moments {
        Moments { wanted, run, found: None, before: VecDeque::new(), after: Vec::new() }
    }

    #[test]
    fn a_transaction_is_shown_with_a_margin_within_the_run() {
        let mut of = moments(Selection::Transaction(1), Some((0, 1000)));
        assert_eq!(of.window(), None);
        of.found = Some((100, 300));
        assert_eq!(of.window(), Some((50, 350)));
        of.found = Some((4, 8));
        assert_eq!(of.window(), Some((0, 18)));
        of.run = Some((4, 4));
        of.found = Some((4, 4));
        assert_eq!(of.window(), None);
    }

    #[test]
    fn a_time_is_shown_between_its_neighbours() {
        let mut of = moments(Selection::At(50), Some((0, 1000)));
        of.before = [10, 20].into();
        of.after = vec![60, 90];
        assert_eq!(of.window(), Some((10, 90)));
        of.after.clear();
        assert_eq!(of.window(), Some((10, 20)));
    }
}
