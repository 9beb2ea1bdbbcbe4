//! Tables of pages.

use maud::{Markup, html};
use report::{Column, Table, Unit, Value, show};

use super::parts::plain;
use crate::documents::Rows;

/// Texts up to this length stay on one line.
const SHORT: usize = 24;
/// Longer texts are cut, and shown whole on hover.
const LONG: usize = 60;

/// A cell: numbers right-aligned, percentages with a bar behind them, absent values with their reason.
pub fn cell(value: &Value, column: &Column) -> Markup {
    let shown = plain(&show(value, column.unit));
    html! {
        @match value {
            Value::Absent(why) => td.n data-tip=[reason(why)] title=[reason(why)] { "–" },
            Value::Text(_) if shown.chars().count() > LONG => td.cut title=(shown) { (shown) },
            Value::Text(_) if shown.chars().count() > SHORT => td.name { (shown) },
            Value::Text(_) => td.t { (shown) },
            _ if column.unit == Unit::Pct && is_part(&column.key) => {
                @let share = value.number().unwrap_or(0.0).clamp(0.0, 100.0).round();
                td class={ "n p p" (share) } { (shown) }
            }
            _ => td.n { (shown) },
        }
    }
}

/// Whether a percentage is a part of a whole, so that a bar makes sense; changes and intervals are not.
fn is_part(key: &str) -> bool {
    !["change", "delta", "behind", "ci_"].iter().any(|word| key.contains(word))
}

fn reason(why: &str) -> Option<String> {
    (!why.is_empty()).then(|| plain(why))
}

/// The heading of a column.
pub fn heading(column: &Column) -> String {
    plain(&column.heading())
}

/// Rows of a stored table.
pub fn stored(rows: &Rows, columns: &[usize], numbers: &[u32], head: &dyn Fn(usize) -> Markup) -> Markup {
    html! {
        div.scroll tabindex="0" {
            table {
                thead { tr { @for column in columns { (head(*column)) } } }
                tbody {
                    @for row in numbers {
                        tr {
                            @for column in columns {
                                (cell(&rows.value(*row as usize, *column), &rows.columns[*column]))
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A plain head of a column.
pub fn plain_head(rows: &Rows, column: usize) -> Markup {
    let column = &rows.columns[column];
    html! { th scope="col" class=[(!column.text).then_some("n")] { (heading(column)) } }
}

/// A table of a report.
pub fn of_report(table: &Table) -> Markup {
    html! {
        div.scroll tabindex="0" {
            table {
                thead {
                    tr {
                        @for column in &table.columns {
                            th scope="col" class=[(!column.text).then_some("n")] { (heading(column)) }
                        }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr { @for (value, column) in row.iter().zip(&table.columns) { (cell(value, column)) } }
                    }
                }
            }
        }
    }
}
