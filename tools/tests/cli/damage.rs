//! `clockweave recover` over traces of every packing, cut at every byte and damaged at random.
//!
//! What a trace holds is told by its packets with wrappers opened, by code of this file alone.

use std::io::Read;
use std::path::{Path, PathBuf};

use clockweave::inspect::inspect;
use clockweave::recover::{self, Extent, RecoverReport, SalvageReport};
use clockweave_validators::report::Status;

use crate::recover::boundaries;
use crate::salvage::{entries, gzip, readable, recorded};

/// Few events, a checkpoint every 12: small enough to be cut everywhere.
fn trace(compress: &str) -> Vec<u8> {
    recorded(24, 12, compress)
}

fn varint(bytes: &[u8], at: &mut usize) -> usize {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = bytes[*at];
        *at += 1;
        value |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return value;
        }
    }
}

/// The payload of an entry.
fn payload(entry: &[u8]) -> &[u8] {
    let mut at = 1;
    let length = varint(entry, &mut at);
    assert_eq!(at + length, entry.len());
    &entry[at..]
}

/// What a wrapper holds (fields 50: zlib, 133: zstd), or nothing.
fn content(packet: &[u8]) -> Option<Vec<u8>> {
    let mut at = 0;
    let tag = varint(packet, &mut at);
    let stream = |mut at: usize| {
        let length = varint(packet, &mut at);
        &packet[at..at + length]
    };
    match tag {
        0x192 => Some(readable(flate2::read::ZlibDecoder::new(stream(at)))),
        0x42a => Some(readable(zstd::Decoder::new(stream(at)).unwrap())),
        _ => None,
    }
}

/// The packets of whole entries, wrappers opened.
fn packets(trace: &[u8]) -> Vec<Vec<u8>> {
    let of = |entry: &[u8]| match content(payload(entry)) {
        Some(inner) => entries(&inner).into_iter().map(|entry| payload(entry).to_vec()).collect(),
        None => vec![payload(entry).to_vec()],
    };
    entries(trace).into_iter().flat_map(of).collect()
}

fn kept_of(bytes: &[u8], extent: Extent) -> Option<(RecoverReport, Vec<u8>)> {
    let mut out = Vec::new();
    let report = recover::recover(bytes, extent, &mut out, &mut ()).ok();
    assert!(report.is_some() || out.is_empty(), "nothing is written before a packet was seen");
    report.map(|report| (report, out))
}

fn salvaged(bytes: &[u8]) -> Option<(SalvageReport, Vec<u8>)> {
    let mut out = Vec::new();
    let report = recover::salvage(bytes, &mut out, &mut ()).ok();
    assert!(report.is_some() || out.is_empty(), "nothing is written before a packet was seen");
    report.map(|report| (report, out))
}

/// Cuts `file` at every length, of which `reached` bytes of the trace `whole` can be read.
fn cut_everywhere(name: &str, file: &[u8], whole: &[u8], reached: impl Fn(&[u8]) -> usize) {
    let (ends, all) = (boundaries(whole), packets(whole));
    for length in 0..=file.len() {
        let context = format!("{name}, {length} of {}", file.len());
        let cut = &file[..length];
        let reached = reached(cut);
        let end = ends.iter().rev().find(|end| **end <= reached).copied().unwrap_or(0);
        let complete = length == file.len();
        match kept_of(cut, Extent::Prefix) {
            Some((report, kept)) => {
                assert!(kept == whole[..end], "{context}: the longest whole prefix");
                // A file may end with what its codec only adds.
                assert!(
                    report.is_complete() == complete || (reached == end && report.is_complete()),
                    "{context}"
                );
                assert_eq!(report.kept_bytes, end as u64, "{context}");
            }
            None => assert_eq!(end, 0, "{context}"),
        }
        if let Some((report, kept)) = kept_of(cut, Extent::Unwrap) {
            assert!(kept.starts_with(&whole[..end]), "{context}");
            let found = packets(&kept);
            assert!(found.len() >= packets(&whole[..end]).len() && all.starts_with(&found), "{context}");
            assert_eq!(report.unwrapped_bytes, (kept.len() - end) as u64, "{context}");
        }
        match salvaged(cut) {
            Some((report, kept)) => {
                assert!(kept == whole[..end], "{context}: nothing stands after a cut");
                let damaged = reached != end || report.file_damage.is_some();
                assert_eq!(report.is_complete(), !damaged, "{context}");
                assert_eq!(report.lost_bytes, (reached - end) as u64, "{context}");
            }
            None => assert_eq!(end, 0, "{context}"),
        }
    }
}

