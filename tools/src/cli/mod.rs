//! The command line: arguments, dispatch, exit codes.
//!
//! Data goes to stdout, everything else to stderr. Every command returns an [`Outcome`] or a
//! [`Failure`]; only this module turns them into an exit code.

mod arguments;
mod console;
mod diff;
mod engine;
mod failure;
mod inspect;
mod interrupt;
mod manual;
mod merge;
mod open;
mod parquet;
mod record;
mod recover;
mod report;
mod runqueue;
mod scenarios;
mod validate;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use arguments::GlobalArgs;
use console::Console;
use failure::Failure;

/// Record, merge, repair and validate traces of systems with several clocks.
#[derive(Parser)]
#[command(name = "clockweave", version, max_term_width = 80, after_help = EXIT_CODES)]
#[command(subcommand_required = true, arg_required_else_help = true, infer_long_args = false)]
struct Cli {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 fine; 1 findings (validation failed, something was lost);
2 usage or input error, nothing written; 3 environment (engine, disk space,
permission); 130 interrupted. `-` is stdin or stdout where a file is expected.";

#[derive(Subcommand)]
enum Command {
    Record(Box<record::RecordArgs>),
    Scenarios(scenarios::ScenariosArgs),
    Merge(merge::MergeArgs),
    Recover(recover::RecoverArgs),
    Inspect(inspect::InspectArgs),
    Diff(diff::DiffArgs),
    Report(report::ReportArgs),
    Open(open::OpenArgs),
    Validate(validate::ValidateArgs),
    Engine(engine::EngineArgs),
    #[command(name = "runqueue")]
    RunQueue(runqueue::RunQueueArgs),
    Man(manual::ManArgs),
    Completions(manual::CompletionsArgs),
}

/// Runs the command line of this process.
pub(crate) fn run() -> ExitCode {
    let color = arguments::color_of(std::env::args_os());
    color.apply();
    let parsed = Cli::command().color(color.for_help()).try_get_matches();
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and usage errors that nobody reads are nobody's problem.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let console = Console::new(cli.global.quiet);
    let done = interrupt::install().and_then(|()| match cli.command {
        Command::Record(args) => record::run(&args, &console),
        Command::Scenarios(args) => scenarios::run(&args, &console),
        Command::Validate(args) => validate::run(&args, &console),
        Command::Engine(args) => engine::run(&args, &console),
        Command::RunQueue(args) => runqueue::run(&args, &console),
        Command::Merge(args) => merge::run(&args, &console),
        Command::Recover(args) => recover::run(&args, &console),
        Command::Diff(args) => diff::run(&args, &console),
        Command::Report(args) => report::run(&args, &console),
        Command::Open(args) => open::run(&args, &console),
        Command::Inspect(args) => inspect::run(&args, &console),
        Command::Man(args) => manual::man(&args, Cli::command(), &console),
        Command::Completions(args) => manual::completions(&args, Cli::command(), &console),
    });
    match done {
        Ok(outcome) => outcome.into(),
        Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(Failure::Error { code, message }) => {
            console.error(&message);
            ExitCode::from(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
