//! Every figure of a report by its name: the rows of `--csv`, and what `--assert` may ask.
//!
//! Names are `run.…`, `fifo.ID.…` and `unit.NAME.…`. Invariant: what a figure is called does not depend on whether it
//! is known; one that is not has no value.

use std::io::Write;

use num_bigint::BigUint;
use num_rational::Ratio;

use super::distribution::Distribution;
use super::exact::{Figure, Unit, whole};
use super::{Bin, FifoReport, FlagTime, Part, RunReport, UnitReport};

/// A figure and its name.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it counts.
    pub unit: Unit,
    /// Its value, if it is known.
    pub value: Option<Ratio<BigUint>>,
    /// The range that it counts, of a bin of a histogram.
    pub bin: Option<&'a Bin>,
}

/// The names within one subject.
struct Visitor<'v> {
    prefix: String,
    each: &'v mut dyn FnMut(&Entry<'_>),
}

impl Visitor<'_> {
    fn value(&mut self, name: &str, unit: Unit, value: Option<Ratio<BigUint>>) {
        let length = self.prefix.len();
        self.prefix.push_str(name);
        (self.each)(&Entry { name: &self.prefix, unit, value, bin: None });
        self.prefix.truncate(length);
    }

    fn count(&mut self, name: &str, unit: Unit, value: u64) {
        self.value(name, unit, Some(whole(value)));
    }

    fn figure(&mut self, name: &str, unit: Unit, figure: Option<&Figure>) {
        self.value(name, unit, figure.map(|figure| figure.value.clone()));
    }

    /// Goes on below `name`.
    fn below(&mut self, name: &str, visit: impl FnOnce(&mut Visitor<'_>)) {
        let prefix = format!("{}{name}", self.prefix);
        visit(&mut Visitor { prefix, each: &mut *self.each });
    }

    fn distribution(&mut self, unit: Unit, found: Option<&Distribution>) {
        for (at, name) in ["min", "mean", "median", "p90", "p99", "max"].into_iter().enumerate() {
            self.figure(name, unit, found.map(|found| found.figures()[at].1));
        }
    }

    fn histogram(&mut self, found: Option<&Distribution>) {
        let unit = Unit::Packets;
        for bin in found.map_or(&[][..], |found| &found.histogram) {
            let value = Some(whole(bin.count));
            let length = self.prefix.len();
            self.prefix.push_str("histogram");
            (self.each)(&Entry { name: &self.prefix, unit, value, bin: Some(bin) });
            self.prefix.truncate(length);
        }
    }

    fn part(&mut self, part: Option<&Part>) {
        self.distribution(Unit::Seconds, part.map(|part| &part.time));
        self.below("edges.", |below| below.distribution(Unit::Edges, part.map(|part| &part.edges)));
    }

    fn flag(&mut self, flag: Option<&FlagTime>) {
        let count = |of: fn(&FlagTime) -> u64| flag.map(|flag| whole(of(flag)));
        self.value("stretches", Unit::Stretches, count(|flag| flag.stretches));
        self.value("edges", Unit::Edges, count(|flag| flag.edges));
        self.value("longest_edges", Unit::Edges, count(|flag| flag.longest_edges));
        self.figure("time", Unit::Seconds, flag.map(|flag| &flag.time));
        self.figure("share", Unit::Share, flag.and_then(|flag| flag.share.as_ref()));
    }
}

