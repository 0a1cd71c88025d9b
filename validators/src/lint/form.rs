//! The form of the messages that structure depends on: tags and lengths that can be, and values of their fields' own type.
//!
//! Field numbers and types as in Perfetto's `trace_packet.proto`, `track_event.proto`, `debug_annotation.proto`,
//! `interned_data.proto`, `track_descriptor.proto` and `clock_snapshot.proto`. A field that is not listed may have any
//! value; extensions are not descended into, as only their descriptors know what they hold.

use std::fmt;

use crate::scan::{FieldError, Fields, Packet, Value};

/// How the value of a field is written.
#[derive(Clone, Copy)]
enum Form {
    Varint,
    /// Repeated: one by one, or packed.
    Varints,
    Fixed64,
    /// Repeated: one by one, or packed.
    Fixed64s,
    Bytes,
    Of(&'static Message),
}

/// A message: its fields by number, the frequent ones first.
struct Message(&'static [(u32, Form)]);

static EVENT: Message = Message(&[
    (9, Form::Varint),
    (10, Form::Varint),
    (11, Form::Varint),
    (3, Form::Varints),
    (47, Form::Fixed64s),
    (48, Form::Fixed64s),
    (4, Form::Of(&ANNOTATION)),
    (22, Form::Bytes),
    (23, Form::Bytes),
    (30, Form::Varint),
    (34, Form::Varint),
    (44, Form::Fixed64),
]);

static ANNOTATION: Message = Message(&[
    (1, Form::Varint),
    (2, Form::Varint),
    (3, Form::Varint),
    (4, Form::Varint),
    (5, Form::Fixed64),
    (6, Form::Bytes),
    (7, Form::Varint),
    (9, Form::Bytes),
    (10, Form::Bytes),
    (11, Form::Of(&ANNOTATION)),
    (12, Form::Of(&ANNOTATION)),
    (17, Form::Varint),
]);

static ENTRY: Message = Message(&[(1, Form::Varint), (2, Form::Bytes)]);

static INTERNED: Message = Message(&[
    (1, Form::Of(&ENTRY)),
    (2, Form::Of(&ENTRY)),
    (3, Form::Of(&ENTRY)),
    (4, Form::Of(&ENTRY)),
    (29, Form::Of(&ENTRY)),
]);

static TRACK: Message = Message(&[
    (1, Form::Varint),
    (2, Form::Bytes),
    (3, Form::Of(&ANY)),
    (4, Form::Of(&ANY)),
    (5, Form::Varint),
    (8, Form::Of(&ANY)),
    (9, Form::Varint),
    (10, Form::Bytes),
    (11, Form::Varint),
    (12, Form::Varint),
    (15, Form::Varint),
]);

static CLOCK: Message =
    Message(&[(1, Form::Varint), (2, Form::Varint), (3, Form::Varint), (4, Form::Varint)]);

static SNAPSHOT: Message = Message(&[(1, Form::Of(&CLOCK)), (2, Form::Varint)]);

static DEFAULTS: Message = Message(&[(58, Form::Varint), (11, Form::Of(&EVENT))]);

static ANY: Message = Message(&[]);

/// How deep annotations may nest before the rest is left alone.
const DEEPEST: u32 = 32;

/// What is wrong with a message.
pub(super) struct Malformed {
    what: &'static str,
    at: usize,
    fault: Fault,
}

enum Fault {
    Wire(FieldError),
    Value { number: u32, found: &'static str, expected: &'static str },
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, at) = (self.what, self.at);
        match &self.fault {
            Fault::Wire(error) => write!(f, "{what}, byte {}: {}", at + error.at, error.fault),
            Fault::Value { number, found, expected } => {
                write!(f, "{what}, byte {at}: found field {number} as {found}, expected {expected}")
            }
        }
    }
}

/// The first fault of a packet's messages.
pub(super) fn fault(packet: &Packet<'_>) -> Option<Malformed> {
    let all: [(_, _, &Message); 6] = [
        ("track event", packet.track_event, &EVENT),
        ("interned data", packet.interned_data, &INTERNED),
        ("track descriptor", packet.track_descriptor, &TRACK),
        ("clock snapshot", packet.clock_snapshot, &SNAPSHOT),
        ("packet defaults", packet.defaults, &DEFAULTS),
        ("extension descriptor", packet.extension_descriptor, &ANY),
    ];
    all.into_iter().find_map(|(what, bytes, message)| {
        let (at, fault) = message.fault(bytes?, 0, DEEPEST)?;
        Some(Malformed { what, at, fault })
    })
}

