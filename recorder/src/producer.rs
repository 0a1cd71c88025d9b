//! What a producing thread holds: one stream's end of its ring, its promises, and its gap.
//!
//! # Invariants
//!
//! * Cycles of a stream do not decrease, are not below what was promised, and have a time.
//! * Every event that was accepted is in the ring, or, where loss is allowed, counted in a gap that reaches the ring
//!   before the stream's next event, its next promise, and its end.
//! * An accepted event costs neither a lock nor a shared counter: position, floor and limit are fields of the producer.
//! * Events are numbered per producer, lost ones too.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clockweave_model::{ClockDomain, EventRecord, KindId, Phase};

use crate::error::RecordError;
use crate::frontier::Frontier;
use crate::packed::{self, pack, pack_gap};
use crate::ring::{Fill, RingProducer};
use crate::sync::{AtomicU64, Ordering};

/// A display nanosecond after all that can be recorded.
const AFTER_ALL: u64 = 1 << 63;

/// What producers, recorder and backend share.
pub(crate) struct Control {
    pub(crate) frontier: Frontier<RecordError>,
    /// By domain, the least cycle that may be recorded: what the coordinator's watermark allows, and nothing at all
    /// after a failure or the end.
    gates: Box<[Gate]>,
    pub(crate) coordinated: bool,
    /// Nothing is recorded.
    pub(crate) disabled: bool,
    /// Tells a shut gate from one behind the last edge.
    shut: AtomicBool,
}

/// Read with every event, written rarely; alone on its cache lines.
#[repr(align(128))]
struct Gate(AtomicU64);

impl Control {
    pub(crate) fn new(streams: usize, domains: usize, coordinated: bool, batch: u64) -> Self {
        Self {
            frontier: Frontier::new(streams, coordinated, batch),
            gates: (0..domains).map(|_| Gate(AtomicU64::new(0))).collect(),
            coordinated,
            disabled: false,
            shut: AtomicBool::new(false),
        }
    }

    /// Nothing is recorded, and nobody waits.
    pub(crate) fn disable(&mut self) {
        self.disabled = true;
        // Every event takes the long way, where it is left out.
        self.shut();
    }

    /// Keeps the first failure; from here on nothing is accepted.
    pub(crate) fn fail(&self, error: RecordError) -> RecordError {
        self.shut();
        self.frontier.fail(error)
    }

    /// Nothing is accepted any more.
    pub(crate) fn shut(&self) {
        self.shut.store(true, Ordering::Relaxed);
        self.gates.iter().for_each(|gate| gate.0.store(u64::MAX, Ordering::Relaxed));
    }

    /// Events of domain `domain` before `cycle` are late from here on.
    pub(crate) fn open_from(&self, domain: usize, cycle: u64) {
        self.gates[domain].0.fetch_max(cycle, Ordering::Relaxed);
    }
}

/// The events that a full ring has cost since the stream's last record.
struct Gap {
    cycle: u64,
    phase: Phase,
    local: u32,
    count: u64,
}

/// One stream of a run with threads: records one unit's events, from one thread at a time. Made by
/// [`RecorderBuilder::start_independent`](crate::RecorderBuilder::start_independent) and
/// [`RecorderBuilder::start_coordinated`](crate::RecorderBuilder::start_coordinated).
///
/// Dropping it ends the stream, as [`Producer::finish`] does.
pub struct Producer {
    ring: RingProducer,
    control: Arc<Control>,
    /// Least cycle accepted next: the promise, or the last record's.
    floor: u64,
    max_edge: u64,
    local: u32,
    domain_at: usize,
    promised: u64,
    /// Records announced with the last promise.
    announced: u64,
    lossy: bool,
    finished: bool,
    gap: Option<Gap>,
    stream: usize,
    peak: u64,
    unit: Arc<str>,
    domain: ClockDomain,
    peaks: Arc<[AtomicU64]>,
}

/// What a producer is made of.
pub(crate) struct ProducerParts {
    pub(crate) ring: RingProducer,
    pub(crate) control: Arc<Control>,
    pub(crate) stream: usize,
    pub(crate) unit: Arc<str>,
    pub(crate) domain: ClockDomain,
    pub(crate) domain_at: usize,
    pub(crate) lossy: bool,
    pub(crate) first_local: u32,
    pub(crate) peaks: Arc<[AtomicU64]>,
}

