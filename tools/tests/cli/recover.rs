//! `clockweave recover`.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::command::{Ran, names, run, run_with};
use crate::fixture::RAW_TRACE;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../trace-fixtures/good/layout-sample.pftrace");

fn recover(input: &Path, output: &Path, more: &[&str]) -> Ran {
    let args = [OsStr::new("recover"), input.as_os_str(), OsStr::new("-o"), output.as_os_str()];
    run(args.into_iter().chain(more.iter().map(OsStr::new)))
}

/// End of each top-level entry, from the format's definition: tag 0x0a, varint length, payload.
pub(crate) fn boundaries(trace: &[u8]) -> Vec<usize> {
    let (mut ends, mut at) = (Vec::new(), 0);
    while at < trace.len() {
        assert_eq!(trace[at], 0x0a);
        let (mut length, mut shift) = (0usize, 0);
        loop {
            at += 1;
            length |= usize::from(trace[at] & 0x7f) << shift;
            shift += 7;
            if trace[at] & 0x80 == 0 {
                break;
            }
        }
        at += 1 + length;
        ends.push(at);
    }
    assert_eq!(at, trace.len());
    ends
}

#[test]
fn a_whole_trace_is_copied_as_it_is() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out.pftrace");
    recover(Path::new(SAMPLE), &out, &[]).expect(0, &["nothing was lost"]);
    assert_eq!(fs::read(&out).unwrap(), fs::read(SAMPLE).unwrap());
}

#[test]
fn a_cut_compressed_trace_keeps_its_whole_wrappers() {
    let sample = fs::read(SAMPLE).unwrap();
    let ends = boundaries(&sample);
    let place = tempfile::tempdir().unwrap();
    let (input, out) = (place.path().join("in.pftrace"), place.path().join("out.pftrace"));
    let last = ends[ends.len() - 2];
    for (length, kept) in [(sample.len() - 1, last), (last + 1, last), (last - 1, ends[ends.len() - 3])] {
        fs::write(&input, &sample[..length]).unwrap();
        let ran = recover(&input, &out, &["--force", "--json"]).expect(1, &[&format!("cut at byte {kept}")]);
        assert_eq!(fs::read(&out).unwrap(), sample[..kept]);
        let report = ran.json();
        assert_eq!((&report["report"], &report["version"]), (&"recover".into(), &1.into()));
        assert_eq!(
            (&report["kept_bytes"], &report["dropped_bytes"]),
            (&kept.into(), &(length - kept).into())
        );
        assert_eq!((&report["cut"]["offset"], &report["complete"]), (&kept.into(), &false.into()));
        assert_eq!(report["dropped_packets"], 1);
    }
}

#[test]
fn every_length_of_a_raw_trace_gives_a_prefix_or_nothing() {
    let place = tempfile::tempdir().unwrap();
    let (input, out) = (place.path().join("in.pftrace"), place.path().join("out.pftrace"));
    for length in 0..=RAW_TRACE.len() {
        fs::write(&input, &RAW_TRACE[..length]).unwrap();
        let ran = recover(&input, &out, &["--force"]);
        let kept = length / 4 * 4;
        if kept == 0 {
            ran.expect(2, &["in.pftrace: found no complete packet"]);
            assert_eq!(names(place.path()), ["in.pftrace"]);
        } else {
            ran.expect(i32::from(kept < length), &[]);
            assert_eq!(fs::read(&out).unwrap(), RAW_TRACE[..kept]);
            fs::remove_file(&out).unwrap();
        }
    }
}

#[test]
fn stdin_and_stdout_are_dashes() {
    let ran =
        run_with(["recover", "-", "-o", "-"], &RAW_TRACE[..11]).expect(1, &["kept 8 bytes", "cut at byte 8"]);
    assert_eq!(ran.stdout, RAW_TRACE[..8]);
    let ran = run_with(["recover", "-", "-o", "-"], b"").expect(2, &["stdin: found no complete packet"]);
    assert!(ran.stdout.is_empty());
    run_with(["recover", "-", "-o", "-", "--json"], &RAW_TRACE).expect(2, &["--output FILE"]);
}

#[test]
fn other_files_are_told_from_traces() {
    let place = tempfile::tempdir().unwrap();
    let (input, out) = (place.path().join("in"), place.path().join("out"));
    fs::write(&input, [0x1f, 0x8b, 8, 0, 0, 0]).unwrap();
    recover(&input, &out, &[]).expect(2, &["gzip"]);
    recover(place.path(), &out, &[]).expect(2, &["directory"]);
    recover(&place.path().join("missing"), &out, &[]).expect(2, &["missing"]);
    assert_eq!(names(place.path()), ["in"]);
}
