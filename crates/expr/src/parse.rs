//! From the text of an expression to its tree: tokens, then a parser by recursive descent.

use crate::error::{DEEPEST, MOST_TOKENS};
use crate::{Channel, Expression, Function, Operator, SyntaxError};

/// Parses an expression; names are kept as written.
pub fn parse(text: &str) -> Result<Expression, SyntaxError> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0 };
    let root = parser.choice()?;
    match parser.peek() {
        None => Ok(root),
        Some(token) => Err(token.unexpected("an operator")),
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub text: String,
    column: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    Number(f64),
    Word,
    Quoted,
    Symbol,
}

impl Token {
    fn unexpected(&self, expected: &'static str) -> SyntaxError {
        SyntaxError::Expected { expected, found: self.text.clone(), column: self.column }
    }
}

const SYMBOLS: &[&str] = &[
    "**", "//", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%", "<", ">", "(", ")", "[", "]",
    ",", "!", "?", ":",
];

pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, SyntaxError> {
    let characters: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < characters.len() {
        if tokens.len() > MOST_TOKENS {
            return Err(SyntaxError::Long);
        }
        let (c, column) = (characters[at], at + 1);
        let rest: String = characters[at..characters.len().min(at + 2)].iter().collect();
        if c.is_whitespace() {
            at += 1;
        } else if c.is_ascii_digit() || (c == '.' && characters.get(at + 1).is_some_and(char::is_ascii_digit))
        {
            let end = number_end(&characters, at);
            let text: String = characters[at..end].iter().collect();
            let value: f64 = text.parse().map_err(|_| SyntaxError::Character { character: c, column })?;
            if !value.is_finite() {
                return Err(SyntaxError::Number { column });
            }
            tokens.push(Token { kind: TokenKind::Number(value), text, column });
            at = end;
        } else if c.is_alphabetic() || c == '_' {
            let word = |c: &char| c.is_alphanumeric() || *c == '_';
            let end = at + characters[at..].iter().take_while(|c| word(c)).count();
            tokens.push(Token { kind: TokenKind::Word, text: characters[at..end].iter().collect(), column });
            at = end;
        } else if c == '\'' || c == '"' {
            let length = characters[at + 1..].iter().position(|&end| end == c);
            let length = length.ok_or(SyntaxError::Quote { column })?;
            let text = characters[at + 1..at + 1 + length].iter().collect();
            tokens.push(Token { kind: TokenKind::Quoted, text, column });
            at += length + 2;
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            tokens.push(Token { kind: TokenKind::Symbol, text: symbol.to_string(), column });
            at += symbol.len();
        } else {
            return Err(SyntaxError::Character { character: c, column });
        }
    }
    Ok(tokens)
}

