//! Strategies: which configuration to try next.

use super::features::Features;
use super::forest::Forest;
use super::gaussian::{Gaussian, Scales, Smoothness};
use super::model::{Model, Quality, Regressor, Samples};
use stats::random::Random;

/// How the next configuration is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Seed, predict by regression, confirm the promising ones.
    #[default]
    Regression,
    /// Gaussian process with expected improvement.
    Bayes,
    /// In random order.
    Random,
    /// In the order of the space.
    Grid,
}

impl Choice {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Choice::Regression => "regression",
            Choice::Bayes => "bayes",
            Choice::Random => "random",
            Choice::Grid => "grid",
        }
    }
}

/// The purpose of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Space-filling, before any model.
    Seed,
    /// Predicted to be good.
    Confirm,
    /// To learn where the model is unreliable.
    Explore,
}

impl Phase {
    /// `seed`, `confirm`, `explore`.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Seed => "seed",
            Phase::Confirm => "confirm",
            Phase::Explore => "explore",
        }
    }
}

/// What is known when the next configuration is chosen.
pub struct View<'a> {
    /// Features of all candidates.
    pub features: &'a Features,
    /// Candidates that were tried.
    pub tried: &'a [bool],
    /// Candidates with a value.
    pub samples: &'a Samples,
    /// Candidates without a value.
    pub failed: &'a [usize],
    /// The candidate of the defaults.
    pub default: Option<usize>,
    /// Whether values are logarithms.
    pub logarithmic: bool,
}

/// A strategy.
pub trait Strategy {
    /// The next candidate; `None` if nothing worth a trial is left.
    fn next(&mut self, view: &View) -> Option<(usize, Phase)>;

    /// Up to `count` candidates that are likely to follow the last one, likeliest first. Calling it changes
    /// nothing.
    fn soon(&self, features: &Features, tried: &[bool], count: usize) -> Vec<usize>;

    /// The quality of its model, if it has one.
    fn quality(&self) -> Option<&Quality> {
        None
    }
}

/// Settings of a strategy.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Seed of all random choices.
    pub seed: u64,
    /// Trials of the seed phase.
    pub seeds: usize,
    /// Candidates predicted to be slower than the best by more than this factor are not confirmed.
    pub prune_factor: f64,
}

/// The strategy for a choice.
pub fn strategy(choice: Choice, settings: Settings, features: &Features) -> Box<dyn Strategy> {
    let random = Random::new(settings.seed);
    match choice {
        Choice::Regression => {
            let kinds = vec![Regressor::Forest, Regressor::Smooth, Regressor::Steep];
            Box::new(ModelBased::new(kinds, settings, random))
        }
        Choice::Bayes => {
            Box::new(ModelBased::new(vec![Regressor::Smooth, Regressor::Steep], settings, random))
        }
        Choice::Random => {
            let mut random = random;
            let mut order: Vec<usize> = (0..features.len()).collect();
            random.shuffle(&mut order);
            Box::new(Listed { order, at: 0 })
        }
        Choice::Grid => Box::new(Listed { order: (0..features.len()).collect(), at: 0 }),
    }
}

/// A fixed order; the defaults come first.
struct Listed {
    order: Vec<usize>,
    at: usize,
}

impl Strategy for Listed {
    fn next(&mut self, view: &View) -> Option<(usize, Phase)> {
        if let Some(default) = view.default.filter(|&default| !view.tried[default]) {
            return Some((default, Phase::Seed));
        }
        while self.at < self.order.len() && view.tried[self.order[self.at]] {
            self.at += 1;
        }
        self.order.get(self.at).map(|&candidate| (candidate, Phase::Seed))
    }

    fn soon(&self, _: &Features, tried: &[bool], count: usize) -> Vec<usize> {
        self.order[self.at..].iter().copied().filter(|&c| !tried[c]).take(count).collect()
    }
}

