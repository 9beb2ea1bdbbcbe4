//! A table of a PDF: columns that fit the page, the heading repeated on every page.

use super::sheets::{LEFT, RIGHT, Sheets, Type};
use crate::chart::{Anchor, Ink, text};
use crate::{Table, Unit, Value, layout, number};

const SIZE: f64 = 7.6;
const ROW: f64 = 13.0;
const GAP: f64 = 9.0;
/// Mean width of a letter, to choose the columns as for a terminal of that many letters.
const LETTER: f64 = 0.52;

/// A column: its index, its left edge and its width.
struct Placed {
    column: usize,
    left: f64,
    width: f64,
}

pub fn table(sheets: &mut Sheets, whole: &Table, rows: usize) {
    let mut table = whole.clone();
    table.limit(rows);
    let cells = layout::cells(&table);
    let letters = ((RIGHT - LEFT) / (SIZE * LETTER)) as usize;
    let fit = layout::fit(&table, &cells, letters);
    let placed = place(&table, &cells, &fit);
    sheets.space(14.0);
    sheets.need(30.0 + 3.0 * ROW);
    let count = number::show(&Value::from(table.rows.len() + table.hidden), Unit::None);
    sheets.words((LEFT, sheets.y + 11.0), &table.title, Type::new(11.0, Ink::Text).bold(), Anchor::Start);
    let beside = LEFT + text::width(&table.title, 11.0) + 8.0;
    sheets.words((beside, sheets.y + 11.0), &count, Type::new(SIZE + 1.0, Ink::Muted), Anchor::Start);
    sheets.y += 18.0;
    heading(sheets, &table, &placed);
    let shown = shortened(&table, &cells, &placed);
    for row in &shown {
        if sheets.room() < ROW {
            sheets.next_page();
            heading(sheets, &table, &placed);
        }
        line(sheets, &table, &placed, row, Type::new(SIZE, Ink::Text));
        sheets.rule(sheets.y, Ink::Grid);
    }
    let mut left_out = Vec::new();
    if table.hidden > 0 {
        let more = number::show(&Value::from(table.hidden), Unit::None);
        left_out.push(format!("{more} more rows are in the html, xlsx and json reports"));
    }
    if !fit.left_out.is_empty() {
        left_out.push(format!("not shown: {}", fit.left_out.join(", ")));
    }
    if !left_out.is_empty() {
        sheets.y += 3.0;
        sheets.paragraph(&left_out.join("; "), Type::new(SIZE, Ink::Muted), LEFT);
    }
}

/// Numbers get the width they need; text columns share the rest in proportion to their natural width.
fn place(table: &Table, cells: &[Vec<String>], fit: &layout::Layout) -> Vec<Placed> {
    let headings = table.headings();
    let natural = |column: usize| {
        let heading = text::width(&headings[column], SIZE);
        cells.iter().map(|row| text::width(&row[column], SIZE)).fold(heading, f64::max)
    };
    let wanted: Vec<(usize, f64, bool)> =
        fit.columns.iter().map(|&(c, _)| (c, natural(c), table.columns[c].text)).collect();
    let gaps = GAP * wanted.len().saturating_sub(1) as f64;
    let numbers: f64 = wanted.iter().filter(|(_, _, text)| !text).map(|(_, width, _)| width).sum();
    let texts: f64 = wanted.iter().filter(|(_, _, text)| *text).map(|(_, width, _)| width).sum();
    let room = (RIGHT - LEFT - gaps - numbers).max(0.0);
    // Narrow text columns are not shortened in favour of a wide one.
    let fair = room / wanted.iter().filter(|(_, _, text)| *text).count().max(1) as f64;
    let narrow: f64 = wanted.iter().filter(|(_, w, text)| *text && *w <= fair).map(|(_, w, _)| w).sum();
    let (wide_room, wide) = (room - narrow, texts - narrow);
    let mut left = LEFT;
    let mut placed = Vec::new();
    for (column, width, is_text) in wanted {
        let width = if is_text && width > fair && texts > room { width / wide * wide_room } else { width };
        placed.push(Placed { column, left, width });
        left += width + GAP;
    }
    spread(table, &mut placed, RIGHT - (left - GAP));
    placed
}

/// Extra space goes between text and the numbers after it, or between all columns, so that tables are as wide
/// as the page.
fn spread(table: &Table, placed: &mut [Placed], over: f64) {
    if over <= 0.0 {
        return;
    }
    let is_text = |p: &Placed| table.columns[p.column].text;
    let after_text = (1..placed.len()).find(|&i| is_text(&placed[i - 1]) && !is_text(&placed[i]));
    let gaps = placed.len().saturating_sub(1).max(1) as f64;
    for (i, p) in placed.iter_mut().enumerate() {
        p.left += match after_text {
            Some(first) if i >= first => over,
            Some(_) => 0.0,
            None => over * i as f64 / gaps,
        };
    }
}

/// Texts cut to fit, so that different names still look different.
fn shortened(table: &Table, cells: &[Vec<String>], placed: &[Placed]) -> Vec<Vec<String>> {
    let mut shown = cells.to_vec();
    for p in placed.iter().filter(|p| table.columns[p.column].text) {
        let texts: Vec<&str> = cells.iter().map(|row| row[p.column].as_str()).collect();
        // Kernel names have more capitals and digits than sentences.
        let all: usize = texts.iter().map(|text| text.chars().count()).sum();
        let letter = texts.iter().map(|words| text::width(words, SIZE)).sum::<f64>() / all.max(1) as f64;
        let letters = (p.width / letter.max(1.0)) as usize;
        let apart = layout::shorten_column(&table.columns[p.column], &texts, letters);
        for (row, apart) in apart.into_iter().enumerate() {
            let whole = &cells[row][p.column];
            let fits = text::width(whole, SIZE) <= p.width;
            shown[row][p.column] = if fits { whole.clone() } else { text::shorten(&apart, SIZE, p.width) };
        }
    }
    shown
}

fn heading(sheets: &mut Sheets, table: &Table, placed: &[Placed]) {
    sheets.fill((LEFT, sheets.y), (RIGHT - LEFT, ROW), Ink::Raised);
    let mut headings = table.headings();
    for p in placed {
        headings[p.column] = text::shorten(&headings[p.column], SIZE, p.width);
    }
    line(sheets, table, placed, &headings, Type::new(SIZE, Ink::Muted).bold());
    sheets.rule(sheets.y, Ink::Axis);
}

fn line(sheets: &mut Sheets, table: &Table, placed: &[Placed], cells: &[String], style: Type) {
    let base = sheets.y + ROW - 4.0;
    for p in placed {
        let words = &cells[p.column];
        if table.columns[p.column].text {
            sheets.words((p.left, base), words, style, Anchor::Start);
        } else {
            sheets.words((p.left + p.width, base), words, style, Anchor::End);
        }
    }
    sheets.y += ROW;
}
