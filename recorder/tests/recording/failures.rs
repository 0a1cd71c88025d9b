//! What happens when something goes wrong: one clear error that stays, a valid prefix, no hang.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use clockweave_model::{KindId, Phase};
use clockweave_recorder::{
    Compression, RecordError, RunTotals, STATS_FILE, SerialRecorder, StreamId, TRACE_FILE,
};

use crate::reading::{self, arguments};
use crate::two_clocks;

fn start(
    dir: &Path,
    set: impl FnOnce(&mut clockweave_recorder::RecorderBuilder),
) -> (SerialRecorder, StreamId) {
    let mut builder = two_clocks::builder(dir);
    set(&mut builder);
    let unit = builder.add_stream(1, 1, "unit").unwrap();
    (builder.start_serial().unwrap(), unit)
}

fn event(recorder: &mut SerialRecorder, unit: StreamId, cycle: u64) -> Result<(), RecordError> {
    recorder.record(unit, cycle, KindId::USER, cycle, cycle * cycle, 0, Phase::Commit);
    recorder.end_instant(cycle as i64)
}

/// Ordinals of the trace; packets are whole by the way they are read.
fn ordinals(dir: &Path) -> Vec<u64> {
    let file = reading::read(&dir.join(TRACE_FILE));
    file.events().map(|event| arguments(event.packet.track_event()).ordinal).collect()
}

fn assert_sticky(mut recorder: SerialRecorder, unit: StreamId, expected: impl Fn(&RecordError) -> bool) {
    let again = [
        event(&mut recorder, unit, 100).unwrap_err(),
        recorder.flush().unwrap_err(),
        recorder.close(RunTotals::default()).unwrap_err(),
        recorder.close(RunTotals::default()).unwrap_err(),
    ];
    for error in again {
        assert!(expected(&error), "{error}");
    }
}

#[test]
fn a_bucket_beyond_its_budget_is_the_error_that_stays() {
    let dir = tempfile::tempdir().unwrap();
    let (mut recorder, unit) = start(dir.path(), |builder| {
        builder.open_records(2);
    });
    event(&mut recorder, unit, 4).unwrap();
    (0..3).for_each(|_| recorder.record(unit, 5, KindId::USER, 0, 0, 0, Phase::Commit));
    let error = recorder.end_instant(5).unwrap_err();
    let too_many =
        |error: &RecordError| matches!(error, RecordError::BucketBudget { ns: 5, needed: 3, budget: 2 });
    assert!(too_many(&error));
    assert!(
        error.to_string().contains("nanosecond 5") && error.to_string().contains("open_records"),
        "{error}"
    );
    assert_sticky(recorder, unit, too_many);
    assert_eq!(ordinals(dir.path()), [0], "what was accepted before is kept");
    assert!(!dir.path().join(STATS_FILE).exists());
}

#[test]
fn the_default_budget_takes_8_192_records_in_one_nanosecond() {
    let dir = tempfile::tempdir().unwrap();
    let (mut recorder, unit) = start(dir.path(), |_| {});
    (0..8192).for_each(|_| recorder.record(unit, 5, KindId::USER, 0, 0, 0, Phase::Commit));
    recorder.end_instant(5).unwrap();
    recorder.record(unit, 5, KindId::USER, 0, 0, 0, Phase::Commit);
    assert!(matches!(recorder.end_instant(5), Err(RecordError::BucketBudget { needed: 8193, .. })));
}

#[test]
fn time_that_goes_back_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let (mut recorder, unit) = start(dir.path(), |_| {});
    event(&mut recorder, unit, 7).unwrap();
    recorder.record(unit, 8, KindId::USER, 0, 0, 0, Phase::Commit);
    let back = |error: &RecordError| matches!(error, RecordError::InstantRegressed { ns: 6, last: 7 });
    assert!(back(&recorder.end_instant(6).unwrap_err()));
    assert_sticky(recorder, unit, back);
}

#[test]
fn cycles_that_go_back_and_unknown_kinds_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let (mut recorder, unit) = start(&dir.path().join("1"), |_| {});
    event(&mut recorder, unit, 7).unwrap();
    recorder.record(unit, 6, KindId::USER, 0, 0, 0, Phase::Commit);
    let back = |error: &RecordError| matches!(error, RecordError::CycleRegressed { unit, cycle: 6, last: 7 } if unit == "unit");
    assert!(back(&recorder.end_instant(8).unwrap_err()));
    assert_sticky(recorder, unit, back);

    for kind in [8, 257, 4000] {
        let (mut recorder, unit) = start(&dir.path().join(format!("kind{kind}")), |_| {});
        recorder.record(unit, 6, KindId(kind), 0, 0, 0, Phase::Commit);
        let unknown =
            |error: &RecordError| matches!(error, RecordError::UnknownKind { kind: k, .. } if *k == kind);
        assert!(unknown(&recorder.end_instant(8).unwrap_err()));
        assert_sticky(recorder, unit, unknown);
    }
}

