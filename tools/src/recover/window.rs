//! The input as a window that moves on, and the whole packets in it.

use std::io::{self, Read};

use clockweave_validators::scan::{Cut, CutReason, Entries, Entry, EntryFault};

use super::RecoverError;
use crate::trace::{FileCodec, FileDamage, decoded};

/// Bytes read at once.
pub(super) const BLOCK: usize = 256 * 1024;

/// Most bytes of a packet: more is taken for damage, so that memory is bounded whatever a header claims.
pub(super) const LONGEST: u64 = 256 << 20;

/// The part of the input that is in memory; it grows only as far as data arrives.
pub(super) struct Window<R> {
    source: R,
    buffer: Vec<u8>,
    pub(super) filled: usize,
    /// Offset in the input of the buffer's first byte.
    pub(super) offset: u64,
    pub(super) ended: bool,
}

impl<R: Read> Window<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, buffer: vec![0; BLOCK], filled: 0, offset: 0, ended: false }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.filled]
    }

    /// Bytes of memory held.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.buffer.len()
    }

    /// Gives the source back.
    pub(super) fn into_source(self) -> R {
        self.source
    }

    /// Lets go of the first `bytes` bytes and reads on.
    pub(super) fn advance(&mut self, bytes: usize) -> Result<(), RecoverError> {
        self.buffer.copy_within(bytes..self.filled, 0);
        self.filled -= bytes;
        self.offset += bytes as u64;
        if self.filled == self.buffer.len() {
            self.buffer.resize(self.filled * 2, 0);
        }
        // One read, so that a slow source is copied as it comes.
        loop {
            match self.source.read(&mut self.buffer[self.filled..]) {
                Ok(read) => {
                    self.ended = read == 0;
                    self.filled += read;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(RecoverError::Read { offset: self.offset + self.filled as u64, source });
                }
            }
        }
    }
}

/// How far a walk over a window came.
pub(super) struct Walk {
    /// Bytes of whole packets passed.
    pub(super) passed: usize,
    /// What stopped it; `None` at the end of the bytes.
    pub(super) stop: Option<Cut>,
}

/// Walks whole packets until one is refused, one is incomplete, or the bytes end.
pub(super) fn walk(bytes: &[u8], offset: u64, mut visit: impl FnMut(&Entry<'_>) -> Result<(), Cut>) -> Walk {
    let mut passed = 0;
    for entry in Entries::new(bytes) {
        let step = match entry {
            Ok(entry) => {
                let placed = Entry { offset: offset + entry.offset, ..entry };
                visit(&placed).map(|()| entry.header_len + entry.payload.len())
            }
            Err(error) => {
                Err(Cut { offset: offset + error.offset, reason: CutReason::Entry(fault_of(error.fault)) })
            }
        };
        match step {
            Ok(length) => passed += length,
            Err(cut) => return Walk { passed, stop: Some(cut) },
        }
    }
    Walk { passed, stop: None }
}

/// A packet that is too long is not waited for.
pub(super) fn fault_of(found: EntryFault) -> EntryFault {
    match found {
        EntryFault::TornPayload { need, .. } if need > LONGEST => {
            EntryFault::TooLong { length: need, limit: LONGEST }
        }
        other => other,
    }
}

/// Whether more bytes may complete the packet.
pub(super) fn is_torn(cut: &Cut) -> bool {
    matches!(cut.reason, CutReason::Entry(EntryFault::TornHeader | EntryFault::TornPayload { .. }))
}

/// Hands out what `source` gives and takes a decompressor's complaint for the end: what came before counts.
/// Errors of the file itself stay errors.
pub(super) struct Decoding<R> {
    source: R,
    damage: Option<String>,
}

impl<'a> Decoding<Box<dyn Read + Send + 'a>> {
    /// The trace in `source`, which may be compressed as a whole.
    pub(super) fn new(source: impl Read + Send + 'a) -> io::Result<(Self, FileCodec)> {
        let (source, codec) = decoded(source)?;
        Ok((Self { source, damage: None }, codec))
    }
}

impl<R> Decoding<R> {
    /// Why decompression ended early.
    pub(super) fn into_damage(self) -> Option<String> {
        self.damage
    }
}

impl<R: Read> Read for Decoding<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.damage.is_some() {
            return Ok(0);
        }
        self.source.read(out).or_else(|error| {
            let FileDamage(damage) = FileDamage::of(&error).cloned().ok_or(error)?;
            self.damage = Some(damage);
            Ok(0)
        })
    }
}
