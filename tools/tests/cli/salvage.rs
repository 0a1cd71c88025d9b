//! `clockweave recover` beyond the prefix: files compressed as a whole, `--unwrap`, `--salvage`.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use clockweave::recover::{self, Extent, SalvageReport};
use clockweave_validators::scan::SYNC_MARKER;

use crate::command::run;
use crate::record::record;
use crate::recover::boundaries;

/// A recorded trace of `fifo` with a checkpoint every `interval` events.
pub(crate) fn recorded(batches: u32, interval: u32, compress: &str) -> Vec<u8> {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    let (batches, interval) = (batches.to_string(), format!("record.checkpoint_interval={interval}"));
    record("fifo", &dir, &["--batches", &batches, "--compress", compress, "--set", &interval]).expect(0, &[]);
    fs::read(dir.join("timeline.pftrace")).unwrap()
}

fn trace(compress: &str) -> Vec<u8> {
    recorded(80, 40, compress)
}

pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(1));
    out.write_all(content).unwrap();
    out.finish().unwrap()
}

/// What a decompressor gives before it complains.
pub(crate) fn readable(mut reader: impl Read) -> Vec<u8> {
    let (mut out, mut block) = (Vec::new(), [0; 997]);
    while let Ok(read) = reader.read(&mut block) {
        if read == 0 {
            break;
        }
        out.extend_from_slice(&block[..read]);
    }
    out
}

#[test]
fn unwrapping_keeps_the_whole_packets_of_a_torn_wrapper() {
    let (raw, wrapped) = (trace("none"), trace("deflate"));
    // The wrappers' contents are the raw packets, but for their framing.
    let last = *boundaries(&wrapped).iter().rev().nth(1).unwrap();
    let mut most = 0;
    for length in last + 1..wrapped.len() {
        let mut kept = Vec::new();
        let report = recover::recover(&wrapped[..length], Extent::Unwrap, &mut kept, &mut ()).unwrap();
        assert_eq!((report.kept_bytes, report.is_complete()), (last as u64, false));
        assert_eq!(kept.len() as u64, report.kept_bytes + report.unwrapped_bytes);
        let tail = &kept[last..];
        let begin = raw.len() - tail_of(&raw, &wrapped, last).len();
        assert!(raw[begin..].starts_with(tail), "length {length}: unwrapped packets are the recorded ones");
        assert!(report.unwrapped_packets >= most, "more bytes give no fewer packets");
        most = report.unwrapped_packets;
    }
    assert!(most > 5, "{most}");
}

/// The raw packets that the wrapper at `last` holds: as many bytes of the raw trace's end as it inflates to.
fn tail_of<'a>(raw: &'a [u8], wrapped: &[u8], last: usize) -> &'a [u8] {
    let stream = wrapped[last..].windows(2).position(|pair| pair == [0x92, 0x03]).unwrap() + last + 2;
    let begin = (stream..).find(|at| wrapped[*at] < 0x80).unwrap() + 1;
    let content = readable(flate2::read::ZlibDecoder::new(&wrapped[begin..]));
    assert!(raw.ends_with(&content), "the last wrapper holds the last packets");
    &raw[raw.len() - content.len()..]
}

fn salvage(bytes: &[u8]) -> Option<(SalvageReport, Vec<u8>)> {
    let mut out = Vec::new();
    recover::salvage(bytes, &mut out, &mut ()).ok().map(|report| (report, out))
}

/// The top-level entries.
pub(crate) fn entries(trace: &[u8]) -> Vec<&[u8]> {
    let mut begin = 0;
    boundaries(trace)
        .into_iter()
        .map(|end| {
            let entry = &trace[begin..end];
            begin = end;
            entry
        })
        .collect()
}

/// Asserts that `kept` is a part of `of` in its order, but for the packets that mark holes.
fn assert_part(kept: &[u8], of: &[u8], context: &str) -> usize {
    let all = entries(of);
    let (mut at, mut marks) = (0, 0);
    for entry in entries(kept) {
        if entry.windows(10).any(|name| name == b"trace.hole")
            || entry.windows(6).any(|name| name == b"damage")
        {
            marks += usize::from(entry.windows(10).any(|name| name == b"trace.hole"));
            continue;
        }
        let found = all[at..].iter().position(|known| *known == entry);
        at +=
            found.unwrap_or_else(|| panic!("{context}: a packet that was not recorded, or out of order")) + 1;
    }
    marks
}

