//! `clockweave open`: what its server gives and refuses, and the page in a real browser.
#![cfg(unix)]

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use clockweave::open::{Browser, find_browser};

use crate::command::{Ran, clockweave, names, run};
use crate::fixture;
use crate::record::record;

/// `clockweave open --no-browser`, serving.
struct Serving {
    child: Child,
    /// The address it printed.
    page: String,
    _stdout: BufReader<ChildStdout>,
}

impl Serving {
    fn new(trace: &Path, more: &[&str], temp: &Path) -> Self {
        let mut command = clockweave();
        command.arg("open").arg(trace).arg("--no-browser").args(more).env("TMPDIR", temp);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut page = String::new();
        stdout.read_line(&mut page).unwrap();
        if page.is_empty() {
            let ran = Ran::from(child.wait_with_output().unwrap());
            panic!("it serves nothing: {ran:?}");
        }
        Self { child, page: page.trim_end().to_owned(), _stdout: stdout }
    }

    fn port(&self) -> u16 {
        let rest = self.page.strip_prefix("http://127.0.0.1:").unwrap();
        rest.split('/').next().unwrap().parse().unwrap()
    }

    /// The path of the trace.
    fn trace(&self) -> &str {
        let url = self.page.split("url=").nth(1).unwrap().split('&').next().unwrap();
        &url[url.find("/trace/").unwrap()..]
    }

    /// The answer to a request with these lines before the empty one.
    fn ask(&self, lines: &[&str]) -> (String, Vec<u8>) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port())).unwrap();
        let request = lines.join("\r\n") + "\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let head = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        (String::from_utf8(answer[..head].to_vec()).unwrap(), answer[head + 4..].to_vec())
    }

    fn get(&self, path: &str) -> (String, Vec<u8>) {
        let host = format!("Host: 127.0.0.1:{}", self.port());
        self.ask(&[&format!("GET {path} HTTP/1.1"), &host])
    }

    /// Ends it as Ctrl-C does.
    fn interrupt(mut self) -> Ran {
        send("-INT", self.child.id());
        let child = std::mem::replace(&mut self.child, Command::new("true").spawn().unwrap());
        child.wait_with_output().unwrap().into()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn send(signal: &str, process: u32) {
    assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
}

/// Processes whose command line holds `word`.
fn processes(word: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(line) = fs::read(entry.path().join("cmdline")) else { continue };
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(word) && entry.file_name().to_string_lossy().parse::<u32>().is_ok() {
            found.push(line);
        }
    }
    found
}

/// A run of the built-in `three-clocks` and a folder for temporary files.
struct Recorded {
    place: tempfile::TempDir,
    dir: PathBuf,
    temp: PathBuf,
}

impl Recorded {
    fn new(options: &[&str]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let (dir, temp) = (place.path().join("run"), place.path().join("temp"));
        fs::create_dir(&temp).unwrap();
        record("three-clocks", &dir, options).expect(0, &[]);
        Self { place, dir, temp }
    }
}

fn status(answer: &(String, Vec<u8>)) -> &str {
    answer.0.split(' ').nth(1).unwrap()
}

