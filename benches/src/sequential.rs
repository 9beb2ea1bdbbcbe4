//! The sequential share of a command: time with one runnable thread over all of its time, on two idle cores.
//!
//! The scheduler's own events say when each thread runs, can run (it was woken, or it waits for a core or a disk) and sleeps;
//! `perf` records them. Wall time says little on a machine that others use, so both parts are CPU time. CPU time with one
//! such thread is sequential; CPU time with more takes half as long on two cores:
//!
//! ```text
//! share = sequential / (sequential + other / 2)
//! ```
//!
//! A thread counts from the moment it is woken: how long a core takes to begin with it says something of the machine, not of the
//! command. A thread that waits for a core counts as well, also one that would find nothing to do: beside other programs
//! the share comes out too small, so measure on idle cores.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::measure::Cost;
use crate::older::Input;
use crate::{Bench, packed};

/// Runs of each command, of which the median counts.
const RUNS: usize = 5;

const EVENTS: [&str; 3] = ["sched:sched_switch", "sched:sched_waking", "sched:sched_wakeup_new"];

impl Bench {
    /// The shares of commands that have a limit, with `--threads 2`.
    pub fn sequential(&mut self) -> Result<(), String> {
        let (torch, db) = (self.input(Input::Torch)?, self.input(Input::Rocpd)?);
        let gzip = packed(&torch, 1)?;
        let events = self.data.join("sequential.perf");
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
        if let Err(why) = can_record() {
            println!("\nsequential shares were not measured: {why}");
            return Ok(());
        }
        println!("\n{:44} {:>8} {:>8} {:>9}  measured / limit", "with --threads 2", "CPU s", "wall s", "");
        for (name, arguments, input, threads, limit) in commands {
            let mut runs = Vec::new();
            for _ in 0..RUNS {
                // Replacing the file of the last run would also pay for freeing it.
                let _ = std::fs::remove_file(&out);
                let mut command = Command::new("perf");
                command.args(["record", "--quiet", "--all-cpus", "--count", "1", "--output"]).arg(&events);
                command.args(EVENTS.iter().flat_map(|event| ["--event", event]));
                command.arg("--").arg(&self.binary).args(["--threads", threads]).args(arguments).arg(input);
                runs.push(share_of(&mut command, &events)?);
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
#[derive(Default)]
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

/// Whether `perf` may record what the scheduler does.
fn can_record() -> Result<(), String> {
    let tried = Command::new("perf").args(["stat", "--all-cpus", "--event", EVENTS[0], "true"]).output();
    match tried {
        Err(_) => Err("`perf` is not installed (Debian: linux-perf)".into()),
        Ok(output) if !output.status.success() => {
            Err("`perf` may not record the scheduler's events here; be root".into())
        }
        Ok(_) => Ok(()),
    }
}

fn share_of(recorded: &mut Command, events: &Path) -> Result<Share, String> {
    let shown = format!("{recorded:?}");
    let status = recorded.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let status = status.map_err(|error| format!("{shown}: {error}"))?;
    if !status.success() {
        return Err(format!("{shown} ended with {status}"));
    }
    let mut script = Command::new("perf");
    script.args(["script", "--fields", "comm,pid,tid,cpu,time,event,trace", "--input"]).arg(events);
    let output = script.output().map_err(|error| format!("perf script: {error}"))?;
    let mut threads = Threads::default();
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(Event::of).for_each(|event| threads.see(&event));
    Ok(threads.share)
}

/// A line of `perf script`: `rocm-perf 17095/17099 [001] 1965.153055: sched:sched_waking: comm=rocm-perf pid=17098 prio=120`.
struct Event<'a> {
    program: &'a str,
    process: i32,
    core: &'a str,
    time: f64,
    name: &'a str,
    facts: &'a str,
}

impl<'a> Event<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let (who, rest) = line.split_once(" [")?;
        let (program, ids) = who.trim().rsplit_once(' ')?;
        let (core, rest) = rest.split_once("] ")?;
        let (time, rest) = rest.trim_start().split_once(':')?;
        let (name, facts) = rest.trim_start().split_once(": ")?;
        let process = ids.split_once('/')?.0.parse().ok()?;
        Some(Self { program: program.trim(), process, core, time: time.parse().ok()?, name, facts })
    }

    fn fact(&self, name: &str) -> Option<&'a str> {
        self.facts.split([' ', '>']).find_map(|fact| fact.strip_prefix(name)?.strip_prefix('='))
    }

