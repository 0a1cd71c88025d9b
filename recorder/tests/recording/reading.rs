//! Reads traces with Perfetto's own schema and a decompressor that is not the writer's.

use std::io::Read;
use std::path::Path;

use perfetto_protos::trace_packet::TracePacket;
use perfetto_protos::track_event::TrackEvent;
use protobuf::{CodedInputStream, Message, UnknownValueRef};

/// One packet and where it was.
pub(crate) struct Packet {
    /// Which compressed packet of the file it was in, if any.
    pub(crate) wrapper: Option<usize>,
    /// Its bytes, without tag and length of the entry.
    pub(crate) bytes: Vec<u8>,
    pub(crate) packet: TracePacket,
}

/// A whole trace file.
pub(crate) struct TraceFile {
    pub(crate) packets: Vec<Packet>,
    /// Sizes of the wrappers' content, before compression.
    pub(crate) wrapped: Vec<usize>,
}

/// The arguments of one event, by the extension's field numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) unit_id: u64,
    pub(crate) fifo_id: u64,
    pub(crate) phase: u64,
    pub(crate) value: u64,
    pub(crate) ordinal: u64,
    pub(crate) local_cycle: u64,
    pub(crate) transaction_id: u64,
}

/// The entries of `Trace.packet` in `bytes`; panics where they are torn.
pub(crate) fn entries(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut input = CodedInputStream::from_bytes(bytes);
    let mut entries = Vec::new();
    while let Some(tag) = input.read_raw_tag_or_eof().unwrap() {
        assert_eq!(tag, 0x0a, "only packets at the top");
        entries.push(input.read_bytes().unwrap());
    }
    entries
}

/// Bytes of the whole entries that `bytes` begins with.
pub(crate) fn whole(bytes: &[u8]) -> usize {
    let mut input = CodedInputStream::from_bytes(bytes);
    let mut end = 0;
    while let Ok(Some(_)) = input.read_raw_tag_or_eof() {
        if input.read_bytes().is_err() {
            break;
        }
        end = input.pos() as usize;
    }
    end
}

pub(crate) fn read(path: &Path) -> TraceFile {
    parse(&std::fs::read(path).unwrap())
}

pub(crate) fn parse(bytes: &[u8]) -> TraceFile {
    let mut file = TraceFile { packets: Vec::new(), wrapped: Vec::new() };
    for entry in entries(bytes) {
        let packet = TracePacket::parse_from_bytes(&entry).unwrap();
        if !packet.has_compressed_packets() {
            file.packets.push(Packet { wrapper: None, bytes: entry, packet });
            continue;
        }
        let stream = packet.compressed_packets();
        let mut raw = Vec::new();
        let mut decoder = flate2::read::ZlibDecoder::new(stream);
        decoder.read_to_end(&mut raw).unwrap();
        assert_eq!(decoder.total_in() as usize, stream.len(), "one stream per wrapper");
        let wrapper = Some(file.wrapped.len());
        file.wrapped.push(raw.len());
        for bytes in entries(&raw) {
            let packet = TracePacket::parse_from_bytes(&bytes).unwrap();
            assert!(!packet.has_compressed_packets(), "wrappers are not nested");
            file.packets.push(Packet { wrapper, bytes, packet });
        }
    }
    file
}

impl TraceFile {
    /// The packets of recorded events: category 1.
    pub(crate) fn events(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter().filter(|p| p.packet.track_event().category_iids == [1])
    }
}

/// The extension's fields of an event.
pub(crate) fn arguments(event: &TrackEvent) -> Arguments {
    let fields = event.special_fields.unknown_fields();
    let Some(UnknownValueRef::LengthDelimited(bytes)) = fields.get(9900) else {
        panic!("an event without arguments");
    };
    let mut arguments = Arguments::default();
    let mut input = CodedInputStream::from_bytes(bytes);
    while let Some(tag) = input.read_raw_tag_or_eof().unwrap() {
        assert_eq!(tag & 7, 0, "varints only");
        let value = input.read_uint64().unwrap();
        *match tag >> 3 {
            1 => &mut arguments.unit_id,
            2 => &mut arguments.fifo_id,
            3 => &mut arguments.phase,
            4 => &mut arguments.value,
            5 => &mut arguments.ordinal,
            6 => &mut arguments.local_cycle,
            7 => &mut arguments.transaction_id,
            other => panic!("argument field {other}"),
        } = value;
    }
    arguments
}
