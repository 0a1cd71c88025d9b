//! What a file opens with and every checkpoint repeats: the descriptor of the argument fields, the
//! tracks, the state packet; and the instants by which a trace explains itself, once.

use clockweave_model::{ClockDomain, KindTable};

use crate::pftrace::interning::{self, CATEGORY_META};
use crate::pftrace::schema::{
    AnnotationValue, BufferStats, Clock, ClockSnapshot, CounterDescriptor, DebugAnnotation, EventType,
    ExtensionDescriptor, FieldDescriptor, FileDescriptor, FileDescriptorSet, MessageDescriptor, NEEDS_STATE,
    STATE_CLEARED, SYNCHRONIZATION_MARKER, SiblingMerge, TracePacket, TracePacketDefaults, TraceStats,
    TrackDescriptor, TrackEvent,
};
use crate::pftrace::{ArgsEncoding, SEQUENCE, TrackPlan, View};
use crate::roster::Roster;
use crate::sink::Gap;

/// Event times: nanoseconds, each relative to the one before.
const CLOCK_DELTA: u32 = 64;
/// Absolute nanoseconds; declared because readers of this layout expect it.
const CLOCK_ABSOLUTE: u32 = 65;
/// Perfetto's clock for times that mean nothing outside the file.
pub(crate) const CLOCK_TRACE_FILE: u32 = 11;

/// The boot clock, which scheduling packets count in.
const CLOCK_BOOT: u32 = 6;

/// Number of the extension field of the track event.
pub(crate) const EXTENSION_FIELD: i32 = 9900;
/// The fields of the extension message and their types, numbered from 1.
pub(crate) const ARGUMENTS: [(&str, i32); 10] = [
    ("unit_id", UINT64),
    ("fifo_id", UINT64),
    ("phase", UINT64),
    ("value", UINT64),
    ("ordinal", UINT64),
    ("local_cycle", UINT64),
    ("transaction_id", UINT64),
    ("domain_id", UINT64),
    ("time_num", STRING),
    ("time_den", STRING),
];
/// Numbers of some of them.
pub(crate) const FIFO_ID: u32 = 2;
pub(crate) const TRANSACTION_ID: u32 = 7;
pub(crate) const TIME_NUM: u32 = 9;
pub(crate) const TIME_DEN: u32 = 10;

/// `FieldDescriptorProto.Label` and `.Type`.
const OPTIONAL: i32 = 1;
const UINT64: i32 = 4;
const STRING: i32 = 9;
const MESSAGE: i32 = 11;

/// Packets that are the same all through a file, ready to be written.
pub(crate) struct Preamble {
    /// Absent where arguments are annotations.
    pub(crate) extension: Option<Vec<u8>>,
    pub(crate) marker: Vec<u8>,
    pub(crate) tracks: Vec<Vec<u8>>,
    /// `clock.domain` per domain, then `run`.
    pub(crate) explanations: Vec<Vec<u8>>,
    state: TracePacket,
    schedules: bool,
}

/// What the `run` instant says.
pub(crate) struct RunFacts<'a> {
    pub(crate) run_id: &'a str,
    pub(crate) tool_version: &'a str,
    pub(crate) view: View,
    pub(crate) lossless: bool,
    /// Whether there are scheduling packets.
    pub(crate) schedules: bool,
}

impl Preamble {
    pub(crate) fn new(
        facts: &RunFacts<'_>,
        roster: &Roster,
        tracks: &TrackPlan,
        kinds: &KindTable,
        args: ArgsEncoding,
    ) -> Self {
        let mut explanations: Vec<Vec<u8>> =
            roster.domains.iter().zip(&tracks.domains).map(|(d, track)| explain_domain(d, *track)).collect();
        explanations.push(explain_run(facts, tracks.root));
        Self {
            extension: (args == ArgsEncoding::Debug).then(|| extension_packet(facts.view)),
            marker: marker_packet(),
            tracks: tracks.descriptors.iter().cloned().map(track_packet).collect(),
            explanations,
            state: TracePacket {
                interned_data: Some(interning::tables(kinds, args, facts.view, facts.lossless)),
                ..first_state()
            },
            schedules: facts.schedules,
        }
    }

