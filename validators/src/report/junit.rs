//! JUnit XML: a suite per path, a case per check.
//!
//! Deliberately states no times of day: the same findings give the same text but for how long they took.

use std::io::{self, Write};
use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::{CheckReport, Status, Verdict, in_words};

/// Writes the verdicts as JUnit XML. Characters that XML cannot hold are left out.
///
/// # Errors
/// `out` cannot be written.
pub fn junit(verdicts: &[Verdict], mut out: impl Write) -> io::Result<()> {
    let mut report = Report::new("clockweave validate");
    report.add_test_suites(verdicts.iter().map(suite));
    // Written by itself it would hide why `out` cannot be.
    let text = report.to_string().map_err(io::Error::other)?;
    out.write_all(text.as_bytes())
}

fn suite(verdict: &Verdict) -> TestSuite {
    let subject = verdict.subject();
    let mut suite = TestSuite::new(subject);
    match verdict {
        Verdict::Report(report) => {
            suite.set_time(Duration::from_millis(report.elapsed_ms));
            suite.add_property(("engine", &*report.engine));
            suite.add_property(("events", &*report.events.to_string()));
            suite.add_test_cases(report.checks.iter().map(|check| case(subject, check)));
        }
        Verdict::Error { error, .. } => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_type("error").set_message(first_line(error)).set_description(error.as_str());
            let mut case = TestCase::new("validate", status);
            case.set_classname(subject);
            suite.add_test_case(case);
        }
    }
    suite
}

fn case(subject: &str, check: &CheckReport) -> TestCase {
    let note = check.note.as_deref();
    let status = match check.status {
        Status::Passed => TestCaseStatus::success(),
        Status::Skipped => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(note.unwrap_or_default());
            status
        }
        Status::Failed => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            let first = check.findings.first().map(in_words).unwrap_or_default();
            let message = match check.found {
                1 => first,
                found => format!("{found} findings; the first: {first}"),
            };
            status.set_type(&*check.name).set_message(first_line(&message)).set_description(listed(check));
            status
        }
    };
    let mut case = TestCase::new(&*check.name, status);
    case.set_classname(subject);
    let looked_at = format!("{} {}", check.rows, check.unit);
    case.set_system_out(match note {
        Some(note) => format!("{looked_at} ({note})"),
        None => looked_at,
    });
    case
}

/// All listed findings, each with its hint.
fn listed(check: &CheckReport) -> String {
    let mut text = String::new();
    for finding in &check.findings {
        text += &format!("{}\n", in_words(finding));
        if let Some(hint) = &finding.hint {
            text += &format!("  hint: {hint}\n");
        }
    }
    let unlisted = check.found - check.findings.len() as u64;
    if unlisted > 0 {
        text += &format!("and {unlisted} more\n");
    }
    text
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
