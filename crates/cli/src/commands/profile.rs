//! `profile`

mod code;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use analysis::profile::{
    Profiled, counter_needs, process_result, process_spread, profile_report, timing_needs, typical_run,
};
use analysis::stability::RunTimes;
use clap::Args;
use collect::presets::Preset;
use collect::run::{CollectError, CollectRequest, Events, Run};
use files::process::{self, How, Job};
use report::{Column, Report, Table, Unit, Value};
use trace::{Needs, ThreadTrace, Trace};

use super::att::thread_traces;
use crate::console::Console;
use crate::failure::Failure;
use crate::input::with_progress;
use crate::output::OutputArgs;

/// Where runs are kept unless `--out` says otherwise.
const FOLDER: &str = ".rocpd_profile";
/// Longer than any run; the clock cannot be asked to wait for all time.
const FOREVER: Duration = Duration::from_secs(1 << 30);
/// What a timing run records: kernels and copies, and the calls that tell the critical path.
const TRACES: [&str; 3] = ["kernel", "hip", "memory-copy"];

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf profile ./app
  rocm-perf profile ./app --json
  rocm-perf profile --runs 10 --counters -- ./app --size 4096
  rocm-perf profile --att --out study -- ./app
  rocm-perf profile --code-object kernels.hsaco -- python serve.py
  rocm-perf profile --no-rocprof -- ./app

Runs the program under rocprofv3 (once to warm up, then `--runs` times), and reports kernel times with their stability,
resources and occupancy, the critical path and what bounds each kernel; `--counters` adds the roofline from a run of its
own, `--att` what waves wait for. Registers are those of the code objects that are found: in the program, in files that
the profiler names or leaves, or given. `runtime_ms` is the sum of dispatch times, the median over runs. The databases are
kept in `.rocpd_profile` (or `--out`), replaced by the next profile there. docs/profile.md describes the JSON.")]
pub struct ProfileArgs {
    /// Timing runs
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,

    /// Runs before those, which do not count
    #[arg(long, value_name = "N", default_value_t = 1)]
    warm_up: u32,

    /// Collect the counters of the roofline and of the bottleneck rules, in runs of their own
    #[arg(long, visible_alias = "roofline")]
    counters: bool,

    /// Trace the instructions of waves, in a run of its own
    #[arg(long, visible_alias = "deep-analysis")]
    att: bool,

    /// The critical path is always in the report; for scripts that ask for it
    #[arg(long, hide = true)]
    focus_critical: bool,

    /// File with the program's GPU code, where it is not in the program itself
    #[arg(long, value_name = "FILE")]
    code_object: Vec<PathBuf>,

    /// Time the process only, without a profiler
    #[arg(long, conflicts_with_all = ["counters", "att", "code_object"])]
    no_rocprof: bool,

    /// Show the profiler's commands and all that it and the program print
    #[arg(long)]
    debug: bool,

    /// Folder for the databases [default: .rocpd_profile]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Stop a run that takes longer
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,

    /// The program, when it has no arguments
    #[arg(value_name = "BINARY", conflicts_with = "application")]
    binary: Option<String>,

    /// The program and its arguments
    #[arg(last = true, value_name = "BINARY ARGS")]
    application: Vec<String>,
}

