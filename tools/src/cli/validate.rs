//! `clockweave validate`.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use clockweave::output::is_dash;
use clockweave::progress::Progress;
use clockweave::scratch::Spooled;
use clockweave_validators::engine::{Engine, EngineDirs};
use clockweave_validators::report::Report;
use clockweave_validators::{InputError, Limits, Options, Target, ValidateError, validate};
use serde::Serialize;

use super::arguments::byte_size;
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
    /// Longest packet that is taken in; what comes after a longer one is not
    /// looked at
    #[arg(long, value_name = "SIZE", value_parser = byte_size, default_value = "64MiB")]
    max_packet: u64,
    /// Most content of a compressed packet that is taken in; what comes after a
    /// larger one is not looked at
    #[arg(long, value_name = "SIZE", value_parser = byte_size, default_value = "64MiB")]
    max_wrapper: u64,
    /// Most content of a trace file, compressed packets opened; a larger one is
    /// refused
    #[arg(long, value_name = "SIZE", value_parser = byte_size, default_value = "1GiB")]
    max_content: u64,
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

impl ValidateArgs {
    fn limits(&self) -> Limits {
        let bytes = |size| usize::try_from(size).unwrap_or(usize::MAX);
        Limits {
            packet_bytes: bytes(self.max_packet),
            wrapper_bytes: bytes(self.max_wrapper),
            content_bytes: self.max_content,
        }
    }
}

pub(crate) fn run(args: &ValidateArgs, console: &Console) -> Result<Outcome, Failure> {
    let engine = Engine::open(&EngineDirs::from_env()?)?;
    let options = Options { prefix: args.prefix, max_findings: args.max_findings, limits: args.limits() };
    let mut progress = console.progress();
    progress.stage("validating", args.paths.len() as u64);
    let (mut results, mut code) = (Vec::new(), 0);
    for path in &args.paths {
        match validate_one(path, &options, &engine) {
            Ok(report) => {
                code = code.max(report.exit_code());
                if !args.json {
                    progress.aside(|| show(&report, console))?;
                }
                results.push(JsonResult::Report(report));
            }
            Err(error) => {
                results.push(JsonResult::Error {
                    subject: name(path),
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

/// What reports call a path.
fn name(path: &Path) -> String {
    if is_dash(path) { STDIN.to_owned() } else { path.display().to_string() }
}

/// Validates a path; a trace from stdin or a pipe as a file, since it is read more than once.
fn validate_one(path: &Path, options: &Options, engine: &Engine) -> Result<Report, ValidateError> {
    let spooled = if is_dash(path) {
        Spooled::new(io::stdin().lock())
    } else if is_pipe(path) {
        File::open(path).and_then(Spooled::new)
    } else {
        return validate(&Target::of(path), options, engine);
    };
    let subject = name(path);
    let spooled = spooled.map_err(|error| {
        let problem = format!("copying it to {}: {error}", std::env::temp_dir().display());
        InputError { environment: true, ..InputError::new(Path::new(&subject), problem) }
    })?;
    match validate(&Target::Trace(spooled.path().to_owned()), options, engine) {
        Ok(report) => Ok(Report { subject, ..report }),
        Err(ValidateError::Input(error)) => Err(InputError { path: subject.into(), ..error }.into()),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_pipe(_path: &Path) -> bool {
    false
}

fn show(report: &Report, console: &Console) -> Result<(), Failure> {
    if report.passed { console.report(report) } else { console.print(report) }
}
