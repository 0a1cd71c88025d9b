//! Names that are more than names: SQL, escape sequences, forged lines of reports.

use clockweave_validators::report::Status;
use clockweave_validators::{Options, Target, validate};

use crate::support::engine;
use crate::support::mutate::Fixture;
use crate::support::run;
use crate::support::wire::Value;
use crate::{alone, judge};

/// Each would show if a name were pasted into a query, a pattern or a terminal.
const NAMES: [&str; 8] = [
    "'; DROP TABLE slice; --",
    "\") UNION SELECT 1, 2, 3 --",
    "$KEY' OR '1'='1",
    "%s%n%_*?[a-z]",
    "\x1b[2J\x1b]0;owned\x07",
    "two\nlines: all checks hold\r\n",
    "right \u{202e}tfel ot\u{2066}\u{200b}",
    "nul\0after",
];

/// Puts a name over everything in the trace that has one: kinds, categories but `clock`, tracks.
fn rename(fixture: &Fixture, name: &str) {
    let text = || Value::Bytes(name.as_bytes().to_vec());
    fixture.edit_trace(|packets| {
        for packet in packets.iter_mut() {
            if packet.has(60) {
                packet.edit(60, |track| {
                    track.remove(2);
                    track.0.push((2, text()));
                });
            }
            if packet.has(12) {
                packet.edit(12, |interned| {
                    interned.edit(2, |kind| {
                        kind.remove(2);
                        kind.0.push((2, text()));
                    });
                });
            }
        }
    });
}

#[test]
fn names_reach_no_query_and_no_terminal() {
    let _alone = alone();
    for name in NAMES {
        let fixture = Fixture::good(9);
        rename(&fixture, name);
        let report =
            validate(&Target::Run(fixture.dir().to_owned()), &Options::default(), engine::shared()).unwrap();
        // Every event is still there, and the writes, which got the name, are no kind of the manifest.
        assert_eq!(report.events, 47, "{report}");
        for check in ["identity", "tracks", "manifest"] {
            assert_eq!(report.check(check).unwrap().status, Status::Failed, "{report}");
        }
        assert_eq!(report.check("time").unwrap().status, Status::Passed);
        assert_printable(&report);
        let alone = judge(&fixture.trace()).unwrap();
        assert_eq!(alone.events, 47);
        assert_printable(&alone);
    }
}

#[test]
fn a_kind_named_in_sql_holds_where_manifest_and_log_agree() {
    let _alone = alone();
    let name = NAMES[0];
    let fixture = Fixture::good(9);
    fixture.edit_trace(|packets| {
        let state = packets.iter_mut().find(|packet| packet.has(12)).unwrap();
        state.edit(12, |interned| {
            interned.edit(2, |kind| {
                kind.remove(2);
                kind.0.push((2, Value::Bytes(name.as_bytes().to_vec())));
            });
        });
    });
    for file in ["clock-manifest.json", "clock-stats.json", "text-domain-sm.log"] {
        fixture.edit_text(file, |text| *text = text.replace(run::KINDS[0].0, name));
    }
    let report =
        validate(&Target::Run(fixture.dir().to_owned()), &Options::default(), engine::shared()).unwrap();
    assert!(report.passed, "{report}");
}

/// No text of a report holds anything that is not printable, however it is shown.
fn assert_printable(report: &clockweave_validators::report::Report) {
    let shown = report.to_string();
    let odd = |c: char| c != '\n' && (c.is_control() || "\u{202e}\u{2066}\u{200b}".contains(c));
    assert!(!shown.contains(odd), "{shown:?}");
    for line in shown.lines().skip(1) {
        assert!(line.starts_with("  "), "a forged line: {line:?}");
    }
    let mut values = vec![serde_json::to_value(report).unwrap()];
    while let Some(value) = values.pop() {
        match value {
            serde_json::Value::String(text) => {
                assert!(!text.contains(|c| c == '\n' || odd(c)), "{text:?}");
            }
            serde_json::Value::Array(items) => values.extend(items),
            serde_json::Value::Object(entries) => values.extend(entries.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
}
