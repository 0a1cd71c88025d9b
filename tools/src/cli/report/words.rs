//! A report for people: times in ns to the ps, rounded half up.

use std::fmt::Write as _;

use clockweave::report::{Distribution, FifoReport, Figure, FlagTime, PathReport, RunReport, Unit};

use crate::cli::console::{counted, grouped};

/// Units listed; all are in the other forms.
const SHOWN: usize = 40;
/// Longest bar of a histogram.
const BAR: u64 = 40;

/// A figure without its unit: seconds in ns, shares in percent.
fn plain(figure: &Figure) -> String {
    let scaled =
        |scale: u32| Figure { unit: figure.unit, value: &figure.value * num_bigint::BigUint::from(scale) };
    match figure.unit {
        Unit::Seconds => with_commas(&scaled(1_000_000_000).decimal(3)),
        Unit::Share => format!("{}%", scaled(100).decimal(2)),
        _ if figure.value.is_integer() => grouped(figure.value.numer()),
        _ => with_commas(&figure.decimal(3)),
    }
}

fn with_commas(decimal: &str) -> String {
    match decimal.split_once('.') {
        Some((before, after)) => format!("{}.{after}", grouped(before)),
        None => grouped(decimal),
    }
}

/// The report of a run.
pub(super) fn report(report: &RunReport) -> String {
    let mut text = String::new();
    // Strings take what they are given.
    let _ = writeln!(text, "run {}", report.run_id);
    match &report.observed {
        None => text += "no events\n",
        Some(span) => {
            let _ = writeln!(
                text,
                "{} in {} ns, from {} ns to {} ns",
                counted(report.events, "event"),
                plain(&span.time),
                plain(&span.from),
                plain(&span.to)
            );
        }
    }
    if report.lost_events > 0 {
        let _ = writeln!(text, "{} lost when the run was recorded", counted(report.lost_events, "event"));
    }
    report.fifos.iter().for_each(|found| fifo(&mut text, found));
    units(&mut text, report);
    text
}

fn fifo(text: &mut String, fifo: &FifoReport) {
    let end = |unit: &Option<String>, domain: &Option<String>| {
        let domain = domain.as_ref().map_or_else(String::new, |domain| format!(" ({domain})"));
        format!("{}{domain}", unit.as_deref().unwrap_or("?"))
    };
    let mut title = format!("\nFIFO {}", fifo.id);
    if let Some(name) = &fifo.name {
        title += &format!(" {name}");
    }
    title += &format!(
        ": {} -> {}",
        end(&fifo.writer, &fifo.writer_domain),
        end(&fifo.reader, &fifo.reader_domain)
    );
    if let (Some(depth), Some(stages)) = (fifo.depth, fifo.stages) {
        title += &format!(", depth {depth}, {stages} stages");
    }
    let _ = writeln!(text, "{title}");
    let _ = writeln!(
        text,
        "  packets     {} written, {} consumed, {} inside at the end",
        grouped(fifo.written),
        grouped(fifo.consumed),
        grouped(fifo.inside)
    );
    if fifo.unmatched > 0 {
        let _ = writeln!(text, "  unmatched   {}", counted(fifo.unmatched, "event"));
    }
    if let Some(throughput) = &fifo.throughput {
        let edges = throughput
            .per_edge
            .as_ref()
            .map_or_else(String::new, |figure| format!(", {} per edge of the reader", figure.decimal(4)));
        let _ =
            writeln!(text, "  throughput  {} packets/s{edges}", grouped(throughput.per_second.decimal(0)));
    }
    if let Some(occupancy) = &fifo.occupancy {
        let _ = writeln!(
            text,
            "  occupancy   mean {}, max {}",
            occupancy.mean.decimal(3),
            grouped(occupancy.max)
        );
    }
    flag(text, "full", fifo.full.as_ref(), "writer");
    flag(text, "empty", fifo.empty.as_ref(), "reader");
    latencies(text, fifo);
    if let Some(latency) = &fifo.latency {
        histogram(text, latency);
    }
}

fn flag(text: &mut String, name: &str, flag: Option<&FlagTime>, end: &str) {
    let Some(flag) = flag else { return };
    let share = flag.share.as_ref().map_or_else(String::new, |share| format!(" ({})", plain(share)));
    let _ = writeln!(
        text,
        "  {name:<12}{} ns{share} in {}, {} of the {end}, longest {}",
        plain(&flag.time),
        counted(flag.stretches, "stretch").replace("stretchs", "stretches"),
        counted(flag.edges, "edge"),
        grouped(flag.longest_edges)
    );
}

