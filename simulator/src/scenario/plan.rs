//! A scenario: what its text says, checked and ready to build.
//!
//! # Invariants
//!
//! * Everything that can be refused before a run is refused here, with its place.
//! * Reading is `O(n log n)` in the size of the text.

use std::collections::BTreeSet;
use std::path::Path;

use clockweave_model::{
    ClockDomain, ClockDomains, ExactTime, Frequency, IMPLICIT_NAME, Seconds, check_name, check_printable,
};

use super::error::{Fault, ScenarioError, closest, cut};
use super::fields::Fields;
use super::joins::{self, FifoPlan, LinkPlan};
use super::model::{Model, Settings};
use super::tree::{At, Entry, Located, Node, Sources, Table, Tree, Value};
use crate::graph::TopologyError;
use crate::models::Wiring;
use crate::observe::{ArgsEncoding, Compression, RecordingOptions};

/// Keys of a run's limit.
pub(super) const LIMITS: [&str; 3] = ["batches", "time", "cycles"];
const LIMIT: &str = "one of `batches` (a number), `time` (as in \"10us\") and `cycles` (as in { sm = 1000 })";

/// How far a scenario runs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// So many batches.
    Batches(u64),
    /// Every batch before this time.
    Time(ExactTime),
    /// So many edges of a domain.
    Cycles {
        /// The domain's name.
        domain: String,
        /// Its edges.
        cycles: u64,
    },
}

/// What a scenario says of its recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordSettings {
    /// Whether to write text logs.
    pub text: bool,
    /// Whether to write a Perfetto trace.
    pub perfetto: bool,
    /// The trace's compression.
    pub compression: Compression,
    /// How arguments are encoded in the trace.
    pub args: ArgsEncoding,
    /// Events between two checkpoints of the trace.
    pub checkpoint_interval: Option<u64>,
    /// The most records of one nanosecond.
    pub open_records: Option<u64>,
}

impl RecordSettings {
    /// Options that record into `dir` as run `run_id`.
    pub fn options(&self, dir: &Path, run_id: &str) -> RecordingOptions {
        let mut options = RecordingOptions::new(dir, run_id)
            .text(self.text)
            .perfetto(self.perfetto)
            .compression(self.compression)
            .args(self.args);
        if let Some(events) = self.checkpoint_interval {
            options = options.checkpoint_interval(events);
        }
        if let Some(records) = self.open_records {
            options = options.open_records(usize::try_from(records).unwrap_or(usize::MAX));
        }
        options
    }
}

#[derive(Clone, Debug)]
pub(super) struct UnitPlan {
    pub(super) name: String,
    pub(super) domain: String,
    pub(super) settings: Settings,
    pub(super) wiring: Wiring,
    pub(super) at: At,
}

/// A checked scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub(super) sources: Sources,
    pub(super) run_id: String,
    pub(super) default_frequency: Option<Frequency>,
    pub(super) domains: ClockDomains,
    pub(super) units: Vec<UnitPlan>,
    pub(super) fifos: Vec<FifoPlan>,
    pub(super) links: Vec<LinkPlan>,
    pub(super) record: RecordSettings,
    pub(super) limit: Limit,
    pub(super) stop_margin: u64,
    pub(super) drain: Option<u64>,
    pub(super) segment: Option<u64>,
}

/// Entries in the order of the text.
pub(super) fn in_order(table: &Table) -> Vec<(&str, &Entry)> {
    let mut entries: Vec<_> = table.iter().map(|(key, entry)| (key.as_str(), entry)).collect();
    entries.sort_by_key(|(_, entry)| entry.key_at);
    entries
}

impl Scenario {
    /// Reads a scenario. `file` names the text in errors; traffic files are looked for beside it.
    ///
    /// # Errors
    /// The first thing wrong, with its place.
    pub fn parse(text: &str, file: &str) -> Result<Self, ScenarioError> {
        Self::with_overrides(text, file, [])
    }

    /// Reads a scenario and overrides values of it: `key=value` with a dotted key, such as
    /// `units.producer.pattern=burst`, `connections.0.delay=3` or `run.cycles.sm=1000`. The value is TOML, or
    /// text where it is none. A run limit replaces the scenario's own.
    ///
    /// # Errors
    /// The first thing wrong, with its place.
    pub fn with_overrides<'a>(
        text: &str,
        file: &str,
        overrides: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, ScenarioError> {
        let mut tree = Tree::parse(text, file)?;
        for text in overrides {
            tree.set(text)?;
        }
        let Tree { sources, root } = tree;
        match read(&root, sources.clone()) {
            Ok(scenario) => Ok(scenario),
            Err(located) => Err(sources.locate(located)),
        }
    }

