//! Cycle-based simulation of systems with several clocks.
//!
//! Units tick on the edges of their clock domain, in exact rational time. Units of one domain are
//! joined by ordinary connections; the only way into another domain is a clock-crossing FIFO,
//! simulated register by register. A run can be recorded as a Perfetto trace and text logs.
//!
//! # Example
//!
//! A producer at 914 MHz and a consumer at 1326 MHz:
//!
//! ```
//! use clockweave_simulator::{Fifo, FifoIn, FifoOut, Packet, Simulation, Tick, TickResult, Unit};
//!
//! struct Producer { out: FifoOut<u64>, sent: u64 }
//!
//! impl Unit for Producer {
//!     fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
//!         let packet = Packet::new(self.sent + 1, self.sent);
//!         if cx.write(&self.out, packet).is_ok() { self.sent += 1; }
//!         Ok(())
//!     }
//! }
//!
//! struct Consumer { input: FifoIn<u64>, sum: u64 }
//!
//! impl Unit for Consumer {
//!     fn tick(&mut self, cx: &mut Tick<'_>) -> TickResult {
//!         if let Some(packet) = cx.take(&self.input) { self.sum += packet.data; }
//!         cx.request(&self.input);
//!         Ok(())
//!     }
//! }
//!
//! let mut sim = Simulation::new();
//! sim.add_clock(1, "sm", "914MHz")?;
//! sim.add_clock_with_phase(2, "lts", "1326MHz", "137ps")?;
//! sim.add_unit("sm", "producer", |p| Producer { out: p.fifo_out("out"), sent: 0 })?;
//! sim.add_unit("lts", "consumer", |p| Consumer { input: p.fifo_in("in"), sum: 0 })?;
//! sim.add_fifo(Fifo::new(1).depth(16).stages(2), "producer.out", "consumer.in")?;
//! sim.run_batches(10_000)?;
//! let state = sim.inspect().unwrap();
//! assert!(state.fifo(1).unwrap().reads > 1000);
//! assert!(state.unit::<Consumer>("consumer").unwrap().sum > 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(clippy::float_arithmetic)]

pub mod circuit;
mod clock;
mod graph;
pub mod machine;
pub mod models;
mod observe;
pub mod scenario;
mod sched;

pub use clockweave_model::{ClockDomain, ExactTime, Frequency, Seconds};
pub use graph::{
    Connection, ConnectionState, Counter, Event, Fifo, FifoIn, FifoOut, In, Out, Packet, Pipeline, Ports,
    Series, Span, StopReason, Tick, TickResult, TopologyError, Unit, UnitError, WriteError,
};
pub use observe::{ArgsEncoding, Compression, RecordError, RecordingOptions, Stats, View};
pub use sched::{
    Inspection, RunError, RunReport, RunStatus, Simulation, StopHandle, Termination, TerminationReason,
    UnitPlace,
};
