//! How a scenario is recorded and how far it runs.

use std::path::Path;

use clockweave_model::{ClockDomain, ClockDomains, ExactTime, IMPLICIT_NAME, Seconds};

use super::error::Fault;
use super::fields::{Fields, TIME};
use super::tree::{Located, Node, Value};
use crate::observe::{ArgsEncoding, Compression, RecordingOptions, View};

/// Keys of a run's limit.
pub(super) const LIMITS: [&str; 3] = ["batches", "time", "cycles"];
pub(super) const LIMIT: &str =
    "one of `batches` (a number), `time` (as in \"10us\") and `cycles` (as in { sm = 1000 })";

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
    /// What the trace shows.
    pub view: View,
    /// Events between two checkpoints of the trace.
    pub checkpoint_interval: Option<u64>,
    /// Events per file of the trace.
    pub rotate_events: Option<u64>,
    /// Host time after which what is recorded reaches the files; zero leaves it to whole blocks.
    pub flush_interval: Option<Seconds>,
    /// The most records of one nanosecond.
    pub open_records: Option<u64>,
    /// Whether to lose events rather than wait.
    pub lossy: bool,
    /// Records per ring of a lossy run.
    pub ring_capacity: Option<u64>,
}

impl RecordSettings {
    /// Options that record into `dir` as run `run_id`.
    pub fn options(&self, dir: &Path, run_id: &str) -> RecordingOptions {
        let mut options = RecordingOptions::new(dir, run_id)
            .text(self.text)
            .perfetto(self.perfetto)
            .compression(self.compression)
            .args(self.args)
            .view(self.view);
        if let Some(events) = self.checkpoint_interval {
            options = options.checkpoint_interval(events);
        }
        if let Some(events) = self.rotate_events {
            options = options.rotate_events(events);
        }
        if let Some(interval) = self.flush_interval {
            options = options.flush_interval(interval);
        }
        if let Some(records) = self.open_records {
            options = options.open_records(usize::try_from(records).unwrap_or(usize::MAX));
        }
        if self.lossy {
            options = options.lossy(self.ring_capacity.and_then(|records| usize::try_from(records).ok()));
        }
        options
    }
}

pub(super) fn read_record(fields: &Fields<'_>) -> Result<RecordSettings, Located> {
    const KEYS: [&str; 11] = [
        "text",
        "perfetto",
        "compress",
        "args",
        "view",
        "checkpoint_interval",
        "rotate_events",
        "flush_interval",
        "open_records",
        "lossy",
        "ring_capacity",
    ];
    let mut settings = RecordSettings {
        text: true,
        perfetto: true,
        compression: Compression::default(),
        args: ArgsEncoding::default(),
        view: View::default(),
        checkpoint_interval: None,
        rotate_events: None,
        flush_interval: None,
        open_records: None,
        lossy: false,
        ring_capacity: None,
    };
    let Some(node) = fields.get("record") else { return Ok(settings) };
    let record = Fields::new(Fields::table(node, "`record`")?, node.at, "`record`", &KEYS)?;
    settings.text = record.boolean("text")?.unwrap_or(true);
    settings.perfetto = record.boolean("perfetto")?.unwrap_or(true);
    if let Some(text) = record.text("compress", Compression::NAMES)? {
        settings.compression = text.parse().map_err(|_| record.bad("compress", Compression::NAMES))?;
    }
    if record.word("args", &["debug", "annotations"])? == Some("annotations") {
        settings.args = ArgsEncoding::Annotations;
    }
    if record.word("view", &["events", "full"])? == Some("full") {
        settings.view = View::Full;
    }
    settings.checkpoint_interval = record.integer("checkpoint_interval", 1..=u64::MAX)?;
    settings.rotate_events = record.integer("rotate_events", 1..=u64::MAX)?;
    settings.flush_interval = record.quantity("flush_interval", FLUSH)?;
    if settings.flush_interval.is_some_and(|interval| !interval.is_zero() && !may_flush_every(interval)) {
        return Err(record.bad("flush_interval", FLUSH));
    }
    settings.open_records = record.integer("open_records", 1..=u64::from(u32::MAX))?;
    settings.lossy = record.boolean("lossy")?.unwrap_or(false);
    settings.ring_capacity = record.integer("ring_capacity", 2..=1 << 20)?;
    if settings.ring_capacity.is_some() && !settings.lossy {
        return Err(record.bad("ring_capacity", "nothing without `lossy = true`: other runs have no rings"));
    }
    Ok(settings)
}

const FLUSH: &str = "a host time from \"1ms\" to \"1000s\", or \"0\" to write whole blocks only";

fn may_flush_every(interval: Seconds) -> bool {
    let ratio = interval.ratio();
    let (num, den) = (u128::from(*ratio.numer()), u128::from(*ratio.denom()));
    den <= num * 1000 && num <= den * 1000
}

/// How a scenario runs.
#[derive(Clone, Debug)]
pub(super) struct RunPlan {
    pub(super) limit: Limit,
    pub(super) stop_margin: u64,
    pub(super) drain: Option<u64>,
    pub(super) segment: Option<u64>,
}

pub(super) fn read_run(node: &Node, domains: &ClockDomains) -> Result<RunPlan, Located> {
    const KEYS: [&str; 6] = ["batches", "time", "cycles", "stop_margin", "drain", "segment"];
    let run = Fields::new(Fields::table(node, "`run`")?, node.at, "`run`", &KEYS)?;
    let given: Vec<&str> = LIMITS.into_iter().filter(|key| run.get(key).is_some()).collect();
    let limit = match given[..] {
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
