//! `clockweave merge`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use clockweave::logs::TornLine;
use clockweave::merge::{self, Filter, MergeError, MergeOptions, MergeReport, OnError, TextFormat};
use clockweave::output::{Output, is_dash};
use clockweave::progress::Progress;
use clockweave::run::{MANIFEST, Run};
use clockweave_model::Seconds;
use glob::Pattern;
use serde::Serialize;

use super::arguments::{SpillArgs, pattern, seconds};
use super::console::{Console, RefusedLine, counted};
use super::failure::{Failure, Outcome};
use super::parquet;

const NOTES: &str = "\
Columns: time_num time_den ts domain_id unit local_cycle event phase
transaction_id fifo_id value ordinal, named by the first line without `#`.
time_num/time_den is the exact time in seconds, reduced; ts its floor in
nanoseconds. With several directories the run's name comes first.

Order: exact time, run, phase, domain id, unit name, ordinal. It is an order of
presentation, not a claim about causes: the trace's own order has no domain id
in it, and flows follow that one.

Formats: tsv and csv are tables; jsonl has an object per line; sqlite a database
with tables run, domain, unit, event and gap and the view merged; parquet a
table in columns, with the run always first (it needs a build with the feature
`parquet`); pftrace is a Perfetto trace rebuilt from the logs of one run.
A gap of a lossy run stays a comment in tsv, is a row `trace.gap` with the
number of lost events as value in csv, jsonl and parquet, and a row of table
gap.

Logs may be compressed: text-domain-NAME.log.gz, text-domain-NAME.log.zst.

A last line without a line feed, as a killed run leaves it, is reported and left
out; the exit code is then 1. Logs that are not in order are sorted within the
memory given, with temporary files where that is not enough.

Of several patterns of one option an event has to match one. `*` is any text,
`?` any character.

Examples:
  clockweave merge out/fifo -o fifo.tsv
  clockweave merge out/fifo --unit 'gpu.*' --from 10us --to 12us | head
  clockweave merge chip-a chip-b --format sqlite -o both.db";

/// Merge the per-clock logs of runs into one, in exact time order
#[derive(Args)]
#[command(after_help = NOTES)]
pub(crate) struct MergeArgs {
    /// Run directories: clock-manifest.json and text-domain-NAME.log files
    #[arg(value_name = "DIR", required = true)]
    runs: Vec<PathBuf>,
    /// Where the merged log goes
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
    /// Format of the merged log
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "tsv")]
    format: Format,
    /// Write a folder with a parquet file for every period of this length, as in
    /// 1ms
    #[arg(long, value_name = "T", value_parser = seconds)]
    partition_time: Option<Seconds>,
    /// Leave out events before this time, as in 10us
    #[arg(long, value_name = "T", value_parser = seconds)]
    from: Option<Seconds>,
    /// Leave out events at and after this time
    #[arg(long, value_name = "T", value_parser = seconds)]
    to: Option<Seconds>,
    /// Only events of domains of this name; may be repeated
    #[arg(long, value_name = "GLOB", value_parser = pattern)]
    domain: Vec<Pattern>,
    /// Only events of units of this name; may be repeated
    #[arg(long, value_name = "GLOB", value_parser = pattern)]
    unit: Vec<Pattern>,
    /// Only events of this name; may be repeated
    #[arg(long, value_name = "GLOB", value_parser = pattern)]
    event: Vec<Pattern>,
    /// Only events of this transaction
    #[arg(long, value_name = "ID")]
    transaction: Option<u64>,
    /// What to do about a wrong line: `halt` stops at the first and writes
    /// nothing, `skip` leaves it out and exits with 1, `collect` lists every
    /// one and writes nothing
    #[arg(long, value_name = "WHAT", value_enum, default_value = "halt")]
    on_error: OnErrorArg,
    #[command(flatten)]
    spill: SpillArgs,
    /// Report as JSON on stdout; needs --output FILE
    #[arg(long)]
    json: bool,
}

/// The formats of a merged log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
enum Format {
    Tsv,
    Csv,
    Jsonl,
    Sqlite,
    Parquet,
    Pftrace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OnErrorArg {
    Halt,
    Skip,
    Collect,
}

impl From<OnErrorArg> for OnError {
    fn from(arg: OnErrorArg) -> Self {
        match arg {
            OnErrorArg::Halt => Self::Halt,
            OnErrorArg::Skip => Self::Skip,
            OnErrorArg::Collect => Self::Collect,
        }
    }
}

/// The report of `merge --json`.
#[derive(Serialize)]
struct JsonReport<'a> {
    report: &'static str,
    version: u32,
    output: String,
    format: Format,
    complete: bool,
    /// The run's name; `null` if there are several.
    run_id: Option<&'a str>,
    #[serde(flatten)]
    merged: &'a MergeReport,
    skipped_lines: u64,
    skipped: &'a [RefusedLine],
}

impl MergeArgs {
    fn options(&self) -> MergeOptions {
        MergeOptions {
            memory: self.spill.memory,
            on_error: self.on_error.into(),
            filter: Filter {
                from: self.from,
                to: self.to,
                domains: self.domain.clone(),
                units: self.unit.clone(),
                events: self.event.clone(),
                transaction: self.transaction,
            },
            scratch: self.spill.scratch(),
        }
    }
}

