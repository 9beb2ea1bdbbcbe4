//! A formula bound to a run: names are replaced by columns and numbers, constants are folded.

use std::borrow::Cow;

use super::{Channel, Expression, Function, Operator};

/// Why a formula has no value in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absent {
    /// A counter that no pass collected.
    Counter {
        /// Its name.
        name: String,
        /// The level pass that it should come from.
        pass: Option<String>,
    },
    /// A fact about the GPU that is missing or 0.
    Fact {
        /// Its name in `sysinfo.csv`.
        name: String,
        /// Its actual state.
        why: &'static str,
    },
    /// The architecture does not define this quantity.
    Undefined,
    /// A value that should be an integer is not.
    NotWhole {
        /// The counter.
        name: String,
    },
    /// `[CH]` in a formula without a channel.
    NoChannel,
    /// A quoted word where a number is needed.
    Word {
        /// The word.
        text: String,
    },
}

impl std::fmt::Display for Absent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Absent::Counter { name, pass: None } => write!(f, "counter {name} was not collected"),
            Absent::Counter { name, pass: Some(pass) } => {
                write!(f, "counter {name} of pass {pass} was not collected")
            }
            Absent::Fact { name, why } => write!(f, "{name} is {why}"),
            Absent::Undefined => write!(f, "not defined on this architecture"),
            Absent::NotWhole { name } => write!(f, "{name} holds values that are not whole"),
            Absent::Word { text } => write!(f, "`{text}` is not a number"),
            Absent::NoChannel => write!(f, "the formula uses `[CH]`, but the table has no channels"),
        }
    }
}

/// The value behind a name.
pub enum Source<'d> {
    /// One value for all dispatches.
    Scalar(f64),
    /// One value per dispatch.
    Column(Cow<'d, [f64]>),
    /// Another formula.
    Formula(&'d Expression),
}

/// Looks up names.
pub trait Inputs<'d> {
    /// The value behind a name, for one channel if given.
    fn find(&self, name: &str, channel: Option<u32>) -> Result<Source<'d>, Absent>;
    /// Number of L2 channels of the GPU.
    fn channels(&self) -> u32;
    /// Number of dispatches.
    fn rows(&self) -> usize;
}

/// A formula ready to be evaluated.
#[derive(Clone, Debug)]
pub enum Bound<'d> {
    /// One value for all dispatches; NaN means missing.
    Scalar(f64),
    /// One value per dispatch.
    Column(Cow<'d, [f64]>),
    /// `-a`
    Negative(Box<Bound<'d>>),
    /// `a + b` and other binary operators.
    Binary(Operator, Box<Bound<'d>>, Box<Bound<'d>>),
    /// `c ? a : b`
    Choice(Box<[Bound<'d>; 3]>),
    /// The larger of two values.
    Larger(Box<[Bound<'d>; 2]>),
    /// A function of one or more values.
    Call(Function, Vec<Bound<'d>>),
    /// A sum over channels.
    Sum(Vec<Bound<'d>>),
}

impl<'d> Bound<'d> {
    /// Binds a formula, for one channel if the table has a row per channel.
    pub fn of(
        expression: &Expression,
        inputs: &dyn Inputs<'d>,
        channel: Option<u32>,
    ) -> Result<Self, Absent> {
        let bind = |expression| Bound::of(expression, inputs, channel);
        Ok(match expression {
            Expression::Number(number) => Bound::Scalar(*number),
            Expression::Missing => Bound::Scalar(f64::NAN),
            Expression::Name(name) => Self::named(name, None, inputs)?,
            Expression::OfChannel(name, Channel::Number(number)) => Self::named(name, Some(*number), inputs)?,
            Expression::OfChannel(name, Channel::Current) => {
                Self::named(name, Some(channel.ok_or(Absent::NoChannel)?), inputs)?
            }
            Expression::Negative(a) => match bind(a)? {
                Bound::Scalar(number) => Bound::Scalar(-number),
                bound => Bound::Negative(Box::new(bound)),
            },
            Expression::Binary(operator, a, b) => Self::binary(*operator, bind(a)?, bind(b)?),
            Expression::Choice(parts) => {
                let [condition, yes, no] = &**parts;
                match bind(condition)? {
                    Bound::Scalar(holds) => bind(if holds != 0.0 { yes } else { no })?,
                    condition => Bound::Choice(Box::new([condition, bind(yes)?, bind(no)?])),
                }
            }
            Expression::Text(text) => return Err(Absent::Word { text: text.clone() }),
            Expression::Not(a) => Self::binary(Operator::Or, bind(a)?, Bound::Scalar(0.0)).equals_zero(),
            Expression::Chain(first, rest) => {
                let mut left = bind(first)?;
                let mut all = Bound::Scalar(1.0);
                for (operator, part) in rest {
                    let right = bind(part)?;
                    all = Self::binary(Operator::And, all, Self::binary(*operator, left, right.clone()));
                    left = right;
                }
                all
            }
            Expression::In(item, list) => {
                let item = bind(item)?;
                let mut any = Bound::Scalar(0.0);
                for part in list {
                    any = Self::binary(
                        Operator::Or,
                        any,
                        Self::binary(Operator::Equal, item.clone(), bind(part)?),
                    );
                }
                any
            }
            Expression::Call(Function::Max, parts) if parts.len() == 2 => {
                match (bind(&parts[0])?, bind(&parts[1])?) {
                    (Bound::Scalar(a), Bound::Scalar(b)) => Bound::Scalar(larger(a, b)),
                    (a, b) => Bound::Larger(Box::new([a, b])),
                }
            }
            Expression::Call(function, parts) => {
                Bound::Call(*function, parts.iter().map(bind).collect::<Result<_, _>>()?)
            }
            Expression::Whole(a) => {
                let bound = bind(a)?;
                let whole = |value: &f64| value.is_nan() || value.fract() == 0.0;
                if !bound.evaluate(inputs.rows()).iter().all(whole) {
                    let mut first = String::new();
                    a.names(&mut |name, _| {
                        if first.is_empty() {
                            first = name.to_string();
                        }
                    });
                    return Err(Absent::NotWhole { name: first });
                }
                bound
            }
            Expression::Channels(a, range) => {
                let (first, last) = range.unwrap_or((0, inputs.channels().saturating_sub(1)));
                let each = (first..=last).map(|channel| Bound::of(a, inputs, Some(channel)));
                Bound::Sum(each.collect::<Result<_, _>>()?)
            }
        })
    }

    /// A binary operation, folded if both operands are constant over dispatches.
    fn binary(operator: Operator, a: Self, b: Self) -> Self {
        match (a, b) {
            (Bound::Scalar(a), Bound::Scalar(b)) => Bound::Scalar(operator.apply(a, b)),
            (a, b) => Bound::Binary(operator, Box::new(a), Box::new(b)),
        }
    }

    /// 1 if it is 0, otherwise 0.
    fn equals_zero(self) -> Self {
        Self::binary(Operator::Equal, self, Bound::Scalar(0.0))
    }

    fn named(name: &str, channel: Option<u32>, inputs: &dyn Inputs<'d>) -> Result<Self, Absent> {
        Ok(match inputs.find(name, channel)? {
            Source::Scalar(number) => Bound::Scalar(number),
            Source::Column(values) => Bound::Column(values),
            Source::Formula(formula) => Bound::of(formula, inputs, None)?,
        })
    }
}

/// The larger of two; missing if either is.
#[inline(always)]
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}
