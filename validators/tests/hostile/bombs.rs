//! A few bytes that stand for many: decompression bombs, and traces of nothing but new names and numbers.

use clockweave_validators::lint::MOST;
use clockweave_validators::{Limits, Options};

use crate::support::wire::{bytes, message, uint, varint};
use crate::{ALLOCATOR, SCAN_MEMORY, alone, judge, look};

const MIB: u64 = 1 << 20;
/// What one block of a zstd frame may stand for.
const BLOCK: u64 = 128 << 10;

fn wrapper(field: u32, stream: &[u8]) -> Vec<u8> {
    let packet = message(|out| bytes(field, stream, out));
    message(|out| bytes(1, &packet, out))
}

/// A zstd frame (RFC 8878) of `head` and then blocks of zeros, four bytes each, up to `size` bytes in all.
fn zstd_bomb(head: &[u8], size: u64) -> Vec<u8> {
    // Magic number; no content size; a window of 128 KiB.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
    let mut block = |last: bool, kind: u32, size: u64, content: &[u8]| {
        let header = (size as u32) << 3 | kind << 1 | u32::from(last);
        frame.extend(&header.to_le_bytes()[..3]);
        frame.extend(content);
    };
    block(false, 0, head.len() as u64, head);
    let zeros = size - head.len() as u64;
    for _ in 0..zeros / BLOCK {
        block(false, 1, BLOCK, &[0]);
    }
    block(true, 1, zeros % BLOCK, &[0]);
    frame
}

/// A zlib stream of zeros, without its checksum, which nobody reaches: fixed Huffman codes, where eight matches of 258
/// bytes take thirteen whole bytes of the stream.
fn zlib_bomb(size: u64) -> Vec<u8> {
    // Three bits of block header, a literal zero in eight, then 13 bits per match: 11000101 and 00000.
    let mut bits = vec![true, true, false];
    bits.extend([0, 0, 1, 1, 0, 0, 0, 0].map(|bit| bit == 1));
    let match_258 = [1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0].map(|bit| bit == 1);
    (0..16).for_each(|_| bits.extend(match_258));
    let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
    let head: Vec<u8> = bits.chunks_exact(8).map(byte).collect();
    // From the second byte on the same thirteen bytes come again.
    let period = head[2..15].to_vec();
    let mut stream = vec![0x78, 0x01];
    stream.extend(&head[..2]);
    let periods = (size / (8 * 258)) as usize;
    stream.extend(period.iter().cycle().take(periods * 13));
    stream
}

/// A packet with one field of zeros: its bytes but for the zeros.
fn head_of_zeros(size: u64) -> Vec<u8> {
    // Field 900 is nobody's.
    let field = message(|out| {
        varint(900 << 3 | 2, out);
        varint(size, out);
    });
    message(|out| {
        out.push(0x0a);
        varint(field.len() as u64 + size, out);
        out.extend_from_slice(&field);
    })
}

#[test]
fn bombs_of_a_megabyte_to_ten_gigabytes_are_refused_in_bounded_memory() {
    let _alone = alone();
    let good = crate::small();
    for size in [MIB, 65 * MIB, 1 << 30, 10 << 30] {
        for bomb in [wrapper(133, &zstd_bomb(&[], size)), wrapper(50, &zlib_bomb(size.min(1 << 30)))] {
            assert!((bomb.len() as u64) < size / 100, "{size}: {} bytes", bomb.len());
            let (found, held) = look(&[&good[..], &bomb].concat(), &Options::default());
            let checks = found.unwrap();
            let finding = &checks[0].findings[0];
            if size > 64 * MIB {
                let expected =
                    "found a wrapper of more than 67108864 bytes of content, expected at most that";
                assert_eq!(finding.message, expected);
                assert!(finding.hint.as_ref().unwrap().contains("--max-wrapper"));
            } else {
                // Within the limit it is looked into: zeros are no packets.
                assert!(!finding.message.contains("more than"), "{}", finding.message);
            }
            assert!(held < SCAN_MEMORY, "{size}: {held} bytes");
        }
    }
}

