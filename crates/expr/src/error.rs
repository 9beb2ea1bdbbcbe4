//! What can be wrong with an expression.

/// Brackets and signs that may be open at once; text that goes on and on is refused, not followed.
pub(crate) const DEEPEST: usize = 200;
/// Words and signs of an expression: a sum of so many is still evaluated safely.
pub(crate) const MOST_TOKENS: usize = 4096;
const FUNCTION_NAMES: &str = "min, max, abs, ceil_div, ceil, floor, log2";

/// Where and why an expression cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// A character that means nothing here.
    #[error("unexpected `{character}` at column {column}")]
    Character {
        /// The character.
        character: char,
        /// From 1.
        column: usize,
    },
    /// A word literal without its end.
    #[error("the quote at column {column} is never closed")]
    Quote {
        /// From 1.
        column: usize,
    },
    /// Something else should stand here.
    #[error("expected {expected} at column {column}, not `{found}`")]
    Expected {
        /// What should stand there.
        expected: &'static str,
        /// What does.
        found: String,
        /// From 1.
        column: usize,
    },
    /// The end came too soon.
    #[error("expected {expected}, but it ends there")]
    Ends {
        /// What should follow.
        expected: &'static str,
    },
    /// A name that is no parameter.
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
    /// A channel of something that has none.
    #[error("`{name}` has no channels")]
    Channel {
        /// The name.
        name: String,
    },
    /// More than anybody writes.
    #[error("it has more than {MOST_TOKENS} tokens")]
    Long,
    /// Brackets in brackets without end.
    #[error("it has more than {DEEPEST} nested levels")]
    Deep,
}
