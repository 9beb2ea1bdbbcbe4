//! A straight line through points of which some are wrong, and how sure it is.

use stats::robust::{median, middle, sorted};

/// Errors are so many standard errors: with thousands of ranks, none should be outside by chance.
const STANDARD_ERRORS: f64 = 4.0;
/// Timestamps are not finer than this.
const RESOLUTION_NS: f64 = 100.0;
/// Below this many points a drift is not told from noise.
const FEWEST_FOR_DRIFT: usize = 8;
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
    /// Standard error of the offset at `middle`, and where that is.
    standard_error: f64,
    middle: f64,
}

impl Line {
    /// The line of (common time, how much later the own clock shows it).
    pub fn fit(points: &[(f64, f64)]) -> Self {
        let count = points.len() as f64;
        let middle_time = points.iter().map(|point| point.0).sum::<f64>() / count.max(1.0);
        let centred: Vec<(f64, f64)> = points.iter().map(|point| (point.0 - middle_time, point.1)).collect();
        let mut slope = if points.len() < FEWEST_FOR_DRIFT { 0.0 } else { half_slope(&centred) };
        let mut offset = median(&residuals(&centred, 0.0, slope));
        let (mut weights, mut spread) = (1.0f64, 0.0);
        let mut weighed_x = 0.0;
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
            let around = wxx - wx * wx / w;
            if points.len() >= FEWEST_FOR_DRIFT && around > 0.0 {
                slope = (wxy - wx * wy / w) / around;
            }
            offset = (wy - slope * wx) / w;
            (weights, weighed_x) = (w, around);
        }
        let has_drift = points.len() >= FEWEST_FOR_DRIFT && weighed_x > 0.0;
        let standard_error = spread / weights.max(1.0).sqrt();
        let drift_error = if has_drift { STANDARD_ERRORS * spread / weighed_x.sqrt() } else { f64::INFINITY };
        Self {
            offset_ns: offset,
            drift: slope,
            origin: middle_time,
            error_ns: STANDARD_ERRORS * standard_error + RESOLUTION_NS,
            drift_error,
            has_drift,
            residual_ns: spread / MAD_SCALE,
            points: points.len(),
            standard_error,
            middle: middle_time,
        }
    }

    /// A time of this clock on the common one.
    pub fn common(&self, own: i64) -> f64 {
        let shifted = own as f64 - self.offset_ns - self.origin;
        self.origin + shifted / (1.0 + self.drift)
    }

    /// The same line with its offset at another moment; errors grow with the distance from the measured ones.
    pub fn at(self, origin: f64) -> Self {
        let offset_ns = self.offset_ns + self.drift * (origin - self.origin);
        let away = if self.has_drift { self.drift_error * (origin - self.middle).abs() } else { 0.0 };
        let error_ns = (STANDARD_ERRORS * self.standard_error).hypot(away) + (self.error_ns
            - STANDARD_ERRORS * self.standard_error).max(RESOLUTION_NS);
        Self { offset_ns, origin, error_ns, ..self }
    }

    /// The same line against the clock of another one.
    pub fn minus(&self, other: &Line) -> Self {
        let other_here = other.offset_ns + other.drift * (self.origin - other.origin);
        Self {
            offset_ns: self.offset_ns - other_here,
            drift: self.drift - other.drift,
            error_ns: self.error_ns.hypot(other.error_ns),
            drift_error: self.drift_error.hypot(other.drift_error),
            standard_error: self.standard_error.hypot(other.standard_error),
            ..self.clone()
        }
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
    fn offset_and_drift_are_found_within_their_errors_in_spite_of_outliers() {
        let (mut outside, mut widest) = (0, 0.0f64);
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
            let line = Line::fit(&points).at(0.0);
            outside += usize::from((line.offset_ns - offset).abs() > line.error_ns);
            outside += usize::from((line.drift - drift).abs() > line.drift_error);
            widest = widest.max(line.error_ns);
            let there = line.common((150e6 + offset + drift * 150e6) as i64);
            assert!((there - 150e6).abs() < 2_000.0, "{there}");
        }
        assert!(outside <= 1, "{outside} of 400 outside their errors");
        assert!(widest < 3_000.0, "{widest}");
    }

    #[test]
    fn few_points_give_an_offset_and_no_drift() {
        let line = Line::fit(&[(0.0, 10.0), (1e6, 12.0), (2e6, 9.0), (3e6, 11.0)]);
        assert!((line.offset_ns - 10.5).abs() < 1.0 && !line.has_drift && line.drift == 0.0);
    }
}
