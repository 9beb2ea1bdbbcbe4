//! `--attach PID`: keeps what the process logs while the profiler is attached.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::application::Ended;
use super::jobs;
use super::options::{CommandLine, Stop};
use super::output::Output;
use super::services::Services;
use crate::log::{self, Recording};
use crate::settings::{Version, fault};

/// Attaches, waits, and writes; after the process has ended, unless told to write before.
pub(super) fn run(line: &CommandLine, pid: i64, version: Version) -> Result<Ended, Stop> {
    let variables = variables_of(pid)?;
    let variable = |name: &str| variables.iter().find_map(|text| text.strip_prefix(name)?.strip_prefix('='));
    let start = now();
    match line.values.get("attach_duration_msec").and_then(Value::as_u64) {
        Some(milliseconds) => std::thread::sleep(Duration::from_millis(milliseconds)),
        None => {
            println!("Press Enter to detach");
            let _ = std::io::stdin().read_line(&mut String::new());
        }
    }
    let end = now();
    // ROCm 7.2.1 attaches and detaches without a message, and leaves no file.
    if fault("attach_writes_nothing") || version == Version(7, 2, 1) {
        return Ok(Ended::Exit(0));
    }
    let Some(folder) = variable("STAND_IN_HIP_LOG").map(PathBuf::from) else { return Ok(Ended::Exit(0)) };
    let mut recordings = log::read_folder(&folder);
    recordings.retain(|recording| recording.pid == pid);
    for recording in &mut recordings {
        keep_between(recording, start, end);
        // Without the variable queues are not intercepted, and only calls are recorded.
        if variable("ROCP_TOOL_ATTACH") != Some("1") {
            recording.kernels.clear();
            recording.copies.clear();
        }
    }
    let Some(pass) = jobs::passes(line, version)?.into_iter().next() else { return Ok(Ended::Exit(0)) };
    let services = Services::of(&pass.values);
    let output = Output { pass: &pass, number: 0, services: &services, version };
    let late = line.values.get("attach_sync_output") != Some(&Value::Bool(true));
    super::write_recordings(&output, recordings, Ended::Exit(0), late)
}

fn variables_of(pid: i64) -> Result<Vec<String>, Stop> {
    let text = std::fs::read(format!("/proc/{pid}/environ"))
        .map_err(|_| Stop::fatal(format!("Process {pid} does not exist or cannot be attached to")))?;
    Ok(text.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect())
}

fn keep_between(recording: &mut Recording, start: i64, end: i64) {
    let inside = |when: &log::When| when.start >= start && when.end <= end;
    recording.calls.retain(|call| inside(&call.when));
    recording.kernels.retain(|kernel| inside(&kernel.when));
    recording.copies.retain(|copy| inside(&copy.when));
    recording.allocations.retain(|allocation| inside(&allocation.when));
    recording.markers.retain(|marker| inside(&marker.when));
}

/// Nanoseconds of the clock that the log uses.
fn now() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
