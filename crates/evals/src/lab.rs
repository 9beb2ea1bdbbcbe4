//! Runs for one question: simulated from a seed, without anything that would give the answer away.

use std::fs;
use std::path::{Path, PathBuf};

use app::synth::{Faults, GenerateOptions, Loss, Options, OutputFormat, SlowLink, Straggler, scenario};
use serde_json::Value as Json;

use crate::Error;
use crate::questions::{Question, RunSpec};

/// The runs of a question, and the truth about them.
pub struct Lab {
    /// The folder that the agent may read.
    pub root: PathBuf,
    /// The truth about the run.
    pub a: Json,
    /// The truth about the other run, if there is one.
    pub b: Option<Json>,
    /// The truth about the run if the prediction comes true.
    pub predicted: Option<Json>,
    _folder: tempfile::TempDir,
}

impl Lab {
    /// Makes the runs.
    pub fn new(question: &Question, seed: u64) -> Result<Self, Error> {
        let folder = tempfile::tempdir()?;
        let (root, hidden) = (folder.path().join("traces"), folder.path().join("hidden"));
        fs::create_dir_all(&root)?;
        let a = make(&question.a, seed, &root.join("a"), &hidden)?;
        let other = |run: &RunSpec| make(run, seed + u64::from(run.other_seed), &root.join("b"), &hidden);
        let b = question.b.as_ref().map(other).transpose()?;
        let predicted = match (&question.kernel, question.factor) {
            (Some(kernel), Some(factor)) => {
                let run = RunSpec { scale: Some(format!("{kernel}={factor}")), ..question.a.clone() };
                // Outside the folder that the agent may read.
                Some(make(&run, seed, &hidden.join("predicted"), &hidden)?)
            }
            _ => None,
        };
        Ok(Self { root, a, b, predicted, _folder: folder })
    }
}

/// Simulates a run, moves its truth away and gives its files neutral names.
fn make(run: &RunSpec, seed: u64, out: &Path, hidden: &Path) -> Result<Json, Error> {
    let wrong = |what: &str| Error::Questions(format!("`{}`: {what}", run.scenario));
    let format = OutputFormat::from_name(&run.format).ok_or_else(|| wrong("unknown format"))?;
    let scale = |text: &String| {
        let (name, factor) = text.split_once('=')?;
        Some((name.to_string(), factor.parse().ok()?))
    };
    let mut options = GenerateOptions::new(scenario(&run.scenario)?, out, format);
    options.options = Options {
        seed,
        steps: run.steps,
        ranks: run.ranks,
        scale: run.scale.iter().filter_map(scale).collect(),
        lose: parsed::<Loss>(&run.lose).map_err(|why| wrong(&why))?,
        faults: Faults {
            clock_offset_ms: run.clock_offset_ms,
            drift_ppm: run.drift_ppm,
            stragglers: parsed::<Straggler>(&run.straggler).map_err(|why| wrong(&why))?,
            slow_links: parsed::<SlowLink>(&run.slow_link).map_err(|why| wrong(&why))?,
            ..Faults::default()
        },
        ..Options::default()
    };
    app::synth(&options)?;
    fs::create_dir_all(hidden)?;
    let truth = hidden.join("truth.json");
    fs::rename(out.join("truth.json"), &truth)?;
    fs::remove_file(out.join("scenario.toml"))?;
    rename(out, &run.scenario)?;
    serde_json::from_slice(&fs::read(truth)?).map_err(|error| wrong(&error.to_string()))
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(text: &Option<String>) -> Result<Vec<T>, String> {
    text.iter().map(|text| text.parse().map_err(|error: T::Err| error.to_string())).collect()
}

/// Removes the scenario from file names.
fn rename(folder: &Path, scenario: &str) -> Result<(), Error> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            rename(&path, scenario)?;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.contains(scenario) {
            fs::rename(&path, path.with_file_name(name.replace(scenario, "run")))?;
        }
    }
    Ok(())
}
