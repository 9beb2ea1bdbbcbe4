//! The part of JSON Schema 2020-12 that the project's own schemas use; an unknown keyword is an error.

use serde_json::Value;

/// The problems of a document, each with its location.
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
        let Some(keywords) = schema.as_object() else {
            self.need(schema.as_bool() == Some(true), at, || "is not known".into());
            return;
        };
        for (keyword, rule) in keywords {
            match keyword.as_str() {
                "$schema" | "$id" | "title" | "description" | "$defs" => {}
                "$ref" => {
                    let root = self.root;
                    let pointer = rule.as_str().and_then(|text| text.strip_prefix('#'));
                    match pointer.and_then(|pointer| root.pointer(pointer)) {
                        Some(definition) => self.value(definition, value, at),
                        None => self
                            .need(false, at, || format!("the schema refers to {rule}, which is not there")),
                    }
                }
                "type" => self.need(types(rule).iter().any(|name| is(value, name)), at, || {
                    format!("must be {}, is {}", types(rule).join(" or "), kind(value))
                }),
                "enum" => self.need(list(rule).contains(value), at, || format!("must be one of {rule}")),
                "const" => self.need(rule == value, at, || format!("must be {rule}")),
                "minimum" => {
                    self.need(
                        value.as_f64().is_none_or(|n| rule.as_f64().is_some_and(|least| n >= least)),
                        at,
                        || format!("must be at least {rule}"),
                    );
                }
                "maximum" => {
                    self.need(
                        value.as_f64().is_none_or(|n| rule.as_f64().is_some_and(|most| n <= most)),
                        at,
                        || format!("must be at most {rule}"),
                    );
                }
                "minLength" => {
                    let least = rule.as_u64().unwrap_or(u64::MAX);
                    self.need(value.as_str().is_none_or(|text| text.len() as u64 >= least), at, || {
                        format!("must have at least {rule} characters")
                    });
                }
                "minItems" => {
                    let least = rule.as_u64().unwrap_or(u64::MAX);
                    self.need(value.as_array().is_none_or(|items| items.len() as u64 >= least), at, || {
                        format!("must have at least {rule} entries")
                    });
                }
                "pattern" => self.need(value.as_str().is_none_or(|text| matches(rule, text)), at, || {
                    format!("must match {rule}")
                }),
                "required" => {
                    for name in list(rule).iter().filter_map(Value::as_str) {
                        let has = value.as_object().is_none_or(|object| object.contains_key(name));
                        self.need(has, at, || format!("misses `{name}`"));
                    }
                }
                "properties" => {
                    for (name, schema) in rule.as_object().into_iter().flatten() {
                        if let Some(inner) = value.get(name) {
                            self.value(schema, inner, &format!("{at}/{name}"));
                        }
                    }
                }
                "patternProperties" => {
                    for (pattern, schema) in rule.as_object().into_iter().flatten() {
                        let pattern = Value::from(pattern.as_str());
                        let named = value.as_object().into_iter().flatten();
                        for (name, inner) in named.filter(|(name, _)| matches(&pattern, name)) {
                            self.value(schema, inner, &format!("{at}/{name}"));
                        }
                    }
                }
                "additionalProperties" => {
                    let patterns = schema.get("patternProperties").and_then(Value::as_object);
                    let patterned = |name: &str| {
                        let mut patterns = patterns.into_iter().flatten();
                        patterns.any(|(pattern, _)| matches(&Value::from(pattern.as_str()), name))
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
                other => self.need(false, at, || format!("the validator does not know `{other}`")),
            }
        }
    }

    fn need(&mut self, holds: bool, at: &str, what: impl FnOnce() -> String) {
        if !holds {
            let place = if at.is_empty() { "the document" } else { at };
            self.problems.push(format!("{place} {}", what()));
        }
    }
}

fn list(rule: &Value) -> &[Value] {
    rule.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn types(rule: &Value) -> Vec<&str> {
    match rule {
        Value::String(name) => vec![name],
        names => list(names).iter().filter_map(Value::as_str).collect(),
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
        _ => false,
    }
}

fn kind(value: &Value) -> &'static str {
    let kinds = ["null", "boolean", "string", "array", "object", "integer", "number"];
    kinds.into_iter().find(|kind| is(value, kind)).unwrap_or("number")
}

fn matches(pattern: &Value, text: &str) -> bool {
    pattern
        .as_str()
        .and_then(|pattern| regex::Regex::new(pattern).ok())
        .is_some_and(|regex| regex.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn problems_name_the_place_and_the_rule() {
        let schema = json!({
            "type": "array",
            "items": {
                "type": "object",
                "required": ["stage"],
                "properties": { "stage": { "type": ["string", "null"] }, "share": { "minimum": 0 } },
                "additionalProperties": false
            }
        });
        assert_eq!(problems(&schema, &json!([{ "stage": null, "share": 1 }])), Vec::<String>::new());
        let found = problems(&schema, &json!([{ "stage": 1, "share": -1 }, { "other": 2 }]));
        assert_eq!(
            found,
            [
                "/0/stage must be string or null, is integer",
                "/0/share must be at least 0",
                "/1 misses `stage`",
                "/1/other is not known",
            ]
        );
        assert_eq!(problems(&schema, &json!({})), ["the document must be array, is object"]);
        assert_eq!(problems(&json!({ "oneOf": [] }), &json!(1)).len(), 1, "a keyword that is not known");
    }
}
