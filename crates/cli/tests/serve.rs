//! `serve` as a program: it prints its address, answers requests, and stops on request.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::common::{crash, signal, worker_of};

fn serve(folder: &std::path::Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rocm-perf"));
    command.arg("serve").arg("--db").arg(folder.join("team.db"));
    for variable in ["ROCM_PERF_TOKEN", "ROCM_PERF_READ_TOKEN", "ROCM_PERF_DB"] {
        command.env_remove(variable);
    }
    command
}

/// A server on a free port, and its address.
fn started(folder: &std::path::Path) -> (Child, String) {
    let mut child = serve(folder)
        .args(["--listen", "127.0.0.1:0", "-q"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
    let address = line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix('/'));
    (child, address.expect("a link").to_string())
}

fn page(address: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    write!(stream, "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").expect("sent");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("a page");
    page
}

#[test]
fn it_says_where_it_is_answers_and_stops() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut child, address) = started(folder.path());
    let page = page(&address);
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("No experiments yet"), "{page}");
    signal("TERM", child.id());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert!(TcpStream::connect(&address).is_err(), "its worker ended as well");
}

#[test]
fn a_worker_that_crashes_is_replaced_and_nobody_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut child, address) = started(folder.path());
    for name in ["KILL", "ABRT"] {
        let before = worker_of(child.id());
        crash(name, before);
        assert!(page(&address).starts_with("HTTP/1.1 200"), "after {name}");
        assert_ne!(worker_of(child.id()), before);
    }
    signal("TERM", child.id());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    let mut said = String::new();
    child.stderr.take().expect("its messages").read_to_string(&mut said).expect("text");
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(said.contains("error: the server was killed by signal 9"), "{said}");
}

#[test]
fn a_worker_ends_with_its_supervisor() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut child, address) = started(folder.path());
    child.kill().expect("killed");
    child.wait().expect("it ends");
    let began = std::time::Instant::now();
    while TcpStream::connect(&address).is_ok() {
        assert!(began.elapsed() < std::time::Duration::from_secs(20), "the worker lives on");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_network_without_a_token_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = serve(folder.path()).args(["--listen", "0.0.0.0:0"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("can be reached from other machines") && told.contains("--token-file"), "{told}");
    let tokens = folder.path().join("tokens");
    std::fs::write(&tokens, "write short\n").expect("a file");
    let output = serve(folder.path()).arg("--token-file").arg(&tokens).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("line 1: a token has 16 characters"));
}

#[test]
fn a_port_that_is_taken_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let output = serve(folder.path()).args(["--listen", &address]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains(&format!("cannot listen on {address}")), "{told}");
}

#[test]
fn programs_are_told_where_it_is_as_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = serve(folder.path())
        .args(["--listen", "127.0.0.1:0", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut text = String::new();
    let mut reader = BufReader::new(child.stdout.take().expect("its output"));
    while !text.ends_with("\n}\n") {
        assert!(reader.read_line(&mut text).expect("a line") > 0, "{text}");
    }
    let printed: Value = serde_json::from_str(&text).expect("JSON");
    assert!(
        printed["tables"]["servers"][0]["url"]
            .as_str()
            .is_some_and(|url| url.starts_with("http://127.0.0.1:"))
    );
    child.kill().expect("killed");
    child.wait().expect("it ends");
}
