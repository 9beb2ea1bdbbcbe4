//! Secrets of a recorded command line are removed in every output format.

use crate::common;

use std::path::Path;

use common::example;
use rocm_perf_convert::rocprofv3::{csv, json};
use rocm_perf_convert::{otf2, pftrace, rocpd, torch};

/// All bytes below a folder.
fn bytes_of(folder: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        all.extend(if path.is_dir() { bytes_of(&path) } else { std::fs::read(&path).unwrap() });
    }
    all
}

#[test]
fn e10_no_writer_copies_the_secrets_of_a_command_line() {
    let mut trace = example();
    let line = "HF_TOKEN=planted-1 python3 train.py --api-key planted-2 --db tcp://me:planted-3@host --steps 128 \
                -H 'Authorization: Bearer planted-4'";
    let command = trace.strings.intern(line);
    trace.processes.iter_mut().for_each(|process| process.command = command);
    for format in ["pftrace", "chrome", "rocpd", "json", "csv", "otf2"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("out.{format}"));
        match format {
            "pftrace" => drop(pftrace::write(&trace, &path, &pftrace::Options::default()).unwrap()),
            "chrome" => drop(torch::write(&trace, &path, &torch::Options::default()).unwrap()),
            "rocpd" => drop(rocpd::write(&trace, &path, &rocpd::Options::default()).unwrap()),
            "json" => drop(json::write(&trace, &path).unwrap()),
            "csv" => drop(
                csv::write(
                    &trace,
                    &path,
                    &csv::Options { columns: csv::ColumnSet::Rocpd, agents: csv::AgentIndex::default() },
                )
                .unwrap(),
            ),
            _ => drop(otf2::write(&trace, &path).unwrap()),
        }
        let bytes = bytes_of(folder.path());
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("planted"), "{format}");
        if !["csv", "otf2"].contains(&format) {
            assert!(text.contains("--steps") && text.contains("[redacted]"), "{format}: the rest stays");
        }
    }
}
