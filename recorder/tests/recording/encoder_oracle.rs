//! Whether a stand-alone trace says what was written: events and tracks drawn from bytes, written, decoded with
//! Perfetto's own schema, and compared. The fuzz target and the property test share it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use clockweave_recorder::Compression;
use clockweave_recorder::encoder::{
    Event, Level, Name, PftraceOptions, PftraceWriter, TraceError, Track, Value,
};
use perfetto_protos::clock_snapshot::clock_snapshot::Clock;
use perfetto_protos::debug_annotation::debug_annotation::{Name_field, Value as Wire};
use perfetto_protos::interned_data::InternedData;
use perfetto_protos::track_event::track_event::{Counter_value_field, Type};

use crate::reading;

/// Choices made from bytes; without bytes, always the first one.
struct Draws<'a>(&'a [u8]);

impl<'a> Draws<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    /// A number of any width: the byte before it says how many bytes it has.
    fn number(&mut self) -> u64 {
        let width = usize::from(self.byte() % 9);
        self.take(width).iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// Text of any characters, now and then a long one.
    fn text(&mut self) -> String {
        let (length, times) = match self.byte() {
            255 => (40, 900),
            byte => (usize::from(byte % 24), 1),
        };
        String::from_utf8_lossy(self.take(length)).repeat(times)
    }
}

/// A value as it is written, with the texts themselves.
#[derive(Clone, Debug, PartialEq)]
enum Said {
    Bool(bool),
    Uint(u64),
    Int(i64),
    /// By its bits, since not every number equals itself.
    Double(u64),
    Pointer(u64),
    Text(String),
    /// A text that is stated once.
    Name(String),
}

/// A value, and its name where it has one.
type Spoken = (Said, Option<Name>);

/// An event as it is read.
#[derive(Clone, Debug, PartialEq)]
struct Told {
    ns: u64,
    track: String,
    kind: Type,
    name: Option<String>,
    category: Option<String>,
    args: Vec<(String, Said)>,
    level: Option<Said>,
    flows: Vec<u64>,
    last_flows: Vec<u64>,
}

/// A trace in the making, and what it should say.
struct Session<'a> {
    draws: Draws<'a>,
    trace: PftraceWriter,
    /// Tracks, whether they are counters', slices open on them, and the time of the last one.
    tracks: Vec<(Track, bool, u32, u64)>,
    watermark: u64,
    expected: Vec<Told>,
}

/// A track's name is unique here, so that events tell where they are.
fn track_name(number: usize) -> String {
    format!("track {number}")
}

