//! A run made up here: plausible events of one producer and one consumer in two clock domains, with exact times from
//! integer arithmetic of its own, and the files that a recorder would write for them.

use std::fmt::Write as _;
use std::path::Path;

use super::wire::{self, bytes, fixed64, message, uint};

pub const KINDS: [(&str, u64); 7] = [
    ("fifo.write", 1),
    ("fifo.visible", 2),
    ("fifo.read", 3),
    ("fifo.output", 4),
    ("fifo.consume", 5),
    ("fifo.full", 6),
    ("fifo.empty", 7),
];

/// 1/`LATTICE` s divides every edge of both clocks: lcm(914 MHz, 1326 MHz, 1 THz).
const LATTICE: u128 = 457 * 663 * 1_000_000_000_000;
const SM_PERIOD: u128 = LATTICE / 914_000_000;
const LTS_PERIOD: u128 = LATTICE / 1_326_000_000;
const LTS_PHASE: u128 = LATTICE / 1_000_000_000_000 * 137;

/// Track uuids of the run, its two domains and its two units.
pub const ROOT: u64 = 101;
pub const DOMAINS: [u64; 2] = [102, 103];
pub const UNITS: [u64; 2] = [104, 105];
/// Unit 1 is the producer in domain 1, unit 2 the consumer in domain 2.
pub const UNIT_NAMES: [&str; 2] = ["producer", "consumer"];
pub const RUN_ID: &str = "made-up";

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    pub unit: u64,
    pub cycle: u64,
    pub kind: u64,
    pub phase: u64,
    pub transaction: u64,
    pub fifo: u64,
    pub value: u64,
    pub ordinal: u64,
}

impl Event {
    fn instant(&self) -> u128 {
        let cycle = u128::from(self.cycle);
        if self.unit == 1 { cycle * SM_PERIOD } else { LTS_PHASE + cycle * LTS_PERIOD }
    }

    pub fn ns(&self) -> u64 {
        (self.instant() * 1_000_000_000 / LATTICE) as u64
    }

    pub fn kind_name(&self) -> &'static str {
        KINDS[self.kind as usize - 1].0
    }
}

/// The events of `transactions` packets, in the order of exact time, phase, unit name and program.
pub fn events(transactions: u64) -> Vec<Event> {
    let mut events = Vec::new();
    let mut last_read = 0;
    for index in 0..transactions {
        let transaction = index + 1;
        let mut push = |unit, cycle, kind, phase, transaction, value| {
            events.push(Event { unit, cycle, kind, phase, transaction, fifo: 1, value, ordinal: 0 });
        };
        push(1, index, 1, 1, transaction, 0);
        let written = u128::from(index) * SM_PERIOD;
        let strictly_after =
            if written < LTS_PHASE { 0 } else { ((written - LTS_PHASE) / LTS_PERIOD + 1) as u64 };
        let visible = strictly_after + 2;
        push(2, visible, 2, 1, transaction, 0);
        if index % 8 == 0 {
            push(2, visible, 7, 1, 0, index / 8 % 2);
        }
        last_read = (visible + 2).max(last_read + 1);
        push(2, last_read, 3, 1, transaction, 0);
        push(2, last_read, 4, 1, transaction, 0);
        push(2, last_read + 1, 5, 0, transaction, 0);
    }
    number(events)
}

/// Puts events into their order and numbers each unit's.
pub fn number(mut events: Vec<Event>) -> Vec<Event> {
    // "consumer" sorts before "producer"; a unit's own events keep a program order: by kind within a commit.
    events.sort_by_key(|event| {
        (event.instant(), event.phase, UNIT_NAMES[event.unit as usize - 1], event.kind, event.transaction)
    });
    let mut ordinals = [0; 2];
    for event in &mut events {
        let next = &mut ordinals[event.unit as usize - 1];
        event.ordinal = *next;
        *next += 1;
    }
    events
}

fn packet(trace: &mut Vec<u8>, build: impl FnOnce(&mut Vec<u8>)) {
    bytes(1, &message(build), trace);
}

fn extension_descriptor() -> Vec<u8> {
    let names = ["unit_id", "fifo_id", "phase", "value", "ordinal", "local_cycle", "transaction_id"];
    let fields = message(|out| {
        bytes(1, b"ClockEvent", out);
        for (index, name) in names.iter().enumerate() {
            let field = message(|out| {
                bytes(1, name.as_bytes(), out);
                uint(3, index as u64 + 1, out);
                uint(4, 1, out);
                uint(5, 4, out);
            });
            bytes(2, &field, out);
        }
    });
    let extension = message(|out| {
        bytes(1, b"debug", out);
        bytes(2, b".perfetto.protos.TrackEvent", out);
        uint(3, 9900, out);
        uint(4, 1, out);
        uint(5, 11, out);
        bytes(6, b".clockweave.ClockEvent", out);
    });
    let file = message(|out| {
        bytes(1, b"made_up.proto", out);
        bytes(2, b"clockweave", out);
        bytes(4, &fields, out);
        bytes(7, &extension, out);
    });
    let set = message(|out| bytes(1, &file, out));
    message(|out| bytes(1, &set, out))
}

