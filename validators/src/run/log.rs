//! `text-domain-NAME.log`: one clock domain's events as tab-separated text, read line by line.
//!
//! Every line is an event, a comment, a declared gap, or a fault with its line number; after a fault reading goes on
//! with the next line. Invariants: no allocation per line; lines are bounded. Deliberately does not compare anything
//! with the trace.

use std::io::{self, BufRead};
use std::path::PathBuf;

use super::manifest::{Domain, Manifest};

/// Longest line that can be a record: eight columns of at most twenty digits, or a name of 1,024 bytes.
const MAX_LINE: usize = 4096;

/// One event of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogRow {
    pub(crate) line: usize,
    /// Index into the manifest's units.
    pub(crate) unit: u32,
    pub(crate) cycle: u64,
    /// Index into the manifest's kinds.
    pub(crate) kind: u16,
    pub(crate) phase: u64,
    pub(crate) transaction: u64,
    pub(crate) fifo: u64,
    pub(crate) value: u64,
    pub(crate) ordinal: u64,
}

/// A gap that a lossy run declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogGap {
    pub(crate) unit: u32,
    pub(crate) ordinal: u64,
    pub(crate) count: u64,
}

/// What is wrong with one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogFault {
    pub(crate) line: usize,
    pub(crate) problem: String,
    pub(crate) hint: &'static str,
    /// The file ends inside this line.
    pub(crate) torn: bool,
}

/// A line that means something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LogLine {
    Row(LogRow),
    Gap(LogGap),
    Fault(LogFault),
}

/// A log being read.
pub(crate) struct Log<'a, R> {
    pub(crate) path: PathBuf,
    source: R,
    manifest: &'a Manifest,
    /// What the first line must be if it names a run.
    header: Vec<u8>,
    buffer: Vec<u8>,
    line: usize,
}

impl<'a, R: BufRead> Log<'a, R> {
    pub(crate) fn new(path: PathBuf, source: R, manifest: &'a Manifest, domain: &Domain) -> Self {
        let header = format!(" run={} domain={}", manifest.run_id, domain.name).into_bytes();
        Self { path, source, manifest, header, buffer: Vec::new(), line: 0 }
    }

    /// The next event, gap or fault; `None` at the end.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<LogLine>> {
        loop {
            self.buffer.clear();
            let length = read_line(&mut self.source, &mut self.buffer)?;
            if length == 0 {
                return Ok(None);
            }
            self.line += 1;
            let ended = self.buffer.last() == Some(&b'\n');
            let content = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
            let parsed = if !ended && length <= MAX_LINE {
                Err(Problem {
                    text: "found the end of the file inside a line".into(),
                    hint: TORN,
                    torn: true,
                })
            } else {
                self.parse(content, length)
            };
            match parsed {
                Ok(None) => {}
                Ok(Some(line)) => return Ok(Some(line)),
                Err(Problem { text, hint, torn }) => {
                    let fault = LogFault { line: self.line, problem: text, hint, torn };
                    return Ok(Some(LogLine::Fault(fault)));
                }
            }
        }
    }

    fn parse(&self, content: &[u8], length: usize) -> Result<Option<LogLine>, Problem> {
        if length > MAX_LINE {
            return Err(Problem::new(
                format!("found a line of {length} bytes, expected at most {MAX_LINE}"),
                WRITER,
            ));
        }
        match content {
            [b'#', comment @ ..] => self.parse_comment(comment),
            [] => Err(Problem::new("found an empty line, expected an event", "remove it")),
            [.., b'\r'] => {
                Err(Problem::new("found a line that ends in CR LF, expected LF", "convert the line ends"))
            }
            _ => self.parse_row(content).map(|row| Some(LogLine::Row(row))),
        }
    }

    fn parse_row(&self, content: &[u8]) -> Result<LogRow, Problem> {
        let mut columns = content.split(|byte| *byte == b'\t');
        let mut number = |name: &str| match columns.next() {
            Some(column) => {
                decimal(column).ok_or_else(|| column_problem(name, column, "an unsigned decimal below 2^64"))
            }
            None => Err(Problem::new(format!("found no column {name}, expected eight columns"), WRITER)),
        };
        let cycle = number("local_cycle")?;
        let unit_id = number("unit_id")?;
        let name = columns.next().unwrap_or_default();
        let mut number = |name: &str| match columns.next() {
            Some(column) => {
                decimal(column).ok_or_else(|| column_problem(name, column, "an unsigned decimal below 2^64"))
            }
            None => Err(Problem::new(format!("found no column {name}, expected eight columns"), WRITER)),
        };
        let phase = number("phase")?;
        let row = LogRow {
            line: self.line,
            unit: self.unit(unit_id)?,
            cycle,
            kind: self
                .manifest
                .kind(name)
                .ok_or_else(|| column_problem("event", name, "a kind of the manifest"))?,
            phase,
            transaction: number("transaction_id")?,
            fifo: number("fifo_id")?,
            value: number("value")?,
            ordinal: number("ordinal")?,
        };
        if phase > 1 {
            return Err(Problem::new(format!("found phase {phase}, expected 0 or 1"), WRITER));
        }
        if columns.next().is_some() {
            return Err(Problem::new("found more than eight columns, expected eight", WRITER));
        }
        Ok(row)
    }

    fn unit(&self, id: u64) -> Result<u32, Problem> {
        let unknown = || format!("found unit {id}, expected a unit of the manifest");
        self.manifest.unit(id).ok_or_else(|| Problem::new(unknown(), "is this log from another run?"))
    }

    /// Comments mean nothing, but for declared gaps.
    fn parse_comment(&self, comment: &[u8]) -> Result<Option<LogLine>, Problem> {
        if self.line == 1 && comment.starts_with(b" run=") && comment != self.header {
            let shown = |text: &[u8]| String::from_utf8_lossy(&text[..text.len().min(200)]).into_owned();
            let text = format!("found \"#{}\", expected \"#{}\"", shown(comment), shown(&self.header));
            return Err(Problem::new(text, "the log is of another run or domain"));
        }
        let Some(pairs) = comment.strip_prefix(b" gap ") else { return Ok(None) };
        let value = |key: &str| {
            let found = pairs.split(|byte| *byte == b' ').find_map(|pair| {
                let rest = pair.strip_prefix(key.as_bytes())?.strip_prefix(b"=")?;
                decimal(rest)
            });
            found.ok_or_else(|| Problem::new(format!("found a gap without {key}=NUMBER"), WRITER))
        };
        let gap =
            LogGap { unit: self.unit(value("unit")?)?, ordinal: value("ordinal")?, count: value("count")? };
        Ok(Some(LogLine::Gap(gap)))
    }
}