/// Digits, a fraction, an exponent.
fn number_end(characters: &[char], start: usize) -> usize {
    let mut end = start;
    let digits = |end: &mut usize| {
        while characters.get(*end).is_some_and(char::is_ascii_digit) {
            *end += 1;
        }
    };
    digits(&mut end);
    if characters.get(end) == Some(&'.') {
        end += 1;
        digits(&mut end);
    }
    if matches!(characters.get(end), Some('e' | 'E')) {
        let sign = usize::from(matches!(characters.get(end + 1), Some('+' | '-')));
        if characters.get(end + 1 + sign).is_some_and(char::is_ascii_digit) {
            end += 1 + sign;
            digits(&mut end);
        }
    }
    end
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

type Parsed = Result<Expression, SyntaxError>;

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    /// Takes the next token if it is this symbol or word (never a quoted one).
    fn take(&mut self, text: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.text == text && token.kind != TokenKind::Quoted);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &'static str) -> Result<(), SyntaxError> {
        if self.take(symbol) {
            return Ok(());
        }
        Err(self.peek().map_or(SyntaxError::Ends { expected: symbol }, |token| token.unexpected(symbol)))
    }

    fn binary(operator: Operator, left: Expression, right: Expression) -> Expression {
        Expression::Binary(operator, Box::new(left), Box::new(right))
    }

    fn choice(&mut self) -> Parsed {
        self.deeper(|parser| {
            let condition = parser.or()?;
            if !parser.take("?") {
                return Ok(condition);
            }
            let yes = parser.choice()?;
            parser.expect(":")?;
            Ok(Expression::Choice(Box::new([condition, yes, parser.choice()?])))
        })
    }

    fn or(&mut self) -> Parsed {
        let mut left = self.and()?;
        while self.take("or") || self.take("||") {
            left = Self::binary(Operator::Or, left, self.and()?);
        }
        Ok(left)
    }

    fn and(&mut self) -> Parsed {
        let mut left = self.not()?;
        while self.take("and") || self.take("&&") {
            left = Self::binary(Operator::And, left, self.not()?);
        }
        Ok(left)
    }

    fn not(&mut self) -> Parsed {
        self.deeper(|parser| {
            if parser.take("not") || parser.take("!") {
                return Ok(Expression::Not(Box::new(parser.not()?)));
            }
            parser.comparison()
        })
    }

    fn comparison(&mut self) -> Parsed {
        let first = self.sum()?;
        if self.take("in") {
            self.expect("[")?;
            return Ok(Expression::In(Box::new(first), self.list("]")?));
        }
        let mut rest = Vec::new();
        while let Some(comparison) = self.take_comparison() {
            rest.push((comparison, self.sum()?));
        }
        if rest.len() > 1 {
            return Ok(Expression::Chain(Box::new(first), rest));
        }
        Ok(match rest.pop() {
            Some((comparison, second)) => Self::binary(comparison, first, second),
            None => first,
        })
    }

    fn take_comparison(&mut self) -> Option<Operator> {
        use Operator::{AtLeast, AtMost, Equal, Greater, Less, Unequal};
        [AtMost, AtLeast, Equal, Unequal, Less, Greater].into_iter().find(|one| self.take(one.sign()))
    }

    fn sum(&mut self) -> Parsed {
        let mut left = self.product()?;
        loop {
            let operator = match () {
                () if self.take("+") => Operator::Add,
                () if self.take("-") => Operator::Subtract,
                () => return Ok(left),
            };
            left = Self::binary(operator, left, self.product()?);
        }
    }

    fn product(&mut self) -> Parsed {
        let mut left = self.sign()?;
        loop {
            let operator = match () {
                () if self.take("*") => Operator::Multiply,
                () if self.take("//") => Operator::FloorDivide,
                () if self.take("/") => Operator::Divide,
                () if self.take("%") => Operator::Remainder,
                () => return Ok(left),
            };
            left = Self::binary(operator, left, self.sign()?);
        }
    }

    fn sign(&mut self) -> Parsed {
        self.deeper(|parser| {
            if parser.take("-") {
                return Ok(Expression::Negative(Box::new(parser.sign()?)));
            }
            let base = parser.atom()?;
            // Right-associative, and binds tighter than a sign before it.
            if parser.take("**") {
                return Ok(Self::binary(Operator::Power, base, parser.sign()?));
            }
            Ok(base)
        })
    }

    fn atom(&mut self) -> Parsed {
        let token = self.peek().cloned().ok_or(SyntaxError::Ends { expected: "a value" })?;
        self.at += 1;
        match token.kind {
            TokenKind::Number(n) => Ok(Expression::Number(n)),
            TokenKind::Quoted => Ok(Expression::Text(token.text)),
            TokenKind::Word => self.word(token.text),
            TokenKind::Symbol if token.text == "(" => {
                let inner = self.choice()?;
                self.expect(")")?;
                Ok(inner)
            }
            TokenKind::Symbol => Err(token.unexpected("a value")),
        }
    }

    fn word(&mut self, name: String) -> Parsed {
        if self.take("(") {
            return self.call(name);
        }
        if self.take("[") {
            let channel = if self.take("CH") { Channel::Current } else { Channel::Number(self.whole()?) };
            self.expect("]")?;
            return Ok(Expression::OfChannel(name, channel));
        }
        Ok(if name == "none" { Expression::Missing } else { Expression::Name(name) })
    }

    /// Parses the rest of a function call, after the name and its opening bracket.
    fn call(&mut self, name: String) -> Parsed {
        match name.as_str() {
            "INT" => {
                let inner = self.choice()?;
                self.expect(")")?;
                return Ok(Expression::Whole(Box::new(inner)));
            }
            "CHANNELS" => {
                let inner = self.choice()?;
                let mut range = None;
                if self.take(",") {
                    let first = self.whole()?;
                    self.expect(",")?;
                    range = Some((first, self.whole()?));
                }
                self.expect(")")?;
                return Ok(Expression::Channels(Box::new(inner), range));
            }
            _ => {}
        }
        let (function, name, takes, least, most) =
            Function::named(&name).ok_or(SyntaxError::Function { name })?;
        let arguments = self.list(")")?;
        if !(least..=most).contains(&arguments.len()) {
            return Err(SyntaxError::Arguments { name, takes, given: arguments.len() });
        }
        Ok(Expression::Call(function, arguments))
    }

    /// The number of a channel.
    fn whole(&mut self) -> Result<u32, SyntaxError> {
        const EXPECTED: &str = "a whole number";
        let token = self.peek().cloned().ok_or(SyntaxError::Ends { expected: EXPECTED })?;
        match token.kind {
            TokenKind::Number(n) if n.fract() == 0.0 && n <= f64::from(u32::MAX) => {
                self.at += 1;
                Ok(n as u32)
            }
            _ => Err(token.unexpected(EXPECTED)),
        }
    }

    /// Expressions separated by commas, up to the closing bracket.
    fn list(&mut self, close: &'static str) -> Result<Vec<Expression>, SyntaxError> {
        let mut items = Vec::new();
        if self.take(close) {
            return Ok(items);
        }
        loop {
            items.push(self.choice()?);
            if !self.take(",") {
                self.expect(close)?;
                return Ok(items);
            }
        }
    }

    fn deeper(&mut self, parse: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(SyntaxError::Deep);
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Any expression that the parser can return.
    fn expression() -> impl Strategy<Value = Expression> {
        let leaf = prop_oneof![
            (0u32..1000).prop_map(|n| Expression::Number(f64::from(n) / 8.0)),
            "[A-Za-z_]{0,4}[A-Z]".prop_map(Expression::Name),
            "[a-z ]{0,5}'?".prop_map(Expression::Text),
            Just(Expression::Missing),
            ("[A-Z]{1,3}_", 0u32..40).prop_map(|(name, n)| Expression::OfChannel(name, Channel::Number(n))),
            "[A-Z]{1,3}_".prop_map(|name| Expression::OfChannel(name, Channel::Current)),
        ];
        let operator = || {
            use Operator::*;
            proptest::sample::select(vec![
                Or,
                And,
                Equal,
                Unequal,
                Less,
                Greater,
                AtMost,
                AtLeast,
                Add,
                Subtract,
                Multiply,
                Divide,
                FloorDivide,
                Remainder,
                Power,
            ])
        };
        let comparison = || proptest::sample::select(vec![Operator::Less, Operator::AtMost, Operator::Equal]);
        leaf.prop_recursive(5, 40, 3, move |inner| {
            let boxed = || inner.clone().prop_map(Box::new);
            let some = || proptest::collection::vec(inner.clone(), 1..4);
            prop_oneof![
                (operator(), boxed(), boxed()).prop_map(|(sign, a, b)| Expression::Binary(sign, a, b)),
                (boxed(), proptest::collection::vec((comparison(), inner.clone()), 2..4))
                    .prop_map(|(first, rest)| Expression::Chain(first, rest)),
                boxed().prop_map(Expression::Negative),
                boxed().prop_map(Expression::Not),
                boxed().prop_map(Expression::Whole),
                (boxed(), some()).prop_map(|(item, list)| Expression::In(item, list)),
                [inner.clone(), inner.clone(), inner.clone()]
                    .prop_map(|parts| Expression::Choice(Box::new(parts))),
                some().prop_map(|parts| Expression::Call(Function::Max, parts)),
                (boxed(), proptest::option::of((0u32..9, 0u32..40)))
                    .prop_map(|(a, range)| Expression::Channels(a, range)),
            ]
        })
    }

    proptest! {
        /// Whatever the input, parsing ends with an expression or an error.
        #[test]
        fn parsing_never_panics(text in ".{0,80}", signs in "[-+*/%<>=!&|?:,()\\[\\]A1. ]{0,60}") {
            let _ = parse(&text);
            let _ = parse(&signs);
        }

        /// Printing and reading back gives the same tree.
        #[test]
        fn what_is_printed_reads_back_the_same(tree in expression()) {
            let text = tree.to_string();
            prop_assert_eq!(parse(&text), Ok(tree), "{}", text);
        }
    }
}
