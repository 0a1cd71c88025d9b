//! `clockweave merge --format parquet`, read back by DuckDB.

use std::ffi::OsStr;
use std::path::Path;

use crate::command::{Ran, names, run};
use crate::fixture;

fn merge(dirs: &[&Path], output: &Path, more: &[&str]) -> Ran {
    let words =
        ["merge", "--format", "parquet", "-o"].map(OsStr::new).into_iter().chain([output.as_os_str()]);
    let dirs = dirs.iter().map(|dir| dir.as_os_str());
    run(words.chain(dirs).chain(more.iter().map(OsStr::new)))
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_the_format_says_how_to_get_it() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    fixture::run(&dir);
    for more in [&[][..], &["--partition-time", "1us"]] {
        merge(&[&dir], &place.path().join("out"), more).expect(2, &["--features parquet"]);
    }
    assert_eq!(names(place.path()), ["run"]);
}

#[test]
fn a_partition_is_a_folder_of_parquet() {
    let place = tempfile::tempdir().unwrap();
    fixture::run(place.path());
    let args =
        |more: &[&str]| run([&["merge", place.path().to_str().unwrap(), "--partition-time"], more].concat());
    args(&["1us", "-o", "out"]).expect(2, &["--format parquet"]);
    args(&["1us", "--format", "parquet"]).expect(2, &["--output DIR"]);
    args(&["0ns", "--format", "parquet", "-o", "out"]).expect(2, &["a time above 0"]);
}

#[cfg(feature = "parquet")]
mod present {
    use std::fs;
    use std::path::PathBuf;
    use std::process::Command;

    use super::*;
    use crate::record::record;