#[test]
fn every_cut_of_every_packing_keeps_the_longest_prefix() {
    for compress in ["none", "deflate", "zstd"] {
        let whole = trace(compress);
        cut_everywhere(compress, &whole, &whole, <[u8]>::len);
    }
    let whole = trace("deflate");
    let unpacked = |bytes: &[u8]| match bytes {
        [0x1f, 0x8b, ..] if bytes.len() >= 4 => readable(flate2::read::MultiGzDecoder::new(bytes)).len(),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => readable(zstd::Decoder::new(bytes).unwrap()).len(),
        _ => 0,
    };
    cut_everywhere("gzip file", &gzip(&whole), &whole, unpacked);
    cut_everywhere("zstd file", &zstd::encode_all(&whole[..], 1).unwrap(), &whole, unpacked);
}

/// A stream of numbers that is the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// Damages a trace, and says how.
fn damaged(whole: &[u8], random: &mut Random) -> (String, Vec<u8>) {
    let mut bytes = whole.to_vec();
    let from = random.below(bytes.len());
    let to = from + random.below((bytes.len() - from).min(1500)) + 1;
    let to = to.min(bytes.len());
    let how = match random.below(5) {
        0 => {
            bytes.drain(from..to);
            "lost"
        }
        1 => {
            bytes[from..to].fill(0);
            "zero"
        }
        2 => {
            (from..to).for_each(|at| bytes[at] = random.below(256) as u8);
            "noise"
        }
        3 => {
            let block = bytes[from..to].to_vec();
            bytes.splice(from..from, block);
            "twice"
        }
        _ => {
            for _ in 0..=random.below(4) {
                let bit = random.below(bytes.len() * 8);
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            "bits"
        }
    };
    (format!("{from}..{to} {how}"), bytes)
}

/// What holds of any salvage: its output is a whole trace, from which nothing more is to be salvaged.
fn hold_to_laws(report: &SalvageReport, kept: &[u8], context: &str) {
    let (again, same) = salvaged(kept).expect(context);
    assert!(again.is_complete() && same == kept, "{context}: what was salvaged is whole: {:?}", again.holes);
    assert!(kept_of(kept, Extent::Prefix).is_some_and(|(report, _)| report.is_complete()), "{context}");
    assert_eq!(report.written_bytes, kept.len() as u64, "{context}");
    assert_eq!(report.lost_bytes, report.holes.iter().map(|hole| hole.bytes).sum::<u64>(), "{context}");
    for hole in &report.holes {
        assert!(hole.resumed_at.is_none_or(|at| at > hole.offset), "{context}: {hole:?}");
    }
    for pair in report.holes.windows(2) {
        assert!(pair[0].resumed_at.is_some_and(|at| at <= pair[1].offset), "{context}: {pair:?}");
    }
}

/// Whether `packet` marks a hole, or describes the track of such marks.
fn is_mark(packet: &[u8]) -> bool {
    let names: [&[u8]; 2] = [b"trace.hole", b"damage"];
    names.iter().any(|name| packet.windows(name.len()).any(|part| part == *name))
}

#[test]
fn random_damage_invents_nothing_and_every_hole_is_told() {
    for compress in ["none", "deflate", "zstd"] {
        let whole = recorded(80, 40, compress);
        let all = packets(&whole);
        let mut random = Random(7);
        let mut resumed = 0;
        for round in 0..300 {
            let (how, bytes) = damaged(&whole, &mut random);
            let context = format!("{compress}, round {round}: {how}");
            let Some((report, kept)) = salvaged(&bytes) else { continue };
            hold_to_laws(&report, &kept, &context);
            resumed += report.holes.iter().filter(|hole| hole.resumed_at.is_some()).count();
            let found: Vec<Vec<u8>> = packets(&kept).into_iter().filter(|packet| !is_mark(packet)).collect();
            assert_eq!(found.len() as u64, report.proven_packets + report.structural_packets, "{context}");
            // A checksum proves a wrapper's packets; those outside are only well formed.
            let recorded = found.iter().filter(|packet| all.contains(packet)).count() as u64;
            assert!(recorded >= report.proven_packets, "{context}: a proven packet was not recorded");
            let kept = packets(&kept);
            let marks = kept.iter().filter(|packet| packet.windows(10).any(|name| name == b"trace.hole"));
            let told = report.holes.iter().filter(|hole| hole.resumed_at.is_some() && hole.from_ns.is_some());
            assert_eq!(
                marks.count(),
                told.count(),
                "{context}: every hole before which there is a time is marked"
            );
        }
        assert!(resumed > 50, "{compress}: {resumed} holes had an end");
    }
}

#[test]
fn what_was_salvaged_keeps_the_rules_of_a_trace() {
    for compress in ["deflate", "zstd"] {
        let whole = recorded(80, 40, compress);
        let ends = boundaries(&whole);
        let mut random = Random(11);
        for round in 0..60 {
            // Bytes of a wrapper are lost. Of packets without a checksum two halves may look like one.
            let at = 1 + random.below(ends.len() - 1);
            let (begin, end) = (ends[at - 1], ends[at]);
            if content(payload(&whole[begin..end])).is_none() {
                continue;
            }
            let from = begin + 8 + random.below(end - begin - 8);
            let bytes = [&whole[..from], &whole[from + 1 + random.below(end - from)..]].concat();
            let context = format!("{compress}, round {round}: byte {from} of {begin}..{end}");
            let (report, kept) = salvaged(&bytes).expect(&context);
            assert_eq!(report.hole_count, 1, "{context}");
            let lint = inspect(&kept[..], Some(20), &mut ()).unwrap().lint.unwrap();
            assert_eq!(lint.status, Status::Passed, "{context}: {:?}", lint.findings);
        }
    }
}

/// The stored traces of other producers that are plain traces.
fn foreign() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace-fixtures/foreign");
    let names = crate::command::names(&folder).into_iter().filter(|name| name.ends_with(".pftrace"));
    names.map(|name| folder.join(name)).collect()
}

