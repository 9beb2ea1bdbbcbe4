//! A program whose compiler is a shell script: the source text decides what the program does.

#![allow(dead_code)]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::common::rocm_perf;

/// A kernel to make faster.
pub const SOURCE: &str = "#define TWICE 2
__global__ void other(float* x) { x[0] = 1; }
__global__ void scale(float* x, int n) {
  for (int i = 0; i < n; ++i) {
    x[i] = x[i] + x[i];
  }
}
";

/// Acts as a compiler: the source text decides what the program does.
pub const BUILD: &str = r#"
grep -q BROKEN k.cu && { echo 'k.cu:5: error: BROKEN is not declared' >&2; exit 1; }
time=10000; result=2
grep -q 'TWICE;' k.cu && time=8000
grep -q 'unroll 4' k.cu && time=8800
grep -q '3;' k.cu && { time=5000; result=3; }
cat > app <<END
#!/bin/sh
noise=\$(od -An -N1 -tu1 /dev/urandom)
echo time=\$(($time + noise / 8)) result=$result
END
chmod +x app; cksum k.cu | sed 's/^/#/' >> app
"#;

/// A folder with the source, its build and its checker.
pub fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in
        [("k.cu", SOURCE), ("build.sh", BUILD), ("check.sh", "grep -q result=2 \"$ROCM_PERF_STDOUT\"\n")]
    {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

/// The command with the options that every session needs.
pub fn optimize(folder: &Path, more: &[&str]) -> Command {
    let mut command = rocm_perf();
    command.current_dir(folder).args(["optimize", "--source", "k.cu", "--build", "sh build.sh"]);
    command.args(["--metric", r"time=(\d+)", "--kernel", "scale", "--check", "sh check.sh"]);
    command.args(more).arg("./app");
    command
}

/// Bytes as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The output of a run and its session.
pub fn session(command: &mut Command, folder: &Path) -> (Output, Value) {
    let output = command.output().expect("it runs");
    let audit = std::fs::read_to_string(folder.join("rocm-perf-optimize/session.json"));
    let audit = audit.unwrap_or_else(|_| panic!("no session: {}", text(&output.stderr)));
    (output, serde_json::from_str(&audit).expect("JSON"))
}
