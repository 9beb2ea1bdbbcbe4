//! A language model with https: a trusted server is used, an untrusted one is refused.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rocm_perf_tune::optimize::propose::Evidence;
use rocm_perf_tune::optimize::propose::llm::{Endpoint, proposal};
use rocm_perf_tune::optimize::source::Source;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Creates a self-signed certificate for localhost; `None` without openssl.
fn certificate(folder: &Path, name: &str) -> Option<(PathBuf, PathBuf)> {
    let (key, certificate) = (folder.join(format!("{name}.key")), folder.join(format!("{name}.pem")));
    let mut command = Command::new("openssl");
    command.args([
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]);
    command.args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]);
    command.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
    let made = command.arg("-keyout").arg(&key).arg("-out").arg(&certificate).output();
    if !made.is_ok_and(|made| made.status.success()) {
        testing::skip("no openssl that makes certificates");
        return None;
    }
    Some((key, certificate))
}

/// A server that gives every client the same response.
fn server(key: &Path, certificate: &Path, answer: String) -> u16 {
    let chain = vec![CertificateDer::from_pem_file(certificate).unwrap()];
    let key = PrivateKeyDer::from_pem_file(key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = Arc::new(config.unwrap().with_no_client_auth().with_single_cert(chain, key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let Ok(connection) = rustls::ServerConnection::new(Arc::clone(&config)) else { return };
            let mut stream = rustls::StreamOwned::new(connection, stream);
            let mut request = Vec::new();
            let mut block = [0; 4096];
            while let Ok(read @ 1..) = stream.read(&mut block) {
                request.extend_from_slice(&block[..read]);
                if String::from_utf8_lossy(&request).contains("x[0] += 1") {
                    break;
                }
            }
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", answer.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(answer.as_bytes()));
            let _ = stream.flush();
        }
    });
    port
}

#[test]
fn who_is_trusted_answers_and_who_is_not_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let Some((key, ours)) = certificate(folder.path(), "ours") else { return };
    let Some((_, other)) = certificate(folder.path(), "other") else { return };
    let code = "```cpp\n__global__ void add(float* x) { x[0]++; }\n```";
    let answer = serde_json::json!({ "choices": [{ "message": { "content": code } }] }).to_string();
    let port = server(&key, &ours, answer);
    let source = Source::parse("__global__ void add(float* x) { x[0] += 1; }\n").unwrap();
    let kernel = source.kernels().remove(0);
    let ask = |scheme: &str, certificates: Option<PathBuf>| {
        let endpoint = Endpoint {
            url: format!("{scheme}://localhost:{port}/v1"),
            model: "test".into(),
            key: None,
            timeout: Duration::from_secs(20),
            temperature: 0.0,
            certificates,
        };
        proposal(&endpoint, &source, &kernel, &Evidence::default(), &[], &[])
    };
    let made = ask("https", Some(ours.clone())).unwrap();
    assert_eq!(made.text, "__global__ void add(float* x) { x[0]++; }\n");
    for (certificates, why) in [
        (Some(other), "did not respond"),
        (Some(folder.path().join("none.pem")), "cannot be trusted"),
        (Some(key), "holds no certificates"),
    ] {
        let refused = ask("https", certificates).unwrap_err().0;
        assert!(refused.contains(why), "{why}: {refused}");
    }
    assert!(ask("http", Some(ours)).is_err(), "the port speaks nothing else");
}
