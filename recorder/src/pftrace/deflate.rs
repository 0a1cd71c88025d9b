//! A deflate encoder for blocks of event packets.
//!
//! A general compressor searches at every byte for an earlier occurrence. The event encoder knows
//! where to look: the head of a packet was last written by the last event of the same unit, kind and
//! values; what follows the ordinal by the unit's last event; the transaction by the transaction's
//! last event. Each packet brings a [`Hint`] of that, and a handful of comparisons replaces the
//! search.
//!
//! # Invariants
//!
//! * Hints only propose: every match is verified against the bytes, so wrong hints cost size, never
//!   correctness.
//! * The output is one zlib stream and a function of bytes and hints alone.
//! * The output never exceeds [`bound`].

mod bits;
mod huffman;
mod matching;

pub(crate) use matching::{Hint, SLACK, key};

use bits::BitWriter;
use matching::Matcher;

/// Most bytes of a stored deflate block.
const STORED: usize = 65_535;
/// Two bytes that announce zlib with a 32 KiB window at the fastest level.
const ZLIB_HEAD: [u8; 2] = [0x78, 0x01];

/// Most bytes of the output for `input` bytes.
pub(crate) fn bound(input: usize) -> usize {
    // Stored blocks, the zlib frame, and what a word-wise writer touches beyond its end.
    input + 5 * (input / STORED + 1) + ZLIB_HEAD.len() + 4 + 16
}

/// Compresses blocks of event packets.
pub(crate) struct PacketDeflater {
    matcher: Matcher,
}

impl PacketDeflater {
    pub(crate) fn new() -> Self {
        Self { matcher: Matcher::new() }
    }

    /// Writes the first `len` of `bytes` as one zlib stream to `out`; gives its size. `hints` are in
    /// order of their packets. `bytes` must have [`SLACK`] bytes beyond `len`, of any
    /// content; `out` must have [`bound`] bytes.
    pub(crate) fn compress(&mut self, bytes: &[u8], len: usize, hints: &[Hint], out: &mut [u8]) -> usize {
        out[..2].copy_from_slice(&ZLIB_HEAD);
        self.matcher.run(bytes, len, hints);
        let codes = bits::BlockCodes::new(&self.matcher.frequencies);
        let mut end = if codes.bytes() < len {
            let mut writer = BitWriter::new(out, ZLIB_HEAD.len());
            codes.write(&self.matcher.tokens, &mut writer);
            writer.finish()
        } else {
            stored(&bytes[..len], out, ZLIB_HEAD.len())
        };
        out[end..end + 4].copy_from_slice(&libdeflater::adler32(&bytes[..len]).to_be_bytes());
        end += 4;
        end
    }
}

/// Writes stored blocks at `at`; gives the position behind them.
fn stored(bytes: &[u8], out: &mut [u8], mut at: usize) -> usize {
    let mut chunks = bytes.chunks(STORED).peekable();
    loop {
        let chunk = chunks.next().unwrap_or(&[]);
        let last = chunks.peek().is_none();
        let length = chunk.len() as u16;
        out[at] = last.into();
        out[at + 1..at + 3].copy_from_slice(&length.to_le_bytes());
        out[at + 3..at + 5].copy_from_slice(&(!length).to_le_bytes());
        out[at + 5..at + 5 + chunk.len()].copy_from_slice(chunk);
        at += 5 + chunk.len();
        if last {
            return at;
        }
    }
}

#[cfg(test)]
mod tests;
