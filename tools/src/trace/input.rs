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