    /// What DuckDB answers, each row as a line of `|` separated cells.
    fn query(sql: &str) -> String {
        let script = "import duckdb, sys\n\
            for row in duckdb.sql(sys.argv[1]).fetchall():\n    print('|'.join(map(str, row)))";
        let ran = Command::new("python3").args(["-c", script, sql]).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "this test needs DuckDB (python3 -m pip install duckdb): {said}");
        String::from_utf8(ran.stdout).unwrap()
    }

    const COLUMNS: &str = "run, time_num, time_den, ts, domain_id, unit, local_cycle, event, phase, transaction_id, \
        fifo_id, value, ordinal";

    /// The rows of files in their order.
    fn rows(files: &str) -> String {
        query(&format!(
            "SELECT {COLUMNS} FROM read_parquet('{files}', file_row_number = true, filename = true) \
            ORDER BY filename, file_row_number"
        ))
    }

    fn expected(run: &str) -> String {
        let row = |line: &str| format!("{run}|{}\n", line.replace('\t', "|"));
        fixture::MERGED.lines().skip(1).map(row).collect()
    }

    #[test]
    fn another_engine_reads_what_the_table_says() {
        let place = tempfile::tempdir().unwrap();
        let (dir, out) = (place.path().join("run"), place.path().join("out.parquet"));
        fixture::run(&dir);
        merge(&[&dir], &out, &[]).expect(0, &["merged 6 events"]);
        let file = out.to_str().unwrap();
        assert_eq!(rows(file), expected("hand"));
        let types = query(&format!("SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM '{file}')"));
        let expected = "run|VARCHAR\ntime_num|DECIMAL(38,0)\ntime_den|DECIMAL(38,0)\nts|BIGINT\ndomain_id|UINTEGER\n\
            unit|VARCHAR\nlocal_cycle|UBIGINT\nevent|VARCHAR\nphase|UTINYINT\ntransaction_id|UBIGINT\nfifo_id|UBIGINT\n\
            value|UBIGINT\nordinal|UBIGINT\n";
        assert_eq!(types, expected);
        // The greatest is found by statistics too, which know that it is unsigned.
        assert_eq!(
            query(&format!("SELECT max(value) FROM '{file}' WHERE value > 9223372036854775807")),
            "18446744073709551615\n"
        );
        merge(&[&dir], &out, &[]).expect(2, &["--force"]);
        let before = fs::read(&out).unwrap();
        merge(&[&dir], &out, &["--force"]).expect(0, &[]);
        assert!(fs::read(&out).unwrap() == before, "the same input gives the same bytes");
        // A gap is a row; a clock whose numbers are too wide gives text.
        let log = dir.join("text-domain-sm.log");
        fs::write(
            &log,
            fs::read_to_string(&log).unwrap() + "# gap unit=1 ordinal=3 count=4 cycle=2 phase=1\n",
        )
        .unwrap();
        let wide =
            fixture::MANIFEST.replace("\"phase_den\":1000000000000", "\"phase_den\":18446744073709551557");
        fs::write(dir.join("clock-manifest.json"), wide).unwrap();
        merge(&[&dir], &out, &["--force"]).expect(0, &[]);
        let last = query(&format!(
            "SELECT typeof(time_num), event, value, ordinal FROM '{file}' WHERE event = 'trace.gap'"
        ));
        assert_eq!(last, "VARCHAR|trace.gap|4|3\n");
    }

    /// The sums of the columns with numbers, as DuckDB's `HUGEINT`.
    fn sums(from: &str) -> String {
        let numbers = [
            "time_num",
            "ts",
            "domain_id",
            "local_cycle",
            "phase",
            "transaction_id",
            "fifo_id",
            "value",
            "ordinal",
        ];
        let sums: Vec<String> = numbers.iter().map(|name| format!("sum({name}::HUGEINT)")).collect();
        query(&format!("SELECT count(*), {} FROM {from}", sums.join(", ")))
    }

    #[test]
    fn a_recorded_run_has_equal_sums_and_row_groups_in_time_order() {
        let place = tempfile::tempdir().unwrap();
        let (dir, out, table) =
            (place.path().join("run"), place.path().join("out"), place.path().join("table"));
        record("fifo", &dir, &["--batches", "4000"]).expect(0, &[]);
        merge(&[&dir], &out, &["--memory", "1MiB"]).expect(0, &[]);
        let text = run([OsStr::new("merge"), dir.as_os_str()]).expect(0, &[]);
        fs::write(&table, &text.stdout).unwrap();
        let file = out.to_str().unwrap();
        let text =
            format!("read_csv('{}', delim = '\\t', header = true, all_varchar = true)", table.display());
        assert_eq!(sums(&format!("read_parquet('{file}')")), sums(&text));
        let groups = query(&format!(
            "SELECT row_group_id, row_group_num_rows, stats_min_value::BIGINT, stats_max_value::BIGINT FROM \
             parquet_metadata('{file}') WHERE path_in_schema = 'ts' ORDER BY 1"
        ));
        let groups: Vec<Vec<i64>> =
            groups.lines().map(|line| line.split('|').map(|cell| cell.parse().unwrap()).collect()).collect();
        assert!(groups.len() > 5, "{groups:?}");
        assert!(groups.windows(2).all(|pair| pair[0][3] <= pair[1][2]), "{groups:?}");
    }

    #[test]
    fn partitions_hold_their_time_and_the_folder_is_all_or_nothing() {
        let place = tempfile::tempdir().unwrap();
        let (dir, out) = (place.path().join("run"), place.path().join("out"));
        fixture::run(&dir);
        let by = |period: &str, more: &[&str]| {
            merge(&[&dir], &out, &[&["--partition-time", period], more].concat())
        };
        let files = |numbers: &[&str]| -> Vec<String> {
            numbers.iter().map(|number| format!("part-{number:0>10}.parquet")).collect()
        };
        by("1ns", &[]).expect(0, &[]);
        assert_eq!(names(&out), files(&["0", "1", "2"]));
        assert_eq!(names(place.path()), ["out", "run"]);
        assert_eq!(rows(out.join("*.parquet").to_str().unwrap()), expected("hand"));
        let counts = ["0", "1", "2"].map(|number| {
            query(&format!("SELECT count(*) FROM '{}/part-{number:0>10}.parquet'", out.display()))
        });
        assert_eq!(counts, ["3\n", "2\n", "1\n"]);
        // An edge at a boundary opens the next period: 137 ps is the consumer's first.
        by("1ns", &[]).expect(2, &["--force"]);
        by("137ps", &["--force"]).expect(0, &[]);
        // 891 ps, 1094 ps, 1645 ps and 2188 ps are in periods 6, 7, 12 and 15.
        assert_eq!(names(&out), files(&["0", "1", "6", "7", "12", "15"]));
        assert_eq!(names(place.path()), ["out", "run"]);

        // Nothing else is ever removed, and what fails leaves what was there.
        fs::write(out.join("notes.txt"), "").unwrap();
        by("1ns", &["--force"]).expect(2, &["found `notes.txt` in the folder"]);
        fs::remove_file(out.join("notes.txt")).unwrap();
        let log = dir.join("text-domain-sm.log");
        fs::write(&log, fs::read_to_string(&log).unwrap() + "nonsense\n").unwrap();
        by("1ns", &["--force"]).expect(2, &["text-domain-sm.log:6"]);
        assert_eq!(names(&out).len(), 6);
        assert_eq!(names(place.path()), ["out", "run"]);
        let empty: PathBuf = place.path().join("empty");
        fs::create_dir(&empty).unwrap();
        fixture::run(&dir);
        merge(&[&dir], &empty, &["--partition-time", "1s"]).expect(0, &[]);
        assert_eq!(names(&empty), files(&["0"]));
    }
}
