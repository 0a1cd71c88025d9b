//! Unsigned decimals written into a fixed array.

/// The hundred two-digit numbers.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut n = 0;
    while n < 100 {
        pairs[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    pairs
};

/// Digits of `value`.
#[inline]
fn digits(value: u64) -> usize {
    value.checked_ilog10().unwrap_or(0) as usize + 1
}

/// Writes `value` at `at`; gives the position behind it.
#[inline]
pub(crate) fn put<const N: usize>(out: &mut [u8; N], at: usize, value: u64) -> usize {
    if value < 10 {
        out[at] = b'0' + value as u8;
        return at + 1;
    }
    let end = at + digits(value);
    let (mut to, mut rest) = (end, value);
    while rest >= 100 {
        to -= 2;
        out[to..to + 2].copy_from_slice(&PAIRS[(rest % 100) as usize]);
        rest /= 100;
    }
    if rest >= 10 {
        out[to - 2..to].copy_from_slice(&PAIRS[rest as usize]);
    } else {
        out[to - 1] = b'0' + rest as u8;
    }
    end
}

/// Copies the first `len` of `bytes` to `at`; gives the position behind them.
#[inline]
pub(crate) fn copy<const N: usize, const M: usize>(
    out: &mut [u8; N],
    at: usize,
    bytes: &[u8; M],
    len: usize,
) -> usize {
    out[at..at + M].copy_from_slice(bytes);
    at + len
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_the_standard_library(value: u64, shift in 0u32..64) {
            let value = value >> shift;
            let mut out = [0u8; 32];
            let end = put(&mut out, 5, value);
            prop_assert_eq!(std::str::from_utf8(&out[5..end]).unwrap(), value.to_string());
        }
    }

    #[test]
    fn powers_of_ten_and_their_neighbours() {
        for power in 0..20u32 {
            let ten = 10u64.pow(power);
            for value in [ten - 1, ten, ten + 1] {
                let mut out = [0u8; 24];
                let end = put(&mut out, 0, value);
                assert_eq!(std::str::from_utf8(&out[..end]).unwrap(), value.to_string());
            }
        }
    }
}
