//! A run that several threads record: its streams, its watermark, its end.
//!
//! # Who owns what
//!
//! Each [`Producer`] has its end of one ring and is moved to the thread that records. One backend thread has the other
//! ends, the order and the outputs; it gives the outputs back when it ends, and what remains (statistics, the answer)
//! is done by the thread that closes. The recorder itself holds no event.

use std::sync::Arc;
use std::thread::JoinHandle;

use clockweave_model::{ClockDomain, ExactTime};

use crate::backend::{Backend, Outlets};
use crate::bucket::OpenBucket;
use crate::error::RecordError;
use crate::merge::{Backlog, InletParts, Merge};
use crate::producer::{Control, Producer, ProducerParts};
use crate::ring::{WORDS, ring};
use crate::session::{Ingress, Session};
use crate::stats::{RunTotals, Stats};
use crate::sync::{AtomicU64, Ordering};

/// Bytes of one record in a ring.
pub(crate) const RING_RECORD_BYTES: usize = WORDS * size_of::<u64>();

/// Bytes that a budget of `open_records` takes: in the bucket, and in the backlog of full rings.
pub(crate) fn staging_bytes(open_records: usize) -> usize {
    open_records.saturating_mul(OpenBucket::RECORD_BYTES + Backlog::RECORD_BYTES)
}

/// Records a run of several threads. Made by
/// [`RecorderBuilder::start_independent`](crate::RecorderBuilder::start_independent) and
/// [`RecorderBuilder::start_coordinated`](crate::RecorderBuilder::start_coordinated).
///
/// Dropping it unclosed completes the trace and the logs, but writes no statistics, and says so on standard error.
pub struct ConcurrentRecorder {
    control: Arc<Control>,
    domains: Vec<ClockDomain>,
    watermark: i64,
    backend: Option<JoinHandle<Backend>>,
    /// The outputs, once the backend has ended.
    ended: Option<Outlets>,
    ring_bytes: u64,
    peaks: Arc<[AtomicU64]>,
    answer: Option<Result<Stats, RecordError>>,
}

/// How the rings of a run are made.
#[derive(Clone, Copy)]
pub(crate) struct RingOptions {
    pub(crate) capacity: usize,
    pub(crate) batch: u64,
    pub(crate) coordinated: bool,
    pub(crate) lossy: bool,
    pub(crate) open_records: usize,
    /// For tests: the last stream is looked at first.
    pub(crate) reversed: bool,
    /// For tests: the number of each stream's first event.
    pub(crate) first_local: u32,
}

/// Makes the rings and starts the backend. Producers come in the order in which their streams were declared.
pub(crate) fn start(
    session: Session,
    bucket: OpenBucket,
    options: RingOptions,
) -> Result<(ConcurrentRecorder, Vec<Producer>), RecordError> {
    let RingOptions { capacity, batch, coordinated, lossy, open_records, reversed, first_local } = options;
    let roster = session.roster();
    let domains = roster.domains.clone();
    let streams = roster.ranks.len();
    let mut control = Control::new(streams, domains.len(), coordinated, batch);
    if session.is_disabled() {
        control.disable();
    }
    let control = Arc::new(control);
    let peaks: Arc<[AtomicU64]> = (0..streams).map(|_| AtomicU64::new(0)).collect();
    let names: Vec<Arc<str>> = roster.units.iter().map(|unit| Arc::from(unit.name.as_str())).collect();
    let (mut producers, mut inlets, mut units) = (Vec::new(), Vec::new(), Vec::new());
    for (stream, &rank) in roster.ranks.iter().enumerate() {
        let (producer, consumer) = ring(capacity);
        let unit = roster.unit_of_rank[rank as usize] as usize;
        let domain_at = roster.units[unit].domain;
        units.push(Arc::clone(&names[unit]));
        inlets.push(InletParts { ring: consumer, rank, domain: domain_at, first_local });
        producers.push(Producer::new(ProducerParts {
            ring: producer,
            control: Arc::clone(&control),
            stream,
            unit: Arc::clone(&names[unit]),
            domain: domains[domain_at].clone(),
            domain_at,
            lossy,
            first_local,
            peaks: Arc::clone(&peaks),
        }));
    }
    let merge = Merge::new(&domains, inlets.into_iter(), open_records, reversed);
    let dir = session.dir().to_owned();
    let backend = Backend {
        control: Arc::clone(&control),
        merge,
        outlets: Outlets { session, bucket },
        units,
        open_records,
    };
    // A disabled run has no backend.
    let (thread, ended) = if control.disabled {
        (None, Some(backend.outlets))
    } else {
        let thread = std::thread::Builder::new().name("clockweave-backend".to_owned());
        let started = thread.spawn(move || backend.serve());
        (Some(started.map_err(|e| RecordError::io("starting the ordering thread for", &dir, e))?), None)
    };
    let recorder = ConcurrentRecorder {
        control,
        domains,
        watermark: 0,
        backend: thread,
        ended,
        ring_bytes: (streams * capacity * RING_RECORD_BYTES) as u64,
        peaks,
        answer: None,
    };
    Ok((recorder, producers))
}

