//! Which columns fit a terminal, and how wide each may be.

use crate::visible::one_line;
use std::collections::{BTreeMap, BTreeSet};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::{Column, Importance, ShortForm, Table, number};

/// Minimum width of a text column before columns of this importance are left out instead: a kernel name cut
/// to 16 characters loses more information than a standard deviation adds.
fn text_min(about_to_drop: Importance) -> usize {
    match about_to_drop {
        Importance::Data | Importance::Detail => 40,
        Importance::Normal => 24,
        Importance::Key => 12,
    }
}
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

/// Fits a table into `width` characters: text shrinks first, then details go, then normal columns.
pub fn fit(table: &Table, cells: &[Vec<String>], width: usize) -> Layout {
    let headings = table.headings();
    let widest = |c: usize, of: &dyn Fn(&str) -> usize| {
        cells.iter().map(|row| of(&row[c])).max().unwrap_or(0).max(headings[c].width())
    };
    let mut natural: Vec<usize> =
        (0..table.columns.len()).map(|c| widest(c, &UnicodeWidthStr::width)).collect();
    let mut shown = for_people(table);
    let gaps = GAP * shown.len().saturating_sub(1);
    if shown.iter().map(|&c| natural[c]).sum::<usize>() + gaps > width {
        // Short forms need less room, and leave more columns.
        for &c in &shown {
            if let Some(ShortForm(short)) = table.columns[c].short {
                let texts: Vec<&str> = cells.iter().map(|row| row[c].as_str()).collect();
                let said = in_few_words(&texts, 0, short);
                let least = texts.iter().zip(&said).map(|(text, said)| text.width().min(said.width()));
                natural[c] = least.max().unwrap_or(0).max(headings[c].width());
            }
        }
    }
    let mut left_out = Vec::new();
    while let Some(place) = next_to_drop(&table.columns, &shown) {
        let column = shown[place];
        if least(table, &natural, &shown, table.columns[column].importance) <= width {
            break;
        }
        left_out.push(headings[shown.remove(place)].clone());
    }
    left_out.reverse();
    Layout { columns: widths(table, &natural, &shown, width), left_out }
}

/// The columns that people see.
pub fn for_people(table: &Table) -> Vec<usize> {
    (0..table.columns.len()).filter(|&c| table.columns[c].importance != Importance::Data).collect()
}

/// Narrowest width of a column.
fn smallest(column: &Column, natural: usize, about_to_drop: Importance) -> usize {
    if column.text { natural.min(text_min(about_to_drop)) } else { natural }
}

/// Minimum width of a row. Only the widest text column keeps its minimum; others may shrink further.
fn least(table: &Table, natural: &[usize], shown: &[usize], about_to_drop: Importance) -> usize {
    let widest = shown.iter().copied().filter(|&c| table.columns[c].text).max_by_key(|&c| natural[c]);
    let columns = shown.iter().map(|&c| {
        let stage = if Some(c) == widest { about_to_drop } else { Importance::Key };
        smallest(&table.columns[c], natural[c], stage)
    });
    columns.sum::<usize>() + GAP * shown.len().saturating_sub(1)
}

fn next_to_drop(columns: &[Column], shown: &[usize]) -> Option<usize> {
    let importance = |place: usize| columns[shown[place]].importance;
    (0..shown.len()).rev().filter(|&p| importance(p) != Importance::Key).min_by_key(|&p| importance(p))
}

/// Numbers get the width they need; the text columns share the rest, narrow ones first.
fn widths(table: &Table, natural: &[usize], shown: &[usize], width: usize) -> Vec<(usize, usize)> {
    let is_text = |c: usize| table.columns[c].text;
    let numbers: usize = shown.iter().filter(|&&c| !is_text(c)).map(|&c| natural[c]).sum();
    let mut room = width.saturating_sub(numbers + GAP * shown.len().saturating_sub(1));
    let mut texts: Vec<usize> = shown.iter().copied().filter(|&c| is_text(c)).collect();
    texts.sort_by_key(|&c| natural[c]);
    let mut given = natural.to_vec();
    for (place, &c) in texts.iter().enumerate() {
        let fair = room / (texts.len() - place);
        given[c] = natural[c].min(fair.max(text_min(Importance::Key)));
        room = room.saturating_sub(given[c]);
    }
    shown.iter().map(|&c| (c, given[c])).collect()
}

/// Lines of at most `width` columns, broken between words; a longer word gets its own line.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words(text) {
        let line = lines.last_mut().expect("never empty");
        if !line.is_empty() && line.width() + 1 + word.width() > width {
            lines.push(word.to_string());
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines
}

/// Words between spaces; a command in backticks is one word, so that it can be copied whole.
fn words(text: &str) -> Vec<&str> {
    const COMMAND: &str = "`rocm-perf ";
    let mut words: Vec<&str> = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let space = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let end = match rest.find(COMMAND).filter(|&at| at < space) {
            Some(at) => match rest[at + 1..].find('`') {
                Some(close) => {
                    let closed = at + close + 2;
                    rest[closed..].find(char::is_whitespace).map_or(rest.len(), |more| closed + more)
                }
                None => space,
            },
            None => space,
        };
        words.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    words
}

