//! structure: the trace's bytes are whole packets from the first to the last.
//!
//! The importer takes a torn tail in silence and aborts on a wrapper inside a wrapper, so the bytes are looked at
//! first, and only what stands is handed to it.

use std::io::{self, Read};

use crate::limits::Limits;
use crate::lint::Linter;
use crate::report::{Check, CheckReport, Finding};
use crate::scan::{
    Codec, Cut, CutReason, EntryFault, EntryReader, InflateFault, Packet, PrefixOptions, PrefixReport,
    PrefixScanner, ReadError,
};

/// What the bytes say before an engine is started.
pub(crate) struct Structure {
    pub(crate) check: CheckReport,
    /// What the structural rules found in the packets that are whole.
    pub(crate) lint: CheckReport,
    /// Length of the longest valid prefix.
    pub(crate) kept_bytes: u64,
    /// Bytes of the packets without compression.
    pub(crate) raw_bytes: u64,
    /// Whether there are wrappers that the engine would skip in silence.
    pub(crate) has_zstd: bool,
    /// Why the trace cannot be looked at as a whole.
    pub(crate) unusable: Option<String>,
}

/// Looks at every packet once. Findings are listed up to `findings`; `prefix` allows what a killed run leaves.
pub(crate) fn scan(
    trace: impl Read,
    prefix: bool,
    limits: &Limits,
    findings: usize,
) -> Result<Structure, io::Error> {
    let mut check = Check::new("structure", "packets", findings);
    let mut scanner = PrefixScanner::new(&PrefixOptions { max_inflated: limits.wrapper_bytes });
    let mut reader = EntryReader::new(trace).refuse_longer(limits.packet_bytes);
    let mut too_much = false;
    let mut has_zstd = false;
    let mut linter = Linter::new(findings, prefix);
    let cut = loop {
        match reader.next_entry() {
            Ok(Some(entry)) => {
                let wrapper = Packet::parse(entry.payload).ok().and_then(|packet| packet.wrapper);
                has_zstd |= wrapper.is_some_and(|(codec, _)| codec == Codec::Zstd);
                if let Err(cut) = scanner.accept(&entry) {
                    break Some(cut);
                }
                linter.accept(&entry, scanner.content());
                if scanner.content_bytes() > limits.content_bytes {
                    too_much = true;
                    break None;
                }
            }
            Ok(None) => break None,
            Err(ReadError::Entry(error)) => {
                break Some(Cut { offset: error.offset, reason: CutReason::Entry(error.fault) });
            }
            Err(ReadError::Io { source, .. }) => return Err(source),
        }
    };
    let prefix = scanner.finish(cut);
    check.rows = prefix.kept_packets + prefix.inner_packets - prefix.wrappers;
    if let Some(cut) = &prefix.cut {
        check.find(|| Finding::new(cut.reason.to_string()).hint(hint(&cut.reason)).at_offset(cut.offset));
    }
    let unusable = unusable(&prefix, too_much.then_some(limits.content_bytes));
    Ok(Structure {
        check: check.finish(),
        lint: linter.finish(),
        kept_bytes: prefix.kept_bytes,
        raw_bytes: prefix.content_bytes,
        has_zstd,
        unusable,
    })
}

fn hint(reason: &CutReason) -> &'static str {
    match reason {
        CutReason::Entry(EntryFault::TooLong { .. }) => {
            "the rest was not looked at; --max-packet raises the limit, and memory with it"
        }
        CutReason::Wrapper(InflateFault::TooLarge { .. }) => {
            "the rest was not looked at; --max-wrapper raises the limit, and memory with it"
        }
        _ => "the file is cut off or damaged there; `clockweave recover` keeps what stands before it",
    }
}

/// Why nothing can be said of the trace as a whole; `limit` is the bound on its content, if it has more.
fn unusable(prefix: &PrefixReport, limit: Option<u64>) -> Option<String> {
    if let Some(limit) = limit {
        let read = prefix.kept_bytes;
        return Some(format!(
            "found more than {limit} bytes of packets in its first {read} bytes, expected at most that; --max-content raises the limit, and time and memory with it"
        ));
    }
    (prefix.kept_packets == 0).then(|| match &prefix.cut {
        Some(Cut { offset: 0, reason: CutReason::Entry(EntryFault::Tag { found: b'{' | b'[' }) }) => {
            "found JSON, expected Perfetto's packets; a trace in Chrome's JSON format has nothing that could be validated".to_owned()
        }
        Some(Cut { offset: 0, reason: CutReason::Entry(EntryFault::Tag { found: 0x1f }) }) => {
            "found what begins as a gzip file, expected Perfetto's packets; unpack it first".to_owned()
        }
        Some(
            cut @ Cut {
                reason:
                    CutReason::Entry(EntryFault::TooLong { .. })
                    | CutReason::Wrapper(InflateFault::TooLarge { .. }),
                ..
            },
        ) => format!("{cut}; {}", hint(&cut.reason)),
        Some(cut) => format!("{cut}; not one complete packet is there"),
        None => "found an empty file, expected a trace".to_owned(),
    })
}
