//! A Gaussian process with a Matérn 5/2 kernel and a length scale for every feature.

use super::cholesky::Cholesky;
use crate::random::Random;

/// Length scales tried are between these, in units of the feature's range.
const SHORTEST: f64 = 0.08;
const LONGEST: f64 = 8.0;
/// Noise tried is between these shares of the signal's variance.
const QUIETEST: f64 = 1e-5;
const LOUDEST: f64 = 0.5;

/// Length scales and noise.
#[derive(Clone, Debug)]
pub struct Scales {
    /// Natural logarithms of the length scales, then of the noise as a share of the signal.
    logs: Vec<f64>,
}

/// The fitted process.
#[derive(Clone, Debug)]
pub struct Gaussian {
    rows: Vec<Vec<f64>>,
    inverse: Vec<f64>,
    dual: Vec<f64>,
    factor: Cholesky,
    middle: f64,
    signal: f64,
    /// As found; a start for the next fit.
    pub scales: Scales,
}

impl Gaussian {
    /// Fits by maximum likelihood with a weak prior, from `start` or from nothing.
    ///
    /// `weights` counts the measurements behind each value: the mean of three is less noisy than one.
    pub fn fit(
        rows: &[&[f64]],
        values: &[f64],
        weights: &[f64],
        start: Option<&Scales>,
        random: &mut Random,
    ) -> Option<Self> {
        let n = rows.len();
        if n < 3 {
            return None;
        }
        let middle = values.iter().sum::<f64>() / n as f64;
        let centred: Vec<f64> = values.iter().map(|value| value - middle).collect();
        let problem = Problem::new(rows, &centred, weights);
        let width = rows[0].len();
        let known = start.filter(|scales| scales.logs.len() == width + 1);
        let mut best = match known {
            Some(scales) => scales.logs.clone(),
            None => {
                let mut logs = vec![0.0; width];
                logs.push(0.01f64.ln());
                logs
            }
        };
        let mut score = problem.score(&best);
        let (tries, mut reach) = if known.is_some() { (40, 0.5) } else { (40 + 25 * width, 1.5) };
        // Steps along one or two axes at a time, shorter and shorter.
        for attempt in 0..tries {
            let mut next = best.clone();
            for _ in 0..1 + attempt % 2 {
                let axis = random.below(next.len());
                next[axis] += reach * random.normal();
                let (least, most) = if axis == width { (QUIETEST, LOUDEST) } else { (SHORTEST, LONGEST) };
                next[axis] = next[axis].clamp(least.ln(), most.ln());
            }
            let found = problem.score(&next);
            if found > score {
                (best, score) = (next, found);
            }
            reach = (reach * 0.99).max(0.2);
        }
        let factor = Cholesky::of(problem.covariance(&best), n)?;
        let dual = factor.solve(&centred);
        let signal = centred.iter().zip(&dual).map(|(y, a)| y * a).sum::<f64>() / n as f64;
        Some(Self {
            rows: rows.iter().map(|row| row.to_vec()).collect(),
            inverse: best[..width].iter().map(|log| (-2.0 * log).exp()).collect(),
            dual,
            factor,
            middle,
            signal: signal.max(1e-12),
            scales: Scales { logs: best },
        })
    }

    /// Mean and standard deviation of the noiseless value.
    pub fn predict(&self, row: &[f64]) -> (f64, f64) {
        let mut near: Vec<f64> =
            self.rows.iter().map(|other| matern(distance(row, other, &self.inverse))).collect();
        let mean = self.middle + near.iter().zip(&self.dual).map(|(k, a)| k * a).sum::<f64>();
        self.factor.forward(&mut near);
        let explained: f64 = near.iter().map(|x| x * x).sum();
        (mean, (self.signal * (1.0 - explained).max(1e-9)).sqrt())
    }
}

struct Problem<'a> {
    n: usize,
    width: usize,
    /// Squared differences of every pair, by feature.
    differences: Vec<f64>,
    values: &'a [f64],
    weights: &'a [f64],
}

impl<'a> Problem<'a> {
    fn new(rows: &[&[f64]], values: &'a [f64], weights: &'a [f64]) -> Self {
        let (n, width) = (rows.len(), rows[0].len());
        let mut differences = Vec::with_capacity(n * (n - 1) / 2 * width);
        for i in 0..n {
            for j in 0..i {
                differences.extend(rows[i].iter().zip(rows[j]).map(|(a, b)| (a - b) * (a - b)));
            }
        }
        Self { n, width, differences, values, weights }
    }

    fn covariance(&self, logs: &[f64]) -> Vec<f64> {
        let inverse: Vec<f64> = logs[..self.width].iter().map(|log| (-2.0 * log).exp()).collect();
        let noise = logs[self.width].exp();
        let mut matrix = vec![0.0; self.n * self.n];
        let mut pairs = self.differences.chunks_exact(self.width);
        for i in 0..self.n {
            for j in 0..i {
                let pair = pairs.next().unwrap_or(&[]);
                let squared: f64 = pair.iter().zip(&inverse).map(|(d, s)| d * s).sum();
                matrix[i * self.n + j] = matern(squared.sqrt());
            }
            matrix[i * self.n + i] = 1.0 + noise / self.weights[i] + 1e-6;
        }
        matrix
    }

    /// Log likelihood with the signal's variance at its best, and a prior on the scales.
    fn score(&self, logs: &[f64]) -> f64 {
        let Some(factor) = Cholesky::of(self.covariance(logs), self.n) else { return f64::NEG_INFINITY };
        let mut white = self.values.to_vec();
        factor.forward(&mut white);
        let n = self.n as f64;
        let variance = (white.iter().map(|x| x * x).sum::<f64>() / n).max(1e-12);
        let prior: f64 = logs[..self.width].iter().map(|log| (log / 1.5).powi(2)).sum::<f64>()
            + ((logs[self.width] - 0.01f64.ln()) / 2.0).powi(2);
        -0.5 * (n * variance.ln() + factor.log_determinant() + prior)
    }
}

fn distance(a: &[f64], b: &[f64], inverse: &[f64]) -> f64 {
    a.iter().zip(b).zip(inverse).map(|((a, b), s)| (a - b) * (a - b) * s).sum::<f64>().sqrt()
}

fn matern(distance: f64) -> f64 {
    let d = 5f64.sqrt() * distance;
    (1.0 + d + d * d / 3.0) * (-d).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolates_a_smooth_surface_and_knows_where_it_knows_nothing() {
        let mut random = Random::new(4);
        let rows: Vec<Vec<f64>> = (0..50).map(|_| vec![random.unit() * 0.7, random.unit()]).collect();
        let truth = |r: &[f64]| (4.0 * r[0]).sin() + r[0] * r[1];
        let values: Vec<f64> = rows.iter().map(|r| truth(r)).collect();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let fitted = Gaussian::fit(&rows, &values, &[1.0; 50], None, &mut random).unwrap();
        for _ in 0..40 {
            let row = [random.unit() * 0.65, 0.05 + 0.9 * random.unit()];
            let (mean, _) = fitted.predict(&row);
            assert!((mean - truth(&row)).abs() < 0.05, "{row:?} {mean}");
        }
        let (known, unknown) = (fitted.predict(rows[0]).1, fitted.predict(&[3.0, 3.0]).1);
        assert!(unknown > 5.0 * known, "{known} {unknown}");
    }
}
