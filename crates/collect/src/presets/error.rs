//! Mistakes in presets, configurations and counter files: where, what, and what was expected.

use std::fmt;

/// A mistake in a user's file, or in text on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The file, or the option with the text.
    pub file: String,
    /// The line, from 1.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// What was expected, or what to do.
    pub help: Option<String>,
}

impl std::error::Error for Mistake {}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "`{}` line {line}: {}", self.file, self.what),
            None => write!(f, "`{}`: {}", self.file, self.what),
        }
    }
}

/// A user's text and its name, for error messages.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    /// The file, or the option with the text.
    pub name: &'a str,
    /// The whole text.
    pub text: &'a str,
}

impl Document<'_> {
    /// The text as JSON.
    pub fn json(&self) -> Result<serde_json::Value, Mistake> {
        serde_json::from_str(self.text)
            .map_err(|error| self.mistake_in(error.line(), format!("not valid JSON: {error}")))
    }

    /// A mistake at a byte of the text.
    pub fn mistake_at(&self, byte: Option<usize>, what: impl Into<String>) -> Mistake {
        let before = |byte: usize| &self.text.as_bytes()[..byte.min(self.text.len())];
        let line = byte.map(|byte| 1 + before(byte).iter().filter(|b| **b == b'\n').count());
        Mistake { file: self.name.into(), line, what: what.into(), help: None }
    }

    /// A mistake in a line, from 1.
    pub fn mistake_in(&self, line: usize, what: impl Into<String>) -> Mistake {
        Mistake { line: Some(line), ..self.mistake_at(None, what) }
    }

    /// A mistake in the line that contains a word, preferably in quotes.
    pub fn mistake(&self, word: &str, what: impl Into<String>) -> Mistake {
        let quoted = self.text.find(&format!("\"{word}\""));
        self.mistake_at(quoted.or_else(|| self.text.find(word)), what)
    }
}

impl Mistake {
    /// Adds what was expected.
    pub fn expecting(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

/// `a`, `b` or `c`.
pub fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}
