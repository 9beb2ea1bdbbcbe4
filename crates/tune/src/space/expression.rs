//! Expressions over parameters, for constraints, conditions and derived features; `expr` has the language.

pub use expr::{Scalar, SyntaxError};

use super::setting::Setting;

/// A parsed expression; names are numbers given by the parser's caller.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    root: expr::Expression<usize>,
}

/// A parameter's setting in an expression.
pub(super) fn scalar(setting: &Setting) -> Scalar {
    match setting {
        Setting::Text(text) => Scalar::Text(text.clone()),
        other => Scalar::Number(other.number().unwrap_or(f64::NAN)),
    }
}

impl Expression {
    /// Parses text; `resolve` turns a name into its number.
    pub fn parse(text: &str, resolve: &dyn Fn(&str) -> Option<usize>) -> Result<Self, SyntaxError> {
        let root = expr::parse(text)?.resolve(&|name, channel| match (resolve(name), name) {
            (Some(_), _) if channel.is_some() => Err(SyntaxError::Channel { name: name.into() }),
            (Some(number), _) => Ok(expr::Expression::Name(number)),
            (None, "true" | "True") if channel.is_none() => Ok(expr::Expression::Number(1.0)),
            (None, "false" | "False") if channel.is_none() => Ok(expr::Expression::Number(0.0)),
            (None, _) => Err(SyntaxError::Name { name: name.into() }),
        })?;
        Ok(Self { root })
    }

    /// Its value; `value` returns that of each name.
    pub fn evaluate(&self, value: &dyn Fn(usize) -> Scalar) -> Scalar {
        expr::evaluate(&self.root, &|name| value(*name))
    }

    /// The names it uses, each once, in ascending order.
    pub fn names(&self) -> Vec<usize> {
        let mut names = Vec::new();
        self.root.names(&mut |name, _| names.push(*name));
        names.sort_unstable();
        names.dedup();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_before_words_of_the_language() {
        let resolve = |name: &str| ["none", "M"].iter().position(|known| *known == name);
        let parsed = Expression::parse("M + M * none", &resolve).unwrap();
        assert_eq!(parsed.names(), [0, 1], "each once");
        assert_eq!(parsed.evaluate(&|name| Scalar::Number(name as f64 + 2.0)), Scalar::Number(9.0));
        assert!(
            Expression::parse("true and not False", &resolve)
                .unwrap()
                .evaluate(&|_| unreachable!())
                .is_true()
        );
        let missing = Expression::parse("K < 3", &resolve);
        assert_eq!(missing, Err(SyntaxError::Name { name: "K".into() }));
    }
}