impl ProfileArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let application: Vec<String> = self.binary.iter().chain(&self.application).cloned().collect();
        if application.is_empty() {
            return Err(
                Failure::input("no program given").with_help("`rocm-perf profile -- ./app --its --options`")
            );
        }
        if self.no_rocprof {
            return output.show(self.time_process(&application)?);
        }
        // A wrong file is better found before the program runs.
        for path in &self.code_object {
            crate::code::read(path)?;
        }
        let folder = self.out.clone().unwrap_or_else(|| FOLDER.into());
        let events = Console { quiet: output.quiet, output: self.debug };
        let timing = Preset { formats: vec!["rocpd".into()], ..Preset::of("profile", &TRACES, &[]) };
        // What is there already is not lost to a program or a profiler that is not.
        collect::run::check(&self.request(&application, timing.clone(), None, &folder))
            .map_err(without_profiler)?;
        make_room(&folder)?;
        for number in 1..=self.warm_up {
            events.step(&format!("warm-up {number} of {}", self.warm_up));
            self.collect(
                &application,
                timing.clone(),
                None,
                &folder.join(format!("warm-up-{number}")),
                &events,
            )?;
        }
        let mut runs: Vec<RunTimes> = Vec::new();
        let mut made: Vec<Run> = Vec::new();
        let mut last: Option<Trace> = None;
        for number in 1..=self.runs {
            events.step(&format!("run {number} of {}", self.runs));
            let place = folder.join(format!("run-{number}"));
            let run = self.collect(&application, timing.clone(), None, &place, &events)?;
            let trace = read(&run, &timing_needs(), output)?;
            let Some(times) = RunTimes::of(&trace, &place.display().to_string()) else {
                let message = format!("`{}` launched no kernel, so there is nothing to time", application[0]);
                return Err(Failure::tool(message).with_help(
                    "a program that ignores HIP errors ends well without a GPU; `--no-rocprof` times the process",
                ));
            };
            runs.push(times);
            made.push(run);
            last = Some(trace);
        }
        let (Some(typical), Some(last)) = (typical_run(&runs), last) else {
            return Err(Failure::input("no run was made"));
        };
        let run = &made[typical];
        // Only one trace is held at a time: they may be large.
        let trace = if typical + 1 == made.len() { last } else { read(run, &timing_needs(), output)? };
        let mut notes = run.notes.clone();
        if made.len() > 1 {
            notes.push(format!(
                "kernel times of one run, critical path and bottlenecks are those of run {}, the nearest to the median",
                typical + 1
            ));
        }
        let counters = match self.counters {
            true => self.collect_counters(&application, &trace, &folder, &events, output, &mut notes)?,
            false => None,
        };
        let traces =
            if self.att { self.collect_att(&application, &folder, &events, &mut notes)? } else { Vec::new() };
        let code = code::find(&application[0], &run.traces, &folder, &self.code_object)?;
        notes.extend(code.notes);
        let profiled = Profiled {
            runs: &runs,
            timing: &trace,
            counters: counters.as_ref(),
            thread_traces: &traces,
            traced: self.att,
            code: Some(&code.contents).filter(|code| !code.kernels.is_empty()),
        };
        let mut report = profile_report(&profiled);
        if let Some(serde_json::Value::Object(result)) = &mut report.result {
            let paths: Vec<String> = run.traces.iter().map(|path| path.display().to_string()).collect();
            result.insert("databases".into(), serde_json::json!(paths));
        }
        notes.push(format!("the databases are in `{}`", folder.display()));
        report.notes.extend(notes);
        output.show(report)
    }

    fn request(
        &self,
        application: &[String],
        preset: Preset,
        arch: Option<&str>,
        folder: &Path,
    ) -> CollectRequest {
        let mut request = CollectRequest::new(application.to_vec(), preset);
        request.arch = arch.map(str::to_string);
        request.folder = Some(folder.to_path_buf());
        request.timeout = self.timeout.map(Duration::from_secs);
        request
    }

    fn collect(
        &self,
        application: &[String],
        preset: Preset,
        arch: Option<&str>,
        folder: &Path,
        events: &Console,
    ) -> Result<Run, Failure> {
        let run = collect::run::run(&self.request(application, preset, arch, folder), events)?;
        if self.debug {
            run.passes.iter().for_each(|pass| eprintln!("{}", pass.command.join(" ")));
        }
        Ok(run.whole()?)
    }

    fn collect_counters(
        &self,
        application: &[String],
        timed: &Trace,
        folder: &Path,
        events: &Console,
        output: &OutputArgs,
        notes: &mut Vec<String>,
    ) -> Result<Option<Trace>, Failure> {
        let agent = timed.kernels.agent.first().and_then(|agent| agent.get());
        let gpu = agent.map_or("", |agent| timed.strings.get(timed.agents[agent].name));
        let Some(arch) = hw::arch::find(gpu) else {
            notes.push(format!("no counters are known for the GPU `{gpu}`, so none were collected"));
            return Ok(None);
        };
        let mut names = analysis::roofline_counters(&arch.facts.counters);
        names.extend(analysis::bottleneck::bottleneck_counters(&arch.facts.counters));
        names.extend(analysis::occupancy_counters(arch).into_iter().map(String::from));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let preset = Preset { formats: vec!["rocpd".into()], ..Preset::of("counters", &["kernel"], &names) };
        events.step("counters");
        let run = match self.collect(application, preset, Some(&arch.name), &folder.join("counters"), events)
        {
            Ok(run) => run,
            // The runs that were timed are worth their report without counters too.
            Err(failure) => {
                notes.push(format!("no counters: {}", failure.note()));
                return Ok(None);
            }
        };
        // Times come from runs of their own here.
        notes.extend(run.notes.iter().filter(|note| *note != collect::run::ONE_AT_A_TIME).cloned());
        Ok(Some(read(&run, &counter_needs(), output)?))
    }

    fn collect_att(
        &self,
        application: &[String],
        folder: &Path,
        events: &Console,
        notes: &mut Vec<String>,
    ) -> Result<Vec<ThreadTrace>, Failure> {
        let place = folder.join("att");
        let preset = Preset { options: vec!["--att".into()], ..Preset::of("att", &["kernel"], &[]) };
        events.step("thread trace");
        let made = self.collect(application, preset, None, &place, events);
        let traces = thread_traces(std::slice::from_ref(&place))?;
        match made {
            Ok(run) => {
                notes.extend(run.notes);
                if traces.is_empty() {
                    notes.push(
                        "no thread trace: the profiler decoded none; `--debug` shows what it says".into(),
                    );
                }
            }
            // A thread trace needs a decoder that is installed by itself; the rest of the profile stands without it.
            Err(failure) => {
                notes.push(format!("no thread trace: {}", failure.note()));
            }
        }
        Ok(traces)
    }

    fn time_process(&self, application: &[String]) -> Result<Report, Failure> {
        let limit = self.timeout.map_or(FOREVER, Duration::from_secs);
        let mut seconds = Vec::new();
        for number in 0..self.warm_up + self.runs {
            let ended = process::run(&Job { words: application, env: &[], folder: None, limit: Some(limit) });
            // Standard output is for the report alone.
            if self.debug {
                let _ = std::io::stderr().write_all(&ended.stdout);
            }
            let _ = std::io::stderr().write_all(&ended.stderr);
            match &ended.how {
                How::Exit(0) => {}
                How::NotStarted(why) => {
                    return Err(Failure::input(format!("cannot run `{}`: {why}", application[0])));
                }
                How::Limit => {
                    return Err(Failure::tool(format!(
                        "`{}` was stopped after {} s",
                        application[0],
                        limit.as_secs()
                    ))
                    .with_help("`--timeout` says how long a run may take"));
                }
                How::Exit(code) => {
                    return Err(Failure::tool(format!("`{}` exited with {code}", application[0])));
                }
                How::Signal(signal) => {
                    return Err(Failure::tool(format!("`{}` was killed by signal {signal}", application[0])));
                }
            }
            if number >= self.warm_up {
                seconds.push(ended.wall.as_secs_f64());
            }
        }
        let columns = vec![Column::int("run", Unit::None).key(), Column::int("wall_ns", Unit::Ns).key()];
        let mut table = Table::new("runs", "The process, from start to end", columns);
        for (number, seconds) in seconds.iter().enumerate() {
            table.push(vec![Value::from(number + 1), Value::Int((seconds * 1e9) as i64)]);
        }
        let spread = process_spread(&seconds);
        Ok(Report {
            command: "profile".into(),
            tables: vec![spread, table],
            notes: vec![
                "only the process was timed, start-up and host included: no kernel, no counter, no occupancy"
                    .into(),
            ],
            result: Some(process_result(&seconds)),
            ..Report::default()
        })
    }
}

