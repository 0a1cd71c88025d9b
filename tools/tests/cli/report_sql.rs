//! `clockweave report` against the importer: every figure by an SQL query over the imported trace.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;

use clockweave_validators::engine::{EngineError, Row, Session, Width};
use num_bigint::BigInt;
use num_rational::Ratio;

use crate::command::run;
use crate::record::record;
use crate::recorded_runs::engine;
use crate::report::{figures, four_packets, report};

/// The clocks of unit 1, which writes, and unit 2, which reads, in ticks.
struct Clocks {
    ticks_per_ns: i64,
    writer: (i64, i64),
    reader: (i64, i64),
}

/// Two 1/2 ns ticks per ns.
const FOUR_PACKETS: Clocks = Clocks { ticks_per_ns: 2, writer: (2, 0), reader: (3, 1) };
/// 914 MHz and 1326 MHz + 137 ps: 500/457 ns and 500/663 ns are whole at 457 · 663 · 1000 ticks per ns.
const FIFO: Clocks = Clocks {
    ticks_per_ns: 457 * 663 * 1000,
    writer: (500 * 663 * 1000, 0),
    reader: (500 * 457 * 1000, 137 * 457 * 663),
};

/// Asks the engine for rows of name, numerator and denominator.
struct Asked {
    session: Session,
    found: BTreeMap<String, Ratio<BigInt>>,
}

impl Asked {
    fn make(&mut self, sql: &str) {
        self.session.query("make", sql, |_| Ok::<(), EngineError>(())).unwrap();
    }

    fn ask(&mut self, sql: &str) {
        self.ask_per(1, sql);
    }

    /// The same of values of which `per` are one.
    fn ask_per(&mut self, per: i64, sql: &str) {
        let take = |row: &Row<'_>| -> Result<(), EngineError> {
            // The product may not fit the engine's integers.
            let value = Ratio::new(BigInt::from(row.int(1)?), BigInt::from(row.int(2)?) * per);
            assert!(self.found.insert(row.text(0)?.into_owned(), value).is_none(), "{sql}");
            Ok(())
        };
        self.session.query("ask", sql, take).unwrap();
    }

    /// Ends, mean and nearest-rank quantiles of `value` over the hops; `per` is what one of the figure's unit is.
    fn distribution(&mut self, name: &str, value: &str, per: i64) {
        let ranked = format!(
            "(SELECT {value} AS x, row_number() OVER (ORDER BY {value}) AS k, count(*) OVER () AS n FROM hop)"
        );
        let sql = format!(
            "SELECT '{name}min', min(x), 1 FROM {ranked}
             UNION ALL SELECT '{name}mean', sum(x), count(*) FROM {ranked}
             UNION ALL SELECT '{name}median', x, 1 FROM {ranked} WHERE k = (n + 1) / 2
             UNION ALL SELECT '{name}p90', x, 1 FROM {ranked} WHERE k = (9 * n + 9) / 10
             UNION ALL SELECT '{name}p99', x, 1 FROM {ranked} WHERE k = (99 * n + 99) / 100
             UNION ALL SELECT '{name}max', max(x), 1 FROM {ranked}"
        );
        self.ask_per(per, &sql);
    }

    /// Time and edges during which a flag of a clock is set.
    fn flag(&mut self, name: &str, kind: &str, (period, phase): (i64, i64), per: i64) {
        let table = kind.replace('.', "_");
        let until = |time: &str| edges_until(time, (period, phase));
        // What follows a change is the next change, whichever way.
        self.make(&format!(
            "CREATE TABLE {table} AS SELECT edges, time FROM (
               SELECT value, lead(cycle, 1, {last} - 1) OVER w - cycle AS edges,
                      lead(t, 1, (SELECT b FROM span)) OVER w - t AS time
               FROM e WHERE name = '{kind}' WINDOW w AS (ORDER BY t)) WHERE value = 1
             UNION ALL
             SELECT cycle + 1 - {first}, t - (SELECT a FROM span) FROM (
               SELECT cycle, t, value FROM e WHERE name = '{kind}' ORDER BY t LIMIT 1) WHERE value = 0",
            last = until("(SELECT b FROM span)"),
            first = until("((SELECT a FROM span) - 1)"),
        ));
        self.ask(&format!(
            "SELECT '{name}stretches', count(*), 1 FROM {table}
             UNION ALL SELECT '{name}edges', ifnull(sum(edges), 0), 1 FROM {table}
             UNION ALL SELECT '{name}longest_edges', ifnull(max(edges), 0), 1 FROM {table}
             UNION ALL SELECT '{name}share', ifnull(sum(time), 0), (SELECT b - a FROM span) FROM {table}"
        ));
        self.ask_per(per, &format!("SELECT '{name}time', ifnull(sum(time), 0), 1 FROM {table}"));
    }
}

