//! Errors in expressions.

/// Limit for nested brackets and signs; deeper text is refused.
pub(crate) const DEEPEST: usize = 200;
/// Limit for words and signs of an expression, low enough to evaluate a sum safely.
pub(crate) const MOST_TOKENS: usize = 4096;
const FUNCTION_NAMES: &str = "min, max, abs, ceil_div, ceil, floor, log2";

/// Where and why an expression cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// A character that is not allowed.
    #[error("unexpected `{character}` at column {column}")]
    Character {
        /// The character.
        character: char,
        /// From 1.
        column: usize,
    },
    /// A quoted word without its end.
    #[error("the quote at column {column} is never closed")]
    Quote {
        /// From 1.
        column: usize,
    },
    /// Something else is expected here.
    #[error("expected {expected} at column {column}, not `{found}`")]
    Expected {
        /// What is expected.
        expected: &'static str,
        /// What is there.
        found: String,
        /// From 1.
        column: usize,
    },
    /// The text ends too soon.
    #[error("expected {expected}, but it ends there")]
    Ends {
        /// What is missing.
        expected: &'static str,
    },
    /// A name that is not a parameter.
    #[error("no parameter `{name}`")]
    Name {
        /// The name.
        name: String,
    },
    /// A function that does not exist.
    #[error("no function `{name}`; choose one of {FUNCTION_NAMES}")]
    Function {
        /// Its name.
        name: String,
    },
    /// A function with too few or too many arguments.
    #[error("`{name}` takes {takes} arguments, not {given}")]
    Arguments {
        /// The function.
        name: &'static str,
        /// How many it takes.
        takes: &'static str,
        /// How many it got.
        given: usize,
    },
    /// A number that is too large to compute with.
    #[error("the number at column {column} is too large")]
    Number {
        /// From 1.
        column: usize,
    },
    /// A channel of a counter without channels.
    #[error("`{name}` has no channels")]
    Channel {
        /// The name.
        name: String,
    },
    /// Longer than the limit.
    #[error("it has more than {MOST_TOKENS} tokens")]
    Long,
    /// Nested too deeply.
    #[error("it has more than {DEEPEST} nested levels")]
    Deep,
}
