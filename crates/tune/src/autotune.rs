//! The whole `autotune`: space, commands, journal and search, up to a report.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::builds::Builds;
use crate::journal::{Journal, JournalError, Journalled, Key, Owner};
use crate::launch::{self, Skipped};
use crate::measure::Measure;
use crate::space::{Candidates, Space, SpaceError};
use crate::target::{CommandTarget, Commands};
use crate::tuner::{Outcome, Progress, Tuner, TunerOptions};

/// What to tune and how.
pub struct AutotuneRequest<'a> {
    /// The search space.
    pub space: &'a Space,
    /// What to run.
    pub commands: &'a Commands,
    /// What to measure.
    pub measure: &'a dyn Measure,
    /// How to search.
    pub options: TunerOptions,
    /// Folder of the journal and results.
    pub out: &'a Path,
    /// More files whose contents affect the result.
    pub key_files: &'a [PathBuf],
    /// The GPU's architecture, if known.
    pub gpu: Option<&'a str>,
    /// Whether to continue a journal with runs on another device, ignoring those runs.
    pub forced: bool,
}

/// The outcome of a search.
pub struct Tuned {
    /// All configurations that satisfy the constraints.
    pub candidates: Candidates,
    /// Configurations that were skipped because they cannot be launched.
    pub skipped: Vec<Skipped>,
    /// What the search found.
    pub outcome: Outcome,
    /// Runs taken from the journal.
    pub reused: usize,
    /// Runs done now.
    pub made: usize,
    /// Lines of the journal that could not be read.
    pub damaged: usize,
    /// Importance of the parameters.
    pub importance: Vec<crate::importance::Importance>,
}

/// Why nothing could be tuned.
#[derive(Debug, thiserror::Error)]
pub enum AutotuneError {
    /// The space is invalid.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A result file cannot be written.
    #[error("cannot write `{}`: {error}", path.display())]
    Output {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: std::io::Error,
    },
}

/// The journal's name in the folder of results.
pub const JOURNAL: &str = "journal.jsonl";
/// The best configuration's name in the folder of results.
pub const BEST: &str = "best.json";

/// The name of the search's chart in the folder of results.
pub const PICTURE: &str = "search.svg";

/// Searches, or resumes an interrupted search.
pub fn autotune(request: &AutotuneRequest, watch: &mut dyn FnMut(&Progress)) -> Result<Tuned, AutotuneError> {
    let arch = request.gpu.and_then(hw::arch::find);
    let (candidates, skipped) =
        launch::part(request.space, request.space.candidates(request.options.seed)?, arch);
    if let (true, Some(first), Some(arch)) = (candidates.is_empty(), skipped.first(), arch) {
        let (count, reason) = (skipped.len(), first.reason.clone());
        return Err(SpaceError::NoLaunch { count, arch: arch.name.clone(), reason }.into());
    }
    let owner = Owner { key: key(request), device: device(request.gpu), forced: request.forced };
    let mut journal = Journal::open(&request.out.join(JOURNAL), &owner)?;
    let stdout = request.out.join("last_stdout.txt");
    let builds = Builds::new(request.space, request.commands, request.out);
    let mut target =
        CommandTarget::new(request.space, request.commands, request.measure, stdout.clone(), &builds, arch);
    let mut journalled =
        Journalled { target: &mut target, journal: &mut journal, space: request.space, reused: 0, made: 0 };
    let tuner = Tuner::new(request.space, &candidates, request.options.clone());
    let features = tuner.features.clone();
    let outcome = tuner.search(&mut journalled, watch);
    let (reused, made) = (journalled.reused, journalled.made);
    let _ = std::fs::remove_file(stdout);
    if let Some(error) = journal.failed.take() {
        return Err(JournalError::File { path: journal.path().into(), error }.into());
    }
    let importance = match &outcome.model {
        Some(model) => {
            crate::importance::importance(request.space, &candidates, &features, model, outcome.scale)
        }
        None => Vec::new(),
    };
    let damaged = journal.damaged;
    let tuned = Tuned { candidates, skipped, outcome, reused, made, damaged, importance };
    let best = tuned.outcome.ranking.first().map(|&best| tuned.outcome.trials[best].candidate);
    builds.keep_only(best.map(|best| tuned.candidates.get(best)));
    write_best(request, &tuned, &builds)?;
    Ok(tuned)
}

