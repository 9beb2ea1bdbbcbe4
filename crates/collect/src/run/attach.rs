//! Attaching to a running process: the profiler's options for it, and its limits.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::error::CollectError;
use crate::command;
use crate::doctor::{Machine, known_issues};
use crate::passes::Plan;
use crate::profiler::{Profiler, ProfilerKind};

/// Which process, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attach {
    /// Its process id.
    pub pid: u32,
    /// How long the profiler stays attached.
    pub duration: Duration,
}

/// The variable with which a process allows attaching.
const ALLOWED_BY: &str = "ROCP_TOOL_ATTACH";
/// The known issue about attaching.
const WRITES_NOTHING: &str = "attach-writes-nothing";
/// How long files may appear after the profiler has ended, and how long they must not change to be complete.
const LATEST_FILES: Duration = Duration::from_secs(10);
const STILL: Duration = Duration::from_millis(500);

impl Attach {
    /// Fails if attaching is impossible; otherwise notes its limits.
    pub(super) fn limits(
        &self,
        profiler: &Profiler,
        plan: &Plan,
        root: &Path,
    ) -> Result<Vec<String>, CollectError> {
        let usage = |text: String| Err(CollectError::Usage(text));
        match profiler.kind {
            ProfilerKind::Rocprof => return usage("the legacy rocprof cannot attach to a process".into()),
            ProfilerKind::Rocprofv3 if profiler.version < command::since("attach") => {
                return Err(CollectError::TooOld {
                    program: profiler.path.clone(),
                    version: profiler.version,
                    what: "attaching".into(),
                    since: command::since("attach"),
                });
            }
            ProfilerKind::Rocprofv3 | ProfilerKind::RocprofSys(_) => {}
        }
        if plan.passes.len() > 1 {
            let passes = plan.passes.len();
            return usage(format!(
                "attaching records in one pass, and this needs {passes}: choose fewer counters"
            ));
        }
        let process = root.join("proc").join(self.pid.to_string());
        if !process.is_dir() {
            return usage(format!("there is no process {}", self.pid));
        }
        let pid = self.pid;
        let mut limits = vec![
            "only what happens while the profiler is attached is recorded".to_string(),
            format!("attaching to process {pid} again records the same: restart it to record something else"),
        ];
        // The environment of another user's process cannot be read, and then the profiler cannot attach either.
        let environment = std::fs::read(process.join("environ")).ok();
        let allows = |environment: &Vec<u8>| {
            let allowed = format!("{ALLOWED_BY}=1");
            environment.split(|byte| *byte == 0).any(|variable| variable == allowed.as_bytes())
        };
        match environment {
            None => limits.push(format!("process {pid} is another user's: attaching needs CAP_SYS_PTRACE")),
            Some(environment) if !allows(&environment) => limits.push(format!(
                "process {pid} was not started with {ALLOWED_BY}=1: unless ROCm was built to allow attaching, no kernel is recorded"
            )),
            Some(_) => {}
        }
        if profiler.kind == ProfilerKind::Rocprofv3 && profiler.version < command::since("attach-sync-output")
        {
            limits.push("files may be written after the profiler has ended; this waits for them".into());
        }
        let known = known_issues(&Machine::at(root, Path::new(".")));
        limits.extend(
            known
                .iter()
                .filter(|hit| hit.issue.id == WRITES_NOTHING)
                .map(|hit| format!("{} ({})", hit.issue.effect, hit.issue.link)),
        );
        Ok(limits)
    }

    /// The command, from that of an application with no application.
    pub(super) fn words(&self, profiler: &Profiler, mut words: Vec<String>, folder: &Path) -> Vec<String> {
        if words.last().is_some_and(|word| word == "--") {
            words.pop();
        }
        let pid = self.pid.to_string();
        if let ProfilerKind::RocprofSys(_) = profiler.kind {
            // The profiler stays attached until it reads a line.
            let script = format!("(sleep {}; echo) | \"$@\"", self.duration.as_secs_f64());
            let own = [
                "-p".to_string(),
                pid,
                "-o".into(),
                folder.display().to_string(),
                "-F".into(),
                "rocpd".into(),
            ];
            let head = ["sh".to_string(), "-c".into(), script, "sh".into()];
            return head.into_iter().chain(words).chain(own).collect();
        }
        words.extend(["--attach".into(), pid, "--attach-duration-msec".into()]);
        words.push(self.duration.as_millis().to_string());
        if profiler.version >= command::since("attach-sync-output") {
            words.push("--attach-sync-output".into());
        }
        words
    }
}

/// Waits for files that the profiler writes after it has ended.
pub(super) fn wait_for_files(folder: &Path) {
    let (began, mut since, mut before) = (Instant::now(), Instant::now(), Vec::new());
    while began.elapsed() < LATEST_FILES {
        let now = sizes(folder);
        if now != before {
            (since, before) = (Instant::now(), now);
        } else if !before.is_empty() && since.elapsed() >= STILL {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Files below a folder and their sizes, without logs.
fn sizes(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.metadata() {
            Ok(meta) if meta.is_dir() => found.extend(sizes(&path)),
            Ok(meta) if path.extension().is_none_or(|ending| ending != "log") => {
                found.push((path, meta.len()))
            }
            _ => {}
        }
    }
    found.sort();
    found
}
