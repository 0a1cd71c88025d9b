//! `clockweave record`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use clockweave::record::{self, Place, Recorded as RecordedRun};
use clockweave_recorder::{ExactSeconds, Stats, TRACE_FILE};
use clockweave_simulator::{RunStatus, StopReason, Termination, TerminationReason};
use serde::Serialize;

use super::console::{Console, counted, grouped};
use super::failure::{Failure, Outcome};
use super::interrupt;
use super::scenarios::Source;

/// Where runs go by themselves.
const RUNS: &str = "out";

const NOTES: &str = "\
Without --output the run goes to the first free of out/RUN_ID, out/RUN_ID-2, …
A built-in's name goes before a file of that name; ./NAME is always the file.

--set takes any key of the scenario, as in --set units.producer.pattern=burst or
--set record.checkpoint_interval=1000. A run limit replaces the scenario's own.

runqueue, runqueue-fairness, -interactive, -fork-storm, -pinned, -real-time and
-lopsided record a machine with run queues, which the trace shows as Perfetto's
own scheduling; such a run is lossless and in one file.

Ctrl-C ends the run at the next batch and closes the recording, which is then
whole; a second one ends the process.

Exit code 1: a unit failed or stopped the run with an error; what was recorded
until then is kept.

Examples:
  clockweave record fifo
  clockweave record fifo --batches 1000000 --compress none -o out/long
  clockweave record mine.toml --set units.producer.pattern=random --time 10us";

/// Run a simulation and record it
#[derive(Args)]
#[command(after_help = NOTES)]
pub(crate) struct RecordArgs {
    /// Scenario: a built-in's name, a TOML file, or `-` for stdin
    #[arg(value_name = "SCENARIO|BUILTIN")]
    scenario: PathBuf,
    /// Run directory, new or empty [default: the first free below out/]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Replace the files of an earlier run in the directory
    #[arg(long, requires = "output")]
    force: bool,
    /// Override a value of the scenario; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Run so many batches
    #[arg(long, value_name = "N", group = "limit")]
    batches: Option<u64>,
    /// Run every batch before this time, as in 10us
    #[arg(long, value_name = "T", group = "limit")]
    time: Option<String>,
    /// Run so many edges of a domain, as in sm=1000
    #[arg(long, value_name = "DOMAIN=N", group = "limit", value_parser = domain_cycles)]
    cycles: Option<(String, u64)>,
    /// Batches to go on after a unit's request to stop
    #[arg(long, value_name = "N")]
    stop_margin: Option<u64>,
    /// What to write: text logs, the Perfetto trace, or nothing at all
    #[arg(long, value_name = "SINK,…", value_enum, value_delimiter = ',')]
    trace: Vec<Sink>,
    /// Compression of the trace: `none`, `deflate`, `deflate:1` to `deflate:12`,
    /// `zstd`, `zstd:1` to `zstd:22` (smaller and faster, but Perfetto reads it
    /// from v58 on only; `validate` re-encodes it)
    #[arg(long, value_name = "CODEC")]
    compress: Option<String>,
    /// Rather lose events than wait; what is lost is counted and told
    #[arg(long)]
    lossy: bool,
    /// Records that the ring of each stream holds in a lossy run, a power of two
    /// [default: a share of 8 MiB, 64 to 4,096]
    #[arg(long, value_name = "N")]
    ring_records: Option<u64>,
    /// How the trace carries arguments: `debug` as described fields, half the
    /// bytes; `annotations` for readers of raw packets
    #[arg(long, value_name = "ENCODING")]
    args: Option<String>,
    /// Cut the trace into files of so many events, timeline-00000.pftrace and on
    #[arg(long, value_name = "N")]
    rotate_events: Option<u64>,
    /// Host time after which what is recorded is in the files at the latest,
    /// as in 100ms; 0 leaves it to whole blocks [default: 1s]
    #[arg(long, value_name = "T")]
    flush_interval: Option<String>,
    /// What the trace shows: `events`; `full` also exact times, FIFO occupancy,
    /// a slice per transaction, spans and counters of units
    #[arg(long, value_name = "VIEW")]
    view: Option<String>,
    /// Report as JSON on stdout
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sink {
    Text,
    Perfetto,
    Off,
}

fn domain_cycles(text: &str) -> Result<(String, u64), String> {
    let parts = text.rsplit_once('=').and_then(|(name, n)| Some((name.to_owned(), n.parse().ok()?)));
    parts.ok_or_else(|| "expected a domain and a number of its edges, as in sm=1000".to_owned())
}

impl RecordArgs {
    /// The options as overrides of the scenario; those of their own flag come last.
    fn overrides(&self) -> Result<Vec<String>, Failure> {
        let mut overrides = self.set.clone();
        let mut set = |key: &str, value: String| overrides.push(format!("{key}={value}"));
        if let Some(batches) = self.batches {
            set("run.batches", batches.to_string());
        }
        if let Some(time) = &self.time {
            set("run.time", quoted(time));
        }
        if let Some((domain, cycles)) = &self.cycles {
            set("run.cycles", format!("{{ {} = {cycles} }}", quoted(domain)));
        }
        if let Some(margin) = self.stop_margin {
            set("run.stop_margin", margin.to_string());
        }
        if !self.trace.is_empty() {
            if self.trace.contains(&Sink::Off) && self.trace.len() > 1 {
                return Err(Failure::input("--trace off stands alone"));
            }
            set("record.text", self.trace.contains(&Sink::Text).to_string());
            set("record.perfetto", self.trace.contains(&Sink::Perfetto).to_string());
        }
        if let Some(codec) = &self.compress {
            set("record.compress", quoted(codec));
        }
        if self.lossy {
            set("record.lossy", "true".to_owned());
        }
        if let Some(records) = self.ring_records {
            set("record.ring_capacity", records.to_string());
        }
        if let Some(encoding) = &self.args {
            set("record.args", quoted(encoding));
        }
        if let Some(events) = self.rotate_events {
            set("record.rotate_events", events.to_string());
        }
        if let Some(interval) = &self.flush_interval {
            set("record.flush_interval", quoted(interval));
        }
        if let Some(view) = &self.view {
            set("record.view", quoted(view));
        }
        Ok(overrides)
    }

