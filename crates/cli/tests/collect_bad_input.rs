//! `collect` when things go wrong: one clear message, the right exit code, nothing lost.

use crate::common;
use crate::lab;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{files, rocm_perf};
use lab::{Lab, failed, run_json};

/// A folder that does not exist yet.
fn fresh() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    (folder, out)
}

#[test]
fn no_profiler_is_said_before_anything_is_made() {
    let (folder, out) = fresh();
    let empty = folder.path().join("bin");
    std::fs::create_dir(&empty).unwrap();
    std::os::unix::fs::symlink("/bin/true", empty.join("true")).unwrap();
    let mut command = rocm_perf();
    command.env("PATH", &empty).env("ROCM_PATH", folder.path()).args(["collect", "--out"]).arg(&out);
    if Path::new("/opt/rocm/bin/rocprofv3").exists() {
        testing::skip("a profiler is installed");
        return;
    }
    let output = command.args(["--", "true"]).output().unwrap();
    let errors = failed(&output, 3);
    assert!(errors.contains("neither rocprofv3 nor rocprof is installed"), "{errors}");
    assert!(errors.contains("ROCM_PATH") && errors.contains(&empty.display().to_string()), "{errors}");
    assert!(!out.exists());
    // A dry run needs no profiler.
    let output =
        rocm_perf().env("PATH", &empty).args(["collect", "--dry-run", "--", "true"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_profiler_that_is_too_old_names_the_release_that_can() {
    let Some(lab) = Lab::get() else { return };
    let (_folder, out) = fresh();
    let env = [("STAND_IN_ROCM_VERSION", "6.4")];
    let options = ["--preset", "pc-sampling", "--arch", "gfx942"];
    let errors = failed(&lab.collect(&env, &out, &options, &[&lab.app("vector_add")]), 3);
    assert!(
        errors.contains("of ROCm 6.")
            && errors.contains("pc-sampling")
            && errors.contains("which needs ROCm "),
        "{errors}"
    );
}

#[test]
fn a_counter_that_the_gpu_lacks_gets_the_nearest_names() {
    let Some(lab) = Lab::get() else { return };
    let (_folder, out) = fresh();
    let app = lab.app("vector_add");
    let errors = failed(&lab.collect(&[], &out, &["--counters", "SQ_WAVE", "--arch", "gfx942"], &[&app]), 2);
    assert!(errors.contains("gfx942 has no counter `SQ_WAVE`") && errors.contains("SQ_WAVES"), "{errors}");
    let errors = failed(&lab.collect(&[], &out, &["--counters", "SQ_WAVES", "--arch", "gfx1"], &[&app]), 2);
    assert!(errors.contains("`gfx1`"), "{errors}");
    assert!(!out.exists());
}

#[test]
fn an_application_that_is_not_there_is_named() {
    let Some(lab) = Lab::get() else { return };
    let (folder, out) = fresh();
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "x").unwrap();
    for (word, why) in [
        ("./no-such-app", "no such file"),
        ("no-such-app", "not on PATH"),
        (plain.to_str().unwrap(), "not an executable file"),
        ("/tmp", "it is a folder"),
    ] {
        let errors = failed(&lab.collect(&[], &out, &[], &[word]), 2);
        assert!(errors.contains(&format!("`{word}`")) && errors.contains(why), "{errors}");
    }
    let output = lab.rocm_perf().args(["collect", "--preset", "compute"]).output().unwrap();
    let errors = failed(&output, 2);
    assert!(
        errors.contains("none is given") && errors.contains("put the application after `--`"),
        "{errors}"
    );
    assert!(!out.exists());
}

#[test]
fn a_crash_keeps_what_was_recorded_and_the_code() {
    let Some(lab) = Lab::get() else { return };
    let (_folder, out) = fresh();
    let errors = failed(&lab.collect(&[], &out, &[], &[&lab.app("crash")]), 3);
    assert!(errors.contains("signal 11 (SIGSEGV) in pass 1"), "{errors}");
    let run = run_json(&out);
    assert_eq!((&run["status"], &run["exit_code"]), (&"failed".into(), &139.into()));
    assert!(run["passes"][0]["kernels"].as_u64().unwrap() > 0);
    let summary = common::json("summary", &[&out], &[]);
    assert_eq!(summary["tables"]["kernels"][0]["calls"], 1);
}

#[test]
fn an_exit_code_is_kept_and_can_be_ours() {
    let Some(lab) = Lab::get() else { return };
    let app = lab.app("crash");
    let (_folder, out) = fresh();
    let errors = failed(&lab.collect(&[], &out, &[], &[&app, "7"]), 3);
    assert!(errors.contains("exited with 7"), "{errors}");
    assert_eq!(run_json(&out)["exit_code"], 7);
    let (_folder, out) = fresh();
    failed(&lab.collect(&[], &out, &["--exit-with-app"], &[&app, "7"]), 7);
}

#[test]
fn a_run_without_kernels_is_a_failure() {
    let Some(lab) = Lab::get() else { return };
    let (_folder, out) = fresh();
    let errors = failed(&lab.collect(&[], &out, &[], &["true"]), 3);
    assert!(errors.contains("no kernel was recorded in pass 1"), "{errors}");
    assert_eq!(run_json(&out)["status"], "failed");
}

#[test]
fn a_full_disk_is_named() {
    let Some(lab) = Lab::get() else { return };
    let (_folder, out) = fresh();
    let env = [("STAND_IN_FAULT", "disk_full")];
    let errors = failed(&lab.collect(&env, &out, &[], &[&lab.app("vector_add"), "2"]), 2);
    assert!(errors.contains("is full"), "{errors}");
}

#[test]
fn a_disk_that_is_really_full_is_named() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mount =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(folder.path()).output();
    if !mount.is_ok_and(|output| output.status.success()) {
        testing::skip("no file system can be mounted here");
        return;
    }
    let out = folder.path().join("run");
    let output = lab.collect(&[], &out, &["--output-format", "rocpd"], &[&lab.app("vector_add"), "50"]);
    let gone = Command::new("umount").arg("-l").arg(folder.path()).status();
    assert!(failed(&output, 2).contains("is full"));
    assert!(gone.is_ok_and(|status| status.success()));
}

#[test]
fn the_profilers_own_failures_are_explained() {
    let Some(lab) = Lab::get() else { return };
    let app = lab.app("vector_add");
    let cases = [
        ("over_limit", vec!["--counters", "SQ_WAVES", "--arch", "gfx942"], "cannot count these counters"),
        (
            "pc_sampling",
            vec!["--preset", "pc-sampling", "--arch", "gfx942"],
            "supports this kind of PC sampling",
        ),
        ("truncated", vec!["--output-format", "rocpd"], "cannot read the profiler's output"),
    ];
    for (fault, options, says) in cases {
        let (_folder, out) = fresh();
        let errors = failed(&lab.collect(&[("STAND_IN_FAULT", fault)], &out, &options, &[&app, "2"]), 3);
        assert!(errors.contains(says), "{fault}: {errors}");
        assert_eq!(run_json(&out)["status"], "failed", "{fault}");
    }
}

#[test]
fn counters_that_were_not_recorded_are_told() {
    let Some(lab) = Lab::get() else { return };
    let (_folder, out) = fresh();
    // The GPU is not the one that was given.
    let options = ["--counters", "TCC_EA0_RDREQ_sum,SQ_WAVES", "--arch", "gfx942"];
    let env = [("STAND_IN_ARCH", "gfx90a")];
    lab::succeeded(&lab.collect(&env, &out, &options, &[&lab.app("vector_add"), "2"]));
    let notes = run_json(&out)["notes"].to_string();
    assert!(notes.contains("recorded no values of TCC_EA0_RDREQ_sum"), "{notes}");
}

#[test]
fn a_folder_in_use_is_left_alone() {
    let Some(lab) = Lab::get() else { return };
    let (_folder, out) = fresh();
    let app = lab.app("vector_add");
    lab::succeeded(&lab.collect(&[], &out, &[], &[&app, "1"]));
    let before = files(&out, "");
    assert!(failed(&lab.collect(&[], &out, &[], &[&app, "1"]), 2).contains("not empty"));
    assert_eq!(files(&out, ""), before);
}

#[test]
fn mistakes_in_files_are_told_with_file_and_line() {
    let Some(lab) = Lab::get() else { return };
    let (folder, out) = fresh();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let preset = file("p.toml", "name = \"x\"\ntrace = [\"kernels\"]\n");
    let config = file("c.json", "{\"tools\": [\n{\"name\": \"rocprofv3_cmpute\"}]}");
    let counters = file("c.txt", "pmc: SQ_WAVES\ncounters: X\n");
    let inline = "{\"tools\": [{\"name\": \"rocprof\", \"cmd\": \"rocprofv3 --no-such-option --\"}]}";
    for (options, says) in [
        (["--preset", preset.as_str()], "p.toml` line 2: no trace `kernels`"),
        (["--config", config.as_str()], "c.json` line 2: no tool `rocprofv3_cmpute`"),
        (["--counters", counters.as_str()], "c.txt` line 2: a counter file has no key `counters:`"),
        (["--additional-context", inline], "--additional-context` line 1: `cmd`: rocprofv3 has no option"),
        (["--preset", "computer"], "`computer`: no such preset"),
        (["--config", "no-such.json"], "`no-such.json`: cannot be read"),
        (["--monitor", "noise"], "no monitor `noise`"),
        (["--output-format", "sqlite"], "no format `sqlite`"),
    ] {
        let errors = failed(&lab.collect(&[], &out, &options, &["true"]), 2);
        assert!(errors.contains(says), "{says}: {errors}");
        assert!(errors.contains(" help: ") || says.contains("cannot be read"), "{errors}");
    }
    assert!(!out.exists());
}

#[test]
fn the_seeds_own_configurations_are_accepted() {
    let Some(lab) = Lab::get() else { return };
    let app = lab.app("vector_add");
    for inline in [
        r#"{"gpu_vendor": "AMD", "guest_os": "UBUNTU", "tools": [{"name": "rocprofv3_compute"}]}"#,
        r#"{"gpu_vendor": "AMD", "guest_os": "UBUNTU", "tools": [{"name": "rocprof",
            "cmd": "bash ../scripts/common/tools/rocprof_wrapper.sh --hip-trace --kernel-trace --memory-copy-trace --output-format pftrace -d ./my_traces --",
            "env_vars": {"RCCL_DEBUG": "TRACE", "HSA_ENABLE_SDMA": "0"}}]}"#,
        r#"{"tools": [{"name": "rocprof", "cmd": "bash ../scripts/common/tools/rocprof_wrapper.sh --sys-trace"}]}"#,
    ] {
        let (_folder, out) = fresh();
        let options = ["--additional-context", inline, "--arch", "gfx942"];
        lab::succeeded(&lab.collect(&[], &out, &options, &[&app, "1"]));
        assert_eq!(run_json(&out)["status"], "done");
    }
}

