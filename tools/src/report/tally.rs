//! How often each value of many distributions occurred, exactly, in bounded memory.
//!
//! Distinct values are counted in memory; when there are too many they go, sorted, to a temporary file, and the files
//! are merged at the end. Invariant: nothing is rounded or left out, whatever the number of distinct values. Knows
//! nothing of what a value means.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use super::exact::Ticks;
use crate::merge::{MergeError, Ordered, merge_ordered};
use crate::scratch::TempFolder;

/// Bytes of a distinct value in memory, with what a hash table, its growth and sorting take.
pub(crate) const VALUE_BYTES: u64 = 256;
/// Files merged at once; that many become one.
const FILES: usize = 64;
const BUFFER: usize = 1 << 16;
/// A row of a file: distribution, value, count.
const ROW: usize = 4 + 40 + 8;

type Key = (u32, Ticks);

/// Size and ends of one distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) count: u64,
    pub(crate) min: Ticks,
    pub(crate) max: Ticks,
}

/// Counts values of distributions, each of which has a number.
#[derive(Debug)]
pub(crate) struct Tally {
    counts: HashMap<Key, u64>,
    /// Distinct values held in memory.
    limit: usize,
    extents: Vec<Extent>,
    folder: TempFolder,
    files: Vec<PathBuf>,
}

fn scratch(path: &Path) -> impl FnOnce(io::Error) -> MergeError {
    let path = path.to_owned();
    move |source| MergeError::Scratch { path, source }
}

impl Tally {
    /// Counts in `memory` bytes, with files below `folder` for what is beyond.
    pub(crate) fn new(memory: u64, folder: &Path) -> Self {
        let limit = usize::try_from(memory / VALUE_BYTES).unwrap_or(usize::MAX).max(1);
        let folder = TempFolder::new_in(folder);
        Self { counts: HashMap::new(), limit, extents: Vec::new(), folder, files: Vec::new() }
    }

    /// Counts `value` in the distribution with this number.
    pub(crate) fn add(&mut self, distribution: u32, value: Ticks) -> Result<(), MergeError> {
        let at = distribution as usize;
        if self.extents.len() <= at {
            self.extents.resize(at + 1, Extent::default());
        }
        let extent = &mut self.extents[at];
        if extent.count == 0 {
            (extent.min, extent.max) = (value, value);
        }
        extent.count += 1;
        extent.min = extent.min.min(value);
        extent.max = extent.max.max(value);
        *self.counts.entry((distribution, value)).or_default() += 1;
        if self.counts.len() >= self.limit { self.spill() } else { Ok(()) }
    }

    /// The size of a distribution.
    pub(crate) fn extent(&self, distribution: u32) -> Extent {
        self.extents.get(distribution as usize).copied().unwrap_or_default()
    }

    fn sorted(&mut self) -> Vec<(Key, u64)> {
        let mut rows: Vec<(Key, u64)> = self.counts.drain().collect();
        rows.sort_unstable();
        rows
    }

    fn spill(&mut self) -> Result<(), MergeError> {
        let rows = self.sorted();
        self.write(|out| rows.into_iter().try_for_each(|(key, count)| write_row(out, key, count)))?;
        if self.files.len() >= FILES {
            let files = std::mem::take(&mut self.files);
            let mut streams = open(&files)?;
            let mut failed = Ok(());
            self.write(|out| {
                failed =
                    fold(&mut streams, |key, count| write_row(out, key, count).map_err(MergeError::Write));
                Ok(())
            })?;
            // What a merge of files wrote is no output.
            failed.map_err(|error| match error {
                MergeError::Write(source) => scratch(self.folder.place())(source),
                other => other,
            })?;
            drop(streams);
            for file in files {
                std::fs::remove_file(&file).map_err(scratch(&file))?;
            }
        }
        Ok(())
    }

    fn write(&mut self, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), MergeError> {
        let (path, file) = self.folder.create().map_err(scratch(self.folder.place()))?;
        let mut out = BufWriter::with_capacity(BUFFER, file);
        fill(&mut out).and_then(|()| out.flush()).map_err(scratch(&path))?;
        self.files.push(path);
        Ok(())
    }

    /// Gives `each` every distinct value with its count, by distribution and ascending.
    pub(crate) fn finish(mut self, mut each: impl FnMut(u32, Ticks, u64)) -> Result<(), MergeError> {
        let rows = self.sorted();
        let mut streams = open(&self.files)?;
        streams.extend(Stream::new(Rows::Memory(rows.into_iter()))?);
        fold(&mut streams, |(distribution, value), count| {
            each(distribution, value, count);
            Ok(())
        })
    }
}

fn write_row(out: &mut impl Write, (distribution, value): Key, count: u64) -> io::Result<()> {
    let mut row = [0; ROW];
    row[..4].copy_from_slice(&distribution.to_le_bytes());
    for (bytes, word) in row[4..44].chunks_exact_mut(8).zip(value.0) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    row[44..].copy_from_slice(&count.to_le_bytes());
    out.write_all(&row)
}