const WRITER: &str = "the file is not as its recorder wrote it";
const TORN: &str = "the run was killed or the file truncated; validate with --prefix";

struct Problem {
    text: String,
    hint: &'static str,
    torn: bool,
}

impl Problem {
    fn new(text: impl Into<String>, hint: &'static str) -> Self {
        Self { text: text.into(), hint, torn: false }
    }
}

fn column_problem(name: &str, found: &[u8], expected: &str) -> Problem {
    let shown = String::from_utf8_lossy(&found[..found.len().min(64)]).into_owned();
    Problem::new(format!("found {shown:?} in column {name}, expected {expected}"), WRITER)
}

/// Reads one line; of an overlong one only the first part is kept, but its whole length is given.
fn read_line(source: &mut impl BufRead, out: &mut Vec<u8>) -> io::Result<usize> {
    let mut length = 0;
    loop {
        let available = match source.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            return Ok(length);
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(available.len(), |end| end + 1);
        if length + taken <= MAX_LINE {
            out.extend_from_slice(&available[..taken]);
        }
        source.consume(taken);
        length += taken;
        if end.is_some() {
            return Ok(length);
        }
    }
}

/// An unsigned decimal without sign, spaces or empty digits.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { value.checked_mul(10)?.checked_add(digit.into()) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"{"version":1,"run_id":"r",
        "domains":[{"id":1,"name":"sm","period_num":1,"period_den":2,"phase_num":0,"phase_den":1}],
        "streams":[{"unit_id":3,"unit":"u","domain_id":1}],"events":{"1":"fifo.write","256":"user"}}"#;

    fn lines(text: &str) -> Vec<LogLine> {
        let manifest = Manifest::parse(MANIFEST).unwrap();
        let mut log = Log::new("a.log".into(), text.as_bytes(), &manifest, &manifest.domains[0]);
        std::iter::from_fn(|| log.next_line().unwrap()).collect()
    }

    fn problem(text: &str) -> LogFault {
        match lines(text).as_slice() {
            [LogLine::Fault(fault)] => fault.clone(),
            other => panic!("{text:?}: {other:?}"),
        }
    }

    #[test]
    fn rows_comments_and_gaps_are_told_apart() {
        let text = "# run=r domain=sm\n#local_cycle\tunit_id\n18446744073709551615\t3\tuser\t1\t7\t8\t9\t10\n\
                    # gap unit=3 ordinal=11 count=4 cycle=5 phase=1\n";
        let row = LogRow {
            line: 3,
            unit: 0,
            cycle: u64::MAX,
            kind: 1,
            phase: 1,
            transaction: 7,
            fifo: 8,
            value: 9,
            ordinal: 10,
        };
        let gap = LogGap { unit: 0, ordinal: 11, count: 4 };
        assert_eq!(lines(text), [LogLine::Row(row), LogLine::Gap(gap)]);
    }

    #[test]
    fn every_malformed_line_says_what_was_found() {
        for (text, words) in [
            ("\n", "empty line"),
            ("1\t3\tuser\t0\t0\t0\t0\t0\r\n", "CR LF"),
            ("1\t3\tuser\t0\t0\t0\t0\n", "no column ordinal"),
            ("1\t3\tuser\t0\t0\t0\t0\t0\t0\n", "more than eight"),
            ("1\t3\tnope\t0\t0\t0\t0\t0\n", "\"nope\" in column event"),
            ("1\t4\tuser\t0\t0\t0\t0\t0\n", "found unit 4"),
            ("1\t3\tuser\t2\t0\t0\t0\t0\n", "found phase 2"),
            ("+1\t3\tuser\t0\t0\t0\t0\t0\n", "\"+1\" in column local_cycle"),
            ("18446744073709551616\t3\tuser\t0\t0\t0\t0\t0\n", "below 2^64"),
            ("\t3\tuser\t0\t0\t0\t0\t0\n", "\"\" in column local_cycle"),
            ("# gap unit=3 count=1\n", "gap without ordinal"),
            ("# run=q domain=sm\n", "expected \"# run=r domain=sm\""),
        ] {
            let fault = problem(text);
            assert!(fault.problem.contains(words) && !fault.torn, "{text:?}: {fault:?}");
            assert_eq!(fault.line, 1);
        }
        let long = format!("{}\n", "1".repeat(10_000));
        assert!(problem(&long).problem.contains("10001 bytes"));
    }

    #[test]
    fn a_last_line_without_its_end_is_torn_even_if_it_parses() {
        let fault = problem("1\t3\tuser\t0\t0\t0\t0\t0");
        assert!(fault.torn, "{fault:?}");
        assert_eq!(lines("").len(), 0);
    }
}
