//! Shared by tests: real data next to the project, programs of the system, and a count of skipped tests.
//!
//! A test that cannot run reports that here and returns. `scripts/test` counts the reports, so that nothing
//! is skipped unseen.

pub mod browser;
pub mod lake;
pub mod postgresql;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The file that gets a line for each skipped test: binary, test and reason, separated by tabs.
pub const SKIPPED_FILE: &str = "ROCM_PERF_SKIPPED";

/// If set to 1, missing data fails a test instead of skipping it.
pub const REQUIRE_DATA: &str = "REQUIRE_DATA";

/// A file or folder of the real data, as `traces/x.json.gz`; without it the calling test is skipped.
pub fn data(path: impl AsRef<Path>) -> Option<PathBuf> {
    shared(Path::new("data").join(path))
}

/// A file or folder next to the project, as `specs/x.md`; without it the calling test is skipped.
pub fn shared(path: impl AsRef<Path>) -> Option<PathBuf> {
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(path.as_ref());
    if found.exists() {
        return Some(found);
    }
    let reason = format!("no ../shared/{}", path.as_ref().display());
    if std::env::var_os(REQUIRE_DATA).is_some_and(|value| value == "1") {
        panic!("{reason}, and {REQUIRE_DATA}=1 says that it must be there");
    }
    skip(&reason);
    None
}

/// The rules that an expectation in the `truth.json` of recorded runs stands for.
pub fn rules(expected: &str) -> Vec<String> {
    match expected {
        "pageable_copy" => vec!["pageable-copies".into()],
        "exposed_copy" => vec!["exposed-copies".into()],
        "fuse:attention" => vec!["eager-attention".into(), "fusable-chain".into()],
        "fuse:swiglu" => vec!["fusable-chain".into()],
        _ if expected.starts_with("host_stall:") => vec!["idle-gpu".into()],
        other => vec![other.replace('_', "-")],
    }
}

/// The first of several programs that is installed; if there is none, the calling test is skipped.
pub fn tool(names: &[&'static str]) -> Option<&'static str> {
    let installed = |name: &&&'static str| Command::new(name).arg("--version").output().is_ok();
    let found = names.iter().find(installed).copied();
    if found.is_none() {
        skip(&format!("no {}", names.join(" or ")));
    }
    found
}

/// Reports that the calling test, or a part of it, does not run, and why.
pub fn skip(reason: &str) {
    let binary = std::env::current_exe().ok();
    let binary = binary.as_deref().and_then(Path::file_stem).map(|stem| stem.to_string_lossy());
    // Cargo adds a hash to the name of the binary.
    let binary = binary.as_deref().map_or("?", |stem| stem.rsplit_once('-').map_or(stem, |(name, _)| name));
    let thread = std::thread::current();
    let line = format!("{binary}\t{}\t{reason}\n", thread.name().unwrap_or("?"));
    eprint!("skipped: {line}");
    if let Some(path) = std::env::var_os(SKIPPED_FILE) {
        // One write per line: test binaries may append at the same time.
        let file = std::fs::File::options().create(true).append(true).open(&path);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}
