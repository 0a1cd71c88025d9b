//! The Perfetto trace: `timeline.pftrace`.
//!
//! One packet sequence holds everything. A file opens with the descriptor of our argument fields,
//! then tracks, then a state packet (names, clocks), then events; a *checkpoint* repeats all of
//! that, so that reading can resume there. Packets are gathered in blocks of at most
//! [`BLOCK_LIMIT`] bytes; with compression a block becomes one packet of its own.
//!
//! Where a block or a checkpoint ends is decided by the packets alone.

mod checkpoint;
mod compression;
mod deflate;
mod event;
mod framing;
mod full;
mod instant;
mod interning;
mod packet;
mod sched;
mod scheduled;
pub(crate) mod schema;
mod sink;
mod tracks;
mod varint;

pub use compression::{Compression, UnknownCompression};

pub(crate) use checkpoint::{
    CLOCK_TRACE_FILE, Preamble, RunFacts, clock_snapshot, first_state, marker_packet, track_packet,
};
pub(crate) use compression::Wrapper;
pub(crate) use deflate::Hint;
pub(crate) use event::{Annotations, Arguments, DebugFields};
pub(crate) use framing::{BLOCK_BYTES as TRACE_BLOCK_BYTES, Blocks, Cadence, Framing};
pub(crate) use full::FullSink;
pub(crate) use interning::kind_names;
pub(crate) use packet::{bytes, field, fixed64};
pub(crate) use sched::{SchedPlan, Scheduling};
pub(crate) use scheduled::{Events, ScheduledSink};
pub(crate) use sink::TraceSink;
pub(crate) use tracks::{TrackPlan, Uuids};

/// How an event carries its values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArgsEncoding {
    /// As fields of an extension of the track event, which the trace describes itself: half the
    /// bytes of annotations, and `debug.unit_id`, … all the same in SQL and in the UI.
    #[default]
    Debug,
    /// As interned debug annotations, for readers of raw packets.
    Annotations,
}

impl ArgsEncoding {
    /// The name in the manifest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Annotations => "annotations",
        }
    }
}

/// What a trace shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum View {
    /// Every event, nothing derived.
    #[default]
    Events,
    /// Also each event's exact time, the occupancy of each FIFO, a slice per transaction, spans and
    /// counters of units.
    Full,
}

impl View {
    /// The name in the manifest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Full => "full",
        }
    }

    /// The arguments of its events, with their types.
    fn arguments(self) -> &'static [(&'static str, i32)] {
        match self {
            Self::Events => &checkpoint::ARGUMENTS[..7],
            Self::Full => &checkpoint::ARGUMENTS,
        }
    }
}

/// The sequence every packet is on.
pub(crate) const SEQUENCE: u32 = 2;
/// Most bytes of packets, tags and lengths included, in one block.
pub(crate) const BLOCK_LIMIT: usize = 262_144;
/// No event packet is smaller: sequence, flags, type, category, name, track, seven arguments.
pub(crate) const SMALLEST_EVENT: usize = 32;
/// Events after which a checkpoint is due at the latest, whatever the number of units.
pub(crate) const CHECKPOINT_EVENTS: u64 = 65_536;
/// The same per unit.
pub(crate) const CHECKPOINT_EVENTS_PER_UNIT: u64 = 64;
/// Bytes that a name takes in packets beside its own.
pub(crate) const METADATA_PER_NAME: usize = 48;
