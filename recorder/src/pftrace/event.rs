//! The event packet, from templates: everything but the varints is copied.
//!
//! # Invariants
//!
//! * A packet fits [`RECORD`](crate::cursor::RECORD) bytes with its tag and length, whatever the
//!   values.
//! * Fields are written in the one order that compresses best, zeros included, so that packets of
//!   one unit and kind differ in their varints alone.

use clockweave_model::EventRecord;

use crate::cursor::{Cursor, ROOM};
use crate::pftrace::checkpoint::EXTENSION_FIELD;
use crate::pftrace::interning::{self, CATEGORY_CLOCK};
use crate::pftrace::schema::{EventType, NEEDS_STATE};
use crate::pftrace::{SEQUENCE, varint};

/// The bytes from the sequence to the name, by kind: sequence, flags, event, type, category, name.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(crate) struct KindTemplate {
    bytes: [u8; 16],
    len: u8,
}

/// The bytes from the track to the tag of the first value that is the event's, by unit.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct UnitTemplate {
    bytes: [u8; 32],
    len: u8,
    /// Where in `bytes` the length of the arguments goes.
    args_length: u8,
}

/// Position of the length of the track event in a [`KindTemplate`].
const EVENT_LENGTH: u8 = 5;
/// `TrackEvent.flow_ids` (field 47, fixed64).
const FLOW_IDS: [u8; 2] = [0xf9, 0x02];

