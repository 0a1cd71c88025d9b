//! Sends packets different ways.

use super::port::{Inlet, Outlet, Wiring};
use super::traffic::Gate;
use crate::graph::{Packet, Ports, Tick, TickResult, Unit};

/// What decides a packet's way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Route {
    /// The next output after the last packet's.
    #[default]
    RoundRobin,
    /// The payload modulo the number of outputs.
    Payload,
    /// The transaction id modulo the number of outputs.
    Transaction,
}

/// Parameters of a [`Router`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouterOptions {
    /// When it takes, sends and requests.
    pub gate: Gate,
    /// What decides a packet's way.
    pub by: Route,
}

/// Takes packets from `in`, holding at most one, and sends each to one of its outputs (`out`, `out0`,
/// …). A packet whose output refuses it blocks those behind it.
#[derive(Debug)]
pub struct Router {
    inlet: Inlet,
    outlets: Vec<Outlet>,
    options: RouterOptions,
    held: Option<(usize, Packet<u64>)>,
    next: usize,
    routed: Vec<u64>,
}

impl Router {
    /// A router to the sending ports of `wiring`.
    ///
    /// # Panics
    /// If `wiring` has not `in` and at least one sending port.
    pub fn new(ports: &mut Ports<'_>, wiring: &Wiring, options: RouterOptions) -> Self {
        let (inlet, outlets) = (wiring.only_inlet(ports), wiring.outlets(ports));
        assert!(!outlets.is_empty(), "a router has at least one sending port");
        let routed = vec![0; outlets.len()];
        Self { inlet, outlets, options, held: None, next: 0, routed }
    }

    /// Packets sent to each output, by number.
    pub fn routed(&self) -> &[u64] {
        &self.routed
    }

    fn way(&mut self, packet: &Packet<u64>) -> usize {
        let count = self.outlets.len() as u64;
        match self.options.by {
            Route::RoundRobin => {
                let way = self.next;
                self.next = (way + 1) % self.outlets.len();
                way
            }
            Route::Payload => (packet.data % count) as usize,
            Route::Transaction => (packet.transaction_id % count) as usize,
        }
    }
}

impl Unit for Router {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        if !self.options.gate.active(cx.cycle()) {
            return Ok(());
        }
        if self.held.is_none()
            && let Some(packet) = self.inlet.take(cx)
        {
            self.held = Some((self.way(&packet), packet));
        }
        if let Some((way, packet)) = self.held.take() {
            match self.outlets[way].send(cx, packet) {
                Ok(()) => self.routed[way] += 1,
                Err(packet) => self.held = Some((way, packet)),
            }
        }
        if self.held.is_none() {
            self.inlet.request(cx);
        }
        Ok(())
    }
}
