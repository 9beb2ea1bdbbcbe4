//! From text to an expression.

use super::{Channel, Expression, Operator};

/// Why a formula cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read the formula `{formula}` at character {at}: {why}")]
pub struct ParseError {
    /// The whole formula.
    pub formula: String,
    /// Where, counted from 1.
    pub at: usize,
    /// What was expected.
    pub why: String,
}

/// Formulas nest a few levels; text that goes on and on is refused, not followed.
const DEEPEST: usize = 64;

/// Parses a formula.
pub fn parse(formula: &str) -> Result<Expression, ParseError> {
    let mut parser = Parser { text: formula, at: 0, depth: 0 };
    let expression = parser.choice()?;
    parser.space();
    if parser.at < formula.len() {
        return Err(parser.error("nothing more was expected"));
    }
    Ok(expression)
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

const COMPARISONS: &[(&str, Operator)] = &[
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("<", Operator::Less),
    (">", Operator::Greater),
];
const SUMS: &[(&str, Operator)] = &[("+", Operator::Add), ("-", Operator::Subtract)];
const PRODUCTS: &[(&str, Operator)] = &[("*", Operator::Multiply), ("/", Operator::Divide)];

impl<'t> Parser<'t> {
    fn choice(&mut self) -> Result<Expression, ParseError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error("it is nested too deeply"));
        }
        let condition = self.comparison()?;
        let parsed = if self.take("?") {
            let yes = self.choice()?;
            self.expect(":")?;
            let no = self.choice()?;
            Expression::Choice(Box::new([condition, yes, no]))
        } else {
            condition
        };
        self.depth -= 1;
        Ok(parsed)
    }

    fn comparison(&mut self) -> Result<Expression, ParseError> {
        let left = self.sum()?;
        match self.operator(COMPARISONS) {
            Some(operator) => Ok(Expression::Binary(operator, Box::new(left), Box::new(self.sum()?))),
            None => Ok(left),
        }
    }

    fn sum(&mut self) -> Result<Expression, ParseError> {
        let mut left = self.product()?;
        while let Some(operator) = self.operator(SUMS) {
            left = Expression::Binary(operator, Box::new(left), Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression, ParseError> {
        let mut left = self.factor()?;
        while let Some(operator) = self.operator(PRODUCTS) {
            left = Expression::Binary(operator, Box::new(left), Box::new(self.factor()?));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Expression, ParseError> {
        if self.take("-") {
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err(self.error("it is nested too deeply"));
            }
            let inner = self.factor()?;
            self.depth -= 1;
            return Ok(Expression::Negative(Box::new(inner)));
        }
        if self.take("(") {
            let inner = self.choice()?;
            self.expect(")")?;
            return Ok(inner);
        }
        self.space();
        let rest = &self.text[self.at..];
        if rest.starts_with(|c: char| c.is_ascii_digit()) {
            return self.number().map(Expression::Number);
        }
        let name = self.word();
        match name {
            "" => Err(self.error("a number, a name or `(` was expected")),
            "none" => Ok(Expression::Missing),
            "MAX" => {
                self.expect("(")?;
                let a = self.choice()?;
                self.expect(",")?;
                let b = self.choice()?;
                self.expect(")")?;
                Ok(Expression::Larger(Box::new([a, b])))
            }
            "INT" => {
                self.expect("(")?;
                let inner = self.choice()?;
                self.expect(")")?;
                Ok(Expression::Whole(Box::new(inner)))
            }
            "CHANNELS" => {
                self.expect("(")?;
                let inner = self.choice()?;
                let mut range = None;
                if self.take(",") {
                    let first = self.whole()?;
                    self.expect(",")?;
                    range = Some((first, self.whole()?));
                }
                self.expect(")")?;
                Ok(Expression::Channels(Box::new(inner), range))
            }
            name => {
                if !self.take("[") {
                    return Ok(Expression::Name(name.to_string()));
                }
                let channel = if self.take("CH") { Channel::Current } else { Channel::Number(self.whole()?) };
                self.expect("]")?;
                Ok(Expression::OfChannel(name.to_string(), channel))
            }
        }
    }

    fn number(&mut self) -> Result<f64, ParseError> {
        self.space();
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
        let number = rest[..length].parse().map_err(|_| self.error("a number was expected"))?;
        self.at += length;
        Ok(number)
    }

    fn whole(&mut self) -> Result<u32, ParseError> {
        let number = self.number()?;
        if number.fract() != 0.0 || number > f64::from(u32::MAX) {
            return Err(self.error("a whole number was expected"));
        }
        Ok(number as u32)
    }

    fn word(&mut self) -> &'t str {
        self.space();
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        self.at += length;
        &rest[..length]
    }

    fn operator(&mut self, among: &[(&str, Operator)]) -> Option<Operator> {
        among.iter().find(|(sign, _)| self.take(sign)).map(|(_, operator)| *operator)
    }

    fn take(&mut self, sign: &str) -> bool {
        self.space();
        let there = self.text[self.at..].starts_with(sign);
        if there {
            self.at += sign.len();
        }
        there
    }

    fn expect(&mut self, sign: &str) -> Result<(), ParseError> {
        if self.take(sign) { Ok(()) } else { Err(self.error(&format!("`{sign}` was expected"))) }
    }

    fn space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn error(&self, why: &str) -> ParseError {
        ParseError { formula: self.text.to_string(), at: self.at + 1, why: why.to_string() }
    }
}
