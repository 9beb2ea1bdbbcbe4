//! `optimize` with code objects built by clang: candidates that change the argument block, spill registers or
//! leave no room for waves are refused before they run.

use crate::common;
use crate::device_code;
use crate::optimize_lab;

use std::path::Path;

use common::rocm_perf;
use device_code::{OPTIONS, clang};
use optimize_lab::session;
use serde_json::Value;

const SOURCE: &str = "#define __global__ __attribute__((global))
#ifdef WIDE
#define COUNT long
#else
#define COUNT int
#endif
extern \"C\" __global__ void __attribute__((amdgpu_flat_work_group_size(1, 1024))) scale(const float* x, float* y, COUNT n) {
  int t = __builtin_amdgcn_workitem_id_x();
  // here
  y[t + n] = x[t];
}
";

/// Builds a code object, and a program that is fast if the source has changed.
const BUILD: &str = "
grep -q 'quietly wide' k.hip && wide=-DWIDE
CLANG OPTIONS $wide k.hip -o k.co || exit 1
time=10000; grep -q changed k.hip && time=8000
printf '#!/bin/sh\\necho time=%s\\n' \"$time\" > app; chmod +x app; cksum k.hip | sed 's/^/#/' >> app
";

/// Keeps this many values alive at once: stores may alias the input, so everything is read first.
fn hungry(live: usize) -> String {
    format!(
        "float a[{live}]; // changed
  #pragma unroll
  for (int i = 0; i < {live}; ++i) a[i] = x[i * 1024 + t];
  #pragma unroll
  for (int i = 0; i < {live}; ++i) y[({live} - i) * 1024 + t + n] = a[i];"
    )
}

fn tried(clang: &str, to: &str, options: &[&str]) -> (Value, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let build = BUILD.replace("CLANG", clang).replace("OPTIONS", &OPTIONS.join(" "));
    let proposals = serde_json::json!({ "proposals": [{ "description": "a change", "source": SOURCE.replacen("// here", to, 1) }] });
    for (name, text) in [("k.hip", SOURCE), ("build.sh", &build), ("proposals.json", &proposals.to_string())]
    {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    let mut command = rocm_perf();
    command.current_dir(folder.path()).args(["optimize", "--source", "k.hip", "--build", "sh build.sh"]);
    command.args(["--metric", r"time=(\d+)", "--kernel", "scale", "--check", "true", "--pairs", "10"]);
    command.args(["--code-object", "*.co", "--proposer", "command", "--proposer-cmd", "cat proposals.json"]);
    let (_, session) = session(command.args(options).arg("./app"), folder.path());
    let metrics = Path::new("rocm-perf-optimize/candidates/1/metrics.json");
    let metrics = std::fs::read_to_string(folder.path().join(metrics)).expect("metrics");
    (session["candidates"][0].clone(), serde_json::from_str(&metrics).expect("JSON"))
}

#[track_caller]
fn expect(clang: &str, to: &str, options: &[&str], status: &str, reason: &str) -> Value {
    let (candidate, metrics) = tried(clang, to, options);
    assert_eq!(candidate["status"], status, "{candidate:#}");
    assert!(candidate["reason"].as_str().is_some_and(|why| why.contains(reason)), "{candidate:#}");
    metrics
}

#[test]
fn what_was_built_is_guarded() {
    let Some(clang) = clang() else { return };
    let metrics = expect(clang, "t += 0; // changed", &[], "accepted", "x (");
    assert_eq!(metrics["before"][0]["kernarg_bytes"], metrics["after"][0]["kernarg_bytes"]);
    assert!(metrics["before"][0]["occupancy_pct"].as_f64().is_some_and(|pct| pct > 0.0), "{metrics:#}");
    // The guard on the source sees a comment; the macro that it enables moves the arguments.
    expect(clang, "// changed, quietly wide", &[], "abi_changed", "arguments");
    let metrics = expect(clang, &hungry(200), &[], "abi_changed", "more registers; at most");
    assert!(metrics["after"][0]["vgpr_spills"].as_u64().is_some_and(|spills| spills > 0), "{metrics:#}");
    expect(clang, &hungry(200), &["--max-spills", "500"], "accepted", "x (");
    expect(clang, &hungry(100), &["--min-occupancy", "90"], "abi_changed", "occupancy fell from");
    expect(clang, &hungry(100), &["--min-occupancy", "20"], "accepted", "x (");
}
