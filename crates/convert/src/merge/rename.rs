//! Definitions under other names: tables that would clash get another suffix, and so do their indexes.

use crate::rocpd::recordings::quoted;

/// Words before the name of a table or index.
const BEFORE_NAMES: [&str; 4] = ["TABLE", "INDEX", "REFERENCES", "ON"];

/// The definition with tables and indexes renamed if `new_name` returns another name. Columns, strings and
/// comments with the same text stay.
pub(super) fn renamed(sql: &str, new_name: &dyn Fn(&str) -> Option<String>) -> String {
    let mut text = String::with_capacity(sql.len() + 64);
    let mut before = String::new();
    let mut rest = sql;
    while let Some(token) = next_token(rest) {
        let (whole, after) = rest.split_at(token);
        rest = after;
        let name = name_of(whole);
        let new = name.as_deref().filter(|_| BEFORE_NAMES.contains(&before.as_str())).and_then(new_name);
        match new {
            Some(new) => text.push_str(&quoted(&new)),
            None => text.push_str(whole),
        }
        if !is_blank(whole) {
            before = whole.to_ascii_uppercase();
        }
    }
    text
}

fn is_blank(token: &str) -> bool {
    token.starts_with("--") || token.starts_with("/*") || token.trim().is_empty()
}

/// The name in a token, without its quotes.
fn name_of(token: &str) -> Option<String> {
    let inner = |open: usize| token.get(open..token.len().checked_sub(1)?);
    match token.as_bytes().first()? {
        b'"' => Some(inner(1)?.replace("\"\"", "\"")),
        b'`' => Some(inner(1)?.replace("``", "`")),
        b'[' => Some(inner(1)?.to_string()),
        // SQLite accepts a string as a name where only a name is valid.
        b'\'' => Some(inner(1)?.replace("''", "'")),
        first if is_letter(*first) => Some(token.to_string()),
        _ => None,
    }
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || !byte.is_ascii()
}

/// Length of the first token of a text: a quoted run, a comment, a word, white space, or one other character.
fn next_token(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let first = *bytes.first()?;
    let run = |is: &dyn Fn(u8) -> bool| bytes.iter().position(|b| !is(*b)).unwrap_or(bytes.len());
    let end = |mark: &str| text[2..].find(mark).map_or(bytes.len(), |at| 2 + at + mark.len());
    Some(match first {
        b'"' | b'`' | b'\'' => {
            let mut at = 1;
            while at < bytes.len() {
                match (bytes[at] == first, bytes.get(at + 1) == Some(&first)) {
                    (true, true) => at += 2,
                    (true, false) => return Some(at + 1),
                    _ => at += 1,
                }
            }
            bytes.len()
        }
        b'[' => text.find(']').map_or(bytes.len(), |at| at + 1),
        b'-' if bytes.starts_with(b"--") => end("\n"),
        b'/' if bytes.starts_with(b"/*") => end("*/"),
        _ if is_letter(first) => run(&is_letter),
        _ if first.is_ascii_whitespace() => run(&|b| b.is_ascii_whitespace()),
        _ => 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tables_change_and_nothing_else() {
        let new = |name: &str| name.strip_prefix("rocpd_").map(|rest| format!("rocpd_{rest}_9"));
        let sql = "CREATE TABLE rocpd_arg(\"id\" INTEGER, -- ON rocpd_event\n rocpd_arg TEXT DEFAULT 'TABLE rocpd_x', \
                   e INTEGER REFERENCES `rocpd_event` (\"id\") ON UPDATE CASCADE)";
        assert_eq!(
            renamed(sql, &new),
            "CREATE TABLE \"rocpd_arg_9\"(\"id\" INTEGER, -- ON rocpd_event\n rocpd_arg TEXT DEFAULT 'TABLE rocpd_x', \
             e INTEGER REFERENCES \"rocpd_event_9\" (\"id\") ON UPDATE CASCADE)"
        );
        assert_eq!(renamed("CREATE INDEX i ON [rocpd_arg](x)", &new), "CREATE INDEX i ON \"rocpd_arg_9\"(x)");
        assert_eq!(renamed("CREATE TABLE \"unclosed", &new), "CREATE TABLE \"unclosed");
    }
}
