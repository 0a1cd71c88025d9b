//! All packets of a trace, those in wrappers included, in file order.

use std::io::Read;

use clockweave_validators::scan::{
    Cut, CutReason, Entries, Entry, EntryReader, Packet, PrefixOptions, PrefixReport, PrefixScanner,
    ReadError,
};

use super::input::FileDamage;
use crate::progress::Progress;

/// Where a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Offset of the top-level entry.
    pub(crate) offset: u64,
    /// Offset in the wrapper's content, of a packet inside one.
    pub(crate) inner: Option<u64>,
    /// Bytes of the packet with its header.
    pub(crate) bytes: u64,
}

/// Looks at a trace.
pub(crate) trait Visitor {
    /// What it may stop with.
    type Error;

    /// A top-level entry; `content` is what a wrapper holds, and empty for anything else.
    fn entry(&mut self, entry: &Entry<'_>, content: &[u8]) {
        let _ = (entry, content);
    }

    /// A packet that is no wrapper.
    fn packet(&mut self, place: Place, packet: &Packet<'_>) -> Result<(), Self::Error>;
}

/// Why a walk ended early.
pub(crate) enum WalkError<E> {
    /// The source cannot be read.
    Read(ReadError),
    /// The visitor stopped.
    Visitor(E),
}

/// Bytes between two reports of progress.
const STRIDE: u64 = 1 << 20;

/// Shows `visitor` every whole packet of the trace in `source`, up to the first damage.
pub(crate) fn walk<V: Visitor>(
    source: impl Read,
    visitor: &mut V,
    progress: &mut dyn Progress,
) -> Result<PrefixReport, WalkError<V::Error>> {
    let mut scanner = PrefixScanner::new(&PrefixOptions::default());
    let mut reader = EntryReader::new(source);
    let (mut shown, mut end) = (0, 0);
    loop {
        let entry = match reader.next_entry() {
            Ok(Some(entry)) => entry,
            Ok(None) => return Ok(scanner.finish(None)),
            Err(ReadError::Entry(error)) => {
                let cut = Cut { offset: error.offset, reason: CutReason::Entry(error.fault) };
                return Ok(scanner.finish(Some(cut)));
            }
            Err(ReadError::Io { source, offset }) => {
                return match FileDamage::of(&source) {
                    Some(FileDamage(detail)) => {
                        let reason = CutReason::File { detail: detail.clone() };
                        Ok(scanner.finish(Some(Cut { offset: end, reason })))
                    }
                    None => Err(WalkError::Read(ReadError::Io { source, offset })),
                };
            }
            Err(error) => return Err(WalkError::Read(error)),
        };
        end = entry.end();
        if let Err(cut) = scanner.accept(&entry) {
            return Ok(scanner.finish(Some(cut)));
        }
        let Ok(packet) = Packet::parse(entry.payload) else { continue };
        if packet.wrapper.is_none() {
            visitor.entry(&entry, &[]);
            let place = Place { offset: entry.offset, inner: None, bytes: entry.total_len() };
            visitor.packet(place, &packet).map_err(WalkError::Visitor)?;
        } else {
            let content = scanner.content();
            visitor.entry(&entry, content);
            for inner in Entries::new(content).map_while(Result::ok) {
                let Ok(packet) = Packet::parse(inner.payload) else { continue };
                let place =
                    Place { offset: entry.offset, inner: Some(inner.offset), bytes: inner.total_len() };
                visitor.packet(place, &packet).map_err(WalkError::Visitor)?;
            }
        }
        if entry.end() - shown >= STRIDE {
            progress.advance(entry.end() - shown);
            shown = entry.end();
        }
    }
}
