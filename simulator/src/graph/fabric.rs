//! The state that ticks act on: circuits, connections, sleep and observation, in flat arrays.
//!
//! # Invariants
//!
//! * Units are numbered by canonical rank, domains by ascending id, FIFOs by ascending id.
//! * `activity` counts awake units plus both ends of every FIFO that is not at rest. At 0 no edge
//!   changes anything until a timer is due.
//! * A sleeping unit's `wake_at` is the earliest edge it must tick at; a timer in a domain's heap is
//!   valid only if it equals the `wake_at` of a sleeping unit.
//! * A FIFO's payload store holds the data of its pending write, its unread RAM entries and its output
//!   register, each at the pointer, wrap bit included, under which the circuit knows it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use clockweave_model::{KindId, Phase};

use super::activity::{IndexSet, above};
use super::link::{Link, Messages};
use super::payload::Payloads;
use super::ports::Shape;
use super::tick::{StopReason, Tick};
use super::unit::TickResult;
use crate::circuit::{AsyncFifo, Commit, CommitEvents, Ignore};
use crate::observe::Recording;

/// No timer: no edge has this number, because its successor would not be representable.
const NEVER: u64 = u64::MAX;

pub(super) struct FifoSlot {
    pub(super) circuit: AsyncFifo,
    pub(super) payload: Payloads,
    pub(super) id: u32,
    pub(super) writer: u32,
    pub(super) reader: u32,
    pub(super) refusals: u64,
    pub(super) active: bool,
    /// Position of each end in its domain's list.
    write_end: (u32, u32),
    read_end: (u32, u32),
}

impl FifoSlot {
    pub(super) fn new(circuit: AsyncFifo, payload: Payloads, id: u32, ends: (u32, u32)) -> Self {
        let (writer, reader) = ends;
        Self {
            circuit,
            payload,
            id,
            writer,
            reader,
            refusals: 0,
            active: false,
            write_end: (0, 0),
            read_end: (0, 0),
        }
    }
}

/// One FIFO end in its domain's list.
#[derive(Clone, Copy, Debug)]
struct End {
    fifo: u32,
    peer: u32,
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
    units: u32,
    awake: IndexSet,
    asleep: u32,
    timers: BinaryHeap<Reverse<(u64, u32)>>,
    next_timer: u64,
    /// Ends in this domain, the `writers` first ones of which write.
    ends: Vec<End>,
    writers: usize,
    /// Whether a FIFO begins and ends here.
    loops: bool,
    active_ends: IndexSet,
    active: u32,
    /// What a commit of this domain alone has to do.
    lone: LoneCommit,
}

/// What is to be committed in a batch of one domain.
#[derive(Clone, Copy, Debug, Default)]
enum LoneCommit {
    /// Nothing: all FIFOs with an end in the domain are at rest.
    #[default]
    Nothing,
    /// The writing end of one FIFO, the domain's only end.
    Writer(u32),
    /// The reading end of one FIFO, the domain's only end.
    Reader(u32),
    /// All ends; none has its peer in the same domain.
    All,
    /// The active ends.
    Active,
}

impl DomainSlot {
    fn plan(&mut self) {
        self.lone = match *self.ends {
            _ if self.active == 0 => LoneCommit::Nothing,
            _ if self.active as usize != self.ends.len() || self.loops => LoneCommit::Active,
            [end] if self.writers == 1 => LoneCommit::Writer(end.fifo),
            [end] => LoneCommit::Reader(end.fifo),
            _ => LoneCommit::All,
        };
    }
}

/// Which edges an instant has for a FIFO.
#[derive(Clone, Copy, Debug)]
enum Edges {
    Write,
    Read,
    Both,
}

/// What a port is joined to: `targets[first..first + count]`, the first of which is `target`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binding {
    pub(super) unit: u32,
    pub(super) target: u32,
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

/// The units of one domain: those of ranks `first, first + 1, …`.
pub(crate) struct Group {
    pub(crate) first: u32,
    pub(crate) bodies: Vec<Box<dyn super::Unit>>,
}

pub(crate) struct Fabric {
    pub(super) fifos: Vec<FifoSlot>,
    pub(super) links: Vec<Link>,
    pub(super) link_names: Vec<(String, String)>,
    pub(super) queues: Vec<Box<dyn Messages>>,
    pub(super) bindings: Vec<Binding>,
    pub(super) targets: Vec<u32>,
    pub(super) units: Vec<UnitSlot>,
    pub(super) domains: Vec<DomainSlot>,
    pub(super) kinds: Vec<(KindId, Shape)>,
    /// First id of each series, less one.
    pub(super) series: Vec<u64>,
    pub(super) recording: Option<Box<Recording>>,
    stop: Option<StopRequest>,
    activity: u64,
    /// Whether `activity` is 0 or a stop was requested.
    attention: bool,
    /// Batches completed since the scheduler set it to 0.
    pub(crate) walked: u64,
    sleepers: u32,
    /// Commits that wake a unit or may end in rest, while a batch commits.
    outcomes: Vec<(u32, Commit)>,
    /// The unit that ticks, and its local cycle; meaningless between ticks.
    pub(super) current: u32,
    pub(super) cycle: u64,
}

