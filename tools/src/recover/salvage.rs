//! What stands after damage in the middle of a trace.
//!
//! After damage the scan goes on at the next entry if the damaged one's frame holds, else behind the
//! next synchronization marker. From there a packet is kept if it says something by itself, or if its
//! sequence has cleared its incremental state since. Invariants: kept packets are the input's, in its
//! order; each hole is an instant `trace.hole` in the output and an entry of the report; one pass,
//! memory of one packet and the sequences met.
//!
//! What a wrapper's checksum proves is exactly what was written; a packet outside wrappers has none
//! and is only known to be well formed.

use std::collections::BTreeSet;
use std::io::{BufWriter, Read, Write};

use clockweave_validators::scan::{
    Codec, Cut, CutReason, Entries, Entry, EntryFault, Fields, Inflater, PACKET_TAG, Packet, PrefixOptions,
    PrefixScanner, SYNC_MARKER, varint,
};
use serde::Serialize;

use super::window::{BLOCK, Window, fault_of};
use super::{RecoverError, likely_kind, no_packet, open};
use crate::progress::Progress;
use crate::trace::FileCodec;

/// Holes listed; all are counted.
const LISTED: usize = 1000;
/// Bytes that a packet with a synchronization marker may have before the marker.
const BEFORE_MARKER: usize = 64;
/// Most bytes of a packet with a synchronization marker.
const MARKER_PACKET: usize = 1024;
/// Sequence and track of the instants that mark holes: far from what tracing services give out.
const HOLE_SEQUENCE: u64 = 2_147_480_000;
const HOLE_TRACK: u64 = 0x7f4c_5d1e_90ab_0001;

/// Bytes of the input that are not in the output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hole {
    /// Offset of its first byte.
    pub offset: u64,
    /// Bytes that could not be read as packets.
    pub bytes: u64,
    /// Where reading went on; `null` if it did not.
    pub resumed_at: Option<u64>,
    /// What was wrong at its first byte.
    pub reason: String,
    /// Whole packets after it that mean nothing without what was lost.
    pub dropped_packets: u64,
    /// Largest time kept before it, in ns.
    pub from_ns: Option<u64>,
    /// Smallest time kept after it, in ns.
    pub to_ns: Option<u64>,
}

/// What salvage kept and what it did not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SalvageReport {
    /// How the input as a whole is compressed.
    pub file_codec: FileCodec,
    /// Why decompressing the input ended early, in the decompressor's words.
    pub file_damage: Option<String>,
    /// Bytes read.
    pub input_bytes: u64,
    /// Bytes written, the marks of holes included.
    pub written_bytes: u64,
    /// Packets kept that a wrapper's checksum proves.
    pub proven_packets: u64,
    /// Packets kept outside wrappers, which are only known to be well formed.
    pub structural_packets: u64,
    /// Whole packets left out because their sequence's state was lost.
    pub dropped_packets: u64,
    /// Bytes that could not be read as packets.
    pub lost_bytes: u64,
    /// Holes.
    pub hole_count: u64,
    /// The first thousand of them.
    pub holes: Vec<Hole>,
    /// Largest time kept, in ns.
    pub last_timestamp_ns: Option<u64>,
}

impl SalvageReport {
    /// Whether nothing was lost.
    pub fn is_complete(&self) -> bool {
        self.hole_count == 0 && self.file_damage.is_none()
    }
}

struct Salvage<W: Write> {
    out: BufWriter<W>,
    scanner: PrefixScanner,
    inflater: Inflater,
    /// Sequences cleared since the last hole; `None` before the first hole, where all stand.
    cleared: Option<BTreeSet<u32>>,
    /// The hole that the next kept packet closes.
    pending: Option<Hole>,
    /// The last hole marked, whose end in time is not known yet.
    open: Option<Hole>,
    primary_clock: Option<u64>,
    /// The largest time of the segments before.
    last_ns: Option<u64>,
    kept_any: bool,
    marks: u64,
    report: SalvageReport,
}

/// Keeps what stands of `input` in `out`.
///
/// # Errors
/// As [`super::recover`].
pub fn salvage(
    input: impl Read + Send,
    out: impl Write,
    progress: &mut dyn Progress,
) -> Result<SalvageReport, RecoverError> {
    let (source, file_codec) = open(input)?;
    let mut window = Window::new(source);
    let mut salvage = Salvage::new(out, file_codec);
    let (mut passed, mut searching) = (0, false);
    let mut head = [0; 16];
    loop {
        window.advance(passed)?;
        if window.offset == 0 {
            let seen = window.filled.min(head.len());
            head[..seen].copy_from_slice(&window.bytes()[..seen]);
        }
        passed = 0;
        if searching {
            (passed, searching) = salvage.search(&window);
        }
        if !searching {
            let (walked, stopped) = salvage.walk(&window, passed)?;
            (passed, searching) = (walked, stopped);
        }
        // A slow source is kept as it comes.
        salvage.out.flush().map_err(RecoverError::Write)?;
        progress.advance(passed as u64);
        if window.ended && passed == 0 && (searching || window.filled == 0) {
            break;
        }
    }
    salvage.report.input_bytes = window.offset + window.filled as u64;
    if !salvage.kept_any {
        let reason = salvage.pending.map_or_else(|| "the input is empty".to_owned(), |hole| hole.reason);
        return Err(no_packet(reason, likely_kind(&head), file_codec, window.into_source()));
    }
    salvage.report.file_damage = window.into_source().into_damage();
    salvage.finish()
}

