//! One dynamic deflate block: counting tokens, its codes, its bits.

use crate::pftrace::deflate::huffman;
use crate::pftrace::deflate::matching::{Frequencies, Token};

/// Literals, the end of a block, match lengths.
const LITERALS: usize = 286;
const DISTANCES: usize = 30;
const END: usize = 256;
/// Symbols of the code that code lengths are written in, and the order their lengths are written in.
const CODE_LENGTHS: usize = 19;
const CODE_LENGTH_ORDER: [usize; CODE_LENGTHS] =
    [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
/// Most bits of a code, and of one in the code of code lengths.
const MAX_BITS: usize = 15;
const MAX_CODE_LENGTH_BITS: usize = 7;

/// Symbol and number of extra bits of a match length less three.
pub(crate) static LENGTH: [(u16, u8); 256] = {
    let mut table = [(0u16, 0u8); 256];
    let mut code = 0;
    while code < 256 {
        table[code] = if code < 8 {
            (257 + code as u16, 0)
        } else if code == 255 {
            (285, 0)
        } else {
            // Four symbols per doubling.
            let extra = code.ilog2() - 2;
            (257 + (4 * extra) as u16 + (code >> extra) as u16, extra as u8)
        };
        code += 1;
    }
    table
};

/// Extra bits of a distance symbol: two symbols per doubling.
const fn distance_extra(symbol: usize) -> u8 {
    if symbol < 4 { 0 } else { (symbol / 2 - 1) as u8 }
}

/// Bits to be written, lowest first.
#[derive(Clone, Copy, Default)]
struct Bits {
    bits: u32,
    count: u8,
}

/// How a distance symbol is written.
#[derive(Clone, Copy, Default)]
struct Distance {
    code: Bits,
    /// Bits of code and extra bits.
    count: u8,
    /// Which bits of a distance less one are extra.
    mask: u32,
}

/// The codes of a block.
pub(crate) struct BlockCodes {
    literals: Vec<Bits>,
    /// By length less three, extra bits included.
    lengths: [Bits; 256],
    distances: [Distance; 32],
    /// Symbols of the header's code lengths: symbol, extra bits.
    header: Vec<(u8, Bits)>,
    header_codes: Vec<Bits>,
    header_lengths: [u8; CODE_LENGTHS],
    literal_count: usize,
    distance_count: usize,
    /// Bits of the whole block.
    size: u64,
}

fn coded(lengths: &[u8]) -> Vec<Bits> {
    let codes = huffman::codes(lengths).into_iter().zip(lengths);
    codes.map(|(code, length)| Bits { bits: code.into(), count: *length }).collect()
}

/// Extra bits of a symbol of the literal code: four symbols per doubling of the length.
fn length_extra(symbol: usize) -> u8 {
    if (265..285).contains(&symbol) { ((symbol - 261) / 4) as u8 } else { 0 }
}

/// Bits of all occurrences of all symbols.
fn total(frequencies: &[u32], lengths: &[u8], extra: impl Fn(usize) -> u8) -> u64 {
    let used = frequencies.iter().zip(lengths).enumerate().filter(|(_, (count, _))| **count > 0);
    used.map(|(symbol, (count, length))| u64::from(*count) * u64::from(length + extra(symbol))).sum()
}

fn used(lengths: &[u8], least: usize) -> usize {
    lengths.iter().rposition(|length| *length > 0).map_or(least, |last| (last + 1).max(least))
}

impl BlockCodes {
    pub(crate) fn new(frequencies: &Frequencies) -> Self {
        let mut literals = [0u32; LITERALS];
        literals.copy_from_slice(&frequencies.literals[..LITERALS]);
        literals[END] = 1;
        let distances = &frequencies.distances[..DISTANCES];
        let mut literal_lengths = [0u8; LITERALS];
        let mut distance_lengths = [0u8; DISTANCES];
        huffman::code_lengths(&literals, MAX_BITS, &mut literal_lengths);
        huffman::code_lengths(distances, MAX_BITS, &mut distance_lengths);
        let (literal_count, distance_count) = (used(&literal_lengths, 257), used(&distance_lengths, 1));

        let all: Vec<u8> = [&literal_lengths[..literal_count], &distance_lengths[..distance_count]].concat();
        let header = run_lengths(&all);
        let mut header_frequencies = [0u32; CODE_LENGTHS];
        header.iter().for_each(|(symbol, _)| header_frequencies[usize::from(*symbol)] += 1);
        let mut header_lengths = [0u8; CODE_LENGTHS];
        huffman::code_lengths(&header_frequencies, MAX_CODE_LENGTH_BITS, &mut header_lengths);

        let header_extra: u64 = header.iter().map(|(_, extra)| u64::from(extra.count)).sum();
        let size = 3
            + 14
            + 3 * CODE_LENGTHS as u64
            + header_extra
            + total(&header_frequencies, &header_lengths, |_| 0)
            + total(&literals, &literal_lengths, length_extra)
            + total(distances, &distance_lengths, distance_extra);
        let literals = coded(&literal_lengths);
        let lengths = std::array::from_fn(|code| with_extra(&literals, code as u32));
        let mut distances = [Distance::default(); 32];
        for (symbol, code) in coded(&distance_lengths).into_iter().enumerate() {
            let extra = distance_extra(symbol);
            distances[symbol] = Distance { code, count: code.count + extra, mask: (1 << extra) - 1 };
        }
        Self {
            literals,
            lengths,
            distances,
            header,
            header_codes: coded(&header_lengths),
            header_lengths,
            literal_count,
            distance_count,
            size,
        }
    }

    /// Bytes of the block, at most.
    pub(crate) fn bytes(&self) -> usize {
        usize::try_from(self.size.div_ceil(8)).unwrap_or(usize::MAX)
    }

    /// Writes the block as the last one.
    pub(crate) fn write(&self, tokens: &[Token], out: &mut BitWriter<'_>) {
        self.write_header(out);
        for token in tokens {
            if let Some(byte) = token.as_literal() {
                out.put(self.literals[usize::from(byte)]);
            } else {
                let length = self.lengths[usize::from(token.length_code())];
                let far = self.distances[token.distance_symbol()];
                let extra = token.distance_code() & far.mask;
                let bits = far.code.bits | extra << far.code.count;
                out.put_two(length, Bits { bits, count: far.count });
            }
        }
        out.put(self.literals[END]);
    }

    fn write_header(&self, out: &mut BitWriter<'_>) {
        // Last block, dynamic codes.
        out.put(Bits { bits: 0b101, count: 3 });
        out.put(Bits { bits: self.literal_count as u32 - 257, count: 5 });
        out.put(Bits { bits: self.distance_count as u32 - 1, count: 5 });
        out.put(Bits { bits: CODE_LENGTHS as u32 - 4, count: 4 });
        for symbol in CODE_LENGTH_ORDER {
            out.put(Bits { bits: self.header_lengths[symbol].into(), count: 3 });
        }
        for (symbol, extra) in &self.header {
            out.put_two(self.header_codes[usize::from(*symbol)], *extra);
        }
    }
}

/// Code and extra bits of a match length less three.
fn with_extra(literals: &[Bits], code: u32) -> Bits {
    let (symbol, extra) = LENGTH[code as usize];
    let symbol = literals[usize::from(symbol)];
    Bits { bits: symbol.bits | (code & ((1 << extra) - 1)) << symbol.count, count: symbol.count + extra }
}

/// Code lengths as deflate writes them: runs of the same length, runs of zeros.
fn run_lengths(lengths: &[u8]) -> Vec<(u8, Bits)> {
    let mut out = Vec::new();
    let mut rest = lengths;
    while let Some(&length) = rest.first() {
        let run = rest.iter().take_while(|other| **other == length).count();
        let mut left = run;
        let mut extra =
            |symbol: u8, bits: usize, count: u8| out.push((symbol, Bits { bits: bits as u32, count }));
        if length > 0 {
            extra(length, 0, 0);
            left -= 1;
        }
        while left >= 3 {
            let taken = left.min(if length > 0 { 6 } else { 138 });
            match (length, taken) {
                (0, ..=10) => extra(17, taken - 3, 3),
                (0, _) => extra(18, taken - 11, 7),
                _ => extra(16, taken - 3, 2),
            }
            left -= taken;
        }
        (0..left).for_each(|_| extra(length, 0, 0));
        rest = &rest[run..];
    }
    out
}

/// Writes bits, lowest first, a word at a time.
pub(crate) struct BitWriter<'a> {
    out: &'a mut [u8],
    at: usize,
    word: u64,
    count: u32,
}

