//! The embedded engine: what it answers, and how it fails.

mod support;

use std::time::Duration;

use clockweave_validators::engine::{Cell, Engine, EngineDirs, EngineError, Session, Width};
use support::{engine, wire};

const SAMPLE: &[u8] = include_bytes!("../../trace-fixtures/good/layout-sample.pftrace");

fn sample(width: Width) -> Session {
    engine::shared().import(width, SAMPLE).unwrap()
}

/// Every row of a result, each cell written out.
fn rows(session: &mut Session, sql: &str) -> Result<Vec<Vec<String>>, EngineError> {
    let mut rows = Vec::new();
    session.query("test", sql, |row| -> Result<(), EngineError> {
        let text = |cell: &Cell<'_>| match cell {
            Cell::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Cell::Int(value) => value.to_string(),
            other => format!("{other:?}"),
        };
        rows.push(row.cells().iter().map(text).collect());
        Ok(())
    })?;
    Ok(rows)
}

#[test]
fn cells_of_every_type_arrive_as_they_are() {
    let sql = "SELECT 'x' || char(0x1F980), -5, 9223372036854775807, 0.5, NULL, x'00ff', ''";
    let mut seen = 0;
    let mut session = sample(Width::Narrow);
    session
        .query("test", sql, |row| -> Result<(), EngineError> {
            seen += 1;
            let expected = [
                Cell::Text("x🦀".as_bytes()),
                Cell::Int(-5),
                Cell::Int(i64::MAX),
                Cell::Float(0.5),
                Cell::Null,
                Cell::Blob(&[0, 0xff]),
                Cell::Text(b""),
            ];
            assert_eq!(row.cells(), expected);
            Ok(())
        })
        .unwrap();
    assert_eq!(seen, 1);
}

#[test]
fn a_large_result_streams_through_and_an_empty_one_is_empty() {
    let mut session = sample(Width::Narrow);
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
               SELECT i, 'row ' || i FROM n";
    let mut expected = 0;
    session
        .query("test", sql, |row| -> Result<(), EngineError> {
            expected += 1;
            assert_eq!(row.int(0)?, expected);
            assert_eq!(row.text(1)?, format!("row {expected}"));
            Ok(())
        })
        .unwrap();
    assert_eq!(expected, 300_000);
    assert!(rows(&mut session, "SELECT id FROM slice WHERE id < 0").unwrap().is_empty());
}

#[test]
fn a_failed_query_names_itself_and_the_next_one_works() {
    let mut session = sample(Width::Narrow);
    let error = rows(&mut session, "SELECT no_such_column FROM slice").unwrap_err();
    assert!(matches!(&error, EngineError::Query { name, .. } if name == "test"), "{error}");
    assert!(error.to_string().contains("no such column"), "{error}");
    assert_eq!(rows(&mut session, "SELECT count(*) FROM slice").unwrap(), [["3002"]]);

    // A reader that has enough after its first row leaves no rows behind for the next query.
    let stop = || EngineError::Shape { name: "test".into(), found: "enough".into(), expected: String::new() };
    let stopped = session.query("test", "SELECT id FROM slice", |_| Err(stop()));
    assert!(matches!(stopped, Err(EngineError::Shape { .. })));
    assert_eq!(rows(&mut session, "SELECT 7").unwrap(), [["7"]]);
}

#[test]
fn both_widths_give_the_same_events() {
    let sql = "SELECT s.id, s.ts, s.name, s.track_id, a.flat_key, a.int_value
               FROM slice s JOIN args a USING (arg_set_id) WHERE s.category = 'clock' ORDER BY s.id, a.id";
    let narrow = rows(&mut sample(Width::Narrow), sql).unwrap();
    let wide = rows(&mut sample(Width::Wide), sql).unwrap();
    assert_eq!(narrow.len(), 21_000);
    assert!(narrow == wide, "the two engines differ");
    // The first event of the sample, known from decoding it by hand.
    let first: Vec<&str> = narrow.iter().take(7).map(|row| &*row[4]).collect();
    let names = ["unit_id", "fifo_id", "phase", "value", "ordinal", "local_cycle", "transaction_id"];
    assert_eq!(first, names.map(|name| format!("debug.{name}")));
    assert_eq!(narrow[0][2], "fifo.write");
}

