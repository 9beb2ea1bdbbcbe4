//! A part of a stored table: filtered, sorted, one page of it.

use std::cmp::Ordering;

use serde::Deserialize;
use utoipa::IntoParams;

use crate::documents::{Cell, Rows};

/// Rows of a page where nothing else is asked for.
const ROWS: usize = 50;
/// Most rows of a page.
const MOST_ROWS: usize = 1000;
/// Columns that are shown where none are chosen.
const COLUMNS: usize = 9;

/// Which part of a table.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct TableQuery {
    /// Words that a row must contain in its texts.
    pub q: String,
    /// Key of the column to sort by.
    pub sort: String,
    /// `asc` or `desc`; numbers begin with the highest, texts with A.
    pub dir: String,
    /// Page, from 1.
    pub page: Option<usize>,
    /// Rows of a page, at most 1000.
    pub rows: Option<usize>,
    /// Keys of the columns to show, with commas between them.
    pub columns: String,
}

/// A part of a table.
pub struct Part<'a> {
    /// The whole table.
    pub table: &'a Rows,
    /// Numbers of the columns that are shown.
    pub columns: Vec<usize>,
    /// Numbers of the rows of this page.
    pub rows: Vec<u32>,
    /// Rows that pass the filter.
    pub matching: usize,
    /// This page, from 1.
    pub page: usize,
    /// All pages.
    pub pages: usize,
    /// The column that it is sorted by, and whether it rises.
    pub sorted: Option<(usize, bool)>,
}

impl TableQuery {
    /// Rows of a page.
    pub fn page_rows(&self) -> usize {
        self.rows.unwrap_or(ROWS).clamp(1, MOST_ROWS)
    }

    /// The part of a table that is asked for; `usual` are the columns that are shown where none are chosen.
    pub fn part<'a>(&self, table: &'a Rows, usual: &[String]) -> Part<'a> {
        let (mut rows, sorted) = self.all(table);
        let (matching, size) = (rows.len(), self.page_rows());
        let pages = matching.div_ceil(size).max(1);
        let page = self.page.unwrap_or(1).clamp(1, pages);
        let first = (page - 1) * size;
        rows = rows.into_iter().skip(first).take(size).collect();
        Part { table, columns: self.columns(table, usual), rows, matching, page, pages, sorted }
    }

    /// All rows that pass the filter, sorted.
    pub fn all(&self, table: &Rows) -> (Vec<u32>, Option<(usize, bool)>) {
        let mut rows = self.filtered(table);
        let sorted = table.column(&self.sort).map(|column| {
            let rises = match self.dir.as_str() {
                "asc" => true,
                "desc" => false,
                _ => table.columns[column].text,
            };
            (column, rises)
        });
        if let Some((column, rises)) = sorted {
            sort(table, &mut rows, column, rises);
        }
        (rows, sorted)
    }

    /// Columns that are shown.
    pub fn columns(&self, table: &Rows, usual: &[String]) -> Vec<usize> {
        let named = |keys: &mut dyn Iterator<Item = &str>| -> Vec<usize> {
            keys.filter_map(|key| table.column(key)).collect()
        };
        let chosen = named(&mut self.columns.split(',').filter(|key| !key.is_empty()));
        if !chosen.is_empty() {
            return chosen;
        }
        let usual = named(&mut usual.iter().map(String::as_str));
        if usual.is_empty() { (0..table.columns.len().min(COLUMNS)).collect() } else { usual }
    }

    /// Rows whose texts hold all words, in any case.
    fn filtered(&self, table: &Rows) -> Vec<u32> {
        let all = 0..table.len() as u32;
        let words: Vec<String> = self.q.split_whitespace().map(str::to_lowercase).collect();
        if words.is_empty() {
            return all.collect();
        }
        // Every text is looked at once, however many rows have it.
        let holds: Vec<Vec<bool>> = table
            .texts()
            .iter()
            .map(|text| {
                let text = text.to_lowercase();
                words.iter().map(|word| text.contains(word.as_str())).collect()
            })
            .collect();
        let cells: Vec<usize> =
            (0..table.columns.len()).filter(|column| table.columns[*column].text).collect();
        let passes = |row: &u32| {
            (0..words.len()).all(|word| {
                cells.iter().any(|column| match table.cell(*row as usize, *column) {
                    Cell::Text(text) => holds[text as usize][word],
                    _ => false,
                })
            })
        };
        all.filter(passes).collect()
    }
}