    /// Adds a track; gives its packet.
    pub(crate) fn add_track(&mut self, track: TrackDescriptor) -> &[u8] {
        self.tracks.push(track_packet(track));
        self.tracks.last().expect("one was added")
    }

    /// Makes the next state packet the first of a file.
    pub(crate) fn restart(&mut self) {
        self.state.first_packet_on_sequence = Some(true);
    }

    /// The state packet at `ns`; it clears what the reader knew and declares clocks and names. It
    /// carries no event, because one in a packet with a snapshot would be dropped.
    pub(crate) fn state(&mut self, ns: u64) -> Vec<u8> {
        let mut snapshot = clock_snapshot(ns);
        if self.schedules {
            snapshot.clocks.push(Clock {
                clock_id: Some(CLOCK_BOOT),
                timestamp: Some(ns),
                is_incremental: None,
            });
        }
        self.state.clock_snapshot = Some(snapshot);
        let entry = self.state.entry();
        self.state.first_packet_on_sequence = None;
        entry
    }
}

/// The first state packet of a sequence, but for clocks and names.
pub(crate) fn first_state() -> TracePacket {
    TracePacket {
        trusted_packet_sequence_id: Some(SEQUENCE),
        sequence_flags: Some(STATE_CLEARED),
        first_packet_on_sequence: Some(true),
        trace_packet_defaults: Some(TracePacketDefaults { timestamp_clock_id: Some(CLOCK_DELTA) }),
        ..TracePacket::default()
    }
}

/// The clocks of the sequence, all at `ns`.
pub(crate) fn clock_snapshot(ns: u64) -> ClockSnapshot {
    let clock = |id: u32, is_incremental| Clock { clock_id: Some(id), timestamp: Some(ns), is_incremental };
    ClockSnapshot {
        clocks: vec![
            clock(CLOCK_DELTA, Some(true)),
            clock(CLOCK_ABSOLUTE, None),
            clock(CLOCK_TRACE_FILE, None),
        ],
        primary_trace_clock: Some(CLOCK_TRACE_FILE),
    }
}

/// What a checkpoint begins with.
pub(crate) fn marker_packet() -> Vec<u8> {
    let synchronization_marker = Some(SYNCHRONIZATION_MARKER.to_vec());
    TracePacket { synchronization_marker, ..TracePacket::default() }.entry()
}

/// Declares a track.
pub(crate) fn track_packet(track: TrackDescriptor) -> Vec<u8> {
    let trusted_packet_sequence_id = Some(SEQUENCE);
    TracePacket { track_descriptor: Some(track), trusted_packet_sequence_id, ..TracePacket::default() }
        .entry()
}

/// A counter below `parent`, at place `rank` among its siblings.
pub(crate) fn counter_track(
    uuid: u64,
    parent: u64,
    name: &str,
    unit: Option<&str>,
    rank: usize,
) -> TrackDescriptor {
    TrackDescriptor {
        uuid: Some(uuid),
        name: Some(name.to_owned()),
        parent_uuid: Some(parent),
        sibling_order_rank: i32::try_from(rank).ok(),
        sibling_merge_behavior: Some(SiblingMerge::None.into()),
        counter: Some(CounterDescriptor { unit_name: unit.map(str::to_owned) }),
        ..TrackDescriptor::default()
    }
}

/// A lane of transactions in the group of a FIFO. Lanes have one name; importers that fold tracks by
/// name are told not to, because lanes are given out here.
pub(crate) fn lane_track(uuid: u64, group: u64) -> TrackDescriptor {
    TrackDescriptor {
        uuid: Some(uuid),
        name: Some("transactions".to_owned()),
        parent_uuid: Some(group),
        sibling_order_rank: Some(1),
        sibling_merge_behavior: Some(SiblingMerge::None.into()),
        ..TrackDescriptor::default()
    }
}

/// The spans of a unit.
pub(crate) fn span_track(uuid: u64, unit: u64) -> TrackDescriptor {
    TrackDescriptor {
        uuid: Some(uuid),
        name: Some("spans".to_owned()),
        parent_uuid: Some(unit),
        sibling_merge_behavior: Some(SiblingMerge::None.into()),
        ..TrackDescriptor::default()
    }
}

