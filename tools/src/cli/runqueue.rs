//! `clockweave runqueue`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clockweave::mutants::{self, Expected, MutantsError, Verdict};
use serde::Serialize;

use super::console::Console;
use super::failure::{Failure, Outcome};

/// Prove the run queue: its mutants
#[derive(Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct RunQueueArgs {
    #[command(subcommand)]
    command: RunQueueCommand,
}

#[derive(Subcommand)]
enum RunQueueCommand {
    Mutants(MutantsArgs),
}

const MUTANTS_NOTES: &str = "\
Each mutation is applied to a copy of the sources in a temporary folder and the
differential test is run there: 300 schedules of 2,000 operations, head against
reference. It must be red for seven of them; the eighth changes no decision, so
the division's own test must be red instead. Needs cargo and the sources.

Exit code 1: a mutation was not caught.";

/// Break the run queue in eight ways and see the tests turn red
#[derive(Args)]
#[command(after_help = MUTANTS_NOTES)]
struct MutantsArgs {
    /// Folder of the run queue's crate
    #[arg(long, value_name = "DIR", default_value = "simulator/runqueue")]
    sources: PathBuf,
    /// Only the mutation of this number; may be repeated
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=8))]
    only: Vec<u32>,
    /// Report as JSON on stdout
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &RunQueueArgs, console: &Console) -> Result<Outcome, Failure> {
    match &args.command {
        RunQueueCommand::Mutants(args) => run_mutants(args, console),
    }
}

#[derive(Serialize)]
struct MutantsReport<'a> {
    report: &'static str,
    version: u32,
    caught: bool,
    mutations: &'a [Verdict],
}

fn run_mutants(args: &MutantsArgs, console: &Console) -> Result<Outcome, Failure> {
    let judged = |verdict: &Verdict| console.note(line(verdict));
    let verdicts = mutants::run(&args.sources, &args.only, judged).map_err(|error| match &error {
        MutantsError::NoSources { .. } | MutantsError::Stale { .. } => Failure::input(error),
        MutantsError::RedAlready { .. } => Failure::finding(error),
        _ => Failure::environment(error),
    })?;
    let caught = verdicts.iter().all(Verdict::caught);
    if args.json {
        let mutations = &verdicts;
        console.print_json(&MutantsReport { report: "runqueue-mutants", version: 1, caught, mutations })?;
    }
    Ok(if caught { Outcome::Fine } else { Outcome::Findings })
}

fn line(verdict: &Verdict) -> String {
    let found = match (&verdict.first_red, verdict.division_red) {
        (Some(first), _) => {
            format!("red in schedule {} at step {}: {}", first.schedule, first.step, first.what)
        }
        (None, None) => "green".to_owned(),
        (None, Some(true)) => "green; the division's test is red".to_owned(),
        (None, Some(false)) => "green, and so is the division's test".to_owned(),
    };
    let expected = match verdict.expected {
        Expected::Red => "red",
        Expected::Equivalent => "equivalent",
    };
    let caught = if verdict.caught() { "" } else { "  NOT CAUGHT" };
    let (number, what) = (verdict.number, verdict.what);
    format!("{number}  {what}\n   expected {expected}, found {found}{caught}")
}
