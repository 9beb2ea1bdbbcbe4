//! The effect estimated from pairs of runs: the trimmed mean of log(base/candidate) with Yuen's interval, so
//! that one disturbed run does not decide.

use serde_json::{Value as Json, json};
use stats::student;

/// Share of pairs cut off at each end.
const TRIM: f64 = 0.2;

/// An estimated effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Speed-up as a factor: base over candidate.
    pub speedup: f64,
    /// Bounds of the speed-up.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Number of pairs.
    pub pairs: usize,
    /// Standard error of the logarithm.
    standard_error: f64,
    /// Its degrees of freedom.
    freedom: f64,
}

impl Estimate {
    /// The probability of an effect this large or larger if the true speed-up is at most `asked`.
    pub fn chance_of_luck(&self, asked: f64) -> f64 {
        let beyond = self.speedup.ln() - asked.ln();
        if self.standard_error == 0.0 || self.freedom < 1.0 {
            return if beyond > 0.0 && self.freedom >= 1.0 { 0.0 } else { 1.0 };
        }
        let both = student::two_sided((beyond / self.standard_error).abs(), self.freedom);
        if beyond > 0.0 { both / 2.0 } else { 1.0 - both / 2.0 }
    }

    /// The distance from no effect, as a share.
    pub fn seen(&self) -> f64 {
        self.speedup.ln().abs().exp() - 1.0
    }

    /// The distance of the interval from no effect; 0 if it contains no effect.
    pub fn certain(&self) -> f64 {
        let nearest = if self.low > 1.0 { self.low } else { 1.0 / self.high };
        (nearest - 1.0).max(0.0)
    }

    /// JSON for the audit.
    pub fn to_json(&self) -> Json {
        json!({ "speedup": self.speedup, "low": self.low, "high": self.high, "pairs": self.pairs })
    }
}

/// Trimmed mean of the log ratios with Yuen's interval; `error` is the probability of being above the upper
/// bound, and that of being below the lower one.
pub fn estimate(pairs: impl Iterator<Item = (f64, f64)>, error: f64) -> Estimate {
    let mut ratios: Vec<f64> = pairs.map(|(base, candidate)| (base / candidate).ln()).collect();
    ratios.retain(|ratio| ratio.is_finite());
    ratios.sort_by(f64::total_cmp);
    let n = ratios.len();
    if n < 3 {
        let (low, high) = (0.0, f64::INFINITY);
        return Estimate { speedup: 1.0, low, high, pairs: n, standard_error: 0.0, freedom: 0.0 };
    }
    let cut = (n as f64 * TRIM) as usize;
    let kept = &ratios[cut..n - cut];
    let middle = kept.iter().sum::<f64>() / kept.len() as f64;
    // Winsorised: trimmed ratios count as the nearest one that is kept.
    let (low, high) = (kept[0], kept[kept.len() - 1]);
    let pulled: Vec<f64> = ratios.iter().map(|ratio| ratio.clamp(low, high)).collect();
    let mean = pulled.iter().sum::<f64>() / n as f64;
    let squares: f64 = pulled.iter().map(|ratio| (ratio - mean).powi(2)).sum();
    let h = kept.len() as f64;
    let standard_error = (squares / (h * (h - 1.0))).sqrt();
    let freedom = h - 1.0;
    let half = student::two_sided_quantile(2.0 * error, freedom) * standard_error;
    let (low, high) = ((middle - half).exp(), (middle + half).exp());
    Estimate { speedup: middle.exp(), low, high, pairs: n, standard_error, freedom }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::random::Random;

    #[test]
    fn intervals_cover_the_truth() {
        let mut random = Random::new(8);
        let covered = (0..1000)
            .filter(|_| {
                let pairs: Vec<(f64, f64)> = (0..20)
                    .map(|_| ((0.05 * random.normal()).exp(), (0.05 * random.normal()).exp() / 1.1))
                    .collect();
                let found = estimate(pairs.into_iter(), 0.025);
                (found.low..found.high).contains(&1.1)
            })
            .count();
        assert!((925..=980).contains(&covered), "{covered}");
    }

    #[test]
    fn the_chance_of_luck_is_that_of_the_interval() {
        let mut random = Random::new(4);
        for gain in [1.0, 1.01, 1.05, 1.3] {
            let pairs: Vec<(f64, f64)> = (0..20)
                .map(|_| ((0.05 * random.normal()).exp() * gain, (0.05 * random.normal()).exp()))
                .collect();
            for error in [0.2, 0.025, 0.001] {
                let found = estimate(pairs.iter().copied(), error);
                assert_eq!(found.chance_of_luck(1.0) < error, found.low > 1.0, "{gain} {error}");
            }
        }
        let same = estimate([(1.0, 1.0), (1.02, 1.0), (1.0, 1.02), (1.0, 1.0)].into_iter(), 0.025);
        assert_eq!((same.certain(), same.seen() < 0.01), (0.0, true));
    }
}
