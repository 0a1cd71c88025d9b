//! Turns a block into literals and matches, led by hints.

use crate::pftrace::deflate::bits::LENGTH;

/// Bytes that may be read beyond the end of a block.
pub(crate) const SLACK: usize = MAX_MATCH + 8;

const MIN_MATCH: usize = 3;
const MAX_MATCH: usize = 258;
const WINDOW: usize = 32_768;
/// Slots of each table of earlier places; a key is its place.
const SLOTS: usize = 1024;
/// No place.
const NOWHERE: u32 = u32::MAX;

/// Where a packet may repeat an earlier one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hint {
    /// Position of the packet in the block.
    pub(crate) start: u32,
    /// Key of everything before the ordinal.
    pub(crate) head: u16,
    /// Key of the unit.
    pub(crate) unit: u16,
    /// Key of the transaction; packets without one have any.
    pub(crate) transaction: u16,
    /// Where in the packet the ordinal's value begins.
    pub(crate) ordinal_at: u8,
    /// Where in the packet the transaction's value begins.
    pub(crate) transaction_at: u8,
}

/// Spreads `value` over the keys.
#[inline]
pub(crate) fn key(value: u64) -> u16 {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    (value.wrapping_mul(GOLDEN) >> 54) as u16
}

const _: () = assert!(SLOTS == 1 << (64 - 54), "a key is a slot");

/// A literal byte, or a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(u32);

const MATCH: u32 = 1 << 31;
const LENGTH_SHIFT: u32 = 20;
const SYMBOL_SHIFT: u32 = 15;

impl Token {
    #[inline]
    fn literal(byte: u8) -> Self {
        Self(byte.into())
    }

    /// `length` in 3..=258, `distance` in 1..=32768.
    #[inline]
    fn of_match(length: usize, distance: usize) -> Self {
        let code = distance as u32 - 1;
        Self(MATCH | ((length - MIN_MATCH) as u32) << LENGTH_SHIFT | symbol(code) << SYMBOL_SHIFT | code)
    }

    /// The byte, if it is a literal.
    #[inline]
    pub(crate) fn as_literal(self) -> Option<u8> {
        (self.0 & MATCH == 0).then_some(self.0 as u8)
    }

    /// Length less three of a match.
    #[inline]
    pub(crate) fn length_code(self) -> u8 {
        (self.0 >> LENGTH_SHIFT) as u8
    }

    /// Distance less one of a match.
    #[inline]
    pub(crate) fn distance_code(self) -> u32 {
        self.0 & ((1 << SYMBOL_SHIFT) - 1)
    }

    /// Deflate's symbol for the distance of a match.
    #[inline]
    pub(crate) fn distance_symbol(self) -> usize {
        (self.0 >> SYMBOL_SHIFT & 31) as usize
    }
}

/// Deflate's symbol for a distance less one: two per doubling.
#[inline]
fn symbol(code: u32) -> u32 {
    if code < 2 {
        return code;
    }
    let high = code.ilog2();
    2 * high + (code >> (high - 1) & 1)
}

/// Where values of an earlier packet began.
#[derive(Clone, Copy)]
struct Place {
    ordinal: u32,
    transaction: u32,
}

const NO_PLACE: Place = Place { ordinal: NOWHERE, transaction: NOWHERE };

/// How often each symbol of deflate occurs in a block.
pub(crate) struct Frequencies {
    /// Literals, the end of the block, match lengths; more room than symbols, so that no index needs
    /// a check.
    pub(crate) literals: [u32; 512],
    pub(crate) distances: [u32; 32],
}

/// Finds the tokens of one block after another.
pub(crate) struct Matcher {
    pub(crate) tokens: Vec<Token>,
    pub(crate) frequencies: Frequencies,
    heads: Box<[u32; SLOTS]>,
    units: Box<[Place; SLOTS]>,
    transactions: Box<[u32; SLOTS]>,
}

impl Matcher {
    pub(crate) fn new() -> Self {
        Self {
            tokens: Vec::new(),
            frequencies: Frequencies { literals: [0; 512], distances: [0; 32] },
            heads: Box::new([NOWHERE; SLOTS]),
            units: Box::new([NO_PLACE; SLOTS]),
            transactions: Box::new([NOWHERE; SLOTS]),
        }
    }

