//! A writer and a reader in two clock domains, joined by one FIFO.

use clockweave_simulator::{Fifo, FifoIn, FifoOut, Packet, Simulation, Tick, TickResult, Unit};

use crate::traffic::Traffic;

/// Writes 1, 2, 3, … on the edges on which its traffic is active.
pub(crate) struct Writer {
    out: FifoOut<u64>,
    traffic: Traffic,
    pub(crate) sent: u64,
    /// Edge and value of the last accepted write.
    pub(crate) accepted: Option<(u64, u64)>,
}

impl Unit for Writer {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        let value = self.sent + 1;
        if self.traffic.source(cx.cycle()) && cx.write(&self.out, Packet::new(value, !value)).is_ok() {
            self.sent = value;
            self.accepted = Some((cx.cycle(), value));
        }
        Ok(())
    }
}

/// Takes, then requests, on the edges on which its traffic is active.
pub(crate) struct Reader {
    input: FifoIn<u64>,
    traffic: Traffic,
    /// Edge of the last accepted request; edge and value of the last take.
    pub(crate) requested: Option<u64>,
    pub(crate) taken: Option<(u64, u64)>,
}

impl Unit for Reader {
    fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
        if !self.traffic.sink(cx.cycle()) {
            return Ok(());
        }
        if let Some(packet) = cx.take(&self.input) {
            if packet.data != !packet.transaction_id {
                return Err("the payload belongs to another packet".into());
            }
            self.taken = Some((cx.cycle(), packet.transaction_id));
        }
        if cx.request(&self.input) {
            self.requested = Some(cx.cycle());
        }
        Ok(())
    }
}

/// Two clocks in MHz, the second later by a phase in ps, and a FIFO.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) write_mhz: u64,
    pub(crate) read_mhz: u64,
    pub(crate) phase_ps: u64,
    pub(crate) depth: u32,
    pub(crate) stages: u32,
    pub(crate) traffic: Traffic,
}

impl Pair {
    pub(crate) fn simulation(&self) -> Simulation {
        let traffic = self.traffic;
        let mut sim = Simulation::new();
        sim.add_clock(1, "write", &format!("{}MHz", self.write_mhz)).unwrap();
        let (frequency, phase) = (format!("{}MHz", self.read_mhz), format!("{}ps", self.phase_ps));
        sim.add_clock_with_phase(2, "read", &frequency, &phase).unwrap();
        sim.add_unit("write", "writer", |p| Writer {
            out: p.fifo_out("out"),
            traffic,
            sent: 0,
            accepted: None,
        })
        .unwrap();
        sim.add_unit("read", "reader", |p| Reader {
            input: p.fifo_in("in"),
            traffic,
            requested: None,
            taken: None,
        })
        .unwrap();
        let fifo = Fifo::new(1).depth(self.depth).stages(self.stages);
        sim.add_fifo(fifo, "writer.out", "reader.in").unwrap();
        sim
    }
}
