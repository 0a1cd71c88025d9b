//! Ready-made units: traffic and the small parts of a system, for scenario files and for quick
//! experiments.
//!
//! All of them carry `u64` payloads. A port of a model may be joined by a clock-crossing FIFO or by
//! an ordinary connection; a [`Wiring`] says which ports a unit has and how each is joined. Over a
//! connection a model sends the whole packet, so that a transaction keeps its id everywhere.
//!
//! Ports are named `in` and `out`; models with several also take `in0`, `in1`, … and `out0`, `out1`, …
//!
//! The models do not know scenario files.
//!
//! ```
//! use clockweave_simulator::models::{Joint, Sink, SinkOptions, Source, SourceOptions, Wiring};
//! use clockweave_simulator::{Fifo, Simulation};
//!
//! let mut sim = Simulation::new();
//! sim.add_clock(1, "sm", "914MHz")?;
//! sim.add_clock(2, "lts", "1326MHz")?;
//! let (out, input) = (Wiring::new([("out", Joint::Fifo)]), Wiring::new([("in", Joint::Fifo)]));
//! sim.add_unit("sm", "producer", |p| Source::new(p, &out, SourceOptions::default()))?;
//! sim.add_unit("lts", "consumer", |p| Sink::new(p, &input, SinkOptions::default()))?;
//! sim.add_fifo(Fifo::new(1), "producer.out", "consumer.in")?;
//! sim.run_batches(1000)?;
//! let state = sim.inspect().unwrap();
//! assert!(state.unit::<Sink>("consumer").unwrap().received() > 400);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arbiter;
mod compute;
mod forwarder;
mod memory;
mod pipeline;
mod port;
mod replay;
mod router;
mod sink;
mod source;
mod traffic;
mod work;

pub use arbiter::{Arbiter, ArbiterOptions, Policy};
pub use compute::{Compute, ComputeOptions, Transactions};
pub use forwarder::{Forwarder, ForwarderOptions};
pub use memory::{Memory, MemoryOptions};
pub use pipeline::{Stages, StagesOptions};
pub use port::{Inlet, Joint, Outlet, Wiring};
pub use replay::{Replay, TrafficError, TrafficRow, read_traffic};
pub use router::{Route, Router, RouterOptions};
pub use sink::{Sink, SinkOptions};
pub use source::{Source, SourceOptions};
pub use traffic::{DEFAULT_SEED, Gate, Pattern, splitmix64};
pub use work::Work;
