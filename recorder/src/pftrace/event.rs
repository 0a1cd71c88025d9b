//! The event packet, from templates: everything but the varints is copied.
//!
//! # Invariants
//!
//! * A packet is at most [`SLOT`] bytes with its tag and length, whatever the values.
//! * Fields are written in the one order that compresses best, zeros included, so that packets of
//!   one unit and kind differ in their varints alone.

use clockweave_model::EventRecord;

use crate::pftrace::checkpoint::EXTENSION_FIELD;
use crate::pftrace::interning::{self, CATEGORY_CLOCK};
use crate::pftrace::schema::{EventType, NEEDS_STATE};
use crate::pftrace::{SEQUENCE, varint};

/// Room for one packet and for what is copied beyond its end.
pub(crate) const SLOT: usize = 256;

/// The bytes up to the name, by kind: sequence, flags, event, type, category, name.
#[derive(Clone, Copy)]
pub(crate) struct KindTemplate {
    bytes: [u8; 16],
    len: u8,
}

/// Bytes from the track to the first value, by unit.
#[derive(Clone, Copy)]
pub(crate) struct UnitTemplate {
    bytes: [u8; 32],
    len: u8,
    /// Where in `bytes` the length of the arguments goes.
    args_length: u8,
}

/// Position of the length of the track event in a [`KindTemplate`].
const EVENT_LENGTH: usize = 5;
/// `TrackEvent.flow_ids` (field 47, fixed64).
const FLOW_IDS: [u8; 2] = [0xf9, 0x02];

impl KindTemplate {
    pub(crate) fn new(name: u64) -> Self {
        let mut bytes = [0; 16];
        let head = [
            10 << 3,
            SEQUENCE as u8,
            13 << 3,
            NEEDS_STATE as u8,
            11 << 3 | 2,
            0,
            9 << 3,
            EventType::Instant as u8,
            3 << 3,
            CATEGORY_CLOCK as u8,
            10 << 3,
        ];
        let at = varint::put_tag(&mut bytes, 0, &head);
        let len = varint::put(&mut bytes, at, name) as u8;
        Self { bytes, len }
    }
}

/// How the arguments are written.
pub(crate) trait Arguments {
    /// What precedes the first value that is not the unit's.
    fn template(track: u64, unit_id: u64) -> UnitTemplate;

    /// Writes the values of `record` at `at`, the unit's template having been written at `unit`.
    fn put(out: &mut [u8; SLOT], unit: (usize, &UnitTemplate), record: &EventRecord, ordinal: u64) -> usize;
}

/// Fields of the extension message.
pub(crate) struct DebugFields;
/// Interned debug annotations.
pub(crate) struct Annotations;

fn track(bytes: &mut [u8; 32], uuid: u64) -> usize {
    varint::field(bytes, 0, 11 << 3, uuid)
}

impl Arguments for DebugFields {
    fn template(uuid: u64, unit_id: u64) -> UnitTemplate {
        let mut bytes = [0; 32];
        let at = track(&mut bytes, uuid);
        let at = varint::put(&mut bytes, at, (EXTENSION_FIELD as u64) << 3 | 2);
        let args_length = at;
        let at = varint::put_tag(&mut bytes, at, &[0, 1 << 3]);
        let at = varint::put(&mut bytes, at, unit_id);
        let at = varint::put_tag(&mut bytes, at, &[2 << 3]);
        UnitTemplate { bytes, len: at as u8, args_length: args_length as u8 }
    }

    #[inline]
    fn put(
        out: &mut [u8; SLOT],
        (start, unit): (usize, &UnitTemplate),
        record: &EventRecord,
        ordinal: u64,
    ) -> usize {
        let at = varint::put(out, start + usize::from(unit.len), record.fifo.into());
        let at = varint::put_tag(out, at, &[3 << 3, record.phase as u8]);
        let at = varint::field(out, at, 4 << 3, record.value);
        let at = varint::field(out, at, 5 << 3, ordinal);
        let at = varint::field(out, at, 6 << 3, record.cycle);
        let at = varint::field(out, at, 7 << 3, record.transaction);
        let length = start + usize::from(unit.args_length);
        out[length] = (at - length - 1) as u8;
        at
    }
}

fn put_annotation(out: &mut [u8; SLOT], at: usize, name: u8, value: u64) -> usize {
    let length = at + 1;
    let at = varint::put_tag(out, at, &[4 << 3 | 2, 0, 1 << 3, name, 3 << 3]);
    let at = varint::put(out, at, value);
    out[length] = (at - length - 1) as u8;
    at
}

impl Arguments for Annotations {
    fn template(uuid: u64, unit_id: u64) -> UnitTemplate {
        let mut bytes = [0; 32];
        let at = track(&mut bytes, uuid);
        let mut wide = [0; SLOT];
        let length = put_annotation(&mut wide, 0, interning::UNIT_ID, unit_id);
        bytes[at..at + length].copy_from_slice(&wide[..length]);
        UnitTemplate { bytes, len: (at + length) as u8, args_length: 0 }
    }

    #[inline]
    fn put(
        out: &mut [u8; SLOT],
        (start, unit): (usize, &UnitTemplate),
        record: &EventRecord,
        ordinal: u64,
    ) -> usize {
        let values = [
            (interning::FIFO_ID, record.fifo.into()),
            (interning::PHASE, record.phase as u64),
            (interning::VALUE, record.value),
            (interning::ORDINAL, ordinal),
            (interning::LOCAL_CYCLE, record.cycle),
            (interning::TRANSACTION_ID, record.transaction),
        ];
        values
            .into_iter()
            .fold(start + usize::from(unit.len), |at, (name, value)| put_annotation(out, at, name, value))
    }
}

/// Writes one entry of `Trace.packet`; gives its size.
#[inline]
pub(crate) fn put<A: Arguments>(
    out: &mut [u8; SLOT],
    delta: u64,
    kind: &KindTemplate,
    unit: &UnitTemplate,
    record: &EventRecord,
    ordinal: u64,
) -> usize {
    let at = varint::put_tag(out, 0, &[1 << 3 | 2, 0, 8 << 3]);
    let at = varint::put(out, at, delta);
    varint::put_tag(out, at, &kind.bytes);
    let event_length = at + EVENT_LENGTH;
    let at = at + usize::from(kind.len);
    varint::put_tag(out, at, &unit.bytes);
    let at = A::put(out, (at, unit), record, ordinal);
    let flow = varint::put_tag(out, at, &FLOW_IDS);
    varint::put_tag(out, flow, &record.transaction.to_le_bytes());
    // Written in any case; kept only where there is a transaction.
    let at = at + usize::from(record.transaction != 0) * (FLOW_IDS.len() + 8);
    out[event_length] = (at - event_length - 1) as u8;
    let length = at - 2;
    if length < 0x80 {
        out[1] = length as u8;
        return at;
    }
    // Only annotations with nearly all values wide get here: the length needs a second byte.
    out.copy_within(2..at, 3);
    varint::put(out, 1, length as u64);
    at + 1
}
