//! One event as an entry of `Trace.packet`. Buffers are used again: nothing is allocated once they have grown.

use crate::encoder::event::Kind;
use crate::encoder::names::{Names, Table};
use crate::encoder::{Event, Level, TraceError, Value};
use crate::pftrace::schema::{EventType, NEEDS_STATE};
use crate::pftrace::{CLOCK_TRACE_FILE, SEQUENCE, bytes, field, fixed64};

/// When a packet is.
#[derive(Clone, Copy)]
pub(super) enum Time {
    /// Nanoseconds after the packet before.
    Delta(u64),
    /// A time before the packet before: on the trace's own clock, which leaves the other one alone.
    Absolute(u64),
}

#[derive(Default)]
pub(super) struct PacketBuffers {
    entry: Vec<u8>,
    packet: Vec<u8>,
    event: Vec<u8>,
    annotation: Vec<u8>,
}

impl PacketBuffers {
    /// Encodes `event`; its size and bytes are [`PacketBuffers::entry`].
    pub(super) fn encode(
        &mut self,
        event: &Event<'_>,
        time: Time,
        track: u64,
        names: &mut Names,
    ) -> Result<(), TraceError> {
        let out = &mut self.event;
        out.clear();
        let kind = match event.kind {
            Kind::Instant => EventType::Instant,
            Kind::Begin => EventType::SliceBegin,
            Kind::End => EventType::SliceEnd,
            Kind::Counter(_) => EventType::Counter,
        };
        field(out, 9, kind as u64);
        if let Some(category) = event.category {
            field(out, 3, names.id(category, Table::Categories)?);
        }
        if let Some(name) = event.name {
            field(out, 10, names.id(name, Table::Events)?);
        }
        field(out, 11, track);
        for (name, value) in event.args {
            let name = names.id(*name, Table::Annotations)?;
            annotate(&mut self.annotation, name, *value, names)?;
            bytes(out, 4, &self.annotation);
        }
        match event.kind {
            Kind::Counter(Level::Int(value)) => field(out, 30, value.cast_unsigned()),
            Kind::Counter(Level::Double(value)) => fixed64(out, 44, value.to_bits()),
            _ => {}
        }
        event.flows.iter().for_each(|flow| fixed64(out, 47, *flow));
        event.last_flows.iter().for_each(|flow| fixed64(out, 48, *flow));
        self.frame(time, names.data());
        Ok(())
    }

    fn frame(&mut self, time: Time, interned: &[u8]) {
        let packet = &mut self.packet;
        packet.clear();
        match time {
            Time::Delta(delta) => field(packet, 8, delta),
            Time::Absolute(ns) => {
                field(packet, 8, ns);
                field(packet, 58, CLOCK_TRACE_FILE.into());
            }
        }
        field(packet, 10, SEQUENCE.into());
        field(packet, 13, NEEDS_STATE.into());
        if !interned.is_empty() {
            bytes(packet, 12, interned);
        }
        bytes(packet, 11, &self.event);
        self.entry.clear();
        bytes(&mut self.entry, 1, packet);
    }

    /// The last event that was encoded, tag and length included.
    pub(super) fn entry(&self) -> &[u8] {
        &self.entry
    }
}

/// Writes a `DebugAnnotation` to `out`.
fn annotate(out: &mut Vec<u8>, name: u64, value: Value<'_>, names: &mut Names) -> Result<(), TraceError> {
    out.clear();
    field(out, 1, name);
    match value {
        Value::Bool(value) => field(out, 2, value.into()),
        Value::Uint(value) => field(out, 3, value),
        Value::Int(value) => field(out, 4, value.cast_unsigned()),
        Value::Double(value) => fixed64(out, 5, value.to_bits()),
        Value::Pointer(value) => field(out, 7, value),
        Value::Text(text) => bytes(out, 6, text.as_bytes()),
        Value::Name(text) => field(out, 17, names.id(text, Table::Texts)?),
    }
    Ok(())
}
