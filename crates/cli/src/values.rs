//! Values of options: percentages, seconds, choices from a list.

use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// One of a list that is not this program's own.
pub fn choices<T: Copy + Send + Sync + 'static>(
    all: impl Iterator<Item = (PossibleValue, T)>,
) -> impl TypedValueParser<Value = T> {
    let all: Vec<(PossibleValue, T)> = all.collect();
    let names: Vec<PossibleValue> = all.iter().map(|(name, _)| name.clone()).collect();
    PossibleValuesParser::new(names).try_map(move |typed: String| {
        let chosen = all.iter().find(|(name, _)| name.matches(&typed, true));
        chosen.map(|(_, value)| *value).ok_or("it is none of these")
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
        .ok_or_else(|| "a share from 0 to 100 is needed".into())
}

/// Seconds with a fraction, up to a day.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.strip_suffix('s').unwrap_or(text).parse::<f64>().ok();
    number
        .and_then(|number| Duration::try_from_secs_f64(number).ok())
        .filter(|time| time.as_secs() <= 86_400)
        .ok_or_else(|| "a number of seconds up to a day is needed".into())
}