/// Gives `each` the figures of one FIFO.
pub(super) fn of_fifo(fifo: &FifoReport, each: &mut dyn FnMut(&Entry<'_>)) {
    let mut visitor = Visitor { prefix: format!("fifo.{}.", fifo.id), each };
    let v = &mut visitor;
    v.distribution(Unit::Seconds, fifo.latency.as_ref());
    v.histogram(fifo.latency.as_ref());
    for (name, edges) in [("reader_edges.", &fifo.reader_edges), ("writer_edges.", &fifo.writer_edges)] {
        v.below(name, |below| {
            below.distribution(Unit::Edges, edges.as_ref());
            below.histogram(edges.as_ref());
        });
    }
    v.below("write_to_visible.", |below| below.part(fifo.write_to_visible.as_ref()));
    v.below("visible_to_read.", |below| below.part(fifo.visible_to_read.as_ref()));
    v.below("read_to_consume.", |below| below.part(fifo.read_to_consume.as_ref()));
    let packets = [
        ("written", fifo.written),
        ("read", fifo.read),
        ("consumed", fifo.consumed),
        ("inside", fifo.inside),
        ("unmatched", fifo.unmatched),
    ];
    packets.into_iter().for_each(|(name, count)| v.count(name, Unit::Packets, count));
    let occupancy = fifo.occupancy.as_ref();
    v.figure("occupancy.mean", Unit::Entries, occupancy.map(|found| &found.mean));
    v.value("occupancy.max", Unit::Entries, occupancy.map(|found| whole(found.max)));
    let throughput = fifo.throughput.as_ref();
    v.figure("throughput.per_second", Unit::PerSecond, throughput.map(|found| &found.per_second));
    let per_edge = throughput.and_then(|found| found.per_edge.as_ref());
    v.figure("throughput.per_edge", Unit::PerEdge, per_edge);
    v.below("full.", |below| below.flag(fifo.full.as_ref()));
    v.below("empty.", |below| below.flag(fifo.empty.as_ref()));
}

/// Gives `each` the figures of one unit.
pub(super) fn of_unit(unit: &UnitReport, each: &mut dyn FnMut(&Entry<'_>)) {
    let mut visitor = Visitor { prefix: format!("unit.{}.", unit.name), each };
    visitor.count("events", Unit::Events, unit.events);
    visitor.count("lost_events", Unit::Events, unit.lost_events);
    visitor.count("busy_edges", Unit::Edges, unit.busy_edges);
    visitor.count("edges", Unit::Edges, unit.edges);
    visitor.figure("utilisation", Unit::Share, unit.utilisation.as_ref());
}

/// Gives `each` the figures of the run as a whole.
pub(super) fn of_run(report: &RunReport, each: &mut dyn FnMut(&Entry<'_>)) {
    let mut visitor = Visitor { prefix: "run.".to_owned(), each };
    visitor.figure("time", Unit::Seconds, report.observed.as_ref().map(|span| &span.time));
    visitor.count("events", Unit::Events, report.events);
    visitor.count("lost_events", Unit::Events, report.lost_events);
}

/// Gives `each` every figure of a report.
pub fn entries(report: &RunReport, each: &mut dyn FnMut(&Entry<'_>)) {
    of_run(report, each);
    report.fifos.iter().for_each(|fifo| of_fifo(fifo, each));
    report.units.iter().for_each(|unit| of_unit(unit, each));
}

/// Writes every figure as a row of a table (RFC 4180, lines end with LF); what is not known is empty.
///
/// # Errors
/// `out` cannot be written.
pub fn write_csv(report: &RunReport, out: impl Write) -> std::io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(["figure", "unit", "num", "den", "from_num", "from_den", "to_num", "to_den"])?;
    let mut written = Ok(());
    entries(report, &mut |entry| {
        let range = entry.bin.map(|bin| [&bin.from.value, &bin.to.value]);
        let parts = |value: Option<&Ratio<BigUint>>| match value {
            Some(value) => [value.numer().to_string(), value.denom().to_string()],
            None => [String::new(), String::new()],
        };
        let cells = [entry.value.as_ref(), range.map(|range| range[0]), range.map(|range| range[1])];
        let cells = cells.into_iter().flat_map(parts);
        let row = [entry.name.to_owned(), entry.unit.name().to_owned()].into_iter().chain(cells);
        if written.is_ok() {
            written = table.write_record(row);
        }
    });
    written?;
    table.flush()
}
