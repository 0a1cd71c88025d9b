//! The view `full` in the real Trace Processor, against what the text logs say.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::Path;

use clockweave_model::{ClockDomain, FifoEntry, KindId, KindShape, KindTable, Phase, Seconds};
use clockweave_recorder::{
    ArgsEncoding, Compression, Recorder, RunTotals, TRACE_FILE, View, segment_name, text_log_name,
};
use clockweave_validators::{Options, Target, validate};

use crate::{assert_valid_but_for_fifo_laws, engine, rows};

/// 1 GHz into 1.5 GHz, phases 0: every third read edge is a write edge too.
const FIFOS: [(u32, &str); 2] = [(3, "east"), (8, "west")];
const DEPTH: usize = 4;

/// Two FIFOs from `producer` to `consumer`; the producer also has a counter and nested spans.
fn record(dir: &Path, compression: Compression, args: ArgsEncoding, instants: usize, rotate: Option<u64>) {
    let domain = |id: u32, name: &str, frequency: &str| {
        ClockDomain::new(id, name, frequency.parse().unwrap(), Seconds::ZERO).unwrap()
    };
    let domains = [domain(1, "a", "1GHz"), domain(2, "b", "1500MHz")];
    let mut kinds = KindTable::new(["load", "outer", "inner"]).unwrap();
    let [load, outer, inner] = ["load", "outer", "inner"].map(|name| kinds.id(name).unwrap());
    kinds.set_shape(load, KindShape::Counter);
    kinds.set_shape(outer, KindShape::Span);
    kinds.set_shape(inner, KindShape::Span);
    let mut builder = Recorder::builder(dir);
    builder.rotate_events(rotate);
    builder.view(View::Full).compression(compression).args(args).checkpoint_interval(Some(500)).kinds(kinds);
    for domain in &domains {
        builder.domain(domain).unwrap();
    }
    let producer = builder.add_stream(1, 1, "producer").unwrap();
    let consumer = builder.add_stream(2, 2, "consumer").unwrap();
    for (id, name) in FIFOS {
        let (writer, reader) = ("producer".to_owned(), "consumer".to_owned());
        let (name, depth) = (name.to_owned(), DEPTH as u64);
        builder.fifo(FifoEntry { id, name, depth, stages: 2, writer, reader });
    }
    let commit = [producer, consumer].map(|unit| builder.add_producer_stream(unit, 9).unwrap());
    let mut recorder = builder.start_serial().unwrap();

    let mut queues: [VecDeque<(u64, u64)>; 2] = Default::default();
    let mut outputs: [Option<u64>; 2] = [None; 2];
    let (mut cycles, mut next) = ([0u64; 2], 1u64);
    for _ in 0..instants {
        let times = [0, 1].map(|at: usize| domains[at].edge(cycles[at]).unwrap());
        let now = times[0].min(times[1]);
        if times[0] == now {
            let cycle = cycles[0];
            recorder.record(producer, cycle, load, 0, cycle * 7 % 5, 0, Phase::Evaluate);
            match cycle % 8 {
                0 => recorder.record(producer, cycle, outer, 0, 1, 0, Phase::Evaluate),
                1 => recorder.record(producer, cycle, inner, 0, 1, 0, Phase::Evaluate),
                // Ends and begins anew; then a span that begins and ends at once.
                3 => [(inner, 0), (inner, 1), (outer, 1), (outer, 0)].iter().for_each(|(kind, value)| {
                    recorder.record(producer, cycle, *kind, 0, *value, 0, Phase::Evaluate);
                }),
                5 => recorder.record(producer, cycle, inner, 0, 0, 0, Phase::Evaluate),
                6 => recorder.record(producer, cycle, outer, 0, 0, 0, Phase::Evaluate),
                _ => {}
            }
        }
        for (at, (fifo, _)) in FIFOS.into_iter().enumerate() {
            if times[1] == now {
                let cycle = cycles[1];
                if let Some(id) = outputs[at].take() {
                    recorder.record(consumer, cycle, KindId::FIFO_CONSUME, id, 0, fifo, Phase::Evaluate);
                }
                if let Some((id, _)) = queues[at].pop_front_if(|(_, from)| *from <= cycle) {
                    for kind in [KindId::FIFO_VISIBLE, KindId::FIFO_READ, KindId::FIFO_OUTPUT] {
                        recorder.record(commit[1], cycle, kind, id, 0, fifo, Phase::Commit);
                    }
                    outputs[at] = Some(id);
                }
            }
            let cycle = cycles[0];
            if times[0] == now && queues[at].len() < DEPTH && !(cycle + at as u64).is_multiple_of(5) {
                recorder.record(commit[0], cycle, KindId::FIFO_WRITE, next, 0, fifo, Phase::Commit);
                queues[at].push_back((next, cycles[1] + 3));
                next += 1;
            }
        }
        recorder.end_instant(now.floor_ns()).unwrap();
        (0..2).for_each(|side| cycles[side] += u64::from(times[side] == now));
    }
    recorder.close(RunTotals { batches: instants as u128, ..RunTotals::default() }).unwrap();
}

