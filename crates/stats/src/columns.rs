//! Statistics of a column; missing values (NaN) are ignored.

/// The mean.
pub fn mean(values: &[f64]) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0usize);
    for value in values.iter().filter(|value| !value.is_nan()) {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / count as f64).filter(|mean| !mean.is_nan())
}

/// The smallest.
pub fn smallest(values: &[f64]) -> Option<f64> {
    values.iter().copied().filter(|value| !value.is_nan()).reduce(f64::min)
}

/// The largest.
pub fn largest(values: &[f64]) -> Option<f64> {
    values.iter().copied().filter(|value| !value.is_nan()).reduce(f64::max)
}

/// The sample standard deviation (n − 1).
pub fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let there = values.iter().filter(|value| !value.is_nan());
    let (squares, count) =
        there.fold((0.0, 0usize), |(sum, count), value| (sum + (value - mean).powi(2), count + 1));
    (count > 1).then(|| (squares / (count - 1) as f64).sqrt()).filter(|value| !value.is_nan())
}

/// The value below which a given share lies, interpolated between the two nearest; reorders the values.
pub fn quantile(values: &mut Vec<f64>, share: f64) -> Option<f64> {
    values.retain(|value| !value.is_nan());
    if values.is_empty() {
        return None;
    }
    let place = share * (values.len() - 1) as f64;
    let below = place.floor() as usize;
    let (_, &mut low, above) = values.select_nth_unstable_by(below, f64::total_cmp);
    let rest = place - below as f64;
    if rest == 0.0 {
        return Some(low);
    }
    let high = above.iter().copied().reduce(f64::min)?;
    // The difference of two infinities is NaN.
    let value = if low == high { low } else { low + (high - low) * rest };
    Some(value).filter(|value| !value.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_have_no_part() {
        let values = [f64::NAN, 4.0, 1.0, f64::NAN, 7.0];
        assert_eq!(mean(&values), Some(4.0));
        assert_eq!((smallest(&values), largest(&values)), (Some(1.0), Some(7.0)));
        assert_eq!(deviation(&values), Some(3.0));
        assert_eq!(quantile(&mut values.to_vec(), 0.5), Some(4.0));
        assert_eq!(quantile(&mut values.to_vec(), 0.25), Some(2.5));
        assert_eq!(mean(&[f64::NAN]), None);
        assert_eq!(deviation(&[3.0]), None);
        assert_eq!(mean(&[f64::INFINITY, 1.0]), Some(f64::INFINITY));
        assert_eq!(quantile(&mut vec![f64::INFINITY; 3], 0.25), Some(f64::INFINITY));
    }
}
