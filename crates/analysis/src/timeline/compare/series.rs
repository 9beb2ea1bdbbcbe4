//! Measurements of one run for one row of a table: calls, total, and how much the total varies by chance.

use stats::bootstrap::Point;

/// Groups of at most this many calls are resampled call by call; means of more are normal enough.
pub(super) const RESAMPLED: usize = 32;

/// Larger groups are cut into this many blocks of consecutive calls.
pub(super) const BLOCKS: usize = 64;

/// The calls of one name in one run.
///
/// The spread of the total comes from blocks of consecutive calls, not from single calls: a kernel that
/// alternates between two shapes has varied calls but a steady total, and slow drift in a run counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Series {
    pub calls: usize,
    pub total: i64,
    /// Variance of the total.
    pub variance: f64,
    /// Degrees of freedom of the variance; zero if not known.
    pub freedom: f64,
    /// Each block's distance from its expectation, for small groups only.
    pub residuals: Vec<f64>,
}

impl Series {
    /// From the durations of calls in time order.
    pub fn of(durations: &[i64]) -> Self {
        let calls = durations.len();
        let blocks = if calls <= RESAMPLED { calls } else { BLOCKS.min(calls) };
        let sum = |block: usize| {
            let calls = &durations[block * calls / blocks..(block + 1) * calls / blocks];
            (calls.len(), calls.iter().sum())
        };
        Self::of_blocks(&(0..blocks).map(sum).collect::<Vec<_>>())
    }

    /// From blocks of consecutive calls (calls and time), in time order.
    pub fn of_blocks(sums: &[(usize, i64)]) -> Self {
        let calls = sums.iter().map(|(calls, _)| calls).sum();
        let total: i64 = sums.iter().map(|(_, total)| total).sum();
        let mut series = Self { calls, total, ..Self::default() };
        if calls < 2 {
            return series;
        }
        let mean = total as f64 / calls as f64;
        let blocks = sums.len();
        let residuals: Vec<f64> =
            sums.iter().map(|&(calls, total)| total as f64 - mean * calls as f64).collect();
        series.freedom = (blocks - 1) as f64;
        series.variance = residuals.iter().map(|r| r * r).sum::<f64>() * blocks as f64 / series.freedom;
        if calls <= RESAMPLED {
            series.residuals = residuals;
        }
        series
    }

    /// A figure of the whole run, without calls to estimate its spread.
    pub fn figure(total: i64) -> Self {
        Self { calls: 1, total, ..Self::default() }
    }

    /// The run's total, or its mean per call, as input of the bootstrap.
    pub fn point(&self, per_call: bool) -> Point<'_> {
        let scale = if per_call { 1.0 / self.calls.max(1) as f64 } else { 1.0 };
        Point {
            value: self.total as f64 * scale,
            variance: self.variance * scale * scale,
            freedom: self.freedom,
            residuals: &self.residuals,
            scale,
        }
    }

    /// Adds the calls of another name, which vary independently.
    pub fn add(&mut self, other: &Series) {
        let spread = |series: &Series| {
            if series.freedom > 0.0 { series.variance.powi(2) / series.freedom } else { 0.0 }
        };
        let squares = spread(self) + spread(other);
        self.calls += other.calls;
        self.total += other.total;
        self.variance += other.variance;
        // Welch–Satterthwaite: the degrees of freedom of a sum of variances.
        self.freedom =
            if squares > 0.0 { self.variance.powi(2) / squares } else { self.freedom.max(other.freedom) };
        self.residuals.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variance_of_a_total_is_that_of_its_calls() {
        let few = Series::of(&[10, 12, 14]);
        assert_eq!((few.calls, few.total, few.freedom), (3, 36, 2.0));
        assert!((few.variance - 3.0 * 4.0).abs() < 1e-9, "n times the sample variance");
        assert_eq!(few.residuals, [-2.0, 0.0, 2.0]);
        assert_eq!(Series::of(&[7]).freedom, 0.0);
    }

    #[test]
    fn alternating_shapes_have_a_steady_total() {
        let durations: Vec<i64> = (0..640).map(|i| if i % 2 == 0 { 1_000 } else { 9_000 }).collect();
        assert_eq!(Series::of(&durations).variance, 0.0);
        let drifting: Vec<i64> = (0..640).map(|i| 1_000 + i).collect();
        let by_calls = 640.0 * 640.0 * 641.0 / 12.0;
        assert!(Series::of(&drifting).variance > 5.0 * by_calls, "drift does not average out");
    }

    #[test]
    fn sums_of_names_add_their_variances() {
        let mut sum = Series::of(&[10, 12, 14]);
        sum.add(&Series::of(&[20, 22, 24]));
        assert_eq!((sum.calls, sum.total), (6, 102));
        assert!((sum.variance - 24.0).abs() < 1e-9);
        assert!((sum.freedom - 4.0).abs() < 1e-9);
    }
}
