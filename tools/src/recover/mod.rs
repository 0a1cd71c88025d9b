//! What still stands of a damaged trace: its longest valid prefix, copied byte for byte; on request
//! also the readable part of a torn wrapper ([`Extent::Unwrap`]), or what stands after the damage
//! ([`salvage`]).
//!
//! What is valid is decided by [`clockweave_validators::scan`], packet by packet; this module copies
//! and counts. A file that is compressed as a whole is read through; what is written is then the
//! trace inside, plain. Invariants: one pass over the input, memory of one read block and one packet; nothing
//! is written before a complete packet was seen; what is written is a prefix of the input.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use clockweave_validators::scan::{Cut, Entries, Packet, PrefixOptions, PrefixScanner, SliceTrack};
use serde::Serialize;

use crate::progress::Progress;
use crate::trace::FileCodec;

mod salvage;
mod unwrap;
mod window;

pub use salvage::{Hole, SalvageReport, salvage};
use window::{Decoding, Window, is_torn, walk};

/// How much of a damaged trace is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// Whole top-level packets.
    #[default]
    Prefix,
    /// Also the whole packets in a wrapper that is torn at the cut, uncompressed.
    Unwrap,
}

/// Why nothing was recovered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecoverError {
    /// Not one complete packet.
    #[error("found no complete packet, expected a Perfetto trace: {reason}{hint}")]
    NoPacket {
        /// What is wrong with the first bytes.
        reason: String,
        /// Empty, or what the file seems to be.
        hint: &'static str,
    },
    /// The input could not be read.
    #[error("reading at byte {offset}: {source}")]
    Read {
        /// Bytes read before.
        offset: u64,
        /// The error.
        source: io::Error,
    },
    /// The output could not be written.
    #[error("writing the recovered trace: {0}")]
    Write(#[source] io::Error),
}

/// One packet sequence of a recovered trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SequenceReport {
    /// Packets kept, those in wrappers included.
    pub kept_packets: u64,
    /// Whole packets after the cut that name this sequence, outside wrappers.
    pub dropped_packets: u64,
    /// Largest time kept, in ns.
    pub last_timestamp_ns: Option<u64>,
}

/// Slices begun and not ended on one track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OpenSlices {
    /// The track, or the sequence whose events name none.
    pub on: SliceTrack,
    /// How many.
    pub count: u64,
}

/// What was kept and what was not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecoverReport {
    /// How the input as a whole is compressed.
    pub file_codec: FileCodec,
    /// Why decompressing the input ended early, in the decompressor's words.
    pub file_damage: Option<String>,
    /// Bytes copied.
    pub kept_bytes: u64,
    /// Top-level packets copied.
    pub kept_packets: u64,
    /// Compressed wrappers among them.
    pub kept_wrappers: u64,
    /// Packets inside those wrappers.
    pub kept_inner_packets: u64,
    /// Packets of a torn wrapper that were written uncompressed.
    pub unwrapped_packets: u64,
    /// Bytes that those take.
    pub unwrapped_bytes: u64,
    /// Bytes left out.
    pub dropped_bytes: u64,
    /// Top-level packets left out that can be told apart, an incomplete last one included.
    pub dropped_packets: u64,
    /// Why and where the prefix ends; `None` if nothing was lost.
    pub cut: Option<Cut>,
    /// Largest time kept, in ns.
    pub last_timestamp_ns: Option<u64>,
    /// The sequences by id.
    pub sequences: BTreeMap<u32, SequenceReport>,
    /// Slices left open by the cut.
    pub open_slices: Vec<OpenSlices>,
}

impl RecoverReport {
    /// Whether nothing was lost.
    pub fn is_complete(&self) -> bool {
        self.cut.is_none() && self.file_damage.is_none()
    }
}

