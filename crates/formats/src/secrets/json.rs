//! Secrets in documents, at any depth.

use serde_json::{Map, Value as Json};

use super::table::table;
use super::text::{count_redacted, redact_words};

/// A document without its secrets, and the dotted names of the places where they were. If the name marks a
/// secret the whole value is removed; in other texts only the secret.
pub fn redact_json(value: &Json) -> (Json, Vec<String>) {
    let mut places = Vec::new();
    (redacted(value, "", &mut places), places)
}

fn redacted(value: &Json, at: &str, places: &mut Vec<String>) -> Json {
    match value {
        Json::Object(object) => Json::Object(redacted_object(object, at, places)),
        Json::Array(list) => Json::Array(redacted_list(list, at, places)),
        Json::String(text) => Json::String(redacted_string(text, at, places)),
        Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
    }
}

fn redacted_object(object: &Map<String, Json>, at: &str, places: &mut Vec<String>) -> Map<String, Json> {
    // `{"name": "HF_TOKEN", "value": "…"}`
    let named = ["name", "key"].iter().find_map(|key| object.get(*key).and_then(Json::as_str));
    let value_is_secret = named.is_some_and(|name| table().is_secret_name(name));
    let mut kept = Map::new();
    for (key, value) in object {
        let place = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
        let secret = table().is_secret_name(key) || (value_is_secret && key == "value");
        if secret && !is_harmless(key, value) {
            if !value.is_null() {
                places.push(place);
            }
            continue;
        }
        kept.insert(key.clone(), redacted(value, &place, places));
    }
    kept
}

/// Nothing to hide: a switch, or a number that is not a password.
fn is_harmless(name: &str, value: &Json) -> bool {
    match value {
        Json::Bool(_) => true,
        Json::Number(number) => table().is_harmless(name, &number.to_string()),
        _ => false,
    }
}

fn redacted_list(list: &[Json], at: &str, places: &mut Vec<String>) -> Vec<Json> {
    let words: Option<Vec<String>> = list.iter().map(|word| word.as_str().map(String::from)).collect();
    let Some(words) = words else { return list.iter().map(|value| redacted(value, at, places)).collect() };
    let shown = redact_words(&words);
    if shown != words {
        places.push(at.to_string());
    }
    shown.iter().map(|word| Json::String(redacted_string(word, at, places))).collect()
}

fn redacted_string(text: &str, at: &str, places: &mut Vec<String>) -> String {
    // A document inside a string.
    if text.trim_start().starts_with(['{', '['])
        && let Ok(inner @ (Json::Object(_) | Json::Array(_))) = serde_json::from_str::<Json>(text)
    {
        let before = places.len();
        let shown = redacted(&inner, at, places);
        return if places.len() > before { shown.to_string() } else { text.to_string() };
    }
    let (shown, count) = count_redacted(text);
    if count > 0 {
        places.push(at.to_string());
    }
    shown.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_stay_behind_and_the_rest_does_not() {
        let args = json!({
            "model_path": "Qwen/Qwen3-8B", "tp_size": 8, "max_total_tokens": 4096, "tokenizer_path": "t",
            "api_key": "k-123", "admin_api_key": null, "ssl_keyfile_password": "p", "hf_token": "x",
            "dist": {"url": "tcp://me:pw@host:1", "port": 1}, "extra": ["hf_abc1234", "ok"],
        });
        let (kept, places) = redact_json(&args);
        assert_eq!(
            kept,
            json!({
                "model_path": "Qwen/Qwen3-8B", "tp_size": 8, "max_total_tokens": 4096, "tokenizer_path": "t",
                "dist": {"url": "tcp://[redacted]@host:1", "port": 1}, "extra": ["[redacted]", "ok"],
            })
        );
        assert_eq!(places, ["api_key", "ssl_keyfile_password", "hf_token", "dist.url", "extra"]);
    }

    #[test]
    fn g2_secrets_below_the_top_level_do_not_stay() {
        let (kept, _) = redact_json(&json!({
            "internal_states": [{"api_key": "planted", "load": 1}],
            "env": {"HF_TOKEN": "planted", "HIP_VISIBLE_DEVICES": "0"},
            "env_list": [{"name": "HF_TOKEN", "value": "planted"}, {"name": "N", "value": "1"}],
            "command": "serve --api-key planted --port 1",
            "argv": ["serve", "--api-key", "planted"],
            "text": r#"{"a": {"password": "planted"}, "b": 1}"#,
        }));
        assert_eq!(
            kept,
            json!({
                "internal_states": [{"load": 1}],
                "env": {"HIP_VISIBLE_DEVICES": "0"},
                "env_list": [{"name": "HF_TOKEN"}, {"name": "N", "value": "1"}],
                "command": "serve --api-key [redacted] --port 1",
                "argv": ["serve", "--api-key", "[redacted]"],
                "text": r#"{"a":{},"b":1}"#,
            })
        );
    }
}
