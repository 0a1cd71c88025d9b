//! What a unit sees during its tick: its clock, its ports, sleep, observation, and the stop request.
//!
//! A port used by any unit but the one that declared it is a fault of the program; it panics, which
//! stops the run with the unit's name.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;

use clockweave_model::{KindId, Phase};

use super::fabric::{Binding, Fabric, StopRequest};
use super::link::LinkQueue;
use super::ports::{Counter, Event, FifoIn, FifoOut, In, Out, Series, Shape, Span};
use super::unit::{Packet, UnitError, WriteError};

/// Why a unit asks for a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The work is done.
    Completed,
    /// Something is wrong.
    Error,
    /// The state is wanted.
    Checkpoint,
    /// A code of the user's own.
    User(u32),
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed => f.write_str("completed"),
            Self::Error => f.write_str("error"),
            Self::Checkpoint => f.write_str("checkpoint"),
            Self::User(code) => write!(f, "user code {code}"),
        }
    }
}

/// One edge of one unit.
// The state itself, not a reference to it: a unit's every access would go through both.
pub struct Tick<'a> {
    pub(crate) fabric: Fabric,
    edge: PhantomData<&'a mut ()>,
}

const SERIES_BITS: u32 = 40;
/// Where the ids of [`Tick::new_transaction`] begin.
const OWN_TRANSACTIONS: u64 = 1 << 62;

