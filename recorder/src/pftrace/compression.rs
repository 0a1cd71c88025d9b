//! Compression of a block into one packet.

use libdeflater::{CompressionLvl, Compressor};

use crate::error::RecordError;
use crate::pftrace::deflate::{self, PacketDeflater};
use crate::pftrace::{BLOCK_LIMIT, varint};
use crate::writer::Block;

/// How blocks of packets are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    None,
    /// One zlib stream per block.
    Deflate {
        /// 1 (led by what the packets are known to repeat) to 12 (ever longer searches).
        level: u8,
    },
}

impl Compression {
    /// Whether the compressor wants to be told where packets repeat.
    pub(crate) fn uses_hints(self) -> bool {
        self == Self::Deflate { level: 1 }
    }
}

impl Default for Compression {
    fn default() -> Self {
        Self::Deflate { level: 1 }
    }
}

/// Tag of `TracePacket.compressed_packets` (field 50, bytes).
const COMPRESSED_PACKETS: [u8; 2] = [0x92, 0x03];
/// Tag of `Trace.packet` (field 1, message).
const PACKET: u8 = 0x0a;

/// Room before the compressed bytes for two tags and two lengths.
const HEAD: usize = 1 + varint::MAX + COMPRESSED_PACKETS.len() + varint::MAX;

/// Makes one packet of a block.
pub(crate) struct Wrapper {
    codec: Codec,
    out: Box<[u8]>,
}

enum Codec {
    /// Led by the packets' hints; searching where there are none to speak of.
    Led {
        packets: Box<PacketDeflater>,
        others: Compressor,
    },
    Searching(Compressor),
}

impl Wrapper {
    /// `None` without compression.
    pub(crate) fn new(compression: Compression) -> Result<Option<Self>, RecordError> {
        let Compression::Deflate { level } = compression else { return Ok(None) };
        let bad = RecordError::BadOption {
            option: "the deflate level",
            found: level.into(),
            expected: "1 (fast) to 12 (small)",
        };
        let mut compressor = match CompressionLvl::new(level.into()) {
            Ok(level) if i32::from(level) > 0 => Compressor::new(level),
            _ => return Err(bad),
        };
        let mut room = compressor.zlib_compress_bound(BLOCK_LIMIT);
        let codec = if compression.uses_hints() {
            room = room.max(deflate::bound(BLOCK_LIMIT));
            Codec::Led { packets: Box::new(PacketDeflater::new()), others: compressor }
        } else {
            Codec::Searching(compressor)
        };
        Ok(Some(Self { codec, out: vec![0; HEAD + room].into_boxed_slice() }))
    }

    /// The packet, tag and length included, that holds `block`.
    pub(crate) fn wrap(&mut self, block: &Block) -> &[u8] {
        assert!(block.len <= BLOCK_LIMIT, "a block holds at most {BLOCK_LIMIT} bytes");
        let out = &mut self.out[HEAD..];
        let length = match &mut self.codec {
            Codec::Led { packets, .. } if block.is_hinted() => {
                packets.compress(&block.bytes, block.len, &block.hints, out)
            }
            Codec::Led { others: compressor, .. } | Codec::Searching(compressor) => compressor
                .zlib_compress(block.filled(), out)
                .expect("the output has the compressor's own bound for a block of this size"),
        };
        let mut inner = COMPRESSED_PACKETS.to_vec();
        prost::encoding::encode_varint(length as u64, &mut inner);
        let mut head = vec![PACKET];
        prost::encoding::encode_varint((inner.len() + length) as u64, &mut head);
        head.append(&mut inner);
        let from = HEAD - head.len();
        self.out[from..HEAD].copy_from_slice(&head);
        &self.out[from..HEAD + length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_block_becomes_one_packet_of_one_zlib_stream() {
        let block: Vec<u8> = (0u32..BLOCK_LIMIT as u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        let mut wrapper = Wrapper::new(Compression::Deflate { level: 1 }).unwrap().unwrap();
        for length in [0, 1, 100, BLOCK_LIMIT] {
            let packet = wrapper.wrap(&filled(&block[..length])).to_vec();
            assert_eq!(packet[0], 0x0a);
            let (outer, rest) = read_varint(&packet[1..]);
            assert_eq!(outer as usize, rest.len());
            assert_eq!(rest[..2], [0x92, 0x03]);
            let (inner, stream) = read_varint(&rest[2..]);
            assert_eq!(inner as usize, stream.len());
            let mut back = Vec::new();
            let mut decoder = flate2::read::ZlibDecoder::new(stream);
            decoder.read_to_end(&mut back).unwrap();
            assert_eq!(decoder.total_in() as usize, stream.len());
            assert_eq!(back, block[..length]);
        }
    }

    fn filled(bytes: &[u8]) -> Block {
        let mut block = Block::new(BLOCK_LIMIT, 0);
        block.bytes[..bytes.len()].copy_from_slice(bytes);
        block.len = bytes.len();
        block
    }

    fn read_varint(bytes: &[u8]) -> (u64, &[u8]) {
        let end = bytes.iter().position(|b| b & 0x80 == 0).unwrap();
        let value = bytes[..=end].iter().rev().fold(0u64, |acc, b| acc << 7 | u64::from(b & 0x7f));
        (value, &bytes[end + 1..])
    }

    #[test]
    fn levels_outside_the_range_are_refused() {
        for level in [0, 13, 255] {
            assert!(matches!(
                Wrapper::new(Compression::Deflate { level }),
                Err(RecordError::BadOption { option: "the deflate level", .. })
            ));
        }
        assert!(Wrapper::new(Compression::None).unwrap().is_none());
    }
}
