//! The model behind predictions: a quadratic, a forest and a Gaussian process, weighted by how well each predicts
//! what it has not seen. Its quality is always that of cross-validation, never that on its own samples.

use rayon::prelude::*;

use super::features::Features;
use super::forest::Forest;
use super::gaussian::{Gaussian, Scales};
use super::ridge::Ridge;
use crate::random::Random;

/// Parts that samples are split into for cross-validation.
pub const FOLDS: usize = 5;
/// Fewer samples cannot be cross-validated.
pub const FEWEST: usize = 6;

/// A kind of regression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A quadratic with shrinkage.
    Ridge,
    /// Randomised trees.
    Forest,
    /// A Gaussian process.
    Gaussian,
}

/// What was measured, as the model sees it: logarithms where the metric allows, less is better.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Candidate of each.
    pub candidates: Vec<usize>,
    /// Its value.
    pub values: Vec<f64>,
    /// Measurements behind it.
    pub weights: Vec<f64>,
}

impl Samples {
    fn without(&self, fold: usize, folds: &[usize]) -> Self {
        let keep = |i: &usize| folds[*i] != fold;
        let kept: Vec<usize> = (0..self.values.len()).filter(keep).collect();
        Self {
            candidates: kept.iter().map(|&i| self.candidates[i]).collect(),
            values: kept.iter().map(|&i| self.values[i]).collect(),
            weights: kept.iter().map(|&i| self.weights[i]).collect(),
        }
    }
}

/// How well a model predicts configurations it was not fitted to.
#[derive(Clone, Debug, PartialEq)]
pub struct Quality {
    /// Share of the variance that predictions explain; below zero when the mean alone predicts better.
    pub r2: f64,
    /// Spearman's correlation of predicted and measured ranks.
    pub rank_correlation: f64,
    /// Standard deviation of what is left.
    pub residual_std: f64,
    /// Samples behind it.
    pub samples: usize,
}

/// The fitted models and their weights.
#[derive(Clone, Debug)]
pub struct Model {
    parts: Vec<(f64, Part)>,
    plain: usize,
    /// Of cross-validation; none for fewer than [`FEWEST`] samples.
    pub quality: Option<Quality>,
    /// Length scales of the Gaussian process, as a start for the next fit.
    pub scales: Option<Scales>,
}

#[derive(Clone, Debug)]
enum Part {
    /// With the spread it has by cross-validation.
    Ridge(Ridge, f64),
    Forest(Forest),
    Gaussian(Box<Gaussian>),
}

impl Part {
    fn fit(
        kind: Kind,
        features: &Features,
        samples: &Samples,
        scales: Option<&Scales>,
        random: &mut Random,
    ) -> Option<Self> {
        let plain: Vec<&[f64]> = samples.candidates.iter().map(|&c| features.plain(c)).collect();
        match kind {
            Kind::Ridge => Ridge::fit(&plain, &samples.values).map(|ridge| Part::Ridge(ridge, 0.0)),
            Kind::Forest => {
                let rows: Vec<&[f64]> = samples.candidates.iter().map(|&c| features.row(c)).collect();
                Forest::fit(&rows, &samples.values, 1, random).map(Part::Forest)
            }
            Kind::Gaussian => Gaussian::fit(&plain, &samples.values, &samples.weights, scales, random)
                .map(|gaussian| Part::Gaussian(Box::new(gaussian))),
        }
    }

    fn predict(&self, row: &[f64], plain: usize) -> (f64, f64) {
        match self {
            Part::Ridge(ridge, spread) => (ridge.predict(&row[..plain]), *spread),
            Part::Forest(forest) => forest.predict(row),
            Part::Gaussian(gaussian) => gaussian.predict(&row[..plain]),
        }
    }
}

