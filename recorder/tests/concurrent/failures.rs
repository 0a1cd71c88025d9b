//! Disks that fill, files that may not grow, directories that vanish, processes that are killed: the first error comes
//! out of `close` and of every blocked producer, nothing hangs, and what is on disk is whole.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

use clockweave_model::{KindId, Phase};
use clockweave_recorder::{
    Compression, Producer, RecordError, RecorderBuilder, RunTotals, STATS_FILE, TRACE_FILE,
};

use crate::reading::{self, arguments};
use crate::workload;

/// Records until the first error, with promises on the way; values are the cycles.
fn until_error(producer: &mut Producer) -> RecordError {
    for cycle in 0.. {
        let promised = if cycle % 5000 == 0 { producer.advance(cycle) } else { Ok(()) };
        let recorded = promised.and_then(|()| {
            producer.record(
                cycle,
                KindId::USER,
                cycle,
                cycle.wrapping_mul(0x9e37_79b9_7f4a_7c15),
                0,
                Phase::Commit,
            )
        });
        if let Err(error) = recorded {
            return error;
        }
    }
    unreachable!("cycles end only after all that can be recorded")
}

/// Four threads until all of them fail; gives the error that each of them and `close` agree on.
fn fail(dir: &Path, set: impl FnOnce(&mut RecorderBuilder)) -> RecordError {
    let mut builder = workload::builder(dir);
    builder.compression(Compression::None);
    set(&mut builder);
    workload::add_lanes(&mut builder);
    let (mut recorder, producers) = builder.start_independent().unwrap();
    let errors: Vec<RecordError> = std::thread::scope(|scope| {
        let threads: Vec<_> = producers
            .into_iter()
            .map(|mut producer| scope.spawn(move || until_error(&mut producer)))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let closed = recorder.close(RunTotals::default()).unwrap_err();
    for error in errors {
        assert_eq!(error.to_string(), closed.to_string());
    }
    assert!(!dir.join(STATS_FILE).exists());
    closed
}

fn kind(error: &RecordError) -> Option<ErrorKind> {
    match error {
        RecordError::Io { source, .. } => Some(source.kind()),
        _ => None,
    }
}

/// Every unit's events up to some point, without a hole; gives their number.
fn assert_prefix(bytes: &[u8]) -> u64 {
    let file = reading::parse(&bytes[..reading::whole(bytes)]);
    let mut next: BTreeMap<u64, u64> = BTreeMap::new();
    for event in file.events() {
        let found = arguments(event.packet.track_event());
        let expected = next.entry(found.unit_id).or_default();
        assert_eq!(found.ordinal, *expected, "unit {}", found.unit_id);
        *expected += 1;
    }
    next.values().sum()
}

/// Which part a child process plays.
const ROLE: &str = "CLOCKWEAVE_CONCURRENT_TEST_DIR";

fn child(test: &str, dir: &Path, shell: &str) -> Command {
    let exe = std::env::current_exe().unwrap();
    let script = format!("{shell} exec \"$0\" --exact failures::{test} --nocapture");
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(exe).env(ROLE, dir);
    command
}

#[test]
fn a_file_that_may_not_grow_fails_every_producer() {
    if let Ok(dir) = std::env::var(ROLE) {
        let error = fail(Path::new(&dir), |_| {});
        assert_eq!(kind(&error), Some(ErrorKind::FileTooLarge), "{error}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let test = "a_file_that_may_not_grow_fails_every_producer";
    let output = child(test, dir.path(), "trap '' XFSZ; ulimit -f 1300;").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(assert_prefix(&fs::read(dir.path().join(TRACE_FILE)).unwrap()) > 1000);
}

/// A file system of one megabyte, which only the superuser can make.
struct Small(tempfile::TempDir);

impl Small {
    fn new() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "none"]).arg(dir.path()).output();
        mount.is_ok_and(|output| output.status.success()).then_some(Self(dir))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// Where nothing can be mounted, the file-size limit above stands in for both of these.
#[test]
fn a_disk_that_fills_fails_every_producer() {
    let Some(small) = Small::new() else { return };
    let dir = small.0.path().join("run");
    let error = fail(&dir, |builder| {
        builder.ring_capacity(Some(64));
    });
    assert_eq!(kind(&error), Some(ErrorKind::StorageFull), "{error}");
    assert!(assert_prefix(&fs::read(dir.join(TRACE_FILE)).unwrap()) > 1000);
}

#[test]
fn a_target_that_cannot_be_written_is_refused_at_the_start() {
    let Some(small) = Small::new() else { return };
    let remount = Command::new("mount").args(["-o", "remount,ro"]).arg(small.0.path()).status().unwrap();
    assert!(remount.success());
    let mut builder = workload::builder(&small.0.path().join("run"));
    workload::add_lanes(&mut builder);
    let error = builder.start_independent().map(|_| ()).unwrap_err();
    assert_eq!(kind(&error), Some(ErrorKind::ReadOnlyFilesystem), "{error}");
}

/// Open files live on without their directory, but statistics have nowhere to go.
#[test]
fn a_directory_that_vanishes_is_an_error_of_close() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    let mut builder = workload::builder(&dir);
    workload::add_lanes(&mut builder);
    let (mut recorder, mut producers) = builder.start_independent().unwrap();
    for producer in &mut producers {
        producer.record(0, KindId::USER, 0, 0, 0, Phase::Commit).unwrap();
    }
    fs::remove_dir_all(&dir).unwrap();
    producers.clear();
    let error = recorder.close(RunTotals::default()).unwrap_err();
    assert_eq!(kind(&error), Some(ErrorKind::NotFound), "{error}");
    assert_eq!(recorder.close(RunTotals::default()).unwrap_err().to_string(), error.to_string());
}

/// Kills a recording process when its trace has reached some size, so at moments that no thread expects. Three in the
/// suite; `CLOCKWEAVE_KILLS=50` for more.
#[test]
fn a_killed_process_leaves_a_prefix() {
    if let Ok(dir) = std::env::var(ROLE) {
        let compression = if dir.ends_with("raw") { Compression::None } else { Compression::default() };
        fail(Path::new(&dir), |builder| {
            builder.compression(compression).text(false);
        });
        return;
    }
    let kills: u64 = std::env::var("CLOCKWEAVE_KILLS").map_or(3, |text| text.parse().unwrap());
    for number in 0..kills {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join(if number % 2 == 0 { "raw" } else { "deflated" });
        let mut child = child("a_killed_process_leaves_a_prefix", &dir, "ulimit -c 0;")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let until = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 43;
        let size = || fs::metadata(dir.join(TRACE_FILE)).map_or(0, |data| data.len());
        while size() <= until && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let bytes = fs::read(dir.join(TRACE_FILE)).unwrap();
        assert_prefix(&bytes);
        assert!(bytes.len() as u64 > until && !dir.join(STATS_FILE).exists());
    }
}
