//! Colours, quiet, and where words go.

use std::ffi::OsStr;

use crate::command::{Ran, clockweave, run};
use crate::fixture;

#[test]
fn messages_are_coloured_on_request_only() {
    let missing =
        |color: &[&str]| run([&["merge", "/nowhere/at/all"], color].concat()).expect(2, &["error:"]).stderr;
    assert!(!missing(&[]).contains('\x1b'), "stderr is no terminal");
    assert!(!missing(&["--color", "never"]).contains('\x1b'));
    assert!(missing(&["--color", "always"]).contains('\x1b'));
    // The choice holds for usage errors too.
    let usage = run(["merge", "--color=always", "--bogus"]).expect(2, &["--bogus"]);
    assert!(usage.stderr.contains('\x1b'));
    let plain = clockweave().args(["merge", "/nowhere/at/all"]).env("NO_COLOR", "1").output().unwrap();
    assert!(!Ran::from(plain).stderr.contains('\x1b'));
}

#[test]
fn quiet_leaves_data_warnings_and_errors() {
    let place = tempfile::tempdir().unwrap();
    fixture::run(place.path());
    let dir = place.path().as_os_str();
    let ran = run([OsStr::new("--quiet"), OsStr::new("merge"), dir]).expect(0, &[]);
    assert_eq!((ran.stderr.as_str(), ran.text()), ("", fixture::MERGED));
    run(["merge", "-q", "/nowhere/at/all"]).expect(2, &["error: /nowhere/at/all"]);
}

#[test]
fn usage_errors_go_to_stderr_with_code_2_and_help_to_stdout_with_0() {
    for args in [&["frobnicate"][..], &["merge"], &["recover", "x"], &["merge", "x", "--nope"]] {
        let ran = run(args).expect(2, &[]);
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{args:?}");
    }
    let ran = run(["--version"]).expect(0, &[]);
    assert!(ran.text().starts_with("clockweave 0."), "{}", ran.text());
}
