//! Compression of a block into one packet.

use std::str::FromStr;

use libdeflater::{CompressionLvl, Compressor};
use zstd::bulk;
use zstd::zstd_safe::{self, CParameter};

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
    /// One zstd frame per block. Perfetto reads it from v58 on; `clockweave validate` re-encodes it
    /// for its engine.
    Zstd {
        /// 1 (fast) to 22 (small).
        level: u8,
    },
}

impl Compression {
    /// What [`FromStr`] takes, in words.
    pub const NAMES: &str = "`none`, `deflate` or `deflate:LEVEL` with a level from 1 (fast) to 12 (small), \
                             `zstd` or `zstd:LEVEL` with a level from 1 to 22";
    /// zstd at its own default level.
    pub const ZSTD: Self = Self::Zstd { level: 3 };

    /// Whether the compressor wants to be told where packets repeat.
    pub(crate) fn uses_hints(self) -> bool {
        self == Self::Deflate { level: 1 }
    }
}

/// `none`, `deflate`, `deflate:LEVEL`, `zstd` or `zstd:LEVEL`.
impl FromStr for Compression {
    type Err = UnknownCompression;

    fn from_str(text: &str) -> Result<Self, UnknownCompression> {
        let (codec, level) = match text.split_once(':') {
            None => (text, None),
            Some((codec, level)) => (codec, Some(level.parse::<u8>().map_err(|_| UnknownCompression)?)),
        };
        match (codec, level) {
            ("none", None) => Ok(Self::None),
            ("deflate", None) => Ok(Self::default()),
            ("deflate", Some(level @ 1..=12)) => Ok(Self::Deflate { level }),
            ("zstd", None) => Ok(Self::ZSTD),
            ("zstd", Some(level @ 1..=22)) => Ok(Self::Zstd { level }),
            _ => Err(UnknownCompression),
        }
    }
}

/// A text that names no compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {}", Compression::NAMES)]
pub struct UnknownCompression;

impl Default for Compression {
    fn default() -> Self {
        Self::Deflate { level: 1 }
    }
}

/// Tag of `TracePacket.compressed_packets` (field 50, bytes).
const COMPRESSED_PACKETS: [u8; 2] = [0x92, 0x03];
/// Tag of `TracePacket.zstd_compressed_packets` (field 133, bytes).
const ZSTD_COMPRESSED_PACKETS: [u8; 2] = [0xaa, 0x08];
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
    Zstd(bulk::Compressor<'static>),
}

impl Wrapper {
    /// `None` without compression.
    pub(crate) fn new(compression: Compression) -> Result<Option<Self>, RecordError> {
        let (codec, room) = match compression {
            Compression::None => return Ok(None),
            Compression::Deflate { level } => deflate(level, compression.uses_hints())?,
            Compression::Zstd { level } => (zstd(level)?, zstd_safe::compress_bound(BLOCK_LIMIT)),
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
            Codec::Led { others: compressor, .. } | Codec::Searching(compressor) => {
                compressor.zlib_compress(block.filled(), out).expect(BOUND)
            }
            Codec::Zstd(compressor) => compressor.compress_to_buffer(block.filled(), out).expect(BOUND),
        };
        let field = match &self.codec {
            Codec::Led { .. } | Codec::Searching(_) => COMPRESSED_PACKETS,
            Codec::Zstd(_) => ZSTD_COMPRESSED_PACKETS,
        };
        let mut inner = field.to_vec();
        prost::encoding::encode_varint(length as u64, &mut inner);
        let mut head = vec![PACKET];
        prost::encoding::encode_varint((inner.len() + length) as u64, &mut head);
        head.append(&mut inner);
        let from = HEAD - head.len();
        self.out[from..HEAD].copy_from_slice(&head);
        &self.out[from..HEAD + length]
    }
}

/// Why compressing a block cannot fail.
const BOUND: &str = "the output has the compressor's own bound for a block of this size";

