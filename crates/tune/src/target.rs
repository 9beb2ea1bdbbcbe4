//! What `autotune` runs: build, run and check commands filled in from a configuration.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use files::process::{self, Confinement, How, Job};
use hw::arch::Arch;

use crate::builds::Builds;
use crate::checked_outputs::CheckedOutputs;
use crate::launch;
use crate::measure::{Measure, Unmeasured};
use crate::space::{Resource, Space};
use crate::template::Template;
use crate::tuner::{Limit, Run, Status, Target};

/// This variable names the file with the run's output, for the checker.
pub const STDOUT_VARIABLE: &str = "ROCM_PERF_STDOUT";

/// The commands of a search.
#[derive(Clone, Debug)]
pub struct Commands {
    /// The command to measure.
    pub run: Template,
    /// Builds the program for a configuration.
    pub build: Option<Template>,
    /// Exits with 0 if a result is right.
    pub check: Option<Template>,
    /// Environment variables for all of them.
    pub env: Vec<(String, Template)>,
    /// Builds that may run at the same time.
    pub jobs: usize,
    /// Longest time of a build.
    pub build_timeout: Duration,
    /// Longest time of a check.
    pub check_timeout: Duration,
    /// Our variables that no command gets.
    pub hidden: Vec<String>,
}

impl Commands {
    pub(crate) fn confinement(&self) -> Confinement<'_> {
        Confinement { hidden: &self.hidden, sandbox: None }
    }
}

/// A program tuned through its commands.
pub struct CommandTarget<'a> {
    space: &'a Space,
    commands: &'a Commands,
    measure: &'a dyn Measure,
    /// File for a run's output, for the checker.
    stdout: PathBuf,
    builds: &'a Builds<'a>,
    /// Results of builds that still exist.
    built: HashMap<Vec<u16>, Result<(), String>>,
    /// Build seconds that no run has been charged for.
    owed: f64,
    /// The GPU, to detect built files that cannot be launched.
    arch: Option<&'static Arch>,
    /// Files that the check names and runs have written: removed before a run, so that none is checked twice.
    written: BTreeSet<PathBuf>,
}

impl<'a> CommandTarget<'a> {
    /// Prepares a target; `stdout` is the file for a run's output, for the checker.
    pub fn new(
        space: &'a Space,
        commands: &'a Commands,
        measure: &'a dyn Measure,
        stdout: PathBuf,
        builds: &'a Builds<'a>,
        arch: Option<&'static Arch>,
    ) -> Self {
        Self {
            space,
            commands,
            measure,
            stdout,
            builds,
            built: HashMap::new(),
            owed: 0.0,
            arch,
            written: BTreeSet::new(),
        }
    }

    /// Why a build cannot be launched, if its code object shows it.
    fn problem_of_build(&self, levels: &[u16]) -> Option<String> {
        let words = self.builds.plain_words(self.commands.build.as_ref()?, levels);
        let made = words.iter().skip_while(|word| *word != "-o").nth(1).cloned();
        let made = made.or_else(|| self.builds.plain_words(&self.commands.run, levels).first().cloned())?;
        let threads = self.space.resources.amount(Resource::Threads, self.space, levels);
        launch::problem_of_build(made.as_ref(), self.arch?, threads)
    }

    /// Files named in the check of a configuration.
    fn checked_files(&self, levels: &[u16]) -> Vec<PathBuf> {
        let check = self.commands.check.as_ref();
        let words = check.map(|check| self.builds.plain_words(check, levels)).unwrap_or_default();
        words.into_iter().map(PathBuf::from).collect()
    }

    fn build(&mut self, levels: &[u16]) -> Result<(), String> {
        if let Some(result) = self.built.get(levels) {
            return result.clone();
        }
        if !self.builds.are_apart() {
            // It overwrites the last build.
            self.built.clear();
        }
        let result = self.builds.build(levels);
        self.built.insert(levels.to_vec(), result.clone());
        result
    }

    fn check(&self, levels: &[u16], env: &[(String, String)], stdout: &[u8]) -> Result<(), String> {
        let Some(check) = &self.commands.check else { return Ok(()) };
        std::fs::write(&self.stdout, stdout)
            .map_err(|error| format!("cannot save the output for the check: {error}"))?;
        let mut env = env.to_vec();
        env.push((STDOUT_VARIABLE.into(), self.stdout.display().to_string()));
        let words = self.builds.words(check, levels);
        let ended = process::run(&Job {
            env: &env,
            limit: Some(self.commands.check_timeout),
            confinement: self.commands.confinement(),
            ..Job::of(&words)
        });
        if ended.is_success() { Ok(()) } else { Err(format!("the checker {}", ended.explain())) }
    }
}

impl Target for CommandTarget<'_> {
    fn run(&mut self, levels: &[u16], number: usize, limit: Limit) -> Run {
        let began = Instant::now();
        let before = std::mem::take(&mut self.owed);
        let spent = || before + began.elapsed().as_secs_f64();
        let failed = |status, seconds: f64, detail: String| Run {
            status,
            value: None,
            seconds,
            spent: spent(),
            detail,
        };
        if let Err(detail) = self.build(levels) {
            return failed(Status::BuildFailed, 0.0, detail);
        }
        if number == 0
            && let Some(reason) = self.problem_of_build(levels)
        {
            return failed(Status::Skipped, 0.0, reason);
        }
        let (words, env) = (self.builds.words(&self.commands.run, levels), self.builds.env(levels));
        let confinement = self.commands.confinement();
        let job = Job { env: &env, limit: Some(limit.time), confinement, ..Job::of(&words) };
        let outputs = CheckedOutputs::before(self.checked_files(levels), &mut self.written);
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
        outputs.after(&mut self.written);
        let seconds = reading.wall.as_secs_f64();
        if number == 0
            && let Err(detail) = self.check(levels, &env, &reading.stdout)
        {
            return failed(Status::WrongResult, seconds, detail);
        }
        Run { status: Status::Ok, value: Some(reading.value), seconds, spent: spent(), detail: String::new() }
    }

    fn lookahead(&self) -> usize {
        // Some of the predicted ones are built already.
        if self.builds.are_apart() && self.commands.jobs > 1 { 2 * self.commands.jobs } else { 0 }
    }

    /// Builds the next configuration, in parallel with others that are likely to follow. Nothing is measured
    /// meanwhile.
    fn prepare(&mut self, next: &[&[u16]]) {
        let is_new = |levels: &&&[u16]| !self.built.contains_key(**levels);
        if !next.first().is_some_and(|first| is_new(&first)) {
            return;
        }
        let began = Instant::now();
        let new: Vec<&[u16]> = next.iter().filter(is_new).take(self.commands.jobs).copied().collect();
        self.built.extend(self.builds.build_together(&new));
        self.owed += began.elapsed().as_secs_f64();
    }
}
