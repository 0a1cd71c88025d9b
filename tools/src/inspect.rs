//! What is inside a trace, from its bytes alone.
//!
//! Invariants: one pass; memory follows the distinct sequences, tracks and names, each bounded; what
//! follows the first damage is not looked at, and the report says where that is.

use std::collections::BTreeMap;
use std::io::{self, Read};

use clockweave_validators::lint::Linter;
use clockweave_validators::report::CheckReport;
use clockweave_validators::scan::{Codec, Cut, Entry, Packet, ReadError, Value};
use serde::Serialize;

use crate::progress::Progress;
use crate::trace::{FileCodec, Names, Place, Visitor, WalkError, decoded, fields, walk};

/// Most tracks and names that are told apart.
const MOST: usize = 1 << 20;
/// Packets listed as the largest.
const LARGEST: usize = 5;

/// Why a trace was not inspected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It cannot be opened or decompressed.
    #[error("{0}")]
    Open(#[from] io::Error),
    /// Not one whole packet.
    #[error("found no complete packet, expected a Perfetto trace{}", reason.as_ref().map_or(String::new(), |cut| format!(": {cut}")))]
    NoPacket {
        /// What is wrong with the first bytes; `None` for an empty file.
        reason: Option<Cut>,
    },
}

/// One packet sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SequenceContent {
    /// Its id.
    pub id: u32,
    /// Packets, those in wrappers included.
    pub packets: u64,
    /// Packets that clear its incremental state.
    pub checkpoints: u64,
    /// Largest time in ns.
    pub last_timestamp_ns: Option<u64>,
    /// Interned names in force at the end: categories, events, argument names.
    pub interned: [u64; 3],
}

/// One track.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrackContent {
    /// Its uuid; `null` for events without a track.
    pub uuid: Option<u64>,
    /// Its name, if it was described.
    pub name: Option<String>,
    /// Its parent's uuid.
    pub parent: Option<u64>,
    /// Events on it.
    pub events: u64,
}

/// One clock of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ClockContent {
    /// Its id: below 64 one of the importer's own, else one of the sequence.
    pub id: u32,
    /// Whether timestamps on it are differences.
    pub incremental: bool,
    /// Snapshots that have it.
    pub snapshots: u64,
}

/// A count under a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// What is counted.
    pub name: String,
    /// How many.
    pub count: u64,
}

/// A packet among the largest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LargePacket {
    /// Bytes with its header.
    pub bytes: u64,
    /// Offset of its top-level packet.
    pub offset: u64,
    /// What it mainly is.
    pub what: &'static str,
}

/// What is inside a trace.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    /// How the file as a whole is compressed.
    pub file_codec: FileCodec,
    /// Bytes up to the damage, or all.
    pub bytes: u64,
    /// Top-level packets.
    pub packets: u64,
    /// Compressed wrappers among them, by codec.
    pub wrappers: [u64; 2],
    /// Packets inside wrappers.
    pub inner_packets: u64,
    /// Bytes of all packets with their wrappers opened.
    pub content_bytes: u64,
    /// Packets that clear the incremental state of a sequence.
    pub checkpoints: u64,
    /// Smallest time of an event in ns.
    pub first_timestamp_ns: Option<u64>,
    /// Largest time of a packet in ns.
    pub last_timestamp_ns: Option<u64>,
    /// Packets by what they hold.
    pub kinds: Vec<Counted>,
    /// The sequences by id.
    pub sequences: Vec<SequenceContent>,
    /// The clocks by id.
    pub clocks: Vec<ClockContent>,
    /// The tracks by first mention.
    pub tracks: Vec<TrackContent>,
    /// Events by name.
    pub events: Vec<Counted>,
    /// The largest packets that are no wrappers.
    pub largest: Vec<LargePacket>,
    /// Whether there were more tracks or names than are told apart.
    pub capped: bool,
    /// Where the trace is damaged.
    pub cut: Option<Cut>,
    /// Structural findings, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lint: Option<CheckReport>,
}

#[derive(Default)]
struct Sequence {
    names: Names,
    checkpoints: u64,
    /// Events by name, counted since the names changed.
    counts: BTreeMap<u64, u64>,
}

