//! SARIF 2.1.0: a result per listed finding.
//!
//! A rule is a check, or a structural rule within it. Places are files with a line or a byte offset. What is no
//! finding but must not be lost (findings beyond the listed ones, paths that could not be looked at) is a notification.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::{CheckReport, Finding, Report, Verdict};

/// Writes the verdicts as one SARIF log.
///
/// # Errors
/// `out` cannot be written.
pub fn sarif(verdicts: &[Verdict], mut out: impl Write) -> io::Result<()> {
    let mut rules: BTreeMap<String, usize> = BTreeMap::new();
    let (mut results, mut notifications) = (Vec::new(), Vec::new());
    let mut successful = true;
    for verdict in verdicts {
        match verdict {
            Verdict::Error { subject, error, .. } => {
                successful = false;
                notifications.push(notification("error", error, subject));
            }
            Verdict::Report(report) => {
                for check in &report.checks {
                    for finding in &check.findings {
                        let count = rules.len();
                        let rule = rule(check, finding);
                        let index = *rules.entry(rule.clone()).or_insert(count);
                        results.push((rule, index, result(report, finding)));
                    }
                    let unlisted = check.found - check.findings.len() as u64;
                    if unlisted > 0 {
                        let text = format!("{unlisted} more findings of {} are not listed", check.name);
                        notifications.push(notification("note", &text, &report.subject));
                    }
                }
            }
        }
    }
    let mut listed = vec![Value::Null; rules.len()];
    for (rule, index) in rules {
        listed[index] = json!({ "id": rule, "shortDescription": { "text": describe(&rule) } });
    }
    let results: Vec<Value> = results
        .into_iter()
        .map(|(rule, index, mut result)| {
            result["ruleId"] = rule.into();
            result["ruleIndex"] = index.into();
            result
        })
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "clockweave", "version": env!("CARGO_PKG_VERSION"), "rules": listed } },
            "invocations": [{
                "executionSuccessful": successful,
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    });
    serde_json::to_writer_pretty(&mut out, &log)?;
    out.write_all(b"\n")
}

fn rule(check: &CheckReport, finding: &Finding) -> String {
    match finding.rule {
        Some(rule) => format!("{}/{rule}", check.name),
        None => check.name.to_string(),
    }
}

fn describe(rule: &str) -> String {
    match rule.split_once('/') {
        Some(("lint", rule)) => format!("The trace keeps the structural rule {rule}"),
        _ => format!("The check {rule} of `clockweave validate` holds"),
    }
}

fn notification(level: &str, text: &str, subject: &str) -> Value {
    json!({
        "level": level,
        "message": { "text": text },
        "locations": [{ "physicalLocation": { "artifactLocation": { "uri": uri(Path::new(subject)) } } }],
    })
}

fn result(report: &Report, finding: &Finding) -> Value {
    let mut place = json!({ "artifactLocation": { "uri": uri(&report.file_of(finding)) } });
    if let Some(line) = finding.line {
        place["region"] = json!({ "startLine": line.max(1) });
    } else if let Some(offset) = finding.offset {
        place["region"] = json!({ "byteOffset": offset, "byteLength": 0 });
    }
    let text = match &finding.hint {
        Some(hint) => format!("{}\n\nHint: {hint}", finding.message),
        None => finding.message.clone(),
    };
    let mut result = json!({
        "level": "error",
        "message": { "text": text },
        "locations": [{ "physicalLocation": place }],
    });
    let mut properties = serde_json::Map::new();
    if let Some(sequence) = finding.sequence {
        properties.insert("sequence".into(), sequence.into());
    }
    if let Some(slice) = finding.slice {
        properties.insert("slice".into(), slice.into());
    }
    if !properties.is_empty() {
        result["properties"] = properties.into();
    }
    result
}

/// A path as a relative reference, or as a `file` URI where it is absolute.
fn uri(path: &Path) -> String {
    let mut text = String::new();
    if path.is_absolute() {
        text.push_str("file://");
    }
    for byte in path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/").bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
        if plain {
            text.push(byte.into());
        } else {
            text += &format!("%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri(Path::new("out/a b/#1.log")), "out/a%20b/%231.log");
        assert_eq!(uri(Path::new("/runs/ä")), "file:///runs/%C3%A4");
    }
}
