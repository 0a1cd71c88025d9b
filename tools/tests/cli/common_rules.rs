//! What every offline command keeps to, whatever it writes: one table of commands, one test per rule.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::command::{Ran, clockweave, names, run};
use crate::fixture;
use crate::record::record;

/// Commands that write a file; `RUN` stands for a run directory, `TRACE` for a trace.
pub(crate) const WRITERS: [&[&str]; if cfg!(feature = "parquet") { 12 } else { 11 }] = [
    &["merge", "RUN"],
    &["merge", "RUN", "--format", "csv"],
    &["merge", "RUN", "--format", "jsonl"],
    &["merge", "RUN", "--format", "sqlite"],
    &["merge", "RUN", "--format", "pftrace"],
    #[cfg(feature = "parquet")]
    &["merge", "RUN", "--format", "parquet"],
    &["recover", "TRACE"],
    &["recover", "TRACE", "--unwrap"],
    &["recover", "TRACE", "--salvage"],
    &["report", "TRACE", "--csv"],
    &["report", "TRACE", "--json"],
    &["report", "TRACE", "--svg"],
];

/// Commands whose data goes to stdout.
const PRINTERS: [&[&str]; 15] = [
    &["merge", "RUN"],
    &["merge", "RUN", "--format", "csv"],
    &["merge", "RUN", "--format", "jsonl"],
    &["merge", "RUN", "--format", "pftrace"],
    &["recover", "TRACE", "-o", "-"],
    &["recover", "TRACE", "-o", "-", "--unwrap"],
    &["recover", "TRACE", "-o", "-", "--salvage"],
    &["inspect", "TRACE"],
    &["inspect", "TRACE", "--lint", "--json"],
    &["diff", "RUN", "RUN"],
    &["diff", "TRACE", "TRACE", "--json"],
    &["report", "RUN"],
    &["report", "TRACE", "--csv"],
    &["report", "TRACE", "--json", "--transaction", "1"],
    &["man", "merge"],
];

/// A folder with the inputs of the commands above, and one for temporary files.
pub(crate) struct Place {
    _folder: TempDir,
    pub(crate) path: PathBuf,
    pub(crate) run: PathBuf,
    pub(crate) trace: PathBuf,
    pub(crate) scratch: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::named("run", "in.pftrace")
    }

    fn named(run: &str, trace: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("place");
        let place = Self {
            run: path.join(run),
            trace: path.join(trace),
            scratch: folder.path().join("scratch"),
            path,
            _folder: folder,
        };
        fs::create_dir(&place.path).unwrap();
        fs::create_dir(&place.scratch).unwrap();
        fixture::long_run(&place.run, 2000, true);
        let recorded = place.scratch.join("recorded");
        record("fifo", &recorded, &["--batches", "300", "--compress", "none"]).expect(0, &[]);
        fs::rename(recorded.join("timeline.pftrace"), &place.trace).unwrap();
        fs::remove_dir_all(&recorded).unwrap();
        place
    }

    /// The words of `command` with the inputs in their places.
    pub(crate) fn words(&self, command: &[&str]) -> Vec<OsString> {
        let word = |word: &&str| match *word {
            "RUN" => self.run.clone().into(),
            "TRACE" => self.trace.clone().into(),
            other => other.into(),
        };
        let mut words: Vec<OsString> = command.iter().map(word).collect();
        if matches!(command[0], "merge" | "diff" | "report") {
            words.extend(["--temp-dir".into(), self.scratch.clone().into()]);
        }
        words
    }

    /// Runs `command` with its output at `output`.
    fn write(&self, command: &[&str], output: &Path, more: &[&str]) -> Ran {
        let output = [OsString::from("-o"), output.into()];
        let more = more.iter().map(OsString::from);
        run(self.words(command).into_iter().chain(output).chain(more))
    }

    /// A file that `command` reads.
    fn input(&self, command: &[&str]) -> PathBuf {
        if command.contains(&"TRACE") { self.trace.clone() } else { self.run.join("text-domain-sm.log") }
    }

    /// Asserts that the inputs and `more` are all there is.
    #[track_caller]
    pub(crate) fn holds(&self, more: &[&str], context: &[&str]) {
        let mut expected: Vec<String> = more.iter().map(|name| (*name).to_owned()).collect();
        expected
            .extend([&self.run, &self.trace].map(|path| path.file_name().unwrap().to_string_lossy().into()));
        expected.sort();
        assert_eq!(names(&self.path), expected, "{context:?}");
        assert_eq!(names(&self.scratch), Vec::<String>::new(), "{context:?}: temporary files");
        let logs = ["clock-manifest.json", "text-domain-lts.log", "text-domain-sm.log"];
        assert_eq!(names(&self.run), logs, "{context:?}");
    }
}