impl<W: Write> Salvage<W> {
    fn new(out: W, file_codec: FileCodec) -> Self {
        Self {
            out: BufWriter::with_capacity(BLOCK, out),
            scanner: PrefixScanner::new(&PrefixOptions::default()),
            inflater: Inflater::default(),
            cleared: None,
            pending: None,
            open: None,
            primary_clock: None,
            last_ns: None,
            kept_any: false,
            marks: 0,
            report: SalvageReport {
                file_codec,
                file_damage: None,
                input_bytes: 0,
                written_bytes: 0,
                proven_packets: 0,
                structural_packets: 0,
                dropped_packets: 0,
                lost_bytes: 0,
                hole_count: 0,
                holes: Vec::new(),
                last_timestamp_ns: None,
            },
        }
    }

    /// Walks whole entries from byte `from` of the window on; gives the bytes passed, and whether a marker has to be
    /// searched for.
    fn walk<R: Read>(&mut self, window: &Window<R>, from: usize) -> Result<(usize, bool), RecoverError> {
        let bytes = window.bytes();
        let mut at = from;
        while at < bytes.len() {
            let offset = window.offset + at as u64;
            let entry = match Entries::new(&bytes[at..]).next() {
                Some(Ok(entry)) => Entry { offset, ..entry },
                Some(Err(error)) => {
                    let fault = fault_of(error.fault);
                    let torn = matches!(fault, EntryFault::TornHeader | EntryFault::TornPayload { .. });
                    if torn && !window.ended {
                        return Ok((at, false));
                    }
                    self.begin_hole(offset, fault.to_string());
                    self.extend_hole(1);
                    return Ok((at + 1, true));
                }
                None => break,
            };
            let length = entry.header_len + entry.payload.len();
            match self.take(&entry)? {
                None => at += length,
                Some(cut) => {
                    self.begin_hole(offset, cut.reason.to_string());
                    // A marker inside means that the length is not to be trusted, and so does what follows.
                    let marked = memchr::memmem::find(entry.payload, &SYNC_MARKER).is_some();
                    let framed = bytes.get(at + length).is_none_or(|tag| *tag == PACKET_TAG);
                    if marked || !framed {
                        self.extend_hole(1);
                        return Ok((at + 1, true));
                    }
                    self.extend_hole(length as u64);
                    at += length;
                }
            }
        }
        Ok((at, false))
    }

    /// Looks for a packet with a synchronization marker; gives the bytes passed and whether to search on.
    fn search<R: Read>(&mut self, window: &Window<R>) -> (usize, bool) {
        let bytes = window.bytes();
        let mut from = 0;
        while let Some(found) = memchr::memmem::find(&bytes[from..], &SYNC_MARKER) {
            let (marker, end) = (from + found, from + found + SYNC_MARKER.len());
            let begin = marker.saturating_sub(BEFORE_MARKER);
            let frames = |at: &usize| {
                let entry = Entries::new(&bytes[*at..]).next();
                matches!(entry, Some(Ok(entry)) if entry.payload.len() <= MARKER_PACKET && *at + entry.header_len + entry.payload.len() >= end
                    && Packet::parse(entry.payload).is_ok_and(|packet| packet.sync_marker))
            };
            if let Some(at) = (begin..marker).rev().find(frames) {
                self.extend_hole(at as u64);
                return (at, false);
            }
            from = end;
        }
        // The beginning of a marker's packet may be at the end.
        let kept = if window.ended { 0 } else { BEFORE_MARKER + SYNC_MARKER.len() };
        let passed = bytes.len().saturating_sub(kept);
        self.extend_hole(passed as u64);
        (passed, true)
    }

    fn begin_hole(&mut self, offset: u64, reason: String) {
        self.cleared = Some(BTreeSet::new());
        if self.pending.is_some() {
            return;
        }
        let scanner = std::mem::replace(&mut self.scanner, PrefixScanner::new(&PrefixOptions::default()));
        let segment = scanner.finish(None);
        self.end_open(segment.first_timestamp_ns);
        self.last_ns = self.last_ns.max(segment.last_timestamp_ns);
        self.pending = Some(Hole {
            offset,
            bytes: 0,
            resumed_at: None,
            reason,
            dropped_packets: 0,
            from_ns: self.last_ns,
            to_ns: None,
        });
    }

