//! What a simulation is made of: units, their ports, and what joins the ports.
//!
//! `topology` collects and checks the graph before start; `fabric` is the state that ticks act on;
//! `tick` is what a unit sees of it. Nothing here decides when a unit ticks.

mod activity;
mod fabric;
mod link;
mod order;
mod payload;
mod ports;
mod tick;
mod topology;
mod topology_error;
mod unit;

pub(crate) use fabric::{Group, StopRequest};
pub use link::{Connection, ConnectionState};
pub(crate) use order::canonical_order;
pub use ports::{Counter, Event, FifoIn, FifoOut, In, Out, Ports, Series, Span};
pub use tick::{StopReason, Tick};
pub use topology::Fifo;
pub(crate) use topology::{Assembly, Topology, counts_nanoseconds};
pub use topology_error::TopologyError;
pub use unit::{Packet, Pipeline, TickResult, Unit, UnitError, WriteError};