#[test]
fn an_interrupt_stops_the_application_and_keeps_what_is_there() {
    let Some(lab) = Lab::get() else { return };
    let (folder, out) = fresh();
    let pids = folder.path().join("pids");
    let script = format!(
        "sleep 300 & echo $! $$ >{}.new; mv {}.new {}; wait",
        pids.display(),
        pids.display(),
        pids.display()
    );
    let mut command = lab.rocm_perf();
    command.args(["collect", "--quiet", "--out"]).arg(&out).args(["--", "sh", "-c", &script]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while !pids.exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "the application never began");
        std::thread::sleep(Duration::from_millis(10));
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(run_json(&out)["status"], "interrupted");
    let told = std::fs::read_to_string(&pids).unwrap();
    for pid in told.split_whitespace() {
        let began = Instant::now();
        while common::is_running(pid) {
            assert!(began.elapsed() < Duration::from_secs(10), "process {pid} lives on");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_pass_that_hangs_is_stopped_in_time() {
    let Some(lab) = Lab::get() else { return };
    let (_folder, out) = fresh();
    let env = [("STAND_IN_FAULT", "hang")];
    let began = Instant::now();
    let output = lab.collect(&env, &out, &["--timeout", "1"], &[&lab.app("vector_add"), "1"]);
    assert!(failed(&output, 3).contains("pass 1 was stopped after 1 s"));
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(run_json(&out)["status"], "failed");
}