impl Session<'_> {
    fn add_track(&mut self) {
        let draw = self.draws.byte();
        let slices: Vec<Track> = self.tracks.iter().filter(|track| !track.1).map(|track| track.0).collect();
        let parent = slices.get(usize::from(draw >> 1) % (slices.len() + 1)).copied();
        let name = track_name(self.tracks.len());
        let track = match draw & 1 {
            0 => self.trace.track(&name, parent),
            _ => self.trace.counter_track(&name, parent, Some("unit")),
        };
        self.tracks.push((track.unwrap(), draw & 1 == 1, 0, 0));
    }

    fn name(&mut self) -> (Name, String) {
        let mut text = self.draws.text();
        if text.len() > 32_768 {
            assert!(matches!(self.trace.name(&text), Err(TraceError::NameTooLong { .. })));
            text = text.chars().take(5).collect();
        }
        (self.trace.name(&text).unwrap(), text)
    }

    fn event(&mut self) {
        let (choice, shape) = (self.draws.byte(), self.draws.byte());
        let at = usize::from(choice >> 2) % self.tracks.len();
        let (track, counter, open, last) = self.tracks[at];
        let ns = self.draws.number();
        let (kind, level) = match choice & 3 {
            _ if counter && shape & 64 == 0 => {
                (Type::TYPE_COUNTER, Some(Said::Int(self.draws.number() as i64)))
            }
            _ if counter => (Type::TYPE_COUNTER, Some(Said::Double(self.draws.number()))),
            1 => (Type::TYPE_SLICE_BEGIN, None),
            2 => (Type::TYPE_SLICE_END, None),
            _ => (Type::TYPE_INSTANT, None),
        };
        let name = matches!(kind, Type::TYPE_INSTANT | Type::TYPE_SLICE_BEGIN).then(|| self.name());
        let category = (shape & 1 == 1).then(|| self.name());
        let said: Vec<((Name, String), Spoken)> =
            (0..shape >> 1 & 3).map(|_| (self.name(), self.value())).collect();
        let args: Vec<(Name, Value<'_>)> =
            said.iter().map(|((name, _), value)| (*name, written(value))).collect();
        let flows: Vec<u64> = (0..shape >> 3 & 3).map(|_| self.draws.number()).collect();
        let last_flows: Vec<u64> = (0..shape >> 5 & 1).map(|_| self.draws.number()).collect();
        let event = match (kind, &level) {
            (Type::TYPE_COUNTER, Some(Said::Int(value))) => Event::counter(ns, track, Level::Int(*value)),
            (Type::TYPE_COUNTER, Some(Said::Double(bits))) => {
                Event::counter(ns, track, Level::Double(f64::from_bits(*bits)))
            }
            (Type::TYPE_SLICE_END, _) => Event::end(ns, track),
            (Type::TYPE_SLICE_BEGIN, _) => Event::begin(ns, track, name.as_ref().unwrap().0),
            _ => Event::instant(ns, track, name.as_ref().unwrap().0),
        };
        let event = category.iter().fold(event.args(&args), |event, (name, _)| event.category(*name));
        let answer = self.trace.write(&event.flows(&flows).last_flows(&last_flows));
        let slice = matches!(kind, Type::TYPE_SLICE_BEGIN | Type::TYPE_SLICE_END);
        match answer {
            Ok(()) => {}
            Err(TraceError::TimeRange { .. }) => return assert!(ns > i64::MAX as u64),
            Err(TraceError::Late { .. }) => return assert!(ns < self.watermark),
            Err(TraceError::SliceRegressed { .. }) => return assert!(slice && ns < last),
            Err(TraceError::NothingOpen { .. }) => return assert!(kind == Type::TYPE_SLICE_END && open == 0),
            Err(TraceError::EventTooLarge { bytes, .. }) => return assert!(bytes > 65_536),
            Err(error) => panic!("{error}"),
        }
        assert!(ns <= i64::MAX as u64 && ns >= self.watermark && !(slice && ns < last));
        match kind {
            Type::TYPE_SLICE_BEGIN => (self.tracks[at].2, self.tracks[at].3) = (open + 1, ns),
            Type::TYPE_SLICE_END => {
                (self.tracks[at].2, self.tracks[at].3) = (open.checked_sub(1).unwrap(), ns);
            }
            _ => {}
        }
        self.expected.push(Told {
            ns,
            track: track_name(at),
            kind,
            name: name.map(|(_, text)| text),
            category: category.map(|(_, text)| text),
            args: said.into_iter().map(|((_, name), (value, _))| (name, value)).collect(),
            level,
            flows,
            last_flows,
        });
    }

    fn value(&mut self) -> Spoken {
        match self.draws.byte() % 7 {
            0 => (Said::Uint(self.draws.number()), None),
            1 => (Said::Int(self.draws.number() as i64), None),
            2 => (Said::Text(self.draws.text()), None),
            3 => {
                let (name, text) = self.name();
                (Said::Name(text), Some(name))
            }
            4 => (Said::Bool(self.draws.byte() & 1 == 1), None),
            5 => (Said::Double(self.draws.number()), None),
            _ => (Said::Pointer(self.draws.number()), None),
        }
    }
}

fn written<'a>((said, name): &'a Spoken) -> Value<'a> {
    match said {
        Said::Bool(value) => Value::Bool(*value),
        Said::Uint(value) => Value::Uint(*value),
        Said::Int(value) => Value::Int(*value),
        Said::Double(bits) => Value::Double(f64::from_bits(*bits)),
        Said::Pointer(value) => Value::Pointer(*value),
        Said::Text(text) => Value::Text(text),
        Said::Name(_) => Value::Name(name.unwrap()),
    }
}

/// The tables of a sequence's interned data.
#[derive(Default)]
struct Tables {
    categories: HashMap<u64, String>,
    events: HashMap<u64, String>,
    annotations: HashMap<u64, String>,
    texts: HashMap<u64, String>,
}

impl Tables {
    fn add(&mut self, data: &InternedData) {
        self.categories.extend(data.event_categories.iter().map(|e| (e.iid(), e.name().to_owned())));
        self.events.extend(data.event_names.iter().map(|e| (e.iid(), e.name().to_owned())));
        self.annotations.extend(data.debug_annotation_names.iter().map(|e| (e.iid(), e.name().to_owned())));
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        self.texts.extend(data.debug_annotation_string_values.iter().map(|e| (e.iid(), text(e.str()))));
    }
}

