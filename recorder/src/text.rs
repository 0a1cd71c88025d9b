//! The text logs: `text-domain-NAME.log`, one per clock domain.
//!
//! Two comment lines, then a line of eight tab-separated columns per event, in the total order.

mod decimal;

use clockweave_model::KindTable;

use decimal::Running;

use crate::cursor::{Cursor, ROOM};
use crate::roster::{Roster, Unit};
use crate::sink::{Event, Gap, Sink};
use crate::writer::{Block, FileId, Form, Outlet};

/// The largest chunk that is handed over at once, and the smallest.
const CHUNK: usize = 256 * 1024;
const MIN_CHUNK: usize = 4 * 1024;
/// What the open chunks of all logs take together.
const OPEN_BYTES: usize = 4 * 1024 * 1024;

/// The column names, as a comment.
const COLUMNS: &str = "# local_cycle\tunit_id\tevent\tphase\ttransaction_id\tfifo_id\tvalue\tordinal\n";

struct Log {
    file: FileId,
    block: Block,
}

/// Writes all logs of a run.
pub(crate) struct TextSink {
    outlet: Outlet,
    chunk: usize,
    logs: Vec<Log>,
    units: Vec<UnitText>,
    /// By kind: its name and a tab.
    kinds: Vec<Piece<136>>,
}

/// What lines of one unit have in common.
struct UnitText {
    log: u32,
    cycle: Running,
    ordinal: Running,
    unit_id: u64,
    /// The unit's id between tabs.
    id: Piece<24>,
}

impl UnitText {
    fn new(unit: &Unit) -> Self {
        Self {
            log: u32::try_from(unit.domain).expect("domains are numbered by 32 bits"),
            cycle: Running::default(),
            ordinal: Running::default(),
            unit_id: unit.id,
            id: Piece::new(&format!("\t{}\t", unit.id)),
        }
    }
}

/// A short text of known room.
struct Piece<const N: usize> {
    bytes: [u8; N],
    len: u8,
}

impl<const N: usize> Piece<N> {
    fn new(text: &str) -> Self {
        let mut bytes = [0; N];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Self { bytes, len: text.len() as u8 }
    }

    /// Copies the piece; mostly its first 32 bytes are all of it.
    #[inline]
    fn put(&self, line: &mut Cursor<'_>) {
        match self.bytes.first_chunk::<32>() {
            Some(start) if self.len <= 32 => line.copy(start, self.len),
            _ => line.copy(&self.bytes, self.len),
        }
    }
}

/// Bytes of a block for a run with `logs` logs.
pub(crate) fn block_bytes(logs: usize) -> usize {
    chunk(logs) + ROOM
}

fn chunk(logs: usize) -> usize {
    (OPEN_BYTES / logs.max(1)).clamp(MIN_CHUNK, CHUNK)
}

impl TextSink {
    /// Opens the logs; `files` are theirs, by domain.
    pub(crate) fn new(
        mut outlet: Outlet,
        files: &[FileId],
        run_id: &str,
        roster: &Roster,
        kinds: &KindTable,
    ) -> Self {
        let logs = files
            .iter()
            .zip(&roster.domains)
            .map(|(file, domain)| {
                let mut block = outlet.block();
                let head = format!("# run={run_id} domain={}\n{COLUMNS}", domain.name());
                block.bytes[..head.len()].copy_from_slice(head.as_bytes());
                block.len = head.len();
                Log { file: *file, block }
            })
            .collect();
        Self {
            outlet,
            chunk: chunk(files.len()),
            logs,
            units: roster.units.iter().map(UnitText::new).collect(),
            kinds: kinds.iter().map(|(_, name)| Piece::new(&format!("{name}\t"))).collect(),
        }
    }

    /// Hands over a chunk that has reached its limit.
    #[inline]
    fn send_full(&mut self, log: usize) {
        let log = &mut self.logs[log];
        if log.block.len > self.chunk {
            let full = std::mem::replace(&mut log.block, self.outlet.block());
            self.outlet.send(log.file, Form::Plain, full);
        }
    }

    fn send_all(&mut self) {
        for log in self.logs.iter_mut().filter(|log| log.block.len > 0) {
            let full = std::mem::replace(&mut log.block, self.outlet.block());
            self.outlet.send(log.file, Form::Plain, full);
        }
    }
}

impl Sink for TextSink {
    #[inline(always)]
    fn event(&mut self, _: i64, event: &Event<'_>) {
        let unit = &mut self.units[event.unit];
        let at = unit.log as usize;
        let log = &mut self.logs[at];
        let start = log.block.len;
        let room = log.block.bytes[start..].first_chunk_mut();
        let mut line = Cursor::new(room.expect("a chunk has room for a line at its limit"));
        let record = event.record;
        unit.cycle.put(&mut line, record.cycle);
        unit.id.put(&mut line);
        self.kinds[event.kind].put(&mut line);
        line.copy(&[b'0' + record.phase as u8, b'\t'], 2);
        decimal::put(&mut line, record.transaction);
        line.byte(b'\t');
        decimal::put(&mut line, record.fifo.into());
        line.byte(b'\t');
        decimal::put(&mut line, record.value);
        line.byte(b'\t');
        unit.ordinal.put(&mut line, event.ordinal);
        line.byte(b'\n');
        log.block.len = start + line.at();
        self.send_full(at);
    }

    fn gap(&mut self, _: i64, gap: &Gap) {
        let unit = &self.units[gap.unit];
        let (at, Gap { ordinal, count, cycle, .. }) = (unit.log as usize, gap);
        let (id, phase) = (unit.unit_id, gap.phase as u8);
        let line = format!("# gap unit={id} ordinal={ordinal} count={count} cycle={cycle} phase={phase}\n");
        let block = &mut self.logs[at].block;
        block.bytes[block.len..block.len + line.len()].copy_from_slice(line.as_bytes());
        block.len += line.len();
        self.send_full(at);
    }

    fn flush(&mut self) {
        self.send_all();
    }

    fn finish(&mut self) {
        self.send_all();
    }

    fn outlets(&self) -> impl Iterator<Item = &Outlet> {
        std::iter::once(&self.outlet)
    }
}
