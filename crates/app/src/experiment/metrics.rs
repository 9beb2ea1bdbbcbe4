//! Metrics of a trial: given as text, in a file, or taken from what analyses print.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;
use store::Metric;

use super::known;
use crate::failure::Failure;

/// A figure in an artifact that is a metric.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricSource {
    name: String,
    file: String,
    value: String,
    #[serde(default)]
    unit: String,
    /// Converts the figure to `unit`.
    #[serde(default = "one")]
    factor: f64,
    #[serde(default)]
    higher_is_better: bool,
    /// Path of [low, high], in the unit of `value` after `interval_factor`.
    interval: Option<String>,
    #[serde(default = "one")]
    interval_factor: f64,
    /// If there is a number at this path, this metric is not taken.
    unless: Option<String>,
    /// A path, and the text there which says that more is better.
    higher_if: Option<(String, String)>,
}

fn one() -> f64 {
    1.0
}

#[derive(Deserialize)]
struct Places {
    metric: Vec<MetricSource>,
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
    let number = |at: &str| document.pointer(at).and_then(Value::as_f64);
    let metric = |place: &MetricSource| {
        if place.unless.as_deref().and_then(number).is_some() {
            return None;
        }
        let value = number(&place.value)? * place.factor;
        let bound = |end: &str| {
            let bound = number(&format!("{}/{end}", place.interval.as_deref()?))? * place.interval_factor;
            Some(bound)
        };
        // An interval that does not contain its value was rounded or belongs to something else: better none
        // than a wrong one.
        let interval = bound("0").zip(bound("1")).filter(|(low, high)| *low <= value && value <= *high);
        let higher = place
            .higher_if
            .as_ref()
            .map(|(at, text)| document.pointer(at).and_then(Value::as_str) == Some(text.as_str()));
        Some(Metric {
            name: place.name.clone(),
            unit: place.unit.clone(),
            value,
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
            higher_is_better: higher.unwrap_or(place.higher_is_better),
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
    // The longest prefix that is a number.
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
    fn the_best_of_a_search_has_its_interval() {
        let found = |best: Value, direction: &str| {
            let document = serde_json::json!({ "result": { "best_config": best, "direction": direction } });
            of_artifact("autotune.json", &document).unwrap()
        };
        let timed =
            found(serde_json::json!({ "runtime_ms": 2.0, "value": 2e6, "ci": [1.9e6, 2.2e6] }), "minimise");
        assert_eq!(timed.len(), 1);
        assert_eq!((timed[0].name.as_str(), timed[0].unit.as_str()), ("best_runtime", "ms"));
        assert!((timed[0].low.unwrap() - 1.9).abs() < 1e-9 && (timed[0].high.unwrap() - 2.2).abs() < 1e-9);
        let other = found(serde_json::json!({ "runtime_ms": null, "value": 812.0, "ci": null }), "maximise");
        assert_eq!(
            (other[0].name.as_str(), other[0].low, other[0].higher_is_better),
            ("best_value", None, true)
        );
    }

    #[test]
    fn every_place_is_in_a_known_file() {
        assert!(PLACES.metric.iter().all(|place| known::is_known(&place.file)));
    }
}
