//! Ctrl-C.
#![cfg(unix)]

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::command::{Ran, clockweave, names};
use crate::fixture::RAW_TRACE;

fn interrupt(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

fn recovering(output: &Path) -> Child {
    clockweave()
        .args(["recover", "-", "--force", "-o"])
        .arg(output)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn an_interrupted_command_exits_with_130() {
    for signal in ["-INT", "-TERM"] {
        let mut child = recovering(Path::new("-"));
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&RAW_TRACE).unwrap();
        // What was kept comes out while the input is still open: the command is at work.
        let mut kept = [0; RAW_TRACE.len()];
        child.stdout.as_mut().unwrap().read_exact(&mut kept).unwrap();
        interrupt(&child, signal);
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(130), ""));
        drop(stdin);
    }
}

#[test]
fn an_interrupted_command_leaves_the_old_file_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    fs::write(&out, "old").unwrap();
    let mut child = recovering(&out);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&RAW_TRACE).unwrap();
    while names(place.path()).len() < 2 {
        assert!(child.try_wait().unwrap().is_none(), "the command waits for its input");
        std::thread::yield_now();
    }
    interrupt(&child, "-INT");
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130));
    drop(stdin);
    assert_eq!(names(place.path()), ["out"]);
    assert_eq!(fs::read(&out).unwrap(), b"old");
}
