//! Scenario files: a simulation, its recording and its run, described in TOML.
//!
//! ```
//! use clockweave_simulator::scenario::Scenario;
//!
//! let scenario = Scenario::parse(r#"
//!     run_id = "hello"
//!
//!     [domains.sm]
//!     id = 1
//!     frequency = "914MHz"
//!
//!     [domains.lts]
//!     id = 2
//!     frequency = "1326MHz"
//!     phase = "137ps"
//!
//!     [units.producer]
//!     model = "source"
//!     domain = "sm"
//!
//!     [units.consumer]
//!     model = "sink"
//!     domain = "lts"
//!
//!     [fifos.1]
//!     from = "producer.out"
//!     to = "consumer.in"
//!
//!     [run]
//!     batches = 1000
//! "#, "hello.toml")?;
//! let mut sim = scenario.build(None)?;
//! let summary = scenario.run(&mut sim, |_| {})?;
//! assert_eq!(summary.batches, 1000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Keys
//!
//! | key | meaning |
//! | --- | --- |
//! | `run_id` | names the run; letters, digits, `.`, `_`, `-` |
//! | `default_frequency` | of the implicit domain of a scenario without `domains`; default 1 GHz |
//! | `domains.NAME` | `id`, `frequency` or `period`, `phase` (default 0) |
//! | `units.NAME` | `model`, `domain`, and the model's parameters; see [`models`] |
//! | `fifos.ID` | `from`, `to` (as `unit.port`), `depth` (default 16), `stages` (default 2), `name` |
//! | `connections` | a list of `from`, `to`, `delay` in edges (default 1), `capacity` in messages (default `delay + 1`) |
//! | `generate` | instead of all these, a simulation of many units by a few numbers; see below |
//! | `record` | `text`, `perfetto` (default true), `compress`, `args`, `view`, `checkpoint_interval`, `rotate_events`, `flush_interval` (of host time), `open_records`, `lossy` (default false), `ring_capacity` (of a lossy run) |
//! | `run` | the limit: `batches`, `time` or `cycles`; `stop_margin`, `drain` and `segment` in batches |
//!
//! `generate` has a `shape` and its numbers, all with defaults:
//!
//! | shape | units | numbers |
//! | --- | --- | --- |
//! | `pairs` | `pairP.producer` in domain `2P mod D`, `pairP.consumer` in domain `2P + 1 mod D` | `pairs`, `lanes`: FIFOs of a pair, `skew`: pair 0 works so many times as much |
//! | `fanin` | `producerP` in domain `P mod D`, `consumer` in domain 0 | `producers`, `lanes` |
//! | `ring` | `nodeN` in domain `N mod D` | `nodes`, `tokens`: packets that each starts with |
//!
//! and `domains` (D), `clocks`, `work` (steps per tick), `activity` (traffic on local cycles divisible by
//! it), `depth`, `stages`. Domain `i` is named `clk` and its number, has id `i + 1` and a frequency by
//! `clocks`: `staggered` 250 MHz · 2^(i mod 4) with phase 37 ps · i, `coincident` the same with phase 0,
//! `coprime` (914 + 37 i) MHz with phase 0.
//!
//! # Models
//!
//! | model | ports | parameters |
//! | --- | --- | --- |
//! | `source` | `out`, `out0`, … | `pattern`, `burst_period`, `burst_from`, `burst_to`, `seed`, `every`, `packets`, `work`, `sleep` |
//! | `sink` | `in`, `in0`, … | `pattern`, `burst_period`, `burst_from`, `burst_to`, `seed`, `every`, `stop_after`, `work`, `sleep` |
//! | `forwarder` | `in`, `out` | `every`, `work` |
//! | `router` | `in`, `out0`, … | `by`, `every` |
//! | `arbiter` | `in0`, …, `out` | `policy`, `every` |
//! | `pipeline` | `in`, `out` | `stages` |
//! | `memory` | `in`, `out` if wanted | `latency`, `outstanding` |
//! | `compute` | `in` and `out` if wanted | `cycles`, `work`, `every`, `tokens`, `transactions` |
//! | `replay` | `out` | `file` |
//! | `runqueue` | none | `workload`, `variant`, `seed`, `slice`, `quantum`, `latency`, `park` |
//!
//! [`models`] gives each parameter's meaning and default; what a model does is documented in
//! [`crate::models`].
//!
//! A port is what it is joined by: the same model works over a FIFO and over a connection.
//! `drain = N` lets the FIFOs drain after the run, in at most `N` batches. `segment = N` cuts the run
//! into calls of `N` of what its limit counts, which changes nothing in the result.

mod builtin;
mod error;
mod fields;
mod joins;
mod model;
mod parts;
mod plan;
mod run;
mod settings;
mod shape;
mod tree;

pub use builtin::{Builtin, builtin, builtins, closest_builtin};
pub use error::{Fault, Place, ScenarioError};
pub use model::{Model, Parameter, PortCount, models};
pub use plan::Scenario;
pub use run::{Progress, RunSummary};
pub use settings::{Limit, RecordSettings};