fn descriptors(trace: &mut Vec<u8>) {
    packet(trace, |out| bytes(72, &extension_descriptor(), out));
    let mut track = |uuid, name: &str, parent: Option<u64>, rank: Option<u64>, merge: bool| {
        packet(trace, |out| {
            uint(10, 2, out);
            let descriptor = message(|out| {
                uint(1, uuid, out);
                bytes(2, name.as_bytes(), out);
                if let Some(parent) = parent {
                    uint(5, parent, out);
                }
                if merge {
                    uint(11, 3, out);
                } else {
                    uint(15, 2, out);
                }
                if let Some(rank) = rank {
                    uint(12, rank, out);
                }
            });
            bytes(60, &descriptor, out);
        });
    };
    track(ROOT, RUN_ID, None, None, true);
    track(DOMAINS[0], "sm (914 MHz)", Some(ROOT), Some(1), true);
    track(DOMAINS[1], "lts (1326 MHz)", Some(ROOT), Some(2), true);
    track(UNITS[0], UNIT_NAMES[0], Some(DOMAINS[0]), Some(0), false);
    track(UNITS[1], UNIT_NAMES[1], Some(DOMAINS[1]), Some(0), false);
}

fn checkpoint(trace: &mut Vec<u8>, ns: u64, first: bool) {
    packet(trace, |out| {
        uint(10, 2, out);
        uint(13, 1, out);
        if first {
            uint(87, 1, out);
        }
        bytes(59, &message(|out| uint(58, 64, out)), out);
        let interned = message(|out| {
            let entry = |id, name: &str| {
                message(|out| {
                    uint(1, id, out);
                    bytes(2, name.as_bytes(), out);
                })
            };
            bytes(1, &entry(1, "clock"), out);
            bytes(1, &entry(2, "meta"), out);
            for (name, id) in KINDS.into_iter().chain([("clock.domain", 8), ("run", 9)]) {
                bytes(2, &entry(id, name), out);
            }
            for (id, name) in (1..).zip(STATED) {
                bytes(3, &entry(id, name), out);
            }
        });
        bytes(12, &interned, out);
        let snapshot = message(|out| {
            for (id, incremental) in [(64, true), (65, false), (11, false)] {
                let clock = message(|out| {
                    uint(1, id, out);
                    uint(2, ns, out);
                    if incremental {
                        uint(3, 1, out);
                    }
                });
                bytes(1, &clock, out);
            }
            uint(2, 11, out);
        });
        bytes(6, &snapshot, out);
    });
}

/// Annotation names of the statements; an id is a position, from 1.
const STATED: [&str; 6] = ["id", "period_num", "period_den", "phase_num", "phase_den", "run_id"];

/// What the trace says of its clocks and its run: an instant on each clock's track, and one on the root.
fn statements(trace: &mut Vec<u8>) {
    let mut instant = |name: u64, track: u64, annotations: &[Vec<u8>]| {
        let event = message(|out| {
            uint(9, 3, out);
            uint(3, 2, out);
            uint(10, name, out);
            uint(11, track, out);
            annotations.iter().for_each(|annotation| bytes(4, annotation, out));
        });
        packet(trace, |out| {
            uint(8, 0, out);
            uint(10, 2, out);
            uint(13, 2, out);
            bytes(11, &event, out);
        });
    };
    let clocks = [[1, 1, 914_000_000, 0, 1], [2, 1, 1_326_000_000, 137, 1_000_000_000_000]];
    for (track, values) in DOMAINS.into_iter().zip(clocks) {
        let annotations = (1..).zip(values).map(|(name, value)| {
            message(|out| {
                uint(1, name, out);
                uint(3, value, out);
            })
        });
        instant(8, track, &annotations.collect::<Vec<_>>());
    }
    let run_id = message(|out| {
        uint(1, 6, out);
        bytes(6, RUN_ID.as_bytes(), out);
    });
    instant(9, ROOT, &[run_id]);
}

/// Whether a packet is one of the statements.
pub fn is_statement(packet: &wire::Message) -> bool {
    packet.sub(11).is_some_and(|event| event.uint(3) == Some(2))
}

