//! Help texts, kept as files beside this one.

use std::fs;
use std::path::Path;

use crate::command::run;

const COMMANDS: &[&str] = &[
    "",
    "record",
    "scenarios",
    "merge",
    "recover",
    "inspect",
    "diff",
    "validate",
    "engine",
    "engine status",
    "engine install",
    "engine path",
    "runqueue",
    "runqueue mutants",
    "runqueue explore",
    "runqueue replay",
    "runqueue shrink",
];

#[test]
fn help_reads_well_on_eighty_columns() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/help");
    let updating = std::env::var_os("UPDATE_GOLDEN").is_some();
    assert!(!(updating && std::env::var_os("CI").is_some()), "golden files are not updated in CI");
    for command in COMMANDS {
        let ran = run(command.split_whitespace().chain(["--help"])).expect(0, &[]);
        let found = ran.text();
        for line in found.lines() {
            assert!(line.chars().count() <= 80, "{command}: {line:?} is wider than 80 columns");
            assert_eq!(line, line.trim_end(), "{command}: trailing spaces");
        }
        let name = if command.is_empty() { "clockweave".to_owned() } else { command.replace(' ', "-") };
        let golden = folder.join(format!("{name}.txt"));
        if updating {
            fs::write(&golden, found).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(found, expected, "`clockweave {command} --help` changed; UPDATE_GOLDEN=1 accepts it");
    }
}