    /// The run id.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// How far it runs.
    pub fn limit(&self) -> &Limit {
        &self.limit
    }

    /// Batches it goes on after a unit's stop request.
    pub fn stop_margin(&self) -> u64 {
        self.stop_margin
    }

    /// The most batches to drain its FIFOs in, after the run; `None` if they are left as they are.
    pub fn drain(&self) -> Option<u64> {
        self.drain
    }

    /// What it says of its recording.
    pub fn record(&self) -> &RecordSettings {
        &self.record
    }

    /// Its clock domains, by id. None: its units are in the implicit domain.
    pub fn domains(&self) -> impl ExactSizeIterator<Item = &ClockDomain> {
        self.domains.iter()
    }

    /// Names of its units, in the order of the text.
    pub fn units(&self) -> impl ExactSizeIterator<Item = &str> {
        self.units.iter().map(|unit| unit.name.as_str())
    }
}

fn read(root: &Table, sources: Sources) -> Result<Scenario, Located> {
    const KEYS: [&str; 8] =
        ["run_id", "default_frequency", "domains", "units", "fifos", "connections", "record", "run"];
    let fields = Fields::new(root, Sources::START, "the scenario", &KEYS)?;
    let run_id = fields.need_text("run_id", "a name for the run")?;
    if check_name(run_id).is_err() {
        let expected = "1 to 128 ASCII letters, digits, `.`, `_` or `-`, and neither `.` nor `..`";
        return Err(fields.bad("run_id", expected));
    }
    let default_frequency = fields.quantity("default_frequency", FREQUENCY)?;
    let domains = read_domains(&fields)?;
    if default_frequency.is_some() && !domains.is_empty() {
        return Err(
            fields.bad("default_frequency", "no such key beside `domains`: it is for a scenario without any")
        );
    }
    let fifos = joins::read_fifos(&fields)?;
    let links = joins::read_links(&fields)?;
    let units = read_units(&fields, &domains, &fifos, &links)?;
    joins::check(&units, &links)?;
    let record = read_record(&fields)?;
    let run = match fields.get("run") {
        Some(node) => read_run(node, &domains)?,
        None => return Err(fields.missing("run", format!("a table with a limit, {LIMIT}"))),
    };
    Ok(Scenario {
        sources,
        run_id: run_id.to_owned(),
        default_frequency,
        domains,
        units,
        fifos,
        links,
        record,
        limit: run.limit,
        stop_margin: run.stop_margin,
        drain: run.drain,
        segment: run.segment,
    })
}

const FREQUENCY: &str = "a frequency, as in \"914MHz\", \"1.326GHz\" or \"5/3 Hz\"";
const TIME: &str = "a time, as in \"137ps\", \"1.5ns\" or \"1/2000000000 s\"";

fn read_domains(fields: &Fields<'_>) -> Result<ClockDomains, Located> {
    let mut domains = ClockDomains::new();
    let Some(node) = fields.get("domains") else { return Ok(domains) };
    for (name, entry) in in_order(Fields::table(node, "`domains`")?) {
        let owner = format!("domain `{}`", cut(name));
        let table = Fields::table(&entry.node, &owner)?;
        let domain = Fields::new(table, entry.key_at, &owner, &["id", "frequency", "period", "phase"])?;
        let id = domain.need_integer("id", 1..=u64::from(u32::MAX) - 1)? as u32;
        let frequency: Option<Frequency> = domain.quantity("frequency", FREQUENCY)?;
        let period: Option<Seconds> = domain.quantity("period", TIME)?;
        let phase = domain.quantity("phase", TIME)?.unwrap_or(Seconds::ZERO);
        let period = match (frequency, period) {
            (Some(frequency), None) => frequency.period(),
            (None, Some(period)) => period,
            (None, None) => return Err(domain.missing("frequency", format!("{FREQUENCY}, or `period`"))),
            (Some(_), Some(_)) => {
                return Err(domain.bad("period", "either `frequency` or `period`, not both"));
            }
        };
        ClockDomain::with_period(id, name, period, phase)
            .and_then(|domain| domains.insert(domain))
            .map_err(|error| Located::new(entry.key_at, error))?;
    }
    Ok(domains)
}

