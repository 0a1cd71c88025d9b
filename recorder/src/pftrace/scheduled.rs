//! A trace with the scheduling of machines beside its events.

use crate::pftrace::event::{Annotations, DebugFields};
use crate::pftrace::framing::Framing;
use crate::pftrace::full::FullSink;
use crate::pftrace::sched::Scheduling;
use crate::pftrace::sink::TraceSink;
use crate::sink::{Event, Gap, SegmentTotals, Sink};
use crate::writer::Outlet;

/// A trace of events in one of its forms.
#[allow(clippy::large_enum_variant, reason = "there is one per run")]
pub(crate) enum Events {
    Debug(TraceSink<DebugFields<false>>),
    Annotations(TraceSink<Annotations>),
    Full(FullSink),
}

/// Runs an expression with the trace there is.
macro_rules! with_events {
    ($events:expr, $trace:ident => $body:expr) => {
        match $events {
            Events::Debug($trace) => $body,
            Events::Annotations($trace) => $body,
            Events::Full($trace) => $body,
        }
    };
}

impl Events {
    fn framing(&mut self) -> &mut Framing {
        with_events!(self, trace => trace.framing())
    }
}

/// Writes events and what they say of scheduling.
pub(crate) struct ScheduledSink {
    events: Events,
    scheduling: Scheduling,
    /// Nanosecond of the last event.
    last_ns: i64,
}

impl ScheduledSink {
    /// `open` begins the scheduling's part behind the opening of `events`.
    pub(crate) fn new(mut events: Events, open: impl FnOnce(&mut Framing) -> Scheduling) -> Self {
        let scheduling = open(events.framing());
        Self { events, scheduling, last_ns: 0 }
    }
}

impl Sink for ScheduledSink {
    fn event(&mut self, ns: i64, event: &Event<'_>) {
        with_events!(&mut self.events, trace => trace.event(ns, event));
        self.last_ns = ns;
        self.scheduling.show(self.events.framing(), ns, event);
    }

    fn gap(&mut self, ns: i64, gap: &Gap) {
        with_events!(&mut self.events, trace => trace.gap(ns, gap));
    }

    fn flush(&mut self) {
        with_events!(&mut self.events, trace => trace.flush());
    }

    fn end_at(&mut self, ns: i64) {
        self.last_ns = self.last_ns.max(ns);
    }

    fn finish(&mut self) {
        if let Events::Full(trace) = &mut self.events {
            trace.close_instant();
        }
        self.scheduling.end(self.events.framing(), self.last_ns);
        with_events!(&mut self.events, trace => trace.finish());
    }

    fn outlets(&self) -> impl Iterator<Item = &Outlet> {
        let outlet = with_events!(&self.events, trace => trace.outlets().next());
        outlet.into_iter()
    }

    fn segments(&self) -> &[SegmentTotals] {
        with_events!(&self.events, trace => trace.segments())
    }
}
