//! Merged rows as tab-separated text.

use std::io::{self, Write};

use crate::logs::{Catalog, Entry};

/// The columns of a merged log, its first line without `#`.
const HEADER: &str = "time_num\ttime_den\tts\tdomain_id\tunit\tlocal_cycle\tevent\tphase\ttransaction_id\tfifo_id\tvalue\tordinal\n";
/// Bytes written at once.
const BLOCK: usize = 128 * 1024;

/// One event, or gap, at its place.
pub(super) struct Row<'a> {
    /// `time_num time_den ts domain_id`, each with its tab.
    pub(super) stamp: &'a [u8],
    pub(super) entry: &'a Entry,
    /// The log's line.
    pub(super) line: &'a [u8],
}

pub(super) struct Tsv<'c, W> {
    catalog: &'c Catalog,
    out: W,
    block: Vec<u8>,
}

impl<'c, W: Write> Tsv<'c, W> {
    pub(super) fn new(catalog: &'c Catalog, out: W) -> io::Result<Self> {
        let mut block = Vec::with_capacity(BLOCK + 4096);
        block.extend_from_slice(HEADER.as_bytes());
        Ok(Self { catalog, out, block })
    }

    /// Writes a row; a gap stays the comment it was.
    #[inline]
    pub(super) fn push(&mut self, row: &Row<'_>) -> io::Result<()> {
        let block = &mut self.block;
        if row.entry.lost == 0 {
            let fields = &row.entry.fields;
            block.extend_from_slice(row.stamp);
            block.extend_from_slice(self.catalog.units()[row.entry.unit as usize].name.as_bytes());
            block.push(b'\t');
            if fields.padded {
                push_unpadded(row.line, block);
            } else {
                block.extend_from_slice(&row.line[..fields.cycle_end]);
                block.push(b'\t');
                block.extend_from_slice(&row.line[fields.event..]);
            }
        } else {
            block.extend_from_slice(row.line);
        }
        block.push(b'\n');
        if block.len() >= BLOCK {
            self.out.write_all(block)?;
            block.clear();
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.write_all(&self.block)?;
        self.out.flush()
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
