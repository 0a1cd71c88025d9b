//! Every check holds on good runs and is turned red by a small change that no other check notices.

#[path = "validate/database.rs"]
mod database;
#[path = "validate/fifo.rs"]
mod fifo;
mod support;

use std::fs;
use std::path::Path;

use clockweave_validators::engine::{Engine, Width};
use clockweave_validators::report::{Report, Status};
use clockweave_validators::{Options, Target, ValidateError, validate};
use support::mutate::{Fixture, position};
use support::run::{self, Event};
use support::{engine, wire};

fn run(path: &Path, prefix: bool) -> Result<Report, ValidateError> {
    validate(&Target::of(path), &Options { prefix, ..Options::default() }, engine::shared())
}

fn report(fixture: &Fixture) -> Report {
    run(fixture.dir(), false).unwrap()
}

fn failed(report: &Report) -> Vec<String> {
    let failed = report.checks.iter().filter(|check| check.status == Status::Failed);
    failed.map(|check| check.name.to_string()).collect()
}

/// Asserts that exactly this check failed, with exactly so many findings, and gives the first one's message.
#[track_caller]
fn only(report: &Report, name: &str, findings: u64) -> String {
    assert_eq!(failed(report), [name], "{report}");
    let check = report.check(name).unwrap();
    assert_eq!(check.found, findings, "{report}");
    assert_eq!((report.passed, report.exit_code()), (false, 1));
    check.findings[0].message.clone()
}

#[track_caller]
fn holds(report: &Report) {
    assert_eq!(failed(report), Vec::<&str>::new(), "{report}");
    assert_eq!((report.passed, report.exit_code()), (true, 0));
}

#[test]
fn a_good_run_holds_in_plain_and_in_wrapped_packets() {
    let fixture = Fixture::good(2_000);
    let plain = report(&fixture);
    holds(&plain);
    // Five events per transaction and one flag change for every eighth; four arrows per transaction.
    assert_eq!(plain.events, 10_250);
    let rows = |name: &str| plain.check(name).unwrap().rows;
    assert_eq!(
        (rows("identity"), rows("time"), rows("flows"), rows("logs")),
        (10_250, 10_250, 8_000, 10_250)
    );
    assert!(plain.checks.iter().all(|check| check.status == Status::Passed), "{plain}");
    assert!(plain.engine.contains("v52.0"));

    fixture.set_trace(&run::trace(&fixture.events, true));
    let wrapped = report(&fixture);
    holds(&wrapped);
    assert_eq!(wrapped.events, 10_250);
}

#[test]
fn the_stored_sample_imports_without_a_complaint() {
    let sample =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../trace-fixtures/good/layout-sample.pftrace"));
    let report = run(sample, false).unwrap();
    holds(&report);
    assert_eq!(report.events, 3_000);
    let skipped = |name: &str| report.check(name).unwrap().status == Status::Skipped;
    assert!(["manifest", "conservation", "logs", "tracks", "time", "flows"].into_iter().all(skipped));
}

#[test]
fn zstd_wrappers_are_read_although_the_engine_skips_them() {
    let fixture = Fixture::good(50);
    let frame = zstd::bulk::compress(&fixture.trace(), 3).unwrap();
    let wrapper = wire::message(|out| wire::bytes(133, &frame, out));
    fixture.set_trace(&wire::message(|out| wire::bytes(1, &wrapper, out)));
    let report = report(&fixture);
    holds(&report);
    assert_eq!(report.events, fixture.events.len() as u64);
}

