//! The scanner against a stored trace whose structure is known, and against every kind of damage.

use std::io::Write;

use clockweave_validators::scan::{
    CutReason, Entries, EntryFault, InflateFault, PrefixOptions, SliceTrack, WireFault, prefix,
    prefix_of_reader,
};

const SAMPLE: &[u8] = include_bytes!("../../trace-fixtures/good/layout-sample.pftrace");

/// Offsets of the sample's top-level packets, found by a separate decoder.
const SAMPLE_OFFSETS: [u64; 18] = [
    0, 253, 8816, 8837, 9090, 9109, 9144, 9181, 9212, 9243, 17721, 17742, 17995, 18014, 18049, 18086, 18117,
    18148,
];

fn zlib(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn bytes_field(number: u32, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    prost::encoding::encode_varint(u64::from(number << 3 | 2), &mut out);
    prost::encoding::encode_varint(content.len() as u64, &mut out);
    out.extend_from_slice(content);
    out
}

fn varint_field(number: u32, value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    prost::encoding::encode_varint(u64::from(number << 3), &mut out);
    prost::encoding::encode_varint(value, &mut out);
    out
}

/// A slice event of sequence 2: type 1 begins, 2 ends.
fn slice(kind: u64, track: u64, timestamp: u64) -> Vec<u8> {
    let event = [varint_field(9, kind), varint_field(11, track)].concat();
    let packet = [varint_field(8, timestamp), varint_field(10, 2), bytes_field(11, &event)].concat();
    bytes_field(1, &packet)
}

fn wrapper(content: &[u8]) -> Vec<u8> {
    bytes_field(1, &bytes_field(50, &zlib(content)))
}

fn scan(trace: &[u8]) -> clockweave_validators::scan::PrefixReport {
    let report = prefix(trace, &PrefixOptions::default());
    assert_eq!(prefix_of_reader(trace, &PrefixOptions::default()).unwrap(), report);
    report
}

#[test]
fn the_sample_is_whole_and_its_figures_are_those_of_a_separate_decoder() {
    let offsets: Vec<u64> = Entries::new(SAMPLE).map(|entry| entry.unwrap().offset).collect();
    assert_eq!(offsets, SAMPLE_OFFSETS);
    let report = scan(SAMPLE);
    assert_eq!((report.kept_bytes, report.kept_packets), (26_619, 18));
    assert_eq!((report.wrappers, report.inner_packets), (3, 3_010));
    assert_eq!(report.content_bytes, 151_851);
    assert_eq!(report.last_timestamp_ns, Some(557));
    assert_eq!(report.sequences[&2].packets, 3_020);
    assert_eq!(report.sequences.len(), 1);
    assert!(report.open_slices.is_empty());
    assert_eq!(report.cut, None);
}

#[test]
fn every_length_of_the_sample_gives_the_prefix_of_whole_packets() {
    for length in (0..SAMPLE.len()).filter(|length| *length < 9_400 || length % 61 == 0) {
        let report = prefix(&SAMPLE[..length], &PrefixOptions::default());
        let ends = SAMPLE_OFFSETS[1..].iter().chain([&26_619]);
        let whole = ends.filter(|end| **end <= length as u64).count();
        let kept = if whole == 18 { 26_619 } else { SAMPLE_OFFSETS[whole] };
        assert_eq!((report.kept_packets, report.kept_bytes), (whole as u64, kept), "length {length}");
        assert_eq!(report.cut.as_ref().map(|cut| cut.offset), (kept != length as u64).then_some(kept));
    }
}

#[test]
fn every_flipped_byte_of_a_wrapper_is_noticed() {
    let last = &SAMPLE[18_148..];
    assert_eq!(prefix(last, &PrefixOptions::default()).inner_packets, 1_001);
    // Past its headers: tag (1), length (2), field tag (2), field length (2). Only the lowest bit of every byte is
    // surely in use: deflate pads its last byte at the top.
    for at in 7..last.len() {
        let mut damaged = last.to_vec();
        damaged[at] ^= 0x01;
        let report = prefix(&damaged, &PrefixOptions::default());
        let reason = report.cut.map(|cut| cut.reason);
        assert!(matches!(reason, Some(CutReason::Wrapper(_))), "byte {at}: {reason:?}");
        assert_eq!((report.kept_bytes, report.kept_packets), (0, 0));
    }
}

#[test]
fn slices_left_open_and_the_last_time_are_those_of_the_kept_part() {
    let whole =
        [slice(1, 7, 10), wrapper(&[slice(1, 7, 20), slice(1, 8, 30), slice(2, 8, 40)].concat())].concat();
    let torn = [whole.clone(), slice(1, 9, 50)[..9].to_vec()].concat();
    let report = scan(&torn);
    assert_eq!(report.kept_bytes, whole.len() as u64);
    assert_eq!(report.last_timestamp_ns, Some(40));
    assert_eq!(report.open_slices.into_iter().collect::<Vec<_>>(), [(SliceTrack::Track(7), 2)]);
    assert_eq!(report.sequences[&2].packets, 4);
}

#[test]
fn a_bad_wrapper_is_dropped_whole_and_leaves_no_mark() {
    let first = slice(1, 7, 10);
    let inner = [slice(1, 7, 20), slice(1, 8, 30)].concat();
    let reason_after_first = |bad: &[u8]| {
        let trace = [&first, bad, &slice(2, 7, 99)].concat();
        let report = scan(&trace);
        assert_eq!((report.kept_packets, report.kept_bytes), (1, first.len() as u64));
        assert_eq!((report.last_timestamp_ns, report.inner_packets), (Some(10), 0));
        assert_eq!(report.open_slices[&SliceTrack::Track(7)], 1);
        report.cut.unwrap().reason
    };
    let torn_inner = reason_after_first(&wrapper(&inner[..inner.len() - 1]));
    assert!(matches!(torn_inner, CutReason::Content { at: 12, .. }), "{torn_inner}");
    let nested = [inner.clone(), wrapper(&inner)].concat();
    assert_eq!(reason_after_first(&wrapper(&nested)), CutReason::Nested { at: 24 });
    let twice = [zlib(&inner), zlib(&inner)].concat();
    let twice = bytes_field(1, &bytes_field(50, &twice));
    let reason = reason_after_first(&twice);
    assert!(matches!(reason, CutReason::Wrapper(InflateFault::TrailingBytes { .. })), "{reason}");
    let short = zlib(&inner);
    let short = bytes_field(1, &bytes_field(50, &short[..short.len() - 3]));
    let reason = reason_after_first(&short);
    assert!(matches!(reason, CutReason::Wrapper(InflateFault::Torn { .. })), "{reason}");
}

#[test]
fn a_malformed_packet_ends_the_prefix_with_the_place_in_it() {
    let trace = [slice(1, 7, 10), bytes_field(1, &[0x40, 0x01, 0x0b])].concat();
    let cut = scan(&trace).cut.unwrap();
    let fault = WireFault::WireType { number: 1, wire_type: 3 };
    assert_eq!(cut.reason, CutReason::Packet { at: 2, fault });
    let not_a_trace = scan(b"\x1f\x8b\x08");
    assert_eq!(not_a_trace.cut.unwrap().reason, CutReason::Entry(EntryFault::Tag { found: 0x1f }));
}

#[test]
fn a_wrapper_may_not_inflate_beyond_the_bound() {
    let content = vec![slice(1, 7, 10); 4096].concat();
    let report = prefix(&wrapper(&content), &PrefixOptions { max_inflated: 4096 });
    let reason = report.cut.unwrap().reason;
    assert_eq!(reason, CutReason::Wrapper(InflateFault::TooLarge { limit: 4096 }));
}

/// A small generator of numbers that are the same in every run.
fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    }
}

#[test]
fn damaged_traces_give_the_same_prefix_from_memory_and_from_a_reader_and_never_a_panic() {
    let plain: Vec<u8> = (0..60).flat_map(|n| slice(n % 4, n % 3, n * 1000)).collect();
    let wrapped = [wrapper(&plain[..240]), plain.clone(), wrapper(&plain[240..])].concat();
    let mut number = numbers(1);
    for _ in 0..3_000 {
        let mut trace = if number(2) == 0 { plain.clone() } else { wrapped.clone() };
        for _ in 0..number(4) {
            let at = number(trace.len());
            match number(3) {
                0 => trace[at] = number(256) as u8,
                1 => trace.truncate(at.max(1)),
                _ => drop(trace.splice(at..at, [number(256) as u8])),
            }
        }
        let report = scan(&trace);
        let kept = &trace[..report.kept_bytes as usize];
        let again = scan(kept);
        assert_eq!(again.cut, None);
        assert_eq!((again.kept_packets, again.inner_packets), (report.kept_packets, report.inner_packets));
        assert_eq!(again.open_slices, report.open_slices);
        assert_eq!(report.cut.is_none(), kept.len() == trace.len());
    }
}
