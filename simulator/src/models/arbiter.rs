//! Merges the packets of several inputs.

use super::port::{Inlet, Outlet, Wiring};
use super::traffic::Gate;
use crate::graph::{Packet, Ports, Tick, TickResult, Unit};

/// Which input goes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// The one after the input served last.
    #[default]
    RoundRobin,
    /// The lowest number.
    Priority,
}

/// Parameters of an [`Arbiter`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArbiterOptions {
    /// When it takes, sends and requests.
    pub gate: Gate,
    /// Which input goes first.
    pub policy: Policy,
}

/// Sends the packets of its inputs (`in`, `in0`, …) to `out`: at most one on an edge. Every input that
/// is a FIFO is requested on every active edge, so that its output register is full when its turn
/// comes.
#[derive(Debug)]
pub struct Arbiter {
    inlets: Vec<Inlet>,
    outlet: Outlet,
    options: ArbiterOptions,
    held: Option<Packet<u64>>,
    first: usize,
    granted: Vec<u64>,
}

impl Arbiter {
    /// An arbiter of the receiving ports of `wiring`.
    ///
    /// # Panics
    /// If `wiring` has not `out` and at least one receiving port.
    pub fn new(ports: &mut Ports<'_>, wiring: &Wiring, options: ArbiterOptions) -> Self {
        let (inlets, outlet) = (wiring.inlets(ports), wiring.only_outlet(ports));
        assert!(!inlets.is_empty(), "an arbiter has at least one receiving port");
        let granted = vec![0; inlets.len()];
        Self { inlets, outlet, options, held: None, first: 0, granted }
    }

    /// Packets taken from each input, by number.
    pub fn granted(&self) -> &[u64] {
        &self.granted
    }

    fn take(&mut self, cx: &mut Tick<'_>) -> Option<Packet<u64>> {
        let (count, first) = (self.inlets.len(), self.first);
        (0..count).map(|offset| (first + offset) % count).find_map(|at| {
            let packet = self.inlets[at].take(cx)?;
            self.granted[at] += 1;
            if self.options.policy == Policy::RoundRobin {
                self.first = (at + 1) % count;
            }
            Some(packet)
        })
    }
}

impl Unit for Arbiter {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        if !self.options.gate.active(cx.cycle()) {
            return Ok(());
        }
        if self.held.is_none() {
            self.held = self.take(cx);
        }
        if let Some(packet) = self.held.take() {
            self.held = self.outlet.send(cx, packet).err();
        }
        for inlet in &self.inlets {
            inlet.request(cx);
        }
        Ok(())
    }
}
