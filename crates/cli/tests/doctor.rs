//! `doctor` as a script uses it: exit codes and JSON.

use crate::common;
use crate::lab;

use std::path::Path;

use common::rocm_perf;
use lab::Lab;
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

#[test]
fn the_doctor_no_longer_keeps_preflight_clocks_and_image_from_the_artifacts() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let node = "simd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\ndrm_render_minor 128\n\
                max_engine_clk_fcompute 2100\n";
    write(&root, "sys/class/kfd/kfd/topology/nodes/0/properties", node);
    let doctor = rocm_perf().args(["doctor", "--format", "json", "--root"]).arg(&root).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&doctor.stdout).unwrap();
    assert_eq!(report["result"]["preflight_passed"], false, "there is no /dev/kfd");
    assert_eq!(report["result"]["gpu_clocks_mhz"], serde_json::json!({"0": 2100}));

    common::synth(&folder.path().join("run"), &["--scenario", "serving", "--seed", "3", "--steps", "4"]);
    let metadata = |more: &[&str]| -> serde_json::Value {
        let out = folder.path().join("artifacts");
        let mut triage = rocm_perf();
        triage.arg("triage").arg(folder.path().join("run")).arg("--out").arg(&out).args(more);
        let output = triage.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = std::fs::read_to_string(out.join("profile_metadata.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    assert!(metadata(&[])["preflight_passed"].is_null());
    let elsewhere = folder.path().join("checks.json");
    std::fs::write(&elsewhere, &doctor.stdout).unwrap();
    let told = metadata(&["--doctor", elsewhere.to_str().unwrap()]);
    assert_eq!(told["preflight_passed"], false);
    assert_eq!(told["gpu_clocks_mhz"], serde_json::json!({"0": 2100}));
    assert_eq!(told["field_sources"]["preflight_passed"], "`checks.json`");
    // Records of a collection next to its traces are found without being named.
    let run = serde_json::json!({
        "preflight_passed": true, "gpu_clocks_mhz": {"0": 1900}, "base_image": "rocm/vllm:1"
    });
    write(folder.path(), "run/run.json", &run.to_string());
    let found = metadata(&[]);
    assert_eq!(found["preflight_passed"], true);
    assert_eq!(found["base_image"], "rocm/vllm:1");
    assert_eq!(metadata(&["--gpu-clocks=0=2000"])["gpu_clocks_mhz"], serde_json::json!({"0": 2000}));
}

/// The probe's table and what a person reads.
fn probed(lab: &Lab, fault: &str) -> (serde_json::Value, String, Option<i32>) {
    let mut command = lab.rocm_perf();
    command.env("STAND_IN_FAULT", fault).args(["doctor", "--probe", "--format", "json"]);
    let output = command.output().expect("the binary runs");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    (report["tables"]["probe"].clone(), message + &report["notes"].to_string(), output.status.code())
}

#[test]
fn the_probe_compares_what_is_launched_with_what_is_recorded() {
    let Some(lab) = Lab::get() else { return };
    let (table, text, _) = probed(lab, "");
    assert_eq!((&table[0]["launched"], &table[0]["recorded"]), (&64.into(), &64.into()), "{text}");
    assert_eq!((&table[1]["launched"], &table[1]["recorded"]), (&128.into(), &128.into()), "{text}");
    assert!(text.contains("recorded all 192 kernels"), "{text}");

    let (table, _, code) = probed(lab, "lose_graph_kernels");
    assert_eq!((&table[0]["lost"], &table[1]["lost"]), (&0.into(), &16.into()));
    assert_eq!(code, Some(1));
}

#[test]
fn a_probe_that_cannot_run_says_why() {
    let Some(lab) = Lab::get() else { return };
    let (table, text, code) = probed(lab, "unwritable");
    assert_eq!((table, code), (serde_json::Value::Null, Some(1)), "{text}");
    let mut command = lab.rocm_perf();
    let output = command.env("PATH", "/nonexistent").args(["doctor", "--probe"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let mut command = lab.rocm_perf();
    let output = command.args(["doctor", "--probe", "--root", "/"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "a probe runs here, not on another machine");
}

#[test]
fn a_known_issue_of_another_machine_is_listed_with_its_link() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "opt/rocm/.info/version", "7.2.1-43\n");
    let mut command = rocm_perf();
    command.env("PATH", "/nonexistent").args(["doctor", "--format", "json", "--root"]).arg(root.path());
    let report: serde_json::Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    let issues = report["tables"]["issues"].as_array().unwrap();
    let ids: Vec<&str> = issues.iter().map(|issue| issue["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["graphs-lose-kernels", "attach-writes-nothing"]);
    assert!(issues[0]["link"].as_str().unwrap().contains("/35390"), "{}", issues[0]);
    assert_eq!(issues[0]["found"], "ROCm 7.2.1");
}
