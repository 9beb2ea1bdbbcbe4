//! A Gaussian process over configurations. Its kernel has smooth terms for single parameters, pairs and all parameters,
//! a rough term for pairs of values, and a noise term per configuration.

use super::cholesky::{Cholesky, dot};
use super::features::{Axis, Features};
use super::model::Samples;
use stats::random::Random;

/// Bounds of the length scales, in units of the axis.
const LENGTHS: (f64, f64) = (0.05, 10.0);
/// Priors of the scales after the lengths, as (mean, standard deviation) of the logarithm: shares of the
/// alone, pair and rough parts relative to the joint part, per-configuration deviation and noise relative to
/// the signal.
const SHARES: [(f64, f64); 5] = [(-1.0, 1.5), (-0.5, 1.5), (-3.5, 1.0), (-4.5, 1.0), (-4.5, 1.5)];
const ALONE: usize = 0;
const PAIR: usize = 1;
const ROUGH: usize = 2;
const LUCK: usize = 3;
const NOISE: usize = 4;
/// Prior mean of the logarithms of lengths.
const USUAL_LENGTH: f64 = -0.5;

/// Scales to try for a fit that begins at those of the previous fit.
const TRIES: usize = 40;

/// Logarithms of length scales, then of shares.
#[derive(Clone, Debug)]
pub struct Scales(Vec<f64>);

impl Scales {
    fn usual(axes: usize) -> Self {
        let mut logs = vec![USUAL_LENGTH; axes];
        logs.extend(SHARES.map(|(middle, _)| middle));
        Self(logs)
    }

    /// The prior, as a logarithm.
    fn prior(&self) -> f64 {
        let (lengths, shares) = self.0.split_at(self.0.len() - SHARES.len());
        let far = |value: f64, middle: f64, spread: f64| ((value - middle) / spread).powi(2);
        let lengths: f64 = lengths.iter().map(|log| far(*log, USUAL_LENGTH, 1.2)).sum();
        let shares: f64 =
            shares.iter().zip(SHARES).map(|(log, (middle, spread))| far(*log, middle, spread)).sum();
        -0.5 * (lengths + shares)
    }

    fn step(&self, reach: f64, random: &mut Random) -> Self {
        let mut next = self.clone();
        for _ in 0..1 + random.below(3) {
            let at = random.below(next.0.len());
            next.0[at] += reach * random.normal();
            if at < next.0.len() - SHARES.len() {
                next.0[at] = next.0[at].clamp(LENGTHS.0.ln(), LENGTHS.1.ln());
            } else {
                next.0[at] = next.0[at].clamp(-10.0, 3.0);
            }
        }
        next
    }
}

/// How similar neighbours are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Smoothness {
    /// Twice differentiable (Matérn 5/2): valleys.
    Smooth,
    /// Not differentiable (Matérn 1/2): cliffs.
    Steep,
}

impl Smoothness {
    fn near(self, distance: f64) -> f64 {
        match self {
            Smoothness::Smooth => {
                let d = 5f64.sqrt() * distance;
                (1.0 + d + d * d / 3.0) * (-d).exp()
            }
            Smoothness::Steep => (-distance).exp(),
        }
    }
}

/// The covariance of two configurations, computed for given scales.
#[derive(Clone, Debug)]
struct Kernel {
    /// By axis and by distance.
    near: Vec<Vec<f64>>,
    alone: f64,
    pair: f64,
    all: f64,
    rough: f64,
    luck: f64,
    noise: f64,
}

impl Kernel {
    fn new(smoothness: Smoothness, axes: &[Axis], scales: &Scales) -> Self {
        let (lengths, shares) = scales.0.split_at(axes.len());
        let near = axes.iter().zip(lengths).map(|(axis, log)| {
            let inverse = (-log).exp();
            (0..axis.places).map(|apart| smoothness.near(axis.distance(apart) * inverse)).collect()
        });
        let d = axes.len() as f64;
        let pairs = (d * (d - 1.0) / 2.0).max(1.0);
        let share = |at: usize| shares[at].exp();
        let total = 1.0 + share(ALONE) + share(PAIR) + share(ROUGH);
        Self {
            near: near.collect(),
            alone: share(ALONE) / total / d.max(1.0),
            pair: share(PAIR) / total / pairs,
            all: 1.0 / total,
            rough: share(ROUGH) / total / pairs,
            luck: share(LUCK),
            noise: share(NOISE),
        }
    }

