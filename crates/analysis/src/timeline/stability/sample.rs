//! Statistics of repeated measurements of one thing, in the order they were made.

use super::rules::Rules;
use stats::bootstrap::median_interval;
use stats::robust::{median, median_absolute_deviation, middle, ranks, sorted};
use stats::student;

/// A steady trend over the runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drifting {
    /// Spearman's correlation with the run number.
    pub rho: f64,
    /// Change from the first third of the runs to the last, in percent.
    pub change_pct: f64,
}

/// Two clusters of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// Median of the lower cluster.
    pub low: f64,
    /// Median of the upper cluster.
    pub high: f64,
    /// Runs in the upper cluster.
    pub upper_runs: usize,
}

/// Statistics of repeated measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Stability {
    /// Runs that count.
    pub runs: usize,
    /// Runs at the beginning that are left out.
    pub warm_up: usize,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Sample standard deviation; absent for one run.
    pub stddev: Option<f64>,
    /// Standard deviation over mean.
    pub cv: Option<f64>,
    /// 95 % interval of the median, by bootstrap; absent below three runs.
    pub median_ci: Option<(f64, f64)>,
    /// `stable`, `noisy`, `unstable`; absent for one run.
    pub label: Option<&'static str>,
    /// Runs far from the others, by index in the order given (from 0, including warm-up).
    pub outliers: Vec<usize>,
    /// The trend, if values follow the order of runs.
    pub drift: Option<Drifting>,
    /// The two clusters, if values form two.
    pub modes: Option<Modes>,
}

impl Stability {
    /// Statistics of at least one finite value.
    pub fn of(values: &[f64]) -> Option<Self> {
        let rules = Rules::built_in();
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let warm_up = warm_up(values, rules);
        let kept = &values[warm_up..];
        let n = kept.len() as f64;
        let mean = kept.iter().sum::<f64>() / n;
        let squares: f64 = kept.iter().map(|value| (value - mean).powi(2)).sum();
        let stddev = (kept.len() > 1).then(|| (squares / (n - 1.0)).sqrt());
        let cv = stddev.filter(|_| mean > 0.0).map(|stddev| stddev / mean);
        let sorted = sorted(kept);
        let outliers = outliers(kept, rules).into_iter().map(|run| run + warm_up).collect();
        Some(Self {
            runs: kept.len(),
            warm_up,
            mean,
            median: middle(&sorted),
            min: sorted[0],
            max: sorted[sorted.len() - 1],
            stddev,
            cv,
            median_ci: (kept.len() > 2).then(|| median_interval(kept)),
            label: cv.map(|cv| rules.label(cv)),
            outliers,
            drift: drift(kept, rules),
            modes: modes(&sorted, rules),
        })
    }

    /// What is unusual about the runs, as text.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.warm_up > 0 {
            remarks.push(format!("{} warm-up", self.warm_up));
        }
        if let Some(drift) = &self.drift {
            remarks.push(format!("drift of {:+.1} %", drift.change_pct));
        }
        if let Some(modes) = &self.modes {
            let apart = if modes.low > 0.0 { 100.0 * (modes.high / modes.low - 1.0) } else { 0.0 };
            remarks.push(format!("two modes {apart:.1} % apart"));
        }
        if !self.outliers.is_empty() {
            let runs: Vec<String> = self.outliers.iter().map(|run| (run + 1).to_string()).collect();
            remarks.push(format!("outlier run {}", runs.join(", ")));
        }
        remarks
    }
}

/// The number of initial runs that are much slower than all that follow.
fn warm_up(values: &[f64], rules: &Rules) -> usize {
    let rule = &rules.warm_up;
    let mut count = 0;
    while count < rule.max_runs && values.len() - count >= rule.min_runs {
        let rest = sorted(&values[count + 1..]);
        let slower = values[count] > middle(&rest) * (1.0 + rule.min_pct / 100.0);
        if !slower || values[count] <= rest[rest.len() - 1] {
            break;
        }
        count += 1;
    }
    count
}

fn outliers(values: &[f64], rules: &Rules) -> Vec<usize> {
    let rule = &rules.outlier;
    if values.len() < rule.min_runs {
        return Vec::new();
    }
    let (median, spread) = (median(values), median_absolute_deviation(values));
    let far = |value: f64| {
        let deviation = (value - median).abs();
        deviation > rule.deviations * spread && deviation > median.abs() * rule.min_pct / 100.0
    };
    (0..values.len()).filter(|&run| far(values[run])).collect()
}

