//! A user's own rules: SQL files with header comments that say what their rows mean.

use std::path::{Path, PathBuf};

use query::{Session, ValueRef};
use report::{Finding, Remedy, Severity, Value};

use crate::failure::Failure;

/// Maximum findings of one rule; a note says if it returns more rows.
const MOST_ROWS: usize = 100;

const KEYS: [&str; 6] = ["id", "title", "severity", "message", "gain", "recommendation"];

/// One rule.
#[derive(Debug)]
pub struct SqlRule {
    pub id: String,
    pub title: String,
    severity: Severity,
    message: Header,
    gain: Option<Header>,
    recommendation: String,
    path: PathBuf,
    sql: String,
}

/// The text after a key, and its line.
#[derive(Clone, Debug)]
struct Header {
    text: String,
    line: usize,
}

/// What a rule found.
pub struct Judged {
    pub findings: Vec<Finding>,
    /// What was left out.
    pub note: String,
}

/// The rules of a folder, by file name.
pub fn load(folder: &Path) -> Result<Vec<SqlRule>, Failure> {
    let failed = |error| Failure::input(format!("cannot read the rules in `{}`: {error}", folder.display()));
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "sql") {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        let message = format!("there is no `*.sql` file in `{}`", folder.display());
        return Err(Failure::input(message).with_help(Remedy::SqlRuleFormat));
    }
    paths.sort();
    let mut rules: Vec<SqlRule> = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path)
            .map_err(|error| Failure::input(format!("cannot read `{}`: {error}", path.display())))?;
        let rule = SqlRule::parse(path, text)?;
        if let Some(other) = rules.iter().find(|other| other.id == rule.id) {
            let message = format!("{}: `{}` is the id of {} too", rule.place(), rule.id, other.place());
            return Err(Failure::input(message));
        }
        rules.push(rule);
    }
    Ok(rules)
}

impl SqlRule {
    /// Reads the header: comments before the first statement.
    fn parse(path: PathBuf, sql: String) -> Result<Self, Failure> {
        let fail =
            |line: usize, what: String| Failure::input(format!("`{}` line {line}: {what}", path.display()));
        let mut headers: [Option<Header>; KEYS.len()] = Default::default();
        let mut head_lines = 0;
        for (number, line) in sql.lines().enumerate() {
            let line = line.trim();
            let Some(comment) = line.strip_prefix("--") else {
                if line.is_empty() { continue } else { break }
            };
            head_lines = number + 1;
            let Some((key, text)) = comment.split_once(':') else { continue };
            if let Some(place) = KEYS.iter().position(|known| *known == key.trim()) {
                if headers[place].is_some() {
                    return Err(fail(number + 1, format!("`{}` is given twice", KEYS[place])));
                }
                headers[place] = Some(Header { text: text.trim().to_string(), line: number + 1 });
            }
        }
        let [id, title, severity, message, gain, recommendation] = headers;
        let wanted = |header: Option<Header>, key: &str| {
            let given = header.filter(|header| !header.text.is_empty());
            given.ok_or_else(|| fail(1, format!("there is no `-- {key}: …` at its head")))
        };
        let (id, title, message) = (wanted(id, "id")?, wanted(title, "title")?, wanted(message, "message")?);
        let severity = match severity {
            None => Severity::Medium,
            Some(header) => [Severity::Info, Severity::Medium, Severity::High]
                .into_iter()
                .find(|severity| severity.name() == header.text)
                .ok_or_else(|| {
                    fail(header.line, format!("severity `{}` is not info, medium or high", header.text))
                })?,
        };
        Ok(Self {
            id: id.text,
            title: title.text,
            severity,
            message,
            gain,
            recommendation: recommendation.map_or_else(String::new, |header| header.text),
            sql: without_head(&sql, head_lines),
            path,
        })
    }

    /// The file, for messages.
    pub fn place(&self) -> String {
        format!("`{}`", self.path.display())
    }

