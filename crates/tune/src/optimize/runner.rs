//! Building, profiling and measuring one side of a session.

use std::path::PathBuf;

use ::files::Sandbox;
use ::files::process::{self, Confinement, Ended, Job};

use super::OptimizeRequest;
use super::dispatches::usual_total;
use super::experiment::{Sample, Side};
use super::files;
use super::propose::rules::flags::with_flags;
use super::rank;
use super::session::Ranked;
use super::workspace::Workspace;
use crate::measure::Measure;

/// Runs the commands of a session in its copies.
pub(super) struct Runner<'a> {
    pub request: &'a OptimizeRequest<'a>,
    pub workspace: &'a Workspace,
    /// Keeps unreviewed code from writing elsewhere.
    pub sandbox: Option<Sandbox>,
    /// Environment variables for all commands.
    pub env: Vec<(String, String)>,
}

/// A build that failed.
pub(super) struct BuildFailed {
    /// Its whole output.
    pub log: Vec<u8>,
    /// How it ended, and its last lines.
    pub why: String,
}

impl BuildFailed {
    /// The lines that say what is wrong: a compiler's log is long, and its end is often irrelevant.
    pub fn errors(&self) -> String {
        const MOST: usize = 20;
        let log = String::from_utf8_lossy(&self.log);
        let lines: Vec<&str> = log.lines().filter(|line| line.contains("error")).take(MOST).collect();
        lines.join("\n")
    }
}

impl<'a> Runner<'a> {
    /// The runner of a session, with a sandbox if proposals come from elsewhere. Also returns why there is
    /// none.
    pub fn new(request: &'a OptimizeRequest<'a>, workspace: &'a Workspace) -> (Self, Option<String>) {
        let mut runner = Self { request, workspace, sandbox: None, env: Vec::new() };
        if !request.sandbox {
            return (runner, None);
        }
        match runner.enclose() {
            Err(error) => {
                let why = process::reason(&error);
                (runner, Some(format!("proposals were built and run without a sandbox: {why}")))
            }
            Ok(()) => {
                let limits = runner.sandbox.as_ref().and_then(Sandbox::limits);
                let note =
                    limits.map(|what| format!("the sandbox of proposals does not keep them from {what}"));
                (runner, note)
            }
        }
    }

    /// Commands may write to the copies, the profiler's folder and a separate temporary folder.
    fn enclose(&mut self) -> std::io::Result<()> {
        let temporary = self.workspace.temporary();
        let profiles = self.request.out.join(super::PROFILES);
        for folder in [&temporary, &profiles] {
            std::fs::create_dir_all(folder)?;
        }
        self.sandbox = Some(Sandbox::new(&[self.workspace.folder(), &profiles])?);
        self.env.push(("TMPDIR".into(), temporary.display().to_string()));
        Ok(())
    }

    /// A command with the restrictions of the session.
    pub fn job<'j>(&'j self, words: &'j [String]) -> Job<'j> {
        let confinement = Confinement { hidden: &self.request.hidden, sandbox: self.sandbox.as_ref() };
        Job { env: &self.env, confinement, ..Job::of(words) }
    }

    /// Builds a side with more compiler options; returns the log.
    pub fn build(&self, side: Side, flags: &[String]) -> Result<Vec<u8>, BuildFailed> {
        let (words, mut env) = with_flags(&self.request.build, flags);
        env.extend(self.env.iter().cloned());
        let words = self.workspace.words(side, &words);
        let folder = self.workspace.here(side);
        let limit = Some(self.request.build_timeout);
        let ended = process::run(&Job { env: &env, folder: Some(&folder), limit, ..self.job(&words) });
        let failed = (!ended.is_success()).then(|| ended.explain());
        let Ended { stdout: mut log, stderr, .. } = ended;
        log.extend(stderr);
        match failed {
            Some(why) => Err(BuildFailed { log, why }),
            None => Ok(log),
        }
    }

    /// The program of a side, if it is a file.
    fn program(&self, side: Side) -> PathBuf {
        let words = self.workspace.words(side, &self.request.run);
        self.workspace.here(side).join(words.first().map(String::as_str).unwrap_or_default())
    }

    /// Files of a side that hold its code objects: those the user names, else the program.
    pub fn code_objects(&self, side: Side) -> Vec<PathBuf> {
        let patterns = self.workspace.words(side, &self.request.code_objects);
        let folder = self.workspace.here(side);
        match patterns.is_empty() {
            true => vec![self.program(side)],
            false => patterns.iter().flat_map(|pattern| files::matching(&folder, pattern)).collect(),
        }
    }

    /// Whether both sides were built to identical bytes.
    pub fn is_same(&self) -> bool {
        let bytes = |side| -> Option<Vec<Vec<u8>>> {
            let mut paths = self.code_objects(side);
            paths.push(self.program(side));
            paths.iter().map(|path| std::fs::read(path).ok()).collect()
        };
        let base = bytes(Side::Base);
        base.is_some() && base == bytes(Side::Candidate)
    }

    /// Measures a side once; with a profiler the value is the kernel's usual time in this run.
    pub fn sample(&self, side: Side, measure: &dyn Measure, kernel: &str) -> Result<Sample, String> {
        let words = self.workspace.words(side, &self.request.run);
        let folder = self.workspace.here(side);
        let job = Job { folder: Some(&folder), limit: Some(self.request.timeout), ..self.job(&words) };
        let reading = measure.measure(&job).map_err(|error| error.explain())?;
        // With a profiler, from the first to the last activity of the program: the profiler's own start-up
        // would dominate.
        let end_to_end = reading.span_ns.map_or(reading.wall.as_nanos() as f64, |span| span as f64);
        let usual = reading.trace.as_deref().and_then(|trace| usual_total(trace, kernel));
        Ok(Sample { value: usual.unwrap_or(reading.value), end_to_end })
    }

    /// Kernels of the original program, most important first; empty without a profiler.
    pub fn profile(&self) -> Result<Vec<Ranked>, String> {
        let Some(profile) = self.request.profile else { return Ok(Vec::new()) };
        let words = self.workspace.words(Side::Base, &self.request.run);
        let folder = self.workspace.here(Side::Base);
        let job = Job { folder: Some(&folder), limit: Some(self.request.timeout), ..self.job(&words) };
        let reading = profile.measure(&job).map_err(|error| error.explain())?;
        Ok(rank::rank(&reading, self.request.gpu.clone()))
    }
}