/// Merges into `output`; only what stands before any merging fails at once.
fn merge_as(
    format: Format,
    runs: &[Run],
    options: &MergeOptions,
    output: &mut Output,
    progress: &mut dyn Progress,
) -> Result<Result<MergeReport, MergeError>, Failure> {
    let text = match format {
        Format::Tsv => TextFormat::Tsv,
        Format::Csv => TextFormat::Csv,
        Format::Jsonl => TextFormat::Jsonl,
        Format::Sqlite => {
            let path = output.file_path().ok_or_else(|| {
                Failure::input("--format sqlite writes a database, which needs --output FILE, a regular file")
            })?;
            return Ok(merge::merge_sqlite(runs, options, path, progress));
        }
        Format::Parquet => return parquet::into_file(runs, options, output, progress),
        Format::Pftrace => return Ok(merge::merge_pftrace(runs, options, output, progress)),
    };
    Ok(merge::merge(runs, options, text, output, progress))
}

/// Merges `runs`, read from `inputs`, into the output, which then has its place.
fn write(
    args: &MergeArgs,
    runs: &[Run],
    inputs: &[&Path],
    progress: &mut dyn Progress,
) -> Result<MergeReport, Failure> {
    let options = args.options();
    if let Some(period) = args.partition_time {
        return parquet::into_folder(runs, &options, &args.output, args.force, period, progress);
    }
    let mut output = Output::create(&args.output, args.force, inputs)?;
    let merged = merge_as(args.format, runs, &options, &mut output, progress)?;
    let merged = merged.map_err(|error| Failure::of_merge(error, &args.output))?;
    output.commit()?;
    Ok(merged)
}

fn check(args: &MergeArgs) -> Result<(), Failure> {
    if args.json && is_dash(&args.output) {
        return Err(Failure::input("--json writes its report to stdout, so the log needs --output FILE"));
    }
    if let Some(period) = args.partition_time
        && (args.format != Format::Parquet || is_dash(&args.output) || *period.ratio().numer() == 0)
    {
        return Err(Failure::input(
            "--partition-time takes a time above 0 and needs --format parquet and --output DIR",
        ));
    }
    args.spill.check()?;
    Ok(())
}

pub(crate) fn run(args: &MergeArgs, console: &Console) -> Result<Outcome, Failure> {
    check(args)?;
    let runs = args.runs.iter().map(|dir| Run::open(dir)).collect::<Result<Vec<Run>, _>>()?;
    let mut inputs: Vec<PathBuf> = args.runs.iter().map(|dir| dir.join(MANIFEST)).collect();
    inputs.extend(runs.iter().flat_map(Run::logs).map(|log| PathBuf::from(log.name())));
    let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
    let mut progress = console.progress();
    if args.on_error == OnErrorArg::Collect {
        progress.tell_all();
    }
    let merged = write(args, &runs, &inputs, &mut progress);
    let (skipped, _) = progress.into_refused();
    let merged = merged?;
    let outcome = if merged.is_complete() { Outcome::Fine } else { Outcome::Findings };
    tell(&merged, args, console);
    if args.json {
        console.print_json(&JsonReport {
            report: "merge",
            version: 1,
            output: args.output.display().to_string(),
            format: args.format,
            complete: merged.is_complete(),
            run_id: if let [only] = merged.runs.as_slice() { Some(only) } else { None },
            merged: &merged,
            skipped_lines: merged.logs.iter().map(|log| log.skipped_lines).sum(),
            skipped: &skipped,
        })?;
    }
    Ok(outcome)
}

fn tell(merged: &MergeReport, args: &MergeArgs, console: &Console) {
    for log in &merged.logs {
        match log.torn {
            Some(TornLine { bytes: 0, .. }) => console.warn(format_args!(
                "{}: the file is empty, expected at least its first line; a killed run leaves such files",
                log.file
            )),
            Some(TornLine { line, offset, bytes }) => console.warn(format_args!(
                "{}:{line}: the last line has no line feed ({} at byte {offset}), so it may be cut short; left out",
                log.file,
                counted(bytes, "byte")
            )),
            None => {}
        }
        if log.skipped_lines > 0 {
            console.warn(format_args!("{}: {} left out", log.file, counted(log.skipped_lines, "line")));
        }
        if log.lost_events > 0 {
            console.note(format_args!(
                "{}: the run lost {} in {} when it was recorded",
                log.file,
                counted(log.lost_events, "event"),
                counted(log.gaps, "gap")
            ));
        }
    }
    let place =
        if is_dash(&args.output) { String::new() } else { format!(" into {}", args.output.display()) };
    let sorted = merged.logs.iter().filter(|log| !log.ordered).count() as u64;
    let how = match (sorted, merged.spilled_bytes) {
        (0, _) => String::new(),
        (logs, 0) => format!("; {} had to be sorted", counted(logs, "log")),
        (logs, bytes) => {
            format!("; {} had to be sorted, {} outside memory", counted(logs, "log"), counted(bytes, "byte"))
        }
    };
    let left_out = match merged.filtered_events {
        0 => String::new(),
        events => format!("; {} left out by filters", counted(events, "event")),
    };
    let whose = match merged.runs.as_slice() {
        [only] => format!("run `{only}`"),
        runs => counted(runs.len() as u64, "run"),
    };
    console.note(format_args!(
        "merged {} of {whose} from {}{place}{how}{left_out}",
        counted(merged.events, "event"),
        counted(merged.logs.len() as u64, "log")
    ));
}
