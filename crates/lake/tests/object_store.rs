//! A lake in an object store: `moto` from PyPI plays S3.

mod common;

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{build_all, rows};
use rocm_perf_lake::check::check;
use rocm_perf_lake::{Address, Error, Session};
use testing::lake::{run_sql_tests, sql_folder};

/// A server that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `MOTO_SERVER`, or the one in PATH.
fn moto() -> Option<PathBuf> {
    let named = std::env::var_os("MOTO_SERVER").map(PathBuf::from).filter(|path| path.is_file());
    let found = named.or_else(|| {
        std::env::split_paths(&std::env::var_os("PATH")?)
            .map(|folder| folder.join("moto_server"))
            .find(|path| path.is_file())
    });
    if found.is_none() {
        testing::skip("no moto_server (`pip install 'moto[server]'`)");
    }
    found
}

#[test]
fn a_lake_in_an_object_store_answers_like_one_in_a_folder() {
    let Some(moto) = moto() else { return };
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = Command::new(moto)
        .args(["-H", "127.0.0.1", "-p", &port.to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _server = Server(server);
    let endpoint = format!("http://127.0.0.1:{port}");
    // The only test in this program: nothing else reads the environment now.
    for (name, value) in [
        ("AWS_ENDPOINT_URL", endpoint.as_str()),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
    ] {
        unsafe { std::env::set_var(name, value) };
    }
    make_bucket(port);
    let folder = tempfile::tempdir().unwrap();
    let lake = Address::parse("s3://traces/jobs/lake");
    assert!(matches!(Session::open(&lake).err(), Some(Error::NoLake { .. })));
    let built = build_all(&folder.path().join("job"), &lake);
    assert_eq!(built.iter().map(|built| built.ranks.len()).sum::<usize>(), 4);
    let session = Session::open(&lake).unwrap();
    let count = run_sql_tests(&sql_folder().join("lake.slt"), |sql| rows(&session, sql));
    assert!(count >= 20);
    assert!(check(&lake, true).unwrap().faults.is_empty());
    let again = build_all(&folder.path().join("job"), &lake);
    // Written anew, the files are younger; the second time they are as they were.
    assert_eq!(again.iter().flat_map(|built| &built.ranks).count(), 4);
    let missing = Address::parse("s3://no-such-bucket/lake");
    assert!(matches!(Session::open(&missing).err(), Some(Error::NoLake { .. } | Error::Store { .. })));
}

/// Asks for a bucket as soon as the server listens.
fn make_bucket(port: u16) {
    use std::io::{Read, Write};
    let began = Instant::now();
    loop {
        if let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", port)) {
            write!(
                stream,
                "PUT /traces HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
            .unwrap();
            let mut answer = String::new();
            let _ = stream.read_to_string(&mut answer);
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "moto does not listen");
        std::thread::sleep(Duration::from_millis(100));
    }
}
