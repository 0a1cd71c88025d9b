//! Floor division of 128-bit numbers, which is a shift where the divisor is a power of two.
//!
//! Most divisors are: threads weigh 2^16 and so does a group that holds all runnable threads of its
//! job. An arithmetic shift is floor division for every numerator, negative ones and the least one
//! included; a general 128-bit division is a library call.

#[cfg(feature = "count-divisions")]
use core::sync::atomic::{AtomicU64, Ordering};

#[cfg(feature = "count-divisions")]
static DIVISIONS: AtomicU64 = AtomicU64::new(0);

/// Divisions since the program began that were no shifts, by this thread alone: another thread's
/// may get lost.
#[cfg(feature = "count-divisions")]
pub fn divisions() -> u64 {
    DIVISIONS.load(Ordering::Relaxed)
}

#[inline]
fn note_division() {
    #[cfg(feature = "count-divisions")]
    DIVISIONS.store(DIVISIONS.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// `n / d`, rounded towards minus infinity.
///
/// # Panics
/// If `d` is 0.
#[inline]
pub fn div(n: i128, d: u64) -> i128 {
    if d.is_power_of_two() {
        return n >> d.trailing_zeros();
    }
    floor(n, d).0
}

/// Quotient and remainder of `n / d`, with `0 <= remainder < d`.
///
/// # Panics
/// If `d` is 0.
#[inline]
pub fn div_rem(n: i128, d: u64) -> (i128, u64) {
    if d.is_power_of_two() {
        let remainder = n as u64 & (d - 1);
        return (n >> d.trailing_zeros(), remainder);
    }
    floor(n, d)
}

/// The general case of both.
fn floor(n: i128, d: u64) -> (i128, u64) {
    note_division();
    // The hardware's own divisions where they suffice: one, or two as by hand with digits of 24 bits, since a remainder
    // below 2^40 and a digit fit 64 bits.
    if let Ok(n) = u64::try_from(n) {
        return (i128::from(n / d), n % d);
    }
    if d >> 40 == 0
        && let Ok(high) = u64::try_from(n >> 24)
    {
        let low = (high % d) << 24 | (n as u64 & 0xff_ffff);
        return ((i128::from(high / d) << 24) + i128::from(low / d), low % d);
    }
    let d = i128::from(d);
    let quotient = n / d;
    let remainder = n - quotient * d;
    if remainder < 0 { (quotient - 1, (remainder + d) as u64) } else { (quotient, remainder as u64) }
}

/// `n / d` of small numbers without sign.
///
/// # Panics
/// If `d` is 0.
#[inline]
pub(crate) fn share(n: u128, d: u64) -> u128 {
    if d.is_power_of_two() {
        return n >> d.trailing_zeros();
    }
    note_division();
    u64::try_from(n).map_or_else(|_| n / u128::from(d), |n| u128::from(n / d))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weyl sequence through the finalizer of SplitMix64.
    fn word(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn numerators() -> impl Iterator<Item = i128> {
        let powers = (0..127).map(|k| 1i128 << k);
        let around = powers.flat_map(|p| [p - 1, p, p + 1]).flat_map(|p| [p, -p]);
        let mut state = 1;
        let random = (0..500)
            .map(move |_| i128::from(word(&mut state).cast_signed()) << 64 | i128::from(word(&mut state)));
        [i128::MIN, i128::MIN + 1, -1, 0, 1, i128::MAX - 1, i128::MAX].into_iter().chain(around).chain(random)
    }

    #[test]
    fn both_divisions_are_euclidean() {
        let powers = (0..64).map(|k| 1u64 << k);
        let mut state = 2;
        let odd = [3, 5, 7, 10, 21_845, 65_535, 65_537, 98_304, (1 << 40) - 1, u64::MAX];
        let random = (0..20).map(|_| (word(&mut state) >> (word(&mut state) % 63)).max(3));
        for d in powers.chain(odd).chain(random) {
            let wide = i128::from(d);
            for n in numerators() {
                let expected = (n.div_euclid(wide), n.rem_euclid(wide) as u64);
                assert_eq!(div(n, d), expected.0, "{n} / {d}");
                assert_eq!(div_rem(n, d), expected, "{n} / {d}");
            }
        }
    }

    #[test]
    fn shares_are_quotients() {
        for d in 1..300u64 {
            for n in [0u128, 1, 65_536, 65_536 * 7, 1 << 80] {
                assert_eq!(share(n, d), n / u128::from(d));
            }
        }
    }
}
