//! Annotations of a GitHub workflow: findings beside the code of a pull request.

use std::fmt::Write as _;

use super::Verdict;

/// What one step may show; more are cut off without a word.
const MOST: usize = 10;

/// Workflow commands, one per line: an `error` for each of the first findings, and one that counts the rest.
pub fn annotations(verdicts: &[Verdict]) -> String {
    let (mut text, mut count, mut found) = (String::new(), 0, 0);
    for verdict in verdicts {
        let report = match verdict {
            Verdict::Report(report) => report,
            Verdict::Error { subject, error, .. } => {
                found += 1;
                if count < MOST - 1 {
                    count += 1;
                    let (title, error) =
                        (property("clockweave validate"), data(&format!("{subject}: {error}")));
                    let _ = writeln!(text, "::error title={title}::{error}");
                }
                continue;
            }
        };
        for check in &report.checks {
            found += check.found;
            for finding in check.findings.iter().take(MOST - 1 - count) {
                count += 1;
                let file = property(&report.file_of(finding).display().to_string());
                let line = finding.line.map(|line| format!(",line={line}")).unwrap_or_default();
                let title = property(&format!("clockweave validate: {}", check.name));
                let hint = finding.hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
                let message = data(&format!("{}{hint}", finding.message));
                let _ = writeln!(text, "::error file={file}{line},title={title}::{message}");
            }
        }
    }
    let rest = found - count as u64;
    if rest > 0 {
        let _ = writeln!(text, "::error title=clockweave validate::{rest} more findings in the log");
    }
    text
}

/// Text after the second `::`.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Text between `=` and `,`.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
