//! Base-128 varints.

use crate::cursor::Cursor;

/// Most bytes of one 64-bit varint.
pub(crate) const MAX: usize = 10;
/// Values below this have at most seven bytes, and with a tag fit one word.
pub(crate) const WORD_END: u64 = 1 << 49;

/// Bytes of a varint by its highest set bit.
const LENGTH: [u8; 64] = {
    let mut lengths = [0; 64];
    let mut bit = 0;
    while bit < 64 {
        lengths[bit] = (bit / 7 + 1) as u8;
        bit += 1;
    }
    lengths
};

/// Continuation bits of a varint of at most seven bytes by its highest set bit.
const CONTINUED: [u64; 64] = {
    let mut masks = [0; 64];
    let mut bit = 0;
    while bit < 56 {
        masks[bit] = ((1u64 << (bit / 7 * 8)) - 1) & 0x8080_8080_8080_8080;
        bit += 1;
    }
    masks
};

/// Writes `value`.
#[inline]
pub(crate) fn put(out: &mut Cursor<'_>, value: u64) {
    let mut rest = value;
    while rest >= 0x80 {
        out.byte(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.byte(rest as u8);
}

/// Writes the tag of a field, one byte, and its value.
#[inline]
pub(crate) fn field(out: &mut Cursor<'_>, tag: u8, value: u64) {
    out.byte(tag);
    put(out, value);
}

/// As [`field`] for a value below [`WORD_END`], without a branch.
#[inline]
pub(crate) fn word_field(out: &mut Cursor<'_>, tag: u8, value: u64) {
    debug_assert!(value < WORD_END, "a value of at most 49 bits");
    // Seven bits per byte: the upper half moves up four bits, then the upper quarters two, then the
    // upper eighths one; moving a part up is adding a multiple of it.
    let x = value + 15 * (value & 0x00ff_ffff_f000_0000);
    let x = x + 3 * (x & 0x0fff_c000_0fff_c000);
    let x = x + (x & 0x3f80_3f80_3f80_3f80);
    let highest = (value | 1).ilog2() as usize & 63;
    out.word((x | CONTINUED[highest]) << 8 | u64::from(tag), 1 + LENGTH[highest]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::ROOM;
    use proptest::prelude::*;

    fn written(write: impl FnOnce(&mut Cursor<'_>)) -> Vec<u8> {
        let mut room = [0xff; ROOM];
        let mut out = Cursor::new(&mut room);
        write(&mut out);
        let end = out.at();
        room[..end].to_vec()
    }

    /// A field as prost writes it, with a tag of our own.
    fn by_prost(value: u64) -> Vec<u8> {
        let mut expected = vec![0x28];
        prost::encoding::encode_varint(value, &mut expected);
        expected
    }

    proptest! {
        #[test]
        fn equals_prost(value: u64, shift in 0u32..64) {
            let value = value >> shift;
            prop_assert_eq!(written(|out| field(out, 0x28, value)), by_prost(value));
        }

        #[test]
        fn words_equal_prost(value in 0..WORD_END, shift in 0u32..49) {
            let value = value >> shift;
            prop_assert_eq!(written(|out| word_field(out, 0x28, value)), by_prost(value));
        }
    }

    #[test]
    fn words_at_every_length() {
        for bits in 0..49 {
            for value in [1u64 << bits, (1 << bits) - 1] {
                assert_eq!(written(|out| word_field(out, 0x28, value)), by_prost(value));
            }
        }
    }
}
