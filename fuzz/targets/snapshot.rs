//! The reader of memory snapshots on any bytes: it never panics, and nothing in them is run.
#![no_main]

use ingest::{Format, Input, Progress, snapshot};
use libfuzzer_sys::fuzz_target;
use trace::Needs;

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("rocm-perf-fuzz-{}.pickle", std::process::id()));
    if std::fs::write(&path, bytes).is_ok() {
        let input = Input { format: Format::Snapshot, path: path.clone(), files: vec![path], bytes: 1 };
        if let Ok(mut trace) = snapshot::read(&input, &Needs::everything(), &Progress::default()) {
            trace.finish();
        }
    }
});