    fn extend_hole(&mut self, bytes: u64) {
        if let Some(hole) = &mut self.pending {
            hole.bytes += bytes;
            self.report.lost_bytes += bytes;
        }
    }

    /// The hole before the segment that ends is complete.
    fn end_open(&mut self, to_ns: Option<u64>) {
        if let Some(hole) = self.open.take() {
            self.list(Hole { to_ns, ..hole });
        }
    }

    fn list(&mut self, hole: Hole) {
        self.report.hole_count += 1;
        if self.report.holes.len() < LISTED {
            self.report.holes.push(hole);
        }
    }

    /// Keeps an entry, or the packets of it that stand; says why it cannot be read.
    fn take(&mut self, entry: &Entry<'_>) -> Result<Option<Cut>, RecoverError> {
        let Some(cleared) = &mut self.cleared else { return self.keep_before_damage(entry) };
        let cut = |reason| Some(Cut { offset: entry.offset, reason });
        let packet = match Packet::parse(entry.payload) {
            Ok(packet) => packet,
            Err(error) => return Ok(cut(CutReason::Packet { at: error.at as u64, fault: error.fault })),
        };
        let Some((codec, stream)) = packet.wrapper else {
            if stands(&packet, cleared) {
                self.note_clock(&packet);
                self.write(entry)?;
                self.report.structural_packets += 1;
            } else {
                self.drop_packet();
            }
            return Ok(None);
        };
        self.take_wrapper(entry, codec, stream)
    }

    fn take_wrapper(
        &mut self,
        entry: &Entry<'_>,
        codec: Codec,
        stream: &[u8],
    ) -> Result<Option<Cut>, RecoverError> {
        // The scanner says what is wrong with it, if anything is.
        let mut judge = PrefixScanner::new(&PrefixOptions::default());
        if let Err(cut) = judge.accept(entry) {
            return Ok(Some(cut));
        }
        let mut inflater = std::mem::take(&mut self.inflater);
        let content = inflater.inflate(codec, stream).unwrap_or_default();
        let cleared = self.cleared.get_or_insert_default();
        let mut standing = Vec::new();
        let (mut all, mut packets) = (true, 0u64);
        for inner in Entries::new(content).map_while(Result::ok) {
            let Ok(packet) = Packet::parse(inner.payload) else { continue };
            packets += 1;
            if stands(&packet, cleared) {
                standing.push(inner);
            } else {
                all = false;
            }
        }
        for inner in &standing {
            if let Ok(packet) = Packet::parse(inner.payload) {
                self.note_clock(&packet);
            }
        }
        if all {
            self.write(entry)?;
        } else {
            (0..packets - standing.len() as u64).for_each(|_| self.drop_packet());
            for inner in &standing {
                self.write_inner(entry.offset, inner, content)?;
            }
        }
        self.report.proven_packets += standing.len() as u64;
        self.inflater = inflater;
        Ok(None)
    }

    fn keep_before_damage(&mut self, entry: &Entry<'_>) -> Result<Option<Cut>, RecoverError> {
        if let Err(cut) = self.scanner.accept(entry) {
            return Ok(Some(cut));
        }
        if let Ok(packet) = Packet::parse(entry.payload) {
            if packet.wrapper.is_some() {
                let content = self.scanner.content();
                let mut clock = self.primary_clock;
                for inner in Entries::new(content).map_while(Result::ok) {
                    self.report.proven_packets += 1;
                    if let Ok(Packet { clock_snapshot: Some(snapshot), .. }) = Packet::parse(inner.payload) {
                        clock = primary_of(snapshot).or(clock);
                    }
                }
                self.primary_clock = clock;
            } else {
                self.note_clock(&packet);
                self.report.structural_packets += 1;
            }
        }
        self.put(&padded_header(entry))?;
        self.put(entry.payload)?;
        Ok(None)
    }

    fn drop_packet(&mut self) {
        self.report.dropped_packets += 1;
        if let Some(hole) = self.pending.as_mut().or(self.open.as_mut()) {
            hole.dropped_packets += 1;
        }
    }

    fn note_clock(&mut self, packet: &Packet<'_>) {
        self.primary_clock = packet.clock_snapshot.and_then(primary_of).or(self.primary_clock);
    }

    fn write(&mut self, entry: &Entry<'_>) -> Result<(), RecoverError> {
        self.mark_hole(entry.offset)?;
        // It was judged before; this adds up its times.
        let _ = self.scanner.accept(entry);
        self.put(&padded_header(entry))?;
        self.put(entry.payload)
    }