fn drift(values: &[f64], rules: &Rules) -> Option<Drifting> {
    let rule = &rules.drift;
    let n = values.len();
    if n < rule.min_runs {
        return None;
    }
    let ranks = ranks(values);
    let mean = (n as f64 + 1.0) / 2.0;
    let (mut both, mut own, mut order) = (0.0, 0.0, 0.0);
    for (run, rank) in ranks.iter().enumerate() {
        let (x, y) = (run as f64 + 1.0 - mean, rank - mean);
        both += x * y;
        own += y * y;
        order += x * x;
    }
    if own == 0.0 {
        return None;
    }
    let rho = both / (own * order).sqrt();
    let freedom = n as f64 - 2.0;
    let t = rho.abs() * (freedom / (1.0 - rho * rho).max(f64::EPSILON)).sqrt();
    let third = n.div_ceil(3);
    let (first, last) = (median(&values[..third]), median(&values[n - third..]));
    let change_pct = if first > 0.0 { 100.0 * (last / first - 1.0) } else { return None };
    let real = rho.abs() >= rule.min_rho
        && student::two_sided(t, freedom) <= rule.max_p
        && change_pct.abs() >= rule.min_pct
        && (change_pct > 0.0) == (rho > 0.0);
    real.then_some(Drifting { rho, change_pct })
}

fn modes(sorted: &[f64], rules: &Rules) -> Option<Modes> {
    let rule = &rules.bimodal;
    let n = sorted.len();
    if n < rule.min_runs {
        return None;
    }
    let squares = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    let whole = squares(sorted);
    let cut = (1..n).min_by(|&a, &b| {
        let inside = |cut: usize| squares(&sorted[..cut]) + squares(&sorted[cut..]);
        inside(a).total_cmp(&inside(b))
    })?;
    let (low, high) = sorted.split_at(cut);
    let inside = squares(low) + squares(high);
    let least = (rule.min_share * n as f64).ceil() as usize;
    let spread = (inside / (n as f64 - 2.0)).sqrt();
    let apart = middle(high) - middle(low);
    let real = whole > 0.0
        && 1.0 - inside / whole >= rule.min_explained
        && low.len().min(high.len()) >= least.max(2)
        && apart >= rule.min_separation * spread
        && apart >= middle(low).abs() * rule.min_pct / 100.0;
    real.then(|| Modes { low: middle(low), high: middle(high), upper_runs: high.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(center: f64, spread: f64, n: usize) -> Vec<f64> {
        // A fixed pattern without trend or clusters.
        const PATTERN: [f64; 10] = [0.1, -0.4, 0.7, -0.9, 0.3, 0.9, -0.2, -0.6, 0.5, -0.3];
        (0..n).map(|i| center + spread * PATTERN[i % 10]).collect()
    }

    #[test]
    fn labels_follow_the_table() {
        let label = |spread: f64| Stability::of(&around(100.0, spread, 10)).unwrap().label;
        assert_eq!([1.0, 12.0, 40.0].map(label), [Some("stable"), Some("noisy"), Some("unstable")]);
        let one = Stability::of(&[5.0]).unwrap();
        assert_eq!((one.label, one.cv, one.stddev, one.median), (None, None, None, 5.0));
        assert!(Stability::of(&[]).is_none() && Stability::of(&[f64::NAN]).is_none());
    }

    #[test]
    fn figures_equal_their_definitions() {
        let found = Stability::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((found.mean, found.median, found.min, found.max), (5.0, 4.5, 2.0, 9.0));
        assert!((found.stddev.unwrap() - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
        let (low, high) = found.median_ci.unwrap();
        assert!((4.0..=4.5).contains(&low) && (4.5..=7.0).contains(&high), "{low} {high}");
    }

    #[test]
    fn noise_has_no_names() {
        let found = Stability::of(&around(100.0, 2.0, 20)).unwrap();
        assert_eq!(found.remarks(), Vec::<String>::new());
    }

    #[test]
    fn a_first_slow_run_is_warm_up() {
        let mut values = around(100.0, 1.0, 9);
        values.insert(0, 180.0);
        let found = Stability::of(&values).unwrap();
        assert_eq!((found.warm_up, found.runs, found.label), (1, 9, Some("stable")));
        assert!(found.outliers.is_empty());
    }

    #[test]
    fn an_outlier_is_named_by_its_run() {
        let mut values = around(100.0, 1.0, 10);
        values[6] = 130.0;
        assert_eq!(Stability::of(&values).unwrap().outliers, [6]);
    }

    #[test]
    fn drift_and_its_direction_are_named() {
        let rising: Vec<f64> = around(100.0, 0.3, 12).iter().enumerate().map(|(i, v)| v + i as f64).collect();
        let drift = Stability::of(&rising).unwrap().drift.unwrap();
        assert!(drift.rho > 0.9 && (6.0..12.0).contains(&drift.change_pct), "{drift:?}");
        let falling: Vec<f64> = rising.iter().map(|v| 220.0 - v).collect();
        assert!(Stability::of(&falling).unwrap().drift.unwrap().change_pct < 0.0);
    }

    #[test]
    fn two_clock_states_are_two_modes() {
        let values: Vec<f64> = around(100.0, 0.5, 12)
            .iter()
            .enumerate()
            .map(|(i, v)| if i % 3 == 0 { v * 1.08 } else { *v })
            .collect();
        let modes = Stability::of(&values).unwrap().modes.unwrap();
        assert_eq!(modes.upper_runs, 4);
        assert!((modes.high / modes.low - 1.08).abs() < 0.01);
    }
}
