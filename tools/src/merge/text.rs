//! Merged rows as text: tab-separated, comma-separated, or one JSON object per line.

use std::io::Write;

use crate::logs::{Catalog, Fields, GAP};

use super::MergeError;
use super::rows::{Blocks, COLUMNS, Row, RowWriter};
use super::timeline::push_decimal;

/// The forms of a merged log that are text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// Columns between tabs; a gap is a comment as in the logs, with the name of its unit and, of several runs, that of the run.
    Tsv,
    /// Columns between commas (RFC 4180, lines end with LF); a gap is a row of its own.
    Csv,
    /// A JSON object per line; the parts of the exact time are strings; a gap is an object of its own.
    Jsonl,
}

/// The names of the columns, with the run's first where there are several.
pub(crate) fn columns(runs: usize) -> impl Iterator<Item = &'static str> {
    (runs > 1).then_some("run").into_iter().chain(COLUMNS)
}

/// Writes rows as text.
pub(super) struct Text<W> {
    format: TextFormat,
    /// The run's name as it begins each row, where there are several.
    prefixes: Vec<Vec<u8>>,
    out: Blocks<W>,
}

impl<W: Write> Text<W> {
    pub(super) fn new(format: TextFormat, out: W) -> Self {
        Self { format, prefixes: Vec::new(), out: Blocks::new(out) }
    }
}

impl<W: Write> RowWriter for Text<W> {
    fn begin(&mut self, runs: &[&Catalog], _holes: bool) -> Result<(), MergeError> {
        let separator = match self.format {
            TextFormat::Tsv => "\t",
            TextFormat::Csv => ",",
            TextFormat::Jsonl => "",
        };
        if self.format != TextFormat::Jsonl {
            let header = columns(runs.len()).collect::<Vec<_>>().join(separator);
            self.out.block.extend_from_slice(header.as_bytes());
            self.out.block.push(b'\n');
        }
        if runs.len() > 1 {
            let prefix = |run: &&Catalog| {
                let mut text = Vec::new();
                match self.format {
                    TextFormat::Tsv => text.extend_from_slice(run.run_id().as_bytes()),
                    TextFormat::Csv => push_csv(run.run_id(), &mut text),
                    TextFormat::Jsonl => {
                        text.extend_from_slice(b"\"run\":");
                        push_json(run.run_id(), &mut text);
                        text.push(b',');
                    }
                }
                text.extend_from_slice(separator.as_bytes());
                text
            };
            self.prefixes = runs.iter().map(prefix).collect();
        }
        self.out.pass()
    }

    #[inline]
    fn push(&mut self, row: &Row<'_>) -> Result<(), MergeError> {
        let block = &mut self.out.block;
        let prefix = self.prefixes.get(row.run).map_or(&[][..], Vec::as_slice);
        match self.format {
            TextFormat::Tsv => tsv(row, prefix, block),
            TextFormat::Csv => csv(row, prefix, block),
            TextFormat::Jsonl => jsonl(row, prefix, block),
        }
        block.push(b'\n');
        self.out.pass()
    }

    fn finish(&mut self) -> Result<(), MergeError> {
        self.out.finish()
    }
}

#[inline]
fn tsv(row: &Row<'_>, prefix: &[u8], block: &mut Vec<u8>) {
    let fields = &row.entry.fields;
    if row.entry.lost > 0 {
        let run = if prefix.is_empty() { "" } else { row.catalog.run_id() };
        gap(run, row.unit(), fields, row.entry.lost, block);
        return;
    }
    block.extend_from_slice(prefix);
    block.extend_from_slice(row.stamp);
    block.extend_from_slice(row.unit().as_bytes());
    block.push(b'\t');
    if fields.padded {
        push_unpadded(row.line, block);
    } else {
        block.extend_from_slice(&row.line[..fields.cycle_end]);
        block.push(b'\t');
        block.extend_from_slice(&row.line[fields.event..]);
    }
}

