//! The state that ticks act on: circuits, connections, sleep and observation, in flat arrays.
//!
//! # Invariants
//!
//! * Units are numbered by canonical rank, domains by ascending id, FIFOs by ascending id.
//! * `activity` counts awake units plus both ends of every FIFO that is not at rest. At 0 no edge
//!   changes anything until a timer is due.
//! * A sleeping unit's `wake_at` is the earliest edge it must tick at; a timer in a domain's heap is
//!   valid only if it equals the `wake_at` of a sleeping unit.
//! * A FIFO's payload queue holds the packets of its pending write, its unread RAM entries and its
//!   output register, in that order from the back.

use std::any::Any;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use clockweave_model::{KindId, Phase};

use super::activity::IndexSet;
use super::link::Link;
use super::ports::Shape;
use super::tick::StopReason;
use crate::circuit::{AsyncFifo, CommitEvents, Ignore};
use crate::observe::Recording;

/// No timer: no edge has this number, because its successor would not be representable.
const NEVER: u64 = u64::MAX;

#[derive(Debug)]
pub(super) struct FifoSlot {
    pub(super) circuit: AsyncFifo,
    pub(super) id: u32,
    pub(super) writer: u32,
    pub(super) reader: u32,
    pub(super) refusals: u64,
    active: bool,
    /// Position of each end in its domain's list.
    write_end: (u32, u32),
    read_end: (u32, u32),
}

impl FifoSlot {
    pub(super) fn new(circuit: AsyncFifo, id: u32, writer: u32, reader: u32) -> Self {
        Self { circuit, id, writer, reader, refusals: 0, active: false, write_end: (0, 0), read_end: (0, 0) }
    }
}

/// One FIFO end in its domain's list.
#[derive(Clone, Copy, Debug)]
struct End {
    fifo: u32,
    peer: u32,
    writes: bool,
}

#[derive(Debug)]
pub(super) struct UnitSlot {
    pub(super) name: String,
    pub(super) domain: u32,
    pub(super) local: u32,
    pub(super) may_stop: bool,
    pub(super) asleep: bool,
    pub(super) wake_at: u64,
    pub(super) transactions: u64,
    pub(super) messages: u64,
    pub(super) spans: Vec<u32>,
    /// Links that end here, for finding the next message when falling asleep.
    pub(super) incoming: Vec<u32>,
}

#[derive(Debug, Default)]
pub(super) struct DomainSlot {
    pub(super) units: Vec<u32>,
    awake: IndexSet,
    timers: BinaryHeap<Reverse<(u64, u32)>>,
    next_timer: u64,
    ends: Vec<End>,
    active_ends: IndexSet,
}

/// What a port is joined to: `targets[first..first + count]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binding {
    pub(super) unit: u32,
    pub(super) first: u32,
    pub(super) count: u32,
}

/// A unit's request to stop, as made inside a tick.
#[derive(Clone, Debug)]
pub(crate) struct StopRequest {
    pub(crate) unit: u32,
    pub(crate) reason: StopReason,
    pub(crate) message: String,
}

/// A unit whose tick returned an error.
pub(crate) struct FailedTick {
    pub(crate) unit: u32,
    pub(crate) message: String,
}

pub(crate) struct Fabric {
    pub(super) fifos: Vec<FifoSlot>,
    pub(super) payloads: Vec<Box<dyn Any + Send>>,
    pub(super) links: Vec<Link>,
    pub(super) link_names: Vec<(String, String)>,
    pub(super) queues: Vec<Box<dyn Any + Send>>,
    pub(super) bindings: Vec<Binding>,
    pub(super) targets: Vec<u32>,
    pub(super) units: Vec<UnitSlot>,
    pub(super) domains: Vec<DomainSlot>,
    pub(super) kinds: Vec<(KindId, Shape)>,
    /// First id of each series, less one.
    pub(super) series: Vec<u64>,
    pub(super) recording: Option<Box<Recording>>,
    pub(super) stop: Option<StopRequest>,
    activity: u64,
    /// The unit that ticks, for reports; meaningless between ticks.
    current: u32,
}

