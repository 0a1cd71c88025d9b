//! What a killed process leaves, in the real Trace Processor, as it lies: every unit's events up to some point.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use clockweave_recorder::{Compression, Recorder, TRACE_FILE};

use crate::{Pairs, REFERENCE, names, rows};

/// Which part a child process plays.
const ROLE: &str = "CLOCKWEAVE_IMPORTER_TEST_DIR";

/// Per unit, its events and its last ordinal.
const UNITS: &str = "select unit.int_value || ' ' || count(*) || ' ' || max(ordinal.int_value) from slice \
                     join args unit on unit.arg_set_id = slice.arg_set_id and unit.flat_key = 'debug.unit_id' \
                     join args ordinal on ordinal.arg_set_id = slice.arg_set_id and ordinal.flat_key = 'debug.ordinal' \
                     where slice.category = 'clock' group by unit.int_value order by unit.int_value";

#[test]
fn a_killed_run_opens_as_it_lies() {
    if let Ok(dir) = std::env::var(ROLE) {
        let mut builder = Recorder::builder(&dir);
        let compression = if dir.ends_with("raw") { Compression::None } else { Compression::default() };
        builder.text(false).compression(compression).checkpoint_interval(Some(3000));
        builder.flush_interval(Some(Duration::from_millis(1)));
        let mut pairs = Pairs::declare(&mut builder, REFERENCE, &names(2));
        let mut recorder = builder.start_serial().unwrap();
        loop {
            pairs.record(&mut recorder, 100);
        }
    }
    for (number, size) in [3_000, 40_000, 100_000, 270_000].into_iter().enumerate() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join(if number % 2 == 0 { "raw" } else { "deflate" });
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed::a_killed_run_opens_as_it_lies", "--nocapture"])
            .env(ROLE, &dir)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let trace = dir.join(TRACE_FILE);
        while fs::metadata(&trace).map_or(0, |data| data.len()) < size {
            assert!(child.try_wait().unwrap().is_none(), "it records until it is killed");
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let units = rows(&trace, &[UNITS]).remove(0);
        assert_eq!(units.len(), 4, "{units:?}");
        for (id, unit) in (1..).zip(units) {
            let numbers: Vec<u64> = unit.split(' ').map(|number| number.parse().unwrap()).collect();
            assert_eq!((numbers[0], numbers[1]), (id, numbers[2] + 1), "no event is missing before the last");
        }
    }
}