/// Edges of a clock up to and with a time, in SQL.
fn edges_until(time: &str, (period, phase): (i64, i64)) -> String {
    format!("iif({time} < {phase}, 0, ({time} - {phase}) / {period} + 1)")
}

/// Every figure of a run of one FIFO, from the imported trace.
fn by_sql(trace: &Path, clocks: &Clocks) -> BTreeMap<String, Ratio<BigInt>> {
    let session = engine().import(Width::Narrow, File::open(trace).unwrap()).unwrap();
    let mut asked = Asked { session, found: BTreeMap::new() };
    let per = clocks.ticks_per_ns * 1_000_000_000;
    let ((wp, wq), (rp, rq)) = (clocks.writer, clocks.reader);
    asked.make(&format!(
        "CREATE TABLE e AS SELECT *, iif(unit = 1, cycle * {wp} + {wq}, cycle * {rp} + {rq}) AS t FROM (
           SELECT slice.name AS name,
             max(int_value) FILTER (WHERE flat_key = 'debug.unit_id') AS unit,
             max(int_value) FILTER (WHERE flat_key = 'debug.local_cycle') AS cycle,
             max(int_value) FILTER (WHERE flat_key = 'debug.transaction_id') AS tx,
             max(int_value) FILTER (WHERE flat_key = 'debug.value') AS value
           FROM slice JOIN args USING (arg_set_id) WHERE slice.category = 'clock' GROUP BY slice.id)"
    ));
    asked.make("CREATE TABLE span AS SELECT min(t) AS a, max(t) AS b FROM e");
    asked.make(
        "CREATE TABLE hop AS SELECT w.t AS wt, c.t AS ct, c.cycle AS cc, v.t AS vt, v.cycle AS vc, r.cycle AS rc
         FROM e w JOIN e c USING (tx) JOIN e v USING (tx) JOIN e r USING (tx)
         WHERE w.name = 'fifo.write' AND c.name = 'fifo.consume' AND v.name = 'fifo.visible' AND r.name = 'fifo.read'",
    );
    asked.ask_per(per, "SELECT 'run.time', b - a, 1 FROM span");
    asked.ask(
        "SELECT 'run.events', count(*), 1 FROM e
         UNION ALL SELECT 'run.lost_events', count(*), 1 FROM slice WHERE name = 'trace.gap'",
    );
    asked.distribution("fifo.1.", "ct - wt", per);
    let reader = |time: &str| edges_until(time, clocks.reader);
    let writer = |time: &str| edges_until(time, clocks.writer);
    asked.distribution("fifo.1.reader_edges.", &format!("cc + 1 - {}", reader("wt")), 1);
    asked.distribution("fifo.1.writer_edges.", &format!("{} - {}", writer("ct"), writer("wt")), 1);
    asked.distribution("fifo.1.write_to_visible.", "vt - wt", per);
    asked.distribution("fifo.1.write_to_visible.edges.", &format!("vc + 1 - {}", reader("wt")), 1);
    asked.distribution("fifo.1.visible_to_read.", &format!("(rc - vc) * {rp}"), per);
    asked.distribution("fifo.1.visible_to_read.edges.", "rc - vc", 1);
    asked.distribution("fifo.1.read_to_consume.", &format!("(cc - rc) * {rp}"), per);
    asked.distribution("fifo.1.read_to_consume.edges.", "cc - rc", 1);
    asked.ask(
        "SELECT 'fifo.1.written', count(*) FILTER (WHERE name = 'fifo.write'), 1 FROM e
         UNION ALL SELECT 'fifo.1.read', count(*) FILTER (WHERE name = 'fifo.read'), 1 FROM e
         UNION ALL SELECT 'fifo.1.consumed', count(*) FILTER (WHERE name = 'fifo.consume'), 1 FROM e
         UNION ALL SELECT 'fifo.1.inside', count(*), 1 FROM e WHERE name = 'fifo.write' AND tx NOT IN (
           SELECT tx FROM e WHERE name = 'fifo.consume')
         UNION ALL SELECT 'fifo.1.unmatched', count(*), 1 FROM e WHERE name = 'fifo.consume' AND tx NOT IN (
           SELECT tx FROM e WHERE name = 'fifo.write')",
    );
    asked.make(
        "CREATE TABLE level AS SELECT sum(change) OVER (ORDER BY t) AS entries,
           lead(t, 1, (SELECT b FROM span)) OVER (ORDER BY t) - t AS time
         FROM (SELECT t, sum(iif(name = 'fifo.write', 1, -1)) AS change FROM e
               WHERE name IN ('fifo.write', 'fifo.read') GROUP BY t)",
    );
    asked.ask(&format!(
        "SELECT 'fifo.1.occupancy.mean', sum(entries * time), (SELECT b - a FROM span) FROM level
         UNION ALL SELECT 'fifo.1.occupancy.max', max(entries), 1 FROM level
         UNION ALL SELECT 'fifo.1.throughput.per_edge', count(*), (SELECT {} - {} FROM span)
           FROM e WHERE name = 'fifo.consume'",
        reader("b"),
        reader("(a - 1)")
    ));
    // Packets times ticks per second would not fit the engine's integers.
    let span = asked.found["run.time"].clone();
    let consumed = asked.found["fifo.1.consumed"].clone();
    asked.found.insert("fifo.1.throughput.per_second".to_owned(), consumed / span);
    asked.flag("fifo.1.full.", "fifo.full", clocks.writer, per);
    asked.flag("fifo.1.empty.", "fifo.empty", clocks.reader, per);
    units(&mut asked, clocks);
    asked.found
}

