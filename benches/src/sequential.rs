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

const SWITCH: &str = "sched:sched_switch";
const CREATED: &str = "sched:sched_wakeup_new";
const EVENTS: [&str; 3] = [SWITCH, "sched:sched_waking", CREATED];

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
    Ok(Threads::share(&String::from_utf8_lossy(&output.stdout)))
}

/// A line of `perf script`: `rocm-perf 17095/17099 [001] 1965.153055: sched:sched_waking: comm=rocm-perf pid=17098 prio=120`.
struct Event<'a> {
    program: &'a str,
    process: i32,
    core: &'a str,
    time: f64,
    what: SchedulerEvent,
}

#[derive(Clone, Copy)]
enum SchedulerEvent {
    /// A thread leaves the core, and may still be able to run; another one takes it.
    Switch {
        from: i32,
        can_run: bool,
        to: i32,
    },
    Woken(i32),
    Created(i32),
    /// A thread has the core; the switch to it was not recorded.
    Runs(i32),
}

impl<'a> Event<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let (who, rest) = line.split_once(" [")?;
        let (program, ids) = who.trim().rsplit_once(' ')?;
        let (core, rest) = rest.split_once("] ")?;
        let (time, rest) = rest.trim_start().split_once(':')?;
        let (name, facts) = rest.trim_start().split_once(": ")?;
        let process = ids.split_once('/')?.0.parse().ok()?;
        let fact =
            |name: &str| facts.split([' ', '>']).find_map(|fact| fact.strip_prefix(name)?.strip_prefix('='));
        let thread = |name: &str| fact(name)?.parse::<i32>().ok();
        let what = match name {
            SWITCH => SchedulerEvent::Switch {
                from: thread("prev_pid")?,
                // It still could run, or waits for a disk.
                can_run: fact("prev_state")?.starts_with(['R', 'D']),
                to: thread("next_pid")?,
            },
            CREATED => SchedulerEvent::Created(thread("pid")?),
            _ => SchedulerEvent::Woken(thread("pid")?),
        };
        Some(Self { program: program.trim(), process, core, time: time.parse().ok()?, what })
    }
}

/// Adds the switches that were not recorded, as happens where a core was idle: a thread that leaves a core took it after the
/// core's last switch, and after it was woken.
fn with_lost_switches(events: Vec<Event<'_>>) -> Vec<Event<'_>> {
    let (mut last, mut woken) = (HashMap::<&str, (i32, f64)>::new(), HashMap::<i32, f64>::new());
    let mut all = Vec::with_capacity(events.len());
    for event in events {
        match event.what {
            SchedulerEvent::Switch { from, to, .. } => {
                if let Some(&(thread, switched)) = last.get(event.core)
                    && thread != from
                {
                    let time = woken.get(&from).map_or(switched, |woken| woken.max(switched));
                    all.push(Event { time, what: SchedulerEvent::Runs(from), ..event });
                }
                last.insert(event.core, (to, event.time));
            }
            SchedulerEvent::Woken(thread) | SchedulerEvent::Created(thread) => {
                _ = woken.insert(thread, event.time)
            }
            SchedulerEvent::Runs(_) => {}
        }
        all.push(event);
    }
    all.sort_by(|a, b| a.time.total_cmp(&b.time));
    all
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
    fn share(text: &str) -> Share {
        let mut threads = Self::default();
        let events = with_lost_switches(text.lines().filter_map(Event::of).collect());
        events.iter().for_each(|event| threads.see(event));
        threads.share
    }

    fn see(&mut self, event: &Event<'_>) {
        if self.process.is_none() {
            if event.program != "rocm-perf" || matches!(event.what, SchedulerEvent::Runs(_)) {
                return;
            }
            self.process = Some(event.process);
            self.all.insert(event.process);
            self.runs(event.core, event.process);
            (self.began, self.before) = (event.time, event.time);
        }
        let cpu = (event.time - self.before) * self.running.len() as f64;
        *(if self.runnable.len() > 1 { &mut self.share.other } else { &mut self.share.sequential }) += cpu;
        self.before = event.time;
        if !self.running.is_empty() {
            self.share.wall = event.time - self.began;
        }
        let ours = self.process == Some(event.process);
        match event.what {
            SchedulerEvent::Switch { from, can_run, to } => {
                if ours {
                    self.all.insert(from);
                }
                if self.running.get(event.core) == Some(&from) {
                    self.running.remove(event.core);
                }
                if !can_run {
                    self.runnable.remove(&from);
                }
                self.runs(event.core, to);
            }
            SchedulerEvent::Runs(thread) => self.runs(event.core, thread),
            SchedulerEvent::Woken(thread) | SchedulerEvent::Created(thread) => {
                if ours && matches!(event.what, SchedulerEvent::Created(_)) {
                    self.all.insert(thread);
                }
                if self.all.contains(&thread) {
                    self.runnable.insert(thread);
                }
            }
        }
    }

    fn runs(&mut self, core: &str, thread: i32) {
        if self.all.contains(&thread) {
            self.runnable.insert(thread);
            self.running.insert(core.to_string(), thread);
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
        // One of two that could run, then both, then the first one alone, but for a quarter of a second in which it waits for a
        // disk.
        let expected = [0.25 + 1.0, 0.5 + 2.0, 3.0];
        let share = Threads::share(script);
        assert_eq!([share.sequential, share.other, share.wall], expected);

        // A core that leaves idleness without saying so: the thread could run from when it was created, so that it ran half a
        // second earlier.
        let lost: Vec<&str> = script.lines().filter(|line| !line.contains("prev_comm=swapper/1")).collect();
        assert_eq!(lost.len(), 6);
        let before = " kworker 3/3 [001] 1.500000: sched:sched_switch: prev_comm=kworker pid=3 prev_pid=3 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120\n";
        let share = Threads::share(&format!("{before}{}", lost.join("\n")));
        assert_eq!([share.sequential, share.other, share.wall], [0.25 + 1.0, 0.5 + 2.5, 3.0]);
    }
}
