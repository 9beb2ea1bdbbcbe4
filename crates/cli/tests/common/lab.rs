//! Stand-ins of ROCm's programs and example applications, made once for a test binary.

#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value;
use stand_in_rocm::StandIns;

use crate::common::rocm_perf;

/// Stand-ins and applications.
pub struct Lab {
    pub stand_ins: StandIns,
    folder: tempfile::TempDir,
}

impl Lab {
    /// `None` if nothing can be compiled here, with a message.
    pub fn get() -> Option<&'static Lab> {
        static LAB: OnceLock<Option<Lab>> = OnceLock::new();
        let lab = LAB.get_or_init(|| {
            if !stand_in_rocm::can_compile() {
                return None;
            }
            let folder = own_folder();
            let stand_ins = StandIns::install_in(&folder).expect("the stand-ins are installed");
            let folder = tempfile::tempdir_in(folder).expect("a folder");
            for name in ["vector_add", "crash", "ranks"] {
                stand_ins.example(name, folder.path()).expect("the example compiles");
            }
            Some(Lab { stand_ins, folder })
        });
        if lab.is_none() {
            testing::skip("no C++ compiler");
        }
        lab.as_ref()
    }

    /// Path of an example application.
    pub fn app(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// The binary with the stand-ins on its PATH and none of this machine's settings.
    pub fn rocm_perf(&self) -> Command {
        let mut command = rocm_perf();
        // Killed programs leave their temporary files in a folder that is deleted later.
        command.env("PATH", self.stand_ins.path()).env("TMPDIR", self.folder.path());
        for name in ["ROCM_PATH", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"] {
            command.env_remove(name);
        }
        command
    }

    /// Collects into a folder, quietly, as JSON.
    pub fn collect(
        &self,
        env: &[(&str, &str)],
        out: &Path,
        options: &[&str],
        application: &[&str],
    ) -> Output {
        let mut command = self.rocm_perf();
        command.envs(env.iter().copied()).args(["collect", "--quiet", "--format", "json", "--out"]).arg(out);
        command.args(options).arg("--").args(application).output().expect("the binary runs")
    }
}

/// A folder for this test binary. Nothing is dropped at its end, so the next one removes the folders of those
/// that ended.
fn own_folder() -> PathBuf {
    let labs = Path::new(env!("CARGO_TARGET_TMPDIR")).join("labs");
    for entry in std::fs::read_dir(&labs).into_iter().flatten().flatten() {
        if !Path::new("/proc").join(entry.file_name()).exists() {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    let own = labs.join(std::process::id().to_string());
    std::fs::create_dir_all(&own).expect("a folder");
    own
}

/// The facts of a run.
#[track_caller]
pub fn run_json(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("run.json")).expect("run.json is there");
    serde_json::from_str(&text).expect("run.json is JSON")
}

/// The report of a run that must succeed.
#[track_caller]
pub fn succeeded(output: &Output) -> Value {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {errors}", output.status);
    serde_json::from_slice(&output.stdout).expect("the report is JSON")
}

/// What a failing command said, with its exit code.
#[track_caller]
pub fn failed(output: &Output, code: i32) -> String {
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{errors}");
    assert_eq!(errors.matches("error: ").count(), 1, "one clear message: {errors}");
    errors
}

/// The traces that a run lists.
pub fn traces(folder: &Path) -> Vec<PathBuf> {
    let run = run_json(folder);
    run["traces"].as_array().unwrap().iter().map(|name| folder.join(name.as_str().unwrap())).collect()
}
