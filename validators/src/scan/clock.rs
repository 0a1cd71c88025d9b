//! From a packet's raw timestamp to trace time, as far as one sequence's own snapshots tell it.
//!
//! Sequence-scoped clocks (64..=127) are resolved through the sequence's latest snapshot against its primary trace
//! clock; builtin clocks (below 64) are taken as they stand. Anything else has no known time, and arithmetic that
//! leaves 64 bits has none either. Deliberately does not convert between builtin clocks.

use super::packet::Packet;
use super::wire::Fields;

const SEQUENCE_CLOCKS: std::ops::RangeInclusive<u32> = 64..=127;
/// `BUILTIN_CLOCK_BOOTTIME`, what a trace without any other word is in.
const BOOTTIME: u32 = 6;
/// `BUILTIN_CLOCK_TRACE_FILE`.
const TRACE_FILE: u32 = 11;

#[derive(Clone, Debug)]
struct SequenceClock {
    id: u32,
    incremental: bool,
    unit: u64,
    /// Its value at the snapshot.
    origin: u64,
    /// Its value now, for incremental clocks.
    last: u64,
    /// Trace time at the snapshot.
    trace_ns: u64,
}

/// The clock state of one packet sequence.
#[derive(Clone, Debug, Default)]
pub(crate) struct SequenceClocks {
    clocks: Vec<SequenceClock>,
    default_clock: Option<u32>,
    default_track: Option<u64>,
}

impl SequenceClocks {
    /// Takes in what a packet says about clocks and gives the packet's own time in ns.
    #[inline]
    pub(crate) fn apply(&mut self, packet: &Packet<'_>) -> Option<u64> {
        if packet.clears_incremental_state() {
            self.default_clock = None;
            self.default_track = None;
        }
        if let Some(defaults) = packet.defaults {
            self.apply_defaults(defaults);
        }
        if let Some(snapshot) = packet.clock_snapshot {
            self.apply_snapshot(snapshot);
        }
        self.time(packet.timestamp?, packet.timestamp_clock_id)
    }

    /// The time in ns of a raw timestamp on a named clock or the sequence's own.
    #[inline]
    pub(crate) fn time(&mut self, raw: u64, clock: Option<u32>) -> Option<u64> {
        let id = clock.or(self.default_clock).unwrap_or(BOOTTIME);
        if !SEQUENCE_CLOCKS.contains(&id) {
            return (id < *SEQUENCE_CLOCKS.start()).then_some(raw);
        }
        let clock = self.clocks.iter_mut().find(|clock| clock.id == id)?;
        let value = if clock.incremental { clock.last.checked_add(raw)? } else { raw };
        clock.last = value;
        if clock.unit == 1 && value >= clock.origin {
            return clock.trace_ns.checked_add(value - clock.origin);
        }
        let since = i128::from(value) - i128::from(clock.origin);
        u64::try_from(since * i128::from(clock.unit) + i128::from(clock.trace_ns)).ok()
    }

    /// The clock of packets that name none.
    pub(crate) fn default_clock(&self) -> u32 {
        self.default_clock.unwrap_or(BOOTTIME)
    }

    /// Whether a snapshot of the sequence declared a clock of its own.
    pub(crate) fn declares(&self, id: u32) -> bool {
        self.clocks.iter().any(|clock| clock.id == id)
    }

    /// Whether a snapshot of the sequence declared a clock whose timestamps are differences.
    pub(crate) fn is_incremental(&self, id: u32) -> bool {
        self.clocks.iter().any(|clock| clock.id == id && clock.incremental)
    }

    /// The track that events without one of their own belong to.
    pub(crate) fn default_track(&self) -> Option<u64> {
        self.default_track
    }

    fn apply_defaults(&mut self, defaults: &[u8]) {
        for field in Fields::new(defaults).map_while(Result::ok) {
            match field.number {
                58 => self.default_clock = field.varint().map(|id| id as u32),
                11 => {
                    let event = field.bytes().unwrap_or_default();
                    let track = Fields::new(event).map_while(Result::ok).filter(|field| field.number == 11);
                    self.default_track = track.last().and_then(|field| field.varint());
                }
                _ => {}
            }
        }
    }

    fn apply_snapshot(&mut self, snapshot: &[u8]) {
        let mut primary = None;
        let mut values: Vec<SequenceClock> = Vec::new();
        for field in Fields::new(snapshot).map_while(Result::ok) {
            match (field.number, field.bytes()) {
                (1, Some(clock)) => values.push(clock_of(clock)),
                (2, None) => primary = field.varint().map(|id| id as u32),
                _ => {}
            }
        }
        let value_of = |id| values.iter().find(|clock| clock.id == id).map(|clock| clock.origin);
        let trace_ns =
            primary.and_then(value_of).or_else(|| value_of(TRACE_FILE)).or_else(|| value_of(BOOTTIME));
        let Some(trace_ns) = trace_ns else { return };
        for clock in values.into_iter().filter(|clock| SEQUENCE_CLOCKS.contains(&clock.id)) {
            self.clocks.retain(|known| known.id != clock.id);
            self.clocks.push(SequenceClock { trace_ns, ..clock });
        }
    }
}

fn clock_of(message: &[u8]) -> SequenceClock {
    let mut clock = SequenceClock { id: 0, incremental: false, unit: 1, origin: 0, last: 0, trace_ns: 0 };
    for field in Fields::new(message).map_while(Result::ok) {
        let value = field.varint().unwrap_or(0);
        match field.number {
            1 => clock.id = value as u32,
            2 => clock.origin = value,
            3 => clock.incremental = value != 0,
            4 => clock.unit = value.max(1),
            _ => {}
        }
    }
    clock.last = clock.origin;
    clock
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incremental_scaled_and_absolute_clocks_meet_on_trace_time() {
        // Clock 64 incremental at 500, clock 65 of 10 ns ticks at 7, clock 11 (primary) at 1,000 ns.
        let snapshot = [
            0x0a, 7, 0x08, 64, 0x10, 0xf4, 0x03, 0x18, 1, 0x0a, 6, 0x08, 65, 0x10, 7, 0x20, 10, 0x0a, 5,
            0x08, 11, 0x10, 0xe8, 0x07, 0x10, 11,
        ];
        let defaults = [0xd0, 0x03, 64];
        let mut clocks = SequenceClocks::default();
        let opening =
            Packet { clock_snapshot: Some(&snapshot), defaults: Some(&defaults), ..Packet::default() };
        assert_eq!(clocks.apply(&opening), None);
        let at = |raw, clock| Packet { timestamp: Some(raw), timestamp_clock_id: clock, ..Packet::default() };
        assert_eq!(clocks.apply(&at(3, None)), Some(1003));
        assert_eq!(clocks.apply(&at(4, None)), Some(1007));
        assert_eq!(clocks.apply(&at(9, Some(65))), Some(1020));
        assert_eq!(clocks.apply(&at(55, Some(11))), Some(55));
        assert_eq!(clocks.apply(&at(0, None)), Some(1007));
        assert_eq!(clocks.apply(&at(1, Some(99))), None);
        assert_eq!(clocks.apply(&at(u64::MAX, None)), None);
    }
}
