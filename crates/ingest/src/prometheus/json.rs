//! Results of range queries (`data.result[]` with `values`, times in seconds), and VictoriaMetrics' export:
//! one series per line, with `values` and `timestamps` in milliseconds.

use serde_json::Value;

use super::{Reader, nanoseconds};

/// Whether the first keys of a document are those of metrics.
pub(crate) fn is_metrics(keys: &[String]) -> bool {
    let has = |wanted: &str| keys.iter().any(|key| key == wanted);
    (has("status") && has("data")) || (has("metric") && (has("values") || has("timestamps")))
}

/// Reads one document, or one series per line.
pub(super) fn read(bytes: &[u8], reader: &mut Reader) {
    for document in serde_json::Deserializer::from_slice(bytes).into_iter::<Value>() {
        let Ok(document) = document else {
            reader.lost += 1;
            break;
        };
        match document.pointer("/data/result").and_then(Value::as_array) {
            Some(all) => all.iter().for_each(|one| series(one, reader)),
            None => series(&document, reader),
        }
    }
}

fn series(series: &Value, reader: &mut Reader) {
    let Some(Value::Object(metric)) = series.get("metric") else {
        reader.lost += 1;
        return;
    };
    let name = metric.get("__name__").and_then(Value::as_str).unwrap_or("value");
    let labels = metric.iter().filter(|(key, _)| *key != "__name__");
    let labels: Vec<String> =
        labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    let labels = labels.join(",");
    let list = |key: &str| series.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if series.get("timestamps").is_some() {
        for (value, time) in list("values").iter().zip(list("timestamps")) {
            let time = time.as_f64().and_then(|time| nanoseconds(time, 1e3));
            reader.take(name, &labels, time, number(value));
        }
        return;
    }
    let points = list("values").iter().chain(series.get("value"));
    for point in points {
        let time = point.get(0).and_then(Value::as_f64).and_then(|time| nanoseconds(time, 1.0));
        reader.take(name, &labels, time, point.get(1).and_then(number));
    }
}

/// A number; queries return it as text.
fn number(value: &Value) -> Option<f64> {
    let number = value.as_f64().or_else(|| value.as_str()?.parse().ok());
    number.filter(|number: &f64| number.is_finite())
}
