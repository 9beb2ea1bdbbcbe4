//! Profiling a program: kernel times and their stability, occupancy, roofline, critical path, bottlenecks.

mod code;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use analysis::profile::{
    Profiled, counter_needs, process_result, process_spread, profile_report, timing_needs, typical_run,
};
use analysis::timeline::stability::RunTimes;
use collect::presets::Preset;
use collect::run::{CollectError, CollectRequest, Events, Run};
use files::process::{self, How, Job};
use report::{Column, Note, Remedy, Report, Table, Unit, Value};
use trace::{Needs, ThreadTrace, Trace};

use crate::causes::for_target;
use crate::failure::Failure;
use crate::observer::{ForwardedEvents, Observer};
use crate::stalls::thread_traces;

/// Default folder of the runs.
const FOLDER: &str = ".rocpd_profile";
/// Longer than any run; a timeout must be finite.
const FOREVER: Duration = Duration::from_secs(1 << 30);
/// What a timing run records: kernels and copies, and the calls for the critical path.
const TRACES: [&str; 3] = ["kernel", "hip", "memory-copy"];

/// Which program to profile, and how.
#[derive(Clone, Debug, Default)]
pub struct ProfileRequest {
    /// The program and its arguments.
    pub application: Vec<String>,
    /// Timing runs.
    pub runs: u32,
    /// Warm-up runs, which do not count.
    pub warm_up: u32,
    /// Whether to collect counters, in separate runs.
    pub counters: bool,
    /// Whether to trace the instructions of waves, in a separate run.
    pub thread_trace: bool,
    /// Files with the program's GPU code.
    pub code_objects: Vec<PathBuf>,
    /// Time the process only.
    pub without_profiler: bool,
    /// Pass on the profiler's commands and all output of it and the program.
    pub debug: bool,
    /// Folder for the databases.
    pub folder: Option<PathBuf>,
    /// Longest run.
    pub timeout: Option<Duration>,
    /// The architecture that the answer is for.
    pub target_arch: Option<String>,
}

impl ProfileRequest {
    /// A profile with default options.
    pub fn new(application: Vec<String>) -> Self {
        Self { application, runs: 3, warm_up: 1, ..Self::default() }
    }
}

/// Runs a program under the profiler and reports what its kernels do.
pub fn profile(request: &ProfileRequest, observer: &dyn Observer) -> Result<Report, Failure> {
    request.answer(observer)
}

impl ProfileRequest {
    fn answer(&self, observer: &dyn Observer) -> Result<Report, Failure> {
        let application = self.application.clone();
        if application.is_empty() {
            return Err(Failure::input("no program given").with_help(Remedy::NameProgram));
        }
        if self.without_profiler {
            return self.time_process(&application, observer);
        }
        // A bad file is better found before the program runs.
        for path in &self.code_objects {
            crate::code::read(path)?;
        }
        let folder = self.folder.clone().unwrap_or_else(|| FOLDER.into());
        let events = ForwardedEvents { observer, output: self.debug };
        let timing = Preset { formats: vec!["rocpd".into()], ..Preset::of("profile", &TRACES, &[]) };
        // Earlier results must survive if the program or the profiler does not exist.
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
        let mut last: Option<Arc<Trace>> = None;
        for number in 1..=self.runs {
            if observer.cancelled() {
                return Err(Failure::cancelled());
            }
            events.step(&format!("run {number} of {}", self.runs));
            let place = folder.join(format!("run-{number}"));
            let run = self.collect(&application, timing.clone(), None, &place, &events)?;
            let trace = read(&run, &timing_needs(), observer)?;
            let Some(times) = RunTimes::of(&trace, &place.display().to_string()) else {
                let message = format!("`{}` launched no kernel, so there is nothing to time", application[0]);
                return Err(Failure::tool(message).with_help(Remedy::WithoutProfiler));
            };
            runs.push(times);
            made.push(run);
            last = Some(trace);
        }
        let (Some(typical), Some(last)) = (typical_run(&runs), last) else {
            return Err(Failure::input("no run was made"));
        };
        let run = &made[typical];
        // Only one trace is in memory at a time: they may be large.
        let trace = if typical + 1 == made.len() { last } else { read(run, &timing_needs(), observer)? };
        let mut notes: Vec<Note> = run.notes.iter().map(|note| note.as_str().into()).collect();
        if made.len() > 1 {
            notes.push(format!(
                "kernel times of one run, critical path and bottlenecks are those of run {}, the nearest to the median",
                typical + 1
            ).into());
        }
        let counters = match self.counters {
            true => self.collect_counters(&application, &trace, &folder, &events, &mut notes)?,
            false => None,
        };
        let traces = if self.thread_trace {
            self.collect_att(&application, &folder, &events, &mut notes)?
        } else {
            Vec::new()
        };
        let code = code::find(&application[0], &run.traces, &folder, &self.code_objects)?;
        notes.extend(code.notes.into_iter().map(Note::from));
        let profiled = Profiled {
            runs: &runs,
            timing: &trace,
            counters: counters.as_deref(),
            thread_traces: &traces,
            traced: self.thread_trace,
            code: Some(&code.contents).filter(|code| !code.kernels.is_empty()),
        };
        let mut report = profile_report(&profiled, &for_target(&self.target_arch));
        if let Some(serde_json::Value::Object(result)) = &mut report.result {
            let paths: Vec<String> = run.traces.iter().map(|path| path.display().to_string()).collect();
            result.insert("databases".into(), serde_json::json!(paths));
        }
        notes.push(format!("the databases are in `{}`", folder.display()).into());
        report.notes.extend(notes);
        Ok(report)
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
        request.timeout = self.timeout;
        request
    }

