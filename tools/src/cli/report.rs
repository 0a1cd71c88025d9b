//! `clockweave report`.

mod words;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use clockweave::merge::MergeReport;
use clockweave::output::{Output, is_dash};
use clockweave::recorded::Recorded;
use clockweave::report::{self, Assertion, PathReport, ReportOptions, RunReport, Verdict};
use clockweave::run::MANIFEST;
use serde::Serialize;

use super::arguments::SpillArgs;
use super::console::{self, Console, counted};
use super::failure::{Failure, Outcome, commit};

const NOTES: &str = "\
What the figures mean. All are exact; words are rounded, --json and --csv not.
  observed time  from the run's first event to its last one
  hop            one packet through one FIFO: fifo.write to fifo.consume
  latency        the time of a hop; in edges: edges of the reader's (or the
                 writer's) clock after the write, up to and with the consume
  median, p90, p99
                 by nearest rank: of n samples the one with rank n/2, 9n/10,
                 99n/100, rounded up, in ascending order
  histogram      bins of 1, 2 or 5 times a power of ten fs (or edges), at most
                 twenty; a bin begins with its lower end, without its upper one
  occupancy      entries in the FIFO's memory, writes less reads; the mean is
                 weighted by time, the maximum is after what an instant changes
  throughput     packets consumed over the observed time, and over the reader's
                 edges in it
  full, empty    stretches of time during which the flag is set, and the edges
                 that see it so: a write (read) is refused there, whether or
                 not the writer (reader) wants one. `full` is back-pressure
  utilisation    of a unit: edges of its clock at which it wrote, read or
                 consumed a packet or recorded an event of its own, over all
What cannot be known, say because events were lost, is left out.

Figures have names, which --csv lists: run.time, fifo.1.p99,
fifo.1.reader_edges.max, fifo.1.write_to_visible.mean, fifo.1.occupancy.mean,
fifo.1.throughput.per_second, fifo.1.full.share, unit.NAME.utilisation. After
--assert they are compared (< <= > >= == !=) with a time, a number, a share or
a rate; fifo.* is every FIFO, and a unit's name may be a pattern.

Exit code 0: fine; 1: an assertion does not hold, or a killed run's last lines
were left out; 2: bad input.

Examples:
  clockweave report out/fifo
  clockweave report out/fifo --assert 'fifo.1.p99 <= 20ns' \\
      --assert 'unit.*.utilisation >= 10%'
  clockweave report run.pftrace --transaction 17
  clockweave report out/fifo --svg -o latency.svg";

/// Show latencies, occupancy, throughput, stalls and utilisation of a run
#[derive(Args)]
#[command(after_help = NOTES)]
pub(crate) struct ReportArgs {
    /// Run directory or trace, `-` for a trace on stdin
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Show the path of this transaction instead
    #[arg(long, value_name = "ID", conflicts_with_all = ["assertions", "csv", "svg"])]
    transaction: Option<u64>,
    /// Exit with 1 unless this holds, as in 'fifo.1.p99 <= 20ns'; may be
    /// repeated
    #[arg(long = "assert", value_name = "CONDITION")]
    assertions: Vec<Assertion>,
    /// Report as JSON
    #[arg(long, group = "form")]
    json: bool,
    /// Report every figure by name, as a table
    #[arg(long, group = "form")]
    csv: bool,
    /// Report as a picture of the latencies
    #[arg(long, group = "form")]
    svg: bool,
    /// Where the report goes
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    spill: SpillArgs,
}

/// The report of `report --json`.
#[derive(Serialize)]
struct JsonReport<'a> {
    report: &'static str,
    version: u32,
    input: String,
    /// Whether no line was left out.
    complete: bool,
    #[serde(flatten)]
    content: Content<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Run {
        #[serde(flatten)]
        run: &'a RunReport,
        assertions: &'a [Verdict],
    },
    Path {
        #[serde(flatten)]
        path: &'a PathReport,
    },
}

