//! A scenario: what its text says, checked and ready to build.
//!
//! # Invariants
//!
//! * Everything that can be refused before a run is refused here, with its place.
//! * Reading is `O(n log n)` in the size of the text.

use clockweave_model::{ClockDomain, ClockDomains, Frequency, check_name};

use super::error::ScenarioError;
use super::fields::Fields;
use super::joins::{self, FifoPlan, LinkPlan};
use super::model::Settings;
use super::parts::{FREQUENCY, UnitPlan, read_domains, read_units};
use super::settings::{LIMIT, Limit, RecordSettings, RunPlan, read_record, read_run};
use super::shape::{self, Generated};
use super::tree::{Located, Node, Sources, Table, Tree};

/// A checked scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub(super) sources: Sources,
    pub(super) run_id: String,
    pub(super) graph: Graph,
    pub(super) record: RecordSettings,
    pub(super) run: RunPlan,
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
        &self.run.limit
    }

    /// Batches it goes on after a unit's stop request.
    pub fn stop_margin(&self) -> u64 {
        self.run.stop_margin
    }

    /// The most batches to drain its FIFOs in, after the run; `None` if they are left as they are.
    pub fn drain(&self) -> Option<u64> {
        self.run.drain
    }

    /// What it says of its recording.
    pub fn record(&self) -> &RecordSettings {
        &self.record
    }

    /// Its clock domains, by id. None: its units are in the implicit domain.
    pub fn domains(&self) -> impl ExactSizeIterator<Item = &ClockDomain> {
        self.graph.domains.iter()
    }

    /// Names of its units, in the order of the text.
    pub fn units(&self) -> impl ExactSizeIterator<Item = &str> {
        self.graph.units.iter().map(|unit| unit.name.as_str())
    }
}

fn read(root: &Table, sources: Sources) -> Result<Scenario, Located> {
    const KEYS: [&str; 9] = [
        "run_id",
        "generate",
        "default_frequency",
        "domains",
        "units",
        "fifos",
        "connections",
        "record",
        "run",
    ];
    let fields = Fields::new(root, Sources::START, "the scenario", &KEYS)?;
    let run_id = fields.need_text("run_id", "a name for the run")?;
    if check_name(run_id).is_err() {
        let expected = "1 to 128 ASCII letters, digits, `.`, `_` or `-`, and neither `.` nor `..`";
        return Err(fields.bad("run_id", expected));
    }
    let graph = match fields.get("generate") {
        Some(node) => generated(&fields, node)?,
        None => read_graph(&fields, &sources)?,
    };
    let record = read_record(&fields)?;
    if graph.units.iter().any(|unit| matches!(unit.settings, Settings::Machine(_)))
        && (record.lossy || record.rotate_events.is_some())
    {
        let expected = "neither `lossy` nor `rotate_events` beside a machine: its scheduling needs every event, in one file";
        return Err(fields.bad("record", expected));
    }
    let run = match fields.get("run") {
        Some(node) => read_run(node, &graph.domains)?,
        None => return Err(fields.missing("run", format!("a table with a limit, {LIMIT}"))),
    };
    Ok(Scenario { sources, run_id: run_id.to_owned(), graph, record, run })
}

/// What a simulation consists of.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    pub(super) default_frequency: Option<Frequency>,
    pub(super) domains: ClockDomains,
    pub(super) units: Vec<UnitPlan>,
    pub(super) fifos: Vec<FifoPlan>,
    pub(super) links: Vec<LinkPlan>,
}

fn generated(fields: &Fields<'_>, node: &Node) -> Result<Graph, Located> {
    for key in ["default_frequency", "domains", "units", "fifos", "connections"] {
        if fields.get(key).is_some() {
            return Err(fields.bad(key, "no such key beside `generate`, which makes the whole simulation"));
        }
    }
    let Generated { domains, units, fifos } = shape::generate(node)?;
    Ok(Graph { default_frequency: None, domains, units, fifos, links: Vec::new() })
}

fn read_graph(fields: &Fields<'_>, sources: &Sources) -> Result<Graph, Located> {
    let default_frequency = fields.quantity("default_frequency", FREQUENCY)?;
    let domains = read_domains(fields)?;
    if default_frequency.is_some() && !domains.is_empty() {
        return Err(fields.bad("default_frequency", "no such key beside `domains`, which make it useless"));
    }
    let fifos = joins::read_fifos(fields)?;
    let links = joins::read_links(fields)?;
    let units = read_units(fields, sources, &domains, &fifos, &links)?;
    joins::check(&units, &links)?;
    Ok(Graph { default_frequency, domains, units, fifos, links })
}