#[test]
fn content_is_bounded_in_all_and_the_limits_can_be_raised() {
    let _alone = alone();
    let size = 3 * MIB;
    let one = wrapper(133, &zstd_bomb(&head_of_zeros(size), size + head_of_zeros(size).len() as u64));
    let many = one.repeat(360);
    let refused = look(&many, &Options::default()).0.unwrap_err().to_string();
    assert!(refused.contains("more than 1073741824 bytes of packets in its first "), "{refused}");
    assert!(refused.contains("--max-content raises the limit"), "{refused}");
    assert!(ALLOCATOR.max_allocated() < SCAN_MEMORY, "{}", ALLOCATOR.max_allocated());

    let of = |limits| Options { limits, ..Options::default() };
    let tight = Limits { wrapper_bytes: 3 << 20, ..Limits::default() };
    assert_eq!(look(&[&crate::small()[..], &one].concat(), &of(tight)).0.unwrap()[0].found, 1);
    let raised = Limits { content_bytes: 2 << 30, ..Limits::default() };
    let checks = look(&many, &of(raised)).0.unwrap();
    // Each wrapper is over the linter's 256 KiB.
    assert_eq!((checks[0].found, checks[1].found), (0, 360));
    let short = Limits { packet_bytes: one.len() - 100, ..Limits::default() };
    let error = look(&one, &of(short)).0.unwrap_err().to_string();
    assert!(error.contains("expected at most") && error.contains("--max-packet raises the limit"), "{error}");
}

#[test]
fn a_claimed_packet_of_two_gigabytes_costs_nothing() {
    let _alone = alone();
    let claim = [&crate::small()[..], &[0x0a, 0xff, 0xff, 0xff, 0xff, 0x07, 0x08]].concat();
    // What goes beyond the limit ends the process; the peak of an earlier test says nothing here.
    ALLOCATOR.set_limit(ALLOCATOR.allocated() + (64 << 20)).unwrap();
    let (found, _) = look(&claim, &Options::default());
    ALLOCATOR.set_limit(usize::MAX).unwrap();
    assert_eq!(
        found.unwrap()[0].findings[0].message,
        "found a packet of 2147483647 bytes, expected at most 67108864"
    );
}

#[test]
fn content_beyond_the_narrow_engine_goes_to_the_wide_one() {
    let _alone = alone();
    let size = 30 * MIB;
    let content = [head_of_zeros(size), vec![0; size as usize]].concat();
    let wrapper = wrapper(50, &crate::support::wire::zlib(&content));
    // 450 MiB of content in 2 MB.
    let report = judge(&[crate::small(), wrapper.repeat(15)].concat()).unwrap();
    assert_eq!(report.events, 47, "{report}");
    assert!(report.engine.ends_with(", 64-bit"), "{}", report.engine);
    assert_eq!(report.check("import").unwrap().found, 0, "{report}");
}

/// A wrapper packet with as many packets as `build` is asked for.
fn flood(count: u64, build: impl Fn(u64, &mut Vec<u8>)) -> Vec<u8> {
    let mut content = Vec::new();
    for number in 0..count {
        bytes(1, &message(|out| build(number, out)), &mut content);
    }
    wrapper(133, &zstd::bulk::compress(&content, 1).unwrap())
}

#[test]
fn floods_of_sequences_tracks_names_and_slices_are_told_apart_up_to_a_bound() {
    let _alone = alone();
    let count = MOST as u64 + 10_000;
    let event = |kind: u64, track: u64| {
        message(|out| {
            uint(9, kind, out);
            uint(11, track, out);
        })
    };
    let floods: [Vec<u8>; 4] = [
        flood(count, |number, out| {
            uint(10, 2 + number, out);
            uint(13, 1, out);
            uint(8, number, out);
        }),
        flood(count, |number, out| {
            uint(10, 2, out);
            bytes(60, &message(|track| uint(1, 1 + number, track)), out);
        }),
        flood(count, |number, out| {
            uint(10, 2, out);
            let name = message(|name| {
                uint(1, 1 + number, name);
                bytes(2, b"n", name);
            });
            bytes(12, &message(|interned| bytes(2, &name, interned)), out);
        }),
        flood(count, |number, out| {
            uint(10, 2, out);
            uint(8, 5, out);
            bytes(11, &event(1, 1 + number), out);
        }),
    ];
    for (which, flood) in floods.iter().enumerate() {
        let (found, held) = look(flood, &Options::default());
        let lint = found.unwrap().remove(1);
        let note = lint.note.unwrap_or_default();
        assert!(note.contains("were not told apart"), "flood {which}: {note:?}");
        assert!(held < SCAN_MEMORY, "flood {which}: {held} bytes");
    }
}

#[test]
fn more_event_names_than_are_told_apart_are_a_finding() {
    let _alone = alone();
    let mut trace = crate::small();
    let names: Vec<u8> = flood(66_000, |number, out| {
        uint(8, 20, out);
        uint(58, 11, out);
        uint(10, 2, out);
        let event = message(|event| {
            uint(9, 3, event);
            bytes(22, b"clock", event);
            bytes(23, format!("name {number}").as_bytes(), event);
            uint(11, crate::run::ROOT, event);
        });
        bytes(11, &event, out);
    });
    trace.extend(names);
    let report = judge(&trace).unwrap();
    // None of them has an argument.
    assert_eq!(report.check("arguments").unwrap().found, 66_000, "{report}");
}
