//! From the text of an expression to its tree: tokens, then a parser by recursive descent.

use super::expression::{Comparison, DEEPEST, Function, Node, Operator, Scalar, SyntaxError};

/// Parses text; `resolve` turns a name into its number.
pub(super) fn parse(text: &str, resolve: &dyn Fn(&str) -> Option<usize>) -> Result<Node, SyntaxError> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0, resolve };
    let root = parser.or()?;
    match parser.peek() {
        None => Ok(root),
        Some(token) => Err(token.unexpected("an operator")),
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Token {
    kind: Kind,
    text: String,
    column: usize,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
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
    ",", "!",
];

fn tokens(text: &str) -> Result<Vec<Token>, SyntaxError> {
    let characters: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < characters.len() {
        let (c, column) = (characters[at], at + 1);
        let rest: String = characters[at..characters.len().min(at + 2)].iter().collect();
        if c.is_whitespace() {
            at += 1;
        } else if c.is_ascii_digit() || (c == '.' && characters.get(at + 1).is_some_and(char::is_ascii_digit))
        {
            let end = number_end(&characters, at);
            let text: String = characters[at..end].iter().collect();
            let value = text.parse().map_err(|_| SyntaxError::Character { character: c, column })?;
            tokens.push(Token { kind: Kind::Number(value), text, column });
            at = end;
        } else if c.is_alphabetic() || c == '_' {
            let word = |c: &char| c.is_alphanumeric() || *c == '_';
            let end = at + characters[at..].iter().take_while(|c| word(c)).count();
            tokens.push(Token { kind: Kind::Word, text: characters[at..end].iter().collect(), column });
            at = end;
        } else if c == '\'' || c == '"' {
            let length = characters[at + 1..].iter().position(|&end| end == c);
            let length = length.ok_or(SyntaxError::Quote { column })?;
            let text = characters[at + 1..at + 1 + length].iter().collect();
            tokens.push(Token { kind: Kind::Quoted, text, column });
            at += length + 2;
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            tokens.push(Token { kind: Kind::Symbol, text: symbol.to_string(), column });
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

struct Parser<'a> {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    resolve: &'a dyn Fn(&str) -> Option<usize>,
}

type Parsed = Result<Node, SyntaxError>;

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    /// Takes the next token when it is this symbol or word (never a quoted one).
    fn take(&mut self, text: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.text == text && token.kind != Kind::Quoted);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &'static str) -> Result<(), SyntaxError> {
        if self.take(symbol) {
            return Ok(());
        }
        Err(self.peek().map_or(SyntaxError::Ends { expected: symbol }, |token| token.unexpected(symbol)))
    }

    fn binary(operator: Operator, left: Node, right: Node) -> Node {
        Node::Binary(operator, Box::new(left), Box::new(right))
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
                return Ok(Node::Not(Box::new(parser.not()?)));
            }
            parser.comparison()
        })
    }

    fn comparison(&mut self) -> Parsed {
        let first = self.sum()?;
        if self.take("in") {
            self.expect("[")?;
            return Ok(Node::In(Box::new(first), self.list("]")?));
        }
        let mut rest = Vec::new();
        while let Some(comparison) = self.take_comparison() {
            rest.push((comparison, self.sum()?));
        }
        Ok(if rest.is_empty() { first } else { Node::Compare(Box::new(first), rest) })
    }

    fn take_comparison(&mut self) -> Option<Comparison> {
        const ALL: &[(&str, Comparison)] = &[
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        ALL.iter().find(|(symbol, _)| self.take(symbol)).map(|(_, comparison)| *comparison)
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
                () if self.take("//") => Operator::Floor,
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
                return Ok(Node::Negative(Box::new(parser.sign()?)));
            }
            let base = parser.atom()?;
            // Right to left, and binding tighter than a sign before it.
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
            Kind::Number(n) => Ok(Node::Constant(Scalar::Number(n))),
            Kind::Quoted => Ok(Node::Constant(Scalar::Text(token.text))),
            Kind::Word => self.word(token.text),
            Kind::Symbol if token.text == "(" => {
                let inner = self.deeper(Self::or)?;
                self.expect(")")?;
                Ok(inner)
            }
            Kind::Symbol => Err(token.unexpected("a value")),
        }
    }

    fn word(&mut self, name: String) -> Parsed {
        if self.take("(") {
            let function = Function::named(&name).ok_or(SyntaxError::Function { name })?;
            let arguments = self.list(")")?;
            let (name, takes, least, most) = function.arguments();
            if !(least..=most).contains(&arguments.len()) {
                return Err(SyntaxError::Arguments { name, takes, given: arguments.len() });
            }
            return Ok(Node::Call(function, arguments));
        }
        match (name.as_str(), (self.resolve)(&name)) {
            (_, Some(number)) => Ok(Node::Name(number)),
            ("true" | "True", _) => Ok(Node::Constant(Scalar::Number(1.0))),
            ("false" | "False", _) => Ok(Node::Constant(Scalar::Number(0.0))),
            _ => Err(SyntaxError::Name { name }),
        }
    }

    /// Expressions with commas between, to the closing bracket.
    fn list(&mut self, close: &'static str) -> Result<Vec<Node>, SyntaxError> {
        let mut items = Vec::new();
        if self.take(close) {
            return Ok(items);
        }
        loop {
            items.push(self.deeper(Self::or)?);
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
