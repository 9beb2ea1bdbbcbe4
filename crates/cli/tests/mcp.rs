//! `mcp` as clients see it: a process on stdin and stdout, a server on HTTP, and the official Python client on both.

use crate::common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use common::{rocm_perf, signal, synth, worker_of};
use serde_json::{Value, json};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A folder with one run that waits for its launches.
fn traces() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    synth(&folder.path().join("run"), &["--scenario", "eager", "--to", "torch", "--no-stacks"]);
    folder
}

/// Ends a server however the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server on a free port, and its address.
fn http(root: &Path) -> (Running, String) {
    let mut command = rocm_perf();
    command.args(["mcp", "--listen", "127.0.0.1:0", "--root"]).arg(root);
    command.env("ROCM_PERF_MCP_TOKEN", TOKEN).stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    let errors = child.stderr.take().expect("its messages");
    BufReader::new(errors).read_line(&mut line).expect("a line");
    let url = line.split_whitespace().find(|word| word.starts_with("http://"));
    let url = url.unwrap_or_else(|| panic!("no address in `{line}`")).trim_end_matches(';').to_string();
    (Running(child), url)
}

/// Sends one request and returns the whole response.
fn send(url: &str, headers: &str, body: &Value) -> String {
    let address = url.trim_start_matches("http://").split('/').next().expect("an address");
    let mut stream = TcpStream::connect(address).expect("a connection");
    let body = body.to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("it listens");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

fn hello() -> Value {
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

/// A session on stdin and stdout.
struct Lines {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    child: Running,
}

impl Lines {
    /// A session after the handshake.
    fn greeted(root: &Path) -> Self {
        let mut command = rocm_perf();
        command.arg("mcp").arg("--root").arg(root);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Running(command.spawn().expect("it starts"));
        let input = child.0.stdin.take().expect("its input");
        let output = BufReader::new(child.0.stdout.take().expect("its output"));
        let mut session = Self { input, output, child };
        session.tell(&hello());
        assert_eq!(session.heard()["result"]["serverInfo"]["name"], "rocm-perf");
        session.tell(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        session
    }

    fn tell(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("it reads");
    }

    fn open_trace(&mut self, id: usize) {
        let call = json!({ "name": "open_trace", "arguments": { "path": "run" } });
        self.tell(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call }));
    }

    fn heard(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Closes the input, which ends the program.
    fn end(self) {
        let Self { input, mut child, .. } = self;
        drop(input);
        assert!(child.0.wait().expect("it ends").success());
    }
}

#[test]
fn lines_on_stdin_are_answered_on_stdout_and_the_end_of_input_ends_it() {
    let folder = traces();
    let mut session = Lines::greeted(folder.path());
    session.open_trace(2);
    let opened = session.heard();
    let text = opened["result"]["content"][0]["text"].as_str().expect("a text");
    assert!(text.len() <= 8_000);
    let opened: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(opened["verdict"]["bound_by"], "launch");
    session.end();
}

#[test]
fn a_crash_fails_the_call_it_happens_in_and_the_session_goes_on() {
    let folder = traces();
    let mut session = Lines::greeted(folder.path());
    session.open_trace(2);
    assert_eq!(session.heard()["result"]["isError"], false);
    // A stalled worker has not answered when it is killed.
    let worker = worker_of(session.child.0.id());
    signal("STOP", worker);
    session.open_trace(3);
    session.tell(&json!({ "jsonrpc": "2.0", "id": 4, "method": "tools/list" }));
    std::thread::sleep(std::time::Duration::from_millis(100));
    signal("KILL", worker);
    let (call, list) = (session.heard(), session.heard());
    assert_eq!((&call["id"], &call["result"]["isError"]), (&json!(3), &json!(true)));
    assert_eq!((&list["id"], &list["error"]["code"]), (&json!(4), &json!(-32603)));
    // The next worker did the handshake, without a second response to the client's.
    session.open_trace(5);
    let opened = session.heard();
    assert_eq!((&opened["id"], &opened["result"]["isError"]), (&json!(5), &json!(false)));
    session.end();
}

#[test]
fn http_answers_only_those_who_show_the_token() {
    let folder = traces();
    let (_server, url) = http(folder.path());
    for wrong in ["", "Authorization: Bearer 0123456789abcdef\r\n", "Authorization: Basic abc\r\n"] {
        let answer = send(&url, wrong, &hello());
        assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    }
    let token = format!("Authorization: Bearer {TOKEN}\r\n");
    let answer = send(&url, &token, &hello());
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("rocm-perf"), "{answer}");
    let page = send(&url, &format!("{token}Origin: https://example.com\r\n"), &hello());
    assert!(page.starts_with("HTTP/1.1 403"), "pages of a browser are refused: {page}");
}

#[test]
fn a_server_without_a_token_or_on_an_open_address_does_not_start() {
    let run = |arguments: &[&str]| {
        let mut command = rocm_perf();
        command.arg("mcp").args(arguments).env_remove("ROCM_PERF_MCP_TOKEN").stdin(Stdio::null());
        let output = command.output().expect("it runs");
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(run(&["--listen", "127.0.0.1:0"]).contains("HTTP needs a token"));
    let folder = tempfile::tempdir().expect("a folder");
    let (token, short) = (folder.path().join("token"), folder.path().join("short"));
    std::fs::write(&token, TOKEN).expect("a file");
    std::fs::write(&short, "secret").expect("a file");
    let token = token.to_str().expect("a path");
    let open = run(&["--listen", "0.0.0.0:0", "--token-file", token]);
    assert!(open.contains("reachable from other machines"), "{open}");
    let short = run(&["--listen", "127.0.0.1:0", "--token-file", short.to_str().expect("a path")]);
    assert!(short.contains("at least 16"), "{short}");
    assert!(run(&["--root", "/no/such/folder"]).contains("/no/such/folder"));
}

/// A Python with the package `mcp`, which `scripts/test` installs.
fn python() -> Option<PathBuf> {
    let python = std::env::var_os("MCP_PYTHON").map(PathBuf::from).filter(|path| path.is_file());
    if python.is_none() {
        testing::skip("no MCP_PYTHON: a Python with the package mcp");
    }
    python
}

fn session(python: &Path, arguments: &[&str]) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp_client/client.py");
    let output = Command::new(python).arg(script).args(arguments).output().expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}\n{errors}"))
}

fn check(seen: &Value) {
    assert_eq!(seen["name"], "rocm-perf");
    assert!(seen["tools"].as_array().expect("a list").len() >= 19, "{seen}");
    assert_eq!(seen["opened"]["trace"], "t1");
    assert_eq!(seen["rule"], "launch-bound");
    assert_eq!(seen["bad_is_error"], true);
    assert!(seen["bad"].as_str().expect("a text").contains("outside"), "{seen}");
    assert!(seen["resources"].to_string().contains("rocm-perf://schemas/explain"));
    assert!(seen["prompts"].to_string().contains("why_slow"));
    assert!(seen["prompt"].as_str().expect("a text").contains("`run`"));
}

#[test]
fn the_python_client_talks_over_stdio() {
    let Some(python) = python() else { return };
    let folder = traces();
    let root = folder.path().to_str().expect("a path");
    check(&session(&python, &["stdio", env!("CARGO_BIN_EXE_rocm-perf"), root]));
}

#[test]
fn the_python_client_talks_over_http() {
    let Some(python) = python() else { return };
    let folder = traces();
    let (_server, url) = http(folder.path());
    check(&session(&python, &["http", &url, TOKEN]));
}