/// A line of a text log with its time in units of 1/3 ns, which hold both clocks' edges.
struct Line {
    thirds: u64,
    unit: u64,
    kind: String,
    transaction: u64,
    fifo: u32,
    value: u64,
}

fn lines(dir: &Path) -> Vec<Line> {
    let mut lines = Vec::new();
    for (domain, thirds) in [("a", 3), ("b", 2)] {
        let text = fs::read_to_string(dir.join(text_log_name(domain))).unwrap();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let columns: Vec<&str> = line.split('\t').collect();
            let number = |at: usize| columns[at].parse::<u64>().unwrap();
            lines.push(Line {
                thirds: number(0) * thirds,
                unit: number(1),
                kind: columns[2].to_owned(),
                transaction: number(4),
                fifo: number(5) as u32,
                value: number(6),
            });
        }
    }
    // The logs are in order each; what both have at one time is told apart by FIFO and unit.
    lines.sort_by_key(|line| line.thirds);
    lines
}

/// Samples as (ns, value) of one FIFO: one per instant that writes or reads.
fn occupancy(lines: &[Line], fifo: u32) -> Vec<String> {
    let mut samples: BTreeMap<u64, i64> = BTreeMap::new();
    let mut value = 0;
    for line in lines.iter().filter(|line| line.fifo == fifo) {
        value += match line.kind.as_str() {
            "fifo.write" => 1,
            "fifo.read" => -1,
            _ => continue,
        };
        samples.insert(line.thirds, value);
    }
    samples.iter().map(|(thirds, value)| format!("{} {value}", thirds / 3)).collect()
}

/// Slices as (ns, duration, transaction) of one FIFO; open ones last until `end`.
fn transactions(lines: &[Line], fifo: u32, end: u64) -> Vec<String> {
    let of_kind = |kind: &'static str| {
        let lines = lines.iter().filter(move |line| line.fifo == fifo && line.kind == kind);
        lines.map(|line| (line.transaction, line.thirds / 3))
    };
    let ends: BTreeMap<u64, u64> = of_kind("fifo.consume").collect();
    let slice =
        |(id, begin): (u64, u64)| format!("{begin} {} {id}", ends.get(&id).copied().unwrap_or(end) - begin);
    of_kind("fifo.write").map(slice).collect()
}

/// Spans as (ns, duration, name, depth).
fn spans(lines: &[Line], end: u64) -> Vec<String> {
    let mut open: Vec<usize> = Vec::new();
    let mut spans: Vec<(u64, u64, &str, usize)> = Vec::new();
    for line in lines.iter().filter(|line| ["outer", "inner"].contains(&line.kind.as_str())) {
        let ns = line.thirds / 3;
        if line.value == 1 {
            open.push(spans.len());
            spans.push((ns, end - ns, &line.kind, open.len() - 1));
        } else {
            let span = &mut spans[open.pop().unwrap()];
            assert_eq!(span.2, line.kind);
            span.1 = ns - span.0;
        }
    }
    spans.iter().map(|(ns, duration, name, depth)| format!("{ns} {duration} {name} {depth}")).collect()
}

const SAMPLES: &str = "SELECT counter.ts || ' ' || CAST(counter.value AS INT) FROM counter \
                       JOIN track ON counter.track_id = track.id \
                       JOIN track AS parent ON track.parent_id = parent.id \
                       WHERE parent.name = '$PARENT' AND track.name = '$NAME' ORDER BY counter.id";