impl ConcurrentRecorder {
    /// Promises, for all streams, that every event before `watermark` ns was recorded. Called at points where the
    /// caller knows that: events of earlier nanoseconds are refused from then on. Does not wait.
    ///
    /// # Errors
    /// A watermark below an earlier one, streams that are independent, the first error of the run.
    pub fn advance(&mut self, watermark: i64) -> Result<(), RecordError> {
        if self.control.disabled {
            return Ok(());
        }
        if !self.control.coordinated {
            return Err(self.control.fail(RecordError::NotCoordinated));
        }
        if watermark < self.watermark {
            let fell = RecordError::WatermarkFell { ns: watermark, last: self.watermark };
            return Err(self.control.fail(fell));
        }
        if watermark > self.watermark {
            self.watermark = watermark;
            let time = ExactTime::from_ns(watermark.unsigned_abs())?;
            for (at, domain) in self.domains.iter().enumerate() {
                // Beyond the domain's last edge there is none to let in.
                self.control.open_from(at, domain.edge_at_or_after(&time).unwrap_or(u64::MAX));
            }
        }
        self.control.frontier.coordinate(watermark.unsigned_abs())
    }

    /// The watermark of a caller that submits instants in order, and so cannot be late.
    pub(crate) fn reach(&self, ns: i64) -> Result<(), RecordError> {
        self.control.frontier.coordinate(ns.unsigned_abs())
    }

    pub(crate) fn fail(&self, error: RecordError) -> RecordError {
        self.control.fail(error)
    }

    /// Makes everything that is safe to write reach the files: all events before the least promise. Does not change
    /// what the files hold in the end.
    ///
    /// # Errors
    /// The first error of the run.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        if self.control.disabled {
            return Ok(());
        }
        self.control.frontier.flush()
    }

    /// Ends the run: takes every event that was accepted, completes the outputs, writes the statistics. Calling it
    /// again gives the same answer again. Streams should have ended; one that has not is ended here, and what it
    /// records at the same time is refused, if not by `record` then by [`Producer::finish`].
    ///
    /// # Errors
    /// The first error of the run; then there are no statistics.
    pub fn close(&mut self, totals: RunTotals) -> Result<Stats, RecordError> {
        if let Some(answer) = &self.answer {
            return answer.clone();
        }
        let answer = match self.end() {
            Ok(()) => match &mut self.ended {
                Some(Outlets { session, bucket }) => session.close(&totals, bucket),
                None => Err(RecordError::BackendLost),
            },
            Err(error) => Err(error),
        };
        self.answer = Some(answer.clone());
        answer
    }

    /// Ends the backend; its outputs are kept for the rest.
    fn end(&mut self) -> Result<(), RecordError> {
        let Some(thread) = self.backend.take() else { return Ok(()) };
        let failure = self.control.frontier.failure();
        self.control.shut();
        self.control.frontier.close();
        let mut backend = thread.join().map_err(|_| RecordError::BackendLost)?;
        if let Some(failure) = failure {
            backend.outlets.session.fail(failure);
        }
        let (room, progress) = self.control.frontier.waits();
        let peak: u64 = self.peaks.iter().map(|peak| peak.load(Ordering::Relaxed)).sum();
        backend.outlets.session.ingress = Ingress {
            allocated_bytes: self.ring_bytes,
            peak_bytes: peak * RING_RECORD_BYTES as u64,
            staging_bytes: backend.merge.backlog_bytes() as u64,
            backlog_records: backend.merge.backlog_peak() as u64,
            room,
            progress,
        };
        self.ended = Some(backend.outlets);
        Ok(())
    }
}

impl Drop for ConcurrentRecorder {
    fn drop(&mut self) {
        if self.answer.is_some() {
            return;
        }
        match self.end() {
            Ok(()) => {
                if let Some(outlets) = &mut self.ended {
                    outlets.session.close_unasked();
                }
            }
            Err(error) => eprintln!("clockweave: the recording was not closed: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use clockweave_model::{ClockDomain, KindId, Phase, Seconds};

    use super::*;
    use crate::Recorder;

    /// Waiting for a peer's promise and waiting for room are told apart, and counted.
    #[test]
    fn both_kinds_of_waiting_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let mut builder = Recorder::builder(dir.path());
        builder
            .domain(&ClockDomain::new(1, "a", "1GHz".parse().unwrap(), Seconds::from_ps(0)).unwrap())
            .unwrap();
        builder.ring_capacity(Some(4));
        builder.add_stream(1, 1, "unit").unwrap();
        builder.add_stream(1, 2, "peer").unwrap();
        let (mut recorder, producers) = builder.start_independent().unwrap();
        let Ok([mut unit, mut peer]) = <[Producer; 2]>::try_from(producers) else { panic!("two streams") };
        let control = Arc::clone(&recorder.control);
        let recording = std::thread::spawn(move || {
            unit.advance(5).unwrap();
            // The peer may still record at 5 ns, so what is later stays in the ring, which has room for four.
            (6..11).for_each(|cycle| unit.record(cycle, KindId::USER, 0, 0, 0, Phase::Commit).unwrap());
        });
        while control.frontier.waiting() != (1, 0) {
            std::thread::yield_now();
        }
        peer.advance(5).unwrap();
        while control.frontier.waiting() != (0, 1) {
            std::thread::yield_now();
        }
        peer.finish().unwrap();
        recording.join().unwrap();
        let stats = recorder.close(RunTotals::default()).unwrap();
        assert_eq!((stats.events, stats.progress_stalls), (5, 1));
        // Room may be found, and taken for none again, more than once.
        assert!(stats.producer_stalls >= 1, "{}", stats.producer_stalls);
        assert!(stats.progress_stall_ns > 0 && stats.producer_stall_ns > 0);
    }
}
