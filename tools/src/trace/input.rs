//! A trace's bytes, whether or not the file as a whole is compressed.

use std::io::{self, BufReader, ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flate2::read::MultiGzDecoder;
use serde::Serialize;

/// How a file as a whole is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileCodec {
    /// Not at all.
    None,
    /// gzip, one member or more.
    Gzip,
    /// zstd, one frame or more.
    Zstd,
}

/// A reader whose beginning was looked at.
pub(crate) type Peeked<R> = io::Chain<io::Cursor<Vec<u8>>, R>;

/// The first four bytes of a reader, or all there are, and a reader of everything.
pub(crate) fn peek<R: Read>(mut source: R) -> io::Result<(Vec<u8>, Peeked<R>)> {
    let mut head = Vec::with_capacity(4);
    source.by_ref().take(4).read_to_end(&mut head)?;
    Ok((head.clone(), io::Cursor::new(head).chain(source)))
}

impl FileCodec {
    /// The codec whose files begin with `head`.
    pub(crate) fn of(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            _ => Self::None,
        }
    }
}

/// Bytes that a decompressor is fed at once. What it made of a piece is lost where the piece turns out to be damaged.
const PIECE: usize = 512;
/// Bytes that are read at once.
const BLOCK: usize = 1 << 16;

/// Fills what it is given while there is anything: what is read through it does not depend on how the bytes arrive.
struct Steady<R> {
    source: R,
    failed: Option<io::Error>,
}

impl<R: Read> Read for Steady<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() && self.failed.is_none() {
            match self.source.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => self.failed = Some(error),
            }
        }
        if filled > 0 {
            return Ok(filled);
        }
        self.failed.take().map_or(Ok(0), Err)
    }
}

/// What a decompressor complains of, behind what it could read; errors of the file itself are not this.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct FileDamage(pub(crate) String);

/// Notes whether the file itself could not be read.
struct Noting<R> {
    source: R,
    failed: Arc<AtomicBool>,
}

impl<R: Read> Read for Noting<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(out);
        if read.as_ref().is_err_and(|error| error.kind() != ErrorKind::Interrupted) {
            self.failed.store(true, Ordering::Relaxed);
        }
        read
    }
}

/// Tells damage from a file that cannot be read.
struct Telling<R> {
    decoder: R,
    failed: Arc<AtomicBool>,
}

impl<R: Read> Read for Telling<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(out).map_err(|error| {
            if error.kind() == ErrorKind::Interrupted || self.failed.load(Ordering::Relaxed) {
                return error;
            }
            io::Error::new(ErrorKind::InvalidData, FileDamage(error.to_string()))
        })
    }
}

impl FileDamage {
    /// The damage that an error tells of.
    pub(crate) fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

/// A reader of the trace in `source`, and how `source` is compressed.
pub(crate) fn decoded<'a>(
    source: impl Read + Send + 'a,
) -> io::Result<(Box<dyn Read + Send + 'a>, FileCodec)> {
    let (head, whole) = peek(source)?;
    let codec = FileCodec::of(&head);
    let failed = Arc::new(AtomicBool::new(false));
    let pieces = |source| {
        let whole = Noting { source, failed: Arc::clone(&failed) };
        let source = BufReader::with_capacity(BLOCK, whole);
        BufReader::with_capacity(PIECE, Steady { source, failed: None })
    };
    let reader: Box<dyn Read + Send + 'a> = match codec {
        FileCodec::None => Box::new(whole),
        FileCodec::Gzip => Box::new(Telling { decoder: MultiGzDecoder::new(pieces(whole)), failed }),
        FileCodec::Zstd => Box::new(Telling { decoder: zstd::Decoder::with_buffer(pieces(whole))?, failed }),
    };
    Ok((reader, codec))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Gives a few bytes at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(out.len());
            let (given, left) = self.0.split_at(count);
            out[..count].copy_from_slice(given);
            self.0 = left;
            Ok(count)
        }
    }

    fn read_of(source: impl Read + Send) -> Vec<u8> {
        let mut got = Vec::new();
        // Damage is an error behind what could be read.
        let _ = decoded(source).unwrap().0.read_to_end(&mut got);
        got
    }

    #[test]
    fn a_damaged_file_gives_the_same_however_it_arrives() {
        let mut state = 1u64;
        let content: Vec<u8> = (0..600_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 61) as u8
            })
            .collect();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&content).unwrap();
        for packed in [gzip.finish().unwrap(), zstd::encode_all(&content[..], 1).unwrap()] {
            assert_eq!(read_of(&packed[..]), content);
            for at in [1_000, packed.len() / 2, packed.len() - 1_000] {
                let mut damaged = packed.clone();
                damaged[at..at + 16].fill(0xff);
                let whole = read_of(&damaged[..]);
                for step in [1, 7, 511, 65_537] {
                    assert_eq!(
                        read_of(Drip(&damaged, step)),
                        whole,
                        "damage at {at}, {step} bytes at a time"
                    );
                }
            }
        }
    }
}