/// Runs `write` on an empty array; gives the first `N` bytes and how many were written.
fn template<const N: usize>(write: impl FnOnce(&mut Cursor<'_>)) -> ([u8; N], u8) {
    let mut room = [0; ROOM];
    let mut out = Cursor::new(&mut room);
    write(&mut out);
    let len = out.mark();
    assert!(usize::from(len) <= N, "a template fits its array");
    let mut bytes = [0; N];
    bytes.copy_from_slice(&room[..N]);
    (bytes, len)
}

impl KindTemplate {
    pub(crate) fn new(name: u64) -> Self {
        let (bytes, len) = template(|out| {
            varint::field(out, 10 << 3, SEQUENCE.into());
            varint::field(out, 13 << 3, NEEDS_STATE.into());
            varint::field(out, 11 << 3 | 2, 0);
            varint::field(out, 9 << 3, EventType::Instant as u64);
            varint::field(out, 3 << 3, CATEGORY_CLOCK);
            varint::field(out, 10 << 3, name);
        });
        Self { bytes, len }
    }
}

/// How the arguments are written.
pub(crate) trait Arguments {
    /// What precedes the first value that is not the unit's.
    fn template(track: u64, unit_id: u64) -> UnitTemplate;

    /// Whether the compressor is told where packets repeat.
    const HINTS: bool;

    /// Writes the values of `record` behind the unit's template, which begins at `start`.
    fn put(
        out: &mut Cursor<'_>,
        start: u8,
        unit: &UnitTemplate,
        record: &EventRecord,
        ordinal: u64,
    ) -> Landmarks;
}

/// Where in a packet values begin.
#[derive(Clone, Copy)]
pub(crate) struct Landmarks {
    pub(crate) ordinal: u8,
    pub(crate) transaction: u8,
}

/// Fields of the extension message, with or without hints for the compressor.
pub(crate) struct DebugFields<const HINTS: bool>;
/// Interned debug annotations.
pub(crate) struct Annotations;

/// Tag of `TrackEvent.track_uuid`.
const TRACK: u8 = 11 << 3;

impl<const HINTS: bool> Arguments for DebugFields<HINTS> {
    const HINTS: bool = HINTS;

    fn template(track: u64, unit_id: u64) -> UnitTemplate {
        let mut args_length = 0;
        let (bytes, len) = template(|out| {
            varint::field(out, TRACK, track);
            varint::put(out, (EXTENSION_FIELD as u64) << 3 | 2);
            args_length = out.mark();
            out.byte(0);
            varint::field(out, 1 << 3, unit_id);
            out.byte(2 << 3);
        });
        UnitTemplate { bytes, len, args_length }
    }

    #[inline]
    fn put(
        out: &mut Cursor<'_>,
        start: u8,
        unit: &UnitTemplate,
        record: &EventRecord,
        ordinal: u64,
    ) -> Landmarks {
        varint::put(out, record.fifo.into());
        out.byte(3 << 3);
        out.byte(record.phase as u8);
        varint::field(out, 4 << 3, record.value);
        let ordinal_at = out.mark() + 1;
        let transaction_at;
        if (ordinal | record.cycle | record.transaction) < varint::WORD_END {
            varint::word_field(out, 5 << 3, ordinal);
            varint::word_field(out, 6 << 3, record.cycle);
            transaction_at = out.mark() + 1;
            varint::word_field(out, 7 << 3, record.transaction);
        } else {
            varint::field(out, 5 << 3, ordinal);
            varint::field(out, 6 << 3, record.cycle);
            transaction_at = out.mark() + 1;
            varint::field(out, 7 << 3, record.transaction);
        }
        let length = start + unit.args_length;
        out.set(length, out.mark() - length - 1);
        Landmarks { ordinal: ordinal_at, transaction: transaction_at }
    }
}

/// Writes one `TrackEvent.debug_annotations` with a name and a `uint_value`; gives where the value
/// begins.
#[inline]
fn annotation(out: &mut Cursor<'_>, name: u8, value: u64) -> u8 {
    out.byte(4 << 3 | 2);
    let length = out.mark();
    out.copy(&[0, 1 << 3, name, 3 << 3], 4);
    let at = out.mark();
    varint::put(out, value);
    out.set(length, out.mark() - length - 1);
    at
}

impl Arguments for Annotations {
    const HINTS: bool = true;

    fn template(track: u64, unit_id: u64) -> UnitTemplate {
        let (bytes, len) = template(|out| {
            varint::field(out, TRACK, track);
            annotation(out, interning::UNIT_ID, unit_id);
        });
        UnitTemplate { bytes, len, args_length: 0 }
    }

    #[inline]
    fn put(out: &mut Cursor<'_>, _: u8, _: &UnitTemplate, record: &EventRecord, ordinal: u64) -> Landmarks {
        annotation(out, interning::FIFO_ID, record.fifo.into());
        annotation(out, interning::PHASE, record.phase as u64);
        annotation(out, interning::VALUE, record.value);
        let ordinal = annotation(out, interning::ORDINAL, ordinal);
        annotation(out, interning::LOCAL_CYCLE, record.cycle);
        let transaction = annotation(out, interning::TRANSACTION_ID, record.transaction);
        Landmarks { ordinal, transaction }
    }
}

/// Writes one entry of `Trace.packet`; gives its size and landmarks.
#[inline]
pub(crate) fn put<A: Arguments>(
    room: &mut [u8; ROOM],
    delta: u64,
    kind: &KindTemplate,
    unit: &UnitTemplate,
    record: &EventRecord,
    ordinal: u64,
) -> (usize, Landmarks) {
    let mut out = Cursor::new(room);
    out.copy(&[1 << 3 | 2, 0, 8 << 3], 3);
    varint::put(&mut out, delta);
    let event_length = out.mark() + EVENT_LENGTH;
    out.copy(&kind.bytes, kind.len);
    let start = out.mark();
    out.copy(&unit.bytes, unit.len);
    let mut marks = A::put(&mut out, start, unit, record, ordinal);
    // Written in any case; kept where there is a transaction.
    let kept = u8::from(record.transaction != 0);
    out.copy(&FLOW_IDS, 2 * kept);
    out.word(record.transaction, 8 * kept);
    out.set(event_length, out.mark() - event_length - 1);
    let length = out.mark() - 2;
    if length < 0x80 {
        out.set(1, length);
    } else {
        // Only annotations with nearly all values wide get here: the length needs a second byte.
        out.shift(2);
        out.set(1, length | 0x80);
        out.set(2, length >> 7);
        marks = Landmarks { ordinal: marks.ordinal + 1, transaction: marks.transaction + 1 };
    }
    (out.at(), marks)
}
