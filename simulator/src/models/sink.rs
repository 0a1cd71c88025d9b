//! A sink of traffic.

use super::port::{Inlet, Wiring};
use super::traffic::Gate;
use super::work::Work;
use crate::graph::{Packet, Ports, StopReason, Tick, TickResult, Unit};

/// Parameters of a [`Sink`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SinkOptions {
    /// When it takes and requests.
    pub gate: Gate,
    /// Request a stop when this many packets have been taken.
    pub stop_after: Option<u64>,
    /// Steps of busy work per tick.
    pub work: u64,
    /// Sleep while there is nothing to take. Sleep does no work.
    pub sleep: bool,
}

/// On an active edge it takes what has arrived at each of its ports (`in`, `in0`, …) and then
/// requests the next packet.
#[derive(Clone, Debug)]
pub struct Sink {
    inlets: Vec<Inlet>,
    options: SinkOptions,
    work: Work,
    ticks: u64,
    received: u64,
    checksum: u64,
    last: Option<Packet<u64>>,
}

/// The prime of the 64-bit FNV hash.
const FNV_PRIME: u64 = 0x0100_0000_01b3;

impl Sink {
    /// A sink with the receiving ports of `wiring`.
    pub fn new(ports: &mut Ports<'_>, wiring: &Wiring, options: SinkOptions) -> Self {
        if options.stop_after.is_some() {
            ports.may_stop();
        }
        let (inlets, work) = (wiring.inlets(ports), Work::new(options.work));
        Self { inlets, options, work, ticks: 0, received: 0, checksum: 0, last: None }
    }

    /// Packets taken so far.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// `c = (c ^ payload) * 0x100000001b3` over the payloads in the order taken, from 0.
    pub fn checksum(&self) -> u64 {
        self.checksum
    }

    /// The packet taken last.
    pub fn last(&self) -> Option<Packet<u64>> {
        self.last
    }

    /// Ticks so far.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// State of the busy work.
    pub fn work(&self) -> u64 {
        self.work.state()
    }
}

impl Unit for Sink {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        self.ticks += 1;
        self.work.run();
        let cycle = cx.cycle();
        let mut idle = true;
        if self.options.gate.active(cycle) {
            for inlet in &self.inlets {
                if let Some(packet) = inlet.take(cx) {
                    self.received += 1;
                    self.checksum = (self.checksum ^ packet.data).wrapping_mul(FNV_PRIME);
                    self.last = Some(packet);
                    idle = false;
                    if self.options.stop_after == Some(self.received) {
                        cx.request_stop(StopReason::Completed, &format!("{} packets taken", self.received))?;
                    }
                }
                inlet.request(cx);
            }
        }
        if self.options.sleep {
            // With every edge active nothing changes until a packet arrives, which wakes the unit.
            let open = self.options.gate.is_open();
            if !open || idle {
                cx.sleep_until(if open { u64::MAX } else { self.options.gate.next(cycle) });
            }
        }
        Ok(())
    }
}
