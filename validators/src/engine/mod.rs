//! The real Trace Processor: where it is kept, how it is started, how it is asked.
//!
//! [`install`] puts the pinned package into the user's cache, [`Engine::open`] compiles its module once and loads it
//! from then on, [`Engine::import`] starts an instance and gives it a trace, and [`Session::query`] asks. Only
//! `install` ever reaches for a network. Deliberately knows nothing of checks and reports.

mod artifact;
mod embedded;
mod error;
mod imports;
mod install;
mod lock;
mod rpc;
mod session;
mod store;
mod transport;

use std::io::Read;
use std::sync::OnceLock;

use wasmtime::Module;

use embedded::Embedded;
use lock::Lock;

pub use error::EngineError;
pub use install::{InstallSource, Installed};
pub use session::{Cell, Row, Session};
pub use store::{EngineDirs, EngineStatus};

/// How wide the engine's pointers are, which decides how large a trace it can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Up to 4 GiB of memory: faster.
    Narrow,
    /// Beyond.
    Wide,
}

/// Most memory one engine may use by default, in bytes.
pub const NARROW_MEMORY: u64 = 4 << 30;
/// Most memory one wide engine may use by default, in bytes: what its module declares.
pub const WIDE_MEMORY: u64 = 16 << 30;

/// The embedded Trace Processor, ready to be started any number of times.
#[derive(Debug)]
pub struct Engine {
    dirs: EngineDirs,
    lock: Lock,
    wasm: wasmtime::Engine,
    narrow_memory: u64,
    wide_memory: u64,
    narrow: OnceLock<Module>,
    wide: OnceLock<Module>,
}

impl Engine {
    /// Finds the installed package; compiles nothing yet.
    ///
    /// # Errors
    /// The package is not installed.
    pub fn open(dirs: &EngineDirs) -> Result<Self, EngineError> {
        let lock = Lock::pinned();
        let dir = dirs.package(&lock);
        if !dir.join(&lock.package.wasm32).is_file() {
            return Err(EngineError::NotInstalled { dir, package: lock.label() });
        }
        let wasm = embedded::wasm_engine()?;
        let (narrow, wide) = (OnceLock::new(), OnceLock::new());
        let (narrow_memory, wide_memory) = (NARROW_MEMORY, WIDE_MEMORY);
        Ok(Self { dirs: dirs.clone(), lock, wasm, narrow_memory, wide_memory, narrow, wide })
    }

    /// Bounds the memory of every instance of a width that is started from now on, in bytes.
    pub fn limit_memory(&mut self, width: Width, bytes: u64) {
        match width {
            Width::Narrow => self.narrow_memory = bytes.min(NARROW_MEMORY),
            Width::Wide => self.wide_memory = bytes.min(WIDE_MEMORY),
        }
    }

    /// Package and Perfetto version.
    pub fn version(&self) -> String {
        self.lock.label()
    }

    /// Compiles the module of a width, unless that is done already: seconds once, so that no import pays for it.
    ///
    /// # Errors
    /// The module is damaged or cannot be compiled or cached.
    pub fn prepare(&self, width: Width) -> Result<(), EngineError> {
        self.module(width).map(|_| ())
    }

    /// Starts an instance and gives it a trace.
    ///
    /// # Errors
    /// The module cannot be compiled or loaded, the importer refuses the trace, or the engine breaks off.
    pub fn import(&self, width: Width, trace: impl Read) -> Result<Session, EngineError> {
        let memory = match width {
            Width::Narrow => self.narrow_memory,
            Width::Wide => self.wide_memory,
        };
        let mut session = Session::new(Box::new(Embedded::start(self.module(width)?, memory)?));
        session.import(trace)?;
        Ok(session)
    }

    fn module(&self, width: Width) -> Result<&Module, EngineError> {
        let (slot, path) = match width {
            Width::Narrow => (&self.narrow, &self.lock.package.wasm32),
            Width::Wide => (&self.wide, &self.lock.package.wasm64),
        };
        if let Some(module) = slot.get() {
            return Ok(module);
        }
        let hash = &self.lock.files[path];
        let module = artifact::load_or_compile(&self.wasm, &self.dirs.compiled, hash, || {
            store::read_pinned(&self.dirs.package(&self.lock), &self.lock, path)
        })?;
        Ok(slot.get_or_init(|| module))
    }
}

/// Puts the pinned package into the folder of packages, unless it is there and whole.
///
/// # Errors
/// pip or the archive does not give the pinned files, or they cannot be written.
pub fn install(dirs: &EngineDirs, source: &InstallSource) -> Result<Installed, EngineError> {
    install::install(dirs, &Lock::pinned(), source)
}

/// What is installed, every pinned file looked at.
pub fn status(dirs: &EngineDirs) -> EngineStatus {
    store::status(dirs, &Lock::pinned())
}