#[test]
fn what_the_narrow_engine_cannot_hold_is_taken_by_the_wide_one_or_refused() {
    let fixture = Fixture::good(2_000);
    let mut small = engine::open();
    small.limit_memory(Width::Narrow, 48 << 20);
    let check = |engine: &Engine| validate(&Target::of(fixture.dir()), &Options::default(), engine);
    let report = check(&small).unwrap();
    holds(&report);
    assert_eq!(report.events, 10_250);
    assert!(report.engine.ends_with(", 64-bit"), "{}", report.engine);
    small.limit_memory(Width::Wide, 48 << 20);
    let error = check(&small).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    let words = "timeline.pftrace: the Trace Processor needs more than its 50331648 bytes of memory";
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn numbers_above_the_signed_range_come_back_whole() {
    let mut events = run::events(20);
    let last = events.iter().filter(|event| event.unit == 2).map(|event| event.ordinal).max().unwrap();
    for event in &mut events {
        event.value = u64::MAX - event.ordinal;
        event.fifo = 1 << 63;
        if event.transaction == 20 {
            event.transaction = u64::MAX;
        }
        if event.unit == 2 && event.ordinal == last {
            event.ordinal = u64::MAX - 1;
        }
    }
    let fixture = Fixture::of(events);
    holds(&report(&fixture));
    fixture.edit_event(2, u64::MAX - 1, |packet| {
        packet.edit(11, |event| event.edit(9900, |arguments| arguments.set(4, u64::MAX)));
    });
    let message = only(&report(&fixture), "identity", 1);
    assert!(message.contains("value 18446744073709551615, expected "), "{message}");
}

#[test]
fn events_that_share_instants_and_nanoseconds_hold() {
    // Everything in one bucket of the display: four cycles of a 4 GHz clock, three of them in one nanosecond.
    let mut events = Vec::new();
    for (index, (cycle, kind, phase)) in
        [(0, 1, 1), (1, 2, 1), (2, 3, 1), (2, 4, 1), (3, 5, 0)].into_iter().enumerate()
    {
        let (ordinal, transaction) = (index as u64, 9);
        events.push(Event { unit: 1, cycle, kind, phase, transaction, fifo: 1, value: 0, ordinal });
    }
    let fixture = Fixture::of(events);
    fixture.edit_text("clock-manifest.json", |text| {
        *text = text.replace("\"period_den\":914000000", "\"period_den\":4000000000");
        // No circuit is that quick, and one unit is no clock crossing: only the order counts.
        *text = text.replace("\"fifos\":[{\"id\":1", "\"fifos\":[{\"id\":2");
    });
    // The made-up writer knows only its own clocks: the packets are put on the other clock's nanoseconds.
    fixture.edit_trace(|packets| {
        packets.retain(|packet| !run::is_statement(packet));
        for packet in packets.iter_mut().filter(|packet| packet.has(11)) {
            packet.set(8, 0);
        }
    });
    holds(&report(&fixture));
    fixture.edit_trace(|packets| {
        let (second, third) = (position(packets, 1, 1), position(packets, 1, 2));
        packets.swap(second, third);
    });
    // The importer takes equal nanoseconds as written: of three arrows one is turned round and two are replaced.
    let message = only(&report(&fixture), "flows", 5);
    assert!(message.contains("transaction 9"), "{message}");
}

#[test]
fn structure_notices_a_torn_tail_that_the_importer_takes_in_silence() {
    let fixture = Fixture::good(30);
    let whole = fixture.trace();
    fixture.set_trace(&[&whole[..], &[0x0a, 0x20, 0x40, 0x01]].concat());
    let torn = report(&fixture);
    let message = only(&torn, "structure", 1);
    assert_eq!(message, "found 2 bytes of a packet, expected the 32 bytes its header announces");
    let finding = &torn.check("structure").unwrap().findings[0];
    assert_eq!(finding.offset, Some(whole.len() as u64));
    assert!(finding.hint.as_ref().unwrap().contains("clockweave recover"));
}

#[test]
fn structure_keeps_a_nested_wrapper_from_the_engine_that_would_abort() {
    let fixture = Fixture::good(30);
    let wrap = |content: &[u8]| {
        let wrapper = wire::message(|out| wire::bytes(50, &wire::zlib(content), out));
        wire::message(|out| wire::bytes(1, &wrapper, out))
    };
    let nested = wrap(&wrap(&fixture.trace()[..20]));
    fixture.set_trace(&[fixture.trace(), nested].concat());
    let message = only(&report(&fixture), "structure", 1);
    assert!(message.contains("a wrapper inside a wrapper"), "{message}");
}

#[test]
fn import_notices_what_the_importer_only_counts() {
    let fixture = Fixture::good(30);
    fixture.count_among_instants();
    let message = only(&report(&fixture), "import", 1);
    assert!(message.contains("found track_event_tokenizer_errors = 1 (info), expected 0"), "{message}");
}

#[test]
fn import_holds_declared_losses_against_the_statistics() {
    let mut fixture = Fixture::good(30);
    fixture.events.retain(|event| event.kind != 7);
    let fixture = Fixture::of(fixture.events);
    fixture.edit_text("clock-stats.json", |text| {
        *text = text.replace("\"dropped_events\":0", "\"dropped_events\":4").replace(
            "\"produced\":150,\"retained\":150,\"dropped\":0,\"filtered\"",
            "\"produced\":154,\"retained\":150,\"dropped\":4,\"filtered\"",
        );
    });
    fixture.declare_lost(4);
    holds(&report(&fixture));
    fixture.declare_lost(3);
    let message = only(&report(&fixture), "import", 1);
    assert!(message.contains("= 3, expected the 4 events declared lost"), "{message}");
}

#[test]
fn arguments_notices_an_event_without_all_of_them() {
    let fixture = Fixture::good(30);
    let flag = fixture.some(7);
    fixture.edit_event(2, flag.ordinal, |packet| {
        packet.edit(11, |event| event.edit(9900, |arguments| arguments.remove(6)));
    });
    // Alone, the trace can only be held against itself.
    let report = run(&fixture.path("timeline.pftrace"), false).unwrap();
    let message = only(&report, "arguments", 1);
    assert_eq!(message, format!("fifo.empty at {} ns: found no integer local_cycle", flag.ns()));
}

#[test]
fn conservation_notices_an_event_gone_from_trace_and_log_alike() {
    let fixture = Fixture::good(30);
    let flag = fixture.some(7);
    fixture.remove_event(&flag);
    fixture.edit_lines("text-domain-lts.log", |lines| {
        lines.retain(|line| !line.ends_with(&format!("\t{}", flag.ordinal)));
    });
    // In total, of its unit, and of its kind in the unit.
    let message = only(&report(&fixture), "conservation", 3);
    assert_eq!(message, "all events imported, against the statistics: found 153, expected 154");
}

#[test]
fn conservation_notices_unaccounted_production() {
    let fixture = Fixture::good(30);
    fixture.edit_text("clock-stats.json", |text| {
        *text = text.replacen("\"produced\":30,", "\"produced\":31,", 1);
    });
    let message = only(&report(&fixture), "conservation", 1);
    assert_eq!(message, "retained + dropped of producer, against produced: found 30, expected 31");
}

#[test]
fn conservation_notices_totals_that_do_not_add_up() {
    let fixture = Fixture::good(30);
    fixture.edit_text("clock-stats.json", |text| {
        *text = text.replacen("\"produced\":154,", "\"produced\":155,", 1);
    });
    let message = only(&report(&fixture), "conservation", 1);
    assert_eq!(message, "retained + dropped of the run, against produced: found 154, expected 155");
}

#[test]
fn conservation_notices_an_event_that_lasts() {
    let fixture = Fixture::good(30);
    let flag = fixture.some(7);
    // The begin of a slice in place of an instant.
    fixture.edit_event(2, flag.ordinal, |packet| {
        packet.edit(11, |event| event.set(9, 1));
    });
    let report = report(&fixture);
    let check = report.check("conservation").unwrap();
    let expected = format!("events {} that are no instants: found 1, expected 0", flag.kind_name());
    assert!(check.findings.iter().any(|finding| finding.message == expected), "{check:?}");
}

#[test]
fn identity_notices_each_changed_field() {
    for (argument, name) in [(2, "fifo_id"), (3, "phase"), (4, "value")] {
        let fixture = Fixture::good(30);
        let flag = fixture.some(7);
        let mut found = 0;
        fixture.edit_event(2, flag.ordinal, |packet| {
            packet.edit(11, |event| {
                event.edit(9900, |arguments| {
                    found = 1 - arguments.uint(argument).unwrap().min(1);
                    arguments.set(argument, found);
                });
            });
        });
        let message = only(&report(&fixture), "identity", 1);
        let expected = 1 - found;
        assert!(message.ends_with(&format!("found {name} {found}, expected {expected}")), "{message}");
    }
}

#[test]
fn identity_notices_events_on_one_side_only() {
    let fixture = Fixture::good(30);
    let flag = fixture.some(7);
    let of_flag = format!("\t{}", flag.ordinal);
    fixture.edit_lines("text-domain-lts.log", |lines| lines.retain(|line| !line.ends_with(&of_flag)));
    let message = only(&report(&fixture), "identity", 1);
    assert!(message.ends_with("found in the trace but not in the log"), "{message}");

    // Gone from the trace, which the statistics agree with.
    let fixture = Fixture::good(30);
    let mut events = fixture.events.clone();
    events.retain(|event| event.unit != 2 || event.ordinal != flag.ordinal);
    fs::write(fixture.path("clock-stats.json"), run::stats(&events, 0)).unwrap();
    fixture.remove_event(&flag);
    let message = only(&report(&fixture), "identity", 1);
    assert!(message.ends_with("(fifo.empty): found in the log but not in the trace"), "{message}");
}

#[test]
fn identity_notices_an_event_twice() {
    let fixture = Fixture::good(30);
    let flag = fixture.some(7);
    fixture.edit_trace(|packets| {
        let at = position(packets, 2, flag.ordinal);
        let mut again = packets[at].clone();
        again.set(8, 0);
        packets.insert(at + 1, again);
    });
    let mut events = fixture.events.clone();
    events.push(flag);
    fs::write(fixture.path("clock-stats.json"), run::stats(&events, 0)).unwrap();
    let message = only(&report(&fixture), "identity", 1);
    assert!(message.contains("found it twice"), "{message}");
}

#[test]
fn logs_notices_lines_in_the_wrong_domains_file() {
    let fixture = Fixture::good(30);
    let mut moved = String::new();
    fixture.edit_lines("text-domain-lts.log", |lines| moved = lines.remove(0));
    fixture.edit_lines("text-domain-sm.log", |lines| lines.push(moved.clone()));
    let message = only(&report(&fixture), "logs", 1);
    assert_eq!(message, "found unit consumer of domain lts, expected units of sm");
}

#[test]
fn logs_notices_another_runs_header_a_stray_log_and_a_missing_one() {
    let fixture = Fixture::good(30);
    fixture.edit_text("text-domain-sm.log", |text| *text = text.replace("run=made-up", "run=other"));
    let message = only(&report(&fixture), "logs", 1);
    assert_eq!(message, "found \"# run=other domain=sm\", expected \"# run=made-up domain=sm\"");

    let fixture = Fixture::good(30);
    fs::copy(fixture.path("text-domain-sm.log"), fixture.path("text-domain-gpu.log")).unwrap();
    let strayed = report(&fixture);
    only(&strayed, "logs", 1);
    let file = strayed.check("logs").unwrap().findings[0].file.clone();
    assert_eq!(file.as_deref(), Some("text-domain-gpu.log"));

    let fixture = Fixture::good(30);
    fixture.remove("text-domain-sm.log");
    let missing = report(&fixture);
    assert_eq!(failed(&missing), ["identity", "logs"], "{missing}");
    assert_eq!(
        missing.check("logs").unwrap().findings[0].message,
        "found no text-domain-sm.log, expected one"
    );
}

#[test]
fn logs_notices_cycles_that_go_back() {
    let fixture = Fixture::good(30);
    let go_back = |line: &mut String| {
        let (cycle, rest) = line.split_once('\t').unwrap();
        *line = format!("{}\t{rest}", cycle.parse::<u64>().unwrap() - 1);
    };
    fixture.edit_lines("text-domain-sm.log", |lines| {
        for line in &mut lines[10..] {
            go_back(line);
            go_back(line);
        }
    });
    let report = report(&fixture);
    // Twenty lines no longer say what the trace says; one of them goes back.
    assert_eq!(failed(&report), ["identity", "logs"], "{report}");
    assert_eq!((report.check("identity").unwrap().found, report.check("logs").unwrap().found), (20, 1));
    let finding = &report.check("logs").unwrap().findings[0];
    assert_eq!(finding.message, "producer: found local_cycle 8, expected at least 9 as in line 12");
    assert_eq!((finding.file.as_deref(), finding.line), (Some("text-domain-sm.log"), Some(13)));
}

#[test]
fn tracks_notices_an_event_on_another_units_track() {
    let fixture = Fixture::good(30);
    let flag = fixture.some(7);
    fixture.edit_event(2, flag.ordinal, |packet| packet.edit(11, |event| event.set(11, run::UNITS[0])));
    let message = only(&report(&fixture), "tracks", 1);
    assert!(message.ends_with("found it on track \"producer\", expected \"consumer\""), "{message}");
}

#[test]
fn time_notices_one_nanosecond() {
    let fixture = Fixture::good(30);
    let flag = fixture.some(7);
    fixture.edit_trace(|packets| {
        // The flag change is the last event of its nanosecond: one later is still before the next event.
        let at = position(packets, 2, flag.ordinal);
        let next = (at + 1..).find(|next| packets[*next].uint(8).unwrap() > 0).unwrap();
        assert_eq!(next, at + 1, "the event chosen must be the last of its nanosecond");
        for (packet, step) in [(at, 1_i64), (next, -1)] {
            let delta = packets[packet].uint(8).unwrap();
            packets[packet].set(8, delta.checked_add_signed(step).unwrap());
        }
    });
    let message = only(&report(&fixture), "time", 1);
    let (found, expected) = (flag.ns() + 1, flag.ns());
    assert!(
        message.ends_with(&format!("found ts {found} ns, expected {expected} ns (domain lts)")),
        "{message}"
    );
}

#[test]
fn flows_notices_a_turned_arrow() {
    let fixture = Fixture::good(30);
    fixture.turn_read_and_output();
    let report = report(&fixture);
    assert_eq!(failed(&report), ["flows"], "{report}");
    let findings = &report.check("flows").unwrap().findings;
    assert!(findings.iter().any(|finding| finding.message.ends_with("expected the reverse")), "{report}");
}

#[test]
fn flows_notices_a_missing_and_a_foreign_flow_id() {
    let fixture = Fixture::good(30);
    let visible = fixture.some(2);
    fixture.edit_event(2, visible.ordinal, |packet| packet.edit(11, |event| event.remove(47)));
    // Two arrows of the chain are gone, one leads past the event.
    let message = only(&report(&fixture), "flows", 3);
    assert!(
        message.starts_with(&format!("transaction {}: found no arrow", visible.transaction)),
        "{message}"
    );

    let fixture = Fixture::good(30);
    let flag = fixture.some(7);
    fixture.edit_event(2, flag.ordinal, |packet| {
        let id = wire::Value::Fixed64(flag_flow().to_le_bytes());
        packet.edit(11, |event| event.0.push((47, id)));
    });
    let report = report(&fixture);
    assert_eq!(failed(&report), ["flows"], "{report}");
}

/// The flow of the last transaction, which no flag change belongs to.
fn flag_flow() -> u64 {
    30
}

#[test]
fn a_prefix_of_the_run_holds_in_prefix_mode_only() {
    let fixture = Fixture::good(30);
    fixture.remove("clock-stats.json");
    fixture.edit_trace(|packets| packets.truncate(83));
    fixture.edit_text("text-domain-sm.log", |text| text.truncate(text.len() - 3));
    let strict = report(&fixture);
    assert_eq!(failed(&strict), ["conservation", "identity", "logs"], "{strict}");
    let prefix = run(fixture.dir(), true).unwrap();
    holds(&prefix);
    assert_eq!(prefix.events, 73);

    // The other way round: the log ends before the trace.
    let fixture = Fixture::good(30);
    fixture.edit_lines("text-domain-lts.log", |lines| lines.truncate(50));
    holds(&run(fixture.dir(), true).unwrap());
    assert_eq!(failed(&report(&fixture)), ["identity"]);

    // Nothing but the descriptors was written yet.
    fixture.edit_trace(|packets| packets.truncate(6));
    let empty = run(fixture.dir(), true).unwrap();
    holds(&empty);
    assert_eq!(empty.events, 0);
}

#[test]
fn a_run_that_was_not_closed_is_no_whole_run() {
    let fixture = Fixture::good(5);
    fixture.remove("clock-stats.json");
    let message = only(&report(&fixture), "conservation", 1);
    assert!(message.starts_with("found no clock-stats.json"), "{message}");
    holds(&run(fixture.dir(), true).unwrap());
    let trace = run(&fixture.path("timeline.pftrace"), false).unwrap();
    holds(&trace);
    assert_eq!(trace.check("conservation").unwrap().note.as_deref(), Some("no run directory"));
}

#[test]
fn a_prefix_may_differ_nowhere_and_have_no_holes_but_declared_ones() {
    let fixture = Fixture::good(30);
    let flag = fixture.some(7);
    let of_flag = format!("\t{}", flag.ordinal);
    fixture.remove_event(&flag);
    fixture.edit_lines("text-domain-lts.log", |lines| lines.retain(|line| !line.ends_with(&of_flag)));
    let message = only(&run(fixture.dir(), true).unwrap(), "identity", 1);
    assert!(
        message.ends_with(&format!("found ordinal {}, expected {}", flag.ordinal + 1, flag.ordinal)),
        "{message}"
    );

    fixture.edit_text("text-domain-lts.log", |text| {
        text.push_str(&format!("# gap unit=2 ordinal={} count=1 cycle=0 phase=1\n", flag.ordinal));
    });
    holds(&run(fixture.dir(), true).unwrap());

    let changed = Fixture::good(30);
    changed
        .edit_lines("text-domain-lts.log", |lines| lines[9] = lines[9].replacen("\t1\t0\t", "\t1\t1\t", 1));
    only(&run(changed.dir(), true).unwrap(), "identity", 1);
}

#[test]
fn unusable_input_is_told_from_findings_and_from_a_broken_environment() {
    let fixture = Fixture::good(2);
    let input = |path: &Path, words: &str| {
        let error = run(path, false).unwrap_err();
        assert!(matches!(error, ValidateError::Input(_)), "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(error.exit_code(), 2);
    };
    input(&fixture.path("nothing"), "No such file");
    input(&fixture.path("clock-stats.json"), "found JSON, expected Perfetto's packets");
    input(&fixture.path("text-domain-sm.log"), "not one complete packet is there");
    fs::write(fixture.path("trace.gz"), [0x1f, 0x8b, 0x08]).unwrap();
    input(&fixture.path("trace.gz"), "found what begins as a gzip file");
    fixture.edit_text("clock-manifest.json", |text| *text = text.replace("\"version\":1", "\"version\":3"));
    input(fixture.dir(), "found version 3, expected version 1");
    fixture.remove("clock-manifest.json");
    input(fixture.dir(), "no clock-manifest.json");
}

#[test]
fn an_empty_file_is_no_trace() {
    let fixture = Fixture::good(2);
    fixture.set_trace(b"");
    let error = run(fixture.dir(), false).unwrap_err();
    assert_eq!(error.exit_code(), 2);
}

#[test]
fn reports_list_a_bounded_number_of_findings_and_count_them_all() {
    let fixture = Fixture::good(30);
    fixture.edit_text("clock-manifest.json", |text| {
        *text = text.replace("\"phase_num\":0", "\"phase_num\":1");
    });
    let options = Options { max_findings: 3, ..Options::default() };
    let report = validate(&Target::of(fixture.dir()), &options, engine::shared()).unwrap();
    let time = report.check("time").unwrap();
    assert_eq!((time.found, time.findings.len()), (30, 3));
    let json: serde_json::Value = serde_json::from_str(&serde_json::to_string(&report).unwrap()).unwrap();
    assert_eq!(json["passed"], false);
    assert_eq!(json["checks"][9]["name"], "time");
    assert_eq!(json["checks"][9]["findings"][0]["slice"], 3);
    assert!(report.to_string().contains("and 27 more"));
}

/// The rules that a changed good run breaks, and how often.
fn lint_of(change: impl FnOnce(&mut Vec<wire::Message>)) -> Vec<(&'static str, u64)> {
    let fixture = Fixture::good(30);
    fixture.edit_trace(change);
    let report = report(&fixture);
    let lint = report.check("lint").unwrap();
    let mut rules = std::collections::BTreeMap::new();
    lint.findings.iter().for_each(|finding| *rules.entry(finding.rule.unwrap()).or_insert(0) += 1);
    assert_eq!(lint.found, lint.findings.len() as u64, "{report}");
    rules.into_iter().collect()
}

#[test]
fn lint_notices_an_event_before_its_sequences_state() {
    let rules = lint_of(|packets| {
        let mut stray = packets.iter().rfind(|packet| packet.has(11)).unwrap().clone();
        stray.set(10, 77);
        packets.push(stray);
    });
    // Its clock was declared on the other sequence alone, too; without state there is no default clock.
    assert_eq!(rules, [("event-before-state", 1)]);
}
