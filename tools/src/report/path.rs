//! The way of one transaction through the run.

use std::collections::BTreeMap;

use clockweave_model::{ClockDomain, ExactTime};
use serde::Serialize;

use super::ReportOptions;
use super::exact::{Figure, Unit, edges_between, elapsed};
use crate::logs::Catalog;
use crate::merge::{Filter, MergeError, MergeReport, Row, RowWriter, merge_rows};
use crate::progress::Progress;
use crate::recorded::Recorded;

/// Most steps told; a circuit of FIFOs gives a packet six in each.
const STEPS: usize = 10_000;

/// One event of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// When it happened.
    pub time: Figure,
    /// Time since the transaction's first event.
    pub since_first: Figure,
    /// Time since its event before.
    pub since_previous: Figure,
    /// The unit.
    pub unit: String,
    /// The unit's clock.
    pub domain: String,
    /// Edge of that clock.
    pub local_cycle: u64,
    /// 0 or 1.
    pub phase: u8,
    /// Event name.
    pub event: String,
    /// FIFO, 0 for none.
    pub fifo_id: u64,
    /// Value.
    pub value: u64,
}

/// The passage of one FIFO.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hop {
    /// FIFO id.
    pub fifo_id: u64,
    /// The unit that wrote.
    pub writer: String,
    /// The unit that consumed.
    pub reader: String,
    /// Time from the write to the consume.
    pub latency: Figure,
    /// Edges of the reader's clock after the write, up to and with the consume.
    pub reader_edges: u64,
    /// Edges of the writer's clock after the write, up to and with the consume.
    pub writer_edges: u64,
}

/// The way of one transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathReport {
    /// The run's name.
    pub run_id: String,
    /// The transaction.
    pub transaction_id: u64,
    /// Its events in exact order, the first ten thousand.
    pub steps: Vec<Step>,
    /// Events beyond those.
    pub omitted: u64,
    /// Its passages of FIFOs, among the steps told, by their end.
    pub hops: Vec<Hop>,
}

struct Follower<'r> {
    catalog: &'r Catalog,
    report: PathReport,
    first: Option<ExactTime>,
    previous: Option<ExactTime>,
    /// Unit's index and edge of the last write into each FIFO.
    writes: BTreeMap<u64, (u32, u64)>,
}

impl Follower<'_> {
    fn clock(&self, unit: u32) -> &ClockDomain {
        &self.catalog.domains()[self.catalog.units()[unit as usize].domain as usize]
    }

    fn follow(&mut self, row: &Row<'_>) {
        if row.entry.lost > 0 {
            return;
        }
        if self.report.steps.len() == STEPS {
            self.report.omitted += 1;
            return;
        }
        let (fields, unit) = (&row.entry.fields, row.entry.unit);
        let Ok(at) = self.clock(unit).edge(fields.cycle) else { return };
        let seconds = |value| Figure::new(Unit::Seconds, value);
        let since = |from: Option<ExactTime>| seconds(elapsed(&from.unwrap_or(at), &at));
        self.report.steps.push(Step {
            time: seconds(at.to_ratio()),
            since_first: since(self.first),
            since_previous: since(self.previous),
            unit: row.unit().to_owned(),
            domain: self.clock(unit).name().to_owned(),
            local_cycle: fields.cycle,
            phase: fields.phase,
            event: row.event().to_owned(),
            fifo_id: fields.fifo,
            value: fields.value,
        });
        self.first.get_or_insert(at);
        self.previous = Some(at);
        match row.event() {
            "fifo.write" => {
                self.writes.insert(fields.fifo, (unit, fields.cycle));
            }
            "fifo.consume" => {
                if let Some((writer, cycle)) = self.writes.remove(&fields.fifo) {
                    self.hop(fields.fifo, (writer, cycle), (unit, at));
                }
            }
            _ => {}
        }
    }

    fn hop(&mut self, fifo_id: u64, (writer, cycle): (u32, u64), (reader, consumed): (u32, ExactTime)) {
        let Ok(written) = self.clock(writer).edge(cycle) else { return };
        let name = |unit: u32| self.catalog.units()[unit as usize].name.clone();
        let hop = Hop {
            fifo_id,
            writer: name(writer),
            reader: name(reader),
            latency: Figure::new(Unit::Seconds, elapsed(&written, &consumed)),
            reader_edges: edges_between(self.clock(reader), &written, &consumed),
            writer_edges: edges_between(self.clock(writer), &written, &consumed),
        };
        self.report.hops.push(hop);
    }
}

impl RowWriter for Follower<'_> {
    fn begin(&mut self, _runs: &[&Catalog], _holes: bool) -> Result<(), MergeError> {
        Ok(())
    }

    fn push(&mut self, row: &Row<'_>) -> Result<(), MergeError> {
        self.follow(row);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), MergeError> {
        Ok(())
    }
}

/// The way of `transaction` through `run`, and how reading it went.
///
/// # Errors
/// A line is refused, a log cannot be read, temporary files cannot be written.
pub fn path(
    run: &Recorded,
    transaction: u64,
    options: &ReportOptions,
    progress: &mut dyn Progress,
) -> Result<(PathReport, MergeReport), MergeError> {
    let run = run.run();
    let report = PathReport {
        run_id: run.catalog().run_id().to_owned(),
        transaction_id: transaction,
        steps: Vec::new(),
        omitted: 0,
        hops: Vec::new(),
    };
    let mut follower =
        Follower { catalog: run.catalog(), report, first: None, previous: None, writes: BTreeMap::new() };
    let filter = Filter { transaction: Some(transaction), ..Filter::default() };
    let merged = merge_rows(std::slice::from_ref(run), &options.merging(filter), &mut follower, progress)?;
    Ok((follower.report, merged))
}
