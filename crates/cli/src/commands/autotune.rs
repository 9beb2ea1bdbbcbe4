//! `autotune`

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use report::chart::SvgOptions;
use tune::autotune::{AutotuneError, AutotuneRequest, autotune};
use tune::builds::BUILD_FOLDER;
use tune::journal::JournalError;
use tune::measure::{Aggregate, DispatchTime, Measure, Printed, ProcessTime};
use tune::search::Choice;
use tune::space::{CommandText, Objective, Space, SpaceError};
use tune::target::Commands;
use tune::template::{Template, TemplateError};
use tune::tuner::{Budget, Progress, TunerOptions};

use crate::failure::Failure;
use crate::output::OutputArgs;
use app::tuning::{found_profiler, gpu};

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
    #[arg(long, value_name = "N", default_value_t = 1)]
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
    #[arg(long, value_name = "N")]
    trials: Option<usize>,

    /// Stop after this time, in minutes, where `--trials` are not used up before
    #[arg(long, value_name = "M")]
    minutes: Option<f64>,

    /// Runs of a configuration in one trial at most [default: 3]
    #[arg(long, value_name = "N")]
    repeats: Option<usize>,

    /// Longest run, in seconds [default: 60]
    #[arg(long, value_name = "S")]
    timeout: Option<f64>,

    /// Longest build, in seconds
    #[arg(long, value_name = "S", default_value_t = 600.0)]
    build_timeout: f64,

    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Share of the space to begin with; at most a quarter of the trials
    #[arg(long, value_name = "SHARE", default_value_t = 0.2)]
    seed_fraction: f64,

    /// Leave out what is predicted to be slower than the best by this factor
    #[arg(long, value_name = "FACTOR", default_value_t = 1.75)]
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
        let space = Space::read(&self.space).map_err(|error| space_failure(&self.space, error))?;
        let commands = self.commands(&space)?;
        let measure = self.measure(&space.objective)?;
        let gpu = self.gpu()?;
        let request = AutotuneRequest {
            space: &space,
            commands: &commands,
            measure: measure.as_ref(),
            options: self.options(&space)?,
            out: &self.out,
            key_files: &self.key_file,
            gpu: gpu.as_deref(),
            forced: self.force,
        };
        let live = Live::new(output);
        let is_time = request.measure.metric().is_time;
        let tuned =
            autotune(&request, &mut |progress| live.show(progress, &space, is_time)).map_err(|error| {
                match error {
                    AutotuneError::Space(error) => space_failure(&self.space, error),
                    AutotuneError::Journal(error @ JournalError::Device { .. }) => {
                        Failure::input(error.to_string())
                            .with_help("give another folder by `--out`, or `--force` to pass those runs over")
                    }
                    other => Failure::input(other.to_string()),
                }
            })?;
        drop(live);
        let mut report = tune::tables::autotune_report(&space, &measure.metric(), &request.options, &tuned);
        report.inputs.push(report::InputFact {
            path: self.space.display().to_string(),
            format: "search space".into(),
            bytes: std::fs::metadata(&self.space).map_or(0, |facts| facts.len()),
            rank: None,
        });
        if tuned.outcome.ranking.is_empty() {
            return Err(self.nothing_worked(&tuned.outcome.trials));
        }
        let picture = self.out.join(tune::autotune::PICTURE);
        for chart in &report.charts {
            write(&picture, chart.svg(&SvgOptions::default()).as_bytes())?;
        }
        report.notes.push(format!("written: `{}`", self.out.join(tune::autotune::BEST).display()).into());
        output.show(report)
    }

    /// The architecture that was named, or that of the GPU in this machine.
    fn gpu(&self) -> Result<Option<String>, Failure> {
        let Some(typed) = &self.arch else { return Ok(gpu()) };
        let known = hw::arch::find(typed).or_else(|| hw::arch::of_product(typed));
        known.map(|arch| Some(arch.name.clone())).ok_or_else(|| {
            let names: Vec<&str> = hw::arch::all().iter().map(|arch| arch.name.as_str()).collect();
            Failure::input(format!("`--arch {typed}` is no GPU that is known"))
                .with_help(format!("there are {}", names.join(", ")))
        })
    }

    fn options(&self, space: &Space) -> Result<TunerOptions, Failure> {
        let (limits, usual) = (&space.limits, TunerOptions::default());
        let positive = |name: &str, value: f64| match value > 0.0 && value < 1e9 {
            true => Ok(value),
            false => Err(Failure::input(format!("`--{name} {value}` must be above zero"))),
        };
        let trials = self.trials.or(limits.trials).unwrap_or(usual.budget.trials);
        let repeats = self.repeats.or(limits.repeats).unwrap_or(usual.repeats);
        if trials == 0 || repeats == 0 {
            let name = if trials == 0 { "trials" } else { "repeats" };
            return Err(Failure::input(format!("`--{name} 0` leaves nothing to run")));
        }
        let minutes =
            self.minutes.or(limits.minutes).map(|minutes| positive("minutes", minutes)).transpose()?;
        Ok(TunerOptions {
            strategy: match self.strategy {
                StrategyName::Regression => Choice::Regression,
                StrategyName::Bayes => Choice::Bayes,
                StrategyName::Random => Choice::Random,
                StrategyName::Grid => Choice::Grid,
            },
            seed: self.seed,
            seed_fraction: positive("seed-fraction", self.seed_fraction)?,
            prune_factor: positive("prune-factor", self.prune_factor)?,
            repeats,
            budget: Budget { trials, time: minutes.map(|minutes| Duration::from_secs_f64(minutes * 60.0)) },
            timeout: Duration::from_secs_f64(positive("timeout", self.timeout(space))?),
            maximise: self.maximize || space.objective.maximise.unwrap_or(false),
        })
    }

    /// Seconds of a run at most.
    fn timeout(&self, space: &Space) -> f64 {
        self.timeout.or(space.limits.timeout).unwrap_or(TunerOptions::default().timeout.as_secs_f64())
    }

    fn commands(&self, space: &Space) -> Result<Commands, Failure> {
        let names = space.names();
        let is_built =
            self.build_template.is_some() || space.commands.iter().any(|(name, _)| name == "build");
        let folder = is_built.then_some(BUILD_FOLDER);
        let known: Vec<&str> = names.iter().copied().chain(folder).collect();
        let template =
            |option: &str, typed: &Option<String>, key: &str| -> Result<Option<Template>, Failure> {
                let in_file = space.commands.iter().find(|(name, _)| name == key);
                let (option, text) = match (typed, in_file) {
                    (Some(line), _) => (option.to_string(), CommandText::Line(line.clone())),
                    (None, Some((name, text))) => (name.clone(), text.clone()),
                    (None, None) => return Ok(None),
                };
                Template::parse(&option, &text, &known, self.shell).map(Some).map_err(template_failure)
            };
        let run = template("--cmd-template", &self.cmd_template, "run")?.ok_or_else(|| {
            Failure::input("there is no command to measure")
                .with_help("give `--cmd-template './program {NAME}'`, or `run` in the space")
        })?;
        let build = template("--build-template", &self.build_template, "build")?;
        let check = template("--check", &self.check, "check")?;
        let env = space.environment.iter().map(|(name, value)| {
            Ok((
                name.clone(),
                Template::word(&format!("env {name}"), value, &known).map_err(template_failure)?,
            ))
        });
        let env = env.collect::<Result<Vec<_>, Failure>>()?;
        let mut used = run.parameters();
        used.extend(build.iter().flat_map(Template::parameters));
        used.extend(env.iter().flat_map(|(_, template)| template.parameters()));
        let unused = (0..names.len()).find(|p| !used.contains(p) && space.parameters[*p].values.len() > 1);
        if let Some(unused) = unused {
            let name = names[unused];
            return Err(Failure::input(format!(
                "no command uses parameter `{name}`, so that it cannot matter"
            ))
            .with_help(format!("put `{{{name}}}` into `--cmd-template`, or take it out of the space")));
        }
        self.check_build_folder(space, &run, build.as_ref(), &env)?;
        Ok(Commands {
            run,
            build,
            check,
            env,
            jobs: self.jobs,
            build_timeout: Duration::from_secs_f64(self.build_timeout.clamp(0.001, 1e9)),
            check_timeout: Duration::from_secs_f64(self.timeout(space).clamp(0.001, 1e9)),
        })
    }

    /// Builds side by side, and only they, need folders of their own; what runs must then come from there.
    fn check_build_folder(
        &self,
        space: &Space,
        run: &Template,
        build: Option<&Template>,
        env: &[(String, Template)],
    ) -> Result<(), Failure> {
        let names_it = |template: &Template| Commands::names_build_folder(space, template);
        let help = "such as `hipcc … -o {build_dir}/gemm` and `{build_dir}/gemm`";
        match build {
            _ if self.jobs == 0 => Err(Failure::input("`--jobs 0` leaves nothing to build with")),
            None if self.jobs > 1 => {
                Err(Failure::input(format!("`--jobs {}` has nothing to build", self.jobs)).with_help(
                    "give `--build-template`, or `build` in the space; measurements are made one by one",
                ))
            }
            Some(build) if self.jobs > 1 && !names_it(build) => Err(Failure::input(format!(
                "`--jobs {}` would build all configurations to the same place",
                self.jobs
            ))
            .with_help(format!("build to `{{build_dir}}`, a folder of each configuration's own, {help}"))),
            Some(build)
                if names_it(build) && !names_it(run) && !env.iter().any(|(_, value)| names_it(value)) =>
            {
                Err(Failure::input("the build names `{build_dir}` and the command to measure does not")
                    .with_help(format!("let it run what was built there, {help}")))
            }
            _ => Ok(()),
        }
    }

    /// What the options say is measured, or else the space.
    fn measure(&self, objective: &Objective) -> Result<Box<dyn Measure>, Failure> {
        let typed = self.no_rocprof || self.metric.is_some() || self.kernel.is_some();
        let in_file = objective.metric.as_deref().filter(|_| !typed);
        let printed = in_file.filter(|metric| !["dispatch_time", "process_time"].contains(metric));
        if let Some(metric) = self.metric.as_deref().or(printed) {
            let printed = Printed::new(metric).map_err(|error| Failure::input(error.to_string()))?;
            return Ok(Box::new(printed));
        }
        if self.no_rocprof || in_file == Some("process_time") {
            return Ok(Box::new(ProcessTime));
        }
        let kernel = self.kernel.as_deref().or(objective.kernel.as_deref());
        let kernel = kernel.map(regex::Regex::new).transpose().map_err(|error| {
            let typed = kernel.unwrap_or_default();
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
            Failure::input(format!("`--kernel {typed}` is not a regular expression: {why}"))
        })?;
        let profiler = found_profiler()?;
        let scratch = self.out.join("profiles");
        let mut times = DispatchTime::new(profiler, &["kernel"], kernel, &scratch);
        times.aggregate = objective.aggregate.as_deref().and_then(Aggregate::named).unwrap_or_default();
        Ok(Box::new(times))
    }

    fn nothing_worked(&self, trials: &[tune::tuner::Trial]) -> Failure {
        let first = trials.first().map(|trial| trial.detail.as_str()).unwrap_or_default();
        let lines: Vec<&str> = first.lines().collect();
        Failure::tool(format!(
            "none of {} configurations gave a value; the first: {}",
            trials.len(),
            lines.join("\n  ")
        ))
        .with_help("run the command by hand with the values of one configuration")
    }
}

