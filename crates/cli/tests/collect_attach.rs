//! `collect --attach`: attaching to a running process, with a stand-in that behaves like the real profiler.

use crate::lab;

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use lab::{Lab, failed, run_json, succeeded, traces};

/// A program that uses the GPU for a while; it ends with the test.
struct Target {
    child: Child,
    _log: tempfile::TempDir,
}

impl Target {
    fn start(lab: &Lab, allows: bool) -> Self {
        let log = tempfile::tempdir().unwrap();
        let mut command = Command::new(lab.app("vector_add"));
        command.arg("50000").env("STAND_IN_HIP_LOG", log.path()).stdout(Stdio::null());
        if allows {
            command.env("ROCP_TOOL_ATTACH", "1");
        }
        let child = command.spawn().expect("the program starts");
        // Waits for its first kernels.
        std::thread::sleep(std::time::Duration::from_millis(300));
        Self { child, _log: log }
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn attach(lab: &Lab, version: &str, target: &Target, out: &Path, more: &[&str]) -> Output {
    let mut command = lab.rocm_perf();
    command.env("STAND_IN_ROCM_VERSION", version).args([
        "collect",
        "--format",
        "json",
        "--attach",
        &target.pid(),
    ]);
    command.args(["--attach-for", "0.5", "--trace", "hip", "--out"]).arg(out).args(more);
    command.output().expect("the binary runs")
}

#[test]
fn a_running_process_is_recorded_while_the_profiler_is_attached() {
    let Some(lab) = Lab::get() else { return };
    let target = Target::start(lab, true);
    for version in ["7.1.0", "7.14.0"] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("run");
        let output = attach(lab, version, &target, &out, &[]);
        let report = succeeded(&output);
        assert!(report["tables"]["passes"][0]["kernels"].as_u64().unwrap() > 0, "{report}");
        let run = run_json(&out);
        assert_eq!(run["attached_pid"].as_u64(), Some(u64::from(target.child.id())));
        assert_eq!(traces(&out).len(), 1);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("only what happens while the profiler is attached"), "said beforehand: {said}");
        let late = said.contains("after the profiler has ended");
        assert_eq!(late, version == "7.1.0", "{said}");
    }
}

#[test]
fn a_release_that_writes_nothing_is_a_failure_that_says_what_to_do() {
    let Some(lab) = Lab::get() else { return };
    let target = Target::start(lab, true);
    let folder = tempfile::tempdir().unwrap();
    let message = failed(&attach(lab, "7.2.1", &target, &folder.path().join("run"), &[]), 3);
    assert!(message.contains(&format!("no kernel of process {} was recorded", target.pid())), "{message}");
    assert!(message.contains("ROCP_TOOL_ATTACH=1"), "{message}");
    assert!(message.contains("leaves no file (https://"), "the known issue is said before: {message}");
}

#[test]
fn a_process_that_does_not_allow_it_gives_no_kernels_and_that_is_said_before() {
    let Some(lab) = Lab::get() else { return };
    let target = Target::start(lab, false);
    let folder = tempfile::tempdir().unwrap();
    let message = failed(&attach(lab, "7.14.0", &target, &folder.path().join("run"), &[]), 3);
    assert!(message.contains("was not started with ROCP_TOOL_ATTACH=1"), "{message}");
}

#[test]
fn what_attaching_cannot_do_is_refused_before_anything_runs() {
    let Some(lab) = Lab::get() else { return };
    let target = Target::start(lab, true);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let old = failed(&attach(lab, "7.0.0", &target, &out, &[]), 3);
    assert!(old.contains("does not support attaching, which needs ROCm 7.1"), "{old}");
    let passes =
        failed(&attach(lab, "7.14.0", &target, &out, &["--preset", "compute", "--arch", "gfx90a"]), 2);
    assert!(passes.contains("attaching records in one pass"), "{passes}");
    let mut nobody = lab.rocm_perf();
    nobody.env("STAND_IN_ROCM_VERSION", "7.14.0").args(["collect", "--attach", "4194304"]);
    let nobody = failed(&nobody.output().unwrap(), 2);
    assert!(nobody.contains("there is no process 4194304"), "{nobody}");
    assert!(!out.exists(), "nothing is begun that cannot be done");
    let both = attach(lab, "7.14.0", &target, &out, &["--", "true"]);
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn the_systems_profiler_is_detached_by_a_line() {
    let Some(lab) = Lab::get() else { return };
    let target = Target::start(lab, true);
    let folder = tempfile::tempdir().unwrap();
    // Waits for a line and records its arguments.
    let script = format!("#!/bin/sh\nread line && echo \"$@\" > {}/arguments\n", folder.path().display());
    let program = folder.path().join("rocprof-sys-attach");
    std::fs::write(&program, script).unwrap();
    let mut mode = std::fs::metadata(&program).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    let path = std::env::join_paths(
        std::iter::once(folder.path().to_path_buf()).chain(std::env::split_paths(&lab.stand_ins.path())),
    );
    let out = folder.path().join("run");
    let mut command = lab.rocm_perf();
    command.env("PATH", path.unwrap()).args(["collect", "--tool", "rocprof-sys", "--attach", &target.pid()]);
    let output = command.args(["--attach-for", "0.2", "--out"]).arg(&out).output().unwrap();
    failed(&output, 3);
    let arguments =
        std::fs::read_to_string(folder.path().join("arguments")).expect("it was run and detached");
    assert_eq!(arguments.trim(), format!("-p {} -o {} -F rocpd", target.pid(), out.display()));
}
