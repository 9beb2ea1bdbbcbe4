//! What to collect, and all decisions before anything runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use super::attach::Attach;
use super::error::CollectError;
use crate::command::{INSTRUMENTED, Mode, Output};
use crate::launcher::{self, Launched, RankScript};
use crate::passes::{Pass, Plan, PlanRequest, plan};
use crate::presets::Preset;
use crate::profiler::{self, Places, Profiler, ProfilerKind, is_program};

/// What starts the ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LauncherChoice {
    /// Decided by the application's first word, or the preset.
    #[default]
    Auto,
    /// Nothing: the command is one application, whatever its name is.
    None,
    /// This launcher, with this many ranks.
    Named(String, u32),
}

/// Which tool records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tool {
    /// rocprofv3, or the legacy rocprof if there is nothing else.
    #[default]
    Profiler,
    /// ROCm Systems Profiler.
    Systems(Mode),
}

/// What to collect.
#[derive(Clone, Debug)]
pub struct CollectRequest {
    /// The application and its arguments.
    pub application: Vec<String>,
    /// What to record.
    pub preset: Preset,
    /// Counters requested by name: these must exist on the GPU.
    pub counters: Vec<String>,
    /// The GPU's architecture [default: that of the first GPU].
    pub arch: Option<String>,
    /// The profiler [default: found on this machine].
    pub profiler: Option<Profiler>,
    /// Which tool records, if `profiler` is not set.
    pub tool: Tool,
    /// The run's folder [default: named after the time, below `rocprof_output`].
    pub folder: Option<PathBuf>,
    /// Whether to add a run without counters, for true timings.
    pub timing: bool,
    /// Time limit of a pass.
    pub timeout: Option<Duration>,
    /// What starts the ranks.
    pub launcher: LauncherChoice,
    /// A running process, instead of an application.
    pub attach: Option<Attach>,
    /// More facts for `run.json`, such as `base_image`.
    pub facts: Map<String, Value>,
    /// What was corrected before this, for `run.json`.
    pub notes: Vec<String>,
    /// Root of the file system to search for GPUs.
    pub root: PathBuf,
}

impl CollectRequest {
    /// A request with defaults for everything else.
    pub fn new(application: Vec<String>, preset: Preset) -> Self {
        Self {
            application,
            preset,
            counters: Vec::new(),
            arch: None,
            profiler: None,
            tool: Tool::Profiler,
            folder: None,
            timing: false,
            timeout: None,
            launcher: LauncherChoice::Auto,
            attach: None,
            facts: Map::new(),
            notes: Vec::new(),
            root: "/".into(),
        }
    }
}

/// Everything decided before anything runs.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The profiler.
    pub profiler: Profiler,
    /// The GPU, if known.
    pub arch: Option<String>,
    /// The passes.
    pub plan: Plan,
    /// What each process runs.
    pub application: Vec<String>,
    /// The launcher of ranks, if any.
    pub launched: Option<Launched>,
    /// The process to attach to, instead of an application.
    pub attach: Option<Attach>,
    /// Environment variables of the application.
    pub env: Vec<(String, String)>,
    /// What differs from the request, and why.
    pub notes: Vec<String>,
}

/// What a pass runs, and the files it needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PassCommand {
    /// The whole command.
    pub words: Vec<String>,
    /// Files to write first: path and text.
    pub files: Vec<(PathBuf, String)>,
    /// A command to run once before.
    pub before: Vec<String>,
    /// What differs from the request, and why.
    pub notes: Vec<String>,
}

/// File names of a process; those of a rank are prefixed with its number.
const PROCESS: &str = "%hostname%_%pid%";

/// The script that each rank of a pass runs.
const RANK_SCRIPT: &str = "rank.sh";

impl Prepared {
    /// Decides everything: the profiler, the GPU, the passes, the launcher.
    pub fn of(request: &CollectRequest) -> Result<Self, CollectError> {
        let profiler = match &request.profiler {
            Some(profiler) => profiler.clone(),
            None => match request.tool {
                Tool::Profiler => profiler::find(&Places::of_environment())?,
                Tool::Systems(_) if request.attach.is_some() => {
                    profiler::find_systems(&Places::of_environment(), Mode::Attach)?
                }
                Tool::Systems(mode) => profiler::find_systems(&Places::of_environment(), mode)?,
            },
        };
        Self::with(request, profiler)
    }

    /// Prepares for a given profiler, without looking for programs.
    pub fn with(request: &CollectRequest, profiler: Profiler) -> Result<Self, CollectError> {
        let preset = &request.preset;
        super::safe_values::check(preset)?;
        let arch = match &request.arch {
            Some(arch) => Some(arch.clone()),
            None => super::machine::arch(&request.root),
        };
        let plan = plan(&PlanRequest {
            preset,
            counters: &request.counters,
            arch: arch.as_deref(),
            profiler: &profiler,
            timing: request.timing,
        })?;
        let launched = launched(request)?;
        let application =
            launched.as_ref().map_or_else(|| request.application.clone(), |l| l.application.clone());
        let env: BTreeMap<String, String> = preset.env.clone();
        let mut notes = request.notes.clone();
        for left in &plan.left_out {
            notes.push(format!("left out `{}`: {}", left.counter, left.why));
        }
        if let Some(attach) = &request.attach {
            if !env.is_empty() || !preset.library_calls.is_empty() {
                let why = "its environment was set when it was started";
                notes.push(format!(
                    "variables and library calls of the preset do not reach a running process: {why}"
                ));
            }
            notes.extend(attach.limits(&profiler, &plan, &request.root)?);
        }
        let env = env.into_iter().collect();
        Ok(Self { profiler, arch, plan, application, launched, attach: request.attach, env, notes })
    }

