//! `clockweave validate`.

use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use clockweave::output::{Output, check_stdout, files_of, is_dash};
use clockweave::parallel::in_order;
use clockweave::progress::Progress;
use clockweave::scratch::Spooled;
use clockweave_validators::engine::{Engine, EngineDirs, EngineError, TIME_LIMIT, Width};
use clockweave_validators::report::{Report, Verdict, annotations, junit, sarif};
use clockweave_validators::{InputError, Limits, Options, OwnCheck, Target, ValidateError, validate};
use serde::Serialize;

use super::arguments::byte_size;
use super::console::Console;
use super::failure::{Failure, Outcome, commit};

/// What reports call the trace on stdin.
const STDIN: &str = "stdin";
/// Names a native Trace Processor.
const NATIVE: &str = "CLOCKWEAVE_TRACE_PROCESSOR";

const NOTES: &str = "\
The trace is imported by the real Perfetto Trace Processor, run in this process;
`clockweave engine install` puts it there once, and nothing needs a network
afterwards. Of a run directory everything is compared: each imported row with
the text logs, counts with the statistics, times with the manifest's exact
clocks, flows in set and direction, FIFOs with the laws of their circuit. Of a
trace alone its structure and import.

Several paths share one engine and are validated at the same time; results come
in the order of the paths. Findings are annotations too where GitHub runs this.

Exit code 0: all checks hold; 1: findings; 2: bad input; 3: no usable engine.