    /// Runs it; each row becomes a finding.
    pub fn judge(&self, session: &Session) -> Result<Judged, Failure> {
        let mut result = session.run(&self.sql).map_err(|error| self.failed(&error))?;
        let columns: Vec<String> = result.columns().iter().map(|column| column.name.clone()).collect();
        let pieces = pieces(&self.message.text, &columns).map_err(|unknown| {
            self.wrong(self.message.line, &format!("the message names `{{{unknown}}}`"), &columns)
        })?;
        let gain = match &self.gain {
            None => None,
            Some(header) => {
                let column = columns.iter().position(|column| *column == header.text);
                Some(column.ok_or_else(|| {
                    self.wrong(header.line, &format!("the gain is of `{}`", header.text), &columns)
                })?)
            }
        };
        let (mut findings, mut rows_seen) = (Vec::new(), 0);
        let mut rows = result.rows();
        while let Some(row) = rows.next().map_err(|error| self.failed(&error))? {
            rows_seen += 1;
            if rows_seen > MOST_ROWS {
                continue;
            }
            let cells: Vec<Value> = (0..columns.len()).map(|i| cell(row.value(i))).collect();
            findings.push(Finding {
                id: self.id.clone(),
                severity: self.severity,
                title: pieces.iter().map(|piece| piece.text(&cells)).collect(),
                gain_ceiling_ns: gain.and_then(|column| cells[column].number()).map(|ns| ns.round() as i64),
                evidence: columns.iter().cloned().zip(cells).collect(),
                recommendation: self.recommendation.clone(),
                ..Finding::default()
            });
        }
        let note = match rows_seen.saturating_sub(MOST_ROWS) {
            0 => String::new(),
            more => format!("{more} more rows are left out; a LIMIT says which to keep"),
        };
        Ok(Judged { findings, note })
    }

    fn failed(&self, error: &query::Error) -> Failure {
        Failure::input(format!("{}: {error}", self.place())).with_remedy(error.help())
    }

    fn wrong(&self, line: usize, what: &str, columns: &[String]) -> Failure {
        let message = format!("{} line {line}: {what}, which the SELECT does not give", self.place());
        Failure::input(message).with_help(format!("its columns are {}", columns.join(", ")))
    }
}

/// The statements at their old lines: an error without a position is reported at the start of its statement,
/// not of the header.
fn without_head(sql: &str, lines: usize) -> String {
    let statements = sql.split_inclusive('\n').skip(lines);
    "\n".repeat(lines) + &statements.collect::<String>()
}

/// A part of a message.
#[derive(Debug, PartialEq)]
enum Piece {
    Words(String),
    Column(usize),
}

impl Piece {
    fn text(&self, cells: &[Value]) -> String {
        match self {
            Piece::Words(words) => words.clone(),
            Piece::Column(column) => match &cells[*column] {
                Value::Int(number) => number.to_string(),
                Value::Float(number) => number.to_string(),
                Value::Text(text) => text.clone(),
                Value::Absent(_) => "NULL".into(),
                Value::Json(json) => json.to_string(),
            },
        }
    }
}

/// Splits a message at its `{column}`s; the error is the first one that is not a column.
fn pieces(message: &str, columns: &[String]) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = message;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else { break };
        let column = columns.iter().position(|column| column == name).ok_or(name)?;
        pieces.push(Piece::Words(before.to_string()));
        pieces.push(Piece::Column(column));
        rest = after;
    }
    pieces.push(Piece::Words(rest.to_string()));
    Ok(pieces)
}

fn cell(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::absent("NULL"),
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Float(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Text(format!("{} bytes", bytes.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_split_at_their_columns() {
        let columns = ["name".to_string(), "calls".to_string()];
        let split = pieces("{name}: {calls} times", &columns).unwrap();
        let cells = [Value::from("gemm"), Value::Int(3)];
        assert_eq!(split.iter().map(|piece| piece.text(&cells)).collect::<String>(), "gemm: 3 times");
        assert_eq!(pieces("{nmae}", &columns), Err("nmae".to_string()));
        assert_eq!(pieces("an open {brace", &columns), Ok(vec![Piece::Words("an open {brace".into())]));
    }
}
