//! The messages of Perfetto's trace format that are written outside the event path, with just the
//! fields that are used. Field numbers are those of Perfetto's public `trace_packet.proto` and the
//! files it imports, and of `descriptor.proto`.

use prost::Message;

/// `TracePacket`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    pub(crate) timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    pub(crate) trusted_packet_sequence_id: Option<u32>,
    #[prost(uint32, optional, tag = "13")]
    pub(crate) sequence_flags: Option<u32>,
    #[prost(bool, optional, tag = "87")]
    pub(crate) first_packet_on_sequence: Option<bool>,
    #[prost(message, optional, tag = "59")]
    pub(crate) trace_packet_defaults: Option<TracePacketDefaults>,
    #[prost(message, optional, tag = "12")]
    pub(crate) interned_data: Option<InternedData>,
    #[prost(message, optional, tag = "6")]
    pub(crate) clock_snapshot: Option<ClockSnapshot>,
    #[prost(message, optional, tag = "11")]
    pub(crate) track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "60")]
    pub(crate) track_descriptor: Option<TrackDescriptor>,
    #[prost(message, optional, tag = "72")]
    pub(crate) extension_descriptor: Option<ExtensionDescriptor>,
    #[prost(bytes = "vec", optional, tag = "36")]
    pub(crate) synchronization_marker: Option<Vec<u8>>,
    #[prost(message, optional, tag = "35")]
    pub(crate) trace_stats: Option<TraceStats>,
}

/// `TracePacket.SequenceFlags.SEQ_INCREMENTAL_STATE_CLEARED`.
pub(crate) const STATE_CLEARED: u32 = 1;
/// `TracePacket.SequenceFlags.SEQ_NEEDS_INCREMENTAL_STATE`.
pub(crate) const NEEDS_STATE: u32 = 2;

/// The marker that Perfetto's own service writes now and then.
pub(crate) const SYNCHRONIZATION_MARKER: [u8; 16] =
    [0x82, 0x47, 0x7a, 0x76, 0xb2, 0x8d, 0x42, 0xba, 0x81, 0xdc, 0x33, 0x32, 0x6d, 0x57, 0xa0, 0x79];

/// `TracePacketDefaults`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TracePacketDefaults {
    #[prost(uint32, optional, tag = "58")]
    pub(crate) timestamp_clock_id: Option<u32>,
}

/// `EventCategory`, `EventName`, `DebugAnnotationName`: all have this shape.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct InternedName {
    #[prost(uint64, optional, tag = "1")]
    pub(crate) iid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub(crate) name: Option<String>,
}

/// `InternedData`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct InternedData {
    #[prost(message, repeated, tag = "1")]
    pub(crate) event_categories: Vec<InternedName>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) event_names: Vec<InternedName>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) debug_annotation_names: Vec<InternedName>,
}

/// `ClockSnapshot`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ClockSnapshot {
    #[prost(message, repeated, tag = "1")]
    pub(crate) clocks: Vec<Clock>,
    #[prost(uint32, optional, tag = "2")]
    pub(crate) primary_trace_clock: Option<u32>,
}

/// `ClockSnapshot.Clock`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Clock {
    #[prost(uint32, optional, tag = "1")]
    pub(crate) clock_id: Option<u32>,
    #[prost(uint64, optional, tag = "2")]
    pub(crate) timestamp: Option<u64>,
    #[prost(bool, optional, tag = "3")]
    pub(crate) is_incremental: Option<bool>,
}

/// `TrackEvent`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TrackEvent {
    #[prost(enumeration = "EventType", optional, tag = "9")]
    pub(crate) r#type: Option<i32>,
    #[prost(uint64, repeated, packed = "false", tag = "3")]
    pub(crate) category_iids: Vec<u64>,
    #[prost(uint64, optional, tag = "10")]
    pub(crate) name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "11")]
    pub(crate) track_uuid: Option<u64>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) debug_annotations: Vec<DebugAnnotation>,
}

/// `TrackEvent.Type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum EventType {
    Unspecified = 0,
    SliceBegin = 1,
    SliceEnd = 2,
    Instant = 3,
    Counter = 4,
}