/// Below this quality of the model, every third trial explores.
pub const TRUSTED_R2: f64 = 0.75;
/// Maximum candidates to score per trial; larger spaces are sampled.
const MOST_SCORED: usize = 20_000;
/// Random candidates per seed; the one farthest from earlier seeds is chosen.
const SEED_CHOICES: usize = 12;
/// Candidates to remember in addition to the most promising one.
const RUNNERS_UP: usize = 64;

struct ModelBased {
    kinds: Vec<Regressor>,
    settings: Settings,
    random: Random,
    model: Option<Model>,
    scales: Vec<(Regressor, Scales)>,
    work_scales: Option<Scales>,
    given: usize,
    /// The most promising candidates after the chosen one, best first.
    runners_up: Vec<usize>,
}

impl ModelBased {
    fn new(kinds: Vec<Regressor>, settings: Settings, random: Random) -> Self {
        let (scales, runners_up) = (Vec::new(), Vec::new());
        Self { kinds, settings, random, model: None, scales, work_scales: None, given: 0, runners_up }
    }

    /// A candidate far from all tried ones.
    fn spread(&mut self, view: &View) -> Option<usize> {
        farthest(view.features, view.tried, &mut self.random)
    }

    /// Untried candidates to score: all, or a random part.
    fn open(&mut self, view: &View) -> Vec<usize> {
        let mut open: Vec<usize> = (0..view.tried.len()).filter(|&c| !view.tried[c]).collect();
        if open.len() > MOST_SCORED {
            self.random.shuffle(&mut open);
            open.truncate(MOST_SCORED);
        }
        open
    }

    fn promising(&mut self, view: &View) -> Option<usize> {
        let model = self.model.as_ref()?.clone();
        // Predictions for measured candidates are less noisy than their values.
        let measured = view.samples.candidates.iter().map(|&c| model.predict(view.features, c).0);
        let best = measured.fold(f64::INFINITY, f64::min);
        let lowest = view.samples.values.iter().copied().fold(f64::INFINITY, f64::min);
        let works = WorkingChance::learn(view, &mut self.work_scales, &mut self.random);
        let slack = if view.logarithmic { self.settings.prune_factor.ln() } else { f64::INFINITY };
        let mut scored: Vec<(f64, usize)> = Vec::new();
        for candidate in self.open(view) {
            let (mean, spread) = model.predict(view.features, candidate);
            if mean > lowest + slack {
                continue;
            }
            let score = expected_improvement(best - mean, spread) * works.chance(view.features, candidate);
            scored.push((score, candidate));
        }
        // Of equal candidates, the first stays first.
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut ranked = scored.into_iter().map(|(_, candidate)| candidate);
        let chosen = ranked.next();
        self.runners_up = ranked.take(RUNNERS_UP).collect();
        chosen
    }
}

impl Strategy for ModelBased {
    fn next(&mut self, view: &View) -> Option<(usize, Phase)> {
        self.given += 1;
        if let Some(default) = view.default.filter(|&default| !view.tried[default]) {
            return Some((default, Phase::Seed));
        }
        if self.given <= self.settings.seeds {
            return self.spread(view).map(|candidate| (candidate, Phase::Seed));
        }
        let fitted = Model::fit(view.features, view.samples, &self.kinds, &self.scales, &mut self.random);
        if let Some(model) = fitted {
            self.scales = model.scales.clone();
            self.model = Some(model);
        }
        let trusted = self.quality().is_some_and(|quality| quality.r2 >= TRUSTED_R2);
        if !trusted && self.given.is_multiple_of(3) {
            return self.spread(view).map(|candidate| (candidate, Phase::Explore));
        }
        match self.promising(view) {
            Some(candidate) => Some((candidate, Phase::Confirm)),
            None if self.model.is_some() && trusted => None,
            None => self.spread(view).map(|candidate| (candidate, Phase::Explore)),
        }
    }

    fn soon(&self, features: &Features, tried: &[bool], count: usize) -> Vec<usize> {
        // Seeds depend on nothing that is measured, so a resumed search finds the same ones.
        let seeds = self.settings.seeds.saturating_sub(self.given).min(count);
        let (mut random, mut tried, mut soon) = (self.random.clone(), tried.to_vec(), Vec::new());
        while soon.len() < seeds
            && let Some(candidate) = farthest(features, &tried, &mut random)
        {
            tried[candidate] = true;
            soon.push(candidate);
        }
        soon.extend(self.runners_up.iter().filter(|&&c| !tried[c]).take(count - soon.len()));
        soon
    }

