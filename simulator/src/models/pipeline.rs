//! A pipeline of registers.

use super::port::{Inlet, Outlet, Wiring};
use crate::graph::{Packet, Pipeline, Ports, Tick, TickResult, Unit};

/// Parameters of a [`Stages`] unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StagesOptions {
    /// Registers that a packet passes, at least 1.
    pub stages: u32,
}

impl Default for StagesOptions {
    fn default() -> Self {
        Self { stages: 4 }
    }
}

/// Passes packets from `in` to `out` through a chain of registers: a packet taken at edge `c` is
/// offered to `out` at edge `c + stages`, and one packet can enter on every edge. While the packet at
/// the end is refused, the whole chain holds.
#[derive(Debug)]
pub struct Stages {
    inlet: Inlet,
    outlet: Outlet,
    registers: Pipeline<Option<Packet<u64>>>,
    last: usize,
    passed: u64,
    held_edges: u64,
}

impl Stages {
    /// A pipeline.
    ///
    /// # Panics
    /// If there are no stages, or `wiring` has not exactly `in` and `out`.
    pub fn new(ports: &mut Ports<'_>, wiring: &Wiring, options: StagesOptions) -> Self {
        let (inlet, outlet) = (wiring.only_inlet(ports), wiring.only_outlet(ports));
        let stages = options.stages as usize;
        assert!(stages > 0, "a pipeline has at least one stage");
        let registers = Pipeline::new(stages, None);
        Self { inlet, outlet, registers, last: stages - 1, passed: 0, held_edges: 0 }
    }

    /// Packets that left the pipeline.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// Edges on which the chain held.
    pub fn held_edges(&self) -> u64 {
        self.held_edges
    }
}

impl Unit for Stages {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        let registers = self.registers.edge(cx.cycle());
        if let Some(packet) = *registers.read(self.last) {
            if self.outlet.send(cx, packet).is_err() {
                self.held_edges += 1;
                return Ok(());
            }
            self.passed += 1;
        }
        for stage in 1..=self.last {
            let packet = *registers.read(stage - 1);
            registers.write(stage, packet);
        }
        registers.write(0, self.inlet.take(cx));
        self.inlet.request(cx);
        Ok(())
    }
}
