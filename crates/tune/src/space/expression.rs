//! Expressions over parameters, for constraints, conditions and derived features:
//! `BLOCK_M*BLOCK_N*4 <= 65536 and (num_warps > 1 or mode == 'small')`.
//!
//! Numbers are doubles, exact for whole numbers to 2⁵³; words compare with words only. Nothing is ever executed.

use super::parse::parse;
use super::setting::Setting;

/// A parsed expression; names are numbers given by the parser's caller.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    root: Node,
}

/// What an expression comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// A number; true is 1, false is 0.
    Number(f64),
    /// A word.
    Text(String),
}

impl Scalar {
    /// Whether it counts as true: any number but zero, any word but the empty one.
    pub fn is_true(&self) -> bool {
        match self {
            Scalar::Number(n) => *n != 0.0 && !n.is_nan(),
            Scalar::Text(text) => !text.is_empty(),
        }
    }
}

impl From<&Setting> for Scalar {
    fn from(setting: &Setting) -> Self {
        match setting {
            Setting::Text(text) => Scalar::Text(text.clone()),
            other => Scalar::Number(other.number().unwrap_or(f64::NAN)),
        }
    }
}

/// Where and why an expression cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// A character that means nothing here.
    #[error("`{character}` at column {column} is not understood")]
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
    #[error("{expected} is expected at column {column}, not `{found}`")]
    Expected {
        /// What should stand there.
        expected: &'static str,
        /// What does.
        found: String,
        /// From 1.
        column: usize,
    },
    /// The end came too soon.
    #[error("it ends where {expected} is expected")]
    Ends {
        /// What should follow.
        expected: &'static str,
    },
    /// A name that is no parameter.
    #[error("it names `{name}`, which is no parameter")]
    Name {
        /// The name.
        name: String,
    },
    /// A function that does not exist.
    #[error("there is no function `{name}`; there are {FUNCTION_NAMES}")]
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
    /// Brackets in brackets without end.
    #[error("it is nested more than {DEEPEST} deep")]
    Deep,
}

pub(super) const DEEPEST: usize = 100;
const FUNCTION_NAMES: &str = "min, max, abs, ceil_div, ceil, floor, log2";

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Constant(Scalar),
    Name(usize),
    Not(Box<Node>),
    Negative(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
    /// `a < b <= c`: every neighbouring pair holds.
    Compare(Box<Node>, Vec<(Comparison, Node)>),
    /// `a in [b, c]`
    In(Box<Node>, Vec<Node>),
    Call(Function, Vec<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operator {
    Or,
    And,
    Add,
    Subtract,
    Multiply,
    Divide,
    Floor,
    Remainder,
    Power,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Function {
    Min,
    Max,
    Abs,
    CeilDiv,
    Ceil,
    Floor,
    Log2,
}

impl Function {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "min" => Function::Min,
            "max" => Function::Max,
            "abs" => Function::Abs,
            "ceil_div" => Function::CeilDiv,
            "ceil" => Function::Ceil,
            "floor" => Function::Floor,
            "log2" => Function::Log2,
            _ => return None,
        })
    }

    /// (name, how many arguments in words, least, most)
    pub(super) fn arguments(self) -> (&'static str, &'static str, usize, usize) {
        match self {
            Function::Min => ("min", "one or more", 1, usize::MAX),
            Function::Max => ("max", "one or more", 1, usize::MAX),
            Function::Abs => ("abs", "1", 1, 1),
            Function::CeilDiv => ("ceil_div", "2", 2, 2),
            Function::Ceil => ("ceil", "1", 1, 1),
            Function::Floor => ("floor", "1", 1, 1),
            Function::Log2 => ("log2", "1", 1, 1),
        }
    }
}

impl Expression {
    /// Parses text; `resolve` turns a name into its number.
    pub fn parse(text: &str, resolve: &dyn Fn(&str) -> Option<usize>) -> Result<Self, SyntaxError> {
        parse(text, resolve).map(|root| Self { root })
    }

    /// Its value where `value` gives that of each name.
    pub fn evaluate(&self, value: &dyn Fn(usize) -> Scalar) -> Scalar {
        evaluate(&self.root, value)
    }

    /// The names it uses, each once, in rising order.
    pub fn names(&self) -> Vec<usize> {
        let mut names = Vec::new();
        collect(&self.root, &mut names);
        names.sort_unstable();
        names.dedup();
        names
    }
}

fn collect(node: &Node, names: &mut Vec<usize>) {
    match node {
        Node::Constant(_) => {}
        Node::Name(name) => names.push(*name),
        Node::Not(inner) | Node::Negative(inner) => collect(inner, names),
        Node::Binary(_, a, b) => [a, b].into_iter().for_each(|node| collect(node, names)),
        Node::Compare(first, rest) => {
            collect(first, names);
            rest.iter().for_each(|(_, node)| collect(node, names));
        }
        Node::In(item, list) => {
            collect(item, names);
            list.iter().for_each(|node| collect(node, names));
        }
        Node::Call(_, arguments) => arguments.iter().for_each(|node| collect(node, names)),
    }
}

