//! Where engine packages lie and whether what lies there is what was pinned.
//!
//! The folder of packages is `CLOCKWEAVE_ENGINE_DIR`, or `clockweave/engine` in the user's cache. A package folder
//! appears whole or not at all. Deliberately never fetches anything: that is `install`.

use std::env;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::error::EngineError;
use super::install::MAX_MEMBER;
use super::lock::{Lock, sha256};
use crate::regular::open_regular;

/// Where the engine's files are kept.
#[derive(Clone, Debug)]
pub struct EngineDirs {
    /// Unpacked packages.
    pub packages: PathBuf,
    /// Compiled modules; only the user may be able to write here.
    pub compiled: PathBuf,
}

impl EngineDirs {
    /// The folders the environment names: `CLOCKWEAVE_ENGINE_DIR` and `CLOCKWEAVE_COMPILED_DIR`, each with a default
    /// below the user's cache.
    ///
    /// # Errors
    /// Neither a variable nor a home says where.
    pub fn from_env() -> Result<Self, EngineError> {
        let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = named("XDG_CACHE_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| named("HOME").map(|home| home.join(".cache")))
            .map(|cache| cache.join("clockweave"));
        let folder = |variable: &str, name: &str| {
            named(variable)
                .or_else(|| cache.as_ref().map(|cache| cache.join(name)))
                .ok_or(EngineError::NoCacheFolder)
        };
        Ok(Self {
            packages: folder("CLOCKWEAVE_ENGINE_DIR", "engine")?,
            compiled: folder("CLOCKWEAVE_COMPILED_DIR", "compiled")?,
        })
    }

    pub(crate) fn package(&self, lock: &Lock) -> PathBuf {
        self.packages.join(lock.folder())
    }
}

/// What [`status`](super::status) found of the embedded engine.
#[derive(Clone, Debug, Serialize)]
pub struct EngineStatus {
    /// Package, version and the Perfetto release in it.
    pub package: String,
    /// The package's folder, there or not.
    pub dir: PathBuf,
    /// Whether every pinned file is there and is the pinned one.
    pub usable: bool,
    /// The folder the offline UI is served from.
    pub ui: PathBuf,
    /// What is wrong, if anything, one sentence each.
    pub problems: Vec<String>,
    /// Folder of compiled modules.
    pub compiled: PathBuf,
}

/// What [`native_status`](super::native_status) found of a native engine.
#[derive(Clone, Debug, Serialize)]
pub struct NativeStatus {
    /// The program.
    pub program: PathBuf,
    /// Whether it runs and speaks Trace Processor's stream protocol.
    pub usable: bool,
    /// Its version in its own words, if it tells one.
    pub version: Option<String>,
    /// What is wrong, if anything.
    pub problem: Option<String>,
}

/// Looks at every pinned file of the package.
pub(crate) fn status(dirs: &EngineDirs, lock: &Lock) -> EngineStatus {
    let dir = dirs.package(lock);
    let problems: Vec<String> = if dir.is_dir() {
        lock.files
            .keys()
            .filter_map(|path| read_pinned(&dir, lock, path).err())
            .map(|e| e.to_string())
            .collect()
    } else {
        vec![EngineError::NotInstalled { dir: dir.clone(), package: lock.label() }.to_string()]
    };
    EngineStatus {
        package: lock.label(),
        usable: problems.is_empty(),
        ui: dir.join(&lock.package.ui),
        problems,
        compiled: dirs.compiled.clone(),
        dir,
    }
}

/// A pinned file's content, proved to be the pinned one.
pub(crate) fn read_pinned(package: &Path, lock: &Lock, path: &str) -> Result<Vec<u8>, EngineError> {
    let file = package.join(path);
    let mut bytes = Vec::new();
    let read = open_regular(&file).and_then(|opened| opened.take(MAX_MEMBER + 1).read_to_end(&mut bytes));
    if let Err(source) = read {
        return Err(EngineError::Package { file, source });
    }
    let (found, expected) = (sha256(&bytes), &lock.files[path]);
    if found != *expected {
        return Err(EngineError::HashMismatch { file, found, expected: expected.clone() });
    }
    Ok(bytes)
}
