//! Running the application: the environment that the real launcher sets, and how it ended.

use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};

use serde_json::Value;

use super::options::{Stop, Values};
use super::services::Services;

/// How the application ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Exit(i32),
    Signal(i32),
}

static CHILD: AtomicI32 = AtomicI32::new(0);

/// The real one replaces itself with the application, so signals reach that.
extern "C" fn forward(signal: libc::c_int) {
    let child = CHILD.load(Ordering::SeqCst);
    if child > 0 {
        // SAFETY: kill is async-signal-safe and the pid is our own child's.
        unsafe { libc::kill(child, signal) };
    }
}

/// Runs the application to its end with its log in `log`.
pub(super) fn run(
    command: &[String],
    values: &Values,
    services: &Services,
    log: &Path,
    abort: Option<&str>,
) -> Result<Ended, Stop> {
    let mut child = Command::new(&command[0]);
    child.args(&command[1..]).envs(environment(values, services)).env("STAND_IN_HIP_LOG", log);
    if let Some(message) = abort {
        child.env("STAND_IN_HIP_ABORT", message);
    }
    // SAFETY: only resets signal dispositions between fork and exec.
    unsafe {
        child.pre_exec(|| {
            for signal in [libc::SIGINT, libc::SIGTERM] {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        });
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        libc::signal(libc::SIGTERM, forward as *const () as libc::sighandler_t);
    }
    let mut child = child.spawn().map_err(|_| {
        Stop::traceback(format!("FileNotFoundError: [Errno 2] No such file or directory: '{}'", command[0]))
    })?;
    CHILD.store(child.id() as i32, Ordering::SeqCst);
    let status = loop {
        match child.wait() {
            Ok(status) => break status,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Stop::fatal(e)),
        }
    };
    CHILD.store(0, Ordering::SeqCst);
    Ok(ended(status))
}

fn ended(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Exit(code),
        (None, Some(signal)) => Ended::Signal(signal),
        (None, None) => Ended::Exit(1),
    }
}

fn environment(values: &Values, services: &Services) -> Vec<(String, OsString)> {
    let text = |key: &str| values.get(key).and_then(Value::as_str);
    let mut variables = vec![
        (
            "ROCP_TOOL_LIBRARIES".to_string(),
            "/opt/rocm/lib/rocprofiler-sdk/librocprofiler-sdk-tool.so".into(),
        ),
        ("ROCPROFILER_LIBRARY_CTOR".into(), "1".into()),
    ];
    let mut add = |name: &str, value: &str| variables.push((name.into(), value.into()));
    for (name, key) in
        [("ROCPROF_OUTPUT_PATH", "output_directory"), ("ROCPROF_OUTPUT_FILE_NAME", "output_file")]
    {
        if let Some(value) = text(key) {
            add(name, value);
        }
    }
    let formats = values.get("output_format").and_then(Value::as_array).into_iter().flatten();
    let formats: Vec<&str> = formats.filter_map(Value::as_str).collect();
    if !formats.is_empty() {
        add("ROCPROF_OUTPUT_FORMAT", &formats.join(","));
    }
    for (name, key) in [
        ("ROCPROF_HIP_RUNTIME_API_TRACE", "hip_runtime_trace"),
        ("ROCPROF_HIP_COMPILER_API_TRACE", "hip_compiler_trace"),
        ("ROCPROF_HSA_CORE_API_TRACE", "hsa_core_trace"),
        ("ROCPROF_MARKER_API_TRACE", "marker_trace"),
        ("ROCPROF_RCCL_API_TRACE", "rccl_trace"),
        ("ROCPROF_KERNEL_TRACE", "kernel_trace"),
        ("ROCPROF_MEMORY_COPY_TRACE", "memory_copy_trace"),
        ("ROCPROF_MEMORY_ALLOCATION_TRACE", "memory_allocation_trace"),
        ("ROCPROF_SCRATCH_MEMORY_TRACE", "scratch_memory_trace"),
        ("ROCPROF_STATS", "stats"),
    ] {
        if services.on(key) {
            add(name, "1");
        }
    }
    if !services.counters.is_empty() {
        add("ROCPROF_COUNTER_COLLECTION", "1");
        add("ROCPROF_COUNTERS", &format!("pmc: {}", services.counters.join(" ")));
    }
    variables
}
