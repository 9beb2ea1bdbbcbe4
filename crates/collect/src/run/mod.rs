//! Runs an application under the profiler, pass by pass, and keeps all results in one folder.
//!
//! ```text
//! request ─► prepared (profiler, GPU, passes, launcher) ─► each pass ─► recordings ─► merged trace
//!                                                              └─────────► run.json ◄──────┘
//! ```

mod application;
mod attach;
mod error;
mod files;
mod gather;
mod killed;
mod machine;
mod messages;
mod record;
mod recordings;
mod request;
mod safe_values;
mod time;

pub use self::files::FileFact;
pub use self::time::iso;
pub use attach::Attach;
pub use error::CollectError;
pub use gather::ONE_AT_A_TIME;
pub use record::FILE;
pub use request::{CollectRequest, LauncherChoice, PassCommand, Prepared, Tool};

pub(crate) use self::files::{folder_error, make_folder};
pub(crate) use gather::{Gatherer, failed_ranks};
pub(crate) use killed::{begin, find_beside};
pub(crate) use safe_values::check_job_folder;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use ::files::interrupt::Guard;
use ::files::process::Job;
use ::files::write_private;

use crate::launcher::Status;
use crate::library_calls::{self, LibraryCalls};
use crate::monitor::{Clock, Moment, Monitor, Recorded};
use crate::passes::{Agreement, Pass};
use crate::profiler::Profiler;
use application::Ended;
use messages::{Level, Message};

/// Gets the progress of a run.
pub trait Events: Sync {
    /// Something begins or has ended.
    fn step(&self, message: &str);
    /// Something is wrong.
    fn warn(&self, message: &str);
    /// The application or the profiler printed something.
    fn output(&self, bytes: &[u8]);
}

/// Ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Events for Silent {
    fn step(&self, _: &str) {}
    fn warn(&self, _: &str) {}
    fn output(&self, _: &[u8]) {}
}

/// A pass that ran.
#[derive(Clone, Debug, Default)]
pub struct PassRecord {
    /// From 1.
    pub number: usize,
    /// Its folder below the run's; empty if it is the run's own.
    pub folder: String,
    /// The whole command.
    pub command: Vec<String>,
    /// Counters, including anchors.
    pub counters: Vec<String>,
    /// Counters that were added for comparing passes.
    pub anchors: Vec<String>,
    /// The application's exit code; 128 plus the signal number if it was killed.
    pub exit_code: i32,
    /// How it ended, as text.
    pub how: String,
    /// How long it took.
    pub wall: Duration,
    /// Kernels that were recorded.
    pub kernels: usize,
    /// How each rank ended, if there are ranks.
    pub ranks: Vec<Status>,
    /// The profiler's messages that matter.
    pub messages: Vec<String>,
}

/// A complete or partial run.
#[derive(Debug)]
pub struct Run {
    /// Its folder.
    pub folder: PathBuf,
    /// Traces to read: merged ones if there were several passes.
    pub traces: Vec<PathBuf>,
    /// Passes that ran.
    pub passes: Vec<PassRecord>,
    /// How well the passes agree with the first.
    pub agreements: Vec<Agreement>,
    /// The profiler.
    pub profiler: Profiler,
    /// The GPU, if known.
    pub arch: Option<String>,
    /// What differs from the request, or is wrong.
    pub notes: Vec<String>,
    /// Why it is not complete.
    pub failure: Option<CollectError>,
}

impl Run {
    /// The run if it is complete, else why it is not.
    pub fn whole(self) -> Result<Self, CollectError> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self),
        }
    }

    /// Kernels of the first pass.
    pub fn kernels(&self) -> usize {
        self.passes.first().map_or(0, |pass| pass.kernels)
    }
}

/// Checks that a request can run: its program and the profiler exist. Runs and writes nothing.
pub fn check(request: &CollectRequest) -> Result<(), CollectError> {
    Prepared::of(request)?.check_programs()
}

/// Collects. An error means that nothing ran; otherwise the result lists failures too.
pub fn run(request: &CollectRequest, events: &dyn Events) -> Result<Run, CollectError> {
    let prepared = Prepared::of(request)?;
    prepared.check_programs()?;
    let started = SystemTime::now();
    let folder = make_folder(request.folder.as_deref(), started)?;
    find_beside(&folder).iter().for_each(|killed| events.warn(&killed.explain()));
    let _begun = begin(&folder, &request.application, started)?;
    let _guard = Guard::new();
    if request.attach.is_some() {
        prepared.notes.iter().for_each(|note| events.warn(note));
    }
    let mut gatherer = Gatherer::new(request, &prepared, &folder, started);
    let count = prepared.plan.passes.len();
    for pass in &prepared.plan.passes {
        let what = described(pass);
        events.step(&format!("pass {} of {count}: {what}", pass.number));
        let (record, ended, watched) = one_pass(request, &prepared, &folder, pass, events)?;
        let seconds = record.wall.as_secs_f64();
        gatherer.watched(watched);
        let failure = gatherer.add(pass, record, ended, request.timeout);
        let kernels = gatherer.passes.last().map_or(0, |pass| pass.kernels);
        events.step(&format!("pass {} of {count}: {kernels} kernels in {seconds:.2} s", pass.number));
        if let Some(failure) = failure {
            // An application that fails but leaves its data may always exit like this.
            let goes_on = matches!(failure, CollectError::Application { .. } | CollectError::Ranks { .. });
            let stop = !goes_on || kernels == 0;
            gatherer.fail(failure);
            if stop {
                break;
            }
        }
    }
    gatherer.finish()
}

