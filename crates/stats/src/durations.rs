//! Durations of a group of calls, in exact integer arithmetic if a sum is exact.

/// Count, sum, spread and median of a set of durations.
#[derive(Clone, Debug, PartialEq)]
pub struct Durations {
    /// Count.
    pub calls: usize,
    /// Sum.
    pub total: i64,
    /// Smallest.
    pub min: i64,
    /// Largest.
    pub max: i64,
    /// Median; the mean of the two middle values, rounded down, for an even count.
    pub median: i64,
    /// Sample standard deviation (n − 1), rounded; `None` for one call.
    pub stddev: Option<i64>,
}

impl Durations {
    /// Statistics of at least one duration; reorders the slice.
    pub fn of(durations: &mut [i64]) -> Self {
        let calls = durations.len();
        let total: i64 = durations.iter().sum();
        let mean = total as f64 / calls as f64;
        // Two passes: the textbook one-pass formula loses all precision if the spread is small.
        let squares: f64 = durations.iter().map(|&d| (d as f64 - mean) * (d as f64 - mean)).sum();
        let stddev = (calls > 1).then(|| (squares / (calls - 1) as f64).sqrt().round() as i64);
        let min = durations.iter().copied().min().unwrap_or(0);
        let max = durations.iter().copied().max().unwrap_or(0);
        Self { calls, total, min, max, median: median(durations), stddev }
    }

    /// Mean, rounded to the nearest nanosecond.
    pub fn mean(&self) -> i64 {
        rounded_mean(self.total, self.calls)
    }
}

/// `total / count`, rounded to the nearest whole number.
pub fn rounded_mean(total: i64, count: usize) -> i64 {
    (total as f64 / count.max(1) as f64).round() as i64
}

/// `part` of `whole` in percent; zero if `whole` is zero.
pub fn percent(part: i64, whole: i64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// The median; of an even count the mean of the middle two, rounded down; zero if empty. Reorders the slice.
pub fn median(values: &mut [i64]) -> i64 {
    let middle = values.len() / 2;
    if values.is_empty() {
        return 0;
    }
    let (below, &mut upper, _) = values.select_nth_unstable(middle);
    if below.len() * 2 == values.len() {
        let lower = values[..middle].iter().copied().max().unwrap_or(upper);
        return lower + (upper - lower) / 2;
    }
    upper
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_the_definitions() {
        let mut state = 12345u64;
        for len in 1..60usize {
            let mut values: Vec<i64> = (0..len)
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    (state >> 40) as i64 - 4_000_000
                })
                .collect();
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let expected_median = if len % 2 == 1 {
                sorted[len / 2]
            } else {
                (sorted[len / 2 - 1] + sorted[len / 2]).div_euclid(2)
            };
            let mean = sorted.iter().sum::<i64>() as f64 / len as f64;
            let variance =
                sorted.iter().map(|v| (*v as f64 - mean).powi(2)).sum::<f64>() / (len as f64 - 1.0);
            let found = Durations::of(&mut values);
            assert_eq!((found.min, found.max), (sorted[0], sorted[len - 1]));
            assert!((found.median - expected_median).abs() <= 1, "{sorted:?}");
            assert_eq!(found.stddev, (len > 1).then(|| variance.sqrt().round() as i64));
            assert_eq!(found.total, sorted.iter().sum::<i64>());
        }
    }
}