#[test]
fn a_closed_recorder_takes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (mut recorder, unit) = start(dir.path(), |_| {});
    event(&mut recorder, unit, 0).unwrap();
    recorder.close(RunTotals::default()).unwrap();
    let trace = fs::read(dir.path().join(TRACE_FILE)).unwrap();
    assert!(matches!(event(&mut recorder, unit, 1), Err(RecordError::Closed)));
    assert!(matches!(recorder.flush(), Err(RecordError::Closed)));
    assert_eq!(recorder.close(RunTotals::default()).unwrap().events, 1);
    assert_eq!(fs::read(dir.path().join(TRACE_FILE)).unwrap(), trace);
}

#[test]
fn a_dropped_recorder_leaves_complete_files_without_statistics() {
    let dir = tempfile::tempdir().unwrap();
    let (mut recorder, unit) = start(dir.path(), |_| {});
    (0..100).for_each(|cycle| event(&mut recorder, unit, cycle).unwrap());
    drop(recorder);
    assert_eq!(ordinals(dir.path()), (0..100).collect::<Vec<u64>>());
    let text = fs::read_to_string(dir.path().join("text-domain-a.log")).unwrap();
    assert_eq!(text.lines().count(), 102);
    assert!(!dir.path().join(STATS_FILE).exists());
}

#[test]
fn a_directory_that_vanishes_is_reported() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    let (mut recorder, unit) = start(&dir, |_| {});
    event(&mut recorder, unit, 0).unwrap();
    fs::remove_dir_all(&dir).unwrap();
    let error = recorder.close(RunTotals::default()).unwrap_err();
    assert!(matches!(&error, RecordError::Io { path, .. } if path.ends_with(STATS_FILE)), "{error}");
    assert!(error.to_string().contains("clock-stats.json"), "{error}");
}

#[test]
fn everything_flushed_is_readable_while_recording_goes_on() {
    for compression in [Compression::None, Compression::default()] {
        let dir = tempfile::tempdir().unwrap();
        let (mut recorder, unit) = start(dir.path(), |builder| {
            builder.compression(compression).checkpoint_interval(Some(3000));
        });
        for cycle in 0..20_000 {
            event(&mut recorder, unit, cycle).unwrap();
            if [0, 1, 2999, 3000, 7777, 19_999].contains(&cycle) {
                recorder.flush().unwrap();
                assert_eq!(ordinals(dir.path()), (0..=cycle).collect::<Vec<u64>>(), "{compression:?}");
                let text = fs::read_to_string(dir.path().join("text-domain-a.log")).unwrap();
                assert_eq!(text.lines().count() as u64, 2 + cycle + 1);
                assert!(text.ends_with('\n'));
            }
        }
    }
}

/// Nobody calls `flush`, and no block fills up: what is recorded reaches the files all the same.
#[test]
fn the_flush_interval_brings_events_to_the_files() {
    for compression in [Compression::None, Compression::default()] {
        let dir = tempfile::tempdir().unwrap();
        let (mut recorder, unit) = start(dir.path(), |builder| {
            builder.compression(compression).flush_interval(Some(Duration::from_millis(1)));
        });
        let trace = dir.path().join(TRACE_FILE);
        let read = || {
            let bytes = fs::read(&trace).unwrap();
            let file = reading::parse(&bytes[..reading::whole(&bytes)]);
            file.events().map(|e| arguments(e.packet.track_event()).ordinal).collect::<Vec<u64>>()
        };
        // Fewer than fill a block.
        let mut seen = Vec::new();
        for cycle in 0..4000 {
            event(&mut recorder, unit, cycle).unwrap();
            if seen.len() < 2 {
                // Even on a busy machine the writing thread gets its time: a look at the file takes some.
                (0..1000).for_each(|_| std::thread::yield_now());
                seen = read();
            }
        }
        assert!(seen.len() >= 2 && is_prefix(&seen), "{compression:?}: {}", seen.len());
        recorder.close(RunTotals::default()).unwrap();
        assert_eq!(ordinals(dir.path()), (0..4000).collect::<Vec<u64>>());
    }
}

