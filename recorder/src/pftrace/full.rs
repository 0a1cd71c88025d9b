//! The view `full`: every event with its exact time, and what follows from the events: occupancy of
//! each FIFO, a slice per transaction, spans and counters of units.
//!
//! # Invariants
//!
//! * What is derived from an instant comes behind the instant's events: slice ends, slice begins,
//!   counter samples; FIFOs by id, then units by id.
//! * Slices of one track nest: a lane holds one transaction at a time, a unit's spans end in the
//!   opposite order of their beginning. What events of a lossy run no longer tell is mended by
//!   closing: a transaction leaves with those before it, a span with those within.
//! * Memory is bounded by the FIFOs' depths, [`MAX_SPANS`] per unit, and one track per counter.

use std::collections::{BTreeMap, VecDeque};

use clockweave_model::{ClockDomain, FifoEntry, KindId, KindShape, KindTable};

use crate::pftrace::framing::Framing;
use crate::pftrace::instant::Instants;
use crate::pftrace::interning::{self, CATEGORY_CLOCK, CATEGORY_FIFO, CATEGORY_META, CATEGORY_UNIT};
use crate::pftrace::packet::EventPacket;
use crate::pftrace::schema::EventType;
use crate::pftrace::tracks::{TrackPlan, Uuids};
use crate::pftrace::{ArgsEncoding, checkpoint};
use crate::roster::Roster;
use crate::sink::{Event, Gap, SegmentTotals, Sink};
use crate::writer::Outlet;

/// Spans of one unit shown within each other; importers do not take more.
const MAX_SPANS: usize = 512;

/// A FIFO as its events tell it.
struct Fifo {
    entry: FifoEntry,
    group: u64,
    occupancy_track: u64,
    occupancy: u64,
    lanes: Vec<Lane>,
    /// Transactions under way, oldest first, and their lanes.
    under_way: VecDeque<(u64, usize)>,
    /// Transactions of this instant.
    ended: Vec<usize>,
    begun: Vec<u64>,
    /// Whether the instant has a write or a read.
    sampled: bool,
    touched: bool,
}

struct Lane {
    track: u64,
    busy: bool,
}

/// What a unit shows beside its events.
#[derive(Default)]
struct Activity {
    /// The track of spans, 0 before the first.
    track: u64,
    /// Kinds of the open spans, outermost first.
    open: Vec<usize>,
    /// Spans beyond [`MAX_SPANS`].
    hidden: u64,
    /// Spans that began (with their kind) or ended in this instant.
    steps: Vec<Option<usize>>,
    /// Track, last value and whether this instant has a new one, by kind.
    counters: BTreeMap<usize, Counter>,
    touched: bool,
}

struct Counter {
    track: u64,
    value: u64,
    sampled: bool,
}

struct Unit {
    id: u64,
    track: u64,
    domain: usize,
    path: String,
}

struct Kind {
    id: KindId,
    iid: u64,
    shape: KindShape,
    name: String,
}

/// Writes a trace of the view `full`.
pub(crate) struct FullSink {
    framing: Framing,
    packet: EventPacket,
    kinds: Vec<Kind>,
    units: Vec<Unit>,
    activities: Vec<Activity>,
    /// By id.
    fifos: Vec<Fifo>,
    root: u64,
    uuids: Uuids,
    instants: Instants,
    /// FIFOs and units that this instant concerns.
    touched_fifos: Vec<usize>,
    touched_units: Vec<usize>,
}

impl FullSink {
    pub(crate) fn new(
        framing: Framing,
        args: ArgsEncoding,
        roster: &Roster,
        kinds: &KindTable,
        fifos: Vec<FifoEntry>,
        tracks: TrackPlan,
    ) -> Self {
        let units = roster.units.iter().zip(&tracks.units).map(|(unit, track)| Unit {
            id: unit.id,
            track: *track,
            domain: unit.domain,
            path: format!("run/{}/{}", roster.domains[unit.domain].name(), unit.name),
        });
        let kinds = kinds.iter().zip(interning::kind_names(kinds)).map(|((id, name), iid)| Kind {
            id,
            iid,
            shape: kinds.shape(id),
            name: name.to_owned(),
        });
        let fifos = fifos.into_iter().zip(&tracks.fifos).map(|(entry, (group, occupancy_track))| Fifo {
            entry,
            group: *group,
            occupancy_track: *occupancy_track,
            occupancy: 0,
            lanes: Vec::new(),
            under_way: VecDeque::new(),
            ended: Vec::new(),
            begun: Vec::new(),
            sampled: false,
            touched: false,
        });
        let units: Vec<Unit> = units.collect();
        Self {
            framing,
            packet: EventPacket::new(args),
            kinds: kinds.collect(),
            activities: units.iter().map(|_| Activity::default()).collect(),
            units,
            fifos: fifos.collect(),
            root: tracks.root,
            uuids: tracks.uuids,
            instants: Instants::new(roster.domains.iter().map(ClockDomain::clone)),
            touched_fifos: Vec::new(),
            touched_units: Vec::new(),
        }
    }

