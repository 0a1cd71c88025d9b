//! Merging against an independent sort by big rationals, and every kind of bad line.

use clockweave_model::{Manifest, ManifestDomain, ManifestStream};
use num_bigint::BigUint;
use num_rational::Ratio;
use proptest::prelude::*;

use super::*;
use crate::logs::{Fault, LogSource, MemoryLog};

/// A domain: id, period and phase in seconds.
type Clock = (u32, (u64, u64), (u64, u64));

#[derive(Clone, Debug)]
struct Event {
    domain: usize,
    unit: usize,
    cycle: u64,
    phase: u8,
    name: &'static str,
    rest: (u64, u64, u64),
    ordinal: u64,
}

fn manifest(clocks: &[Clock], units: &[(u64, String, usize)]) -> Manifest {
    let mut manifest = Manifest::new("run one");
    manifest.domains = clocks
        .iter()
        .map(|(id, period, phase)| ManifestDomain {
            id: *id,
            name: format!("clk{id}"),
            period_num: period.0.into(),
            period_den: period.1.into(),
            phase_num: phase.0.into(),
            phase_den: phase.1.into(),
        })
        .collect();
    manifest.streams = units
        .iter()
        .map(|(unit_id, unit, domain)| ManifestStream {
            unit_id: *unit_id,
            unit: unit.clone(),
            domain_id: clocks[*domain].0,
            sequence: 2,
            track: 0,
            producer_order: 0,
        })
        .collect();
    manifest.events = [(1, "fifo.write".to_owned()), (256, "user".to_owned())].into();
    manifest
}

fn header(domain: &str) -> String {
    format!(
        "# run=run one domain={domain}\n\
         # local_cycle\tunit_id\tevent\tphase\ttransaction_id\tfifo_id\tvalue\tordinal\n"
    )
}

fn log_line(event: &Event, units: &[(u64, String, usize)]) -> String {
    let (transaction, fifo, value) = event.rest;
    format!(
        "{}\t{}\t{}\t{}\t{transaction}\t{fifo}\t{value}\t{}\n",
        event.cycle, units[event.unit].0, event.name, event.phase, event.ordinal
    )
}

/// The merged log by the definition, with big rationals.
fn expected(clocks: &[Clock], units: &[(u64, String, usize)], events: &[Event]) -> String {
    let ratio = |(num, den): (u64, u64)| Ratio::new(BigUint::from(num), BigUint::from(den));
    let time = |event: &Event| {
        let (_, period, phase) = clocks[event.domain];
        ratio(phase) + ratio(period) * BigUint::from(event.cycle)
    };
    let mut rows: Vec<(Ratio<BigUint>, &Event)> = events.iter().map(|event| (time(event), event)).collect();
    rows.sort_by(|(s, a), (t, b)| {
        let key = |e: &Event| (e.phase, clocks[e.domain].0, units[e.unit].1.clone(), e.ordinal);
        s.cmp(t).then_with(|| key(a).cmp(&key(b)))
    });
    let mut text = "time_num\ttime_den\tts\tdomain_id\tunit\tlocal_cycle\tevent\tphase\ttransaction_id\t\
                    fifo_id\tvalue\tordinal\n"
        .to_owned();
    for (time, event) in rows {
        let ns = (&time * BigUint::from(1_000_000_000u32)).floor().to_integer();
        let (transaction, fifo, value) = event.rest;
        text += &format!(
            "{}\t{}\t{ns}\t{}\t{}\t{}\t{}\t{}\t{transaction}\t{fifo}\t{value}\t{}\n",
            time.numer(),
            time.denom(),
            clocks[event.domain].0,
            units[event.unit].1,
            event.cycle,
            event.name,
            event.phase,
            event.ordinal
        );
    }
    text
}

fn run_of(clocks: &[Clock], units: &[(u64, String, usize)], logs: Vec<String>) -> Run {
    let sources = clocks.iter().zip(logs).map(|((id, ..), text)| {
        let source: Box<dyn LogSource> = Box::new(MemoryLog::new(&format!("text-domain-clk{id}.log"), text));
        (*id, source)
    });
    Run::new(manifest(clocks, units), sources.collect()).unwrap()
}

