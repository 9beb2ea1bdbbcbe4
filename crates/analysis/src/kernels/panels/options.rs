//! What to evaluate and how.

use report::{Column, Unit, Value};

/// How the values of many dispatches are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// Σa / Σb, with corrected formulas.
    #[default]
    RatioOfSums,
    /// The mean of a / b, with the vendor's formulas and their mistakes.
    MeanOfRatios,
}

/// The unit that work is normalised by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NormalUnit {
    /// Per dispatch.
    #[default]
    PerKernel,
    /// Per wavefront.
    PerWave,
    /// Per cycle.
    PerCycle,
    /// Per second.
    PerSecond,
}

impl NormalUnit {
    /// The word used in units: "Req per wave".
    pub fn word(self) -> &'static str {
        match self {
            NormalUnit::PerKernel => "kernel",
            NormalUnit::PerWave => "wave",
            NormalUnit::PerCycle => "cycle",
            NormalUnit::PerSecond => "second",
        }
    }
}

/// The unit of durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeUnit {
    /// Nanoseconds.
    #[default]
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl TimeUnit {
    /// How the unit is written.
    pub fn word(self) -> &'static str {
        match self {
            TimeUnit::Ns => "ns",
            TimeUnit::Us => "us",
            TimeUnit::Ms => "ms",
            TimeUnit::S => "s",
        }
    }

    /// Converts nanoseconds to this unit.
    pub fn scale(self, ns: f64) -> f64 {
        match self {
            TimeUnit::Ns => ns,
            TimeUnit::Us => ns / 1e3,
            TimeUnit::Ms => ns / 1e6,
            TimeUnit::S => ns / 1e9,
        }
    }

    /// A duration column in this unit.
    pub(super) fn column(self, what: &str) -> Column {
        let unit = if self == TimeUnit::Ns { Unit::Ns } else { Unit::Exact };
        Column::int(&format!("{what}_{}", self.word()), unit)
    }

    /// A cell of a duration column; damaged durations are absent.
    pub(super) fn value(self, ns: f64) -> Value {
        match self {
            _ if ns.is_nan() || ns <= 0.0 => Value::absent("the dispatch has no duration"),
            TimeUnit::Ns => Value::Int(ns.round() as i64),
            _ => Value::Float(self.scale(ns)),
        }
    }
}

/// A part of the catalogue: `2`, `7.1` or `16.3.4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The panel.
    pub panel: u32,
    /// The table; `None` for all tables of the panel.
    pub table: Option<u32>,
    /// The metric's row; `None` for all rows of the table.
    pub row: Option<u32>,
}

impl std::str::FromStr for Block {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "a panel, table or metric is meant, such as 2, 7.1 or 16.3.4".to_string();
        let mut numbers = text.split('.').map(|part| part.parse::<u32>().map_err(|_| wrong()));
        let panel = numbers.next().ok_or_else(wrong)??;
        let table = numbers.next().transpose()?;
        let row = numbers.next().transpose()?;
        if numbers.next().is_some() {
            return Err(wrong());
        }
        Ok(Self { panel, table, row })
    }
}

/// Parts of the catalogue; empty means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks(pub Vec<Block>);

impl Blocks {
    /// Whether any part of a table is wanted.
    pub fn want_table(&self, panel: u32, table: u32) -> bool {
        let wanted = |block: &Block| block.panel == panel && block.table.is_none_or(|t| t == table);
        self.0.is_empty() || self.0.iter().any(wanted)
    }

    /// Whether a metric is wanted.
    pub fn want_row(&self, panel: u32, table: u32, row: u32) -> bool {
        let wanted = |block: &Block| {
            block.panel == panel
                && block.table.is_none_or(|t| t == table)
                && block.row.is_none_or(|r| r == row)
        };
        self.0.is_empty() || self.0.iter().any(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_choose_panels_tables_and_metrics() {
        let blocks = Blocks(["2", "7.1", "16.3.4"].iter().map(|b| b.parse().unwrap()).collect());
        assert!(blocks.want_row(2, 1, 30) && blocks.want_row(7, 1, 0) && blocks.want_row(16, 3, 4));
        assert!(!blocks.want_row(7, 2, 0) && !blocks.want_row(16, 3, 5) && !blocks.want_table(16, 2));
        assert!(blocks.want_table(16, 3));
        assert!(Blocks::default().want_row(9, 9, 9));
        for wrong in ["", "x", "2.", "1.2.3.4", "-1"] {
            assert!(wrong.parse::<Block>().is_err(), "{wrong}");
        }
    }
}
