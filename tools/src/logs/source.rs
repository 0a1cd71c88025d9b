//! Where the bytes of a log come from.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use clockweave_validators::check_regular;
use flate2::read::MultiGzDecoder;

/// A log that can be read from its start more than once.
pub trait LogSource: Sync {
    /// What messages call it.
    fn name(&self) -> String;
    /// Its length when it was first looked at; what is added later is not read. Of a compressed log,
    /// the compressed length.
    fn length(&self) -> u64;
    /// Bytes of text, if that can be told without reading.
    fn text_bytes(&self) -> Option<u64> {
        Some(self.length())
    }
    /// Its text from the start.
    ///
    /// # Errors
    /// It cannot be opened.
    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>>;
    /// Its text from the start, holding no file open between reads: for many logs at once.
    ///
    /// # Errors
    /// It cannot be opened.
    fn open_lightly(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        self.open()
    }
}

/// How a log in a file is compressed, by the end of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    /// The ends of names, the plain one first.
    const SUFFIXES: [(&'static str, Self); 3] =
        [("", Self::Plain), (".gz", Self::Gzip), (".zst", Self::Zstd)];

    fn of(path: &Path) -> Self {
        match path.extension().and_then(|end| end.to_str()) {
            Some("gz") => Self::Gzip,
            Some("zst") => Self::Zstd,
            _ => Self::Plain,
        }
    }
}

/// A log in a file, plain or compressed with gzip or zstd.
#[derive(Clone, Debug)]
pub struct FileLog {
    path: PathBuf,
    length: u64,
    packing: Packing,
}

impl FileLog {
    /// What a log's name may end with after `.log`.
    pub(crate) fn suffixes() -> impl Iterator<Item = &'static str> {
        Packing::SUFFIXES.iter().map(|(suffix, _)| *suffix)
    }

    /// The log at `path`.
    ///
    /// # Errors
    /// The file cannot be looked at, or is no regular file: it is read more than once.
    pub fn new(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), length: check_regular(path)?, packing: Packing::of(path) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn unpacked<'a>(&self, bytes: impl Read + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
        Ok(match self.packing {
            Packing::Plain => Box::new(bytes),
            Packing::Gzip => Box::new(MultiGzDecoder::new(bytes)),
            Packing::Zstd => Box::new(zstd::Decoder::new(bytes)?),
        })
    }
}

impl LogSource for FileLog {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn length(&self) -> u64 {
        self.length
    }

    fn text_bytes(&self) -> Option<u64> {
        (self.packing == Packing::Plain).then_some(self.length)
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        self.unpacked(File::open(&self.path)?.take(self.length))
    }

    fn open_lightly(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        self.unpacked(LightFile { path: &self.path, at: 0 }.take(self.length))
    }
}

/// A file that is open only while it is read: the number of logs is not bound by that of descriptors.
struct LightFile<'a> {
    path: &'a Path,
    at: u64,
}

impl Read for LightFile<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut file = File::open(self.path)?;
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.read(out)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// A log in memory.
#[derive(Clone, Debug)]
pub struct MemoryLog {
    name: String,
    bytes: Vec<u8>,
}

impl MemoryLog {
    /// The log `bytes`, called `name` in messages.
    pub fn new(name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.to_owned(), bytes: bytes.into() }
    }
}

impl LogSource for MemoryLog {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        Ok(Box::new(&self.bytes[..]))
    }
}
