//! Ctrl-C: exit code 130, the old file or none, no temporary file.
#![cfg(unix)]

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::command::{Ran, clockweave, names};
use crate::common_rules::{Place, WRITERS};
use crate::fixture::RAW_TRACE;

fn interrupt(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// A command that reads from the pipe given back.
fn started(args: impl IntoIterator<Item = OsString>) -> (Child, ChildStdin) {
    let mut command = clockweave();
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    (child, stdin)
}

/// Waits until `happened`, which the command brings about before it ends.
fn await_that(child: &mut Child, mut happened: impl FnMut() -> bool) {
    while !happened() {
        assert!(child.try_wait().unwrap().is_none(), "the command is at work");
        std::thread::yield_now();
    }
}

/// Interrupts `child`, which ends quietly.
fn end(child: Child, context: &[&str]) {
    interrupt(&child, "-INT");
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(130), ""), "{context:?}");
}

#[test]
fn a_command_whose_output_streams_is_ended_by_any_of_the_signals() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let (mut child, mut stdin) = started(["recover", "-", "-o", "-"].map(OsString::from));
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

/// Makes the log `sm` of the run one that takes minutes to read: 64 GB of comments, a few MB compressed.
fn lengthen(run: &Path) {
    let log = run.join("text-domain-sm.log");
    let packed = |text: &[u8]| zstd::encode_all(text, 1).unwrap();
    let head = packed(&fs::read(&log).unwrap());
    let comments = packed("# nothing happened here\n".repeat((64 << 20) / 24).as_bytes());
    let parts: Vec<&[u8]> = [&head[..]].into_iter().chain(std::iter::repeat_n(&comments[..], 1000)).collect();
    fs::write(run.join("text-domain-sm.log.zst"), parts.concat()).unwrap();
    fs::remove_file(&log).unwrap();
}

#[test]
fn an_interrupted_command_leaves_the_old_file_or_none_and_nothing_else() {
    let place = Place::new();
    let trace = fs::read(&place.trace).unwrap();
    lengthen(&place.run);
    let out = place.path.join("out");
    for command in WRITERS {
        for old in [false, true] {
            if old {
                fs::write(&out, "old").unwrap();
            }
            let before = names(&place.path);
            // What reads a trace waits for the rest of it, merging has far too much to read.
            let piped: Vec<&str> =
                command.iter().map(|word| if *word == "TRACE" { "-" } else { *word }).collect();
            let words = place.words(&piped);
            let output = ["-o".into(), out.clone().into(), "--force".into()];
            let (mut child, mut stdin) = started(words.into_iter().chain(output));
            if command.contains(&"TRACE") {
                stdin.write_all(&trace).unwrap();
            }
            await_that(&mut child, || {
                names(&place.path).len() > before.len() || !names(&place.scratch).is_empty()
            });
            end(child, command);
            drop(stdin);
            assert_eq!(names(&place.path), before, "{command:?}");
            assert_eq!(names(&place.scratch), Vec::<String>::new(), "{command:?}");
            if old {
                assert_eq!(fs::read(&out).unwrap(), b"old", "{command:?}");
                fs::remove_file(&out).unwrap();
            }
        }
    }
}

#[test]
fn an_interrupted_report_leaves_no_temporary_file() {
    let place = Place::new();
    let trace = fs::read(&place.trace).unwrap();
    // The trace of the other side becomes temporary logs.
    let (mut child, mut stdin) = started(place.words(&["diff", "-", "RUN"]));
    stdin.write_all(&trace).unwrap();
    await_that(&mut child, || !names(&place.scratch).is_empty());
    end(child, &["diff"]);
    drop(stdin);
    place.holds(&[], &["diff"]);
    // More than a pipe holds was read, so the command is at work.
    let (child, mut stdin) = started(["inspect", "-"].map(OsString::from));
    stdin.write_all(&RAW_TRACE.repeat(20_000)).unwrap();
    end(child, &["inspect"]);
    drop(stdin);
}

#[test]
fn interrupted_sorting_outside_memory_leaves_no_temporary_file() {
    let place = Place::new();
    crate::fixture::long_run(&place.run, 60_000, false);
    // Nobody reads what it prints, so it cannot end.
    let (mut child, stdin) = started(place.words(&["merge", "RUN", "--memory", "1MiB"]));
    await_that(&mut child, || !names(&place.scratch).is_empty());
    end(child, &["merge"]);
    drop(stdin);
    place.holds(&[], &["merge"]);
}
