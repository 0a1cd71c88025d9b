//! `clockweave man` and `clockweave completions`, read by groff and by bash.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::{names, run};
use crate::help::{commands, file_name};

/// What groff makes of a page on 80 columns, without a complaint.
fn rendered(page: &[u8]) -> String {
    let mut groff = Command::new("groff")
        .args(["-ww", "-man", "-Tutf8", "-Kutf8", "-P-cbou", "-rLL=80n"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("groff is there");
    groff.stdin.take().unwrap().write_all(page).unwrap();
    let ran = groff.wait_with_output().unwrap();
    assert!(ran.status.success() && ran.stderr.is_empty(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

/// The long options that a text names at the beginning of a line.
fn options(text: &str) -> BTreeSet<&str> {
    let starts = text.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let words = starts.flat_map(|line| line.split([' ', ',']).take(3));
    words.filter(|word| word.starts_with("--")).collect()
}

#[test]
fn every_command_has_a_page_that_names_its_options() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("man1");
    let write = |more: &[&str]| run([&["man", "-o", folder.to_str().unwrap()], more].concat());
    let commands = commands();
    write(&[]).expect(0, &[&format!("wrote {} pages", commands.len())]);
    let page_of = |command: &str| match command {
        "" => "clockweave.1".to_owned(),
        command => format!("clockweave-{}.1", file_name(command)),
    };
    let expected: BTreeSet<String> = commands.iter().map(|command| page_of(command)).collect();
    assert_eq!(names(&folder).into_iter().collect::<BTreeSet<_>>(), expected);
    for command in &commands {
        let page = fs::read(folder.join(page_of(command))).unwrap();
        let printed = run(["man"].into_iter().chain(command.split_whitespace())).expect(0, &[]);
        assert!(printed.stdout == page, "{command}: printed and written pages differ");
        let text = rendered(&page);
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{command}: {line:?} is wider than 80 columns");
        }
        let help = run(command.split_whitespace().chain(["--help"])).expect(0, &[]);
        let (found, expected) = (options(&text), options(help.text()));
        assert!(expected.contains("--quiet"), "{expected:?}");
        assert_eq!(found, expected, "`{command}`");
    }
    // Paragraphs are justified, examples keep their lines.
    let merge = rendered(&fs::read(folder.join("clockweave-merge.1")).unwrap());
    assert!(merge.contains("\n         clockweave merge out/fifo -o fifo.tsv\n"), "{merge}");
    let words = merge.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["NAME clockweave-merge - Merge the per-clock logs of", "NOTES Columns: time_num time_den ts"]
    {
        assert!(words.contains(part), "{merge}");
    }
    // Never replaced unasked, and then as a whole.
    write(&[]).expect(2, &["--force"]);
    write(&["--force"]).expect(0, &[]);
    run(["man", "engine", "instal"]).expect(2, &["`instal` of `clockweave engine`", "status, install, path"]);
    run(["man", "--force"]).expect(2, &["--output"]);
}

#[test]
fn a_folder_that_is_a_file_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    run([OsStr::new("man"), OsStr::new("-o"), file.as_os_str()])
        .expect(2, &["file: found a file, expected a folder"]);
}

/// What bash offers after `words`, the last of which is unfinished.
fn offered(script: &Path, words: &[&str]) -> BTreeSet<String> {
    let complete = "source \"$1\"; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1))\n\
        _clockweave clockweave \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD - 1]}\"\n\
        printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    let ran = bash.args(["-c", complete, "bash"]).arg(script).arg("clockweave").args(words).output().unwrap();
    assert!(ran.status.success() && ran.stderr.is_empty(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_values() {
    let place = tempfile::tempdir().unwrap();
    let script = place.path().join("clockweave.bash");
    fs::write(&script, run(["completions", "bash"]).expect(0, &[]).stdout).unwrap();
    let set = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(offered(&script, &["rec"]), set(&["record", "recover"]));
    assert_eq!(offered(&script, &["merge", "--on"]), set(&["--on-error"]));
    assert_eq!(offered(&script, &["merge", "--on-error", ""]), set(&["halt", "skip", "collect"]));
    assert_eq!(offered(&script, &["engine", "st"]), set(&["status"]));
    assert_eq!(offered(&script, &["recover", "--un"]), set(&["--unwrap"]));
}

#[test]
fn every_shell_has_a_script_that_names_every_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = run(["completions", shell]).expect(0, &[]);
        for command in commands() {
            for word in command.split_whitespace() {
                assert!(ran.text().contains(word), "{shell}: {command}");
            }
        }
    }
    run(["completions", "csh"]).expect(2, &["bash"]);
}
