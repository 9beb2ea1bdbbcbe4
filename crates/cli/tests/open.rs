//! `open`: the link it prints leads the UI's page to the trace; it stops on its own and deletes its files.

use crate::common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::{SMALL_TORCH, files, rocm_perf, run};

/// A page's origin; nothing listens there.
const UI: &str = "http://127.0.0.1:1";

fn torch(folder: &Path) -> PathBuf {
    let path = folder.join("trace.json");
    std::fs::write(&path, SMALL_TORCH).expect("a trace");
    path
}

/// Starts `open` on any free port with its own folder for temporary files.
fn open(folder: &Path, more: &[&str]) -> Child {
    let temporary = folder.join("temporary");
    std::fs::create_dir_all(&temporary).expect("a folder");
    rocm_perf()
        .arg("open")
        .arg(torch(folder))
        .args(["--ui", UI, "--port", "0"])
        .args(more)
        .env("TMPDIR", &temporary)
        .env_remove("BROWSER")
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("its output")).read_line(&mut line).expect("a line");
    line.trim().to_string()
}

/// What the UI's page does with its own address.
fn fetch(link: &str) -> Vec<u8> {
    let url = link.split_once("#!/?url=").expect("a link with an address").1;
    let (host, path) = url.strip_prefix("http://").expect("a plain address").split_once('/').expect("a path");
    let mut stream = TcpStream::connect(host).expect("it listens");
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nOrigin: {UI}\r\nConnection: close\r\n\r\n")
        .expect("a request");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.to_lowercase().contains(&format!("access-control-allow-origin: {UI}")), "{head}");
    answer[end + 4..].to_vec()
}

fn nothing_is_left(folder: &Path) {
    assert_eq!(files(&folder.join("temporary"), ""), Vec::<PathBuf>::new());
}

#[test]
fn the_link_leads_to_the_trace_and_then_it_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = open(folder.path(), &["--no-browser"]);
    let link = first_line(&mut child);
    assert!(link.starts_with("http://127.0.0.1:1/#!/?url=http://127.0.0.1:"), "{link}");
    assert!(link.ends_with("/trace.pftrace"), "{link}");
    let fetched = fetch(&link);
    let status = child.wait().expect("it ends");
    let mut said = String::new();
    child.stderr.take().expect("its errors").read_to_string(&mut said).expect("text");
    assert!(status.success() && said.contains("click the link"), "{status}: {said}");
    nothing_is_left(folder.path());
    let converted = folder.path().join("same.pftrace");
    let input = folder.path().join("trace.json");
    let arguments =
        ["convert".as_ref(), input.as_os_str(), "--to".as_ref(), "pftrace".as_ref(), "-o".as_ref()];
    let done = rocm_perf().args(arguments).arg(&converted).output().expect("it runs");
    assert!(done.status.success());
    assert!(fetched == std::fs::read(&converted).expect("a file"), "the same as `convert` writes");
}

#[test]
fn the_browser_gets_the_link() {
    let folder = tempfile::tempdir().expect("a folder");
    let browser = folder.path().join("browser");
    let told = folder.path().join("told");
    std::fs::write(&browser, format!("#!/bin/sh\necho \"$1\" > '{}'\n", told.display())).expect("a script");
    std::fs::set_permissions(&browser, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("allowed");
    let mut child = rocm_perf()
        .arg("open")
        .arg(torch(folder.path()))
        .args(["--ui", UI, "--port", "0", "--json", "--quiet"])
        .env("BROWSER", &browser)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let began = Instant::now();
    let link = loop {
        match std::fs::read_to_string(&told) {
            Ok(link) if link.ends_with('\n') => break link.trim().to_string(),
            _ => assert!(began.elapsed() < Duration::from_secs(60), "the browser was never started"),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    fetch(&link);
    let mut shown = String::new();
    child.stdout.take().expect("its output").read_to_string(&mut shown).expect("text");
    assert!(child.wait().expect("it ends").success());
    let report: serde_json::Value = serde_json::from_str(&shown).expect("a report");
    assert_eq!(report["tables"]["offers"][0]["link"], link);
    assert_eq!(report["tables"]["offers"][0]["ui_origin"], UI);
}

#[test]
fn without_a_fetch_it_ends_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let child = open(folder.path(), &["--no-browser", "--timeout", "1"]);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("nobody fetched the trace in 1 s"), "{said}");
    nothing_is_left(folder.path());
    let mut child = open(folder.path(), &["--no-browser"]);
    first_line(&mut child);
    assert_eq!(files(&folder.path().join("temporary"), ".pftrace").len(), 1);
    let interrupted = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupted.expect("kill runs").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    nothing_is_left(folder.path());
}

#[test]
fn what_cannot_work_is_said_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = torch(folder.path()).display().to_string();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    for (more, expected) in [
        (&["--ui", "perfetto"][..], "`--ui perfetto` is not a web address"),
        (&["--port", "9000"], "https://ui.perfetto.dev fetches from port 9001 only"),
        (&["--ui", UI, "--port", &port], "cannot listen on 127.0.0.1"),
    ] {
        let output = run(&[&["open", &input, "--no-browser"], more].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.starts_with("error: ") && said.contains(expected) && said.contains(" help: "), "{said}");
        assert!(output.stdout.is_empty());
    }
}
