//! Compression of a block into one packet.

use libdeflater::{CompressionLvl, Compressor};

use crate::error::RecordError;
use crate::pftrace::BLOCK_LIMIT;
use crate::pftrace::varint;

/// How blocks of packets are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    None,
    /// One zlib stream per block.
    Deflate {
        /// 1 (fast) to 12 (small).
        level: u8,
    },
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
    compressor: Compressor,
    out: Box<[u8]>,
}

impl Wrapper {
    /// `None` without compression.
    pub(crate) fn new(compression: Compression) -> Result<Option<Self>, RecordError> {
        let Compression::Deflate { level } = compression else { return Ok(None) };
        let bad = |_| RecordError::BadOption {
            option: "the deflate level",
            found: level.into(),
            expected: "1 (fast) to 12 (small)",
        };
        if level == 0 {
            return Err(bad(libdeflater::CompressionLvlError::InvalidValue));
        }
        let mut compressor = Compressor::new(CompressionLvl::new(level.into()).map_err(bad)?);
        let bound = compressor.zlib_compress_bound(BLOCK_LIMIT);
        Ok(Some(Self { compressor, out: vec![0; HEAD + bound].into_boxed_slice() }))
    }

    /// The packet, tag and length included, that holds `block`.
    pub(crate) fn wrap(&mut self, block: &[u8]) -> &[u8] {
        assert!(block.len() <= BLOCK_LIMIT, "a block holds at most {BLOCK_LIMIT} bytes");
        let length = self
            .compressor
            .zlib_compress(block, &mut self.out[HEAD..])
            .expect("the output has the compressor's own bound for a block of this size");
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
            let packet = wrapper.wrap(&block[..length]).to_vec();
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
