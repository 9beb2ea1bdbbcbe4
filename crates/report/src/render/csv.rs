//! One table as CSV.

use std::fmt::Write;

use crate::{Table, Value};

/// The table with its keys as header; absent cells are empty.
pub fn csv(table: &Table) -> String {
    csv_header(table) + &csv_rows(table)
}

/// The header line with the keys.
pub fn csv_header(table: &Table) -> String {
    let header: Vec<String> = table.columns.iter().map(|column| quoted(&column.key)).collect();
    header.join(",") + "\n"
}

/// Only the rows, for tables that arrive in pieces.
pub fn csv_rows(table: &Table) -> String {
    let mut text = String::new();
    for row in &table.rows {
        for (i, value) in row.iter().enumerate() {
            if i > 0 {
                text.push(',');
            }
            match value {
                Value::Int(n) => _ = write!(text, "{n}"),
                Value::Float(f) => _ = write!(text, "{f}"),
                Value::Text(t) => text.push_str(&quoted(t)),
                Value::Json(json) => text.push_str(&quoted(&json.to_string())),
                Value::Absent(_) => {}
            }
        }
        text.push('\n');
    }
    text
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Unit};

    #[test]
    fn quotes_and_commas_survive() {
        let mut table = Table::new("t", "T", vec![Column::text("name"), Column::int("bytes", Unit::Bytes)]);
        table.push(vec![Value::from("f<a, \"b\">"), Value::absent("not recorded")]);
        table.push(vec![Value::from("plain"), Value::Int(3)]);
        assert_eq!(csv(&table), "name,bytes\n\"f<a, \"\"b\"\">\",\nplain,3\n");
    }
}