#[test]
fn traces_of_other_producers_are_recovered_and_salvaged() {
    let files = foreign();
    assert_eq!(files.len(), 6);
    for file in files {
        let whole = std::fs::read(&file).unwrap();
        let name = file.display().to_string();
        cut_everywhere(&name, &whole, &whole, <[u8]>::len);
        let mut random = Random(3);
        for round in 0..200 {
            let (how, bytes) = damaged(&whole, &mut random);
            let context = format!("{name}, round {round}: {how}");
            if let Some((report, kept)) = salvaged(&bytes) {
                hold_to_laws(&report, &kept, &context);
            }
        }
    }
}

/// Gives what `source` gives and then zeros without end, up to `length` bytes.
fn with_zeros(source: &[u8], length: u64) -> impl Read + Send + '_ {
    source.chain(std::io::repeat(0).take(length))
}

#[test]
fn a_packet_that_claims_too_much_is_not_waited_for() {
    let whole = trace("none");
    // A packet of 2 GiB, of which there are 400 MiB of zeros, which no packet begins with.
    let claim = [0x0a, 0xff, 0xff, 0xff, 0xff, 0x07];
    let bytes = [&whole[..], &claim].concat();
    for extent in [Extent::Prefix, Extent::Unwrap] {
        let mut kept = Vec::new();
        let report = recover::recover(with_zeros(&bytes, 400 << 20), extent, &mut kept, &mut ()).unwrap();
        assert!(kept == whole);
        assert_eq!(
            report.cut.unwrap().reason.to_string(),
            "found a packet of 2147483647 bytes, expected at most 268435456"
        );
        assert_eq!(report.dropped_bytes, 6 + (400 << 20));
    }
    let mut kept = Vec::new();
    let report = recover::salvage(with_zeros(&bytes, 400 << 20), &mut kept, &mut ()).unwrap();
    assert!(kept == whole);
    assert_eq!((report.hole_count, report.lost_bytes), (1, 6 + (400 << 20)));
}
