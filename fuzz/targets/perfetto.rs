//! The reader of Perfetto traces on any bytes: it never panics.
#![no_main]

use ingest::{Format, Input, Progress, perfetto};
use libfuzzer_sys::fuzz_target;
use trace::Needs;

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("rocm-perf-fuzz-{}.pftrace", std::process::id()));
    if std::fs::write(&path, bytes).is_ok() {
        let input = Input { format: Format::Perfetto, path: path.clone(), files: vec![path], bytes: 1 };
        if let Ok(mut trace) = perfetto::read(&input, &Needs::everything(), &Progress::default()) {
            trace.finish();
        }
    }
});
