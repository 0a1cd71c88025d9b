//! Serves one trace and the files of the UI to this machine's own browsers.
//!
//! Invariants: it listens on 127.0.0.1 only; a request has to name this very address as its host, so a page of another
//! site whose name was made to point here gets nothing; what a path names is looked up in a fixed list, so there is
//! nothing a path could lead out of. The headers allow the page no other source than this server: nothing it shows
//! leaves the machine.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use clockweave_validators::engine::Ui;

/// Connections answered at once; a browser opens six, and some in advance.
const MOST_CONNECTIONS: usize = 64;
/// Most bytes of a request up to its empty line; what follows is not read.
const LONGEST_REQUEST: usize = 16 * 1024;
/// Most headers of a request.
const MOST_HEADERS: usize = 64;
/// How long a request may take to arrive, and how long an answer may stay unread.
const PATIENCE: Duration = Duration::from_secs(60);
/// Before the next connection, after one that could not be taken.
const PAUSE: Duration = Duration::from_millis(50);
/// Where the trace is served, before its name.
const TRACE: &str = "/trace/";

/// What the page may load, and from where: the UI compiles WebAssembly, runs workers and shows inlined pictures.
const POLICY: &str = "default-src 'self'; script-src 'self' 'unsafe-eval' 'unsafe-inline' blob:; \
    style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; \
    connect-src 'self' data: blob:; worker-src 'self' blob:; frame-ancestors 'none'; form-action 'none'; base-uri 'self'";

/// A trace as it is served.
#[derive(Clone, Debug)]
pub struct ServedTrace {
    /// Its name in the page's address; letters, digits, `.`, `_` and `-`.
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// Bytes of the file that are served.
    pub(super) length: u64,
}

impl ServedTrace {
    /// Its name in the page's address.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// What is reachable.
#[derive(Debug)]
pub struct Site {
    /// The UI.
    pub ui: Ui,
    /// The trace.
    pub trace: ServedTrace,
}

/// A server of one [`Site`].
#[derive(Clone, Debug)]
pub struct Server {
    listener: Arc<TcpListener>,
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
}

/// What a request gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer<'a> {
    Ui(&'a str),
    Trace,
    Refused(u16, &'static str),
}

impl Server {
    /// A server on a free port of 127.0.0.1, which answers once [`Server::serve`] runs.
    ///
    /// # Errors
    /// The system gives no port.
    pub fn bind() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        Ok(Self { listener: Arc::new(listener), address, stopped: Arc::default() })
    }

    /// Its address, as in `http://127.0.0.1:8000`.
    pub fn origin(&self) -> String {
        format!("http://{}", self.hosts()[0])
    }

    /// What a request may call it.
    fn hosts(&self) -> [String; 2] {
        ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.address.port()))
    }

    /// Where it serves the trace.
    pub fn trace_address(&self, trace: &ServedTrace) -> String {
        format!("{}{TRACE}{}", self.origin(), trace.name)
    }

    /// Answers requests until [`Server::stop`] is called. What is being answered then is not waited for: a browser may
    /// leave an answer unread.
    pub fn serve(&self, site: &Arc<Site>) {
        let open = Arc::new(AtomicUsize::new(0));
        while !self.stopped.load(Ordering::SeqCst) {
            let accepted = self.listener.accept();
            if self.stopped.load(Ordering::SeqCst) {
                break;
            }
            let Ok((stream, _)) = accepted else {
                // A connection that broke before it was taken is nobody's loss; a lack of files may pass.
                std::thread::sleep(PAUSE);
                continue;
            };
            if open.fetch_add(1, Ordering::SeqCst) >= MOST_CONNECTIONS {
                open.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            // Each has a thread: one that is left unread must not hold up those that the page waits for.
            let (hosts, site, open) = (self.hosts(), Arc::clone(site), Arc::clone(&open));
            std::thread::spawn(move || {
                // Whoever asked may be gone by now.
                let _ = answer(stream, &hosts, &site);
                open.fetch_sub(1, Ordering::SeqCst);
            });
        }
    }

    /// Ends [`Server::serve`].
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Wakes it; if nobody listens any more, it has ended.
        let _ = TcpStream::connect(self.address);
    }
}

