//! Serves one trace and the files of the UI to this machine's own browsers.
//!
//! Invariants: it listens on 127.0.0.1 only; a request has to name this very address as its host, so a page of another
//! site whose name was made to point here gets nothing; what a path names is looked up in a fixed list, so there is
//! nothing a path could lead out of. The headers allow the page no other source than this server: nothing it shows
//! leaves the machine.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use clockweave_validators::engine::Ui;
use tiny_http::{Header, Method, Request, Response, StatusCode};

/// Requests answered at once; a browser opens six connections.
const MOST_REQUESTS: usize = 64;
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
#[derive(Clone)]
pub struct Server {
    http: Arc<tiny_http::Server>,
    port: u16,
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
        let http =
            tiny_http::Server::http(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).map_err(io::Error::other)?;
        let port = http.server_addr().to_ip().map_or(0, |address| address.port());
        Ok(Self { http: Arc::new(http), port, stopped: Arc::default() })
    }

    /// Its address, as in `http://127.0.0.1:8000`.
    pub fn origin(&self) -> String {
        format!("http://{}", self.hosts()[0])
    }

    /// What a request may call it.
    fn hosts(&self) -> [String; 2] {
        ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port))
    }

    /// Where it serves the trace.
    pub fn trace_address(&self, trace: &ServedTrace) -> String {
        format!("{}{TRACE}{}", self.origin(), trace.name)
    }

    /// Answers requests until [`Server::stop`] is called. What is being answered then is not waited for: a browser may
    /// leave an answer unread for ever.
    pub fn serve(&self, site: &Arc<Site>) {
        let open = Arc::new(AtomicUsize::new(0));
        while !self.stopped.load(Ordering::SeqCst) {
            // An error is a wake-up, or a connection that broke before it asked for anything.
            let Ok(request) = self.http.recv() else { continue };
            if open.fetch_add(1, Ordering::SeqCst) >= MOST_REQUESTS {
                open.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            // Each has a thread: one that is left unread must not hold up those that the page waits for.
            let (server, site, open) = (self.clone(), Arc::clone(site), Arc::clone(&open));
            std::thread::spawn(move || {
                server.answer(request, &site);
                open.fetch_sub(1, Ordering::SeqCst);
            });
        }
    }

    /// Ends [`Server::serve`].
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.http.unblock();
    }

    fn answer(&self, request: Request, site: &Site) {
        let hosts = request.headers().iter().filter(|header| header.field.equiv("Host"));
        let hosts: Vec<&str> = hosts.map(|header| header.value.as_str()).collect();
        let url = request.url().to_owned();
        let answer = decide(request.method(), &hosts, &url, &self.hosts(), site);
        // Whoever asked may be gone by now, which is nobody's loss.
        let _ = match answer {
            Answer::Refused(status, why) => refuse(request, status, why),
            Answer::Trace => match open(&site.trace) {
                Ok(file) => give(request, file, site.trace.length, "application/octet-stream"),
                Err(error) => refuse(request, 500, &format!("the trace cannot be read: {error}\n")),
            },
            Answer::Ui(name) => match site.ui.read(name) {
                Ok(bytes) => {
                    let length = bytes.len() as u64;
                    give(request, io::Cursor::new(bytes), length, media_type(name))
                }
                Err(error) => refuse(request, 500, &format!("{error}\n")),
            },
        };
    }
}

fn open(trace: &ServedTrace) -> io::Result<impl Read + Send + 'static> {
    let mut file = File::open(&trace.path)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file.take(trace.length))
}

fn decide<'a>(method: &Method, hosts: &[&str], url: &'a str, own: &[String; 2], site: &Site) -> Answer<'a> {
    match hosts {
        [host] if own.iter().any(|name| name.eq_ignore_ascii_case(host)) => {}
        _ => return Answer::Refused(403, "this server is for this machine's browser only\n"),
    }
    if !matches!(method, Method::Get | Method::Head) {
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

fn header(name: &str, value: &str) -> Header {
    Header::from_bytes(name, value).expect("headers are ASCII")
}

fn headers(media_type: &str) -> Vec<Header> {
    [
        ("Content-Type", media_type),
        ("Content-Security-Policy", POLICY),
        ("Cache-Control", "no-store"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Referrer-Policy", "no-referrer"),
        ("X-Content-Type-Options", "nosniff"),
    ]
    .into_iter()
    .map(|(name, value)| header(name, value))
    .collect()
}

fn give(request: Request, content: impl Read, length: u64, media_type: &str) -> io::Result<()> {
    let length = usize::try_from(length).map_err(io::Error::other)?;
    // Whole files have a length, however long they are.
    let response = Response::new(StatusCode(200), headers(media_type), content, Some(length), None);
    request.respond(response.with_chunked_threshold(usize::MAX))
}

fn refuse(request: Request, status: u16, why: &str) -> io::Result<()> {
    let content = io::Cursor::new(why.as_bytes().to_vec());
    let length = Some(why.len());
    let headers = headers("text/plain; charset=utf-8");
    request.respond(Response::new(StatusCode(status), headers, content, length, None))
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