    fn place(&self, writes: bool) -> Result<Place, Failure> {
        match &self.output {
            Some(_) if !writes => Err(Failure::input("--output is for a recording, and nothing is recorded")),
            Some(path) => Ok(Place::Directory { path: path.clone(), force: self.force }),
            None if !writes => Ok(Place::Nowhere),
            None => Ok(Place::FirstFree { below: PathBuf::from(RUNS) }),
        }
    }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

pub(crate) fn run(args: &RecordArgs, console: &Console) -> Result<Outcome, Failure> {
    let source = Source::find(&args.scenario)?;
    let overrides = args.overrides()?;
    let scenario = source.parse(&overrides)?;
    let writes = scenario.record().text || scenario.record().perfetto;
    let place = args.place(writes)?;
    let notes: Vec<(String, String)> = overrides
        .iter()
        .filter_map(|text| text.split_once('='))
        .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
        .collect();
    let mut progress = console.progress();
    let stop =
        |handle: clockweave_simulator::StopHandle| interrupt::soften(move || handle.request("interrupted"));
    let recorded = record::record(&scenario, &place, &notes, source.file.as_deref(), stop, &mut progress);
    let interrupted = interrupt::harden();
    drop(progress);
    let recorded = recorded?;
    if args.json {
        console.print_json(&JsonReport::new(scenario.run_id(), &recorded))?;
    }
    console.note(summary(scenario.run_id(), &recorded));
    let failed = |t: &Termination| t.reason == TerminationReason::Unit(StopReason::Error);
    Ok(match &recorded.summary.termination {
        _ if interrupted => Outcome::Interrupted,
        Some(termination) if failed(termination) => Outcome::Findings,
        _ => Outcome::Fine,
    })
}

/// The report of `record --json`.
#[derive(Serialize)]
struct JsonReport<'a> {
    report: &'static str,
    version: u32,
    run_id: &'a str,
    directory: Option<String>,
    /// `limit`, `stopped`, or `settling` if the limit came before a stop had settled.
    ended: &'static str,
    stop: Option<JsonStop<'a>>,
    drained: Option<bool>,
    batches: u128,
    time: ExactSeconds,
    host_ns: u64,
    stats: &'a Option<Stats>,
}

/// The stop that ended a run.
#[derive(Serialize)]
struct JsonStop<'a> {
    reason: String,
    message: &'a str,
    unit: &'a Option<String>,
    domain_id: u32,
    cycle: u64,
    requested_at: ExactSeconds,
    settled_at: ExactSeconds,
}

