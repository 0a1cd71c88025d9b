//! The view `events`: each event as one packet, from templates.

use std::marker::PhantomData;

use crate::pftrace::deflate::{self, Hint};
use crate::pftrace::event::{self, Arguments, KindTemplate, UnitTemplate};
use crate::pftrace::framing::Framing;
use crate::sink::{Event, Gap, SegmentTotals, Sink};
use crate::writer::Outlet;

/// Writes the trace.
pub(crate) struct TraceSink<A> {
    framing: Framing,
    kinds: Box<[KindTemplate]>,
    units: Box<[UnitTemplate]>,
    /// Tracks by unit.
    tracks: Box<[u64]>,
    arguments: PhantomData<A>,
}

impl<A: Arguments> TraceSink<A> {
    /// `kinds` are the interned names by kind, `units` pairs of track and unit id.
    pub(crate) fn new(framing: Framing, kinds: &[u64], units: &[(u64, u64)]) -> Self {
        Self {
            framing,
            kinds: kinds.iter().map(|name| KindTemplate::new(*name)).collect(),
            units: units.iter().map(|(track, id)| A::template(*track, *id)).collect(),
            tracks: units.iter().map(|(track, _)| *track).collect(),
            arguments: PhantomData,
        }
    }
}

impl<A> TraceSink<A> {
    pub(crate) fn framing(&mut self) -> &mut Framing {
        &mut self.framing
    }
}

impl<A: Arguments> Sink for TraceSink<A> {
    #[inline(always)]
    fn event(&mut self, ns: i64, event: &Event<'_>) {
        let delta = self.framing.step(ns);
        let (kind, unit) = (&self.kinds[event.kind], &self.units[event.unit]);
        let slot = self.framing.slot();
        let (size, marks) = event::put::<A>(slot, delta, kind, unit, event.record, event.ordinal);
        self.framing.take(size);
        if A::HINTS {
            let head = delta << 48 ^ (event.kind as u64) << 32 ^ event.unit as u64 ^ event.record.value << 16;
            let hint = Hint {
                start: 0,
                head: deflate::key(head),
                unit: deflate::key(event.unit as u64),
                transaction: deflate::key(event.record.transaction),
                ordinal_at: marks.ordinal,
                transaction_at: marks.transaction,
            };
            self.framing.hint(size, hint);
        }
    }

    fn gap(&mut self, ns: i64, gap: &Gap) {
        self.framing.gap(ns, self.tracks[gap.unit], gap);
    }

    fn flush(&mut self) {
        self.framing.flush();
    }

    fn finish(&mut self) {
        self.framing.finish();
    }

    fn outlets(&self) -> impl Iterator<Item = &Outlet> {
        std::iter::once(self.framing.outlet())
    }

    fn segments(&self) -> &[SegmentTotals] {
        self.framing.segments()
    }
}