pub(crate) fn run(args: &ReportArgs, console: &Console) -> Result<Outcome, Failure> {
    args.spill.check()?;
    if args.transaction == Some(0) {
        return Err(Failure::input("--transaction 0: expected an id other than 0, which stands for none"));
    }
    let options = ReportOptions { memory: args.spill.memory, scratch: args.spill.scratch() };
    let mut progress = console.progress();
    let run = Recorded::open(&args.run, &options.scratch, &mut progress)?;
    let mut inputs = run.files();
    inputs.extend([args.run.clone(), args.run.join(MANIFEST)]);
    let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
    let mut output = Output::create(&args.output, args.force, &inputs)?;
    let failed = |error| Failure::of_merge(error, &args.output);
    let (bytes, merged, outcome) = if let Some(id) = args.transaction {
        let (path, merged) = report::path(&run, id, &options, &mut progress).map_err(failed)?;
        if path.steps.is_empty() {
            return Err(
                Failure::input(format_args!("the run has no event of transaction {id}")).about(&args.run)
            );
        }
        let bytes = match args.json {
            true => json(args, &merged, Content::Path { path: &path })?,
            false => words::path(&path).into_bytes(),
        };
        (bytes, merged, Outcome::Fine)
    } else {
        let (report, merged) = report::report(&run, &options, &mut progress).map_err(failed)?;
        let verdicts: Vec<Verdict> =
            args.assertions.iter().map(|assertion| assertion.check(&report)).collect();
        let holds = verdicts.iter().all(|verdict| verdict.holds);
        let bytes = in_form(args, &report, &merged, &verdicts)?;
        drop(progress);
        tell(&verdicts, console);
        (bytes, merged, if holds { Outcome::Fine } else { Outcome::Findings })
    };
    let written = if in_words(args) && is_dash(&args.output) {
        console.report(String::from_utf8_lossy(&bytes))
    } else {
        output.write_all(&bytes).map_err(|error| Failure::writing(&error, &error, &args.output))
    };
    written?;
    let outcome = commit(output, outcome)?;
    Ok(if torn(&merged, console) { Outcome::Findings } else { outcome })
}

fn in_words(args: &ReportArgs) -> bool {
    !args.json && !args.csv && !args.svg
}

fn json(args: &ReportArgs, merged: &MergeReport, content: Content<'_>) -> Result<Vec<u8>, Failure> {
    let input = if is_dash(&args.run) { "stdin".to_owned() } else { args.run.display().to_string() };
    let report = JsonReport { report: "report", version: 1, input, complete: merged.is_complete(), content };
    Ok((console::json(&report)? + "\n").into_bytes())
}

/// The report as asked for.
fn in_form(
    args: &ReportArgs,
    report: &RunReport,
    merged: &MergeReport,
    verdicts: &[Verdict],
) -> Result<Vec<u8>, Failure> {
    if args.json {
        return json(args, merged, Content::Run { run: report, assertions: verdicts });
    }
    let mut bytes = Vec::new();
    let done = if args.csv {
        report::write_csv(report, &mut bytes)
    } else if args.svg {
        report::chart(report, &mut bytes)
    } else {
        bytes = words::report(report).into_bytes();
        Ok(())
    };
    done.map(|()| bytes).map_err(Failure::environment)
}

fn tell(verdicts: &[Verdict], console: &Console) {
    for verdict in verdicts {
        if verdict.holds {
            console.note(format_args!("holds: {}", verdict.assertion));
        }
        for reason in &verdict.reasons {
            console.error(format_args!("`{}` does not hold: {reason}", verdict.assertion));
        }
    }
}

/// Warns of last lines that were left out; whether there were any.
fn torn(merged: &MergeReport, console: &Console) -> bool {
    for log in &merged.logs {
        if let Some(torn) = log.torn {
            console.warn(format_args!(
                "{}:{}: the last line has no line feed ({} at byte {}), so the run was killed; left out",
                log.file,
                torn.line,
                counted(torn.bytes, "byte"),
                torn.offset
            ));
        }
    }
    !merged.is_complete()
}
