//! Structural lint: what a trace's bytes alone prove to be lost, misplaced or ambiguous in the importer.
//!
//! The importer never fails on these; it drops packets, guesses, or keeps the first of two statements, and at most
//! counts. Each rule names one such fault, with the packet's offset and sequence.
//!
//! Invariants: packets are looked at once, in file order; memory follows the distinct sequences, tracks and interned
//! entries, each bounded (see [`MOST`]); a fault is reported at the packet that has it. Deliberately does not know the
//! run: what an event should say is for the checks.

mod event;
mod form;
mod rule;
mod sequence;
mod tracks;

use std::collections::{BTreeMap, BTreeSet};

pub use rule::Rule;

use self::sequence::Sequence;
use self::tracks::Tracks;
use crate::report::{Check, CheckReport, Finding};
use crate::scan::{Codec, Entries, Entry, EventPacket, Fields, Packet, SliceTrack};

/// Most sequences, tracks, tracks with open slices, and interned entries of all sequences that are told apart, each; a
/// trace with more is linted as far as that goes, and the report says so.
pub const MOST: usize = 1 << 18;
/// Most bytes of a wrapper's content: more than one producer block can hold, and what the importer must hold at once.
const WRAPPER_BYTES: usize = 256 << 10;
/// Fields of `TrackEvent` that no importer knows without a descriptor in the file.
const EXTENSIONS: std::ops::RangeInclusive<u32> = 9900..=10_000;

/// Where a packet is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Offset of the top-level entry.
    offset: u64,
    /// Offset in the content, for a packet inside a wrapper.
    inner: Option<u64>,
    sequence: Option<u32>,
}

/// Collects findings.
#[derive(Debug)]
pub(crate) struct Found {
    check: Check,
    capped: bool,
    /// Interned entries of all sequences that are held now.
    interned: usize,
}

impl Found {
    fn at(&mut self, rule: Rule, place: Place, message: impl FnOnce() -> String) {
        self.check.find(|| {
            let inside =
                place.inner.map_or(String::new(), |at| format!(" (byte {at} of the wrapper's content)"));
            let finding = Finding::new(message() + &inside).hint(rule.hint()).at_offset(place.offset);
            finding.of_rule(rule.name()).of_sequence(place.sequence)
        });
    }
}

/// Lints one trace, entry by entry.
#[derive(Debug)]
pub struct Linter {
    found: Found,
    sequences: Vec<Sequence>,
    index: BTreeMap<u32, usize>,
    tracks: Tracks,
    /// Extension fields declared so far.
    extensions: BTreeSet<u32>,
    codec: Option<Codec>,
    /// Open slices per track: how many, and where the first began.
    open: BTreeMap<SliceTrack, (u64, Place)>,
    unclosed_allowed: bool,
}

impl Linter {
    /// Lists up to `limit` findings; all are counted. Slices still open at the end are findings unless
    /// `unclosed_allowed`, as in what a killed run left.
    pub fn new(limit: usize, unclosed_allowed: bool) -> Self {
        Self {
            found: Found { check: Check::new("lint", "packets", limit), capped: false, interned: 0 },
            sequences: Vec::new(),
            index: BTreeMap::new(),
            tracks: Tracks::default(),
            extensions: BTreeSet::new(),
            codec: None,
            open: BTreeMap::new(),
            unclosed_allowed,
        }
    }

    /// Looks at the next entry, whose structure is sound; `content` is that of a wrapper.
    pub fn accept(&mut self, entry: &Entry<'_>, content: &[u8]) {
        let place = Place { offset: entry.offset, inner: None, sequence: None };
        if let Some(event) = EventPacket::parse(entry.payload) {
            return self.packet(place, &event.into());
        }
        let Ok(packet) = Packet::parse(entry.payload) else { return };
        let Some((codec, _)) = packet.wrapper else { return self.packet(place, &packet) };
        self.wrapper(place, codec, content.len());
        for inner in Entries::new(content).map_while(Result::ok) {
            let place = Place { inner: Some(inner.offset), ..place };
            match EventPacket::parse(inner.payload) {
                Some(event) => self.packet(place, &event.into()),
                None => {
                    if let Ok(packet) = Packet::parse(inner.payload) {
                        self.packet(place, &packet);
                    }
                }
            }
        }
    }

    fn wrapper(&mut self, place: Place, codec: Codec, bytes: usize) {
        if bytes > WRAPPER_BYTES {
            self.found.at(Rule::WrapperSize, place, || {
                format!("found a wrapper of {bytes} bytes of content, expected at most {WRAPPER_BYTES}")
            });
        }
        if self.codec.is_some_and(|known| known != codec) {
            self.found.at(Rule::CodecMixed, place, || {
                format!(
                    "found a {codec:?} wrapper after wrappers of another codec, expected one codec per file"
                )
            });
        }
        self.codec.get_or_insert(codec);
    }