/// The program that opens addresses for the user is given the page, which is served until Ctrl-C.
#[test]
fn the_users_own_browser_is_given_the_page() {
    let run = Recorded::new(&[]);
    let (programs, given) = (run.place.path().join("programs"), run.place.path().join("given"));
    fs::create_dir(&programs).unwrap();
    // Written by another process: one that tests start may hold open for a moment what this one writes.
    let write = "printf '#!/bin/sh\\nprintf %%s \"$1\" > \"$GIVEN.part\" && mv \"$GIVEN.part\" \"$GIVEN\"\\n' > \"$0\" && chmod 700 \"$0\"";
    let written = Command::new("sh").args(["-c", write]).arg(programs.join("xdg-open")).status().unwrap();
    assert!(written.success());
    let path = std::env::join_paths(
        [programs].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut command = clockweave();
    command
        .arg("open")
        .arg(&run.dir)
        .env("TMPDIR", &run.temp)
        .env("PATH", path.unwrap())
        .env("GIVEN", &given);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while !given.exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it had started a browser");
        // Not a timing: or a browser that is never started would be waited for for ever.
        assert!(started.elapsed() < Duration::from_secs(300), "it starts no browser");
        std::thread::yield_now();
    }
    let (page, stdout) = (fs::read_to_string(&given).unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let serving = Serving { child, page: page.clone(), _stdout: stdout };
    assert!(serving.get(serving.trace()).1 == fs::read(run.dir.join("timeline.pftrace")).unwrap());
    serving.interrupt().expect(130, &[&format!("is shown at {page}\nCtrl-C ends it\n")]);
}

#[test]
fn without_a_browser_the_address_is_told() {
    let run = Recorded::new(&[]);
    let mut command = clockweave();
    command.arg("open").arg(&run.dir).env("TMPDIR", &run.temp).env("PATH", &run.temp);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut line = || {
        let mut line = String::new();
        told.read_line(&mut line).unwrap();
        line
    };
    let (first, second, third) = (line(), line(), line());
    let page = first.trim_end().split("is shown at ").nth(1).unwrap().to_owned();
    assert_eq!(second, "Ctrl-C ends it\n");
    assert!(third.contains("no browser could be started (No such file or directory"), "{third}");
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let serving = Serving { child, page, _stdout: stdout };
    assert_eq!(status(&serving.get("/")), "200");
    assert_eq!(serving.interrupt().code, Some(130));
}

#[test]
fn the_trace_and_the_ui_are_served_and_nothing_else_to_nobody_else() {
    let run = Recorded::new(&[]);
    let serving = Serving::new(&run.dir, &[], &run.temp);
    let page = serving.get("/");
    assert_eq!(status(&page), "200");
    assert!(String::from_utf8_lossy(&page.1).contains("<title>Perfetto UI</title>"));
    let policy = page.0.lines().find(|line| line.starts_with("Content-Security-Policy: ")).unwrap();
    let directives: Vec<&str> =
        policy["Content-Security-Policy: ".len()..].split("; ").map(str::trim).collect();
    // The page reaches nobody but its own server.
    assert!(directives.contains(&"default-src 'self'"), "{policy}");
    assert!(directives.contains(&"connect-src 'self' data: blob:"), "{policy}");
    assert!(!policy.contains('*') && !policy.contains("http"), "{policy}");
    assert!(!page.0.to_lowercase().contains("access-control-allow"), "{}", page.0);
    let trace = serving.get(serving.trace());
    assert_eq!(status(&trace), "200");
    assert!(trace.1 == fs::read(run.dir.join("timeline.pftrace")).unwrap());
    let wasm = serving.get("/v52.0-6b9586def/trace_processor.wasm");
    assert!(wasm.0.contains("Content-Type: application/wasm") && wasm.1.starts_with(b"\0asm"), "{}", wasm.0);

    let port = serving.port();
    let own = format!("Host: 127.0.0.1:{port}");
    let get = format!("GET {} HTTP/1.1", serving.trace());
    assert_eq!(status(&serving.ask(&[&get, &format!("Host: localhost:{port}")])), "200");
    for hosts in [
        &["Host: evil.example"][..],
        &["Host: 127.0.0.1"],
        &["Host: 127.0.0.1:1"],
        &[&format!("Host: 127.0.0.1:{port}.evil.example")],
        &[&format!("Host: evil.example:{port}")],
        &[&own, "Host: evil.example"],
        &["Accept: */*"],
    ] {
        let answer = serving.ask(&[&[get.as_str()], hosts].concat());
        assert_eq!(status(&answer), "403", "{hosts:?}");
        assert!(answer.1.len() < 100, "{hosts:?}");
    }
    for path in [
        "/../../../../etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/%2e%2e/LICENSE",
        "/v52.0-6b9586def/../LICENSE",
        "//LICENSE",
        "/etc/passwd",
        "/clock-manifest.json",
        "/trace/",
        "/trace/../run/clock-manifest.json",
        "/trace/other.pftrace",
        "http://127.0.0.1/LICENSE",
    ] {
        assert_eq!(status(&serving.get(path)), "404", "{path}");
    }
    assert_eq!(status(&serving.ask(&["POST / HTTP/1.1", &own, "Content-Length: 0"])), "405");
    let head = serving.ask(&[&format!("HEAD {} HTTP/1.1", serving.trace()), &own]);
    assert!(
        head.0.contains(&format!("Content-Length: {}", trace.1.len())) && head.1.is_empty(),
        "{}",
        head.0
    );
    let ran = serving.interrupt();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(130), ""));
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "the port is free again");
    assert_eq!(names(&run.temp), Vec::<String>::new());
}

#[test]
fn what_the_ui_does_not_read_is_re_encoded_and_temporary() {
    let run = Recorded::new(&["--compress", "zstd"]);
    let trace = run.dir.join("timeline.pftrace");
    let bytes = fs::read(&trace).unwrap();
    let packed = run.place.path().join("a b.pftrace.zst");
    fs::write(&packed, zstd::bulk::compress(&bytes, 1).unwrap()).unwrap();
    let mut served = Vec::new();
    for path in [&trace, &packed] {
        let serving = Serving::new(path, &[], &run.temp);
        let answer = serving.get(serving.trace());
        assert_eq!(status(&answer), "200");
        assert_eq!(names(&run.temp).len(), 1, "the copy that is served");
        served.push(answer.1);
        assert_eq!(serving.interrupt().code, Some(130));
        assert_eq!(names(&run.temp), Vec::<String>::new());
    }
    assert!(served[0] == served[1] && served[0] != bytes);
    // The same events as `diff` sees them.
    let copy = run.place.path().join("copy.pftrace");
    fs::write(&copy, &served[0]).unwrap();
    run_diff(&trace, &copy);
    let inspected = crate::command::run([OsStr::new("inspect"), copy.as_os_str()]).expect(0, &[]);
    assert!(inspected.text().contains("0 zstd wrappers"), "{}", inspected.text());
}

