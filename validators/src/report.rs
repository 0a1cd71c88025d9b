//! What a validation found, for people and for programs.
//!
//! Invariants: every check that ran or was left out is listed once; findings are counted in full and kept up to a
//! bound; messages and file names are printable whatever the trace holds. Deliberately decides nothing: the checks do.

mod annotations;
mod junit;
mod sarif;

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::printable::printable;

pub use annotations::annotations;
pub use junit::junit;
pub use sarif::sarif;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It held for everything it looked at.
    Passed,
    /// It found something.
    Failed,
    /// There was nothing to hold the trace against; the note says what was missing.
    Skipped,
}

impl Status {
    /// Its name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// One violation and where it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was found and what was expected.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The file it is in, where that is not the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line in that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Byte offset in the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The structural rule that was broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<&'static str>,
    /// The packet sequence it is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u32>,
    /// Row of the importer's slice table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice: Option<u64>,
}

impl Finding {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    pub(crate) fn at_line(self, file: &str, line: usize) -> Self {
        Self { file: Some(file.to_owned()), line: Some(line), ..self }
    }

    pub(crate) fn at_offset(self, offset: u64) -> Self {
        Self { offset: Some(offset), ..self }
    }

    pub(crate) fn of_rule(self, rule: &'static str) -> Self {
        Self { rule: Some(rule), ..self }
    }

    pub(crate) fn of_sequence(self, sequence: Option<u32>) -> Self {
        Self { sequence, ..self }
    }

    pub(crate) fn at_slice(self, slice: u32) -> Self {
        Self { slice: Some(slice.into()), ..self }
    }
}

/// One check's result.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    /// The check's name.
    pub name: Cow<'static, str>,
    /// How it ended.
    pub status: Status,
    /// Rows, packets or counts it looked at.
    pub rows: u64,
    /// What `rows` counts.
    pub unit: &'static str,
    /// All findings, kept or not.
    pub found: u64,
    /// The first of them.
    pub findings: Vec<Finding>,
    /// Why it was left out, or how far it could go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl CheckReport {
    /// Adds the same check of another file of the trace.
    pub(crate) fn merge(&mut self, other: Self, limit: usize) {
        self.rows += other.rows;
        self.found += other.found;
        if other.status == Status::Failed {
            self.status = Status::Failed;
        }
        self.findings.extend(other.findings);
        self.findings.truncate(limit);
        self.note = self.note.take().or(other.note);
    }

    /// States which file the findings are in.
    pub(crate) fn in_file(mut self, file: &str) -> Self {
        self.findings.iter_mut().for_each(|finding| finding.file = Some(printable(file)));
        self
    }
}

/// The result of validating one trace.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The directory or file.
    pub subject: String,
    /// Whether that is a run directory.
    #[serde(skip)]
    pub is_run: bool,
    /// Whether no check failed.
    pub passed: bool,
    /// The engine that imported the trace, and whether it was the wide one.
    pub engine: String,
    /// Events imported.
    pub events: u64,
    /// Host time of the whole validation in milliseconds.
    pub elapsed_ms: u64,
    /// All checks in the order they ran.
    pub checks: Vec<CheckReport>,
}

impl Report {
    /// The process exit code that says the same: 0 all hold, 1 findings.
    pub fn exit_code(&self) -> u8 {
        u8::from(!self.passed)
    }

    /// The path of the file a finding is in.
    fn file_of(&self, finding: &Finding) -> PathBuf {
        let subject = Path::new(&self.subject);
        match &finding.file {
            Some(file) => subject.join(file),
            None if self.is_run => subject.join("timeline.pftrace"),
            None => subject.to_owned(),
        }
    }

    /// The check of a name, if it is in the report.
    pub fn check(&self, name: &str) -> Option<&CheckReport> {
        self.checks.iter().find(|check| check.name == name)
    }
}

/// What validating one path came to.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Verdict {
    /// It was looked at.
    Report(Report),
    /// It could not be.
    Error {
        /// The directory or file.
        subject: String,
        /// Always false.
        passed: bool,
        /// Why.
        error: String,
        /// The exit code that says the same.
        #[serde(skip)]
        code: u8,
    },
}

impl Verdict {
    /// The directory or file.
    pub fn subject(&self) -> &str {
        match self {
            Self::Report(report) => &report.subject,
            Self::Error { subject, .. } => subject,
        }
    }

    /// The process exit code that says the same: 0 all hold, 1 findings, 2 bad input, 3 no usable engine.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Report(report) => report.exit_code(),
            Self::Error { code, .. } => *code,
        }
    }
}

impl fmt::Display for Report {
    /// The summary for people, with a line end after every line.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.passed { "all checks hold" } else { "FINDINGS" };
        let seconds = self.elapsed_ms / 1000;
        writeln!(
            out,
            "{}: {verdict}; {} events in {seconds}.{:03} s, {}",
            printable(&self.subject),
            grouped(self.events),
            self.elapsed_ms % 1000,
            self.engine
        )?;
        let width = self.checks.iter().map(|check| check.name.len() + 1).max().unwrap_or(0).max(13);
        for check in &self.checks {
            let status = match check.status {
                Status::Passed => "ok",
                Status::Failed => "FAILED",
                Status::Skipped => "skipped",
            };
            write!(out, "  {status:8}{:width$}{} {}", check.name, grouped(check.rows), check.unit)?;
            match check.found {
                0 => {}
                1 => write!(out, ", 1 finding")?,
                found => write!(out, ", {} findings", grouped(found))?,
            }
            match &check.note {
                Some(note) => writeln!(out, " ({note})")?,
                None => writeln!(out)?,
            }
            for finding in &check.findings {
                writeln!(out, "          {}", in_words(finding))?;
            }
            let mut hints: Vec<&String> = Vec::new();
            for hint in check.findings.iter().filter_map(|finding| finding.hint.as_ref()) {
                if !hints.contains(&hint) {
                    hints.push(hint);
                    writeln!(out, "          hint: {hint}")?;
                }
            }
            let unlisted = check.found - check.findings.len() as u64;
            if unlisted > 0 {
                writeln!(out, "          and {} more", grouped(unlisted))?;
            }
        }
        Ok(())
    }
}

