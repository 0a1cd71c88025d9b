//! What can go wrong while a run is declared or recorded.
//!
//! Errors of a started recorder are sticky: the first one is kept and every later call returns it,
//! so each of them can be cloned.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clockweave_model::{DomainError, TimeError};

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
    /// Another run writes into the run directory.
    #[error(
        "{dir} is being written by another run; give another directory, or wait until that run has ended"
    )]
    DirectoryInUse {
        /// The directory.
        dir: PathBuf,
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
    /// A machine that does not fit the run.
    #[error(
        "the machine of unit `{unit}` does not fit: expected one machine of a unit with a stream, and threads whose \
         job and CPUs are among its own"
    )]
    BadMachine {
        /// The unit.
        unit: String,
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
        "the bucket of nanosecond {ns} needs more than {budget} open records; raise open_records to at least {needed}"
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
    /// An event before what its stream, or the coordinator, had promised.
    #[error(
        "unit `{unit}`: an event at local cycle {cycle} came after the promise that none would be before {promised}; \
         promise less, or record before promising"
    )]
    Late {
        /// Unit name.
        unit: String,
        /// Cycle of the event.
        cycle: u64,
        /// Least cycle that is still accepted.
        promised: u64,
    },
    /// An event that was recorded while a watermark passed it.
    #[error(
        "unit `{unit}`: the event at local cycle {cycle} was recorded while the watermark passed it; advance only when \
         every earlier event was recorded"
    )]
    Overtaken {
        /// Unit name.
        unit: String,
        /// Cycle of the event.
        cycle: u64,
    },
    /// A stream that had ended.
    #[error("unit `{unit}`: local cycle {cycle} came after the stream had ended")]
    Finished {
        /// Unit name.
        unit: String,
        /// Cycle of the event or promise.
        cycle: u64,
    },
    /// A promise below an earlier one.
    #[error("unit `{unit}`: progress went from local cycle {promised} back to {cycle}; promises do not fall")]
    PromiseFell {
        /// Unit name.
        unit: String,
        /// The cycle promised.
        cycle: u64,
        /// The cycle promised before.
        promised: u64,
    },
    /// A watermark below an earlier one.
    #[error("the watermark went from {last} ns back to {ns} ns; watermarks do not fall")]
    WatermarkFell {
        /// The watermark given.
        ns: i64,
        /// The one before.
        last: i64,
    },
    /// A promise of a stream that a coordinator speaks for.
    #[error("unit `{unit}`: the streams of this run are coordinated; the recorder advances, not a stream")]
    Coordinated {
        /// Unit name.
        unit: String,
    },
    /// A watermark for streams that promise themselves.
    #[error("the streams of this run are independent; each advances by itself, not the recorder")]
    NotCoordinated,
    /// A coordinated run holds as many records as it may, and a producer waits for room.
    #[error(
        "all {budget} open records are taken from nanosecond {ns} on, and a producer waits for room; advance the \
         watermark at shorter distances, or raise open_records"
    )]
    OpenBudget {
        /// Display nanosecond of the earliest of them.
        ns: i64,
        /// The budget.
        budget: usize,
    },
    /// Rings that are too large altogether.
    #[error(
        "{streams} rings of {records} records, with the open records, take {needed} bytes, more than {budget}; lower \
         ring_capacity or open_records"
    )]
    RingBudget {
        /// Streams of the run.
        streams: usize,
        /// Records per ring.
        records: usize,
        /// Bytes needed.
        needed: usize,
        /// The most there may be.
        budget: usize,
    },
    /// The recorder was closed before a stream had ended.
    #[error(
        "unit `{unit}`: the recorder was closed before this stream had ended; {lost} events recorded at that time are \
         lost"
    )]
    ClosedEarly {
        /// Unit name.
        unit: String,
        /// Events that were accepted and are in no output.
        lost: u64,
    },
    /// A time that cannot be represented.
    #[error(transparent)]
    Time(#[from] TimeError),
    /// The thread that orders events ended without an answer.
    #[error("the ordering thread panicked; the trace is valid up to its last complete packet")]
    BackendLost,
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
