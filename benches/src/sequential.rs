//! The sequential share of a command: time with one runnable thread over all of its time, on two idle cores.
//!
//! Wall time says little on a machine that others use, so both parts are CPU time. Every half millisecond a sampler counts the
//! threads of the process that run or could run (state R, or D: waiting for a disk) and reads how much CPU time the
//! process took since. CPU time with one such thread is sequential; CPU time with more takes half as long on two cores:
//!
//! ```text
//! share = sequential / (sequential + other / 2)
//! ```
//!
//! A thread that waits for a core counts as runnable, also one that would find nothing to do: beside other programs the share
//! comes out too small, so measure on idle cores.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::measure::Cost;
use crate::older::Input;
use crate::{Bench, packed};

/// Runs of each command, of which the median counts.
const RUNS: usize = 5;

const EVERY: Duration = Duration::from_micros(500);

impl Bench {
    /// The shares of commands that have a limit, with `--threads 2`.
    pub fn sequential(&mut self) -> Result<(), String> {
        let (torch, db) = (self.input(Input::Torch)?, self.input(Input::Rocpd)?);
        let gzip = packed(&torch, 1)?;
        let out = self.data.join("sequential.pftrace");
        let out = out.to_string_lossy().into_owned();
        let commands: [(&str, &[&str], &Path, &str, f64); 6] = [
            ("triage torch", &["triage"], &torch, "2", 6.0),
            ("critical-path torch", &["critical-path"], &torch, "2", 10.0),
            ("critical-path rocpd", &["critical-path"], &db, "2", 10.0),
            ("ops torch", &["ops"], &torch, "2", 10.0),
            (
                "convert --to pftrace rocpd",
                &["convert", "--to", "pftrace", "--force", "--out", &out],
                &db,
                "2",
                10.0,
            ),
            // Several threads inflate from four on.
            ("summary torch.json.gz, 4 threads", &["summary"], &gzip, "4", 3.0),
        ];
        println!("\n{:44} {:>8} {:>8} {:>9}  measured / limit", "with --threads 2", "CPU s", "wall s", "");
        for (name, arguments, input, threads, limit) in commands {
            let mut runs = Vec::new();
            for _ in 0..RUNS {
                let mut command = Command::new(&self.binary);
                command.args(["--threads", threads]).args(arguments).arg(input);
                runs.push(share_of(&mut command)?);
            }
            runs.sort_by(|a, b| a.pct().total_cmp(&b.pct()));
            let median = &runs[RUNS / 2];
            let cost = Cost { cpu: median.sequential + median.other, wall: median.wall, anonymous: 0 };
            self.add(name, cost, vec![("% sequential", median.pct(), limit)]);
        }
        Ok(())
    }
}

/// CPU seconds of a run, by how many threads were runnable.
struct Share {
    sequential: f64,
    other: f64,
    wall: f64,
}

impl Share {
    fn pct(&self) -> f64 {
        100.0 * self.sequential / (self.sequential + self.other / 2.0)
    }
}

fn share_of(command: &mut Command) -> Result<Share, String> {
    let shown = format!("{command:?}");
    let began = Instant::now();
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = child.map_err(|error| format!("{shown}: {error}"))?;
    let pid = child.id() as libc::pid_t;
    let (mut share, mut before) = (Share { sequential: 0.0, other: 0.0, wall: 0.0 }, 0.0);
    let status = loop {
        let runnable = runnable_threads(pid);
        if let Some(now) = cpu_seconds(pid) {
            *(if runnable > 1 { &mut share.other } else { &mut share.sequential }) += now - before;
            before = now;
        }
        if let Some(status) = child.try_wait().map_err(|error| format!("{shown}: {error}"))? {
            break status;
        }
        std::thread::sleep(EVERY);
    };
    share.wall = began.elapsed().as_secs_f64();
    if status.success() { Ok(share) } else { Err(format!("{shown} ended with {status}")) }
}

/// Threads that run, wait for a core or wait for a disk.
fn runnable_threads(pid: libc::pid_t) -> usize {
    let tasks: PathBuf = ["/proc", &pid.to_string(), "task"].iter().collect();
    let Ok(tasks) = std::fs::read_dir(tasks) else { return 0 };
    let runs = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("stat")).ok()?;
        // The state stands behind the name, which is in brackets and may hold any character.
        let state = text[text.rfind(')')? + 1..].trim_start().chars().next()?;
        Some(matches!(state, 'R' | 'D'))
    };
    tasks.flatten().filter_map(runs).filter(|runs| *runs).count()
}

/// CPU time of all threads of a process so far; unlike the figures in /proc it is exact.
fn cpu_seconds(pid: libc::pid_t) -> Option<f64> {
    let (mut clock, mut time) = (0, libc::timespec { tv_sec: 0, tv_nsec: 0 });
    // SAFETY: both pointers live through the calls.
    let read = unsafe {
        libc::clock_getcpuclockid(pid, &mut clock) == 0 && libc::clock_gettime(clock, &mut time) == 0
    };
    read.then(|| time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}
