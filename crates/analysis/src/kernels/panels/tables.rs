//! Evaluated tables as tables of a report: one run, or several side by side.

use report::{Column, Table, Unit, Value};

use super::options::{Rule, TimeUnit};
use super::values::{Cell, RowValues, TableValues};

/// How tables are formatted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    /// Digits after the decimal point; all digits if not given.
    pub decimals: Option<u32>,
    /// The unit of durations.
    pub time: TimeUnit,
    /// Whether a person reads it: bars are drawn, and infinity is spelled out.
    pub bars: bool,
    /// The vendor's rule has its own percentages and spells out infinity.
    pub rule: Rule,
}

impl Style {
    fn rounded(&self, value: f64) -> f64 {
        match self.decimals {
            Some(digits) => round(value, digits),
            None => value,
        }
    }

    fn value(&self, cell: &Cell) -> Value {
        match cell {
            Ok(value) if value.is_infinite() => Value::from(if *value > 0.0 { "inf" } else { "-inf" }),
            Ok(value) => Value::Float(self.rounded(*value)),
            Err(why) => Value::Absent(why.clone()),
        }
    }
}

/// Rounds to this many digits after the decimal point.
pub(super) fn round(value: f64, digits: u32) -> f64 {
    let scale = 10f64.powi(digits.min(15) as i32);
    let scaled = value * scale;
    // Larger numbers have no digits left to round.
    if scaled.abs() < 4.5e15 { scaled.round_ties_even() / scale } else { value }
}

/// For several runs, the metrics that all of them have, by name; for one run, its own table.
pub(super) fn table(runs: &[&TableValues], style: &Style) -> Table {
    let base = runs[0];
    let name = format!("panel_{}.{}", base.panel, base.table);
    let title = format!("{}.{} {}", base.panel, base.table, base.title);
    let mut columns = vec![Column::text("id"), Column::text("metric")];
    if base.channels {
        columns.push(Column::int("channel", Unit::Exact).data());
    }
    columns.extend(base.labels.iter().map(|label| Column::text(label).detail()));
    for (place, key) in base.columns.iter().enumerate() {
        // Side by side there is room for one number per run and its change.
        let shown =
            |column: Column| if place == 0 || runs.len() == 1 { column.key() } else { column.detail() };
        columns.push(shown(number(key)));
        for run in 2..=runs.len() {
            columns.push(shown(number(&format!("{key}_{run}"))));
            columns.push(shown(Column::int(&format!("{key}_{run}_delta_pct"), Unit::Pct)));
            columns.push(number(&format!("{key}_{run}_delta")).detail());
        }
    }
    let pct = base.columns.iter().position(|key| key == "pct_of_peak");
    let bars = style.bars && runs.len() == 1 && pct.is_some();
    if bars {
        columns.push(Column::text("of_peak").normal());
    }
    columns.push(Column::text("unit").normal());
    let mut table = Table::new(&name, &title, columns);
    for row in &base.rows {
        let others: Option<Vec<&RowValues>> =
            runs[1..].iter().map(|run| run.rows.iter().find(|other| other.metric == row.metric)).collect();
        let Some(others) = others else { continue };
        let in_time = row.unit == "ns";
        let scaled =
            |cell: &Cell| if in_time { cell.clone().map(|ns| style.time.scale(ns)) } else { cell.clone() };
        let mut cells = vec![Value::from(row.id.as_str()), Value::from(row.metric.as_str())];
        if base.channels {
            cells.push(Value::int_or(row.channel.map(i64::from), "no channel"));
        }
        cells.extend(row.labels.iter().map(|label| Value::from(label.as_str())));
        for (column, cell) in row.cells.iter().enumerate() {
            let cell = scaled(cell);
            cells.push(style.value(&cell));
            for other in &others {
                let new = scaled(&other.cells[column]);
                cells.push(style.value(&new));
                let (pct, difference) = change(&cell, &new, style);
                cells.push(pct);
                cells.push(difference);
            }
        }
        if let (true, Some(pct)) = (bars, pct) {
            cells.push(Value::Text(row.cells[pct].as_ref().map_or(String::new(), |pct| bar(*pct))));
        }
        cells.push(Value::from(if in_time { style.time.word() } else { row.unit.as_str() }));
        table.push(cells);
    }
    table
}

fn number(key: &str) -> Column {
    Column::int(key, Unit::Exact)
}

/// The change from one cell to another, in percent and as a difference.
fn change(base: &Cell, new: &Cell, style: &Style) -> (Value, Value) {
    if style.rule == Rule::MeanOfRatios {
        return vendor_change(base, new, style.decimals.unwrap_or(2));
    }
    let (Ok(base), Ok(new)) = (base, new) else {
        let why = "one of the runs has no value";
        return (Value::absent(why), Value::absent(why));
    };
    let pct = match (*base, *new) {
        (base, new) if base == new => Value::Float(0.0),
        (0.0, _) => Value::absent("the first run has 0"),
        (base, new) => Value::Float(style.rounded(100.0 * (new - base) / base.abs())),
    };
    (pct, Value::Float(style.rounded(new - base)))
}

/// The vendor treats a missing value as 0, and divides by 1 instead of 0.
fn vendor_change(base: &Cell, new: &Cell, decimals: u32) -> (Value, Value) {
    let number = |cell: &Cell| cell.as_ref().copied().unwrap_or(0.0);
    let (base, new) = (number(base), number(new));
    let difference = round(new - base, decimals);
    let pct = round(100.0 * difference / if base == 0.0 { 1.0 } else { base }, decimals);
    (Value::Float(pct), Value::Float(difference))
}

/// Ten characters for a hundred percent, in eighths.
pub(super) fn bar(pct: f64) -> String {
    const WIDTH: usize = 10;
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if !(pct.is_finite() && pct > 0.0) {
        return String::new();
    }
    let eighths = ((pct / 100.0 * (WIDTH * 8) as f64).round() as usize).min(WIDTH * 8);
    let text = "█".repeat(eighths / 8) + EIGHTHS[eighths % 8];
    // Any value above zero stays visible.
    if text.is_empty() { EIGHTHS[1].to_string() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_fill_with_the_share() {
        assert_eq!(bar(0.0), "");
        assert_eq!(bar(0.01), "▏");
        assert_eq!(bar(50.0), "█████");
        assert_eq!(bar(56.25), "█████▋");
        assert_eq!(bar(250.0), "██████████");
        assert_eq!(bar(f64::INFINITY), "");
    }

    #[test]
    fn rounding_is_to_even_and_keeps_big_numbers() {
        assert_eq!(round(2.675, 2), 2.68);
        assert_eq!(round(1e300, 10), 1e300);
        assert_eq!(round(0.125, 2), 0.12);
    }
}
