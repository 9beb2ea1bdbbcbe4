//! What to collect, and everything that is decided before anything runs.

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

/// Who starts the ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LauncherChoice {
    /// The application's first word tells, or the preset.
    #[default]
    Auto,
    /// Nobody: the command is one application, whatever it is called.
    None,
    /// This one, with so many ranks.
    Named(String, u32),
}

/// Which tool records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tool {
    /// rocprofv3, or the legacy rocprof where that is all there is.
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
    /// Counters that were asked for by name: these must exist on the GPU.
    pub counters: Vec<String>,
    /// The GPU's architecture; without it, that of the first GPU here.
    pub arch: Option<String>,
    /// The profiler; without it, the one that is found.
    pub profiler: Option<Profiler>,
    /// Which tool records, when `profiler` does not say.
    pub tool: Tool,
    /// The run's folder; without it, one of its own time below `rocprof_output`.
    pub folder: Option<PathBuf>,
    /// A run of its own without counters, for true timings.
    pub timing: bool,
    /// Longest time of a pass.
    pub timeout: Option<Duration>,
    /// Who starts the ranks.
    pub launcher: LauncherChoice,
    /// A process that runs already, instead of an application.
    pub attach: Option<Attach>,
    /// Further facts for `run.json`, such as `base_image`.
    pub facts: Map<String, Value>,
    /// What was corrected on the way here, for `run.json`.
    pub notes: Vec<String>,
    /// Root of the file system that GPUs are looked for in.
    pub root: PathBuf,
}

impl CollectRequest {
    /// A request with nothing but what and how.
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

/// All that is known before anything runs.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Who records.
    pub profiler: Profiler,
    /// The GPU, where known.
    pub arch: Option<String>,
    /// The passes.
    pub plan: Plan,
    /// What each process runs.
    pub application: Vec<String>,
    /// Who starts ranks, if any.
    pub launched: Option<Launched>,
    /// The process to attach to, instead of an application.
    pub attach: Option<Attach>,
    /// Variables of the application.
    pub env: Vec<(String, String)>,
    /// What is done otherwise than asked, and why.
    pub notes: Vec<String>,
}

/// What a pass runs, and the files it needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PassCommand {
    /// The whole command.
    pub words: Vec<String>,
    /// Files to write before: path and text.
    pub files: Vec<(PathBuf, String)>,
    /// What to run before, once.
    pub before: Vec<String>,
    /// What is done otherwise than asked, and why.
    pub notes: Vec<String>,
}

/// Names of files of a process; of a rank, with its number before.
const PROCESS: &str = "%hostname%_%pid%";

/// The script that each rank of a pass runs.
const RANK_SCRIPT: &str = "rank.sh";

impl Prepared {
    /// Settles everything: the profiler, the GPU, the passes, the launcher.
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

    /// The same for a given profiler, without looking for programs.
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

    /// Whether passes have folders of their own.
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

    /// The application as it is run, and the command that rewrites it before.
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

    /// The script that each rank of a pass runs, among the files to write.
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

    /// Fails when a program that must be here is not.
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

/// The command taken apart by its launcher, or with one put before it.
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
