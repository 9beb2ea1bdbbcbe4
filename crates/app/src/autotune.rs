//! The best values of a program's parameters.

use std::path::PathBuf;
use std::time::Duration;

use report::chart::SvgOptions;
use report::{InputFact, Remedy, Report};
use tune::autotune::AutotuneError;
use tune::builds::BUILD_FOLDER;
use tune::journal::JournalError;
use tune::measure::{Aggregate, DispatchTime, Measure, Printed, ProcessTime};
use tune::space::{CommandText, Objective, Space, SpaceError};
use tune::target::Commands;
use tune::template::{Template, TemplateError};
use tune::tuner::{Budget, Progress, TunerOptions};

use crate::failure::Failure;
use crate::input::write;
use crate::occupancy::known_arch;
use crate::tuning::{found_profiler, gpu, hidden_note, hidden_variables};

pub use tune::search::Choice as Strategy;

/// A command and its name in messages.
#[derive(Clone, Debug)]
pub struct NamedCommand {
    /// For messages, such as the option it came from.
    pub name: &'static str,
    /// The command line.
    pub line: String,
}

/// What to search, and how.
#[derive(Clone, Debug)]
pub struct AutotuneRequest {
    /// The search space (JSON).
    pub space: PathBuf,
    /// The command to measure, with {NAME} for parameters [default: the space's].
    pub run: Option<NamedCommand>,
    /// Command that builds the program for a configuration.
    pub build: Option<NamedCommand>,
    /// Builds at the same time.
    pub jobs: usize,
    /// Command that exits with 0 if a configuration's result is right.
    pub check: Option<NamedCommand>,
    /// Whether the commands go through a shell.
    pub shell: bool,
    /// Measure the process from start to end.
    pub without_profiler: bool,
    /// Measure a number that the program prints: a regular expression.
    pub metric: Option<String>,
    /// Measure the dispatches of these kernels only: a regular expression.
    pub kernel: Option<String>,
    /// Whether larger values are better.
    pub maximize: bool,
    /// How the next configuration is chosen.
    pub strategy: Strategy,
    /// Trial limit.
    pub trials: Option<usize>,
    /// Time limit, in minutes.
    pub minutes: Option<f64>,
    /// Maximum runs of a configuration in one trial.
    pub repeats: Option<usize>,
    /// Longest run, in seconds.
    pub timeout: Option<f64>,
    /// Longest build, in seconds.
    pub build_timeout: f64,
    /// Seed of all random choices.
    pub seed: u64,
    /// Share of the space to begin with.
    pub seed_fraction: f64,
    /// Skip configurations predicted to be slower than the best by this factor.
    pub prune_factor: f64,
    /// Files whose contents decide the result.
    pub key_files: Vec<PathBuf>,
    /// The GPU whose resource limits apply.
    pub arch: Option<String>,
    /// Resume in a folder with runs on another device.
    pub other_device: bool,
    /// Variables that may hold keys but are passed to commands anyway.
    pub pass_env: Vec<String>,
    /// Folder for the journal, the best values and the chart.
    pub out: PathBuf,
}

/// Progress of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchProgress {
    /// Trials done.
    pub used: u64,
    /// Trial limit.
    pub of: u64,
    /// The best so far, as text.
    pub line: String,
}

/// Searches for the best values of a program's parameters.
pub fn autotune(request: &AutotuneRequest, show: &mut dyn FnMut(&SearchProgress)) -> Result<Report, Failure> {
    request.answer(show)
}