fn read_units(
    fields: &Fields<'_>,
    domains: &ClockDomains,
    fifos: &[FifoPlan],
    links: &[LinkPlan],
) -> Result<Vec<UnitPlan>, Located> {
    let Some(node) = fields.get("units") else {
        return Err(fields.missing("units", "a table per unit, as in [units.producer]"));
    };
    let table = Fields::table(node, "`units`")?;
    let mut ports = joins::ports_by_unit(table, fifos, links)?;
    let mut units = Vec::with_capacity(table.len());
    for (name, entry) in in_order(table) {
        let owner = format!("unit `{}`", cut(name));
        if !check_printable(name, 128) {
            return Err(Located::new(entry.key_at, TopologyError::UnitName { name: cut(name) }));
        }
        let table = Fields::table(&entry.node, &owner)?;
        let (model, settings) = read_model(table, entry.key_at, &owner)?;
        let domain = read_unit_domain(table, entry.key_at, &owner, domains)?;
        let joined = ports.remove(name).unwrap_or_default();
        joins::check_ports(name, model, &joined, entry.key_at)?;
        let wiring = Wiring::new(joined.iter().map(|(port, joined)| (*port, joined.joint)));
        units.push(UnitPlan { name: name.to_owned(), domain, settings, wiring, at: entry.key_at });
    }
    if units.is_empty() {
        return Err(Located::new(node.at, TopologyError::Empty));
    }
    Ok(units)
}

fn read_model(table: &Table, at: At, owner: &str) -> Result<(&'static Model, Settings), Located> {
    let expected = || {
        let names: Vec<&str> = super::models().iter().map(|model| model.name).collect();
        format!("the name of a model: one of \"{}\"", names.join("\", \""))
    };
    let (name, name_at) = match table.get("model").map(|entry| &entry.node) {
        Some(Node { at, value: Value::Text(name) }) => (name, *at),
        Some(Node { at, value }) => {
            let (what, found) = (format!("`model` of {owner}"), value.describe());
            return Err(Located::new(*at, Fault::Value { what, found, expected: expected() }));
        }
        None => {
            // A key that is almost `model` is the likelier mistake.
            let keys = table.keys().map(String::as_str).filter(|key| *key != "domain");
            if let Some(near) = closest("model", keys) {
                let fault = Fault::UnknownKey {
                    key: cut(near),
                    owner: owner.to_owned(),
                    suggestion: Some("model".to_owned()),
                    expected: vec!["model".to_owned(), "domain".to_owned()],
                };
                return Err(Located::new(table[near].key_at, fault));
            }
            let (owner, key) = (owner.to_owned(), "model".to_owned());
            return Err(Located::new(at, Fault::Missing { owner, key, expected: expected() }));
        }
    };
    let model = Model::find(name, name_at)?;
    let parameters = model.parameters.iter().map(|parameter| parameter.key);
    let keys: Vec<&str> = ["model", "domain"].into_iter().chain(parameters).collect();
    let owner = format!("{owner} (model `{name}`)");
    let settings = model.read(&Fields::new(table, at, &owner, &keys)?)?;
    Ok((model, settings))
}

fn read_unit_domain(table: &Table, at: At, owner: &str, domains: &ClockDomains) -> Result<String, Located> {
    let known = || domains.iter().map(ClockDomain::name);
    let names = if domains.is_empty() { vec![IMPLICIT_NAME] } else { known().collect() };
    let node = table.get("domain").map(|entry| &entry.node);
    match node {
        Some(Node { at, value: Value::Text(name) }) => {
            let found = if domains.is_empty() {
                (name == IMPLICIT_NAME).then_some(IMPLICIT_NAME)
            } else {
                domains.by_name(name).map(ClockDomain::name)
            };
            let unknown = || Fault::unknown_name("domain", name, names.iter().copied());
            found.map(str::to_owned).ok_or_else(|| Located::new(*at, unknown()))
        }
        Some(Node { at, value }) => {
            let (what, found) = (format!("`domain` of {owner}"), value.describe());
            Err(Located::new(*at, Fault::Value { what, found, expected: "the name of a domain".to_owned() }))
        }
        None if domains.is_empty() => Ok(IMPLICIT_NAME.to_owned()),
        None => {
            let listed: Vec<&str> = names.into_iter().take(20).collect();
            let expected = format!("one of \"{}\"", listed.join("\", \""));
            let (owner, key) = (owner.to_owned(), "domain".to_owned());
            Err(Located::new(at, Fault::Missing { owner, key, expected }))
        }
    }
}

