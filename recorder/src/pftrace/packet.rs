//! A track event packet field by field, where templates do not reach.
//!
//! Fields come in the order of the event templates, so that packets of both kinds compress alike.
//! Buffers are used again: nothing is allocated once they have grown.

use prost::encoding::encode_varint;

use crate::pftrace::checkpoint::EXTENSION_FIELD;
use crate::pftrace::interning::FIRST_ARGUMENT;
use crate::pftrace::schema::{EventType, NEEDS_STATE};
use crate::pftrace::{ArgsEncoding, SEQUENCE};

/// One track event in the making.
pub(crate) struct EventPacket {
    args: ArgsEncoding,
    entry: Vec<u8>,
    event: Vec<u8>,
    arguments: Vec<u8>,
}

/// Appends a field that is a number.
#[inline]
pub(crate) fn field(out: &mut Vec<u8>, number: u32, value: u64) {
    encode_varint((number << 3).into(), out);
    encode_varint(value, out);
}

/// Appends a field that has a length.
#[inline]
pub(crate) fn bytes(out: &mut Vec<u8>, number: u32, content: &[u8]) {
    encode_varint((number << 3 | 2).into(), out);
    encode_varint(content.len() as u64, out);
    out.extend_from_slice(content);
}

/// Appends a field of eight bytes.
#[inline]
pub(crate) fn fixed64(out: &mut Vec<u8>, number: u32, value: u64) {
    encode_varint((number << 3 | 1).into(), out);
    out.extend_from_slice(&value.to_le_bytes());
}

impl EventPacket {
    pub(crate) fn new(args: ArgsEncoding) -> Self {
        Self { args, entry: Vec::new(), event: Vec::new(), arguments: Vec::new() }
    }

    /// Begins an event on `track`; `category` and `name` are ids, 0 for none.
    pub(crate) fn begin(&mut self, kind: EventType, category: u64, name: u64, track: u64) {
        self.event.clear();
        self.arguments.clear();
        field(&mut self.event, 9, kind as u64);
        if category != 0 {
            field(&mut self.event, 3, category);
        }
        if name != 0 {
            field(&mut self.event, 10, name);
        }
        field(&mut self.event, 11, track);
    }

    /// Adds an argument by its field number in the extension.
    pub(crate) fn uint(&mut self, argument: u32, value: u64) {
        self.argument(argument, |out, number| field(out, number, value), 3);
    }

    /// Adds an argument that is a text.
    pub(crate) fn text(&mut self, argument: u32, value: &str) {
        self.argument(argument, |out, number| bytes(out, number, value.as_bytes()), 6);
    }

    /// `annotated` is the field of `DebugAnnotation` that holds such a value.
    fn argument(&mut self, argument: u32, write: impl FnOnce(&mut Vec<u8>, u32), annotated: u32) {
        match self.args {
            ArgsEncoding::Debug => write(&mut self.arguments, argument),
            ArgsEncoding::Annotations => {
                self.arguments.clear();
                field(&mut self.arguments, 1, FIRST_ARGUMENT - 1 + u64::from(argument));
                write(&mut self.arguments, annotated);
                bytes(&mut self.event, 4, &self.arguments);
            }
        }
    }

    /// Sets the value of a counter sample. Values that a signed integer cannot hold are written as
    /// the nearest floating point number, which is what importers keep of any.
    pub(crate) fn counter(&mut self, value: u64) {
        if value <= i64::MAX.unsigned_abs() {
            field(&mut self.event, 30, value);
        } else {
            fixed64(&mut self.event, 44, (value as f64).to_bits());
        }
    }

    /// The entry of `Trace.packet`, `delta` nanoseconds after the packet before; `flow` is 0 for
    /// none.
    pub(crate) fn finish(&mut self, delta: u64, flow: u64) -> &[u8] {
        if self.args == ArgsEncoding::Debug && !self.arguments.is_empty() {
            bytes(&mut self.event, EXTENSION_FIELD.unsigned_abs(), &self.arguments);
        }
        if flow != 0 {
            fixed64(&mut self.event, 47, flow);
        }
        self.arguments.clear();
        let packet = &mut self.arguments;
        field(packet, 8, delta);
        field(packet, 10, SEQUENCE.into());
        field(packet, 13, NEEDS_STATE.into());
        bytes(packet, 11, &self.event);
        self.entry.clear();
        bytes(&mut self.entry, 1, packet);
        &self.entry
    }
}
