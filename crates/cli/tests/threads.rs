//! Results do not depend on the number of threads, byte for byte.

use crate::common;

use std::io::Write;
use std::path::{Path, PathBuf};

use common::{files, rocm_perf, synth};

const THREADS: [&str; 4] = ["1", "2", "3", "7"];

/// A gzip trace that several threads inflate: it has at least 2 MiB of incompressible data.
fn large_gzip(folder: &Path, seed: &str) -> PathBuf {
    let made = folder.join(format!("made{seed}"));
    let arguments = ["--scenario", "serving", "--steps", "4", "--no-stacks", "--to", "torch", "--seed", seed];
    synth(&made, &arguments);
    let trace =
        files(&made, "rank0.json").into_iter().find(|path| !path.to_string_lossy().contains("capture"));
    let text = std::fs::read_to_string(trace.expect("a trace")).expect("a readable trace");
    let events =
        text.find("\"traceEvents\"").and_then(|at| Some(at + text[at..].find('[')? + 1)).expect("events");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    packed.write_all(&text.as_bytes()[..events]).expect("memory");
    let mut state = 88172645463325252u64;
    for _ in 0..3200 {
        let noise: String = (0..1000)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                char::from(b'0' + (state >> 20 & 63) as u8).to_string().replace('\\', "~")
            })
            .collect();
        let event =
            r#"{"ph": "i", "s": "t", "name": "note", "pid": 1, "tid": 1, "ts": 1, "args": {"text": ""#;
        write!(packed, "{event}{noise}\"}}}},").expect("memory");
    }
    packed.write_all(&text.as_bytes()[events..]).expect("memory");
    let packed = packed.finish().expect("memory");
    assert!(packed.len() > 2 << 20, "{} bytes are too few for several threads", packed.len());
    let path = folder.join(format!("{seed}.json.gz"));
    std::fs::write(&path, packed).expect("a file");
    path
}

/// What a command prints with each number of threads, and the files it writes.
fn check(arguments: &[&str], writes: Option<&Path>) {
    let mut first: Option<(Vec<u8>, Vec<Vec<u8>>)> = None;
    for threads in THREADS {
        let output =
            rocm_perf().args(arguments).args(["--threads", threads]).output().expect("the binary runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        // An analysis may find nothing in a generated run; it must find the same each time.
        assert!(output.status.code().is_some_and(|code| code < 2), "{arguments:?}: {errors}");
        let mut written = Vec::new();
        if let Some(path) = writes {
            let paths = if path.is_dir() { files(path, "") } else { vec![path.to_path_buf()] };
            written = paths.iter().map(|path| std::fs::read(path).expect("a written file")).collect();
            assert!(!written.is_empty());
        }
        match &first {
            None => first = Some((output.stdout, written)),
            Some(first) => {
                assert!(first.0 == output.stdout, "{arguments:?}: other output with {threads} threads");
                assert!(first.1 == written, "{arguments:?}: other files with {threads} threads");
            }
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (trace, other) = (large_gzip(folder.path(), "1"), large_gzip(folder.path(), "2"));
    let made = folder.path().join("rocpd");
    synth(&made, &["--scenario", "serving", "--steps", "4", "--no-stacks", "--to", "rocpd"]);
    let database = files(&made, ".db").remove(0);
    for input in [&trace, &database] {
        let input = input.to_str().expect("UTF-8");
        for command in ["summary", "triage", "explain", "critical-path", "ops"] {
            check(&[command, input, "--format", "json"], None);
        }
        for format in ["pftrace", "chrome", "csv"] {
            let out = folder.path().join(format!("out.{format}"));
            let out_text = out.to_str().expect("UTF-8");
            check(&["convert", input, "--to", format, "--out", out_text, "--force"], Some(&out));
        }
    }
    check(&["compare", trace.to_str().expect("UTF-8"), other.to_str().expect("UTF-8"), "--json"], None);
}

#[test]
fn zero_threads_are_refused() {
    let output = rocm_perf().args(["summary", "x.json", "--threads", "0"]).output().expect("the binary runs");
    assert_eq!(output.status.code(), Some(2));
}