#[test]
fn an_existing_output_is_replaced_only_on_request_and_by_the_whole_output() {
    let place = Place::new();
    let out = place.path.join("out");
    for command in WRITERS {
        place.write(command, &out, &[]).expect(0, &[]);
        let written = fs::read(&out).unwrap();
        assert!(!written.is_empty());
        fs::write(&out, "old").unwrap();
        place.write(command, &out, &[]).expect(2, &["out: the file exists; pass --force"]);
        assert_eq!(fs::read(&out).unwrap(), b"old", "{command:?}");
        place.write(command, &out, &["--force"]).expect(0, &[]);
        assert!(fs::read(&out).unwrap() == written, "{command:?}: the same input gives the same bytes");
        place.holds(&["out"], command);
        fs::remove_file(&out).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn no_input_is_ever_the_output_through_links_either() {
    for command in WRITERS {
        let place = Place::new();
        let (input, links) = (place.input(command), place.scratch.join("links"));
        let before = fs::read(&input).unwrap();
        fs::create_dir(&links).unwrap();
        let (soft, hard, folder) = (links.join("soft"), links.join("hard"), links.join("folder"));
        std::os::unix::fs::symlink(&input, &soft).unwrap();
        fs::hard_link(&input, &hard).unwrap();
        std::os::unix::fs::symlink(input.parent().unwrap(), &folder).unwrap();
        let through = folder.join(input.file_name().unwrap());
        for output in [&input, &soft, &hard, &through] {
            place.write(command, output, &["--force"]).expect(2, &["same file as the input"]);
        }
        assert!(fs::read(&input).unwrap() == before, "{command:?}");
        fs::remove_dir_all(&links).unwrap();
        place.holds(&[], command);
    }
}

#[test]
fn a_refused_input_leaves_the_old_file() {
    let place = Place::new();
    let out = place.path.join("out");
    fs::write(&out, "old").unwrap();
    fs::write(&place.trace, "no trace").unwrap();
    let log = place.run.join("text-domain-sm.log");
    fs::write(&log, fs::read_to_string(&log).unwrap() + "nonsense\n").unwrap();
    for command in WRITERS {
        place.write(command, &out, &["--force"]).expect(2, &[]);
        assert_eq!(fs::read(&out).unwrap(), b"old", "{command:?}");
        place.holds(&["out"], command);
    }
}

#[test]
fn paths_may_hold_spaces_and_any_letters() {
    let place = Place::named("ein Lauf – 実行 1", "до и после.pftrace");
    let out = place.path.join("-merged – всё");
    for command in WRITERS {
        place.write(command, &out, &[]).expect(0, &[]);
        place.write(command, &out, &[]).expect(2, &["/-merged – всё: the file exists"]);
        assert!(fs::metadata(&out).unwrap().len() > 1000);
        fs::remove_file(&out).unwrap();
        place.holds(&[], command);
    }
    for command in PRINTERS {
        let ran = run(place.words(command)).expect(0, &[]);
        assert!(!ran.stdout.is_empty(), "{command:?}");
    }
    fs::write(&place.trace, "no trace").unwrap();
    run(place.words(&["inspect", "TRACE"])).expect(2, &["до и после.pftrace: found no complete packet"]);
    run(place.words(&["diff", "RUN", "TRACE"])).expect(2, &["до и после.pftrace: found a file"]);
}

/// Runs the binary under a limit on file sizes.
#[cfg(unix)]
fn limited(args: &[OsString]) -> Ran {
    let script = "ulimit -f 8; exec \"$0\" \"$@\"";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_clockweave")]).args(args);
    command.output().unwrap().into()
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_the_environments_fault_and_leaves_the_old_file_or_none() {
    let place = Place::new();
    let out = place.path.join("out");
    for command in WRITERS {
        let words = [place.words(command), vec!["-o".into(), out.clone().into(), "--force".into()]].concat();
        let ran = limited(&words).expect(3, &["error: "]);
        assert!(ran.stderr.contains("out") || ran.stderr.contains("--temp-dir"), "{}", ran.stderr);
        place.holds(&[], command);
        fs::write(&out, "old").unwrap();
        limited(&words).expect(3, &[]);
        assert_eq!(fs::read(&out).unwrap(), b"old", "{command:?}");
        place.holds(&["out"], command);
        fs::remove_file(&out).unwrap();
    }
    // A recording grows in place: what was written stays.
    let run = place.path.join("limited");
    let words = ["record", "fifo", "-o"].map(OsString::from).into_iter().chain([run.clone().into()]);
    limited(&words.collect::<Vec<_>>()).expect(3, &["File too large", "limited"]);
    fs::remove_dir_all(run).unwrap();
    // A side of a comparison that is a trace, and logs that have to be sorted, need temporary files.
    limited(&place.words(&["diff", "TRACE", "TRACE"])).expect(3, &["scratch", "--temp-dir"]);
    place.holds(&[], &["diff"]);
    fixture::long_run(&place.run, 40_000, false);
    limited(&place.words(&["merge", "RUN", "--memory", "1MiB"])).expect(3, &["scratch", "--temp-dir"]);
    place.holds(&[], &["merge"]);
    // A recording keeps what it could write.
    let recording = place.path.join("recording");
    let args = [OsStr::new("record"), OsStr::new("fifo"), OsStr::new("-o"), recording.as_os_str()];
    limited(&args.map(OsStr::to_owned)).expect(3, &["recording", "until then is in"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_is_the_environments_fault() {
    let place = Place::new();
    for command in PRINTERS {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let ran = Ran::from(clockweave().args(place.words(command)).stdout(full).output().unwrap());
        let ran = ran.expect(3, &["stdout: ", "No space left"]);
        assert_eq!(ran.stderr.matches("No space left").count(), 1, "{command:?}: {}", ran.stderr);
        place.holds(&[], command);
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let place = Place::new();
    for command in PRINTERS {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let ran = Ran::from(clockweave().args(place.words(command)).stdout(writer).output().unwrap());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{command:?}");
        place.holds(&[], command);
    }
}

/// Runs the binary as a user who is not root, so that permissions count.
#[cfg(unix)]
#[test]
fn what_may_not_be_read_or_written_is_the_environments_fault() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    let place = Place::new();
    let mode = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let above = place.path.parent().unwrap();
    let binary = above.join("clockweave");
    fs::copy(env!("CARGO_BIN_EXE_clockweave"), &binary).unwrap();
    mode(above, 0o755);
    let refused = |words: Vec<OsString>, named: &str| {
        let mut command = std::process::Command::new(&binary);
        if fs::metadata(&binary).unwrap().uid() == 0 {
            command.uid(65_534).gid(65_534);
        }
        command.args(words);
        let ran = loop {
            match command.output() {
                // Another test starts a program and holds for a moment what was open for writing.
                Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
                ran => break Ran::from(ran.unwrap()),
            }
        };
        ran.expect(3, &[named, "ermission denied"]);
    };
    let folder = place.path.join("folder");
    fs::create_dir(&folder).unwrap();
    mode(&folder, 0o555);
    mode(&place.scratch, 0o777);
    let to = |command: &[&str], output: &Path| {
        [place.words(command), vec!["-o".into(), output.into(), "--force".into()]].concat()
    };
    for command in WRITERS {
        refused(to(command, &folder.join("out")), "folder/out");
        assert_eq!(names(&folder), Vec::<String>::new());
    }
    mode(&folder, 0o777);
    // Temporary files.
    mode(&place.scratch, 0o555);
    refused(to(&["merge", "RUN", "--format", "pftrace"], &folder.join("out")), "--temp-dir");
    refused(place.words(&["diff", "TRACE", "TRACE"]), "scratch");
    assert_eq!(names(&folder), Vec::<String>::new());
    mode(&place.scratch, 0o777);
    // Inputs.
    mode(&place.trace, 0o000);
    mode(&place.run.join("text-domain-sm.log"), 0o000);
    for command in WRITERS {
        let named = if command[0] == "merge" { "text-domain-sm.log" } else { "in.pftrace" };
        refused(to(command, &folder.join("out")), named);
        assert_eq!(names(&folder), Vec::<String>::new());
    }
    refused(place.words(&["inspect", "TRACE"]), "in.pftrace");
    refused(place.words(&["diff", "RUN", "TRACE"]), "in.pftrace");
}
