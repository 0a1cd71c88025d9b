//! Help texts, kept as files beside this one.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::command::{names, run};

/// Every command, the words after `clockweave` joined by spaces, as `--help` lists them.
pub(crate) fn commands() -> Vec<String> {
    let (mut found, mut at) = (vec![String::new()], 0);
    while let Some(command) = found.get(at).cloned() {
        let ran = run(command.split_whitespace().chain(["--help"])).expect(0, &[]);
        let listed = ran.text().lines().skip_while(|line| *line != "Commands:").skip(1);
        for line in listed.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("     ")) {
            let name = line.split_whitespace().next().unwrap();
            if name != "help" {
                found.push(format!("{command} {name}").trim_start().to_owned());
            }
        }
        at += 1;
    }
    found
}

/// What a file about `command` is called.
pub(crate) fn file_name(command: &str) -> String {
    if command.is_empty() { "clockweave".to_owned() } else { command.replace(' ', "-") }
}

#[test]
fn help_reads_well_on_eighty_columns() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/help");
    let updating = std::env::var_os("UPDATE_GOLDEN").is_some();
    assert!(!(updating && std::env::var_os("CI").is_some()), "golden files are not updated in CI");
    let commands = commands();
    for command in &commands {
        let ran = run(command.split_whitespace().chain(["--help"])).expect(0, &[]);
        let found = ran.text();
        for line in found.lines() {
            assert!(line.chars().count() <= 80, "{command}: {line:?} is wider than 80 columns");
            assert_eq!(line, line.trim_end(), "{command}: trailing spaces");
        }
        let golden = folder.join(format!("{}.txt", file_name(command)));
        if updating {
            fs::write(&golden, found).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(found, expected, "`clockweave {command} --help` changed; UPDATE_GOLDEN=1 accepts it");
    }
    let texts: BTreeSet<String> = commands.iter().map(|command| file_name(command) + ".txt").collect();
    assert_eq!(texts, names(&folder).into_iter().collect(), "a text per command and no other");
}
