//! Traces for readers that do not know zstd: the pinned engine and UI skip such wrappers in silence.

use std::io::{self, Read, Write};

use super::entry::EntryReader;
use super::packet::{Codec, Packet, field};
use super::wrapper::Inflater;

/// A trace with its zstd wrappers written as deflate wrappers.
#[derive(Debug)]
pub struct Deflated<R> {
    entries: EntryReader<R>,
    scratch: Inflater,
    out: Vec<u8>,
    at: usize,
}

impl<R: Read> Deflated<R> {
    /// The trace that `trace` gives, whole up to its end.
    pub fn new(trace: R) -> Self {
        let entries = EntryReader::new(trace);
        Self { entries, scratch: Inflater::default(), out: Vec::new(), at: 0 }
    }

    /// Puts the next entry into `out`; gives whether there was one.
    fn refill(&mut self) -> io::Result<bool> {
        self.out.clear();
        self.at = 0;
        let Some(entry) = self.entries.next_entry().map_err(io::Error::other)? else { return Ok(false) };
        let packet = Packet::parse(entry.payload).map_err(io::Error::other)?;
        if let Some((Codec::Zstd, stream)) = packet.wrapper {
            let content = self.scratch.inflate(Codec::Zstd, stream).map_err(io::Error::other)?;
            let mut deflate = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            deflate.write_all(content)?;
            let mut wrapper = Vec::new();
            bytes_field(field::COMPRESSED_PACKETS, &deflate.finish()?, &mut wrapper);
            bytes_field(1, &wrapper, &mut self.out);
        } else {
            bytes_field(1, entry.payload, &mut self.out);
        }
        Ok(true)
    }
}

fn bytes_field(number: u32, content: &[u8], out: &mut Vec<u8>) {
    prost::encoding::encode_varint(u64::from(number << 3 | 2), out);
    prost::encoding::encode_varint(content.len() as u64, out);
    out.extend_from_slice(content);
}

impl<R: Read> Read for Deflated<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.out.len() {
            if !self.refill()? {
                return Ok(0);
            }
        }
        let count = buffer.len().min(self.out.len() - self.at);
        buffer[..count].copy_from_slice(&self.out[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
