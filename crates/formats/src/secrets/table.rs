//! The table of secrets from `secrets.toml`.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    names: Names,
    values: Values,
    programs: Vec<Program>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    contains: Vec<String>,
    last_words: Vec<String>,
    last_words_of_several: Vec<String>,
    not_after: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Values {
    harmless: Vec<String>,
    shapes: Vec<String>,
}

/// An option of certain programs whose value is a secret.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Program {
    pub names: Vec<String>,
    pub option: String,
    /// `-pX`.
    #[serde(default)]
    pub joined: bool,
    /// `-p X`.
    #[serde(default)]
    pub apart: bool,
}

/// What to look for.
pub(super) struct Table {
    file: File,
    /// Patterns of secrets; the first group is removed.
    pub shapes: Vec<Regex>,
}

/// The only instance.
pub(super) fn table() -> &'static Table {
    static TABLE: LazyLock<Table> = LazyLock::new(|| {
        let file: File =
            crate::tables::built_in(include_str!("secrets.toml")).expect("secrets.toml is well formed");
        let shape = |shape: &String| Regex::new(shape).expect("secrets.toml holds regular expressions");
        let shapes = file.values.shapes.iter().map(shape).collect();
        Table { file, shapes }
    });
    &TABLE
}

impl Table {
    /// Whether the value of this name is a secret.
    pub fn is_secret_name(&self, name: &str) -> bool {
        let words = words_of(name);
        let names = &self.file.names;
        let (last, before) = match words.split_last() {
            Some((last, before)) => (last, before),
            None => return false,
        };
        let together = words.concat();
        if names.contains.iter().any(|part| together.contains(part.as_str())) {
            return true;
        }
        let ordinary = before.last().is_some_and(|word| names.not_after.contains(word));
        let several = !before.is_empty() && names.last_words_of_several.contains(last);
        !ordinary && (names.last_words.contains(last) || several)
    }

    /// Whether a variable's value is a secret: `OPENAI_KEY_2` also counts here.
    pub fn is_secret_variable(&self, name: &str) -> bool {
        let last_words = &self.file.names.last_words;
        self.is_secret_name(name) || words_of(name).iter().any(|word| last_words.contains(word))
    }

    /// Whether a value hides nothing: a switch, or a number under a name that is not a password's.
    pub fn is_harmless(&self, name: &str, value: &str) -> bool {
        let lower = value.to_ascii_lowercase();
        let number = value.parse::<f64>().is_ok() && value.len() < 10;
        let names = &self.file.names;
        let may_be_number = || {
            let together = words_of(name).concat();
            !names.contains.iter().any(|part| together.contains(part.as_str()))
        };
        self.file.values.harmless.contains(&lower) || (number && may_be_number())
    }

    /// Options of a program that hold secrets.
    pub fn options_of(&self, program: &str) -> impl Iterator<Item = &Program> {
        let name = program.rsplit('/').next().unwrap_or(program).to_string();
        self.file.programs.iter().filter(move |one| one.names.contains(&name))
    }
}

/// The words of a name in lower case: split at `_`, `-`, `.` and before a capital after a lower-case letter.
fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut small = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (small && c.is_uppercase()) {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        small = c.is_lowercase() || c.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_and_names_of_other_things() {
        let secret = [
            "api_key",
            "--api-key",
            "apiKey",
            "OPENAI_API_KEY",
            "hf_token",
            "HF_TOKEN",
            "--hf-token",
            "token",
            "--password",
            "ssl_keyfile_password",
            "X-Api-Key",
            "Authorization",
            "client_secret",
            "AWS_SECRET_ACCESS_KEY",
            "DB_PWD",
            "accessToken",
            "--auth",
            "cookie",
            "MYSQL_PASS",
            "proxy-authorization",
            "private_key",
        ];
        for name in secret {
            assert!(table().is_secret_name(name), "{name}");
        }
        let ordinary = [
            "--tokenizer",
            "tokenizer_path",
            "--max-tokens",
            "max_total_tokens",
            "--token-counts",
            "eos_token",
            "pad_token_id",
            "--max-num-batched-tokens",
            "PWD",
            "OLDPWD",
            "--pass",
            "--passes",
            "--ssl-keyfile",
            "primary_key",
            "keyboard",
            "num_key_value_heads",
            "--author",
            "TOKENIZERS_PARALLELISM",
            "--key-dim",
            "bypass",
        ];
        for name in ordinary {
            assert!(!table().is_secret_name(name), "{name}");
        }
    }
}
