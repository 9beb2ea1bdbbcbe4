//! Statistics that one bad run does not spoil.

/// Makes the median absolute deviation comparable to a standard deviation.
const MAD_SCALE: f64 = 1.4826;

/// The values in ascending order.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The median of ascending values; NaN if empty.
pub fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[half],
        _ => (sorted[half - 1] + sorted[half]) / 2.0,
    }
}

/// The median; NaN if empty.
pub fn median(values: &[f64]) -> f64 {
    middle(&sorted(values))
}

/// The upper of the two middle values, for integers that must stay measured values; reorders the slice.
pub fn upper_median(values: &mut [i64]) -> Option<i64> {
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable(middle).1)
}

/// Median absolute deviation, scaled to equal the standard deviation of normal values.
pub fn median_absolute_deviation(values: &[f64]) -> f64 {
    let median = median(values);
    let deviations: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
    MAD_SCALE * self::median(&deviations)
}

/// Ranks from 1; equal values share their mean rank.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let mut to = from + 1;
        while to < order.len() && values[order[to]] == values[order[from]] {
            to += 1;
        }
        let shared = (from + to + 1) as f64 / 2.0;
        order[from..to].iter().for_each(|&place| ranks[place] = shared);
        from = to;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_equal_their_definitions() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
        assert_eq!((upper_median(&mut [4, 1, 3, 2]), upper_median(&mut [])), (Some(3), None));
        // Deviations from 2 are 1, 1, 0, 0, 2, 4, 7: their median is 1.
        let found = median_absolute_deviation(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]);
        assert!((found - 1.4826).abs() < 1e-12, "{found}");
    }

    #[test]
    fn ranks_of_equal_values_are_shared() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        assert_eq!(ranks(&[f64::NAN, 1.0]).len(), 2);
    }
}
