//! The packet scanner: the structure of a trace from its bytes alone, safe on any input.
//!
//! [`Entries`] and [`EntryReader`] cut a byte source into top-level packets, [`Packet`] and [`Fields`] read their
//! fields, [`Inflater`] opens wrappers, and [`prefix`] decides how much of a damaged trace still stands. What
//! recovery, inspection and the structural checks share lives here. Deliberately needs no engine and no manifest, and
//! knows nothing of files compressed as a whole.

mod clock;
mod deflated;
mod entry;
mod packet;
mod prefix;
mod wire;
mod wrapper;

pub(crate) use clock::SequenceClocks;
pub use deflated::Deflated;
pub use entry::{Entries, Entry, EntryError, EntryFault, EntryReader, PACKET_TAG, ReadError};
pub(crate) use packet::EventPacket;
pub use packet::{
    Codec, Packet, SEQ_INCREMENTAL_STATE_CLEARED, SEQ_NEEDS_INCREMENTAL_STATE, SYNC_MARKER, field,
};
pub use prefix::{
    Cut, CutReason, MOST_TOLD_APART, PrefixOptions, PrefixReport, PrefixScanner, SequenceSummary, SliceTrack,
    prefix, prefix_of_reader,
};
pub use wire::{Field, FieldError, Fields, MAX_LENGTH, Value, WireFault, varint};
pub use wrapper::{DEFAULT_MAX_INFLATED, InflateFault, Inflater};
