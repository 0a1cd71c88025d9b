//! `clockweave validate --db`.

use std::fs;

use rusqlite::Connection;

use crate::command::names;
use crate::record::record;
use crate::validate::validate;

#[test]
fn a_database_is_written_whole_or_not_at_all() {
    let place = tempfile::tempdir().unwrap();
    let (run, file) = (place.path().join("run"), place.path().join("found.db"));
    record("fifo", &run, &["--batches", "300", "--rotate-events", "200"]).expect(0, &[]);
    let log = run.join("text-domain-sm.log");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, &text[..text.trim_end().rfind('\n').unwrap() + 1]).unwrap();
    let args = ["--db", file.to_str().unwrap()];
    // What was found is shown as without it.
    let ran = validate(&args, [&run]).expect(1, &[]);
    assert!(ran.text().contains("found in the trace but not in the log"), "{}", ran.text());
    let database = Connection::open(&file).unwrap();
    let count = |of: &str| {
        let sql = format!("SELECT count(*) FROM {of}");
        database.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let found =
        [count("trace"), count("log"), count("only_in_trace"), count("only_in_log"), count("changed")];
    assert_eq!(found, [found[0], found[0] - 1, 1, 0, 0]);
    // Slices are counted on from file to file: each is there once.
    assert_eq!(count("(SELECT DISTINCT slice FROM trace)"), found[0]);

    validate(&args, [&run]).expect(2, &["the file exists", "--force"]);
    validate(&[&args[..], &["--force"]].concat(), [&run]).expect(1, &[]);
    validate(&["--db", "-"], [&run]).expect(2, &["--db", "a regular file"]);
    let other = place.path().join("other.db");
    let args = ["--db", other.to_str().unwrap()];
    validate(&args, [&run, &run]).expect(2, &["--db is of one path"]);
    validate(&args, [&place.path().join("missing")]).expect(2, &["missing"]);
    assert_eq!(names(place.path()), ["found.db", "run"]);
}
