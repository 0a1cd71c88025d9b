//! Streams merged into one sequence of exact instants.
//!
//! # Invariants
//!
//! * Each stream is in order already, so the next instant is the earliest of the streams' first records; no stream is
//!   ever sorted.
//! * Records stay in their rings until they are written, but for those of full rings, which move to the *backlog*: a
//!   pool of bounded size that continues a ring at its front.
//! * Where streams are independent, only the nanosecond that is open for all of them, the watermark's, may use the
//!   backlog. So a nanosecond that fits it is never refused because other streams ran ahead.
//! * Which stream is looked at first changes nothing of the result.
//!
//! Ordinals, encodings and threads are not known here.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use clockweave_model::{ClockDomain, EventRecord, ExactTime, Lattice};

use crate::packed::{self, CYCLE, Forged, GAP};
use crate::ring::{RingConsumer, WORDS, Words};

/// An exact instant: whole nanoseconds and a fraction of one.
#[derive(Clone, Copy, Debug)]
struct Moment {
    ns: u64,
    num: u128,
    den: u128,
}

impl Moment {
    fn compare(&self, other: &Self) -> Ordering {
        self.ns
            .cmp(&other.ns)
            .then_with(|| ExactTime::compare_fractions((self.num, self.den), (other.num, other.den)))
    }
}

/// Times of one domain's edges over a denominator that, if there is one, all domains share.
struct Clock {
    domain: ClockDomain,
    den: u128,
    /// Makes the domain's own fractions ones over `den`.
    scale: u128,
    period_ns: u64,
    period_num: u128,
}

/// Edges that are stepped over one by one rather than computed.
const STEPS: u64 = 4;

impl Clock {
    fn new(domain: &ClockDomain, lattice: Option<Lattice>) -> Self {
        let own = domain.denominator_ns();
        let den = lattice.map_or(own, |lattice| lattice.per_ns().into());
        let mut clock = Self { domain: domain.clone(), den, scale: den / own, period_ns: 0, period_num: 0 };
        if domain.max_edge() > 0 {
            let (first, second) = (clock.at(0), clock.at(1));
            let borrow = second.num < first.num;
            clock.period_ns = second.ns - first.ns - u64::from(borrow);
            clock.period_num = if borrow { second.num + (den - first.num) } else { second.num - first.num };
        }
        clock
    }

    /// The instant of edge `cycle`, which is not beyond the last.
    fn at(&self, cycle: u64) -> Moment {
        let edge = self.domain.edge(cycle).expect("producers refuse cycles without a time");
        Moment { ns: edge.floor_ns().unsigned_abs(), num: edge.fraction_ns().0 * self.scale, den: self.den }
    }

    /// Moves `at`, the instant of edge `from`, to edge `to`.
    #[inline]
    fn step(&self, at: &mut Moment, from: u64, to: u64) {
        match to.checked_sub(from) {
            Some(steps @ 0..=STEPS) => {
                for _ in 0..steps {
                    at.ns += self.period_ns;
                    // Both are below `den`; their sum may not fit.
                    if at.num >= self.den - self.period_num {
                        at.num -= self.den - self.period_num;
                        at.ns += 1;
                    } else {
                        at.num += self.period_num;
                    }
                }
            }
            _ => *at = self.at(to),
        }
    }
}

/// No slot.
const NONE: u32 = u32::MAX;

/// Records of full rings: a queue per stream in one pool.
pub(crate) struct Backlog {
    slots: Box<[Words]>,
    next: Box<[u32]>,
    free: u32,
    used: usize,
    peak: usize,
}

#[derive(Clone, Copy)]
struct Queue {
    first: u32,
    last: u32,
}

impl Backlog {
    fn new(records: usize) -> Self {
        let limit = u32::try_from(records).expect("the budget of open records is checked to fit 32 bits");
        let next = (1..=limit).map(|slot| if slot == limit { NONE } else { slot }).collect();
        let free = if limit == 0 { NONE } else { 0 };
        Self { slots: vec![[0; WORDS]; records].into_boxed_slice(), next, free, used: 0, peak: 0 }
    }

