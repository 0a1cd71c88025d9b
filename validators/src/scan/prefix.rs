//! The longest valid prefix of a trace: how many whole entries stand at its start, and why it ends there.
//!
//! An entry is kept if it is complete, its packet's own fields are well formed, and, for a wrapper, its one stream
//! is whole by its checksum and holds only such packets and no wrapper. The first entry that fails ends the prefix.
//! Invariants: a rejected entry leaves no mark in the report; the scan is linear; memory is that of one wrapper's
//! content and of [`MOST_TOLD_APART`] sequences and tracks. Deliberately does not judge meaning.

use std::collections::BTreeMap;
use std::io::Read;

use serde::Serialize;

use super::clock::SequenceClocks;
use super::entry::{Entries, Entry, EntryFault, EntryReader, ReadError};
use super::packet::{EventPacket, Packet, SEQ_INCREMENTAL_STATE_CLEARED};
use super::wire::{Fields, WireFault};
use super::wrapper::{DEFAULT_MAX_INFLATED, InflateFault, Inflater};

/// Why the prefix ends where it does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "what", rename_all = "snake_case")]
#[non_exhaustive]
pub enum CutReason {
    /// The entry itself is not complete.
    #[error("{0}")]
    Entry(EntryFault),
    /// A field of the packet is malformed.
    #[error("byte {at} of the packet: {fault}")]
    Packet {
        /// Offset in the packet's payload.
        at: u64,
        /// What is wrong there.
        fault: WireFault,
    },
    /// A wrapper's stream is not whole.
    #[error("{0}")]
    Wrapper(InflateFault),
    /// A wrapper's content is no run of complete packets.
    #[error("byte {at} of the wrapper's content: {detail}")]
    Content {
        /// Offset in the inflated content.
        at: u64,
        /// What is wrong there.
        detail: String,
    },
    /// The file that holds the trace is compressed as a whole, and damaged.
    #[error("in the decompressed trace: the compressed file is damaged behind it: {detail}")]
    File {
        /// What its decompressor says.
        detail: String,
    },
    /// A wrapper inside a wrapper, which makes the importer abort.
    #[error("byte {at} of the wrapper's content: found a wrapper inside a wrapper, expected plain packets")]
    Nested {
        /// Offset in the inflated content.
        at: u64,
    },
}

/// Where a prefix ends before its source does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("at byte {offset}: {reason}")]
pub struct Cut {
    /// Offset of the first entry that is not kept: the prefix's length.
    pub offset: u64,
    /// What is wrong with that entry.
    pub reason: CutReason,
}

/// Most sequences and most tracks of slices that are told apart; what goes beyond is counted in the totals alone.
pub const MOST_TOLD_APART: usize = 1 << 18;

/// Bounds and choices of a prefix scan.
#[derive(Clone, Copy, Debug)]
pub struct PrefixOptions {
    /// Most bytes one wrapper may inflate to.
    pub max_inflated: usize,
}

impl Default for PrefixOptions {
    fn default() -> Self {
        Self { max_inflated: DEFAULT_MAX_INFLATED }
    }
}

/// What was kept of one packet sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SequenceSummary {
    /// Packets, those in wrappers included.
    pub packets: u64,
    /// Smallest time of a packet in ns, where the sequence's clocks give one.
    pub first_timestamp_ns: Option<u64>,
    /// Largest time of a packet in ns, where the sequence's clocks give one.
    pub last_timestamp_ns: Option<u64>,
}

impl SequenceSummary {
    #[inline]
    fn add(&mut self, time: Option<u64>) {
        self.packets += 1;
        self.last_timestamp_ns = self.last_timestamp_ns.max(time);
        if let Some(ns) = time {
            self.first_timestamp_ns = Some(self.first_timestamp_ns.map_or(ns, |first| first.min(ns)));
        }
    }
}

/// A slice's place: a track, or where events name none, their sequence's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SliceTrack {
    /// Track uuid.
    Track(u64),
    /// Sequence id.
    Sequence(u32),
}

impl std::fmt::Display for SliceTrack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Track(uuid) => write!(f, "track {uuid}"),
            Self::Sequence(id) => write!(f, "the track of sequence {id}"),
        }
    }
}

