//! Values of options: percentages, seconds, choices from a list.

use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A choice from a list that another crate defines.
pub fn choices<T: Copy + Send + Sync + 'static>(
    all: impl Iterator<Item = (PossibleValue, T)>,
) -> impl TypedValueParser<Value = T> {
    let all: Vec<(PossibleValue, T)> = all.collect();
    let names: Vec<PossibleValue> = all.iter().map(|(name, _)| name.clone()).collect();
    PossibleValuesParser::new(names).try_map(move |typed: String| {
        let chosen = all.iter().find(|(name, _)| name.matches(&typed, true));
        chosen.map(|(_, value)| *value).ok_or("expected one of the listed values")
    })
}

/// `3`, `3%` or `3 %`.
pub fn percentage(text: &str) -> Option<f64> {
    text.trim_end_matches('%').trim().parse::<f64>().ok().filter(|pct| pct.is_finite())
}

/// A share in percent.
pub fn share(text: &str) -> Result<f64, String> {
    percentage(text)
        .filter(|pct| (0.0..=100.0).contains(pct))
        .ok_or_else(|| "expected a percentage from 0 to 100".into())
}

/// Seconds with a fraction, up to a day.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.strip_suffix('s').unwrap_or(text).parse::<f64>().ok();
    number
        .and_then(|number| Duration::try_from_secs_f64(number).ok())
        .filter(|time| time.as_secs() <= 86_400)
        .ok_or_else(|| "expected seconds, at most a day".into())
}

/// Bytes: `500M`, `16G`, `16GiB`, `1.5TB`.
pub fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let power =
        match text[digits.len()..].trim().to_ascii_lowercase().trim_end_matches('b').trim_end_matches('i') {
            "" => 0,
            "k" => 1,
            "m" => 2,
            "g" => 3,
            "t" => 4,
            _ => return Err("expected a size such as 500M or 16G".into()),
        };
    let number = digits.parse::<f64>().ok().filter(|number| *number > 0.0 && *number < 1e15);
    number
        .map(|number| (number * 1024f64.powi(power)) as u64)
        .ok_or_else(|| "expected a size such as 500M or 16G".into())
}

/// A whole number of at least 1.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| "expected a whole number of at least 1".into())
}

/// A number above zero.
pub fn positive(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|number| *number > 0.0 && *number < 1e9)
        .ok_or_else(|| "expected a number above 0 and below 1e9".into())
}

/// A part of a whole.
pub fn part(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|number| *number > 0.0 && *number <= 1.0)
        .ok_or_else(|| "expected a number above 0, at most 1".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_make_no_sense_are_refused_with_the_range() {
        assert_eq!(share("500").unwrap_err(), "expected a percentage from 0 to 100");
        assert!(share("-1").is_err() && share("nan").is_err() && share("12.5 %") == Ok(12.5));
        assert!(at_least_one("0").is_err() && at_least_one("3") == Ok(3));
        assert!(positive("0").is_err() && positive("inf").is_err() && positive("0.5") == Ok(0.5));
        assert!(part("1.5").is_err() && part("1") == Ok(1.0));
        assert!(seconds("x").is_err() && seconds("90000").is_err());
    }
}
