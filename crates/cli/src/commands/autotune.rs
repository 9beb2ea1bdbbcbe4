//! `autotune`

use std::path::PathBuf;
use std::time::Duration;

use app::autotune::{AutotuneRequest, NamedCommand, SearchProgress, Strategy};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::Failure;
use crate::output::OutputArgs;
use crate::values::{at_least_one, part, positive};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  rocm-perf autotune --space space.json --cmd-template './gemm --bm {BLOCK_M} --bn {BLOCK_N}'
  rocm-perf autotune --space space.json --build-template 'hipcc -O3 -DBM={BLOCK_M} gemm.cu -o gemm' \\
      --cmd-template ./gemm --check './gemm --verify' --trials 60
  rocm-perf autotune --space space.json --cmd-template './bench {BATCH}' --metric 'GFLOPS: ([0-9.]+)' --maximize
  rocm-perf autotune --space space.json --cmd-template './app --tile {TILE}' --no-rocprof --minutes 10

A space is {\"params\": {\"BLOCK_M\": {\"range\": [16, 256], \"pow2\": true, \"default\": 64}, \"WARPS\": [1, 2, 4, 8]},
\"constraints\": [\"BLOCK_M * WARPS <= 1024\"]}; docs/autotune.md tells the rest. Killed at any point, the same command
goes on where it was: every run is in DIR/journal.jsonl.")]
pub struct AutotuneArgs {
    /// The search space (JSON)
    #[arg(long, value_name = "FILE")]
    space: PathBuf,

    /// The command to measure, with {NAME} for parameters; split into words, no shell
    #[arg(long, value_name = "COMMAND")]
    cmd_template: Option<String>,

    /// Makes the program for a configuration before it is run
    #[arg(long, value_name = "COMMAND")]
    build_template: Option<String>,

    /// Builds at the same time; the build and the command to measure then name {build_dir}, a folder of each
    /// configuration's own. Measurements stay one by one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one)]
    jobs: usize,

    /// Exits with 0 when a configuration's result is right; ROCM_PERF_STDOUT names a file with the run's output
    #[arg(long, value_name = "COMMAND")]
    check: Option<String>,

    /// Run the commands through `sh -c`
    #[arg(long)]
    shell: bool,

    /// Measure the process from start to end, without the profiler
    #[arg(long)]
    no_rocprof: bool,

    /// Measure a number that the program prints: the expression's first group, in its last match
    #[arg(long, value_name = "REGEX", conflicts_with = "no_rocprof")]
    metric: Option<String>,

    /// Measure the dispatches of these kernels only
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["no_rocprof", "metric"])]
    kernel: Option<String>,

    /// Larger values are better
    #[arg(long, alias = "maximise")]
    maximize: bool,

    /// How the next configuration is chosen
    #[arg(long, value_enum, default_value_t = StrategyName::Regression, value_name = "NAME")]
    strategy: StrategyName,

    /// Trials: configurations with up to `--repeats` runs each [default: 80]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    trials: Option<usize>,

    /// Stop after this time, in minutes, where `--trials` are not used up before
    #[arg(long, value_name = "M", value_parser = positive)]
    minutes: Option<f64>,

    /// Runs of a configuration in one trial at most [default: 3]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    repeats: Option<usize>,

    /// Longest run, in seconds [default: 60]
    #[arg(long, value_name = "S", value_parser = positive)]
    timeout: Option<f64>,

    /// Longest build, in seconds
    #[arg(long, value_name = "S", default_value_t = 600.0, value_parser = positive)]
    build_timeout: f64,

    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Share of the space to begin with; at most a quarter of the trials
    #[arg(long, value_name = "SHARE", default_value_t = 0.2, value_parser = part)]
    seed_fraction: f64,

    /// Leave out what is predicted to be slower than the best by this factor
    #[arg(long, value_name = "FACTOR", default_value_t = 1.75, value_parser = positive)]
    prune_factor: f64,

    /// Files beside those in the commands whose contents decide the result; may be repeated
    #[arg(long, value_name = "FILE")]
    key_file: Vec<PathBuf>,

    /// The GPU that `resources` of the space are held against; the one found without
    #[arg(long, value_name = "NAME")]
    arch: Option<String>,

    /// Go on in a folder with runs on another device, without those runs
    #[arg(long)]
    force: bool,

    /// Folder for the journal, best.json and search.svg
    #[arg(short, long, value_name = "DIR", default_value = "rocm-perf-autotune")]
    out: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StrategyName {
    /// Seed, predict by regression, confirm
    Regression,
    /// Gaussian process with expected improvement
    Bayes,
    /// In random order
    Random,
    /// In the order of the space
    Grid,
}

impl AutotuneArgs {
    pub fn run(&self, output: &OutputArgs) -> Result<(), Failure> {
        let live = Live::new(output);
        let report = app::autotune(&self.request(), &mut |progress| live.show(progress));
        drop(live);
        output.show(report?)
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
            out: self.out.clone(),
        }
    }
}

fn named(name: &'static str, line: &Option<String>) -> Option<NamedCommand> {
    line.clone().map(|line| NamedCommand { name, line })
}

/// The line of progress on a terminal.
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
            // A run may take minutes: the clock shows that something goes on.
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

/// Whatever ends the search, nothing of the line stays above the report or the error.
impl Drop for Live {
    fn drop(&mut self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }
}