/// The figures of the two units, whose names are those of their tracks.
fn units(asked: &mut Asked, clocks: &Clocks) {
    let mut names = BTreeMap::new();
    let take = |row: &Row<'_>| -> Result<(), EngineError> {
        names.insert(row.int(0)?, row.text(1)?.into_owned());
        Ok(())
    };
    let sql = "SELECT DISTINCT args.int_value, track.name FROM slice JOIN args USING (arg_set_id)
               JOIN track ON slice.track_id = track.id WHERE args.flat_key = 'debug.unit_id'";
    asked.session.query("names", sql, take).unwrap();
    for (unit, clock) in [(1, clocks.writer), (2, clocks.reader)] {
        let name = format!("unit.{}.", names[&unit]);
        let edges =
            format!("(SELECT {} - {} FROM span)", edges_until("b", clock), edges_until("(a - 1)", clock));
        let busy = "count(DISTINCT cycle) FILTER (WHERE name NOT LIKE 'fifo.%'
                    OR name IN ('fifo.write', 'fifo.read', 'fifo.consume'))";
        asked.ask(&format!(
            "SELECT '{name}events', count(*), 1 FROM e WHERE unit = {unit}
             UNION ALL SELECT '{name}lost_events', 0, 1
             UNION ALL SELECT '{name}busy_edges', {busy}, 1 FROM e WHERE unit = {unit}
             UNION ALL SELECT '{name}edges', {edges}, 1
             UNION ALL SELECT '{name}utilisation', {busy}, {edges} FROM e WHERE unit = {unit}"
        ));
    }
}