    fn packet(&mut self, place: Place, packet: &Packet<'_>) {
        self.found.check.rows += 1;
        if let Some(descriptor) = packet.extension_descriptor {
            event::declared_extensions(descriptor, &mut self.extensions);
        }
        if let Some(descriptor) = packet.track_descriptor {
            self.tracks.describe(
                Place { sequence: packet.sequence_id, ..place },
                descriptor,
                &mut self.found,
            );
        }
        if let Some(malformed) = form::fault(packet) {
            let place = Place { sequence: packet.sequence_id, ..place };
            self.found.at(Rule::MalformedMessage, place, || malformed.to_string());
        }
        let id = packet.sequence_id.unwrap_or(0);
        if id == 0 {
            if packet.track_event.is_some() || packet.interned_data.is_some() {
                self.found.at(Rule::SequenceId, place, || {
                    "found no sequence id on a packet with an event or interned data, expected 1 to 2147483647".to_owned()
                });
            }
            return;
        }
        let place = Place { sequence: Some(id), ..place };
        let Some(at) = self.sequence(id) else { return };
        let Self { found, sequences, .. } = self;
        let sequence = &mut sequences[at];
        if packet.track_event.is_some() && packet.clock_snapshot.is_some() {
            found.at(Rule::EventInSnapshot, place, || {
                "found an event in a packet with a clock snapshot, expected them apart".to_owned()
            });
        }
        sequence.state(place, packet, found);
        if let Some(snapshot) = packet.clock_snapshot {
            sequence.snapshot(place, snapshot, found);
        }
        sequence.time(place, packet, found);
        if let Some(event) = packet.track_event {
            self.event(place, at, event, packet.needs_incremental_state());
        }
    }

    fn event(&mut self, place: Place, sequence: usize, event: &[u8], needs_state: bool) {
        let Self { found, sequences, extensions, .. } = self;
        let sequence = &mut sequences[sequence];
        if needs_state && !sequence.is_cleared() {
            found.at(Rule::EventBeforeState, place, || {
                "found an event before its sequence's incremental state was cleared, expected that first"
                    .to_owned()
            });
            return;
        }
        let mut track = sequence.default_track();
        let mut edge = None;
        for field in Fields::new(event).map_while(Result::ok) {
            match field.number {
                event::TYPE => edge = field.varint(),
                event::TRACK_UUID => track = field.varint(),
                number if EXTENSIONS.contains(&number) && !extensions.contains(&number) => {
                    found.at(Rule::ExtensionUndeclared, place, || {
                        format!(
                            "found extension field {number} of an event, expected its descriptor before it"
                        )
                    });
                    extensions.insert(number);
                }
                _ => sequence.references(place, &field, found),
            }
        }
        let id = place.sequence.unwrap_or(0);
        let track = track.map_or(SliceTrack::Sequence(id), SliceTrack::Track);
        match edge {
            Some(event::SLICE_BEGIN) => self.begin(track, place),
            Some(event::SLICE_END) => self.end(track, place),
            _ => {}
        }
    }

    fn begin(&mut self, track: SliceTrack, place: Place) {
        if self.open.len() < MOST || self.open.contains_key(&track) {
            self.open.entry(track).or_insert((0, place)).0 += 1;
        } else {
            self.found.capped = true;
        }
    }

    fn end(&mut self, track: SliceTrack, place: Place) {
        match self.open.get_mut(&track) {
            Some((1, _)) => {
                self.open.remove(&track);
            }
            Some((depth, _)) => *depth -= 1,
            // With more tracks than are told apart, the beginning may have been passed over.
            None if self.found.capped => {}
            None => self.found.at(Rule::SliceBalance, place, || {
                format!("found the end of a slice on {track}, where none is open")
            }),
        }
    }

    /// Index of a sequence's state; `None` beyond what is told apart.
    fn sequence(&mut self, id: u32) -> Option<usize> {
        if let Some(at) = self.index.get(&id) {
            return Some(*at);
        }
        if self.sequences.len() >= MOST {
            self.found.capped = true;
            return None;
        }
        self.sequences.push(Sequence::default());
        self.index.insert(id, self.sequences.len() - 1);
        Some(self.sequences.len() - 1)
    }

    /// What was found, with what only the end can tell.
    pub fn finish(mut self) -> CheckReport {
        self.tracks.finish(&mut self.found);
        if !self.unclosed_allowed {
            for (track, (depth, place)) in &self.open {
                self.found.at(Rule::SliceBalance, *place, || {
                    format!("found {depth} slices on {track} that never end, the first beginning here")
                });
            }
        }
        if self.found.capped {
            self.found
                .check
                .note(format!("more than {MOST} sequences, tracks or interned entries were not told apart"));
        }
        self.found.check.finish()
    }
}