/// A deflate encoder and the most bytes it makes of a block.
fn deflate(level: u8, hints: bool) -> Result<(Codec, usize), RecordError> {
    let mut compressor = match CompressionLvl::new(level.into()) {
        Ok(level) if i32::from(level) > 0 => Compressor::new(level),
        _ => {
            return Err(RecordError::BadOption {
                option: "the deflate level",
                found: level.into(),
                expected: "1 (fast) to 12 (small)",
            });
        }
    };
    let room = compressor.zlib_compress_bound(BLOCK_LIMIT);
    Ok(if hints {
        let packets = Box::new(PacketDeflater::new());
        (Codec::Led { packets, others: compressor }, room.max(deflate::bound(BLOCK_LIMIT)))
    } else {
        (Codec::Searching(compressor), room)
    })
}

/// A zstd encoder whose frames end with a checksum, so that a reader can tell a damaged one.
fn zstd(level: u8) -> Result<Codec, RecordError> {
    if !(1..=22).contains(&level) {
        return Err(RecordError::BadOption {
            option: "the zstd level",
            found: level.into(),
            expected: "1 (fast) to 22 (small)",
        });
    }
    let mut compressor = bulk::Compressor::new(level.into()).expect("a level of zstd's own range");
    compressor.set_parameter(CParameter::ChecksumFlag(true)).expect("an option that every encoder has");
    Ok(Codec::Zstd(compressor))
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
            let stream = unwrapped(&packet, [0x92, 0x03]);
            let mut back = Vec::new();
            let mut decoder = flate2::read::ZlibDecoder::new(stream);
            decoder.read_to_end(&mut back).unwrap();
            assert_eq!(decoder.total_in() as usize, stream.len());
            assert_eq!(back, block[..length]);
        }
    }

    /// The stream in a packet of field `tag`.
    fn unwrapped(packet: &[u8], tag: [u8; 2]) -> &[u8] {
        assert_eq!(packet[0], 0x0a);
        let (outer, rest) = read_varint(&packet[1..]);
        assert_eq!(outer as usize, rest.len());
        assert_eq!(rest[..2], tag);
        let (inner, stream) = read_varint(&rest[2..]);
        assert_eq!(inner as usize, stream.len());
        stream
    }

    /// One frame (RFC 8878): magic number, then a header byte whose third bit says that there is a
    /// checksum.
    #[test]
    fn a_block_becomes_one_packet_of_one_zstd_frame() {
        let block: Vec<u8> = (0u32..BLOCK_LIMIT as u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        for level in [1, 3, 22] {
            let mut wrapper = Wrapper::new(Compression::Zstd { level }).unwrap().unwrap();
            for length in [0, 1, 100, BLOCK_LIMIT] {
                let packet = wrapper.wrap(&filled(&block[..length])).to_vec();
                let stream = unwrapped(&packet, [0xaa, 0x08]);
                assert_eq!(stream[..4], [0x28, 0xb5, 0x2f, 0xfd]);
                assert_eq!(stream[4] & 4, 4);
                assert_eq!(zstd_safe::find_frame_compressed_size(stream), Ok(stream.len()));
                let mut back = Vec::new();
                zstd::stream::read::Decoder::new(stream).unwrap().read_to_end(&mut back).unwrap();
                assert_eq!(back, block[..length]);
                assert_eq!(wrapper.wrap(&filled(&block[..length])), packet, "the same bytes again");
            }
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
    fn names() {
        let named = ["none", "deflate", "deflate:12", "zstd", "zstd:22"].map(str::parse::<Compression>);
        let expected = [
            Compression::None,
            Compression::Deflate { level: 1 },
            Compression::Deflate { level: 12 },
            Compression::Zstd { level: 3 },
            Compression::Zstd { level: 22 },
        ];
        assert_eq!(named, expected.map(Ok));
        for wrong in
            ["", "lz4", "deflate:", "deflate:0", "deflate:13", "zstd:0", "zstd:23", "zstd:+x", "none:1"]
        {
            assert!(wrong.parse::<Compression>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn levels_outside_the_range_are_refused() {
        for level in [0, 13, 255] {
            assert!(matches!(
                Wrapper::new(Compression::Deflate { level }),
                Err(RecordError::BadOption { option: "the deflate level", .. })
            ));
        }
        for level in [0, 23] {
            assert!(matches!(
                Wrapper::new(Compression::Zstd { level }),
                Err(RecordError::BadOption { option: "the zstd level", .. })
            ));
        }
        assert!(Wrapper::new(Compression::None).unwrap().is_none());
    }
}
