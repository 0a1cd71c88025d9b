//! The real Trace Processor: where it is kept, how it is started, how it is asked.
//!
//! [`install`] puts the pinned package into the user's cache, [`Engine::open`] compiles its module once and loads it
//! from then on, [`Engine::import`] starts an instance and gives it a trace, and [`Session::query`] asks.
//! [`Engine::native`] runs a program of the user's in place of the embedded module. Only `install` ever reaches for a
//! network. Deliberately knows nothing of checks and reports.

mod artifact;
mod embedded;
mod error;
mod imports;
mod install;
mod lock;
mod native;
mod rpc;
mod session;
mod store;
mod transport;
mod ui;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use wasmtime::Module;

use embedded::Embedded;
use lock::Lock;
use native::Native;
use transport::{Reply, Transport};

use crate::printable::printable;

pub use error::EngineError;
pub use install::{InstallSource, Installed};
pub use session::{Cell, Row, Session};
pub use store::{EngineDirs, EngineStatus, NativeStatus};
pub use ui::Ui;

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

/// How long the whole answer to one request is waited for by default.
pub const TIME_LIMIT: Duration = Duration::from_secs(600);
/// Bytes of the request stream that [`Engine::serve`] passes on at once.
const PASSED_ON: usize = 1 << 20;

/// A Trace Processor, ready to be started any number of times, from any thread.
#[derive(Debug)]
pub struct Engine {
    kind: Kind,
    version: String,
    narrow_memory: u64,
    wide_memory: u64,
    time_limit: Duration,
    /// Engines that have done a small trace and can take another.
    spare: Mutex<Vec<Session>>,
    starts: AtomicU64,
}

#[derive(Debug)]
enum Kind {
    /// A module in this process.
    Embedded(Box<Modules>),
    /// A program in processes of its own.
    Native(PathBuf),
}

/// The package's modules, compiled when they are first needed.
#[derive(Debug)]
struct Modules {
    dirs: EngineDirs,
    lock: Lock,
    wasm: wasmtime::Engine,
    narrow: OnceLock<Module>,
    wide: OnceLock<Module>,
}

