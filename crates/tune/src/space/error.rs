//! Errors in a search space.

use super::expression::SyntaxError;

/// Why a search space cannot be used; names the constraint, parameter or key.
#[derive(Debug, thiserror::Error)]
pub enum SpaceError {
    /// The file cannot be read.
    #[error("cannot read the search space: {0}")]
    File(#[from] std::io::Error),
    /// Not JSON.
    #[error("the search space is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Neither an object nor a list of configurations.
    #[error("the search space is neither an object with `params` nor a list of configurations")]
    Shape,
    /// Nothing to search.
    #[error("the search space is empty: {why}")]
    Empty {
        /// What is missing.
        why: String,
    },
    /// An unknown key.
    #[error("{place} has an unknown key `{key}`")]
    Key {
        /// Where it is.
        place: String,
        /// The key.
        key: String,
        /// The allowed keys.
        known: &'static [&'static str],
    },
    /// A value of the wrong kind.
    #[error("`{key}` of {place} must be {expected}")]
    Kind {
        /// Where it is.
        place: String,
        /// The key.
        key: String,
        /// What it must be.
        expected: &'static str,
    },
    /// A parameter that cannot be expanded.
    #[error("parameter `{name}` {why}")]
    Parameter {
        /// Its name.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// An expression that cannot be read.
    #[error("{place} `{text}`: {error}")]
    Expression {
        /// `constraint 2`, `the condition of `X``.
        place: String,
        /// As the user wrote it.
        text: String,
        /// What is wrong with it.
        error: SyntaxError,
        /// Similar names.
        near: Vec<String>,
    },
    /// Conditions that depend on each other.
    #[error("the conditions of {} depend on each other in a circle", names.join(", "))]
    Circle {
        /// The parameters, in backticks.
        names: Vec<String>,
    },
    /// A constraint that nothing satisfies.
    #[error("no configuration satisfies the constraint `{text}`")]
    Never {
        /// The constraint.
        text: String,
    },
    /// Constraints that exclude each other.
    #[error("constraint `{text}` contradicts the ones before it: no configuration satisfies them all")]
    Contradiction {
        /// The first one that leaves nothing.
        text: String,
    },
    /// A listed configuration without one of the parameters.
    #[error("configuration {number} of the list has no `{name}`")]
    Missing {
        /// Its number, from 1.
        number: usize,
        /// The parameter.
        name: String,
    },
    /// No configuration can be launched.
    #[error("none of {count} configurations can be launched on {arch}: {reason}")]
    NoLaunch {
        /// How many there are.
        count: usize,
        /// The GPU.
        arch: String,
        /// Why the first one cannot.
        reason: String,
    },
    /// No valid configuration was found.
    #[error("found no configuration that satisfies the constraints in {tried} tries")]
    NotFound {
        /// How many were tried.
        tried: usize,
    },
}

impl SpaceError {
    /// What to type next.
    pub fn help(&self) -> Option<String> {
        match self {
            SpaceError::Key { key, known, .. } => {
                let near = expr::names::nearest(key, known, 1);
                Some(match near.first() {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("choose one of {}", known.join(", ")),
                })
            }
            SpaceError::Expression { near, .. } if !near.is_empty() => {
                Some(format!("did you mean `{}`?", near.join("` or `")))
            }
            _ => None,
        }
    }
}