    fn thread(&self, name: &str) -> Option<i32> {
        self.fact(name)?.parse().ok()
    }
}

/// The threads of the command, as far as events were seen.
#[derive(Default)]
struct Threads {
    /// Once its first event was seen.
    process: Option<i32>,
    all: HashSet<i32>,
    runnable: HashSet<i32>,
    /// The thread on each core.
    running: HashMap<String, i32>,
    began: f64,
    before: f64,
    share: Share,
}

impl Threads {
    fn see(&mut self, event: &Event<'_>) {
        if self.process.is_none() {
            if event.program != "rocm-perf" {
                return;
            }
            self.process = Some(event.process);
            self.all.insert(event.process);
            self.runnable.insert(event.process);
            self.running.insert(event.core.to_string(), event.process);
            (self.began, self.before) = (event.time, event.time);
        }
        let cpu = (event.time - self.before) * self.running.len() as f64;
        *(if self.runnable.len() > 1 { &mut self.share.other } else { &mut self.share.sequential }) += cpu;
        self.before = event.time;
        if !self.running.is_empty() {
            self.share.wall = event.time - self.began;
        }
        let ours = self.process == Some(event.process);
        if event.name == EVENTS[0] {
            let (Some(from), Some(to)) = (event.thread("prev_pid"), event.thread("next_pid")) else { return };
            if ours {
                self.all.insert(from);
            }
            if self.running.get(event.core) == Some(&from) {
                self.running.remove(event.core);
            }
            // It still could run, or waits for a disk.
            if !event.fact("prev_state").is_some_and(|state| state.starts_with(['R', 'D'])) {
                self.runnable.remove(&from);
            }
            if self.all.contains(&to) {
                self.runnable.insert(to);
                self.running.insert(event.core.to_string(), to);
            }
        } else if let Some(thread) = event.thread("pid") {
            if ours && event.name == EVENTS[2] {
                self.all.insert(thread);
            }
            if self.all.contains(&thread) {
                self.runnable.insert(thread);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_told_apart_by_how_many_threads_could_run() {
        let script = "\
 perf-exec 7/7 [000] 1.000000: sched:sched_waking: comm=kworker pid=3 prio=120 target_cpu=000
 rocm-perf 7/7 [000] 2.000000: sched:sched_wakeup_new: comm=rocm-perf pid=8 prio=120 target_cpu=001
 swapper 0/0 [001] 2.500000: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=rocm-perf next_pid=8 next_prio=120
 rocm-perf 7/8 [001] 3.500000: sched:sched_switch: prev_comm=rocm-perf prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
 rocm-perf 7/7 [000] 3.750000: sched:sched_switch: prev_comm=rocm-perf prev_pid=7 prev_prio=120 prev_state=D ==> next_comm=a b next_pid=9 next_prio=120
 a b 9/9 [000] 4.000000: sched:sched_switch: prev_comm=a b prev_pid=9 prev_prio=120 prev_state=S ==> next_comm=rocm-perf next_pid=7 next_prio=120
 rocm-perf 7/7 [000] 5.000000: sched:sched_switch: prev_comm=rocm-perf prev_pid=7 prev_prio=120 prev_state=Z ==> next_comm=swapper/0 next_pid=0 next_prio=120";
        let mut threads = Threads::default();
        script.lines().for_each(|line| threads.see(&Event::of(line).expect("an event")));
        // One of two that could run, then both, then the first one alone, but for a quarter of a second in which it waits for a
        // disk.
        assert_eq!(threads.share.other, 0.5 + 2.0);
        assert_eq!(threads.share.sequential, 0.25 + 1.0);
        assert_eq!(threads.share.wall, 3.0);
    }
}