/// Text cut in the middle to `width` characters: both ends of a kernel name are informative.
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

/// The texts of a column in `width` characters: those that do not fit by their short form if the column has one.
pub fn shorten_column(column: &Column, texts: &[&str], width: usize) -> Vec<String> {
    match column.short {
        Some(ShortForm(short)) => {
            let said = in_few_words(texts, width, short);
            shorten_apart(&said.iter().map(String::as_str).collect::<Vec<_>>(), width)
        }
        None => shorten_apart(texts, width),
    }
}

/// The short forms of a column's texts that are wider than `width`; `None` for the others.
pub fn short_forms(column: &Column, texts: &[&str], width: usize) -> Vec<Option<String>> {
    let Some(ShortForm(short)) = column.short else { return vec![None; texts.len()] };
    let said = in_few_words(texts, width, short);
    said.into_iter().zip(texts).map(|(said, text)| (said != *text).then_some(said)).collect()
}

/// Most characters of a word that tells two short forms apart.
const WORD: usize = 24;
/// Most words added to short forms to tell them apart.
const WORDS: usize = 3;

/// Long texts by their short form. Different texts with one short form get the words in which they differ; those
/// that would still look like another text stay whole.
fn in_few_words(texts: &[&str], width: usize, short: fn(&str) -> String) -> Vec<String> {
    let (long, fitting): (BTreeSet<&str>, BTreeSet<&str>) =
        texts.iter().copied().partition(|text| text.width() > width);
    let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for text in long {
        alike.entry(short(text)).or_default().push(text);
    }
    for _ in 0..WORDS {
        let mut apart = BTreeMap::new();
        for (form, group) in alike {
            tell_apart(form, group, &mut apart);
        }
        alike = apart;
    }
    let said: BTreeMap<&str, &str> = alike
        .iter()
        .filter(|(form, group)| group.len() == 1 && !fitting.contains(form.as_str()))
        .map(|(form, group)| (group[0], form.as_str()))
        .collect();
    texts.iter().map(|text| said.get(text).unwrap_or(text).to_string()).collect()
}

/// Texts of one form, each with its first word that not all of them have.
fn tell_apart<'a>(form: String, group: Vec<&'a str>, apart: &mut BTreeMap<String, Vec<&'a str>>) {
    let mut having: BTreeMap<&str, usize> = BTreeMap::new();
    for text in &group {
        for word in name_words(text).collect::<BTreeSet<_>>() {
            *having.entry(word).or_default() += 1;
        }
    }
    for text in &group {
        let own = name_words(text).find(|word| having[word] < group.len());
        let form = own.map_or_else(|| form.clone(), |word| format!("{form} {}", cut_end(word, WORD)));
        apart.entry(form).or_default().push(text);
    }
}

/// The words of a name: sizes, types, flags. Long ones, as in mangled names, end after each number.
fn name_words(name: &str) -> impl Iterator<Item = &str> {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.flat_map(|word| {
        let goes_on = |a: &u8, b: &u8| word.len() <= WORD || !a.is_ascii_digit() || b.is_ascii_digit();
        // Words are ASCII.
        word.as_bytes().chunk_by(goes_on).filter_map(|part| std::str::from_utf8(part).ok())
    })
}

/// All texts of a column cut to `width`. If that would make different texts look the same (kernel names that
/// differ only in their tile), those are cut around the position where they begin to differ.
pub fn shorten_apart(texts: &[&str], width: usize) -> Vec<String> {
    let mut short: Vec<String> = texts.iter().map(|text| shorten(text, width)).collect();
    let mut alike: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (row, cut) in short.iter().enumerate().filter(|(row, cut)| cut.as_str() != texts[*row]) {
        alike.entry(cut.clone()).or_default().push(row);
    }
    for rows in alike.into_values() {
        let first = texts[rows[0]];
        let same = rows.iter().map(|&row| common_prefix(first, texts[row])).min().unwrap_or(0);
        if same < first.len() {
            let from = first[..same].rfind(|c: char| !c.is_alphanumeric()).map_or(same, |at| at + 1);
            for row in rows {
                short[row] = cut_around(texts[row], from, width);
            }
        }
    }
    short
}

/// Bytes that two texts share at their start, up to a character boundary.
fn common_prefix(a: &str, b: &str) -> usize {
    a.char_indices().zip(b.chars()).find(|((_, x), y)| x != y).map_or(a.len().min(b.len()), |((at, _), _)| at)
}

/// The start of a text, then the text at `from`.
fn cut_around(text: &str, from: usize, width: usize) -> String {
    let head = width / 4;
    let Some(rest) = text.get(from..).filter(|_| from > head) else { return shorten(text, width) };
    let mut short = cut_end(text, head);
    short.push_str(&cut_end(rest, width.saturating_sub(short.width())));
    short
}

