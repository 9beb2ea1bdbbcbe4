//! A table of a page: its first rows as HTML, all rows as data for the script.

use std::fmt::Write;

use serde_json::{Value as Json, json};

use crate::chart::escape;
use crate::{Table, Unit, Value, layout, number};

/// Rows per page of a table.
pub const ROWS: usize = 20;
/// Maximum rows in a page; a name for each of a million calls is for JSON and the spreadsheet.
pub const MOST: usize = 20_000;

pub fn table(page: &mut String, table: &Table) {
    let shown = layout::for_people(table);
    let total = table.rows.len() + table.hidden;
    let short = short_names(table, &shown, MOST);
    head_and_rows(page, table, &shown, ROWS, &short);
    let carried = table.rows.len().min(MOST);
    if carried < total {
        _ = writeln!(
            page,
            "<p class=\"more\">The first {} rows are part of this page; all {} are in the report as json or xlsx.</p>",
            number::show(&Value::from(carried), Unit::None),
            number::show(&Value::from(total), Unit::None)
        );
    }
    let data = data(table, &shown, &short).to_string().replace('<', "\\u003c");
    _ = writeln!(page, "<script type=\"application/json\">{data}</script></div>");
}

/// The first rows of a table, without data for a script.
pub fn first_rows(page: &mut String, table: &Table, rows: usize) {
    let shown = layout::for_people(table);
    head_and_rows(page, table, &shown, rows, &short_names(table, &shown, rows));
    let more = (table.rows.len() + table.hidden).saturating_sub(rows);
    if more > 0 {
        let more = number::show(&Value::from(more), Unit::None);
        _ = writeln!(page, "<p class=\"more\">… {more} more</p>");
    }
    page.push_str("</div>\n");
}

/// Opens the element of a table and writes its heading and its first rows.
fn head_and_rows(page: &mut String, table: &Table, shown: &[usize], rows: usize, short: &[ShortNames]) {
    _ = write!(
        page,
        "<div class=\"table\" id=\"{}\"><div class=\"bar\"><h3>{}</h3><span class=\"count\">{}</span></div>\n\
         <div class=\"scroll\"><table><thead><tr>",
        escape(&table.name),
        escape(&table.title),
        rows_text(table.rows.len() + table.hidden)
    );
    let headings = table.headings();
    for &c in shown {
        let column = &table.columns[c];
        let class = if column.text { "" } else { " class=\"n\"" };
        _ = write!(page, "<th{class} data-key=\"{}\">{}</th>", escape(&column.key), escape(&headings[c]));
    }
    page.push_str("</tr></thead><tbody>");
    for (number, row) in table.rows.iter().take(rows).enumerate() {
        page.push_str("<tr>");
        for (place, &c) in shown.iter().enumerate() {
            match short[place].get(number).and_then(Option::as_deref) {
                Some(short) => short_cell(page, &row[c], short),
                None => cell(page, &row[c], table.columns[c].unit, table.columns[c].text),
            }
        }
        page.push_str("</tr>");
    }
    page.push_str("</tbody></table></div>\n");
}

fn rows_text(rows: usize) -> String {
    let number = number::show(&Value::from(rows), Unit::None);
    if rows == 1 { "1 row".into() } else { format!("{number} rows") }
}

/// Characters of a text that fit a cell.
const WIDTH: usize = 56;

/// The short forms of a column's texts that do not fit; empty if it has none.
type ShortNames = Vec<Option<String>>;

/// The short names of the shown columns, in the first `rows` rows.
fn short_names(table: &Table, shown: &[usize], rows: usize) -> Vec<ShortNames> {
    let of_column = |&column: &usize| {
        if table.columns[column].short.is_none() {
            return Vec::new();
        }
        let text = |row: &Vec<Value>| number::show(&row[column], Unit::None);
        let texts: Vec<String> = table.rows.iter().take(rows).map(text).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        layout::short_forms(&table.columns[column], &texts, WIDTH)
    };
    shown.iter().map(of_column).collect()
}

/// A name in few words; pointing at it tells all of it.
fn short_cell(page: &mut String, name: &Value, short: &str) {
    let whole = escape(&number::show(name, Unit::None));
    _ = write!(page, "<td data-tip=\"{whole}\">{}</td>", escape(short));
}

/// One cell, the same as the script writes it.
fn cell(page: &mut String, value: &Value, unit: Unit, text: bool) {
    let shown = escape(&number::show(value, unit));
    _ = match value {
        Value::Absent(why) => write!(page, "<td class=\"n\" data-tip=\"{}\">–</td>", escape(why)),
        _ if text => write!(page, "<td>{shown}</td>"),
        _ if unit == Unit::Pct => {
            let share = value.number().unwrap_or(0.0).clamp(0.0, 100.0);
            write!(page, "<td class=\"n p\" style=\"--p:{share:.1}\">{shown}</td>")
        }
        _ => write!(page, "<td class=\"n\">{shown}</td>"),
    };
}

/// Columns of plain values; an absent one is a list with the index of its reason.
fn data(table: &Table, shown: &[usize], short: &[ShortNames]) -> Json {
    let mut reasons: Vec<&str> = Vec::new();
    let mut columns: Vec<Json> = Vec::new();
    for (&c, short) in shown.iter().zip(short) {
        let column = &table.columns[c];
        let mut cells: Vec<Json> = Vec::with_capacity(table.rows.len().min(MOST));
        for row in table.rows.iter().take(MOST) {
            cells.push(match &row[c] {
                Value::Int(n) => (*n).into(),
                Value::Float(f) => serde_json::Number::from_f64(*f).map_or(Json::Null, Json::Number),
                Value::Text(text) => text.as_str().into(),
                Value::Json(_) => number::show(&row[c], column.unit).into(),
                Value::Absent(why) => {
                    let number = reasons.iter().position(|reason| reason == why).unwrap_or_else(|| {
                        reasons.push(why);
                        reasons.len() - 1
                    });
                    json!([number])
                }
            });
        }
        let mut data =
            json!({ "key": column.key, "text": column.text, "unit": unit_name(column.unit), "cells": cells });
        if short.iter().any(Option::is_some) {
            data["short"] = json!(short);
        }
        columns.push(data);
    }
    json!({ "columns": columns, "reasons": reasons })
}

fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::None => "",
        Unit::Exact => "exact",
        Unit::Ns => "ns",
        Unit::Pct => "pct",
        Unit::Bytes => "bytes",
        Unit::Gbps => "gbps",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;

    #[test]
    fn a_long_name_is_shown_shortly_and_kept_whole() {
        let function = |name: &str| name.split('<').next().unwrap_or_default().to_string();
        let columns = vec![Column::text("name").shortened_by(function), Column::int("calls", Unit::None)];
        let mut made = Table::new("t", "T", columns);
        let long = format!("copy<{}>", "x".repeat(WIDTH));
        for name in [long.as_str(), "fill<4>"] {
            made.push(vec![name.into(), Value::Int(1)]);
        }
        let mut page = String::new();
        table(&mut page, &made);
        let whole = escape(&long);
        assert!(page.contains(&format!("<td data-tip=\"{whole}\">copy</td>")), "{page}");
        assert!(page.contains("<td>fill&lt;4&gt;</td>"), "{page}");
        let data = data(&made, &[0, 1], &short_names(&made, &[0, 1], MOST));
        assert_eq!(data["columns"][0]["cells"], json!([long, "fill<4>"]));
        assert_eq!(data["columns"][0]["short"], json!(["copy", null]));
        assert!(data["columns"][1].get("short").is_none());
    }
}
