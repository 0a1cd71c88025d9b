//! Readings of clockweave's simulator beside those of others, for one circuit: a clock-crossing FIFO
//! between two clocks without a common multiple.
//!
//! Every reading is a process of its own that simulates and answers with its CPU time and its result;
//! all simulators take turns, round by round. Results are compared with a model that shares nothing
//! with any of them. A wrong result is an error, except for SystemC's own clocks, whose rounded periods
//! are what is to be shown.

mod actors;
mod by_hand;
mod external;
mod ours;
mod outcome;
mod report;
mod workload;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Parser, Subcommand};

use external::{External, output_of};
use outcome::Measured;
use report::Row;
use workload::Workload;

/// Measures simulators of several clocks side by side, in CPU time.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Action>,
    /// Rounds; each measures everything once.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(5..))]
    rounds: u32,
    /// Batches of each reading.
    #[arg(long, default_value_t = 3_000_000, value_parser = clap::value_parser!(u64).range(100_000..))]
    batches: u64,
    /// File for the raw readings, one JSON object a line.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/target/readings.jsonl"))]
    raw: PathBuf,
}

#[derive(Subcommand)]
enum Action {
    /// Runs one reading in this process and prints its CPU time in ns, packets sent and received, and
    /// checksum.
    Measure {
        /// `clockweave`, `nexosim` or `by-hand`.
        who: String,
        /// Name of the workload.
        workload: String,
        /// Batches.
        batches: u64,
    },
}

const CLOCKWEAVE: &str = "clockweave";
const SYSTEMC_CLOCKS: &str = "SystemC, sc_clock";

fn measure(who: &str, workload: &str, batches: u64) -> Result<Measured> {
    let workload = Workload::named(workload).with_context(|| format!("no workload `{workload}`"))?;
    match (who, workload) {
        ("clockweave", _) => ours::measure(workload, batches),
        ("by-hand", Workload::Fifo) => Ok(by_hand::measure(batches)),
        ("nexosim", Workload::Fifo) => actors::measure(batches).map_err(|error| anyhow!("nexosim: {error}")),
        _ => bail!("`{who}` cannot simulate {workload:?}"),
    }
}

/// A simulator, a workload, and the command that measures them.
type Contestant = (&'static str, Workload, Box<dyn Fn() -> Command>);

fn contestants(external: &External, batches: u64) -> Result<Vec<Contestant>> {
    let this = std::env::current_exe().context("this program's own path")?;
    let own = |who: &'static str, workload: Workload| -> Box<dyn Fn() -> Command> {
        let this = this.clone();
        Box::new(move || {
            let mut command = Command::new(&this);
            command.args(["measure", who, &workload.name(), &batches.to_string()]);
            command
        })
    };
    let other = |program: &Path, mode: Option<&'static str>| -> Box<dyn Fn() -> Command> {
        let program = program.to_owned();
        Box::new(move || {
            let mut command = Command::new(&program);
            command.args(mode).arg(batches.to_string());
            command
        })
    };
    let fifo = Workload::Fifo;
    let mut all: Vec<Contestant> = vec![
        ("a loop for this circuit alone", fifo, own("by-hand", fifo)),
        (CLOCKWEAVE, fifo, own("clockweave", fifo)),
        ("Verilator, RTL", fifo, other(&external.verilator, None)),
        ("SystemC, exact edges", fifo, other(&external.systemc, Some("exact"))),
        (SYSTEMC_CLOCKS, fifo, other(&external.systemc, Some("clock"))),
        ("nexosim", fifo, own("nexosim", fifo)),
    ];
    all.extend(Workload::ALL[1..].iter().map(|&other| (CLOCKWEAVE, other, own("clockweave", other))));
    Ok(all)
}

/// What the readings were taken with.
fn surroundings(external: &External) -> Result<serde_json::Value> {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let mut tools = vec![output_of(Command::new("rustc").arg("--version"))?];
    tools.extend(external.versions.iter().cloned());
    let folder = env!("CARGO_MANIFEST_DIR");
    let commit = output_of(Command::new("git").args(["-C", folder, "describe", "--always", "--dirty"]));
    Ok(serde_json::json!({
        "machine": model.map_or("unknown", |(_, name)| name),
        "cores": cores,
        "tools": tools,
        "commit": commit.unwrap_or_else(|_| "unknown".to_owned()),
    }))
}

fn compare(arguments: &Arguments) -> Result<()> {
    let Arguments { rounds, batches, raw, .. } = arguments;
    let batches = *batches;
    let folder = std::env::current_exe()?.with_file_name("peers");
    eprintln!("building the peers in C++");
    let external = External::build(&folder)?;
    let create = || format!("cannot write {}", raw.display());
    if let Some(parent) = raw.parent() {
        std::fs::create_dir_all(parent).with_context(create)?;
    }
    let mut raw_file = BufWriter::new(File::create(raw).with_context(create)?);
    let surroundings = surroundings(&external)?;
    writeln!(raw_file, "{surroundings}")?;

    let contestants = contestants(&external, batches)?;
    let mut rows: Vec<Row> = contestants
        .iter()
        .map(|&(who, workload, _)| Row { who, workload, readings: Vec::new(), right: true })
        .collect();
    let expected: Vec<_> = rows.iter().map(|row| row.workload.expected(batches)).collect();
    for round in 0..*rounds {
        eprintln!("round {} of {rounds}", round + 1);
        for ((row, (who, workload, command)), expected) in rows.iter_mut().zip(&contestants).zip(&expected) {
            let reading = Measured::from_line(&output_of(&mut command())?)?;
            let right = reading.outcome == *expected;
            ensure!(
                right || *who == SYSTEMC_CLOCKS,
                "{who} on `{}` went wrong: expected {expected:?}, found {:?}",
                workload.name(),
                reading.outcome
            );
            row.right &= right;
            row.readings.push(reading);
            let line = serde_json::json!({
                "round": round, "simulator": who, "workload": workload.name(), "batches": batches,
                "cpu_ns": reading.cpu_ns, "outcome": reading.outcome, "right": right,
            });
            writeln!(raw_file, "{line}")?;
        }
    }
    raw_file.flush()?;

    println!("{surroundings}\n\n{batches} batches, {rounds} interleaved rounds, tracing off\n");
    report::print(&rows, batches);
    println!();
    match external.first_misordered(batches)? {
        Some(batch) => {
            println!("SystemC's sc_clocks order the edges of `fifo` differently from batch {batch} on.")
        }
        None => println!("SystemC's sc_clocks order the first {batches} batches of `fifo` as they are."),
    }
    Ok(())
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match &arguments.command {
        Some(Action::Measure { who, workload, batches }) => {
            println!("{}", measure(who, workload, *batches)?.to_line());
            Ok(())
        }
        None => compare(&arguments),
    }
}
