//! Perfetto traces read for what they say: packets with their wrappers opened, names resolved.
//!
//! Built on [`clockweave_validators::scan`], which decides what is whole. Invariants: one pass, memory
//! of one packet and the names in force; nothing after the first damage is looked at. Deliberately
//! does not run the importer.

mod input;
mod names;
mod run;
mod walk;

pub use input::FileCodec;
pub(crate) use input::{FileDamage, decoded, peek};
pub(crate) use names::{Names, fields};
pub(crate) use run::TraceRun;
pub use run::TraceRunError;
pub(crate) use walk::{Place, Visitor, WalkError, walk};
