//! The tree of an expression.

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `or`, `||`
    Or,
    /// `and`, `&&`
    And,
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
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `//`, rounded down.
    FloorDivide,
    /// `%`, with the sign of the divisor.
    Remainder,
    /// `**`
    Power,
}

impl Operator {
    /// The result for two numbers; a comparison gives 1 or 0, x / 0 is infinite and 0 / 0 is not a number.
    #[inline(always)]
    pub fn apply(self, a: f64, b: f64) -> f64 {
        let truth = |holds: bool| f64::from(u8::from(holds));
        let is_true = |number: f64| number != 0.0 && !number.is_nan();
        match self {
            Operator::Add => a + b,
            Operator::Subtract => a - b,
            Operator::Multiply => a * b,
            Operator::Divide => a / b,
            Operator::FloorDivide => (a / b).floor(),
            Operator::Remainder => a - b * (a / b).floor(),
            Operator::Power => a.powf(b),
            Operator::Equal => truth(a == b),
            Operator::Unequal => truth(a != b),
            Operator::Less => truth(a < b),
            Operator::Greater => truth(a > b),
            Operator::AtMost => truth(a <= b),
            Operator::AtLeast => truth(a >= b),
            Operator::And => truth(is_true(a) && is_true(b)),
            Operator::Or => truth(is_true(a) || is_true(b)),
        }
    }

    /// Whether it is a comparison.
    pub fn compares(self) -> bool {
        use Operator::{AtLeast, AtMost, Equal, Greater, Less, Unequal};
        matches!(self, Equal | Unequal | Less | Greater | AtMost | AtLeast)
    }

    /// Its text.
    pub fn sign(self) -> &'static str {
        match self {
            Operator::Or => "or",
            Operator::And => "and",
            Operator::Equal => "==",
            Operator::Unequal => "!=",
            Operator::Less => "<",
            Operator::Greater => ">",
            Operator::AtMost => "<=",
            Operator::AtLeast => ">=",
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::FloorDivide => "//",
            Operator::Remainder => "%",
            Operator::Power => "**",
        }
    }
}

/// Which L2 channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// `[CH]`: the channel of the row, or of the enclosing sum.
    Current,
    /// `[28]`
    Number(u32),
}

/// A function of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// Without its sign.
    Abs,
    /// `a / b`, rounded up.
    CeilDiv,
    /// Rounded up.
    Ceil,
    /// Rounded down.
    Floor,
    /// Logarithm to base 2.
    Log2,
}

impl Function {
    /// (function, name, how many arguments in words, least, most)
    const ALL: [(Function, &'static str, &'static str, usize, usize); 8] = [
        (Function::Min, "min", "one or more", 1, usize::MAX),
        (Function::Max, "max", "one or more", 1, usize::MAX),
        (Function::Max, "MAX", "2", 2, 2),
        (Function::Abs, "abs", "1", 1, 1),
        (Function::CeilDiv, "ceil_div", "2", 2, 2),
        (Function::Ceil, "ceil", "1", 1, 1),
        (Function::Floor, "floor", "1", 1, 1),
        (Function::Log2, "log2", "1", 1, 1),
    ];

    /// The function of a name: (function, name, arguments in words, least, most).
    pub(crate) fn named(name: &str) -> Option<(Self, &'static str, &'static str, usize, usize)> {
        Self::ALL.into_iter().find(|(_, known, ..)| *known == name)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(function, ..)| *function == self).map_or("", |(_, name, ..)| name)
    }

    /// Its value; NaN if one of the arguments is NaN.
    pub fn apply(self, arguments: &[f64]) -> f64 {
        let first = arguments.first().copied().unwrap_or(f64::NAN);
        // Undefined stays undefined: the minimum of NaN and 5 is not 5.
        if arguments.iter().any(|argument| argument.is_nan()) {
            return f64::NAN;
        }
        match self {
            Function::Min => arguments.iter().copied().fold(f64::INFINITY, f64::min),
            Function::Max => arguments.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Function::Abs => first.abs(),
            Function::Ceil => first.ceil(),
            Function::Floor => first.floor(),
            Function::Log2 => first.log2(),
            Function::CeilDiv => match arguments.get(1) {
                Some(&by) if by != 0.0 => (first / by).ceil(),
                _ => f64::NAN,
            },
        }
    }
}

