//! `clockweave validate`.

use std::io;
use std::path::PathBuf;

use clap::Args;
use clockweave::output::is_dash;
use clockweave::progress::Progress;
use clockweave::scratch::Spooled;
use clockweave_validators::engine::{Engine, EngineDirs};
use clockweave_validators::report::Report;
use clockweave_validators::{Options, Target, validate};
use serde::Serialize;

use super::console::Console;
use super::failure::{Failure, Outcome};

/// What reports call the trace on stdin.
const STDIN: &str = "stdin";

const NOTES: &str = "\
The trace is imported by the real Perfetto Trace Processor, run in this process;
`clockweave engine install` puts it there once, and nothing needs a network
afterwards. Of a run directory everything is compared: each imported row with
the text logs, counts with the statistics, times with the manifest's exact
clocks, flows in set and direction. Of a trace alone its structure and import.

Exit code 0: all checks hold; 1: findings; 2: bad input; 3: no usable engine.

Examples:
  clockweave validate out/fifo
  clockweave validate --prefix killed";

/// Prove that a trace says exactly what its run did
#[derive(Args)]
#[command(after_help = NOTES)]
pub(crate) struct ValidateArgs {
    /// Run directories, or traces; `-` is a trace on stdin
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// The directory may be what a killed run left: no statistics, torn logs, a
    /// recovered trace; what trace and logs have in common must be equal
    #[arg(long)]
    prefix: bool,
    /// Findings listed per check; all are counted
    #[arg(long, value_name = "N", default_value_t = Options::default().max_findings)]
    max_findings: usize,
    /// Report as JSON
    #[arg(long)]
    json: bool,
}

/// The report of `validate --json`.
#[derive(Serialize)]
struct JsonReport {
    report: &'static str,
    version: u32,
    /// Whether every path was validated and nothing found.
    passed: bool,
    results: Vec<JsonResult>,
}

/// One path's result: a report, or why there is none.
#[derive(Serialize)]
#[serde(untagged)]
enum JsonResult {
    Report(Report),
    Error { subject: String, passed: bool, error: String },
}

pub(crate) fn run(args: &ValidateArgs, console: &Console) -> Result<Outcome, Failure> {
    let engine = Engine::open(&EngineDirs::from_env()?)?;
    let options = Options { prefix: args.prefix, max_findings: args.max_findings };
    let mut progress = console.progress();
    progress.stage("validating", args.paths.len() as u64);
    let (mut results, mut code) = (Vec::new(), 0);
    for path in &args.paths {
        let spooled = if is_dash(path) { Some(spool()?) } else { None };
        let target =
            spooled.as_ref().map_or_else(|| Target::of(path), |trace| Target::Trace(trace.path().to_owned()));
        match validate(&target, &options, &engine) {
            Ok(mut report) => {
                if spooled.is_some() {
                    report.subject = STDIN.to_owned();
                }
                code = code.max(report.exit_code());
                if !args.json {
                    progress.aside(|| show(&report, console))?;
                }
                results.push(JsonResult::Report(report));
            }
            Err(error) => {
                results.push(JsonResult::Error {
                    subject: path.display().to_string(),
                    passed: false,
                    error: error.to_string(),
                });
                code = code.max(error.exit_code());
                progress.aside(|| console.error(&error));
            }
        }
        progress.advance(1);
    }
    drop(progress);
    if args.json {
        console.print_json(&JsonReport { report: "validate", version: 1, passed: code == 0, results })?;
    }
    Ok(Outcome::Told(code))
}

/// The trace on stdin as a file: it is read more than once.
fn spool() -> Result<Spooled, Failure> {
    Spooled::new(io::stdin().lock()).map_err(|error| Failure::environment(format_args!("{STDIN}: {error}")))
}

fn show(report: &Report, console: &Console) -> Result<(), Failure> {
    if report.passed { console.report(report) } else { console.print(report) }
}
