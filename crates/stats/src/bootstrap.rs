//! Uncertainty of a change, by a two-level bootstrap over runs and the calls in them, and of a median.
//!
//! A replicate draws runs with replacement, and within each drawn run its calls. Runs differ by their own
//! noise and by that of their calls; the part that calls explain is subtracted from the first level, so that
//! it does not count twice. The interval is the replicates' percentile interval, stretched for few runs
//! (√(R/(R−1)) on each side, t instead of normal quantiles); the p-value is that of t = ln(ratio) / (standard
//! error of the replicates).

use crate::random::Random;
use crate::{robust, student};

/// Replicates per row.
const REPLICATES: usize = 2000;

/// Degrees of freedom at which t is normal, for the percentiles of a two-sided interval.
const ENDLESS: f64 = 1e9;

/// One run's value of a row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Point<'a> {
    /// Total or mean per call.
    pub value: f64,
    /// Variance of the value by chance within the run.
    pub variance: f64,
    /// Degrees of freedom of the variance; zero if unknown.
    pub freedom: f64,
    /// Deviations of the run's calls from their expectation, to draw from; empty if there are too many.
    pub residuals: &'a [f64],
    /// Factor from a residual to the unit of the value.
    pub scale: f64,
}

impl Point<'_> {
    /// The point in a unit `by` times as large.
    pub fn divided(&self, by: f64) -> Self {
        Self { value: self.value / by, variance: self.variance / (by * by), scale: self.scale / by, ..*self }
    }
}

/// A change with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Candidate over base.
    pub ratio: f64,
    /// Bounds of the ratio; `None` if the spread is unknown.
    pub bounds: Option<(f64, f64)>,
    /// Standard error of the ratio's logarithm.
    pub error: f64,
    /// Degrees of freedom of the error.
    pub freedom: f64,
    /// Probability of such a change if nothing changed.
    pub p: f64,
}

impl Estimate {
    /// Bounds that hold for this many rows at once (Bonferroni), computed from those of one row.
    pub fn bounds_among(&self, rows: usize, confidence: f64) -> Option<(f64, f64)> {
        let (low, high) = self.bounds?;
        let quantile = |chance: f64| student::two_sided_quantile(chance, self.freedom);
        let stretch = quantile((1.0 - confidence) / rows.max(1) as f64) / quantile(1.0 - confidence);
        Some((
            (self.ratio - (self.ratio - low) * stretch).max(0.0),
            self.ratio + (high - self.ratio) * stretch,
        ))
    }
}

/// Estimates the change from base to candidate. `None` if the base took no time.
///
/// One run on both sides does not show the noise between runs: `run_noise` is then the half-width, as a
/// share, that is added to the interval.
pub fn estimate(
    base: &[Point],
    candidate: &[Point],
    confidence: f64,
    run_noise: f64,
    seed: u64,
) -> Option<Estimate> {
    let (base, candidate) = (Side::of(base), Side::of(candidate));
    if base.mean <= 0.0 {
        return None;
    }
    let ratio = candidate.mean / base.mean;
    let single = base.runs.len() == 1 && candidate.runs.len() == 1;
    let known = !single || (base.freedom() > 0.0 && candidate.freedom() > 0.0);
    // If only one side has repeats, its noise between runs is used for both.
    let (lent_to_base, lent_to_candidate) = (candidate.between, base.between);
    let mut random = Random::of_hash(seed);
    let mut errors = Errors::default();
    // If nothing varies, all replicates are equal: a million names with one call each would take minutes.
    let count = if base.is_steady() && candidate.is_steady() { 1 } else { REPLICATES };
    let mut replicates = Vec::with_capacity(count);
    for _ in 0..count {
        let b = base.draw(lent_to_base, &mut random);
        let c = candidate.draw(lent_to_candidate, &mut random);
        errors.add(b, c);
        replicates.push(((1.0 + c) / (1.0 + b)).max(0.0));
    }
    let (error, freedom) = errors.finish(&base, &candidate);
    let t = if ratio == 1.0 { 0.0 } else { ratio.ln().abs() / error };
    let p = if known { student::two_sided(t, freedom) } else { 1.0 };
    let bounds = known.then(|| {
        let chance = 1.0 - confidence;
        let stretch =
            student::two_sided_quantile(chance, freedom) / student::two_sided_quantile(chance, ENDLESS);
        let (low, high) = percentiles(&mut replicates, chance);
        let below = (1.0 - low).max(0.0) * stretch;
        let above = (high - 1.0).max(0.0) * stretch;
        let noise = if single { run_noise } else { 0.0 };
        let widened = |half: f64| half.hypot(noise);
        ((ratio * (1.0 - widened(below))).max(0.0), ratio * (1.0 + widened(above)))
    });
    Some(Estimate { ratio, bounds, error, freedom, p })
}

