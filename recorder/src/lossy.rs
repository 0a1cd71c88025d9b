//! The recorder of a serial simulation that must not wait: through rings, and what they cannot take is lost.
//!
//! # Invariants
//!
//! * An event never waits. What waits, for the ordering thread and nobody else, is the account of events that were
//!   lost: at the end of the instant, or before the stream's next event of another edge or phase.
//! * The watermark follows the instants closely enough that what lies between fits the budget of open records.

use clockweave_model::{KindId, Phase};

use crate::concurrent::ConcurrentRecorder;
use crate::error::RecordError;
use crate::producer::Producer;
use crate::roster::StreamId;
use crate::stats::{RunTotals, Stats};

/// Instants after which the watermark is told.
const INSTANTS: u32 = 64;

/// Records a serial run and rather loses events than time. Made by
/// [`RecorderBuilder::start_serial_lossy`](crate::RecorderBuilder::start_serial_lossy).
///
/// Dropping it unclosed completes the trace and the logs, but writes no statistics, and says so on standard error.
pub struct LossyRecorder {
    producers: Vec<Producer>,
    recorder: ConcurrentRecorder,
    /// Streams with losses that are not yet told.
    gaps: Vec<u32>,
    last: i64,
    instants: u32,
    records: usize,
    /// Records after which the watermark is told.
    batch: usize,
    /// The first refusal of an event, for the end of its instant.
    refused: Option<RecordError>,
}

impl LossyRecorder {
    pub(crate) fn new(recorder: ConcurrentRecorder, producers: Vec<Producer>, open_records: usize) -> Self {
        Self {
            producers,
            recorder,
            gaps: Vec::new(),
            last: 0,
            instants: 0,
            records: 0,
            batch: (open_records / 4).max(1),
            refused: None,
        }
    }

    /// Appends an event to the open instant, or loses it. Errors come from [`LossyRecorder::end_instant`].
    ///
    /// # Panics
    /// If `stream` was handed out by another recorder and is not one of this one's.
    #[inline]
    #[allow(clippy::too_many_arguments, reason = "the words of one record, in registers")]
    pub fn record(
        &mut self,
        stream: StreamId,
        cycle: u64,
        kind: KindId,
        transaction: u64,
        value: u64,
        fifo: u32,
        phase: Phase,
    ) {
        let producer = &mut self.producers[stream.0 as usize];
        let had_gap = producer.has_gap();
        if let Err(error) = producer.record(cycle, kind, transaction, value, fifo, phase) {
            self.refused.get_or_insert(error);
        }
        if producer.has_gap() && !had_gap {
            self.gaps.push(stream.0);
        }
        self.records += 1;
    }

    /// Ends the open instant: everything recorded since the last call happened at one exact time, whose floor in
    /// nanoseconds is `ns`. Instants are submitted in exact order.
    ///
    /// # Errors
    /// The first error of the run, as for [`SerialRecorder::end_instant`](crate::SerialRecorder::end_instant).
    #[inline]
    pub fn end_instant(&mut self, ns: i64) -> Result<(), RecordError> {
        self.instants += 1;
        let quiet = self.gaps.is_empty() && self.refused.is_none() && ns >= self.last;
        if quiet && self.instants < INSTANTS && self.records < self.batch {
            self.last = ns;
            return Ok(());
        }
        self.tell(ns)
    }

    #[cold]
    fn tell(&mut self, ns: i64) -> Result<(), RecordError> {
        if let Some(error) = self.refused.take() {
            return Err(error);
        }
        if ns < self.last {
            return Err(self.recorder.fail(RecordError::InstantRegressed { ns, last: self.last }));
        }
        (self.last, self.instants, self.records) = (ns, 0, 0);
        self.recorder.reach(ns)?;
        for stream in self.gaps.drain(..) {
            self.producers[stream as usize].settle()?;
        }
        Ok(())
    }

    /// Writes every nanosecond that is over to the files. Does not change what they hold in the end.
    ///
    /// # Errors
    /// The first error of the run.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        self.tell(self.last)?;
        self.recorder.flush()
    }

    /// Ends the run: completes the outputs, writes the statistics. Calling it again gives the same answer again.
    ///
    /// # Errors
    /// The first error of the run; then there are no statistics.
    pub fn close(&mut self, totals: RunTotals) -> Result<Stats, RecordError> {
        for producer in &mut self.producers {
            // What goes wrong here is the run's first error, which closing returns.
            let _ = producer.finish();
        }
        self.recorder.close(totals)
    }
}