    pub(crate) fn framing(&mut self) -> &mut Framing {
        &mut self.framing
    }

    fn write_event(&mut self, ns: i64, event: &Event<'_>) {
        let (unit, record) = (&self.units[event.unit], event.record);
        let (domain_id, time) = self.instants.describe(unit.domain, record.cycle);
        let delta = self.framing.step(ns);
        let packet = &mut self.packet;
        packet.begin(EventType::Instant, CATEGORY_CLOCK, self.kinds[event.kind].iid, unit.track);
        let values = [
            unit.id,
            record.fifo.into(),
            record.phase as u64,
            record.value,
            event.ordinal,
            record.cycle,
            record.transaction,
            domain_id.into(),
        ];
        for (number, value) in (1..).zip(values) {
            packet.uint(number, value);
        }
        if let Some((num, den)) = time {
            packet.text(checkpoint::TIME_NUM, num);
            packet.text(checkpoint::TIME_DEN, den);
        }
        let entry = packet.finish(delta, record.transaction);
        self.framing.append(entry);
    }

    /// Notes what follows from an event.
    fn derive(&mut self, event: &Event<'_>) {
        let (record, kind) = (event.record, &self.kinds[event.kind]);
        match kind.shape {
            KindShape::Instant => {}
            KindShape::Counter => {
                self.touch_unit(event.unit);
                self.sample(event.unit, event.kind, record.value);
            }
            KindShape::Span => {
                self.touch_unit(event.unit);
                let step = (record.value != 0).then_some(event.kind);
                self.activities[event.unit].steps.push(step);
            }
        }
        let of_fifo = matches!(
            self.kinds[event.kind].id,
            KindId::FIFO_WRITE | KindId::FIFO_READ | KindId::FIFO_CONSUME
        );
        if !of_fifo {
            return;
        }
        let Ok(at) = self.fifos.binary_search_by_key(&record.fifo, |fifo| fifo.entry.id) else { return };
        let fifo = &mut self.fifos[at];
        if !std::mem::replace(&mut fifo.touched, true) {
            self.touched_fifos.push(at);
        }
        match self.kinds[event.kind].id {
            KindId::FIFO_WRITE => {
                fifo.occupancy += 1;
                fifo.sampled = true;
                fifo.begun.push(record.transaction);
            }
            KindId::FIFO_READ => {
                fifo.occupancy = fifo.occupancy.saturating_sub(1);
                fifo.sampled = true;
            }
            _ => fifo.consume(record.transaction),
        }
    }

    fn touch_unit(&mut self, unit: usize) {
        if !std::mem::replace(&mut self.activities[unit].touched, true) {
            self.touched_units.push(unit);
        }
    }

    fn sample(&mut self, unit: usize, kind: usize, value: u64) {
        let (owner, name) = (&self.units[unit], &self.kinds[kind].name);
        let counter = self.activities[unit].counters.entry(kind).or_insert_with(|| {
            let track = self.uuids.assign(&format!("{}/{name}", owner.path));
            self.framing.add_track(checkpoint::counter_track(track, owner.track, name, None, kind));
            Counter { track, value, sampled: true }
        });
        (counter.value, counter.sampled) = (value, true);
    }

