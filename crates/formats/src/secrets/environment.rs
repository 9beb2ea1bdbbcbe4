//! Which parts of a process's environment may be kept: it may hold the user's passwords and tokens.

use std::sync::LazyLock;

use serde::Deserialize;

use super::REDACTED;
use super::table::table;
use super::text::redact_text;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    prefixes: Vec<String>,
    names: Vec<String>,
    local_names: Vec<String>,
}

static KEPT: LazyLock<Kept> = LazyLock::new(|| {
    crate::tables::built_in(include_str!("environment.toml")).expect("environment.toml is well formed")
});

/// Who can read what is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// The person who recorded it.
    Owner,
    /// Anyone: the file is made to be shared.
    Anyone,
}

/// A variable in the form that may be kept; `None` if it affects no result. `also` lists more names to keep.
pub fn redact_environment(name: &str, value: &str, readers: Readers, also: &[&str]) -> Option<String> {
    let known = |names: &[String]| names.iter().any(|known| known == name);
    let kept = also.contains(&name)
        || known(&KEPT.names)
        || KEPT.prefixes.iter().any(|start| name.starts_with(start.as_str()))
        || (readers == Readers::Owner && known(&KEPT.local_names));
    if !kept {
        return None;
    }
    let secret = table().is_secret_variable(name) && !table().is_harmless(name, value);
    Some(if secret { REDACTED.to_string() } else { redact_text(value).into_owned() })
}

/// Names of variables that hold secrets, except those in `allowed`.
pub fn secret_variables(
    variables: impl IntoIterator<Item = (String, String)>,
    allowed: &[String],
) -> Vec<String> {
    let is_secret = |(name, value): &(String, String)| {
        let named = table().is_secret_variable(name) && !table().is_harmless(name, value);
        (named || redact_text(value) != value.as_str()) && !allowed.contains(name)
    };
    let mut names: Vec<String> = variables.into_iter().filter(is_secret).map(|(name, _)| name).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g5_variables_with_keys_are_known_by_name_or_by_value() {
        let variables = || {
            [
                ("OPENAI_API_KEY", "sk-abc"),
                ("HF_TOKEN", "hf_abc1234"),
                ("PATH", "/bin"),
                ("TOKENIZERS_PARALLELISM", "false"),
                ("REPO", "https://me:pw@host/x"),
                ("PWD", "/home/me"),
            ]
            .map(|(name, value)| (name.to_string(), value.to_string()))
        };
        assert_eq!(secret_variables(variables(), &[]), ["HF_TOKEN", "OPENAI_API_KEY", "REPO"]);
        assert_eq!(secret_variables(variables(), &["HF_TOKEN".into()]), ["OPENAI_API_KEY", "REPO"]);
    }

    #[test]
    fn what_changes_results_is_kept_without_secrets() {
        let kept = |name, value, readers| redact_environment(name, value, readers, &[]);
        let secret = Some(REDACTED.to_string());
        for readers in [Readers::Owner, Readers::Anyone] {
            assert_eq!(kept("HSA_ENABLE_SDMA", "0", readers).as_deref(), Some("0"));
            assert_eq!(kept("HOME", "/home/me", readers), None);
            assert_eq!(kept("AWS_SECRET_ACCESS_KEY", "s", readers), None);
            assert_eq!(kept("VLLM_API_KEY", "abc", readers), secret);
            assert_eq!(kept("VLLM_KEY_2", "abc", readers), secret);
            assert_eq!(kept("AITER_NOTE", "hf_abc123", readers), secret);
            assert_eq!(
                kept("UCX_URL", "tcp://me:pw@host/x", readers).as_deref(),
                Some("tcp://[redacted]@host/x")
            );
        }
        assert_eq!(kept("LD_PRELOAD", "x.so", Readers::Owner).as_deref(), Some("x.so"));
        assert_eq!(kept("LD_PRELOAD", "x.so", Readers::Anyone), None);
    }
}
