//! Hands a trace to the Perfetto UI: a page on the web that fetches it from this machine, over loopback.
//!
//! The public UI is allowed by its own content policy to fetch from `http://127.0.0.1:9001` and no other port, and a
//! browser lets a page of another origin read an answer only if the answer names that origin. So this listens on
//! loopback only, answers one path that cannot be guessed, and allows the UI's origin alone.

use std::fs::File;
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tiny_http::{Header, Method, Request, Response, Server};

/// The public UI.
pub const PUBLIC_UI: &str = "https://ui.perfetto.dev";

/// The port of this machine that the public UI may fetch from.
pub const PORT: u16 = 9001;

/// How long a browser has to take in what was sent last.
const FAREWELL: Duration = Duration::from_millis(500);

/// How often the end is looked for.
const TICK: Duration = Duration::from_millis(50);

/// A trace that waits to be fetched.
pub struct Offer {
    server: Server,
    file: PathBuf,
    ui: String,
    origin: String,
    /// Path under which the trace is served.
    path: String,
    address: SocketAddr,
}

/// Why serving ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The trace was fetched whole.
    Fetched,
    /// Nobody fetched it in time.
    TimedOut,
}

impl Offer {
    /// Listens on loopback for the UI at `ui` to fetch `file`, which it sees as `name`. Port 0 takes a free one.
    pub fn new(file: &Path, name: &str, ui: &str, port: u16) -> io::Result<Self> {
        let origin =
            origin(ui).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a web address"))?;
        File::open(file)?;
        let server = Server::http((Ipv4Addr::LOCALHOST, port)).map_err(|error| match error.downcast() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other.to_string()),
        })?;
        let address = server.server_addr().to_ip().ok_or_else(|| io::Error::other("listens on no port"))?;
        let ui = ui.split('#').next().unwrap_or(ui).trim_end_matches('/').to_string();
        let path = format!("/{:016x}/{}", unguessable(), plain(name));
        Ok(Self { server, file: file.into(), ui, origin, path, address })
    }

    /// Address of the trace on this machine.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.path)
    }

    /// Address that opens the trace in the UI.
    pub fn link(&self) -> String {
        format!("{}/#!/?url={}", self.ui, self.url())
    }

    /// Answers until the trace was fetched whole, or for as long as `patience` says. With `keep`, being fetched does not
    /// end it: a page can be loaded again.
    pub fn serve(&self, patience: Duration, keep: bool) -> io::Result<Ended> {
        let began = Instant::now();
        let fetched = Arc::new(AtomicBool::new(false));
        loop {
            if fetched.load(Ordering::Acquire) && !keep {
                std::thread::sleep(FAREWELL);
                return Ok(Ended::Fetched);
            }
            if began.elapsed() >= patience {
                let ended = if fetched.load(Ordering::Acquire) { Ended::Fetched } else { Ended::TimedOut };
                return Ok(ended);
            }
            if let Some(request) = self.server.recv_timeout(TICK)? {
                self.answer(request, &fetched);
            }
        }
    }

    fn answer(&self, request: Request, fetched: &Arc<AtomicBool>) {
        let headers = self.allowance(&request);
        let status = match self.judge(&request) {
            Ok(()) => match File::open(&self.file).and_then(|file| Ok((file.metadata()?.len(), file))) {
                Ok((bytes, file)) => {
                    let whole = *request.method() == Method::Get;
                    let fetched = Arc::clone(fetched);
                    let headers = with(headers, "Content-Type", "application/octet-stream");
                    // By its length a page can tell how much is still to come.
                    let left = Arc::new(AtomicU64::new(bytes));
                    let body = Counted { file, left: Arc::clone(&left) };
                    let response = Response::new(200.into(), headers, body, Some(bytes as usize), None)
                        .with_chunked_threshold(usize::MAX);
                    // A slow reader must not keep others waiting.
                    std::thread::spawn(move || {
                        // That a reader went away is no error to the server, only something that stays unread.
                        let sent = request.respond(response).is_ok() && left.load(Ordering::Acquire) == 0;
                        if sent && whole {
                            fetched.store(true, Ordering::Release);
                        }
                    });
                    return;
                }
                Err(_) => 404,
            },
            Err(status) => status,
        };
        // Whoever went away needs no answer.
        let _ = request.respond(Response::new(status.into(), headers, io::empty(), Some(0), None));
    }

    /// Whether a request gets the trace, or else the status that it gets.
    fn judge(&self, request: &Request) -> Result<(), u16> {
        // A page elsewhere whose name is made to point here comes under its own name.
        let own = [self.address.to_string(), format!("localhost:{}", self.address.port())];
        if value(request, "Host").is_none_or(|host| !own.contains(&host)) {
            return Err(403);
        }
        if value(request, "Origin").is_some_and(|origin| origin != self.origin) {
            return Err(403);
        }
        match request.method() {
            Method::Options => Err(204),
            // The UI asks for a trace processor of its own on this port first.
            _ if request.url().split('?').next() != Some(&self.path) => Err(404),
            Method::Get | Method::Head => Ok(()),
            _ => Err(405),
        }
    }

    /// Headers that let only the UI's origin read the response.
    fn allowance(&self, request: &Request) -> Vec<Header> {
        let mut headers = with(Vec::new(), "Access-Control-Allow-Origin", &self.origin);
        headers = with(headers, "Vary", "Origin");
        headers = with(headers, "Cache-Control", "no-store");
        headers = with(headers, "X-Content-Type-Options", "nosniff");
        if *request.method() == Method::Options {
            headers = with(headers, "Access-Control-Allow-Methods", "GET, HEAD");
            headers = with(headers, "Access-Control-Allow-Headers", "*");
            if value(request, "Access-Control-Request-Private-Network").is_some() {
                headers = with(headers, "Access-Control-Allow-Private-Network", "true");
            }
        }
        headers
    }
}

