//! As much of JSON Schema 2020-12 as the project's own schemas use; a keyword it does not know is a fault.

use serde_json::Value;

/// What is wrong with a document, each with its place.
pub fn problems(schema: &Value, document: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    Check { root: schema, problems: &mut problems }.value(schema, document, "");
    problems
}

struct Check<'a> {
    root: &'a Value,
    problems: &'a mut Vec<String>,
}

impl Check<'_> {
    fn value(&mut self, schema: &Value, value: &Value, at: &str) {
        if let Some(allowed) = schema.as_bool() {
            self.need(allowed, at, "not known");
            return;
        }
        for (keyword, rule) in schema.as_object().expect("a schema is an object") {
            match keyword.as_str() {
                "$schema" | "$id" | "title" | "description" | "$defs" => {}
                "$ref" => {
                    let pointer =
                        rule.as_str().and_then(|text| text.strip_prefix('#')).expect("a local reference");
                    let root = self.root;
                    self.value(root.pointer(pointer).expect("a definition"), value, at);
                }
                "type" => self.need(types(rule).iter().any(|name| is(value, name)), at, "type"),
                "enum" => self.need(rule.as_array().unwrap().contains(value), at, "enum"),
                "const" => self.need(rule == value, at, "const"),
                "minimum" => {
                    self.need(value.as_f64().is_none_or(|n| n >= rule.as_f64().unwrap()), at, "minimum")
                }
                "maximum" => {
                    self.need(value.as_f64().is_none_or(|n| n <= rule.as_f64().unwrap()), at, "maximum")
                }
                "minLength" => self.need(
                    value.as_str().is_none_or(|s| s.len() as u64 >= rule.as_u64().unwrap()),
                    at,
                    "minLength",
                ),
                "minItems" => self.need(
                    value.as_array().is_none_or(|l| l.len() as u64 >= rule.as_u64().unwrap()),
                    at,
                    "minItems",
                ),
                "pattern" => self.need(
                    value.as_str().is_none_or(|s| matches(rule.as_str().unwrap(), s)),
                    at,
                    "pattern",
                ),
                "required" => {
                    for name in rule.as_array().unwrap().iter().filter_map(Value::as_str) {
                        self.need(value.as_object().is_none_or(|o| o.contains_key(name)), at, name);
                    }
                }
                "properties" => {
                    for (name, schema) in rule.as_object().unwrap() {
                        if let Some(inner) = value.get(name) {
                            self.value(schema, inner, &format!("{at}/{name}"));
                        }
                    }
                }
                "patternProperties" => {
                    for (pattern, schema) in rule.as_object().unwrap() {
                        let named = value.as_object().into_iter().flatten();
                        for (name, inner) in named.filter(|(name, _)| matches(pattern, name)) {
                            self.value(schema, inner, &format!("{at}/{name}"));
                        }
                    }
                }
                "additionalProperties" => {
                    let patterns = schema.get("patternProperties").and_then(Value::as_object);
                    let patterned = |name: &str| {
                        patterns.into_iter().flatten().any(|(pattern, _)| matches(pattern, name))
                    };
                    for (name, inner) in value.as_object().into_iter().flatten() {
                        if schema["properties"].get(name).is_none() && !patterned(name) {
                            self.value(rule, inner, &format!("{at}/{name}"));
                        }
                    }
                }
                "items" => {
                    for (place, inner) in value.as_array().into_iter().flatten().enumerate() {
                        self.value(rule, inner, &format!("{at}/{place}"));
                    }
                }
                other => panic!("the validator does not know `{other}`"),
            }
        }
    }

    fn need(&mut self, holds: bool, at: &str, what: &str) {
        if !holds {
            self.problems.push(format!("{at}: {what}"));
        }
    }
}

fn types(rule: &Value) -> Vec<&str> {
    match rule {
        Value::String(name) => vec![name],
        list => list.as_array().expect("names of types").iter().filter_map(Value::as_str).collect(),
    }
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("no type is called `{other}`"),
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    regex::Regex::new(pattern).expect("a pattern").is_match(text)
}