fn read_record(fields: &Fields<'_>) -> Result<RecordSettings, Located> {
    const KEYS: [&str; 6] = ["text", "perfetto", "compress", "args", "checkpoint_interval", "open_records"];
    let mut settings = RecordSettings {
        text: true,
        perfetto: true,
        compression: Compression::default(),
        args: ArgsEncoding::default(),
        checkpoint_interval: None,
        open_records: None,
    };
    let Some(node) = fields.get("record") else { return Ok(settings) };
    let record = Fields::new(Fields::table(node, "`record`")?, node.at, "`record`", &KEYS)?;
    settings.text = record.boolean("text")?.unwrap_or(true);
    settings.perfetto = record.boolean("perfetto")?.unwrap_or(true);
    let compressions = "\"none\", \"deflate\" or \"deflate:LEVEL\" with a level from 1 (fast) to 12 (small)";
    if let Some(text) = record.text("compress", compressions)? {
        settings.compression = compression(text).ok_or_else(|| record.bad("compress", compressions))?;
    }
    if record.word("args", &["debug", "annotations"])? == Some("annotations") {
        settings.args = ArgsEncoding::Annotations;
    }
    settings.checkpoint_interval = record.integer("checkpoint_interval", 1..=u64::MAX)?;
    settings.open_records = record.integer("open_records", 1..=u64::from(u32::MAX))?;
    Ok(settings)
}

fn compression(text: &str) -> Option<Compression> {
    match text.split_once(':') {
        None if text == "none" => Some(Compression::None),
        None if text == "deflate" => Some(Compression::default()),
        Some(("deflate", level)) => {
            let level = level.parse().ok().filter(|level| (1..=12).contains(level))?;
            Some(Compression::Deflate { level })
        }
        _ => None,
    }
}

struct RunPlan {
    limit: Limit,
    stop_margin: u64,
    drain: Option<u64>,
    segment: Option<u64>,
}

fn read_run(node: &Node, domains: &ClockDomains) -> Result<RunPlan, Located> {
    const KEYS: [&str; 6] = ["batches", "time", "cycles", "stop_margin", "drain", "segment"];
    let run = Fields::new(Fields::table(node, "`run`")?, node.at, "`run`", &KEYS)?;
    let given: BTreeSet<&str> = LIMITS.into_iter().filter(|key| run.get(key).is_some()).collect();
    let limit = match given.iter().copied().collect::<Vec<_>>()[..] {
        ["batches"] => Limit::Batches(run.need_integer("batches", 0..=u64::MAX)?),
        ["time"] => Limit::Time(read_time(&run)?),
        ["cycles"] => read_cycles(&run, domains)?,
        [] => return Err(run.missing("batches", format!("a limit, {LIMIT}"))),
        [_, second, ..] => return Err(run.bad(second, format!("no second limit, but {LIMIT}"))),
        [_] => unreachable!("the limits are listed above"),
    };
    Ok(RunPlan {
        limit,
        stop_margin: run.integer("stop_margin", 0..=u64::MAX)?.unwrap_or(0),
        drain: run.integer("drain", 0..=u64::MAX)?,
        segment: run.integer("segment", 1..=u64::MAX)?,
    })
}

fn read_time(run: &Fields<'_>) -> Result<ExactTime, Located> {
    let time: Seconds = run.quantity("time", TIME)?.ok_or_else(|| run.missing("time", TIME))?;
    ExactTime::from_seconds(time).map_err(|_| run.bad("time", "less than 2^63 nanoseconds"))
}

fn read_cycles(run: &Fields<'_>, domains: &ClockDomains) -> Result<Limit, Located> {
    const EXPECTED: &str = "one domain and a number of its edges, as in { sm = 1000 }";
    let bad = || run.bad("cycles", EXPECTED);
    let Some(Node { value: Value::Table(table), .. }) = run.get("cycles") else { return Err(bad()) };
    let [(domain, entry)] = table.iter().collect::<Vec<_>>()[..] else { return Err(bad()) };
    let known = match domains.by_name(domain) {
        Some(known) => known.name(),
        None if domains.is_empty() && domain == IMPLICIT_NAME => IMPLICIT_NAME,
        None => {
            let names = domains.iter().map(ClockDomain::name);
            return Err(Located::new(entry.key_at, Fault::unknown_name("domain", domain, names)));
        }
    };
    let fields = Fields::new(table, run.at(), "`cycles`", &[domain.as_str()])?;
    let cycles = fields.need_integer(domain, 0..=u64::MAX)?;
    Ok(Limit::Cycles { domain: known.to_owned(), cycles })
}