/// A gap as a comment that names its unit, and the run where there are several.
#[cold]
fn gap(run: &str, unit: &str, fields: &Fields, lost: u64, block: &mut Vec<u8>) {
    block.extend_from_slice(GAP.as_bytes());
    if !run.is_empty() {
        block.extend_from_slice(b"run=");
        block.extend_from_slice(run.as_bytes());
        block.push(b' ');
    }
    block.extend_from_slice(b"unit=");
    block.extend_from_slice(unit.as_bytes());
    let numbers = [
        ("ordinal", fields.ordinal),
        ("count", lost),
        ("cycle", fields.cycle),
        ("phase", fields.phase.into()),
    ];
    for (key, number) in numbers {
        block.push(b' ');
        block.extend_from_slice(key.as_bytes());
        block.push(b'=');
        push_decimal(number, block);
    }
}

/// The columns of a log line but the unit's, numbers without leading zeros.
#[cold]
fn push_unpadded(line: &[u8], block: &mut Vec<u8>) {
    let columns = line.split(|byte| *byte == b'\t').enumerate().filter(|(at, _)| *at != 1);
    for (place, (at, column)) in columns.enumerate() {
        if place > 0 {
            block.push(b'\t');
        }
        let zeros = column.iter().take_while(|byte| **byte == b'0').count();
        let is_name = at == 2;
        block.extend_from_slice(if is_name { column } else { &column[zeros.min(column.len() - 1)..] });
    }
}

fn csv(row: &Row<'_>, prefix: &[u8], block: &mut Vec<u8>) {
    let fields = &row.entry.fields;
    block.extend_from_slice(prefix);
    block.extend(row.stamp.iter().map(|byte| if *byte == b'\t' { b',' } else { *byte }));
    push_csv(row.unit(), block);
    block.push(b',');
    push_decimal(fields.cycle, block);
    block.push(b',');
    push_csv(row.event(), block);
    for number in [fields.phase.into(), fields.transaction, fields.fifo, row.value(), fields.ordinal] {
        block.push(b',');
        push_decimal(number, block);
    }
}

/// A name as a CSV field, in quotes where it needs them.
fn push_csv(name: &str, block: &mut Vec<u8>) {
    if name.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
        block.push(b'"');
        block.extend_from_slice(name.replace('"', "\"\"").as_bytes());
        block.push(b'"');
    } else {
        block.extend_from_slice(name.as_bytes());
    }
}

fn push_json(name: &str, block: &mut Vec<u8>) {
    serde_json::to_writer(block, name).expect("a string is JSON and memory takes it");
}

fn jsonl(row: &Row<'_>, prefix: &[u8], block: &mut Vec<u8>) {
    let fields = &row.entry.fields;
    let (num, den) = row.time();
    block.push(b'{');
    block.extend_from_slice(prefix);
    for (key, text) in [("time_num", num), ("time_den", den)] {
        push_key(key, block);
        block.push(b'"');
        block.extend_from_slice(text.as_bytes());
        block.extend_from_slice(b"\",");
    }
    let domain = row.catalog.domains()[row.domain as usize].id();
    for (key, number) in [("ts", row.ts.unsigned_abs()), ("domain_id", domain.into())] {
        push_key(key, block);
        push_decimal(number, block);
        block.push(b',');
    }
    push_key("unit", block);
    push_json(row.unit(), block);
    block.extend_from_slice(b",\"local_cycle\":");
    push_decimal(fields.cycle, block);
    block.extend_from_slice(b",\"event\":");
    push_json(row.event(), block);
    let rest = [fields.phase.into(), fields.transaction, fields.fifo, row.value(), fields.ordinal];
    for (key, number) in COLUMNS[7..].iter().zip(rest) {
        block.push(b',');
        push_key(key, block);
        push_decimal(number, block);
    }
    block.push(b'}');
}

fn push_key(key: &str, block: &mut Vec<u8>) {
    block.push(b'"');
    block.extend_from_slice(key.as_bytes());
    block.extend_from_slice(b"\":");
}