/// The first `width` characters, with an ellipsis if there are more.
fn cut_end(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_string();
    }
    let (mut taken, mut end) = (0, 0);
    for (at, c) in text.char_indices() {
        taken += c.width().unwrap_or(0);
        if taken + 1 > width {
            break;
        }
        end = at + c.len_utf8();
    }
    format!("{}…", &text[..end])
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
    fn names_that_differ_look_different() {
        let tail = "_SN_1LDSB0_AAC0_ISA942_WS64_WG16_4_4";
        let names: Vec<String> = ["128x64", "256x64", "32x32"]
            .iter()
            .map(|t| format!("Cijk_Alik_Bljk_BBS_BH_Bias_MT{t}{tail}"))
            .collect();
        let texts: Vec<&str> = names.iter().map(String::as_str).chain(["gemm", "gemm"]).collect();
        let short = shorten_apart(&texts, 24);
        assert_eq!(short[0], "Cijk_…MT128x64_SN_1LDSB…");
        assert_eq!(short[1], "Cijk_…MT256x64_SN_1LDSB…");
        assert_eq!(short[2], "Cijk_…MT32x32_SN_1LDSB0…");
        assert_eq!(&short[3..], ["gemm", "gemm"]);
        assert!(short.iter().all(|text| text.width() <= 24));
    }

    #[test]
    fn no_two_columns_have_one_heading() {
        let columns = vec![
            Column::text("name"),
            Column::int("share_ns", Unit::Ns),
            Column::int("share_pct", Unit::Pct),
            Column::int("total_pct", Unit::Pct),
            Column::int("total_ns", Unit::Ns).data(),
        ];
        let headings = Table::new("t", "T", columns).headings();
        assert_eq!(headings[..4], ["name", "share", "share %", "total"]);
    }

    #[test]
    fn a_long_name_is_said_shortly_and_still_tells_itself_apart() {
        let function = |name: &str| name.split('<').next().unwrap_or_default().to_string();
        let column = Column::text("name").shortened_by(function);
        let texts =
            ["copy<8, half>(int, float*)", "copy<4, half>(int, float*)", "fill<4>(int, float*)", "gemm"];
        let short = |width| shorten_column(&column, &texts, width);
        assert_eq!(short(40), texts);
        assert_eq!(short(12), ["copy 8", "copy 4", "fill", "gemm"]);
        assert_eq!(shorten_column(&column, &[texts[0], texts[0]], 12), ["copy", "copy"]);
        let plain = Column::text("name");
        assert_eq!(shorten_column(&plain, &texts, 12), shorten_apart(&texts, 12));
    }

    #[test]
    fn no_short_form_looks_like_another_text() {
        let function = |name: &str| name.split('<').next().unwrap_or_default().to_string();
        let column = Column::text("name").shortened_by(function);
        let said = |texts: &[&str]| -> Vec<String> {
            let short = short_forms(&column, texts, 8);
            short.into_iter().zip(texts).map(|(short, text)| short.unwrap_or(text.to_string())).collect()
        };
        let texts = ["copy<8, half, 1>", "copy<8, half, 2>", "copy<4, half, 1>", "copy<4, half, 2>"];
        assert_eq!(said(&texts), ["copy 8 1", "copy 8 2", "copy 4 1", "copy 4 2"]);
        let mangled = ["_ZN5aiter4normILi256ELi16ELi8ELb1EE", "_ZN5aiter4normILi256ELi16ELi64ELb1EE"];
        let of_norm = Column::text("name").shortened_by(|_| "norm".into());
        let short: Vec<_> = short_forms(&of_norm, &mangled, 8).into_iter().flatten().collect();
        assert_eq!(short, ["norm ELi8", "norm ELi64"]);
        assert_eq!(said(&["copy", "copy<half, float>"]), ["copy", "copy<half, float>"]);
        assert_eq!(said(&["copy<4, half>", "copy<half, 4>"]), ["copy<4, half>", "copy<half, 4>"]);
    }

    #[test]
    fn short_names_leave_room_for_more_columns() {
        let function = |name: &str| name.split('<').next().unwrap_or_default().to_string();
        let columns = vec![
            Column::text("name").shortened_by(function),
            Column::int("calls", Unit::None).key(),
            Column::int("stddev_ns", Unit::Ns).detail(),
        ];
        let mut table = Table::new("t", "T", columns);
        let long = format!("copy<{}>", "x".repeat(60));
        for name in ["attn_fwd", long.as_str()] {
            table.push(vec![name.into(), Value::Int(1), Value::Int(1)]);
        }
        let cells = cells(&table);
        assert_eq!(fit(&table, &cells, 100).columns[0], (0, 66));
        let narrow = fit(&table, &cells, 30);
        assert_eq!((narrow.columns[0], narrow.left_out.len()), ((0, 8), 0));
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
        // First the name shrinks to 40, then to 24, before anything else is dropped.
        assert!(at(66).is_empty());
        assert_eq!(at(60), ["stddev"]);
        assert_eq!(at(36), ["mean", "stddev"]);
    }
}
