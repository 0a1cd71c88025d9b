//! A Chromium without a window, driven over its DevTools protocol.
//!
//! Invariants: it has a profile of its own, a temporary folder, and reaches no other host than this one; when a
//! [`Browser`] is dropped, or stopped from another thread, its processes end.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use base64::Engine as _;
use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

use crate::scratch::TempFolder;

/// Names of Chromium and its kin.
const PROGRAMS: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
/// How long a browser that says nothing is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

/// Why a browser did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BrowserError {
    /// None is installed.
    #[error(
        "found no Chromium among the programs; install one (Debian: apt-get install chromium) or name it with --browser PATH"
    )]
    NotFound,
    /// It cannot be started.
    #[error("{}: {source}", path.display())]
    Start {
        /// The program.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// It ended, or never told where it can be reached.
    #[error("{}: the browser did not start; it said: {said}", path.display())]
    Silent {
        /// The program.
        path: PathBuf,
        /// The end of what it wrote.
        said: String,
    },
    /// The connection to it broke, or it took too long.
    #[error("the browser broke off: {0}")]
    Connection(String),
    /// It refused a request.
    #[error("the browser refused {method}: {message}")]
    Refused {
        /// The request.
        method: &'static str,
        /// Its words.
        message: String,
    },
    /// A script on the page failed.
    #[error("the page: {message}")]
    Page {
        /// The script's words.
        message: String,
    },
}

/// The first Chromium among the programs of this system.
pub fn find_browser() -> Option<PathBuf> {
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    PROGRAMS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|path| path.is_file())
}

/// Ends a browser from another thread.
#[derive(Clone, Copy, Debug)]
pub struct Stopper(u32);

impl Stopper {
    /// Ends its processes.
    pub fn stop(self) {
        #[cfg(unix)]
        if let Some(group) = i32::try_from(self.0).ok().and_then(rustix::process::Pid::from_raw) {
            // A group that is gone needs no end.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

/// A browser without a window, with one page.
pub struct Browser {
    child: Child,
    socket: WebSocket<Patient>,
    session: String,
    requests: u64,
    _profile: TempFolder,
}

/// The running program, until it is a [`Browser`].
struct Started {
    child: Child,
    profile: TempFolder,
}

fn stop(child: &mut Child) {
    Stopper(child.id()).stop();
    // One that has ended already is no error.
    let _ = child.kill();
    let _ = child.wait();
}

fn start(program: &Path, (width, height): (u32, u32)) -> Result<Started, BrowserError> {
    let failed = |source| BrowserError::Start { path: program.to_owned(), source };
    let mut profile = TempFolder::new_in(&env::temp_dir());
    let mut command = Command::new(program);
    command.args([
        "--headless=new",
        "--remote-debugging-port=0",
        "--no-first-run",
        "--no-default-browser-check",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-breakpad",
        "--disable-extensions",
        "--disable-gpu",
        "--disable-sync",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--mute-audio",
        // No other host than this one has an address.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        "--no-proxy-server",
    ]);
    command.arg(format!("--window-size={width},{height}"));
    let folder = profile.folder().map_err(failed)?;
    command.arg(format!("--user-data-dir={}", folder.display()));
    // What it leaves behind when it is ended goes with the profile.
    command.env("TMPDIR", &folder);
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        // A group of its own: to be ended as a whole, and deaf to the terminal's Ctrl-C.
        command.process_group(0);
        // Chromium's sandbox refuses the superuser.
        if rustix::process::geteuid().is_root() {
            command.arg("--no-sandbox");
        }
    }
    command.arg("about:blank");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().map_err(failed)?;
    Ok(Started { child, profile })
}

/// Where the browser says that it can be reached; what else it says is let pass, so that it is never held up.
fn address(child: &mut Child) -> Result<String, String> {
    let Some(stderr) = child.stderr.take() else { return Err(String::new()) };
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            // Nobody listens after the address.
            let _ = send.send(line);
        }
    });
    let mut said = String::new();
    loop {
        match receive.recv_timeout(PATIENCE) {
            Ok(line) => match line.strip_prefix("DevTools listening on ") {
                Some(address) => return Ok(address.trim().to_owned()),
                None => said = line,
            },
            Err(_) => return Err(said),
        }
    }
}

