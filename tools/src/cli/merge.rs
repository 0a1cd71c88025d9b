//! `clockweave merge`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use clockweave::logs::TornLine;
use clockweave::merge::{self, MergeOptions, MergeReport, OnError};
use clockweave::output::{Output, is_dash};
use clockweave::run::{MANIFEST, Run};
use serde::Serialize;

use super::arguments::{byte_size, merge_formats};
use super::console::{Console, RefusedLine, counted};
use super::failure::{Failure, Outcome, commit};

const SMALLEST_MEMORY: u64 = 1 << 20;

const NOTES: &str = "\
Columns: time_num time_den ts domain_id unit local_cycle event phase
transaction_id fifo_id value ordinal, named by the first line without `#`.
time_num/time_den is the exact time in seconds, reduced; ts its floor in
nanoseconds. Gaps of a lossy run stay comments, at their place.

Order: exact time, phase, domain id, unit name, ordinal. It is an order of
presentation, not a claim about causes: the trace's own order has no domain id
in it, and flows follow that one.

A last line without a line feed, as a killed run leaves it, is reported and left
out; the exit code is then 1. Logs that are not in order are sorted within the
memory given, with temporary files where that is not enough.

Examples:
  clockweave merge out/fifo -o fifo.tsv
  clockweave merge out/fifo | head";

/// Merge the per-clock logs of a run into one, in exact time order
#[derive(Args)]
#[command(after_help = NOTES)]
pub(crate) struct MergeArgs {
    /// Run directory: clock-manifest.json and its text-domain-NAME.log files
    #[arg(value_name = "DIR")]
    run: PathBuf,
    /// Where the merged log goes
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
    /// Format of the merged log
    #[arg(long, value_name = "FORMAT", default_value = "tsv", value_parser = merge_formats())]
    format: String,
    /// What to do about a wrong line: `halt` stops at the first and writes
    /// nothing, `skip` leaves it out and exits with 1, `collect` lists every
    /// one and writes nothing
    #[arg(long, value_name = "WHAT", value_enum, default_value = "halt")]
    on_error: OnErrorArg,
    /// Memory to stay within
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = byte_size)]
    memory: u64,
    /// Where temporary files go [default: the system's place]
    #[arg(long, value_name = "FOLDER")]
    temp_dir: Option<PathBuf>,
    /// Report as JSON on stdout; needs --output FILE
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
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
    format: &'a str,
    complete: bool,
    #[serde(flatten)]
    merged: &'a MergeReport,
    skipped_lines: u64,
    skipped: &'a [RefusedLine],
}

pub(crate) fn run(args: &MergeArgs, console: &Console) -> Result<Outcome, Failure> {
    if args.json && is_dash(&args.output) {
        return Err(Failure::input("--json writes its report to stdout, so the log needs --output FILE"));
    }
    if args.memory < SMALLEST_MEMORY {
        return Err(Failure::input(format_args!("--memory {}: expected at least 1MiB", args.memory)));
    }
    let run = Run::open(&args.run)?;
    let mut inputs = vec![args.run.join(MANIFEST)];
    inputs.extend(run.logs().iter().map(|log| PathBuf::from(log.name())));
    let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
    let mut output = Output::create(&args.output, args.force, &inputs)?;
    let options = MergeOptions {
        memory: args.memory,
        on_error: args.on_error.into(),
        scratch: args.temp_dir.clone().unwrap_or_else(std::env::temp_dir),
    };
    let mut progress = console.progress();
    let merged = merge::merge(&run, &options, &mut output, &mut progress);
    let (skipped, _) = progress.into_refused();
    let merged = merged.map_err(|error| Failure::of_merge(error, &args.output))?;
    let outcome = if merged.is_complete() { Outcome::Fine } else { Outcome::Findings };
    let outcome = commit(output, outcome)?;
    tell(&merged, args, console);
    if args.json {
        console.print_json(&JsonReport {
            report: "merge",
            version: 1,
            output: args.output.display().to_string(),
            format: &args.format,
            complete: merged.is_complete(),
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
    console.note(format_args!(
        "merged {} of run `{}` from {}{place}{how}",
        counted(merged.events, "event"),
        merged.run_id,
        counted(merged.logs.len() as u64, "log")
    ));
}
