//! `doctor` as a script uses it: exit codes and JSON.

mod common;

use std::path::Path;

use common::rocm_perf;
use stand_in_rocm::StandIns;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn a_failed_check_is_exit_code_1_with_the_report_on_stdout() {
    let root = tempfile::tempdir().unwrap();
    let mut command = rocm_perf();
    command
        .env("PATH", "/nonexistent")
        .arg("doctor")
        .arg("--root")
        .arg(root.path())
        .args(["--format", "json"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["command"], "doctor");
    let checks = report["tables"]["checks"].as_array().unwrap();
    let profiler = checks.iter().find(|check| check["id"] == "profiler").unwrap();
    assert_eq!(profiler["status"], "fail");
    assert!(profiler["fix"].as_str().unwrap().contains("rocprofiler-sdk"), "{profiler}");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.starts_with("error: this machine cannot profile yet: GPU driver, GPUs, "), "{message}");
    let shown = rocm_perf().arg("doctor").arg("--root").arg(root.path()).output().unwrap();
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(text.contains(&format!("Checks ({})", checks.len())), "all of the list is shown: {text}");
}

#[test]
fn warnings_alone_are_exit_code_0() {
    let (root, stand_ins) = (tempfile::tempdir().unwrap(), StandIns::install().unwrap());
    let node = "simd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\ndrm_render_minor 128\n";
    write(root.path(), "sys/class/kfd/kfd/topology/nodes/0/properties", node);
    write(root.path(), "dev/kfd", "");
    write(root.path(), "dev/dri/renderD128", "");
    let mut command = rocm_perf();
    command.env("PATH", stand_ins.path()).args(["doctor", "--out"]).arg(root.path());
    let output = command.arg("--root").arg(root.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("ready to profile, with"), "{text}");
}
