//! What an output is to the recorder: something that takes events in their final order.
//!
//! Sinks are combined at compile time, so that no event asks which outputs a run has.

use clockweave_model::{EventRecord, Phase};

use crate::writer::Outlet;

/// An event with its place: everything an output says about it but the time.
pub(crate) struct Event<'a> {
    pub(crate) record: &'a EventRecord,
    /// Index of the unit in the roster.
    pub(crate) unit: usize,
    /// Index of the kind in the kind table.
    pub(crate) kind: usize,
    pub(crate) ordinal: u64,
}

/// Consecutive events of one unit that were dropped by a run that may do so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// Index of the unit in the roster.
    pub(crate) unit: usize,
    /// Ordinal of the first of them.
    pub(crate) ordinal: u64,
    pub(crate) count: u64,
    /// Edge and phase of the first of them.
    pub(crate) cycle: u64,
    pub(crate) phase: Phase,
}

/// What one file of a trace holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentTotals {
    pub(crate) events: u64,
    pub(crate) dropped: u64,
}

/// An output.
pub(crate) trait Sink {
    /// Takes the next event of the total order; `ns` is the display nanosecond.
    fn event(&mut self, ns: i64, event: &Event<'_>);

    /// Takes a gap, which has a place in the total order as an event has.
    fn gap(&mut self, ns: i64, gap: &Gap);

    /// Makes everything taken so far reach the file, without changing what the file will hold in
    /// the end.
    fn flush(&mut self);

    /// The run ended at `ns`, which is not before the last event.
    fn end_at(&mut self, _ns: i64) {}

    /// Hands over what is left.
    fn finish(&mut self);

    /// The ways to the writing thread.
    fn outlets(&self) -> impl Iterator<Item = &Outlet>;

    /// The files of the trace, once it is finished; none where there is no trace.
    fn segments(&self) -> &[SegmentTotals] {
        &[]
    }
}

/// No output: events are counted only.
impl Sink for () {
    #[inline]
    fn event(&mut self, _: i64, _: &Event<'_>) {}

    fn gap(&mut self, _: i64, _: &Gap) {}

    fn flush(&mut self) {}

    fn finish(&mut self) {}

    fn outlets(&self) -> impl Iterator<Item = &Outlet> {
        std::iter::empty()
    }
}

impl<S: Sink> Sink for Box<S> {
    fn event(&mut self, ns: i64, event: &Event<'_>) {
        (**self).event(ns, event);
    }

    fn gap(&mut self, ns: i64, gap: &Gap) {
        (**self).gap(ns, gap);
    }

    fn flush(&mut self) {
        (**self).flush();
    }

    fn end_at(&mut self, ns: i64) {
        (**self).end_at(ns);
    }

    fn finish(&mut self) {
        (**self).finish();
    }

    fn outlets(&self) -> impl Iterator<Item = &Outlet> {
        (**self).outlets()
    }

    fn segments(&self) -> &[SegmentTotals] {
        (**self).segments()
    }
}

/// Both.
impl<A: Sink, B: Sink> Sink for (A, B) {
    #[inline]
    fn event(&mut self, ns: i64, event: &Event<'_>) {
        self.0.event(ns, event);
        self.1.event(ns, event);
    }

    fn gap(&mut self, ns: i64, gap: &Gap) {
        self.0.gap(ns, gap);
        self.1.gap(ns, gap);
    }

    fn flush(&mut self) {
        self.0.flush();
        self.1.flush();
    }

    fn end_at(&mut self, ns: i64) {
        self.0.end_at(ns);
        self.1.end_at(ns);
    }

    fn finish(&mut self) {
        self.0.finish();
        self.1.finish();
    }

    fn outlets(&self) -> impl Iterator<Item = &Outlet> {
        self.0.outlets().chain(self.1.outlets())
    }

    /// The trace comes first.
    fn segments(&self) -> &[SegmentTotals] {
        self.0.segments()
    }
}
