//! Two clocks and four streams, and what a run of them must hold, by arithmetic of its own: times are whole picoseconds.

use std::path::Path;

use clockweave_model::{ClockDomain, KindId, Phase, Seconds};
use clockweave_recorder::{Producer, Recorder, RecorderBuilder, StreamId};

/// One event, and where its stream stands in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) cycle: u64,
    pub(crate) phase: Phase,
    pub(crate) transaction: u64,
    pub(crate) value: u64,
    pub(crate) fifo: u32,
}

/// A stream of the plan: domain, unit id and name, producer order.
pub(crate) struct Lane {
    pub(crate) domain: u32,
    pub(crate) unit: u64,
    pub(crate) name: &'static str,
    pub(crate) order: u64,
}

/// Two streams per domain; unit names sort against unit ids, and one unit has two producers.
pub(crate) const LANES: [Lane; 4] = [
    Lane { domain: 1, unit: 1, name: "zeta", order: 0 },
    Lane { domain: 1, unit: 1, name: "zeta", order: 3 },
    Lane { domain: 2, unit: 2, name: "beta", order: 0 },
    Lane { domain: 2, unit: 3, name: "alpha", order: 0 },
];

pub(crate) fn domain(id: u32, name: &str, frequency: &str, phase_ps: u64) -> ClockDomain {
    ClockDomain::new(id, name, frequency.parse().unwrap(), Seconds::from_ps(phase_ps)).unwrap()
}

/// `a`: 1 GHz; `b`: 2 GHz with a phase of 250 ps. `a` and `b` never coincide; `c`: 500 MHz coincides with `a`.
pub(crate) fn builder(dir: &Path) -> RecorderBuilder {
    let mut builder = Recorder::builder(dir);
    builder.run_id("two clocks").tool_version("1.2.3");
    builder.domain(&domain(1, "a", "1GHz", 0)).unwrap();
    builder.domain(&domain(2, "b", "2GHz", 250)).unwrap();
    builder.domain(&domain(3, "c", "500MHz", 0)).unwrap();
    builder
}

pub(crate) fn add_lanes(builder: &mut RecorderBuilder) -> Vec<StreamId> {
    let zeta = builder.add_stream(1, 1, "zeta").unwrap();
    let second = builder.add_producer_stream(zeta, 3).unwrap();
    let beta = builder.add_stream(2, 2, "beta").unwrap();
    let alpha = builder.add_stream(2, 3, "alpha").unwrap();
    vec![zeta, second, beta, alpha]
}

/// Picoseconds of a domain's edge.
pub(crate) fn picoseconds(domain: u32, cycle: u64) -> u64 {
    match domain {
        1 => cycle * 1000,
        2 => cycle * 500 + 250,
        _ => cycle * 2000,
    }
}

/// `count` events of a lane: bursts, pauses, both phases in no order.
pub(crate) fn plan(lane: usize, count: u64) -> Vec<Planned> {
    let mut x = lane as u64 + 1;
    let mut cycle = 0;
    (0..count)
        .map(|n| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let draw = x >> 33;
            // A burst of 32 without a pause now and then.
            if n / 32 % 16 != 3 {
                cycle += (draw % 4).saturating_sub(1) << (draw >> 20 & 1);
            }
            Planned {
                cycle,
                phase: if draw >> 8 & 1 == 0 { Phase::Evaluate } else { Phase::Commit },
                transaction: if draw >> 9 & 3 == 0 { 0 } else { ((lane as u64) << 32) | (n / 3 + 1) },
                value: draw,
                fifo: (draw >> 12 & 7) as u32,
            }
        })
        .collect()
}

/// Records a whole lane, promising every `chunk` events.
pub(crate) fn play(producer: &mut Producer, events: &[Planned], chunk: usize) {
    for chunk in events.chunks(chunk) {
        let first = chunk[0].cycle;
        producer.advance(first).unwrap();
        chunk.iter().for_each(|event| record(producer, event));
    }
    producer.finish().unwrap();
}

pub(crate) fn record(producer: &mut Producer, event: &Planned) {
    let Planned { cycle, phase, transaction, value, fifo } = *event;
    producer.record(cycle, KindId::USER, transaction, value, fifo, phase).unwrap();
}

/// A planned event in its place: unit id and ordinal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) ns: u64,
    pub(crate) domain: u32,
    pub(crate) unit: u64,
    pub(crate) ordinal: u64,
    pub(crate) event: Planned,
}

/// All events of all lanes in the total order.
pub(crate) fn expected(lanes: &[Vec<Planned>]) -> Vec<Placed> {
    let mut all: Vec<(u64, u8, &str, u64, usize, usize)> = Vec::new();
    for (lane, events) in lanes.iter().enumerate() {
        let Lane { domain, name, order, .. } = LANES[lane];
        for (at, event) in events.iter().enumerate() {
            all.push((picoseconds(domain, event.cycle), event.phase as u8, name, order, at, lane));
        }
    }
    all.sort_unstable();
    let mut ordinals = [0; 8];
    all.into_iter()
        .map(|(ps, _, _, _, at, lane)| {
            let Lane { domain, unit, .. } = LANES[lane];
            let ordinal = ordinals[unit as usize];
            ordinals[unit as usize] += 1;
            Placed { ns: ps / 1000, domain, unit, ordinal, event: lanes[lane][at] }
        })
        .collect()
}

/// The text log of `domain` that holds `events`, without its head.
pub(crate) fn log(events: &[Placed], domain: u32) -> String {
    let of_domain = events.iter().filter(|placed| placed.domain == domain);
    of_domain
        .map(|Placed { unit, ordinal, event, .. }| {
            let Planned { cycle, phase, transaction, value, fifo } = event;
            let phase = *phase as u8;
            format!("{cycle}\t{unit}\tuser\t{phase}\t{transaction}\t{fifo}\t{value}\t{ordinal}\n")
        })
        .collect()
}