    fn push(&mut self, queue: &mut Queue, words: Words) {
        let slot = self.free;
        assert_ne!(slot, NONE, "room in the backlog is looked for first");
        self.free = std::mem::replace(&mut self.next[slot as usize], NONE);
        self.slots[slot as usize] = words;
        match queue.last {
            NONE => queue.first = slot,
            last => self.next[last as usize] = slot,
        }
        queue.last = slot;
        self.used += 1;
        self.peak = self.peak.max(self.used);
    }

    fn take(&mut self, queue: &mut Queue) -> Words {
        let slot = queue.first;
        queue.first = std::mem::replace(&mut self.next[slot as usize], self.free);
        if queue.first == NONE {
            queue.last = NONE;
        }
        self.free = slot;
        self.used -= 1;
        self.slots[slot as usize]
    }

    pub(crate) const RECORD_BYTES: usize = size_of::<Words>() + size_of::<u32>();
}

/// One stream's way in.
pub(crate) struct Inlet {
    ring: RingConsumer,
    backlog: Queue,
    rank: u32,
    domain: usize,
    /// Number that the next record has.
    local: u32,
    /// Edge and instant of the last record that was looked at.
    cycle: u64,
    at: Moment,
    /// Whether the stream is among those with a record.
    queued: bool,
}

/// A stream with a record, by that record's instant.
struct Entry {
    at: Moment,
    stream: u32,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.compare(&other.at).then(self.stream.cmp(&other.stream))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

/// Takes the events of an instant, then its end.
pub(crate) trait Instants {
    type Error;

    /// An event, or a gap, of the open instant.
    fn event(&mut self, rank: u32, record: EventRecord);

    /// The instant is complete; its display nanosecond is `ns`.
    fn end(&mut self, ns: i64) -> Result<(), Self::Error>;
}

/// What stops a merge.
#[derive(Debug)]
pub(crate) enum Stop<E> {
    /// A stream's event is before what was written.
    Late { stream: usize, cycle: u64 },
    /// An event has the kind of gaps.
    Forged { stream: usize },
    /// Whoever takes the events gave up.
    Taker(E),
}

/// All streams of a run.
pub(crate) struct Merge {
    inlets: Vec<Inlet>,
    clocks: Vec<Clock>,
    heap: BinaryHeap<Reverse<Entry>>,
    backlog: Backlog,
    /// Everything below was written.
    written: u64,
    /// The last stream is looked at first.
    reversed: bool,
}

/// One stream as the merge needs it.
pub(crate) struct InletParts {
    pub(crate) ring: RingConsumer,
    pub(crate) rank: u32,
    /// Index of its clock domain.
    pub(crate) domain: usize,
    pub(crate) first_local: u32,
}

impl Merge {
    pub(crate) fn new(
        domains: &[ClockDomain],
        streams: impl ExactSizeIterator<Item = InletParts>,
        open_records: usize,
        reversed: bool,
    ) -> Self {
        let lattice = Lattice::covering(domains);
        let clocks: Vec<Clock> = domains.iter().map(|domain| Clock::new(domain, lattice)).collect();
        let heap = BinaryHeap::with_capacity(streams.len());
        let inlets = streams
            .map(|InletParts { ring, rank, domain, first_local }| Inlet {
                ring,
                backlog: Queue { first: NONE, last: NONE },
                rank,
                domain,
                local: first_local,
                cycle: 0,
                at: clocks[domain].at(0),
                queued: false,
            })
            .collect();
        Self { inlets, clocks, heap, backlog: Backlog::new(open_records), written: 0, reversed }
    }

    fn order(&self) -> impl Iterator<Item = usize> + use<> {
        let (count, reversed) = (self.inlets.len(), self.reversed);
        (0..count).map(move |at| if reversed { count - 1 - at } else { at })
    }

    /// Looks how far the producers are. Only records seen here are written, so a watermark must have been read before.
    pub(crate) fn look<E>(&mut self) -> Result<(), Stop<E>> {
        for stream in self.order() {
            let inlet = &mut self.inlets[stream];
            inlet.ring.look();
            if inlet.queued {
                continue;
            }
            // Nothing is in the backlog of a stream that is not queued.
            if let Some(cycle) = inlet.ring.peek(0, CYCLE) {
                inlet.move_to(&self.clocks, cycle);
                if inlet.at.ns < self.written {
                    return Err(Stop::Late { stream, cycle });
                }
                inlet.queued = true;
                self.heap.push(Reverse(Entry { at: inlet.at, stream: stream as u32 }));
            }
        }
        Ok(())
    }

