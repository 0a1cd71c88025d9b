//! A unit that works: on every tick, and on packets.

use super::port::{Inlet, Outlet, Wiring};
use super::traffic::Gate;
use super::work::Work;
use crate::graph::{Packet, Ports, Series, Span, Tick, TickResult, Unit};

/// Which transaction a result belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transactions {
    /// The packet's own.
    #[default]
    Keep,
    /// A new one of the unit's series: where packets go round, an id must not pass a FIFO twice.
    New,
}

/// Parameters of a [`Compute`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComputeOptions {
    /// When it takes, sends and requests.
    pub gate: Gate,
    /// Edges that a packet takes, at least 1.
    pub cycles: u64,
    /// Steps of busy work per tick.
    pub work: u64,
    /// Packets of its own that it sends before it has received any: what goes round in a ring.
    pub tokens: u64,
    /// Which transaction a result belongs to.
    pub transactions: Transactions,
}

impl Default for ComputeOptions {
    fn default() -> Self {
        let transactions = Transactions::Keep;
        Self { gate: Gate::default(), cycles: 1, work: 0, tokens: 0, transactions }
    }
}

/// Works on every tick, and on one packet at a time: a packet taken from `in` at edge `c` is done at
/// edge `c + cycles` and then sent to `out`, its payload xor the state of the unit's work. Without `out` it
/// ends there; without `in` too the unit only works.
///
/// Records a span `compute.busy` for each packet.
#[derive(Debug)]
pub struct Compute {
    inlet: Option<Inlet>,
    outlet: Option<Outlet>,
    series: Option<Series>,
    options: ComputeOptions,
    busy: Span,
    work: Work,
    ticks: u64,
    /// The packet worked on, and when it is done.
    job: Option<(u64, Packet<u64>)>,
    done: Option<Packet<u64>>,
    /// Transactions of its own series so far.
    created: u64,
    tokens: u64,
    received: u64,
    sent: u64,
}

impl Compute {
    /// A compute unit.
    ///
    /// # Panics
    /// If `wiring` has more than one port of a direction.
    pub fn new(ports: &mut Ports<'_>, wiring: &Wiring, options: ComputeOptions) -> Self {
        let creates = options.tokens > 0 || options.transactions == Transactions::New;
        Self {
            inlet: wiring.optional_inlet(ports),
            outlet: wiring.optional_outlet(ports),
            series: creates.then(|| ports.series()),
            options,
            busy: ports.span("compute.busy"),
            work: Work::new(options.work),
            ticks: 0,
            job: None,
            done: None,
            created: 0,
            tokens: 0,
            received: 0,
            sent: 0,
        }
    }

    /// Packets taken so far.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Packets sent so far, or ended where there is no `out`.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Ticks so far.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// State of the busy work.
    pub fn work(&self) -> u64 {
        self.work.state()
    }

    /// A packet of the unit's own series.
    fn create(&mut self, cx: &Tick<'_>, data: u64) -> Packet<u64> {
        self.created += 1;
        let series = self.series.expect("a unit that creates packets declared a series");
        Packet::new(cx.in_series(series, self.created), data)
    }

    fn finish(&mut self, cx: &mut Tick<'_>, packet: Packet<u64>) {
        cx.end(self.busy);
        let data = packet.data ^ self.work.state();
        self.done = Some(match self.options.transactions {
            Transactions::Keep => Packet::new(packet.transaction_id, data),
            Transactions::New => self.create(cx, data),
        });
    }

    fn send(&mut self, cx: &mut Tick<'_>) {
        if self.done.is_none() && self.tokens < self.options.tokens {
            self.tokens += 1;
            self.done = Some(self.create(cx, self.tokens));
        }
        if let Some(packet) = self.done.take() {
            self.done = self.outlet.and_then(|outlet| outlet.send(cx, packet).err());
            self.sent += u64::from(self.done.is_none());
        }
    }
}

impl Unit for Compute {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        self.ticks += 1;
        self.work.run();
        let cycle = cx.cycle();
        if let Some((due, packet)) = self.job
            && due <= cycle
            && self.done.is_none()
        {
            self.job = None;
            self.finish(cx, packet);
        }
        if !self.options.gate.active(cycle) {
            return Ok(());
        }
        self.send(cx);
        let Some(inlet) = self.inlet else { return Ok(()) };
        if self.job.is_none()
            && let Some(packet) = inlet.take(cx)
        {
            self.received += 1;
            cx.begin(self.busy, packet.transaction_id);
            self.job = Some((cycle.saturating_add(self.options.cycles), packet));
        }
        inlet.request(cx);
        Ok(())
    }
}
