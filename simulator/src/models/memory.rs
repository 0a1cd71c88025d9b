//! A memory that answers after a while.

use std::collections::VecDeque;

use super::port::{Inlet, Outlet, Wiring};
use crate::graph::{Counter, Packet, Ports, Tick, TickResult, Unit};

/// Parameters of a [`Memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryOptions {
    /// Edges from taking a request to offering its answer, at least 1.
    pub latency: u64,
    /// Requests worked on at a time, at least 1.
    pub outstanding: u64,
}

impl Default for MemoryOptions {
    fn default() -> Self {
        Self { latency: 20, outstanding: 8 }
    }
}

/// Takes requests from `in` and answers each after its latency on `out`, with the same transaction
/// and payload, in the order of the requests. Without `out` a request ends after its latency.
///
/// Records the counter `memory.outstanding` whenever it has changed.
#[derive(Debug)]
pub struct Memory {
    inlet: Inlet,
    outlet: Option<Outlet>,
    options: MemoryOptions,
    outstanding: Counter,
    /// Requests with the edge of their answers.
    requests: VecDeque<(u64, Packet<u64>)>,
    answered: u64,
    most: usize,
}

impl Memory {
    /// A memory.
    ///
    /// # Panics
    /// If `wiring` has not `in`, or more than one sending port.
    pub fn new(ports: &mut Ports<'_>, wiring: &Wiring, options: MemoryOptions) -> Self {
        Self {
            inlet: wiring.only_inlet(ports),
            outlet: wiring.optional_outlet(ports),
            options,
            outstanding: ports.counter("memory.outstanding"),
            requests: VecDeque::new(),
            answered: 0,
            most: 0,
        }
    }

    /// Requests answered so far.
    pub fn answered(&self) -> u64 {
        self.answered
    }

    /// The most requests there were at a time.
    pub fn most_outstanding(&self) -> usize {
        self.most
    }

    fn has_room(&self) -> bool {
        (self.requests.len() as u64) < self.options.outstanding
    }
}

impl Unit for Memory {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        let (cycle, before) = (cx.cycle(), self.requests.len());
        if let Some(&(due, packet)) = self.requests.front()
            && due <= cycle
            && self.outlet.is_none_or(|outlet| outlet.send(cx, packet).is_ok())
        {
            self.requests.pop_front();
            self.answered += 1;
        }
        if self.has_room()
            && let Some(packet) = self.inlet.take(cx)
        {
            self.requests.push_back((cycle.saturating_add(self.options.latency), packet));
            self.most = self.most.max(self.requests.len());
        }
        self.inlet.request(cx);
        if self.requests.len() != before {
            cx.counter(self.outstanding, self.requests.len() as u64);
        }
        Ok(())
    }
}