    fn of(&self, a: &[u16], b: &[u16]) -> f64 {
        let (mut alone, mut pair, mut all, mut same) = (0.0, 0.0, 1.0, 0.0);
        let mut rough = 0.0;
        for ((near, a), b) in self.near.iter().zip(a).zip(b) {
            let one = near[usize::from(a.abs_diff(*b))];
            pair += one * alone;
            alone += one;
            all *= one;
            let equal = f64::from(u8::from(a == b));
            rough += equal * same;
            same += equal;
        }
        self.alone * alone + self.pair * pair + self.all * all + self.rough * rough
    }

    /// Covariance of a configuration with itself, without luck and noise.
    fn itself(&self) -> f64 {
        let d = self.near.len() as f64;
        self.alone * d + (self.pair + self.rough) * d * (d - 1.0) / 2.0 + self.all
    }
}

/// The fitted process.
#[derive(Clone, Debug)]
pub struct Gaussian {
    kernel: Kernel,
    axes: usize,
    /// Positions of the samples, one after the other.
    places: Vec<u16>,
    candidates: Vec<usize>,
    dual: Vec<f64>,
    factor: Cholesky,
    middle: f64,
    /// Variance of the signal.
    signal: f64,
    /// Prediction for each sample from all others.
    pub held_out: Vec<f64>,
    /// The fitted scales; a start for the next fit.
    pub scales: Scales,
}

impl Gaussian {
    /// Fits by maximum likelihood with a prior, starting from `start` or from the usual scales.
    pub fn fit(
        smoothness: Smoothness,
        features: &Features,
        samples: &Samples,
        start: Option<&Scales>,
        random: &mut Random,
    ) -> Option<Self> {
        let n = samples.values.len();
        if n < 3 {
            return None;
        }
        let axes = features.axes.len();
        let middle = samples.values.iter().sum::<f64>() / n as f64;
        let centred: Vec<f64> = samples.values.iter().map(|value| value - middle).collect();
        let places: Vec<u16> = samples.candidates.iter().flat_map(|&c| features.places(c)).copied().collect();
        let problem = Problem {
            smoothness,
            axes: &features.axes,
            places: &places,
            values: &centred,
            weights: &samples.weights,
        };
        let known = start.filter(|scales| scales.0.len() == axes + SHARES.len());
        let mut best = known.cloned().unwrap_or_else(|| Scales::usual(axes));
        let mut score = problem.score(&best);
        let (tries, mut reach) = if known.is_some() { (TRIES, 0.6) } else { (4 * TRIES, 1.2) };
        // Steps along a few axes at a time, shorter and shorter.
        for _ in 0..tries {
            let next = best.step(reach, random);
            let found = problem.score(&next);
            if found > score {
                (best, score) = (next, found);
            }
            reach = (reach * 0.985).max(0.25);
        }
        let kernel = Kernel::new(smoothness, &features.axes, &best);
        let factor = Cholesky::of(problem.covariance(&kernel), n)?;
        let dual = factor.solve(&centred);
        let signal = (dot(&centred, &dual) / n as f64).max(1e-12);
        let inverse = factor.inverse_diagonal();
        let held_out = (0..n).map(|i| samples.values[i] - dual[i] / inverse[i]).collect();
        let candidates = samples.candidates.clone();
        Some(Self { kernel, axes, places, candidates, dual, factor, middle, signal, held_out, scales: best })
    }

    /// Mean and standard deviation of a candidate's true value, without the noise of a run.
    pub fn predict(&self, features: &Features, candidate: usize) -> (f64, f64) {
        let at = features.places(candidate);
        let mut near: Vec<f64> =
            self.places.chunks_exact(self.axes).map(|other| self.kernel.of(at, other)).collect();
        for (near, sample) in near.iter_mut().zip(&self.candidates) {
            if *sample == candidate {
                *near += self.kernel.luck;
            }
        }
        let mean = self.middle + dot(&near, &self.dual);
        self.factor.forward(&mut near);
        let left = self.kernel.itself() + self.kernel.luck - dot(&near, &near);
        (mean, (self.signal * left.max(1e-9)).sqrt())
    }
}

struct Problem<'a> {
    smoothness: Smoothness,
    axes: &'a [Axis],
    places: &'a [u16],
    values: &'a [f64],
    weights: &'a [f64],
}

