//! An interrupt leaves no partial output and ends with 130.

mod common;

use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{files, rocm_perf};

#[test]
fn an_interrupted_simulation_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    let mut child = rocm_perf()
        .args(["synth", "--size", "50GB", "--out"])
        .arg(&out)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let began = Instant::now();
    while !out.is_dir() || files(&out, ".partial").is_empty() {
        assert!(began.elapsed() < Duration::from_secs(60), "it never began to write");
        std::thread::sleep(Duration::from_millis(10));
    }
    let interrupted = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupted.expect("kill runs").success());
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(130));
    assert_eq!(files(&out, ""), Vec::<std::path::PathBuf>::new(), "no file, whole or partial");
}
