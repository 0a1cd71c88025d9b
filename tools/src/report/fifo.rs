//! One FIFO as the events tell it.
//!
//! A hop is the passage of one packet through one FIFO, from its `fifo.write` to its `fifo.consume`. Packets leave in
//! the order they came, so a packet that another one overtakes has lost an event. Occupancy counts the entries of the
//! memory: a write adds one, a read takes one away, each at its edge; what happens at one exact instant happens at once.

use std::collections::{HashMap, VecDeque};

use clockweave_model::{ClockDomain, ExactTime};
use num_bigint::BigUint;
use serde::Serialize;

use super::distribution::Distribution;
use super::exact::{Figure, Scale, Ticks, Unit, edges_between, edges_until, elapsed, whole, wide};
use super::flag::{Flag, FlagTime};
use super::tally::Tally;
use crate::logs::Catalog;
use crate::merge::MergeError;

/// Bytes of a packet that is inside, with what growth of its containers takes.
pub(super) const PACKET_BYTES: u64 = 192;

/// What an event says about a FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Write,
    Visible,
    Read,
    Consume,
    Full,
    Empty,
    /// `fifo.output`: the same edge as the read.
    Output,
}

impl Role {
    pub(super) fn of(event: &str) -> Option<Self> {
        Some(match event {
            "fifo.write" => Self::Write,
            "fifo.visible" => Self::Visible,
            "fifo.read" => Self::Read,
            "fifo.output" => Self::Output,
            "fifo.consume" => Self::Consume,
            "fifo.full" => Self::Full,
            "fifo.empty" => Self::Empty,
            _ => return None,
        })
    }

    /// Whether it is the unit's own doing rather than the circuit's.
    pub(super) fn is_action(self) -> bool {
        matches!(self, Self::Write | Self::Read | Self::Consume)
    }

    fn is_of_writer(self) -> bool {
        matches!(self, Self::Write | Self::Full)
    }
}

/// What is counted of each FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    Latency,
    ReaderEdges,
    WriterEdges,
    ToVisible,
    ToVisibleEdges,
    ToReadEdges,
    ToConsumeEdges,
}

impl Measure {
    pub(super) const ALL: [Self; 7] = [
        Self::Latency,
        Self::ReaderEdges,
        Self::WriterEdges,
        Self::ToVisible,
        Self::ToVisibleEdges,
        Self::ToReadEdges,
        Self::ToConsumeEdges,
    ];

    pub(super) fn unit(self) -> Unit {
        match self {
            Self::Latency | Self::ToVisible => Unit::Seconds,
            _ => Unit::Edges,
        }
    }

    /// The number of this measure's distribution for the FIFO with index `fifo`.
    pub(super) fn distribution(self, fifo: u32) -> u32 {
        fifo * Self::ALL.len() as u32 + self as u32
    }
}

/// A part of a hop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Exact time.
    pub time: Distribution,
    /// Edges of the reader's clock after the part's beginning, up to and with its end.
    pub edges: Distribution,
}

/// Entries in the memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Occupancy {
    /// Over the observed time.
    pub mean: Figure,
    /// The greatest that lasted.
    pub max: u64,
}

/// Packets consumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Throughput {
    /// Over the observed time.
    pub per_second: Figure,
    /// Over the reader's edges in it.
    pub per_edge: Option<Figure>,
}