/// The process is killed at 50 moments, told by how much it has written; what lies there is read up
/// to its last whole packet, and is no older than the last flush: what a flush that had returned
/// wrote is there, but for the one block that a compressed trace may be exchanging.
#[test]
fn killed_at_any_moment_the_file_opens() {
    if let Ok(dir) = std::env::var(ROLE) {
        let compression = if dir.ends_with("raw") { Compression::None } else { Compression::default() };
        let (mut recorder, unit) = start(Path::new(&dir), |builder| {
            builder.compression(compression).checkpoint_interval(Some(1500));
            builder.flush_interval(Some(Duration::from_millis(1))).text(false);
        });
        for cycle in 0.. {
            event(&mut recorder, unit, cycle).unwrap();
            if cycle % 800 == 799 {
                recorder.flush().unwrap();
                println!("{}", cycle + 1);
            }
        }
    }
    let mut state = 7u64;
    for moment in 0..50 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join(if moment % 2 == 0 { "raw" } else { "deflate" });
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "failures::killed_at_any_moment_the_file_opens", "--nocapture"])
            .env(ROLE, &dir)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let trace = dir.join(TRACE_FILE);
        let most = 1 + (state >> 33) % 300_000;
        while fs::metadata(&trace).map_or(0, |data| data.len()) < most {
            assert!(child.try_wait().unwrap().is_none(), "it records until it is killed");
            std::thread::yield_now();
        }
        child.kill().unwrap();
        let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        let flushed: u64 = said.lines().filter_map(|line| line.parse().ok()).next_back().unwrap_or(0);
        let bytes = fs::read(&trace).unwrap();
        let whole = reading::whole(&bytes);
        let file = reading::parse(&bytes[..whole]);
        let ordinals: Vec<u64> = file.events().map(|e| arguments(e.packet.track_event()).ordinal).collect();
        assert!(is_prefix(&ordinals), "moment {moment}");
        // No event packet is smaller than 32 bytes.
        let exchanged = if dir.ends_with("raw") { 0 } else { 262_144 / 32 };
        assert!(ordinals.len() as u64 + exchanged >= flushed, "moment {moment}: {flushed} were flushed");
        // At most the block that was being exchanged is missing.
        assert!(bytes.len() - whole < 300_000);
    }
}

/// Which part a child process plays.
const ROLE: &str = "CLOCKWEAVE_RECORDER_TEST_DIR";

/// Runs `test` of this binary in a child that finds its directory in the environment.
fn child(test: &str, dir: &Path, shell: &str) -> std::process::Output {
    let exe = std::env::current_exe().unwrap();
    let script = format!("{shell} exec \"$0\" --exact {test} --nocapture");
    Command::new("sh").arg("-c").arg(script).arg(exe).env(ROLE, dir).output().unwrap()
}

fn is_prefix(ordinals: &[u64]) -> bool {
    ordinals.iter().copied().eq(0..ordinals.len() as u64)
}

/// A process that ends without unwinding leaves a trace that is valid up to its last packet.
#[test]
fn a_killed_run_leaves_a_valid_prefix() {
    if let Ok(dir) = std::env::var(ROLE) {
        let (mut recorder, unit) = start(Path::new(&dir), |_| {});
        for cycle in 0..100_000 {
            event(&mut recorder, unit, cycle).unwrap();
            if cycle == 60_000 {
                recorder.flush().unwrap();
            }
        }
        std::process::abort();
    }
    let dir = tempfile::tempdir().unwrap();
    let output = child("failures::a_killed_run_leaves_a_valid_prefix", dir.path(), "ulimit -c 0;");
    assert!(!output.status.success());
    let bytes = fs::read(dir.path().join(TRACE_FILE)).unwrap();
    let file = reading::parse(&bytes[..reading::whole(&bytes)]);
    let ordinals: Vec<u64> = file.events().map(|e| arguments(e.packet.track_event()).ordinal).collect();
    assert!(is_prefix(&ordinals));
    assert!(ordinals.len() > 60_000, "{}", ordinals.len());
    assert!(!dir.path().join(STATS_FILE).exists());
}

/// A file-size limit of 300 blocks of 512 bytes: the write fails half way through a block.
#[test]
fn a_file_that_may_not_grow_ends_the_run_with_the_error() {
    if let Ok(dir) = std::env::var(ROLE) {
        let (mut recorder, unit) = start(Path::new(&dir), |builder| {
            builder.compression(Compression::None).text(false);
        });
        let error = (0..1_000_000).find_map(|cycle| event(&mut recorder, unit, cycle).err()).unwrap();
        let too_large = |error: &RecordError| match error {
            RecordError::Io { source, path, .. } => {
                source.kind() == std::io::ErrorKind::FileTooLarge && path.ends_with(TRACE_FILE)
            }
            _ => false,
        };
        assert!(too_large(&error), "{error}");
        assert_sticky(recorder, unit, too_large);
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let output = child(
        "failures::a_file_that_may_not_grow_ends_the_run_with_the_error",
        dir.path(),
        "trap '' XFSZ; ulimit -f 1300;",
    );
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let ordinals = ordinals(dir.path());
    // 1300 * 512 bytes hold two whole blocks of 256 KiB.
    assert!(is_prefix(&ordinals) && ordinals.len() > 5000, "{}", ordinals.len());
}

/// Another directory of that name is not the run's: what was recorded is gone, and that is told.
#[cfg(unix)]
#[test]
fn a_directory_that_was_replaced_is_told() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    let (mut recorder, unit) = start(&dir, |_| {});
    event(&mut recorder, unit, 0).unwrap();
    fs::remove_dir_all(&dir).unwrap();
    fs::create_dir(&dir).unwrap();
    let error = recorder.close(RunTotals::default()).unwrap_err();
    assert!(error.to_string().contains("was replaced while the run was recorded"), "{error}");
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0, "nothing is written into what is another's");
}