impl AutotuneRequest {
    fn answer(&self, show: &mut dyn FnMut(&SearchProgress)) -> Result<Report, Failure> {
        let space = Space::read(&self.space).map_err(|error| space_failure(&self.space, error))?;
        let commands = self.commands(&space)?;
        let measure = self.measure(&space.objective)?;
        let gpu = self.gpu()?;
        let request = tune::autotune::AutotuneRequest {
            space: &space,
            commands: &commands,
            measure: measure.as_ref(),
            options: self.options(&space)?,
            out: &self.out,
            key_files: &self.key_files,
            gpu: gpu.as_deref(),
            forced: self.other_device,
        };
        let is_time = request.measure.metric().is_time;
        let mut seen = |progress: &Progress| {
            let line = progress.line(&space, is_time);
            show(&SearchProgress { used: progress.used as u64, of: progress.of as u64, line });
        };
        let tuned = tune::autotune::autotune(&request, &mut seen).map_err(|error| match error {
            AutotuneError::Space(error) => space_failure(&self.space, error),
            AutotuneError::Journal(error @ JournalError::Device { .. }) => {
                Failure::input(error.to_string()).with_help(Remedy::OtherDevice)
            }
            other => Failure::input(other.to_string()),
        })?;
        let mut report = tune::tables::autotune_report(&space, &measure.metric(), &request.options, &tuned);
        report.inputs.push(InputFact {
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
        for (name, _) in &commands.env {
            if space.names().contains(&name.as_str()) && !space.environment.iter().any(|(own, _)| own == name)
            {
                let text = format!(
                    "no command names `{{{name}}}`: programs are given it as the environment variable {name}"
                );
                report.notes.push(text.into());
            }
        }
        report.notes.extend(hidden_note(&commands.hidden));
        report.notes.push(format!("written: `{}`", self.out.join(tune::autotune::BEST).display()).into());
        Ok(report)
    }

    /// The architecture that was named, or that of the GPU in this machine.
    fn gpu(&self) -> Result<Option<String>, Failure> {
        match &self.arch {
            Some(name) => Ok(Some(known_arch(name)?.name.clone())),
            None => Ok(gpu()),
        }
    }

    fn options(&self, space: &Space) -> Result<TunerOptions, Failure> {
        let (limits, usual) = (&space.limits, TunerOptions::default());
        let positive = |name: &str, value: f64| match value > 0.0 && value < 1e9 {
            true => Ok(value),
            false => Err(Failure::input(format!("`{name}` is {value} and must be above zero"))),
        };
        let trials = self.trials.or(limits.trials).unwrap_or(usual.budget.trials);
        let repeats = self.repeats.or(limits.repeats).unwrap_or(usual.repeats);
        if trials == 0 || repeats == 0 {
            let name = if trials == 0 { "trials" } else { "repeats" };
            return Err(Failure::input(format!("`{name}` must be at least 1")));
        }
        let minutes =
            self.minutes.or(limits.minutes).map(|minutes| positive("minutes", minutes)).transpose()?;
        Ok(TunerOptions {
            strategy: self.strategy,
            seed: self.seed,
            seed_fraction: positive("seed-fraction", self.seed_fraction)?,
            prune_factor: positive("prune-factor", self.prune_factor)?,
            repeats,
            budget: Budget { trials, time: minutes.map(|minutes| Duration::from_secs_f64(minutes * 60.0)) },
            timeout: Duration::from_secs_f64(positive("timeout", self.timeout(space))?),
            maximise: self.maximize || space.objective.maximise.unwrap_or(false),
        })
    }

    /// Longest run, in seconds.
    fn timeout(&self, space: &Space) -> f64 {
        self.timeout.or(space.limits.timeout).unwrap_or(TunerOptions::default().timeout.as_secs_f64())
    }

    fn commands(&self, space: &Space) -> Result<Commands, Failure> {
        let names = space.names();
        let is_built = self.build.is_some() || space.commands.iter().any(|(name, _)| name == "build");
        let folder = is_built.then_some(BUILD_FOLDER);
        let known: Vec<&str> = names.iter().copied().chain(folder).collect();
        let template = |typed: &Option<NamedCommand>, key: &str| -> Result<Option<Template>, Failure> {
            let in_file = space.commands.iter().find(|(name, _)| name == key);
            let (name, text) = match (typed, in_file) {
                (Some(typed), _) => (typed.name.to_string(), CommandText::Line(typed.line.clone())),
                (None, Some((name, text))) => (name.clone(), text.clone()),
                (None, None) => return Ok(None),
            };
            Template::parse(&name, &text, &known, self.shell).map(Some).map_err(template_failure)
        };
        let run = template(&self.run, "run")?
            .ok_or_else(|| Failure::input("there is no command to measure").with_help(Remedy::RunCommand))?;
        let build = template(&self.build, "build")?;
        let check = template(&self.check, "check")?;
        let env = space.environment.iter().map(|(name, value)| {
            Ok((
                name.clone(),
                Template::word(&format!("env {name}"), value, &known).map_err(template_failure)?,
            ))
        });
        let mut env = env.collect::<Result<Vec<_>, Failure>>()?;
        let mut used = run.parameters();
        used.extend(build.iter().flat_map(Template::parameters));
        used.extend(env.iter().flat_map(|(_, template)| template.parameters()));
        // A parameter that no command names is passed in the environment of the programs.
        for unused in (0..names.len()).filter(|p| !used.contains(p) && space.parameters[*p].values.len() > 1)
        {
            let name = names[unused];
            let value = Template::word(&format!("env {name}"), &format!("{{{name}}}"), &known);
            env.push((name.to_string(), value.map_err(template_failure)?));
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
            hidden: hidden_variables(&self.pass_env),
        })
    }

    /// Parallel builds, and only they, need their own folders; what runs must then come from there.
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
            _ if self.jobs == 0 => Err(Failure::input("`jobs` must be at least 1")),
            None if self.jobs > 1 => Err(Failure::input(format!("{} jobs need a build command", self.jobs))
                .with_help(Remedy::BuildCommand)),
            Some(build) if self.jobs > 1 && !names_it(build) => Err(Failure::input(format!(
                "{} jobs would build all configurations to the same place",
                self.jobs
            ))
            .with_help(format!("build to `{{build_dir}}`, a separate folder per configuration, {help}"))),
            Some(build)
                if names_it(build) && !names_it(run) && !env.iter().any(|(_, value)| names_it(value)) =>
            {
                Err(Failure::input("the build uses `{build_dir}`, but the command to measure does not")
                    .with_help(format!("run the program that was built there, {help}")))
            }
            _ => Ok(()),
        }
    }

    /// Measures the metric of the options, or else that of the space.
    fn measure(&self, objective: &Objective) -> Result<Box<dyn Measure>, Failure> {
        let typed = self.without_profiler || self.metric.is_some() || self.kernel.is_some();
        let in_file = objective.metric.as_deref().filter(|_| !typed);
        let printed = in_file.filter(|metric| !["dispatch_time", "process_time"].contains(metric));
        if let Some(metric) = self.metric.as_deref().or(printed) {
            let printed = Printed::new(metric).map_err(|error| Failure::input(error.to_string()))?;
            return Ok(Box::new(printed));
        }
        if self.without_profiler || in_file == Some("process_time") {
            return Ok(Box::new(ProcessTime));
        }
        let kernel = self.kernel.as_deref().or(objective.kernel.as_deref());
        let kernel = kernel.map(regex::Regex::new).transpose().map_err(|error| {
            let typed = kernel.unwrap_or_default();
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
            Failure::input(format!("the kernel `{typed}` is not a regular expression: {why}"))
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
        .with_help("run the command yourself with the values of one configuration")
    }
}

fn space_failure(path: &std::path::Path, error: SpaceError) -> Failure {
    Failure::input(format!("`{}`: {error}", path.display())).with_remedy(error.help())
}

fn template_failure(error: TemplateError) -> Failure {
    Failure::input(error.to_string()).with_remedy(error.help())
}