impl Fabric {
    pub(super) fn new(units: Vec<UnitSlot>, domains: usize) -> Self {
        let mut fabric = Self {
            fifos: Vec::new(),
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
            attention: false,
            walked: 0,
            sleepers: 0,
            outcomes: Vec::new(),
            current: 0,
            cycle: 0,
        };
        for unit in &mut fabric.units {
            let domain = &mut fabric.domains[unit.domain as usize];
            unit.local = domain.units;
            domain.units += 1;
        }
        for domain in &mut fabric.domains {
            domain.awake = IndexSet::new(domain.units as usize);
            for local in 0..domain.units {
                domain.awake.insert(local);
            }
            fabric.activity += u64::from(domain.units);
        }
        fabric.settle_attention();
        fabric
    }

    /// Lists the FIFOs' ends in their domains; to be called once all FIFOs are there.
    pub(super) fn wire_fifos(&mut self) {
        for writes in [true, false] {
            for (index, fifo) in (0u32..).zip(&mut self.fifos) {
                let write = self.units[fifo.writer as usize].domain;
                let read = self.units[fifo.reader as usize].domain;
                let (own, peer) = if writes { (write, read) } else { (read, write) };
                let slot = &mut self.domains[own as usize];
                let place = (own, slot.ends.len() as u32);
                slot.ends.push(End { fifo: index, peer });
                slot.loops |= own == peer;
                if writes {
                    slot.writers += 1;
                    fifo.write_end = place;
                } else {
                    fifo.read_end = place;
                }
            }
        }
        for domain in &mut self.domains {
            domain.active_ends = IndexSet::new(domain.ends.len());
            domain.plan();
        }
    }

    /// Commits the FIFO from now on; it was at rest.
    #[cold]
    pub(super) fn activate_fifo(&mut self, fifo: usize) {
        let slot = &mut self.fifos[fifo];
        slot.active = true;
        for (domain, end) in [slot.write_end, slot.read_end] {
            let domain = &mut self.domains[domain as usize];
            domain.active_ends.insert(end);
            domain.active += 1;
            domain.plan();
        }
        self.activity += 2;
        self.settle_attention();
    }

    #[cold]
    fn rest_fifo(&mut self, fifo: usize) {
        let slot = &mut self.fifos[fifo];
        let rests = if self.recording.is_some() {
            slot.circuit.at_rest::<Committed<'_>>()
        } else {
            slot.circuit.at_rest::<Ignore>()
        };
        if !rests {
            return;
        }
        slot.active = false;
        for (domain, end) in [slot.write_end, slot.read_end] {
            let domain = &mut self.domains[domain as usize];
            domain.active_ends.remove(end);
            domain.active -= 1;
            domain.plan();
        }
        self.activity -= 2;
        self.settle_attention();
    }