impl Message {
    /// The first fault, with the place of the message that has it, or of the field for a value; `at` is where this one is.
    fn fault(&self, bytes: &[u8], at: usize, depth: u32) -> Option<(usize, Fault)> {
        let mut fields = Fields::new(bytes);
        loop {
            let field = match fields.step() {
                Ok(field) => field?,
                Err(error) => return Some((at, Fault::Wire(error))),
            };
            let known = self.0.iter().find(|(number, _)| *number == field.number);
            let Some((number, form)) = known else { continue };
            let expected = match (form, field.value) {
                (Form::Of(nested), Value::Bytes(content)) => {
                    let inner = at + fields.position() - content.len();
                    let next = depth.checked_sub(1);
                    match next.and_then(|depth| nested.fault(content, inner, depth)) {
                        Some(found) => return Some(found),
                        None => continue,
                    }
                }
                (Form::Varint | Form::Varints, Value::Varint(_))
                | (Form::Fixed64 | Form::Fixed64s, Value::Fixed64(_))
                | (Form::Bytes | Form::Varints | Form::Fixed64s, Value::Bytes(_)) => continue,
                (Form::Varint | Form::Varints, _) => "a varint",
                (Form::Fixed64 | Form::Fixed64s, _) => "64 bits",
                (Form::Bytes, _) => "bytes",
                (Form::Of(_), _) => "a message",
            };
            let found = match field.value {
                Value::Varint(_) => "a varint",
                Value::Fixed64(_) => "64 bits",
                Value::Bytes(_) => "bytes",
                Value::Fixed32(_) => "32 bits",
            };
            return Some((at + field.at, Fault::Value { number: *number, found, expected }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_event(event: &[u8]) -> Option<String> {
        fault(&Packet { track_event: Some(event), ..Packet::default() }).map(|fault| fault.to_string())
    }

    #[test]
    fn values_of_their_own_type_are_no_fault() {
        // type 3, name_iid 1, flow_ids one by one and packed, category_iids packed, an unknown field 200 of 32 bits.
        let event = [
            0x48, 3, 0x50, 1, 0xf9, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0xfa, 2, 8, 2, 0, 0, 0, 0, 0, 0, 0, 0x1a, 1,
            1, 0xc5, 0x0c, 0, 0, 0, 0,
        ];
        assert_eq!(of_event(&event), None);
        assert_eq!(of_event(&[]), None);
    }

    #[test]
    fn impossible_tags_and_other_types_are_found_where_they_are() {
        for (event, words) in [
            // Field 47 as a varint, after which zeros are left.
            (
                &[0x48, 3, 0xf8, 2, 1, 0, 0][..],
                "track event, byte 2: found field 47 as a varint, expected 64 bits",
            ),
            (&[0x48, 3, 0x00, 0], "track event, byte 2: found field number 0"),
            (&[0x48, 3, 0x50], "track event, byte 3: found the end of the data inside a varint"),
            (&[0x4a, 1, 3], "track event, byte 0: found field 9 as bytes, expected a varint"),
            // An annotation: name_iid, then a string that is longer than its message.
            (
                &[0x48, 3, 0x22, 4, 0x08, 1, 0x32, 9],
                "track event, byte 8: found 0 bytes left for field 6, expected 9",
            ),
            (&[0x22, 3, 0x5a, 1, 0x08], "track event, byte 5: found the end"),
            (&[0x20, 1], "track event, byte 0: found field 4 as a varint, expected a message"),
        ] {
            let found = of_event(event).unwrap();
            assert!(found.starts_with(words), "{found}");
        }
    }

    #[test]
    fn annotations_of_any_depth_are_no_stack_overflow() {
        let mut nested = vec![0x08, 1];
        for _ in 0..20_000 {
            let mut outer = vec![0x5a];
            let mut length = nested.len();
            while length >= 0x80 {
                outer.push(length as u8 | 0x80);
                length >>= 7;
            }
            outer.push(length as u8);
            outer.extend(nested);
            nested = outer;
        }
        let mut event = vec![0x22];
        let mut length = nested.len();
        while length >= 0x80 {
            event.push(length as u8 | 0x80);
            length >>= 7;
        }
        event.push(length as u8);
        event.extend(nested);
        assert_eq!(of_event(&event), None);
    }
}