impl Browser {
    /// Starts `program` with a page of this size, and tells `started` at once how it can be ended.
    ///
    /// # Errors
    /// It cannot be started or reached.
    pub fn launch(
        program: &Path,
        size: (u32, u32),
        started: impl FnOnce(Stopper),
    ) -> Result<Self, BrowserError> {
        let Started { mut child, profile } = start(program, size)?;
        started(Stopper(child.id()));
        let found = address(&mut child)
            .map_err(|said| BrowserError::Silent { path: program.to_owned(), said })
            .and_then(|address| connect(&address).map_err(BrowserError::Connection));
        let socket = match found {
            Ok(socket) => socket,
            Err(error) => {
                stop(&mut child);
                return Err(error);
            }
        };
        let mut browser = Self { child, socket, session: String::new(), requests: 0, _profile: profile };
        let target = browser.ask("Target.createTarget", json!({"url": "about:blank"}))?;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.ask("Target.attachToTarget", attach)?;
        browser.session = session["sessionId"].as_str().unwrap_or_default().to_owned();
        let (width, height) = size;
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        browser.ask("Emulation.setDeviceMetricsOverride", metrics)?;
        browser.ask("Page.enable", json!({}))?;
        Ok(browser)
    }

    fn ask(&mut self, method: &'static str, params: Value) -> Result<Value, BrowserError> {
        let broken = |error: tungstenite::Error| BrowserError::Connection(error.to_string());
        self.requests += 1;
        let mut request = json!({"id": self.requests, "method": method, "params": params});
        if !self.session.is_empty() {
            request["sessionId"] = json!(self.session);
        }
        self.socket.send(Message::text(request.to_string())).map_err(broken)?;
        loop {
            let message = self.socket.read().map_err(broken)?;
            let Message::Text(text) = message else { continue };
            let reply: Value =
                serde_json::from_str(&text).map_err(|error| BrowserError::Connection(error.to_string()))?;
            // Events have no id.
            if reply["id"] != json!(self.requests) {
                continue;
            }
            return match reply["error"]["message"].as_str() {
                Some(message) => Err(BrowserError::Refused { method, message: message.to_owned() }),
                None => Ok(reply["result"].clone()),
            };
        }
    }

    /// Loads `url`.
    ///
    /// # Errors
    /// The page cannot be loaded.
    pub fn navigate(&mut self, url: &str) -> Result<(), BrowserError> {
        let done = self.ask("Page.navigate", json!({"url": url}))?;
        match done["errorText"].as_str() {
            Some(message) => Err(BrowserError::Page { message: message.to_owned() }),
            None => Ok(()),
        }
    }

    /// The value of a script on the page, once it is settled if it is a promise.
    ///
    /// # Errors
    /// The script throws.
    pub fn evaluate(&mut self, script: &str) -> Result<Value, BrowserError> {
        let params = json!({"expression": script, "awaitPromise": true, "returnByValue": true});
        let done = self.ask("Runtime.evaluate", params)?;
        let thrown = &done["exceptionDetails"];
        if thrown.is_null() {
            return Ok(done["result"]["value"].clone());
        }
        let words = thrown["exception"]["description"].as_str().or_else(|| thrown["text"].as_str());
        let message = words.unwrap_or("a script failed").lines().next().unwrap_or_default().to_owned();
        Err(BrowserError::Page { message })
    }

    /// A picture of the page (PNG).
    ///
    /// # Errors
    /// The browser makes none.
    pub fn screenshot(&mut self) -> Result<Vec<u8>, BrowserError> {
        let taken = self.ask("Page.captureScreenshot", json!({"format": "png"}))?;
        let data = taken["data"].as_str().unwrap_or_default();
        let bytes = base64::engine::general_purpose::STANDARD.decode(data);
        bytes.map_err(|error| BrowserError::Connection(format!("the picture is no base64: {error}")))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        stop(&mut self.child);
    }
}

/// A connection on which a signal, as of a child that ends, interrupts nothing.
struct Patient(TcpStream);

/// Does it again for as long as it is interrupted.
fn again<T>(mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match work() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

impl Read for Patient {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        again(|| self.0.read(out))
    }
}

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        again(|| self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        again(|| self.0.flush())
    }
}

fn connect(address: &str) -> Result<WebSocket<Patient>, String> {
    let rest = address
        .strip_prefix("ws://")
        .ok_or_else(|| format!("it is reached at `{address}`, expected ws://"))?;
    let host = rest.split('/').next().unwrap_or_default();
    let stream = TcpStream::connect(host).map_err(|error| error.to_string())?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(|error| error.to_string())?;
    let (socket, _) = tungstenite::client(address, Patient(stream)).map_err(|error| error.to_string())?;
    Ok(socket)
}