    /// Whether no edge changes anything until a timer is due.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.activity == 0
    }

    /// Whether every FIFO is at rest.
    pub(crate) fn fifos_rest(&self) -> bool {
        self.activity + u64::from(self.sleepers) == self.units.len() as u64
    }

    /// Whether a domain has a unit that ticks on its next edge.
    pub(crate) fn is_awake(&self, domain: usize) -> bool {
        self.domains[domain].asleep < self.domains[domain].units
    }

    /// The next edge of a domain at which a unit wakes by itself.
    pub(crate) fn next_timer(&self, domain: usize) -> Option<u64> {
        let edge = self.domains[domain].next_timer;
        (edge != NEVER).then_some(edge)
    }

    /// The unit whose tick runs, or ran last in a batch that failed.
    pub(crate) fn current(&self) -> u32 {
        self.current
    }

    pub(crate) fn unit_count(&self) -> u32 {
        self.units.len() as u32
    }

    /// A unit's place among those of its domain.
    pub(crate) fn unit_local(&self, unit: u32) -> u32 {
        self.units[unit as usize].local
    }

    pub(crate) fn unit_name(&self, unit: u32) -> &str {
        &self.units[unit as usize].name
    }

    pub(crate) fn unit_domain(&self, unit: u32) -> u32 {
        self.units[unit as usize].domain
    }

    fn settle_attention(&mut self) {
        self.attention = self.activity == 0 || self.stop.is_some();
    }

    /// Whether a stop was requested, or, from `quiet_from` walked batches on, no edge changes anything
    /// for now.
    #[inline(always)]
    pub(crate) fn wants_attention(&self, quiet_from: u64) -> bool {
        self.attention && (self.walked >= quiet_from || self.stop.is_some())
    }

    pub(super) fn request_stop(&mut self, request: StopRequest) {
        self.stop.get_or_insert(request);
        self.settle_attention();
    }

    pub(crate) fn take_stop(&mut self) -> Option<StopRequest> {
        let request = self.stop.take();
        self.settle_attention();
        request
    }

    #[inline]
    pub(super) fn wake(&mut self, unit: u32) {
        let slot = &mut self.units[unit as usize];
        if slot.asleep {
            slot.asleep = false;
            slot.wake_at = NEVER;
            let domain = &mut self.domains[slot.domain as usize];
            domain.awake.insert(slot.local);
            domain.asleep -= 1;
            self.sleepers -= 1;
            self.activity += 1;
            self.settle_attention();
        }
    }

    /// Puts a unit to sleep until `edge` of its domain, or the first message that arrives before.
    pub(super) fn sleep(&mut self, unit: u32, cycle: u64, edge: u64) {
        let slot = &self.units[unit as usize];
        let arrivals = slot.incoming.iter().filter_map(|&link| {
            let visible = self.links[link as usize].first_visible()?;
            // A message left lying wakes nobody, but those behind it do.
            if visible > cycle { Some(visible) } else { self.queues[link as usize].next_visible(cycle) }
        });
        let edge = arrivals.fold(edge, u64::min);
        if edge <= cycle + 1 || slot.asleep {
            return;
        }
        let slot = &mut self.units[unit as usize];
        slot.asleep = true;
        let domain = &mut self.domains[slot.domain as usize];
        domain.awake.remove(slot.local);
        domain.asleep += 1;
        self.sleepers += 1;
        self.activity -= 1;
        slot.wake_at = NEVER;
        self.settle_attention();
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
        if domain.timers.len() > 2 * domain.units as usize + 64 {
            let units = &self.units;
            domain.timers.retain(|Reverse((edge, unit))| {
                let slot = &units[*unit as usize];
                slot.asleep && slot.wake_at == *edge
            });
        }
    }

    #[cold]
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

    /// Commits the FIFOs with an end in the batch of the domains `due`, which ascend.
    #[inline(never)]
    pub(crate) fn commit_unobserved(&mut self, due: &[u32]) {
        self.commit_together(due, &mut |slot, _, edges| match edges {
            Edges::Write => slot.circuit.commit_write_edge(&mut Ignore),
            Edges::Read => slot.circuit.commit_read_edge(&mut Ignore),
            Edges::Both => slot.circuit.commit_both(&mut Ignore),
        });
        self.settle_outcomes();
    }

    /// Whether FIFOs have an end in the domain.
    pub(crate) fn has_commits(&self, domain: u32) -> bool {
        !self.domains[domain as usize].ends.is_empty()
    }

    /// As [`Fabric::commit_unobserved`], for a batch of one domain.
    #[inline(always)]
    pub(crate) fn commit_one_unobserved(&mut self, domain: u32) {
        match self.domains[domain as usize].lone {
            LoneCommit::Nothing => {}
            LoneCommit::Writer(fifo) => self.commit_writer(fifo),
            LoneCommit::Reader(fifo) => self.commit_reader(fifo),
            LoneCommit::All => self.commit_all_of(domain),
            LoneCommit::Active => self.commit_unobserved(&[domain]),
        }
    }

    #[inline(always)]
    fn commit_writer(&mut self, fifo: u32) {
        let slot = &mut self.fifos[fifo as usize];
        let done = slot.circuit.commit_write_edge(&mut Ignore);
        if (done.wakes_writer && self.sleepers != 0) || slot.circuit.is_calm() {
            self.settle_outcome(fifo, done);
        }
    }

    #[inline(always)]
    fn commit_reader(&mut self, fifo: u32) {
        let slot = &mut self.fifos[fifo as usize];
        let done = slot.circuit.commit_read_edge(&mut Ignore);
        if (done.wakes_reader && self.sleepers != 0) || slot.circuit.is_calm() {
            self.settle_outcome(fifo, done);
        }
    }

    #[inline(never)]
    fn commit_all_of(&mut self, domain: u32) {
        let Self { domains, fifos, outcomes, sleepers, .. } = self;
        let slot = &domains[domain as usize];
        let (writers, readers) = slot.ends.split_at(slot.writers);
        for end in writers {
            let slot = &mut fifos[end.fifo as usize];
            let done = slot.circuit.commit_write_edge(&mut Ignore);
            if (done.wakes_writer && *sleepers != 0) || slot.circuit.is_calm() {
                outcomes.push((end.fifo, done));
            }
        }
        for end in readers {
            let slot = &mut fifos[end.fifo as usize];
            let done = slot.circuit.commit_read_edge(&mut Ignore);
            if (done.wakes_reader && *sleepers != 0) || slot.circuit.is_calm() {
                outcomes.push((end.fifo, done));
            }
        }
        self.settle_outcomes();
    }

    /// As [`Fabric::commit_unobserved`], recording the commits at the local cycles `cycle(domain)`.
    pub(crate) fn commit_observed(&mut self, due: &[u32], cycle: impl Fn(u32) -> u64) {
        let Some(mut recording) = self.recording.take() else { return };
        self.commit_together(due, &mut |slot, fifo, edges| {
            let mut events = Committed {
                recording: &mut recording,
                fifo: fifo as usize,
                id: slot.id,
                write_cycle: cycle(slot.write_end.0),
                read_cycle: cycle(slot.read_end.0),
            };
            match edges {
                Edges::Write => slot.circuit.commit_write_edge(&mut events),
                Edges::Read => slot.circuit.commit_read_edge(&mut events),
                Edges::Both => slot.circuit.commit_both(&mut events),
            }
        });
        self.recording = Some(recording);
        self.settle_outcomes();
    }

    /// Commits the active ends of several domains; a FIFO with both ends among them commits once, for
    /// its writing end.
    #[inline(always)]
    fn commit_together(&mut self, due: &[u32], commit: &mut impl FnMut(&mut FifoSlot, u32, Edges) -> Commit) {
        let Self { domains, fifos, outcomes, .. } = self;
        let sleepers = self.sleepers != 0;
        for &domain in due {
            let slot = &domains[domain as usize];
            for (at, &word) in slot.active_ends.words().iter().enumerate() {
                let mut word = word;
                while word != 0 {
                    let place = at * 64 + word.trailing_zeros() as usize;
                    word &= word - 1;
                    let end = slot.ends[place];
                    let both = end.peer == domain || due.binary_search(&end.peer).is_ok();
                    let edges = match (place < slot.writers, both) {
                        (true, true) => Edges::Both,
                        (true, false) => Edges::Write,
                        (false, true) => continue,
                        (false, false) => Edges::Read,
                    };
                    let slot = &mut fifos[end.fifo as usize];
                    let done = commit(slot, end.fifo, edges);
                    if (sleepers && done.wakes()) || slot.circuit.is_calm() {
                        outcomes.push((end.fifo, done));
                    }
                }
            }
        }
    }

    fn settle_outcomes(&mut self) {
        while let Some((fifo, done)) = self.outcomes.pop() {
            self.settle_outcome(fifo, done);
        }
    }

    #[inline(never)]
    fn settle_outcome(&mut self, fifo: u32, done: Commit) {
        let slot = &self.fifos[fifo as usize];
        let (writer, reader, calm) = (slot.writer, slot.reader, slot.circuit.is_calm());
        if calm {
            self.rest_fifo(fifo as usize);
        }
        if done.wakes_reader {
            self.wake(reader);
        }
        if done.wakes_writer {
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
    pub(crate) fn find_unit(&self, name: &str) -> Option<u32> {
        self.units.iter().position(|slot| slot.name == name).map(|rank| rank as u32)
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

    /// Counters of every connection, by the ranks and names of their ports.
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

impl Tick<'_> {
    /// Ticks the awake units of a domain on its edge `cycle`, in canonical order.
    ///
    /// # Errors
    /// What the first unit that failed said; [`Fabric::current`] is that unit.
    #[inline(always)]
    pub(crate) fn edge(&mut self, domain: u32, cycle: u64, group: &mut Group) -> TickResult {
        // Timers are those of sleeping units.
        if self.fabric.domains[domain as usize].asleep != 0 {
            return self.edge_of_awake(domain, cycle, group);
        }
        self.fabric.cycle = cycle;
        for (unit, body) in (group.first..).zip(&mut group.bodies) {
            self.fabric.current = unit;
            body.tick(self)?;
        }
        Ok(())
    }

    /// As [`Tick::edge`], where some units sleep.
    #[cold]
    #[inline(never)]
    fn edge_of_awake(&mut self, domain: u32, cycle: u64, group: &mut Group) -> TickResult {
        let index = domain as usize;
        if self.fabric.domains[index].next_timer <= cycle {
            self.fabric.fire_timers(domain, cycle);
        }
        self.fabric.cycle = cycle;
        for at in 0..self.fabric.domains[index].awake.words().len() {
            let mut word = self.fabric.domains[index].awake.words()[at];
            while word != 0 {
                let bit = word.trailing_zeros();
                let local = at as u32 * 64 + bit;
                self.fabric.current = group.first + local;
                group.bodies[local as usize].tick(self)?;
                // A tick may wake a unit that comes after it.
                word = self.fabric.domains[index].awake.words()[at] & above(bit);
            }
        }
        Ok(())
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
