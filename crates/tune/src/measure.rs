//! The metric of a run: dispatch time from the profiler, process time, or a number the program prints.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use collect::presets::Preset;
use collect::profiler::Profiler;
use collect::run::{CollectError, CollectRequest, LauncherChoice, PassCommand, Prepared};
use files::TemporaryFolder;
use files::process::{self, Ended, Job};
use ingest::Progress;
use model::names::is_of_runtime;
use regex::bytes::Regex;
use trace::{Needs, Trace};

/// A measured run.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The metric; in nanoseconds if it is a time.
    pub value: f64,
    /// How long the program ran.
    pub wall: Duration,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// Time of each kernel by name, if it ran under the profiler.
    pub kernels: Vec<(String, KernelTime)>,
    /// From the first to the last activity of the program on host and GPU, if it ran under the profiler:
    /// excludes process start and exit.
    pub span_ns: Option<i64>,
    /// The trace, if it ran under the profiler.
    pub trace: Option<Box<Trace>>,
}

/// Time of one kernel's dispatches in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelTime {
    /// How many.
    pub dispatches: usize,
    /// Their sum.
    pub total_ns: i64,
}

/// A run without a value.
#[derive(Clone, Debug)]
pub enum Unmeasured {
    /// It failed or was stopped.
    Failed(Box<Ended>),
    /// It succeeded, but did not give the number.
    NoValue {
        /// Why there is none.
        why: String,
        /// How long the program ran.
        wall: Duration,
    },
}

impl Unmeasured {
    /// How long the program ran.
    pub fn wall(&self) -> Duration {
        match self {
            Unmeasured::Failed(ended) => ended.wall,
            Unmeasured::NoValue { wall, .. } => *wall,
        }
    }

    /// Why there is no value.
    pub fn explain(&self) -> String {
        match self {
            Unmeasured::Failed(ended) => ended.explain(),
            Unmeasured::NoValue { why, .. } => why.clone(),
        }
    }
}

/// A way to measure.
pub trait Measure {
    /// The name and unit of the value; part of the cache's key.
    fn metric(&self) -> Metric;

    /// Runs the job once.
    fn measure(&self, job: &Job) -> Result<Reading, Unmeasured>;
}

/// The kind of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// `dispatch time`, `process time`, or the expression that finds it.
    pub name: String,
    /// Whether it is a time in nanoseconds.
    pub is_time: bool,
}

/// Time from start to end of the process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessTime;

impl Measure for ProcessTime {
    fn metric(&self) -> Metric {
        Metric { name: "process time".into(), is_time: true }
    }

    fn measure(&self, job: &Job) -> Result<Reading, Unmeasured> {
        let ended = succeeded(process::run(job))?;
        Ok(Reading {
            value: ended.wall.as_nanos() as f64,
            wall: ended.wall,
            stdout: ended.stdout,
            kernels: Vec::new(),
            span_ns: None,
            trace: None,
        })
    }
}

/// A number that the program prints: the last match of an expression on stdout or stderr.
#[derive(Clone, Debug)]
pub struct Printed {
    expression: Regex,
    text: String,
}

/// Why an expression cannot find a number.
#[derive(Debug, thiserror::Error)]
pub enum ExpressionError {
    /// It is not an expression.
    #[error("the metric `{text}` is not a regular expression: {why}")]
    Invalid {
        /// As typed.
        text: String,
        /// What is wrong.
        why: String,
    },
}

impl Printed {
    /// Finds the number with this expression: its group `value`, its first group, or the whole match.
    pub fn new(text: &str) -> Result<Self, ExpressionError> {
        let expression = Regex::new(text).map_err(|error| {
            let why = error
                .to_string()
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ")
                .to_string();
            ExpressionError::Invalid { text: text.into(), why }
        })?;
        Ok(Self { expression, text: text.into() })
    }

    fn find(&self, output: &[u8]) -> Option<Result<f64, String>> {
        let found = self.expression.captures_iter(output).last()?;
        let group = found.name("value").or_else(|| found.get(1)).or_else(|| found.get(0))?;
        let text = String::from_utf8_lossy(group.as_bytes()).trim().to_string();
        Some(text.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or(text))
    }
}

impl Measure for Printed {
    fn metric(&self) -> Metric {
        Metric { name: self.text.clone(), is_time: false }
    }

    fn measure(&self, job: &Job) -> Result<Reading, Unmeasured> {
        let ended = succeeded(process::run(job))?;
        let no_value = |why: String| Unmeasured::NoValue { why, wall: ended.wall };
        let found = self.find(&ended.stdout).or_else(|| self.find(&ended.stderr));
        let value = match found {
            Some(Ok(value)) => value,
            Some(Err(text)) => return Err(no_value(format!("`{text}` is not a number"))),
            None => return Err(no_value(format!("nothing in its output matches `{}`", self.text))),
        };
        Ok(Reading {
            value,
            wall: ended.wall,
            stdout: ended.stdout,
            kernels: Vec::new(),
            span_ns: None,
            trace: None,
        })
    }
}

