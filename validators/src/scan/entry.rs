//! Top-level `Trace.packet` entries of a byte source: where each begins, how long it is, and its payload.
//!
//! Invariants: entries come in file order without overlap; the first thing that is no complete entry ends the
//! walk with its offset; memory follows the bytes that are really there, never the length a header claims.
//! Deliberately does not look inside payloads.

use std::io::{self, Read};

use serde::Serialize;

use super::wire::{self, MAX_LENGTH, WireFault};

/// Tag byte of `Trace.packet`: field 1, length-delimited.
pub const PACKET_TAG: u8 = 0x0a;

/// Why the bytes at some offset are no complete top-level entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EntryFault {
    /// The data ends inside the tag or the length.
    #[error("found the end of the data inside a packet header, expected its length")]
    TornHeader,
    /// The data ends inside the payload.
    #[error("found {have} bytes of a packet, expected the {need} bytes its header announces")]
    TornPayload {
        /// Payload bytes announced.
        need: u64,
        /// Payload bytes there.
        have: u64,
    },
    /// Not the tag of a packet.
    #[error("found byte {found:#04x}, expected the packet tag 0x0a")]
    Tag {
        /// The byte found.
        found: u8,
    },
    /// A length that is no varint or that no message can have.
    #[error("found an impossible packet length ({claimed} bytes), expected at most 2147483647")]
    Length {
        /// The length claimed; `u64::MAX` if the varint itself is impossible.
        claimed: u64,
    },
    /// More bytes than the reader takes in at once.
    #[error("found a packet of {length} bytes, expected at most {limit}")]
    TooLong {
        /// The length announced.
        length: u64,
        /// The limit in force.
        limit: u64,
    },
}

/// An [`EntryFault`] at a file offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset}: {fault}")]
pub struct EntryError {
    /// Offset of the first byte of the entry that is not whole.
    pub offset: u64,
    /// What is wrong with it.
    pub fault: EntryFault,
}

/// One complete top-level entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Offset of its tag in the source.
    pub offset: u64,
    /// Bytes of tag and length.
    pub header_len: usize,
    /// The packet's bytes.
    pub payload: &'a [u8],
}

impl Entry<'_> {
    /// Bytes of header and payload.
    pub fn total_len(&self) -> u64 {
        self.header_len as u64 + self.payload.len() as u64
    }

    /// Offset of the byte after the entry.
    pub fn end(&self) -> u64 {
        self.offset + self.total_len()
    }
}

enum Header {
    Whole { header_len: usize, payload_len: usize },
    Torn,
    Bad(EntryFault),
}

#[inline]
fn header(bytes: &[u8]) -> Header {
    match bytes.first() {
        None => return Header::Torn,
        Some(&PACKET_TAG) => {}
        Some(&found) => return Header::Bad(EntryFault::Tag { found }),
    }
    match wire::varint(bytes, 1) {
        Ok((length, header_len)) if length <= MAX_LENGTH => {
            Header::Whole { header_len, payload_len: length as usize }
        }
        Ok((claimed, _)) => Header::Bad(EntryFault::Length { claimed }),
        Err(WireFault::TornVarint) => Header::Torn,
        Err(_) => Header::Bad(EntryFault::Length { claimed: u64::MAX }),
    }
}

/// Entries of a byte slice; ends after the first error.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    bytes: &'a [u8],
    at: usize,
    ended: bool,
}

impl<'a> Entries<'a> {
    /// Walks `bytes` from their start.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, ended: false }
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, EntryError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.bytes[self.at..];
        if rest.is_empty() || self.ended {
            return None;
        }
        let offset = self.at as u64;
        let fault = match header(rest) {
            Header::Whole { header_len, payload_len } => {
                let content = &rest[header_len..];
                if let Some(payload) = content.get(..payload_len) {
                    self.at += header_len + payload_len;
                    return Some(Ok(Entry { offset, header_len, payload }));
                }
                EntryFault::TornPayload { need: payload_len as u64, have: content.len() as u64 }
            }
            Header::Torn => EntryFault::TornHeader,
            Header::Bad(fault) => fault,
        };
        self.ended = true;
        Some(Err(EntryError { offset, fault }))
    }
}

