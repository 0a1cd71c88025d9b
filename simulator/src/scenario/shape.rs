//! Simulations described by a few numbers: the `generate` table.
//!
//! The shapes are those that performance is measured with; their names, domains and FIFO ids follow
//! from the numbers alone.

use clockweave_model::{ClockDomain, ClockDomains, Frequency, Seconds};

use super::fields::Fields;
use super::joins::{End, FifoPlan};
use super::model::Settings;
use super::parts::UnitPlan;
use super::tree::{At, Located, Node};
use crate::graph::Fifo;
use crate::models::{ComputeOptions, Gate, Joint, SinkOptions, SourceOptions, Transactions, Wiring};

/// What a shape consists of.
pub(super) struct Generated {
    pub(super) domains: ClockDomains,
    pub(super) units: Vec<UnitPlan>,
    pub(super) fifos: Vec<FifoPlan>,
}

/// Units, and FIFOs, that a shape may have.
const MOST: u64 = 1 << 20;
/// Clock domains that a shape may have.
const MOST_DOMAINS: u64 = 1 << 16;

struct Shape<'a> {
    fields: Fields<'a>,
    at: At,
    domain_count: u64,
    work: u64,
    gate: Gate,
    depth: u32,
    stages: u32,
    generated: Generated,
}

/// Reads a `generate` table and makes what it describes.
pub(super) fn generate(node: &Node) -> Result<Generated, Located> {
    let table = Fields::table(node, "`generate`")?;
    const COMMON: [&str; 7] = ["shape", "domains", "clocks", "work", "activity", "depth", "stages"];
    let keys = |more: &[&'static str]| [&COMMON[..], more].concat();
    let all = keys(&["pairs", "lanes", "skew", "nodes", "tokens", "producers"]);
    let fields = Fields::new(table, node.at, "`generate`", &all)?;
    const SHAPES: [&str; 3] = ["pairs", "ring", "fanin"];
    let shape = fields.word("shape", &SHAPES)?;
    let Some(shape) = shape else {
        return Err(fields.missing("shape", format!("one of \"{}\"", SHAPES.join("\", \""))));
    };
    let (owner, own) = match shape {
        "pairs" => ("`generate` (shape \"pairs\")", keys(&["pairs", "lanes", "skew"])),
        "ring" => ("`generate` (shape \"ring\")", keys(&["nodes", "tokens"])),
        _ => ("`generate` (shape \"fanin\")", keys(&["producers", "lanes"])),
    };
    let fields = Fields::new(table, node.at, owner, &own)?;
    let mut made = Shape::new(fields, node.at)?;
    match shape {
        "pairs" => made.pairs()?,
        "ring" => made.ring()?,
        _ => made.fanin()?,
    }
    Ok(made.generated)
}

impl<'a> Shape<'a> {
    fn new(fields: Fields<'a>, at: At) -> Result<Self, Located> {
        let domain_count = fields.integer("domains", 1..=MOST_DOMAINS)?.unwrap_or(2);
        let clocks = fields.word("clocks", &["staggered", "coincident", "coprime"])?.unwrap_or("staggered");
        let (depth, stages) = super::joins::read_circuit(&fields)?;
        let mut domains = ClockDomains::new();
        for index in 0..domain_count {
            let domain = clock(clocks, index);
            domains.insert(domain).map_err(|error| Located::new(at, error))?;
        }
        Ok(Self {
            fields,
            at,
            domain_count,
            work: fields.integer("work", 0..=u64::MAX)?.unwrap_or(0),
            gate: Gate { every: fields.integer("activity", 1..=u64::MAX)?.unwrap_or(1), ..Gate::default() },
            depth,
            stages,
            generated: Generated { domains, units: Vec::new(), fifos: Vec::new() },
        })
    }

    /// `pairs` sources, each with a sink of its own, joined by `lanes` FIFOs.
    fn pairs(&mut self) -> Result<(), Located> {
        let pairs = self.fields.integer("pairs", 1..=MOST / 2)?.unwrap_or(4);
        let lanes = self.lanes(pairs)?;
        let skew = self.fields.integer("skew", 0..=u64::MAX)?.unwrap_or(1);
        let (outs, ins) = (wiring("out", lanes), wiring("in", lanes));
        for pair in 0..pairs {
            let name = |part: &str| format!("pair{}.{part}", padded(pair, pairs));
            let (producer, consumer) = (name("producer"), name("consumer"));
            let work = if pair == 0 { self.work.saturating_mul(skew) } else { self.work };
            let source = SourceOptions { gate: self.gate, work, ..SourceOptions::default() };
            let sink = SinkOptions { gate: self.gate, work, ..SinkOptions::default() };
            self.unit(&producer, 2 * pair, Settings::Source(source), &outs);
            self.unit(&consumer, 2 * pair + 1, Settings::Sink(sink), &ins);
            for lane in 0..lanes {
                let from = format!("{producer}.{}", port("out", lane, lanes));
                self.fifo(pair * lanes + lane, from, format!("{consumer}.{}", port("in", lane, lanes)));
            }
        }
        Ok(())
    }

    /// `producers` sources into one sink, each over `lanes` FIFOs.
    fn fanin(&mut self) -> Result<(), Located> {
        let producers = self.fields.integer("producers", 1..=MOST - 1)?.unwrap_or(16);
        let lanes = self.lanes(producers)?;
        let outs = wiring("out", lanes);
        let sink = SinkOptions { gate: self.gate, work: self.work, ..SinkOptions::default() };
        let inputs = producers * lanes;
        self.unit("consumer", 0, Settings::Sink(sink), &wiring("in", inputs));
        for producer in 0..producers {
            let name = format!("producer{}", padded(producer, producers));
            let source = SourceOptions { gate: self.gate, work: self.work, ..SourceOptions::default() };
            self.unit(&name, producer, Settings::Source(source), &outs);
            for lane in 0..lanes {
                let fifo = producer * lanes + lane;
                let from = format!("{name}.{}", port("out", lane, lanes));
                self.fifo(fifo, from, format!("consumer.{}", port("in", fifo, inputs)));
            }
        }
        Ok(())
    }

    /// `nodes` units in a ring of FIFOs, each of which starts with `tokens` packets.
    fn ring(&mut self) -> Result<(), Located> {
        let nodes = self.fields.integer("nodes", 1..=MOST)?.unwrap_or(16);
        // A node holds two packets beside those in its FIFO, so a full ring would still turn; half
        // full it turns without waiting.
        let tokens = self.fields.integer("tokens", 0..=u64::from(self.depth))?.unwrap_or(1);
        let options = ComputeOptions {
            gate: self.gate,
            work: self.work,
            tokens,
            transactions: Transactions::New,
            ..ComputeOptions::default()
        };
        let both = Wiring::new([("in", Joint::Fifo), ("out", Joint::Fifo)]);
        let name = |node: u64| format!("node{}", padded(node, nodes));
        for node in 0..nodes {
            self.unit(&name(node), node, Settings::Compute(options), &both);
            self.fifo(node, format!("{}.out", name(node)), format!("{}.in", name((node + 1) % nodes)));
        }
        Ok(())
    }

    fn lanes(&self, groups: u64) -> Result<u64, Located> {
        Ok(self.fields.integer("lanes", 1..=(MOST / groups).max(1))?.unwrap_or(1))
    }

    fn unit(&mut self, name: &str, domain: u64, settings: Settings, wiring: &Wiring) {
        let (name, domain) = (name.to_owned(), clock_name(domain % self.domain_count));
        self.generated.units.push(UnitPlan { name, domain, settings, wiring: wiring.clone(), at: self.at });
    }

    fn fifo(&mut self, index: u64, from: String, to: String) {
        let id = u32::try_from(index + 1).expect("a shape has at most 2^20 FIFOs");
        let (fifo, at) = (Fifo::new(id).depth(self.depth).stages(self.stages), self.at);
        let end = |path| End { path, at };
        self.generated.fifos.push(FifoPlan { fifo, from: end(from), to: end(to), at });
    }
}

fn clock_name(index: u64) -> String {
    format!("clk{index}")
}

/// Clock domain `index` of a shape; its id is one more.
fn clock(clocks: &str, index: u64) -> ClockDomain {
    let (mhz, phase_ps) = match clocks {
        "coprime" => (914 + 37 * index, 0),
        "coincident" => (250 << (index % 4), 0),
        _ => (250 << (index % 4), 37 * index),
    };
    let frequency = Frequency::from_hz(mhz * 1_000_000).expect("a shape's frequency is above zero");
    ClockDomain::new(index as u32 + 1, &clock_name(index), frequency, Seconds::from_ps(phase_ps))
        .expect("a shape's domains have legal names and ids")
}

/// `index` with as many digits as the last of `count` has.
fn padded(index: u64, count: u64) -> String {
    format!("{index:0width$}", width = (count - 1).to_string().len())
}

/// The name of a port among `count`.
fn port(base: &str, index: u64, count: u64) -> String {
    if count == 1 { base.to_owned() } else { format!("{base}{index}") }
}

fn wiring(base: &str, count: u64) -> Wiring {
    let names: Vec<String> = (0..count).map(|index| port(base, index, count)).collect();
    Wiring::new(names.iter().map(|name| (name.as_str(), Joint::Fifo)))
}