fn space_failure(path: &std::path::Path, error: SpaceError) -> Failure {
    let failure = Failure::input(format!("`{}`: {error}", path.display()));
    match error.help() {
        Some(help) => failure.with_help(help),
        None => failure,
    }
}

fn template_failure(error: TemplateError) -> Failure {
    let failure = Failure::input(error.to_string());
    match error.help() {
        Some(help) => failure.with_help(help),
        None => failure,
    }
}

/// Writes a file whole or not at all.
pub fn write(path: &std::path::Path, bytes: &[u8]) -> Result<(), Failure> {
    let written = || {
        let mut file = files::OutputFile::create(path)?;
        file.write_all(bytes)?;
        file.commit()
    };
    written().map_err(|error| Failure::input(format!("cannot write `{}`: {error}", path.display())))
}

/// The line of progress on a terminal.
struct Live(Option<ProgressBar>);

impl Live {
    fn new(output: &OutputArgs) -> Self {
        let shown = !output.quiet && !output.no_progress && std::io::stderr().is_terminal();
        let bar = shown.then(|| {
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

    fn show(&self, progress: &Progress, space: &Space, is_time: bool) {
        let Some(bar) = &self.0 else { return };
        bar.set_message(progress.line(space, is_time));
        bar.set_length(progress.of as u64);
        bar.set_position(progress.used as u64);
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
