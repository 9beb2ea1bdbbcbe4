//! A server with https is captured like one with http.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rocm_perf_collect::capture::{Events, Lengths, Options, Site, capture};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use stand_in_serving::{Config, Framework, StandIn};

/// Ignores all messages.
struct Silent;

impl Events for Silent {
    fn step(&self, _: &str) {}

    fn warn(&self, _: &str) {}
}

/// Creates a self-signed certificate for localhost; `None` without openssl.
fn certificate(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let (key, certificate) = (folder.join("key.pem"), folder.join("certificate.pem"));
    let mut command = Command::new("openssl");
    command.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]);
    command.args(["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]);
    command.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
    let made = command.arg("-keyout").arg(&key).arg("-out").arg(&certificate).output();
    if !made.is_ok_and(|made| made.status.success()) {
        println!("skipped: no openssl here");
        return None;
    }
    Some((key, certificate))
}

/// Reads one request: its head and as many bytes as the head says.
fn request(stream: &mut impl Read) -> Vec<u8> {
    let (mut bytes, mut block) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return bytes;
            }
        }
        match stream.read(&mut block) {
            Ok(read @ 1..) => bytes.extend_from_slice(&block[..read]),
            _ => return bytes,
        }
    }
}

/// Puts TLS in front of a server; returns the port.
fn encrypted(server: &str, key: &Path, certificate: &Path) -> u16 {
    let chain = vec![CertificateDer::from_pem_file(certificate).expect("a certificate")];
    let key = PrivateKeyDer::from_pem_file(key).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.expect("versions").with_no_client_auth().with_single_cert(chain, key);
    let config = Arc::new(config.expect("a configuration"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = server.trim_start_matches("http://").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (config, server) = (Arc::clone(&config), server.clone());
            std::thread::spawn(move || {
                let Ok(connection) = rustls::ServerConnection::new(config) else { return };
                let mut stream = rustls::StreamOwned::new(connection, stream);
                let asked = String::from_utf8_lossy(&request(&mut stream)).into_owned();
                let asked = asked.replacen("\r\n", "\r\nConnection: close\r\n", 1);
                let mut answer = Vec::new();
                let Ok(mut upstream) = TcpStream::connect(&server) else { return };
                if upstream.write_all(asked.as_bytes()).is_ok() {
                    let _ = upstream.read_to_end(&mut answer);
                }
                let _ = stream.write_all(&answer).and_then(|()| stream.flush());
                stream.conn.send_close_notify();
                let _ = stream.flush();
            });
        }
    });
    port
}

#[test]
fn https_was_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some((key, certificate)) = certificate(folder.path()) else { return };
    let traces = folder.path().join("traces");
    std::fs::create_dir(&traces).expect("a folder");
    let server = StandIn::start(Config {
        framework: Framework::Sglang,
        trace_dir: traces.clone(),
        ..Config::default()
    });
    let server = server.expect("a server");
    let port = encrypted(&server.url(), &key, &certificate);
    let site =
        Site { url: format!("https://localhost:{port}"), output_dir: traces.clone(), ..Site::default() };
    let options = Options {
        certificates: Some(certificate),
        num_steps: 3,
        warmup_steps: 4,
        probe_delay: Duration::from_millis(1),
        prefill: Lengths { input: 20, output: Some(1) },
        decode: Lengths { input: 1, output: Some(12) },
        timeout: Duration::from_secs(20),
        retry_pause: Duration::from_millis(20),
        poll: Duration::from_millis(10),
        settle: Duration::from_millis(300),
        ..Options::new(site)
    };
    capture(&options, &Silent).expect("a capture");
    assert!(!server.bodies("/start_profile").is_empty());
    // A server without a trusted certificate is refused.
    let system = Options { certificates: None, retries: 0, ..options };
    assert!(capture(&system, &Silent).is_err());
}
