//! A Trace Processor that runs as a process of its own and speaks over its stdin and stdout.
//!
//! That is the `--stdiod` mode of Perfetto's `trace_processor_shell`. Invariants: a process that stops reading,
//! answering or living never blocks this one for longer than the caller's limit; none outlives its transport.
//! Deliberately does not look for a program: only one whose path the user gives is run, and a bare name is a path.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread::Builder;
use std::time::Duration;

use super::error::EngineError;
use super::transport::{Reply, Transport};
use crate::printable::printable;

/// Bytes read from the process at once.
const PIECE: usize = 1 << 16;
/// Reply pieces that may wait for the reader.
const PIECES: usize = 16;
/// Last bytes of the process's stderr that are kept.
const LAST_WORDS: usize = 1000;
/// How long an ended process's last words are waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// A running process.
pub(crate) struct Native {
    child: Child,
    requests: Option<Sender<Vec<u8>>>,
    replies: Receiver<Vec<u8>>,
    last_words: Receiver<Vec<u8>>,
}

impl Native {
    /// Starts `program --stdiod`.
    pub(crate) fn start(program: &Path) -> Result<Self, EngineError> {
        let failed = |source| EngineError::NotStarted { program: program.to_owned(), source };
        let mut child = Command::new(std::path::absolute(program).map_err(failed)?)
            .arg("--stdiod")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (requests, inbox) = channel::<Vec<u8>>();
        let (outbox, replies) = sync_channel(PIECES);
        let (told, last_words) = channel();
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // From here on the process is ended with the transport, also if a thread does not start.
        let native = Self { child, requests: Some(requests), replies, last_words };
        let thread = |name: &str| Builder::new().name(format!("trace-processor-{name}"));
        thread("stdin")
            .spawn(move || {
                let Some(mut stdin) = stdin else { return };
                for request in inbox {
                    // A process that is gone says so on the other side.
                    if stdin.write_all(&request).and_then(|()| stdin.flush()).is_err() {
                        return;
                    }
                }
            })
            .map_err(failed)?;
        thread("stdout")
            .spawn(move || {
                let Some(mut stdout) = stdout else { return };
                read_pieces(&mut stdout, |piece| outbox.send(piece.to_vec()).is_ok());
            })
            .map_err(failed)?;
        thread("stderr")
            .spawn(move || {
                let mut tail = Vec::new();
                if let Some(mut stderr) = stderr {
                    read_pieces(&mut stderr, |piece| {
                        tail.extend_from_slice(piece);
                        tail.drain(..tail.len().saturating_sub(LAST_WORDS));
                        true
                    });
                }
                let _ = told.send(tail);
            })
            .map_err(failed)?;
        Ok(native)
    }

    /// How the process ended, which has closed its output.
    fn ended(&mut self) -> EngineError {
        let _ = self.child.kill();
        let status = match self.child.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let words = self.last_words.recv_timeout(PATIENCE).unwrap_or_default();
        let words = printable(String::from_utf8_lossy(&words).trim());
        EngineError::Aborted { detail: format!("it closed its output ({status}); it printed: {words}") }
    }
}

/// Hands over what comes until the end or until nobody wants more.
fn read_pieces(from: &mut impl Read, mut take: impl FnMut(&[u8]) -> bool) {
    let mut buffer = vec![0; PIECE];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) if take(&buffer[..count]) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            _ => return,
        }
    }
}

impl Transport for Native {
    fn send(&mut self, request: Vec<u8>) -> Result<(), EngineError> {
        if let Some(requests) = &self.requests {
            // If the process is gone, the other side says why.
            let _ = requests.send(request);
        }
        Ok(())
    }

    fn receive(&mut self, limit: Duration) -> Result<Reply, EngineError> {
        match self.replies.recv_timeout(limit) {
            Ok(piece) => Ok(Reply::Bytes(piece)),
            Err(RecvTimeoutError::Timeout) => Err(EngineError::Silent { seconds: limit.as_secs() }),
            Err(RecvTimeoutError::Disconnected) => Err(self.ended()),
        }
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        self.requests = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::io::ErrorKind;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Instant;

    use super::super::session::Session;
    use super::*;

    /// A program of this text, and what a session with it ends in.
    fn outcome(script: &str, limit: Duration) -> EngineError {
        let place = tempfile::tempdir().unwrap();
        let program = place.path().join("engine");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        let native = loop {
            match Native::start(&program) {
                // A process that another test starts holds the file open for a moment, as this process wrote it.
                Err(EngineError::NotStarted { source, .. })
                    if source.kind() == ErrorKind::ExecutableFileBusy =>
                {
                    std::thread::yield_now();
                }
                other => break other.unwrap(),
            }
        };
        let mut session = Session::new(Box::new(native), limit);
        session.import(&[7_u8; 5 << 20][..]).unwrap_err()
    }

    const LONG: Duration = Duration::from_secs(300);

    #[test]
    fn a_process_that_ends_tells_its_last_words() {
        let error = outcome("echo no such option: \"$1\" >&2; exit 4", LONG).to_string();
        assert!(error.contains("exit status: 4") && error.contains("no such option: --stdiod"), "{error}");
    }

    #[test]
    fn a_process_that_says_something_else_is_refused() {
        let error = outcome("echo hello; exec sleep 1000", LONG);
        assert!(matches!(error, EngineError::Incompatible { .. }), "{error}");
    }

    #[test]
    fn a_process_that_neither_reads_nor_answers_is_given_up_and_ended() {
        let started = Instant::now();
        let error = outcome("exec sleep 1000", Duration::from_millis(50));
        assert!(matches!(error, EngineError::Silent { .. }), "{error}");
        // Not a timing: the process itself lasts longer than any test run.
        assert!(started.elapsed() < Duration::from_secs(900));
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let Err(error) = Native::start(Path::new("/nowhere/trace_processor_shell")) else { panic!() };
        assert!(error.to_string().starts_with("/nowhere/trace_processor_shell: "), "{error}");
    }
}
