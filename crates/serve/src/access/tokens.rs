//! Tokens: who may read, who may write. They come from a file or the environment, never from a command line.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::ServeError;

/// A token shorter than this can be guessed.
const SHORTEST: usize = 16;

/// The variables that hold a token, and the role of each.
const VARIABLES: [(&str, Role); 2] = [("ROCM_PERF_TOKEN", Role::Write), ("ROCM_PERF_READ_TOKEN", Role::Read)];

/// What somebody may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// See everything.
    Read,
    /// Also upload, acknowledge and suppress.
    Write,
}

impl Role {
    /// `read` or `write`.
    pub fn name(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Write => "write",
        }
    }
}

/// The tokens that are accepted. Only their hashes are kept.
#[derive(Clone, Default)]
pub struct Tokens(Vec<(Role, [u8; 32])>);

impl Tokens {
    /// Reads a file: one token a line after its role, as `write 9f86d0…`. Empty lines and lines with `#` are skipped.
    pub fn of_file(path: &Path) -> Result<Self, ServeError> {
        let wrong = |why: String| ServeError::Token(format!("`{}`: {why}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string().to_lowercase()))?;
        let mut tokens = Self::default();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let number = at + 1;
            let role = |word: &str| [Role::Read, Role::Write].into_iter().find(|role| role.name() == word);
            let (role, token) = line
                .split_once(char::is_whitespace)
                .and_then(|(word, token)| Some((role(word)?, token.trim())))
                .ok_or_else(|| wrong(format!("line {number} is not `read TOKEN` or `write TOKEN`")))?;
            tokens.add(role, token).map_err(|why| wrong(format!("line {number}: {why}")))?;
        }
        if tokens.is_empty() {
            return Err(wrong("it has no token".into()));
        }
        Ok(tokens)
    }

    /// Takes the tokens of the environment: `ROCM_PERF_TOKEN` may write, `ROCM_PERF_READ_TOKEN` may read.
    pub fn of_environment() -> Result<Self, ServeError> {
        let mut tokens = Self::default();
        for (variable, role) in VARIABLES {
            if let Some(token) = std::env::var(variable).ok().filter(|token| !token.is_empty()) {
                tokens.add(role, &token).map_err(|why| ServeError::Token(format!("`{variable}`: {why}")))?;
            }
        }
        Ok(tokens)
    }

    /// Accepts a token.
    pub fn add(&mut self, role: Role, token: &str) -> Result<(), String> {
        if token.len() < SHORTEST || token.contains(char::is_whitespace) {
            return Err(format!("a token has {SHORTEST} characters or more, without blanks"));
        }
        self.0.push((role, hash(token.as_bytes())));
        Ok(())
    }

    /// Whether no token is set: then everybody who can reach the server may do everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What a token allows. The time this takes reveals nothing about the tokens.
    pub fn role(&self, token: &str) -> Option<Role> {
        let given = hash(token.as_bytes());
        let mut found = None;
        for (role, known) in &self.0 {
            if equal(&given, known) {
                found = found.max(Some(*role));
            }
        }
        found
    }
}

/// SHA-256.
pub fn hash(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Whether two hashes are equal, in a time that does not depend on where they differ.
pub fn equal(a: &[u8; 32], b: &[u8; 32]) -> bool {
    let difference = a.iter().zip(b).fold(0, |all, (a, b)| std::hint::black_box(all | (a ^ b)));
    difference == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Result<Tokens, ServeError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tokens");
        std::fs::write(&path, text).expect("a file");
        Tokens::of_file(&path)
    }

    #[test]
    fn a_file_gives_roles() {
        let tokens = file("# team\nread aaaaaaaaaaaaaaaa\n\nwrite\tbbbbbbbbbbbbbbbb\n").expect("tokens");
        assert_eq!(tokens.role("aaaaaaaaaaaaaaaa"), Some(Role::Read));
        assert_eq!(tokens.role("bbbbbbbbbbbbbbbb"), Some(Role::Write));
        assert_eq!(tokens.role("bbbbbbbbbbbbbbbc"), None);
        assert_eq!(tokens.role(""), None);
    }

    #[test]
    fn a_bad_line_is_named() {
        for (text, why) in [
            ("admin aaaaaaaaaaaaaaaa", "line 1 is not"),
            ("read aaaaaaaaaaaaaaaa\nwrite short", "line 2: a token has 16"),
            ("\n# nothing\n", "no token"),
        ] {
            let error = file(text).err().expect("refused").to_string();
            assert!(error.contains(why), "{error}");
            assert!(!error.contains("aaaa"), "a token is never printed: {error}");
        }
    }
}
