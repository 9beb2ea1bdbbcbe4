//! Whether runs may be compared: known facts about how they were made must agree.

use std::collections::{BTreeMap, BTreeSet};

use formats::run::{PROFILE_METADATA_FILE, RUN_FILE};
use serde_json::Value;

/// The deciding facts in `profile_metadata.json` or `run.json`.
const FIELDS: &[&str] = &[
    "base_image",
    "resource_class",
    "gpu_device_ids",
    "server_flags",
    "benchmark_config_hash",
    "observed_arch",
    "profile_stage",
];

/// Names of the files with these facts, in order of preference.
pub const FILES: &[&str] = &[PROFILE_METADATA_FILE, RUN_FILE];

/// Known facts about how a run was made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    known: Vec<(&'static str, Value)>,
    /// Variables that change results, if the run recorded them.
    environment: Option<BTreeMap<String, String>>,
}

impl Facts {
    /// Parses such a file; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let object: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
        let Value::Object(object) = object else { return Err("not a JSON object".into()) };
        let known = FIELDS.iter().filter_map(|field| {
            let value = object.get(*field)?;
            let unknown = match value {
                Value::Null => true,
                Value::String(text) => text.is_empty() || text == "unknown",
                _ => false,
            };
            (!unknown).then(|| (*field, ordered(value)))
        });
        let environment = object.get("environment").and_then(Value::as_object).map(|variables| {
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), String::from);
            variables.iter().map(|(name, value)| (name.clone(), text(value))).collect()
        });
        Ok(Self { known: known.collect(), environment })
    }

    fn get(&self, field: &str) -> Option<&Value> {
        self.known.iter().find(|(name, _)| *name == field).map(|(_, value)| value)
    }
}

/// The same value with object keys sorted, so that key order makes no difference.
fn ordered(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            Value::Object(entries.into_iter().map(|(key, value)| (key.clone(), ordered(value))).collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(ordered).collect()),
        plain => plain.clone(),
    }
}

/// How far two sides can be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparability {
    /// One line for each fact that differs or is known for only some runs.
    pub differences: Vec<String>,
    /// Facts that no run records.
    pub unknown: Vec<&'static str>,
    /// One line for each environment variable that differs: a possible explanation, not an obstacle.
    pub environment: Vec<String>,
}

/// Compares the facts of every run.
pub fn comparability(base: &[Facts], candidate: &[Facts]) -> Comparability {
    let mut result = Comparability::default();
    for field in FIELDS {
        let of = |runs: &'_ [Facts]| -> Vec<Option<Value>> {
            runs.iter().map(|facts| facts.get(field).cloned()).collect()
        };
        let (before, after) = (of(base), of(candidate));
        let mut all = before.iter().chain(&after);
        let Some(first) = all.next() else { continue };
        if all.all(|value| value == first) {
            if first.is_none() {
                result.unknown.push(field);
            }
            continue;
        }
        result.differences.push(format!("{field} ({} → {})", told(&before), told(&after)));
    }
    result.environment = environment(base, candidate);
    result
}

/// Variables that differ between processes of one run and change nothing.
const OF_A_PROCESS: &[&str] = &["SLURM_JOB_ID", "RANK", "LOCAL_RANK", "MASTER_PORT"];

/// Variables with different values, among the runs that recorded them.
fn environment(base: &[Facts], candidate: &[Facts]) -> Vec<String> {
    let of = |runs: &[Facts]| -> Vec<BTreeMap<String, String>> {
        runs.iter().filter_map(|facts| facts.environment.clone()).collect()
    };
    let (before, after) = (of(base), of(candidate));
    if before.is_empty() || after.is_empty() {
        return Vec::new();
    }
    let names: BTreeSet<&String> = before.iter().chain(&after).flat_map(BTreeMap::keys).collect();
    let values = |runs: &[BTreeMap<String, String>], name: &str| -> Vec<Option<Value>> {
        runs.iter().map(|run| run.get(name).map(|text| Value::from(text.as_str()))).collect()
    };
    names
        .into_iter()
        .filter(|name| !OF_A_PROCESS.contains(&name.as_str()))
        .filter_map(|name| {
            let (before, after) = (values(&before, name), values(&after, name));
            let same = before.iter().chain(&after).all(|value| *value == before[0]);
            let unset = |text: String| text.replace("unknown", "unset");
            (!same).then(|| format!("{name} ({} → {})", unset(told(&before)), unset(told(&after))))
        })
        .collect()
}

/// The distinct values of one side.
fn told(values: &[Option<Value>]) -> String {
    let mut told: Vec<String> = Vec::new();
    for value in values {
        let text = match value {
            None => "unknown".to_string(),
            Some(Value::String(text)) => format!("`{text}`"),
            Some(value) => format!("`{value}`"),
        };
        if !told.contains(&text) {
            told.push(text);
        }
    }
    told.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(text: &str) -> Facts {
        Facts::parse(text).unwrap()
    }

    #[test]
    fn equal_facts_compare_and_unknown_ones_are_told() {
        let one = facts(r#"{"base_image": "a:1", "server_flags": {"x": 1, "y": 2}, "gpu_device_ids": [0]}"#);
        let two = facts(r#"{"gpu_device_ids": [0], "server_flags": {"y": 2, "x": 1}, "base_image": "a:1"}"#);
        let found = comparability(std::slice::from_ref(&one), &[two]);
        assert!(found.differences.is_empty(), "{found:?}");
        assert_eq!(
            found.unknown,
            ["resource_class", "benchmark_config_hash", "observed_arch", "profile_stage"]
        );
    }

    #[test]
    fn what_differs_or_is_told_on_one_side_only_is_named() {
        let one =
            facts(r#"{"base_image": "a:1", "resource_class": "single-gpu", "observed_arch": "gfx942"}"#);
        let two = facts(r#"{"base_image": "a:2", "resource_class": null, "observed_arch": "unknown"}"#);
        let found = comparability(std::slice::from_ref(&one), std::slice::from_ref(&two));
        let expected = [
            "base_image (`a:1` → `a:2`)",
            "resource_class (`single-gpu` → unknown)",
            "observed_arch (`gfx942` → unknown)",
        ];
        assert_eq!(found.differences, expected);
        // Repeats of one side must agree too.
        let found = comparability(&[one.clone(), two], &[one]);
        assert_eq!(found.differences[0], "base_image (`a:1`, `a:2` → `a:1`)");
    }

    #[test]
    fn variables_that_differ_are_named_and_forbid_nothing() {
        let one =
            facts(r#"{"environment": {"HSA_ENABLE_SDMA": "0", "NCCL_DEBUG": "INFO", "SLURM_JOB_ID": "1"}}"#);
        let two = facts(r#"{"environment": {"NCCL_DEBUG": "WARN", "SLURM_JOB_ID": "2"}}"#);
        let found = comparability(std::slice::from_ref(&one), &[two]);
        assert_eq!(found.environment, ["HSA_ENABLE_SDMA (`0` → unset)", "NCCL_DEBUG (`INFO` → `WARN`)"]);
        assert!(found.differences.is_empty());
        assert!(comparability(&[one], &[facts("{}")]).environment.is_empty(), "nothing is known of one side");
    }

    #[test]
    fn bad_files_say_why() {
        assert_eq!(Facts::parse("[1]").unwrap_err(), "not a JSON object");
        assert!(Facts::parse("{").unwrap_err().starts_with("not JSON: "));
    }
}
