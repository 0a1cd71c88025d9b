//! The recorder of a serial simulation: one thread that submits one exact instant after another.
//!
//! No ring and no copy between threads is needed: events are put in order and encoded where they
//! were recorded, and only whole blocks cross to the writing thread. Time is the caller's; this
//! module relies on instants coming in exact order and checks their display nanoseconds.

use clockweave_model::{EventRecord, KindId, Phase};

use crate::bucket::OpenBucket;
use crate::error::RecordError;
use crate::packed::GAP;
use crate::roster::StreamId;
use crate::session::Session;
use crate::stats::{RunTotals, Stats};

/// Records a serial run. Made by [`RecorderBuilder::start_serial`](crate::RecorderBuilder::start_serial).
///
/// Dropping it unclosed completes the trace and the logs, but writes no statistics, and says so on
/// standard error.
pub struct SerialRecorder {
    bucket: OpenBucket,
    ranks: Box<[u32]>,
    session: Session,
}

impl SerialRecorder {
    pub(crate) fn new(session: Session, bucket: OpenBucket) -> Self {
        let ranks = session.roster().ranks.clone().into_boxed_slice();
        Self { bucket, ranks, session }
    }

    /// Appends an event to the open instant. Errors come from [`SerialRecorder::end_instant`].
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
        let rank = self.ranks[stream.0 as usize];
        self.bucket.push(rank, EventRecord { cycle, transaction, value, fifo, local: 0, kind, phase });
    }

    /// Says that `count` events of `stream`'s unit, the first of them at `cycle` and `phase` of the open instant, were
    /// lost before they came here; their ordinals stay free. The run has to be declared
    /// [`lossy`](crate::RecorderBuilder::lossy), else ending the instant is an error.
    ///
    /// # Panics
    /// If `stream` was handed out by another recorder and is not one of this one's.
    pub fn lose(&mut self, stream: StreamId, cycle: u64, count: u64, phase: Phase) {
        let rank = self.ranks[stream.0 as usize];
        let gap = EventRecord { cycle, transaction: 0, value: count, fifo: 0, local: 0, kind: GAP, phase };
        self.bucket.push(rank, gap);
    }

    /// Ends the open instant: everything recorded since the last call happened at one exact time,
    /// whose floor in nanoseconds is `ns`. Instants are submitted in exact order. Costs one branch
    /// where nothing was recorded.
    ///
    /// # Errors
    /// The first error of the run: more records in one nanosecond than the budget, an instant or a
    /// cycle that goes back, an unknown kind, a failed write.
    #[inline]
    pub fn end_instant(&mut self, ns: i64) -> Result<(), RecordError> {
        if self.bucket.is_empty() {
            return Ok(());
        }
        self.pass(ns).map_err(|error| *error)
    }

    fn pass(&mut self, ns: i64) -> Result<(), Box<RecordError>> {
        if self.session.is_disabled() {
            self.bucket.clear();
            return Ok(());
        }
        let passed = match self.bucket.close(ns) {
            Ok(()) => self.session.pass(ns, &self.bucket),
            Err(error) => Err(Box::new(self.session.fail(*error))),
        };
        self.bucket.clear();
        passed
    }

    /// Writes every ended instant to the files. Does not change what they hold in the end.
    ///
    /// # Errors
    /// The first error of the run.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        self.session.flush()
    }

    /// Ends the run: completes the outputs, writes the statistics. Calling it again gives the same
    /// answer again. Records of an instant that was not ended are not part of the run.
    ///
    /// # Errors
    /// The first error of the run; then there are no statistics.
    pub fn close(&mut self, totals: RunTotals) -> Result<Stats, RecordError> {
        self.session.close(&totals, &self.bucket)
    }
}

#[cfg(test)]
impl SerialRecorder {
    /// Drops `count` events of unit `unit`, by place in the roster, between two instants.
    pub(crate) fn drop_events(&mut self, ns: i64, unit: usize, count: u64, cycle: u64, phase: Phase) {
        self.session.gap(ns, unit, count, cycle, phase).unwrap();
    }
}

impl Drop for SerialRecorder {
    fn drop(&mut self) {
        self.session.close_unasked();
    }
}
