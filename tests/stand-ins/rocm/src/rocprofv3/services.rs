//! What is recorded: the tracing options, resolved.

use std::collections::BTreeSet;

use serde_json::Value;

use super::options::Values;
use super::yaml;
use crate::counters;

/// Options that stand for several, and what they turn on unless it is already set.
const AGGREGATES: [(&str, &[&str]); 5] = [
    (
        "runtime_trace",
        &[
            "hip_runtime_trace",
            "marker_trace",
            "kernel_trace",
            "memory_copy_trace",
            "memory_allocation_trace",
            "scratch_memory_trace",
            "rccl_trace",
            "rocdecode_trace",
            "rocjpeg_trace",
        ],
    ),
    (
        "sys_trace",
        &[
            "hip_trace",
            "hsa_trace",
            "marker_trace",
            "kernel_trace",
            "memory_copy_trace",
            "memory_allocation_trace",
            "scratch_memory_trace",
            "rccl_trace",
            "rocdecode_trace",
            "rocjpeg_trace",
        ],
    ),
    ("hip_trace", &["hip_runtime_trace", "hip_compiler_trace"]),
    ("hsa_trace", &["hsa_core_trace", "hsa_amd_trace", "hsa_image_trace", "hsa_finalizer_trace"]),
    ("kokkos_trace", &["marker_trace", "kernel_rename"]),
];

/// The services that are on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Services {
    on: BTreeSet<String>,
    pub counters: Vec<String>,
    /// Groups that take turns within one run, and dispatches of each turn.
    pub counter_groups: Vec<Vec<String>>,
    pub group_interval: usize,
    /// Counters defined on the command line, and the architectures they are defined for.
    defined: Vec<(String, Vec<String>)>,
}

impl Services {
    pub fn of(values: &Values) -> Self {
        let mut all = values.clone();
        for (aggregate, parts) in AGGREGATES {
            if all.get(aggregate).and_then(Value::as_bool) == Some(true) {
                for part in parts {
                    all.entry((*part).to_string()).or_insert(Value::Bool(true));
                }
            }
        }
        let words = |value: &Value| -> Vec<String> {
            let words = value.as_array().into_iter().flatten().filter_map(Value::as_str);
            // The library treats any punctuation as a blank.
            words
                .flat_map(|word| word.split([',', ';', ' ']).map(String::from))
                .filter(|word| !word.is_empty())
                .collect()
        };
        let groups =
            values.get("pmc_groups").and_then(Value::as_array).into_iter().flatten().map(words).collect();
        Self {
            on: all
                .iter()
                .filter(|(_, value)| **value == Value::Bool(true))
                .map(|(key, _)| key.clone())
                .collect(),
            counters: values.get("pmc").map(words).unwrap_or_default(),
            counter_groups: groups,
            group_interval: values.get("pmc_group_interval").and_then(Value::as_u64).unwrap_or(1).max(1)
                as usize,
            defined: values.get("extra_counters").and_then(Value::as_str).map(defined).unwrap_or_default(),
        }
    }

    /// Whether a counter is known, by the profiler or by a definition given to it.
    pub fn knows(&self, counter: &str, arch: &str) -> bool {
        let defined =
            |(name, archs): &(String, Vec<String>)| name == counter && archs.iter().any(|a| a == arch);
        counters::exists(counter, arch) || self.defined.iter().any(defined)
    }

    /// Whether an option, or one that includes it, is on.
    pub fn on(&self, key: &str) -> bool {
        self.on.contains(key)
    }

    pub fn counting(&self) -> bool {
        !self.counters.is_empty() || !self.counter_groups.is_empty()
    }

    /// Whether anything at all is recorded.
    pub fn any(&self) -> bool {
        let other = ["advanced_thread_trace", "pc_sampling_beta_enabled"];
        self.counting() || self.on.iter().any(|key| key.ends_with("_trace") || other.contains(&key.as_str()))
    }

    /// Whether calls of a domain are recorded.
    pub fn calls(&self, domain: &str) -> bool {
        let options = [
            ("HIP_RUNTIME", "hip_runtime_trace"),
            ("HIP_COMPILER", "hip_compiler_trace"),
            ("HSA_CORE", "hsa_core_trace"),
            ("HSA_AMD", "hsa_amd_trace"),
            ("RCCL", "rccl_trace"),
        ];
        options.iter().any(|(start, option)| domain.starts_with(start) && self.on(option))
    }
}

/// Counters of a file of definitions; those without an expression or architectures are skipped.
fn defined(path: &str) -> Vec<(String, Vec<String>)> {
    let document = std::fs::read_to_string(path).ok().and_then(|text| yaml::parse(&text).ok());
    let counters = document.as_ref().and_then(|all| all["rocprofiler-sdk"]["counters"].as_array());
    let mut found = Vec::new();
    for counter in counters.into_iter().flatten() {
        let definitions = counter["definitions"].as_array().into_iter().flatten();
        let archs = definitions
            .filter(|one| one["expression"].is_string())
            .flat_map(|one| one["architectures"].as_array().into_iter().flatten())
            .filter_map(|arch| Some(arch.as_str()?.to_string()))
            .collect();
        found.extend(counter["name"].as_str().map(|name| (name.to_string(), archs)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_switched_off_stays_off() {
        let mut values = Values::new();
        values.insert("sys_trace".into(), true.into());
        values.insert("hsa_trace".into(), false.into());
        let services = Services::of(&values);
        assert!(services.calls("HIP_RUNTIME_API_EXT") && services.on("kernel_trace"));
        assert!(!services.calls("HSA_CORE_API"));
    }
}