    /// The folder of a pass: the run's own if there is only one pass.
    pub fn pass_folder(&self, run: &Path, pass: &Pass) -> PathBuf {
        if self.plan.passes.len() == 1 { run.to_path_buf() } else { run.join(pass.folder()) }
    }

    /// What a pass runs.
    pub fn command(&self, run: &Path, pass: &Pass) -> Result<PassCommand, CollectError> {
        let folder = self.pass_folder(run, pass);
        let Some(launched) = &self.launched else {
            let output = Output { folder: folder.clone(), name: PROCESS.into() };
            let built = pass.command(&self.profiler, &output)?;
            let files = built.files.into_iter().map(|(name, text)| (folder.join(name), text)).collect();
            if let Some(attach) = &self.attach {
                let words = attach.words(&self.profiler, built.words, &folder);
                return Ok(PassCommand { words, files, before: Vec::new(), notes: built.notes });
            }
            let (application, before) = self.rewritten(&folder);
            let words = built.words.into_iter().chain(application).collect();
            return Ok(PassCommand { words, files, before, notes: built.notes });
        };
        let rank = RankScript::rank_of(Some(launched.launcher), false);
        let (script, mut ranked) = self.rank_script(run, pass, &rank, false)?;
        ranked.words = launched.head.clone();
        ranked.words.extend(["sh".into(), script.display().to_string()]);
        let (application, before) = self.rewritten(&self.pass_folder(run, pass));
        ranked.words.extend(application);
        ranked.before = before;
        Ok(ranked)
    }

    /// The application to run, and the command that rewrites it first.
    fn rewritten(&self, folder: &Path) -> (Vec<String>, Vec<String>) {
        let mut application = self.application.clone();
        let Some(program) = application
            .first_mut()
            .filter(|_| matches!(self.profiler.kind, ProfilerKind::RocprofSys(Mode::Instrument)))
        else {
            return (application, Vec::new());
        };
        let target = folder.join(INSTRUMENTED).display().to_string();
        let rewriter = self.profiler.path.with_file_name("rocprof-sys-instrument");
        let before =
            vec![rewriter.display().to_string(), "-o".into(), target.clone(), "--".into(), program.clone()];
        *program = target;
        (application, before)
    }

    /// Adds the script that each rank of a pass runs to the files to write.
    pub(crate) fn rank_script(
        &self,
        run: &Path,
        pass: &Pass,
        rank: &[String],
        torch_names: bool,
    ) -> Result<(PathBuf, PassCommand), CollectError> {
        let folder = self.pass_folder(run, pass);
        let name = format!("rank{}_{PROCESS}", launcher::RANK);
        let built = pass.command(&self.profiler, &Output { folder: folder.clone(), name })?;
        let script = RankScript {
            pass: pass.number,
            rank,
            env: &self.env,
            profiler: &built.words,
            folder: &folder,
            torch_names,
        };
        let path = folder.join(RANK_SCRIPT);
        let mut files: Vec<(PathBuf, String)> =
            built.files.into_iter().map(|(name, text)| (folder.join(name), text)).collect();
        let (text, secrets) = script.text();
        files.push((path.clone(), text));
        files.extend(secrets);
        Ok((path, PassCommand { files, notes: built.notes, ..PassCommand::default() }))
    }

    /// Fails if a required program is missing.
    pub fn check_programs(&self) -> Result<(), CollectError> {
        if self.attach.is_some() {
            return Ok(());
        }
        let first = self.launched.as_ref().and_then(|launched| launched.head.first());
        for word in first.into_iter().chain(self.application.first()) {
            check_program(word)?;
        }
        if self.application.is_empty() {
            let why = "nothing follows `--`".into();
            return Err(CollectError::NoApplication { word: String::new(), why });
        }
        Ok(())
    }
}

/// The command split by its launcher, or with a launcher prepended.
fn launched(request: &CollectRequest) -> Result<Option<Launched>, CollectError> {
    let by_name = |name: &str, ranks: u32| {
        let launcher = launcher::named(name).ok_or_else(|| {
            CollectError::Usage(format!("no launcher `{name}`: choose torchrun, mpirun, srun or none"))
        })?;
        Ok(Some(Launched::with(launcher, ranks, &request.application)))
    };
    match &request.launcher {
        LauncherChoice::None => Ok(None),
        LauncherChoice::Named(name, ranks) => match Launched::of(&request.application)? {
            Some(launched) => Ok(Some(launched)),
            None => by_name(name, *ranks),
        },
        LauncherChoice::Auto => {
            let found = Launched::of(&request.application)?;
            match (&request.preset.launcher, request.preset.ranks) {
                (Some(name), Some(ranks)) if found.is_none() && ranks > 1 => by_name(name, ranks),
                _ => Ok(found),
            }
        }
    }
}

/// A program that can be started, by its path or on the PATH.
fn check_program(word: &str) -> Result<(), CollectError> {
    let path = Path::new(word);
    let missing = |why: &str| Err(CollectError::NoApplication { word: word.into(), why: why.into() });
    if word.contains('/') {
        return match path.metadata() {
            Err(error) => missing(&profiler::reason(&error)),
            Ok(meta) if meta.is_dir() => missing("it is a folder"),
            Ok(_) if !is_program(path) => missing("it is not an executable file"),
            Ok(_) => Ok(()),
        };
    }
    if profiler::on_path(word).is_some() {
        return Ok(());
    }
    let here = if path.is_file() { format!("it is not on PATH; write `./{word}`") } else { String::new() };
    missing(if here.is_empty() { "it is not on PATH" } else { &here })
}
