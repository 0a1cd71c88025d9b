//! Two runs held against each other, event by event in exact order.
//!
//! Each side is a run directory, a trace or a merged log; all become rows in the order of `merge`, so
//! identities are compared and never bytes: packing, compression and run names do not matter.
//! Invariants: both sides are read once, in bounded memory; rows of equal text cost no parsing.

mod row;
mod side;

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::mpsc;

use serde::Serialize;

pub use row::DiffRow;
pub use side::DiffError;

use crate::merge::MergeOptions;
use row::Parsed;
use side::{Rows, Side};

/// Rows shown before and after the first difference.
const NEIGHBOURS: usize = 3;

/// How two events differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// Only the first side has it.
    OnlyInA,
    /// Only the second side has it.
    OnlyInB,
    /// Both have an event of this time, phase, unit and ordinal that says something else.
    Changed,
}

/// The first difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Divergence {
    /// What it is.
    pub kind: Difference,
    /// The columns that differ, of a changed event.
    pub columns: Vec<&'static str>,
    /// The event of the first side.
    pub a: Option<DiffRow>,
    /// The event of the second side.
    pub b: Option<DiffRow>,
    /// The last events before it, which both sides have.
    pub before: Vec<DiffRow>,
    /// What follows on the first side.
    pub after_a: Vec<DiffRow>,
    /// What follows on the second side.
    pub after_b: Vec<DiffRow>,
}

/// What was lost when a side was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// Gaps.
    pub gaps: u64,
    /// Events lost in them.
    pub lost_events: u64,
    /// Tells gaps at different places from each other.
    #[serde(skip)]
    pub(crate) digest: u64,
}

/// How two runs compare.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffReport {
    /// Whether nothing differs.
    pub equal: bool,
    /// Events of each side.
    pub events: [u64; 2],
    /// Events that are the same on both sides.
    pub common: u64,
    /// Events that only one side has.
    pub only_in: [u64; 2],
    /// Events that say something else.
    pub changed: u64,
    /// Changed events by column.
    pub changed_columns: BTreeMap<&'static str, u64>,
    /// Losses of each side.
    pub losses: [Losses; 2],
    /// Whether the losses are the same ones.
    pub losses_equal: bool,
    /// The first difference between events.
    pub first: Option<Divergence>,
}

/// Compares the runs at `a` and `b`, where `-` is stdin.
///
/// # Errors
/// A side that is none of the three, cannot be read, or holds a wrong line.
pub fn diff(a: &Path, b: &Path, options: &MergeOptions) -> Result<DiffReport, DiffError> {
    let (a, b) = (Side::open(a, options)?, Side::open(b, options)?);
    let options = MergeOptions { memory: options.memory / 2, ..options.clone() };
    std::thread::scope(|scope| {
        let mut feeds = Vec::new();
        let mut rows = [&a, &b].map(|side| {
            let (send, receive) = mpsc::sync_channel(4);
            let options = &options;
            feeds.push(scope.spawn(move || side.feed(options, send)));
            Rows::new(side, receive)
        });
        let compared = compare(&mut rows);
        // A side that is not read on ends when nobody takes its rows.
        drop(rows);
        for feed in feeds {
            match feed.join() {
                Ok(fed) => fed?,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        compared
    })
}

#[derive(Default)]
struct Comparison {
    common: u64,
    only_in: [u64; 2],
    changed: u64,
    changed_columns: BTreeMap<&'static str, u64>,
    before: VecDeque<String>,
    first: Option<Divergence>,
}

fn compare([a, b]: &mut [Rows; 2]) -> Result<DiffReport, DiffError> {
    let mut found = Comparison::default();
    let (mut more_a, mut more_b) = (a.advance()?, b.advance()?);
    while more_a || more_b {
        if more_a && more_b && a.line() == b.line() {
            found.same(a.line());
            (more_a, more_b) = (a.advance()?, b.advance()?);
            continue;
        }
        let left = if more_a { Some(a.parsed()?) } else { None };
        let right = if more_b { Some(b.parsed()?) } else { None };
        let order = match (&left, &right) {
            (Some(left), Some(right)) => left.place_cmp(right),
            (Some(_), None) => Ordering::Less,
            _ => Ordering::Greater,
        };
        found.differ(order, left, right);
        if order.is_le() {
            more_a = a.advance()?;
        }
        if order.is_ge() {
            more_b = b.advance()?;
        }
    }
    Ok(found.finish(a, b))
}

impl Comparison {
    fn same(&mut self, line: &str) {
        self.common += 1;
        match &mut self.first {
            None => {
                // The oldest one's memory takes the newest.
                let mut kept = match self.before.len() {
                    NEIGHBOURS => self.before.pop_front().unwrap_or_default(),
                    _ => String::new(),
                };
                kept.clear();
                kept.push_str(line);
                self.before.push_back(kept);
            }
            Some(first) => {
                for after in [&mut first.after_a, &mut first.after_b] {
                    if after.len() < NEIGHBOURS {
                        after.extend(DiffRow::read(line));
                    }
                }
            }
        }
    }

    fn differ(&mut self, order: Ordering, left: Option<Parsed<'_>>, right: Option<Parsed<'_>>) {
        let (kind, columns) = match order {
            Ordering::Less => (Difference::OnlyInA, Vec::new()),
            Ordering::Greater => (Difference::OnlyInB, Vec::new()),
            Ordering::Equal => {
                let pair = left.as_ref().zip(right.as_ref());
                (Difference::Changed, pair.map_or_else(Vec::new, |(left, right)| left.differences(right)))
            }
        };
        // Written otherwise, but the same: a number with leading zeros.
        if kind == Difference::Changed && columns.is_empty() {
            self.common += 1;
            return;
        }
        match kind {
            Difference::OnlyInA => self.only_in[0] += 1,
            Difference::OnlyInB => self.only_in[1] += 1,
            Difference::Changed => self.changed += 1,
        }
        for column in &columns {
            *self.changed_columns.entry(column).or_default() += 1;
        }
        let a = left.filter(|_| kind != Difference::OnlyInB).map(Parsed::to_row);
        let b = right.filter(|_| kind != Difference::OnlyInA).map(Parsed::to_row);
        match &mut self.first {
            None => {
                self.first = Some(Divergence {
                    kind,
                    columns,
                    a,
                    b,
                    before: self.before.drain(..).filter_map(|line| DiffRow::read(&line)).collect(),
                    after_a: Vec::new(),
                    after_b: Vec::new(),
                });
            }
            Some(first) => {
                for (after, row) in [(&mut first.after_a, a), (&mut first.after_b, b)] {
                    if after.len() < NEIGHBOURS {
                        after.extend(row);
                    }
                }
            }
        }
    }

    fn finish(self, a: &Rows, b: &Rows) -> DiffReport {
        let losses = [a.losses(), b.losses()];
        let losses_equal = losses[0] == losses[1];
        DiffReport {
            equal: self.first.is_none() && losses_equal,
            events: [a.events(), b.events()],
            common: self.common,
            only_in: self.only_in,
            changed: self.changed,
            changed_columns: self.changed_columns,
            losses,
            losses_equal,
            first: self.first,
        }
    }
}