/// Sorts rows by a column; absent cells come last either way, equal ones stay in their order.
fn sort(table: &Rows, rows: &mut [u32], column: usize, rises: bool) {
    let key = |row: u32| table.cell(row as usize, column);
    rows.sort_by(|a, b| {
        let (a, b) = (key(*a), key(*b));
        let order = match (a, b) {
            (Cell::Absent, Cell::Absent) => return Ordering::Equal,
            (Cell::Absent, _) => return Ordering::Greater,
            (_, Cell::Absent) => return Ordering::Less,
            (Cell::Text(a) | Cell::Json(a), Cell::Text(b) | Cell::Json(b)) => {
                table.text(a).cmp(table.text(b))
            }
            (Cell::Text(_) | Cell::Json(_), _) => Ordering::Greater,
            (_, Cell::Text(_) | Cell::Json(_)) => Ordering::Less,
            (a, b) => number(a).total_cmp(&number(b)),
        };
        if rises { order } else { order.reverse() }
    });
}

fn number(cell: Cell) -> f64 {
    match cell {
        Cell::Int(number) => number as f64,
        Cell::Float(number) => number,
        _ => f64::NAN,
    }
}

/// A field of CSV: quoted where it must be, and never a formula of a spreadsheet.
pub fn csv_field(text: &str) -> String {
    let text = match text.chars().next() {
        Some('=' | '+' | '-' | '@' | '\t' | '\r') if text.parse::<f64>().is_err() => format!("'{text}"),
        _ => text.to_string(),
    };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::Document;

    fn table() -> Document {
        let text = r#"[{"name": "gemm MT128", "total_ns": 5, "stage": "decode"}, {"name": "Norm", "total_ns": 9, "stage": "decode"},
            {"name": "gemm MT64", "total_ns": null, "stage": "prefill"}, {"name": "copy", "total_ns": 7, "stage": "prefill"}]"#;
        Document::read(text.as_bytes(), "t").expect("rows")
    }

    fn names(query: &TableQuery) -> Vec<String> {
        let document = table();
        let part = query.part(document.table("t").expect("a table"), &[]);
        part.rows
            .iter()
            .map(|row| report::show(&part.table.value(*row as usize, 0), report::Unit::None))
            .collect()
    }

    #[test]
    fn rows_are_sorted_with_absent_cells_last() {
        let by = |sort: &str, dir: &str| {
            names(&TableQuery { sort: sort.into(), dir: dir.into(), ..TableQuery::default() })
        };
        assert_eq!(by("total_ns", ""), ["Norm", "copy", "gemm MT128", "gemm MT64"]);
        assert_eq!(by("total_ns", "asc"), ["gemm MT128", "copy", "Norm", "gemm MT64"]);
        assert_eq!(by("name", ""), ["Norm", "copy", "gemm MT128", "gemm MT64"]);
        assert_eq!(by("nothing", ""), ["gemm MT128", "Norm", "gemm MT64", "copy"]);
    }

    #[test]
    fn all_words_must_be_in_a_row() {
        let with = |q: &str| names(&TableQuery { q: q.into(), ..TableQuery::default() });
        assert_eq!(with("GEMM"), ["gemm MT128", "gemm MT64"]);
        assert_eq!(with("gemm prefill"), ["gemm MT64"]);
        assert_eq!(with("gemm nothing"), [""; 0]);
    }

    #[test]
    fn pages_end_where_the_rows_end() {
        let page = |page| TableQuery { page: Some(page), rows: Some(3), ..TableQuery::default() };
        assert_eq!(names(&page(2)), ["copy"]);
        assert_eq!(names(&page(99)), ["copy"]);
        assert_eq!(names(&page(0)).len(), 3);
    }

    #[test]
    fn csv_holds_no_formulas() {
        assert_eq!(csv_field("=cmd()"), "'=cmd()");
        assert_eq!(csv_field("-1.5"), "-1.5");
        assert_eq!(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
