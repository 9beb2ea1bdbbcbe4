//! The value of an expression.
//!
//! Numbers are doubles, exact for whole numbers up to 2⁵³; words compare only with words. Nothing is ever
//! executed.

use crate::{Expression, Operator};

/// The value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// A number; true is 1, false is 0.
    Number(f64),
    /// A word.
    Text(String),
}

impl Scalar {
    /// Whether it counts as true: any number except zero, any word except the empty one.
    pub fn is_true(&self) -> bool {
        match self {
            Scalar::Number(n) => *n != 0.0 && !n.is_nan(),
            Scalar::Text(text) => !text.is_empty(),
        }
    }
}

/// Evaluates an expression; `value` gives the value of each name. Every comparison with the result of a
/// division by zero is false, except `!=`.
pub fn evaluate<N>(expression: &Expression<N>, value: &dyn Fn(&N) -> Scalar) -> Scalar {
    let number = |part: &Expression<N>| match evaluate(part, value) {
        Scalar::Number(n) => n,
        Scalar::Text(_) => f64::NAN,
    };
    let is_true = |part: &Expression<N>| evaluate(part, value).is_true();
    match expression {
        Expression::Number(number) => Scalar::Number(*number),
        Expression::Text(text) => Scalar::Text(text.clone()),
        Expression::Missing => Scalar::Number(f64::NAN),
        Expression::Name(name) | Expression::OfChannel(name, _) => value(name),
        Expression::Not(inner) => truth(!is_true(inner)),
        Expression::Negative(inner) => Scalar::Number(-number(inner)),
        Expression::Binary(Operator::And, a, b) => truth(is_true(a) && is_true(b)),
        Expression::Binary(Operator::Or, a, b) => truth(is_true(a) || is_true(b)),
        Expression::Binary(operator, a, b) if operator.compares() => {
            truth(holds(*operator, &evaluate(a, value), &evaluate(b, value)))
        }
        Expression::Binary(operator, a, b) => {
            let (a, b) = (number(a), number(b));
            let divides = matches!(operator, Operator::Divide | Operator::FloorDivide | Operator::Remainder);
            Scalar::Number(if divides && b == 0.0 { f64::NAN } else { operator.apply(a, b) })
        }
        Expression::Chain(first, rest) => {
            let mut left = evaluate(first, value);
            for (operator, part) in rest {
                let right = evaluate(part, value);
                if !holds(*operator, &left, &right) {
                    return truth(false);
                }
                left = right;
            }
            truth(true)
        }
        Expression::In(item, list) => {
            let item = evaluate(item, value);
            truth(list.iter().any(|part| evaluate(part, value) == item))
        }
        Expression::Choice(parts) => {
            let [condition, yes, no] = &**parts;
            evaluate(if is_true(condition) { yes } else { no }, value)
        }
        Expression::Call(function, arguments) => {
            let arguments: Vec<f64> = arguments.iter().map(number).collect();
            Scalar::Number(function.apply(&arguments))
        }
        Expression::Whole(inner) => {
            let found = number(inner);
            Scalar::Number(if found.fract() == 0.0 { found } else { f64::NAN })
        }
        Expression::Channels(inner, _) => evaluate(inner, value),
    }
}

fn truth(holds: bool) -> Scalar {
    Scalar::Number(f64::from(u8::from(holds)))
}

fn holds(operator: Operator, a: &Scalar, b: &Scalar) -> bool {
    match (operator, a, b) {
        (Operator::Equal, a, b) => a == b,
        (Operator::Unequal, a, b) => a != b,
        (operator, Scalar::Number(a), Scalar::Number(b)) => operator.apply(*a, *b) != 0.0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SyntaxError, parse};

    fn resolve(name: &str) -> Option<usize> {
        ["M", "N", "mode"].iter().position(|known| *known == name)
    }

    /// Like tuning spaces: names become numbers.
    fn resolved(text: &str) -> Result<Expression<usize>, SyntaxError> {
        parse(text)?.resolve(&|name, channel| match (resolve(name), channel) {
            (Some(_), Some(_)) => Err(SyntaxError::Channel { name: name.into() }),
            (Some(number), None) => Ok(Expression::Name(number)),
            (None, _) if name == "none" => Ok(Expression::Missing),
            (None, _) => Err(SyntaxError::Name { name: name.into() }),
        })
    }

    fn value(text: &str) -> Scalar {
        let parsed = resolved(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        evaluate(&parsed, &|name| match name {
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
        let message = |text: &str| resolved(text).expect_err(text).to_string();
        insta::assert_snapshot!(
            [
                "M *",
                "M * )",
                "M ? N",
                "'open",
                "M N",
                "K < 3",
                "sqrt(M)",
                "ceil_div(M)",
                "(M",
                "M in 3",
                "M[x]",
                "M[3]",
                "1e999",
                "CHANNELS(M, 0.5, 1)",
                "MAX(M)"
            ]
            .map(|text| format!("{text:14} {}", message(text)))
            .join("\n")
        );
        assert_eq!(
            resolved(&"(".repeat(1000)),
            Err(SyntaxError::Deep),
            "depth is limited before the stack is"
        );
        assert_eq!(resolved(&"-".repeat(1000)), Err(SyntaxError::Deep));
        assert_eq!(resolved(&"(".repeat(100_000)), Err(SyntaxError::Long));
        assert_eq!(resolved(&"1+".repeat(100_000)), Err(SyntaxError::Long));
    }

    #[test]
    fn names_are_listed_in_order() {
        let parsed = resolved("N + N * M in [mode, 1]").unwrap();
        let mut names = Vec::new();
        parsed.names(&mut |name, _| names.push(*name));
        assert_eq!(names, [1, 1, 0, 2]);
    }

    #[test]
    fn both_dialects_are_one_language() {
        for (text, expected) in [
            ("(N != 0) ? M / N : none", 64.0 / 48.0),
            ("MAX(M, N) - max(M, N)", 0.0),
            ("M > N ? 1 : N > M ? 2 : 3", 1.0),
            ("INT(M) + 1", 65.0),
        ] {
            assert_eq!(value(text), Scalar::Number(expected), "{text}");
        }
    }
}
