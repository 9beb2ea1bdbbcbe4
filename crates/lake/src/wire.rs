//! How the cluster's client hands its result over: a line with the columns, a line per row, and a last line that says
//! how many rows there were. A result without its last line is not a result.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

use crate::rows::{Cell, Piece, Take};

/// Rows handed over at once.
const PIECE: usize = 4096;

/// Writes a piece; `first` writes the columns before it.
pub fn write(out: &mut dyn Write, piece: &Piece, first: bool) -> io::Result<()> {
    if first {
        writeln!(out, "{}", json!({ "columns": piece.columns }))?;
    }
    for row in &piece.rows {
        let cells: Vec<Value> = row.iter().map(to_json).collect();
        writeln!(out, "{}", Value::Array(cells))?;
    }
    Ok(())
}

/// The last line.
pub fn end(rows: u64) -> String {
    json!({ "rows": rows }).to_string()
}

/// Why lines are not a result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// They end before the last line.
    Short,
    /// A line that does not belong to a result.
    Line(String),
}

/// Reads lines to their end, or until `take` stops; returns whether all were taken.
pub(crate) fn read(lines: &mut dyn BufRead, take: &mut Take<'_>) -> Result<bool, Broken> {
    let mut piece = Piece::default();
    let (mut line, mut rows, mut given) = (String::new(), 0u64, false);
    loop {
        line.clear();
        match lines.read_line(&mut line) {
            Ok(0) | Err(_) => return Err(Broken::Short),
            Ok(_) => {}
        }
        let broken = || Broken::Line(line.chars().take(200).collect());
        match serde_json::from_str(&line).map_err(|_| broken())? {
            Value::Array(cells) if cells.len() == piece.columns.len() => {
                rows += 1;
                piece.rows.push(cells.iter().map(of_json).collect());
            }
            Value::Object(object) if object.contains_key("columns") => {
                let names = object["columns"].as_array().ok_or_else(broken)?;
                piece.columns = names.iter().map(|name| name.as_str().unwrap_or("").to_string()).collect();
            }
            Value::Object(object) if object.get("rows").and_then(Value::as_u64) == Some(rows) => {
                if !given || !piece.rows.is_empty() {
                    take(piece);
                }
                return Ok(true);
            }
            _ => return Err(broken()),
        }
        if piece.rows.len() == PIECE {
            given = true;
            let rows = std::mem::take(&mut piece.rows);
            if !take(Piece { columns: piece.columns.clone(), rows }) {
                return Ok(false);
            }
        }
    }
}

fn to_json(cell: &Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Int(number) => json!(number),
        // Digit for digit: readers of JSON may round numbers, and JSON has no infinities.
        Cell::Real(number) => json!({ "real": number.to_string() }),
        Cell::Text(text) => json!(text),
    }
}

fn of_json(value: &Value) -> Cell {
    match value {
        Value::String(text) => Cell::Text(text.clone()),
        Value::Number(number) => number.as_i64().map_or(Cell::Null, Cell::Int),
        Value::Object(object) => {
            let real = object.get("real").and_then(Value::as_str);
            real.and_then(|real| real.parse().ok()).map_or(Cell::Null, Cell::Real)
        }
        _ => Cell::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(piece: &Piece) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out, piece, true).unwrap();
        writeln!(out, "{}", end(piece.rows.len() as u64)).unwrap();
        out
    }

    fn received(mut bytes: &[u8]) -> Result<Piece, Broken> {
        let mut all = Piece::default();
        read(&mut bytes, &mut |piece| {
            all.columns = piece.columns;
            all.rows.extend(piece.rows);
            true
        })?;
        Ok(all)
    }

    fn example(rows: usize) -> Piece {
        let row = |i: usize| {
            vec![
                Cell::Int(i as i64),
                Cell::Real(0.1 * i as f64),
                Cell::Text(format!("a\n\"{i}\"")),
                Cell::Null,
            ]
        };
        Piece {
            columns: ["a", "b", "c", "d"].map(String::from).to_vec(),
            rows: (0..rows).map(row).chain([vec![Cell::Real(f64::INFINITY); 4]]).collect(),
        }
    }

    #[test]
    fn what_is_sent_arrives_unchanged() {
        for rows in [0, 1, PIECE - 1, PIECE, 2 * PIECE + 3] {
            assert!(received(&sent(&example(rows))) == Ok(example(rows)), "{rows} rows");
        }
        let empty = Piece { columns: vec!["a".into()], rows: Vec::new() };
        assert_eq!(received(&sent(&empty)), Ok(empty));
    }

    #[test]
    fn a_result_that_ends_early_is_none() {
        let bytes = sent(&example(10));
        for length in [0, 5, bytes.len() / 2, bytes.len() - 12] {
            assert!(received(&bytes[..length]).is_err(), "{length} bytes");
        }
        let wrong = String::from_utf8(bytes).unwrap().replace("\"rows\":11", "\"rows\":12");
        assert!(received(wrong.as_bytes()).is_err());
    }
}
