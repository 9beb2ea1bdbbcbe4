//! `experiment push`: what a server gets, when it is sent again, and what the user sees.

use crate::common;

use std::path::Path;
use std::process::{Command, Output};

use common::rocm_perf;

fn experiment(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = rocm_perf();
    command.current_dir(folder).env("ROCM_PERF_DB", folder.join("store.db")).env_remove("ROCM_PERF_TOKEN");
    command.arg("experiment").args(arguments);
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A server that answers uploads with given statuses, and keeps what it received.
mod server {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;
    use std::sync::{Arc, Mutex};

    pub struct Asked {
        pub line: String,
        pub token: Option<String>,
        pub body: Vec<u8>,
    }

    /// Answers requests with these statuses in order; returns its address and the requests.
    pub fn start(statuses: &'static [(u16, &'static str)]) -> (String, Arc<Mutex<Vec<Asked>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        std::thread::spawn(move || {
            for (status, text) in statuses {
                let Ok((stream, _)) = listener.accept() else { return };
                let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
                let mut line = String::new();
                reader.read_line(&mut line).expect("a line");
                let (mut token, mut chunked, mut length) = (None, false, 0);
                loop {
                    let mut header = String::new();
                    reader.read_line(&mut header).expect("a header");
                    let header = header.trim();
                    if header.is_empty() {
                        break;
                    }
                    let (name, value) = header.split_once(':').expect("a header");
                    match name.to_lowercase().as_str() {
                        "authorization" => token = Some(value.trim().to_string()),
                        "transfer-encoding" => chunked = true,
                        "content-length" => length = value.trim().parse().expect("a number"),
                        _ => {}
                    }
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).expect("a body");
                while chunked {
                    let mut size = String::new();
                    reader.read_line(&mut size).expect("a size");
                    let size = usize::from_str_radix(size.trim(), 16).expect("a size");
                    let mut part = vec![0; size + 2];
                    reader.read_exact(&mut part).expect("a part");
                    body.extend_from_slice(&part[..size]);
                    chunked = size > 0;
                }
                seen.lock().expect("free").push(Asked { line, token, body });
                let mut stream = stream;
                let answer = format!(
                    "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
                    text.len()
                );
                stream.write_all(answer.as_bytes()).expect("answered");
            }
        });
        (url, asked)
    }
}

const STORED: &str = r#"{"new_trial": true, "added": ["a.txt"], "replaced": [], "unchanged": []}"#;

#[test]
fn push_sends_a_trial_again_until_it_arrives() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::fs::write(at.join("a.txt"), "x".repeat(3_000)).expect("a file");
    std::fs::write(at.join("token"), "write 0123456789abcdef0123\n").expect("a file");
    assert!(experiment(at, &["new", "e"]).output().expect("it runs").status.success());
    let attach = ["attach", "e", "t 1", "a.txt", "--metric", "latency=1±0.1ms", "--branch", "main"];
    assert!(experiment(at, &attach).output().expect("it runs").status.success());
    let (url, asked) = server::start(&[(503, r#"{"error": {"message": "busy"}}"#), (200, STORED)]);
    let push = ["push", "e", "--to", &url, "--token-file", "token", "--json"];
    let output = experiment(at, &push).output().expect("it runs");
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("busy; trying again"), "{}", said(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["tables"]["pushed"][0]["status"], "new");
    let asked = asked.lock().expect("free");
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].body, asked[1].body, "the second try is the same from its beginning");
    assert!(
        asked[0].line.starts_with("POST /api/v1/experiments/e/trials/t%201/bundle HTTP"),
        "{}",
        asked[0].line
    );
    assert_eq!(asked[0].token.as_deref(), Some("Bearer 0123456789abcdef0123"));
    std::fs::write(at.join("sent.tar"), &asked[0].body).expect("a file");
    let listed = Command::new("tar").arg("tf").arg(at.join("sent.tar")).output().expect("tar runs");
    assert_eq!(String::from_utf8_lossy(&listed.stdout), "trial.json\na.txt\n");
}

#[test]
fn push_says_what_the_server_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    assert!(experiment(at, &["new", "e"]).output().expect("it runs").status.success());
    assert!(
        experiment(at, &["attach", "e", "t", "--metric", "latency=1ms"])
            .output()
            .expect("it runs")
            .status
            .success()
    );
    let refused = |statuses, more: &[&str]| {
        let (url, _) = server::start(statuses);
        let output =
            experiment(at, &[&["push", "e", "t", "--to", &url], more].concat()).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        said(&output)
    };
    let text = refused(&[(401, "{}")], &[]);
    assert!(text.contains("it wants a token"), "{text}");
    let text = refused(&[(409, r#"{"error": {"message": "trial `t` has another `a.txt` already"}}"#)], &[]);
    assert!(text.contains("another `a.txt`") && text.contains("replace"), "{text}");
    let nobody = experiment(at, &["push", "e", "t", "--to", "http://127.0.0.1:1", "--retries", "0"]);
    let output = { nobody }.output().expect("it runs");
    assert!(said(&output).contains("cannot reach"), "{}", said(&output));
    let output = experiment(at, &["push", "e", "t", "--to", "perf.example.org"]).output().expect("it runs");
    assert!(said(&output).contains("is not an address"), "{}", said(&output));
    let output = experiment(at, &["push", "e", "none", "--to", "http://x"]).output().expect("it runs");
    assert!(said(&output).contains("has no trial `none`"), "{}", said(&output));
}