    fn write_inner(&mut self, offset: u64, inner: &Entry<'_>, content: &[u8]) -> Result<(), RecoverError> {
        self.mark_hole(offset)?;
        let _ = self.scanner.accept(&Entry { offset, ..*inner });
        let begin = usize::try_from(inner.offset).unwrap_or(content.len());
        self.put(&content[begin..begin + inner.header_len + inner.payload.len()])
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), RecoverError> {
        self.kept_any = true;
        self.report.written_bytes += bytes.len() as u64;
        self.out.write_all(bytes).map_err(RecoverError::Write)
    }

    /// Marks the hole that a kept packet at `offset` closes.
    fn mark_hole(&mut self, offset: u64) -> Result<(), RecoverError> {
        let Some(mut hole) = self.pending.take() else { return Ok(()) };
        hole.resumed_at = Some(offset);
        if let Some(ns) = hole.from_ns {
            let mark = mark(&hole, ns, self.primary_clock, self.marks == 0);
            self.marks += 1;
            self.put(&mark)?;
        }
        self.open = Some(hole);
        Ok(())
    }

    fn finish(mut self) -> Result<SalvageReport, RecoverError> {
        self.out.flush().map_err(RecoverError::Write)?;
        let segment = std::mem::take(&mut self.scanner).finish(None);
        self.end_open(segment.first_timestamp_ns);
        if let Some(hole) = self.pending.take() {
            self.list(hole);
        }
        self.report.last_timestamp_ns = self.last_ns.max(segment.last_timestamp_ns);
        Ok(self.report)
    }
}

/// Whether a packet says what it said before the damage; takes note if it clears its sequence.
fn stands(packet: &Packet<'_>, cleared: &mut BTreeSet<u32>) -> bool {
    let Some(id) = packet.sequence_id else { return packet.timestamp.is_none() };
    if packet.clears_incremental_state() {
        cleared.insert(id);
    }
    let by_itself = !packet.needs_incremental_state()
        && packet.timestamp.is_none()
        && packet.track_event.is_none()
        && packet.interned_data.is_none()
        && packet.clock_snapshot.is_none()
        && packet.defaults.is_none();
    by_itself || cleared.contains(&id)
}

/// `ClockSnapshot.primary_trace_clock`.
fn primary_of(snapshot: &[u8]) -> Option<u64> {
    let found = Fields::new(snapshot).map_while(Result::ok).filter(|field| field.number == 2);
    found.filter_map(|field| field.varint()).last()
}

fn push_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Tag and length as the entry has them: writers may pad the length.
fn padded_header(entry: &Entry<'_>) -> Vec<u8> {
    let mut header = vec![PACKET_TAG];
    push_varint(entry.payload.len() as u64, &mut header);
    while header.len() < entry.header_len {
        if let Some(last) = header.last_mut() {
            *last |= 0x80;
        }
        header.push(0);
    }
    debug_assert_eq!(varint(&header, 1).map(|(length, _)| length), Ok(entry.payload.len() as u64));
    header
}

fn push_number(field: u32, value: u64, out: &mut Vec<u8>) {
    push_varint(u64::from(field) << 3, out);
    push_varint(value, out);
}

fn push_bytes(field: u32, bytes: &[u8], out: &mut Vec<u8>) {
    push_varint(u64::from(field) << 3 | 2, out);
    push_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// The packets that mark a hole: its track the first time, then the instant. Field numbers are those of Perfetto's
/// public `trace_packet.proto`, `track_event.proto`, `track_descriptor.proto` and `debug_annotation.proto`.
fn mark(hole: &Hole, ns: u64, clock: Option<u64>, first: bool) -> Vec<u8> {
    let mut out = Vec::new();
    if first {
        let mut track = Vec::new();
        push_number(1, HOLE_TRACK, &mut track);
        push_bytes(2, b"damage", &mut track);
        let mut packet = Vec::new();
        push_number(10, HOLE_SEQUENCE, &mut packet);
        push_number(13, 1, &mut packet);
        push_bytes(60, &track, &mut packet);
        push_bytes(1, &packet, &mut out);
    }
    let mut event = Vec::new();
    push_number(9, 3, &mut event);
    push_number(11, HOLE_TRACK, &mut event);
    push_bytes(22, b"meta", &mut event);
    push_bytes(23, b"trace.hole", &mut event);
    for (name, value) in [("offset", hole.offset), ("bytes", hole.bytes)] {
        let mut annotation = Vec::new();
        push_bytes(10, name.as_bytes(), &mut annotation);
        push_number(3, value, &mut annotation);
        push_bytes(4, &annotation, &mut event);
    }
    let mut packet = Vec::new();
    push_number(8, ns, &mut packet);
    push_number(10, HOLE_SEQUENCE, &mut packet);
    if let Some(clock) = clock {
        push_number(58, clock, &mut packet);
    }
    push_bytes(11, &event, &mut packet);
    push_bytes(1, &packet, &mut out);
    out
}