impl Problem<'_> {
    fn covariance(&self, kernel: &Kernel) -> Vec<f64> {
        let n = self.values.len();
        let mut matrix = vec![0.0; n * n];
        let diagonal = kernel.itself() + kernel.luck + 1e-6;
        let rows: Vec<&[u16]> = self.places.chunks_exact(self.axes.len().max(1)).collect();
        for i in 0..n {
            for j in 0..i {
                matrix[i * n + j] = kernel.of(rows[i], rows[j]);
            }
            matrix[i * n + i] = diagonal + kernel.noise / self.weights[i];
        }
        matrix
    }

    /// Log likelihood with the signal's variance at its best, and the prior.
    fn score(&self, scales: &Scales) -> f64 {
        let n = self.values.len();
        let covariance = self.covariance(&Kernel::new(self.smoothness, self.axes, scales));
        let Some(factor) = Cholesky::of(covariance, n) else { return f64::NEG_INFINITY };
        let mut white = self.values.to_vec();
        factor.forward(&mut white);
        let variance = (dot(&white, &white) / n as f64).max(1e-12);
        -0.5 * (n as f64 * variance.ln() + factor.log_determinant()) + scales.prior()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Space;

    fn features(text: &str) -> Features {
        let space = Space::parse(text).unwrap();
        Features::of(&space, &space.candidates(0).unwrap())
    }

    fn samples(features: &Features, n: usize, truth: impl Fn(&[f64]) -> f64, random: &mut Random) -> Samples {
        let mut all: Vec<usize> = (0..features.len()).collect();
        random.shuffle(&mut all);
        all.truncate(n);
        let values = all.iter().map(|&c| truth(features.plain(c))).collect();
        Samples { weights: vec![1.0; n], candidates: all, values }
    }

    #[test]
    fn interpolates_a_smooth_surface_and_knows_where_it_knows_nothing() {
        let features = features(r#"{"A": {"range": [0, 30]}, "B": {"range": [0, 30]}}"#);
        let mut random = Random::new(4);
        let truth = |r: &[f64]| (4.0 * r[0]).sin() + r[0] * r[1];
        let known = samples(&features, 60, truth, &mut random);
        let fitted = Gaussian::fit(Smoothness::Smooth, &features, &known, None, &mut random).unwrap();
        let mut spreads = Vec::new();
        for candidate in 0..features.len() {
            let (mean, spread) = fitted.predict(&features, candidate);
            assert!((mean - truth(features.plain(candidate))).abs() < 0.15, "{candidate} {mean} {spread}");
            spreads.push(spread);
        }
        let at_samples = known.candidates.iter().map(|&c| spreads[c]).fold(0.0, f64::max);
        assert!(spreads.iter().copied().fold(0.0, f64::max) > 2.0 * at_samples, "{at_samples}");
    }

    /// Compares the formula that avoids refitting with real refits.
    #[test]
    fn held_out_values_are_those_of_fits_without_the_sample() {
        let features = features(r#"{"A": {"range": [0, 9]}, "B": [1, 2, 4, 8], "word": ["x", "y", "z"]}"#);
        let mut random = Random::new(7);
        let known = samples(&features, 25, |r| r[0] * r[1] + 0.3 * r[2], &mut random);
        for smoothness in [Smoothness::Smooth, Smoothness::Steep] {
            let fitted = Gaussian::fit(smoothness, &features, &known, None, &mut random).unwrap();
            let middle = known.values.iter().sum::<f64>() / 25.0;
            let kernel = Kernel::new(smoothness, &features.axes, &fitted.scales);
            for out in 0..25 {
                let rest: Vec<usize> = (0..25).filter(|&i| i != out).collect();
                let places: Vec<u16> =
                    rest.iter().flat_map(|&i| features.places(known.candidates[i])).copied().collect();
                let values: Vec<f64> = rest.iter().map(|&i| known.values[i] - middle).collect();
                let problem = Problem {
                    smoothness,
                    axes: &features.axes,
                    places: &places,
                    values: &values,
                    weights: &[1.0; 24],
                };
                let dual = Cholesky::of(problem.covariance(&kernel), 24).unwrap().solve(&values);
                let at = features.places(known.candidates[out]);
                let near = places.chunks_exact(3).map(|other| kernel.of(at, other));
                let expected = middle + near.zip(&dual).map(|(near, dual)| near * dual).sum::<f64>();
                assert!((fitted.held_out[out] - expected).abs() < 1e-6, "{out}");
            }
        }
    }
}