/// Declares the extension field `debug`, by whose name importers file the arguments.
fn extension_packet(view: View) -> Vec<u8> {
    let field = |(number, (name, r#type)): (i32, &(&str, i32))| FieldDescriptor {
        name: Some((*name).to_owned()),
        number: Some(number),
        label: Some(OPTIONAL),
        r#type: Some(*r#type),
        ..FieldDescriptor::default()
    };
    let file = FileDescriptor {
        name: Some("clockweave.proto".to_owned()),
        package: Some("clockweave".to_owned()),
        message_type: vec![MessageDescriptor {
            name: Some("ClockEvent".to_owned()),
            field: (1..).zip(view.arguments()).map(field).collect(),
        }],
        extension: vec![FieldDescriptor {
            name: Some("debug".to_owned()),
            extendee: Some(".perfetto.protos.TrackEvent".to_owned()),
            number: Some(EXTENSION_FIELD),
            label: Some(OPTIONAL),
            r#type: Some(MESSAGE),
            type_name: Some(".clockweave.ClockEvent".to_owned()),
        }],
    };
    let extension_set = Some(FileDescriptorSet { file: vec![file] });
    TracePacket {
        extension_descriptor: Some(ExtensionDescriptor { extension_set }),
        ..TracePacket::default()
    }
    .entry()
}

/// A gap, `delta` nanoseconds after the packet before.
pub(crate) fn gap_packet(delta: u64, track: u64, gap: &Gap) -> Vec<u8> {
    let values = [gap.count, gap.ordinal, gap.cycle, gap.phase as u64];
    let annotations: Vec<_> = interning::GAP.into_iter().zip(values.map(AnnotationValue::Uint)).collect();
    instant(delta, interning::NAME_GAP, track, annotations)
}

/// What makes an importer report that `events` were lost.
pub(crate) fn loss_packet(events: u64) -> Vec<u8> {
    let buffer = BufferStats { trace_writer_packet_loss: Some(events) };
    let trace_stats = Some(TraceStats { buffer_stats: vec![buffer] });
    TracePacket { trace_stats, ..TracePacket::default() }.entry()
}

fn instant(delta: u64, name: u64, track: u64, annotations: Vec<(u64, AnnotationValue)>) -> Vec<u8> {
    TracePacket {
        timestamp: Some(delta),
        trusted_packet_sequence_id: Some(SEQUENCE),
        sequence_flags: Some(NEEDS_STATE),
        track_event: Some(TrackEvent {
            r#type: Some(EventType::Instant.into()),
            category_iids: vec![CATEGORY_META],
            name_iid: Some(name),
            track_uuid: Some(track),
            debug_annotations: annotations
                .into_iter()
                .map(|(iid, value)| DebugAnnotation { name_iid: Some(iid), value: Some(value) })
                .collect(),
        }),
        ..TracePacket::default()
    }
    .entry()
}

fn explain_domain(domain: &ClockDomain, track: u64) -> Vec<u8> {
    let (period, phase) = (domain.period().ratio(), domain.phase().ratio());
    let annotations = [
        (interning::ID, u64::from(domain.id())),
        (interning::PERIOD_NUM, *period.numer()),
        (interning::PERIOD_DEN, *period.denom()),
        (interning::PHASE_NUM, *phase.numer()),
        (interning::PHASE_DEN, *phase.denom()),
    ];
    let annotations = annotations.map(|(iid, value)| (iid, AnnotationValue::Uint(value)));
    instant(0, interning::NAME_CLOCK_DOMAIN, track, annotations.to_vec())
}

fn explain_run(facts: &RunFacts<'_>, track: u64) -> Vec<u8> {
    let text = |text: &str| AnnotationValue::String(text.to_owned());
    let annotations = vec![
        (interning::RUN_ID, text(facts.run_id)),
        (interning::TOOL_VERSION, text(facts.tool_version)),
        (interning::VIEW, text(facts.view.name())),
        (interning::LOSSLESS, AnnotationValue::Bool(facts.lossless)),
    ];
    instant(0, interning::NAME_RUN, track, annotations)
}
