//! `clockweave diff`.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use clockweave::diff::{self, DiffError, DiffReport, DiffRow, Difference, Divergence};
use clockweave::merge::MergeOptions;
use clockweave::output::{check_stdout, is_dash};
use serde::Serialize;

use super::arguments::SpillArgs;
use super::console::{Console, counted, grouped};
use super::failure::{Failure, Outcome};

const NOTES: &str = "\
Each side is a run directory, a trace, or a merged log (tsv) of one run; the two
need not be of one kind. What is compared is what happened: exact time, phase,
domain id, unit, ordinal, and what the event says, in the order of `merge`. Run
names, packing and compression do not matter. Leading rows of the report are
what both sides have just before the first difference.

Exit code 0: equal; 1: different; 2: bad input.

Examples:
  clockweave diff before after
  clockweave diff out/fifo out/fifo/timeline.pftrace";

/// Compare two runs: equal, or the first event that differs
#[derive(Args)]
#[command(after_help = NOTES)]
pub(crate) struct DiffArgs {
    /// Run directory, trace or merged log; one of the two may be `-`
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The other one
    #[arg(value_name = "B")]
    b: PathBuf,
    #[command(flatten)]
    spill: SpillArgs,
    /// Report as JSON
    #[arg(long)]
    json: bool,
}

/// The report of `diff --json`.
#[derive(Serialize)]
struct JsonReport<'a> {
    report: &'static str,
    version: u32,
    a: String,
    b: String,
    #[serde(flatten)]
    compared: &'a DiffReport,
}

pub(crate) fn run(args: &DiffArgs, console: &Console) -> Result<Outcome, Failure> {
    if is_dash(&args.a) && is_dash(&args.b) {
        return Err(Failure::input("only one of the two sides can be stdin"));
    }
    args.spill.check()?;
    check_stdout(&[&args.a, &args.b])?;
    let options =
        MergeOptions { memory: args.spill.memory, scratch: args.spill.scratch(), ..MergeOptions::default() };
    let compared = diff::diff(&args.a, &args.b, &options).map_err(|error| match error {
        DiffError::Merge(error) => Failure::of_merge(error, std::path::Path::new("-")),
        DiffError::Recorded(error) => error.into(),
        DiffError::Io { ref source, .. } => Failure::access(&error, source),
        error => Failure::input(error),
    })?;
    if args.json {
        console.print_json(&JsonReport {
            report: "diff",
            version: 1,
            a: args.a.display().to_string(),
            b: args.b.display().to_string(),
            compared: &compared,
        })?;
    } else {
        console.report(in_words(&compared))?;
    }
    Ok(if compared.equal { Outcome::Fine } else { Outcome::Findings })
}

fn in_words(report: &DiffReport) -> String {
    if report.equal {
        return format!("equal: {}\n", counted(report.events[0], "event"));
    }
    let mut text = String::new();
    if let Some(first) = &report.first {
        divergence(&mut text, first);
    }
    let mut line = |name: &str, value: String| {
        // Strings take what they are given.
        let _ = writeln!(text, "{name:<12}{value}");
    };
    line("events", format!("{} in A, {} in B", grouped(report.events[0]), grouped(report.events[1])));
    line("common", grouped(report.common));
    line("only in A", grouped(report.only_in[0]));
    line("only in B", grouped(report.only_in[1]));
    let columns: Vec<String> =
        report.changed_columns.iter().map(|(column, count)| format!("{column} {}", grouped(count))).collect();
    let columns = if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(", ")) };
    line("changed", format!("{}{columns}", grouped(report.changed)));
    if !report.losses_equal {
        let [a, b] = report
            .losses
            .map(|side| format!("{} in {}", counted(side.lost_events, "event"), counted(side.gaps, "gap")));
        line("losses", format!("A lost {a}, B lost {b}, not the same ones"));
    }
    text
}

fn divergence(text: &mut String, first: &Divergence) {
    let what = match first.kind {
        Difference::OnlyInA => "only A has this event".to_owned(),
        Difference::OnlyInB => "only B has this event".to_owned(),
        Difference::Changed => format!("the events differ in {}", first.columns.join(", ")),
    };
    let _ = writeln!(text, "first difference: {what}\n");
    let rows = first.before.iter().map(|row| (' ', row));
    let rows = rows.chain(first.a.iter().chain(&first.after_a).map(|row| ('A', row)));
    let rows = rows.chain(first.b.iter().chain(&first.after_b).map(|row| ('B', row)));
    for (side, row) in rows {
        let mark = if first.a.as_ref() == Some(row) || first.b.as_ref() == Some(row) { '>' } else { ' ' };
        let _ = writeln!(text, "{mark}{side} {}", row_in_words(row));
    }
    text.push('\n');
}

fn row_in_words(row: &DiffRow) -> String {
    let DiffRow { time_num, time_den, ts, unit, local_cycle, event, phase, .. } = row;
    let rest = format!(
        "transaction {}, fifo {}, value {}, ordinal {}",
        row.transaction_id, row.fifo_id, row.value, row.ordinal
    );
    format!("{ts} ns ({time_num}/{time_den} s) {unit} cycle {local_cycle} phase {phase} {event}: {rest}")
}
