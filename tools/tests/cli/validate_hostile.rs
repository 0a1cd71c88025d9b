//! `clockweave validate` of paths and queries that mean harm.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::command::run_with;
use crate::validate::validate;

fn good() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace-fixtures/good/two-clocks")
}

#[test]
fn queries_that_never_end_or_take_too_much_are_told_by_their_file() {
    const NUMBERS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
    for (query, limit, words) in [
        ("SELECT max(i) FROM n", "3", "no whole answer within 3 s"),
        ("SELECT i FROM n", "3", "no whole answer within 3 s"),
        ("SELECT length(zeroblob(1500000000) || 'a')", "600", "string or blob too big"),
    ] {
        let checks = tempfile::tempdir().unwrap();
        fs::write(checks.path().join("endless.sql"), format!("{NUMBERS} {query}")).unwrap();
        let args = ["--engine-timeout", limit, "--check", checks.path().to_str().unwrap()];
        validate(&args, [good()]).expect(2, &["endless.sql: ", words]);
    }
}

#[cfg(unix)]
#[test]
fn whatever_lies_at_a_path_is_told_and_the_other_paths_are_validated() {
    use std::os::unix::ffi::OsStrExt;
    let place = tempfile::tempdir().unwrap();
    let names: [&[u8]; 4] = ["取引 🦀".as_bytes(), b"\xff\xfe", b"two\nlines", b"\x1b[2Jgone"];
    let mut paths: Vec<PathBuf> = Vec::new();
    for name in names {
        let path = place.path().join(OsStr::from_bytes(name));
        fs::copy(good().join("timeline.pftrace"), &path).unwrap();
        paths.push(path);
    }
    let (empty, folder) = (place.path().join("empty"), place.path().join("folder"));
    fs::write(&empty, "").unwrap();
    fs::create_dir(&folder).unwrap();
    paths.extend([empty, folder, "/dev/zero".into(), "/dev/null".into(), good(), good()]);
    let ran = validate(&["--json", "--jobs", "2"], &paths).expect(
        2,
        &[
            "empty: found an empty file",
            "folder: found no clock-manifest.json",
            "/dev/zero: found a device",
            "/dev/null: found a device",
        ],
    );
    let passed: Vec<bool> =
        ran.json()["results"].as_array().unwrap().iter().map(|one| one["passed"] == true).collect();
    assert_eq!(passed, [true, true, true, true, false, false, false, false, true, true]);
    let shown = validate(&[], &paths[..4]).expect(0, &[]);
    assert_eq!(shown.text().matches(": all checks hold").count(), 4, "{}", shown.text());
    assert!(!shown.text().contains('\x1b'), "{}", shown.text());
    for report in ["--junit", "--sarif"] {
        let file = place.path().join("report");
        validate(&["--force", report, file.to_str().unwrap()], &paths).expect(2, &[]);
        fs::read_to_string(&file).unwrap();
    }
}

#[test]
fn more_on_stdin_than_a_trace_may_hold_is_refused() {
    let words = ["error: stdin: found more than 100000 bytes, expected at most that; --max-content"];
    run_with(["validate", "--max-content", "100000", "-"], &[0; 200_000]).expect(2, &words);
}

#[test]
fn a_manifest_without_end_is_refused_by_its_size() {
    let place = tempfile::tempdir().unwrap();
    let manifest = fs::File::create(place.path().join("clock-manifest.json")).unwrap();
    manifest.set_len((64 << 20) + 1).unwrap();
    validate(&[], [place.path()]).expect(2, &["clock-manifest.json: found more than 67108864 bytes"]);
}

#[cfg(unix)]
#[test]
fn a_report_that_cannot_be_written_says_why() {
    for option in ["--junit", "--sarif"] {
        validate(&["--quiet", option, "/dev/full"], [good()])
            .expect(3, &["/dev/full: No space left on device"]);
    }
}
