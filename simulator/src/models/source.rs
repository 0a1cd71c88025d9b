//! A source of traffic.

use super::port::{Outlet, Wiring};
use super::traffic::Gate;
use super::work::Work;
use crate::graph::{Packet, Ports, Series, Tick, TickResult, Unit};

/// Parameters of a [`Source`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceOptions {
    /// When it sends.
    pub gate: Gate,
    /// Packets to send on each port; unlimited unless given.
    pub packets: Option<u64>,
    /// Steps of busy work per tick.
    pub work: u64,
    /// Sleep while there is nothing to send. Sleep does no work.
    pub sleep: bool,
}

#[derive(Debug)]
struct Lane {
    outlet: Outlet,
    series: Series,
    sent: u64,
}

/// Sends 1, 2, 3, … on each of its ports (`out`, `out0`, …): on an active edge the next one if it is
/// accepted, else it keeps it. Each port numbers its transactions by a series of its own.
#[derive(Debug)]
pub struct Source {
    lanes: Vec<Lane>,
    options: SourceOptions,
    /// Packets to send on each port.
    last: u64,
    work: Work,
    ticks: u64,
}

impl Source {
    /// A source with the sending ports of `wiring`.
    pub fn new(ports: &mut Ports<'_>, wiring: &Wiring, options: SourceOptions) -> Self {
        let outlets = wiring.outlets(ports);
        let lanes =
            outlets.into_iter().map(|outlet| Lane { outlet, series: ports.series(), sent: 0 }).collect();
        let last = options.packets.unwrap_or(u64::MAX);
        Self { lanes, options, last, work: Work::new(options.work), ticks: 0 }
    }

    /// Packets accepted so far, over all ports.
    pub fn sent(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.sent).sum()
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

impl Unit for Source {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        self.ticks += 1;
        self.work.run();
        let cycle = cx.cycle();
        if self.options.gate.active(cycle) {
            for lane in self.lanes.iter_mut().filter(|lane| lane.sent < self.last) {
                let count = lane.sent + 1;
                let packet = Packet::new(cx.in_series(lane.series, count), count);
                if lane.outlet.send(cx, packet).is_ok() {
                    lane.sent = count;
                }
            }
        }
        if self.options.sleep {
            let left = self.lanes.iter().any(|lane| lane.sent < self.last);
            cx.sleep_until(if left { self.options.gate.next(cycle) } else { u64::MAX });
        }
        Ok(())
    }
}
