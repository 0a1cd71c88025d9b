//! `clockweave inspect`.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::command::{Ran, run, run_with};
use crate::recover::boundaries;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../trace-fixtures/good/layout-sample.pftrace");

fn inspect(trace: &Path, more: &[&str]) -> Ran {
    run([OsStr::new("inspect"), trace.as_os_str()].into_iter().chain(more.iter().map(OsStr::new)))
}

#[test]
fn the_stored_sample_is_what_its_description_says() {
    // 3,000 events, a checkpoint every 1,000 (the one at the start included), two units in two domains.
    let sample = fs::read(SAMPLE).unwrap();
    let report = inspect(Path::new(SAMPLE), &["--json", "--lint"]).expect(0, &[]).json();
    assert_eq!((&report["report"], &report["version"]), (&"inspect".into(), &1.into()));
    assert_eq!((&report["bytes"], &report["complete"]), (&sample.len().into(), &true.into()));
    assert_eq!(report["packets"], boundaries(&sample).len());
    assert_eq!(report["checkpoints"], 3);
    let clocks: Vec<_> = report["clocks"].as_array().unwrap().iter().map(|clock| &clock["id"]).collect();
    assert_eq!(clocks, [11, 64, 65]);
    let events = |name: &str| {
        let tracks = report["tracks"].as_array().unwrap();
        tracks.iter().find(|track| track["name"] == name).unwrap()["events"].as_u64().unwrap()
    };
    assert_eq!(events("producer") + events("consumer"), 3000);
    let named: u64 = report["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["name"].as_str().unwrap().starts_with("fifo."))
        .map(|event| event["count"].as_u64().unwrap())
        .sum();
    assert_eq!(named, 3000);
    assert_eq!(report["sequences"][0]["id"], 2);
    assert_eq!((&report["lint"]["found"], &report["lint"]["status"]), (&0.into(), &"passed".into()));
    let words = inspect(Path::new(SAMPLE), &[]).expect(0, &[]);
    assert!(words.text().contains("checkpoints  3\n"), "{}", words.text());
}

#[test]
fn findings_and_damage_have_exit_code_1_and_no_trace_2() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("t.pftrace");
    // An event (field 11) that needs state (field 13: 2) on sequence 5, which never cleared any.
    let event = [0x0a, 8, 0x50, 5, 0x68, 2, 0x5a, 2, 0x48, 3];
    fs::write(&file, event).unwrap();
    inspect(&file, &[]).expect(0, &[]);
    let ran = inspect(&file, &["--lint"]).expect(1, &[]);
    assert!(ran.text().contains("event-before-state at byte 0"), "{}", ran.text());
    fs::write(&file, [&event[..], &[0x0a, 9, 1]].concat()).unwrap();
    let report = inspect(&file, &["--json"]).expect(1, &["damaged at byte 10"]).json();
    assert_eq!((&report["packets"], &report["cut"]["offset"]), (&1.into(), &10.into()));
    run_with(["inspect", "-"], b"no trace").expect(2, &["stdin: found no complete packet"]);
    run_with(["inspect", "-"], b"").expect(2, &["stdin: found no complete packet"]);
    inspect(&place.path().join("missing"), &[]).expect(2, &["missing"]);
    inspect(place.path(), &[]).expect(2, &["directory"]);
}

#[test]
fn compressed_files_are_read_through() {
    let plain = inspect(Path::new(SAMPLE), &["--json"]).expect(0, &[]).json();
    let zstd = zstd::encode_all(&fs::read(SAMPLE).unwrap()[..], 1).unwrap();
    let packed = run_with(["inspect", "-", "--json"], &zstd).expect(0, &[]).json();
    assert_eq!((&packed["file_codec"], &plain["file_codec"]), (&"zstd".into(), &"none".into()));
    assert_eq!((&packed["tracks"], &packed["events"]), (&plain["tracks"], &plain["events"]));
}

/// A trace in a gzip or zstd file that ends early is shown as far as it goes, as any other that is damaged.
#[test]
fn a_damaged_compressed_file_is_shown_up_to_the_damage() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("t");
    // More than a block of zstd's.
    let sample = fs::read(SAMPLE).unwrap().repeat(8);
    let packets = boundaries(&sample).len();
    for packed in [crate::salvage::gzip(&sample), zstd::encode_all(&sample[..], 3).unwrap()] {
        fs::write(&path, &packed).unwrap();
        assert_eq!(inspect(&path, &["--json"]).expect(0, &[]).json()["packets"], packets);
        fs::write(&path, &packed[..packed.len() - 3]).unwrap();
        let report = inspect(&path, &["--json"]).expect(1, &["the compressed file is damaged"]).json();
        assert_eq!(report["complete"], false);
        let shown = report["packets"].as_u64().unwrap();
        assert!(shown > 0 && shown <= packets as u64, "{shown}");
    }
}