    /// Writes what follows from the instant that is over.
    pub(crate) fn close_instant(&mut self) {
        if self.touched_fifos.is_empty() && self.touched_units.is_empty() {
            return;
        }
        self.touched_fifos.sort_unstable();
        self.touched_units.sort_unstable();
        let (fifos, units) =
            (std::mem::take(&mut self.touched_fifos), std::mem::take(&mut self.touched_units));
        for &fifo in &fifos {
            for lane in std::mem::take(&mut self.fifos[fifo].ended) {
                self.end_slice(self.fifos[fifo].lanes[lane].track);
                self.fifos[fifo].lanes[lane].busy = false;
            }
        }
        let mut steps: Vec<std::vec::IntoIter<Option<usize>>> =
            units.iter().map(|unit| std::mem::take(&mut self.activities[*unit].steps).into_iter()).collect();
        for (&unit, steps) in units.iter().zip(&mut steps) {
            while let Some(None) = steps.as_slice().first() {
                steps.next();
                self.end_span(unit);
            }
        }
        for &fifo in &fifos {
            for transaction in std::mem::take(&mut self.fifos[fifo].begun) {
                self.begin_transaction(fifo, transaction);
            }
        }
        for (&unit, steps) in units.iter().zip(steps) {
            for step in steps {
                match step {
                    Some(kind) => self.begin_span(unit, kind),
                    None => self.end_span(unit),
                }
            }
        }
        for &fifo in &fifos {
            let fifo = &mut self.fifos[fifo];
            fifo.touched = false;
            if std::mem::take(&mut fifo.sampled) {
                let (track, value) = (fifo.occupancy_track, fifo.occupancy);
                self.write_sample(track, value);
            }
        }
        for &unit in &units {
            self.activities[unit].touched = false;
            let counters = self.activities[unit].counters.values_mut();
            let sampled =
                counters.filter_map(|c| std::mem::take(&mut c.sampled).then_some((c.track, c.value)));
            for (track, value) in sampled.collect::<Vec<_>>() {
                self.write_sample(track, value);
            }
        }
    }

    fn write_sample(&mut self, track: u64, value: u64) {
        self.packet.begin(EventType::Counter, 0, 0, track);
        self.packet.counter(value);
        self.framing.append(self.packet.finish(0, 0));
    }

    fn end_slice(&mut self, track: u64) {
        self.packet.begin(EventType::SliceEnd, 0, 0, track);
        self.framing.append(self.packet.finish(0, 0));
    }

    fn begin_transaction(&mut self, at: usize, transaction: u64) {
        let fifo = &mut self.fifos[at];
        // More than the FIFO holds are under way only where consumes were lost.
        let most = fifo.entry.depth.saturating_add(1);
        let overdue = if fifo.under_way.len() as u64 >= most { fifo.under_way.pop_front() } else { None };
        if let Some((_, lane)) = overdue {
            fifo.lanes[lane].busy = false;
            let track = fifo.lanes[lane].track;
            self.end_slice(track);
        }
        let lane = self.free_lane(at);
        let fifo = &mut self.fifos[at];
        fifo.under_way.push_back((transaction, lane));
        let (track, id) = (fifo.lanes[lane].track, fifo.entry.id);
        self.write_transaction(track, id, transaction);
    }

    fn write_transaction(&mut self, track: u64, fifo: u32, transaction: u64) {
        self.packet.begin(EventType::SliceBegin, CATEGORY_FIFO, interning::NAME_TRANSACTION, track);
        self.packet.uint(checkpoint::FIFO_ID, fifo.into());
        self.packet.uint(checkpoint::TRANSACTION_ID, transaction);
        self.framing.append(self.packet.finish(0, 0));
    }

    /// The lowest lane without a transaction; now it has one.
    fn free_lane(&mut self, at: usize) -> usize {
        let fifo = &mut self.fifos[at];
        let lane = fifo.lanes.iter().position(|lane| !lane.busy).unwrap_or_else(|| {
            let (number, group) = (fifo.lanes.len(), fifo.group);
            let track = self.uuids.assign(&format!("run/crossings/{}/lane/{number}", fifo.entry.name));
            self.framing.add_track(checkpoint::lane_track(track, group));
            fifo.lanes.push(Lane { track, busy: false });
            number
        });
        fifo.lanes[lane].busy = true;
        lane
    }

