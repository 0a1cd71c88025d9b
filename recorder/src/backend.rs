//! The thread that takes records out of the rings, orders them and passes them to the outputs.
//!
//! # Invariants
//!
//! * Of each round, first the watermark is read, then the rings are looked at, then what is strictly below the
//!   watermark is written.
//! * A failure of the outputs ends the thread; one of a producer does not: what was accepted is still written when the
//!   recorder is closed.
//! * However the thread ends, everyone who waits is woken.

use std::sync::Arc;
use std::time::Duration;

use clockweave_model::EventRecord;

use crate::bucket::OpenBucket;
use crate::error::RecordError;
use crate::merge::{Instants, Merge, Stop};
use crate::packed::GAP;
use crate::producer::Control;
use crate::session::Session;

/// How long records may lie in their rings unnoticed.
const PATIENCE: Duration = Duration::from_millis(100);

/// The outputs, as the merge feeds them.
pub(crate) struct Outlets {
    pub(crate) session: Session,
    pub(crate) bucket: OpenBucket,
}

impl Instants for Outlets {
    type Error = Box<RecordError>;

    #[inline]
    fn event(&mut self, rank: u32, record: EventRecord) {
        self.bucket.push(rank, record);
    }

    #[inline]
    fn end(&mut self, ns: i64) -> Result<(), Box<RecordError>> {
        self.bucket.close(ns)?;
        self.session.pass(ns, &self.bucket)?;
        self.bucket.clear();
        Ok(())
    }
}

pub(crate) struct Backend {
    pub(crate) control: Arc<Control>,
    pub(crate) merge: Merge,
    pub(crate) outlets: Outlets,
    pub(crate) units: Vec<Arc<str>>,
    pub(crate) open_records: usize,
}

/// Wakes everyone, whatever ended the thread.
struct Farewell(Arc<Control>);

impl Drop for Farewell {
    fn drop(&mut self) {
        let lost = std::thread::panicking();
        self.0.fail(if lost { RecordError::BackendLost } else { RecordError::Closed });
        self.0.frontier.leave();
    }
}

impl Backend {
    /// Works until the recorder is closed or the outputs fail.
    pub(crate) fn serve(mut self) -> Self {
        let _farewell = Farewell(Arc::clone(&self.control));
        if let Err(error) = self.work() {
            let error = self.control.fail(error);
            self.outlets.session.fail(error);
        }
        self
    }

    fn work(&mut self) -> Result<(), RecordError> {
        loop {
            let work = self.control.frontier.wait_for_work(Some(PATIENCE));
            if work.closing {
                return self.last_round();
            }
            self.rounds(work.watermark)?;
            self.outlets.session.attend_idle()?;
            if work.flush {
                self.outlets.session.flush()?;
                self.control.frontier.answer(work.flushes);
            }
        }
    }

    /// Writes what `watermark` allows, and what room for waiting producers lets it see.
    fn rounds(&mut self, mut watermark: u64) -> Result<(), RecordError> {
        loop {
            self.merge.look().map_err(|stop| self.explain(stop))?;
            let wrote = self.merge.write_below(watermark, &mut self.outlets);
            wrote.map_err(|stop| self.explain(stop))?;
            let until = (!self.control.coordinated).then_some(watermark);
            let relieved = self.merge.relieve(until);
            if !relieved && until.is_some() {
                let (ns, budget) = (watermark.cast_signed(), self.open_records);
                return Err(RecordError::BucketBudget { ns, needed: budget + 1, budget });
            }
            let crowded = self.control.frontier.serve(|stream| self.merge.has_room(stream));
            let latest = |stream| if self.control.coordinated { None } else { self.merge.latest(stream) };
            let now = self.control.frontier.infer(latest);
            if now == watermark {
                return match self.merge.earliest() {
                    Some(ns) if crowded && !relieved => {
                        Err(RecordError::OpenBudget { ns: ns.cast_signed(), budget: self.open_records })
                    }
                    _ => Ok(()),
                };
            }
            watermark = now;
        }
    }

    /// The final promise: no record comes any more.
    fn last_round(&mut self) -> Result<(), RecordError> {
        self.merge.look().map_err(|stop| self.explain(stop))?;
        let wrote = self.merge.write_below(u64::MAX, &mut self.outlets);
        wrote.map_err(|stop| self.explain(stop))?;
        Ok(())
    }

    fn explain(&self, stop: Stop<Box<RecordError>>) -> RecordError {
        let unit = |stream: usize| self.units[stream].to_string();
        match stop {
            Stop::Taker(error) => *error,
            Stop::Forged { stream } => RecordError::UnknownKind { unit: unit(stream), kind: GAP.0 },
            Stop::Late { stream, cycle } => RecordError::Overtaken { unit: unit(stream), cycle },
        }
    }
}
