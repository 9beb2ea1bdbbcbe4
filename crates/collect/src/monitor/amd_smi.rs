//! Metrics from `amd-smi metric --json`, in the shapes of all its releases.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::Source;
use super::metrics::{Metric, derive};

/// amd-smi on `PATH`, started once per sample: its own watch mode prints no JSON in some releases.
pub(super) struct AmdSmi {
    gpus: usize,
}

impl AmdSmi {
    /// Runs it once; `None` if it is missing or gives no metrics.
    pub fn find() -> Option<Self> {
        let gpus = query()?.len();
        (gpus > 0).then_some(Self { gpus })
    }
}

impl Source for AmdSmi {
    fn name(&self) -> &'static str {
        "amd-smi"
    }

    fn gpus(&self) -> usize {
        self.gpus
    }

    fn read(&mut self, metrics: &[&'static Metric]) -> Vec<Vec<Option<f64>>> {
        let gpus = query().unwrap_or_default();
        (0..self.gpus)
            .map(|n| gpus.get(n).map_or_else(|| vec![None; metrics.len()], |gpu| of_gpu(gpu, metrics)))
            .collect()
    }
}

fn of_gpu(gpu: &Value, metrics: &[&'static Metric]) -> Vec<Option<f64>> {
    let one = |metric: &&'static Metric| {
        let found = metric.amd_smi.iter().try_fold(gpu, |at, key| at.get(key))?;
        (!metric.amd_smi.is_empty()).then(|| quantity(found, metric.unit))?
    };
    let mut values: Vec<Option<f64>> = metrics.iter().map(one).collect();
    derive(metrics, &mut values);
    values
}

fn query() -> Option<Vec<Value>> {
    let mut command = Command::new("amd-smi");
    let output =
        command.args(["metric", "--json"]).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    parse(&String::from_utf8_lossy(&output.stdout))
}

/// The objects of all GPUs: an array, or `gpu_data` of an object; warnings may precede it.
pub(crate) fn parse(text: &str) -> Option<Vec<Value>> {
    let starts = text.match_indices(['[', '{']).map(|(at, _)| at);
    let document = starts
        .take(64)
        .find_map(|at| serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>().next()?.ok())?;
    match document {
        Value::Array(gpus) => Some(gpus),
        Value::Object(mut object) => match object.remove("gpu_data") {
            Some(Value::Array(gpus)) => Some(gpus),
            _ => None,
        },
        _ => None,
    }
}

/// A number in the requested unit; `None` for `N/A` and unknown units.
fn quantity(value: &Value, wanted: &str) -> Option<f64> {
    let (number, unit) = match value {
        Value::Object(_) => (value.get("value")?.as_f64()?, value.get("unit")?.as_str()?),
        Value::Number(number) => (number.as_f64()?, wanted),
        _ => return None,
    };
    // amd-smi counts memory in units of 2^20 and calls them MB.
    const SCALES: [(&str, &str, f64); 10] = [
        ("W", "W", 1.0),
        ("mW", "W", 1e-3),
        ("MB", "bytes", 1_048_576.0),
        ("GB", "bytes", 1_073_741_824.0),
        ("bytes", "bytes", 1.0),
        ("MHz", "MHz", 1.0),
        ("GHz", "MHz", 1e3),
        ("%", "%", 1.0),
        ("C", "°C", 1.0),
        ("°C", "°C", 1.0),
    ];
    let scale = SCALES.iter().find(|(from, to, _)| *from == unit && *to == wanted);
    scale.map(|(_, _, scale)| number * scale).or_else(|| (unit == wanted).then_some(number))
}

#[cfg(test)]
mod tests {
    use super::super::metrics::METRICS;
    use super::*;

    const GPU: &str = r#"{"gpu": 0, "power": {"socket_power": {"value": 550, "unit": "W"}},
        "temperature": {"edge": "N/A", "hotspot": {"value": 56, "unit": "C"}},
        "clock": {"gfx_0": {"clk": {"value": 2.1, "unit": "GHz"}}},
        "mem_usage": {"total_vram": {"value": 1024, "unit": "MB"}, "used_vram": {"value": 256, "unit": "MB"}}}"#;

    #[test]
    fn both_shapes_are_read_with_their_units() {
        let texts = [format!("[{GPU}]"), format!("WARNING: [no group]\n{{\"gpu_data\": [{GPU}]}}")];
        for text in texts {
            let gpus = parse(&text).filter(|gpus| gpus[0].is_object()).unwrap_or_else(|| panic!("{text}"));
            let metrics: Vec<&'static Metric> = METRICS.iter().collect();
            let values = of_gpu(&gpus[0], &metrics);
            let value = |name: &str| values[metrics.iter().position(|m| m.name == name).unwrap()];
            assert_eq!(value("GPU power"), Some(550.0));
            assert_eq!(value("Edge temperature"), None);
            assert_eq!(value("GPU clock"), Some(2100.0));
            assert_eq!(value("VRAM used"), Some(268_435_456.0));
            assert_eq!(value("VRAM used share"), Some(25.0));
        }
    }
}
