//! Commands for ROCm Systems Profiler: a configuration file that we write, and the program of the mode.

use super::build::{Built, Output, Wanted};
use super::version::Version;
use crate::profiler::Profiler;
use crate::run::CollectError;

/// How to watch the whole process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Call stacks of the host are sampled; nothing is rewritten.
    #[default]
    Sample,
    /// The program is rewritten first, to trace its functions.
    Instrument,
    /// As it is, or as it was rewritten earlier.
    Run,
    /// It is already running.
    Attach,
}

impl Mode {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Sample => "sample",
            Mode::Instrument => "instrument",
            Mode::Run => "run",
            Mode::Attach => "attach",
        }
    }

    /// The mode with this name.
    pub fn named(name: &str) -> Option<Self> {
        [Mode::Sample, Mode::Instrument, Mode::Run].into_iter().find(|mode| mode.name() == name)
    }

    /// The program that runs the application.
    pub fn program(self) -> &'static str {
        match self {
            Mode::Sample => "rocprof-sys-sample",
            Mode::Instrument | Mode::Run => "rocprof-sys-run",
            Mode::Attach => "rocprof-sys-attach",
        }
    }
}

/// Name of the configuration file in the pass's folder.
const CONFIG: &str = "rocprof-sys.cfg";

/// Name of the rewritten application in the pass's folder.
pub(crate) const INSTRUMENTED: &str = "application.inst";

/// rocprofv3's traces, and their domains here.
const DOMAINS: &[(&str, &str)] = &[
    ("hip", "hip_runtime_api"),
    ("hip-runtime", "hip_runtime_api"),
    ("hip-compiler", "hip_compiler_api"),
    ("hsa", "hsa_api"),
    ("kernel", "kernel_dispatch"),
    ("memory-copy", "memory_copy"),
    ("memory-allocation", "memory_allocation"),
    ("scratch-memory", "scratch_memory"),
    ("marker", "marker_api"),
    ("rccl", "rccl_api"),
];

/// The command of a pass.
pub(super) fn build(
    profiler: &Profiler,
    mode: Mode,
    wanted: &Wanted,
    output: &Output,
) -> Result<Built, CollectError> {
    if wanted.pc_sampling.is_some() {
        return Err(CollectError::Usage("rocprof-sys does not support PC sampling".into()));
    }
    let databases = profiler.version >= Version::new(7, 0);
    let mut built = Built::default();
    let config = output.folder.join(CONFIG);
    built.words.extend(["env".into(), format!("ROCPROFSYS_CONFIG_FILE={}", config.display())]);
    // A prefix distinguishes the files of ranks.
    if let Some(rank) = output.name.strip_suffix("%hostname%_%pid%").filter(|rank| !rank.is_empty()) {
        built.words.push(format!("ROCPROFSYS_OUTPUT_PREFIX={rank}"));
    }
    built.words.push(profiler.path.display().to_string());
    built.words.push("--".into());
    let domains: Vec<&str> = wanted
        .trace
        .iter()
        .filter_map(|trace| DOMAINS.iter().find(|(name, _)| name == trace).map(|(_, domain)| *domain))
        .collect();
    let on = |yes: bool| if yes { "ON" } else { "OFF" };
    let mut lines = vec![
        "# Written by rocm-perf collect.".to_string(),
        format!("ROCPROFSYS_OUTPUT_PATH = {}", output.folder.display()),
        "ROCPROFSYS_TIME_OUTPUT = OFF".into(),
        "ROCPROFSYS_USE_PID = ON".into(),
        "ROCPROFSYS_TRACE = ON".into(),
        format!("ROCPROFSYS_USE_ROCPD = {}", on(databases)),
        format!("ROCPROFSYS_USE_SAMPLING = {}", on(mode == Mode::Sample)),
        format!("ROCPROFSYS_USE_RCCLP = {}", on(domains.contains(&"rccl_api"))),
    ];
    if !domains.is_empty() {
        lines.push(format!("ROCPROFSYS_ROCM_DOMAINS = {}", domains.join(",")));
    }
    if !wanted.counters.is_empty() {
        lines.push(format!("ROCPROFSYS_ROCM_EVENTS = {}", wanted.counters.join(",")));
    }
    built.files.push((CONFIG.into(), lines.join("\n") + "\n"));
    if !databases {
        return Err(CollectError::TooOld {
            program: profiler.path.clone(),
            version: profiler.version,
            what: "databases of rocprof-sys".into(),
            since: Version::new(7, 0),
        });
    }
    Ok(built)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiler::ProfilerKind;

    #[test]
    fn the_configuration_says_where_and_what() {
        let profiler = Profiler {
            kind: ProfilerKind::RocprofSys(Mode::Sample),
            path: "rocprof-sys-sample".into(),
            ..Profiler::assumed()
        };
        let wanted = Wanted { trace: vec!["hip".into(), "kernel".into()], ..Wanted::default() };
        let output = Output { folder: "/run".into(), name: "rank3_%hostname%_%pid%".into() };
        let built = build(&profiler, Mode::Sample, &wanted, &output).unwrap();
        assert_eq!(
            built.words.join(" "),
            "env ROCPROFSYS_CONFIG_FILE=/run/rocprof-sys.cfg ROCPROFSYS_OUTPUT_PREFIX=rank3_ rocprof-sys-sample --"
        );
        let (name, text) = &built.files[0];
        assert_eq!(name, CONFIG);
        for line in [
            "ROCPROFSYS_OUTPUT_PATH = /run",
            "ROCPROFSYS_USE_ROCPD = ON",
            "ROCPROFSYS_USE_SAMPLING = ON",
            "ROCPROFSYS_ROCM_DOMAINS = hip_runtime_api,kernel_dispatch",
        ] {
            assert!(text.contains(line), "{text}");
        }
        let old = Profiler { version: Version::new(6, 4), ..profiler };
        assert!(build(&old, Mode::Run, &wanted, &output).is_err());
    }
}