fn open(files: &[PathBuf]) -> Result<Vec<Stream>, MergeError> {
    let mut streams = Vec::with_capacity(files.len() + 1);
    for path in files {
        let file = BufReader::with_capacity(BUFFER, File::open(path).map_err(scratch(path))?);
        streams.extend(Stream::new(Rows::File(file, path.clone()))?);
    }
    Ok(streams)
}

enum Rows {
    Memory(std::vec::IntoIter<(Key, u64)>),
    File(BufReader<File>, PathBuf),
}

/// Sorted rows, standing on one.
struct Stream {
    rows: Rows,
    row: (Key, u64),
}

impl Stream {
    /// The stream on its first row, if it has one.
    fn new(rows: Rows) -> Result<Option<Self>, MergeError> {
        let mut stream = Self { rows, row: Default::default() };
        Ok(stream.advance()?.then_some(stream))
    }
}

impl Ordered for Stream {
    type Key = Key;

    fn key(&self) -> Key {
        self.row.0
    }

    fn advance(&mut self) -> Result<bool, MergeError> {
        let (file, path) = match &mut self.rows {
            Rows::Memory(rows) => {
                let next = rows.next();
                self.row = next.unwrap_or_default();
                return Ok(next.is_some());
            }
            Rows::File(file, path) => (file, path),
        };
        let mut row = [0; ROW];
        match file.read_exact(&mut row) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(scratch(path)(error)),
        }
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| row[at + byte]));
        let distribution = u32::from_le_bytes(std::array::from_fn(|byte| row[byte]));
        let value = Ticks(std::array::from_fn(|at| word(4 + 8 * at)));
        self.row = ((distribution, value), word(44));
        Ok(true)
    }

    fn disorder(&self) -> MergeError {
        let path = match &self.rows {
            Rows::Memory(_) => Path::new("memory"),
            Rows::File(_, path) => path,
        };
        scratch(path)(io::ErrorKind::InvalidData.into())
    }
}

/// Merges `streams`, adding up the counts of equal keys.
fn fold(
    streams: &mut [Stream],
    mut each: impl FnMut(Key, u64) -> Result<(), MergeError>,
) -> Result<(), MergeError> {
    let mut open: Option<(Key, u64)> = None;
    merge_ordered(streams, |stream| {
        let (key, count) = stream.row;
        match &mut open {
            Some((last, sum)) if *last == key => *sum += count,
            other => {
                if let Some((last, sum)) = other.replace((key, count)) {
                    each(last, sum)?;
                }
            }
        }
        Ok(())
    })?;
    open.map_or(Ok(()), |(key, count)| each(key, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn counted(values: &[(u32, u64)], limit: usize) -> (Vec<(u32, u64, u64)>, usize) {
        let folder = tempfile::tempdir().unwrap();
        let mut tally = Tally::new(0, folder.path());
        tally.limit = limit;
        let mut most = 0;
        for (distribution, value) in values {
            tally.add(*distribution, Ticks::from(*value)).unwrap();
            most = most.max(tally.files.len());
        }
        let mut found = Vec::new();
        tally.finish(|distribution, value, count| found.push((distribution, value.0[4], count))).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "temporary files are gone");
        (found, most)
    }

    proptest! {
        #[test]
        fn counts_do_not_depend_on_what_went_to_files(
            values in proptest::collection::vec((0u32..3, 0u64..40), 0..400), limit in 1usize..30,
        ) {
            let mut expected: BTreeMap<(u32, u64), u64> = BTreeMap::new();
            values.iter().for_each(|value| *expected.entry(*value).or_default() += 1);
            let expected: Vec<_> = expected.into_iter().map(|((d, v), count)| (d, v, count)).collect();
            prop_assert_eq!(&counted(&values, limit).0, &expected);
            prop_assert_eq!(&counted(&values, usize::MAX).0, &expected);
        }
    }

    #[test]
    fn many_files_become_one() {
        let values: Vec<(u32, u64)> = (0..1000).map(|n| (0, n * 7 % 1000)).collect();
        let (found, most) = counted(&values, 2);
        assert_eq!(found, (0..1000).map(|n| (0, n, 1)).collect::<Vec<_>>());
        assert!(most < FILES, "{most}");
    }

    #[test]
    fn an_extent_is_known_at_once() {
        let mut tally = Tally::new(1 << 20, Path::new("/nowhere"));
        for value in [5u64, 3, 9] {
            tally.add(2, value.into()).unwrap();
        }
        assert_eq!(tally.extent(2), Extent { count: 3, min: 3u64.into(), max: 9u64.into() });
        assert_eq!((tally.extent(0).count, tally.extent(7).count), (0, 0));
    }
}
