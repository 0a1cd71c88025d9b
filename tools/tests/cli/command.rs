//! Running the built binary.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The binary under test, in an environment that says nothing about colours.
pub(crate) fn clockweave() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clockweave"));
    command.env_remove("NO_COLOR").env_remove("CLICOLOR").env_remove("CLICOLOR_FORCE").env_remove("COLUMNS");
    command.stdin(Stdio::null());
    command
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let stderr = String::from_utf8(output.stderr).expect("messages are UTF-8");
        assert!(!stderr.contains("panicked"), "{stderr}");
        Self { code: output.status.code(), stdout: output.stdout, stderr }
    }
}

impl Ran {
    pub(crate) fn text(&self) -> &str {
        str::from_utf8(&self.stdout).expect("data is UTF-8")
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout).expect("stdout is one JSON object")
    }

    /// Asserts the exit code and words of stderr.
    #[track_caller]
    pub(crate) fn expect(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        for word in words {
            assert!(self.stderr.contains(word), "expected {word:?} in {:?}", self.stderr);
        }
        self
    }
}

pub(crate) fn run<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Ran {
    clockweave().args(args).output().expect("the binary runs").into()
}

/// Runs with `input` on stdin.
pub(crate) fn run_with<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>, input: &[u8]) -> Ran {
    let mut child = clockweave()
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    // A command that refuses its arguments reads nothing.
    let _ = stdin.write_all(input);
    drop(stdin);
    child.wait_with_output().expect("the binary ends").into()
}

/// The names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
