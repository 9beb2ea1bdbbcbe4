//! The factor that all kernels of a run share: clocks and temperature, not code.

use stats::bootstrap::{Estimate, Point, estimate};
use stats::spread::{Prior, Spread};
use stats::student;

/// With fewer kernels, the median says nothing about what they share.
const LEAST_KERNELS: usize = 5;

/// How fast each run was overall, and by how much the candidate's runs differ from the base's.
#[derive(Clone, Debug)]
pub struct Drift {
    /// Factor of each run of the base; their logarithms have mean 0.
    pub base: Vec<f64>,
    /// Factor of each run of the candidate.
    pub candidate: Vec<f64>,
    /// Logarithm of the change of the median kernel.
    pub shift: f64,
    /// Standard error of the shift as an estimate of the shared change.
    pub error: f64,
    /// Whether the shift is larger than the differences between runs of one side.
    pub real: bool,
    /// How much kernels vary between runs, apart from the runs' factors; `None` without repeats.
    prior: Option<Prior>,
}

/// The drift of runs, from kernels that occur in all of them; `None` if there are too few.
///
/// `kernels` are the points of matched kernels on both sides; `run_noise` is how much single runs may differ.
pub(crate) fn drift(kernels: &[(Vec<Point>, Vec<Point>)], alpha: f64, run_noise: f64) -> Option<Drift> {
    let in_all =
        |(base, candidate): &&(Vec<Point>, Vec<Point>)| base.iter().chain(candidate).all(|p| p.value > 0.0);
    let kernels: Vec<_> = kernels.iter().filter(in_all).collect();
    if kernels.len() < LEAST_KERNELS {
        return None;
    }
    let relative = |point: &Point| point.variance / point.value.powi(2);
    let mean_relative =
        |points: &[Point]| points.iter().map(relative).sum::<f64>() / (points.len() as f64).powi(2);
    let variances: Vec<f64> = kernels.iter().map(|(b, c)| mean_relative(b) + mean_relative(c)).collect();
    // No kernel, however steady, outweighs two average ones: the one that changed may be the steadiest.
    let middling = weighted_median(variances.iter().map(|&v| (v, 1.0)).collect());
    let weights: Vec<f64> = variances.iter().map(|v| 1.0 / (v + middling).max(f64::MIN_POSITIVE)).collect();
    let level = |points: &[Point]| points.iter().map(|p| p.value.ln()).sum::<f64>() / points.len() as f64;
    let factors = |side: fn(&(Vec<Point<'_>>, Vec<Point<'_>>)) -> usize,
                   get: &dyn Fn(usize, usize) -> f64|
     -> Vec<f64> {
        let runs = side(kernels[0]);
        let middle = |run: usize| {
            weighted_median(weights.iter().enumerate().map(|(k, &w)| (get(k, run), w)).collect())
        };
        let logs: Vec<f64> = (0..runs).map(middle).collect();
        let mean = logs.iter().sum::<f64>() / runs as f64;
        logs.iter().map(|log| log - mean).collect()
    };
    let base = factors(|k| k.0.len(), &|k, run| kernels[k].0[run].value.ln() - level(&kernels[k].0));
    let candidate = factors(|k| k.1.len(), &|k, run| kernels[k].1[run].value.ln() - level(&kernels[k].1));
    let shifts = kernels.iter().zip(&weights).map(|((b, c), &w)| (level(c) - level(b), w));
    let shift = weighted_median(shifts.collect());
    let total: f64 = weights.iter().sum();
    let squares: f64 = weights.iter().zip(&variances).map(|(w, v)| w * w * v).sum();
    // A median is √(π/2) times as uncertain as a mean.
    let error = (std::f64::consts::FRAC_PI_2 * squares).sqrt() / total;
    let real = is_real(shift, &base, &candidate, error, alpha, run_noise);
    let exp = |logs: Vec<f64>| -> Vec<f64> { logs.into_iter().map(f64::exp).collect() };
    let (base, candidate) = (exp(base), exp(candidate));
    let steadied =
        |(b, c): &&(Vec<Point>, Vec<Point>)| Spread::of(&without(b, &base), &without(c, &candidate));
    let spreads: Vec<Spread> = kernels.iter().filter_map(steadied).collect();
    Some(Drift { prior: Prior::of(&spreads, LEAST_KERNELS), base, candidate, shift, error, real })
}

/// The points of runs, divided by the runs' factors.
fn without<'a>(points: &[Point<'a>], factors: &[f64]) -> Vec<Point<'a>> {
    points.iter().zip(factors).map(|(point, &factor)| point.divided(factor)).collect()
}

fn is_real(shift: f64, base: &[f64], candidate: &[f64], error: f64, alpha: f64, run_noise: f64) -> bool {
    let between = |logs: &[f64]| {
        let n = logs.len() as f64;
        (logs.len() > 1).then(|| (logs.iter().map(|f| f * f).sum::<f64>() / (n - 1.0), n))
    };
    let (variance, freedom) = match (between(base), between(candidate)) {
        (None, None) => return shift.abs() > run_noise,
        (Some((v, n)), None) | (None, Some((v, n))) => (v * (1.0 + 1.0 / n), n - 1.0),
        (Some((v, n)), Some((w, m))) => {
            let (b, c) = (v / n, w / m);
            let squares = b * b / (n - 1.0) + c * c / (m - 1.0);
            (b + c, if squares > 0.0 { (b + c).powi(2) / squares } else { n + m - 2.0 })
        }
    };
    let error = (variance + error * error).sqrt();
    error == 0.0 && shift != 0.0 || error > 0.0 && student::two_sided(shift.abs() / error, freedom) < alpha
}

impl Drift {
    /// The change of a kernel beyond what all kernels share; `None` if the kernel took no time.
    pub fn beyond(
        &self,
        base: &[Point],
        candidate: &[Point],
        confidence: f64,
        seed: u64,
    ) -> Option<Estimate> {
        let (base, candidate) = (without(base, &self.base), without(candidate, &self.candidate));
        let mean =
            |points: &[Point]| points.iter().map(|point| point.value).sum::<f64>() / points.len() as f64;
        let ratio = mean(&candidate) / mean(&base);
        if !(ratio > 0.0 && ratio.is_finite()) {
            return None;
        }
        let log = ratio.ln() - self.shift;
        let spread = self.prior.and_then(|prior| Some(prior.steadied(&Spread::of(&base, &candidate)?)));
        let (error, freedom) = match spread {
            Some((variance, freedom)) => {
                let runs = 1.0 / base.len() as f64 + 1.0 / candidate.len() as f64;
                ((variance * runs).sqrt(), freedom)
            }
            None => {
                let drawn = estimate(&base, &candidate, confidence, 0.0, seed)?;
                // One call on each side has no spread, so there is no p-value.
                drawn.bounds?;
                (drawn.error, drawn.freedom)
            }
        };
        let error = error.hypot(self.error);
        let half = student::two_sided_quantile(1.0 - confidence, freedom) * error;
        let p = if log == 0.0 { 1.0 } else { student::two_sided(log.abs() / error, freedom) };
        Some(Estimate {
            ratio: log.exp(),
            bounds: Some(((log - half).exp(), (log + half).exp())),
            error,
            freedom,
            p,
        })
    }
}

fn weighted_median(mut values: Vec<(f64, f64)>) -> f64 {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = values.iter().map(|v| v.1).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    for (value, weight) in &values {
        sum += weight;
        if sum >= half {
            return *value;
        }
    }
    values.last().map_or(0.0, |v| v.0)
}