/// A finding on one line, with its place.
fn in_words(finding: &Finding) -> String {
    place(finding) + &finding.message
}

fn place(finding: &Finding) -> String {
    let mut place = String::new();
    if let Some(file) = &finding.file {
        place.push_str(file);
        if let Some(line) = finding.line {
            let _ = write!(place, ":{line}");
        }
        place.push_str(": ");
    }
    if let Some(offset) = finding.offset {
        let _ = write!(place, "byte {offset}: ");
    }
    if let Some(sequence) = finding.sequence {
        let _ = write!(place, "sequence {sequence}: ");
    }
    if let Some(rule) = finding.rule {
        let _ = write!(place, "{rule}: ");
    }
    if let Some(slice) = finding.slice {
        let _ = write!(place, "slice {slice}: ");
    }
    place
}

/// Digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Collects one check's findings.
#[derive(Debug)]
pub(crate) struct Check {
    name: Cow<'static, str>,
    unit: &'static str,
    limit: usize,
    pub(crate) rows: u64,
    found: u64,
    findings: Vec<Finding>,
    note: Option<String>,
    skipped: bool,
}

impl Check {
    pub(crate) fn new(name: impl Into<Cow<'static, str>>, unit: &'static str, limit: usize) -> Self {
        let (name, findings) = (name.into(), Vec::new());
        Self { name, unit, limit, rows: 0, found: 0, findings, note: None, skipped: false }
    }

    /// Counts a finding, and builds it if there is room to keep it.
    pub(crate) fn find(&mut self, finding: impl FnOnce() -> Finding) {
        self.found += 1;
        if self.findings.len() < self.limit {
            let mut finding = finding();
            finding.message = printable(&finding.message);
            finding.file = finding.file.map(|file| printable(&file));
            self.findings.push(finding);
        }
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.note = Some(note.into());
    }

    /// Ends a check that has nothing to hold the trace against.
    pub(crate) fn skip(mut self, why: &str) -> CheckReport {
        self.skipped = true;
        self.note(why);
        self.finish()
    }

    pub(crate) fn finish(self) -> CheckReport {
        let status = match (self.found, self.skipped) {
            (0, true) => Status::Skipped,
            (0, false) => Status::Passed,
            _ => Status::Failed,
        };
        CheckReport {
            name: self.name,
            status,
            rows: self.rows,
            unit: self.unit,
            found: self.found,
            findings: self.findings,
            note: self.note,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let mut check = Check::new("time", "events", 2);
        check.rows = 1_200_275;
        for n in 0..5_u32 {
            check.find(|| Finding::new(format!("finding {n}")).hint("mend it").at_slice(n));
        }
        let mut logs = Check::new("logs", "lines", 2);
        logs.find(|| Finding::new("100% <odd>, \u{1} & more").at_line("text-domain-a,b.log", 7));
        let checks = vec![check.finish(), Check::new("flows", "edges", 2).skip("no manifest"), logs.finish()];
        Report {
            subject: "run".into(),
            is_run: true,
            passed: false,
            engine: "engine".into(),
            events: 1_200_275,
            elapsed_ms: 5_091,
            checks,
        }
    }

    fn verdicts() -> Vec<Verdict> {
        let (subject, error) = ("gone".to_owned(), "gone: No such file\nor directory".to_owned());
        vec![Verdict::Report(report()), Verdict::Error { subject, passed: false, error, code: 2 }]
    }

    #[test]
    fn findings_are_counted_in_full_and_listed_up_to_the_bound() {
        let expected = "run: FINDINGS; 1,200,275 events in 5.091 s, engine\n  \
                        FAILED  time         1,200,275 events, 5 findings\n          \
                        slice 0: finding 0\n          slice 1: finding 1\n          hint: mend it\n          \
                        and 3 more\n  skipped flows        0 edges (no manifest)\n  \
                        FAILED  logs         0 lines, 1 finding\n          \
                        text-domain-a,b.log:7: 100% <odd>, \\u{1} & more\n";
        assert_eq!(report().to_string(), expected);
        assert_eq!(verdicts().iter().map(Verdict::exit_code).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn annotations_keep_to_one_line_each_and_name_the_file() {
        let found = annotations(&verdicts());
        let lines: Vec<&str> = found.lines().collect();
        let expected =
            "::error file=run/timeline.pftrace,title=clockweave validate%3A time::finding 0%0Ahint: mend it";
        assert_eq!(lines[0], expected);
        assert_eq!(
            lines[2],
            "::error file=run/text-domain-a%2Cb.log,line=7,title=clockweave validate%3A logs::\
             100%25 <odd>, \\u{1} & more"
        );
        assert_eq!(lines[3], "::error title=clockweave validate::gone: gone: No such file%0Aor directory");
        assert_eq!(lines[4], "::error title=clockweave validate::3 more findings in the log");
        assert_eq!(lines.len(), 5);
        // A step shows ten.
        let many: Vec<Verdict> = verdicts().into_iter().cycle().take(20).collect();
        assert_eq!(annotations(&many).lines().count(), 10);
    }
}
