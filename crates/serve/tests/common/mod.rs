//! A dashboard on a free port with its own store, and a client that sends exactly what it is given.

#![allow(dead_code, reason = "each test file uses a part")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use app::experiment::StoreLocation;
use rocm_perf_serve::{Dashboard, Options, Role, Tokens, router};
use serde_json::{Value, json};
use store::{Attachment, Content, Location, Metric, NewArtifact, Store};

pub const READ: &str = "read-token-0123456789";
pub const WRITE: &str = "write-token-0123456789";

pub struct Server {
    pub address: SocketAddr,
    pub folder: tempfile::TempDir,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Server {
    /// Serves without tokens.
    pub fn open(fill: impl FnOnce(&mut Store)) -> Self {
        Self::new(Tokens::default(), fill)
    }

    /// Serves only clients with a token.
    pub fn with_tokens(fill: impl FnOnce(&mut Store)) -> Self {
        let mut tokens = Tokens::default();
        tokens.add(Role::Read, READ).expect("a token");
        tokens.add(Role::Write, WRITE).expect("a token");
        Self::new(tokens, fill)
    }

    fn new(tokens: Tokens, fill: impl FnOnce(&mut Store)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fill(&mut store_in(&folder));
        let place = place(&folder);
        Self::at(place, folder, tokens)
    }

    /// Serves an existing store; its files are in the folder.
    pub fn at(place: StoreLocation, folder: tempfile::TempDir, tokens: Tokens) -> Self {
        let options = Options { place, tokens, hosts: vec!["perf.example.com".into()], ..Options::default() };
        let state = Dashboard::open(&options).expect("a dashboard");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("an address");
        let service = router(state).into_make_service_with_connect_info::<SocketAddr>();
        runtime.spawn(async { axum::serve(listener, service).await });
        Self { address, folder, runtime: Some(runtime) }
    }

    pub fn store(&self) -> Store {
        store_in(&self.folder)
    }

    /// The audit log so far.
    pub fn audit(&self) -> Vec<Value> {
        let path = self.folder.path().join("team.db.artifacts/audit.jsonl");
        let text = std::fs::read_to_string(path).expect("an audit log");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], b"")
    }

    pub fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        serde_json::from_slice(&answer.body).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Sends a request with these headers, and `Host` unless it is among them.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            request.push_str(&format!("Host: {}\r\n", self.address));
        }
        if !body.is_empty() || method == "POST" {
            request.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all((request + "\r\n").as_bytes()).expect("sent");
        // A server that refuses may close the connection before everything was sent.
        let _ = stream.write_all(body);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
        let head = String::from_utf8(bytes[..end].to_vec()).expect("text");
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_lowercase(), value.to_string()))
            .collect();
        let mut body = bytes[end + 4..].to_vec();
        if headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked") {
            body = unchunked(&body);
        }
        Answer { status: status.expect("a status"), headers, body }
    }
}

fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = body.windows(2).position(|two| two == b"\r\n") {
        let size =
            usize::from_str_radix(std::str::from_utf8(&body[..end]).expect("text"), 16).expect("a size");
        if size == 0 {
            break;
        }
        whole.extend_from_slice(&body[end + 2..end + 2 + size]);
        body = &body[end + 4 + size..];
    }
    whole
}

pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(there, _)| there == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

pub fn place(folder: &tempfile::TempDir) -> StoreLocation {
    StoreLocation { database: Some(database(folder).display().to_string()), artifacts: None }
}

pub fn database(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("team.db")
}

fn store_in(folder: &tempfile::TempDir) -> Store {
    let path = database(folder).display().to_string();
    Store::open(&Location::find(Some(&path), None)).expect("a store")
}

pub fn metric(name: &str, unit: &str, value: f64) -> Metric {
    Metric {
        name: name.into(),
        unit: unit.into(),
        value,
        low: Some(value * 0.99),
        high: Some(value * 1.01),
        higher_is_better: false,
    }
}

pub fn file(path: &str, bytes: impl Into<Vec<u8>>) -> NewArtifact {
    NewArtifact { path: path.into(), content: Content::Bytes(bytes.into()), schema: None }
}

/// Attaches files and metrics to a trial on `main` and `mi300x`.
pub fn attach(
    store: &mut Store,
    experiment: &str,
    trial: &str,
    artifacts: Vec<NewArtifact>,
    metrics: Vec<Metric>,
) {
    let attachment = Attachment {
        experiment: experiment.into(),
        trial: trial.into(),
        branch: Some("main".into()),
        testbed: Some("mi300x".into()),
        artifacts,
        metrics,
        ..Attachment::default()
    };
    store.attach(&attachment).expect("attached");
}

/// What a command printed, with one table.
pub fn printed(command: &str, table: &str, rows: Value) -> Vec<u8> {
    let document = json!({
        "tool": "rocm-perf", "version": "0.1.0", "command": command, "schema": 1, "inputs": [],
        "health": { "status": "pass", "checks": [] }, "tables": { table: rows }, "findings": [],
    });
    document.to_string().into_bytes()
}

/// An entry of a tar archive: name, kind, what a link points to, content.
pub fn entry(name: &str, kind: u8, link: &str, content: &[u8]) -> Vec<u8> {
    entry_of_size(name, kind, link, content, content.len() as u64)
}

/// An entry of a tar archive whose size field may be wrong.
pub fn entry_of_size(name: &str, kind: u8, link: &str, content: &[u8], size: u64) -> Vec<u8> {
    let mut block = vec![0; 512];
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[100..107].copy_from_slice(b"0000644");
    block[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
    block[148..156].fill(b' ');
    block[156] = kind;
    block[157..157 + link.len()].copy_from_slice(link.as_bytes());
    block[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    block.extend_from_slice(content);
    block.resize(block.len().next_multiple_of(512), 0);
    block
}

/// A tar archive of plain files.
pub fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes: Vec<u8> =
        files.iter().flat_map(|(name, content)| entry(name, b'0', "", content)).collect();
    bytes.extend_from_slice(&[0; 1024]);
    bytes
}
