//! The probe: runs a tiny program under the profiler and compares what it launched with what was recorded.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ::files::TemporaryFolder;
use ::files::process::{self, Ended, Job};
use ::report::{Column, Table, Unit, Value};
use ingest::Progress;
use trace::Needs;

use crate::presets::Preset;
use crate::profiler::{Places, Profiler};
use crate::run::{CollectError, CollectRequest, LauncherChoice, Prepared};

const SOURCE: &str = include_str!("probe.hip");
const COMPILER: &str = "hipcc";
const NEEDS_COMPILER: &str = "install it, or add ROCm's bin folder to PATH";

/// Longest compilation, and longest run: a profiler that hangs is one of the known issues.
const COMPILATION: Duration = Duration::from_secs(180);
const RUN: Duration = Duration::from_secs(60);

/// How the program launches kernels: the key that it prints, a word of the kernel's name, a description.
const WAYS: [(&str, &str, &str); 2] = [
    ("eager", "rocm_perf_probe_eager", "kernels launched one by one"),
    ("graph", "rocm_perf_probe_graph", "kernels of graph launches"),
];

/// What a probe found.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// By launch method.
    pub work: Vec<ProbedWork>,
    /// Which profiler recorded.
    pub profiler: String,
}

/// Kernels that were launched with one method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbedWork {
    /// How they were launched.
    pub how: &'static str,
    /// The program's own count.
    pub launched: usize,
    /// The number in the trace.
    pub recorded: usize,
}

impl Probe {
    /// Kernels that were launched but not recorded.
    pub fn lost(&self) -> usize {
        self.work.iter().map(|work| work.launched.saturating_sub(work.recorded)).sum()
    }

    /// Kernels that were launched.
    pub fn launched(&self) -> usize {
        self.work.iter().map(|work| work.launched).sum()
    }

    /// The table `probe`.
    pub fn table(&self) -> Table {
        let columns = vec![
            Column::text("work"),
            Column::int("launched", Unit::None).key(),
            Column::int("recorded", Unit::None).key(),
            Column::int("lost", Unit::None).key(),
        ];
        let mut table = Table::new("probe", &format!("Probe with {}", self.profiler), columns);
        for work in &self.work {
            table.push(vec![
                Value::from(work.how),
                Value::from(work.launched),
                Value::from(work.recorded),
                Value::Int(work.launched as i64 - work.recorded as i64),
            ]);
        }
        table
    }
}

/// Why the probe has no result.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// There is no compiler for the program.
    #[error("the probe needs `{COMPILER}`: {NEEDS_COMPILER}")]
    NoCompiler,
    /// The compiler refused it.
    #[error("`{COMPILER}` cannot compile the probe: it {0}")]
    Compilation(String),
    /// It also fails without the profiler.
    #[error("the probe fails without the profiler: it {0}")]
    Program(String),
    /// It fails with the profiler.
    #[error("the probe works alone and fails under the profiler: it {0}")]
    Profiler(String),
    /// The profiler wrote nothing readable.
    #[error("the profiler ran and recorded nothing: {0}")]
    NothingRecorded(String),
    /// No profiler, or it cannot record this.
    #[error(transparent)]
    Collect(#[from] CollectError),
    /// Its files cannot be written.
    #[error("cannot write the probe's files: {0}")]
    Files(#[from] std::io::Error),
}

/// Runs the probe on this machine.
pub fn probe() -> Result<Probe, ProbeError> {
    let places = Places::of_environment();
    let profiler = crate::profiler::find(&places)?;
    let compiler = places.program(COMPILER).ok_or(ProbeError::NoCompiler)?;
    let folder = TemporaryFolder::of_system()?;
    let program = compile(&compiler, folder.path())?;
    let alone = run(&[program.display().to_string()], RUN);
    if !alone.is_success() {
        return Err(ProbeError::Program(alone.explain()));
    }
    let launched = |key: &str| {
        let text = String::from_utf8_lossy(&alone.stdout).into_owned();
        let value = text.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        value.and_then(|value| value.parse::<usize>().ok()).unwrap_or(0)
    };
    let names = recorded(&profiler, &program, &folder.path().join("trace"))?;
    let work = WAYS.map(|(key, kernel, how)| ProbedWork {
        how,
        launched: launched(key),
        recorded: names.iter().filter(|name| name.contains(kernel)).count(),
    });
    let profiler = format!("{} of ROCm {}", profiler.kind.name(), profiler.version_text);
    Ok(Probe { work: work.to_vec(), profiler })
}

fn compile(compiler: &Path, folder: &Path) -> Result<PathBuf, ProbeError> {
    let (source, program) = (folder.join("probe.hip"), folder.join("probe"));
    std::fs::write(&source, SOURCE)?;
    let words = [compiler, &source, Path::new("-o"), &program].map(|word| word.display().to_string());
    let ended = run(&words, COMPILATION);
    if !ended.is_success() {
        return Err(ProbeError::Compilation(ended.explain()));
    }
    Ok(program)
}

/// Names of the kernels that the profiler recorded.
fn recorded(profiler: &Profiler, program: &Path, folder: &Path) -> Result<Vec<String>, ProbeError> {
    std::fs::create_dir_all(folder)?;
    let preset = Preset { formats: vec!["rocpd".into()], ..Preset::of("probe", &["kernel", "hip"], &[]) };
    let mut request = CollectRequest::new(vec![program.display().to_string()], preset);
    request.launcher = LauncherChoice::None;
    let prepared = Prepared::with(&request, profiler.clone())?;
    let command = prepared.command(folder, &prepared.plan.passes[0])?;
    for (path, text) in &command.files {
        std::fs::write(path, text)?;
    }
    let ended = run(&command.words, RUN);
    if !ended.is_success() {
        return Err(ProbeError::Profiler(ended.explain()));
    }
    let needs = Needs { kernels: true, ..Needs::nothing() };
    let trace = ingest::read(&[folder.to_path_buf()], &needs, &Progress::default())
        .map_err(|error| ProbeError::NothingRecorded(error.to_string()))?;
    Ok(trace.kernels.name.iter().map(|name| trace.strings.get(*name).to_string()).collect())
}

fn run(words: &[String], limit: Duration) -> Ended {
    process::run(&Job { limit: Some(limit), ..Job::of(words) })
}