fn run_diff(a: &Path, b: &Path) {
    run([OsStr::new("diff"), a.as_os_str(), b.as_os_str()]).expect(0, &[]);
}

#[test]
fn what_stands_of_a_damaged_trace_is_shown_with_a_warning() {
    let run = Recorded::new(&["--compress", "none"]);
    let trace = run.dir.join("timeline.pftrace");
    let bytes = fs::read(&trace).unwrap();
    fs::write(&trace, &bytes[..bytes.len() - 1]).unwrap();
    let serving = Serving::new(&trace, &[], &run.temp);
    let answer = serving.get(serving.trace());
    assert!(answer.1.len() < bytes.len() - 1 && bytes.starts_with(&answer.1));
    let ran = serving.interrupt();
    assert!(ran.stderr.contains("warning: the trace is damaged at byte "), "{}", ran.stderr);
}

#[test]
fn what_is_no_trace_is_refused() {
    let recorded = Recorded::new(&["--trace", "text"]);
    let (dir, temp) = (&recorded.dir, &recorded.temp);
    let open = |path: &Path, more: &[&str]| {
        run([OsStr::new("open"), path.as_os_str(), OsStr::new("--no-browser")]
            .into_iter()
            .chain(more.iter().map(OsStr::new)))
    };
    open(dir, &[]).expect(2, &["found no timeline.pftrace", "merge --format pftrace"]);
    open(&dir.join("missing"), &[]).expect(2, &["missing"]);
    open(&dir.join("clock-manifest.json"), &[]).expect(2, &["begins with `{", "expected a Perfetto trace"]);
    let rotated = recorded.place.path().join("rotated");
    record("three-clocks", &rotated, &["--rotate-events", "500"]).expect(0, &[]);
    open(&rotated, &[]).expect(2, &["segments", "timeline-00000.pftrace"]);
    let trace = rotated.join("timeline-00000.pftrace");
    open(&trace, &["--transaction", "999"]).expect(2, &["no event of transaction 999"]);
    open(&trace, &["--transaction", "0"]).expect(2, &["other than 0"]);
    open(&trace, &["--at", "5"]).expect(2, &["--at"]);
    let out = temp.join("out.png");
    let mut command = clockweave();
    command.arg("open").arg(&trace).args([
        "--screenshot",
        out.to_str().unwrap(),
        "--browser",
        "/nowhere/at/all",
    ]);
    Ran::from(command.output().unwrap()).expect(3, &["/nowhere/at/all"]);
    fs::write(&out, "old").unwrap();
    Ran::from(command.output().unwrap()).expect(2, &["--force"]);
    let none =
        clockweave().arg("open").arg(&trace).arg("--no-browser").env("CLOCKWEAVE_ENGINE_DIR", temp).output();
    Ran::from(none.unwrap()).expect(3, &["engine install"]);
    assert_eq!(fs::read(&out).unwrap(), b"old");
    assert_eq!(names(temp), ["out.png"]);
}

/// Waits on the page until `ready` and the UI is at rest.
fn settle(browser: &mut Browser, ready: &str) {
    let script = format!(
        "(async () => {{
           const end = Date.now() + 100000;
           while (!({ready})) {{
             if (Date.now() > end) throw new Error('in vain');
             await new Promise(resolve => setTimeout(resolve, 50));
           }}
           await waitForPerfettoIdle(300);
         }})()"
    );
    browser.evaluate(&script).unwrap();
}

/// The one number of a query that the UI's own engine answers.
fn number(browser: &mut Browser, sql: &str) -> i64 {
    let script =
        format!("app.trace.engine.query(`{sql}`).then(result => Number(result.firstRow({{n: 0}}).n))");
    browser.evaluate(&script).unwrap().as_i64().unwrap()
}

fn lines(dir: &Path) -> i64 {
    let logs = names(dir).into_iter().filter(|name| name.ends_with(".log"));
    let events = |name: String| {
        let text = fs::read_to_string(dir.join(name)).unwrap();
        text.lines().filter(|line| !line.starts_with('#')).count()
    };
    i64::try_from(logs.map(events).sum::<usize>()).unwrap()
}

