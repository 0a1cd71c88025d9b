//! What every command keeps to when it writes a file.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::{Ran, clockweave, names, run};
use crate::fixture::{self, RAW_TRACE};

fn recover(input: impl AsRef<OsStr>, output: impl AsRef<OsStr>, force: bool) -> Ran {
    let mut args: Vec<OsString> =
        vec!["recover".into(), input.as_ref().into(), "-o".into(), output.as_ref().into()];
    args.extend(force.then(|| "--force".into()));
    run(args)
}

#[test]
fn an_existing_output_is_replaced_only_on_request() {
    let place = tempfile::tempdir().unwrap();
    let (input, out) = (place.path().join("in"), place.path().join("out"));
    fs::write(&input, RAW_TRACE).unwrap();
    fs::write(&out, "old").unwrap();
    recover(&input, &out, false).expect(2, &["out: the file exists; pass --force"]);
    assert_eq!(fs::read(&out).unwrap(), b"old");
    recover(&input, &out, true).expect(0, &[]);
    assert_eq!(fs::read(&out).unwrap(), RAW_TRACE);
    assert_eq!(names(place.path()), ["in", "out"]);
}

#[test]
fn a_failed_command_leaves_the_old_file() {
    let place = tempfile::tempdir().unwrap();
    let (input, out) = (place.path().join("in"), place.path().join("out"));
    fs::write(&input, "no trace").unwrap();
    fs::write(&out, "old").unwrap();
    recover(&input, &out, true).expect(2, &[]);
    assert_eq!(fs::read(&out).unwrap(), b"old");
    assert_eq!(names(place.path()), ["in", "out"]);
}

#[cfg(unix)]
#[test]
fn no_input_is_ever_the_output_through_links_either() {
    let place = tempfile::tempdir().unwrap();
    let input = place.path().join("in");
    fs::write(&input, RAW_TRACE).unwrap();
    let (soft, hard, folder) =
        (place.path().join("soft"), place.path().join("hard"), place.path().join("folder"));
    std::os::unix::fs::symlink(&input, &soft).unwrap();
    fs::hard_link(&input, &hard).unwrap();
    std::os::unix::fs::symlink(place.path(), &folder).unwrap();
    for output in [&input, &soft, &hard, &folder.join("in"), &place.path().join("./in")] {
        recover(&input, output, true).expect(2, &["same file as the input"]);
        recover(&soft, output, true).expect(2, &["same file as the input"]);
        assert_eq!(fs::read(&input).unwrap(), RAW_TRACE);
    }
    // Redirected: stdin is the output, or stdout the input.
    let stdin = File::open(&input).unwrap();
    let ran = clockweave().args(["recover", "-", "--force", "-o"]).arg(&hard).stdin(stdin).output().unwrap();
    Ran::from(ran).expect(2, &["same file as the input"]);
    let appended = File::options().append(true).open(&input).unwrap();
    let ran = clockweave().arg("recover").arg(&input).args(["-o", "-"]).stdout(appended).output().unwrap();
    Ran::from(ran).expect(2, &["same file as the input"]);
    assert_eq!(fs::read(&input).unwrap(), RAW_TRACE);

    let dir = place.path().join("run");
    fixture::run(&dir);
    for file in ["clock-manifest.json", "text-domain-sm.log"] {
        let linked = place.path().join(format!("linked-{file}"));
        fs::hard_link(dir.join(file), &linked).unwrap();
        let args = [
            OsStr::new("merge"),
            dir.as_os_str(),
            OsStr::new("--force"),
            OsStr::new("-o"),
            linked.as_os_str(),
        ];
        run(args).expect(2, &["same file as the input"]);
    }
}

#[cfg(unix)]
#[test]
fn links_to_other_files_are_written_through() {
    let place = tempfile::tempdir().unwrap();
    let (input, target, link) =
        (place.path().join("in"), place.path().join("target"), place.path().join("link"));
    fs::write(&input, RAW_TRACE).unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    recover(&input, &link, true).expect(2, &["link", "points to nothing"]);
    fs::write(&target, "old").unwrap();
    recover(&input, &link, false).expect(2, &["exists"]);
    recover(&input, &link, true).expect(0, &[]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&target).unwrap(), RAW_TRACE);
}

#[test]
fn folders_and_missing_folders_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let input = place.path().join("in");
    fs::write(&input, RAW_TRACE).unwrap();
    recover(&input, place.path(), true).expect(2, &["found a folder"]);
    recover(&input, place.path().join("no/such/out"), false).expect(2, &["no/such/out"]);
}