impl Fabric {
    pub(super) fn new(units: Vec<UnitSlot>, domains: usize) -> Self {
        let mut fabric = Self {
            fifos: Vec::new(),
            payloads: Vec::new(),
            links: Vec::new(),
            link_names: Vec::new(),
            queues: Vec::new(),
            bindings: Vec::new(),
            targets: Vec::new(),
            units,
            domains: (0..domains)
                .map(|_| DomainSlot { next_timer: NEVER, ..DomainSlot::default() })
                .collect(),
            kinds: Vec::new(),
            series: Vec::new(),
            recording: None,
            stop: None,
            activity: 0,
            current: 0,
        };
        for (rank, unit) in fabric.units.iter_mut().enumerate() {
            let domain = &mut fabric.domains[unit.domain as usize];
            unit.local = domain.units.len() as u32;
            domain.units.push(rank as u32);
        }
        for domain in &mut fabric.domains {
            domain.awake = IndexSet::new(domain.units.len());
            for local in 0..domain.units.len() as u32 {
                domain.awake.insert(local);
            }
            fabric.activity += domain.units.len() as u64;
        }
        fabric
    }

    /// Lists the FIFOs' ends in their domains; to be called once all FIFOs are there.
    pub(super) fn wire_fifos(&mut self) {
        for (index, fifo) in self.fifos.iter_mut().enumerate() {
            let index = index as u32;
            let (write, read) =
                (self.units[fifo.writer as usize].domain, self.units[fifo.reader as usize].domain);
            let mut list = |domain: u32, peer: u32, writes: bool| {
                let ends = &mut self.domains[domain as usize].ends;
                ends.push(End { fifo: index, peer, writes });
                (domain, ends.len() as u32 - 1)
            };
            fifo.write_end = list(write, read, true);
            fifo.read_end = list(read, write, false);
        }
        for domain in &mut self.domains {
            domain.active_ends = IndexSet::new(domain.ends.len());
        }
    }

    #[inline]
    pub(super) fn activate_fifo(&mut self, fifo: usize) {
        let slot = &mut self.fifos[fifo];
        if !slot.active {
            slot.active = true;
            for (domain, end) in [slot.write_end, slot.read_end] {
                self.domains[domain as usize].active_ends.insert(end);
            }
            self.activity += 2;
        }
    }

    fn rest_fifo(&mut self, fifo: usize) {
        let slot = &mut self.fifos[fifo];
        slot.active = false;
        for (domain, end) in [slot.write_end, slot.read_end] {
            self.domains[domain as usize].active_ends.remove(end);
        }
        self.activity -= 2;
    }

