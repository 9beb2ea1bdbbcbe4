//! `autotune`

use std::path::PathBuf;
use std::time::Duration;

use app::autotune::{AutotuneRequest, NamedCommand, SearchProgress, Strategy};
use app::experiment::Watch;
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::Failure;
use crate::output::OutputArgs;
use crate::store::{TrialArgs, attach};
use crate::values::{at_least_one, part, positive};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf autotune --space space.json --cmd-template './gemm --bm {BLOCK_M} --bn {BLOCK_N}'
  rocm-perf autotune --space space.json --build-template 'hipcc -O3 -DBM={BLOCK_M} gemm.cu -o gemm' \\
      --cmd-template ./gemm --check './gemm --verify' --trials 60
  rocm-perf autotune --space space.json --cmd-template './bench {BATCH}' --metric 'GFLOPS: ([0-9.]+)' --maximize
  rocm-perf autotune --space space.json --cmd-template './app --tile {TILE}' --no-rocprof --minutes 10

A space file looks like this; docs/autotune.md describes all keys:
  {\"params\": {\"BLOCK_M\": {\"range\": [16, 256], \"pow2\": true, \"default\": 64},
              \"WARPS\": [1, 2, 4, 8]},
   \"constraints\": [\"BLOCK_M * WARPS <= 1024\"]}

An interrupted search resumes where it stopped when you repeat the command:
every run is recorded in DIR/journal.jsonl.")]
pub struct AutotuneArgs {
    /// Search space (JSON file)
    #[arg(long, value_name = "FILE")]
    space: PathBuf,

    /// Command to measure, with {NAME} for parameters; split into words, no shell
    #[arg(long, value_name = "COMMAND")]
    cmd_template: Option<String>,

    /// Command that builds the program for a configuration
    #[arg(long, value_name = "COMMAND")]
    build_template: Option<String>,

    /// Parallel builds; both commands must then use {build_dir}, a separate folder per configuration. Measurements still
    /// run one at a time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one)]
    jobs: usize,

    /// Command that exits with 0 if the result is correct; ROCM_PERF_STDOUT names a file with the run's output
    #[arg(long, value_name = "COMMAND")]
    check: Option<String>,

    /// Run the commands through `sh -c`
    #[arg(long)]
    shell: bool,

    /// Time the whole process, without the profiler
    #[arg(long)]
    no_rocprof: bool,

    /// Measure a number that the program prints: the first group of the last match
    #[arg(long, value_name = "REGEX", conflicts_with = "no_rocprof")]
    metric: Option<String>,

    /// Only measure the dispatches of these kernels
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["no_rocprof", "metric"])]
    kernel: Option<String>,

    /// Larger values are better
    #[arg(long, alias = "maximise")]
    maximize: bool,

    /// How to choose the next configuration
    #[arg(long, value_enum, default_value_t = StrategyName::Regression, value_name = "NAME")]
    strategy: StrategyName,

    /// Number of trials; a trial is a configuration with up to `--repeats` runs [default: 80]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    trials: Option<usize>,

    /// Stop after this many minutes, even if trials are left
    #[arg(long, value_name = "M", value_parser = positive)]
    minutes: Option<f64>,

    /// Most runs per trial [default: 3]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    repeats: Option<usize>,

    /// Time limit of a run, in seconds [default: 60]
    #[arg(long, value_name = "S", value_parser = positive)]
    timeout: Option<f64>,

    /// Time limit of a build, in seconds
    #[arg(long, value_name = "S", default_value_t = 600.0, value_parser = positive)]
    build_timeout: f64,

    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Share of the space to sample first (0 to 1); at most a quarter of the trials
    #[arg(long, value_name = "SHARE", default_value_t = 0.2, value_parser = part)]
    seed_fraction: f64,

    /// Skip configurations predicted to be slower than the best by this factor
    #[arg(long, value_name = "FACTOR", default_value_t = 1.75, value_parser = positive)]
    prune_factor: f64,

    /// More files whose contents affect the result, besides those in the commands; may be repeated
    #[arg(long, value_name = "FILE")]
    key_file: Vec<PathBuf>,

    /// GPU to check the space's `resources` against [default: the GPU of this machine]
    #[arg(long, value_name = "NAME")]
    arch: Option<String>,

    /// Variable with a key or token that the commands get; others are hidden; may be repeated
    #[arg(long, value_name = "NAME")]
    pass_env: Vec<String>,

    /// Continue in a folder with runs from another device, ignoring those runs
    #[arg(long)]
    force: bool,

    /// Folder for the journal, best.json and search.svg
    #[arg(short, long, value_name = "DIR", default_value = "rocm-perf-autotune")]
    out: PathBuf,

    #[command(flatten)]
    trial: TrialArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StrategyName {
    /// Sample, predict by regression, confirm
    Regression,
    /// Gaussian process with expected improvement
    Bayes,
    /// Random order
    Random,
    /// Order of the space
    Grid,
}

impl AutotuneArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let target = self.trial.target("autotune")?;
        let live = Live::new(output);
        let watch = Watch::begin(target.as_ref(), "autotune");
        let report = app::autotune(&self.request(), &mut |progress| {
            live.show(progress);
            if let Some(watch) = &watch {
                watch.say(progress.used as i64, Some(progress.of as i64), &progress.line);
            }
        });
        drop(watch);
        drop(live);
        let mut report = report?;
        attach(target.as_ref(), &mut report, &[], output)?;
        output.show(report)
    }

    fn request(&self) -> AutotuneRequest {
        AutotuneRequest {
            space: self.space.clone(),
            run: named("--cmd-template", &self.cmd_template),
            build: named("--build-template", &self.build_template),
            jobs: self.jobs,
            check: named("--check", &self.check),
            shell: self.shell,
            without_profiler: self.no_rocprof,
            metric: self.metric.clone(),
            kernel: self.kernel.clone(),
            maximize: self.maximize,
            strategy: match self.strategy {
                StrategyName::Regression => Strategy::Regression,
                StrategyName::Bayes => Strategy::Bayes,
                StrategyName::Random => Strategy::Random,
                StrategyName::Grid => Strategy::Grid,
            },
            trials: self.trials,
            minutes: self.minutes,
            repeats: self.repeats,
            timeout: self.timeout,
            build_timeout: self.build_timeout,
            seed: self.seed,
            seed_fraction: self.seed_fraction,
            prune_factor: self.prune_factor,
            key_files: self.key_file.clone(),
            arch: self.arch.clone(),
            other_device: self.force,
            pass_env: self.pass_env.clone(),
            out: self.out.clone(),
        }
    }
}

fn named(name: &'static str, line: &Option<String>) -> Option<NamedCommand> {
    line.clone().map(|line| NamedCommand { name, line })
}

/// The progress line on a terminal.
struct Live(Option<ProgressBar>);

impl Live {
    fn new(output: &OutputArgs) -> Self {
        let bar = output.draws().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) =
                ProgressStyle::with_template("tuning {bar:10} {pos}/{len} {elapsed}, {wide_msg}")
            {
                bar.set_style(style);
            }
            // A run may take minutes: the ticking clock shows that the program is alive.
            bar.enable_steady_tick(Duration::from_secs(1));
            bar
        });
        Self(bar)
    }

    fn show(&self, progress: &SearchProgress) {
        let Some(bar) = &self.0 else { return };
        bar.set_message(progress.line.clone());
        bar.set_length(progress.of);
        bar.set_position(progress.used);
    }
}

/// Clears the line however the search ends, so that it is not left above the report or the error.
impl Drop for Live {
    fn drop(&mut self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }
}
