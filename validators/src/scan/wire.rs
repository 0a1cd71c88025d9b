//! Protobuf wire format, as far as a scanner of untrusted bytes needs it.
//!
//! Invariants: nothing here allocates, nothing panics on any input, and every error carries the position of the
//! byte that caused it. Deliberately knows no message type and no field meaning.

use serde::Serialize;

/// The largest payload a length-delimited field may claim: protobuf messages end below 2 GiB.
pub const MAX_LENGTH: u64 = (1 << 31) - 1;

/// What is wrong with a piece of wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum WireFault {
    /// The data ends inside a varint.
    #[error("found the end of the data inside a varint, expected its last byte (below 0x80)")]
    TornVarint,
    /// A varint of more than ten bytes or more than 64 bits.
    #[error("found a varint of more than 64 bits, expected at most ten bytes")]
    LongVarint,
    /// Field number 0 or above 2^29 - 1.
    #[error("found field number {number}, expected 1..=536870911")]
    FieldNumber {
        /// The number found.
        number: u64,
    },
    /// A wire type that trace packets never use (groups) or that does not exist.
    #[error("found wire type {wire_type} of field {number}, expected 0, 1, 2 or 5")]
    WireType {
        /// The field it was found on.
        number: u32,
        /// The wire type found.
        wire_type: u8,
    },
    /// A length or a fixed-size value that passes the end of the enclosing message.
    #[error("found {have} bytes left for field {number}, expected {need}")]
    Overrun {
        /// The field.
        number: u32,
        /// Bytes claimed.
        need: u64,
        /// Bytes there.
        have: u64,
    },
}

/// A [`WireFault`] and where it is, counted from the start of the bytes that were walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at byte {at}: {fault}")]
pub struct FieldError {
    /// Offset of the offending byte.
    pub at: usize,
    /// What is wrong there.
    pub fault: WireFault,
}

/// One field's value, borrowed from the packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Wire type 0.
    Varint(u64),
    /// Wire type 1.
    Fixed64(u64),
    /// Wire type 2.
    Bytes(&'a [u8]),
    /// Wire type 5.
    Fixed32(u32),
}

/// One field of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field<'a> {
    /// Field number, 1..=2^29 - 1.
    pub number: u32,
    /// Offset of the field's tag from the start of the message.
    pub at: usize,
    /// The value.
    pub value: Value<'a>,
}

impl<'a> Field<'a> {
    /// The value of a varint field.
    pub fn varint(&self) -> Option<u64> {
        match self.value {
            Value::Varint(value) => Some(value),
            _ => None,
        }
    }

    /// The content of a length-delimited field.
    pub fn bytes(&self) -> Option<&'a [u8]> {
        match self.value {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// Reads a varint at `at`; gives the value and the position after it.
#[inline]
pub fn varint(bytes: &[u8], at: usize) -> Result<(u64, usize), WireFault> {
    match bytes.get(at) {
        Some(&byte) if byte < 0x80 => Ok((u64::from(byte), at + 1)),
        Some(&byte) => long_varint(bytes, at + 1, u64::from(byte & 0x7f)),
        None => Err(WireFault::TornVarint),
    }
}

fn long_varint(bytes: &[u8], from: usize, low: u64) -> Result<(u64, usize), WireFault> {
    let mut value = low;
    let mut shift = 7;
    for (index, &byte) in bytes[from..].iter().take(9).enumerate() {
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && byte > 1 {
            return Err(WireFault::LongVarint);
        }
        value |= bits << shift;
        if byte < 0x80 {
            return Ok((value, from + index + 1));
        }
        shift += 7;
    }
    Err(if bytes.len() - from >= 9 { WireFault::LongVarint } else { WireFault::TornVarint })
}

/// Iterates over the fields of one message; ends after the first error.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    /// Walks `bytes` as one message.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Where the next field begins.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next field, or what makes it impossible.
    #[inline]
    pub fn step(&mut self) -> Result<Option<Field<'a>>, FieldError> {
        let at = self.at;
        if at >= self.bytes.len() {
            return Ok(None);
        }
        let (tag, after_tag) = varint(self.bytes, at).map_err(|fault| FieldError { at, fault })?;
        let number = tag >> 3;
        if number == 0 || number > 0x1fff_ffff {
            return Err(FieldError { at, fault: WireFault::FieldNumber { number } });
        }
        let number = number as u32;
        let (value, end) = match tag & 7 {
            0 => {
                let (value, end) =
                    varint(self.bytes, after_tag).map_err(|fault| FieldError { at: after_tag, fault })?;
                (Value::Varint(value), end)
            }
            2 => {
                let (length, start) =
                    varint(self.bytes, after_tag).map_err(|fault| FieldError { at: after_tag, fault })?;
                let content = self.content(number, start, length)?;
                (Value::Bytes(content), start + content.len())
            }
            1 => {
                let raw = self.content(number, after_tag, 8)?;
                (Value::Fixed64(raw.iter().rev().fold(0, |v, &b| v << 8 | u64::from(b))), after_tag + 8)
            }
            5 => {
                let raw = self.content(number, after_tag, 4)?;
                (Value::Fixed32(raw.iter().rev().fold(0, |v, &b| v << 8 | u32::from(b))), after_tag + 4)
            }
            wire_type => {
                let fault = WireFault::WireType { number, wire_type: wire_type as u8 };
                return Err(FieldError { at, fault });
            }
        };
        self.at = end;
        Ok(Some(Field { number, at, value }))
    }