/// The figures of `--csv` but for histograms.
fn told(path: &Path) -> BTreeMap<String, Ratio<BigInt>> {
    let table = report(path, &["--csv"]).expect(0, &[]);
    let figures = figures(table.text()).into_iter().filter(|(name, _)| !name.contains("histogram"));
    figures
        .map(|(name, value)| (name.clone(), value.parse().unwrap_or_else(|_| panic!("{name}: {value}"))))
        .collect()
}

#[test]
fn every_figure_equals_a_query_over_the_imported_trace() {
    let place = tempfile::tempdir().unwrap();
    let (small, trace) = (place.path().join("small"), place.path().join("small.pftrace"));
    four_packets(&small);
    let args = ["merge", "--format", "pftrace", "-o"].map(OsStr::new);
    run(args.into_iter().chain([trace.as_os_str(), small.as_os_str()])).expect(0, &[]);
    assert_eq!(told(&small), by_sql(&trace, &FOUR_PACKETS));
    let dir = place.path().join("fifo");
    record("fifo", &dir, &["--batches", "3000"]).expect(0, &[]);
    let trace = dir.join("timeline.pftrace");
    let expected = by_sql(&trace, &FIFO);
    assert_eq!(told(&dir), expected);
    assert_eq!(told(&trace), expected);
    assert!(expected["fifo.1.consumed"] > Ratio::from_integer(BigInt::from(1000)));
}

#[test]
fn histograms_equal_counts_over_the_imported_trace() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("fifo");
    record("fifo", &dir, &["--batches", "3000"]).expect(0, &[]);
    let session = engine().import(Width::Narrow, File::open(dir.join("timeline.pftrace")).unwrap()).unwrap();
    let mut asked = Asked { session, found: BTreeMap::new() };
    let ((wp, wq), (rp, rq)) = (FIFO.writer, FIFO.reader);
    let cycles = |kind: &str| {
        format!(
            "(SELECT max(int_value) FILTER (WHERE flat_key = 'debug.local_cycle') AS cycle,
              max(int_value) FILTER (WHERE flat_key = 'debug.transaction_id') AS tx
              FROM slice JOIN args USING (arg_set_id) WHERE slice.name = '{kind}' GROUP BY slice.id)"
        )
    };
    // Whole femtoseconds decide: bins begin at such.
    asked.make(&format!(
        "CREATE TABLE hop AS
         SELECT (c.cycle * {rp} + {rq} - w.cycle * {wp} - {wq}) * 1000000 / {} AS fs
         FROM {} w JOIN {} c USING (tx)",
        FIFO.ticks_per_ns,
        cycles("fifo.write"),
        cycles("fifo.consume")
    ));
    let table = report(&dir, &["--csv"]).expect(0, &[]);
    let bins: BTreeMap<String, String> = figures(table.text())
        .into_iter()
        .filter_map(|(name, count)| Some((name.strip_prefix("fifo.1.histogram ")?.to_owned(), count)))
        .collect();
    assert!((2..=20).contains(&bins.len()), "{bins:?}");
    for (range, count) in &bins {
        let (from, to) = range.split_once("..").unwrap();
        let fs = |text: &str| text.parse::<Ratio<BigInt>>().unwrap() * BigInt::from(1_000_000_000_000_000u64);
        let sql =
            format!("SELECT '{range}', count(*), 1 FROM hop WHERE fs >= {} AND fs < {}", fs(from), fs(to));
        asked.ask(&sql);
        assert_eq!(asked.found[range].to_string(), *count, "{range}");
    }
    let all: BigInt = bins.values().map(|count| count.parse::<BigInt>().unwrap()).sum();
    asked.ask("SELECT 'all', count(*), 1 FROM hop");
    assert_eq!(asked.found["all"], Ratio::from_integer(all));
}
