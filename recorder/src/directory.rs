//! The run directory: which file names are ours, and when a run may be written there.
//!
//! A run goes into a new or empty directory. When replacement is asked for, only files of a run's
//! own names are removed; anything else stays.
//!
//! # Invariants
//!
//! * From before the first removal until the run is closed, the directory is claimed: another run that would
//!   replace the files, in this process or another, is refused. The claim is an advisory lock, which ends with
//!   the process however that ends. File systems without such locks are used without it.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::RecordError;

/// Name of the manifest.
pub const MANIFEST_FILE: &str = "clock-manifest.json";
/// Name of the statistics.
pub const STATS_FILE: &str = "clock-stats.json";
/// Name of the trace.
pub const TRACE_FILE: &str = "timeline.pftrace";

/// Name of the text log of domain `domain`.
pub fn text_log_name(domain: &str) -> String {
    format!("text-domain-{domain}.log")
}

/// Name of segment `number` of a trace that is cut into several files.
pub fn segment_name(number: u64) -> String {
    format!("timeline-{number:05}.pftrace")
}

/// Whether `name` is one that a run directory's files have.
pub fn is_run_file(name: &str) -> bool {
    let rotated = |name: &str| {
        name.strip_prefix("timeline-")
            .and_then(|rest| rest.strip_suffix(".pftrace"))
            .is_some_and(|digits| digits.len() >= 5 && digits.bytes().all(|b| b.is_ascii_digit()))
    };
    let text = |name: &str| name.starts_with("text-domain-") && name.ends_with(".log");
    matches!(name, MANIFEST_FILE | STATS_FILE | TRACE_FILE) || rotated(name) || text(name)
}

/// A directory that one run writes; dropping it lets other runs replace the files.
#[derive(Debug)]
pub(crate) struct Claim(Option<File>);

impl Claim {
    /// An error if `dir` is no longer what was claimed: then the files are gone with it, and what is there is another's.
    pub(crate) fn check(&self, dir: &Path) -> Result<(), RecordError> {
        #[cfg(unix)]
        if let Some(claimed) = &self.0 {
            use std::os::unix::fs::MetadataExt;
            let place = |found: fs::Metadata| (found.dev(), found.ino());
            let io = |error| RecordError::io("closing the run in", dir, error);
            // One that is gone says so when it is written to.
            let Ok(found) = fs::metadata(dir) else { return Ok(()) };
            let claimed = claimed.metadata().map_err(io)?;
            if place(found) != place(claimed) {
                let words = "the directory was replaced while the run was recorded, and its files are gone";
                return Err(io(io::Error::new(io::ErrorKind::NotFound, words)));
            }
        }
        Ok(())
    }
}

/// Makes `dir` ready for a run: creates it, or checks that it is empty, or with `force` removes
/// what an earlier run left.
///
/// # Errors
///
/// [`RecordError::DirectoryInUse`] while another run holds its [`Claim`].
pub(crate) fn prepare(dir: &Path, force: bool) -> Result<Claim, RecordError> {
    fs::create_dir_all(dir).map_err(|e| RecordError::io("creating the run directory", dir, e))?;
    let claim = claim(dir)?;
    let read = |e| RecordError::io("reading the run directory", dir, e);
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(read)? {
        names.push(entry.map_err(read)?.file_name());
    }
    names.sort();
    if let (false, Some(first)) = (force, names.first()) {
        return Err(RecordError::DirectoryNotEmpty {
            dir: dir.to_owned(),
            found: first.to_string_lossy().into_owned(),
        });
    }
    for name in names.iter().filter(|name| name.to_str().is_some_and(is_run_file)) {
        let path = dir.join(name);
        fs::remove_file(&path).map_err(|e| RecordError::io("replacing", &path, e))?;
    }
    Ok(claim)
}

fn claim(dir: &Path) -> Result<Claim, RecordError> {
    // Where a directory cannot be opened as a file, reading it says why, or it cannot be locked at all.
    let Ok(handle) = File::open(dir) else { return Ok(Claim(None)) };
    match handle.try_lock() {
        Ok(()) => Ok(Claim(Some(handle))),
        Err(TryLockError::WouldBlock) => Err(RecordError::DirectoryInUse { dir: dir.to_owned() }),
        Err(TryLockError::Error(_)) => Ok(Claim(None)),
    }
}

/// Creates `name` in `dir`; an existing file is an error, since [`prepare`] left none.
pub(crate) fn create(dir: &Path, name: impl AsRef<Path>) -> Result<(File, PathBuf), RecordError> {
    let path = dir.join(name);
    match File::options().write(true).create_new(true).open(&path) {
        Ok(file) => Ok((file, path)),
        Err(e) => Err(RecordError::io("creating", &path, e)),
    }
}

/// Writes a whole small file.
pub(crate) fn write_file(dir: &Path, name: &str, text: &str) -> Result<u64, RecordError> {
    let (mut file, path) = create(dir, name)?;
    let written: io::Result<()> = file.write_all(text.as_bytes());
    written.map_err(|e| RecordError::io("writing", &path, e))?;
    Ok(text.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_run() {
        for name in [
            "clock-manifest.json",
            "clock-stats.json",
            "timeline.pftrace",
            "timeline-00000.pftrace",
            "timeline-100000.pftrace",
            "text-domain-sm.log",
        ] {
            assert!(is_run_file(name), "{name}");
        }
        for name in
            ["timeline-0000.pftrace", "timeline-0000a.pftrace", "notes.txt", "text-domain-sm.log.gz", ""]
        {
            assert!(!is_run_file(name), "{name}");
        }
    }

    #[test]
    fn only_a_new_or_empty_directory_is_taken() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("a/b");
        drop(prepare(&dir, false).unwrap());
        drop(prepare(&dir, false).unwrap());
        fs::write(dir.join("notes.txt"), "mine").unwrap();
        fs::write(dir.join(TRACE_FILE), "old").unwrap();
        let error = prepare(&dir, false).unwrap_err();
        assert!(
            matches!(&error, RecordError::DirectoryNotEmpty { found, .. } if found == "notes.txt"),
            "{error}"
        );
        assert_eq!(fs::read(dir.join(TRACE_FILE)).unwrap(), b"old");
        prepare(&dir, true).unwrap();
        assert!(!dir.join(TRACE_FILE).exists());
        assert_eq!(fs::read(dir.join("notes.txt")).unwrap(), b"mine");
    }

    #[test]
    fn one_run_at_a_time() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path();
        let first = prepare(dir, true).unwrap();
        fs::write(dir.join(TRACE_FILE), "of the first").unwrap();
        for force in [false, true] {
            let error = prepare(dir, force).unwrap_err();
            assert!(matches!(error, RecordError::DirectoryInUse { .. }), "{error}");
        }
        assert_eq!(fs::read(dir.join(TRACE_FILE)).unwrap(), b"of the first");
        drop(first);
        drop(prepare(dir, true).unwrap());
        assert!(!dir.join(TRACE_FILE).exists());
    }

    #[test]
    fn a_file_in_place_of_the_directory_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("file");
        fs::write(&path, "x").unwrap();
        assert!(matches!(prepare(&path, true), Err(RecordError::Io { .. })));
    }
}