fn described(pass: &Pass) -> String {
    let mut parts = Vec::new();
    if !pass.wanted.trace.is_empty() {
        parts.push(format!("{} traces", pass.wanted.trace.len()));
    }
    if !pass.wanted.counters.is_empty() {
        parts.push(format!("{} counters", pass.wanted.counters.len()));
    }
    if pass.wanted.pc_sampling.is_some() {
        parts.push("PC samples".into());
    }
    parts.join(", ").replace("1 traces", "1 trace").replace("1 counters", "1 counter")
}

/// What was monitored next to the profiler.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    /// Samples of the monitors.
    pub monitor: Option<Recorded>,
    /// What could not be monitored.
    pub notes: Vec<String>,
}

/// Default seconds between two samples.
const INTERVAL: f64 = 0.1;

/// Runs one pass.
fn one_pass(
    request: &CollectRequest,
    prepared: &Prepared,
    run: &Path,
    pass: &Pass,
    events: &dyn Events,
) -> Result<(PassRecord, Ended, Watched), CollectError> {
    let folder = prepared.pass_folder(run, pass);
    let command = prepared.command(run, pass)?;
    write_files(&folder, &command)?;
    let mut watched = Watched::default();
    let calls = Mutex::new(LibraryCalls::default());
    let libraries = &request.preset.library_calls;
    let show = |bytes: &[u8]| {
        events.output(bytes);
        if !libraries.is_empty() {
            let now = Moment::now().on(Clock::Boot);
            let mut calls = calls.lock().unwrap_or_else(|e| e.into_inner());
            calls.take_line(&String::from_utf8_lossy(bytes), now);
        }
    };
    let mut env = prepared.env.clone();
    env.extend(library_calls::environment(libraries, &folder));
    let env = &env;
    let timeout = request.timeout;
    let run_words = |words: &[String], log: &str| {
        application::run(&Job { env, limit: timeout, ..Job::of(words) }, &folder.join(log), &show)
    };
    if !command.before.is_empty() {
        let ended = run_words(&command.before, "rewriting.log")?;
        if ended.process.code() != 0 {
            return Err(CollectError::Profiler {
                profiler: prepared.profiler.kind.name(),
                pass: pass.number,
                how: ended.process.status_in_words(),
                message: format!("cannot instrument `{}`", command.before.last().map_or("", String::as_str)),
                help: Some(report::Remedy::SampleMode),
            });
        }
    }
    let monitor = watch(request, &folder, &mut watched);
    let ended = run_words(&command.words, "output.log")?;
    if request.attach.is_some() && ended.process.is_success() {
        attach::wait_for_files(&folder);
    }
    if let Some(recorded) = monitor.map(Monitor::stop) {
        watched.notes.extend(recorded.notes.iter().cloned());
        watched.monitor = Some(recorded);
    }
    if !libraries.is_empty() {
        let calls = calls.into_inner().unwrap_or_else(|e| e.into_inner());
        watched.notes.extend(write_calls(calls, &folder, request));
    }
    let record = PassRecord {
        number: pass.number,
        folder: files::relative(run, &folder),
        command: command.words,
        counters: pass.wanted.counters.clone(),
        anchors: pass.anchors.clone(),
        exit_code: ended.process.code(),
        how: ended.process.status_in_words(),
        wall: ended.process.wall,
        ..PassRecord::default()
    };
    Ok((record, ended, watched))
}

/// Starts the monitors; a machine without metrics can still record.
fn watch(request: &CollectRequest, folder: &Path, watched: &mut Watched) -> Option<Monitor> {
    let preset = &request.preset;
    if preset.monitors.is_empty() {
        return None;
    }
    let interval = Duration::from_secs_f64(preset.monitor_interval.unwrap_or(INTERVAL));
    match Monitor::start_below(&request.root, &preset.monitors, interval, folder) {
        Ok(monitor) => Some(monitor),
        Err(error) => {
            watched.notes.push(format!("{} is not monitored: {error}", preset.monitors.join(", ")));
            None
        }
    }
}

/// Writes the calls that libraries logged; returns what went wrong.
fn write_calls(mut calls: LibraryCalls, folder: &Path, request: &CollectRequest) -> Vec<String> {
    let logged = LibraryCalls::read_folder(folder);
    calls.calls.extend(logged.calls);
    calls.notes.extend(logged.notes);
    let job = std::env::var("SLURM_JOB_ID").unwrap_or_default();
    let model = request.application.first().map_or("", String::as_str);
    let date = time::iso(SystemTime::now());
    if let Err(error) = calls.write(&folder.join(library_calls::FILE), &job, &date, model) {
        calls.notes.push(error.to_string());
    }
    calls.notes
}

/// Makes a pass's folder and the files it needs.
pub(crate) fn write_files(folder: &Path, command: &PassCommand) -> Result<(), CollectError> {
    std::fs::create_dir_all(folder).map_err(|error| folder_error(folder, &error))?;
    for (path, text) in &command.files {
        // Scripts hold commands and variables, so only their owner may read them.
        write_private(path, text).map_err(|error| folder_error(path, &error))?;
    }
    Ok(())
}

/// The message that best explains why nothing was recorded.
fn worst(messages: &[Message]) -> Option<&Message> {
    messages.iter().max_by_key(|message| message.level).filter(|message| message.level >= Level::Warning)
}