/// Copies the longest valid prefix of `input` to `out`.
///
/// # Errors
/// Not one complete packet (nothing was written), an input that cannot be read, an output that
/// cannot be written. A closed pipe is [`RecoverError::Write`].
pub fn recover(
    input: impl Read + Send,
    extent: Extent,
    mut out: impl Write,
    progress: &mut dyn Progress,
) -> Result<RecoverReport, RecoverError> {
    let (source, file_codec) = open(input)?;
    let mut window = Window::new(source);
    let mut scanner = PrefixScanner::new(&PrefixOptions::default());
    let mut passed = 0;
    let cut = loop {
        window.advance(passed)?;
        let walked = walk(window.bytes(), window.offset, |entry| scanner.accept(entry));
        passed = walked.passed;
        out.write_all(&window.bytes()[..passed]).map_err(RecoverError::Write)?;
        progress.advance(passed as u64);
        match walked.stop {
            Some(cut) if window.ended || !is_torn(&cut) => break Some(cut),
            None if window.ended => break None,
            _ => {}
        }
    };
    let head = window.bytes();
    let unwrapped = match (&cut, extent) {
        (Some(cut), Extent::Unwrap) => unwrap::readable(&head[passed..], cut),
        _ => unwrap::Unwrapped::default(),
    };
    if window.offset + passed as u64 + unwrapped.packets == 0 {
        let hint = likely_kind(head);
        let reason = cut.map_or_else(|| "the input is empty".to_owned(), |cut| cut.to_string());
        return Err(no_packet(reason, hint, file_codec, window.into_source()));
    }
    out.write_all(&unwrapped.bytes).map_err(RecoverError::Write)?;
    out.flush().map_err(RecoverError::Write)?;
    // What was unwrapped is kept as well: its times, sequences and slices count.
    for entry in Entries::new(&unwrapped.bytes).map_while(Result::ok) {
        if scanner.accept(&entry).is_err() {
            break;
        }
    }
    let kept_bytes = window.offset + passed as u64;
    let scanned = scanner.finish(cut);
    let mut sequences: BTreeMap<u32, SequenceReport> = scanned
        .sequences
        .iter()
        .map(|(id, kept)| {
            let report = SequenceReport {
                kept_packets: kept.packets,
                dropped_packets: 0,
                last_timestamp_ns: kept.last_timestamp_ns,
            };
            (*id, report)
        })
        .collect();
    let (dropped_bytes, dropped_packets) = count_dropped(&mut window, passed, &mut sequences, progress)?;
    Ok(RecoverReport {
        file_codec,
        file_damage: window.into_source().into_damage(),
        unwrapped_packets: unwrapped.packets,
        unwrapped_bytes: unwrapped.bytes.len() as u64,
        kept_bytes,
        kept_packets: scanned.kept_packets - unwrapped.packets,
        kept_wrappers: scanned.wrappers,
        kept_inner_packets: scanned.inner_packets,
        dropped_bytes,
        dropped_packets,
        cut: scanned.cut,
        last_timestamp_ns: scanned.last_timestamp_ns,
        sequences,
        open_slices: scanned
            .open_slices
            .iter()
            .map(|(on, count)| OpenSlices { on: *on, count: *count })
            .collect(),
    })
}

/// The trace in `input`.
fn open<'a>(
    input: impl Read + Send + 'a,
) -> Result<(Decoding<Box<dyn Read + Send + 'a>>, FileCodec), RecoverError> {
    Decoding::new(input).map_err(|source| RecoverError::Read { offset: 0, source })
}

/// The error of an input without one whole packet.
fn no_packet<R>(reason: String, hint: &'static str, codec: FileCodec, source: Decoding<R>) -> RecoverError {
    let name = match codec {
        FileCodec::None => return RecoverError::NoPacket { reason, hint },
        FileCodec::Gzip => "gzip",
        FileCodec::Zstd => "zstd",
    };
    let damage = source.into_damage().map_or_else(String::new, |damage| format!(" ({damage})"));
    RecoverError::NoPacket { reason: format!("in a file compressed with {name}{damage}: {reason}"), hint }
}

/// Bytes and packets after the prefix; `passed` bytes of the window belong to it.
fn count_dropped<R: Read>(
    window: &mut Window<R>,
    passed: usize,
    sequences: &mut BTreeMap<u32, SequenceReport>,
    progress: &mut dyn Progress,
) -> Result<(u64, u64), RecoverError> {
    let begin = window.offset + passed as u64;
    let (mut passed, mut packets, mut framed) = (passed, 0, true);
    loop {
        if framed {
            let walked = walk(&window.bytes()[passed..], window.offset + passed as u64, |entry| {
                packets += 1;
                if let Ok(Packet { sequence_id: Some(id), .. }) = Packet::parse(entry.payload) {
                    sequences.entry(id).or_default().dropped_packets += 1;
                }
                Ok(())
            });
            passed += walked.passed;
            match walked.stop {
                Some(cut) if window.ended || !is_torn(&cut) => {
                    // Without a length there is no telling where the next packet begins.
                    packets += u64::from(is_torn(&cut));
                    framed = false;
                }
                _ => {}
            }
        }
        if !framed {
            passed = window.filled;
        }
        progress.advance(passed as u64);
        if window.ended {
            return Ok((window.offset + window.filled as u64 - begin, packets));
        }
        window.advance(passed)?;
        passed = 0;
    }
}

