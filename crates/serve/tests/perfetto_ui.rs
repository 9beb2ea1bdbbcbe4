//! The offer of a trace to the Perfetto UI, tested with a browser-like client and with a browser.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rocm_perf_serve::perfetto_ui::{Ended, Offer, PUBLIC_UI};

/// More than fits into a socket's buffers.
const BYTES: usize = 12_000_000;

fn contents() -> Vec<u8> {
    (0..BYTES).map(|i| ((i * i) >> 7) as u8).collect()
}

fn trace(folder: &Path) -> PathBuf {
    let path = folder.join("any.pftrace");
    std::fs::write(&path, contents()).unwrap();
    path
}

/// (port, path) of the trace.
fn place(offer: &Offer) -> (u16, String) {
    let url = offer.url();
    let rest = url.strip_prefix("http://127.0.0.1:").expect("loopback, by number");
    let (port, path) = rest.split_once('/').unwrap();
    (port.parse().unwrap(), format!("/{path}"))
}

struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

fn ask(port: u16, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut stream = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port))).unwrap();
    let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "Host") {
        request.push_str(&format!("Host: 127.0.0.1:{port}\r\n"));
    }
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all((request + "\r\n").as_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.filter_map(|line| line.split_once(": ")).map(|(n, v)| (n.into(), v.into())).collect();
    Answer { status, headers, body: bytes[end + 4..].to_vec() }
}

#[test]
fn only_the_ui_may_read_the_trace_and_only_the_trace_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let offer = Offer::new(&trace(folder.path()), "my run.pftrace", PUBLIC_UI, 0).unwrap();
    let (port, path) = place(&offer);
    assert!(path.ends_with("/my_run.pftrace"), "{path}");
    assert_eq!(offer.link(), format!("https://ui.perfetto.dev/#!/?url=http://127.0.0.1:{port}{path}"));
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| offer.serve(Duration::from_secs(60), false));
        let ui = ("Origin", PUBLIC_UI);
        // The UI first asks whether a trace processor listens here.
        assert_eq!(ask(port, "POST", "/status", &[ui]).status, 404);
        for other in ["/", "/my_run.pftrace", "/etc/passwd", "/../../etc/passwd", "/favicon.ico"] {
            let answer = ask(port, "GET", other, &[ui]);
            assert_eq!((answer.status, answer.body.len()), (404, 0), "{other}");
        }
        for origin in
            ["https://evil.example", "http://ui.perfetto.dev", "https://ui.perfetto.dev.evil.example", "null"]
        {
            let answer = ask(port, "GET", &path, &[("Origin", origin)]);
            assert_eq!((answer.status, answer.body.len()), (403, 0), "{origin}");
            assert_eq!(answer.header("Access-Control-Allow-Origin"), Some(PUBLIC_UI));
        }
        let rebound = ask(port, "GET", &path, &[("Host", "evil.example")]);
        assert_eq!((rebound.status, rebound.body.len()), (403, 0));
        assert_eq!(ask(port, "PUT", &path, &[ui]).status, 405);
        let preflight = ask(
            port,
            "OPTIONS",
            &path,
            &[
                ui,
                ("Access-Control-Request-Method", "GET"),
                ("Access-Control-Request-Private-Network", "true"),
            ],
        );
        assert_eq!(preflight.status, 204);
        assert_eq!(preflight.header("Access-Control-Allow-Origin"), Some(PUBLIC_UI));
        assert_eq!(preflight.header("Access-Control-Allow-Private-Network"), Some("true"));
        assert!(preflight.header("Access-Control-Allow-Methods").unwrap().contains("GET"));
        let head = ask(port, "HEAD", &path, &[ui]);
        assert_eq!((head.status, head.body.len()), (200, 0));
        assert_eq!(head.header("Content-Length"), Some(BYTES.to_string().as_str()));
        std::thread::sleep(Duration::from_millis(200));
        assert!(!serving.is_finished(), "nothing of this was the fetch");
        let answer = ask(port, "GET", &path, &[ui]);
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("Access-Control-Allow-Origin"), Some(PUBLIC_UI));
        assert_eq!(answer.header("Cache-Control"), Some("no-store"));
        assert_eq!(answer.header("Content-Length"), Some(BYTES.to_string().as_str()));
        assert!(answer.body == contents(), "{} bytes", answer.body.len());
        assert_eq!(serving.join().unwrap().unwrap(), Ended::Fetched);
    });
}