#[test]
fn a_lost_block_in_the_middle_costs_what_hangs_on_it() {
    for compress in ["none", "deflate"] {
        let whole = trace(compress);
        let (report, same) = salvage(&whole).unwrap();
        assert!(report.is_complete() && same == whole);
        let markers: Vec<usize> = memchr_all(&whole);
        assert!(markers.len() > 3, "{}", markers.len());
        // From the middle of one checkpoint's block to the middle of the next one's.
        // Seven bytes on, so that the two ends do not fit into one packet.
        let (from, to) = ((markers[0] + markers[1]) / 2, (markers[1] + markers[2]) / 2 + 7);
        let torn = [&whole[..from], &whole[to..]].concat();
        let (report, kept) = salvage(&torn).unwrap();
        assert_eq!(report.hole_count, 1, "{compress}: {report:?}");
        assert_eq!(assert_part(&kept, &whole, compress), 1);
        let after = &whole[markers[2] + SYNC_MARKER.len()..];
        assert!(kept.ends_with(after), "{compress}: all from the next checkpoint on is kept");
        let hole = &report.holes[0];
        assert!(hole.offset <= from as u64 && hole.resumed_at.unwrap() > hole.offset);
        assert!(hole.from_ns.unwrap() < hole.to_ns.unwrap(), "{hole:?}");
        assert_eq!(report.lost_bytes, hole.bytes);
    }
}

fn memchr_all(trace: &[u8]) -> Vec<usize> {
    (0..trace.len().saturating_sub(16)).filter(|at| trace[*at..].starts_with(&SYNC_MARKER)).collect()
}

#[test]
fn every_flipped_bit_of_a_wrapper_costs_a_block_and_invents_nothing() {
    let whole = trace("deflate");
    let mut state = 1u64;
    for _ in 0..400 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let bit = (state >> 20) as usize % (whole.len() * 8);
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let Some((report, kept)) = salvage(&flipped) else { continue };
        // What a checksum proves is what was written: every kept wrapper is one of the recorded ones.
        let all = entries(&whole);
        for entry in
            entries(&kept).into_iter().filter(|entry| entry.windows(2).any(|tag| tag == [0x92, 0x03]))
        {
            let is_wrapper = clockweave_validators::scan::Packet::parse(payload(entry))
                .is_ok_and(|packet| packet.wrapper.is_some());
            assert!(!is_wrapper || all.contains(&entry), "bit {bit}");
        }
        assert!(report.lost_bytes < whole.len() as u64, "bit {bit}");
    }
}

fn payload(entry: &[u8]) -> &[u8] {
    let begin = (1..).find(|at| entry[*at] < 0x80).unwrap() + 1;
    &entry[begin..]
}

#[test]
fn the_command_reports_each_hole() {
    let place = tempfile::tempdir().unwrap();
    let (input, out) = (place.path().join("in"), place.path().join("out"));
    let whole = trace("deflate");
    let markers = memchr_all(&whole);
    let mut damaged = whole.clone();
    let wrapper = markers[1] + whole[markers[1]..].windows(2).position(|tag| tag == [0x92, 0x03]).unwrap();
    for byte in &mut damaged[wrapper + 20..wrapper + 40] {
        *byte ^= 0x55;
    }
    fs::write(&input, &damaged).unwrap();
    let args = |flag: &'static str| -> Vec<&OsStr> {
        ["recover", flag, "--json", "--force", "-o"]
            .map(OsStr::new)
            .into_iter()
            .chain([out.as_os_str(), input.as_os_str()])
            .collect()
    };
    let ran = run(args("--salvage")).expect(1, &["hole at byte", "goes on at byte"]);
    let report = ran.json();
    assert_eq!(
        (&report["report"], &report["hole_count"], &report["complete"]),
        (&"recover".into(), &1.into(), &false.into())
    );
    assert_eq!(fs::metadata(&out).unwrap().len(), report["written_bytes"].as_u64().unwrap());
    // The prefix alone ends at the hole.
    let prefix = run(args("--unwrap")).expect(1, &["cut at byte"]).json();
    assert_eq!(prefix["kept_bytes"], report["holes"][0]["offset"]);
    fs::write(&input, &whole).unwrap();
    run(args("--salvage")).expect(0, &["nothing was lost"]);
    assert!(fs::read(&out).unwrap() == whole);
    fs::write(&input, "no trace at all").unwrap();
    run(args("--salvage")).expect(2, &["found no complete packet"]);
}