/// How to combine the times of dispatches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aggregate {
    /// Their sum.
    #[default]
    Sum,
    /// Their mean.
    Mean,
    /// The median.
    Median,
    /// The shortest.
    Min,
    /// The longest.
    Max,
}

impl Aggregate {
    /// The aggregate with this name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "sum" => Aggregate::Sum,
            "mean" => Aggregate::Mean,
            "median" => Aggregate::Median,
            "min" => Aggregate::Min,
            "max" => Aggregate::Max,
            _ => return None,
        })
    }

    /// Applied to times, of which there is at least one.
    fn of(self, mut times: Vec<i64>) -> f64 {
        times.sort_unstable();
        let n = times.len();
        let sum = times.iter().map(|time| *time as f64).sum::<f64>();
        let at = |place: usize| times.get(place).map_or(f64::NAN, |time| *time as f64);
        match self {
            Aggregate::Sum => sum,
            Aggregate::Mean => sum / n as f64,
            Aggregate::Median => (at((n.max(1) - 1) / 2) + at(n / 2)) / 2.0,
            Aggregate::Min => at(0),
            Aggregate::Max => at(n.max(1) - 1),
        }
    }
}

/// Dispatch times recorded by the profiler.
pub struct DispatchTime {
    profiler: Profiler,
    preset: Preset,
    kernel: Option<regex::Regex>,
    /// Folder for temporary traces.
    scratch: PathBuf,
    /// Whether readings keep the whole trace.
    pub keep_traces: bool,
    /// How to combine the times of dispatches.
    pub aggregate: Aggregate,
}

impl DispatchTime {
    /// Times the kernels whose name matches the expression; without one, all except the runtime's own.
    /// Records the given traces, which must include `kernel`.
    pub fn new(profiler: Profiler, traces: &[&str], kernel: Option<regex::Regex>, scratch: &Path) -> Self {
        let preset = Preset { formats: vec!["rocpd".into()], ..Preset::of("dispatches", traces, &[]) };
        let scratch = scratch.to_path_buf();
        Self { profiler, preset, kernel, scratch, keep_traces: false, aggregate: Aggregate::Sum }
    }

    /// The profiler's command with the job's command inside, writing to `folder`.
    fn command(&self, job: &Job, folder: &Path) -> Result<PassCommand, CollectError> {
        let mut request = CollectRequest::new(job.words.to_vec(), self.preset.clone());
        request.launcher = LauncherChoice::None;
        let prepared = Prepared::with(&request, self.profiler.clone())?;
        prepared.command(folder, &prepared.plan.passes[0])
    }

    fn read(&self, folder: &Path) -> Result<Trace, String> {
        let needs = if self.preset.trace.len() > 1 {
            Needs { shapes: true, ..analysis::critical_path_needs() }
        } else {
            Needs { kernels: true, ..Needs::nothing() }
        };
        ingest::read(&[folder.to_path_buf()], &needs, &Progress::default()).map_err(|error| match error {
            ingest::Error::NoTraces { .. } => "the profiler recorded nothing".to_string(),
            other => format!("cannot read the profiler's output: {other}"),
        })
    }
}

impl Measure for DispatchTime {
    fn metric(&self) -> Metric {
        let name = match &self.kernel {
            Some(kernel) => format!("dispatch time of {kernel}"),
            None => "dispatch time".to_string(),
        };
        let name = match self.aggregate {
            Aggregate::Sum => name,
            Aggregate::Mean => format!("mean {name}"),
            Aggregate::Median => format!("median {name}"),
            Aggregate::Min => format!("least {name}"),
            Aggregate::Max => format!("longest {name}"),
        };
        Metric { name, is_time: true }
    }

    fn measure(&self, job: &Job) -> Result<Reading, Unmeasured> {
        let scratch = TemporaryFolder::beside(&self.scratch.join("run"));
        let no_value = |why: String, wall: Duration| Unmeasured::NoValue { why, wall };
        let begin = || -> Result<PassCommand, String> {
            let scratch = scratch.as_ref().map_err(ToString::to_string)?;
            let command = self.command(job, scratch.path()).map_err(|error| error.to_string())?;
            for (path, text) in &command.files {
                std::fs::write(path, text).map_err(|error| error.to_string())?;
            }
            Ok(command)
        };
        let command = begin().map_err(|why| no_value(why, Duration::ZERO))?;
        let ended = succeeded(process::run(&Job { words: &command.words, ..job.clone() }))?;
        let folder = scratch.as_ref().map(TemporaryFolder::path).unwrap_or(&self.scratch);
        let trace = self.read(folder).map_err(|why| no_value(why, ended.wall))?;
        let kernels = kernel_times(&trace);
        let wanted = |name: &str| match &self.kernel {
            Some(kernel) => kernel.is_match(name) || kernel.is_match(&model::names::demangle(name)),
            None => true,
        };
        let counted: Vec<_> = kernels.iter().filter(|(name, _)| wanted(name)).collect();
        if counted.is_empty() {
            let why = match &self.kernel {
                Some(kernel) if !kernels.is_empty() => {
                    let names: Vec<&str> = kernels.iter().take(3).map(|(name, _)| name.as_str()).collect();
                    format!("no kernel matches `{kernel}`; choose one of `{}`", names.join("`, `"))
                }
                _ => "no kernel was recorded, although the program succeeded".to_string(),
            };
            return Err(no_value(why, ended.wall));
        }
        Ok(Reading {
            value: self.aggregate.of(dispatch_times(&trace, &wanted)),
            wall: ended.wall,
            stdout: ended.stdout,
            kernels,
            span_ns: trace.span().map(|(start, end)| end - start),
            trace: self.keep_traces.then(|| Box::new(trace)),
        })
    }
}