fn latencies(text: &mut String, fifo: &FifoReport) {
    let part = |part: &Option<clockweave::report::Part>| {
        part.as_ref().map_or((None, None), |part| (Some(part.time.clone()), Some(part.edges.clone())))
    };
    let (visible, visible_edges) = part(&fifo.write_to_visible);
    let (read, read_edges) = part(&fifo.visible_to_read);
    let (consume, consume_edges) = part(&fifo.read_to_consume);
    let rows = [
        ("latency, ns", fifo.latency.clone()),
        ("  write to visible", visible),
        ("  visible to read", read),
        ("  read to consume", consume),
        ("in reader's edges", fifo.reader_edges.clone()),
        ("  write to visible", visible_edges),
        ("  visible to read", read_edges),
        ("  read to consume", consume_edges),
        ("in writer's edges", fifo.writer_edges.clone()),
    ];
    if rows.iter().all(|(_, row)| row.is_none()) {
        return;
    }
    let mut line = |name: &str, cells: [String; 6]| {
        let mut row = format!("  {name:<20}");
        cells.iter().for_each(|cell| row += &format!("{cell:>9}"));
        let _ = writeln!(text, "{row}");
    };
    line("", ["min", "mean", "median", "p90", "p99", "max"].map(str::to_owned));
    for (name, found) in rows.iter().filter_map(|(name, found)| Some((name, found.as_ref()?))) {
        line(name, found.clone().figures().map(|(_, figure)| plain(figure)));
    }
}

fn histogram(text: &mut String, latency: &Distribution) {
    let most = latency.histogram.iter().map(|bin| bin.count).max().unwrap_or(1).max(1);
    for bin in &latency.histogram {
        let length = u64::try_from(u128::from(bin.count) * u128::from(BAR) / u128::from(most)).unwrap_or(BAR);
        let length = usize::try_from(length.max(u64::from(bin.count > 0))).unwrap_or_default();
        let from = format!("{} ns", plain(&bin.from));
        let row = format!("  {from:>18} {:>14} {}", grouped(bin.count), "#".repeat(length));
        let _ = writeln!(text, "{}", row.trim_end());
    }
}

fn units(text: &mut String, report: &RunReport) {
    let _ = writeln!(text, "\nutilisation       busy edges          edges  unit");
    for unit in report.units.iter().take(SHOWN) {
        let share = unit.utilisation.as_ref().map_or_else(|| "unknown".to_owned(), plain);
        let _ = writeln!(
            text,
            "{share:>11} {:>16} {:>14}  {} ({})",
            grouped(unit.busy_edges),
            grouped(unit.edges),
            unit.name,
            unit.domain
        );
    }
    if report.units.len() > SHOWN {
        let _ = writeln!(text, "{:>11} more units", grouped(report.units.len() - SHOWN));
    }
}

/// The path of a transaction.
pub(super) fn path(report: &PathReport) -> String {
    let mut text = format!(
        "transaction {} of run {}: {}\n\n",
        report.transaction_id,
        report.run_id,
        counted(report.steps.len() as u64 + report.omitted, "event")
    );
    let _ = writeln!(text, "{:>16} {:>12} {:>10}  event", "time, ns", "later by", "cycle");
    for step in &report.steps {
        let fifo = if step.fifo_id == 0 { String::new() } else { format!(", FIFO {}", step.fifo_id) };
        let _ = writeln!(
            text,
            "{:>16} {:>12} {:>10}  {} of {} ({}){fifo}",
            plain(&step.time),
            plain(&step.since_previous),
            grouped(step.local_cycle),
            step.event,
            step.unit,
            step.domain
        );
    }
    if report.omitted > 0 {
        let _ = writeln!(text, "{} more", counted(report.omitted, "event"));
    }
    for hop in &report.hops {
        let _ = writeln!(
            text,
            "\nFIFO {}: {} -> {} in {} ns, {} of the reader, {} of the writer",
            hop.fifo_id,
            hop.writer,
            hop.reader,
            plain(&hop.latency),
            counted(hop.reader_edges, "edge"),
            counted(hop.writer_edges, "edge")
        );
    }
    text
}
