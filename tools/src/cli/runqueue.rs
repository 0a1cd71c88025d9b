//! `clockweave runqueue`.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use clockweave::mutants::{self, Expected, MutantsError, Verdict};
use clockweave::output::Output;
use clockweave_simulator::machine::{
    Cause, Choices, Corpus, Demand, Expectation, GATES, Law, Outcome as Explored, Reach, SCENARIOS, SEEDS,
    Scenario, Sweep, Variant, explore, shrink, sweep,
};
use clockweave_validators::open_regular;
use serde::Serialize;

use super::console::{Console, grouped};
use super::failure::{Failure, Outcome, commit};

/// Prove the run queue: mutants, explored machines, stored runs
#[derive(Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct RunQueueArgs {
    #[command(subcommand)]
    command: RunQueueCommand,
}

#[derive(Subcommand)]
enum RunQueueCommand {
    Mutants(MutantsArgs),
    Explore(ExploreArgs),
    Replay(ReplayArgs),
    Shrink(ShrinkArgs),
}

const EXPLORE_NOTES: &str = "\
Without a scenario the sound machine goes through all of them, and every broken
machine and control of the gates through its own, with at least 100 seeds. Even
seeds choose uniformly, odd ones by priorities that change now and then.

Exit code 1: a rule is broken on a sound machine or a control, a broken machine
is not caught, a rule never had anything to look at, or service differs by over
a quarter more than was recorded.";

/// Explore what may happen at one time, and hold the rules against every step
#[derive(Args)]
#[command(after_help = EXPLORE_NOTES)]
struct ExploreArgs {
    /// Only this scenario, on a machine of --variant
    #[arg(value_name = "SCENARIO")]
    scenario: Option<String>,
    /// The machine: `sound`, or the name of a broken one or a control
    #[arg(long, value_name = "NAME", requires = "scenario")]
    variant: Option<String>,
    /// Seeds per scenario
    #[arg(long, value_name = "N", default_value_t = SEEDS, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Store the first failing run as a corpus file
    #[arg(long, short, value_name = "FILE", requires = "scenario")]
    output: Option<PathBuf>,
    /// Replace the output if it exists
    #[arg(long, requires = "output")]
    force: bool,
}

/// Replay stored runs and hold them against what they must show
#[derive(Args)]
struct ReplayArgs {
    /// Corpus files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// Shorten a failing stored run, to stdout
#[derive(Args)]
struct ShrinkArgs {
    /// Corpus file
    #[arg(value_name = "FILE")]
    file: PathBuf,
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
        RunQueueCommand::Explore(args) => run_explore(args, console),
        RunQueueCommand::Replay(args) => run_replay(args, console),
        RunQueueCommand::Shrink(args) => run_shrink(args, console),
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

fn scenario_named(name: &str) -> Result<&'static Scenario, Failure> {
    SCENARIOS.iter().find(|scenario| scenario.name == name).ok_or_else(|| {
        let names: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        Failure::input(format!("no scenario is named {name:?}; there are {}", names.join(", ")))
    })
}

fn variant_named(name: &str) -> Result<Variant, Failure> {
    Variant::named(name).ok_or_else(|| {
        let names = Variant::ALL.map(|(name, _)| name);
        Failure::input(format!("no machine is named {name:?}; there are {}", names.join(", ")))
    })
}

fn run_explore(args: &ExploreArgs, console: &Console) -> Result<Outcome, Failure> {
    let Some(name) = &args.scenario else { return explore_all(args.seeds, console) };
    let scenario = scenario_named(name)?;
    let variant = args.variant.as_deref().map_or(Ok(Variant::Sound), variant_named)?;
    let output = args.output.as_ref().map(|path| Output::create(path, args.force, &[])).transpose()?;
    let swept = sweep(scenario, variant, args.seeds);
    console.report(sweep_line(scenario.name, variant, &swept, ""))?;
    let Some((_, outcome)) = &swept.first else {
        if let Some(output) = output {
            console.note(format!("{}: not written, as no run breaks a rule", output.path().display()));
        }
        return Ok(Outcome::Fine);
    };
    console.report(violations(outcome))?;
    let Some(mut output) = output else { return Ok(Outcome::Findings) };
    let text = stored(scenario, variant, outcome, outcome.decisions.clone());
    output.write_all(text.as_bytes()).map_err(|error| Failure::writing(&error, &error, output.path()))?;
    commit(output, Outcome::Findings)
}

fn explore_all(seeds: u64, console: &Console) -> Result<Outcome, Failure> {
    let (mut holds, mut reach) = (true, Reach::default());
    let (mut longest, mut shares) = (Vec::new(), Vec::new());
    for scenario in SCENARIOS {
        let swept = sweep(scenario, Variant::Sound, seeds);
        holds &= swept.failures == 0;
        reach.add_all(&swept.reach);
        shares.extend(swept.shares(scenario).into_iter().map(|share| (scenario.name, share)));
        longest.push((scenario.name, swept.waits));
        console.report(sweep_line(scenario.name, Variant::Sound, &swept, verdict(swept.failures == 0)))?;
        if let Some((_, outcome)) = &swept.first {
            console.report(violations(outcome))?;
        }
    }
    for gate in GATES {
        let swept = sweep(gate.scenario(), gate.variant, seeds.max(SEEDS));
        let held = gate.holds(&swept);
        holds &= held;
        let word = match (held, gate.demand) {
            (true, Demand::Caught(_)) => "caught",
            (false, Demand::Caught(_)) => "NOT CAUGHT",
            (_, Demand::Passes) => verdict(held),
        };
        console.report(sweep_line(gate.scenario, gate.variant, &swept, word))?;
    }
    console.report(
        "\nwhat each rule had to look at on the sound machine: subjects at all steps, share of the time\n"
            .to_owned(),
    )?;
    for law in Law::ALL {
        let (times, (ns, total)) = (reach.of(law), reach.ns(law));
        let word = if times == 0 { "  NOT REACHED" } else { "" };
        holds &= times > 0;
        // Rules about single events and the end have no time.
        let share = if ns == 0 { String::new() } else { per_mille(ns, total) };
        let line = format!("{:22} {:>9} {share:>7}", law.name(), grouped(times));
        console.report(format!("{}{word}\n", line.trim_end()))?;
    }
    console.report(
        "\ndifferences of service, in ns: widest, recorded before, allowed by the rule\n".to_owned(),
    )?;
    for (scenario, share) in shares {
        let word = if share.is_within() { "" } else { "  MORE THAN RECORDED" };
        holds &= share.is_within();
        let [widest, recorded, allowed] = [share.widest, share.recorded, share.allowed].map(grouped);
        let law = share.law.name();
        console
            .report(format!("{scenario:18} {law:22} {widest:>11} {recorded:>11} {allowed:>11}{word}\n"))?;
    }
    console
        .report("\nfrom being ready to running, in ns: waits, mean, longest but one, longest\n".to_owned())?;
    for (scenario, waits) in longest {
        for (cause, it) in Cause::ALL.into_iter().zip(waits).filter(|(_, it)| it.count > 0) {
            let [count, mean, second, longest] =
                [it.count, it.sum / it.count, it.second, it.longest].map(grouped);
            console.report(format!(
                "{scenario:18} {:10} {count:>9} {mean:>11} {second:>11} {longest:>11}\n",
                cause.name()
            ))?;
        }
    }
    Ok(if holds { Outcome::Fine } else { Outcome::Findings })
}

/// A share in percent with one decimal, rounded down.
fn per_mille(part: u64, whole: u64) -> String {
    let share = u128::from(part) * 1000 / u128::from(whole.max(1));
    format!("{}.{} %", share / 10, share % 10)
}

fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "BROKEN" }
}

