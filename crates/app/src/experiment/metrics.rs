//! Metrics of a trial: told in words, in a file, or taken from what analyses print.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;
use store::Metric;

use super::known;
use crate::failure::Failure;

/// A figure in an artifact that is a metric.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    name: String,
    file: String,
    value: String,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    higher_is_better: bool,
}

#[derive(Deserialize)]
struct Places {
    metric: Vec<Place>,
}

static PLACES: LazyLock<Places> =
    LazyLock::new(|| formats::tables::built_in(include_str!("metrics.toml")).expect("metrics.toml is sound"));

/// The metrics in an artifact.
pub fn of_artifact(path: &str, document: &Value) -> Result<Vec<Metric>, Failure> {
    let name = known::file_name(path);
    if name == "metrics.json" {
        let metrics: Vec<Metric> = serde_json::from_value(document.clone())
            .map_err(|error| Failure::input(format!("`{path}`: {error}")))?;
        return Ok(metrics);
    }
    let metric = |place: &Place| {
        Some(Metric {
            name: place.name.clone(),
            unit: place.unit.clone(),
            value: document.pointer(&place.value)?.as_f64()?,
            low: None,
            high: None,
            higher_is_better: place.higher_is_better,
        })
    };
    Ok(PLACES.metric.iter().filter(|place| place.file == name).filter_map(metric).collect())
}

/// `throughput=812.5tok/s`, `latency=12.1±0.4ms`; a `+` before the name says that more is better.
pub fn metric_of_text(text: &str) -> Result<Metric, String> {
    const FORM: &str = "write it as NAME=VALUE, such as `latency=12.1±0.4ms` or `+throughput=812tok/s`";
    let (name, rest) = text.split_once('=').ok_or(FORM)?;
    let (name, higher_is_better) = name.strip_prefix('+').map_or((name, false), |name| (name, true));
    let (value, rest) = number(rest).ok_or(FORM)?;
    let (half, unit) = match rest.trim_start().strip_prefix('±').or(rest.trim_start().strip_prefix("+-")) {
        Some(rest) => number(rest).map(|(half, unit)| (Some(half.abs()), unit)).ok_or(FORM)?,
        None => (None, rest),
    };
    Ok(Metric {
        name: name.trim().to_string(),
        unit: unit.trim().to_string(),
        value,
        low: half.map(|half| value - half),
        high: half.map(|half| value + half),
        higher_is_better,
    })
}

/// The number at the beginning of a text, and the rest.
fn number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let mut ends = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect::<Vec<_>>();
    ends.reverse();
    // The longest that is a number.
    ends.into_iter().find_map(|end| {
        let digits = text[..end].ends_with(|c: char| c.is_ascii_digit() || c == '.');
        Some((text[..end].parse::<f64>().ok().filter(|value| digits && value.is_finite())?, &text[end..]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_understood() {
        let metric = metric_of_text("+throughput=812.5 tok/s").unwrap();
        assert_eq!((metric.value, metric.unit.as_str(), metric.higher_is_better), (812.5, "tok/s", true));
        let metric = metric_of_text("latency=12.1±0.4ms").unwrap();
        assert_eq!((metric.name.as_str(), metric.unit.as_str()), ("latency", "ms"));
        assert!((metric.low.unwrap() - 11.7).abs() < 1e-9 && (metric.high.unwrap() - 12.5).abs() < 1e-9);
        assert_eq!(metric_of_text("loss=1e-3").unwrap().value, 0.001);
        for wrong in ["latency", "latency=fast", "latency=1±ms", "=", "a=inf"] {
            assert!(metric_of_text(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_place_is_in_a_known_file() {
        assert!(PLACES.metric.iter().all(|place| known::is_known(&place.file)));
    }
}