/// The GPU and its driver, as text.
fn device(gpu: Option<&str>) -> String {
    let mut device = gpu.unwrap_or("no known GPU").to_string();
    if let Ok(version) = std::fs::read_to_string("/sys/module/amdgpu/version") {
        device.push_str(&format!(" with driver {}", version.trim()));
    }
    for variable in ["HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"] {
        if let Ok(value) = std::env::var(variable) {
            device.push_str(&format!(", {variable}={value}"));
        }
    }
    device
}

/// What decides a run's result, in addition to its configuration and the device: commands, programs, metric.
fn key(request: &AutotuneRequest) -> String {
    let commands = request.commands;
    let mut key = Key::default();
    key.text("metric", &request.measure.metric().name);
    for (name, value) in &request.space.key {
        key.text(name, value);
    }
    key.text("run", &format!("{:?}", commands.run)).text("build", &format!("{:?}", commands.build));
    key.text("check", &format!("{:?}", commands.check)).text("env", &format!("{:?}", commands.env));
    for file in files(commands) {
        key.file(&file);
    }
    for file in request.key_files {
        key.file(file);
    }
    for file in &request.space.key_files {
        key.file(Path::new(file));
    }
    key.finish()
}

/// Files that the commands name, except those a build writes: they differ between configurations.
fn files(commands: &Commands) -> Vec<PathBuf> {
    let run = commands.run.fixed_words();
    let program = commands.run.program().map(|program| resolve(&program));
    let mut files: Vec<PathBuf> = Vec::new();
    if let Some(build) = &commands.build {
        files.extend(build.words_read().iter().map(|word| resolve(word)));
        files.extend(run.iter().map(|word| resolve(word)));
        files.retain(|file| Some(file) != program.as_ref());
    } else {
        files.extend(run.iter().map(|word| resolve(word)));
    }
    files.extend(commands.check.iter().flat_map(|check| check.fixed_words()).map(|word| resolve(&word)));
    files.retain(|file| file.is_file());
    files.sort();
    files.dedup();
    files
}

/// A word as a path; a program without a slash is searched for as a shell does.
fn resolve(word: &str) -> PathBuf {
    let path = PathBuf::from(word);
    if !word.contains('/')
        && !path.is_file()
        && let Some(found) = collect::profiler::on_path(word)
    {
        return found;
    }
    path.canonicalize().unwrap_or(path)
}

fn write_best(request: &AutotuneRequest, tuned: &Tuned, builds: &Builds) -> Result<(), AutotuneError> {
    let Some(&best) = tuned.outcome.ranking.first() else {
        // Results of an earlier search are not this one's.
        [BEST, PICTURE].iter().for_each(|name| drop(std::fs::remove_file(request.out.join(name))));
        return Ok(());
    };
    let trial = &tuned.outcome.trials[best];
    let levels = tuned.candidates.get(trial.candidate);
    let best = json!({
        "parameters": request.space.to_json(levels),
        "command": builds.words(&request.commands.run, levels),
        "metric": request.measure.metric().name,
        "value": tuned.outcome.scale.centre(&trial.values),
        "values": trial.values,
        "device": device(request.gpu),
    });
    let path = request.out.join(BEST);
    let write = || {
        let mut file = files::OutputFile::create(&path)?;
        std::io::Write::write_all(&mut file, format!("{best:#}\n").as_bytes())?;
        file.commit()
    };
    write().map_err(|error| AutotuneError::Output { path: path.clone(), error })
}
