//! Whether runs may be compared: what is known of how they were made must agree.

use serde_json::Value;

/// Facts of `profile_metadata.json` or `run.json` that decide.
const FIELDS: &[&str] = &[
    "base_image",
    "resource_class",
    "gpu_device_ids",
    "server_flags",
    "benchmark_config_hash",
    "observed_arch",
    "profile_stage",
];

/// Names of the files that hold them, in order of preference.
pub const FILES: &[&str] = &["profile_metadata.json", "run.json"];

/// What is known of how a run was made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    known: Vec<(&'static str, Value)>,
}

impl Facts {
    /// From the text of such a file; the error says what is wrong with it.
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
        Ok(Self { known: known.collect() })
    }

    fn get(&self, field: &str) -> Option<&Value> {
        self.known.iter().find(|(name, _)| *name == field).map(|(_, value)| value)
    }
}

/// The same value with the keys of objects in order, so that only what differs differs.
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

/// How far two sides may be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparability {
    /// One line for each fact that differs or is known of some runs only.
    pub differences: Vec<String>,
    /// Facts that no run tells.
    pub unknown: Vec<&'static str>,
}

/// Looks at the facts of every run.
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
    result
}

/// The values of one side, each once.
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
    fn bad_files_say_why() {
        assert_eq!(Facts::parse("[1]").unwrap_err(), "not a JSON object");
        assert!(Facts::parse("{").unwrap_err().starts_with("not JSON: "));
    }
}
