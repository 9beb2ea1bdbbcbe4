//! Building, checking, profiling and measuring one side of a session.

use std::path::PathBuf;

use super::OptimizeRequest;
use super::experiment::{Sample, Side};
use super::propose::rules::flags::with_flags;
use super::rank;
use super::session::Ranked;
use super::workspace::Workspace;
use crate::measure::Measure;
use crate::process::{self, Ended, Job};
use crate::target::STDOUT_VARIABLE;

/// What runs the commands of a session in its copies.
pub(super) struct Runner<'a> {
    pub request: &'a OptimizeRequest<'a>,
    pub workspace: &'a Workspace,
}

impl Runner<'_> {
    /// Builds a side with more compiler options; gives the log, or how it failed.
    pub fn build(&self, side: Side, flags: &[String]) -> Result<Vec<u8>, String> {
        let (words, env) = with_flags(&self.request.build, flags);
        let words = self.workspace.words(side, &words);
        let folder = self.workspace.here(side);
        let limit = self.request.build_timeout;
        let ended = process::run(&Job { words: &words, env: &env, folder: Some(&folder), limit });
        if !ended.is_success() {
            return Err(ended.explain());
        }
        let Ended { mut stdout, stderr, .. } = ended;
        stdout.extend(stderr);
        Ok(stdout)
    }

    /// The program of a side, as far as it is a file.
    pub fn program(&self, side: Side) -> PathBuf {
        let words = self.workspace.words(side, &self.request.run);
        self.workspace.here(side).join(words.first().map(String::as_str).unwrap_or_default())
    }

    /// Runs a side and all checkers on it; the number is 0 when the program itself failed.
    pub fn check(&self, side: Side) -> Result<(), (usize, String)> {
        let folder = self.workspace.here(side);
        let words = self.workspace.words(side, &self.request.run);
        let limit = self.request.timeout;
        let ended = process::run(&Job { words: &words, env: &[], folder: Some(&folder), limit });
        if !ended.is_success() {
            return Err((0, ended.explain()));
        }
        let printed = self.request.out.canonicalize().unwrap_or_default().join("stdout.txt");
        std::fs::write(&printed, &ended.stdout).map_err(|error| (0, error.to_string()))?;
        let env = [(STDOUT_VARIABLE.to_string(), printed.display().to_string())];
        for (i, check) in self.request.checks.iter().enumerate() {
            let words = self.workspace.words(side, check);
            let ended = process::run(&Job { words: &words, env: &env, folder: Some(&folder), limit });
            if !ended.is_success() {
                return Err((i + 1, ended.explain()));
            }
        }
        Ok(())
    }

    /// Measures a side once.
    pub fn sample(&self, side: Side, measure: &dyn Measure) -> Result<Sample, String> {
        let words = self.workspace.words(side, &self.request.run);
        let folder = self.workspace.here(side);
        let job = Job { words: &words, env: &[], folder: Some(&folder), limit: self.request.timeout };
        let reading = measure.measure(&job).map_err(|error| error.explain())?;
        // With a profiler the end is that of the last kernel's sum: its own start-up would drown the program.
        let kernels: i64 = reading.kernels.iter().map(|(_, time)| time.total_ns).sum();
        let end_to_end = if kernels > 0 { kernels as f64 } else { reading.wall.as_secs_f64() };
        Ok(Sample { value: reading.value, end_to_end })
    }

    /// Kernels of the program as it is, those worth most first; none without a profiler.
    pub fn profile(&self) -> Result<Vec<Ranked>, String> {
        let Some(profile) = self.request.profile else { return Ok(Vec::new()) };
        let words = self.workspace.words(Side::Base, &self.request.run);
        let folder = self.workspace.here(Side::Base);
        let job = Job { words: &words, env: &[], folder: Some(&folder), limit: self.request.timeout };
        let reading = profile.measure(&job).map_err(|error| error.explain())?;
        Ok(rank::rank(&reading, self.request.gpu.clone()))
    }
}
