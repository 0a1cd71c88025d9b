//! The models that scenario files name: their ports and parameters.

use std::path::Path;
use std::sync::Arc;

use clockweave_model::Seconds;

use super::error::{Fault, closest};
use super::fields::{Fields, TIME};
use super::tree::{At, Located};
use crate::Simulation;
use crate::graph::TopologyError;
use crate::machine::{Choices, Machine, MachineUnit, RECORDED, Variant, Workload};
use crate::models::{
    Arbiter, ArbiterOptions, Compute, ComputeOptions, DEFAULT_SEED, Forwarder, ForwarderOptions, Gate,
    Memory, MemoryOptions, Pattern, Policy, Replay, Route, Router, RouterOptions, Sink, SinkOptions, Source,
    SourceOptions, Stages, StagesOptions, TrafficRow, Transactions, Wiring, read_traffic,
};

/// A parameter of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its key.
    pub key: &'static str,
    /// What it means, in which unit, and its default.
    pub meaning: &'static str,
}

/// How many ports of one direction a model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortCount {
    /// At least.
    pub least: usize,
    /// Whether there may be more than one: then `in0`, `in1`, … beside `in`.
    pub many: bool,
}

/// A model as scenario files know it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Model {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Receiving ports; `None` if it has none.
    pub inputs: Option<PortCount>,
    /// Sending ports; `None` if it has none.
    pub outputs: Option<PortCount>,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    read: fn(&Reading<'_>) -> Result<Settings, Located>,
}

/// Where a model's parameters are read.
pub(super) struct Reading<'a> {
    pub(super) fields: Fields<'a>,
    /// Where files are looked for.
    pub(super) dir: &'a Path,
}

/// A model with its parameters.
#[derive(Clone, Debug)]
pub(super) enum Settings {
    Arbiter(ArbiterOptions),
    Compute(ComputeOptions),
    Forwarder(ForwarderOptions),
    Machine(MachineOptions),
    Memory(MemoryOptions),
    Replay(Arc<[TrafficRow]>),
    Router(RouterOptions),
    Sink(SinkOptions),
    Source(SourceOptions),
    Stages(StagesOptions),
}

/// A machine with run queues.
#[derive(Clone, Debug)]
pub(super) struct MachineOptions {
    work: Workload,
    variant: Variant,
    choices: Choices,
}

const ONE: Option<PortCount> = Some(PortCount { least: 1, many: false });
const SOME: Option<PortCount> = Some(PortCount { least: 1, many: true });
const AT_MOST_ONE: Option<PortCount> = Some(PortCount { least: 0, many: false });

macro_rules! parameters {
    ($($key:literal: $meaning:literal),* $(,)?) => {
        &[$(Parameter { key: $key, meaning: $meaning }),*]
    };
}

