//! `clockweave recover`.

use std::path::PathBuf;

use clap::Args;
use clockweave::output::{Output, is_dash};
use clockweave::progress::Progress;
use clockweave::recover::{self, Extent, RecoverReport, SalvageReport};
use serde::Serialize;

use super::arguments::open_trace;
use super::console::{Console, counted};
use super::failure::{Failure, Outcome, commit};

const NOTES: &str = "\
A packet is kept if it is complete and well formed; a compressed wrapper if its
checksum holds and all packets in it are. The first packet that is not ends the
prefix. The report names the cut, what was dropped, the last timestamp kept, and
slices left open. A file that is compressed as a whole (gzip, zstd) is read
through; what is written is the trace inside.

--unwrap also keeps the whole packets in a wrapper that is torn at the cut, and
writes them uncompressed.

--salvage goes on after damage in the middle: at the next packet, or at the next
synchronization marker where packets can no longer be told apart, and from there
with packets whose sequence has cleared its state. Each hole is marked by an
instant `trace.hole` and told in the report. What is in a compressed wrapper is
proven by its checksum; packets outside are only known to be well formed.

Exit code 0: nothing was lost; 1: something was; 2: not one complete packet is
there, and nothing was written.

Examples:
  clockweave recover killed.pftrace -o good.pftrace
  ssh lab cat run.pftrace | clockweave recover - -o run.pftrace";

/// Cut a damaged trace down to its longest valid prefix, byte for byte
#[derive(Args)]
#[command(after_help = NOTES)]
pub(crate) struct RecoverArgs {
    /// Trace, `-` for stdin
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// Where the prefix goes, `-` for stdout
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,
    /// Also keep what can be read of a wrapper torn at the cut
    #[arg(long)]
    unwrap: bool,
    /// Also keep what stands after damage in the middle
    #[arg(long, conflicts_with = "unwrap")]
    salvage: bool,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
    /// Report as JSON on stdout; needs an output file
    #[arg(long)]
    json: bool,
}

/// The report of `recover --json`.
#[derive(Serialize)]
struct JsonReport<'a> {
    report: &'static str,
    version: u32,
    input: String,
    output: String,
    complete: bool,
    /// The cut in words.
    reason: Option<String>,
    #[serde(flatten)]
    recovered: &'a RecoverReport,
}

/// The report of `recover --salvage --json`.
#[derive(Serialize)]
struct JsonSalvage<'a> {
    report: &'static str,
    version: u32,
    input: String,
    output: String,
    complete: bool,
    #[serde(flatten)]
    salvaged: &'a SalvageReport,
}

fn run_salvage(args: &RecoverArgs, console: &Console) -> Result<Outcome, Failure> {
    let (input, length) = open_trace(&args.input).map_err(|error| Failure::opening(&args.input, &error))?;
    let mut output = Output::create(&args.output, args.force, &[&args.input])?;
    let mut progress = console.progress();
    progress.stage("salvaging", length);
    let salvaged = recover::salvage(input, &mut output, &mut progress);
    drop(progress);
    let salvaged = salvaged.map_err(|error| Failure::of_recover(error, &args.input, &args.output))?;
    let outcome = if salvaged.is_complete() { Outcome::Fine } else { Outcome::Findings };
    let outcome = commit(output, outcome)?;
    if args.json {
        console.print_json(&JsonSalvage {
            report: "recover",
            version: 1,
            input: args.input.display().to_string(),
            output: args.output.display().to_string(),
            complete: salvaged.is_complete(),
            salvaged: &salvaged,
        })?;
    }
    tell_salvage(&salvaged, console);
    Ok(outcome)
}

fn tell_file_damage(damage: Option<&str>, console: &Console) {
    if let Some(damage) = damage {
        console.warn(format_args!("decompressing the file ended early: {damage}"));
    }
}