    #[inline]
    fn content(&self, number: u32, start: usize, length: u64) -> Result<&'a [u8], FieldError> {
        let rest = &self.bytes[start..];
        match usize::try_from(length).ok().and_then(|length| rest.get(..length)) {
            Some(content) => Ok(content),
            None => {
                let fault = WireFault::Overrun { number, need: length, have: rest.len() as u64 };
                Err(FieldError { at: start, fault })
            }
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, FieldError>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            self.at = self.bytes.len();
        }
        step.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_of_every_length_and_their_limits() {
        assert_eq!(varint(&[0x00], 0), Ok((0, 1)));
        assert_eq!(varint(&[0xac, 0x02], 0), Ok((300, 2)));
        let max = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(varint(&max, 0), Ok((u64::MAX, 10)));
        let over = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        assert_eq!(varint(&over, 0), Err(WireFault::LongVarint));
        assert_eq!(varint(&[0x80; 11], 0), Err(WireFault::LongVarint));
        for length in 0..10 {
            assert_eq!(varint(&max[..length], 0), Err(WireFault::TornVarint), "length {length}");
        }
        // Writers may pad: four bytes for a length of 5.
        assert_eq!(varint(&[0x85, 0x80, 0x80, 0x00], 0), Ok((5, 4)));
    }

    #[test]
    fn all_wire_types_are_read_and_groups_refused() {
        let bytes =
            [0x08, 0x96, 0x01, 0x11, 1, 0, 0, 0, 0, 0, 0, 0x80, 0x1a, 2, b'h', b'i', 0x25, 4, 3, 2, 1];
        let fields: Result<Vec<_>, _> = Fields::new(&bytes).collect();
        let fields = fields.unwrap();
        assert_eq!(fields[0], Field { number: 1, at: 0, value: Value::Varint(150) });
        assert_eq!(fields[1], Field { number: 2, at: 3, value: Value::Fixed64(0x8000_0000_0000_0001) });
        assert_eq!(fields[2], Field { number: 3, at: 12, value: Value::Bytes(b"hi") });
        assert_eq!(fields[3], Field { number: 4, at: 16, value: Value::Fixed32(0x0102_0304) });
        assert_eq!(fields.len(), 4);

        let group = Fields::new(&[0x0b]).step().unwrap_err();
        assert_eq!(group.fault, WireFault::WireType { number: 1, wire_type: 3 });
        let zero = Fields::new(&[0x00, 0x00]).step().unwrap_err();
        assert_eq!(zero.fault, WireFault::FieldNumber { number: 0 });
    }

    #[test]
    fn a_claimed_length_beyond_the_message_is_an_overrun_at_its_content() {
        let error = Fields::new(&[0x0a, 0x05, b'a', b'b']).step().unwrap_err();
        assert_eq!(error, FieldError { at: 2, fault: WireFault::Overrun { number: 1, need: 5, have: 2 } });
        let error = Fields::new(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]).step();
        assert!(matches!(error.unwrap_err().fault, WireFault::Overrun { need: u64::MAX, have: 0, .. }));
        let error = Fields::new(&[0x09, 1, 2, 3]).step().unwrap_err();
        assert_eq!(error.fault, WireFault::Overrun { number: 1, need: 8, have: 3 });
    }

    #[test]
    fn the_iterator_ends_after_an_error() {
        let mut fields = Fields::new(&[0x08, 0x01, 0x0b, 0x08, 0x01]);
        assert!(fields.next().unwrap().is_ok());
        assert!(fields.next().unwrap().is_err());
        assert!(fields.next().is_none());
    }
}
