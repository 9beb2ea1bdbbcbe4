//! Runs a command and measures it: CPU time, wall time, peak memory.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a command cost.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// User and system time of all threads, in seconds.
    pub cpu: f64,
    /// Elapsed time, in seconds.
    pub wall: f64,
    /// Peak of memory that is not backed by a file, in bytes, as seen every two milliseconds.
    pub anonymous: u64,
}

/// Runs a command with its output thrown away; the cheapest of `times` runs by CPU time.
pub fn best_of(times: usize, command: impl Fn() -> Command) -> Result<Cost, String> {
    let mut best: Option<Cost> = None;
    for _ in 0..times {
        let cost = run(&mut command())?;
        if best.is_none_or(|b| cost.cpu < b.cpu) {
            best = Some(cost);
        }
    }
    best.ok_or_else(|| "nothing was run".to_string())
}

fn run(command: &mut Command) -> Result<Cost, String> {
    let shown = format!("{command:?}");
    let began = Instant::now();
    let child =
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(|e| format!("{shown}: {e}"))?;
    let pid = child.id() as libc::pid_t;
    let (finished, peak) = (AtomicBool::new(false), AtomicU64::new(0));
    let (status, usage, wall) = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !finished.load(Ordering::Acquire) {
                peak.fetch_max(anonymous_bytes(pid), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        let waited = wait(pid);
        let wall = began.elapsed().as_secs_f64();
        finished.store(true, Ordering::Release);
        (waited.0, waited.1, wall)
    });
    if status != 0 {
        return Err(format!("{shown} ended with status {status}"));
    }
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    let cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    Ok(Cost { cpu, wall, anonymous: peak.into_inner() })
}

fn wait(pid: libc::pid_t) -> (i32, libc::rusage) {
    let mut status = 0;
    // SAFETY: rusage is plain data for which all zeros is a value, and both pointers outlive the call.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::wait4(pid, &mut status, 0, &mut usage);
        (status, usage)
    }
}

fn anonymous_bytes(pid: libc::pid_t) -> u64 {
    let text =
        std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|kb| kb.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
}
