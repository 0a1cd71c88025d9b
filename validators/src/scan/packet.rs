//! The fields of a `TracePacket` that structure depends on, read without copying.
//!
//! Invariants: a packet is walked once and completely, so a fault anywhere among its own fields is found; nested
//! messages are only delimited. Deliberately does not interpret events, clocks or interned data.

use super::wire::{FieldError, Fields, Value, varint};

/// `sequence_flags` bit: the sequence's incremental state starts anew with this packet.
pub const SEQ_INCREMENTAL_STATE_CLEARED: u32 = 1;
/// `sequence_flags` bit: the packet means nothing without the incremental state before it.
pub const SEQ_NEEDS_INCREMENTAL_STATE: u32 = 2;

/// Perfetto's own 16 bytes that mark places where a damaged trace can be picked up again.
pub const SYNC_MARKER: [u8; 16] =
    [0x82, 0x47, 0x7a, 0x76, 0xb2, 0x8d, 0x42, 0xba, 0x81, 0xdc, 0x33, 0x32, 0x6d, 0x57, 0xa0, 0x79];

/// Field numbers of `TracePacket` that the scanner reads.
pub mod field {
    /// `clock_snapshot`
    pub const CLOCK_SNAPSHOT: u32 = 6;
    /// `timestamp`
    pub const TIMESTAMP: u32 = 8;
    /// `trusted_packet_sequence_id`
    pub const SEQUENCE_ID: u32 = 10;
    /// `track_event`
    pub const TRACK_EVENT: u32 = 11;
    /// `interned_data`
    pub const INTERNED_DATA: u32 = 12;
    /// `sequence_flags`
    pub const SEQUENCE_FLAGS: u32 = 13;
    /// `trace_stats`
    pub const TRACE_STATS: u32 = 35;
    /// `synchronization_marker`
    pub const SYNC_MARKER: u32 = 36;
    /// `incremental_state_cleared`, superseded by a bit of `sequence_flags`
    pub const INCREMENTAL_STATE_CLEARED: u32 = 41;
    /// `previous_packet_dropped`
    pub const PREVIOUS_PACKET_DROPPED: u32 = 42;
    /// `compressed_packets`: one zlib stream of further entries
    pub const COMPRESSED_PACKETS: u32 = 50;
    /// `timestamp_clock_id`
    pub const TIMESTAMP_CLOCK_ID: u32 = 58;
    /// `trace_packet_defaults`
    pub const TRACE_PACKET_DEFAULTS: u32 = 59;
    /// `track_descriptor`
    pub const TRACK_DESCRIPTOR: u32 = 60;
    /// `extension_descriptor`
    pub const EXTENSION_DESCRIPTOR: u32 = 72;
    /// `first_packet_on_sequence`
    pub const FIRST_PACKET_ON_SEQUENCE: u32 = 87;
    /// `zstd_compressed_packets`: one zstd frame of further entries
    pub const ZSTD_COMPRESSED_PACKETS: u32 = 133;
}

/// How a wrapper's content is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Codec {
    /// Field 50: a zlib stream.
    Deflate,
    /// Field 133: a zstd frame.
    Zstd,
}

/// A packet of nothing but an event and what places it: almost every packet of a trace, read several times faster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct EventPacket<'a> {
    pub(crate) timestamp: Option<u64>,
    pub(crate) sequence_id: Option<u32>,
    pub(crate) sequence_flags: u32,
    pub(crate) track_event: Option<&'a [u8]>,
}

impl<'a> EventPacket<'a> {
    /// Reads a packet that has no other field and no fault; anything else is for [`Packet::parse`].
    #[inline]
    pub(crate) fn parse(payload: &'a [u8]) -> Option<Self> {
        const TIMESTAMP: u8 = (field::TIMESTAMP << 3) as u8;
        const SEQUENCE_ID: u8 = (field::SEQUENCE_ID << 3) as u8;
        const SEQUENCE_FLAGS: u8 = (field::SEQUENCE_FLAGS << 3) as u8;
        const TRACK_EVENT: u8 = (field::TRACK_EVENT << 3 | 2) as u8;

        let mut packet = Self::default();
        let mut at = 0;
        while let Some(tag) = payload.get(at) {
            let (value, end) = varint(payload, at + 1).ok()?;
            at = end;
            match *tag {
                TIMESTAMP => packet.timestamp = Some(value),
                SEQUENCE_ID => packet.sequence_id = Some(value as u32),
                SEQUENCE_FLAGS => packet.sequence_flags |= value as u32,
                TRACK_EVENT => {
                    let event = payload.get(end..)?.get(..usize::try_from(value).ok()?)?;
                    packet.track_event = Some(event);
                    at += event.len();
                }
                _ => return None,
            }
        }
        Some(packet)
    }
}

impl<'a> From<EventPacket<'a>> for Packet<'a> {
    fn from(event: EventPacket<'a>) -> Self {
        let EventPacket { timestamp, sequence_id, sequence_flags, track_event } = event;
        Self { timestamp, sequence_id, sequence_flags, track_event, ..Self::default() }
    }
}