impl Model {
    /// Fits and weighs models of these kinds; none when there is too little to fit.
    pub fn fit(
        features: &Features,
        samples: &Samples,
        kinds: &[Kind],
        scales: Option<&Scales>,
        random: &mut Random,
    ) -> Option<Self> {
        if samples.values.len() < 3 || features.width == 0 {
            return None;
        }
        let mut fitted: Vec<(Kind, Part)> = Vec::new();
        for &kind in kinds {
            if let Some(part) = Part::fit(kind, features, samples, scales, random) {
                fitted.push((kind, part));
            }
        }
        let scales = fitted.iter().find_map(|(_, part)| match part {
            Part::Gaussian(gaussian) => Some(gaussian.scales.clone()),
            _ => None,
        });
        let held_out = (samples.values.len() >= FEWEST)
            .then(|| held_out(features, samples, &fitted, scales.as_ref(), random));
        let (weights, quality) = match &held_out {
            Some(predicted) => weigh(predicted, &samples.values),
            None => (vec![1.0 / fitted.len().max(1) as f64; fitted.len()], None),
        };
        let mut parts = Vec::new();
        for (i, (_, mut part)) in fitted.into_iter().enumerate() {
            if let (Part::Ridge(_, spread), Some(predicted)) = (&mut part, &held_out) {
                *spread = deviation(&predicted[i], &samples.values);
            }
            if weights[i] > 0.0 {
                parts.push((weights[i], part));
            }
        }
        (!parts.is_empty()).then_some(Self { parts, plain: features.plain, quality, scales })
    }

    /// Mean and standard deviation of the value at a row of features.
    pub fn predict(&self, row: &[f64]) -> (f64, f64) {
        let (mut mean, mut variance) = (0.0, 0.0);
        for (weight, part) in &self.parts {
            let (m, s) = part.predict(row, self.plain);
            mean += weight * m;
            variance += weight * s * s;
        }
        (mean, variance.sqrt())
    }

    /// The same for every candidate, on all cores.
    pub fn predict_all(&self, features: &Features) -> Vec<(f64, f64)> {
        (0..features.len()).into_par_iter().map(|candidate| self.predict(features.row(candidate))).collect()
    }
}

/// Predictions of each model for each sample by a fit without it.
fn held_out(
    features: &Features,
    samples: &Samples,
    fitted: &[(Kind, Part)],
    scales: Option<&Scales>,
    random: &mut Random,
) -> Vec<Vec<f64>> {
    let n = samples.values.len();
    let mut folds: Vec<usize> = (0..n).map(|i| i % FOLDS).collect();
    random.shuffle(&mut folds);
    let mut predicted = vec![vec![0.0; n]; fitted.len()];
    for fold in 0..FOLDS {
        let rest = samples.without(fold, &folds);
        let middle = rest.values.iter().sum::<f64>() / rest.values.len().max(1) as f64;
        for (i, (kind, _)) in fitted.iter().enumerate() {
            let part = Part::fit(*kind, features, &rest, scales, random);
            for sample in (0..n).filter(|&sample| folds[sample] == fold) {
                let row = features.row(samples.candidates[sample]);
                predicted[i][sample] =
                    part.as_ref().map_or(middle, |part| part.predict(row, features.plain).0);
            }
        }
    }
    predicted
}

/// The weights, in tenths, with which the held-out predictions miss least; and how well they do.
fn weigh(predicted: &[Vec<f64>], values: &[f64]) -> (Vec<f64>, Option<Quality>) {
    const STEPS: usize = 10;
    let mut best: Option<(f64, Vec<f64>, Vec<f64>)> = None;
    for tenths in shares(predicted.len(), STEPS) {
        let weights: Vec<f64> = tenths.iter().map(|&t| t as f64 / STEPS as f64).collect();
        let mixed: Vec<f64> = (0..values.len())
            .map(|i| weights.iter().zip(predicted).map(|(weight, one)| weight * one[i]).sum())
            .collect();
        let missed = squares(&mixed, values);
        if best.as_ref().is_none_or(|(least, _, _)| missed < *least) {
            best = Some((missed, weights, mixed));
        }
    }
    let Some((missed, weights, mixed)) = best else { return (Vec::new(), None) };
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let total: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let quality = (total > 0.0).then(|| Quality {
        r2: 1.0 - missed / total,
        rank_correlation: spearman(&mixed, values),
        residual_std: (missed / n).sqrt(),
        samples: values.len(),
    });
    (weights, quality)
}

/// All ways to share `steps` among `count`.
fn shares(count: usize, steps: usize) -> Vec<Vec<usize>> {
    match count {
        0 => Vec::new(),
        1 => vec![vec![steps]],
        _ => (0..=steps)
            .flat_map(|first| {
                shares(count - 1, steps - first).into_iter().map(move |mut rest| {
                    rest.insert(0, first);
                    rest
                })
            })
            .collect(),
    }
}