/// A file that is cut, or grows, once `after` bytes of it were read.
struct Changing<'a> {
    file: File,
    path: &'a Path,
    after: usize,
    new_length: u64,
}

impl Read for Changing<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let some = out.len().min(1000);
        let read = self.file.read(&mut out[..some])?;
        if read > self.after {
            File::options().write(true).open(self.path)?.set_len(self.new_length)?;
            self.after = usize::MAX;
        }
        self.after = self.after.saturating_sub(read);
        Ok(read)
    }
}

/// No marker comes after the change, so that salvage keeps what stood before it, too.
#[test]
fn a_file_that_shrinks_or_grows_while_it_is_read_gives_a_prefix() {
    let whole = trace("none");
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("t.pftrace");
    for (new_length, reached) in [(5000, 5000), (whole.len() as u64 + 100, whole.len())] {
        let changing = || {
            fs::write(&path, &whole).unwrap();
            Changing { file: File::open(&path).unwrap(), path: &path, after: 2500, new_length }
        };
        let end = boundaries(&whole).into_iter().rev().find(|end| *end <= reached).unwrap();
        let mut kept = Vec::new();
        let report = recover::recover(changing(), Extent::Prefix, &mut kept, &mut ()).unwrap();
        assert!(kept == whole[..end] && !report.is_complete(), "{new_length}");
        kept.clear();
        let report = recover::salvage(changing(), &mut kept, &mut ()).unwrap();
        assert!(kept.starts_with(&whole[..end]), "{new_length}");
        assert_part(&kept, &whole, "what is kept was there");
        let holes: Vec<_> = report.holes.iter().map(|hole| (hole.offset, hole.bytes)).collect();
        assert_eq!(holes, [(end as u64, new_length - end as u64)]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn sparse_gigabytes_cost_no_memory() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("sparse");
    fs::write(&path, trace("deflate")).unwrap();
    // To look for markers, salvage reads every byte; the prefix ends with the first empty one.
    for (option, length) in [("--quiet", 10_u64 << 30), ("--salvage", 1 << 30)] {
        File::options().write(true).open(&path).unwrap().set_len(length).unwrap();
        let script = "ulimit -v 400000; exec \"$0\" recover \"$1\" -o /dev/null \"$2\"";
        let mut command = std::process::Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_clockweave")]).arg(&path).arg(option);
        let ran = crate::command::Ran::from(command.output().unwrap());
        ran.expect(1, &["found byte 0x00, expected the packet tag"]);
    }
}

/// A gzip file without its trailer has the whole trace, and nothing proves it: what is kept is all, and that is a loss.
#[test]
fn a_compressed_file_without_its_end_is_not_complete() {
    let whole = trace("none");
    let packed = gzip(&whole);
    let mut kept = Vec::new();
    let report = recover::recover(&packed[..packed.len() - 8], Extent::Prefix, &mut kept, &mut ()).unwrap();
    assert!(kept == whole && report.cut.is_none());
    assert!(report.file_damage.is_some() && !report.is_complete());
    let place = tempfile::tempdir().unwrap();
    let (input, out) = (place.path().join("in"), place.path().join("out"));
    fs::write(&input, &packed[..packed.len() - 8]).unwrap();
    let args = ["recover".as_ref(), input.as_os_str(), "-o".as_ref(), out.as_os_str(), "--json".as_ref()];
    assert_eq!(run(args).expect(1, &[]).json()["complete"], false);
}

/// A clock snapshot belongs to its sequence: after damage it is kept once the sequence has cleared its state.
#[test]
fn a_clock_snapshot_waits_for_its_sequence_to_be_cleared() {
    // Sequence 1, cleared; then a snapshot of it: clock 6 at 100 ns.
    let cleared = [0x0a, 4, 0x50, 1, 0x68, 1];
    let snapshot = [0x0a, 10, 0x50, 1, 0x32, 6, 0x0a, 4, 0x08, 6, 0x10, 100];
    // A field without its value, in a whole frame.
    let damage = [0x0a, 1, 0x50];
    let torn = [&cleared[..], &snapshot, &damage, &snapshot, &cleared, &snapshot].concat();
    let (report, kept) = salvage(&torn).unwrap();
    assert_eq!(kept, [&cleared[..], &snapshot, &cleared, &snapshot].concat());
    assert_eq!((report.hole_count, report.lost_bytes, report.dropped_packets), (1, 3, 1));
}