impl Tick<'_> {
    pub(super) fn new(fabric: Fabric) -> Self {
        Self { fabric, edge: PhantomData }
    }

    /// The local cycle: the number of this edge in the unit's domain.
    #[inline]
    pub fn cycle(&self) -> u64 {
        self.fabric.cycle
    }

    /// The unit's path name.
    pub fn unit_name(&self) -> &str {
        self.fabric.unit_name(self.fabric.current)
    }

    #[inline]
    fn binding(&self, port: u32) -> Binding {
        let binding = self.fabric.bindings[port as usize];
        assert!(binding.unit == self.fabric.current, "a unit used a port that another unit declared");
        binding
    }

    #[inline]
    fn target(&self, port: u32) -> usize {
        self.binding(port).target as usize
    }

    // Clock-crossing FIFOs.

    /// Whether the FIFO would accept a packet now.
    #[inline]
    pub fn can_write<T>(&self, port: &FifoOut<T>) -> bool {
        self.fabric.fifos[self.target(port.port)].circuit.can_write()
    }

    /// Offers a packet to the FIFO: at most one an edge is accepted, and none while it is full.
    ///
    /// # Errors
    /// The packet, if it was refused or its transaction id is 0.
    #[inline]
    pub fn write<T: Send + 'static>(
        &mut self,
        port: &FifoOut<T>,
        packet: Packet<T>,
    ) -> Result<(), WriteError<T>> {
        let fifo = self.target(port.port);
        if packet.transaction_id == 0 {
            return Err(WriteError::ZeroTransaction(packet));
        }
        let slot = &mut self.fabric.fifos[fifo];
        if !slot.circuit.write(packet.transaction_id) {
            slot.refusals += 1;
            return Err(WriteError::Refused(packet));
        }
        let pointer = slot.circuit.write_pointer();
        slot.payload.put(pointer, packet.data);
        if !slot.active {
            self.fabric.activate_fifo(fifo);
        }
        Ok(())
    }

    /// Takes the packet in the FIFO's output register, if there is one.
    #[inline]
    pub fn take<T: Send + 'static>(&mut self, port: &FifoIn<T>) -> Option<Packet<T>> {
        let fifo = self.target(port.port);
        let slot = &mut self.fabric.fifos[fifo];
        let id = slot.circuit.take()?;
        if let Some(recording) = self.fabric.recording.as_deref_mut() {
            let (stream, cycle) = (recording.unit_stream(self.fabric.current), self.fabric.cycle);
            recording.record(stream, cycle, KindId::FIFO_CONSUME, id, 0, slot.id, Phase::Evaluate);
        }
        let pointer = slot.circuit.output_pointer();
        Some(Packet::new(id, slot.payload.take(pointer)))
    }

    /// Whether a packet waits in the FIFO's output register.
    #[inline]
    pub fn has_packet<T>(&self, port: &FifoIn<T>) -> bool {
        self.fabric.fifos[self.target(port.port)].circuit.output().is_some()
    }

    /// Requests a read: accepted if the FIFO is not empty, the output register is empty and no read
    /// was accepted on this edge. The packet can be taken from the next edge on.
    #[inline]
    pub fn request<T>(&mut self, port: &FifoIn<T>) -> bool {
        let fifo = self.target(port.port);
        let slot = &mut self.fabric.fifos[fifo];
        let accepted = slot.circuit.request();
        if accepted && !slot.active {
            self.fabric.activate_fifo(fifo);
        }
        accepted
    }

    // Ordinary connections.

    /// Messages that can be sent now: the least room of the port's connections.
    #[inline]
    pub fn room<T>(&self, port: &Out<T>) -> u64 {
        let binding = self.binding(port.port);
        let targets = binding.first as usize..(binding.first + binding.count) as usize;
        let rooms = self.fabric.targets[targets]
            .iter()
            .map(|&t| self.fabric.links[t as usize].room(self.fabric.cycle));
        rooms.min().unwrap_or(0)
    }

    /// Sends a message over all connections of the port, or over none.
    ///
    /// # Errors
    /// The message, if one of the connections has no room.
    #[inline]
    pub fn send<T: Send + 'static>(&mut self, port: &Out<T>, message: T) -> Result<(), T> {
        let binding = self.binding(port.port);
        let (first, count) = (binding.first as usize, binding.count as usize);
        let mut room = true;
        for at in first..first + count {
            let link = &mut self.fabric.links[self.fabric.targets[at] as usize];
            if link.room(self.fabric.cycle) == 0 {
                link.refusals += 1;
                room = false;
            }
        }
        if !room {
            return Err(message);
        }
        let number = self.fabric.units[self.fabric.current as usize].messages;
        self.fabric.units[self.fabric.current as usize].messages += 1;
        for at in first + 1..first + count {
            let link = self.fabric.targets[at] as usize;
            let clone = queue::<T>(&mut self.fabric, link)
                .clone
                .expect("only a fan-out port has several connections");
            self.deliver(link, number, clone(&message));
        }
        self.deliver(self.fabric.targets[first] as usize, number, message);
        Ok(())
    }

    #[inline]
    fn deliver<T: Send + 'static>(&mut self, link: usize, number: u64, message: T) {
        let slot = &mut self.fabric.links[link];
        let visible =
            self.fabric.cycle.checked_add(slot.delay).expect("a message's visible edge fits 64 bits");
        slot.sent(visible, number);
        let consumer = slot.consumer;
        queue::<T>(&mut self.fabric, link).messages.push_back((visible, number, message));
        if visible == self.fabric.cycle {
            self.fabric.wake(consumer);
        } else {
            self.fabric.wake_at(consumer, visible);
        }
    }

    /// The link whose message is received next: by visible edge, producer, order of sending.
    #[inline]
    fn next_link(&self, binding: Binding) -> Option<usize> {
        if binding.count == 1 {
            let visible = self.fabric.links[binding.target as usize].first_visible()?;
            return (visible <= self.fabric.cycle).then_some(binding.target as usize);
        }
        let targets = &self.fabric.targets[binding.first as usize..(binding.first + binding.count) as usize];
        let visible = targets.iter().filter(|&&t| {
            self.fabric.links[t as usize].first_visible().is_some_and(|visible| visible <= self.fabric.cycle)
        });
        visible
            .min_by_key(|&&t| {
                let link = &self.fabric.links[t as usize];
                (link.front.0, link.producer, link.front.1)
            })
            .map(|&t| t as usize)
    }

    /// Receives the next visible message, if there is one.
    #[inline]
    pub fn receive<T: Send + 'static>(&mut self, port: &In<T>) -> Option<T> {
        let link = self.next_link(self.binding(port.port))?;
        let messages = &mut queue::<T>(&mut self.fabric, link).messages;
        let (_, _, message) = messages.pop_front().expect("a visible message is queued");
        let next = messages.front().map(|(visible, number, _)| (*visible, *number));
        self.fabric.links[link].received(self.fabric.cycle, next);
        Some(message)
    }

    /// Whether a message can be received now.
    #[inline]
    pub fn has_message<T>(&self, port: &In<T>) -> bool {
        self.next_link(self.binding(port.port)).is_some()
    }

    // Sleep.

    /// Sleeps until local edge `edge`, or until a FIFO or a message wakes the unit before.
    pub fn sleep_until(&mut self, edge: u64) {
        self.fabric.sleep(self.fabric.current, self.fabric.cycle, edge);
    }

    /// Sleeps until a FIFO or a message wakes the unit.
    pub fn sleep(&mut self) {
        self.fabric.sleep(self.fabric.current, self.fabric.cycle, u64::MAX);
    }

    // Observation.

    /// Whether what is observed is recorded.
    #[inline]
    pub fn is_recorded(&self) -> bool {
        self.fabric.recording.is_some()
    }

    /// Records an event of the unit.
    #[inline]
    pub fn event(&mut self, kind: Event, transaction: u64, value: u64) {
        self.observe(kind.0, Shape::Instant, transaction, value);
    }

    /// Records the level of a counter.
    #[inline]
    pub fn counter(&mut self, kind: Counter, value: u64) {
        self.observe(kind.0, Shape::Counter, 0, value);
    }

    /// Begins a span; its event has value 1.
    #[inline]
    pub fn begin(&mut self, kind: Span, transaction: u64) {
        if self.fabric.recording.is_some() {
            self.fabric.units[self.fabric.current as usize].spans.push(kind.0);
            self.observe(kind.0, Shape::Span, transaction, 1);
        }
    }

    /// Ends the span begun last; its event has value 0.
    ///
    /// # Panics
    /// While recording, if the span begun last is not of this kind.
    #[inline]
    pub fn end(&mut self, kind: Span) {
        if self.fabric.recording.is_some() {
            let open = self.fabric.units[self.fabric.current as usize].spans.pop();
            assert!(
                open == Some(kind.0),
                "a span was ended that is not the one begun last; spans of a unit nest"
            );
            self.observe(kind.0, Shape::Span, 0, 0);
        }
    }

    #[inline]
    fn observe(&mut self, kind: u32, shape: Shape, transaction: u64, value: u64) {
        if let Some(recording) = self.fabric.recording.as_deref_mut() {
            let (id, declared) = self.fabric.kinds[kind as usize];
            assert!(declared == shape, "a kind was used as what it was not declared as");
            let (stream, cycle) = (recording.unit_stream(self.fabric.current), self.fabric.cycle);
            recording.record(stream, cycle, id, transaction, value, 0, Phase::Evaluate);
        }
    }

    // Transactions and stopping.

    /// A transaction id that no other unit gives out: `2^62 + unit rank * 2^40 + 1, + 2, …`.
    ///
    /// # Panics
    /// After 2^40 - 1 of them.
    pub fn new_transaction(&mut self) -> u64 {
        let slot = &mut self.fabric.units[self.fabric.current as usize];
        slot.transactions += 1;
        assert!(slot.transactions >> SERIES_BITS == 0, "a unit gave out 2^40 transaction ids");
        OWN_TRANSACTIONS + ((u64::from(self.fabric.current) + 1) << SERIES_BITS) + slot.transactions
    }

    /// The `number`-th transaction id of a series, from 1.
    ///
    /// # Panics
    /// If `number` is 0 or reaches 2^40.
    #[inline]
    pub fn in_series(&self, series: Series, number: u64) -> u64 {
        assert!(number != 0 && number >> SERIES_BITS == 0, "a series numbers from 1 to 2^40 - 1");
        self.fabric.series[series.0 as usize] + number
    }

    /// Asks for a stop at the end of this batch plus the simulation's margin.
    ///
    /// # Errors
    /// The unit did not declare that it may stop.
    pub fn request_stop(&mut self, reason: StopReason, message: &str) -> Result<(), UnitError> {
        let slot = &self.fabric.units[self.fabric.current as usize];
        if !slot.may_stop {
            return Err(UnitError::from(
                "a stop was requested without the declaration that the unit may stop (`Ports::may_stop`)",
            ));
        }
        let unit = self.fabric.current;
        self.fabric.request_stop(StopRequest { unit, reason, message: message.to_owned() });
        Ok(())
    }
}

#[inline]
fn queue<T: Send + 'static>(fabric: &mut Fabric, link: usize) -> &mut LinkQueue<T> {
    let queue: &mut dyn Any = fabric.queues[link].as_mut();
    queue.downcast_mut().expect("joined ports carry one type")
}