fn browser() -> PathBuf {
    find_browser().expect("this test needs Chromium; .ci/test installs it")
}

#[test]
fn the_real_ui_shows_the_selected_event_with_its_flow_and_arguments() {
    let mut browser = Browser::launch(&browser(), (1600, 1200), |_| {}).unwrap();
    for compression in ["deflate", "zstd"] {
        let run = Recorded::new(&["--compress", compression]);
        let serving = Serving::new(&run.dir, &["--transaction", "17"], &run.temp);
        // A page of its own: another fragment alone would not load it anew.
        browser.navigate("about:blank").unwrap();
        browser.navigate(&serving.page).unwrap();
        settle(&mut browser, "window.app?.trace && app.trace.selection.selection.kind === 'track_event'");
        let events = number(&mut browser, "SELECT count(*) AS n FROM slice WHERE category = 'clock'");
        assert_eq!(events, lines(&run.dir), "{compression}");
        let id = browser.evaluate("Number(app.trace.selection.selection.eventId)").unwrap();
        let selected = number(
            &mut browser,
            &format!(
                "SELECT EXTRACT_ARG(arg_set_id, 'debug.transaction_id') AS n FROM slice WHERE id = {id} AND name = 'fifo.write'"
            ),
        );
        assert_eq!(selected, 17);
        browser.evaluate("app.trace.commands.runCommand('dev.perfetto.ShowCurrentSelectionTab')").unwrap();
        settle(&mut browser, "document.body.innerText.includes('Following Flows')");
        let shown = browser.evaluate("document.body.innerText").unwrap();
        let shown = shown.as_str().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        for words in ["Name fifo.write", "Following Flows", "transaction_id", "local_cycle"] {
            assert!(shown.contains(words), "expected {words:?} in {shown}");
        }
        // The whole way of the transaction: write, visible, read, output, consume in two FIFOs.
        assert_eq!(browser.evaluate("app.trace.flows.connectedFlows.length").unwrap(), 9);
        let picture = browser.screenshot().unwrap();
        assert_eq!(png_size(&picture), (1600, 1200));
    }
}

/// Width and height of a PNG, by its first chunk.
fn png_size(bytes: &[u8]) -> (u32, u32) {
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR"), "{:?}", &bytes[..bytes.len().min(16)]);
    let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    (word(16), word(20))
}

#[test]
fn a_picture_is_written_and_nothing_is_left_running() {
    let run = Recorded::new(&[]);
    let out = run.place.path().join("picture.png");
    let mut command = clockweave();
    command.arg("open").arg(&run.dir).args(["--at", "100ns", "--size", "900x700", "--screenshot"]).arg(&out);
    let ran = Ran::from(command.env("TMPDIR", &run.temp).output().unwrap()).expect(0, &[]);
    assert_eq!((ran.text(), ran.stderr.as_str()), ("", ""));
    assert_eq!(png_size(&fs::read(&out).unwrap()), (900, 700));
    assert_eq!(names(&run.temp), Vec::<String>::new());
    assert_eq!(processes(run.temp.to_str().unwrap()), Vec::<String>::new());
}

#[test]
fn ctrl_c_ends_the_browser_too() {
    let run = Recorded::new(&[]);
    let out = run.place.path().join("picture.png");
    let mut command = clockweave();
    command.arg("open").arg(&run.dir).arg("--screenshot").arg(&out).env("TMPDIR", &run.temp);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let profile = format!("--user-data-dir={}", run.temp.display());
    while processes(&profile).is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "the browser is started first");
        std::thread::yield_now();
    }
    send("-INT", child.id());
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(130), ""));
    assert_eq!(processes(&profile), Vec::<String>::new());
    assert_eq!(names(&run.temp), Vec::<String>::new());
    assert!(!out.exists());
}

/// The events are at 0, 1 and 2 ns: what is around either selection is all of the run.
#[test]
fn the_page_shows_the_time_around_what_is_selected() {
    let place = tempfile::tempdir().unwrap();
    let (dir, temp, trace) =
        (place.path().join("run"), place.path().join("temp"), place.path().join("t.pftrace"));
    fixture::run(&dir);
    fs::create_dir(&temp).unwrap();
    let merge = ["merge".as_ref(), dir.as_os_str(), "--format".as_ref(), "pftrace".as_ref(), "-o".as_ref()];
    run(merge.into_iter().chain([trace.as_os_str()])).expect(0, &[]);
    for selection in [["--at", "1ns"], ["--transaction", "1"]] {
        let serving = Serving::new(&trace, &selection, &temp);
        assert!(serving.page.ends_with("&visStart=0&visEnd=2"), "{selection:?}: {}", serving.page);
    }
}
