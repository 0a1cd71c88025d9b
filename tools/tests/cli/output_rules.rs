//! Kinds of outputs: links, folders, devices, odd names. What holds for every command is in `common_rules`.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::Path;

use crate::command::{Ran, clockweave, names, run};
use crate::fixture::{self, RAW_TRACE};

fn recover(input: impl AsRef<OsStr>, output: impl AsRef<OsStr>, force: bool) -> Ran {
    let mut args: Vec<OsString> =
        vec!["recover".into(), input.as_ref().into(), "-o".into(), output.as_ref().into()];
    args.extend(force.then(|| "--force".into()));
    run(args)
}

#[cfg(unix)]
#[test]
fn no_input_is_the_output_through_redirection_either() {
    let place = tempfile::tempdir().unwrap();
    let (input, hard, soft) = (place.path().join("in"), place.path().join("hard"), place.path().join("soft"));
    fs::write(&input, RAW_TRACE).unwrap();
    fs::hard_link(&input, &hard).unwrap();
    std::os::unix::fs::symlink(&input, &soft).unwrap();
    for output in [&input, &soft, &place.path().join("./in")] {
        recover(&soft, output, true).expect(2, &["same file as the input"]);
    }
    // Stdin is the output, or stdout the input.
    let stdin = File::open(&input).unwrap();
    let ran = clockweave().args(["recover", "-", "--force", "-o"]).arg(&hard).stdin(stdin).output().unwrap();
    Ran::from(ran).expect(2, &["same file as the input"]);
    let appended = File::options().append(true).open(&input).unwrap();
    let ran = clockweave().arg("recover").arg(&input).args(["-o", "-"]).stdout(appended).output().unwrap();
    Ran::from(ran).expect(2, &["same file as the input"]);
    assert_eq!(fs::read(&input).unwrap(), RAW_TRACE);

    let dir = place.path().join("run");
    fixture::run(&dir);
    let linked = place.path().join("linked");
    fs::hard_link(dir.join("clock-manifest.json"), &linked).unwrap();
    let args = ["merge", "--force"].map(OsStr::new);
    let args = args.into_iter().chain([dir.as_os_str(), OsStr::new("-o"), linked.as_os_str()]);
    run(args).expect(2, &["same file as the input"]);
}

#[cfg(unix)]
#[test]
fn links_to_other_files_are_written_through() {
    let place = tempfile::tempdir().unwrap();
    let (input, target, link) =
        (place.path().join("in"), place.path().join("target"), place.path().join("link"));
    fs::write(&input, RAW_TRACE).unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    recover(&input, &link, true).expect(2, &["link", "points to nothing"]);
    fs::write(&target, "old").unwrap();
    recover(&input, &link, false).expect(2, &["exists"]);
    recover(&input, &link, true).expect(0, &[]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&target).unwrap(), RAW_TRACE);
}

#[test]
fn folders_and_missing_folders_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let input = place.path().join("in");
    fs::write(&input, RAW_TRACE).unwrap();
    recover(&input, place.path(), true).expect(2, &["found a folder"]);
    recover(&input, place.path().join("no/such/out"), false).expect(2, &["no/such/out"]);
}

#[cfg(target_os = "linux")]
#[test]
fn devices_are_written_as_they_are() {
    use std::os::unix::fs::FileTypeExt;
    let place = tempfile::tempdir().unwrap();
    let input = place.path().join("in");
    fs::write(&input, RAW_TRACE).unwrap();
    recover(&input, "/dev/null", false).expect(0, &[]);
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let full = recover(&input, "/dev/full", false).expect(3, &["/dev/full", "No space left"]);
    assert_eq!(full.stderr.matches("No space left").count(), 1, "{}", full.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_text_work_too() {
    use std::os::unix::ffi::OsStrExt;
    let place = tempfile::tempdir().unwrap();
    let (input, out) =
        (place.path().join(OsStr::from_bytes(b"in\xff")), place.path().join(OsStr::from_bytes(b"out\xff")));
    fs::write(&input, RAW_TRACE).unwrap();
    recover(&input, &out, false).expect(0, &[]);
    assert_eq!(fs::read(&out).unwrap(), RAW_TRACE);
}

#[cfg(unix)]
#[test]
fn new_files_have_the_permissions_of_new_files() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    let (input, out) = (place.path().join("in"), place.path().join("out"));
    fs::write(&input, RAW_TRACE).unwrap();
    recover(&input, &out, false).expect(0, &[]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&out), mode(&input));
}

/// A picture, a report or what goes to stdout never takes the place of what is being read.
#[cfg(unix)]
#[test]
fn files_of_a_run_are_inputs() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    fixture::run(&dir);
    let trace = dir.join("timeline.pftrace");
    fs::write(&trace, RAW_TRACE).unwrap();
    let log = dir.join("text-domain-sm.log");
    let before = fs::read(&log).unwrap();
    run([
        OsStr::new("open"),
        dir.as_os_str(),
        OsStr::new("--force"),
        OsStr::new("--screenshot"),
        trace.as_os_str(),
    ])
    .expect(2, &["same file as the input"]);
    for option in ["--junit", "--sarif", "--db"] {
        run([
            OsStr::new("validate"),
            dir.as_os_str(),
            OsStr::new("--force"),
            OsStr::new(option),
            log.as_os_str(),
        ])
        .expect(2, &["same file as the input"]);
    }
    let appended = |words: &[&str], file: &Path| {
        let out = File::options().append(true).open(file).unwrap();
        let ran = clockweave().args(words).arg(&dir).stdout(out).output().unwrap();
        Ran::from(ran).expect(2, &["same file as the input"]);
    };
    appended(&["diff", dir.to_str().unwrap()], &log);
    appended(&["validate"], &log);
    let out = File::options().append(true).open(&trace).unwrap();
    let ran = clockweave().arg("inspect").arg(&trace).stdout(out).output().unwrap();
    Ran::from(ran).expect(2, &["same file as the input"]);
    assert_eq!((fs::read(&log).unwrap(), fs::read(&trace).unwrap()), (before, RAW_TRACE.to_vec()));
}

/// A file that appears at the output's place meanwhile is not lost.
#[test]
fn a_file_that_appears_meanwhile_stays() {
    use clockweave::output::{Output, OutputError};
    use std::io::Write as _;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("out");
    for force in [false, true] {
        let mut output = Output::create(&path, force, &[]).unwrap();
        output.write_all(b"ours").unwrap();
        fs::write(&path, "theirs").unwrap();
        let done = output.commit();
        let expected = if force { "ours" } else { "theirs" };
        assert_eq!(matches!(done, Err(OutputError::Exists { .. })), !force, "{done:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        fs::remove_file(&path).unwrap();
        assert_eq!(names(place.path()), Vec::<String>::new());
    }
}
