//! Logs that are not in merge order, sorted in bounded memory.
//!
//! A log is cut into chunks that fit; each chunk is sorted and, unless the whole log fitted,
//! written to a temporary file. A sorted chunk is again a log (lines without a header), so the
//! merge reads it as one.
//!
//! Invariants: the chunks in memory, those kept for the merge included, stay within the budget; all
//! temporary files are in one folder, which is removed in every case.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::ops::Range;

use crate::logs::{Checks, FileLog, LineSource, Lines, LogReader, LogSource, Next, ReadError, Step};
use crate::progress::Progress;
use crate::scratch::TempFolder;

use super::kway::{self, Ordered};
use super::part::Part;
use super::survey::{BUFFER, LocalKey};
use super::{MergeError, MergeOptions, OnError, read_error, scratch_error};

/// Most files of one log that are merged at once.
const FAN_IN: usize = 256;
/// Events between two reports of progress.
const STRIDE: usize = 1 << 15;

/// Where a line lies in a chunk, and its place in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LineKey {
    cycle: u64,
    /// Phase and rank: the phase in bit 31, since 2^31 units fit no manifest.
    place: u32,
    /// Halves of the ordinal, so that the key is 24 bytes.
    ordinal: [u32; 2],
    begin: u32,
}

impl LineKey {
    fn new(key: LocalKey, begin: usize) -> Self {
        let phase = u32::from(key.place >> 32 != 0) << 31;
        let ordinal = [(key.ordinal >> 32) as u32, key.ordinal as u32];
        let begin = u32::try_from(begin).expect("a chunk is smaller than 4 GiB");
        Self { cycle: key.cycle, place: phase | key.place as u32, ordinal, begin }
    }
}

/// Lines of one log in merge order.
#[derive(Debug)]
pub(super) struct Chunk {
    text: Vec<u8>,
    keys: Vec<LineKey>,
    /// Bytes of text and keys at which the chunk is full.
    limits: (usize, usize),
}

impl Chunk {
    /// A chunk of about `bytes` bytes, no more than the `expected` bytes of text need.
    fn new(bytes: u64, expected: u64) -> Self {
        // A line of 40 bytes has a key of 24, and sorting needs half as much again for keys.
        let text = (bytes / 9 * 5).min(expected).min(u64::from(u32::MAX / 2)).max(1);
        let keys = (bytes / 9 * 4 / 36).min(expected / 16 + 1).max(1);
        let limits = (
            usize::try_from(text).unwrap_or(usize::MAX / 4),
            usize::try_from(keys).unwrap_or(usize::MAX / 64),
        );
        Self { text: Vec::with_capacity(limits.0 + 4096), keys: Vec::with_capacity(limits.1), limits }
    }

    fn push(&mut self, key: LocalKey, line: &[u8]) {
        self.keys.push(LineKey::new(key, self.text.len()));
        self.text.extend_from_slice(line);
        self.text.push(b'\n');
    }

    fn is_full(&self) -> bool {
        self.text.len() >= self.limits.0 || self.keys.len() >= self.limits.1
    }

    fn bytes(&self) -> u64 {
        (self.text.len() + self.keys.len() * size_of::<LineKey>()) as u64
    }

    fn line(&self, key: &LineKey) -> Range<usize> {
        let begin = key.begin as usize;
        let length = memchr::memchr(b'\n', &self.text[begin..]).expect("every line of a chunk ends");
        begin..begin + length
    }

    /// The lines from the first on.
    pub(super) fn lines(&self) -> ChunkLines<'_> {
        ChunkLines { chunk: self, next: 0, line: 0..0 }
    }
}

/// The lines of a [`Chunk`] in order.
#[derive(Debug)]
pub(super) struct ChunkLines<'a> {
    chunk: &'a Chunk,
    next: usize,
    line: Range<usize>,
}

impl LineSource for ChunkLines<'_> {
    fn advance(&mut self) -> io::Result<Step> {
        let Some(key) = self.chunk.keys.get(self.next) else { return Ok(Step::End) };
        self.line = self.chunk.line(key);
        self.next += 1;
        Ok(Step::Line)
    }

    fn line(&self) -> &[u8] {
        &self.chunk.text[self.line.clone()]
    }

    fn number(&self) -> u64 {
        self.next as u64
    }

    fn begin(&self) -> u64 {
        self.line.start as u64
    }

    fn offset(&self) -> u64 {
        self.line.end as u64
    }
}

/// A log in merge order.
#[derive(Debug)]
pub(super) enum Sorted {
    /// As a whole, in memory.
    Memory(Chunk),
    /// In files, each in order.
    Files(Vec<FileLog>),
}

pub(super) struct Sorter {
    on_error: OnError,
    /// Bytes for chunks, and those of chunks kept so far.
    budget: u64,
    kept: u64,
    /// Logs still to be sorted.
    left: u64,
    folder: TempFolder,
    spilled: u64,
}

impl Sorter {
    /// Sorts `logs` logs.
    pub(super) fn new(options: &MergeOptions, logs: u64) -> Self {
        Self {
            on_error: options.on_error,
            budget: options.memory / 4 * 3,
            kept: 0,
            left: logs,
            folder: TempFolder::new_in(&options.scratch),
            spilled: 0,
        }
    }