fn tell_salvage(salvaged: &SalvageReport, console: &Console) {
    console.note(format_args!(
        "kept {} proven by checksums and {} known to be well formed",
        counted(salvaged.proven_packets, "packet"),
        counted(salvaged.structural_packets, "packet")
    ));
    tell_file_damage(salvaged.file_damage.as_deref(), console);
    if salvaged.is_complete() {
        console.note("the trace is whole: nothing was lost");
    }
    for hole in &salvaged.holes {
        let time = |ns: Option<u64>| ns.map_or_else(|| "unknown".to_owned(), |ns| format!("{ns} ns"));
        let on = hole
            .resumed_at
            .map_or_else(|| "nothing after it stands".to_owned(), |at| format!("goes on at byte {at}"));
        console.warn(format_args!(
            "hole at byte {}: {}; {} lost, {} without their state dropped; {on}; time {} to {}",
            hole.offset,
            hole.reason,
            counted(hole.bytes, "byte"),
            counted(hole.dropped_packets, "packet"),
            time(hole.from_ns),
            time(hole.to_ns)
        ));
    }
    let unlisted = salvaged.hole_count - salvaged.holes.len() as u64;
    if unlisted > 0 {
        console.warn(format_args!("{} more are not listed", counted(unlisted, "hole")));
    }
}

pub(crate) fn run(args: &RecoverArgs, console: &Console) -> Result<Outcome, Failure> {
    if args.json && is_dash(&args.output) {
        return Err(Failure::input("--json writes its report to stdout, so the trace needs --output FILE"));
    }
    if args.salvage {
        return run_salvage(args, console);
    }
    let (input, length) = open_trace(&args.input).map_err(|error| Failure::opening(&args.input, &error))?;
    let mut output = Output::create(&args.output, args.force, &[&args.input])?;
    let mut progress = console.progress();
    progress.stage("recovering", length);
    let extent = if args.unwrap { Extent::Unwrap } else { Extent::Prefix };
    let recovered = recover::recover(input, extent, &mut output, &mut progress);
    drop(progress);
    let recovered = recovered.map_err(|error| Failure::of_recover(error, &args.input, &args.output))?;
    let outcome = if recovered.is_complete() { Outcome::Fine } else { Outcome::Findings };
    let outcome = commit(output, outcome)?;
    if args.json {
        let report = JsonReport {
            report: "recover",
            version: 1,
            input: args.input.display().to_string(),
            output: args.output.display().to_string(),
            complete: recovered.is_complete(),
            reason: recovered.cut.as_ref().map(ToString::to_string),
            recovered: &recovered,
        };
        console.print_json(&report)?;
    }
    tell(&recovered, console);
    Ok(outcome)
}

fn tell(recovered: &RecoverReport, console: &Console) {
    let inner = match recovered.kept_wrappers {
        0 => String::new(),
        wrappers => format!(
            ", of which {} hold {}",
            counted(wrappers, "wrapper"),
            counted(recovered.kept_inner_packets, "packet")
        ),
    };
    let last = match recovered.last_timestamp_ns {
        Some(ns) => format!(", the last at {ns} ns"),
        None => String::new(),
    };
    console.note(format_args!(
        "kept {}: {}{inner}{last}",
        counted(recovered.kept_bytes, "byte"),
        counted(recovered.kept_packets, "packet")
    ));
    if recovered.unwrapped_packets > 0 {
        console.note(format_args!(
            "kept {} of the torn wrapper, uncompressed in {}",
            counted(recovered.unwrapped_packets, "packet"),
            counted(recovered.unwrapped_bytes, "byte")
        ));
    }
    tell_file_damage(recovered.file_damage.as_deref(), console);
    let Some(cut) = &recovered.cut else {
        if recovered.is_complete() {
            console.note("the trace is whole: nothing was lost");
        }
        return;
    };
    console.warn(format_args!("cut {cut}"));
    console.warn(format_args!(
        "dropped {}; packets that can be told apart in them: {}",
        counted(recovered.dropped_bytes, "byte"),
        recovered.dropped_packets
    ));
    for (id, sequence) in recovered.sequences.iter().filter(|(_, sequence)| sequence.dropped_packets > 0) {
        console.warn(format_args!("sequence {id} lost {}", counted(sequence.dropped_packets, "packet")));
    }
    for open in &recovered.open_slices {
        console.warn(format_args!("{:?}: {} left open", open.on, counted(open.count, "slice")));
    }
}
