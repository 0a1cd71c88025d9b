//! Reflected binary (Gray) code.

/// The Gray code of `binary`: `b ^ (b >> 1)`.
#[inline]
pub const fn to_gray(binary: u32) -> u32 {
    binary ^ (binary >> 1)
}

/// The number whose Gray code is `gray`: each bit is the exclusive or of all bits at or above it.
#[inline]
pub const fn from_gray(gray: u32) -> u32 {
    let mut binary = gray;
    binary ^= binary >> 1;
    binary ^= binary >> 2;
    binary ^= binary >> 4;
    binary ^= binary >> 8;
    binary ^ (binary >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_codes_are_the_textbook_ones() {
        let codes: Vec<u32> = (0..8).map(to_gray).collect();
        assert_eq!(codes, [0b000, 0b001, 0b011, 0b010, 0b110, 0b111, 0b101, 0b100]);
    }

    #[test]
    fn successors_differ_in_one_bit_also_at_the_wrap() {
        for bits in [2, 3, 5, 16] {
            let size = 1u32 << bits;
            for n in 0..size {
                let next = (n + 1) % size;
                assert_eq!((to_gray(n) ^ to_gray(next)).count_ones(), 1);
                assert_eq!(from_gray(to_gray(n)), n);
            }
        }
        assert_eq!(from_gray(to_gray(u32::MAX)), u32::MAX);
    }
}
