//! Ordinary connections: typed, bounded, delayed by whole edges of one domain.
//!
//! # Invariants
//!
//! * A message sent at edge `n` is visible from edge `n + delay` on, and occupies capacity until it
//!   is received; room freed at edge `m` counts from edge `m + 1` on, whatever the order of ticks.
//! * Visible edges do not decrease along a queue, so its front is its earliest.

use std::any::Any;
use std::collections::VecDeque;

/// Most messages a connection may be given room for.
pub(super) const MAX_CAPACITY: u64 = 1 << 32;

/// How two ports of one domain are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    pub(super) delay: u64,
    pub(super) capacity: u64,
}

impl Connection {
    /// A connection whose messages arrive `delay` edges after they were sent; 0 is a combinational
    /// path. The capacity is `delay + 1` messages unless set, at most 2^32: room freed on
    /// an edge counts from the next one on, so that one send an edge never waits for the wire itself.
    pub fn delayed(delay: u64) -> Self {
        Self { delay, capacity: delay.saturating_add(1).min(MAX_CAPACITY) }
    }

    /// Sets the capacity in messages, at least 1.
    #[must_use]
    pub fn capacity(mut self, messages: u64) -> Self {
        self.capacity = messages;
        self
    }
}

/// Counters of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionState {
    /// Sending port, as `unit.port`.
    pub from: String,
    /// Receiving port.
    pub to: String,
    /// Messages sent and not yet received.
    pub held: u64,
    /// Messages accepted.
    pub sends: u64,
    /// Sends refused for want of room here.
    pub refusals: u64,
    /// Messages received.
    pub receives: u64,
}

/// The untyped half of a connection.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) delay: u64,
    pub(super) capacity: u64,
    pub(super) producer: u32,
    pub(super) consumer: u32,
    pub(super) held: u64,
    /// Receives made on edge `freed_at`.
    pub(super) freed: u64,
    pub(super) freed_at: u64,
    /// Visible edge and number within the producer of the first message, if `held > 0`.
    pub(super) front: (u64, u64),
    pub(super) sends: u64,
    pub(super) refusals: u64,
    pub(super) receives: u64,
}

impl Link {
    pub(super) fn new(connection: Connection, producer: u32, consumer: u32) -> Self {
        Self {
            delay: connection.delay,
            capacity: connection.capacity,
            producer,
            consumer,
            held: 0,
            freed: 0,
            freed_at: 0,
            front: (0, 0),
            sends: 0,
            refusals: 0,
            receives: 0,
        }
    }

    /// Messages that may be sent at edge `cycle`.
    #[inline]
    pub(super) fn room(&self, cycle: u64) -> u64 {
        let freed = if self.freed_at == cycle { self.freed } else { 0 };
        self.capacity - self.held - freed
    }

    #[inline]
    pub(super) fn sent(&mut self, visible: u64, number: u64) {
        if self.held == 0 {
            self.front = (visible, number);
        }
        self.held += 1;
        self.sends += 1;
    }

    #[inline]
    pub(super) fn received(&mut self, cycle: u64, next: Option<(u64, u64)>) {
        if self.freed_at != cycle {
            (self.freed, self.freed_at) = (0, cycle);
        }
        self.freed += 1;
        self.held -= 1;
        self.receives += 1;
        if let Some(front) = next {
            self.front = front;
        }
    }

    /// The visible edge of the first message.
    #[inline]
    pub(super) fn first_visible(&self) -> Option<u64> {
        (self.held > 0).then_some(self.front.0)
    }
}

/// The typed half of a connection: messages with visible edge and number within the producer.
pub(super) struct LinkQueue<T> {
    pub(super) messages: VecDeque<(u64, u64, T)>,
    pub(super) clone: Option<fn(&T) -> T>,
}

impl<T> LinkQueue<T> {
    pub(super) fn new(clone: Option<fn(&T) -> T>) -> Self {
        Self { messages: VecDeque::new(), clone }
    }
}

/// What is known of a queue without the type of its messages.
pub(super) trait Messages: Any + Send {
    /// The first visible edge after `cycle`, whatever was left lying before.
    fn next_visible(&self, cycle: u64) -> Option<u64>;
}

impl<T: Send + 'static> Messages for LinkQueue<T> {
    fn next_visible(&self, cycle: u64) -> Option<u64> {
        let lying = self.messages.partition_point(|(visible, _, _)| *visible <= cycle);
        self.messages.get(lying).map(|(visible, _, _)| *visible)
    }
}