fn sweep_line(scenario: &str, variant: Variant, swept: &Sweep, word: &str) -> String {
    let laws: Vec<&str> = swept.laws.iter().map(|law| law.name()).collect();
    let broken = match &swept.first {
        Some((seed, _)) => {
            format!("{} runs break {}, first seed {seed}", swept.failures, laws.join(" and "))
        }
        None => "no rule is broken".to_owned(),
    };
    let (steps, choices) = (grouped(swept.steps), grouped(swept.choices));
    format!("{scenario:18} {:18} {steps} steps, {choices} choices: {broken}  {word}", variant.name())
        .trim_end()
        .to_owned()
        + "\n"
}

fn violations(outcome: &Explored) -> String {
    let lines = outcome.violations.iter().map(|v| format!("  {} at {} ns: {}\n", v.law, v.ns, v.what));
    lines.collect()
}

fn stored(scenario: &'static Scenario, variant: Variant, outcome: &Explored, decisions: Vec<u32>) -> String {
    let laws = outcome.laws();
    let expect = if laws.is_empty() { Expectation::Pass } else { Expectation::Fail(laws) };
    Corpus { scenario, variant, expect, decisions }.text()
}

/// More than any corpus file has.
const LONGEST_CORPUS: u64 = 1 << 24;

fn read_corpus(path: &Path) -> Result<Corpus, Failure> {
    let mut text = String::new();
    let read = open_regular(path).and_then(|file| file.take(LONGEST_CORPUS + 1).read_to_string(&mut text));
    read.map_err(|error| Failure::opening(path, &error))?;
    if text.len() as u64 > LONGEST_CORPUS {
        let found = format_args!("found more than {LONGEST_CORPUS} bytes, expected a corpus file");
        return Err(Failure::input(found).about(path));
    }
    Corpus::parse(&text).map_err(|error| Failure::input(format!("{}: {error}", path.display())))
}

fn run_replay(args: &ReplayArgs, console: &Console) -> Result<Outcome, Failure> {
    let mut holds = true;
    for path in &args.files {
        let corpus = read_corpus(path)?;
        let outcome = corpus.replay();
        let held = corpus.holds(&outcome);
        holds &= held;
        console.report(format!("{}: {}\n{}", path.display(), verdict(held), violations(&outcome)))?;
    }
    Ok(if holds { Outcome::Fine } else { Outcome::Findings })
}

fn run_shrink(args: &ShrinkArgs, console: &Console) -> Result<Outcome, Failure> {
    let corpus = read_corpus(&args.file)?;
    let outcome = explore(corpus.scenario, corpus.variant, Choices::replay(corpus.decisions.clone()));
    if outcome.violations.is_empty() {
        let path = args.file.display();
        return Err(Failure::input(format!("{path}: the run breaks no rule; there is nothing to shrink")));
    }
    let decisions = shrink(corpus.scenario, corpus.variant, &outcome);
    console.note(format!("{} choices, {} left", outcome.decisions.len(), decisions.len()));
    console.print(stored(corpus.scenario, corpus.variant, &outcome, decisions))?;
    Ok(Outcome::Fine)
}