/// Every model, by name.
const MODELS: &[Model] = &[
    Model {
        name: "arbiter",
        summary: "merges the packets of several inputs, at most one on an edge",
        inputs: SOME,
        outputs: ONE,
        parameters: parameters! {
            "policy": "\"round-robin\" (default) or \"priority\", which prefers the lowest number",
            "every": "acts on local cycles divisible by this; default 1",
        },
        read: |Reading { fields, .. }| {
            let policy = match fields.word("policy", &["round-robin", "priority"])? {
                Some("priority") => Policy::Priority,
                _ => Policy::RoundRobin,
            };
            Ok(Settings::Arbiter(ArbiterOptions { gate: every(fields)?, policy }))
        },
    },
    Model {
        name: "compute",
        summary: "works on every tick and on one packet at a time; both ports may be left out",
        inputs: AT_MOST_ONE,
        outputs: AT_MOST_ONE,
        parameters: parameters! {
            "cycles": "edges that a packet takes; default 1",
            "work": "steps of busy work per tick; default 0",
            "every": "takes and sends on local cycles divisible by this; default 1",
            "tokens": "packets of its own that it sends first; default 0",
            "transactions": "\"keep\" (default) a packet's id, or a \"new\" one: needed where packets go round",
        },
        read: |Reading { fields, .. }| {
            let transactions = match fields.word("transactions", &["keep", "new"])? {
                Some("new") => Transactions::New,
                _ => Transactions::Keep,
            };
            Ok(Settings::Compute(ComputeOptions {
                gate: every(fields)?,
                cycles: fields.integer("cycles", 1..=u64::MAX)?.unwrap_or(1),
                work: work(fields)?,
                tokens: fields.integer("tokens", 0..=u64::MAX)?.unwrap_or(0),
                transactions,
            }))
        },
    },
    Model {
        name: "forwarder",
        summary: "passes packets on, holding at most one",
        inputs: ONE,
        outputs: ONE,
        parameters: parameters! {
            "every": "acts on local cycles divisible by this; default 1",
            "work": "steps of busy work per tick; default 0",
        },
        read: |Reading { fields, .. }| {
            Ok(Settings::Forwarder(ForwarderOptions { gate: every(fields)?, work: work(fields)? }))
        },
    },
    Model {
        name: "memory",
        summary: "answers each request after a latency, in order; `out` may be left out",
        inputs: ONE,
        outputs: AT_MOST_ONE,
        parameters: parameters! {
            "latency": "edges from a request to its answer; default 20",
            "outstanding": "requests worked on at a time; default 8",
        },
        read: |Reading { fields, .. }| {
            let default = MemoryOptions::default();
            let latency = fields.integer("latency", 1..=u64::MAX)?.unwrap_or(default.latency);
            let outstanding = fields.integer("outstanding", 1..=u64::MAX)?.unwrap_or(default.outstanding);
            Ok(Settings::Memory(MemoryOptions { latency, outstanding }))
        },
    },
    Model {
        name: "pipeline",
        summary: "passes packets through a chain of registers",
        inputs: ONE,
        outputs: ONE,
        parameters: parameters! {
            "stages": "registers, each of which takes one edge; default 4",
        },
        read: |Reading { fields, .. }| {
            let default = StagesOptions::default().stages;
            let stages = fields.integer("stages", 1..=65536)?.map_or(default, |stages| stages as u32);
            Ok(Settings::Stages(StagesOptions { stages }))
        },
    },
    Model {
        name: "replay",
        summary: "sends traffic read from a CSV file with the columns cycle and payload",
        inputs: None,
        outputs: ONE,
        parameters: parameters! {
            "file": "the file, relative to the scenario's; the heading is `cycle,payload`",
        },
        read: |Reading { fields, dir }| {
            let file = fields.need_text("file", "the path of a CSV file")?;
            let rows = read_traffic(&dir.join(file));
            let rows = rows.map_err(|error| Located::new(fields.at_key("file"), Fault::Traffic(error)))?;
            Ok(Settings::Replay(rows.into()))
        },
    },
    Model {
        name: "router",
        summary: "sends each packet to one of several outputs",
        inputs: ONE,
        outputs: SOME,
        parameters: parameters! {
            "by": "\"round-robin\" (default), or modulo the number of outputs \"payload\" or \"transaction\"",
            "every": "acts on local cycles divisible by this; default 1",
        },
        read: |Reading { fields, .. }| {
            let by = match fields.word("by", &["round-robin", "payload", "transaction"])? {
                Some("payload") => Route::Payload,
                Some("transaction") => Route::Transaction,
                _ => Route::RoundRobin,
            };
            Ok(Settings::Router(RouterOptions { gate: every(fields)?, by }))
        },
    },
    Model {
        name: "runqueue",
        summary: "a machine whose CPUs schedule threads by run queues, in a domain of 1 GHz",
        inputs: None,
        outputs: None,
        parameters: parameters! {
            "workload": "\"mixed\" (default), \"fairness\", \"interactive\", \"fork-storm\", \"pinned\", \"real-time\" or \"lopsided\"",
            "variant": "\"sound\" (default), or a way to break the machine, as `runqueue explore` knows them",
            "seed": "of the order of what is due at one time; default the order of the CPUs",
            "slice": "a request of either level, in whole nanoseconds; default \"3ms\"",
            "quantum": "the longest turn; default \"1ms\"",
            "latency": "of a message between CPUs, from \"2ns\" on; default \"1us\"",
            "park": "from asking in vain to having left the CPU; default \"1us\"",
        },
        read: read_machine,
    },
    Model {
        name: "sink",
        summary: "takes packets and requests more",
        inputs: SOME,
        outputs: None,
        parameters: parameters! {
            "pattern": "\"continuous\" (default), \"burst\" or \"random\"",
            "every": "active only on local cycles divisible by this; default 1",
            "burst_period": "cycles of one burst period; default 37",
            "burst_from": "first active cycle of a period; default 13",
            "burst_to": "first cycle of a period after the active ones; default the period",
            "seed": "of random traffic; default 0xC10C09141326",
            "stop_after": "requests termination when this many packets are taken; default never",
            "work": "steps of busy work per tick; default 0",
            "sleep": "whether to sleep while there is nothing to take; default false",
        },
        read: |Reading { fields, .. }| {
            let gate = gate(fields, Pattern::SINK_BURST, Pattern::sink_random)?;
            let stop_after = fields.integer("stop_after", 1..=u64::MAX)?;
            let (work, sleep) = (work(fields)?, sleep(fields)?);
            Ok(Settings::Sink(SinkOptions { gate, stop_after, work, sleep }))
        },
    },
    Model {
        name: "source",
        summary: "sends packets 1, 2, 3, … on each of its ports",
        inputs: None,
        outputs: SOME,
        parameters: parameters! {
            "pattern": "\"continuous\" (default), \"burst\" or \"random\"",
            "every": "active only on local cycles divisible by this; default 1",
            "burst_period": "cycles of one burst period; default 29",
            "burst_from": "first active cycle of a period; default 0",
            "burst_to": "first cycle of a period after the active ones; default 11",
            "seed": "of random traffic; default 0xC10C09141326",
            "packets": "packets to send on each port; default unlimited",
            "work": "steps of busy work per tick; default 0",
            "sleep": "whether to sleep while there is nothing to send; default false",
        },
        read: |Reading { fields, .. }| {
            let gate = gate(fields, Pattern::SOURCE_BURST, Pattern::source_random)?;
            let packets = fields.integer("packets", 0..=u64::MAX)?;
            let (work, sleep) = (work(fields)?, sleep(fields)?);
            Ok(Settings::Source(SourceOptions { gate, packets, work, sleep }))
        },
    },
];