fn merged(run: &Run, memory: u64, on_error: OnError) -> Result<(String, MergeReport), MergeError> {
    let mut out = Vec::new();
    let options = MergeOptions { memory, on_error, ..MergeOptions::default() };
    let report = merge(std::slice::from_ref(run), &options, TextFormat::Tsv, &mut out, &mut ());
    if report.is_err() {
        assert!(out.is_empty(), "a refused run writes nothing");
    }
    report.map(|report| (String::from_utf8(out).unwrap(), report))
}

/// Events of each unit in its own order, units interleaved by `turns`.
fn interleave(mut queues: Vec<Vec<Event>>, turns: &[usize]) -> Vec<Event> {
    queues.iter_mut().for_each(|queue| queue.reverse());
    let mut out = Vec::new();
    let mut turn = turns.iter().cycle();
    while queues.iter().any(|queue| !queue.is_empty()) {
        let at = turn.next().copied().unwrap_or(0) % queues.len();
        let at = (at..queues.len()).chain(0..at).find(|at| !queues[*at].is_empty()).unwrap();
        out.extend(queues[at].pop());
    }
    out
}

#[derive(Clone, Debug)]
struct Recorded {
    clocks: Vec<Clock>,
    units: Vec<(u64, String, usize)>,
    /// Of each domain, in file order.
    events: Vec<Vec<Event>>,
}

fn any_clock() -> impl Strategy<Value = ((u64, u64), (u64, u64))> {
    let span = prop_oneof![
        Just((1, 4_000_000_000)),
        Just((1, 1_000_000_000)),
        Just((1, 914_000_000)),
        (1u64..5000, 1u64..5_000_000_000),
        // Denominators whose common multiple fits neither 64 bits nor a lattice.
        (1u64..5000, any::<u64>().prop_map(|x| x | 1 << 63)),
    ];
    let phase = prop_oneof![Just((0, 1)), Just((137, 1_000_000_000_000)), (0u64..1000, 1_000_000_000u64..)];
    (span, phase)
}

fn any_run() -> impl Strategy<Value = Recorded> {
    let clocks = proptest::collection::vec(any_clock(), 1..4);
    let shapes = proptest::collection::vec((any::<proptest::sample::Index>(), 0usize..60), 1..7);
    (clocks, shapes, any::<u64>(), proptest::collection::vec(0usize..8, 1..40), any::<bool>()).prop_map(
        |(clocks, shapes, seed, turns, sort)| {
            // Ids fall while indices rise, and names rank otherwise than ids.
            let clocks: Vec<Clock> =
                clocks.into_iter().enumerate().map(|(i, (p, q))| (90 - 7 * i as u32, p, q)).collect();
            let units: Vec<(u64, String, usize)> = shapes
                .iter()
                .enumerate()
                .map(|(i, (at, _))| (i as u64 + 1, format!("u{}", (i * 5) % 7), at.index(clocks.len())))
                .collect();
            let mut state = seed;
            let mut random = move |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % below
            };
            let mut queues: Vec<Vec<Event>> = Vec::new();
            for (unit, (_, count)) in shapes.iter().enumerate() {
                let (mut cycle, mut ordinal) = (random(3), random(2));
                let queue = (0..*count).map(|_| {
                    let event = Event {
                        domain: units[unit].2,
                        unit,
                        cycle,
                        phase: random(2) as u8,
                        name: if random(2) == 0 { "user" } else { "fifo.write" },
                        rest: (random(u64::from(u32::MAX)) * random(5_000_000_000), random(9), random(2)),
                        ordinal,
                    };
                    cycle += random(3);
                    ordinal += 1 + random(2);
                    event
                });
                queues.push(queue.collect());
            }
            let events = (0..clocks.len()).map(|domain| {
                let own = queues.iter().filter(|queue| queue.first().is_some_and(|e| e.domain == domain));
                let mut events = interleave(own.cloned().collect(), &turns);
                if sort {
                    events.sort_by_key(|e| (e.cycle, e.phase, units[e.unit].1.clone(), e.ordinal));
                }
                events
            });
            // A unit whose phases fall within a cycle cannot be sorted without breaking its own order.
            let events = events.map(|events| keep_ordinals_rising(events, units.len())).collect();
            Recorded { clocks, units, events }
        },
    )
}

