//! The interned names in force on each packet sequence, and events with their names resolved.
//!
//! Field numbers are those of Perfetto's public `interned_data.proto`, `track_event.proto`,
//! `debug_annotation.proto` and `trace_packet_defaults.proto`.

use std::collections::BTreeMap;

use clockweave_validators::scan::{Field, Fields, Packet, Value};

/// Most names of one table that are kept.
const MOST: usize = 1 << 20;

/// `TrackEvent` fields.
const TYPE: u32 = 9;
const CATEGORY_IIDS: u32 = 3;
const CATEGORIES: u32 = 22;
const ANNOTATIONS: u32 = 4;
const NAME_IID: u32 = 10;
const NAME: u32 = 23;
const TRACK_UUID: u32 = 11;
/// The extension field that carries arguments in the small layout.
const EXTENSION: u32 = 9900;

/// The names of one sequence, and the track of its events that name none.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) categories: BTreeMap<u64, String>,
    pub(crate) events: BTreeMap<u64, String>,
    pub(crate) annotations: BTreeMap<u64, String>,
    default_track: Option<u64>,
}

/// A track event with its names.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Event<'a> {
    /// `TrackEvent.type`: 1 begins a slice, 2 ends one, 3 is an instant, 4 a counter's value.
    pub(crate) kind: u64,
    pub(crate) name: Option<&'a str>,
    /// Its name's number, if that is interned.
    pub(crate) name_iid: Option<u64>,
    /// Its first category.
    pub(crate) category: Option<&'a str>,
    pub(crate) track: Option<u64>,
    /// The arguments in the small layout.
    pub(crate) extension: Option<&'a [u8]>,
    bytes: &'a [u8],
}

/// The value of a debug annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Annotation<'a> {
    Number(u64),
    Text(&'a str),
}

impl Names {
    /// Takes in what `packet` says about names.
    pub(crate) fn apply(&mut self, packet: &Packet<'_>) {
        if packet.clears_incremental_state() {
            *self = Self::default();
        }
        if let Some(defaults) = packet.defaults {
            let event = fields(defaults).filter(|field| field.number == 11).filter_map(|field| field.bytes());
            let track = event.flat_map(fields).filter(|field| field.number == TRACK_UUID);
            self.default_track = track.filter_map(|field| field.varint()).last();
        }
        for field in packet.interned_data.into_iter().flat_map(fields) {
            let table = match field.number {
                1 => &mut self.categories,
                2 => &mut self.events,
                3 => &mut self.annotations,
                _ => continue,
            };
            let (mut iid, mut name) = (0, "");
            for part in field.bytes().into_iter().flat_map(fields) {
                match (part.number, part.value) {
                    (1, Value::Varint(value)) => iid = value,
                    (2, Value::Bytes(bytes)) => name = str::from_utf8(bytes).unwrap_or_default(),
                    _ => {}
                }
            }
            if table.len() < MOST {
                table.insert(iid, name.to_owned());
            }
        }
    }

    /// The event in `bytes`.
    pub(crate) fn event<'a>(&'a self, bytes: &'a [u8]) -> Event<'a> {
        let mut event = Event { track: self.default_track, bytes, ..Event::default() };
        for field in fields(bytes) {
            match (field.number, field.value) {
                (TYPE, Value::Varint(kind)) => event.kind = kind,
                (NAME_IID, Value::Varint(iid)) => {
                    event.name = self.events.get(&iid).map(String::as_str);
                    event.name_iid = Some(iid);
                }
                (NAME, Value::Bytes(name)) => event.name = str::from_utf8(name).ok(),
                (TRACK_UUID, Value::Varint(uuid)) => event.track = Some(uuid),
                (CATEGORY_IIDS, Value::Varint(iid)) if event.category.is_none() => {
                    event.category = self.categories.get(&iid).map(String::as_str);
                }
                (CATEGORIES, Value::Bytes(name)) if event.category.is_none() => {
                    event.category = str::from_utf8(name).ok();
                }
                (EXTENSION, Value::Bytes(message)) => event.extension = Some(message),
                _ => {}
            }
        }
        event
    }

    /// Names and values of the debug annotations of `event`.
    pub(crate) fn annotations<'a>(
        &'a self,
        event: &Event<'a>,
    ) -> impl Iterator<Item = (&'a str, Annotation<'a>)> {
        let messages = fields(event.bytes).filter(|field| field.number == ANNOTATIONS);
        messages.filter_map(|field| self.annotation(field.bytes()?))
    }

    fn annotation<'a>(&'a self, message: &'a [u8]) -> Option<(&'a str, Annotation<'a>)> {
        let (mut name, mut value) = (None, None);
        for field in fields(message) {
            match (field.number, field.value) {
                (1, Value::Varint(iid)) => name = self.annotations.get(&iid).map(String::as_str),
                (10, Value::Bytes(text)) => name = str::from_utf8(text).ok(),
                (2..=4, Value::Varint(number)) => value = Some(Annotation::Number(number)),
                (6, Value::Bytes(text)) => value = str::from_utf8(text).ok().map(Annotation::Text),
                _ => {}
            }
        }
        name.zip(value)
    }
}

/// The fields of a message up to the first fault.
pub(crate) fn fields(message: &[u8]) -> impl Iterator<Item = Field<'_>> {
    Fields::new(message).map_while(Result::ok)
}
