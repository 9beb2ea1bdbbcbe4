//! A part of a stored table: filtered, sorted, one page of it.

use std::cmp::Ordering;
use std::ops::Range;

use serde::Deserialize;
use utoipa::IntoParams;

use crate::documents::{Cell, Rows};

/// Default number of rows per page.
const ROWS: usize = 50;
/// Most rows of a page.
const MOST_ROWS: usize = 1000;
/// Most words of a filter that are used.
const MOST_WORDS: usize = 64;
/// Most columns shown by default.
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
pub struct TableView<'a> {
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
    /// The column that it is sorted by, and whether ascending.
    pub sorted: Option<(usize, bool)>,
}

impl TableQuery {
    /// Rows per page.
    pub fn page_rows(&self) -> usize {
        self.rows.unwrap_or(ROWS).clamp(1, MOST_ROWS)
    }

    /// The part of the table that is asked for; `usual` are the columns that are shown by default.
    pub fn part<'a>(&self, table: &'a Rows, usual: &[String]) -> TableView<'a> {
        let mut rows = self.filtered(table);
        let (matching, size) = (rows.len(), self.page_rows());
        let pages = matching.div_ceil(size).max(1);
        let page = self.page.unwrap_or(1).clamp(1, pages);
        let first = (page - 1) * size;
        let shown = first..(first + size).min(matching);
        let sorted = self.sorted(table);
        if let Some((column, rises)) = sorted {
            sort_part(&mut rows, shown.clone(), &order(table, column, rises));
        }
        let rows = rows[shown].to_vec();
        TableView { table, columns: self.columns(table, usual), rows, matching, page, pages, sorted }
    }

    /// All rows that pass the filter, sorted.
    pub fn all(&self, table: &Rows) -> Vec<u32> {
        let mut rows = self.filtered(table);
        if let Some((column, rises)) = self.sorted(table) {
            rows.sort_unstable_by(order(table, column, rises));
        }
        rows
    }

    /// The column to sort by, and whether ascending.
    fn sorted(&self, table: &Rows) -> Option<(usize, bool)> {
        let column = table.column(&self.sort)?;
        let rises = match self.dir.as_str() {
            "asc" => true,
            "desc" => false,
            _ => table.columns[column].text,
        };
        Some((column, rises))
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
        let words: Vec<String> = self.q.split_whitespace().map(str::to_lowercase).take(MOST_WORDS).collect();
        if words.is_empty() {
            return all.collect();
        }
        // Every text is checked only once, however many rows have it. A bit for each word.
        let found = |text: &str| {
            let text = text.to_lowercase();
            let bit = |(at, word): (usize, &String)| u64::from(text.contains(word.as_str())) << at;
            words.iter().enumerate().map(bit).sum::<u64>()
        };
        let holds: Vec<u64> = table.texts().iter().map(found).collect();
        let wanted = words.iter().enumerate().map(|(at, _)| 1 << at).sum::<u64>();
        let columns: Vec<usize> =
            (0..table.columns.len()).filter(|column| table.columns[*column].text).collect();
        let passes = |row: &u32| {
            let held = columns.iter().map(|column| match table.cell(*row as usize, *column) {
                Cell::Text(text) => holds[text as usize],
                _ => 0,
            });
            held.fold(0, |all, bits| all | bits) == wanted
        };
        all.filter(passes).collect()
    }
}

/// Sorts only what is shown: other rows end up on the right side of it.
fn sort_part(rows: &mut [u32], shown: Range<usize>, order: &impl Fn(&u32, &u32) -> Ordering) {
    if shown.start > 0 && shown.start < rows.len() {
        rows.select_nth_unstable_by(shown.start, order);
    }
    let rest = &mut rows[shown.start..];
    if shown.len() < rest.len() {
        rest.select_nth_unstable_by(shown.len(), order);
    }
    rest[..shown.len()].sort_unstable_by(order);
}

/// The order of rows by a column; absent cells come last either way, equal ones stay as they are.
fn order(table: &Rows, column: usize, rises: bool) -> impl Fn(&u32, &u32) -> Ordering {
    move |first, second| {
        let (a, b) = (table.cell(*first as usize, column), table.cell(*second as usize, column));
        let order = match (a, b) {
            (Cell::Absent, Cell::Absent) => return first.cmp(second),
            (Cell::Absent, _) => return Ordering::Greater,
            (_, Cell::Absent) => return Ordering::Less,
            // Equal texts have equal numbers.
            (Cell::Text(a), Cell::Text(b)) if a == b => Ordering::Equal,
            (Cell::Text(a) | Cell::Json(a), Cell::Text(b) | Cell::Json(b)) => {
                table.text(a).cmp(table.text(b))
            }
            (Cell::Text(_) | Cell::Json(_), _) => Ordering::Greater,
            (_, Cell::Text(_) | Cell::Json(_)) => Ordering::Less,
            (a, b) => number(a).total_cmp(&number(b)),
        };
        let order = if rises { order } else { order.reverse() };
        order.then(first.cmp(second))
    }
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
    fn pages_of_a_sorted_table_are_the_sorted_table() {
        let rows: Vec<_> = (0..1000u64)
            .map(|at| match at % 13 {
                0 => serde_json::json!({ "name": null, "n": at }),
                _ => serde_json::json!({ "name": format!("k{}", at * 7919 % 211), "n": at * 7919 % 97 }),
            })
            .collect();
        let document = Document::read(serde_json::json!(rows).to_string().as_bytes(), "t").expect("rows");
        let table = document.table("t").expect("a table");
        for (sort, dir) in [("name", "asc"), ("name", "desc"), ("n", "asc"), ("n", "desc"), ("", "")] {
            let query = TableQuery { sort: sort.into(), dir: dir.into(), ..TableQuery::default() };
            // A stable sort of all rows, with absent cells last.
            let mut all: Vec<u32> = (0..1000).collect();
            if let Some(column) = table.column(sort) {
                let key = |row: &u32| match table.value(*row as usize, column) {
                    report::Value::Text(text) => (text, 0),
                    report::Value::Int(number) => (String::new(), number),
                    _ => unreachable!(),
                };
                let is_absent = |row: &u32| matches!(table.cell(*row as usize, column), Cell::Absent);
                let (mut absent, mut there): (Vec<u32>, Vec<u32>) =
                    all.iter().partition(|row| is_absent(row));
                match dir {
                    "asc" => there.sort_by_key(key),
                    _ => there.sort_by_key(|row| std::cmp::Reverse(key(row))),
                }
                there.append(&mut absent);
                all = there;
            }
            assert_eq!(query.all(table), all, "{sort} {dir}");
            let pages = (1..=15).flat_map(|page| {
                TableQuery { page: Some(page), rows: Some(70), ..query.clone() }.part(table, &[]).rows
            });
            assert_eq!(pages.collect::<Vec<_>>(), all, "{sort} {dir}");
        }
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
