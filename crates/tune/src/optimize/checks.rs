//! Checks the results of a program: runs it with every input, and applies all checkers and golden outputs each time.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use files::process::{self, Job};
use serde_json::{Value as Json, json};

use super::experiment::Side;
use super::golden::Comparison;
use super::runner::Runner;
use crate::checked_outputs::FilesOfCopy;
use crate::target::STDOUT_VARIABLE;

/// A checker gets the arguments of the run in this variable; empty for the measured run.
pub const INPUT_VARIABLE: &str = "ROCM_PERF_INPUT";

/// What refused a side, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    /// The program itself, a checker or a golden output.
    pub who: String,
    /// Whether it was the program itself.
    pub program: bool,
    /// Its message.
    pub why: String,
}

/// The checks of a session, with the outputs of the original program.
pub(super) struct Checks<'a> {
    runner: &'a Runner<'a>,
    /// For each input, the expected golden outputs.
    expected: Vec<Vec<Vec<u8>>>,
    /// Files that the unchanged program writes, relative to a side's copy: removed before each run, because a
    /// checker would accept an old one if a program writes nothing.
    written: RefCell<BTreeSet<PathBuf>>,
}

impl<'a> Checks<'a> {
    /// Runs the original program twice: a checker that changes its mind, or an output that differs between
    /// runs, proves nothing about a candidate.
    pub fn learn(runner: &'a Runner<'a>) -> Result<(Self, Json), Refused> {
        let mut checks = Self { runner, expected: Vec::new(), written: RefCell::default() };
        for input in 0..=runner.request.inputs.len() {
            let outputs = checks.outputs(Side::Base, input, &mut Vec::new())?;
            let mut expected = Vec::new();
            for (golden, output) in runner.request.goldens.iter().zip(outputs) {
                let given = golden.expected.as_deref().filter(|_| input == 0);
                expected.push(match given {
                    Some(path) => std::fs::read(path).map_err(|error| Refused {
                        who: golden.name(),
                        program: false,
                        why: format!("cannot be compared with `{}`: {error}", path.display()),
                    })?,
                    None => output,
                });
            }
            checks.expected.push(expected);
        }
        match checks.all(Side::Base) {
            (Some(refused), _) => Err(refused),
            (None, seen) => Ok((checks, seen)),
        }
    }

    /// Runs a side with every input; returns the first refusal, and all observations.
    pub fn all(&self, side: Side) -> (Option<Refused>, Json) {
        let mut seen = Vec::new();
        for input in 0..=self.runner.request.inputs.len() {
            if let Err(refused) = self.check_input(side, input, &mut seen) {
                return (Some(refused), Json::Array(seen));
            }
        }
        (None, Json::Array(seen))
    }

    fn check_input(&self, side: Side, input: usize, seen: &mut Vec<Json>) -> Result<(), Refused> {
        let found = self.outputs(side, input, seen)?;
        let on = self.on_input(input);
        let expected = self.expected.get(input).map(Vec::as_slice).unwrap_or_default();
        for ((golden, expected), found) in self.runner.request.goldens.iter().zip(expected).zip(found) {
            let comparison: Comparison = golden.compare(expected, &found);
            let right = comparison.is_right();
            seen.push(json!({
                "check": golden.name(), "input": self.input(input), "right": right,
                "comparison": comparison.to_json(),
            }));
            if !right {
                let who = format!("{}{on}", golden.name());
                return Err(Refused { who, program: false, why: comparison.explain() });
            }
        }
        Ok(())
    }

    /// Runs a side with an input and all checkers on it; returns the outputs to compare.
    fn outputs(&self, side: Side, input: usize, seen: &mut Vec<Json>) -> Result<Vec<Vec<u8>>, Refused> {
        let (request, workspace) = (self.runner.request, self.runner.workspace);
        let folder = workspace.here(side);
        let mut words = request.run.clone();
        words.extend(request.inputs.get(input.wrapping_sub(1)).cloned().unwrap_or_default());
        let words = workspace.words(side, &words);
        let on = self.on_input(input);
        let program = |why: String| Refused { who: format!("the program{on}"), program: true, why };
        let outside = |path: &Path| Refused {
            who: format!("the output `{}`", path.display()),
            program: false,
            why: "it is outside the tree, where an old file could be mistaken for this run's".into(),
        };
        let place = |path: &PathBuf| workspace.place(side, path).ok_or_else(|| outside(path));
        let places: Vec<Option<PathBuf>> = request
            .goldens
            .iter()
            .map(|golden| golden.output.as_ref().map(place).transpose())
            .collect::<Result<_, _>>()?;
        // Files of an earlier run must not count for this one.
        places.iter().flatten().for_each(|path| drop(std::fs::remove_file(path)));
        let limit = Some(request.timeout);
        let root = workspace.root(side);
        self.written.borrow().iter().for_each(|path| drop(std::fs::remove_file(root.join(path))));
        let before = (side == Side::Base).then(|| FilesOfCopy::of(&root));
        let ended = process::run(&Job { folder: Some(&folder), limit, ..self.runner.job(&words) });
        if let Some(before) = before {
            self.written.borrow_mut().extend(before.written_since());
        }
        seen.push(json!({
            "check": "run", "input": self.input(input), "right": ended.is_success(),
            "seconds": ended.wall.as_secs_f64(),
        }));
        if !ended.is_success() {
            return Err(program(ended.explain()));
        }
        self.checkers(side, input, &folder, &ended.stdout, seen)?;
        places
            .into_iter()
            .map(|place| match place {
                None => Ok(ended.stdout.clone()),
                Some(path) => std::fs::read(&path).map_err(|error| {
                    let name = path.strip_prefix(&folder).unwrap_or(&path).display().to_string();
                    program(format!("did not write `{name}`: {error}"))
                }),
            })
            .collect()
    }

    fn checkers(
        &self,
        side: Side,
        input: usize,
        folder: &Path,
        stdout: &[u8],
        seen: &mut Vec<Json>,
    ) -> Result<(), Refused> {
        let (request, workspace) = (self.runner.request, self.runner.workspace);
        let printed = request.out.canonicalize().unwrap_or_default().join("stdout.txt");
        if let Err(error) = std::fs::write(&printed, stdout) {
            let why = format!("printed output that cannot be saved: {error}");
            return Err(Refused { who: "the program".into(), program: true, why });
        }
        let mut env = self.runner.env.clone();
        env.extend([
            (STDOUT_VARIABLE.to_string(), printed.display().to_string()),
            (INPUT_VARIABLE.to_string(), self.input(input)),
        ]);
        for (i, check) in request.checks.iter().enumerate() {
            let words = workspace.words(side, check);
            let limit = Some(request.timeout);
            let job = Job { env: &env, folder: Some(folder), limit, ..self.runner.job(&words) };
            let ended = process::run(&job);
            let name = format!("checker {}", i + 1);
            seen.push(json!({
                "check": name, "input": self.input(input), "right": ended.is_success(),
                "seconds": ended.wall.as_secs_f64(),
            }));
            if !ended.is_success() {
                let who = format!("{name}{}", self.on_input(input));
                return Err(Refused { who, program: false, why: ended.explain() });
            }
        }
        Ok(())
    }

    fn input(&self, input: usize) -> String {
        let words = self.runner.request.inputs.get(input.wrapping_sub(1));
        words.map(|words| words.join(" ")).unwrap_or_default()
    }

    fn on_input(&self, input: usize) -> String {
        if input == 0 { String::new() } else { format!(" on input `{}`", self.input(input)) }
    }
}
