//! `docs/guide-offline.md`: its commands do what it says, and what it shows is what they print.

use crate::guides::{bash, blocks};

#[test]
fn the_commands_of_the_guide_print_what_it_shows() {
    let place = tempfile::tempdir().unwrap();
    // Where the guide says 2 (a wrong line) and 1 (skipped lines, a difference, an assertion, a cut, a hole).
    let expected = [0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 1, 0, 1, 0, 1, 1, 1];
    let (mut codes, mut printed) = (Vec::new(), String::new());
    for (language, text) in blocks("guide-offline.md") {
        if language == "sh" {
            let ran = bash(place.path(), &["-euo", "pipefail"], &text);
            codes.push(ran.status.code().unwrap());
            let both = [ran.stdout, ran.stderr].concat();
            printed = String::from_utf8(both).unwrap();
        } else {
            for line in text.lines() {
                assert!(
                    printed.lines().any(|found| found == line),
                    "the guide shows {line:?}, found\n{printed}"
                );
            }
        }
    }
    assert_eq!(codes, expected);
}