#[test]
fn dates_do_not_depend_on_the_host() {
    let mut session = sample(Width::Narrow);
    let sql =
        "SELECT datetime(951868799, 'unixepoch'), datetime(951868799, 'unixepoch', 'localtime'), date('now')";
    let expected = ["2000-02-29 23:59:59", "2000-02-29 23:59:59", "1970-01-01"];
    assert_eq!(rows(&mut session, sql).unwrap(), [expected]);
}

#[test]
fn what_the_importer_refuses_or_aborts_on_is_an_error_and_harms_nobody() {
    let torn = {
        let stream = wire::zlib(&SAMPLE[..253]);
        let wrapper = wire::message(|out| wire::bytes(50, &stream[..stream.len() - 2], out));
        wire::message(|out| wire::bytes(1, &wrapper, out))
    };
    let error = engine::shared().import(Width::Narrow, &torn[..]).unwrap_err();
    assert!(matches!(error, EngineError::Import { .. }), "{error}");

    let wrap = |content: &[u8]| {
        let wrapper = wire::message(|out| wire::bytes(50, &wire::zlib(content), out));
        wire::message(|out| wire::bytes(1, &wrapper, out))
    };
    let nested = wrap(&wrap(&SAMPLE[..253]));
    let error = engine::shared().import(Width::Narrow, &nested[..]).unwrap_err();
    assert!(matches!(error, EngineError::Aborted { .. }), "{error}");

    assert_eq!(rows(&mut sample(Width::Narrow), "SELECT 1").unwrap(), [["1"]]);
}

#[test]
fn zstd_wrappers_are_skipped_without_any_word() {
    let content = wire::raw_trace(&wire::packets(SAMPLE));
    let wrap = |field, stream: &[u8]| {
        let wrapper = wire::message(|out| wire::bytes(field, stream, out));
        wire::message(|out| wire::bytes(1, &wrapper, out))
    };
    let look = |trace: &[u8]| {
        let mut session = engine::shared().import(Width::Narrow, trace).unwrap();
        let slices = rows(&mut session, "SELECT count(*) FROM slice").unwrap();
        let trouble = "SELECT name, severity, value FROM stats WHERE value != 0 AND severity != 'info'";
        (slices[0][0].clone(), rows(&mut session, trouble).unwrap())
    };
    // Field 50 is a zlib stream, field 133 a zstd frame, of the same packets.
    assert_eq!(look(&wrap(50, &wire::zlib(&content))), ("3002".to_owned(), vec![]));
    let frame = zstd::bulk::compress(&content, 1).unwrap();
    assert_eq!(look(&wrap(133, &frame)), ("0".to_owned(), vec![]));
}

#[test]
fn an_engine_that_needs_more_memory_than_it_may_have_says_so() {
    let mut small = engine::open();
    small.limit_memory(Width::Narrow, 48 << 20);
    let error = small.import(Width::Narrow, SAMPLE).unwrap_err();
    assert!(matches!(error, EngineError::OutOfMemory { limit } if limit == 48 << 20), "{error}");
}

#[test]
fn several_engines_run_at_once() {
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut session = sample(Width::Narrow);
                assert_eq!(rows(&mut session, "SELECT max(ts) FROM slice").unwrap(), [["557"]]);
            });
        }
    });
}

#[test]
fn an_answer_that_never_ends_is_given_up() {
    const NUMBERS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
    let other = &mut sample(Width::Narrow);
    // One that says nothing, and one that never stops saying something.
    for question in ["SELECT count(*) FROM n", "SELECT i FROM n"] {
        let mut session = sample(Width::Narrow);
        session.limit_time(Duration::from_millis(50));
        let error = session
            .query("test", &format!("{NUMBERS} {question}"), |_| Ok::<_, EngineError>(()))
            .unwrap_err();
        assert!(matches!(error, EngineError::Silent { .. }), "{error}");
        drop(session);
        assert_eq!(rows(other, "SELECT count(*) FROM slice").unwrap(), [["3002"]], "others are not ended");
    }
}

#[test]
fn a_missing_engine_names_the_command_that_mends_it() {
    let empty = tempfile::tempdir().unwrap();
    let dirs = EngineDirs { packages: empty.path().join("none"), compiled: empty.path().join("compiled") };
    let error = Engine::open(&dirs).unwrap_err();
    assert!(matches!(error, EngineError::NotInstalled { .. }));
    assert!(error.to_string().contains("`clockweave engine install`"), "{error}");
    let status = clockweave_validators::engine::status(&dirs);
    assert!(!status.usable);
    assert!(!empty.path().join("none").exists(), "asking writes nothing");
}
