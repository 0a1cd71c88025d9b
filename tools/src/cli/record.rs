//! `clockweave record` and `clockweave scenarios`.

use std::path::PathBuf;
use std::time::Instant;

use clap::{ArgGroup, Args, ValueEnum};
use clockweave::progress::Progress;
use clockweave::record::{self, Outputs, RecordOptions, Recorded};
use clockweave_simulator::scenario;
use clockweave_simulator::{Compression, RunStatus, TerminationReason};
use serde::Serialize;

use super::console::{Console, counted, grouped};
use super::failure::{Failure, Outcome};
use super::interrupt;

const NOTES: &str = "\
SCENARIO is a TOML file or the name of a built-in scenario; `clockweave
scenarios` lists those, and `clockweave scenarios --print NAME` shows one to
start from.

The run directory holds clock-manifest.json, a text log per clock domain,
timeline.pftrace for the Perfetto UI, and clock-stats.json.

Ctrl-C ends the run after the current batch; what was recorded is complete up
to there, and the exit code is 130.

Examples:
  clockweave record fifo -o out/fifo
  clockweave record fifo --batches 1000000 --trace perfetto
  clockweave record my.toml --set units.producer.pattern=burst";

/// Run a scenario and record it into a run directory
#[derive(Args)]
#[command(after_help = NOTES)]
#[command(group(ArgGroup::new("limit").args(["batches", "time", "cycles"])))]
pub(crate) struct RecordArgs {
    /// A scenario file, or the name of a built-in scenario
    scenario: String,
    /// Run directory, new or empty [default: the first free of out/RUN_ID,
    /// out/RUN_ID-2, …]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Replace the files of an earlier run in the directory
    #[arg(long)]
    force: bool,
    /// Override a value of the scenario, as in units.producer.pattern=burst
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Run so many batches instead of up to the scenario's limit
    #[arg(long, value_name = "N")]
    batches: Option<u64>,
    /// Run every batch before this time, as in 10us
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Run so many edges of a domain
    #[arg(long, value_name = "DOMAIN=N")]
    cycles: Option<String>,
    /// Batches to go on after a unit asks for a stop
    #[arg(long, value_name = "N")]
    stop_margin: Option<u64>,
    /// What to write: text, perfetto, both with a comma between, or off
    /// [default: what the scenario says]
    #[arg(long, value_name = "WHAT", value_delimiter = ',', hide_possible_values = true)]
    trace: Option<Vec<TraceArg>>,
    /// Compression of the trace: none or deflate[:LEVEL], LEVEL from 1 to 12
    /// [default: what the scenario says]
    #[arg(long, value_name = "HOW", value_parser = compression)]
    compress: Option<Compression>,
    /// Report as JSON on stdout
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TraceArg {
    Text,
    Perfetto,
    Off,
}

fn compression(text: &str) -> Result<Compression, String> {
    let level = match text {
        "none" => return Ok(Compression::None),
        "deflate" => "1",
        _ => text.strip_prefix("deflate:").unwrap_or_default(),
    };
    match level.parse() {
        Ok(level @ 1..=12) => Ok(Compression::Deflate { level }),
        _ => Err("expected none, deflate or deflate:LEVEL with LEVEL from 1 to 12".to_owned()),
    }
}

/// The report of `record --json`.
#[derive(Serialize)]
struct JsonReport<'a> {
    report: &'static str,
    version: u32,
    run_id: &'a str,
    output: Option<String>,
    batches: u64,
    time: String,
    time_ns: i64,
    stopped: Option<String>,
    drained: Option<bool>,
    events: u64,
    dropped: u64,
    file_bytes: u64,
    peak_rss_bytes: Option<u64>,
}

pub(crate) fn run(args: &RecordArgs, console: &Console) -> Result<Outcome, Failure> {
    let options = options(args)?;
    let scenario = record::read_scenario(&args.scenario, &options.overrides)?;
    let began = Instant::now();
    let mut bar = console.progress();
    let mut shown = 0;
    let recorded = record::record(&scenario, &options, interrupt::stop_first, |progress| {
        if shown == 0 {
            bar.stage("recording", progress.total);
        }
        bar.advance(progress.done.saturating_sub(shown));
        shown = progress.done;
    });
    bar.into_refused();
    let recorded = recorded?;
    if args.json {
        console.print_json(&report(&recorded))?;
    }
    tell(&recorded, began, console);
    let stopped = recorded.summary.termination.as_ref();
    if stopped.is_some_and(|termination| termination.reason == TerminationReason::External) {
        return Ok(Outcome::Interrupted);
    }
    Ok(Outcome::Fine)
}

fn options(args: &RecordArgs) -> Result<RecordOptions, Failure> {
    let mut overrides = args.overrides.clone();
    overrides.extend(args.batches.map(|batches| format!("run.batches={batches}")));
    overrides.extend(args.time.as_ref().map(|time| format!("run.time={time}")));
    if let Some(cycles) = &args.cycles {
        let (domain, cycles) = cycles.rsplit_once('=').ok_or_else(|| {
            Failure::input(format_args!("--cycles {cycles}: expected DOMAIN=N, as in sm=1000"))
        })?;
        overrides.push(format!("run.cycles.{domain}={cycles}"));
    }
    overrides.extend(args.stop_margin.map(|margin| format!("run.stop_margin={margin}")));
    let outputs = args.trace.as_ref().map(|kinds| Outputs {
        text: kinds.contains(&TraceArg::Text),
        perfetto: kinds.contains(&TraceArg::Perfetto),
    });
    if args.trace.as_ref().is_some_and(|kinds| kinds.len() > 1 && kinds.contains(&TraceArg::Off)) {
        return Err(Failure::input("--trace off excludes the others"));
    }
    Ok(RecordOptions {
        overrides,
        dir: args.output.clone(),
        force: args.force,
        outputs,
        compression: args.compress,
    })
}

fn report(recorded: &Recorded) -> JsonReport<'_> {
    let (summary, stats) = (&recorded.summary, recorded.stats.as_ref());
    JsonReport {
        report: "record",
        version: 1,
        run_id: &recorded.run_id,
        output: recorded.dir.as_ref().map(|dir| dir.display().to_string()),
        batches: summary.batches,
        time: summary.time.to_string(),
        time_ns: summary.time.floor_ns(),
        stopped: summary.termination.as_ref().map(|termination| termination.reason.to_string()),
        drained: summary.drained,
        events: stats.map_or(0, |stats| stats.events),
        dropped: stats.map_or(0, |stats| stats.dropped_events),
        file_bytes: stats.map_or(0, |stats| stats.file_bytes),
        peak_rss_bytes: stats.and_then(|stats| stats.clockweave.peak_rss_bytes),
    }
}

fn tell(recorded: &Recorded, began: Instant, console: &Console) {
    let summary = &recorded.summary;
    let row = |name: &str, value: String| console.note(format_args!("{name:16}{value}"));
    row("run", recorded.run_id.clone());
    row(
        "simulated time",
        format!("{} ns ({})", grouped(summary.time.floor_ns().unsigned_abs()), summary.time),
    );
    row("batches", grouped(summary.batches));
    if let Some(termination) = &summary.termination {
        let who = termination.unit.as_deref().unwrap_or("outside");
        row("stopped", format!("{} by {who}: {}", termination.reason, termination.message));
    } else if summary.status == RunStatus::Settling {
        row("stopped", "the limit came before a requested stop had settled".to_owned());
    }
    match summary.drained {
        Some(true) => row("FIFOs", "drained".to_owned()),
        Some(false) => row("FIFOs", "not drained within the batches allowed".to_owned()),
        None => {}
    }
    if let Some(stats) = &recorded.stats {
        row("events", grouped(stats.events));
        row("dropped", grouped(stats.dropped_events));
        row("output", counted(stats.file_bytes, "byte"));
        let micros = began.elapsed().as_micros().max(1);
        row(
            "events/s",
            grouped(u64::try_from(u128::from(stats.events) * 1_000_000 / micros).unwrap_or(u64::MAX)),
        );
        row("peak buffer", counted(stats.native_buffer_peak_bytes, "byte"));
        if let Some(bytes) = stats.clockweave.peak_rss_bytes {
            row("peak memory", counted(bytes, "byte"));
        }
    }
    if let Some(dir) = &recorded.dir {
        console.note(format_args!(
            "\nnext:  clockweave validate {0}\n       clockweave merge {0}",
            dir.display()
        ));
    }
}

const LIST_NOTES: &str = "\
A built-in scenario is a starting point for one's own:
  clockweave scenarios --print three-clocks > mine.toml
  clockweave record mine.toml";

/// List the built-in scenarios, or print one
#[derive(Args)]
#[command(after_help = LIST_NOTES)]
pub(crate) struct ScenariosArgs {
    /// Print this scenario's TOML
    #[arg(long, value_name = "NAME")]
    print: Option<String>,
    /// List as JSON on stdout
    #[arg(long, conflicts_with = "print")]
    json: bool,
}

#[derive(Serialize)]
struct JsonScenario {
    name: &'static str,
    summary: &'static str,
}

#[derive(Serialize)]
struct JsonScenarios {
    report: &'static str,
    version: u32,
    scenarios: Vec<JsonScenario>,
}

pub(crate) fn scenarios(args: &ScenariosArgs, console: &Console) -> Result<Outcome, Failure> {
    if let Some(name) = &args.print {
        let Some(text) = scenario::builtin(name) else {
            let closest = scenario::closest_builtin(name).map(str::to_owned);
            return Err(record::RecordError::NoScenario { name: name.clone(), closest }.into());
        };
        console.print(text)?;
        return Ok(Outcome::Fine);
    }
    let listed = scenario::builtins().iter();
    if args.json {
        let scenarios = listed.map(|s| JsonScenario { name: s.name, summary: s.summary }).collect();
        console.print_json(&JsonScenarios { report: "scenarios", version: 1, scenarios })?;
        return Ok(Outcome::Fine);
    }
    let width = scenario::builtins().iter().map(|scenario| scenario.name.len()).max().unwrap_or(0);
    for scenario in listed {
        console.print(format_args!("{:width$}  {}\n", scenario.name, scenario.summary))?;
    }
    Ok(Outcome::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressions() {
        assert_eq!(compression("none"), Ok(Compression::None));
        assert_eq!(compression("deflate"), Ok(Compression::Deflate { level: 1 }));
        assert_eq!(compression("deflate:12"), Ok(Compression::Deflate { level: 12 }));
        for bad in ["", "deflate:", "deflate:0", "deflate:13", "zstd", "Deflate"] {
            assert!(compression(bad).is_err(), "{bad}");
        }
    }
}