/// Clears what earlier profiles left in a folder, and nothing else: stale runs must not pass for new ones.
fn make_room(folder: &Path) -> Result<(), Failure> {
    let ours = |name: &str| {
        let numbered = ["run-", "warm-up-"].iter().any(|word| name.starts_with(word));
        numbered || ["counters", "att"].contains(&name)
    };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if ours(&entry.file_name().to_string_lossy()) && path.join(collect::run::FILE).is_file() {
            std::fs::remove_dir_all(&path).map_err(|error| {
                Failure::input(format!("cannot replace the profile in `{}`: {error}", path.display()))
            })?;
        }
    }
    Ok(())
}

fn read(run: &Run, needs: &Needs, output: &OutputArgs) -> Result<Trace, Failure> {
    Ok(with_progress("reading", output, |progress| ingest::read(&run.traces, needs, progress))?)
}

/// A profiler that is not installed is for the user to change, and there are ways without one.
fn without_profiler(error: CollectError) -> Failure {
    let CollectError::NoProfiler { .. } = error else { return error.into() };
    let install = error.help().map(|help| format!("; {help}")).unwrap_or_default();
    Failure::input(error.to_string()).with_help(format!(
        "`--no-rocprof` times the process without a profiler, `rocm-perf demo --profile` shows a simulated profile{install}"
    ))
}