/// What [`EntryReader`] can fail with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The source itself failed.
    #[error("reading at byte {offset}: {source}")]
    Io {
        /// Bytes read so far.
        offset: u64,
        /// The source's error.
        source: io::Error,
    },
    /// The bytes are no complete entry.
    #[error(transparent)]
    Entry(#[from] EntryError),
}

const CHUNK: usize = 256 * 1024;

/// Entries of a reader, in a buffer that grows only as far as data arrives.
#[derive(Debug)]
pub struct EntryReader<R> {
    source: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// File offset of `buffer[start]`.
    offset: u64,
    /// Most payload bytes of an entry.
    longest: usize,
    exhausted: bool,
    ended: bool,
}

impl<R: Read> EntryReader<R> {
    /// Reads entries from the current position of `source`, which counts as offset 0.
    pub fn new(source: R) -> Self {
        let (buffer, longest) = (vec![0; CHUNK], MAX_LENGTH as usize);
        Self { source, buffer, start: 0, end: 0, offset: 0, longest, exhausted: false, ended: false }
    }

    /// Refuses entries of more than `longest` payload bytes, whether the bytes are there or not.
    pub fn refuse_longer(mut self, longest: usize) -> Self {
        self.longest = longest;
        self
    }

    /// The next entry; `None` at a clean end and after an error.
    pub fn next_entry(&mut self) -> Result<Option<Entry<'_>>, ReadError> {
        if self.ended {
            return Ok(None);
        }
        match self.locate() {
            Ok(Some((header_len, payload_len))) => {
                let offset = self.offset;
                let begin = self.start + header_len;
                self.start = begin + payload_len;
                self.offset += (header_len + payload_len) as u64;
                Ok(Some(Entry { offset, header_len, payload: &self.buffer[begin..begin + payload_len] }))
            }
            Ok(None) => {
                self.ended = true;
                Ok(None)
            }
            Err(error) => {
                self.ended = true;
                Err(error)
            }
        }
    }

    /// The bytes already taken from the source that belong to no entry given out so far.
    pub fn unconsumed(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Gives the source back; [`Self::unconsumed`] are bytes it no longer holds.
    pub fn into_inner(self) -> R {
        self.source
    }

    fn locate(&mut self) -> Result<Option<(usize, usize)>, ReadError> {
        loop {
            let have = self.end - self.start;
            let (need, fault) = match header(&self.buffer[self.start..self.end]) {
                Header::Bad(fault) => return Err(self.entry_error(fault)),
                Header::Torn => (have + 1, EntryFault::TornHeader),
                Header::Whole { payload_len, .. } if payload_len > self.longest => {
                    let (length, limit) = (payload_len as u64, self.longest as u64);
                    return Err(self.entry_error(EntryFault::TooLong { length, limit }));
                }
                Header::Whole { header_len, payload_len } => {
                    let whole = header_len + payload_len;
                    if have >= whole {
                        return Ok(Some((header_len, payload_len)));
                    }
                    let have = (have - header_len) as u64;
                    (whole, EntryFault::TornPayload { need: payload_len as u64, have })
                }
            };
            if self.exhausted {
                return if have == 0 { Ok(None) } else { Err(self.entry_error(fault)) };
            }
            self.fill(need)?;
        }
    }

    fn entry_error(&self, fault: EntryFault) -> ReadError {
        EntryError { offset: self.offset, fault }.into()
    }

    /// Reads once, making room for at most twice what is there already.
    fn fill(&mut self, need: usize) -> Result<(), ReadError> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            let grown = self.buffer.len().saturating_mul(2).min(need.max(CHUNK).next_multiple_of(CHUNK));
            self.buffer.resize(grown.max(self.end + 1), 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.exhausted = true;
                    return Ok(());
                }
                Ok(read) => {
                    self.end += read;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(ReadError::Io { offset: self.offset + self.end as u64, source });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: [u8; 9] = [0x0a, 0x02, 0x08, 0x01, 0x0a, 0x03, 0x52, 0x01, 0x09];

    fn faults_of(bytes: &[u8]) -> (Vec<(u64, u64)>, Option<EntryError>) {
        let mut whole = Vec::new();
        for entry in Entries::new(bytes) {
            match entry {
                Ok(entry) => whole.push((entry.offset, entry.total_len())),
                Err(error) => return (whole, Some(error)),
            }
        }
        (whole, None)
    }

    /// A reader that gives one byte at a time.
    struct Drip<'a>(&'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
            out[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    fn faults_of_reader(bytes: &[u8]) -> (Vec<(u64, u64)>, Option<EntryError>) {
        let mut reader = EntryReader::new(Drip(bytes));
        let mut whole = Vec::new();
        loop {
            match reader.next_entry() {
                Ok(Some(entry)) => whole.push((entry.offset, entry.total_len())),
                Ok(None) => return (whole, None),
                Err(ReadError::Entry(error)) => return (whole, Some(error)),
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn entries_and_the_first_torn_one_at_every_length() {
        let expected_fault = |length| match length {
            0 | 4 | 9 => None,
            1 => Some(EntryError { offset: 0, fault: EntryFault::TornHeader }),
            2 | 3 => Some(EntryError {
                offset: 0,
                fault: EntryFault::TornPayload { need: 2, have: length as u64 - 2 },
            }),
            5 => Some(EntryError { offset: 4, fault: EntryFault::TornHeader }),
            _ => Some(EntryError {
                offset: 4,
                fault: EntryFault::TornPayload { need: 3, have: length as u64 - 6 },
            }),
        };
        for length in 0..=TWO.len() {
            let mut whole = vec![(0, 4), (4, 5)];
            whole.truncate(usize::from(length >= 4) + usize::from(length >= 9));
            let expected = (whole, expected_fault(length));
            assert_eq!(faults_of(&TWO[..length]), expected, "slice of {length}");
            assert_eq!(faults_of_reader(&TWO[..length]), expected, "reader of {length}");
        }
    }

    #[test]
    fn a_foreign_tag_and_an_impossible_length_are_named() {
        let fault = |bytes: &[u8]| {
            assert_eq!(faults_of(bytes), faults_of_reader(bytes));
            faults_of(bytes).1.unwrap()
        };
        let tag = fault(&[0x0a, 0x00, 0x1f, 0x8b]);
        assert_eq!(tag, EntryError { offset: 2, fault: EntryFault::Tag { found: 0x1f } });
        let long = fault(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(long.fault, EntryFault::Length { claimed: u64::MAX });
        let big = fault(&[0x0a, 0x80, 0x80, 0x80, 0x80, 0x08]);
        assert_eq!(big.fault, EntryFault::Length { claimed: 1 << 31 });
        assert_eq!(
            big.to_string(),
            "at byte 0: found an impossible packet length (2147483648 bytes), expected at most 2147483647"
        );
    }

    #[test]
    fn a_huge_claim_costs_no_memory_and_a_large_packet_is_read_whole() {
        let mut torn = vec![0x0a, 0xff, 0xff, 0xff, 0xff, 0x07];
        torn.extend_from_slice(&[0; 1000]);
        let mut reader = EntryReader::new(&torn[..]);
        assert!(reader.next_entry().is_err());
        assert!(reader.buffer.len() <= 2 * CHUNK);

        let mut reader = EntryReader::new(&torn[..]).refuse_longer(1 << 20);
        let refused = reader.next_entry().unwrap_err().to_string();
        assert_eq!(refused, "at byte 0: found a packet of 2147483647 bytes, expected at most 1048576");

        let mut large = vec![0x0a, 0x80, 0x80, 0xc0, 0x00];
        large.extend(std::iter::repeat_n(7, 1 << 20));
        large.extend_from_slice(&TWO);
        let mut reader = EntryReader::new(&large[..]).refuse_longer(1 << 20);
        let entry = reader.next_entry().unwrap().unwrap();
        assert_eq!((entry.header_len, entry.payload.len()), (5, 1 << 20));
        assert_eq!(reader.next_entry().unwrap().unwrap().offset, (1 << 20) + 5);
        assert!(reader.next_entry().unwrap().is_some());
        assert!(reader.next_entry().unwrap().is_none());
    }
}
