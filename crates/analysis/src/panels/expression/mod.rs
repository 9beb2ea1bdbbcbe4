//! The language of metric formulas: what a quantity is for one dispatch.
//!
//! ```text
//! (SQ_INSTS_LDS != 0) ? SQ_ACCUM_PREV_HIRES / SQ_INSTS_LDS : none
//! 100 * CHANNELS(TCC_HIT[CH]) / CHANNELS(TCC_HIT[CH] + TCC_MISS[CH])
//! ```
//!
//! | written | meaning |
//! |---|---|
//! | `SQ_WAVES`, `TCC_HIT_sum` | a counter, or a quantity of `names.toml` |
//! | `TCC_HIT[CH]`, `TCC_HIT[28]` | the counter of one L2 channel |
//! | `+ - * /`, `== != < > <= >=` | as usual; x / 0 is infinite and 0 / 0 missing |
//! | `c ? a : b`, `none` | a choice, and no value |
//! | `MAX(a, b)` | the larger one |
//! | `INT(a)` | `a`, unless one of its values is not whole: then nothing at all |
//! | `CHANNELS(a)`, `CHANNELS(a, 0, 15)` | the sum of `a` over all channels, or some |
//!
//! An expression is parsed once, bound to the columns of a run, and evaluated over all dispatches at a time.

mod bound;
mod evaluate;
mod parse;
mod totals;

pub use bound::{Absent, Bound, Inputs, Source};
pub use parse::{ParseError, parse};

/// What stands between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `>`
    Greater,
    /// `<=`
    AtMost,
    /// `>=`
    AtLeast,
}

impl Operator {
    /// The result for two numbers; a comparison gives 1 or 0.
    #[inline(always)]
    pub fn apply(self, a: f64, b: f64) -> f64 {
        let truth = |holds: bool| f64::from(u8::from(holds));
        match self {
            Operator::Add => a + b,
            Operator::Subtract => a - b,
            Operator::Multiply => a * b,
            Operator::Divide => a / b,
            Operator::Equal => truth(a == b),
            Operator::Unequal => truth(a != b),
            Operator::Less => truth(a < b),
            Operator::Greater => truth(a > b),
            Operator::AtMost => truth(a <= b),
            Operator::AtLeast => truth(a >= b),
        }
    }
}

/// Which L2 channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// `[CH]`: that of the row, or of the sum around it.
    Current,
    /// `[28]`
    Number(u32),
}

/// A parsed formula.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A number.
    Number(f64),
    /// `none`
    Missing,
    /// A counter or a quantity with a name.
    Name(String),
    /// A counter of one channel.
    OfChannel(String, Channel),
    /// `-a`
    Negative(Box<Expression>),
    /// `a + b` and its like.
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// `c ? a : b`
    Choice(Box<[Expression; 3]>),
    /// `MAX(a, b)`
    Larger(Box<[Expression; 2]>),
    /// `INT(a)`
    Whole(Box<Expression>),
    /// `CHANNELS(a)`, with the first and last channel where given.
    Channels(Box<Expression>, Option<(u32, u32)>),
}

impl Expression {
    /// Calls `each` for every name in it, with the channels it is asked for.
    pub fn names<'e>(&'e self, each: &mut dyn FnMut(&'e str, Option<Channel>)) {
        match self {
            Expression::Number(_) | Expression::Missing => {}
            Expression::Name(name) => each(name, None),
            Expression::OfChannel(name, channel) => each(name, Some(*channel)),
            Expression::Negative(a) | Expression::Whole(a) | Expression::Channels(a, _) => a.names(each),
            Expression::Binary(_, a, b) => {
                a.names(each);
                b.names(each);
            }
            Expression::Choice(parts) => parts.iter().for_each(|part| part.names(each)),
            Expression::Larger(parts) => parts.iter().for_each(|part| part.names(each)),
        }
    }
}

#[cfg(test)]
mod tests;
