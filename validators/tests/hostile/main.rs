//! Traces that mean harm: whatever the bytes are, the answer is a finding or an input error, in bounded time and memory.
//!
//! Never a panic, never a hang, never an engine that counts as broken. The allocator of this binary knows the most
//! memory that was held at once; the engine's own memory is not the allocator's and has limits of its own.

#[path = "../support/mod.rs"]
mod support;

mod bombs;
mod names;

use std::alloc::System;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use cap::Cap;
use clockweave_validators::report::{CheckReport, Report};
use clockweave_validators::{InputError, Options, Target, ValidateError, check_bytes, validate};
use support::engine;
use support::run;
use support::wire::{bytes, message, uint};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// What looking at the bytes of any trace may take, in bytes.
const SCAN_MEMORY: usize = 512 << 20;

/// One test at a time, so that the allocator counts one test.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Both checks of the bytes, and the most memory they held at once beyond what was held before.
fn look(trace: &[u8], options: &Options) -> (Result<Vec<CheckReport>, InputError>, usize) {
    let before = ALLOCATOR.allocated();
    let total_before = ALLOCATOR.max_allocated();
    let found = check_bytes(Path::new("hostile"), trace, options);
    let most = ALLOCATOR.max_allocated();
    // A lower peak than an earlier one is not seen; it is then no higher than that.
    let held = if most > total_before { most - before } else { total_before.saturating_sub(before) };
    (found, held)
}

/// Validates a trace alone. Whatever it is, the engine is not to blame.
fn judge(trace: &[u8]) -> Result<Report, InputError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hostile.pftrace");
    fs::write(&path, trace).unwrap();
    match validate(&Target::Trace(path), &Options::default(), engine::shared()) {
        Ok(report) => Ok(report),
        Err(ValidateError::Input(error)) if !error.environment => Err(error),
        Err(other) => panic!("exit code {}: {other}", other.exit_code()),
    }
}

fn small() -> Vec<u8> {
    run::trace(&run::events(9), false)
}

#[test]
fn every_cut_is_whole_or_a_finding_or_an_input_error() {
    let _alone = alone();
    let trace = small();
    let ends: Vec<usize> = clockweave_validators::scan::Entries::new(&trace)
        .map(|entry| entry.unwrap().end() as usize)
        .collect();
    for length in 0..trace.len() {
        let (found, _) = look(&trace[..length], &Options::default());
        match found {
            Err(error) => assert!(length < ends[0], "{length}: {error}"),
            Ok(checks) => assert_eq!(checks[0].found == 0, ends.contains(&length), "{length}"),
        }
    }
    // The importer is given a part of them.
    for length in (0..trace.len()).step_by(61) {
        if let Ok(report) = judge(&trace[..length]) {
            assert_eq!(report.passed, ends.contains(&length), "{length}: {report}");
        }
    }
}

#[test]
fn every_flipped_byte_is_survived() {
    let _alone = alone();
    let trace = small();
    for at in 0..trace.len() {
        for mask in [0x01, 0x80, 0xff] {
            let mut flipped = trace.clone();
            flipped[at] ^= mask;
            let (found, _) = look(&flipped, &Options::default());
            // The first packet's own header decides whether there is a trace at all.
            assert!(found.is_ok() || at < 240, "byte {at}: {found:?}");
        }
    }
    for at in (0..trace.len()).step_by(47) {
        let mut flipped = trace.clone();
        flipped[at] ^= [0x01, 0x80, 0xff][at % 3];
        drop(judge(&flipped));
    }
}

#[test]
fn impossible_varints_are_survived_wherever_they_are() {
    let _alone = alone();
    let long: &[u8] = &[0xff; 9];
    let varints: [&[u8]; 5] = [
        &[long, &[0x01]].concat(),
        &[long, &[0x7f]].concat(),
        &[0xff; 12],
        &[0x80; 10],
        &[0x80, 0x80, 0x80, 0x80, 0x08],
    ];
    let entry = |packet: &[u8]| message(|out| bytes(1, packet, out));
    for varint in varints {
        for tag in [0x0a_u8, 0x08, 0x09, 0x0d, 0x5a, 0x32, 0x62, 0x92] {
            // As a packet's length, as a tag, as a field's length or value, and inside an event, a clock snapshot,
            // interned data and a track.
            let traces = [
                [&[tag], varint].concat(),
                entry(&[varint, &[0x01]].concat()),
                entry(&[&[tag], varint].concat()),
                entry(&message(|out| bytes(11, &[&[tag], varint].concat(), out))),
                entry(&message(|out| bytes(6, &[&[tag], varint].concat(), out))),
                entry(&message(|out| bytes(12, &[&[tag], varint].concat(), out))),
                entry(&message(|out| bytes(60, &[&[tag], varint].concat(), out))),
            ];
            for trace in traces {
                drop(look(&[small(), trace].concat(), &Options::default()));
            }
        }
        // As every time and every id of an event that the importer is given.
        let of_all = message(|out| {
            for field in [8, 10, 13, 58] {
                out.push((field << 3) as u8 | if field > 15 { 0x80 } else { 0 });
                if field > 15 {
                    out.push((field >> 4) as u8);
                }
                out.extend_from_slice(varint);
            }
            bytes(11, &message(|event| uint(9, 3, event)), out);
        });
        drop(judge(&[small(), entry(&of_all)].concat()));
    }
}

#[test]
fn deep_nesting_is_survived() {
    let _alone = alone();
    // Wrappers in wrappers: the first is refused.
    let mut nested = vec![0x0a, 0x00];
    for _ in 0..20 {
        let packet = message(|out| bytes(50, &support::wire::zlib(&nested), out));
        nested = message(|out| bytes(1, &packet, out));
    }
    let report = judge(&[small(), nested].concat()).unwrap();
    let found = &report.check("structure").unwrap().findings[0].message;
    assert!(found.contains("wrapper inside a wrapper"), "{report}");
    // Dictionaries in dictionaries of an annotation, and messages in messages of nobody's.
    for (depth, field) in [(100, 11), (3_000, 11), (3_000, 12), (3_000, 7)] {
        let mut annotation = message(|out| uint(3, 1, out));
        for _ in 0..depth {
            annotation = message(|out| bytes(field, &annotation, out));
        }
        let event = message(|out| {
            uint(9, 3, out);
            bytes(
                4,
                &message(|out| {
                    bytes(10, b"deep", out);
                    out.extend_from_slice(&annotation);
                }),
                out,
            );
        });
        let packet = message(|out| {
            uint(8, 1, out);
            uint(58, 11, out);
            uint(10, 2, out);
            bytes(11, &event, out);
        });
        drop(judge(&[small(), message(|out| bytes(1, &packet, out))].concat()));
    }
}