fn keep_ordinals_rising(events: Vec<Event>, units: usize) -> Vec<Event> {
    let mut last = vec![None; units];
    let rises = |event: &Event, last: &mut Vec<Option<u64>>| {
        let rises = last[event.unit].is_none_or(|last| event.ordinal > last);
        if rises {
            last[event.unit] = Some(event.ordinal);
        }
        rises
    };
    events.into_iter().filter(|event| rises(event, &mut last)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn the_merge_is_an_independent_sort_by_big_rationals(
        recorded in any_run(), memory in prop_oneof![8 => Just(256u64 << 20), 3 => Just(4096), 1 => Just(1)],
    ) {
        let Recorded { clocks, units, events } = &recorded;
        let logs = clocks.iter().zip(events).map(|((id, ..), events)| {
            let lines: String = events.iter().map(|event| log_line(event, units)).collect();
            header(&format!("clk{id}")) + &lines
        });
        let run = run_of(clocks, units, logs.collect());
        let (text, report) = merged(&run, memory, OnError::Halt).unwrap();
        let all = events.concat();
        prop_assert_eq!(report.events, all.len() as u64);
        prop_assert_eq!(text, expected(clocks, units, &all));
    }
}

fn plain_units(domain_of: &[usize]) -> Vec<(u64, String, usize)> {
    domain_of.iter().enumerate().map(|(i, domain)| (i as u64 + 1, format!("u{i}"), *domain)).collect()
}

#[test]
fn two_clocks_sharing_nanoseconds_keep_their_exact_order() {
    // 4 GHz, the second a sixteenth of a nanosecond later: eight edges in every nanosecond.
    let clocks = [(1, (1, 4_000_000_000), (0, 1)), (2, (1, 4_000_000_000), (1, 16_000_000_000))];
    let units = plain_units(&[0, 1]);
    let logs = (0..2).map(|d| {
        let lines: String = (0..6).map(|n| format!("{n}\t{}\tuser\t0\t0\t0\t0\t{n}\n", d + 1)).collect();
        header(&format!("clk{}", d + 1)) + &lines
    });
    let run = run_of(&clocks, &units, logs.collect());
    let (text, _) = merged(&run, 256 << 20, OnError::Halt).unwrap();
    let times: Vec<Vec<&str>> =
        text.lines().skip(1).map(|line| line.split('\t').take(4).collect::<Vec<_>>()).collect();
    let expected = [
        ["0", "1", "0", "1"],
        ["1", "16000000000", "0", "2"],
        ["1", "4000000000", "0", "1"],
        ["1", "3200000000", "0", "2"],
        ["1", "2000000000", "0", "1"],
        ["9", "16000000000", "0", "2"],
        ["3", "4000000000", "0", "1"],
        ["13", "16000000000", "0", "2"],
        ["1", "1000000000", "1", "1"],
        ["17", "16000000000", "1", "2"],
        ["1", "800000000", "1", "1"],
        ["21", "16000000000", "1", "2"],
    ];
    assert_eq!(times, expected);
}

#[test]
fn coincident_edges_go_by_phase_then_domain_id_then_unit_name_then_ordinal() {
    let clocks = [(7, (1, 1_000_000_000), (0, 1)), (3, (1, 2_000_000_000), (0, 1))];
    let units = vec![(1, "b".to_owned(), 0), (2, "a".to_owned(), 0), (3, "z".to_owned(), 1)];
    let seven = "5\t1\tuser\t0\t0\t0\t0\t0\n5\t1\tuser\t1\t0\t0\t0\t10\n5\t2\tuser\t0\t0\t0\t0\t9\n5\t2\tuser\t0\t0\t0\t0\t10\n";
    let three = "10\t3\tuser\t1\t0\t0\t0\t4\n";
    let run = run_of(&clocks, &units, vec![header("clk7") + seven, header("clk3") + three]);
    let (text, report) = merged(&run, 256 << 20, OnError::Halt).unwrap();
    let rows: Vec<String> = text
        .lines()
        .skip(1)
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            format!("{} {} {} {}", columns[7], columns[3], columns[4], columns[11])
        })
        .collect();
    assert_eq!(rows, ["0 7 a 9", "0 7 a 10", "0 7 b 0", "1 3 z 4", "1 7 b 10"]);
    assert_eq!(report.logs.iter().map(|log| log.ordered).collect::<Vec<_>>(), [true, false]);
}

