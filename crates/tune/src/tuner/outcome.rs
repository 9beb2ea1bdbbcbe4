//! What a search found, and how far it has come.

use stats::noise::Noise;

use super::{Scale, Status};
use crate::search::{Model, Phase, Quality};

/// What the search found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// All trials, in order.
    pub trials: Vec<Trial>,
    /// Trials with values, best first.
    pub ranking: Vec<usize>,
    /// Spread between runs of one configuration.
    pub noise: Noise,
    /// Whether values are compared as logarithms.
    pub scale: Scale,
    /// Quality of the strategy's model, or of one fitted at the end.
    pub quality: Option<Quality>,
    /// The model at the end.
    pub model: Option<Model>,
    /// Seconds spent on runs, builds and checks.
    pub spent: f64,
    /// Trials of the seed phase that were planned.
    pub seeds: usize,
    /// Trials used from the budget: one per configuration, and one per further set of repeats.
    pub used: usize,
    /// Whether every candidate was tried.
    pub exhausted: bool,
    /// Whether the first in the ranking is there because it is simpler than the one with the best mean.
    pub by_simplicity: bool,
}

/// A configuration that was tried.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Its index.
    pub candidate: usize,
    /// Its purpose.
    pub phase: Phase,
    /// Values of its runs.
    pub values: Vec<f64>,
    /// [`Status::Ok`] if it has a value.
    pub status: Status,
    /// Why it failed.
    pub detail: String,
    /// Longest run of the program.
    pub seconds: f64,
}

/// The progress of a search.
#[derive(Clone, Debug)]
pub struct Progress<'a> {
    /// Trials used from the budget.
    pub used: usize,
    /// Trials in the budget, or in the space if that is smaller.
    pub of: usize,
    /// Seconds spent, including earlier sessions.
    pub spent: f64,
    /// Time limit, in seconds.
    pub time: Option<f64>,
    /// The best configuration so far and its value.
    pub best: Option<(&'a [u16], f64)>,
}