/// The models that scenario files name.
pub fn models() -> &'static [Model] {
    MODELS
}

impl Model {
    /// The model of this name.
    pub(super) fn find(name: &str, at: At) -> Result<&'static Self, Located> {
        MODELS.iter().find(|model| model.name == name).ok_or_else(|| {
            Located::new(at, Fault::unknown_name("model", name, MODELS.iter().map(|model| model.name)))
        })
    }

    pub(super) fn read(&self, reading: &Reading<'_>) -> Result<Settings, Located> {
        (self.read)(reading)
    }

    /// Whether the model can have this port.
    pub(super) fn has_port(&self, port: &str, sends: bool) -> bool {
        let (base, count) = if sends { ("out", self.outputs) } else { ("in", self.inputs) };
        let (Some(count), Some(number)) = (count, port.strip_prefix(base)) else { return false };
        number.is_empty() || (count.many && is_number(number))
    }

    /// The ports that the model can have, as errors list them.
    pub(super) fn port_names(&self, sends: bool) -> Vec<&'static str> {
        match (sends, if sends { self.outputs } else { self.inputs }) {
            (_, None) => vec![],
            (true, Some(count)) => {
                if count.many {
                    vec!["out", "out0", "out1", "…"]
                } else {
                    vec!["out"]
                }
            }
            (false, Some(count)) => {
                if count.many {
                    vec!["in", "in0", "in1", "…"]
                } else {
                    vec!["in"]
                }
            }
        }
    }

    /// The first port that the model must have and `ports` lacks.
    pub(super) fn missing_port<'a>(&self, ports: impl Iterator<Item = &'a str>) -> Option<&'static str> {
        let (mut inputs, mut outputs) = (0, 0);
        for port in ports {
            if port.starts_with("in") { inputs += 1 } else { outputs += 1 }
        }
        let lacks = |count: Option<PortCount>, there: usize| count.is_some_and(|count| there < count.least);
        if lacks(self.inputs, inputs) {
            Some("in")
        } else if lacks(self.outputs, outputs) {
            Some("out")
        } else {
            None
        }
    }
}

/// Decimal without leading zeros, at most five digits.
fn is_number(text: &str) -> bool {
    text.len() <= 5 && text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'))
}

impl Settings {
    /// Adds a unit of this model.
    pub(super) fn add(
        &self,
        sim: &mut Simulation,
        domain: &str,
        name: &str,
        wiring: &Wiring,
    ) -> Result<(), TopologyError> {
        match self {
            Self::Arbiter(options) => sim.add_unit(domain, name, |p| Arbiter::new(p, wiring, *options)),
            Self::Compute(options) => sim.add_unit(domain, name, |p| Compute::new(p, wiring, *options)),
            Self::Forwarder(options) => sim.add_unit(domain, name, |p| Forwarder::new(p, wiring, *options)),
            Self::Machine(options) => {
                let MachineOptions { work, variant, choices } = options.clone();
                let machine = Machine::new(work, variant).expect("the workload was checked when it was read");
                sim.add_unit(domain, name, |p| MachineUnit::new(p, machine, choices))
            }
            Self::Memory(options) => sim.add_unit(domain, name, |p| Memory::new(p, wiring, *options)),
            Self::Replay(rows) => sim.add_unit(domain, name, |p| Replay::new(p, wiring, Arc::clone(rows))),
            Self::Router(options) => sim.add_unit(domain, name, |p| Router::new(p, wiring, *options)),
            Self::Sink(options) => sim.add_unit(domain, name, |p| Sink::new(p, wiring, *options)),
            Self::Source(options) => sim.add_unit(domain, name, |p| Source::new(p, wiring, *options)),
            Self::Stages(options) => sim.add_unit(domain, name, |p| Stages::new(p, wiring, *options)),
        }
    }
}