/// What a file that is no trace seems to be.
fn likely_kind(head: &[u8]) -> &'static str {
    match head {
        [b'P', b'K', 3, 4, ..] => "; the file is a zip archive: extract the trace first",
        [b'{' | b'[', ..] => "; the file looks like JSON, not like a binary trace",
        [b'#', ..] => "; the file looks like a text log, not like a binary trace",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::window::BLOCK;
    use super::*;

    /// Sequence 2 twice, then sequence 3.
    const THREE: [u8; 12] = [0x0a, 2, 0x50, 2, 0x0a, 2, 0x50, 2, 0x0a, 2, 0x50, 3];

    /// A reader that gives `step` bytes at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let take = self.1.min(self.0.len()).min(out.len());
            out[..take].copy_from_slice(&self.0[..take]);
            self.0 = &self.0[take..];
            Ok(take)
        }
    }

    fn run(bytes: &[u8]) -> Result<(RecoverReport, Vec<u8>), RecoverError> {
        let mut out = Vec::new();
        let report = recover(bytes, Extent::Prefix, &mut out, &mut ());
        for step in [1, 3] {
            let mut slow = Vec::new();
            let dripped = recover(Drip(bytes, step), Extent::Prefix, &mut slow, &mut ());
            assert_eq!(dripped.as_ref().ok(), report.as_ref().ok());
            assert_eq!(slow, out);
        }
        if report.is_err() {
            assert!(out.is_empty(), "nothing is written before a complete packet was seen");
        }
        report.map(|report| (report, out))
    }

    #[test]
    fn every_length_gives_the_whole_packets_in_it() {
        for length in 0..=THREE.len() {
            let whole = length / 4 * 4;
            match run(&THREE[..length]) {
                Ok((report, out)) => {
                    assert_eq!(out, THREE[..whole]);
                    assert_eq!((report.kept_bytes, report.kept_packets), (whole as u64, whole as u64 / 4));
                    let torn = (length - whole) as u64;
                    assert_eq!((report.dropped_bytes, report.dropped_packets), (torn, u64::from(torn > 0)));
                    assert_eq!(report.cut.map(|cut| cut.offset), (torn > 0).then_some(whole as u64));
                }
                Err(error) => {
                    assert!(matches!(error, RecoverError::NoPacket { .. }));
                    assert_eq!(whole, 0);
                }
            }
        }
    }

    #[test]
    fn what_follows_the_damage_is_counted_as_far_as_it_can_be_told_apart() {
        // A malformed field, a whole packet of sequence 3, a torn one.
        let mut bytes = THREE[..4].to_vec();
        bytes.extend([0x0a, 1, 0x07, 0x0a, 2, 0x50, 3, 0x0a, 9, 1]);
        let (report, out) = run(&bytes).unwrap();
        assert_eq!(out, THREE[..4]);
        assert_eq!((report.dropped_bytes, report.dropped_packets), (10, 3));
        assert_eq!(report.sequences[&2], SequenceReport { kept_packets: 1, ..SequenceReport::default() });
        assert_eq!(report.sequences[&3], SequenceReport { dropped_packets: 1, ..SequenceReport::default() });
        // After a byte that begins no packet nothing can be told.
        let mut bytes = THREE.to_vec();
        bytes.extend([0xff, 0x0a, 2, 0x50, 3]);
        let (report, _) = run(&bytes).unwrap();
        assert_eq!((report.dropped_bytes, report.dropped_packets), (5, 0));
    }

    #[test]
    fn a_packet_larger_than_the_window_is_kept_whole() {
        // Field 1000 (unknown), 600,000 bytes.
        let mut bytes = vec![0x0a, 0xc5, 0xcf, 0x24, 0xc2, 0x3e, 0xc0, 0xcf, 0x24];
        bytes.resize(bytes.len() + 600_000, 7);
        bytes.extend(THREE);
        let mut out = Vec::new();
        let report = recover(&bytes[..], Extent::Prefix, &mut out, &mut ()).unwrap();
        assert_eq!((report.kept_packets, report.cut), (4, None));
        assert_eq!(out, bytes);
    }

    #[test]
    fn a_length_claimed_allocates_nothing() {
        // A torn packet of 2^28 - 1 bytes, and 2^31 - 1 bytes, which are more than a packet may have: damage.
        for (header, torn) in
            [(&[0x0a, 0xff, 0xff, 0xff, 0x7f][..], 1), (&[0x0a, 0xff, 0xff, 0xff, 0xff, 0x07], 0)]
        {
            let bytes = [&THREE[..], header].concat();
            let mut window = Window::new(&bytes[..]);
            window.advance(0).unwrap();
            assert_eq!(window.capacity(), BLOCK);
            let (report, _) = run(&bytes).unwrap();
            let dropped = (report.dropped_packets, report.dropped_bytes);
            assert_eq!((report.kept_packets, dropped), (3, (torn, header.len() as u64)));
        }
    }

    #[test]
    fn other_files_are_named() {
        for (head, word) in [(&[0x1f, 0x8b, 8][..], "gzip"), (b"{\"a\"", "JSON"), (b"# run=r", "text log")] {
            let error = run(head).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}
