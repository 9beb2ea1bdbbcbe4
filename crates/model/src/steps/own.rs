//! The user's own stage patterns: names of annotations that mark a stage in this program.

use regex::Regex;

use super::{Stage, StepName};

/// Patterns tried before the built-in ones, in the order they were added.
#[derive(Clone, Debug, Default)]
pub struct StagePatterns {
    patterns: Vec<(Stage, Regex)>,
}

/// An invalid stage pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StagePatternError {
    /// There is no `=`.
    #[error("`{0}` is not a stage pattern: write NAME=REGEX, such as decode=^my_step")]
    NoEquals(String),
    /// No stage has that name.
    #[error("`{0}` is not a stage; choose one of {1}")]
    NoStage(String, String),
    /// The expression is wrong.
    #[error("`{0}` is not a regular expression: {1}")]
    BadPattern(String, String),
}

impl StagePatterns {
    /// Adds a pattern written `NAME=REGEX`.
    pub fn add(&mut self, text: &str) -> Result<(), StagePatternError> {
        let (name, pattern) =
            text.split_once('=').ok_or_else(|| StagePatternError::NoEquals(text.to_string()))?;
        let stage = Stage::from_name(name.trim()).ok_or_else(|| {
            let known = Stage::ALL.map(Stage::name).join(", ");
            StagePatternError::NoStage(name.trim().to_string(), known)
        })?;
        let regex = Regex::new(pattern).map_err(|error| {
            let reason = error.to_string();
            let last = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
            StagePatternError::BadPattern(pattern.to_string(), last.to_string())
        })?;
        self.patterns.push((stage, regex));
        Ok(())
    }

    /// Whether there are no patterns.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// What a name says, if a pattern matches it.
    pub(super) fn step<'a>(&self, name: &'a str) -> Option<StepName<'a>> {
        let (stage, _) = self.patterns.iter().find(|(_, pattern)| pattern.is_match(name))?;
        Some(StepName { stage: *stage, ..StepName::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_in_a_stage_pattern_are_named() {
        let mut patterns = StagePatterns::default();
        for (text, message) in [
            ("decode", "write NAME=REGEX"),
            ("sleep=^x", "`sleep` is not a stage; choose one of prefill, decode"),
            ("decode=(", "`(` is not a regular expression: unclosed group"),
        ] {
            let error = patterns.add(text).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        patterns.add("extend=^read_prompt").unwrap();
        assert_eq!(patterns.step("read_prompt 3").unwrap().stage, Stage::Prefill);
        assert_eq!(patterns.step("write"), None);
    }
}