/// The longest valid prefix, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PrefixReport {
    /// Its length in bytes.
    pub kept_bytes: u64,
    /// Its top-level entries.
    pub kept_packets: u64,
    /// Entries among them that are wrappers.
    pub wrappers: u64,
    /// Packets inside those wrappers.
    pub inner_packets: u64,
    /// Bytes of all packets with their wrappers opened: what the prefix would take without compression.
    pub content_bytes: u64,
    /// Where and why it ends; `None` if the source ended cleanly.
    pub cut: Option<Cut>,
    /// Smallest time of a kept packet in ns.
    pub first_timestamp_ns: Option<u64>,
    /// Largest time of a kept packet in ns.
    pub last_timestamp_ns: Option<u64>,
    /// The kept part of each sequence, by id.
    pub sequences: BTreeMap<u32, SequenceSummary>,
    /// Packets of sequences beyond those that are told apart.
    pub unlisted_packets: u64,
    /// Slices begun and not ended, per track.
    pub open_slices: BTreeMap<SliceTrack, u64>,
}

#[derive(Debug, Default)]
struct Sequence {
    id: u32,
    clocks: SequenceClocks,
    summary: SequenceSummary,
}

/// Decides entry by entry whether the prefix goes on: for callers that copy while they scan.
#[derive(Debug, Default)]
pub struct PrefixScanner {
    inflater: Inflater,
    kept: Kept,
}

/// What the accepted entries add up to.
#[derive(Debug, Default)]
struct Kept {
    report: PrefixReport,
    sequences: Vec<Sequence>,
    index: BTreeMap<u32, usize>,
    /// Index of the sequence met last.
    current: usize,
}

impl PrefixScanner {
    /// A scanner at the start of a trace.
    pub fn new(options: &PrefixOptions) -> Self {
        Self { inflater: Inflater::new(options.max_inflated), kept: Kept::default() }
    }

    /// Keeps the next entry, or says why the prefix ends before it. Not to be called again after a cut.
    #[inline]
    pub fn accept(&mut self, entry: &Entry<'_>) -> Result<(), Cut> {
        if let Some(event) = EventPacket::parse(entry.payload) {
            self.kept.record_event(&event);
            self.kept.report.content_bytes += entry.total_len();
        } else {
            self.accept_other(entry).map_err(|reason| Cut { offset: entry.offset, reason })?;
        }
        self.kept.report.kept_packets += 1;
        self.kept.report.kept_bytes = entry.end();
        Ok(())
    }

    fn accept_other(&mut self, entry: &Entry<'_>) -> Result<(), CutReason> {
        let packet = Packet::parse(entry.payload)
            .map_err(|error| CutReason::Packet { at: error.at as u64, fault: error.fault })?;
        if let Some((codec, stream)) = packet.wrapper {
            let content = self.inflater.inflate(codec, stream).map_err(CutReason::Wrapper)?;
            let packets = checked_content(content)?;
            self.kept.record_content(content);
            self.kept.report.inner_packets += packets;
            self.kept.report.wrappers += 1;
            self.kept.report.content_bytes += content.len() as u64;
        } else {
            self.kept.record(&packet);
            self.kept.report.content_bytes += entry.total_len();
        }
        Ok(())
    }

    /// Bytes of what was kept so far, wrappers opened.
    pub fn content_bytes(&self) -> u64 {
        self.kept.report.content_bytes
    }

    /// The content of the entry accepted last, if that was a wrapper.
    pub fn content(&self) -> &[u8] {
        self.inflater.output()
    }

    /// The report, given why the walk ended.
    pub fn finish(self, cut: Option<Cut>) -> PrefixReport {
        let Kept { mut report, sequences, .. } = self.kept;
        report.cut = cut;
        report.first_timestamp_ns =
            sequences.iter().filter_map(|sequence| sequence.summary.first_timestamp_ns).min();
        report.last_timestamp_ns =
            sequences.iter().filter_map(|sequence| sequence.summary.last_timestamp_ns).max();
        report.sequences = sequences.iter().map(|sequence| (sequence.id, sequence.summary)).collect();
        report
    }
}

impl Kept {
    fn record_content(&mut self, content: &[u8]) {
        for entry in Entries::new(content).flatten() {
            if let Some(event) = EventPacket::parse(entry.payload) {
                self.record_event(&event);
            } else if let Ok(packet) = Packet::parse(entry.payload) {
                self.record(&packet);
            }
        }
    }

    #[inline]
    fn record_event(&mut self, event: &EventPacket<'_>) {
        if event.sequence_flags & SEQ_INCREMENTAL_STATE_CLEARED != 0 {
            return self.record(&(*event).into());
        }
        let Some(id) = event.sequence_id else { return };
        let Some(sequence) = self.sequence(id) else { return };
        let time = event.timestamp.and_then(|raw| sequence.clocks.time(raw, None));
        sequence.summary.add(time);
        self.record_slice(id, event.track_event);
    }