impl<'a> BitWriter<'a> {
    /// Begins at byte `at`; `out` must have eight bytes beyond what is written.
    pub(crate) fn new(out: &'a mut [u8], at: usize) -> Self {
        Self { out, at, word: 0, count: 0 }
    }

    #[inline]
    fn put(&mut self, bits: Bits) {
        self.word |= u64::from(bits.bits) << self.count;
        self.count += u32::from(bits.count);
        self.flush();
    }

    /// At most 56 bits in all.
    #[inline]
    fn put_two(&mut self, first: Bits, second: Bits) {
        self.word |= u64::from(first.bits) << self.count;
        self.count += u32::from(first.count);
        self.word |= u64::from(second.bits) << self.count;
        self.count += u32::from(second.count);
        self.flush();
    }

    /// Writes the word and keeps the bits of the byte that is not whole.
    #[inline]
    fn flush(&mut self) {
        self.out[self.at..self.at + 8].copy_from_slice(&self.word.to_le_bytes());
        let whole = self.count & !7;
        self.at += (whole / 8) as usize;
        self.word >>= whole;
        self.count -= whole;
    }

    /// Ends on a whole byte; gives the position behind it.
    pub(crate) fn finish(self) -> usize {
        self.at + usize::from(self.count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables of RFC 1951, 3.2.5.
    #[test]
    fn lengths_and_distances_are_those_of_the_standard() {
        let least = [
            3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131,
            163, 195, 227, 258,
        ];
        let extra = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
        for (at, (least, extra)) in least.iter().zip(extra).enumerate() {
            assert_eq!(LENGTH[least - 3], (257 + at as u16, extra), "length {least}");
            assert_eq!(length_extra(257 + at), extra, "symbol {}", 257 + at);
        }
        assert_eq!(LENGTH[257 - 3], (284, 5));
        let extra = [
            0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13,
        ];
        assert_eq!(std::array::from_fn::<u8, 30, _>(distance_extra), extra);
    }
}