impl Producer {
    pub(crate) fn new(parts: ProducerParts) -> Self {
        let ProducerParts { ring, control, stream, unit, domain, domain_at, lossy, first_local, peaks } =
            parts;
        Self {
            ring,
            control,
            floor: 0,
            max_edge: domain.max_edge(),
            local: first_local,
            domain_at,
            promised: 0,
            announced: 0,
            lossy,
            finished: false,
            gap: None,
            stream,
            peak: 0,
            unit,
            domain,
            peaks,
        }
    }

    /// Name of the unit whose events this stream has.
    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// Whether events were lost that no ring has heard of.
    #[inline]
    pub(crate) fn has_gap(&self) -> bool {
        self.gap.is_some()
    }

    /// Records an event at local edge `cycle`. While the ring is full the host waits, or, in a lossy run, the event is
    /// counted as lost.
    ///
    /// # Errors
    /// A cycle before one already recorded or promised, or beyond the last edge that has a time; a stream that is
    /// finished; the first error of the run, at the latest when half a ring was recorded after it.
    #[inline]
    #[allow(clippy::too_many_arguments, reason = "the words of one record, in registers")]
    pub fn record(
        &mut self,
        cycle: u64,
        kind: KindId,
        transaction: u64,
        value: u64,
        fifo: u32,
        phase: Phase,
    ) -> Result<(), RecordError> {
        let record = EventRecord { cycle, transaction, value, fifo, local: self.local, kind, phase };
        let gate = self.control.gates[self.domain_at].0.load(Ordering::Relaxed);
        // A shut gate lets nothing in, the last cycle there is neither.
        let barred = (cycle < gate) | (gate == u64::MAX);
        if (cycle < self.floor) | barred | (cycle > self.max_edge) | self.ring.is_at_limit() {
            return self.record_with_care(&record);
        }
        self.append(&record);
        Ok(())
    }

    #[inline]
    fn append(&mut self, record: &EventRecord) {
        self.floor = record.cycle;
        self.local = self.local.wrapping_add(1);
        self.ring.push(pack(record));
    }

    #[cold]
    #[inline(never)]
    fn record_with_care(&mut self, record: &EventRecord) -> Result<(), RecordError> {
        if self.control.disabled {
            return Ok(());
        }
        self.accept(record.cycle)?;
        let elsewhere =
            self.gap.as_ref().is_some_and(|gap| (gap.cycle, gap.phase) != (record.cycle, record.phase));
        if elsewhere {
            self.publish_gap()?;
        }
        let mut fill = self.look();
        if self.gap.is_some() && fill != Fill::Full {
            self.publish_gap()?;
            fill = self.look();
        }
        if fill == Fill::Full {
            if self.lossy {
                self.lose(record);
                return Ok(());
            }
            self.wait_for_room()?;
        }
        self.append(record);
        Ok(())
    }

    /// Whether an event at `cycle` may be recorded.
    fn accept(&self, cycle: u64) -> Result<(), RecordError> {
        if let Some(failure) = self.control.frontier.failure() {
            return Err(failure);
        }
        let unit = || self.unit.to_string();
        let error = if self.finished {
            RecordError::Finished { unit: unit(), cycle }
        } else if cycle > self.max_edge {
            // The domain says what its last edge is.
            self.domain.edge(cycle).map_or_else(RecordError::Time, |_| RecordError::Closed)
        } else if cycle < self.promised {
            RecordError::Late { unit: unit(), cycle, promised: self.promised }
        } else if cycle < self.floor {
            RecordError::CycleRegressed { unit: unit(), cycle, last: self.floor }
        } else {
            match self.control.gates[self.domain_at].0.load(Ordering::Relaxed) {
                u64::MAX if self.control.shut.load(Ordering::Relaxed) => RecordError::Closed,
                // No edge is left behind what was promised.
                u64::MAX => RecordError::Late { unit: unit(), cycle, promised: u64::MAX },
                gate if cycle < gate => RecordError::Late { unit: unit(), cycle, promised: gate },
                _ => return Ok(()),
            }
        };
        Err(self.control.fail(error))
    }

    fn look(&mut self) -> Fill {
        // Since the last look the ring never held more than what was appended since then and what it held then.
        self.peak = self.peak.max(self.ring.used());
        let fill = self.ring.look();
        if fill != Fill::Low {
            self.control.frontier.nudge();
        }
        fill
    }