fn read(path: &Path) -> (Vec<Told>, usize) {
    let file = reading::read(path);
    let (mut tables, mut tracks) = (Tables::default(), BTreeMap::new());
    let (mut now, mut told, mut states) = (0, Vec::new(), 0);
    for packet in file.packets.iter().map(|packet| &packet.packet) {
        if packet.sequence_flags() & 1 == 1 {
            (tables, states) = (Tables::default(), states + 1);
        }
        if packet.has_clock_snapshot() {
            let times: Vec<u64> = packet.clock_snapshot().clocks.iter().map(Clock::timestamp).collect();
            assert!(times.iter().all(|time| *time == times[0] && *time >= now), "clocks do not fall");
            now = times[0];
        }
        if packet.has_track_descriptor() {
            let track = packet.track_descriptor();
            tracks.insert(track.uuid(), track.name().to_owned());
        }
        tables.add(&packet.interned_data);
        if !packet.has_track_event() {
            continue;
        }
        let ns = match packet.timestamp_clock_id() {
            11 => packet.timestamp(),
            _ => {
                now += packet.timestamp();
                now
            }
        };
        let event = packet.track_event();
        let args = event.debug_annotations.iter().map(|annotation| {
            let Some(Name_field::NameIid(name)) = annotation.name_field else { panic!("an interned name") };
            let value = match annotation.value.clone().unwrap() {
                Wire::BoolValue(value) => Said::Bool(value),
                Wire::UintValue(value) => Said::Uint(value),
                Wire::IntValue(value) => Said::Int(value),
                Wire::DoubleValue(value) => Said::Double(value.to_bits()),
                Wire::PointerValue(value) => Said::Pointer(value),
                Wire::StringValue(text) => Said::Text(text),
                Wire::StringValueIid(text) => Said::Name(tables.texts[&text].clone()),
                other => panic!("a value of none of the written types: {other:?}"),
            };
            (tables.annotations[&name].clone(), value)
        });
        told.push(Told {
            ns,
            track: tracks[&event.track_uuid()].clone(),
            kind: event.type_(),
            name: event.has_name_iid().then(|| tables.events[&event.name_iid()].clone()),
            category: event.category_iids.first().map(|iid| tables.categories[iid].clone()),
            args: args.collect(),
            level: event.counter_value_field.as_ref().map(|level| match level {
                Counter_value_field::CounterValue(value) => Said::Int(*value),
                Counter_value_field::DoubleCounterValue(value) => Said::Double(value.to_bits()),
                other => panic!("a counter's value of another kind: {other:?}"),
            }),
            flows: event.flow_ids.clone(),
            last_flows: event.terminating_flow_ids.clone(),
        });
    }
    (told, states)
}

/// Writes what `bytes` say to `path` and checks what is there.
pub(crate) fn check(bytes: &[u8], path: &Path) {
    let mut draws = Draws(bytes);
    let interval = 1 + u64::from(draws.byte() % 32);
    let compression = if draws.byte() & 1 == 0 { Compression::None } else { Compression::default() };
    let options = PftraceOptions::default().compression(compression).checkpoint_interval(interval);
    let trace = PftraceWriter::create(path, options.flush_interval(None)).unwrap();
    let mut session = Session { draws, trace, tracks: Vec::new(), watermark: 0, expected: Vec::new() };
    session.add_track();
    while !session.draws.0.is_empty() {
        match session.draws.byte() {
            0..16 => session.add_track(),
            16..24 => session.trace.flush().unwrap(),
            24..28 => {
                let ns = session.draws.number() >> 16;
                let answer = session.trace.advance_watermark(ns);
                assert_eq!(answer.is_ok(), ns >= session.watermark);
                session.watermark = session.watermark.max(ns);
            }
            _ => session.event(),
        }
    }
    let Session { trace, expected, tracks, .. } = session;
    let summary = trace.close().unwrap();
    let (found, states) = read(path);
    assert_eq!(found, expected);
    assert_eq!(summary.events, expected.len() as u64);
    assert_eq!(summary.open_slices, tracks.iter().map(|track| u64::from(track.2)).sum::<u64>());
    assert_eq!(states as u64, 1 + expected.len().saturating_sub(1) as u64 / interval);
    assert_eq!(summary.file_bytes, std::fs::metadata(path).unwrap().len());
}
