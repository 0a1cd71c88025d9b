//! A few lines of protobuf writing and editing, independent of the crate under test.

use std::io::{Read, Write};

pub fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub fn uint(number: u32, value: u64, out: &mut Vec<u8>) {
    varint(u64::from(number) << 3, out);
    varint(value, out);
}

pub fn bytes(number: u32, content: &[u8], out: &mut Vec<u8>) {
    varint(u64::from(number) << 3 | 2, out);
    varint(content.len() as u64, out);
    out.extend_from_slice(content);
}

pub fn fixed64(number: u32, value: u64, out: &mut Vec<u8>) {
    varint(u64::from(number) << 3 | 1, out);
    out.extend_from_slice(&value.to_le_bytes());
}

/// A message built by a closure.
pub fn message(build: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    build(&mut out);
    out
}

pub fn zlib(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(1));
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

pub fn unzlib(stream: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    flate2::read::ZlibDecoder::new(stream).read_to_end(&mut out).unwrap();
    out
}

/// A field of a decoded message.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Uint(u64),
    Fixed64([u8; 8]),
    Bytes(Vec<u8>),
}

/// A message as a list of its fields, to be changed and written again.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Message(pub Vec<(u32, Value)>);

impl Message {
    pub fn decode(mut input: &[u8]) -> Self {
        let mut fields = Vec::new();
        while !input.is_empty() {
            let tag = take_varint(&mut input);
            let value = match tag & 7 {
                0 => Value::Uint(take_varint(&mut input)),
                1 => Value::Fixed64(take(&mut input, 8).try_into().unwrap()),
                2 => {
                    let length = take_varint(&mut input) as usize;
                    Value::Bytes(take(&mut input, length).to_vec())
                }
                other => panic!("wire type {other} in a good trace"),
            };
            fields.push(((tag >> 3) as u32, value));
        }
        Self(fields)
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (number, value) in &self.0 {
            match value {
                Value::Uint(value) => uint(*number, *value, &mut out),
                Value::Fixed64(value) => fixed64(*number, u64::from_le_bytes(*value), &mut out),
                Value::Bytes(content) => bytes(*number, content, &mut out),
            }
        }
        out
    }

    pub fn has(&self, number: u32) -> bool {
        self.0.iter().any(|(found, _)| *found == number)
    }

    pub fn uint(&self, number: u32) -> Option<u64> {
        self.0.iter().find_map(|(found, value)| match value {
            Value::Uint(value) if *found == number => Some(*value),
            _ => None,
        })
    }

    pub fn set(&mut self, number: u32, value: u64) {
        let slot = self.0.iter_mut().find(|(found, _)| *found == number).expect("the field to change");
        slot.1 = Value::Uint(value);
    }

    pub fn remove(&mut self, number: u32) {
        self.0.retain(|(found, _)| *found != number);
    }

    pub fn sub(&self, number: u32) -> Option<Message> {
        self.0.iter().find_map(|(found, value)| match value {
            Value::Bytes(content) if *found == number => Some(Message::decode(content)),
            _ => None,
        })
    }

    /// Changes the first submessage with this number.
    pub fn edit(&mut self, number: u32, change: impl FnOnce(&mut Message)) {
        let slot = self.0.iter_mut().find(|(found, _)| *found == number).expect("the message to change");
        let Value::Bytes(content) = &mut slot.1 else { panic!("field {number} is no message") };
        let mut inner = Message::decode(content);
        change(&mut inner);
        *content = inner.encode();
    }
}

fn take<'a>(input: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (head, rest) = input.split_at(length);
    *input = rest;
    head
}

fn take_varint(input: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(input, 1)[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

/// All packets of a trace in order, wrappers opened.
pub fn packets(trace: &[u8]) -> Vec<Message> {
    let mut packets = Vec::new();
    for (_, value) in Message::decode(trace).0 {
        let Value::Bytes(payload) = value else { panic!("a packet is a message") };
        let packet = Message::decode(&payload);
        match packet.0.first() {
            Some((50, Value::Bytes(stream))) => packets.extend(self::packets(&unzlib(stream))),
            _ => packets.push(packet),
        }
    }
    packets
}

/// Packets written one after another, without wrappers.
pub fn raw_trace(packets: &[Message]) -> Vec<u8> {
    let mut out = Vec::new();
    for packet in packets {
        bytes(1, &packet.encode(), &mut out);
    }
    out
}