/// The runs of one side.
struct Side<'a> {
    runs: &'a [Point<'a>],
    mean: f64,
    /// Spread between runs that their calls do not explain, as a share of the mean; zero for one run.
    between: f64,
    /// The part of a run's deviation from the mean that remains without the noise of its calls.
    kept: f64,
}

impl<'a> Side<'a> {
    fn of(runs: &'a [Point<'a>]) -> Self {
        let n = runs.len() as f64;
        let mean = runs.iter().map(|run| run.value).sum::<f64>() / n;
        let mut side = Self { runs, mean, between: 0.0, kept: 0.0 };
        if runs.len() < 2 || mean <= 0.0 {
            return side;
        }
        let seen = runs.iter().map(|run| (run.value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let explained = runs.iter().map(|run| run.variance).sum::<f64>() / n;
        let rest = (seen - explained).max(0.0);
        if rest > 0.0 {
            side.between = rest.sqrt() / mean;
            side.kept = (rest / seen).sqrt();
        }
        side
    }

    /// Whether every draw equals the mean.
    fn is_steady(&self) -> bool {
        let varies = |run: &Point| match run.residuals {
            [] => run.variance > 0.0,
            residuals => residuals.iter().any(|residual| *residual != 0.0),
        };
        self.between == 0.0 && !self.runs.iter().any(varies)
    }

    /// Degrees of freedom of this side's own noise.
    fn freedom(&self) -> f64 {
        match self.runs {
            [one] => one.freedom,
            runs => (runs.len() - 1) as f64,
        }
    }

    /// Deviation of one repetition from the mean, as a share of it.
    fn draw(&self, lent: f64, random: &mut Random) -> f64 {
        if self.mean <= 0.0 {
            return 0.0;
        }
        let n = self.runs.len();
        if n == 1 {
            let run = &self.runs[0];
            return within(run, random) / self.mean + lent * random.table_normal();
        }
        let (mut between, mut inside) = (0.0, 0.0);
        for _ in 0..n {
            let run = &self.runs[random.below(n)];
            between += run.value - self.mean;
            inside += within(run, random);
        }
        // Drawing from R runs shows only (R−1)/R of their variance.
        let scale = self.kept * (n as f64 / (n as f64 - 1.0)).sqrt();
        (between * scale + inside) / n as f64 / self.mean
    }
}

/// Redraws the run's calls; returns the deviation of their total.
fn within(run: &Point, random: &mut Random) -> f64 {
    if run.residuals.is_empty() {
        return if run.variance > 0.0 { run.variance.sqrt() * random.table_normal() } else { 0.0 };
    }
    let n = run.residuals.len();
    let sum: f64 = (0..n).map(|_| run.residuals[random.below(n)]).sum();
    sum * run.scale * (n as f64 / (n as f64 - 1.0)).sqrt()
}

/// Variances of the replicates of each side.
#[derive(Default)]
struct Errors {
    base: [f64; 2],
    candidate: [f64; 2],
}

impl Errors {
    fn add(&mut self, base: f64, candidate: f64) {
        for (sums, value) in [(&mut self.base, base), (&mut self.candidate, candidate)] {
            sums[0] += value;
            sums[1] += value * value;
        }
    }

    /// Standard error of the logarithm of the ratio, and its degrees of freedom (Welch and Satterthwaite).
    fn finish(self, base: &Side, candidate: &Side) -> (f64, f64) {
        let n = REPLICATES as f64;
        let variance = |sums: [f64; 2]| (sums[1] / n - (sums[0] / n).powi(2)).max(0.0);
        let (b, c) = (variance(self.base), variance(self.candidate));
        // A single run compared with repeats has the degrees of freedom of those repeats.
        let (own_b, own_c) = (base.freedom(), candidate.freedom());
        let lent =
            |own: f64, side: &Side, other: f64| if side.runs.len() == 1 && other > 0.0 { other } else { own };
        let (free_b, free_c) = match (base.runs.len(), candidate.runs.len()) {
            (1, 1) => (own_b, own_c),
            _ => (lent(own_b, base, own_c), lent(own_c, candidate, own_b)),
        };
        let part = |variance: f64, freedom: f64| variance * variance / freedom.max(1.0);
        let squares = part(b, free_b) + part(c, free_c);
        let freedom = if squares > 0.0 { (b + c).powi(2) / squares } else { free_b.min(free_c).max(1.0) };
        ((b + c).sqrt(), freedom)
    }
}

/// 95 % interval of the median of these runs; the same runs always give the same interval.
pub fn median_interval(values: &[f64]) -> (f64, f64) {
    let mut random = Random::of_hash(0x9e37_79b9_7f4a_7c15);
    let mut medians: Vec<f64> = (0..REPLICATES)
        .map(|_| {
            let drawn: Vec<f64> = values.iter().map(|_| values[random.below(values.len())]).collect();
            robust::median(&drawn)
        })
        .collect();
    percentiles(&mut medians, 0.05)
}

/// The bounds that contain all but a `chance` of the replicates.
fn percentiles(replicates: &mut [f64], chance: f64) -> (f64, f64) {
    replicates.sort_unstable_by(f64::total_cmp);
    let n = replicates.len();
    let at = |share: f64| replicates[((share * n as f64) as usize).min(n - 1)];
    (at(chance / 2.0), at(1.0 - chance / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs with one value each.
    fn runs(values: &[i64]) -> Vec<Point<'static>> {
        values.iter().map(|&value| Point { value: value as f64, scale: 1.0, ..Point::default() }).collect()
    }

    /// Reference: Welch's interval for means of runs, computed by hand.
    #[test]
    fn intervals_of_runs_are_those_of_welch() {
        let base = runs(&[1000, 1010, 990, 1005, 995]);
        let candidate = runs(&[1100, 1110, 1090, 1105, 1095]);
        let found = estimate(&base, &candidate, 0.95, 0.0, 7).unwrap();
        let (spread, n) = (62.5f64, 5.0);
        let relative = (spread / n / 1000f64.powi(2) + spread / n / 1100f64.powi(2)).sqrt();
        assert!((found.ratio - 1.1).abs() < 1e-12);
        assert!((found.error / relative - 1.0).abs() < 0.05, "{} {relative}", found.error);
        assert!((7.0..=8.0).contains(&found.freedom), "{}", found.freedom);
        let (low, high) = found.bounds.unwrap();
        let half = 1.1 * 2.31 * relative;
        assert!(
            ((1.1 - low) / half - 1.0).abs() < 0.12 && ((high - 1.1) / half - 1.0).abs() < 0.12,
            "{low} {high}"
        );
        assert!(found.p < 1e-4);
        let same = estimate(&base, &candidate, 0.95, 0.0, 7).unwrap();
        assert_eq!(found, same, "the same seed gives the same replicates");
    }

    #[test]
    fn one_run_each_is_widened_and_one_call_each_tells_nothing() {
        // A run of 300 calls of about 1000 each, whose total varies by 0.01 %.
        let one = [Point { value: 300_900.0, variance: 900.0, freedom: 63.0, residuals: &[], scale: 1.0 }];
        let found = estimate(&one, &one, 0.95, 0.03, 7).unwrap();
        let (low, high) = found.bounds.unwrap();
        assert!(low < 0.971 && high > 1.029 && low > 0.96 && high < 1.04, "{low} {high}");
        let single = runs(&[1000]);
        let found = estimate(&single, &runs(&[2000]), 0.95, 0.03, 7).unwrap();
        assert_eq!((found.bounds, found.p), (None, 1.0));
        assert_eq!(estimate(&runs(&[0]), &single, 0.95, 0.03, 7), None);
    }

    #[test]
    fn a_single_run_borrows_the_noise_of_repeats() {
        let repeats = runs(&[1000, 1030, 970, 1015, 985]);
        let found = estimate(&repeats, &runs(&[1000]), 0.95, 0.03, 7).unwrap();
        // Spread 2.4 % in the single run and 2.4 %/√5 in the mean of the repeats.
        assert!((found.error / (0.0237f64 * (1.0f64 + 0.2).sqrt()) - 1.0).abs() < 0.06, "{}", found.error);
        assert!(found.freedom < 8.1);
    }

    #[test]
    fn what_does_not_vary_is_known_exactly() {
        let found = estimate(&runs(&[1000, 1000]), &runs(&[1100, 1100, 1100]), 0.95, 0.0, 7).unwrap();
        assert_eq!((found.bounds, found.error, found.p), (Some((found.ratio, found.ratio)), 0.0, 0.0));
        // Identical calls on one side, differing calls on the other.
        let alike = [Point { value: 3.0, freedom: 2.0, residuals: &[0.0; 3], scale: 1.0, variance: 0.0 }];
        let not =
            [Point { value: 3.0, freedom: 2.0, residuals: &[-1.0, 0.0, 1.0], scale: 1.0, variance: 3.0 }];
        let bounds = |one: &[Point], other: &[Point]| estimate(one, other, 0.95, 0.0, 7).unwrap().bounds;
        assert_eq!(bounds(&alike, &alike), Some((1.0, 1.0)));
        for (low, high) in [bounds(&alike, &not), bounds(&not, &alike)].into_iter().flatten() {
            assert!(low < 1.0 && high > 1.0, "{low} {high}");
        }
    }
}