/// Times of the dispatches of wanted kernels, except the runtime's own.
fn dispatch_times(trace: &Trace, wanted: &dyn Fn(&str) -> bool) -> Vec<i64> {
    let mut known: BTreeMap<&str, bool> = BTreeMap::new();
    let mut times = Vec::new();
    for row in 0..trace.kernels.len() {
        let name = trace.strings.get(trace.kernels.name[row]);
        let counts = *known.entry(name).or_insert_with(|| !is_of_runtime(name) && wanted(name));
        if counts {
            times.push(trace.kernels.end[row] - trace.kernels.start[row]);
        }
    }
    times
}

/// Time of each kernel except the runtime's own, highest first.
fn kernel_times(trace: &Trace) -> Vec<(String, KernelTime)> {
    let mut times: BTreeMap<&str, KernelTime> = BTreeMap::new();
    for row in 0..trace.kernels.len() {
        let name = trace.strings.get(trace.kernels.name[row]);
        if is_of_runtime(name) {
            continue;
        }
        let time = times.entry(name).or_default();
        time.dispatches += 1;
        time.total_ns += trace.kernels.end[row] - trace.kernels.start[row];
    }
    let mut times: Vec<_> = times.into_iter().map(|(name, time)| (name.to_string(), time)).collect();
    times.sort_by_key(|(_, time)| std::cmp::Reverse(time.total_ns));
    times
}

fn succeeded(ended: Ended) -> Result<Ended, Unmeasured> {
    if ended.is_success() { Ok(ended) } else { Err(Unmeasured::Failed(Box::new(ended))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> [String; 3] {
        ["sh".into(), "-c".into(), script.into()]
    }

    fn printed(expression: &str, script: &str) -> Result<f64, String> {
        let words = shell(script);
        let job = Job { limit: Some(Duration::from_secs(10)), ..Job::of(&words) };
        let measured = Printed::new(expression).unwrap().measure(&job);
        measured.map(|reading| reading.value).map_err(|error| error.explain())
    }

    #[test]
    fn the_last_number_that_matches_is_the_value() {
        assert_eq!(printed(r"time: ([\d.e+-]+) ms", "echo time: 3 ms; echo time: 1.5e-1 ms"), Ok(0.15));
        assert_eq!(printed(r"GFLOPS=(?<value>\S+)", "echo x; echo GFLOPS=812 >&2"), Ok(812.0));
        assert_eq!(printed(r"\d+", "echo 42"), Ok(42.0));
        assert_eq!(printed(r"t=(\S+)", "echo t=nan"), Err("`nan` is not a number".into()));
        assert_eq!(printed(r"t=(\S+)", "echo none"), Err(r"nothing in its output matches `t=(\S+)`".into()));
        assert_eq!(printed(r"t=(\S+)", "echo t=1; exit 2"), Err("exited with 2: t=1".into()));
        assert!(Printed::new("(").unwrap_err().to_string().starts_with("the metric `(` is not"));
    }

    #[test]
    fn dispatch_times_become_one() {
        let of = |aggregate: Aggregate, times: &[i64]| aggregate.of(times.to_vec());
        let times = [40, 10, 30, 20];
        let all =
            ["sum", "mean", "median", "min", "max"].map(|name| of(Aggregate::named(name).unwrap(), &times));
        assert_eq!(all, [100.0, 25.0, 25.0, 10.0, 40.0]);
        assert_eq!(of(Aggregate::Median, &[7, 1, 5]), 5.0);
        assert_eq!(Aggregate::named("avg"), None);
    }

    #[test]
    fn process_time_is_about_what_it_slept() {
        let words = shell("sleep 0.1");
        let job = Job { limit: Some(Duration::from_secs(10)), ..Job::of(&words) };
        let value = ProcessTime.measure(&job).unwrap().value;
        assert!((1e8..5e9).contains(&value), "{value}");
    }
}
