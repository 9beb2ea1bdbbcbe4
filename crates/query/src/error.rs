//! Why a query failed, and where in its text.

use std::fmt;
use std::path::PathBuf;

/// A failure to open an input or to run a statement.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An input cannot be read.
    #[error(transparent)]
    Input(#[from] ingest::Error),
    /// A database cannot be opened.
    #[error("cannot open `{path}`: {why}")]
    Open {
        /// The file.
        path: PathBuf,
        /// SQLite's reason.
        why: String,
    },
    /// More databases than allowed for a part.
    #[error("cannot query a window or filter of more than {most} databases at once")]
    TooManyForPart {
        /// The limit.
        most: usize,
    },
    /// The SQL is wrong, or failed while it ran.
    #[error(transparent)]
    Sql(#[from] SqlError),
}

impl Error {
    /// What to type or do next, if something helps.
    pub fn help(&self) -> Option<String> {
        match self {
            Error::Input(error) => error.help().map(str::to_string),
            Error::Open { .. } => None,
            Error::TooManyForPart { .. } => Some("merge them first".into()),
            Error::Sql(error) => error.hint.clone(),
        }
    }
}

/// What is wrong with a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// SQLite's message.
    pub message: String,
    /// Where, if known.
    pub place: Option<TextPosition>,
    /// One line of help.
    pub hint: Option<String>,
}

impl std::error::Error for SqlError {}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bad SQL: {}", self.message)?;
        match &self.place {
            Some(place) => write!(f, " (line {}, column {})", place.line, place.column),
            None => Ok(()),
        }
    }
}

/// A position in the text of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPosition {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The text there; empty at the end of the query.
    pub token: String,
    /// The whole line.
    pub text: String,
}

impl TextPosition {
    /// The position of byte `offset` of `sql`.
    pub(crate) fn at(sql: &str, offset: usize) -> Self {
        let mut offset = offset.min(sql.len());
        while !sql.is_char_boundary(offset) {
            offset -= 1;
        }
        let start = sql[..offset].rfind('\n').map_or(0, |i| i + 1);
        let end = sql[offset..].find('\n').map_or(sql.len(), |i| offset + i);
        TextPosition {
            line: sql[..offset].matches('\n').count() + 1,
            column: sql[start..offset].chars().count() + 1,
            token: token(&sql[offset..]).to_string(),
            text: sql[start..end].trim_end_matches('\r').to_string(),
        }
    }

    /// The line, and a second one with carets under the token.
    pub fn picture(&self) -> String {
        let indent: String =
            self.text.chars().take(self.column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        format!("{}\n{indent}{}", self.text, "^".repeat(self.token.chars().count().max(1)))
    }
}

/// The word, quoted name or single character at the start of a text.
fn token(text: &str) -> &str {
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    match text.chars().next() {
        None => "",
        Some(quote @ ('"' | '\'' | '`')) => match text[1..].find(quote) {
            Some(end) => &text[..end + 2],
            None => text.lines().next().unwrap_or_default(),
        },
        Some(first) if word(first) => &text[..text.find(|c| !word(c)).unwrap_or(text.len())],
        Some(first) => &text[..first.len_utf8()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_drawn_under_its_line() {
        let sql = "SELECT name\n  FORM kernels\n";
        let place = TextPosition::at(sql, sql.find("FORM").unwrap());
        assert_eq!((place.line, place.column, place.token.as_str()), (2, 3, "FORM"));
        assert_eq!(place.picture(), "  FORM kernels\n  ^^^^");
        let end = TextPosition::at("SELECT", 6);
        assert_eq!(end.picture(), "SELECT\n      ^");
        assert_eq!(TextPosition::at("SELECT 'é', x", 13).column, 13);
    }
}