#[test]
fn half_a_fetch_is_none_and_patience_ends() {
    let folder = tempfile::tempdir().unwrap();
    let offer = Offer::new(&trace(folder.path()), "run", PUBLIC_UI, 0).unwrap();
    let (port, path) = place(&offer);
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| offer.serve(Duration::from_secs(3), false));
        let mut stream = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port))).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").unwrap();
        stream.read_exact(&mut [0; 1000]).unwrap();
        drop(stream);
        assert_eq!(serving.join().unwrap().unwrap(), Ended::TimedOut);
    });
    let taken = Offer::new(&trace(folder.path()), "run", PUBLIC_UI, port);
    assert_eq!(taken.err().unwrap().kind(), std::io::ErrorKind::AddrInUse);
}

#[test]
fn kept_it_is_fetched_again() {
    let folder = tempfile::tempdir().unwrap();
    let offer = Offer::new(&trace(folder.path()), "run", PUBLIC_UI, 0).unwrap();
    let (port, path) = place(&offer);
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| offer.serve(Duration::from_secs(4), true));
        for _ in 0..2 {
            assert_eq!(ask(port, "GET", &path, &[]).body.len(), BYTES);
        }
        assert_eq!(serving.join().unwrap().unwrap(), Ended::Fetched);
    });
}

/// A page that treats its address as the UI does, and shows the result.
const PAGE: &str = r#"<!doctype html><title>ui</title><p id="said">nothing</p><script>
const url = new URLSearchParams(location.hash.replace(/^#!\/\?/, '')).get('url');
const said = document.getElementById('said');
fetch(url).then(async answer => {
  const bytes = new Uint8Array(await answer.arrayBuffer());
  let sum = 0;
  for (const byte of bytes) sum = (sum * 31 + byte) % 1000003;
  said.textContent = `status ${answer.status} bytes ${bytes.length} sum ${sum}`;
}).catch(() => { said.textContent = 'refused by the browser'; });
</script>"#;

/// Serves the page for as long as the test runs; returns its origin.
fn page() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n";
            let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{PAGE}", PAGE.len());
        }
    });
    origin
}

/// What the page shows in a browser.
fn browse(browser: &str, link: &str, profile: &Path) -> String {
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(["--virtual-time-budget=20000", "--timeout=30000", "--dump-dom", link])
        .output()
        .unwrap();
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = page.split("id=\"said\">").nth(1).and_then(|rest| rest.split('<').next());
    said.unwrap_or_else(|| panic!("{page}{}", String::from_utf8_lossy(&output.stderr))).to_string()
}

#[test]
fn a_browser_lets_the_ui_read_the_trace_and_no_other_page() {
    let Some(browser) = testing::tool(&["chromium", "chromium-browser", "google-chrome"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (ui, other) = (page(), page());
    let offer = Offer::new(&trace(folder.path()), "run.pftrace", &ui, 0).unwrap();
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| offer.serve(Duration::from_secs(120), false));
        let elsewhere = offer.link().replace(&ui, &other);
        assert_eq!(browse(browser, &elsewhere, &folder.path().join("a")), "refused by the browser");
        assert!(!serving.is_finished());
        let sum = contents().iter().fold(0u64, |sum, byte| (sum * 31 + u64::from(*byte)) % 1_000_003);
        let said = browse(browser, &offer.link(), &folder.path().join("b"));
        assert_eq!(said, format!("status 200 bytes {BYTES} sum {sum}"));
        assert_eq!(serving.join().unwrap().unwrap(), Ended::Fetched);
    });
}
