//! How collecting fails: what and why in one line, and what to do in another.

use std::path::PathBuf;

use report::Remedy;

use crate::command::Version;
use crate::presets::Mistake;

/// Why nothing, or not all, was collected.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// The options make no sense together.
    #[error("{0}")]
    Usage(String),
    /// A user's file has a mistake.
    #[error(transparent)]
    Mistake(#[from] Mistake),
    /// The GPU cannot count these counters.
    #[error(transparent)]
    Counters(#[from] hw::passes::PlanError),
    /// The GPU is unknown.
    #[error("cannot choose counters without knowing the GPU, and this machine has none")]
    UnknownArch,
    /// The GPU cannot sample the program counter.
    #[error("{arch} does not support the PC sampling of this preset")]
    NoSampling {
        /// The GPU.
        arch: String,
        /// The GPUs that can.
        known: String,
    },
    /// There is no profiler.
    #[error("neither rocprofv3 nor rocprof is installed")]
    NoProfiler {
        /// Where it was searched for.
        looked: Vec<PathBuf>,
    },
    /// There is no ROCm Systems Profiler.
    #[error("`{name}` of ROCm Systems Profiler is not installed")]
    NoSystems {
        /// The program of the mode.
        name: &'static str,
        /// Where it was searched for.
        looked: Vec<PathBuf>,
    },
    /// The profiler does not support the request.
    #[error("`{}` of ROCm {version} does not support {what}, which needs ROCm {since}", program.display())]
    TooOld {
        /// The profiler.
        program: PathBuf,
        /// Its release.
        version: Version,
        /// What is missing.
        what: String,
        /// The release that has it.
        since: Version,
    },
    /// The application does not exist.
    #[error("cannot find the application `{word}`: {why}")]
    NoApplication {
        /// As it was given.
        word: String,
        /// Why not.
        why: String,
    },
    /// A program cannot be started.
    #[error("cannot start `{}`: {why}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The operating system's reason.
        why: String,
    },
    /// One of our folders or files cannot be used.
    #[error("cannot use `{}`: {why}", path.display())]
    Folder {
        /// The path.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// No space is left.
    #[error("the disk of `{}` is full; what was recorded so far is kept", path.display())]
    Full {
        /// The folder.
        path: PathBuf,
    },
    /// The application itself failed.
    #[error("the application {how} in pass {pass}")]
    Application {
        /// `exited with 3`, `was killed by signal 11 (SIGSEGV)`.
        how: String,
        /// The pass.
        pass: usize,
        /// Its exit code; 128 plus the signal number if it was killed.
        code: i32,
    },
    /// The profiler failed.
    #[error("{profiler} failed in pass {pass} ({how}): {message}")]
    Profiler {
        /// Which one.
        profiler: &'static str,
        /// The pass.
        pass: usize,
        /// How it ended.
        how: String,
        /// What it said.
        message: String,
        /// What to do.
        help: Option<Remedy>,
    },
    /// Ranks of a job failed.
    #[error("{} of {ranks} ranks failed: {}", failed.len(), failed.join(", "))]
    Ranks {
        /// How many there are.
        ranks: usize,
        /// Those that failed and how.
        failed: Vec<String>,
    },
    /// Everything succeeded, but nothing was recorded.
    #[error("no kernel was recorded in pass {pass}, although the application succeeded")]
    NoKernels {
        /// The pass.
        pass: usize,
        /// What the profiler said that may explain it.
        said: Option<String>,
    },
    /// There are kernels, but no values of the requested counters.
    #[error("no values of {} were recorded", counters.join(", "))]
    NoCounters {
        /// The counters.
        counters: Vec<String>,
    },
    /// The profiler was attached, but recorded nothing.
    #[error("no kernel of process {pid} was recorded in {seconds} s")]
    AttachedInVain {
        /// The process.
        pid: u32,
        /// How long.
        seconds: f64,
        /// What the profiler said that may explain it.
        said: Option<String>,
    },
    /// There are files, but they cannot be read.
    #[error("cannot read the profiler's output: {0}")]
    Unreadable(String),
    /// It took too long.
    #[error("pass {pass} was stopped after {seconds} s")]
    Timeout {
        /// The pass.
        pass: usize,
        /// The limit.
        seconds: u64,
    },
    /// The user stopped it.
    #[error("interrupted in pass {pass}: what was recorded is kept")]
    Interrupted {
        /// The pass.
        pass: usize,
    },
    /// SLURM refused or failed.
    #[error("{what}: {message}")]
    Slurm {
        /// What was attempted.
        what: String,
        /// What it said.
        message: String,
    },
}

impl CollectError {
    /// 2 for what the user must fix, 3 for other programs, 130 for interrupts.
    pub fn exit_code(&self) -> u8 {
        match self {
            CollectError::Usage(_)
            | CollectError::Mistake(_)
            | CollectError::Counters(_)
            | CollectError::UnknownArch
            | CollectError::NoSampling { .. }
            | CollectError::NoApplication { .. }
            | CollectError::Folder { .. }
            | CollectError::Full { .. } => 2,
            CollectError::Interrupted { .. } => 130,
            _ => 3,
        }
    }

    /// The application's own exit code, if the application failed.
    pub fn application_code(&self) -> Option<i32> {
        match self {
            CollectError::Application { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// What to do next.
    pub fn help(&self) -> Option<Remedy> {
        let text = match self {
            CollectError::Mistake(mistake) => return mistake.help.clone().map(Remedy::from),
            CollectError::Profiler { help, .. } => return help.clone(),
            CollectError::UnknownArch => return Some(Remedy::Arch),
            CollectError::NoSampling { known, .. } => {
                return Some(
                    format!("the preset supports {known}; for another GPU, copy the preset and change it")
                        .into(),
                );
            }
            CollectError::NoProfiler { looked } => {
                let shown: Vec<String> =
                    looked.iter().take(6).map(|path| path.display().to_string()).collect();
                return Some(
                    format!(
                        "install the package rocprofiler-sdk, or set ROCM_PATH; looked in {}",
                        shown.join(", ")
                    )
                    .into(),
                );
            }
            CollectError::NoSystems { looked, .. } => {
                return Some(
                    format!(
                        "install the package rocprofiler-systems, or set ROCM_PATH; looked in {}",
                        looked
                            .iter()
                            .take(6)
                            .map(|path| path.display().to_string())
                            .collect::<Vec<_>>()
                            .join(", ")
                    )
                    .into(),
                );
            }
            CollectError::TooOld { .. } => "install a newer ROCm, or choose another preset",
            CollectError::NoApplication { .. } => return Some(Remedy::NameApplication),
            CollectError::Full { .. } => return Some(Remedy::OtherPlace),
            CollectError::NoKernels { said: Some(said), .. } => {
                return Some(format!("the profiler said: {said}").into());
            }
            CollectError::AttachedInVain { said: Some(said), .. } => {
                return Some(format!("the profiler said: {said}").into());
            }
            CollectError::AttachedInVain { .. } => {
                "start the program with ROCP_TOOL_ATTACH=1, and attach while it uses the GPU; some releases write nothing (`rocm-perf doctor` names them)"
            }
            CollectError::NoKernels { .. } => {
                "does it use the GPU? clearing LD_PRELOAD or exiting with `_exit` also loses the trace; `rocm-perf doctor` checks the machine"
            }
            CollectError::NoCounters { .. } => {
                "another profiler may be using the counters, or the container lacks the permission to; `rocm-perf doctor` checks the machine"
            }
            CollectError::Timeout { .. } => return Some(Remedy::TimeoutOrShorter),
            CollectError::Application { .. } => {
                "check whether it also fails without the profiler; what was recorded is kept, see `run.json`"
            }
            CollectError::Ranks { .. } => "what the ranks wrote is kept; their output is in the run's folder",
            _ => return None,
        };
        Some(text.into())
    }
}
