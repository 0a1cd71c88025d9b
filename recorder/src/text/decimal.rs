//! Unsigned decimals, eight digits at a time.
//!
//! A number below 10^8 is spread over the bytes of a word: halves of four digits, quarters of two,
//! bytes of one, each step a multiplication by a scaled reciprocal on all parts at once.

use crate::cursor::Cursor;

const ZEROS: u64 = 0x3030_3030_3030_3030;
const EIGHT_DIGITS: u64 = 100_000_000;

/// The digits of `value`, below 10^8, one per byte, the first in the lowest.
#[inline]
fn spread(value: u64) -> u64 {
    debug_assert!(value < EIGHT_DIGITS, "at most eight digits");
    let high = value / 10_000;
    let fours = high | (value - 10_000 * high) << 32;
    // x / 100 for x < 10^4, x / 10 for x < 100.
    let hundreds = ((fours * 5243) >> 19) & 0x0000_007f_0000_007f;
    let twos = hundreds | (fours - 100 * hundreds) << 16;
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | (twos - 10 * tens) << 8
}

#[inline]
fn leading(out: &mut Cursor<'_>, value: u64) {
    let digits = spread(value);
    // Leading zeros are the low bytes; the last digit stays even if it is one.
    let skip = (digits | 1 << 63).trailing_zeros() & 56;
    out.word((digits | ZEROS) >> skip, 8 - (skip >> 3) as u8);
}

/// Writes `value`.
#[inline]
pub(crate) fn put(out: &mut Cursor<'_>, value: u64) {
    if value < 10 {
        out.byte(b'0' + value as u8);
    } else if value < EIGHT_DIGITS {
        leading(out, value);
    } else {
        wide(out, value);
    }
}

fn wide(out: &mut Cursor<'_>, value: u64) {
    let (high, low) = (value / EIGHT_DIGITS, value % EIGHT_DIGITS);
    put(out, high);
    out.word(spread(low) | ZEROS, 8);
}

/// A number that mostly stays the same or grows by one, kept as digits.
#[derive(Clone, Copy)]
pub(crate) struct Running {
    value: u64,
    /// Its digits, the first in the lowest byte.
    digits: u64,
    /// Where in `digits` the last one is.
    last: u32,
}

impl Default for Running {
    fn default() -> Self {
        Self { value: 0, digits: u64::from(b'0'), last: 0 }
    }
}

impl Running {
    /// Writes `value`, which becomes the number.
    #[inline]
    pub(crate) fn put(&mut self, out: &mut Cursor<'_>, value: u64) {
        let step = value.wrapping_sub(self.value);
        if step > 1 || (self.digits >> self.last) + step > u64::from(b'9') {
            self.renew(value);
        } else {
            self.value = value;
            self.digits += step << self.last;
        }
        if self.value == value {
            out.word(self.digits, 1 + (self.last >> 3) as u8);
        } else {
            put(out, value);
        }
    }

    /// Takes on `value` if its digits fit.
    fn renew(&mut self, value: u64) {
        if value < EIGHT_DIGITS {
            let digits = spread(value);
            let skip = (digits | 1 << 63).trailing_zeros() & 56;
            *self = Self { value, digits: (digits | ZEROS) >> skip, last: 56 - skip };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::ROOM;
    use proptest::prelude::*;

    fn by_put(value: u64) -> String {
        let mut room = [0; ROOM];
        let mut out = Cursor::new(&mut room);
        put(&mut out, value);
        let end = out.at();
        String::from_utf8(room[..end].to_vec()).unwrap()
    }

    proptest! {
        #[test]
        fn equals_the_standard_library(value: u64, shift in 0u32..64) {
            let value = value >> shift;
            prop_assert_eq!(by_put(value), value.to_string());
        }
    }

    #[test]
    fn powers_of_ten_and_their_neighbours() {
        for power in 0..20u32 {
            let ten = 10u64.pow(power);
            for value in [ten - 1, ten, ten + 1, ten / 8 * 9] {
                assert_eq!(by_put(value), value.to_string());
            }
        }
        assert_eq!(by_put(u64::MAX), u64::MAX.to_string());
    }

    #[test]
    fn running_numbers_may_stay_step_and_jump() {
        let mut running = Running::default();
        let mut values: Vec<u64> = vec![0, 0, 1, 1, 2];
        values.extend(2..1200);
        values.extend([1199, 7, 7, 8, 9, 10, 0, 99_999_998]);
        values.extend(99_999_998..100_000_012);
        values.extend([99_999_999, 99_999_999, 100_000_000, 3, 4, u64::MAX, 0, u64::MAX, 1]);
        for value in values {
            let mut room = [0; ROOM];
            let mut out = Cursor::new(&mut room);
            running.put(&mut out, value);
            let end = out.at();
            assert_eq!(std::str::from_utf8(&room[..end]).unwrap(), value.to_string());
        }
    }

    #[test]
    fn every_number_of_four_digits() {
        for value in 0..10_000u64 {
            assert_eq!(by_put(value), value.to_string());
            assert_eq!(by_put(value * 10_000 + 7), (value * 10_000 + 7).to_string());
        }
    }
}