/// The trace of `events`: plain packets, or wrapped in zlib streams of at most 256 KiB of content.
pub fn trace(events: &[Event], wrapped: bool) -> Vec<u8> {
    let mut trace = Vec::new();
    descriptors(&mut trace);
    let mut block = Vec::new();
    checkpoint(&mut block, 0, true);
    statements(&mut block);
    let mut last = 0;
    for (index, event) in events.iter().enumerate() {
        if index > 0 && index % 50_000 == 0 {
            checkpoint(&mut block, last, false);
        }
        let delta = event.ns() - last;
        last = event.ns();
        let arguments = message(|out| {
            let values = [
                event.unit,
                event.fifo,
                event.phase,
                event.value,
                event.ordinal,
                event.cycle,
                event.transaction,
            ];
            for (number, value) in (1..).zip(values) {
                uint(number, value, out);
            }
        });
        let body = message(|out| {
            uint(9, 3, out);
            uint(3, 1, out);
            uint(10, event.kind, out);
            uint(11, UNITS[event.unit as usize - 1], out);
            bytes(9900, &arguments, out);
            if event.transaction != 0 {
                fixed64(47, event.transaction, out);
            }
        });
        packet(&mut block, |out| {
            uint(8, delta, out);
            uint(10, 2, out);
            uint(13, 2, out);
            bytes(11, &body, out);
        });
        if block.len() > 250_000 {
            flush(&mut trace, &mut block, wrapped);
        }
    }
    flush(&mut trace, &mut block, wrapped);
    trace
}

fn flush(trace: &mut Vec<u8>, block: &mut Vec<u8>, wrapped: bool) {
    if wrapped {
        packet(trace, |out| bytes(50, &wire::zlib(block), out));
    } else {
        trace.extend_from_slice(block);
    }
    block.clear();
}

pub fn manifest() -> String {
    let kinds: Vec<String> = KINDS.iter().map(|(name, id)| format!("\"{id}\":\"{name}\"")).collect();
    format!(
        r#"{{"version":1,"run_id":"{RUN_ID}","time_unit":"rational seconds","perfetto_unit":"ns (floor)",
"lossless":true,"stream_capacity":4096,
"domains":[
 {{"id":1,"name":"sm","period_num":1,"period_den":914000000,"phase_num":0,"phase_den":1}},
 {{"id":2,"name":"lts","period_num":2,"period_den":2652000000,"phase_num":137,"phase_den":1000000000000}}],
"streams":[
 {{"unit_id":1,"unit":"producer","domain_id":1,"sequence":2,"track":104,"producer_order":0}},
 {{"unit_id":2,"unit":"consumer","domain_id":2,"sequence":2,"track":105,"producer_order":0}}],
"events":{{{},"256":"user"}},
"clockweave":{{"fifos":[{{"id":1,"name":"ab","depth":16,"stages":2,"writer":"producer","reader":"consumer"}}]}}}}"#,
        kinds.join(",")
    )
}

pub fn log(events: &[Event], unit: u64) -> String {
    let domain = if unit == 1 { "sm" } else { "lts" };
    let mut out = format!(
        "# run={RUN_ID} domain={domain}\n# local_cycle\tunit_id\tevent\tphase\ttransaction_id\tfifo_id\tvalue\tordinal\n"
    );
    for event in events.iter().filter(|event| event.unit == unit) {
        let Event { unit, cycle, phase, transaction, fifo, value, ordinal, .. } = event;
        let name = event.kind_name();
        writeln!(out, "{cycle}\t{unit}\t{name}\t{phase}\t{transaction}\t{fifo}\t{value}\t{ordinal}").unwrap();
    }
    out
}

pub fn stats(events: &[Event], bytes: usize) -> String {
    let streams: Vec<String> = [1, 2]
        .into_iter()
        .map(|unit| {
            let of_unit = || events.iter().filter(|event| event.unit == unit);
            let kinds: Vec<String> = KINDS
                .iter()
                .map(|(name, id)| (name, of_unit().filter(|event| event.kind == *id).count()))
                .filter(|(_, count)| *count > 0)
                .map(|(name, count)| format!("\"{name}\":{count}"))
                .collect();
            format!(
                r#"{{"unit_id":{unit},"unit":"{}","produced":{n},"retained":{n},"dropped":0,"kinds":{{{}}}}}"#,
                UNIT_NAMES[unit as usize - 1],
                kinds.join(","),
                n = of_unit().count()
            )
        })
        .collect();
    let n = events.len();
    format!(
        r#"{{"events":{n},"dropped_events":0,"producer_stalls":0,"file_bytes":{bytes},
"clockweave":{{"events":{{"produced":{n},"retained":{n},"dropped":0,"filtered":0}},"streams":[{}]}}}}"#,
        streams.join(",")
    )
}

/// Writes a run directory.
pub fn write(dir: &Path, events: &[Event], trace: &[u8]) {
    std::fs::create_dir_all(dir).unwrap();
    std::fs::write(dir.join("clock-manifest.json"), manifest()).unwrap();
    std::fs::write(dir.join("text-domain-sm.log"), log(events, 1)).unwrap();
    std::fs::write(dir.join("text-domain-lts.log"), log(events, 2)).unwrap();
    std::fs::write(dir.join("timeline.pftrace"), trace).unwrap();
    std::fs::write(dir.join("clock-stats.json"), stats(events, trace.len())).unwrap();
}
