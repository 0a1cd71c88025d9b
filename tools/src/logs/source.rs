//! Where the bytes of a log come from.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use clockweave_validators::check_regular;

/// A log that can be read from its start more than once.
pub trait LogSource: Sync {
    /// What messages call it.
    fn name(&self) -> String;
    /// Its length when it was first looked at; what is added later is not read.
    fn length(&self) -> u64;
    /// Its bytes from the start.
    ///
    /// # Errors
    /// It cannot be opened.
    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>>;
    /// Its bytes from the start, holding no file open between reads: for many logs at once.
    ///
    /// # Errors
    /// It cannot be opened.
    fn open_lightly(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        self.open()
    }
}

/// A log in a file.
#[derive(Clone, Debug)]
pub struct FileLog {
    path: PathBuf,
    length: u64,
}

impl FileLog {
    /// The log at `path`.
    ///
    /// # Errors
    /// The file cannot be looked at, or is no regular file: it is read more than once.
    pub fn new(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), length: check_regular(path)? })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl LogSource for FileLog {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn length(&self) -> u64 {
        self.length
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        Ok(Box::new(File::open(&self.path)?.take(self.length)))
    }

    fn open_lightly(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        Ok(Box::new(LightFile { path: &self.path, at: 0 }.take(self.length)))
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