    /// Whether no edge changes anything until a timer is due.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.activity == 0
    }

    /// The next edge of a domain at which a unit wakes by itself.
    pub(crate) fn next_timer(&self, domain: usize) -> Option<u64> {
        let edge = self.domains[domain].next_timer;
        (edge != NEVER).then_some(edge)
    }

    /// The unit whose tick runs, or ran last.
    pub(crate) fn current(&self) -> u32 {
        self.current
    }

    pub(crate) fn unit_name(&self, unit: u32) -> &str {
        &self.units[unit as usize].name
    }

    pub(crate) fn unit_domain(&self, unit: u32) -> u32 {
        self.units[unit as usize].domain
    }

    pub(crate) fn take_stop(&mut self) -> Option<StopRequest> {
        self.stop.take()
    }

    #[inline]
    pub(super) fn wake(&mut self, unit: u32) {
        let slot = &mut self.units[unit as usize];
        if slot.asleep {
            slot.asleep = false;
            slot.wake_at = NEVER;
            self.domains[slot.domain as usize].awake.insert(slot.local);
            self.activity += 1;
        }
    }

    /// Puts a unit to sleep until `edge` of its domain, or the first message that arrives before.
    pub(super) fn sleep(&mut self, unit: u32, cycle: u64, edge: u64) {
        let slot = &self.units[unit as usize];
        let arrivals = slot.incoming.iter().filter_map(|&link| self.links[link as usize].first_visible());
        let edge = arrivals.filter(|&visible| visible > cycle).fold(edge, u64::min);
        if edge <= cycle + 1 || slot.asleep {
            return;
        }
        let slot = &mut self.units[unit as usize];
        slot.asleep = true;
        self.domains[slot.domain as usize].awake.remove(slot.local);
        self.activity -= 1;
        slot.wake_at = NEVER;
        self.wake_at(unit, edge);
    }

    /// Makes a sleeping unit tick at `edge`, unless it does so earlier.
    pub(super) fn wake_at(&mut self, unit: u32, edge: u64) {
        let slot = &mut self.units[unit as usize];
        if !slot.asleep || edge >= slot.wake_at {
            return;
        }
        slot.wake_at = edge;
        let domain = &mut self.domains[slot.domain as usize];
        domain.timers.push(Reverse((edge, unit)));
        domain.next_timer = domain.next_timer.min(edge);
        // Outdated timers may outnumber the valid ones, of which a unit has at most one.
        if domain.timers.len() > 2 * domain.units.len() + 64 {
            let units = &self.units;
            domain.timers.retain(|Reverse((edge, unit))| {
                let slot = &units[*unit as usize];
                slot.asleep && slot.wake_at == *edge
            });
        }
    }

    #[inline]
    fn fire_timers(&mut self, domain: u32, cycle: u64) {
        while self.domains[domain as usize].next_timer <= cycle {
            let timers = &mut self.domains[domain as usize].timers;
            if let Some(&Reverse((edge, unit))) = timers.peek()
                && edge <= cycle
            {
                timers.pop();
                if self.units[unit as usize].wake_at == edge {
                    self.wake(unit);
                }
            }
            self.settle_next_timer(domain);
        }
    }

    /// Drops outdated timers so that `next_timer` is one that will wake a unit.
    fn settle_next_timer(&mut self, domain: u32) {
        let slot = &mut self.domains[domain as usize];
        slot.next_timer = loop {
            match slot.timers.peek() {
                Some(&Reverse((edge, unit))) => {
                    let unit = &self.units[unit as usize];
                    if unit.asleep && unit.wake_at == edge {
                        break edge;
                    }
                    slot.timers.pop();
                }
                None => break NEVER,
            }
        };
    }

    /// Makes every domain's next timer exact, for skipping.
    pub(crate) fn settle_timers(&mut self) {
        for domain in 0..self.domains.len() as u32 {
            self.settle_next_timer(domain);
        }
    }

    /// Ticks the awake units of a domain on its edge `cycle`, in canonical order.
    #[inline]
    pub(crate) fn tick_domain(
        &mut self,
        domain: u32,
        cycle: u64,
        bodies: &mut [Box<dyn super::Unit>],
    ) -> Result<(), FailedTick> {
        self.fire_timers(domain, cycle);
        let mut from = 0;
        while let Some(local) = self.domains[domain as usize].awake.next_from(from) {
            from = local + 1;
            let unit = self.domains[domain as usize].units[local as usize];
            self.current = unit;
            let mut cx = super::Tick::new(self, unit, cycle);
            if let Err(error) = bodies[unit as usize].tick(&mut cx) {
                return Err(FailedTick { unit, message: error.message().to_owned() });
            }
        }
        Ok(())
    }

    /// Commits the FIFOs with an end in `due`; `cycles` are the local cycles of all domains.
    #[inline]
    pub(crate) fn commit(&mut self, due: &[u32], cycles: &[u64]) {
        for &domain in due {
            let mut from = 0;
            while let Some(position) = self.domains[domain as usize].active_ends.next_from(from) {
                from = position + 1;
                let end = self.domains[domain as usize].ends[position as usize];
                let both = end.peer == domain || (due.len() > 1 && due.binary_search(&end.peer).is_ok());
                // A FIFO with both ends in the batch commits once, for its writing end.
                if end.writes || !both {
                    self.commit_fifo(end.fifo as usize, end.writes || both, !end.writes || both, cycles);
                }
            }
        }
    }

    #[inline]
    fn commit_fifo(&mut self, fifo: usize, write_edge: bool, read_edge: bool, cycles: &[u64]) {
        let slot = &mut self.fifos[fifo];
        let commit = match self.recording.as_deref_mut() {
            None => slot.circuit.commit(write_edge, read_edge, &mut Ignore),
            Some(recording) => {
                let mut events = Committed {
                    recording,
                    fifo,
                    id: slot.id,
                    write_cycle: cycles[slot.write_end.0 as usize],
                    read_cycle: cycles[slot.read_end.0 as usize],
                };
                slot.circuit.commit(write_edge, read_edge, &mut events)
            }
        };
        let (writer, reader, rests) = (slot.writer, slot.reader, slot.circuit.at_rest());
        if rests {
            self.rest_fifo(fifo);
        }
        if commit.wakes_reader {
            self.wake(reader);
        }
        if commit.wakes_writer {
            self.wake(writer);
        }
    }

    /// Whether every FIFO is drained; `hint` is where one was found that is not.
    pub(crate) fn drained(&self, hint: &mut usize) -> bool {
        let count = self.fifos.len();
        for offset in 0..count {
            let at = (*hint + offset) % count;
            if !self.fifos[at].circuit.drained() {
                *hint = at;
                return false;
            }
        }
        true
    }

    /// Records from now on.
    pub(crate) fn attach(&mut self, recording: Box<Recording>) {
        self.recording = Some(recording);
    }

    /// The rank of a unit by its path name.
    pub(crate) fn find_unit(&self, name: &str) -> Option<usize> {
        self.units.iter().position(|slot| slot.name == name)
    }

    pub(crate) fn recording(&mut self) -> Option<&mut Recording> {
        self.recording.as_deref_mut()
    }

    pub(crate) fn take_recording(&mut self) -> Option<Box<Recording>> {
        self.recording.take()
    }

    /// The state of a FIFO.
    pub(crate) fn fifo_state(&self, id: u32) -> Option<(crate::circuit::FifoState, u64)> {
        let at = self.fifos.binary_search_by_key(&id, |slot| slot.id).ok()?;
        Some((self.fifos[at].circuit.state(), self.fifos[at].refusals))
    }

    /// Sends refused so far, by FIFOs and connections together.
    pub(crate) fn refusals(&self) -> u64 {
        let fifos: u64 = self.fifos.iter().map(|slot| slot.refusals).sum();
        let links: u64 = self.links.iter().map(|link| link.refusals).sum();
        fifos + links
    }

    /// Counters of every connection, in order of declaration.
    pub(crate) fn connections(&self) -> Vec<super::ConnectionState> {
        let states =
            self.links.iter().zip(&self.link_names).map(|(link, (from, to))| super::ConnectionState {
                from: from.clone(),
                to: to.clone(),
                held: link.held,
                sends: link.sends,
                refusals: link.refusals,
                receives: link.receives,
            });
        states.collect()
    }
}

