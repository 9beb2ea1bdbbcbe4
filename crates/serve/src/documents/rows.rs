//! Rows of a table in columns: 16 bytes a cell, every text stored once.

use std::collections::HashMap;

use report::{Column, Unit, Value};

use super::texts::{Interner, Texts};

/// Columns that a table may have. Our own have fewer than 40; a foreign file could give each row its own.
const MOST_COLUMNS: usize = 256;

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    /// No value, perhaps with a reason.
    Absent,
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// Text, by its number.
    Text(u32),
    /// A list or an object as JSON, by the number of its text.
    Json(u32),
}

/// A table as it was stored.
#[derive(Default)]
pub struct Rows {
    /// Columns in the order in which they first occur.
    pub columns: Vec<Column>,
    cells: Vec<Vec<Cell>>,
    texts: Texts,
    /// Why cells are absent, by row and column.
    reasons: HashMap<(u32, u32), u32>,
    rows: usize,
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// The column with that key.
    pub fn column(&self, key: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.key == key)
    }

    /// A cell.
    pub fn cell(&self, row: usize, column: usize) -> Cell {
        self.cells.get(column).and_then(|cells| cells.get(row)).copied().unwrap_or(Cell::Absent)
    }

    /// A text by its number.
    pub fn text(&self, number: u32) -> &str {
        self.texts.get(number)
    }

    /// All texts, by number.
    pub fn texts(&self) -> &Texts {
        &self.texts
    }

    /// A cell as a report has it.
    pub fn value(&self, row: usize, column: usize) -> Value {
        match self.cell(row, column) {
            Cell::Absent => {
                let reason = self.reasons.get(&(row as u32, column as u32));
                Value::Absent(reason.map_or(String::new(), |number| self.text(*number).to_string()))
            }
            Cell::Int(number) => Value::Int(number),
            Cell::Float(number) => Value::Float(number),
            Cell::Text(number) => Value::Text(self.text(number).to_string()),
            Cell::Json(number) => {
                let json = serde_json::from_str(self.text(number));
                json.map_or_else(|_| Value::Absent("not readable".into()), Value::Json)
            }
        }
    }

    /// The number in a cell.
    pub fn number(&self, row: usize, column: usize) -> Option<f64> {
        match self.cell(row, column) {
            Cell::Int(number) => Some(number as f64),
            Cell::Float(number) => Some(number),
            _ => None,
        }
    }

    /// About how much memory it takes.
    pub fn size(&self) -> usize {
        let cells: usize = self.cells.iter().map(|column| column.capacity() * size_of::<Cell>()).sum();
        cells + self.texts.size() + self.reasons.len() * 24
    }
}

/// Rows under construction.
#[derive(Default)]
pub struct Builder {
    rows: Rows,
    texts: Interner,
    keys: HashMap<Box<str>, usize>,
    /// The column after the last one that was looked up: most rows have their keys in the same order.
    next: usize,
}

impl Builder {
    /// The number of a text in a column.
    pub fn intern(&mut self, text: &str, column: usize) -> u32 {
        // Often the same text as in the row before.
        if let Some(Cell::Text(number)) = self.rows.cells.get(column).and_then(|cells| cells.last())
            && self.texts.get(*number) == text
        {
            return *number;
        }
        self.texts.intern(text)
    }

    /// Sets a cell of the row under construction.
    pub fn set(&mut self, column: usize, cell: Cell) {
        let cells = &mut self.rows.cells[column];
        // A key that a row has twice counts once, with its first value.
        if cells.len() <= self.rows.rows {
            cells.resize(self.rows.rows, Cell::Absent);
            cells.push(cell);
        }
    }

    /// Records why a cell of the row under construction is absent.
    pub fn set_reason(&mut self, key: &str, reason: &str) {
        if let Some(column) = self.column(key) {
            let reason = self.texts.intern(reason);
            self.rows.reasons.insert((self.rows.rows as u32, column as u32), reason);
        }
    }

    /// Ends a row.
    pub fn end_row(&mut self) {
        self.rows.rows += 1;
        self.next = 0;
    }

    /// The column of a key; `None` if the table would have too many.
    pub fn column(&mut self, key: &str) -> Option<usize> {
        if self.rows.columns.get(self.next).is_some_and(|column| column.key == key) {
            self.next += 1;
            return Some(self.next - 1);
        }
        if let Some(column) = self.keys.get(key) {
            self.next = column + 1;
            return Some(*column);
        }
        let column = self.rows.columns.len();
        if column == MOST_COLUMNS {
            return None;
        }
        self.rows.columns.push(Column::int(key, unit_of(key)));
        self.rows.cells.push(Vec::new());
        self.keys.insert(key.into(), column);
        Some(column)
    }

    /// The finished table.
    pub fn finish(mut self) -> Rows {
        for (cells, column) in self.rows.cells.iter_mut().zip(&mut self.rows.columns) {
            cells.resize(self.rows.rows, Cell::Absent);
            column.text = cells.iter().any(|cell| matches!(cell, Cell::Text(_)));
            cells.shrink_to_fit();
        }
        self.rows.texts = self.texts.finish();
        self.rows
    }
}

/// The unit that a key's suffix stands for, as in the JSON contract.
fn unit_of(key: &str) -> Unit {
    const UNITS: [(&str, Unit); 4] =
        [("_ns", Unit::Ns), ("_pct", Unit::Pct), ("bytes", Unit::Bytes), ("_gbps", Unit::Gbps)];
    const EXACT: [&str; 7] = ["rank", "pid", "agent", "index", "id", "stream", "step"];
    // Points in time: on a clock that runs for days, a duration would show no difference.
    const POINTS: [&str; 4] = ["start_ns", "end_ns", "first_ns", "last_ns"];
    if POINTS.contains(&key) {
        return Unit::Exact;
    }
    match UNITS.iter().find(|(end, _)| key.ends_with(end)) {
        Some((_, unit)) => *unit,
        None if EXACT.contains(&key) => Unit::Exact,
        None => Unit::None,
    }
}