    /// Gives every record strictly below `watermark` ns that was seen to `taker`, instant by instant.
    pub(crate) fn write_below<T: Instants>(
        &mut self,
        watermark: u64,
        taker: &mut T,
    ) -> Result<bool, Stop<T::Error>> {
        let mut open: Option<Moment> = None;
        while let Some(mut top) = self.heap.peek_mut() {
            if top.0.at.ns >= watermark {
                break;
            }
            let at = top.0.at;
            if let Some(open) = open.filter(|open| open.compare(&at).is_ne()) {
                taker.end(open.ns.cast_signed()).map_err(Stop::Taker)?;
            }
            open = Some(at);
            let stream = top.0.stream as usize;
            let inlet = &mut self.inlets[stream];
            match inlet.drain_edge(&mut self.backlog, taker).map_err(|Forged| Stop::Forged { stream })? {
                Some(cycle) => {
                    inlet.move_to(&self.clocks, cycle);
                    top.0.at = inlet.at;
                }
                None => {
                    inlet.queued = false;
                    PeekMut::pop(top);
                }
            }
        }
        if let Some(open) = open {
            taker.end(open.ns.cast_signed()).map_err(Stop::Taker)?;
        }
        self.written = self.written.max(watermark);
        self.inlets.iter_mut().for_each(|inlet| inlet.ring.give_back());
        Ok(open.is_some())
    }

    /// Moves records of rings that are half full to the backlog: all of them, or those up to nanosecond `until`.
    /// `false` if there was no room for one of them.
    pub(crate) fn relieve(&mut self, until: Option<u64>) -> bool {
        let bound = until.and_then(|ns| ExactTime::from_ns(ns.saturating_add(1)).ok());
        for stream in self.order() {
            let inlet = &mut self.inlets[stream];
            if inlet.ring.available() < inlet.ring.capacity() / 2 {
                continue;
            }
            let domain = &self.clocks[inlet.domain].domain;
            // Where no edge is behind the bound, all are before it, the last one there is, too.
            let beyond = bound.and_then(|bound| domain.edge_at_or_after(&bound).ok());
            while inlet.ring.peek(0, CYCLE).is_some_and(|cycle| beyond.is_none_or(|beyond| cycle < beyond)) {
                if self.backlog.free == NONE {
                    inlet.ring.give_back();
                    return false;
                }
                let words = inlet.ring.take().expect("a record that was peeked at can be taken");
                self.backlog.push(&mut inlet.backlog, words);
            }
            inlet.ring.give_back();
        }
        true
    }

    /// Display nanosecond of the last record that was seen of `stream`.
    pub(crate) fn latest(&self, stream: usize) -> Option<u64> {
        // A run without streams has none.
        let inlet = self.inlets.get(stream)?;
        let cycle = inlet.ring.peek(inlet.ring.available().checked_sub(1)?, CYCLE)?;
        Some(self.clocks[inlet.domain].at(cycle).ns)
    }

    /// Whether the producer of `stream` has room.
    pub(crate) fn has_room(&self, stream: usize) -> bool {
        self.inlets[stream].ring.has_room()
    }

    /// Display nanosecond of the earliest record that was not written.
    pub(crate) fn earliest(&self) -> Option<u64> {
        self.heap.peek().map(|top| top.0.at.ns)
    }

    /// The most records the backlog held.
    pub(crate) fn backlog_peak(&self) -> usize {
        self.backlog.peak
    }

    /// Bytes of the backlog.
    pub(crate) fn backlog_bytes(&self) -> usize {
        self.backlog.slots.len() * Backlog::RECORD_BYTES
    }
}

impl Inlet {
    #[inline]
    fn move_to(&mut self, clocks: &[Clock], cycle: u64) {
        clocks[self.domain].step(&mut self.at, self.cycle, cycle);
        self.cycle = cycle;
    }

