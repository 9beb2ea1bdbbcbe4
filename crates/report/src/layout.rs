//! Which columns fit a terminal, and how wide each may be.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::{Column, Importance, Table, number};

/// Narrowest a shortened text column may get.
const TEXT_MIN: usize = 16;
const GAP: usize = 2;

/// The columns to show with their widths, and the headings of those left out.
pub struct Layout {
    /// (column, width).
    pub columns: Vec<(usize, usize)>,
    /// Headings of the columns that did not fit.
    pub left_out: Vec<String>,
}

/// All cells as text.
pub fn cells(table: &Table) -> Vec<Vec<String>> {
    let show = |row: &Vec<crate::Value>| {
        row.iter()
            .zip(&table.columns)
            .map(|(value, column)| one_line(&number::show(value, column.unit)))
            .collect()
    };
    table.rows.iter().map(show).collect()
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Fits a table into `width` characters: text shrinks first, then details go, then normal columns.
pub fn fit(table: &Table, cells: &[Vec<String>], width: usize) -> Layout {
    let natural: Vec<usize> = (0..table.columns.len())
        .map(|c| {
            let widest = cells.iter().map(|row| row[c].width()).max().unwrap_or(0);
            widest.max(table.columns[c].heading().width())
        })
        .collect();
    let mut shown: Vec<usize> = (0..table.columns.len()).collect();
    let mut left_out = Vec::new();
    while least(table, &natural, &shown) > width {
        let Some(place) = next_to_drop(&table.columns, &shown) else { break };
        left_out.push(table.columns[shown.remove(place)].heading());
    }
    left_out.reverse();
    Layout { columns: widths(table, &natural, &shown, width), left_out }
}

fn smallest(column: &Column, natural: usize) -> usize {
    if column.text { natural.min(TEXT_MIN) } else { natural }
}

fn least(table: &Table, natural: &[usize], shown: &[usize]) -> usize {
    let columns: usize = shown.iter().map(|&c| smallest(&table.columns[c], natural[c])).sum();
    columns + GAP * shown.len().saturating_sub(1)
}

fn next_to_drop(columns: &[Column], shown: &[usize]) -> Option<usize> {
    let importance = |place: usize| columns[shown[place]].importance;
    (0..shown.len()).rev().filter(|&p| importance(p) != Importance::Key).min_by_key(|&p| importance(p))
}

fn widths(table: &Table, natural: &[usize], shown: &[usize], width: usize) -> Vec<(usize, usize)> {
    let mut spare = width.saturating_sub(least(table, natural, shown));
    shown
        .iter()
        .map(|&c| {
            let base = smallest(&table.columns[c], natural[c]);
            let more = (natural[c] - base).min(spare);
            spare -= more;
            (c, base + more)
        })
        .collect()
}

/// Text cut in the middle to `width` characters: both ends of a kernel name tell something.
pub fn shorten(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_string();
    }
    let keep = width.saturating_sub(1);
    let tail_width = keep / 3;
    let mut tail_start = text.len();
    let mut taken = 0;
    for (at, c) in text.char_indices().rev() {
        taken += c.width().unwrap_or(0);
        if taken > tail_width {
            break;
        }
        tail_start = at;
    }
    let mut head_end = 0;
    let mut taken = 0;
    for (at, c) in text.char_indices() {
        taken += c.width().unwrap_or(0);
        if taken > keep - tail_width {
            break;
        }
        head_end = at + c.len_utf8();
    }
    format!("{}…{}", &text[..head_end], &text[tail_start..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Unit, Value};

    #[test]
    fn shortening_keeps_both_ends_and_the_width() {
        let text = "Cijk_Ailk_Bljk_BBS_BH_MT128x128x64_ISA942";
        for width in 3..60 {
            let short = shorten(text, width);
            assert!(short.width() <= width, "{short}");
        }
        assert_eq!(shorten(text, 13), "Cijk_Ail…A942");
        assert_eq!(shorten("日本語のカーネル", 9).width(), 9);
    }

    #[test]
    fn narrow_terminals_lose_details_first() {
        let columns = vec![
            Column::text("name"),
            Column::int("calls", Unit::None).key(),
            Column::int("mean_ns", Unit::Ns),
            Column::int("stddev_ns", Unit::Ns).detail(),
        ];
        let mut table = Table::new("t", "T", columns);
        table.push(vec!["x".repeat(60).as_str().into(), Value::Int(1), Value::Int(1), Value::Int(1)]);
        let cells = cells(&table);
        let at = |width| fit(&table, &cells, width).left_out;
        assert!(at(100).is_empty());
        assert_eq!(at(32), ["stddev"]);
        assert_eq!(at(24), ["mean", "stddev"]);
    }
}
