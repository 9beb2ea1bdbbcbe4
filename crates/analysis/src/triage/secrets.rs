//! What must not be copied from a server's arguments: keys, tokens, passwords.

use serde_json::Value as Json;

/// Endings of keys whose values are secrets. `token` alone would hit `max_total_tokens` no more than `eos_token`.
const ENDINGS: &[&str] =
    &["key", "token", "secret", "password", "passwd", "credential", "credentials", "auth"];
/// Starts of values that are secrets wherever they stand.
const STARTS: &[&str] = &["hf_", "sk-", "Bearer ", "ghp_", "AKIA"];

/// A value without its secrets; the dotted names of what was left out go to `removed`.
pub(super) fn without_secrets(value: &Json, at: &str, removed: &mut Vec<String>) -> Option<Json> {
    match value {
        Json::Object(object) => {
            let mut kept = serde_json::Map::new();
            for (key, value) in object {
                let place = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                if is_secret_key(key) && !is_harmless(value) {
                    removed.push(place);
                } else if let Some(value) = without_secrets(value, &place, removed) {
                    kept.insert(key.clone(), value);
                }
            }
            Some(Json::Object(kept))
        }
        Json::Array(list) => {
            Some(list.iter().filter_map(|value| without_secrets(value, at, removed)).collect())
        }
        Json::String(text) if is_secret_text(text) => {
            removed.push(at.to_string());
            None
        }
        other => Some(other.clone()),
    }
}

fn is_secret_key(key: &str) -> bool {
    let key = key.to_lowercase();
    let last = key.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    ENDINGS.contains(&last) || key.contains("api_key") || key.contains("apikey")
}

/// Nothing to hide: unset, a switch, a number.
fn is_harmless(value: &Json) -> bool {
    matches!(value, Json::Null | Json::Bool(_) | Json::Number(_))
}

fn is_secret_text(text: &str) -> bool {
    let in_address = text.split_once("://").is_some_and(|(_, rest)| {
        rest.split('/')
            .next()
            .and_then(|host| host.split_once('@'))
            .is_some_and(|(user, _)| user.contains(':'))
    });
    in_address || STARTS.iter().any(|start| text.starts_with(start))
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
            "dist": {"url": "tcp://me:pw@host:1", "port": 1}, "extra": ["hf_abc", "ok"],
        });
        let mut removed = Vec::new();
        let kept = without_secrets(&args, "", &mut removed).unwrap();
        assert_eq!(
            kept,
            json!({
                "model_path": "Qwen/Qwen3-8B", "tp_size": 8, "max_total_tokens": 4096, "tokenizer_path": "t",
                "admin_api_key": null, "dist": {"port": 1}, "extra": ["ok"],
            })
        );
        assert_eq!(removed, ["api_key", "ssl_keyfile_password", "hf_token", "dist.url", "extra"]);
    }
}