const SLICES: &str = "SELECT slice.ts || ' ' || slice.dur || ' ' || args.int_value FROM slice \
                      JOIN track ON slice.track_id = track.id JOIN track AS parent ON track.parent_id = parent.id \
                      JOIN args ON slice.arg_set_id = args.arg_set_id AND args.flat_key = 'debug.transaction_id' \
                      WHERE parent.name = '$PARENT' AND slice.category = 'fifo' AND slice.depth = 0 \
                      AND slice.name = 'transaction' ORDER BY args.int_value";
const SPANS: &str = "SELECT slice.ts || ' ' || slice.dur || ' ' || slice.name || ' ' || slice.depth FROM slice \
                     JOIN track ON slice.track_id = track.id JOIN track AS parent ON track.parent_id = parent.id \
                     WHERE parent.name = 'producer' AND slice.category = 'unit' ORDER BY slice.id";
/// Time arguments against the event's own nanosecond and cycle.
const TIMES: &str = "SELECT cycle.int_value || ' ' || domain.int_value || ' ' || num.string_value || '/' || \
                     den.string_value FROM slice \
                     JOIN args AS cycle ON cycle.arg_set_id = slice.arg_set_id AND cycle.flat_key = 'debug.local_cycle' \
                     JOIN args AS domain ON domain.arg_set_id = slice.arg_set_id AND domain.flat_key = 'debug.domain_id' \
                     JOIN args AS num ON num.arg_set_id = slice.arg_set_id AND num.flat_key = 'debug.time_num' \
                     JOIN args AS den ON den.arg_set_id = slice.arg_set_id AND den.flat_key = 'debug.time_den' \
                     WHERE slice.category = 'clock' AND slice.name IN ('load', 'fifo.read') ORDER BY slice.id";
const ENDS: &str = "SELECT slice.ts || ' ' || slice.category || ' ' || track.name FROM slice \
                    JOIN track ON slice.track_id = track.id WHERE slice.name = 'trace.end'";

/// Compares lists and shows where they part.
fn assert_same(found: &[String], expected: &[String], what: &str) {
    let differ = found.iter().zip(expected).position(|(found, expected)| found != expected);
    let at = differ.unwrap_or(found.len().min(expected.len()));
    let near = |list: &[String]| list[at.saturating_sub(3)..list.len().min(at + 3)].to_vec();
    assert!(
        found == expected,
        "{what} from row {at}: found {:?}, expected {:?}",
        near(found),
        near(expected)
    );
}

#[test]
fn what_is_derived_equals_the_logs() {
    let variants =
        [(Compression::default(), ArgsEncoding::Debug), (Compression::None, ArgsEncoding::Annotations)];
    for (compression, args) in variants {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("run");
        // Ends while transactions and both spans are under way.
        record(&dir, compression, args, 1303, None);
        assert_valid_but_for_fifo_laws(&dir);
        let lines = lines(&dir);
        let end = lines.iter().map(|line| line.thirds / 3).max().unwrap();
        let mut queries: Vec<String> = Vec::new();
        for (_, name) in FIFOS {
            queries.push(SAMPLES.replace("$PARENT", name).replace("$NAME", "occupancy"));
            queries.push(SLICES.replace("$PARENT", name));
        }
        queries.push(SAMPLES.replace("$PARENT", "producer").replace("$NAME", "load"));
        queries.extend([SPANS, TIMES, ENDS].map(str::to_owned));
        let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
        let found = rows(&dir.join(TRACE_FILE), &queries);
        for (at, (fifo, name)) in FIFOS.into_iter().enumerate() {
            assert_same(&found[2 * at], &occupancy(&lines, fifo), &format!("occupancy of {name}"));
            assert_same(
                &found[2 * at + 1],
                &transactions(&lines, fifo, end),
                &format!("transactions of {name}"),
            );
            assert!(found[2 * at + 1].len() > 500);
        }
        let loads = lines.iter().filter(|line| line.kind == "load");
        let loads: Vec<String> = loads.map(|line| format!("{} {}", line.thirds / 3, line.value)).collect();
        assert_same(&found[4], &loads, "load");
        assert_same(&found[5], &spans(&lines, end), "spans");
        assert!(!found[6].is_empty());
        for row in &found[6] {
            let parts: Vec<&str> = row.split(' ').collect();
            let (cycle, domain): (u64, u64) = (parts[0].parse().unwrap(), parts[1].parse().unwrap());
            let (num, den) = parts[2].split_once('/').unwrap();
            let (num, den): (u128, u128) = (num.parse().unwrap(), den.parse().unwrap());
            let hz = if domain == 1 { 1_000_000_000 } else { 1_500_000_000 };
            assert_eq!(num * hz, u128::from(cycle) * den, "{row}");
        }
        assert_eq!(found[7], [format!("{end} meta run")]);
        assert!(lines.iter().any(|line| line.unit == 2));
    }
}

