//! Hands a trace to the Perfetto UI: a page on the web that fetches it from this machine, over loopback.
//!
//! The public UI is allowed by its own content policy to fetch from `http://127.0.0.1:9001` and no other port, and a
//! browser lets a page of another origin read an answer only if the answer names that origin. So this listens on
//! loopback only, answers one path that cannot be guessed, and allows the UI's origin alone.

use std::fs::File;
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;

/// The public UI.
pub const PUBLIC_UI: &str = "https://ui.perfetto.dev";

/// The port of this machine that the public UI may fetch from.
pub const PORT: u16 = 9001;

/// Time for a browser to take in what was sent last.
const FAREWELL: Duration = Duration::from_secs(30);

/// How often to check whether to stop.
const TICK: Duration = Duration::from_millis(50);

/// Bytes that are read at a time.
const PART: usize = 256 << 10;

/// A trace that waits to be fetched.
pub struct Offer {
    listener: TcpListener,
    ui: String,
    address: SocketAddr,
    served: Arc<Served>,
}

/// What requests need.
struct Served {
    file: PathBuf,
    origin: String,
    /// Path under which the trace is served.
    path: String,
    /// Host names that the server accepts.
    hosts: [String; 2],
    fetched: AtomicBool,
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
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let ui = ui.split('#').next().unwrap_or(ui).trim_end_matches('/').to_string();
        let served = Served {
            file: file.into(),
            origin,
            path: format!("/{:016x}/{}", unguessable(), plain(name)),
            hosts: [address.to_string(), format!("localhost:{}", address.port())],
            fetched: AtomicBool::new(false),
        };
        Ok(Self { listener, ui, address, served: Arc::new(served) })
    }

    /// Address of the trace on this machine.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.served.path)
    }

    /// Address that opens the trace in the UI.
    pub fn link(&self) -> String {
        format!("{}/#!/?url={}", self.ui, self.url())
    }

    /// Answers until the whole trace was fetched, or until `patience` is over. With `keep`, a fetch does not
    /// end it, so that a page can be reloaded.
    pub fn serve(&self, patience: Duration, keep: bool) -> io::Result<Ended> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let ended = runtime.block_on(self.answer_all(patience, keep));
        // A slow reader must not keep the program running.
        runtime.shutdown_background();
        ended
    }

    async fn answer_all(&self, patience: Duration, keep: bool) -> io::Result<Ended> {
        let began = Instant::now();
        let listener = tokio::net::TcpListener::from_std(self.listener.try_clone()?)?;
        let router = Router::new().fallback(answer).with_state(Arc::clone(&self.served));
        let served = Arc::clone(&self.served);
        let over = async move {
            while began.elapsed() < patience && (keep || !served.fetched.load(Ordering::Acquire)) {
                tokio::time::sleep(TICK).await;
            }
        };
        // After that, responses in progress still complete.
        let serving = axum::serve(listener, router).with_graceful_shutdown(over).into_future();
        let is_fetched = || self.served.fetched.load(Ordering::Acquire);
        match tokio::time::timeout(patience.saturating_add(FAREWELL), serving).await {
            Ok(Err(error)) => Err(error),
            _ if is_fetched() => Ok(Ended::Fetched),
            _ => Ok(Ended::TimedOut),
        }
    }
}

async fn answer(State(served): State<Arc<Served>>, request: Request) -> Response {
    let allowance = allowance(&served, &request);
    let mut response = match judge(&served, &request) {
        Ok(()) => match File::open(&served.file).and_then(|file| Ok((file.metadata()?.len(), file))) {
            Ok((bytes, file)) => send(served, file, bytes, request.method() == Method::GET),
            Err(_) => StatusCode::NOT_FOUND.into_response(),
        },
        Err(status) => status.into_response(),
    };
    response.headers_mut().extend(allowance);
    response
}

/// The trace, or only its headers.
fn send(served: Arc<Served>, file: File, bytes: u64, whole: bool) -> Response {
    let body = if whole {
        let counted = TraceBody { file: Some(file), left: bytes, served };
        Body::from_stream(stream::try_unfold(counted, |mut counted| async move {
            let part = counted.part().await?;
            Ok::<_, io::Error>((!part.is_empty()).then_some((part, counted)))
        }))
    } else {
        Body::empty()
    };
    // The length lets a page show how much is still to come.
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (header::CONTENT_LENGTH, HeaderValue::from(bytes)),
    ];
    (headers, body).into_response()
}

/// Whether a request gets the trace; otherwise its status.
fn judge(served: &Served, request: &Request) -> Result<(), StatusCode> {
    let value = |name: HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok());
    // A foreign page whose name is made to point here sends its own name.
    if value(header::HOST).is_none_or(|host| !served.hosts.iter().any(|own| own == host)) {
        return Err(StatusCode::FORBIDDEN);
    }
    if value(header::ORIGIN).is_some_and(|origin| origin != served.origin) {
        return Err(StatusCode::FORBIDDEN);
    }
    match *request.method() {
        Method::OPTIONS => Err(StatusCode::NO_CONTENT),
        // The UI first looks for a trace processor on this port.
        _ if request.uri().path() != served.path => Err(StatusCode::NOT_FOUND),
        Method::GET | Method::HEAD => Ok(()),
        _ => Err(StatusCode::METHOD_NOT_ALLOWED),
    }
}

/// Headers that let only the UI's origin read the response.
fn allowance(served: &Served, request: &Request) -> HeaderMap {
    const ALWAYS: [(HeaderName, &str); 3] = [
        (header::VARY, "Origin"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    const PREFLIGHT: [(HeaderName, &str); 2] =
        [(header::ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD"), (header::ACCESS_CONTROL_ALLOW_HEADERS, "*")];
    let mut headers = HeaderMap::new();
    if let Ok(origin) = HeaderValue::from_str(&served.origin) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
    let mut add = |pairs: &[(HeaderName, &'static str)]| {
        for (name, value) in pairs {
            headers.insert(name.clone(), HeaderValue::from_static(value));
        }
    };
    add(&ALWAYS);
    if request.method() == Method::OPTIONS {
        add(&PREFLIGHT);
        if request.headers().contains_key("access-control-request-private-network") {
            let name = HeaderName::from_static("access-control-allow-private-network");
            add(&[(name, "true")]);
        }
    }
    headers
}

/// The trace on its way out.
struct TraceBody {
    /// Taken by the thread that reads.
    file: Option<File>,
    /// Bytes that are still to be sent.
    left: u64,
    served: Arc<Served>,
}

impl TraceBody {
    /// The next bytes; empty at the end.
    async fn part(&mut self) -> io::Result<Bytes> {
        let Some(mut file) = self.file.take() else { return Ok(Bytes::new()) };
        let read = tokio::task::spawn_blocking(move || {
            let mut part = vec![0; PART];
            let length = file.read(&mut part)?;
            part.truncate(length);
            Ok::<_, io::Error>((part, file))
        });
        let (part, file) = read.await.map_err(io::Error::other)??;
        self.file = Some(file);
        self.left = self.left.saturating_sub(part.len() as u64);
        Ok(Bytes::from(part))
    }
}

impl Drop for TraceBody {
    fn drop(&mut self) {
        // A client that disconnects before the last byte has not fetched the trace.
        if self.left == 0 {
            self.served.fetched.store(true, Ordering::Release);
        }
    }
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

/// A number that other users of this machine cannot guess.
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
