//! Base-128 varints written into a fixed array.

/// Most bytes of one 64-bit varint.
pub(crate) const MAX: usize = 10;

/// Writes `value` at `at`; gives the position behind it.
#[inline]
pub(crate) fn put<const N: usize>(out: &mut [u8; N], at: usize, value: u64) -> usize {
    let (mut at, mut rest) = (at, value);
    while rest >= 0x80 {
        out[at] = rest as u8 | 0x80;
        rest >>= 7;
        at += 1;
    }
    out[at] = rest as u8;
    at + 1
}

/// Writes the tag of a field, one byte, and its value; gives the position behind them.
#[inline]
pub(crate) fn field<const N: usize>(out: &mut [u8; N], at: usize, tag: u8, value: u64) -> usize {
    out[at] = tag;
    put(out, at + 1, value)
}

/// Copies `bytes` to `at`; gives the position behind them.
#[inline]
pub(crate) fn put_tag<const N: usize, const M: usize>(
    out: &mut [u8; N],
    at: usize,
    bytes: &[u8; M],
) -> usize {
    out[at..at + M].copy_from_slice(bytes);
    at + M
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_prost(value: u64, shift in 0u32..64) {
            let value = value >> shift;
            let mut out = [0u8; 16];
            let end = put(&mut out, 3, value);
            let mut expected = Vec::new();
            prost::encoding::encode_varint(value, &mut expected);
            prop_assert_eq!(&out[3..end], expected.as_slice());
        }
    }
}