    /// Gives the records of one edge away. The cycle of the next record, if one was seen.
    #[inline]
    fn drain_edge<T: Instants>(
        &mut self,
        backlog: &mut Backlog,
        taker: &mut T,
    ) -> Result<Option<u64>, Forged> {
        loop {
            let next = match self.backlog.first {
                NONE => self.ring.peek(0, CYCLE),
                first => Some(backlog.slots[first as usize][CYCLE]),
            };
            if next != Some(self.cycle) {
                return Ok(next);
            }
            let words = match self.backlog.first {
                NONE => self.ring.take(),
                _ => Some(backlog.take(&mut self.backlog)),
            };
            let record = packed::unpack(&words.expect("a record that was peeked at can be taken"))?;
            assert_eq!(record.local, self.local, "a ring gives every record once and in order");
            let numbers = if record.kind == GAP { record.value as u32 } else { 1 };
            self.local = self.local.wrapping_add(numbers);
            taker.event(self.rank, record);
            // A quarter of the ring is worth telling the producer.
            if self.ring.owed() * 4 >= self.ring.capacity() {
                self.ring.give_back();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clockweave_model::Seconds;

    /// Stepping from edge to edge carries into the next nanosecond exactly where computing does, whole ones too.
    #[test]
    fn stepping_is_computing() {
        let domain = |id, frequency: &str, phase_ps| {
            let frequency = frequency.parse().unwrap();
            ClockDomain::new(id, &format!("d{id}"), frequency, Seconds::from_ps(phase_ps)).unwrap()
        };
        let domains = [
            domain(1, "2GHz", 0),
            domain(2, "4GHz", 250),
            domain(3, "1GHz", 0),
            domain(4, "914MHz", 0),
            domain(5, "1326MHz", 137),
            domain(6, "3Hz", 1),
        ];
        for lattice in [None, Lattice::covering(&domains[..3])] {
            for domain in &domains[..if lattice.is_some() { 3 } else { 6 }] {
                let clock = Clock::new(domain, lattice);
                let (mut at, mut from) = (clock.at(0), 0);
                for n in 0..3000 {
                    let to = from + n % (STEPS + 2);
                    clock.step(&mut at, from, to);
                    let computed = clock.at(to);
                    assert_eq!(
                        (at.ns, at.num, at.den),
                        (computed.ns, computed.num, computed.den),
                        "edge {to} of {}",
                        domain.name()
                    );
                    from = to;
                }
            }
        }
    }

    /// Takes events without a word.
    struct Taken(Vec<u64>);

    impl Instants for Taken {
        type Error = std::convert::Infallible;

        fn event(&mut self, _: u32, record: EventRecord) {
            self.0.push(record.cycle);
        }

        fn end(&mut self, _: i64) -> Result<(), Self::Error> {
            Ok(())
        }
    }

    /// A record that slipped past its producer's look at the watermark is not written behind later ones.
    #[test]
    fn a_record_below_what_was_written_is_late() {
        let gigahertz = ClockDomain::new(1, "a", "1GHz".parse().unwrap(), Seconds::from_ps(0)).unwrap();
        for (cycle, late) in [(9, true), (10, false)] {
            let (mut producer, consumer) = crate::ring::ring(4);
            let inlet = InletParts { ring: consumer, rank: 0, domain: 0, first_local: 0 };
            let mut merge = Merge::new(std::slice::from_ref(&gigahertz), [inlet].into_iter(), 4, false);
            let mut push = |cycle, local| {
                let (kind, phase) = (clockweave_model::KindId::USER, clockweave_model::Phase::Commit);
                let record = EventRecord { cycle, transaction: 0, value: 0, fifo: 0, local, kind, phase };
                producer.push(packed::pack(&record));
            };
            let mut taken = Taken(Vec::new());
            push(5, 0);
            merge.look::<()>().unwrap();
            merge.write_below(10, &mut taken).unwrap();
            push(cycle, 1);
            match merge.look::<()>() {
                Err(Stop::Late { stream: 0, cycle: 9 }) => assert!(late),
                other => assert!(other.is_ok() && !late),
            }
            assert_eq!(taken.0, [5]);
        }
    }
}
