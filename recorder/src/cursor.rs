//! A position in a small array, for encoders that write a record of known greatest size.
//!
//! # Invariants
//!
//! * The position is one byte and the array is larger than any position plus any single write, so
//!   no write needs a bounds check and none can be out of bounds.
//! * A write may touch bytes beyond the position it leaves; what follows overwrites them.

/// Most bytes of one record.
pub(crate) const RECORD: usize = 256;
/// Most bytes of one write.
const WRITE: usize = 136;
/// Bytes of the array.
pub(crate) const ROOM: usize = RECORD + WRITE;

/// Writes into `&mut [u8; ROOM]` from the front.
pub(crate) struct Cursor<'a> {
    out: &'a mut [u8; ROOM],
    at: u8,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub(crate) fn new(out: &'a mut [u8; ROOM]) -> Self {
        Self { out, at: 0 }
    }

    /// Bytes written.
    #[inline]
    pub(crate) fn at(&self) -> usize {
        self.at.into()
    }

    #[inline]
    pub(crate) fn byte(&mut self, byte: u8) {
        self.out[usize::from(self.at)] = byte;
        self.at += 1;
    }

    /// Writes `bytes` and keeps the first `len`.
    #[inline]
    pub(crate) fn copy<const M: usize>(&mut self, bytes: &[u8; M], len: u8) {
        const { assert!(M <= WRITE, "a write has room behind the last position") };
        let at = usize::from(self.at);
        self.out[at..at + M].copy_from_slice(bytes);
        self.at += len;
    }

    /// Writes the bytes of `word`, lowest first, and keeps the first `len`.
    #[inline]
    pub(crate) fn word(&mut self, word: u64, len: u8) {
        self.copy(&word.to_le_bytes(), len);
    }

    /// Sets a byte that was written.
    #[inline]
    pub(crate) fn set(&mut self, at: u8, byte: u8) {
        self.out[usize::from(at)] = byte;
    }

    /// The position.
    #[inline]
    pub(crate) fn mark(&self) -> u8 {
        self.at
    }

    /// Moves what was written from `from` on one byte back.
    pub(crate) fn shift(&mut self, from: u8) {
        self.out.copy_within(usize::from(from)..usize::from(self.at), usize::from(from) + 1);
        self.at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_follow_each_other() {
        let mut room = [0; ROOM];
        let mut out = Cursor::new(&mut room);
        out.byte(1);
        out.word(0x0807_0605_0403_0202, 3);
        out.copy(b"abc", 2);
        out.set(0, 9);
        out.shift(1);
        assert_eq!(out.at(), 7);
        assert_eq!(room[2..7], [2, 2, 3, b'a', b'b']);
        assert_eq!(room[0], 9);
    }

    #[test]
    fn the_last_position_has_room() {
        let mut room = [0; ROOM];
        let mut out = Cursor::new(&mut room);
        (0..255).for_each(|_| out.byte(7));
        out.copy(&[8; WRITE], 0);
        assert_eq!(out.at(), 255);
    }
}
