//! What the doctor contributes to a profile's metadata: preflight, clocks, image.

use serde_json::{Map, Value, json};

use ::report::HealthStatus;

use super::{Check, Machine, examine_these};
use crate::environment::container_image;

/// Checks that decide whether a profile can be trusted, and that start no program.
const PREFLIGHT: [&str; 6] = ["driver", "gpus", "kfd", "render", "visibility", "output"];

/// The checks that run before every run: those that take no time.
pub fn preflight(machine: &Machine) -> Vec<Check> {
    examine_these(machine, |id| PREFLIGHT.contains(&id))
}

/// The facts about the machine for a profile, under the names of `profile_metadata.json`; unknown fields are
/// left out.
///
/// Clocks are the highest that the driver allows: idle GPUs run slower.
pub fn facts(machine: &Machine, checks: &[Check]) -> Map<String, Value> {
    let failed: Vec<&str> =
        checks.iter().filter(|check| check.status == HealthStatus::Fail).map(|check| check.id).collect();
    let gpus = &machine.topology.gpus;
    let clocks: Map<String, Value> =
        gpus.iter().filter_map(|gpu| Some((gpu.type_index.to_string(), json!(gpu.max_clock_mhz?)))).collect();
    let image = container_image(|name| machine.variable(name).map(str::to_string));
    let known = [
        ("preflight_passed", Some(json!(failed.is_empty()))),
        ("failed_checks", Some(json!(failed))),
        ("gpu_clocks_mhz", (!clocks.is_empty()).then_some(Value::Object(clocks))),
        ("base_image", image.map(Value::from)),
    ];
    known.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))).collect()
}