/// What is told of one FIFO. What cannot be known is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FifoReport {
    /// FIFO id.
    pub id: u64,
    /// Its name, of the manifest's table.
    pub name: Option<String>,
    /// Entries of its memory, of the manifest's table.
    pub depth: Option<u64>,
    /// Registers of each synchronizer, of the manifest's table.
    pub stages: Option<u32>,
    /// The unit that writes.
    pub writer: Option<String>,
    /// The unit that reads.
    pub reader: Option<String>,
    /// The writer's clock.
    pub writer_domain: Option<String>,
    /// The reader's clock.
    pub reader_domain: Option<String>,
    /// Packets written.
    pub written: u64,
    /// Packets read into the output register.
    pub read: u64,
    /// Packets consumed.
    pub consumed: u64,
    /// Packets still inside at the end.
    pub inside: u64,
    /// Events of packets whose write is not there, and packets overtaken by a later one.
    pub unmatched: u64,
    /// Time of a hop.
    pub latency: Option<Distribution>,
    /// Edges of the reader's clock after the write, up to and with the consume.
    pub reader_edges: Option<Distribution>,
    /// Edges of the writer's clock after the write, up to and with the consume.
    pub writer_edges: Option<Distribution>,
    /// From the write until the reader's synchronizer shows it.
    pub write_to_visible: Option<Part>,
    /// Until it is read into the output register.
    pub visible_to_read: Option<Part>,
    /// Until it is consumed.
    pub read_to_consume: Option<Part>,
    /// Entries in the memory.
    pub occupancy: Option<Occupancy>,
    /// Packets consumed.
    pub throughput: Option<Throughput>,
    /// Back-pressure: the writer is refused.
    pub full: Option<FlagTime>,
    /// The reader is refused.
    pub empty: Option<FlagTime>,
}

/// A packet inside.
#[derive(Clone, Copy, Debug)]
struct Packet {
    transaction: u64,
    write: u64,
    visible: Option<u64>,
    read: Option<u64>,
}

/// One event of a FIFO.
#[derive(Clone, Copy, Debug)]
pub(super) struct Happening {
    pub(super) role: Role,
    /// Index of the unit.
    pub(super) unit: u32,
    pub(super) cycle: u64,
    pub(super) transaction: u64,
    pub(super) value: u64,
    /// Number of the exact instant.
    pub(super) instant: u64,
}

/// Follows one FIFO.
#[derive(Debug)]
pub(super) struct FifoObserver {
    id: u64,
    index: u32,
    writer: Option<u32>,
    reader: Option<u32>,
    scale: Option<Scale>,
    inside: VecDeque<Packet>,
    /// Number, from the first packet on, of each packet inside by its transaction.
    numbers: HashMap<u64, u64>,
    /// Number of the packet in front.
    front: u64,
    written: u64,
    read: u64,
    consumed: u64,
    unmatched: u64,
    /// Sums of the edges of writes and of reads.
    edge_sums: [u128; 2],
    occupancy: u64,
    occupancy_since: u64,
    max_occupancy: u64,
    full: Flag,
    empty: Flag,
}