    fn quality(&self) -> Option<&Quality> {
        self.model.as_ref().and_then(|model| model.quality.as_ref())
    }
}

/// Of some random candidates, the one farthest from all tried ones.
fn farthest(features: &Features, is_tried: &[bool], random: &mut Random) -> Option<usize> {
    let (tried, untried): (Vec<usize>, Vec<usize>) = (0..is_tried.len()).partition(|&c| is_tried[c]);
    let mut best: Option<(f64, usize)> = None;
    for _ in 0..SEED_CHOICES.min(untried.len()) {
        let candidate = untried[random.below(untried.len())];
        let row = features.plain(candidate);
        let distance = |other: usize| -> f64 {
            row.iter().zip(features.plain(other)).map(|(a, b)| (a - b) * (a - b)).sum()
        };
        let nearest = tried.iter().map(|&other| distance(other)).fold(f64::INFINITY, f64::min);
        if best.is_none_or(|(farthest, _)| nearest > farthest) {
            best = Some((nearest, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The probability that a configuration works at all, learned from those that did and did not.
struct WorkingChance(Option<(Forest, Option<Gaussian>)>);

impl WorkingChance {
    fn learn(view: &View, scales: &mut Option<Scales>, random: &mut Random) -> Self {
        if view.failed.is_empty() {
            return Self(None);
        }
        let candidates: Vec<usize> = view.samples.candidates.iter().chain(view.failed).copied().collect();
        let mut values = vec![1.0; view.samples.candidates.len()];
        values.resize(candidates.len(), 0.0);
        let rows: Vec<&[f64]> = candidates.iter().map(|&c| view.features.row(c)).collect();
        let Some(forest) = Forest::fit(&rows, &values, 2, random) else { return Self(None) };
        let samples = Samples { weights: vec![1.0; values.len()], candidates, values };
        let gaussian = Gaussian::fit(Smoothness::Smooth, view.features, &samples, scales.as_ref(), random);
        *scales = gaussian.as_ref().map(|gaussian| gaussian.scales.clone());
        Self(Some((forest, gaussian)))
    }

    /// The factor for a candidate's expected improvement. Both estimates are unsure at the border, where the
    /// optimum often lies: squaring keeps the search on the side that works.
    fn chance(&self, features: &Features, candidate: usize) -> f64 {
        let Some((forest, gaussian)) = &self.0 else { return 1.0 };
        let by_trees = forest.predict(features.row(candidate)).0;
        let by_distance = gaussian.as_ref().map_or(by_trees, |gaussian| {
            let (mean, spread) = gaussian.predict(features, candidate);
            below((mean - 0.5) / spread)
        });
        // Never zero: a failure may have been bad luck.
        ((by_trees + by_distance) / 2.0).max(0.02).powi(2)
    }
}

/// The expected improvement of a normal value over the best.
fn expected_improvement(less: f64, spread: f64) -> f64 {
    if spread <= 1e-12 {
        return less.max(0.0);
    }
    let z = less / spread;
    let density = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
    less * below(z) + spread * density
}

/// The standard normal distribution function (Abramowitz and Stegun 26.2.17, error below 1e-7).
fn below(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let poly = t
        * (0.319_381_530
            + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    let tail = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt() * poly;
    if z >= 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expected_improvement_is_that_of_draws() {
        let mut random = Random::new(2);
        for (less, spread) in [(0.0, 1.0), (-1.0, 0.7), (0.5, 0.2), (0.3, 0.0)] {
            let n = 200_000;
            let drawn: f64 =
                (0..n).map(|_| (less + spread * random.normal()).max(0.0)).sum::<f64>() / n as f64;
            assert!((expected_improvement(less, spread) - drawn).abs() < 0.01, "{less} {spread}");
        }
    }
}
