//! Metric formulas bound to the columns of a run: one value per dispatch. The language is that of `expr`.
//!
//! ```text
//! (SQ_INSTS_LDS != 0) ? SQ_ACCUM_PREV_HIRES / SQ_INSTS_LDS : none
//! 100 * CHANNELS(TCC_HIT[CH]) / CHANNELS(TCC_HIT[CH] + TCC_MISS[CH])
//! ```
//!
//! Names are counters, or quantities of `names.toml`. A missing value is NaN; x / 0 is infinite and 0 / 0 missing.
//! An expression is parsed once, bound to the columns of a run, and evaluated over all dispatches at a time.

mod bound;
mod evaluate;
mod totals;

pub use bound::{Absent, Bound, Inputs, Source};
pub use expr::{Channel, Expression, Function, Operator};

/// Why a formula cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read the formula `{formula}`: {error}")]
pub struct ParseError {
    /// The whole formula.
    pub formula: String,
    /// What is wrong, and where.
    pub error: expr::SyntaxError,
}

/// Parses a formula.
pub fn parse(formula: &str) -> Result<Expression, ParseError> {
    expr::parse(formula).map_err(|error| ParseError { formula: formula.to_string(), error })
}

#[cfg(test)]
mod tests;
