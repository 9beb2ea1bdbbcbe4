//! Typed tables.

/// What a number counts; decides how it is printed for people. JSON and CSV keep the raw number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// A plain number.
    #[default]
    None,
    /// A number to show digit for digit, such as an id or the result of a query.
    Exact,
    /// Nanoseconds.
    Ns,
    /// Percent, 0 to 100.
    Pct,
    /// Bytes.
    Bytes,
    /// 10⁹ bytes per second.
    Gbps,
}

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// Text.
    Text(String),
    /// A number that could not be measured, and why.
    Absent(String),
    /// A list or an object, whole in JSON and CSV; people see the number of entries.
    Json(serde_json::Value),
}

impl Value {
    /// An absent value with this reason.
    pub fn absent(why: &str) -> Self {
        Value::Absent(why.to_string())
    }

    /// The number, or an absent value with this reason.
    pub fn int_or(value: Option<i64>, why: &str) -> Self {
        value.map_or_else(|| Self::absent(why), Value::Int)
    }

    /// The number for sorting.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Int(i) => Some(*i as f64),
            Value::Float(f) => Some(*f),
            _ => None,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_string())
    }
}

impl From<usize> for Value {
    fn from(n: usize) -> Self {
        Value::Int(n as i64)
    }
}

/// Which columns are left out first on a narrow terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Importance {
    /// For programs: in JSON and CSV, never shown to people.
    Data,
    /// Left out first.
    Detail,
    /// Left out second.
    #[default]
    Normal,
    /// Always shown.
    Key,
}

/// A column: its stable key, and how to show it.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Key in JSON and CSV: stable, with its unit (`total_ns`).
    pub key: String,
    /// Whether cells are text (left-aligned, shortened) or numbers.
    pub text: bool,
    /// Unit of numbers.
    pub unit: Unit,
    /// When to leave it out.
    pub importance: Importance,
    /// The short form of a text that does not fit.
    pub short: Option<ShortForm>,
}

/// How to say a long text in few words, so that it is not cut.
#[derive(Clone, Copy)]
pub struct ShortForm(pub fn(&str) -> String);

impl PartialEq for ShortForm {
    /// It changes what people see, not what the table says.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl std::fmt::Debug for ShortForm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ShortForm")
    }
}

impl Column {
    /// A text column.
    pub fn text(key: &str) -> Self {
        Self { key: key.into(), text: true, unit: Unit::None, importance: Importance::Key, short: None }
    }

    /// A column of numbers.
    pub fn int(key: &str, unit: Unit) -> Self {
        Self { key: key.into(), text: false, unit, importance: Importance::Normal, short: None }
    }

    /// The same column, with a short form for texts that do not fit.
    pub fn shortened_by(self, short: fn(&str) -> String) -> Self {
        Self { short: Some(ShortForm(short)), ..self }
    }

    /// The same column, always shown.
    pub fn key(self) -> Self {
        Self { importance: Importance::Key, ..self }
    }

    /// The same column, in JSON and CSV only.
    pub fn data(self) -> Self {
        Self { importance: Importance::Data, ..self }
    }

    /// The same column, left out if there is no room.
    pub fn normal(self) -> Self {
        Self { importance: Importance::Normal, ..self }
    }

    /// The same column, left out first.
    pub fn detail(self) -> Self {
        Self { importance: Importance::Detail, ..self }
    }

    /// The heading for people: the key without its unit.
    pub fn heading(&self) -> String {
        // Durations and sizes show their unit in every cell, rates only here.
        let (suffix, unit) = match self.unit {
            Unit::Exact => return self.key.clone(),
            Unit::Ns => ("_ns", ""),
            Unit::Pct => ("_pct", ""),
            Unit::Bytes => ("_bytes", ""),
            Unit::Gbps => ("_gbps", " GB/s"),
            Unit::None => ("", ""),
        };
        let name = self.key.strip_suffix(suffix).unwrap_or(&self.key);
        // `mean` is a time if there are times; a mean of sizes says so.
        if self.unit == Unit::Bytes && ["mean", "median", "min", "max"].contains(&name) {
            return format!("{name} bytes");
        }
        name.replace('_', " ") + unit
    }
}

/// A table with a stable name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Key in JSON, argument of `--table`.
    pub name: String,
    /// Heading for people.
    pub title: String,
    /// Columns.
    pub columns: Vec<Column>,
    /// Rows, each as long as `columns`.
    pub rows: Vec<Vec<Value>>,
    /// Number of rows that `limit` removed.
    pub hidden: usize,
    /// Shown to people only on request; always included in data.
    pub is_detail: bool,
}

impl Table {
    /// An empty table.
    pub fn new(name: &str, title: &str, columns: Vec<Column>) -> Self {
        Self { name: name.into(), title: title.into(), columns, ..Self::default() }
    }

    /// The headings of all columns for people. Of two columns that would have one heading, the share says so.
    pub fn headings(&self) -> Vec<String> {
        let plain: Vec<String> = self.columns.iter().map(Column::heading).collect();
        let is_shown = |column: &Column| column.importance != Importance::Data;
        let heading = |(place, column): (usize, &Column)| {
            let mut others =
                self.columns.iter().enumerate().filter(|(other, one)| *other != place && is_shown(one));
            let twice = others.any(|(other, _)| plain[other] == plain[place]);
            match twice && column.unit == Unit::Pct {
                true => format!("{} %", plain[place]),
                false => plain[place].clone(),
            }
        };
        self.columns.iter().enumerate().map(heading).collect()
    }

    /// A table that people see only on request.
    pub fn detail(self) -> Self {
        Self { is_detail: true, ..self }
    }

    /// Adds a row.
    pub fn push(&mut self, row: Vec<Value>) {
        debug_assert_eq!(row.len(), self.columns.len(), "row of table {}", self.name);
        self.rows.push(row);
    }

    /// The column with this key.
    pub fn column(&self, key: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.key == key)
    }

    /// Sorts by a column: numbers from high to low, text from A to Z, absent cells last. `false`: no such
    /// column.
    pub fn sort_by(&mut self, key: &str) -> bool {
        let Some(column) = self.column(key) else { return false };
        self.rows.sort_by(|a, b| match (&a[column], &b[column]) {
            (Value::Text(a), Value::Text(b)) => a.cmp(b),
            (a, b) => {
                let rank = |v: &Value| v.number().unwrap_or(f64::NEG_INFINITY);
                rank(b).total_cmp(&rank(a))
            }
        });
        true
    }

    /// Keeps the first `rows` rows and records how many were removed; 0 keeps all.
    pub fn limit(&mut self, rows: usize) {
        self.take_beyond(rows);
    }

    /// Like [`Self::limit`]; returns the removed rows.
    pub fn take_beyond(&mut self, rows: usize) -> Vec<Vec<Value>> {
        if rows == 0 || self.rows.len() <= rows {
            return Vec::new();
        }
        self.hidden += self.rows.len() - rows;
        self.rows.split_off(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_puts_high_numbers_first_and_absent_last() {
        let mut table = Table::new("t", "T", vec![Column::int("n", Unit::None)]);
        for cell in [Value::Int(1), Value::absent("why"), Value::Float(2.5), Value::Int(-3)] {
            table.push(vec![cell]);
        }
        assert!(table.sort_by("n"));
        assert!(!table.sort_by("m"));
        let cells: Vec<_> = table.rows.iter().map(|r| r[0].number()).collect();
        assert_eq!(cells, [Some(2.5), Some(1.0), Some(-3.0), None]);
        table.limit(3);
        assert_eq!((table.rows.len(), table.hidden), (3, 1));
    }
}
