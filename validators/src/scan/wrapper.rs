//! Opening wrapper packets: one compressed stream each, proved whole, with a bound on what comes out.
//!
//! Invariants: the output buffer grows with the bytes really produced and never passes the limit; a stream counts as
//! whole only if its checksum matched and nothing follows it. Deliberately does not open wrappers inside wrappers.

use flate2::{Decompress, FlushDecompress, Status};
use serde::Serialize;

use super::packet::Codec;

/// Default bound on one wrapper's content: far above any writer's blocks, far below a machine's memory.
pub const DEFAULT_MAX_INFLATED: usize = 256 << 20;

/// Bounds of a zstd frame's window, as powers of two: the format's smallest, and the largest of its reference decoder.
const SMALLEST_WINDOW: u32 = 10;
const LARGEST_WINDOW: u32 = 27;

/// Why a wrapper's stream is not usable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum InflateFault {
    /// The stream ends before its checksum.
    #[error(
        "found the end of the compressed stream after {inflated} bytes of content, expected its checksum"
    )]
    Torn {
        /// Bytes that came out before the end.
        inflated: u64,
    },
    /// The stream contradicts itself or its checksum.
    #[error(
        "found a damaged compressed stream ({detail}), expected one whole stream with a matching checksum"
    )]
    Corrupt {
        /// The decompressor's own words.
        detail: String,
    },
    /// Bytes after the end of the stream.
    #[error("found {extra} bytes after the compressed stream, expected exactly one stream in a wrapper")]
    TrailingBytes {
        /// How many bytes follow.
        extra: u64,
    },
    /// More content than allowed.
    #[error("found a wrapper of more than {limit} bytes of content, expected at most that")]
    TooLarge {
        /// The limit in force.
        limit: u64,
    },
}

/// Inflates wrapper contents into one buffer that is reused.
#[derive(Debug)]
pub struct Inflater {
    deflate: Decompress,
    out: Vec<u8>,
    limit: usize,
}

impl Default for Inflater {
    fn default() -> Self {
        Self::new(DEFAULT_MAX_INFLATED)
    }
}

