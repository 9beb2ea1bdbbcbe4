//! The environment that changes results, as it may be kept: what steers the GPU, its libraries and the frameworks, and no
//! secrets.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;

/// What stands where a secret stood.
pub const REDACTED: &str = "[redacted]";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    prefixes: Vec<String>,
    names: Vec<String>,
    secret_names: Vec<String>,
    secret_options: Vec<String>,
    secret_values: Vec<String>,
    image_names: Vec<String>,
}

fn tables() -> &'static Tables {
    static TABLES: LazyLock<Tables> = LazyLock::new(|| {
        toml::from_str(include_str!("variables.toml")).unwrap_or_else(|_| Tables {
            prefixes: Vec::new(),
            names: Vec::new(),
            secret_names: Vec::new(),
            secret_options: Vec::new(),
            secret_values: Vec::new(),
            image_names: Vec::new(),
        })
    });
    &TABLES
}

/// The variables of an environment that change results, secrets redacted.
pub fn recorded(variables: impl IntoIterator<Item = (String, String)>) -> BTreeMap<String, String> {
    let tables = tables();
    let matters = |name: &str| {
        tables.names.iter().any(|known| known == name)
            || tables.prefixes.iter().any(|start| name.starts_with(start.as_str()))
    };
    variables
        .into_iter()
        .filter(|(name, _)| matters(name))
        .map(|(name, value)| {
            let value = if is_secret_name(&name) || is_secret(&value) { REDACTED.into() } else { value };
            (name, value)
        })
        .collect()
}

/// A command line without the values of options that hold secrets.
pub fn redacted(words: &[String]) -> Vec<String> {
    let mut next_is_secret = false;
    words
        .iter()
        .map(|word| {
            let expected = std::mem::take(&mut next_is_secret);
            if is_secret(word) || (expected && !word.starts_with('-')) {
                return REDACTED.to_string();
            }
            match word.split_once('=') {
                Some((name, value)) if is_secret_option(name) || is_secret(value) => {
                    format!("{name}={REDACTED}")
                }
                Some(_) => word.clone(),
                None => {
                    next_is_secret = word.starts_with('-') && is_secret_option(word);
                    word.clone()
                }
            }
        })
        .collect()
}

fn is_secret_name(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    tables().secret_names.iter().any(|part| upper.contains(part.as_str()))
}

fn is_secret_option(name: &str) -> bool {
    let last = name.rsplit(['-', '_', '.']).next().unwrap_or_default().to_ascii_lowercase();
    tables().secret_options.contains(&last)
}

fn is_secret(value: &str) -> bool {
    let with_password = value.split_once("://").is_some_and(|(_, rest)| {
        let host = rest.split('/').next().unwrap_or_default();
        host.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    });
    with_password || tables().secret_values.iter().any(|start| value.starts_with(start.as_str()))
}

/// The container's image, where something tells it.
pub fn container_image(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    tables().image_names.iter().find_map(|name| variable(name).filter(|value| !value.is_empty()))
}

/// Whether this process is in a container, as far as `root` shows.
pub fn in_container(root: &Path) -> bool {
    ["/.dockerenv", "/run/.containerenv", "/.singularity.d"]
        .iter()
        .any(|file| root.join(file.trim_start_matches('/')).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_results_is_kept_without_secrets() {
        let all = [
            ("HSA_ENABLE_SDMA", "0"),
            ("VLLM_API_KEY", "abc"),
            ("HOME", "/home/me"),
            ("NCCL_DEBUG", "INFO"),
            ("PYTORCH_TUNABLEOP_ENABLED", "1"),
            ("AITER_NOTE", "hf_abc"),
            ("UCX_URL", "tcp://me:pw@host/x"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
        ];
        let kept = recorded(all.map(|(name, value)| (name.to_string(), value.to_string())));
        let kept: Vec<(&str, &str)> = kept.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        let expected = [
            ("AITER_NOTE", REDACTED),
            ("HSA_ENABLE_SDMA", "0"),
            ("NCCL_DEBUG", "INFO"),
            ("PYTORCH_TUNABLEOP_ENABLED", "1"),
            ("UCX_URL", REDACTED),
            ("VLLM_API_KEY", REDACTED),
        ];
        assert_eq!(kept, expected);
    }

    #[test]
    fn secrets_of_a_command_line_go() {
        let words: Vec<String> = [
            "serve",
            "--api-key",
            "abc",
            "--hf-token=x",
            "--max-tokens",
            "10",
            "sk-123",
            "--token",
            "--lr=1",
        ]
        .map(String::from)
        .into();
        let shown = redacted(&words).join(" ");
        assert_eq!(
            shown,
            "serve --api-key [redacted] --hf-token=[redacted] --max-tokens 10 [redacted] --token --lr=1"
        );
    }
}
