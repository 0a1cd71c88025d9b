//! Merging against an independent sort by big rationals, and every kind of bad line.

use clockweave_model::{Manifest, ManifestDomain, ManifestStream};

use super::*;
use crate::logs::{Fault, LogSource, MemoryLog};

mod lines;
mod property;

/// A line of unit 1 at cycle 3.
const GOOD: &str = "3\t1\tuser\t0\t0\t0\t0\t7\n";

/// A domain: id, period and phase in seconds.
type Clock = (u32, (u64, u64), (u64, u64));
/// A unit: id, name, index of its domain.
type Unit = (u64, String, usize);

/// The run's name where there is one run.
const RUN: &str = "run one";

fn manifest(run: &str, clocks: &[Clock], units: &[Unit]) -> Manifest {
    let mut manifest = Manifest::new(run);
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
    header_of(RUN, domain)
}

fn header_of(run: &str, domain: &str) -> String {
    format!(
        "# run={run} domain={domain}\n\
         # local_cycle\tunit_id\tevent\tphase\ttransaction_id\tfifo_id\tvalue\tordinal\n"
    )
}

fn run_of(clocks: &[Clock], units: &[Unit], logs: Vec<String>) -> Run {
    named_run(RUN, clocks, units, logs)
}

fn named_run(run: &str, clocks: &[Clock], units: &[Unit], logs: Vec<String>) -> Run {
    let sources = clocks.iter().zip(logs).map(|((id, ..), text)| {
        let source: Box<dyn LogSource> = Box::new(MemoryLog::new(&format!("text-domain-clk{id}.log"), text));
        (*id, source)
    });
    Run::new(manifest(run, clocks, units), sources.collect()).unwrap()
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

fn plain_units(domain_of: &[usize]) -> Vec<Unit> {
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
    let run = Run::new(manifest(RUN, &clocks, &plain_units(&[0])), vec![(1, source)]).unwrap();
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
        let refused = Run::new(manifest(RUN, &clocks, &plain_units(&[0])), logs);
        assert!(matches!(refused.err().unwrap(), crate::run::RunError::StrayLog { .. }));
    }
}
