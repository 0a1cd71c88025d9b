//! `clockweave inspect`.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use clap::Args;
use clockweave::inspect::{self, InspectError, Inspection, TrackContent};
use clockweave::output::{check_stdout, is_dash};
use clockweave::progress::Progress;
use clockweave::trace::FileCodec;
use clockweave_validators::report::Status;
use clockweave_validators::scan::ReadError;
use serde::Serialize;

use super::arguments::open_trace;
use super::console::{Console, grouped};
use super::failure::{Failure, Outcome};

/// Rows of a table in words; all are in the JSON report.
const SHOWN: usize = 20;

const NOTES: &str = "\
Everything comes from the bytes of the trace; no engine is needed. A file that
is compressed as a whole (gzip, zstd) is read through. What follows the first
damage is not looked at.

--lint holds the trace against the structural rules of `validate`: what the
importer would lose, misplace or guess, each with the packet's offset.

Exit code 0: read to its end, and no findings; 1: damage, or findings; 2: no
trace.

Examples:
  clockweave inspect out/fifo/timeline.pftrace
  clockweave inspect --lint --json run.pftrace.gz";

/// Show what is inside a trace
#[derive(Args)]
#[command(after_help = NOTES)]
pub(crate) struct InspectArgs {
    /// Trace, `-` for stdin
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Check its structure too
    #[arg(long)]
    lint: bool,
    /// Findings listed; all are counted
    #[arg(long, value_name = "N", default_value_t = 20, requires = "lint")]
    max_findings: usize,
    /// Report as JSON
    #[arg(long)]
    json: bool,
}

/// The report of `inspect --json`.
#[derive(Serialize)]
struct JsonReport<'a> {
    report: &'static str,
    version: u32,
    input: String,
    complete: bool,
    /// The damage in words.
    reason: Option<String>,
    #[serde(flatten)]
    inspection: &'a Inspection,
}

pub(crate) fn run(args: &InspectArgs, console: &Console) -> Result<Outcome, Failure> {
    check_stdout(&[&args.trace])?;
    let (input, length) = open_trace(&args.trace).map_err(|error| Failure::opening(&args.trace, &error))?;
    let mut progress = console.progress();
    progress.stage("inspecting", length);
    let found = inspect::inspect(input, args.lint.then_some(args.max_findings), &mut progress);
    drop(progress);
    let found = found.map_err(|error| match &error {
        InspectError::Read(ReadError::Io { source, .. }) => Failure::reading(&args.trace, &error, source),
        InspectError::Open(source) => Failure::opening(&args.trace, source),
        _ => Failure::input(&error).about(&args.trace),
    })?;
    if args.json {
        let input = if is_dash(&args.trace) { "stdin".to_owned() } else { args.trace.display().to_string() };
        console.print_json(&JsonReport {
            report: "inspect",
            version: 1,
            input,
            complete: found.cut.is_none(),
            reason: found.cut.as_ref().map(ToString::to_string),
            inspection: &found,
        })?;
    } else {
        console
            .report(in_words(&found).map_err(|_| io::Error::other("words")).map_err(Failure::environment)?)?;
    }
    if let Some(cut) = &found.cut {
        console.warn(format_args!("damaged {cut}; what follows was not looked at"));
    }
    let failed = found.lint.as_ref().is_some_and(|lint| lint.status == Status::Failed);
    Ok(if found.cut.is_none() && !failed { Outcome::Fine } else { Outcome::Findings })
}

/// `part / whole` with two decimals, without rounding up.
fn ratio(part: u64, whole: u64) -> String {
    let hundredths = u128::from(part) * 100 / u128::from(whole.max(1));
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

fn in_words(found: &Inspection) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    let codec = match found.file_codec {
        FileCodec::None => "",
        FileCodec::Gzip => ", in a gzip file",
        FileCodec::Zstd => ", in a zstd file",
    };
    let [deflate, zstd] = found.wrappers;
    writeln!(text, "bytes        {}{codec}", grouped(found.bytes))?;
    writeln!(
        text,
        "content      {} bytes, {} times as many",
        grouped(found.content_bytes),
        ratio(found.content_bytes, found.bytes)
    )?;
    writeln!(
        text,
        "packets      {} at top level ({} deflate wrappers, {} zstd wrappers), {} in wrappers",
        grouped(found.packets),
        grouped(deflate),
        grouped(zstd),
        grouped(found.inner_packets)
    )?;
    writeln!(text, "checkpoints  {}", grouped(found.checkpoints))?;
    let time = |ns: Option<u64>| ns.map_or_else(|| "unknown".to_owned(), |ns| format!("{} ns", grouped(ns)));
    writeln!(text, "time         {} to {}", time(found.first_timestamp_ns), time(found.last_timestamp_ns))?;
    let clocks: Vec<String> = found
        .clocks
        .iter()
        .map(|clock| format!("{}{}", clock.id, if clock.incremental { " (incremental)" } else { "" }))
        .collect();
    writeln!(text, "clocks       {}", if clocks.is_empty() { "none".to_owned() } else { clocks.join(", ") })?;
    table(&mut text, "packets by content", found.kinds.iter().map(|kind| (kind.count, kind.name.clone())))?;
    let sequences = found.sequences.iter().map(|sequence| {
        let [categories, events, arguments] = sequence.interned;
        let names = format!("{categories} categories, {events} event names, {arguments} argument names");
        (sequence.packets, format!("sequence {}: {} checkpoints, {names}", sequence.id, sequence.checkpoints))
    });
    table(&mut text, "packets by sequence", sequences)?;
    table(&mut text, "events by track", found.tracks.iter().map(|track| (track.events, name_of(track))))?;
    table(&mut text, "events by name", found.events.iter().map(|event| (event.count, event.name.clone())))?;
    let largest = found
        .largest
        .iter()
        .map(|packet| (packet.bytes, format!("{} at byte {}", packet.what, packet.offset)));
    table(&mut text, "bytes of the largest packets", largest)?;
    if let Some(lint) = &found.lint {
        writeln!(text, "\nlint: {} findings in {} packets", grouped(lint.found), grouped(lint.rows))?;
        for finding in &lint.findings {
            let rule = finding.rule.unwrap_or("lint");
            let at = finding.offset.map_or(String::new(), |offset| format!(" at byte {offset}"));
            writeln!(text, "  {rule}{at}: {}", finding.message)?;
        }
        if let Some(note) = &lint.note {
            writeln!(text, "  {note}")?;
        }
    }
    Ok(text)
}

fn name_of(track: &TrackContent) -> String {
    match (&track.name, track.uuid) {
        (Some(name), _) => name.clone(),
        (None, Some(uuid)) => format!("track {uuid}"),
        (None, None) => "no track".to_owned(),
    }
}

fn table(
    text: &mut String,
    title: &str,
    rows: impl ExactSizeIterator<Item = (u64, String)>,
) -> std::fmt::Result {
    let all = rows.len();
    writeln!(text, "\n{title}")?;
    for (count, name) in rows.take(SHOWN) {
        writeln!(text, "{:>14}  {name}", grouped(count))?;
    }
    if all > SHOWN {
        writeln!(text, "{:>14}  more", grouped(all - SHOWN))?;
    }
    Ok(())
}
