//! What can be wrong with an engine, told so that the reader knows which command mends it.

use std::io;
use std::path::{Path, PathBuf};

/// An engine that is missing, damaged or broke off. Never a statement about a trace's content.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// No engine package where one is looked for.
    #[error("found no Trace Processor in {}, expected the unpacked package {package}; run `clockweave engine install`", .dir.display())]
    NotInstalled {
        /// Where it was looked for.
        dir: PathBuf,
        /// Name and version expected.
        package: String,
    },
    /// A file of the package is not the pinned one.
    #[error("{}: found sha256 {found}, expected {expected}; run `clockweave engine install` again", .file.display())]
    HashMismatch {
        /// The file.
        file: PathBuf,
        /// Its hash.
        found: String,
        /// The pinned hash.
        expected: String,
    },
    /// The package lacks a file or holds one of impossible size.
    #[error("{}: found no usable {member} ({detail}), expected the package {package}", .archive.display())]
    BadArchive {
        /// The wheel.
        archive: PathBuf,
        /// The member looked for.
        member: String,
        /// What was wrong.
        detail: String,
        /// Name and version expected.
        package: String,
    },
    /// pip could not be run or did not deliver.
    #[error(
        "pip gave no engine package ({detail}); check the network and that `{command}` works, or give a downloaded wheel with `clockweave engine install --from FILE`"
    )]
    Download {
        /// The command that was run.
        command: String,
        /// How it ended.
        detail: String,
    },
    /// A folder that must be the user's alone is not.
    #[error("{}: found {found}, expected a folder that only its owner, you, can write; run `chmod 700` on it or name another with CLOCKWEAVE_COMPILED_DIR", .dir.display())]
    NotPrivate {
        /// The folder or file.
        dir: PathBuf,
        /// Its owner or mode.
        found: String,
    },
    /// No folder to keep anything in.
    #[error(
        "found neither CLOCKWEAVE_ENGINE_DIR nor XDG_CACHE_HOME nor HOME, expected one of them to say where the engine is kept"
    )]
    NoCacheFolder,
    /// A file of the package could not be read.
    #[error("{}: {source}; run `clockweave engine install` again", .file.display())]
    Package {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The compiled module could not be kept.
    #[error(
        "{}: {source}; the compiled engine is kept there: make room, or name another folder with CLOCKWEAVE_COMPILED_DIR",
        .path.display()
    )]
    Cache {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The engine module has an import, export or reply that this version does not know.
    #[error(
        "the Trace Processor is not the one this version drives: {detail}; run `clockweave engine status`"
    )]
    Incompatible {
        /// What was found and expected.
        detail: String,
    },
    /// The engine trapped or aborted.
    #[error("the Trace Processor broke off: {detail}")]
    Aborted {
        /// The trap and what the engine printed last.
        detail: String,
    },
    /// The engine gave no whole answer in time.
    #[error(
        "the Trace Processor gave no whole answer within {seconds} s and was given up; allow more time with --engine-timeout, or validate a shorter trace"
    )]
    Silent {
        /// How long it was waited for.
        seconds: u64,
    },
    /// The chosen native Trace Processor could not be started.
    #[error(
        "{}: {source}; --trace-processor and CLOCKWEAVE_TRACE_PROCESSOR name a trace_processor_shell, without them the embedded engine is used",
        .program.display()
    )]
    NotStarted {
        /// The program.
        program: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The engine asked for more memory than it may have.
    #[error(
        "the Trace Processor needs more than its {limit} bytes of memory; validate a shorter trace or rotate segments"
    )]
    OutOfMemory {
        /// The limit in force.
        limit: u64,
    },
    /// The importer refused the trace as a whole.
    #[error("the importer refused the trace: {message}")]
    Import {
        /// The engine's own words.
        message: String,
    },
    /// A query failed.
    #[error("query {name} failed: {message}")]
    Query {
        /// The check the query belongs to.
        name: String,
        /// The engine's own words.
        message: String,
    },
    /// A reply does not have the shape a query must have.
    #[error("query {name} gave {found}, expected {expected}")]
    Shape {
        /// The check the query belongs to.
        name: String,
        /// What came.
        found: String,
        /// What was expected.
        expected: String,
    },
}

impl EngineError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn cache(path: &Path, source: io::Error) -> Self {
        Self::Cache { path: path.to_owned(), source }
    }
}