/// Reads one request, answers it and ends the connection.
fn answer(mut stream: TcpStream, own: &[String; 2], site: &Site) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let head = read_head(&mut stream)?;
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let (method, path) = match (request.parse(&head), request.method, request.path) {
        (Ok(httparse::Status::Complete(_)), Some(method), Some(path)) => (method, path),
        _ => return refuse(&mut stream, false, 400, "the request cannot be read\n"),
    };
    let hosts = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("Host"));
    let hosts: Vec<&str> = hosts.map(|header| str::from_utf8(header.value).unwrap_or_default()).collect();
    let head_only = method == "HEAD";
    match decide(method, &hosts, path, own, site) {
        Answer::Refused(status, why) => refuse(&mut stream, head_only, status, why),
        Answer::Trace => match open(&site.trace) {
            Ok(file) => {
                let length = site.trace.length;
                give(&mut stream, head_only, file, length, "application/octet-stream")
            }
            Err(error) => {
                refuse(&mut stream, head_only, 500, &format!("the trace cannot be read: {error}\n"))
            }
        },
        Answer::Ui(name) => match site.ui.read(name) {
            Ok(bytes) => {
                let length = bytes.len() as u64;
                give(&mut stream, head_only, io::Cursor::new(bytes), length, media_type(name))
            }
            Err(error) => refuse(&mut stream, head_only, 500, &format!("{error}\n")),
        },
    }
}

/// A request's bytes up to its empty line.
fn read_head(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut piece = [0; 2048];
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        let count = stream.read(&mut piece)?;
        if count == 0 || head.len() + count > LONGEST_REQUEST {
            break;
        }
        head.extend_from_slice(&piece[..count]);
    }
    Ok(head)
}

fn open(trace: &ServedTrace) -> io::Result<impl Read> {
    Ok(File::open(&trace.path)?.take(trace.length))
}

fn decide<'a>(method: &str, hosts: &[&str], url: &'a str, own: &[String; 2], site: &Site) -> Answer<'a> {
    match hosts {
        [host] if own.iter().any(|name| name.eq_ignore_ascii_case(host)) => {}
        _ => return Answer::Refused(403, "this server is for this machine's browser only\n"),
    }
    if !matches!(method, "GET" | "HEAD") {
        return Answer::Refused(405, "only GET and HEAD are answered\n");
    }
    let path = url.split(['?', '#']).next().unwrap_or_default();
    if path.strip_prefix(TRACE) == Some(site.trace.name.as_str()) {
        return Answer::Trace;
    }
    match path.strip_prefix('/') {
        Some("") => Answer::Ui("index.html"),
        Some(name) if site.ui.holds(name) => Answer::Ui(name),
        _ => Answer::Refused(404, "there is no such file\n"),
    }
}

/// The first lines of an answer of `length` bytes.
fn opening(status: u16, length: u64, media_type: &str) -> String {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        _ => "Internal Server Error",
    };
    format!(
        "HTTP/1.1 {status} {reason}\r\n\
         Content-Type: {media_type}\r\n\
         Content-Length: {length}\r\n\
         Content-Security-Policy: {POLICY}\r\n\
         Cache-Control: no-store\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\n\
         Referrer-Policy: no-referrer\r\n\
         X-Content-Type-Options: nosniff\r\n\
         Connection: close\r\n\r\n"
    )
}

fn give(
    stream: &mut TcpStream,
    head_only: bool,
    mut content: impl Read,
    length: u64,
    media_type: &str,
) -> io::Result<()> {
    stream.write_all(opening(200, length, media_type).as_bytes())?;
    if !head_only {
        io::copy(&mut content, stream)?;
    }
    stream.flush()
}

fn refuse(stream: &mut TcpStream, head_only: bool, status: u16, why: &str) -> io::Result<()> {
    stream.write_all(opening(status, why.len() as u64, "text/plain; charset=utf-8").as_bytes())?;
    if !head_only {
        stream.write_all(why.as_bytes())?;
    }
    stream.flush()
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("wasm") => "application/wasm",
        Some("png") => "image/png",
        Some("svg") => "image/svg+xml",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}