/// Records a commit's events, each with the local cycle of its end.
struct Committed<'a> {
    recording: &'a mut Recording,
    fifo: usize,
    id: u32,
    write_cycle: u64,
    read_cycle: u64,
}

impl Committed<'_> {
    #[inline]
    fn writer(&mut self, kind: KindId, transaction: u64, value: u64) {
        let stream = self.recording.fifo_streams(self.fifo).0;
        self.recording.record(stream, self.write_cycle, kind, transaction, value, self.id, Phase::Commit);
    }

    #[inline]
    fn reader(&mut self, kind: KindId, transaction: u64, value: u64) {
        let stream = self.recording.fifo_streams(self.fifo).1;
        self.recording.record(stream, self.read_cycle, kind, transaction, value, self.id, Phase::Commit);
    }
}

impl CommitEvents for Committed<'_> {
    fn write(&mut self, id: u64) {
        self.writer(KindId::FIFO_WRITE, id, 0);
    }
    fn visible(&mut self, id: u64) {
        self.reader(KindId::FIFO_VISIBLE, id, 0);
    }
    fn read(&mut self, id: u64) {
        self.reader(KindId::FIFO_READ, id, 0);
    }
    fn output(&mut self, id: u64) {
        self.reader(KindId::FIFO_OUTPUT, id, 0);
    }
    fn full(&mut self, flag: bool) {
        self.writer(KindId::FIFO_FULL, 0, flag.into());
    }
    fn empty(&mut self, flag: bool) {
        self.reader(KindId::FIFO_EMPTY, 0, flag.into());
    }
}

/// A payload queue as its ports know it.
pub(super) type Payloads<T> = VecDeque<super::Packet<T>>;
