//! Columns of a table, from the text of its CREATE statement.

use super::record::Col;

/// The value of a column in rows written before it was added.
#[derive(Clone, Debug, PartialEq)]
pub enum DefaultValue {
    /// Nothing, or an expression that is not evaluated here.
    Null,
    /// A whole number.
    Int(i64),
    /// A real number.
    Real(f64),
    /// Text.
    Text(String),
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name, without quotes.
    pub name: String,
    /// Where its values are.
    pub place: Col,
    /// Value in rows that are older than the column.
    pub default: DefaultValue,
}

/// A parsed CREATE TABLE statement.
#[derive(Debug)]
pub(super) struct Created {
    pub columns: Vec<Column>,
    pub without_rowid: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// A bare word or number.
    Word(String),
    /// Quoted as an identifier.
    Name(String),
    /// Quoted as text.
    Text(String),
    Symbol(char),
}

impl Token {
    fn is(&self, word: &str) -> bool {
        matches!(self, Token::Word(w) if w.eq_ignore_ascii_case(word))
    }
}

/// Words that begin a table constraint instead of a column.
const TABLE_CONSTRAINTS: [&str; 5] = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"];

/// Reads the columns; an invalid statement has none.
pub(super) fn parse(sql: &str) -> Created {
    let tokens = tokens(sql);
    let Some(open) = tokens.iter().position(|t| *t == Token::Symbol('(')) else {
        return Created { columns: Vec::new(), without_rowid: false };
    };
    let (definitions, rest) = split(&tokens[open + 1..]);
    let mut columns: Vec<(Column, bool)> = Vec::new();
    let mut key: Option<String> = None;
    let mut stored: u16 = 0;
    for definition in definitions {
        let Some(first) = definition.first() else { continue };
        if TABLE_CONSTRAINTS.iter().any(|w| first.is(w)) {
            key = key.or_else(|| single_key(definition));
            continue;
        }
        let (Token::Word(name) | Token::Name(name) | Token::Text(name)) = first else { continue };
        let integer = definition.get(1).is_some_and(|t| t.is("INTEGER"))
            && !matches!(definition.get(2), Some(Token::Symbol('(')));
        let primary = definition.windows(2).any(|w| w[0].is("PRIMARY") && w[1].is("KEY"));
        let computed = definition.windows(2).any(|w| w[0].is("AS") && w[1] == Token::Symbol('('))
            && !definition.iter().any(|t| t.is("STORED"));
        let place = if computed { Col::ABSENT } else { Col::at(stored) };
        // A rowid alias still has its (empty) place in the record.
        stored += u16::from(!computed);
        let alias = integer && primary;
        let place = if alias { Col::ROWID } else { place };
        columns.push((Column { name: name.clone(), place, default: default(definition) }, integer));
    }
    if let Some(key) = key
        && let Some((column, true)) = columns.iter_mut().find(|(c, _)| c.name.eq_ignore_ascii_case(&key))
    {
        column.place = Col::ROWID;
    }
    let without_rowid = rest.windows(2).any(|w| w[0].is("WITHOUT") && w[1].is("ROWID"));
    Created { columns: columns.into_iter().map(|(column, _)| column).collect(), without_rowid }
}

/// The column of `PRIMARY KEY (column)`.
fn single_key(definition: &[Token]) -> Option<String> {
    let at = definition.windows(2).position(|w| w[0].is("PRIMARY") && w[1].is("KEY"))?;
    match definition.get(at + 2..at + 5)? {
        [Token::Symbol('('), Token::Word(name) | Token::Name(name), Token::Symbol(')')] => Some(name.clone()),
        _ => None,
    }
}

fn default(definition: &[Token]) -> DefaultValue {
    let Some(at) = definition.iter().position(|t| t.is("DEFAULT")) else { return DefaultValue::Null };
    let (sign, value) = match definition.get(at + 1) {
        Some(Token::Symbol('-')) => ("-", definition.get(at + 2)),
        Some(Token::Symbol('+')) => ("", definition.get(at + 2)),
        value => ("", value),
    };
    match value {
        Some(Token::Text(text) | Token::Name(text)) => DefaultValue::Text(text.clone()),
        Some(Token::Word(word)) => {
            let word = format!("{sign}{word}");
            if let Ok(i) = word.parse() {
                DefaultValue::Int(i)
            } else if let Ok(f) = word.parse() {
                DefaultValue::Real(f)
            } else {
                match word.to_ascii_uppercase().as_str() {
                    "TRUE" => DefaultValue::Int(1),
                    "FALSE" => DefaultValue::Int(0),
                    _ => DefaultValue::Null,
                }
            }
        }
        _ => DefaultValue::Null,
    }
}

