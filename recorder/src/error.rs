//! What can go wrong while a run is declared or recorded.
//!
//! Errors of a started recorder are sticky: the first one is kept and every later call returns it,
//! so each of them can be cloned.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clockweave_model::DomainError;

/// Why a run could not be declared, recorded or closed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The run directory holds something already.
    #[error(
        "{dir} is not empty: it holds `{found}`; give a new or empty directory, or ask to replace the files \
         of the run in it"
    )]
    DirectoryNotEmpty {
        /// The directory.
        dir: PathBuf,
        /// The first name found in it.
        found: String,
    },
    /// The operating system refused.
    #[error("{action} {path}: {source}")]
    Io {
        /// What was attempted.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// The system's answer.
        source: Arc<io::Error>,
    },
    /// A name that is not printable ASCII, empty or too long.
    #[error("`{name}` is no {what}: expected 1 to 128 printable ASCII characters")]
    BadName {
        /// What it should name.
        what: &'static str,
        /// The name given, cut to 64 characters.
        name: String,
    },
    /// A clock domain that contradicts another.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// A unit in a domain that was not declared.
    #[error(
        "unit `{unit}` is in clock domain {domain}, which was not declared; declare domains before units"
    )]
    UnknownDomain {
        /// Unit name.
        unit: String,
        /// Domain id.
        domain: u32,
    },
    /// Two units with one id or one name, or id 0.
    #[error("unit `{unit}` (id {id}): unit ids are unique and above 0, unit names are unique")]
    DuplicateUnit {
        /// Unit name.
        unit: String,
        /// Unit id.
        id: u64,
    },
    /// A second producer of a unit with the order of another, or order 0.
    #[error("unit `{unit}`: producer order {order} is taken; orders of one unit are unique and not 0")]
    DuplicateProducer {
        /// Unit name.
        unit: String,
        /// Producer order.
        order: u64,
    },
    /// A stream that this recorder did not hand out.
    #[error("stream {stream} was not handed out by this recorder")]
    UnknownStream {
        /// The stream's number.
        stream: u32,
    },
    /// An option outside its range.
    #[error("{option} is {found}; expected {expected}")]
    BadOption {
        /// Name of the option.
        option: &'static str,
        /// The value given.
        found: u64,
        /// What is accepted.
        expected: &'static str,
    },
    /// Names and tracks do not fit their budget.
    #[error(
        "the names of units, kinds and tracks take {needed} bytes, more than the metadata budget of {budget}; \
         raise metadata_bytes"
    )]
    MetadataBudget {
        /// Bytes needed.
        needed: usize,
        /// The budget.
        budget: usize,
    },
    /// One nanosecond has more records than the open-bucket budget.
    #[error(
        "the bucket of nanosecond {ns} needs more than {budget} open records; raise open_records above {needed}"
    )]
    BucketBudget {
        /// Display nanosecond of the bucket.
        ns: i64,
        /// Records needed so far.
        needed: usize,
        /// The budget.
        budget: usize,
    },
    /// An instant before one that was already submitted.
    #[error(
        "an instant at {ns} ns was submitted after one at {last} ns; instants are submitted in exact order"
    )]
    InstantRegressed {
        /// Display nanosecond submitted.
        ns: i64,
        /// Display nanosecond of the last instant.
        last: i64,
    },
    /// An event at an earlier local cycle than the unit's last.
    #[error(
        "unit `{unit}`: an event at local cycle {cycle} came after one at {last}; cycles do not decrease"
    )]
    CycleRegressed {
        /// Unit name.
        unit: String,
        /// Cycle of the event.
        cycle: u64,
        /// Cycle of the unit's event before.
        last: u64,
    },
    /// An event of a kind that was not declared.
    #[error("unit `{unit}`: event kind {kind} was not declared")]
    UnknownKind {
        /// Unit name.
        unit: String,
        /// Kind number.
        kind: u16,
    },
    /// The recorder was closed.
    #[error("the recorder is closed; nothing can be recorded any more")]
    Closed,
    /// The thread that compresses and writes ended without an answer.
    #[error("the writing thread panicked; the trace is valid up to its last complete packet")]
    WriterLost,
}

impl RecordError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source: Arc::new(source) }
    }

    pub(crate) fn bad_name(what: &'static str, name: &str) -> Self {
        Self::BadName { what, name: name.chars().take(64).collect() }
    }
}
