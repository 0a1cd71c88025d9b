//! A trace's bytes, whether or not the file as a whole is compressed.

use std::io::{self, BufReader, Read};

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

/// What a reader begins with, and a reader of all of it.
pub(crate) fn peek<R: Read>(
    mut source: R,
) -> io::Result<([u8; 4], io::Chain<io::Take<io::Cursor<[u8; 4]>>, R>)> {
    let (mut head, mut filled) = ([0; 4], 0);
    while filled < head.len() {
        match source.read(&mut head[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok((head, io::Cursor::new(head).take(filled as u64).chain(source)))
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

/// A reader of the trace in `source`, and how `source` is compressed.
pub(crate) fn decoded<'a>(
    source: impl Read + Send + 'a,
) -> io::Result<(Box<dyn Read + Send + 'a>, FileCodec)> {
    let (head, whole) = peek(source)?;
    let codec = FileCodec::of(&head);
    let reader: Box<dyn Read + Send + 'a> = match codec {
        FileCodec::None => Box::new(whole),
        FileCodec::Gzip => Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole))),
        FileCodec::Zstd => Box::new(zstd::Decoder::new(whole)?),
    };
    Ok((reader, codec))
}