/// `DebugAnnotation`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct DebugAnnotation {
    #[prost(uint64, optional, tag = "1")]
    pub(crate) name_iid: Option<u64>,
    #[prost(oneof = "AnnotationValue", tags = "2, 3, 6")]
    pub(crate) value: Option<AnnotationValue>,
}

/// The value of a `DebugAnnotation`.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum AnnotationValue {
    #[prost(bool, tag = "2")]
    Bool(bool),
    #[prost(uint64, tag = "3")]
    Uint(u64),
    #[prost(string, tag = "6")]
    String(String),
}

/// `TrackDescriptor`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub(crate) uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub(crate) name: Option<String>,
    #[prost(uint64, optional, tag = "5")]
    pub(crate) parent_uuid: Option<u64>,
    #[prost(enumeration = "ChildOrdering", optional, tag = "11")]
    pub(crate) child_ordering: Option<i32>,
    #[prost(int32, optional, tag = "12")]
    pub(crate) sibling_order_rank: Option<i32>,
    #[prost(enumeration = "SiblingMerge", optional, tag = "15")]
    pub(crate) sibling_merge_behavior: Option<i32>,
    #[prost(message, optional, tag = "8")]
    pub(crate) counter: Option<CounterDescriptor>,
}

/// `CounterDescriptor`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct CounterDescriptor {
    #[prost(string, optional, tag = "6")]
    pub(crate) unit_name: Option<String>,
}

/// `TrackDescriptor.ChildTracksOrdering`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum ChildOrdering {
    Unknown = 0,
    Explicit = 3,
}

/// `TrackDescriptor.SiblingMergeBehavior`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum SiblingMerge {
    Unspecified = 0,
    None = 2,
}

/// `TraceStats`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TraceStats {
    #[prost(message, repeated, tag = "1")]
    pub(crate) buffer_stats: Vec<BufferStats>,
}

/// `TraceStats.BufferStats`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct BufferStats {
    #[prost(uint64, optional, tag = "19")]
    pub(crate) trace_writer_packet_loss: Option<u64>,
}

/// `ExtensionDescriptor`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ExtensionDescriptor {
    #[prost(message, optional, tag = "1")]
    pub(crate) extension_set: Option<FileDescriptorSet>,
}

/// `google.protobuf.FileDescriptorSet`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FileDescriptorSet {
    #[prost(message, repeated, tag = "1")]
    pub(crate) file: Vec<FileDescriptor>,
}

/// `google.protobuf.FileDescriptorProto`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FileDescriptor {
    #[prost(string, optional, tag = "1")]
    pub(crate) name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub(crate) package: Option<String>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) message_type: Vec<MessageDescriptor>,
    #[prost(message, repeated, tag = "7")]
    pub(crate) extension: Vec<FieldDescriptor>,
}

/// `google.protobuf.DescriptorProto`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct MessageDescriptor {
    #[prost(string, optional, tag = "1")]
    pub(crate) name: Option<String>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) field: Vec<FieldDescriptor>,
}

/// `google.protobuf.FieldDescriptorProto`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FieldDescriptor {
    #[prost(string, optional, tag = "1")]
    pub(crate) name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub(crate) extendee: Option<String>,
    #[prost(int32, optional, tag = "3")]
    pub(crate) number: Option<i32>,
    /// 1 is `LABEL_OPTIONAL`.
    #[prost(int32, optional, tag = "4")]
    pub(crate) label: Option<i32>,
    /// 4 is `TYPE_UINT64`, 11 `TYPE_MESSAGE`.
    #[prost(int32, optional, tag = "5")]
    pub(crate) r#type: Option<i32>,
    #[prost(string, optional, tag = "6")]
    pub(crate) type_name: Option<String>,
}

impl TracePacket {
    /// The packet as an entry of `Trace.packet`.
    pub(crate) fn entry(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.encoded_len() + 6);
        prost::encoding::encode_key(1, prost::encoding::WireType::LengthDelimited, &mut out);
        prost::encoding::encode_varint(self.encoded_len() as u64, &mut out);
        self.encode_raw(&mut out);
        out
    }
}
