//! Every kind of line, good and bad.

use super::*;

/// Merges one log of unit 1 (`u0`, domain clk1), unit 2 (`u1`, domain clk2).
fn one_log(lines: &str, on_error: OnError) -> Result<(String, MergeReport), MergeError> {
    let clocks = [(1, (1, 1_000_000_000), (0, 1)), (2, (1, 1_000_000_000), (0, 1))];
    let run = run_of(&clocks, &plain_units(&[0, 1]), vec![header("clk1") + lines, header("clk2")]);
    merged(&run, 256 << 20, on_error)
}

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
        let run = Run::new(manifest(RUN, &clocks, &plain_units(&[0])), vec![(1, source)]).unwrap();
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
fn leading_zeros_are_read_and_not_written() {
    let (text, _) = one_log("003\t01\tuser\t0\t000\t0\t00500\t07\n", OnError::Halt).unwrap();
    assert_eq!(text.lines().nth(1).unwrap(), "3\t1000000000\t3\t1\tu0\t3\tuser\t0\t0\t0\t500\t7");
}