#[cfg(target_os = "linux")]
#[test]
fn devices_are_written_as_they_are() {
    use std::os::unix::fs::FileTypeExt;
    let place = tempfile::tempdir().unwrap();
    let input = place.path().join("in");
    fs::write(&input, RAW_TRACE).unwrap();
    recover(&input, "/dev/null", false).expect(0, &[]);
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let full = recover(&input, "/dev/full", false).expect(3, &["/dev/full", "No space left"]);
    assert_eq!(full.stderr.matches("No space left").count(), 1, "{}", full.stderr);
}

#[test]
fn paths_may_hold_spaces_and_any_letters() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("ein Lauf – 実行 1");
    fixture::run(&dir);
    let out = dir.join("merged – всё.tsv");
    let args = [OsStr::new("merge"), dir.as_os_str(), OsStr::new("-o"), out.as_os_str()];
    run(args).expect(0, &["ein Lauf – 実行 1/merged – всё.tsv"]);
    assert_eq!(fs::read_to_string(&out).unwrap(), fixture::MERGED);
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_text_work_too() {
    use std::os::unix::ffi::OsStrExt;
    let place = tempfile::tempdir().unwrap();
    let (input, out) =
        (place.path().join(OsStr::from_bytes(b"in\xff")), place.path().join(OsStr::from_bytes(b"out\xff")));
    fs::write(&input, RAW_TRACE).unwrap();
    recover(&input, &out, false).expect(0, &[]);
    assert_eq!(fs::read(&out).unwrap(), RAW_TRACE);
}

#[cfg(unix)]
#[test]
fn new_files_have_the_permissions_of_new_files() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    let (input, out) = (place.path().join("in"), place.path().join("out"));
    fs::write(&input, RAW_TRACE).unwrap();
    recover(&input, &out, false).expect(0, &[]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&out), mode(&input));
}

/// Runs the binary as a user who is not root, so that permissions count.
#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_the_environments_fault() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let (input, folder) = (place.path().join("in"), place.path().join("folder"));
    fs::write(&input, RAW_TRACE).unwrap();
    fs::create_dir(&folder).unwrap();
    let binary = place.path().join("clockweave");
    fs::copy(env!("CARGO_BIN_EXE_clockweave"), &binary).unwrap();
    let mut command = Command::new(&binary);
    if fs::metadata(&input).unwrap().uid() == 0 {
        command.uid(65_534).gid(65_534);
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    let ran = command.arg("recover").arg(&input).arg("-o").arg(folder.join("out")).output().unwrap();
    Ran::from(ran).expect(3, &["folder/out", "ermission denied"]);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(names(&folder), Vec::<String>::new());
}

/// Runs the binary under a limit on file sizes.
#[cfg(unix)]
fn limited(args: &[&OsStr]) -> Ran {
    // Without the trap the limit kills the process before it can tell.
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_clockweave")]).args(args);
    command.output().unwrap().into()
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_the_environments_fault_and_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    fixture::long_run(&dir, 4000, true);
    let out = place.path().join("out.tsv");
    let args = [OsStr::new("merge"), dir.as_os_str(), OsStr::new("-o"), out.as_os_str()];
    limited(&args).expect(3, &["out.tsv", "writing the merged log"]);
    fs::write(&out, "old").unwrap();
    limited(&[&args[..], &[OsStr::new("--force")]].concat()).expect(3, &["out.tsv"]);
    assert_eq!(fs::read(&out).unwrap(), b"old");
    // A recording keeps what it could write.
    let recording = place.path().join("recording");
    let args = [OsStr::new("record"), OsStr::new("fifo"), OsStr::new("-o"), recording.as_os_str()];
    limited(&args).expect(3, &["recording", "until then is in"]);
    fs::remove_dir_all(&recording).unwrap();
    // The same for the files that sorting needs.
    let (unordered, scratch) = (place.path().join("unordered"), place.path().join("scratch"));
    fixture::long_run(&unordered, 40_000, false);
    fs::create_dir(&scratch).unwrap();
    let memory = ["--memory", "1MiB", "--temp-dir"].map(OsStr::new);
    let sorting =
        [&[OsStr::new("merge"), unordered.as_os_str()], &memory[..], &[scratch.as_os_str()]].concat();
    limited(&sorting).expect(3, &["scratch", "--temp-dir"]);
    assert_eq!(names(&scratch), Vec::<String>::new());
    assert_eq!(names(place.path()), ["out.tsv", "run", "scratch", "unordered"]);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let place = tempfile::tempdir().unwrap();
    fixture::long_run(place.path(), 20_000, true);
    let mut child = clockweave()
        .arg("merge")
        .arg(place.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // More than a pipe holds is still to come when the reader goes.
    let mut reader = BufReader::with_capacity(16, child.stdout.take().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    drop(reader);
    assert!(line.starts_with("time_num\t"));
    let ran = Ran::from(child.wait_with_output().unwrap()).expect(0, &[]);
    assert_eq!(ran.stderr, "");
}