const OPEN: &str =
    "SELECT slice.dur || ' ' || slice.name FROM slice WHERE category IN ('fifo', 'unit') AND dur < 0";

/// Cut in files, every piece of a transaction is closed in its file and goes on in the next.
#[test]
fn files_of_a_cut_trace_go_on_where_the_one_before_ended() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("run");
    record(&dir, Compression::default(), ArgsEncoding::Debug, 1303, Some(1700));
    assert_valid_but_for_fifo_laws(&dir);
    let lines = lines(&dir);
    let end = lines.iter().map(|line| line.thirds / 3).max().unwrap();
    let files = (0..).map(|n| dir.join(segment_name(n))).take_while(|path| path.exists());
    let files: Vec<_> = files.collect();
    assert_eq!(files.len(), lines.len().div_ceil(1700));
    let mut queries: Vec<String> = vec![OPEN.to_owned()];
    for (_, name) in FIFOS {
        queries.push(SAMPLES.replace("$PARENT", name).replace("$NAME", "occupancy"));
        queries.push(SLICES.replace("$PARENT", name));
    }
    queries.push(SAMPLES.replace("$PARENT", "producer").replace("$NAME", "load"));
    let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
    let found: Vec<Vec<Vec<String>>> = files.iter().map(|file| rows(file, &queries)).collect();
    assert!(found.iter().all(|file| file[0].is_empty()), "no slice stays open");
    let numbers = |row: &String| row.split(' ').map(|n| n.parse::<u64>().unwrap()).collect::<Vec<u64>>();
    for (at, (fifo, name)) in FIFOS.into_iter().enumerate() {
        let mut samples: Vec<String> = Vec::new();
        let mut durations: BTreeMap<u64, u64> = BTreeMap::new();
        for (number, file) in found.iter().enumerate() {
            let mut own = file[1 + 2 * at].as_slice();
            if number > 0 {
                let (before, restated) = (numbers(samples.last().unwrap()), numbers(&own[0]));
                assert_eq!(before[1], restated[1], "{name} is restated in file {number}");
                own = &own[1..];
            }
            samples.extend_from_slice(own);
            for row in file[2 + 2 * at].iter().map(numbers) {
                *durations.entry(row[2]).or_default() += row[1];
            }
        }
        assert_same(&samples, &occupancy(&lines, fifo), name);
        let whole = transactions(&lines, fifo, end);
        let whole: BTreeMap<u64, u64> = whole.iter().map(numbers).map(|row| (row[2], row[1])).collect();
        assert_eq!(durations, whole, "pieces of {name}");
    }
    let loads: usize = found.iter().map(|file| file[5].len()).sum();
    let recorded = lines.iter().filter(|line| line.kind == "load").count();
    assert_eq!(loads, recorded + files.len() - 1, "restated once per later file");

    // A run that lacks its last file is not the run of its statistics; one that lacks another is none.
    fs::remove_file(files.last().unwrap()).unwrap();
    let report = validate(&Target::of(&dir), &Options::default(), engine()).unwrap();
    assert!(report.check("conservation").unwrap().found > 0);
    assert!(report.check("identity").unwrap().found > 0);
    fs::remove_file(&files[1]).unwrap();
    let error = validate(&Target::of(&dir), &Options::default(), engine()).unwrap_err();
    assert!(error.to_string().contains("timeline-00001.pftrace"), "{error}");
}