fn evaluate(node: &Node, value: &dyn Fn(usize) -> Scalar) -> Scalar {
    let number = |node: &Node| match evaluate(node, value) {
        Scalar::Number(n) => n,
        Scalar::Text(_) => f64::NAN,
    };
    let truth = |holds: bool| Scalar::Number(f64::from(u8::from(holds)));
    match node {
        Node::Constant(scalar) => scalar.clone(),
        Node::Name(name) => value(*name),
        Node::Not(inner) => truth(!evaluate(inner, value).is_true()),
        Node::Negative(inner) => Scalar::Number(-number(inner)),
        Node::Binary(Operator::And, a, b) => {
            truth(evaluate(a, value).is_true() && evaluate(b, value).is_true())
        }
        Node::Binary(Operator::Or, a, b) => {
            truth(evaluate(a, value).is_true() || evaluate(b, value).is_true())
        }
        Node::Binary(operator, a, b) => Scalar::Number(arithmetic(*operator, number(a), number(b))),
        Node::Compare(first, rest) => {
            let mut left = evaluate(first, value);
            for (comparison, node) in rest {
                let right = evaluate(node, value);
                if !holds(*comparison, &left, &right) {
                    return truth(false);
                }
                left = right;
            }
            truth(true)
        }
        Node::In(item, list) => {
            let item = evaluate(item, value);
            truth(list.iter().any(|node| evaluate(node, value) == item))
        }
        Node::Call(function, arguments) => {
            let arguments: Vec<f64> = arguments.iter().map(number).collect();
            Scalar::Number(call(*function, &arguments))
        }
    }
}

/// Division by zero gives a value that no comparison but `!=` holds for.
fn arithmetic(operator: Operator, a: f64, b: f64) -> f64 {
    let over = |f: fn(f64) -> f64| if b == 0.0 { f64::NAN } else { f(a / b) };
    match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => over(|q| q),
        Operator::Floor => over(f64::floor),
        Operator::Remainder => {
            if b == 0.0 {
                f64::NAN
            } else {
                a - b * (a / b).floor()
            }
        }
        Operator::Power => a.powf(b),
        Operator::And | Operator::Or => f64::NAN,
    }
}

fn holds(comparison: Comparison, a: &Scalar, b: &Scalar) -> bool {
    match (comparison, a, b) {
        (Comparison::Equal, a, b) => a == b,
        (Comparison::NotEqual, a, b) => a != b,
        (comparison, Scalar::Number(a), Scalar::Number(b)) => match comparison {
            Comparison::Less => a < b,
            Comparison::LessOrEqual => a <= b,
            Comparison::Greater => a > b,
            _ => a >= b,
        },
        _ => false,
    }
}

fn call(function: Function, arguments: &[f64]) -> f64 {
    let first = arguments.first().copied().unwrap_or(f64::NAN);
    // What is undefined stays so: the smaller of nothing and 5 is not 5.
    if arguments.iter().any(|argument| argument.is_nan()) {
        return f64::NAN;
    }
    match function {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(name: &str) -> Option<usize> {
        ["M", "N", "mode"].iter().position(|known| *known == name)
    }

    fn value(text: &str) -> Scalar {
        let parsed = Expression::parse(text, &resolve).unwrap_or_else(|error| panic!("{text}: {error}"));
        parsed.evaluate(&|name| match name {
            0 => Scalar::Number(64.0),
            1 => Scalar::Number(48.0),
            _ => Scalar::Text("small".into()),
        })
    }

    #[test]
    fn arithmetic_follows_the_usual_precedence() {
        for (text, expected) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("-2 ** 2", -4.0),
            ("2 ** 3 ** 2", 512.0),
            ("7 // 2 + 7 % 3", 4.0),
            ("-7 % 4", 1.0),
            ("1e3 / 4", 250.0),
            ("min(M, N, 50) + max(1, 2)", 50.0),
            ("ceil_div(M, 3)", 22.0),
            ("log2(M) - abs(-6)", 0.0),
        ] {
            assert_eq!(value(text), Scalar::Number(expected), "{text}");
        }
    }

    #[test]
    fn conditions_are_true_or_false() {
        for text in [
            "M * N * 4 <= 65536 and M % 16 == 0",
            "16 <= N < M",
            "not (M < N) && mode == 'small'",
            "mode in ['tiny', \"small\"]",
            "M in [32, 64] or 1 / 0 > 0",
            "M != 63 and !(N == 47)",
        ] {
            assert!(value(text).is_true(), "{text}");
        }
        for text in [
            "M < N",
            "mode == 1",
            "mode < 'z'",
            "1 / 0 > 0",
            "1 / 0 <= 0",
            "min(1 / 0, 5) < 9",
            "max(1 / 0) > 0",
            "M % 0 == 0",
            "16 < M < 64",
        ] {
            assert!(!value(text).is_true(), "{text}");
        }
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let message = |text: &str| Expression::parse(text, &resolve).expect_err(text).to_string();
        insta::assert_snapshot!(
            ["M *", "M * )", "M ? N", "'open", "M N", "K < 3", "sqrt(M)", "ceil_div(M)", "(M", "M in 3"]
                .map(|text| format!("{text:14} {}", message(text)))
                .join("\n")
        );
        assert_eq!(
            Expression::parse(&"(".repeat(100_000), &resolve),
            Err(SyntaxError::Deep),
            "depth is limited before the stack is"
        );
        assert_eq!(Expression::parse(&"-".repeat(100_000), &resolve), Err(SyntaxError::Deep));
    }

    #[test]
    fn names_are_listed_once() {
        let parsed = Expression::parse("N + N * M in [mode, 1]", &resolve).unwrap();
        assert_eq!(parsed.names(), [0, 1, 2]);
    }
}