impl<'a> JsonReport<'a> {
    fn new(run_id: &'a str, recorded: &'a RecordedRun) -> Self {
        let summary = &recorded.summary;
        let stop = summary.termination.as_ref().map(|stop| JsonStop {
            reason: stop.reason.to_string(),
            message: &stop.message,
            unit: &stop.unit,
            domain_id: stop.domain_id,
            cycle: stop.cycle,
            requested_at: (&stop.requested_at).into(),
            settled_at: (&stop.settled_at).into(),
        });
        Self {
            report: "record",
            version: 1,
            run_id,
            directory: recorded.directory.as_ref().map(|dir| dir.display().to_string()),
            ended: match summary.status {
                RunStatus::Stopped => "stopped",
                RunStatus::Settling => "settling",
                _ => "limit",
            },
            stop,
            drained: summary.drained,
            batches: summary.batches,
            time: (&summary.time).into(),
            host_ns: host_ns(recorded),
            stats: &recorded.stats,
        }
    }
}

fn host_ns(recorded: &RecordedRun) -> u64 {
    u64::try_from(recorded.host_time.as_nanos()).unwrap_or(u64::MAX)
}

fn summary(run_id: &str, recorded: &RecordedRun) -> String {
    let mut rows: Vec<(&str, String)> = Vec::new();
    let run = &recorded.summary;
    rows.push(("run", run_id.to_owned()));
    if let Some(dir) = &recorded.directory {
        rows.push(("directory", dir.display().to_string()));
    }
    rows.push((
        "simulated time",
        format!("{} ns ({})", grouped(run.time.floor_ns().unsigned_abs()), run.time),
    ));
    rows.push(("batches", grouped(run.batches)));
    if let Some(stop) = &run.termination {
        let by = stop.unit.as_ref().map(|unit| format!(" by unit `{unit}`")).unwrap_or_default();
        let at = grouped(stop.settled_at.floor_ns().unsigned_abs());
        let words = if stop.message.is_empty() { String::new() } else { format!(": {}", stop.message) };
        rows.push(("stopped", format!("{}{by}, settled at {at} ns{words}", stop.reason)));
    }
    match run.drained {
        Some(true) => rows.push(("drained", "yes".to_owned())),
        Some(false) => rows.push(("drained", "no, the limit came first".to_owned())),
        None => {}
    }
    if let Some(stats) = &recorded.stats {
        let per_second = u128::from(stats.events) * 1_000_000_000 / u128::from(host_ns(recorded).max(1));
        rows.push(("events", grouped(stats.events)));
        rows.push(("dropped", grouped(stats.dropped_events)));
        rows.push(("output", counted(stats.file_bytes, "byte")));
        rows.push(("events/s", grouped(u64::try_from(per_second).unwrap_or(u64::MAX))));
        let buffered = stats.native_buffer_peak_bytes + stats.allocated_staging_bytes;
        rows.push(("peak buffer", counted(buffered, "byte")));
        if let Some(bytes) = stats.clockweave.peak_rss_bytes {
            rows.push(("peak memory", counted(bytes, "byte")));
        }
    }
    let lines: Vec<String> = rows.iter().map(|(name, value)| format!("{name:15} {value}")).collect();
    let mut text = lines.join("\n");
    if let Some(dir) = &recorded.directory {
        let dir = shell_word(dir);
        let trace = recorded.stats.as_ref().and_then(|stats| stats.clockweave.segments.first());
        let _ = match trace.map(|segment| segment.file.as_str()) {
            Some(TRACE_FILE) => {
                write!(text, "\n\nnext: clockweave validate {dir}\n      clockweave open {dir}")
            }
            Some(_) => write!(text, "\n\nnext: clockweave validate {dir}"),
            None => write!(text, "\n\nnext: clockweave merge {dir} | less"),
        };
    }
    text
}

/// A path as a shell reads it.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    // What begins with a dash would be an option.
    let text = if text.starts_with('-') { format!("./{text}") } else { text };
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell_and_toml() {
        assert_eq!(shell_word(Path::new("out/fifo-2")), "out/fifo-2");
        assert_eq!(shell_word(Path::new("-q")), "./-q");
        assert_eq!(shell_word(Path::new("it's here")), r"'it'\''s here'");
        assert_eq!(quoted("a\"b\\\n"), "\"a\\\"b\\\\\\u000a\"");
    }

    #[test]
    fn cycles_name_a_domain() {
        assert_eq!(domain_cycles("a.b=12"), Ok(("a.b".to_owned(), 12)));
        assert!(domain_cycles("12").is_err());
        assert!(domain_cycles("sm=many").is_err());
    }
}
