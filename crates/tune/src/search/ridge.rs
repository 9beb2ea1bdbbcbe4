//! Ridge regression on quadratic features; leave-one-out error chooses the shrinkage.

use super::cholesky::{Cholesky, dot};

/// Candidates for the shrinkage, relative to the number of samples.
const SHRINKAGES: [f64; 7] = [1e-4, 1e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0];

/// Coefficients of the quadratic.
#[derive(Clone, Debug)]
pub struct Ridge {
    weights: Vec<f64>,
    middle: f64,
    /// Prediction for each sample from all others.
    pub held_out: Vec<f64>,
}

impl Ridge {
    /// Fits the rows of features to their values; `None` for fewer than three.
    pub fn fit(rows: &[&[f64]], values: &[f64]) -> Option<Self> {
        if rows.len() < 3 {
            return None;
        }
        let middle = values.iter().sum::<f64>() / values.len() as f64;
        let centred: Vec<f64> = values.iter().map(|value| value - middle).collect();
        let terms: Vec<Vec<f64>> = rows.iter().map(|row| terms(row)).collect();
        // In the samples' space: as small as the number of samples, however many terms there are.
        let n = rows.len();
        let mut gram = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                let product = dot(&terms[i], &terms[j]);
                gram[i * n + j] = product;
                gram[j * n + i] = product;
            }
        }
        let mut best: Option<(f64, Vec<f64>, Vec<f64>)> = None;
        for shrinkage in SHRINKAGES {
            let mut shrunk = gram.clone();
            (0..n).for_each(|i| shrunk[i * n + i] += shrinkage * n as f64);
            let Some(factor) = Cholesky::of(shrunk, n) else { continue };
            let dual = factor.solve(&centred);
            // The prediction error if sample i is left out: dual_i / (inverse)_ii.
            let inverse = factor.inverse_diagonal();
            let missed: Vec<f64> = dual.iter().zip(&inverse).map(|(dual, inverse)| dual / inverse).collect();
            let squares = dot(&missed, &missed);
            if best.as_ref().is_none_or(|(least, _, _)| squares < *least) {
                best = Some((squares, dual, missed));
            }
        }
        let (_, dual, missed) = best?;
        let held_out = values.iter().zip(&missed).map(|(value, missed)| value - missed).collect();
        let mut weights = vec![0.0; terms[0].len()];
        for (term, weight) in terms.iter().zip(&dual) {
            weights.iter_mut().zip(term).for_each(|(sum, x)| *sum += weight * x);
        }
        Some(Self { weights, middle, held_out })
    }

    /// The predicted value.
    pub fn predict(&self, row: &[f64]) -> f64 {
        let mut sum = self.middle + self.weights[0];
        let mut at = 1;
        for i in 0..row.len() {
            sum += self.weights[at] * row[i];
            at += 1;
            for other in &row[i..] {
                sum += self.weights[at] * row[i] * other;
                at += 1;
            }
        }
        sum
    }
}

/// 1, every feature, every product of two.
fn terms(row: &[f64]) -> Vec<f64> {
    let mut terms = vec![1.0];
    for i in 0..row.len() {
        terms.push(row[i]);
        terms.extend(row[i..].iter().map(|other| row[i] * other));
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::random::Random;

    #[test]
    fn finds_a_quadratic() {
        let mut random = Random::new(5);
        let rows: Vec<Vec<f64>> = (0..60).map(|_| (0..3).map(|_| random.unit()).collect()).collect();
        let truth = |r: &[f64]| 2.0 + r[0] - 3.0 * r[1] * r[2] + 0.5 * r[2] * r[2];
        let values: Vec<f64> = rows.iter().map(|r| truth(r)).collect();
        let fitted = Ridge::fit(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), &values).unwrap();
        for _ in 0..50 {
            let row: Vec<f64> = (0..3).map(|_| random.unit()).collect();
            assert!((fitted.predict(&row) - truth(&row)).abs() < 0.05, "{row:?}");
        }
    }
}