impl FifoObserver {
    pub(super) fn new(id: u64, index: u32) -> Self {
        Self {
            id,
            index,
            writer: None,
            reader: None,
            scale: None,
            inside: VecDeque::new(),
            numbers: HashMap::new(),
            front: 0,
            written: 0,
            read: 0,
            consumed: 0,
            unmatched: 0,
            edge_sums: [0; 2],
            occupancy: 0,
            occupancy_since: 0,
            max_occupancy: 0,
            full: Flag::default(),
            empty: Flag::default(),
        }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Packets inside.
    pub(super) fn inside(&self) -> u64 {
        self.inside.len() as u64
    }

    /// The units at both ends, as far as known.
    pub(super) fn ends(&self) -> [Option<u32>; 2] {
        [self.writer, self.reader]
    }

    /// Takes the next event in exact order. A unit at an end that had another is returned.
    pub(super) fn take(
        &mut self,
        event: Happening,
        catalog: &Catalog,
        tally: &mut Tally,
    ) -> Result<Option<u32>, MergeError> {
        let end = if event.role.is_of_writer() { &mut self.writer } else { &mut self.reader };
        match *end {
            None => *end = Some(event.unit),
            Some(other) if other != event.unit => return Ok(Some(other)),
            Some(_) => {}
        }
        match event.role {
            Role::Write => self.write(event),
            Role::Visible => self.mark(event, |packet| &mut packet.visible),
            Role::Read => {
                self.mark(event, |packet| &mut packet.read);
                self.read += 1;
                self.edge_sums[1] += u128::from(event.cycle);
                self.occupy(event.instant, self.occupancy.saturating_sub(1));
            }
            Role::Consume => self.consume(event, catalog, tally)?,
            Role::Full => self.full.change(event.value, event.cycle),
            Role::Empty => self.empty.change(event.value, event.cycle),
            Role::Output => {}
        }
        Ok(None)
    }

    fn write(&mut self, event: Happening) {
        let number = self.front + self.inside.len() as u64;
        let Happening { transaction, cycle, .. } = event;
        self.inside.push_back(Packet { transaction, write: cycle, visible: None, read: None });
        self.numbers.insert(transaction, number);
        self.written += 1;
        self.edge_sums[0] += u128::from(cycle);
        self.occupy(event.instant, self.occupancy + 1);
    }

    fn occupy(&mut self, instant: u64, entries: u64) {
        if self.occupancy_since != instant {
            self.max_occupancy = self.max_occupancy.max(self.occupancy);
            self.occupancy_since = instant;
        }
        self.occupancy = entries;
    }

    fn mark(&mut self, event: Happening, stage: impl FnOnce(&mut Packet) -> &mut Option<u64>) {
        let number = self.numbers.get(&event.transaction).and_then(|number| number.checked_sub(self.front));
        let place = number.and_then(|number| usize::try_from(number).ok());
        match place.and_then(|place| self.inside.get_mut(place)) {
            Some(packet) => *stage(packet) = Some(event.cycle),
            None => self.unmatched += 1,
        }
    }

    fn consume(&mut self, event: Happening, catalog: &Catalog, tally: &mut Tally) -> Result<(), MergeError> {
        self.consumed += 1;
        let Some(number) = self.numbers.remove(&event.transaction) else {
            self.unmatched += 1;
            return Ok(());
        };
        while self.front < number {
            self.leave();
            self.unmatched += 1;
        }
        match self.leave() {
            Some(packet) => self.measure(packet, event.cycle, catalog, tally),
            None => Ok(()),
        }
    }

    fn leave(&mut self) -> Option<Packet> {
        let packet = self.inside.pop_front()?;
        if self.numbers.get(&packet.transaction) == Some(&self.front) {
            self.numbers.remove(&packet.transaction);
        }
        self.front += 1;
        Some(packet)
    }

    fn measure(
        &mut self,
        packet: Packet,
        consume: u64,
        catalog: &Catalog,
        tally: &mut Tally,
    ) -> Result<(), MergeError> {
        let (Some(writer), Some(reader)) = (clock(catalog, self.writer), clock(catalog, self.reader)) else {
            return Ok(());
        };
        let scale = self.scale.get_or_insert_with(|| Scale::new([writer, reader]));
        let index = self.index;
        let mut add = |measure: Measure, value: Ticks| tally.add(measure.distribution(index), value);
        let (Ok(written), Ok(consumed)) = (writer.edge(packet.write), reader.edge(consume)) else {
            return Ok(());
        };
        let from = (0, packet.write);
        add(Measure::Latency, scale.between(from, (1, consume)))?;
        // Edges of the reader up to and with the write: cycle numbers count edges from 0.
        let before = edges_until(reader, &written);
        let after = |cycle: u64| Ticks::from((cycle + 1).saturating_sub(before));
        add(Measure::ReaderEdges, after(consume))?;
        add(Measure::WriterEdges, edges_between(writer, &written, &consumed).into())?;
        if let Some(visible) = packet.visible {
            add(Measure::ToVisible, scale.between(from, (1, visible)))?;
            add(Measure::ToVisibleEdges, after(visible))?;
        }
        if let (Some(visible), Some(read)) = (packet.visible, packet.read) {
            add(Measure::ToReadEdges, read.saturating_sub(visible).into())?;
        }
        if let Some(read) = packet.read {
            add(Measure::ToConsumeEdges, consume.saturating_sub(read).into())?;
        }
        Ok(())
    }

    /// Ticks per second of its times.
    pub(super) fn ticks_per_second(&self) -> BigUint {
        self.scale.as_ref().map_or_else(|| BigUint::from(1u32), |scale| scale.per_second().clone())
    }

    /// What is told of the FIFO, observed from `first` to `last`; `lost` if events of its ends were lost.
    pub(super) fn finish(
        self,
        catalog: &Catalog,
        [first, last]: [&ExactTime; 2],
        lost: bool,
        measured: &mut dyn FnMut(Measure) -> Option<Distribution>,
    ) -> FifoReport {
        let (writer, reader) = (clock(catalog, self.writer), clock(catalog, self.reader));
        let unit = |index: Option<u32>| index.map(|index| catalog.units()[index as usize].name.clone());
        let name = |clock: Option<&ClockDomain>| clock.map(|clock| clock.name().to_owned());
        let in_reader_periods = |edges: Distribution| {
            reader.map(|reader| Part { time: edges.of_period(reader.period().ratio()), edges })
        };
        let to_visible = measured(Measure::ToVisible).zip(measured(Measure::ToVisibleEdges));
        let flag = |flag: &Flag, clock: Option<&ClockDomain>| {
            clock.filter(|_| !lost).map(|clock| flag.finish(clock, first, last))
        };
        FifoReport {
            id: self.id,
            name: None,
            depth: None,
            stages: None,
            writer: unit(self.writer),
            reader: unit(self.reader),
            writer_domain: name(writer),
            reader_domain: name(reader),
            written: self.written,
            read: self.read,
            consumed: self.consumed,
            inside: self.inside(),
            unmatched: self.unmatched,
            latency: measured(Measure::Latency),
            reader_edges: measured(Measure::ReaderEdges),
            writer_edges: measured(Measure::WriterEdges),
            write_to_visible: to_visible.map(|(time, edges)| Part { time, edges }),
            visible_to_read: measured(Measure::ToReadEdges).and_then(in_reader_periods),
            read_to_consume: measured(Measure::ToConsumeEdges).and_then(in_reader_periods),
            occupancy: self.mean_occupancy([writer, reader], first, last).filter(|_| !lost),
            throughput: self.throughput(reader, first, last).filter(|_| !lost),
            full: flag(&self.full, writer),
            empty: flag(&self.empty, reader.filter(|_| self.empty.was_seen())),
        }
    }

    fn throughput(
        &self,
        reader: Option<&ClockDomain>,
        first: &ExactTime,
        last: &ExactTime,
    ) -> Option<Throughput> {
        let consumed = whole(self.consumed);
        let per_second = Figure::quotient(Unit::PerSecond, &consumed, &elapsed(first, last))?;
        let edges = reader.map_or(0, |reader| observed_edges(reader, first, last));
        Some(Throughput { per_second, per_edge: Figure::quotient(Unit::PerEdge, &consumed, &whole(edges)) })
    }

    fn mean_occupancy(
        &self,
        [writer, reader]: [Option<&ClockDomain>; 2],
        first: &ExactTime,
        last: &ExactTime,
    ) -> Option<Occupancy> {
        // Without its writes, or with a packet consumed that was not read, what is inside is not known.
        let left = self.written.checked_sub(self.read)?;
        if self.unmatched > 0 || self.consumed > self.read || writer.is_none() {
            return None;
        }
        // Every read ends what its write began: the sum of times inside is that of the reads' times, less that of
        // the writes', with the last event for what is not read.
        let sum = |clock: Option<&ClockDomain>, count: u64, edges: u128| {
            clock.map_or_else(
                || whole(0u32),
                |clock| {
                    wide(clock.phase().ratio()) * whole(count) + wide(clock.period().ratio()) * whole(edges)
                },
            )
        };
        let ends = sum(reader, self.read, self.edge_sums[1]) + last.to_ratio() * whole(left);
        let begins = sum(writer, self.written, self.edge_sums[0]);
        let inside = if ends > begins { ends - begins } else { whole(0u32) };
        let mean = Figure::quotient(Unit::Entries, &inside, &elapsed(first, last))?;
        Some(Occupancy { mean, max: self.max_occupancy.max(self.occupancy) })
    }
}

fn clock(catalog: &Catalog, unit: Option<u32>) -> Option<&ClockDomain> {
    unit.map(|unit| &catalog.domains()[catalog.units()[unit as usize].domain as usize])
}

/// Edges of `clock` from `first` on, up to and with `last`.
pub(super) fn observed_edges(clock: &ClockDomain, first: &ExactTime, last: &ExactTime) -> u64 {
    let before = clock.edge_at_or_after(first).unwrap_or_else(|_| clock.max_edge().saturating_add(1));
    edges_until(clock, last).saturating_sub(before)
}