    fn collect(
        &self,
        application: &[String],
        preset: Preset,
        arch: Option<&str>,
        folder: &Path,
        events: &ForwardedEvents<'_>,
    ) -> Result<Run, Failure> {
        let run = collect::run::run(&self.request(application, preset, arch, folder), events);
        // Even after a failure: the next profile may clear these files, and no others.
        if folder.join(collect::run::FILE).is_file() {
            files::list_as_ours(folder).map_err(|error| {
                Failure::input(format!("cannot list the files of `{}`: {error}", folder.display()))
            })?;
        }
        let run = run?;
        if self.debug {
            run.passes.iter().for_each(|pass| events.observer.step(&pass.command.join(" ")));
        }
        Ok(run.whole()?)
    }

    fn collect_counters(
        &self,
        application: &[String],
        timed: &Trace,
        folder: &Path,
        events: &ForwardedEvents<'_>,
        notes: &mut Vec<Note>,
    ) -> Result<Option<Arc<Trace>>, Failure> {
        let agent = timed.kernels.agent.first().and_then(|agent| agent.get());
        let gpu = agent.map_or("", |agent| timed.strings.get(timed.agents[agent].name));
        let Some(arch) = hw::arch::find(gpu) else {
            notes.push(format!("no counters are known for the GPU `{gpu}`, so none were collected").into());
            return Ok(None);
        };
        let mut names = analysis::roofline_counters(&arch.facts.counters);
        names.extend(analysis::kernels::bottleneck::bottleneck_counters(&arch.facts.counters));
        names.extend(analysis::occupancy_counters(arch).into_iter().map(String::from));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let preset = Preset { formats: vec!["rocpd".into()], ..Preset::of("counters", &["kernel"], &names) };
        events.step("counters");
        let run = match self.collect(application, preset, Some(&arch.name), &folder.join("counters"), events)
        {
            Ok(run) => run,
            // The timing runs are worth a report even without counters.
            Err(failure) => {
                notes.push(failure.note("no counters"));
                return Ok(None);
            }
        };
        // Times come from separate runs here.
        let own = run.notes.iter().filter(|note| *note != collect::run::ONE_AT_A_TIME);
        notes.extend(own.map(|note| Note::from(note.as_str())));
        Ok(Some(read(&run, &counter_needs(), events.observer)?))
    }

    fn collect_att(
        &self,
        application: &[String],
        folder: &Path,
        events: &ForwardedEvents<'_>,
        notes: &mut Vec<Note>,
    ) -> Result<Vec<ThreadTrace>, Failure> {
        let place = folder.join("att");
        let preset = Preset { options: vec!["--att".into()], ..Preset::of("att", &["kernel"], &[]) };
        events.step("thread trace");
        let made = self.collect(application, preset, None, &place, events);
        let traces = thread_traces(std::slice::from_ref(&place))?;
        match made {
            Ok(run) => {
                notes.extend(run.notes.into_iter().map(Note::from));
                if traces.is_empty() {
                    let text = "no thread trace: the profiler decoded none";
                    notes.push(Note::new(text, Remedy::ProfilerOutput));
                }
            }
            // A thread trace needs a decoder that is installed separately; the rest of the profile works
            // without it.
            Err(failure) => {
                notes.push(failure.note("no thread trace"));
            }
        }
        Ok(traces)
    }

    fn time_process(&self, application: &[String], observer: &dyn Observer) -> Result<Report, Failure> {
        let limit = self.timeout.unwrap_or(FOREVER);
        let mut seconds = Vec::new();
        for number in 0..self.warm_up + self.runs {
            if observer.cancelled() {
                return Err(Failure::cancelled());
            }
            let ended = process::run(&Job { limit: Some(limit), ..Job::of(application) });
            if self.debug {
                observer.output(&ended.stdout);
            }
            observer.output(&ended.stderr);
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
                    .with_help(Remedy::Timeout));
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
                "only the process was timed, including start-up and host work: there are no kernel times, counters or occupancy"
                    .into(),
            ],
            result: Some(process_result(&seconds)),
            ..Report::default()
        })
    }
}

/// Clears what earlier profiles left in a folder, and nothing else: stale runs must not look like new ones.
fn make_room(folder: &Path) -> Result<(), Failure> {
    let ours = |name: &str| {
        let numbered = ["run-", "warm-up-"].iter().any(|word| name.starts_with(word));
        numbered || ["counters", "att"].contains(&name)
    };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if ours(&entry.file_name().to_string_lossy()) && path.join(collect::run::FILE).is_file() {
            files::remove_ours(&path).map_err(|error| {
                Failure::input(format!("cannot replace the profile in `{}`: {error}", path.display()))
            })?;
        }
    }
    Ok(())
}

fn read(run: &Run, needs: &Needs, observer: &dyn Observer) -> Result<Arc<Trace>, Failure> {
    crate::input::read(&run.traces, needs, observer)
}

/// A missing profiler is for the user to fix, and there are ways without one.
fn without_profiler(error: CollectError) -> Failure {
    let CollectError::NoProfiler { .. } = error else { return error.into() };
    let install = match error.help() {
        Some(Remedy::Advice(text)) => text,
        _ => String::new(),
    };
    Failure::input(error.to_string()).with_help(Remedy::NoProfiler(install))
}