    fn record(&mut self, packet: &Packet<'_>) {
        let Some(id) = packet.sequence_id else { return };
        let Some(sequence) = self.sequence(id) else { return };
        let time = sequence.clocks.apply(packet);
        sequence.summary.add(time);
        self.record_slice(id, packet.track_event);
    }

    /// The sequence of an id; `None`, and its packet counted, beyond those that are told apart.
    #[inline]
    fn sequence(&mut self, id: u32) -> Option<&mut Sequence> {
        if self.sequences.get(self.current).is_none_or(|sequence| sequence.id != id) {
            let known = self.index.get(&id).copied();
            if known.is_none() && self.sequences.len() >= MOST_TOLD_APART {
                self.report.unlisted_packets += 1;
                return None;
            }
            self.current = known.unwrap_or_else(|| {
                self.sequences.push(Sequence { id, ..Sequence::default() });
                self.index.insert(id, self.sequences.len() - 1);
                self.sequences.len() - 1
            });
        }
        self.sequences.get_mut(self.current)
    }

    /// Counts a slice that the current sequence's event begins or ends.
    #[inline]
    fn record_slice(&mut self, id: u32, event: Option<&[u8]>) {
        let Some((begins, track)) = event.and_then(slice_edge) else { return };
        let track = track.or_else(|| self.sequences[self.current].clocks.default_track());
        let track = track.map_or(SliceTrack::Sequence(id), SliceTrack::Track);
        let open = &mut self.report.open_slices;
        let room = open.len() < MOST_TOLD_APART;
        match open.get_mut(&track) {
            Some(depth) if begins => *depth += 1,
            Some(1) => drop(open.remove(&track)),
            Some(depth) => *depth -= 1,
            None if begins && room => drop(open.insert(track, 1)),
            None => {}
        }
    }
}

/// The number of packets in a wrapper's content, all of them well formed and none a wrapper.
fn checked_content(content: &[u8]) -> Result<u64, CutReason> {
    let mut packets = 0;
    for entry in Entries::new(content) {
        let entry = entry
            .map_err(|error| CutReason::Content { at: error.offset, detail: error.fault.to_string() })?;
        packets += 1;
        if EventPacket::parse(entry.payload).is_some() {
            continue;
        }
        let packet = Packet::parse(entry.payload).map_err(|error| CutReason::Content {
            at: entry.offset + (entry.header_len + error.at) as u64,
            detail: error.fault.to_string(),
        })?;
        if packet.wrapper.is_some() {
            return Err(CutReason::Nested { at: entry.offset });
        }
    }
    Ok(packets)
}

/// Whether an event begins (true) or ends a slice, and its track. An event whose first field is its type as instant
/// or counter is done at once.
#[inline]
fn slice_edge(event: &[u8]) -> Option<(bool, Option<u64>)> {
    if let [0x48, 0x03 | 0x04, ..] = event {
        return None;
    }
    let (mut begins, mut track) = (None, None);
    for field in Fields::new(event).map_while(Result::ok) {
        match (field.number, field.varint()) {
            (9, Some(1)) => begins = Some(true),
            (9, Some(2)) => begins = Some(false),
            (9, _) => begins = None,
            (11, uuid) => track = uuid,
            _ => {}
        }
    }
    begins.map(|begins| (begins, track))
}

/// The longest valid prefix of `trace`.
pub fn prefix(trace: &[u8], options: &PrefixOptions) -> PrefixReport {
    let mut scanner = PrefixScanner::new(options);
    for entry in Entries::new(trace) {
        let step = match entry {
            Ok(entry) => scanner.accept(&entry),
            Err(error) => Err(Cut { offset: error.offset, reason: CutReason::Entry(error.fault) }),
        };
        if let Err(cut) = step {
            return scanner.finish(Some(cut));
        }
    }
    scanner.finish(None)
}

/// The longest valid prefix of what `source` gives; fails only if the source does.
pub fn prefix_of_reader<R: Read>(source: R, options: &PrefixOptions) -> Result<PrefixReport, ReadError> {
    let mut scanner = PrefixScanner::new(options);
    let mut reader = EntryReader::new(source);
    loop {
        let step = match reader.next_entry() {
            Ok(Some(entry)) => scanner.accept(&entry),
            Ok(None) => return Ok(scanner.finish(None)),
            Err(ReadError::Entry(error)) => {
                Err(Cut { offset: error.offset, reason: CutReason::Entry(error.fault) })
            }
            Err(error) => return Err(error),
        };
        if let Err(cut) = step {
            return Ok(scanner.finish(Some(cut)));
        }
    }
}