/// Merges one log of unit 1 (`u0`, domain clk1), unit 2 (`u1`, domain clk2).
fn one_log(lines: &str, on_error: OnError) -> Result<(String, MergeReport), MergeError> {
    let clocks = [(1, (1, 1_000_000_000), (0, 1)), (2, (1, 1_000_000_000), (0, 1))];
    let run = run_of(&clocks, &plain_units(&[0, 1]), vec![header("clk1") + lines, header("clk2")]);
    merged(&run, 256 << 20, on_error)
}

const GOOD: &str = "3\t1\tuser\t0\t0\t0\t0\t7\n";

#[test]
fn every_kind_of_bad_line_is_refused_with_its_place() {
    type Test = fn(&Fault) -> bool;
    let cases: [(&str, Test, &str); 18] = [
        ("4\t1\tuser\t0\t0\t0\t0\t8\r\n", |f| matches!(f, Fault::CarriageReturn), "CR LF"),
        ("\n", |f| matches!(f, Fault::Empty), "empty line"),
        ("4\t1\tuser\t0\t0\t0\t8\n", |f| matches!(f, Fault::Columns { found: 7 }), "expected 8"),
        ("4 1 user 0 0 0 0 8\n", |f| matches!(f, Fault::Columns { found: 1 }), "tabs"),
        (
            "-4\t1\tuser\t0\t0\t0\t0\t8\n",
            |f| matches!(f, Fault::Number { column: "local_cycle", .. }),
            "`-4`",
        ),
        ("4\t1\tus\0er\t0\t0\t0\t0\t8\n", |f| matches!(f, Fault::UnknownEvent { .. }), "`us\\0er`"),
        ("4\t1\tuser\t0\t0\t0\t\0\t8\n", |f| matches!(f, Fault::Number { column: "value", .. }), "`\\0`"),
        ("4\t1\tuser\t2\t0\t0\t0\t8\n", |f| matches!(f, Fault::Range { column: "phase", .. }), "at most 1"),
        (
            "4\t1\tuser\t0\t18446744073709551616\t0\t0\t8\n",
            |f| matches!(f, Fault::Range { column: "transaction_id", .. }),
            "18446744073709551615",
        ),
        (
            "4\t9\tuser\t0\t0\t0\t0\t8\n",
            |f| matches!(f, Fault::UnknownUnit { id: 9, .. }),
            "2 unit ids from 1 to 2",
        ),
        (
            "4\t2\tuser\t0\t0\t0\t0\t8\n",
            |f| matches!(f, Fault::ForeignUnit { id: 2, .. }),
            "text-domain-clk2.log",
        ),
        ("4\t1\tusr\t0\t0\t0\t0\t8\n", |f| matches!(f, Fault::UnknownEvent { .. }), "did you mean `user`?"),
        ("2\t1\tuser\t0\t0\t0\t0\t8\n", |f| matches!(f, Fault::CycleFalls { found: 2, last: 3, .. }), "`u0`"),
        (
            "4\t1\tuser\t0\t0\t0\t0\t7\n",
            |f| matches!(f, Fault::OrdinalStalls { found: 7, last: 7, .. }),
            "`u0`",
        ),
        (
            "9223372036854775808\t1\tuser\t0\t0\t0\t0\t8\n",
            |f| matches!(f, Fault::BeyondHorizon { limit: 9_223_372_036_854_775_807, .. }),
            "9223372036854775807",
        ),
        (
            "# gap unit=9 ordinal=8 count=1 cycle=3 phase=0\n",
            |f| matches!(f, Fault::Gap { .. }),
            "# gap unit=",
        ),
        (
            "# gap unit=1 ordinal=8 count=0 cycle=3 phase=0\n",
            |f| matches!(f, Fault::Gap { .. }),
            "# gap unit=",
        ),
        (
            "# gap unit=2 ordinal=8 count=1 cycle=3 phase=0\n",
            |f| matches!(f, Fault::ForeignUnit { .. }),
            "clk2",
        ),
    ];
    for (bad, is_expected, words) in cases {
        let error = one_log(&format!("{GOOD}{bad}"), OnError::Halt).unwrap_err();
        let MergeError::Line(found) = &error else { panic!("{bad:?}: {error}") };
        assert!(is_expected(&found.fault), "{bad:?}: {found:?}");
        assert_eq!((found.file.as_str(), found.line), ("text-domain-clk1.log", 4), "{bad:?}");
        assert!(error.to_string().contains(words), "{bad:?}: {error}");
        let after = format!("{GOOD}{bad}5\t1\tuser\t0\t0\t0\t0\t9\n");
        let (text, report) = one_log(&after, OnError::Skip).unwrap();
        assert_eq!((text.lines().count(), report.logs[0].skipped_lines), (3, 1), "{bad:?}");
        assert!(
            matches!(one_log(&after, OnError::Collect), Err(MergeError::Refused { count: 1 })),
            "{bad:?}"
        );
    }
    let long = format!("{GOOD}{}\n", "x".repeat(70_000));
    let error = one_log(&long, OnError::Halt).unwrap_err();
    assert!(matches!(&error, MergeError::Line(found) if matches!(found.fault, Fault::TooLong { .. })));
}

