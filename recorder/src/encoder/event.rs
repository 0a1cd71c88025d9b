//! What one event says.

/// A track of a trace; handed out by [`PftraceWriter`](super::PftraceWriter).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Track(pub(super) u32);

/// A text that a trace states once: a name, a category, an annotation's name or value. Handed out by
/// [`PftraceWriter::name`](super::PftraceWriter::name).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(pub(super) u32);

/// The value of an annotation: the typed values of Perfetto's `DebugAnnotation`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// Field 2.
    Bool(bool),
    /// Field 3. Read through SQL, values above `i64::MAX` come as negative numbers of the same 64 bits.
    Uint(u64),
    /// Field 4.
    Int(i64),
    /// Field 5.
    Double(f64),
    /// Field 7: shown as an address.
    Pointer(u64),
    /// Field 6: a text that is written out.
    Text(&'a str),
    /// Field 17: a text that is stated once and then referred to.
    Name(Name),
}

/// A counter's value. Importers keep both as floating point numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Level {
    /// `TrackEvent.counter_value` (field 30).
    Int(i64),
    /// `TrackEvent.double_counter_value` (field 44).
    Double(f64),
}

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Instant,
    Begin,
    End,
    Counter(Level),
}

/// One event, by reference to what it says. Built by [`Event::instant`] and its siblings, then written with
/// [`PftraceWriter::write`](super::PftraceWriter::write).
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Event<'a> {
    pub(super) ns: u64,
    pub(super) track: Track,
    pub(super) kind: Kind,
    pub(super) name: Option<Name>,
    pub(super) category: Option<Name>,
    pub(super) args: &'a [(Name, Value<'a>)],
    pub(super) flows: &'a [u64],
    pub(super) last_flows: &'a [u64],
}

impl<'a> Event<'a> {
    fn new(ns: u64, track: Track, kind: Kind, name: Option<Name>) -> Self {
        Self { ns, track, kind, name, category: None, args: &[], flows: &[], last_flows: &[] }
    }

    /// Something that happens at `ns` and has no duration.
    pub fn instant(ns: u64, track: Track, name: Name) -> Self {
        Self::new(ns, track, Kind::Instant, Some(name))
    }

    /// A slice begins.
    pub fn begin(ns: u64, track: Track, name: Name) -> Self {
        Self::new(ns, track, Kind::Begin, Some(name))
    }

    /// The track's innermost open slice ends. Annotations and flows given here are the slice's.
    pub fn end(ns: u64, track: Track) -> Self {
        Self::new(ns, track, Kind::End, None)
    }

    /// A counter has a value from `ns` on.
    pub fn counter(ns: u64, track: Track, level: Level) -> Self {
        Self::new(ns, track, Kind::Counter(level), None)
    }

    /// Sets the category.
    pub fn category(mut self, category: Name) -> Self {
        self.category = Some(category);
        self
    }

    /// Sets the annotations, in the order in which they are shown.
    pub fn args(mut self, args: &'a [(Name, Value<'a>)]) -> Self {
        self.args = args;
        self
    }

    /// Sets the flows that pass through: events with a flow in common are joined by arrows, in order of time and, within
    /// a nanosecond, of writing. Ids are the whole trace's.
    pub fn flows(mut self, flows: &'a [u64]) -> Self {
        self.flows = flows;
        self
    }

    /// Sets the flows that end here; their ids may then be used for others.
    pub fn last_flows(mut self, flows: &'a [u64]) -> Self {
        self.last_flows = flows;
        self
    }
}
