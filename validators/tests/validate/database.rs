//! The database of a validation: both sides, what differs, the findings.

use std::path::Path;

use clockweave_validators::{Options, Target, validate};
use rusqlite::Connection;

use crate::support::engine;
use crate::support::mutate::Fixture;

fn database(path: &Path) -> (tempfile::TempDir, Connection) {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("found.db");
    let options = Options { database: Some(file.clone()), ..Options::default() };
    validate(&Target::of(path), &options, engine::shared()).unwrap();
    (place, Connection::open(file).unwrap())
}

/// The rows of a query, each cell written out, cells between spaces.
fn rows(connection: &Connection, sql: &str) -> Vec<String> {
    let mut query = connection.prepare(sql).unwrap();
    let width = query.column_count();
    let row = query.query_map([], |row| {
        let cell = |at| match row.get::<_, rusqlite::types::Value>(at)? {
            rusqlite::types::Value::Null => Ok("NULL".to_owned()),
            rusqlite::types::Value::Integer(value) => Ok(value.to_string()),
            rusqlite::types::Value::Text(text) => Ok(text),
            other => panic!("{other:?}"),
        };
        (0..width).map(cell).collect::<rusqlite::Result<Vec<String>>>().map(|cells| cells.join(" "))
    });
    row.unwrap().map(Result::unwrap).collect()
}

#[test]
fn both_sides_what_differs_and_the_findings_are_kept() {
    let fixture = Fixture::good(30);
    let (write, taken, flag) = (fixture.some(1), fixture.some(5), fixture.some(7));
    fixture.edit_event(2, flag.ordinal, |packet| {
        packet.edit(11, |event| event.edit(9900, |arguments| arguments.set(4, u64::MAX)));
    });
    let of_write = format!("\t{}", write.ordinal);
    fixture.edit_lines("text-domain-sm.log", |lines| lines.retain(|line| !line.ends_with(&of_write)));
    fixture.remove_event(&taken);
    let (_place, found) = database(fixture.dir());
    // 154 events, of which each side lacks one; four arrows per transaction but for the event that is gone.
    assert_eq!(
        rows(&found, "SELECT (SELECT count(*) FROM trace), (SELECT count(*) FROM log), count(*) FROM arrow"),
        ["153 153 119"]
    );
    assert_eq!(
        rows(&found, "SELECT unit, ordinal, event, local_cycle FROM only_in_trace"),
        [format!("producer {} fifo.write {}", write.ordinal, write.cycle)]
    );
    assert_eq!(
        rows(&found, "SELECT file, unit, ordinal, event, transaction_id FROM only_in_log"),
        [format!("text-domain-lts.log consumer {} fifo.consume {}", taken.ordinal, taken.transaction)]
    );
    assert_eq!(
        rows(&found, "SELECT unit, ordinal, trace_event, log_event, trace_value, log_value FROM changed"),
        [format!("consumer {} fifo.empty fifo.empty 18446744073709551615 {}", flag.ordinal, flag.value)]
    );
    let time =
        rows(&found, &format!("SELECT ts FROM trace WHERE unit = 'consumer' AND ordinal = {}", flag.ordinal));
    assert_eq!(time, [flag.ns().to_string()]);
    assert_eq!(rows(&found, "SELECT passed, events FROM result"), ["0 153"]);
    assert_eq!(rows(&found, "SELECT status, found FROM checks WHERE name = 'identity'"), ["failed 3"]);
    let places = "SELECT file, line IS NULL, slice IS NULL FROM finding WHERE check_name = 'identity' ORDER BY 1, 2, 3";
    assert_eq!(rows(&found, places), ["NULL 1 0", "text-domain-lts.log 0 0", "text-domain-lts.log 0 1"]);
}

#[test]
fn a_trace_alone_has_one_side_and_absent_arguments_are_null() {
    let fixture = Fixture::good(30);
    let flag = fixture.some(7);
    fixture.edit_event(2, flag.ordinal, |packet| {
        packet.edit(11, |event| event.edit(9900, |arguments| arguments.remove(6)));
    });
    let (_place, found) = database(&fixture.path("timeline.pftrace"));
    assert_eq!(rows(&found, "SELECT (SELECT count(*) FROM trace), count(*) FROM log"), ["154 0"]);
    assert_eq!(
        rows(&found, "SELECT ts, unit, local_cycle, ordinal FROM trace WHERE local_cycle IS NULL"),
        [format!("{} unit 2 NULL {}", flag.ns(), flag.ordinal)]
    );
}