/// The trace on its way out.
struct Counted {
    file: File,
    /// Bytes that are still to be sent.
    left: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        self.left.fetch_sub(bytes as u64, Ordering::AcqRel);
        Ok(bytes)
    }
}

fn with(mut headers: Vec<Header>, name: &str, value: &str) -> Vec<Header> {
    headers.extend(Header::from_bytes(name, value));
    headers
}

fn value(request: &Request, name: &'static str) -> Option<String> {
    let header = request.headers().iter().find(|header| header.field.equiv(name));
    header.map(|header| header.value.as_str().to_string())
}

/// `https://host:port` of a page's address.
pub fn origin(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next().filter(|host| !host.is_empty())?;
    let sound = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    let known = ["http", "https"].contains(&scheme) && host.chars().all(sound);
    known.then(|| format!("{scheme}://{}", host.to_ascii_lowercase()))
}

/// A name that needs no escapes in an address.
fn plain(name: &str) -> String {
    name.replace(|c: char| !c.is_ascii_alphanumeric() && !"-._".contains(c), "_")
}

/// A number that other users of this machine cannot know.
fn unguessable() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    // Keyed by the system's randomness.
    RandomState::new().hash_one(std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_of_a_page_is_its_scheme_host_and_port() {
        assert_eq!(origin(PUBLIC_UI).as_deref(), Some(PUBLIC_UI));
        assert_eq!(origin("http://Perf.local:10000/ui/#!/x").as_deref(), Some("http://perf.local:10000"));
        for address in ["ui.perfetto.dev", "file:///x", "https://", "https://a b", "https://a\r\nX: y"] {
            assert_eq!(origin(address), None, "{address}");
        }
    }

    #[test]
    fn names_need_no_escapes() {
        assert_eq!(plain("größe 4711?.pftrace"), "gr__e_4711_.pftrace");
    }
}