impl Engine {
    fn new(kind: Kind, version: String) -> Self {
        let (narrow_memory, wide_memory, time_limit) = (NARROW_MEMORY, WIDE_MEMORY, TIME_LIMIT);
        let (spare, starts) = (Mutex::default(), AtomicU64::new(0));
        Self { kind, version, narrow_memory, wide_memory, time_limit, spare, starts }
    }

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
        let version = lock.label();
        let (narrow, wide) = (OnceLock::new(), OnceLock::new());
        let modules = Modules { dirs: dirs.clone(), lock, wasm, narrow, wide };
        Ok(Self::new(Kind::Embedded(Box::new(modules)), version))
    }

    /// Takes a `trace_processor_shell` of the user's, and asks it for its version. `time_limit` is how long a silent
    /// process is waited for.
    ///
    /// # Errors
    /// It cannot be started, or does not speak Trace Processor's stream protocol.
    pub fn native(program: &Path, time_limit: Duration) -> Result<Self, EngineError> {
        Self::ask_native(program, time_limit).map(|(engine, _)| engine)
    }

    /// The engine, and the version that the program tells.
    fn ask_native(program: &Path, time_limit: Duration) -> Result<(Self, Option<String>), EngineError> {
        let mut engine = Self::new(Kind::Native(program.to_owned()), String::new());
        engine.time_limit = time_limit;
        let mut session = engine.start(Width::Narrow)?;
        let version = session.version()?.map(|version| printable(&version));
        let told = version.as_deref().unwrap_or("of unknown version");
        engine.version = format!("{} ({told})", printable(&program.display().to_string()));
        engine.recycle(session);
        Ok((engine, version))
    }

    /// Bounds the memory of every embedded instance of a width that is started from now on, in bytes.
    pub fn limit_memory(&mut self, width: Width, bytes: u64) {
        match width {
            Width::Narrow => self.narrow_memory = bytes.min(NARROW_MEMORY),
            Width::Wide => self.wide_memory = bytes.min(WIDE_MEMORY),
        }
    }

    /// Bounds how long the whole answer to one request of an engine started from now on may take.
    pub fn limit_time(&mut self, limit: Duration) {
        self.time_limit = limit;
    }

    /// What is run: package and Perfetto version, or program and the version it tells.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// How many instances or processes were started.
    pub fn starts(&self) -> u64 {
        self.starts.load(Ordering::Relaxed)
    }

    /// Compiles the module of a width, unless that is done already: seconds once, so that no import pays for it.
    ///
    /// # Errors
    /// The module is damaged or cannot be compiled or cached.
    pub fn prepare(&self, width: Width) -> Result<(), EngineError> {
        match &self.kind {
            Kind::Embedded(modules) => modules.module(width).map(|_| ()),
            Kind::Native(_) => Ok(()),
        }
    }

    /// Gives a trace to an instance: one that was [recycled](Self::recycle) if there is one, else a new one.
    ///
    /// # Errors
    /// The module cannot be compiled or loaded, the importer refuses the trace, or the engine breaks off.
    pub fn import(&self, width: Width, trace: impl Read) -> Result<Session, EngineError> {
        let spare = match width {
            Width::Narrow => self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop(),
            Width::Wide => None,
        };
        let mut session = match spare {
            Some(session) => session,
            None => self.start(width)?,
        };
        session.import(trace)?;
        Ok(session)
    }

    /// Takes back a narrow session for the next import, which begins as if in a new one. An instance's memory never
    /// shrinks: one that has held a large trace is better dropped.
    pub fn recycle(&self, session: Session) {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(session);
    }

    fn start(&self, width: Width) -> Result<Session, EngineError> {
        self.starts.fetch_add(1, Ordering::Relaxed);
        let transport: Box<dyn Transport> = match &self.kind {
            Kind::Embedded(modules) => Box::new(self.embedded(modules, width)?),
            Kind::Native(program) => Box::new(Native::start(program)?),
        };
        Ok(Session::new(transport, self.time_limit))
    }

    fn embedded(&self, modules: &Modules, width: Width) -> Result<Embedded, EngineError> {
        let memory = match width {
            Width::Narrow => self.narrow_memory,
            Width::Wide => self.wide_memory,
        };
        Embedded::start(modules.module(width)?, memory)
    }

    /// Speaks Trace Processor's stream protocol with one embedded instance, as a shell in its `--stdiod` mode does,
    /// until the requests end.
    ///
    /// # Errors
    /// The engine is a native one, it breaks off, or one of the streams does.
    pub fn serve(&self, mut requests: impl Read, mut replies: impl Write) -> Result<(), EngineError> {
        let Kind::Embedded(modules) = &self.kind else {
            let detail = "a native engine speaks the protocol by itself".to_owned();
            return Err(EngineError::Incompatible { detail });
        };
        let io = |path: &str| {
            let path = PathBuf::from(path);
            move |source| EngineError::Io { path: path.clone(), source }
        };
        let mut transport = self.embedded(modules, Width::Narrow)?;
        let mut buffer = vec![0; PASSED_ON];
        let mut sent = 0;
        loop {
            let count = requests.read(&mut buffer).map_err(io("stdin"))?;
            if count == 0 {
                return Ok(());
            }
            transport.send(buffer[..count].to_vec())?;
            sent += 1;
            loop {
                match transport.receive(self.time_limit)? {
                    Reply::Bytes(piece) => replies.write_all(&piece).map_err(io("stdout"))?,
                    Reply::Served(served) if served == sent => break,
                    Reply::Served(_) => {}
                }
            }
            replies.flush().map_err(io("stdout"))?;
        }
    }
}

impl Modules {
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

/// Starts a program named as a native Trace Processor and asks it for its version, which it may take `time_limit` for.
pub fn native_status(program: &Path, time_limit: Duration) -> NativeStatus {
    let asked = Engine::ask_native(program, time_limit);
    NativeStatus {
        program: std::path::absolute(program).unwrap_or_else(|_| program.to_owned()),
        usable: asked.is_ok(),
        problem: asked.as_ref().err().map(ToString::to_string),
        version: asked.ok().and_then(|(_, version)| version),
    }
}

/// What is installed, every pinned file looked at.
pub fn status(dirs: &EngineDirs) -> EngineStatus {
    store::status(dirs, &Lock::pinned())
}
