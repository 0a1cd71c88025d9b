//! Lines of a byte source, without a copy per line.
//!
//! Invariants: memory is one buffer, whatever the source holds; a line longer than [`MAX_LINE`] is
//! passed over, never kept. Knows nothing of what a line means.

use std::io::{self, Read};
use std::ops::Range;

/// Longest line kept, without its line feed.
pub(crate) const MAX_LINE: usize = 64 * 1024;

/// What [`Lines::advance`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A whole line; [`Lines::line`] has it.
    Line,
    /// A whole line too long to keep.
    TooLong,
    /// Bytes after the last line feed; [`Lines::line`] has their beginning.
    Torn,
    /// The end of the source.
    End,
}

#[derive(Debug)]
pub(crate) struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    line: Range<usize>,
    /// Offset in the source of `buffer[start]`.
    offset: u64,
    /// Offset in the source of the line found last.
    begin: u64,
    number: u64,
    exhausted: bool,
}

impl<R: Read> Lines<R> {
    /// Reads `source` through a buffer of `capacity` bytes, which grows only for a longer line.
    pub(crate) fn new(source: R, capacity: usize) -> Self {
        Self {
            source,
            buffer: vec![0; capacity.max(1)],
            start: 0,
            end: 0,
            line: 0..0,
            offset: 0,
            begin: 0,
            number: 0,
            exhausted: false,
        }
    }

    /// The line found last, without its line feed.
    #[inline]
    pub(crate) fn line(&self) -> &[u8] {
        &self.buffer[self.line.clone()]
    }

    /// Number of the line found last, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Offset in the source of the line found last.
    pub(crate) fn begin(&self) -> u64 {
        self.begin
    }

    /// Offset in the source of the byte after the line found last.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Finds the next line.
    #[inline]
    pub(crate) fn advance(&mut self) -> io::Result<Step> {
        self.begin = self.offset;
        if let Some(length) = memchr::memchr(b'\n', &self.buffer[self.start..self.end]) {
            self.take(length);
            return Ok(if length > MAX_LINE { Step::TooLong } else { Step::Line });
        }
        self.advance_slowly()
    }

    fn take(&mut self, length: usize) {
        self.line = self.start..self.start + length;
        self.start += length + 1;
        self.offset += length as u64 + 1;
        self.number += 1;
    }

    #[cold]
    fn advance_slowly(&mut self) -> io::Result<Step> {
        let mut searched = self.end - self.start;
        let mut passed_over = false;
        loop {
            if self.exhausted {
                let length = self.end - self.start;
                self.line = self.start..self.start + length.min(MAX_LINE);
                if length == 0 && !passed_over {
                    return Ok(Step::End);
                }
                self.number += 1;
                self.start = self.end;
                self.offset += length as u64;
                return Ok(Step::Torn);
            }
            if searched > MAX_LINE {
                self.offset += searched as u64;
                self.start = self.end;
                searched = 0;
                passed_over = true;
            }
            self.fill()?;
            let unsearched = self.start + searched;
            if let Some(found) = memchr::memchr(b'\n', &self.buffer[unsearched..self.end]) {
                let length = searched + found;
                self.take(length);
                return Ok(if passed_over || length > MAX_LINE { Step::TooLong } else { Step::Line });
            }
            searched = self.end - self.start;
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            let grown = (self.buffer.len() * 2).min(MAX_LINE + 1).max(self.buffer.len() + 1);
            self.buffer.resize(grown, 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.exhausted = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything a source holds: (number, step, line, offset after it).
    fn all(bytes: &[u8], capacity: usize) -> Vec<(u64, Step, String, u64)> {
        let mut lines = Lines::new(bytes, capacity);
        let mut found = Vec::new();
        loop {
            let step = lines.advance().unwrap();
            if step == Step::End {
                return found;
            }
            let text = String::from_utf8(lines.line().to_vec()).unwrap();
            found.push((lines.number(), step, text, lines.offset()));
        }
    }

    #[test]
    fn lines_are_cut_at_line_feeds_whatever_the_buffer() {
        for capacity in [1, 2, 3, 7, 4096] {
            assert_eq!(
                all(b"ab\n\nlonger line\nrest", capacity),
                [
                    (1, Step::Line, "ab".to_owned(), 3),
                    (2, Step::Line, String::new(), 4),
                    (3, Step::Line, "longer line".to_owned(), 16),
                    (4, Step::Torn, "rest".to_owned(), 20),
                ]
            );
            assert_eq!(all(b"", capacity), []);
        }
    }

    #[test]
    fn a_line_too_long_is_passed_over_in_bounded_memory() {
        for (length, step) in
            [(MAX_LINE, Step::Line), (MAX_LINE + 1, Step::TooLong), (1 << 22, Step::TooLong)]
        {
            let mut text = vec![b'x'; length];
            text.extend(b"\nnext\n");
            for capacity in [16, 1 << 16, 1 << 17] {
                let mut lines = Lines::new(&text[..], capacity);
                assert_eq!(lines.advance().unwrap(), step, "{length} in {capacity}");
                assert_eq!(lines.offset(), length as u64 + 1);
                assert_eq!(lines.advance().unwrap(), Step::Line);
                assert_eq!((lines.line(), lines.number()), (&b"next"[..], 2));
                assert!(lines.buffer.len() <= capacity.max(MAX_LINE + 1));
            }
        }
        let mut torn = Lines::new(&[b'x'; 1 << 20][..], 64);
        assert_eq!(torn.advance().unwrap(), Step::Torn);
        assert_eq!((torn.offset(), torn.advance().unwrap()), (1 << 20, Step::End));
    }
}
