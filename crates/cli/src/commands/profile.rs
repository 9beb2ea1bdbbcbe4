//! `profile`

use std::path::PathBuf;
use std::time::Duration;

use app::profile::ProfileRequest;
use clap::Args;

use crate::failure::Failure;
use crate::input::TargetArgs;
use crate::output::OutputArgs;
use crate::store::{TrialArgs, attach};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf profile ./app
  rocm-perf profile ./app --json
  rocm-perf profile --runs 10 --with-counters -- ./app --size 4096
  rocm-perf profile --with-thread-trace --out study -- ./app
  rocm-perf profile --code-object kernels.hsaco -- python serve.py
  rocm-perf profile --no-rocprof -- ./app

Runs the program under rocprofv3, once to warm up and then `--runs` times.
Reports kernel times and their stability, registers and occupancy, the
critical path, and what bounds each kernel. `--with-counters` adds the
roofline and `--with-thread-trace` what waves wait for, each in a separate
run. Register counts come from the code objects in the program, in files the
profiler names or writes, or in `--code-object`. `runtime_ms` is the sum of
dispatch times, median over runs. The databases stay in `.rocpd_profile` (or
`--out`) until the next profile replaces them. docs/profile.md describes the
JSON.")]
pub struct ProfileArgs {
    /// Timed runs
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,

    /// Warm-up runs before them
    #[arg(long, value_name = "N", default_value_t = 1)]
    warm_up: u32,

    /// Collect the counters for the roofline and the bottleneck rules, in extra runs
    #[arg(long, alias = "counters", visible_alias = "roofline")]
    with_counters: bool,

    /// Trace the instructions of waves, in an extra run
    #[arg(long, alias = "att", visible_alias = "deep-analysis")]
    with_thread_trace: bool,

    /// Accepted for scripts; the critical path is always in the report
    #[arg(long, hide = true)]
    focus_critical: bool,

    /// File with the program's GPU code, if it is not in the program itself
    #[arg(long, value_name = "FILE")]
    code_object: Vec<PathBuf>,

    /// Only time the process, without a profiler
    #[arg(long, conflicts_with_all = ["with_counters", "with_thread_trace", "code_object"])]
    no_rocprof: bool,

    /// Show the profiler's commands and all output of it and the program
    #[arg(long)]
    debug: bool,

    /// Folder for the databases [default: .rocpd_profile]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Stop a run after this many seconds
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,

    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    trial: TrialArgs,

    /// The program, if it takes no arguments
    #[arg(value_name = "BINARY", conflicts_with = "application")]
    binary: Option<String>,

    /// The program and its arguments
    #[arg(last = true, value_name = "BINARY ARGS")]
    application: Vec<String>,
}

impl ProfileArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let target = self.trial.target("profile")?;
        let request = ProfileRequest {
            application: self.binary.iter().chain(&self.application).cloned().collect(),
            runs: self.runs,
            warm_up: self.warm_up,
            counters: self.with_counters,
            thread_trace: self.with_thread_trace,
            code_objects: self.code_object.clone(),
            without_profiler: self.no_rocprof,
            debug: self.debug,
            folder: self.out.clone(),
            timeout: self.timeout.map(Duration::from_secs),
            target_arch: self.target.arch(),
        };
        let mut report = app::profile(&request, output)?;
        attach(target.as_ref(), &mut report, &[], output)?;
        output.show(report)
    }
}