    fn begin_span(&mut self, unit: usize, kind: usize) {
        let (owner, activity) = (&self.units[unit], &mut self.activities[unit]);
        if activity.open.len() >= MAX_SPANS {
            activity.hidden += 1;
            return;
        }
        if activity.track == 0 {
            activity.track = self.uuids.assign(&format!("{}/spans", owner.path));
            self.framing.add_track(checkpoint::span_track(activity.track, owner.track));
        }
        activity.open.push(kind);
        let track = activity.track;
        self.write_span(track, kind);
    }

    fn write_span(&mut self, track: u64, kind: usize) {
        self.packet.begin(EventType::SliceBegin, CATEGORY_UNIT, self.kinds[kind].iid, track);
        self.framing.append(self.packet.finish(0, 0));
    }

    fn end_span(&mut self, unit: usize) {
        let activity = &mut self.activities[unit];
        if activity.hidden > 0 {
            activity.hidden -= 1;
        } else if activity.open.pop().is_some() {
            let track = activity.track;
            self.end_slice(track);
        }
    }

    /// Before an event: closes the instant that is over, and the file that is full.
    fn go_to(&mut self, ns: i64, unit: usize, cycle: u64) {
        if self.instants.enter(ns, self.units[unit].domain, cycle) {
            self.close_instant();
        }
        if self.framing.ends_segment() {
            self.close_instant();
            self.close_slices();
            self.framing.rotate();
            self.restate();
        }
    }

    /// Begins in a new file what was under way in the one before, and states every counter.
    fn restate(&mut self) {
        for at in 0..self.fifos.len() {
            for number in 0..self.fifos[at].under_way.len() {
                let (transaction, lane) = self.fifos[at].under_way[number];
                let (track, id) = (self.fifos[at].lanes[lane].track, self.fifos[at].entry.id);
                self.write_transaction(track, id, transaction);
            }
        }
        for unit in 0..self.activities.len() {
            for number in 0..self.activities[unit].open.len() {
                let activity = &self.activities[unit];
                let (track, kind) = (activity.track, activity.open[number]);
                self.write_span(track, kind);
            }
        }
        let occupancies = self.fifos.iter().map(|fifo| (fifo.occupancy_track, fifo.occupancy));
        let counters = self.activities.iter().flat_map(|activity| activity.counters.values());
        let samples: Vec<(u64, u64)> = occupancies.chain(counters.map(|c| (c.track, c.value))).collect();
        for (track, value) in samples {
            self.write_sample(track, value);
        }
    }

    /// Ends every slice that is open.
    fn close_slices(&mut self) {
        for at in 0..self.fifos.len() {
            for number in 0..self.fifos[at].under_way.len() {
                let lane = self.fifos[at].under_way[number].1;
                self.end_slice(self.fifos[at].lanes[lane].track);
            }
        }
        for unit in 0..self.activities.len() {
            for _ in 0..self.activities[unit].open.len() {
                self.end_slice(self.activities[unit].track);
            }
        }
    }

    fn has_open_slices(&self) -> bool {
        self.fifos.iter().any(|fifo| !fifo.under_way.is_empty())
            || self.activities.iter().any(|activity| !activity.open.is_empty())
    }
}

impl Fifo {
    /// A transaction leaves, and with it those that must have left before.
    fn consume(&mut self, transaction: u64) {
        if let Some(at) = self.under_way.iter().position(|(id, _)| *id == transaction) {
            self.ended.extend(self.under_way.drain(..=at).map(|(_, lane)| lane));
        }
    }
}

impl Sink for FullSink {
    fn event(&mut self, ns: i64, event: &Event<'_>) {
        self.go_to(ns, event.unit, event.record.cycle);
        self.write_event(ns, event);
        self.derive(event);
    }

    fn gap(&mut self, ns: i64, gap: &Gap) {
        self.go_to(ns, gap.unit, gap.cycle);
        self.framing.gap(ns, self.units[gap.unit].track, gap);
    }

    fn flush(&mut self) {
        self.framing.flush();
    }

    fn finish(&mut self) {
        self.close_instant();
        if self.has_open_slices() {
            self.packet.begin(EventType::Instant, CATEGORY_META, interning::NAME_END, self.root);
            self.framing.append(self.packet.finish(0, 0));
            self.close_slices();
        }
        self.framing.finish();
    }

    fn outlets(&self) -> impl Iterator<Item = &Outlet> {
        std::iter::once(self.framing.outlet())
    }

    fn segments(&self) -> &[SegmentTotals] {
        self.framing.segments()
    }
}