struct Inspector {
    wrappers: [u64; 2],
    kinds: BTreeMap<&'static str, u64>,
    sequences: BTreeMap<u32, Sequence>,
    clocks: BTreeMap<(u32, bool), u64>,
    tracks: Vec<TrackContent>,
    track_index: BTreeMap<Option<u64>, usize>,
    events: BTreeMap<String, u64>,
    largest: Vec<LargePacket>,
    capped: bool,
    linter: Option<Linter>,
}

/// What a packet mainly is.
fn kind_of(packet: &Packet<'_>) -> &'static str {
    let kinds = [
        (packet.track_event.is_some(), "track_event"),
        (packet.track_descriptor.is_some(), "track_descriptor"),
        (packet.extension_descriptor.is_some(), "extension_descriptor"),
        (packet.clock_snapshot.is_some(), "clock_snapshot"),
        (packet.trace_stats.is_some(), "trace_stats"),
        (packet.interned_data.is_some(), "interned_data"),
        (packet.sync_marker, "synchronization_marker"),
    ];
    kinds.iter().find(|(found, _)| *found).map_or("other", |(_, kind)| kind)
}

impl Inspector {
    fn new(lint: Option<usize>) -> Self {
        Self {
            wrappers: [0; 2],
            kinds: BTreeMap::new(),
            sequences: BTreeMap::new(),
            clocks: BTreeMap::new(),
            tracks: Vec::new(),
            track_index: BTreeMap::new(),
            events: BTreeMap::new(),
            largest: Vec::new(),
            capped: false,
            linter: lint.map(|limit| Linter::new(limit, false)),
        }
    }

    fn track(&mut self, uuid: Option<u64>) -> Option<&mut TrackContent> {
        let at = match self.track_index.get(&uuid) {
            Some(at) => *at,
            None if self.tracks.len() >= MOST => {
                self.capped = true;
                return None;
            }
            None => {
                self.tracks.push(TrackContent { uuid, name: None, parent: None, events: 0 });
                self.track_index.insert(uuid, self.tracks.len() - 1);
                self.tracks.len() - 1
            }
        };
        self.tracks.get_mut(at)
    }

    fn describe_track(&mut self, descriptor: &[u8]) {
        let (mut uuid, mut name, mut parent) = (None, None, None);
        for field in fields(descriptor) {
            match (field.number, field.value) {
                (1, Value::Varint(value)) => uuid = Some(value),
                // `name`, `static_name`
                (2 | 10, Value::Bytes(text)) => name = Some(String::from_utf8_lossy(text).into_owned()),
                (5, Value::Varint(value)) => parent = Some(value),
                _ => {}
            }
        }
        if let Some(track) = self.track(uuid) {
            track.name = track.name.take().or(name);
            track.parent = track.parent.or(parent);
        }
    }

    fn snapshot(&mut self, snapshot: &[u8]) {
        let clocks = fields(snapshot).filter(|field| field.number == 1).filter_map(|field| field.bytes());
        for clock in clocks {
            let (mut id, mut incremental) = (0, false);
            for field in fields(clock) {
                match (field.number, field.varint()) {
                    (1, Some(value)) => id = value as u32,
                    (3, Some(value)) => incremental = value != 0,
                    _ => {}
                }
            }
            if self.clocks.len() < MOST {
                *self.clocks.entry((id, incremental)).or_default() += 1;
            }
        }
    }

    fn note_size(&mut self, place: Place, packet: &Packet<'_>) {
        if self.largest.len() == LARGEST && self.largest.last().is_some_and(|last| last.bytes >= place.bytes)
        {
            return;
        }
        let large = LargePacket { bytes: place.bytes, offset: place.offset, what: kind_of(packet) };
        let at = self.largest.partition_point(|known| known.bytes >= large.bytes);
        self.largest.insert(at, large);
        self.largest.truncate(LARGEST);
    }
}

/// Adds what was counted by number to the counts by name.
fn settle(sequence: &mut Sequence, events: &mut BTreeMap<String, u64>, capped: &mut bool) {
    for (iid, count) in std::mem::take(&mut sequence.counts) {
        let name = sequence.names.events.get(&iid).map_or("?", String::as_str);
        add(events, name, count, capped);
    }
}

fn add(events: &mut BTreeMap<String, u64>, name: &str, count: u64, capped: &mut bool) {
    if let Some(known) = events.get_mut(name) {
        *known += count;
    } else if events.len() < MOST {
        events.insert(name.to_owned(), count);
    } else {
        *capped = true;
    }
}

impl Visitor for Inspector {
    type Error = std::convert::Infallible;

    fn entry(&mut self, entry: &Entry<'_>, content: &[u8]) {
        if let Some(linter) = &mut self.linter {
            linter.accept(entry, content);
        }
        if let Ok(Packet { wrapper: Some((codec, _)), .. }) = Packet::parse(entry.payload) {
            self.wrappers[usize::from(codec == Codec::Zstd)] += 1;
        }
    }

    fn packet(&mut self, place: Place, packet: &Packet<'_>) -> Result<(), Self::Error> {
        *self.kinds.entry(kind_of(packet)).or_default() += 1;
        self.note_size(place, packet);
        if let Some(descriptor) = packet.track_descriptor {
            self.describe_track(descriptor);
        }
        if let Some(snapshot) = packet.clock_snapshot {
            self.snapshot(snapshot);
        }
        let Some(id) = packet.sequence_id else { return Ok(()) };
        let sequence = self.sequences.entry(id).or_default();
        if packet.clears_incremental_state() || packet.interned_data.is_some() {
            settle(sequence, &mut self.events, &mut self.capped);
            sequence.checkpoints += u64::from(packet.clears_incremental_state());
        }
        sequence.names.apply(packet);
        let Some(bytes) = packet.track_event else { return Ok(()) };
        let event = sequence.names.event(bytes);
        let track = event.track;
        match (event.name_iid, event.name) {
            (Some(iid), _) => *sequence.counts.entry(iid).or_default() += 1,
            (None, Some(name)) => add(&mut self.events, name, 1, &mut self.capped),
            // An end or a counter's value has no name of its own.
            (None, None) => {}
        }
        if let Some(track) = self.track(track) {
            track.events += 1;
        }
        Ok(())
    }
}

/// Inspects the trace in `source`; with `lint` also its structure, listing so many findings.
///
/// # Errors
/// It cannot be read, or holds not one whole packet.
pub fn inspect(
    source: impl Read + Send,
    lint: Option<usize>,
    progress: &mut dyn Progress,
) -> Result<Inspection, InspectError> {
    let (source, file_codec) = decoded(source)?;
    let mut inspector = Inspector::new(lint);
    let report = match walk(source, &mut inspector, progress) {
        Ok(report) => report,
        Err(WalkError::Read(error)) => return Err(error.into()),
        Err(WalkError::Visitor(never)) => match never {},
    };
    if report.kept_packets == 0 {
        return Err(InspectError::NoPacket { reason: report.cut });
    }
    let Inspector { mut sequences, mut events, mut capped, tracks, .. } = inspector;
    for sequence in sequences.values_mut() {
        settle(sequence, &mut events, &mut capped);
    }
    let sequence = |(id, found): (&u32, &Sequence)| {
        let known = report.sequences.get(id).copied().unwrap_or_default();
        let Names { categories, events, annotations, .. } = &found.names;
        SequenceContent {
            id: *id,
            packets: known.packets,
            checkpoints: found.checkpoints,
            last_timestamp_ns: known.last_timestamp_ns,
            interned: [categories.len(), events.len(), annotations.len()].map(|count| count as u64),
        }
    };
    let counted = |(name, count): (String, u64)| Counted { name, count };
    let mut events: Vec<Counted> = events.into_iter().map(counted).collect();
    events.sort_by_key(|event| std::cmp::Reverse(event.count));
    Ok(Inspection {
        file_codec,
        bytes: report.kept_bytes,
        packets: report.kept_packets,
        wrappers: inspector.wrappers,
        inner_packets: report.inner_packets,
        content_bytes: report.content_bytes,
        checkpoints: sequences.values().map(|sequence| sequence.checkpoints).sum(),
        first_timestamp_ns: report.first_timestamp_ns,
        last_timestamp_ns: report.last_timestamp_ns,
        kinds: inspector.kinds.into_iter().map(|(kind, count)| counted((kind.to_owned(), count))).collect(),
        sequences: sequences.iter().map(sequence).collect(),
        clocks: inspector
            .clocks
            .into_iter()
            .map(|((id, incremental), snapshots)| ClockContent { id, incremental, snapshots })
            .collect(),
        tracks,
        events,
        largest: inspector.largest,
        capped,
        cut: report.cut,
        lint: inspector.linter.map(Linter::finish),
    })
}