impl Inflater {
    /// An inflater that refuses contents of more than `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { deflate: Decompress::new(true), out: Vec::new(), limit }
    }

    /// The content of one wrapper.
    pub fn inflate(&mut self, codec: Codec, stream: &[u8]) -> Result<&[u8], InflateFault> {
        self.out.clear();
        match codec {
            Codec::Deflate => self.inflate_zlib(stream)?,
            Codec::Zstd => self.inflate_zstd(stream)?,
        }
        Ok(&self.out)
    }

    /// What came out of the last stream, also when it turned out to be torn or damaged.
    pub fn output(&self) -> &[u8] {
        &self.out
    }

    fn grow(&mut self, stream_len: usize) -> Result<(), InflateFault> {
        if self.out.len() >= self.limit {
            return Err(InflateFault::TooLarge { limit: self.limit as u64 });
        }
        let step = if self.out.is_empty() { stream_len.saturating_mul(8) } else { self.out.len() };
        let step = step.clamp(1 << 16, 1 << 26).min(self.limit - self.out.len());
        self.out.reserve_exact(step);
        Ok(())
    }

    fn inflate_zlib(&mut self, stream: &[u8]) -> Result<(), InflateFault> {
        self.deflate.reset(true);
        loop {
            let consumed = self.deflate.total_in() as usize;
            if self.out.len() == self.out.capacity() {
                self.grow(stream.len())?;
            }
            let before = self.out.len();
            let status = self
                .deflate
                .decompress_vec(&stream[consumed..], &mut self.out, FlushDecompress::None)
                .map_err(|error| InflateFault::Corrupt { detail: error.to_string() })?;
            if self.out.len() > self.limit {
                return Err(InflateFault::TooLarge { limit: self.limit as u64 });
            }
            let now = self.deflate.total_in() as usize;
            if status == Status::StreamEnd {
                let extra = (stream.len() - now) as u64;
                return if extra == 0 { Ok(()) } else { Err(InflateFault::TrailingBytes { extra }) };
            }
            if now == consumed && self.out.len() == before && self.out.len() < self.out.capacity() {
                return Err(InflateFault::Torn { inflated: before as u64 });
            }
        }
    }

    fn inflate_zstd(&mut self, stream: &[u8]) -> Result<(), InflateFault> {
        let mut filled = 0;
        let result = self.run_zstd(stream, &mut filled);
        self.out.truncate(filled);
        result
    }

    /// Decodes into `out`, whose bytes from `filled` on are room.
    fn run_zstd(&mut self, stream: &[u8], filled: &mut usize) -> Result<(), InflateFault> {
        use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

        let corrupt = |error: std::io::Error| InflateFault::Corrupt { detail: error.to_string() };
        let mut decoder = Decoder::new().map_err(corrupt)?;
        // A frame's window is allocated before any content comes out: it may be no larger than the content.
        let window = self.limit.max(1).next_power_of_two().ilog2().clamp(SMALLEST_WINDOW, LARGEST_WINDOW);
        decoder.set_parameter(DParameter::WindowLogMax(window)).map_err(corrupt)?;
        let mut input = InBuffer::around(stream);
        loop {
            if *filled == self.out.len() {
                self.grow(stream.len())?;
                let room = self.out.capacity().min(self.limit.saturating_add(1));
                self.out.resize(room, 0);
            }
            let (before, consumed) = (*filled, input.pos());
            let mut output = OutBuffer::around_pos(&mut self.out[..], before);
            let hint = decoder.run(&mut input, &mut output);
            *filled = output.pos();
            if hint.map_err(corrupt)? == 0 {
                let extra = (stream.len() - input.pos()) as u64;
                return if extra == 0 { Ok(()) } else { Err(InflateFault::TrailingBytes { extra }) };
            }
            if *filled > self.limit {
                return Err(InflateFault::TooLarge { limit: self.limit as u64 });
            }
            if input.pos() == consumed && *filled == before && *filled < self.out.len() {
                return Err(InflateFault::Torn { inflated: before as u64 });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn zlib(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(1));
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn sample() -> Vec<u8> {
        (0..200_000_u32).flat_map(|n| (n / 7).to_le_bytes()).collect()
    }

    #[test]
    fn a_whole_stream_of_either_codec_comes_back() {
        let content = sample();
        let mut inflater = Inflater::default();
        assert_eq!(inflater.inflate(Codec::Deflate, &zlib(&content)).unwrap(), content);
        let frame = zstd::bulk::compress(&content, 1).unwrap();
        assert_eq!(inflater.inflate(Codec::Zstd, &frame).unwrap(), content);
        assert_eq!(inflater.inflate(Codec::Deflate, &zlib(b"")).unwrap(), b"");
    }

    #[test]
    fn torn_damaged_doubled_and_oversized_streams_are_told_apart() {
        let content = sample();
        for (codec, stream) in
            [(Codec::Deflate, zlib(&content)), (Codec::Zstd, zstd::bulk::compress(&content, 1).unwrap())]
        {
            let mut inflater = Inflater::default();
            for cut in [0, 1, 2, stream.len() / 2, stream.len() - 1] {
                let fault = inflater.inflate(codec, &stream[..cut]).unwrap_err();
                assert!(matches!(fault, InflateFault::Torn { .. }), "{codec:?} cut at {cut}: {fault}");
            }
            let mut doubled = stream.clone();
            doubled.extend_from_slice(&stream);
            let fault = inflater.inflate(codec, &doubled).unwrap_err();
            assert_eq!(fault, InflateFault::TrailingBytes { extra: stream.len() as u64 });

            let mut small = Inflater::new(content.len() - 1);
            let fault = small.inflate(codec, &stream).unwrap_err();
            assert_eq!(fault, InflateFault::TooLarge { limit: content.len() as u64 - 1 });
            assert_eq!(Inflater::new(content.len()).inflate(codec, &stream).unwrap(), content);
        }
        let mut checksum = zlib(&content);
        *checksum.last_mut().unwrap() ^= 1;
        let fault = Inflater::default().inflate(Codec::Deflate, &checksum).unwrap_err();
        assert!(matches!(fault, InflateFault::Corrupt { .. }), "{fault}");
    }
}