#[test]
fn bytes_that_are_no_text_are_refused_also_in_comments() {
    for (bad, at) in [(&b"4\t1\tus\xff\xff\t0\t0\t0\t0\t8\n"[..], 6), (b"# \xff\n", 2), (b"\xff\n", 0)] {
        let mut bytes = (header("clk1") + GOOD).into_bytes();
        bytes.extend(bad);
        let source: Box<dyn LogSource> = Box::new(MemoryLog::new("l", bytes));
        let clocks = [(1, (1, 1_000_000_000), (0, 1))];
        let run = Run::new(manifest(&clocks, &plain_units(&[0])), vec![(1, source)]).unwrap();
        let error = merged(&run, 1 << 20, OnError::Halt).unwrap_err();
        let MergeError::Line(found) = error else { panic!("{error}") };
        assert_eq!((found.line, found.fault), (4, Fault::NotUtf8 { at }));
    }
}

#[test]
fn the_two_header_lines_are_checked() {
    let clocks = [(1, (1, 1_000_000_000), (0, 1))];
    let fault = |text: String| {
        let run = run_of(&clocks, &plain_units(&[0]), vec![text]);
        // Leaving out a header line would not help, so skipping does not either.
        let error = merged(&run, 1 << 20, OnError::Skip).unwrap_err();
        let MergeError::Line(found) = error else { panic!("{error}") };
        (found.line, found.fault)
    };
    let good = header("clk1");
    assert!(matches!(fault(good.replace("run=run one", "run=other")), (1, Fault::OtherRun { .. })));
    assert!(matches!(fault(good.replace("clk1", "clk2")), (1, Fault::OtherDomain { .. })));
    assert!(matches!(fault(GOOD.to_owned()), (1, Fault::NoHeader { .. })));
    assert!(matches!(fault(good.replace("value\t", "")), (2, Fault::ColumnNames { .. })));
    assert!(matches!(fault(good.replace("# local", "local")), (2, Fault::ColumnNames { .. })));
    let spaced = good.replace("# local", "#local").replace('\t', " ") + "# any comment\n" + GOOD;
    let run = run_of(&clocks, &plain_units(&[0]), vec![spaced]);
    assert_eq!(merged(&run, 1 << 20, OnError::Halt).unwrap().1.events, 1);
}

