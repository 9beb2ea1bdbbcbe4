//! The model behind predictions: a quadratic, a forest and Gaussian processes, weighted by how well each predicts
//! held-out values. Quality is always measured on held-out values: leave-one-out for the quadratic and the processes
//! (with length scales fitted to all samples), a fifth held out per tree for the forest.

use rayon::prelude::*;

use super::features::Features;
use super::forest::Forest;
use super::gaussian::{Gaussian, Scales, Smoothness};
use super::ridge::Ridge;
use stats::random::Random;

/// Fewer samples than this cannot be held out.
pub const FEWEST: usize = 6;

/// A kind of regression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regressor {
    /// A quadratic with shrinkage.
    Ridge,
    /// Randomised trees.
    Forest,
    /// A smooth Gaussian process.
    Smooth,
    /// A Gaussian process with cliffs.
    Steep,
}

/// Measurements as the model sees them: logarithms if the metric allows, lower is better.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Candidate of each sample.
    pub candidates: Vec<usize>,
    /// Its value.
    pub values: Vec<f64>,
    /// Number of its measurements.
    pub weights: Vec<f64>,
}

/// How well a model predicts configurations that it was not fitted to.
#[derive(Clone, Debug, PartialEq)]
pub struct Quality {
    /// Share of the variance that predictions explain; negative if the mean alone predicts better.
    pub r2: f64,
    /// Spearman's correlation of predicted and measured ranks.
    pub rank_correlation: f64,
    /// Standard deviation of the residuals.
    pub residual_std: f64,
    /// Number of samples.
    pub samples: usize,
}

/// The fitted models and their weights.
#[derive(Clone, Debug)]
pub struct Model {
    parts: Vec<(f64, Fitted)>,
    /// Quality on held-out values; `None` for fewer than [`FEWEST`] samples.
    pub quality: Option<Quality>,
    /// Scales of the Gaussian processes, as a start for the next fit.
    pub scales: Vec<(Regressor, Scales)>,
}

#[derive(Clone, Debug)]
enum Fitted {
    /// With the spread of its errors.
    Ridge(Ridge, f64),
    Forest(Forest),
    Gaussian(Regressor, Box<Gaussian>),
}

impl Fitted {
    fn fit(
        kind: Regressor,
        features: &Features,
        samples: &Samples,
        scales: &[(Regressor, Scales)],
        random: &mut Random,
    ) -> Option<Self> {
        match kind {
            Regressor::Ridge => {
                let plain: Vec<&[f64]> = samples.candidates.iter().map(|&c| features.plain(c)).collect();
                let ridge = Ridge::fit(&plain, &samples.values)?;
                let spread = (squares(&ridge.held_out, &samples.values) / samples.values.len() as f64).sqrt();
                Some(Fitted::Ridge(ridge, spread))
            }
            Regressor::Forest => {
                let rows: Vec<&[f64]> = samples.candidates.iter().map(|&c| features.row(c)).collect();
                Forest::fit(&rows, &samples.values, 1, random).map(Fitted::Forest)
            }
            Regressor::Smooth | Regressor::Steep => {
                let smoothness =
                    if kind == Regressor::Smooth { Smoothness::Smooth } else { Smoothness::Steep };
                let start = scales.iter().find(|(other, _)| *other == kind).map(|(_, scales)| scales);
                let gaussian = Gaussian::fit(smoothness, features, samples, start, random)?;
                Some(Fitted::Gaussian(kind, Box::new(gaussian)))
            }
        }
    }

    fn held_out(&self) -> &[f64] {
        match self {
            Fitted::Ridge(ridge, _) => &ridge.held_out,
            Fitted::Forest(forest) => &forest.held_out,
            Fitted::Gaussian(_, gaussian) => &gaussian.held_out,
        }
    }

    fn predict(&self, features: &Features, candidate: usize) -> (f64, f64) {
        match self {
            Fitted::Ridge(ridge, spread) => (ridge.predict(features.plain(candidate)), *spread),
            Fitted::Forest(forest) => forest.predict(features.row(candidate)),
            Fitted::Gaussian(_, gaussian) => gaussian.predict(features, candidate),
        }
    }
}

impl Model {
    /// Fits and weights models of these kinds; `None` if there is too little to fit.
    pub fn fit(
        features: &Features,
        samples: &Samples,
        kinds: &[Regressor],
        scales: &[(Regressor, Scales)],
        random: &mut Random,
    ) -> Option<Self> {
        if samples.values.len() < 3 || features.width == 0 {
            return None;
        }
        let fitted: Vec<Fitted> =
            kinds.iter().filter_map(|&kind| Fitted::fit(kind, features, samples, scales, random)).collect();
        let scales = fitted.iter().filter_map(|part| match part {
            Fitted::Gaussian(kind, gaussian) => Some((*kind, gaussian.scales.clone())),
            _ => None,
        });
        let scales = scales.collect();
        let (weights, quality) = if samples.values.len() >= FEWEST {
            let predicted: Vec<&[f64]> = fitted.iter().map(Fitted::held_out).collect();
            weigh(&predicted, &samples.values)
        } else {
            (vec![1.0 / fitted.len().max(1) as f64; fitted.len()], None)
        };
        let parts: Vec<(f64, Fitted)> =
            weights.into_iter().zip(fitted).filter(|(weight, _)| *weight > 0.0).collect();
        (!parts.is_empty()).then_some(Self { parts, quality, scales })
    }

    /// Mean and standard deviation of a candidate's value.
    pub fn predict(&self, features: &Features, candidate: usize) -> (f64, f64) {
        let predicted = self.parts.iter().map(|(weight, part)| (*weight, part.predict(features, candidate)));
        let (mut mean, mut square) = (0.0, 0.0);
        for (weight, (m, s)) in predicted {
            mean += weight * m;
            square += weight * (s * s + m * m);
        }
        // The spread within the models and between them.
        (mean, (square - mean * mean).max(1e-18).sqrt())
    }

    /// Predictions for every candidate, on all cores.
    pub fn predict_all(&self, features: &Features) -> Vec<(f64, f64)> {
        (0..features.len()).into_par_iter().map(|candidate| self.predict(features, candidate)).collect()
    }
}

/// The weights, in tenths, that minimise the error of held-out predictions; and their quality.
fn weigh(predicted: &[&[f64]], values: &[f64]) -> (Vec<f64>, Option<Quality>) {
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

/// All ways to distribute `steps` among `count`.
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

/// Rank correlation; ties share their rank.
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

    /// A flaw of the original: ten samples against 27 terms always gave R² = 1.
    #[test]
    fn pure_noise_gets_no_confidence() {
        let (_, features) = features();
        for seed in 0..5 {
            let mut random = Random::new(seed);
            let candidates: Vec<usize> = (0..30).map(|_| random.below(features.len())).collect();
            let values = candidates.iter().map(|_| random.normal()).collect();
            let samples = Samples { weights: vec![1.0; 30], candidates, values };
            let kinds = [Regressor::Ridge, Regressor::Forest, Regressor::Smooth, Regressor::Steep];
            let model = Model::fit(&features, &samples, &kinds, &[], &mut random).unwrap();
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
        let kinds = [Regressor::Ridge, Regressor::Forest, Regressor::Smooth, Regressor::Steep];
        let model = Model::fit(&features, &samples, &kinds, &[], &mut random).unwrap();
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