/// The fields of one packet that structure depends on. A repeated scalar keeps its last value, as protobuf says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Packet<'a> {
    /// Raw timestamp on the packet's clock.
    pub timestamp: Option<u64>,
    /// The clock of `timestamp` where the packet names one.
    pub timestamp_clock_id: Option<u32>,
    /// `trusted_packet_sequence_id`
    pub sequence_id: Option<u32>,
    /// `sequence_flags`, with the superseded `incremental_state_cleared` folded in.
    pub sequence_flags: u32,
    /// The producer lost packets before this one.
    pub previous_packet_dropped: bool,
    /// The producer says nothing came before this packet.
    pub first_packet_on_sequence: bool,
    /// Whether Perfetto's 16 synchronization bytes are here.
    pub sync_marker: bool,
    /// `track_event`
    pub track_event: Option<&'a [u8]>,
    /// `track_descriptor`
    pub track_descriptor: Option<&'a [u8]>,
    /// `clock_snapshot`
    pub clock_snapshot: Option<&'a [u8]>,
    /// `interned_data`
    pub interned_data: Option<&'a [u8]>,
    /// `trace_packet_defaults`
    pub defaults: Option<&'a [u8]>,
    /// `extension_descriptor`
    pub extension_descriptor: Option<&'a [u8]>,
    /// `trace_stats`
    pub trace_stats: Option<&'a [u8]>,
    /// Compressed entries.
    pub wrapper: Option<(Codec, &'a [u8])>,
}

impl<'a> Packet<'a> {
    /// Walks a packet's payload.
    #[inline]
    pub fn parse(payload: &'a [u8]) -> Result<Self, FieldError> {
        let mut packet = Self::default();
        let mut fields = Fields::new(payload);
        while let Some(item) = fields.step()? {
            match (item.number, item.value) {
                (field::TIMESTAMP, Value::Varint(v)) => packet.timestamp = Some(v),
                (field::SEQUENCE_ID, Value::Varint(v)) => packet.sequence_id = Some(v as u32),
                (field::SEQUENCE_FLAGS, Value::Varint(v)) => packet.sequence_flags |= v as u32,
                (field::TRACK_EVENT, Value::Bytes(b)) => packet.track_event = Some(b),
                (number, value) => packet.set_rare(number, value),
            }
        }
        Ok(packet)
    }

    fn set_rare(&mut self, number: u32, value: Value<'a>) {
        match (number, value) {
            (field::TIMESTAMP_CLOCK_ID, Value::Varint(v)) => self.timestamp_clock_id = Some(v as u32),
            (field::INCREMENTAL_STATE_CLEARED, Value::Varint(v)) if v != 0 => {
                self.sequence_flags |= SEQ_INCREMENTAL_STATE_CLEARED;
            }
            (field::PREVIOUS_PACKET_DROPPED, Value::Varint(v)) => self.previous_packet_dropped = v != 0,
            (field::FIRST_PACKET_ON_SEQUENCE, Value::Varint(v)) => self.first_packet_on_sequence = v != 0,
            (field::SYNC_MARKER, Value::Bytes(b)) => self.sync_marker = b == SYNC_MARKER,
            (field::TRACK_DESCRIPTOR, Value::Bytes(b)) => self.track_descriptor = Some(b),
            (field::CLOCK_SNAPSHOT, Value::Bytes(b)) => self.clock_snapshot = Some(b),
            (field::INTERNED_DATA, Value::Bytes(b)) => self.interned_data = Some(b),
            (field::TRACE_PACKET_DEFAULTS, Value::Bytes(b)) => self.defaults = Some(b),
            (field::EXTENSION_DESCRIPTOR, Value::Bytes(b)) => self.extension_descriptor = Some(b),
            (field::TRACE_STATS, Value::Bytes(b)) => self.trace_stats = Some(b),
            (field::COMPRESSED_PACKETS, Value::Bytes(b)) => self.wrapper = Some((Codec::Deflate, b)),
            (field::ZSTD_COMPRESSED_PACKETS, Value::Bytes(b)) => self.wrapper = Some((Codec::Zstd, b)),
            _ => {}
        }
    }

    /// Whether the sequence's incremental state starts anew with this packet.
    pub fn clears_incremental_state(&self) -> bool {
        self.sequence_flags & SEQ_INCREMENTAL_STATE_CLEARED != 0
    }

    /// Whether the packet depends on incremental state before it.
    pub fn needs_incremental_state(&self) -> bool {
        self.sequence_flags & SEQ_NEEDS_INCREMENTAL_STATE != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_reading_of_event_packets_is_the_full_one() {
        let sample = include_bytes!("../../../trace-fixtures/good/layout-sample.pftrace");
        let mut inflater = crate::scan::Inflater::default();
        let (mut fast, mut slow) = (0, 0);
        let mut compare = |payload: &[u8]| match EventPacket::parse(payload) {
            Some(event) => {
                assert_eq!(Packet::parse(payload), Ok(event.into()));
                fast += 1;
            }
            None => slow += 1,
        };
        for entry in crate::scan::Entries::new(sample).map(Result::unwrap) {
            compare(entry.payload);
            // Every cut and every changed byte of a small packet, too.
            let Some((codec, stream)) = Packet::parse(entry.payload).unwrap().wrapper else { continue };
            let content = inflater.inflate(codec, stream).unwrap();
            for inner in crate::scan::Entries::new(content).map(Result::unwrap) {
                compare(inner.payload);
            }
            let event = crate::scan::Entries::new(content).map(Result::unwrap).last().unwrap().payload;
            for at in 0..event.len() {
                compare(&event[..at]);
                for byte in 0..=255 {
                    let mut changed = event.to_vec();
                    changed[at] = byte;
                    compare(&changed);
                }
            }
        }
        assert!(fast > 3_000 && slow > 18, "{fast} fast, {slow} slow");
    }
}