#[test]
fn skipping_leaves_out_bad_lines_and_judges_order_by_the_last_good_one() {
    let lines = format!(
        "{GOOD}nonsense\n9\t1\tnope\t0\t0\t0\t0\t99\n3\t1\tuser\t1\t0\t0\t0\t8\n2\t1\tuser\t0\t0\t0\t0\t9\n"
    );
    let (text, report) = one_log(&lines, OnError::Skip).unwrap();
    assert_eq!(report.logs[0].skipped_lines, 3);
    assert_eq!((report.events, report.is_complete()), (2, false));
    let ordinals: Vec<&str> = text.lines().skip(1).map(|line| line.rsplit('\t').next().unwrap()).collect();
    assert_eq!(ordinals, ["7", "8"]);
}

#[test]
fn collecting_reports_every_bad_line_and_writes_nothing() {
    #[derive(Default)]
    struct Listed(Vec<u64>);
    impl Progress for Listed {
        fn stage(&mut self, _what: &str, _total: u64) {}
        fn advance(&mut self, _steps: u64) {}
        fn refused(&mut self, error: &LineError) {
            self.0.push(error.line);
        }
    }
    let clocks = [(1, (1, 1_000_000_000), (0, 1))];
    let run = run_of(&clocks, &plain_units(&[0]), vec![header("clk1") + "x\n" + GOOD + "\n" + GOOD]);
    let (mut listed, mut out) = (Listed::default(), Vec::new());
    let options = MergeOptions { on_error: OnError::Collect, ..MergeOptions::default() };
    let error =
        merge(std::slice::from_ref(&run), &options, TextFormat::Tsv, &mut out, &mut listed).unwrap_err();
    assert!(matches!(error, MergeError::Refused { count: 3 }));
    assert_eq!((listed.0, out.len()), (vec![3, 5, 6], 0));
}

#[test]
fn a_torn_last_line_costs_only_itself() {
    // It would parse; only its line feed is missing.
    let (text, report) = one_log(&format!("{GOOD}4\t1\tuser\t0\t0\t0\t0\t8"), OnError::Halt).unwrap();
    assert_eq!(text.lines().count(), 2);
    let torn = report.logs[0].torn.unwrap();
    let begin = (header("clk1") + GOOD).len() as u64;
    assert_eq!((torn.line, torn.offset, torn.bytes), (4, begin, 18));
    assert!(!report.is_complete());
    // A run killed before its first flush.
    let clocks = [(1, (1, 1_000_000_000), (0, 1))];
    for text in ["", "# run=run one dom"] {
        let run = run_of(&clocks, &plain_units(&[0]), vec![text.to_owned()]);
        let (_, report) = merged(&run, 1 << 20, OnError::Halt).unwrap();
        assert_eq!(report.logs[0].torn, Some(TornLine { line: 1, offset: 0, bytes: text.len() as u64 }));
    }
}

#[test]
fn gaps_keep_their_place_as_comments() {
    let gap = "# gap unit=u0 ordinal=8 count=5 cycle=3 phase=1\n";
    for lines in [
        format!("{GOOD}{gap}4\t1\tuser\t0\t0\t0\t0\t13\n"),
        // Published late: the log then has to be sorted.
        format!("{GOOD}4\t1\tuser\t0\t0\t0\t0\t13\n{gap}"),
    ] {
        let (text, report) = one_log(&lines, OnError::Halt).unwrap();
        let rows: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(rows[1], gap.trim_end());
        assert_eq!(rows.len(), 3);
        let log = &report.logs[0];
        assert_eq!((log.events, log.gaps, log.lost_events, log.torn), (2, 1, 5, None));
    }
}

