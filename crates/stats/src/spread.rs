//! How much a kernel differs from run to run, stabilised by how much other kernels do.
//!
//! The spread of one kernel over a few runs is a poor estimate. Kernels are alike in how much more they
//! differ between runs than their calls explain; what they share is a prior for each (empirical Bayes as in
//! Smyth 2004, "Linear models and empirical Bayes methods for assessing differential expression").

use crate::bootstrap::Point;
use crate::gamma::{digamma, trigamma, trigamma_inverse};

/// More degrees of freedom than this make no difference.
const ENDLESS: f64 = 1e6;

/// What the runs show about one kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Variance of a run that its calls explain, as a share of the squared mean.
    explained: f64,
    /// The variance between runs, as a multiple of that.
    excess: f64,
    freedom: f64,
}

impl Spread {
    /// From the values of a kernel in the runs of both sides; `None` if calls or runs show no variance.
    pub fn of(base: &[Point], candidate: &[Point]) -> Option<Self> {
        let (mut seen, mut explained, mut freedom, mut runs) = (0.0, 0.0, 0.0, 0.0);
        for side in [base, candidate] {
            let n = side.len() as f64;
            let mean = side.iter().map(|point| point.value).sum::<f64>() / n;
            if mean <= 0.0 {
                return None;
            }
            seen += side.iter().map(|point| (point.value / mean - 1.0).powi(2)).sum::<f64>();
            explained += side.iter().map(|point| point.variance).sum::<f64>() / (mean * mean);
            freedom += n - 1.0;
            runs += n;
        }
        let explained = explained / runs;
        (freedom > 0.0 && explained > 0.0).then(|| Self {
            explained,
            excess: seen / freedom / explained,
            freedom,
        })
    }
}

/// What the kernels share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    excess: f64,
    freedom: f64,
}

impl Prior {
    /// Fits the prior to the spreads of at least `least` kernels: moments of their logarithms.
    pub fn of(spreads: &[Spread], least: usize) -> Option<Self> {
        let usable: Vec<&Spread> = spreads.iter().filter(|spread| spread.excess > 0.0).collect();
        let n = usable.len() as f64;
        if usable.len() < least {
            return None;
        }
        let level = |s: &&&Spread| s.excess.ln() - digamma(s.freedom / 2.0) + (s.freedom / 2.0).ln();
        let levels: Vec<f64> = usable.iter().map(|s| level(&s)).collect();
        let mean = levels.iter().sum::<f64>() / n;
        let variance = levels.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let by_chance = usable.iter().map(|s| trigamma(s.freedom / 2.0)).sum::<f64>() / n;
        if variance <= by_chance {
            return Some(Self { excess: mean.exp(), freedom: ENDLESS });
        }
        let freedom = (2.0 * trigamma_inverse(variance - by_chance)).min(ENDLESS);
        let excess = (mean + digamma(freedom / 2.0) - (freedom / 2.0).ln()).exp();
        Some(Self { excess, freedom })
    }

    /// Relative variance of one run of a kernel, and its degrees of freedom. Runs differ at least as much as
    /// their calls imply.
    pub fn steadied(&self, spread: &Spread) -> (f64, f64) {
        let freedom = self.freedom + spread.freedom;
        let excess = (self.freedom * self.excess + spread.freedom * spread.excess) / freedom;
        (spread.explained * excess.max(1.0), freedom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(excess: f64) -> Spread {
        Spread { explained: 1e-6, excess, freedom: 8.0 }
    }

    #[test]
    fn alike_kernels_steady_each_other_and_unlike_ones_do_not() {
        let alike: Vec<Spread> = (0..40).map(|i| spread(1.5 + 0.02 * f64::from(i % 10))).collect();
        let prior = Prior::of(&alike, 5).unwrap();
        assert_eq!(prior.freedom, ENDLESS);
        let (variance, freedom) = prior.steadied(&spread(0.2));
        assert!(freedom > 1e5 && variance > 1.4e-6 && variance < 2.2e-6, "{variance}");
        let unlike: Vec<Spread> = (0..40).map(|i| spread(10f64.powi(i % 5))).collect();
        let prior = Prior::of(&unlike, 5).unwrap();
        assert!(prior.freedom < 2.0, "{prior:?}");
        let (variance, _) = prior.steadied(&spread(1000.0));
        assert!(variance > 0.7e-3, "its own spread counts: {variance}");
        assert_eq!(Prior::of(&alike[..4], 5), None);
        assert!(Prior::of(&alike, 5).unwrap().steadied(&spread(1e-9)).0 >= 1e-6);
    }
}
