//! Passes packets on.

use super::port::{Inlet, Outlet, Wiring};
use super::traffic::Gate;
use super::work::Work;
use crate::graph::{Packet, Ports, Tick, TickResult, Unit};

/// Parameters of a [`Forwarder`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForwarderOptions {
    /// When it takes, sends and requests.
    pub gate: Gate,
    /// Steps of busy work per tick.
    pub work: u64,
}

/// Holds at most one packet. On an active edge: if it holds none it takes one from `in`; if it holds
/// one it offers it to `out`; if it then holds none it requests the next one.
#[derive(Debug)]
pub struct Forwarder {
    inlet: Inlet,
    outlet: Outlet,
    options: ForwarderOptions,
    work: Work,
    held: Option<Packet<u64>>,
    forwarded: u64,
}

impl Forwarder {
    /// A forwarder.
    ///
    /// # Panics
    /// If `wiring` has not exactly `in` and `out`.
    pub fn new(ports: &mut Ports<'_>, wiring: &Wiring, options: ForwarderOptions) -> Self {
        let (inlet, outlet) = (wiring.only_inlet(ports), wiring.only_outlet(ports));
        Self { inlet, outlet, options, work: Work::new(options.work), held: None, forwarded: 0 }
    }

    /// Packets passed on so far.
    pub fn forwarded(&self) -> u64 {
        self.forwarded
    }

    /// The packet it holds.
    pub fn held(&self) -> Option<Packet<u64>> {
        self.held
    }

    /// State of the busy work.
    pub fn work(&self) -> u64 {
        self.work.state()
    }
}

impl Unit for Forwarder {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        self.work.run();
        if !self.options.gate.active(cx.cycle()) {
            return Ok(());
        }
        if self.held.is_none() {
            self.held = self.inlet.take(cx);
        }
        if let Some(packet) = self.held.take() {
            match self.outlet.send(cx, packet) {
                Ok(()) => self.forwarded += 1,
                Err(packet) => self.held = Some(packet),
            }
        }
        if self.held.is_none() {
            self.inlet.request(cx);
        }
        Ok(())
    }
}