    /// Gives the host up until a record fits.
    fn wait_for_room(&mut self) -> Result<(), RecordError> {
        while self.look() == Fill::Full {
            self.control.frontier.wait_for_room(self.stream, || self.ring.has_room())?;
        }
        Ok(())
    }

    fn lose(&mut self, record: &EventRecord) {
        let EventRecord { cycle, phase, local, .. } = *record;
        self.gap.get_or_insert(Gap { cycle, phase, local, count: 0 }).count += 1;
        self.floor = cycle;
        self.local = local.wrapping_add(1);
        self.ring.stop();
    }

    /// Makes the gap a record of the ring, for which room is waited for: losing it would make loss silent.
    fn publish_gap(&mut self) -> Result<(), RecordError> {
        if self.gap.is_some() {
            self.wait_for_room()?;
        }
        if let Some(gap) = self.gap.take() {
            self.ring.push(pack_gap(gap.cycle, gap.phase, gap.local, gap.count));
        }
        Ok(())
    }

    /// Makes known what was lost so far, as at the end of a unit's edge. Nothing to do in a lossless run.
    ///
    /// # Errors
    /// The first error of the run.
    pub fn settle(&mut self) -> Result<(), RecordError> {
        self.publish_gap()
    }

    /// Promises no more events before `next_cycle`, and waits until every other stream has promised, or ended, up to
    /// the same time. Called after bounded batches, by quiet streams too: streams that do neither hold everyone up.
    /// A thread with several streams must not call it for one after the other: the first call waits for the second.
    ///
    /// # Errors
    /// A promise below an earlier one, a coordinated or finished stream, the first error of the run.
    pub fn advance(&mut self, next_cycle: u64) -> Result<(), RecordError> {
        if self.control.disabled {
            return Ok(());
        }
        let error = if self.control.coordinated {
            RecordError::Coordinated { unit: self.unit.to_string() }
        } else if self.finished {
            RecordError::Finished { unit: self.unit.to_string(), cycle: next_cycle }
        } else if next_cycle < self.promised {
            RecordError::PromiseFell {
                unit: self.unit.to_string(),
                cycle: next_cycle,
                promised: self.promised,
            }
        } else {
            self.publish_gap()?;
            self.promised = next_cycle;
            self.floor = self.floor.max(next_cycle);
            let edge = self.domain.edge(next_cycle);
            let ns = edge.map_or(AFTER_ALL, |edge| edge.floor_ns().unsigned_abs());
            let records = self.announce();
            self.control.frontier.promise(self.stream, ns, records)?;
            return self.control.frontier.wait_for_watermark(self.stream, ns);
        };
        Err(self.control.fail(error))
    }

    /// Records since the last call.
    fn announce(&mut self) -> u64 {
        let appended = self.ring.appended();
        self.peaks[self.stream].store(self.peak_bound(), Ordering::Relaxed);
        appended - std::mem::replace(&mut self.announced, appended)
    }

    /// The most records that the ring can have held: between two looks it may have been a bit fuller than at either.
    fn peak_bound(&self) -> u64 {
        self.peak.max(self.ring.used())
    }

    /// Ends the stream: nobody waits for it any more. Ending it again changes nothing.
    ///
    /// # Errors
    /// The first error of the run; that it was closed before this stream ended, and how many events came after that.
    pub fn finish(&mut self) -> Result<(), RecordError> {
        if self.finished {
            return self.control.frontier.failure().map_or(Ok(()), Err);
        }
        let settled = self.publish_gap();
        self.finished = true;
        self.ring.stop();
        let records = self.announce();
        let ended = self.control.frontier.end(self.stream, records);
        let answer = settled.and(ended);
        if !matches!(answer, Ok(()) | Err(RecordError::Closed)) {
            return answer;
        }
        // What is still being written is not lost, and what comes behind the last look is.
        let closing = self.control.frontier.wait_for_end();
        let left: u64 = self.ring.left().map(|words| packed::events(&words)).sum();
        let lost = left + self.gap.as_ref().map_or(0, |gap| gap.count);
        match answer {
            Ok(()) if !closing || lost == 0 => Ok(()),
            _ => Err(RecordError::ClosedEarly { unit: self.unit.to_string(), lost }),
        }
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        if let Err(RecordError::ClosedEarly { unit, lost: lost @ 1.. }) = self.finish() {
            eprintln!(
                "clockweave: the recorder was closed before unit `{unit}` had ended; {lost} of its events are lost"
            );
        }
    }
}