/// A machine of a named workload.
fn read_machine(reading: &Reading<'_>) -> Result<Settings, Located> {
    let fields = &reading.fields;
    let workloads: Vec<&'static str> = RECORDED.iter().map(|known| known.name).collect();
    let name = fields.word("workload", &workloads)?.unwrap_or(workloads[0]);
    let known = RECORDED.iter().find(|known| known.name == name).expect("the word is one of the names");
    let mut work = (known.build)();
    let variants = Variant::ALL.map(|(name, _)| name);
    let variant = fields.word("variant", &variants)?.and_then(Variant::named).unwrap_or_default();
    let choices = match fields.integer("seed", 0..=u64::MAX)? {
        Some(seed) => Choices::random(seed),
        None => Choices::first(),
    };
    let times = [
        ("slice", &mut work.slice),
        ("quantum", &mut work.quantum),
        ("latency", &mut work.latency),
        ("park", &mut work.park),
    ];
    for (key, time) in times {
        *time = nanoseconds(fields, key)?.unwrap_or(*time);
    }
    if let Err(fault) = Machine::new(work.clone(), variant) {
        let key = ["latency", "quantum", "slice", "park"].into_iter().find(|key| fields.get(key).is_some());
        return Err(fields.bad(key.unwrap_or("workload"), format!("a machine that can be: {fault}")));
    }
    Ok(Settings::Machine(MachineOptions { work, variant, choices }))
}

/// A time that is whole nanoseconds.
fn nanoseconds(fields: &Fields<'_>, key: &str) -> Result<Option<u64>, Located> {
    let Some(time) = fields.quantity::<Seconds>(key, TIME)? else { return Ok(None) };
    let (num, den) = (u128::from(*time.ratio().numer()) * 1_000_000_000, u128::from(*time.ratio().denom()));
    let whole = u64::try_from(num / den).ok().filter(|_| num.is_multiple_of(den));
    whole.map(Some).ok_or_else(|| fields.bad(key, "whole nanoseconds, as in \"3ms\""))
}

/// The gate of a model without a pattern.
fn every(fields: &Fields<'_>) -> Result<Gate, Located> {
    Ok(Gate { every: fields.integer("every", 1..=u64::MAX)?.unwrap_or(1), ..Gate::default() })
}

fn work(fields: &Fields<'_>) -> Result<u64, Located> {
    Ok(fields.integer("work", 0..=u64::MAX)?.unwrap_or(0))
}

fn sleep(fields: &Fields<'_>) -> Result<bool, Located> {
    Ok(fields.boolean("sleep")?.unwrap_or(false))
}

/// The traffic of a source or sink; `burst` is its default burst.
fn gate(fields: &Fields<'_>, burst: Pattern, random: fn(u64) -> Pattern) -> Result<Gate, Located> {
    let Pattern::Burst { period, from, to } = burst else { unreachable!("the default burst is a burst") };
    let reaches_end = to == period;
    let period = fields.integer("burst_period", 1..=u64::MAX)?.unwrap_or(period);
    let from = fields.integer("burst_from", 0..=u64::MAX)?.unwrap_or(from);
    let to = match fields.integer("burst_to", 0..=period)? {
        Some(to) => to,
        None if reaches_end => period,
        None => to.min(period),
    };
    let seed = fields.integer("seed", 0..=u64::MAX)?.unwrap_or(DEFAULT_SEED);
    let pattern = match fields.word("pattern", &["continuous", "burst", "random"])? {
        Some("burst") => Pattern::Burst { period, from, to },
        Some("random") => random(seed),
        _ => Pattern::Continuous,
    };
    Ok(Gate { pattern, ..every(fields)? })
}

/// A known port like `port`.
pub(super) fn closest_port(port: &str, model: &Model, sends: bool) -> Option<String> {
    closest(port, model.port_names(sends).into_iter().filter(|name| *name != "…")).map(str::to_owned)
}
