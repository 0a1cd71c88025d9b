//! Reading per-domain text logs: lines, their columns, and what a manifest allows them to say.
//!
//! Invariants: a log is read in one buffer of bounded size; a line is either accepted as a whole or
//! refused with file, line and reason; order is checked per unit against its last accepted line.
//! Deliberately knows nothing of time, of other logs, or of what is done with the events.

mod catalog;
mod fault;
mod lines;
mod reader;
mod record;
mod selection;
mod source;

pub use catalog::Catalog;
pub(crate) use catalog::Unit;
pub(crate) use fault::excerpt;
pub use fault::{Fault, LineError};
pub(crate) use lines::{Lines, Step};
pub use reader::TornLine;
pub(crate) use reader::{Checks, Entry, LineSource, LogReader, Next, ReadError};
pub(crate) use record::{Fields, GAP, parse_gap};
pub(crate) use selection::Selection;
pub use source::{FileLog, LogSource, MemoryLog};
