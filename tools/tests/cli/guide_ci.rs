//! `docs/guide-ci.md`: its commands do what it says, and what it gives to copy can be read.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_yaml_ng::Value;

use crate::guides::{bash, docs, of};

const GUIDE: &str = "guide-ci.md";

#[test]
fn the_commands_of_the_guide_turn_a_build_green_and_red() {
    let place = tempfile::tempdir().unwrap();
    let steps = of(GUIDE, "sh");
    let outputs: Vec<Output> =
        steps.iter().map(|step| bash(place.path(), &["-euo", "pipefail"], step)).collect();
    let codes: Vec<_> = outputs.iter().map(|output| output.status.code()).collect();
    assert_eq!(codes, [Some(0), Some(1), Some(0)], "{outputs:?}");
    let red = String::from_utf8_lossy(&outputs[1].stdout).into_owned();
    let shown = of(GUIDE, "text").concat();
    for line in shown.lines() {
        assert!(red.lines().any(|found| found == line), "the guide shows {line:?}, found\n{red}");
    }
    assert!(shown.contains("FAILED"), "the guide shows a finding");
}

/// Every text that a shell runs: `run` and the items of `script` and `before_script`.
fn scripts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Mapping(fields) => {
            for (key, field) in fields {
                match (key.as_str(), field) {
                    (Some("run"), Value::String(text)) => found.push(text.clone()),
                    (Some("script" | "before_script"), Value::Sequence(lines)) => {
                        found.extend(lines.iter().map(|line| line.as_str().expect("a line").to_owned()));
                    }
                    _ => scripts(field, found),
                }
            }
        }
        Value::Sequence(items) => items.iter().for_each(|item| scripts(item, found)),
        _ => {}
    }
}

#[test]
fn what_is_to_be_copied_is_yaml_with_scripts_that_bash_takes() {
    let read = |name: &str| fs::read_to_string(docs().join("ci").join(name)).unwrap();
    let mut found = Vec::new();
    let action: Value = serde_yaml_ng::from_str(&read("action.yml")).unwrap();
    assert_eq!(action["runs"]["using"].as_str(), Some("composite"));
    for step in action["runs"]["steps"].as_sequence().unwrap() {
        // GitHub refuses a composite step that runs something without naming the shell.
        assert!(step.get("uses").is_some() || step["shell"].as_str() == Some("bash"), "{step:?}");
    }
    scripts(&action, &mut found);
    scripts(&serde_yaml_ng::from_str(&read("gitlab.yml")).unwrap(), &mut found);
    for block in of(GUIDE, "yaml") {
        serde_yaml_ng::from_str::<Value>(&block).unwrap();
    }
    assert_eq!(found.len(), 6);
    found.extend(of(GUIDE, "sh"));
    for script in &found {
        let checked = bash(Path::new("/"), &["-n"], script);
        assert!(checked.status.success() && checked.stderr.is_empty(), "{script}: {checked:?}");
    }
    assert!(!bash(Path::new("/"), &["-n"], "if true; then").status.success());
    // Every option that they use exists.
    let help = crate::command::run(["validate", "--help"]).expect(0, &[]);
    let words = found
        .iter()
        .filter(|text| text.contains("clockweave validate"))
        .flat_map(|text| text.split_whitespace());
    for option in words.filter(|word| word.starts_with("--") && *word != "--batches") {
        assert!(help.text().contains(option), "{option}");
    }
}