    /// Bytes written to temporary files.
    pub(super) fn spilled_bytes(&self) -> u64 {
        self.spilled
    }

    /// Sorts one log.
    pub(super) fn sort(
        &mut self,
        part: &Part<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Sorted, MergeError> {
        let log = part.log;
        self.left = self.left.saturating_sub(1);
        let source = log.source().open().map_err(read_error(log))?;
        let mut reader = part.reader(Lines::new(source, BUFFER), Checks::All);
        let mut files = Vec::new();
        loop {
            let text = log.source().text_bytes().unwrap_or(u64::MAX);
            let expected = text.saturating_sub(reader.offset());
            let mut chunk = Chunk::new(self.budget - self.kept, expected);
            let more = self.fill(&mut chunk, &mut reader, part, progress)?;
            chunk.keys.sort();
            let fits = self.left == 0 || self.kept + chunk.bytes() <= self.budget / 2;
            if !more && files.is_empty() && fits {
                self.kept += chunk.bytes();
                return Ok(Sorted::Memory(chunk));
            }
            let mut lines = chunk.keys.iter().map(|key| &chunk.text[chunk.line(key)]);
            files.push(self.spill(|put| lines.try_for_each(put))?);
            if !more {
                return self.consolidate(part, files).map(Sorted::Files);
            }
        }
    }

    /// Fills `chunk`; false if the log ended.
    fn fill<S: LineSource>(
        &self,
        chunk: &mut Chunk,
        reader: &mut LogReader<'_, S>,
        part: &Part<'_>,
        progress: &mut dyn Progress,
    ) -> Result<bool, MergeError> {
        let Part { catalog, log, .. } = *part;
        let mut shown = reader.offset();
        while !chunk.is_full() {
            match reader.advance() {
                Ok(Next::Entry) => chunk.push(LocalKey::of(catalog, reader.entry()), reader.line()),
                Ok(Next::Torn(_)) => {}
                Ok(Next::End) => {
                    progress.advance(reader.offset() - shown);
                    return Ok(false);
                }
                Err(ReadError::Io(error)) => return Err(read_error(log)(error)),
                Err(ReadError::Line(_)) if self.on_error == OnError::Skip => {}
                Err(ReadError::Line(error)) => return Err(error.into()),
            }
            if chunk.keys.len().is_multiple_of(STRIDE) {
                progress.advance(reader.offset() - shown);
                shown = reader.offset();
            }
        }
        progress.advance(reader.offset() - shown);
        Ok(true)
    }

    /// A temporary file with what `write` gives.
    fn spill(
        &mut self,
        write: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), MergeError>) -> Result<(), MergeError>,
    ) -> Result<FileLog, MergeError> {
        let (path, file) = self.folder.create().map_err(scratch_error(self.folder.place()))?;
        let failed = || scratch_error(&path);
        let mut out = BufWriter::with_capacity(BUFFER, file);
        write(&mut |line| out.write_all(line).and_then(|()| out.write_all(b"\n")).map_err(failed()))?;
        out.flush().map_err(failed())?;
        let written = FileLog::new(&path).map_err(failed())?;
        self.spilled += written.length();
        Ok(written)
    }

    /// Merges files until no more than [`FAN_IN`] are left.
    fn consolidate(&mut self, part: &Part<'_>, mut files: Vec<FileLog>) -> Result<Vec<FileLog>, MergeError> {
        while files.len() > FAN_IN {
            let rest = files.split_off(FAN_IN);
            let merged = self.merge_files(part, &files)?;
            for file in &files {
                fs::remove_file(file.path()).map_err(scratch_error(file.path()))?;
            }
            files = rest;
            files.push(merged);
        }
        Ok(files)
    }

    fn merge_files(&mut self, part: &Part<'_>, files: &[FileLog]) -> Result<FileLog, MergeError> {
        let opened = files.iter().filter_map(|file| RunCursor::open(file, part).transpose());
        let mut cursors = opened.collect::<Result<Vec<_>, _>>()?;
        self.spill(|put| kway::merge(&mut cursors, |cursor| put(cursor.reader.line())))
    }
}

/// A sorted file of one log.
struct RunCursor<'a> {
    reader: LogReader<'a, Lines<Box<dyn io::Read + Send + 'a>>>,
    part: Part<'a>,
    file: &'a FileLog,
}

impl<'a> RunCursor<'a> {
    fn open(file: &'a FileLog, part: &Part<'a>) -> Result<Option<Self>, MergeError> {
        let lines = Lines::new(file.open_lightly().map_err(scratch_error(file.path()))?, BUFFER / 8);
        let mut cursor = Self { reader: part.reader(lines, Checks::Sorted), part: *part, file };
        Ok(cursor.advance()?.then_some(cursor))
    }
}

impl Ordered for RunCursor<'_> {
    type Key = LocalKey;

    fn key(&self) -> LocalKey {
        LocalKey::of(self.part.catalog, self.reader.entry())
    }

    fn advance(&mut self) -> Result<bool, MergeError> {
        match self.reader.advance() {
            Ok(next) => Ok(next == Next::Entry),
            Err(ReadError::Io(error)) => Err(scratch_error(self.file.path())(error)),
            Err(ReadError::Line(error)) => Err(error.into()),
        }
    }

    fn disorder(&self) -> MergeError {
        MergeError::Changed { file: self.part.log.name().to_owned() }
    }
}