/// A parsed expression; `N` represents a name.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression<N = String> {
    /// A number.
    Number(f64),
    /// A word in quotes.
    Text(String),
    /// `none`
    Missing,
    /// A name.
    Name(N),
    /// A counter of one channel.
    OfChannel(N, Channel),
    /// `-a`
    Negative(Box<Expression<N>>),
    /// `not a`
    Not(Box<Expression<N>>),
    /// `a + b` and so on.
    Binary(Operator, Box<Expression<N>>, Box<Expression<N>>),
    /// `a < b <= c`: every neighbouring pair must be true; at least two comparisons.
    Chain(Box<Expression<N>>, Vec<(Operator, Expression<N>)>),
    /// `a in [b, c]`
    In(Box<Expression<N>>, Vec<Expression<N>>),
    /// `c ? a : b`
    Choice(Box<[Expression<N>; 3]>),
    /// `max(a, b)` and so on.
    Call(Function, Vec<Expression<N>>),
    /// `INT(a)`
    Whole(Box<Expression<N>>),
    /// `CHANNELS(a)`, with the first and last channel if given.
    Channels(Box<Expression<N>>, Option<(u32, u32)>),
}

impl<N> Expression<N> {
    /// Calls `each` for every name in it, with its channel.
    pub fn names<'e>(&'e self, each: &mut dyn FnMut(&'e N, Option<Channel>)) {
        match self {
            Expression::Number(_) | Expression::Text(_) | Expression::Missing => {}
            Expression::Name(name) => each(name, None),
            Expression::OfChannel(name, channel) => each(name, Some(*channel)),
            Expression::Negative(a)
            | Expression::Not(a)
            | Expression::Whole(a)
            | Expression::Channels(a, _) => a.names(each),
            Expression::Binary(_, a, b) => {
                a.names(each);
                b.names(each);
            }
            Expression::Chain(first, rest) => {
                first.names(each);
                rest.iter().for_each(|(_, part)| part.names(each));
            }
            Expression::In(item, list) => {
                item.names(each);
                list.iter().for_each(|part| part.names(each));
            }
            Expression::Choice(parts) => parts.iter().for_each(|part| part.names(each)),
            Expression::Call(_, parts) => parts.iter().for_each(|part| part.names(each)),
        }
    }
}

/// Maps a name, with its channel if it has one, to an expression.
pub type Meaning<'a, M, E> = dyn Fn(&str, Option<Channel>) -> Result<Expression<M>, E> + 'a;

impl Expression {
    /// Replaces every name by the result of `meaning`. `none` is also looked up: it may be a name.
    pub fn resolve<M, E>(&self, meaning: &Meaning<'_, M, E>) -> Result<Expression<M>, E> {
        let all = |parts: &[Expression]| -> Result<Vec<Expression<M>>, E> {
            parts.iter().map(|part| part.resolve(meaning)).collect()
        };
        let one = |part: &Expression| part.resolve(meaning).map(Box::new);
        Ok(match self {
            Expression::Number(number) => Expression::Number(*number),
            Expression::Text(text) => Expression::Text(text.clone()),
            Expression::Missing => meaning("none", None)?,
            Expression::Name(name) => meaning(name, None)?,
            Expression::OfChannel(name, channel) => meaning(name, Some(*channel))?,
            Expression::Negative(a) => Expression::Negative(one(a)?),
            Expression::Not(a) => Expression::Not(one(a)?),
            Expression::Whole(a) => Expression::Whole(one(a)?),
            Expression::Channels(a, range) => Expression::Channels(one(a)?, *range),
            Expression::Binary(operator, a, b) => Expression::Binary(*operator, one(a)?, one(b)?),
            Expression::Chain(first, rest) => {
                let part =
                    |(operator, part): &(Operator, Expression)| Ok((*operator, part.resolve(meaning)?));
                Expression::Chain(one(first)?, rest.iter().map(part).collect::<Result<_, E>>()?)
            }
            Expression::In(item, list) => Expression::In(one(item)?, all(list)?),
            Expression::Choice(parts) => {
                let [condition, yes, no] = &**parts;
                let parts = [condition.resolve(meaning)?, yes.resolve(meaning)?, no.resolve(meaning)?];
                Expression::Choice(Box::new(parts))
            }
            Expression::Call(function, parts) => Expression::Call(*function, all(parts)?),
        })
    }
}