    /// The tokens of the first `len` of `bytes`.
    pub(crate) fn run(&mut self, bytes: &[u8], len: usize, hints: &[Hint]) {
        assert!(bytes.len() >= len + SLACK, "a block has room behind its end");
        self.tokens.clear();
        self.frequencies = Frequencies { literals: [0; 512], distances: [0; 32] };
        self.heads.fill(NOWHERE);
        self.units.fill(NO_PLACE);
        self.transactions.fill(NOWHERE);
        let mut at = 0;
        for (number, hint) in hints.iter().enumerate() {
            let end = hints.get(number + 1).map_or(len, |next| next.start as usize);
            at = self.packet(bytes, len, hint, at, end);
        }
        self.literals(bytes, at, len);
    }

    /// Covers the packet of `hint`, which ends at `end`, from `at` on; gives the position behind the
    /// last token, which may lie in a later packet.
    #[inline]
    fn packet(&mut self, bytes: &[u8], len: usize, hint: &Hint, at: usize, end: usize) -> usize {
        let slot = |key: u16| usize::from(key) % SLOTS;
        let start = hint.start as usize;
        let ordinal = (start + usize::from(hint.ordinal_at)).min(end);
        let transaction = (start + usize::from(hint.transaction_at)).min(end);
        let here = Place { ordinal: ordinal as u32, transaction: transaction as u32 };
        let head = std::mem::replace(&mut self.heads[slot(hint.head)], hint.start);
        let unit = std::mem::replace(&mut self.units[slot(hint.unit)], here);
        let earlier = std::mem::replace(&mut self.transactions[slot(hint.transaction)], here.transaction);
        let from = |place: u32, offset: usize| place as usize + offset;

        // Packets without hints in between.
        let mut at = self.literals(bytes, at, start);
        while at < ordinal {
            let (source, length) = longest(bytes, len, at, from(head, at - start), (0, 0));
            at = self.token(bytes, at, source, length);
        }
        // An ordinal differs from the unit's last one at once.
        at = self.literals(bytes, at, (ordinal + 1).min(end));
        while at < transaction {
            let (source, length) = longest(bytes, len, at, from(unit.ordinal, at - ordinal), (0, 0));
            at = self.token(bytes, at, source, length);
        }
        while at < end {
            let offset = at - transaction;
            let known = longest(bytes, len, at, from(unit.transaction, offset), (0, 0));
            let (source, length) = longest(bytes, len, at, from(earlier, offset), known);
            at = self.token(bytes, at, source, length);
        }
        at
    }

    /// Appends literals from `at` to `end`; gives the larger of the two.
    #[inline]
    fn literals(&mut self, bytes: &[u8], at: usize, end: usize) -> usize {
        for &byte in bytes.get(at..end).unwrap_or_default() {
            self.tokens.push(Token::literal(byte));
            self.frequencies.literals[usize::from(byte)] += 1;
        }
        at.max(end)
    }

    /// Appends a match if it is long enough, or a literal; gives the position behind it.
    #[inline]
    fn token(&mut self, bytes: &[u8], at: usize, source: usize, length: usize) -> usize {
        if length < MIN_MATCH {
            return self.literals(bytes, at, at + 1);
        }
        let token = Token::of_match(length, at - source);
        self.tokens.push(token);
        let (symbol, _) = LENGTH[usize::from(token.length_code())];
        self.frequencies.literals[usize::from(symbol) % 512] += 1;
        self.frequencies.distances[token.distance_symbol()] += 1;
        at + length
    }
}

/// The longer of a match that is known, as source and length, and what `from` offers; the nearer of
/// two as long. Matches end with the block: what lies behind it must not decide between them.
#[inline]
fn longest(bytes: &[u8], len: usize, at: usize, from: usize, known: (usize, usize)) -> (usize, usize) {
    // One comparison for a place that is nowhere, not earlier, or too far.
    if at.wrapping_sub(from).wrapping_sub(1) >= WINDOW {
        return known;
    }
    let same = common(bytes, from, at).min(len - at);
    if same > known.1 || same == known.1 && from > known.0 { (from, same) } else { known }
}

/// How many bytes from `from` and from `at` on are the same, at most [`MAX_MATCH`].
#[inline]
fn common(bytes: &[u8], from: usize, at: usize) -> usize {
    let (Some(earlier), Some(later)) = (reach(bytes, from), reach(bytes, at)) else { return 0 };
    let mut same = 0;
    for (a, b) in earlier.as_chunks::<8>().0.iter().zip(later.as_chunks::<8>().0) {
        let differ = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differ != 0 {
            return (same + differ.trailing_zeros() as usize / 8).min(MAX_MATCH);
        }
        same += 8;
    }
    MAX_MATCH
}

/// All that a match may cover.
#[inline]
fn reach(bytes: &[u8], at: usize) -> Option<&[u8; MAX_MATCH.next_multiple_of(8)]> {
    bytes.get(at..)?.first_chunk()
}
