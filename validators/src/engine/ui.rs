//! The offline UI of the engine package: files by the paths a page asks for.
//!
//! Invariant: only pinned files are given, each proved by its hash when it is read.

use std::path::PathBuf;

use super::error::EngineError;
use super::lock::Lock;
use super::store::{EngineDirs, read_pinned};

/// The UI's files.
#[derive(Debug)]
pub struct Ui {
    package: PathBuf,
    lock: Lock,
}

impl Ui {
    /// The UI of the installed package.
    ///
    /// # Errors
    /// The package is not installed, or not the pinned one.
    pub fn open(dirs: &EngineDirs) -> Result<Self, EngineError> {
        let lock = Lock::pinned();
        let package = dirs.package(&lock);
        if !package.is_dir() {
            return Err(EngineError::NotInstalled { dir: package, package: lock.label() });
        }
        Ok(Self { package, lock })
    }

    /// Whether there is a file of this path, as in `index.html`.
    pub fn holds(&self, path: &str) -> bool {
        self.lock.files.contains_key(path)
    }

    /// The content of a file.
    ///
    /// # Errors
    /// There is no such file, it cannot be read, or is not the pinned one.
    pub fn read(&self, path: &str) -> Result<Vec<u8>, EngineError> {
        if !self.holds(path) {
            let source = std::io::ErrorKind::NotFound.into();
            return Err(EngineError::Package { file: self.package.join(path), source });
        }
        read_pinned(&self.package, &self.lock, path)
    }
}