Examples:
  clockweave validate out/fifo
  clockweave validate --junit junit.xml --sarif findings.sarif out/*
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
    /// An independent expectation of the one run directory given, as
    /// tab-separated columns `ts unit local_cycle event phase transaction_id
    /// fifo_id value ordinal`
    #[arg(long, value_name = "FILE")]
    reference: Option<PathBuf>,
    /// Own checks: each NAME.sql in the folder must give no row, or the rows of
    /// NAME.expected.csv beside it
    #[arg(long, value_name = "FOLDER")]
    check: Option<PathBuf>,
    /// Write a SQLite database of both sides, the trace's events and the logs',
    /// and of the listed findings; of one path
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
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
    /// Paths validated at the same time, each with an engine of its own
    /// [default: the number of processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Run this trace_processor_shell, a process per job, in place of the
    /// embedded engine [default: $CLOCKWEAVE_TRACE_PROCESSOR]
    #[arg(long, value_name = "PROGRAM")]
    trace_processor: Option<PathBuf>,
    /// Give an engine up that gives no answer for so long
    #[arg(long, value_name = "SECONDS", default_value_t = TIME_LIMIT.as_secs())]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    engine_timeout: u64,
    /// Report as JSON
    #[arg(long)]
    json: bool,
    /// Write JUnit XML: a suite per path, a case per check
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write a SARIF 2.1.0 log of all listed findings
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
}

/// The report of `validate --json`.
#[derive(Serialize)]
struct JsonReport {
    report: &'static str,
    version: u32,
    /// Whether every path was validated and nothing found.
    passed: bool,
    /// Instances or processes of the engine that were started.
    engine_starts: u64,
    results: Vec<Verdict>,
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
    refuse_contradictions(args)?;
    let paths: Vec<&Path> = args.paths.iter().map(PathBuf::as_path).collect();
    let files = files_of(&[&args.paths[..], args.reference.as_slice(), args.check.as_slice()].concat());
    let inputs: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    check_stdout(&args.paths)?;
    let output = |path: &Option<PathBuf>| -> Result<Option<Output>, Failure> {
        Ok(path.as_ref().map(|path| Output::create(path, args.force, &inputs)).transpose()?)
    };
    let (junit_out, sarif_out) = (output(&args.junit)?, output(&args.sarif)?);
    let database = output(&args.db)?;
    let database_file = match &database {
        Some(database) => Some(database.file_path().map(Path::to_owned).ok_or_else(|| {
            Failure::input("--db writes a database, which needs the name of a regular file")
        })?),
        None => None,
    };
    let own_checks = match &args.check {
        Some(folder) => OwnCheck::read_folder(folder).map_err(|error| failed(&error.into()))?,
        None => Vec::new(),
    };
    let options = Options {
        prefix: args.prefix,
        max_findings: args.max_findings,
        limits: args.limits(),
        reference: args.reference.clone(),
        own_checks,
        database: database_file,
    };
    let engine = engine(args)?;
    let jobs =
        args.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    if jobs > 1 && paths.len() > 1 {
        // Or every job would compile it.
        engine.prepare(Width::Narrow)?;
    }
    let mut progress = console.progress();
    progress.stage("validating", paths.len() as u64);
    let (mut verdicts, mut code) = (Vec::new(), 0);
    let work = |path: &&Path| verdict(path, &options, &engine);
    in_order(&paths, jobs, work, |verdict| -> Result<(), Failure> {
        code = code.max(verdict.exit_code());
        match &verdict {
            Verdict::Report(report) if !args.json => progress.aside(|| show(report, console))?,
            Verdict::Report(_) => {}
            Verdict::Error { error, .. } => progress.aside(|| console.error(error)),
        }
        verdicts.push(verdict);
        progress.advance(1);
        Ok(())
    })?;
    drop(progress);
    if env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true") {
        console.command(annotations(&verdicts));
    }
    // Without a report there is nothing to keep.
    if let Some(database) = database.filter(|_| verdicts.iter().all(|one| matches!(one, Verdict::Report(_))))
    {
        commit(database, Outcome::Fine)?;
    }
    write_report(junit_out, |out| junit(&verdicts, out))?;
    write_report(sarif_out, |out| sarif(&verdicts, out))?;
    if args.json {
        let (passed, engine_starts) = (code == 0, engine.starts());
        console.print_json(&JsonReport {
            report: "validate",
            version: 1,
            passed,
            engine_starts,
            results: verdicts,
        })?;
    }
    Ok(Outcome::Told(code))
}

fn refuse_contradictions(args: &ValidateArgs) -> Result<(), Failure> {
    if args.reference.is_some() && args.paths.len() > 1 {
        let problem = "--reference is of one run: found several paths, expected one run directory";
        return Err(Failure::input(problem));
    }
    if args.db.is_some() && args.paths.len() > 1 {
        return Err(Failure::input("--db is of one path: found several, expected one"));
    }
    if args.paths.iter().filter(|path| is_dash(path)).count() > 1 {
        return Err(Failure::input("found `-` twice, expected one trace on stdin"));
    }
    let to_stdout =
        [args.json, args.junit.as_deref().is_some_and(is_dash), args.sarif.as_deref().is_some_and(is_dash)];
    if to_stdout.iter().filter(|asked| **asked).count() > 1 {
        return Err(Failure::input(
            "found two reports for stdout, expected one at most; give the others files",
        ));
    }
    Ok(())
}

/// The native Trace Processor that the user has named: here, or in the environment.
pub(super) fn native_program(named: Option<PathBuf>) -> Option<PathBuf> {
    named.or_else(|| env::var_os(NATIVE).filter(|value| !value.is_empty()).map(PathBuf::from))
}

/// The embedded engine, or the program that the user has named.
fn engine(args: &ValidateArgs) -> Result<Engine, EngineError> {
    let limit = Duration::from_secs(args.engine_timeout);
    if let Some(program) = native_program(args.trace_processor.clone()) {
        return Engine::native(&program, limit);
    }
    let mut engine = Engine::open(&EngineDirs::from_env()?)?;
    engine.limit_time(limit);
    Ok(engine)
}

fn write_report(
    output: Option<Output>,
    write: impl FnOnce(&mut Output) -> io::Result<()>,
) -> Result<(), Failure> {
    let Some(mut output) = output else { return Ok(()) };
    let path = output.path().to_owned();
    write(&mut output).map_err(|error| Failure::writing(&error, &error, &path))?;
    commit(output, Outcome::Fine).map(|_| ())
}

fn failed(error: &ValidateError) -> Failure {
    if error.exit_code() == 2 { Failure::input(error) } else { Failure::environment(error) }
}

/// What reports call a path.
fn name(path: &Path) -> String {
    if is_dash(path) { STDIN.to_owned() } else { path.display().to_string() }
}

fn verdict(path: &Path, options: &Options, engine: &Engine) -> Verdict {
    match validate_one(path, options, engine) {
        Ok(report) => Verdict::Report(report),
        Err(error) => Verdict::Error {
            subject: name(path),
            passed: false,
            error: match &error {
                ValidateError::Database(_) => format!("--db: {error}"),
                _ => error.to_string(),
            },
            code: error.exit_code(),
        },
    }
}

/// Validates a path; a trace from stdin or a pipe as a file, since it is read more than once.
fn validate_one(path: &Path, options: &Options, engine: &Engine) -> Result<Report, ValidateError> {
    let source: Box<dyn Read> = if is_dash(path) {
        Box::new(io::stdin().lock())
    } else if is_pipe(path) {
        Box::new(File::open(path).map_err(|error| InputError::new(path, error))?)
    } else {
        return validate(&Target::of(path), options, engine);
    };
    let subject = name(path);
    // No trace is longer than its content, but for headers around what does not compress.
    let spooled = Spooled::new(source, options.limits.content_bytes).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => {
            let problem = format!("{error}; --max-content raises the limit, and time and memory with it");
            InputError::new(Path::new(&subject), problem)
        }
        _ => {
            let problem = format!("copying it to {}: {error}", env::temp_dir().display());
            InputError { environment: true, ..InputError::new(Path::new(&subject), problem) }
        }
    })?;
    match validate(&Target::Trace(spooled.path().to_owned()), options, engine) {
        Ok(report) => Ok(Report { subject, ..report }),
        Err(ValidateError::Input(error)) if error.path == spooled.path() => {
            Err(InputError { path: subject.into(), ..error }.into())
        }
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