#[test]
fn sorting_outside_memory_in_many_files_leaves_nothing_behind() {
    let place = tempfile::tempdir().unwrap();
    let clocks = [(1, (1, 1_000_000_000), (0, 1))];
    let units = plain_units(&[0, 0]);
    let of = |unit: u64| (0..400u64).map(move |n| format!("{n}\t{unit}\tuser\t0\t0\t0\t0\t{n}\n"));
    // Unit after unit, and one line per chunk: 800 files, more than are merged at once.
    let log: String = of(1).chain(of(2)).collect();
    let run = run_of(&clocks, &units, vec![header("clk1") + &log]);
    let options = MergeOptions { memory: 1, scratch: place.path().to_owned(), ..MergeOptions::default() };
    let mut out = Vec::new();
    let report = merge(std::slice::from_ref(&run), &options, TextFormat::Tsv, &mut out, &mut ()).unwrap();
    assert!(report.spilled_bytes > log.len() as u64);
    let rows: Vec<String> = String::from_utf8(out)
        .unwrap()
        .lines()
        .skip(1)
        .map(|line| line.split('\t').skip(4).take(2).collect::<Vec<_>>().join(" "))
        .collect();
    let expected: Vec<String> = (0..400).flat_map(|n| [format!("u0 {n}"), format!("u1 {n}")]).collect();
    assert_eq!(rows, expected);
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);

    let missing = MergeOptions { scratch: place.path().join("missing"), ..options };
    let error =
        merge(std::slice::from_ref(&run), &missing, TextFormat::Tsv, &mut Vec::new(), &mut ()).unwrap_err();
    assert!(matches!(error, MergeError::Scratch { .. }));
}

#[test]
fn a_log_that_changes_between_the_passes_is_an_error() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    struct Fickle(AtomicUsize);
    impl LogSource for Fickle {
        fn name(&self) -> String {
            "fickle".to_owned()
        }
        fn length(&self) -> u64 {
            100
        }
        fn open(&self) -> io::Result<Box<dyn io::Read + Send + '_>> {
            let lines = GOOD.repeat(usize::from(self.0.fetch_add(1, Ordering::Relaxed) == 0));
            Ok(Box::new(io::Cursor::new(header("clk1") + &lines)))
        }
    }
    let clocks = [(1, (1, 1_000_000_000), (0, 1))];
    let source: Box<dyn LogSource> = Box::new(Fickle(AtomicUsize::new(0)));
    let run = Run::new(manifest(&clocks, &plain_units(&[0])), vec![(1, source)]).unwrap();
    let error = merge(
        std::slice::from_ref(&run),
        &MergeOptions::default(),
        TextFormat::Tsv,
        &mut Vec::new(),
        &mut (),
    )
    .unwrap_err();
    assert!(matches!(error, MergeError::Changed { file } if file == "fickle"));
}

#[test]
fn logs_of_no_domain_and_second_logs_are_refused() {
    let clocks = [(1, (1, 1_000_000_000), (0, 1))];
    let source = || -> Box<dyn LogSource> { Box::new(MemoryLog::new("l", "")) };
    for ids in [vec![2], vec![1, 1]] {
        let logs = ids.into_iter().map(|id| (id, source())).collect();
        let refused = Run::new(manifest(&clocks, &plain_units(&[0])), logs);
        assert!(matches!(refused.err().unwrap(), crate::run::RunError::StrayLog { .. }));
    }
}

#[test]
fn leading_zeros_are_read_and_not_written() {
    let (text, _) = one_log("003\t01\tuser\t0\t000\t0\t00500\t07\n", OnError::Halt).unwrap();
    assert_eq!(text.lines().nth(1).unwrap(), "3\t1000000000\t3\t1\tu0\t3\tuser\t0\t0\t0\t500\t7");
}
