//! From a path to a file that the UI reads.
//!
//! The UI takes plain traces and deflate wrappers. A file that is compressed as a whole is decompressed, zstd wrappers
//! are written as deflate wrappers, both into a temporary file. Of a damaged trace the part before the damage is
//! shown, and that is told.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use clockweave_recorder::TRACE_FILE;
use clockweave_validators::scan::{Codec, Deflated, Entry, Packet, ReadError};

use super::server::ServedTrace;
use crate::output::is_dash;
use crate::progress::Progress;
use crate::recorded::beginning;
use crate::scratch::Spooled;
use crate::trace::{FileCodec, Place, Visitor, WalkError, decoded, peek, walk};

/// The longest trace that is copied: the UI's engine addresses 4 GiB, so it could not hold more.
const MOST_BYTES: u64 = 4 << 30;

/// Why a trace cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file cannot be opened or read, or there is no room for a copy.
    #[error("{}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The trace cannot be read.
    #[error("{}: {error}", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The error.
        error: Box<ReadError>,
    },
    /// The file is no trace.
    #[error("{}: found {found}, expected a Perfetto trace", path.display())]
    Kind {
        /// The path.
        path: PathBuf,
        /// What it seems to be.
        found: String,
    },
    /// A directory without a trace.
    #[error(
        "{}: found no {TRACE_FILE}; `clockweave merge --format pftrace` makes a trace of text logs alone",
        path.display()
    )]
    NoTrace {
        /// The directory.
        path: PathBuf,
    },
    /// A directory with several traces.
    #[error("{}: the run is in {segments} segments; open one of them, as in {}", path.display(), first.display())]
    Rotated {
        /// The directory.
        path: PathBuf,
        /// How many.
        segments: usize,
        /// The first.
        first: PathBuf,
    },
}

/// A trace that can be shown.
#[derive(Debug)]
pub struct Prepared {
    /// What is served.
    pub trace: ServedTrace,
    /// The damage in words, if what follows some place is left out.
    pub cut: Option<String>,
    /// Holds the files that are served or read.
    _spooled: Vec<Spooled>,
}

/// What a trace is made of.
#[derive(Default)]
struct Look {
    zstd: bool,
}

impl Visitor for Look {
    type Error = std::convert::Infallible;

    fn entry(&mut self, entry: &Entry<'_>, _content: &[u8]) {
        let wrapper = Packet::parse(entry.payload).ok().and_then(|packet| packet.wrapper);
        self.zstd |= matches!(wrapper, Some((Codec::Zstd, _)));
    }

    fn packet(&mut self, _place: Place, _packet: &Packet<'_>) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// The trace of a run directory.
fn in_directory(path: &Path) -> Result<PathBuf, OpenError> {
    let trace = path.join(TRACE_FILE);
    if trace.is_file() {
        return Ok(trace);
    }
    let entries = fs::read_dir(path).map_err(|source| OpenError::Io { path: path.to_owned(), source })?;
    let is_segment = |name: &str| name.starts_with("timeline-") && name.ends_with(".pftrace");
    let mut segments: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| is_segment(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect();
    segments.sort();
    match segments.as_slice() {
        [] => Err(OpenError::NoTrace { path: path.to_owned() }),
        [only] => Ok(only.clone()),
        [first, ..] => {
            Err(OpenError::Rotated { path: path.to_owned(), segments: segments.len(), first: first.clone() })
        }
    }
}

/// What the page calls the trace: letters, digits, `.`, `_` and `-` of the path's last name.
fn shown_name(path: &Path) -> String {
    let name = if is_dash(path) {
        "stdin".into()
    } else {
        fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
    };
    let name = name.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let kept = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
    let name: String = name.chars().map(|letter| if kept(letter) { letter } else { '_' }).take(100).collect();
    let name = name.trim_matches('.');
    if name.is_empty() { "trace".to_owned() } else { name.to_owned() }
}

/// Makes the trace at `path` (a trace, a run directory, or `-` for stdin) ready for the UI.
///
/// # Errors
/// No trace, or none that can be read; no room for a copy.
pub fn prepare(path: &Path, progress: &mut dyn Progress) -> Result<Prepared, OpenError> {
    let name = shown_name(path);
    let failed = |source| OpenError::Io { path: path.to_owned(), source };
    let mut spooled = Vec::new();
    let file = if is_dash(path) {
        let copy = Spooled::new(io::stdin().lock(), MOST_BYTES).map_err(failed)?;
        let file = copy.path().to_owned();
        spooled.push(copy);
        file
    } else if fs::metadata(path).map_err(failed)?.is_dir() {
        in_directory(path)?
    } else {
        path.to_owned()
    };
    let source = || File::open(&file).map(|file| BufReader::with_capacity(1 << 16, file));
    progress.stage("reading", fs::metadata(&file).map_err(failed)?.len());
    let (reader, codec) = source().and_then(decoded).map_err(failed)?;
    let (head, reader) = peek(reader).map_err(failed)?;
    let mut look = Look::default();
    let report = walk(reader, &mut look, progress).map_err(|error| match error {
        WalkError::Read(error) => OpenError::Read { path: path.to_owned(), error: Box::new(error) },
        WalkError::Visitor(never) => match never {},
    })?;
    if report.kept_packets == 0 {
        return Err(OpenError::Kind { path: path.to_owned(), found: beginning(&head) });
    }
    let cut = report.cut.as_ref().map(ToString::to_string);
    let served = if codec == FileCodec::None && !look.zstd {
        ServedTrace { name, path: file, length: report.kept_bytes }
    } else {
        let (reader, _) = source().and_then(decoded).map_err(failed)?;
        let reader = reader.take(report.kept_bytes);
        let copy = if look.zstd {
            Spooled::new(Deflated::new(reader), MOST_BYTES)
        } else {
            Spooled::new(reader, MOST_BYTES)
        };
        let copy = copy.map_err(failed)?;
        let path = copy.path().to_owned();
        let length = fs::metadata(&path).map_err(failed)?.len();
        spooled.push(copy);
        ServedTrace { name, path, length }
    };
    Ok(Prepared { trace: served, cut, _spooled: spooled })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_fit_for_an_address() {
        assert_eq!(shown_name(Path::new("/nowhere/a b?.pftrace")), "a_b_.pftrace");
        assert_eq!(shown_name(Path::new("/nowhere/…")), "_");
        assert_eq!(shown_name(Path::new("/")), "trace");
        assert_eq!(shown_name(Path::new("-")), "stdin");
    }
}
