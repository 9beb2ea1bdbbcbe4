//! A straight line through points of which some are wrong, and how sure it is.

use stats::robust::{median, middle, sorted};

use super::joint::Correction;

/// Errors are this many standard errors: with thousands of ranks, none should be outside by chance.
const STANDARD_ERRORS: f64 = 5.0;
/// Timestamps are not finer than this.
const RESOLUTION_NS: f64 = 100.0;
/// A drift that was not measured may be this large.
const UNKNOWN_DRIFT: f64 = 50e-6;
/// Below this many points a drift cannot be told from noise.
pub(super) const FEWEST_FOR_DRIFT: usize = 8;
/// Points further from the line than this many spreads do not count (Tukey's biweight).
const BIWEIGHT: f64 = 4.685;
const ROUNDS: usize = 8;
/// Makes a median absolute deviation comparable to a standard deviation.
const MAD_SCALE: f64 = 1.4826;

/// How a clock runs against the common one: `own = common + offset + drift · (common − origin)`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// How far it is ahead at the origin.
    pub offset_ns: f64,
    /// How much faster it runs.
    pub drift: f64,
    /// The common time to which the offset refers.
    pub origin: f64,
    /// The offset is within this.
    pub error_ns: f64,
    /// The drift is within this.
    pub drift_error: f64,
    /// Whether the drift was measured; otherwise it is taken for zero.
    pub has_drift: bool,
    /// How far ends stay from the line, in the median.
    pub residual_ns: f64,
    /// Collectives it rests on.
    pub points: usize,
}

impl Line {
    /// The line of (common time, how much later the own clock shows it).
    pub fn fit(points: &[(f64, f64)]) -> Self {
        let count = points.len() as f64;
        let middle_time = points.iter().map(|point| point.0).sum::<f64>() / count.max(1.0);
        let centred: Vec<(f64, f64)> = points.iter().map(|point| (point.0 - middle_time, point.1)).collect();
        let mut slope = if points.len() < FEWEST_FOR_DRIFT { 0.0 } else { half_slope(&centred) };
        let mut offset = median(&residuals(&centred, 0.0, slope));
        let (mut spread, mut around) = (0.0, 0.0);
        for _ in 0..ROUNDS {
            let far: Vec<f64> = residuals(&centred, offset, slope).into_iter().map(f64::abs).collect();
            spread = (MAD_SCALE * middle(&sorted(&far))).max(0.5);
            let weight = |residual: f64| {
                let u = residual / (BIWEIGHT * spread);
                if u.abs() < 1.0 { (1.0 - u * u).powi(2) } else { 0.0 }
            };
            let (mut w, mut wx, mut wy, mut wxx, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
            for &(x, y) in &centred {
                let own = weight(y - offset - slope * x);
                w += own;
                wx += own * x;
                wy += own * y;
                wxx += own * x * x;
                wxy += own * x * y;
            }
            if w <= 0.0 {
                break;
            }
            around = wxx - wx * wx / w;
            if points.len() >= FEWEST_FOR_DRIFT && around > 0.0 {
                slope = (wxy - wx * wy / w) / around;
            }
            offset = (wy - slope * wx) / w;
        }
        let has_drift = points.len() >= FEWEST_FOR_DRIFT && around > 0.0;
        Self {
            offset_ns: offset,
            drift: slope,
            origin: middle_time,
            has_drift,
            residual_ns: spread / MAD_SCALE,
            points: points.len(),
            ..Self::default()
        }
    }

    /// Applies the correction from all members together, and moves the offset to the start of the run, which
    /// is `half` before its `middle`.
    pub(super) fn correct(&mut self, middle: f64, half: f64, correction: &Correction) {
        let start = middle - half;
        let drift = self.drift + correction.drift / half * (1.0 + self.drift);
        let here = self.offset_ns + self.drift * (start - self.origin);
        self.offset_ns = here + (correction.offset - correction.drift) * (1.0 + self.drift);
        self.drift = drift;
        self.origin = start;
        self.residual_ns = correction.residual;
        let unknown = if self.has_drift || self.points == 0 { 0.0 } else { UNKNOWN_DRIFT };
        self.error_ns = STANDARD_ERRORS * correction.error + RESOLUTION_NS + unknown * half;
        self.drift_error = STANDARD_ERRORS * correction.drift_error / half + unknown;
    }

    /// A common time on this clock.
    pub fn own(&self, common: f64) -> f64 {
        common + self.offset_ns + self.drift * (common - self.origin)
    }

    /// A time of this clock on the common one.
    pub fn common(&self, own: i64) -> f64 {
        let shifted = own as f64 - self.offset_ns - self.origin;
        self.origin + shifted / (1.0 + self.drift)
    }
}

fn residuals(points: &[(f64, f64)], offset: f64, slope: f64) -> Vec<f64> {
    points.iter().map(|(x, y)| y - offset - slope * x).collect()
}

/// The median slope between points half the sequence apart.
fn half_slope(points: &[(f64, f64)]) -> f64 {
    let half = points.len() / 2;
    let slopes: Vec<f64> = points
        .iter()
        .zip(&points[half..])
        .filter(|(a, b)| b.0 > a.0)
        .map(|(a, b)| (b.1 - a.1) / (b.0 - a.0))
        .collect();
    if slopes.is_empty() { 0.0 } else { median(&slopes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::random::Random;

    #[test]
    fn offset_and_drift_are_found_in_spite_of_outliers() {
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let (offset, drift) = (random.normal() * 5e6, random.normal() * 20e-6);
            let points: Vec<(f64, f64)> = (0..200)
                .map(|n| {
                    let at = f64::from(n) * 1e6 + random.unit() * 3e5;
                    let wrong = if n % 10 == 3 { random.unit() * 2e6 } else { 0.0 };
                    (at, offset + drift * at + random.normal() * 2_000.0 + wrong)
                })
                .collect();
            let line = Line::fit(&points);
            let there = line.common((150e6 + offset + drift * 150e6) as i64);
            assert!((there - 150e6).abs() < 2_000.0, "{there}");
            assert!((line.drift - drift).abs() < 10e-6, "{}", line.drift - drift);
        }
    }

    #[test]
    fn few_points_give_an_offset_and_no_drift() {
        let line = Line::fit(&[(0.0, 10.0), (1e6, 12.0), (2e6, 9.0), (3e6, 11.0)]);
        assert!((line.offset_ns - 10.5).abs() < 1.0 && !line.has_drift && line.drift == 0.0);
    }
}