/// Splits the text between the outer brackets at its commas; the second part is what follows them.
fn split(tokens: &[Token]) -> (Vec<&[Token]>, &[Token]) {
    let (mut depth, mut from, mut parts) = (0usize, 0, Vec::new());
    for (i, token) in tokens.iter().enumerate() {
        match token {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') if depth == 0 => {
                parts.push(&tokens[from..i]);
                return (parts, &tokens[i + 1..]);
            }
            Token::Symbol(')') => depth -= 1,
            Token::Symbol(',') if depth == 0 => {
                parts.push(&tokens[from..i]);
                from = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&tokens[from..]);
    (parts, &[])
}

fn tokens(sql: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = sql;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            c if c.is_whitespace() => c.len_utf8(),
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '\'' | '"' | '`' | '[' => {
                let close = if c == '[' { ']' } else { c };
                let (text, length) = quoted(rest, close);
                tokens.push(if c == '\'' { Token::Text(text) } else { Token::Name(text) });
                length
            }
            c if is_word(c) => {
                let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                tokens.push(Token::Word(rest[..length].into()));
                length
            }
            c => {
                tokens.push(Token::Symbol(c));
                c.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    tokens
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '.') || !c.is_ascii()
}

/// The text within quotes, with doubled quotes undone, and its length including quotes.
fn quoted(rest: &str, close: char) -> (String, usize) {
    let mut text = String::new();
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = characters.next() {
        if c != close {
            text.push(c);
        } else if close != ']' && characters.peek().is_some_and(|(_, next)| *next == close) {
            text.push(c);
            characters.next();
        } else {
            return (text, at + 1);
        }
    }
    (text, rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(sql: &str) -> Vec<(String, Col)> {
        parse(sql).columns.into_iter().map(|c| (c.name, c.place)).collect()
    }

    #[test]
    fn columns_are_found_in_any_spelling() {
        let sql = "CREATE TABLE IF NOT EXISTS `rocpd_x_1` ( -- note, with a comma\n\
             \"id\" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, [end] BIGINT DEFAULT (1, 2), /* , */\n\
             a TEXT DEFAULT 'it''s, (so)' CHECK (\"a\" IN ('x', 'y')), b DECIMAL(10, 2), \
             PRIMARY KEY (b), FOREIGN KEY (nid) REFERENCES `t` (`id`) ON UPDATE CASCADE)";
        let expected = [("id", Col::ROWID), ("end", Col::at(1)), ("a", Col::at(2)), ("b", Col::at(3))];
        assert_eq!(places(sql), expected.map(|(n, c)| (n.to_string(), c)));
        assert_eq!(parse(sql).columns[2].default, DefaultValue::Text("it's, (so)".into()));
    }

    #[test]
    fn only_an_integer_primary_key_is_the_rowid() {
        assert_eq!(places("CREATE TABLE t (id INT PRIMARY KEY, b)")[0].1, Col::at(0));
        assert_eq!(places("CREATE TABLE t (a, id INTEGER, PRIMARY KEY (id))")[1].1, Col::ROWID);
        assert_eq!(places("CREATE TABLE t (a, id INTEGER, PRIMARY KEY (id, a))")[1].1, Col::at(1));
        assert!(parse("CREATE TABLE t (a PRIMARY KEY) WITHOUT ROWID").without_rowid);
    }

    #[test]
    fn defaults_and_computed_columns() {
        let columns = parse(
            "CREATE TABLE t (a INT DEFAULT -7, b REAL DEFAULT 1.5, c AS (a + 1), d INT NOT NULL DEFAULT 0)",
        )
        .columns;
        let defaults: Vec<_> = columns.iter().map(|c| c.default.clone()).collect();
        assert_eq!(
            defaults,
            [DefaultValue::Int(-7), DefaultValue::Real(1.5), DefaultValue::Null, DefaultValue::Int(0)]
        );
        assert_eq!(columns[2].place, Col::ABSENT);
        assert_eq!(columns[3].place, Col::at(2));
    }

    #[test]
    fn nonsense_has_no_columns() {
        for sql in ["", "CREATE TABLE", "CREATE TABLE t (", "(((", "'"] {
            assert!(parse(sql).columns.is_empty(), "{sql}");
        }
    }
}
