//! Failing system calls: a library that is loaded before the C library fails the n-th of them.

#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The library, compiled once; `None` without a C compiler, with a message.
pub fn interposer() -> Option<&'static PathBuf> {
    static MADE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/interposer.c");
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interposer.so");
        // Two tests may compile it at once: each under its own name.
        let own = target.with_extension(std::process::id().to_string());
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&own).args([source, "-ldl"]);
        let compiled = compiler.status().is_ok_and(|status| status.success());
        (compiled && std::fs::rename(&own, &target).is_ok()).then_some(target)
    });
    if made.is_none() {
        testing::skip("no C compiler");
    }
    made.as_ref()
}

/// Which calls to fail: the first ones, then increasingly sparse ones.
pub fn sweep() -> Vec<usize> {
    if std::env::var("ROCM_PERF_FAULTS").is_ok_and(|which| which == "all") {
        return (1..400).collect();
    }
    vec![1, 2, 3, 5, 9, 40]
}

/// One call that fails.
pub struct Fault<'a> {
    pub call: &'static str,
    pub at: usize,
    pub below: &'a Path,
    pub errno: i32,
}

impl Fault<'_> {
    /// Runs a command with this fault; also returns whether it happened.
    pub fn run(&self, command: &mut Command, folder: &Path) -> (Output, bool) {
        let log = folder.join("fault.log");
        let _ = std::fs::remove_file(&log);
        command.env("LD_PRELOAD", interposer().unwrap()).env("FAULT_CALL", self.call);
        command.env("FAULT_AT", self.at.to_string()).env("FAULT_BELOW", self.below);
        command.env("FAULT_ERRNO", self.errno.to_string()).env("FAULT_LOG", &log);
        command.env("FAULT_PROGRAM", "rocm-perf");
        let output = command.output().expect("the binary runs");
        (output, log.exists())
    }
}

/// A device error.
pub const EIO: i32 = 5;
/// No more processes.
pub const EAGAIN: i32 = 11;
/// A full disk.
pub const ENOSPC: i32 = 28;
