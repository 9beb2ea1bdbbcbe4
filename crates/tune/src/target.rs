//! What `autotune` runs: build, run and check commands filled in from a configuration.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use hw::arch::Arch;

use crate::launch;
use crate::measure::{Measure, Unmeasured};
use crate::process::{self, How, Job};
use crate::space::{Resource, Setting, Space};
use crate::template::Template;
use crate::tuner::{Limit, Run, Status, Target};

/// The checker finds what the run printed in the file that this variable names.
pub const STDOUT_VARIABLE: &str = "ROCM_PERF_STDOUT";

/// The commands of a search.
#[derive(Clone, Debug)]
pub struct Commands {
    /// What is measured.
    pub run: Template,
    /// Makes the program for a configuration.
    pub build: Option<Template>,
    /// Says by its exit code whether a result is right.
    pub check: Option<Template>,
    /// Variables for all of them.
    pub env: Vec<(String, Template)>,
    /// Longest time of a build.
    pub build_timeout: Duration,
    /// Longest time of a check.
    pub check_timeout: Duration,
}

/// A program tuned through its commands.
pub struct CommandTarget<'a> {
    space: &'a Space,
    commands: &'a Commands,
    measure: &'a dyn Measure,
    /// What a run printed, for the checker.
    stdout: PathBuf,
    built: Option<Vec<u16>>,
    /// The GPU, to see in built files what cannot be launched.
    arch: Option<&'static Arch>,
}

impl<'a> CommandTarget<'a> {
    /// Prepares; `stdout` is where the output of a run is put for the checker.
    pub fn new(
        space: &'a Space,
        commands: &'a Commands,
        measure: &'a dyn Measure,
        stdout: PathBuf,
        arch: Option<&'static Arch>,
    ) -> Self {
        Self { space, commands, measure, stdout, built: None, arch }
    }

    /// Why what was built cannot be launched, where its code object tells.
    fn problem_of_build(&self, levels: &[u16], settings: &[(&str, &Setting)]) -> Option<String> {
        let words = self.commands.build.as_ref()?.words(settings);
        let made = words.iter().skip_while(|word| *word != "-o").nth(1).cloned();
        let made = made.or_else(|| self.commands.run.words(settings).first().cloned())?;
        let threads = self.space.resources.amount(Resource::Threads, self.space, levels);
        launch::problem_of_build(made.as_ref(), self.arch?, threads)
    }

    fn build(
        &mut self,
        levels: &[u16],
        settings: &[(&str, &Setting)],
        env: &[(String, String)],
    ) -> Result<(), String> {
        let Some(build) = &self.commands.build else { return Ok(()) };
        if self.built.as_deref() == Some(levels) {
            return Ok(());
        }
        self.built = None;
        let words = build.words(settings);
        let ended =
            process::run(&Job { words: &words, env, folder: None, limit: self.commands.build_timeout });
        if !ended.is_success() {
            return Err(format!("the build {}", ended.explain()));
        }
        self.built = Some(levels.to_vec());
        Ok(())
    }

    fn check(
        &self,
        settings: &[(&str, &Setting)],
        env: &[(String, String)],
        stdout: &[u8],
    ) -> Result<(), String> {
        let Some(check) = &self.commands.check else { return Ok(()) };
        std::fs::write(&self.stdout, stdout)
            .map_err(|error| format!("the output cannot be kept for the checker: {error}"))?;
        let mut env = env.to_vec();
        env.push((STDOUT_VARIABLE.into(), self.stdout.display().to_string()));
        let words = check.words(settings);
        let ended =
            process::run(&Job { words: &words, env: &env, folder: None, limit: self.commands.check_timeout });
        if ended.is_success() { Ok(()) } else { Err(format!("the checker {}", ended.explain())) }
    }
}

impl Target for CommandTarget<'_> {
    fn run(&mut self, levels: &[u16], number: usize, limit: Limit) -> Run {
        let began = Instant::now();
        let settings = self.space.settings(levels);
        let fill = |(name, template): &(String, Template)| (name.clone(), template.words(&settings).concat());
        let env: Vec<(String, String)> = self.commands.env.iter().map(fill).collect();
        let failed = |status, seconds: f64, detail: String| Run {
            status,
            value: None,
            seconds,
            spent: began.elapsed().as_secs_f64(),
            detail,
        };
        if let Err(detail) = self.build(levels, &settings, &env) {
            return failed(Status::BuildFailed, 0.0, detail);
        }
        if number == 0
            && let Some(reason) = self.problem_of_build(levels, &settings)
        {
            return failed(Status::Skipped, 0.0, reason);
        }
        let words = self.commands.run.words(&settings);
        let job = Job { words: &words, env: &env, folder: None, limit: limit.time };
        let reading = match self.measure.measure(&job) {
            Ok(reading) => reading,
            Err(unmeasured) => {
                let status = match &unmeasured {
                    Unmeasured::NoValue { .. } => Status::NoValue,
                    Unmeasured::Failed(ended) if ended.how == How::Limit && limit.by_best => Status::TooSlow,
                    Unmeasured::Failed(ended) if ended.how == How::Limit => Status::Timeout,
                    Unmeasured::Failed(_) => Status::RunFailed,
                };
                return failed(status, unmeasured.wall().as_secs_f64(), unmeasured.explain());
            }
        };
        let seconds = reading.wall.as_secs_f64();
        if number == 0
            && let Err(detail) = self.check(&settings, &env, &reading.stdout)
        {
            return failed(Status::WrongResult, seconds, detail);
        }
        let spent = began.elapsed().as_secs_f64();
        Run { status: Status::Ok, value: Some(reading.value), seconds, spent, detail: String::new() }
    }
}