fn squares(predicted: &[f64], values: &[f64]) -> f64 {
    predicted.iter().zip(values).map(|(p, v)| (p - v) * (p - v)).sum()
}

fn deviation(predicted: &[f64], values: &[f64]) -> f64 {
    (squares(predicted, values) / values.len().max(1) as f64).sqrt()
}

/// Correlation of ranks; ties share theirs.
pub fn spearman(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (ranks(a), ranks(b));
    let n = a.len() as f64;
    let (mean_a, mean_b) = (a.iter().sum::<f64>() / n, b.iter().sum::<f64>() / n);
    let product: f64 = a.iter().zip(&b).map(|(x, y)| (x - mean_a) * (y - mean_b)).sum();
    let spread = |ranks: &[f64], mean: f64| ranks.iter().map(|r| (r - mean).powi(2)).sum::<f64>().sqrt();
    let both = spread(&a, mean_a) * spread(&b, mean_b);
    if both > 0.0 { product / both } else { 0.0 }
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut ranks = vec![0.0; values.len()];
    let mut at = 0;
    while at < order.len() {
        let same = order[at..].iter().take_while(|&&i| values[i] == values[order[at]]).count();
        for &i in &order[at..at + same] {
            ranks[i] = at as f64 + (same as f64 - 1.0) / 2.0;
        }
        at += same;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Space;

    fn features() -> (Space, Features) {
        let text = r#"{"A": [1,2,4,8,16,32], "B": [1,2,4,8,16,32], "C": [0,1,2,3,4], "D": [1, 2, 3]}"#;
        let space = Space::parse(text).unwrap();
        let candidates = space.candidates(0).unwrap();
        let features = Features::of(&space, &candidates);
        (space, features)
    }

    /// The original's flaw: ten samples against 27 terms always gave R² = 1.
    #[test]
    fn pure_noise_gets_no_confidence() {
        let (_, features) = features();
        for seed in 0..5 {
            let mut random = Random::new(seed);
            let candidates: Vec<usize> = (0..30).map(|_| random.below(features.len())).collect();
            let values = candidates.iter().map(|_| random.normal()).collect();
            let samples = Samples { weights: vec![1.0; 30], candidates, values };
            let kinds = [Kind::Ridge, Kind::Forest, Kind::Gaussian];
            let model = Model::fit(&features, &samples, &kinds, None, &mut random).unwrap();
            let quality = model.quality.unwrap();
            assert!(quality.r2 < 0.5, "{quality:?}");
        }
    }

    #[test]
    fn a_learnable_surface_gets_confidence() {
        let (_, features) = features();
        let mut random = Random::new(3);
        let candidates: Vec<usize> = (0..60).map(|_| random.below(features.len())).collect();
        let truth = |c: usize| {
            let row = features.plain(c);
            (row[0] - 0.6).powi(2) + row[1] * row[2] + 0.3 * row[3]
        };
        let values = candidates.iter().map(|&c| truth(c) + 0.01 * random.normal()).collect();
        let samples = Samples { weights: vec![1.0; 60], candidates, values };
        let kinds = [Kind::Ridge, Kind::Forest, Kind::Gaussian];
        let model = Model::fit(&features, &samples, &kinds, None, &mut random).unwrap();
        let quality = model.quality.clone().unwrap();
        assert!(quality.r2 > 0.9 && quality.rank_correlation > 0.9, "{quality:?}");
        let all = model.predict_all(&features);
        let missed = (0..features.len()).map(|c| (all[c].0 - truth(c)).powi(2)).sum::<f64>();
        assert!((missed / features.len() as f64).sqrt() < 0.1);
    }

    #[test]
    fn ranks_share_ties_and_shares_are_complete() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0]), [1.5, 0.0, 1.5]);
        assert!((spearman(&[1.0, 2.0, 3.0], &[10.0, 20.0, 40.0]) - 1.0).abs() < 1e-12);
        assert!((spearman(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]) + 1.0).abs() < 1e-12);
        assert_eq!(shares(3, 10).len(), 66);
        assert!(shares(3, 10).iter().all(|s| s.iter().sum::<usize>() == 10));
    }
}
