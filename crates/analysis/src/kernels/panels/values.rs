//! Evaluates the catalogue on the dispatches of a run.

use super::catalogue::{Catalogue, Formula, Metric, PanelTable, Statistic};
use super::dispatches::Dispatches;
use super::expression::{Bound, Inputs, parse};
use super::options::{Blocks, NormalUnit, Rule};
use stats::columns::{deviation, largest, mean, quantile, smallest};

/// A number, or why it is missing.
pub type Cell = Result<f64, String>;

/// An evaluated table.
#[derive(Clone, Debug)]
pub struct TableValues {
    /// The panel.
    pub panel: u32,
    /// The panel's heading.
    pub panel_title: String,
    /// The table's number.
    pub table: u32,
    /// Its heading.
    pub title: String,
    /// Keys of the numeric columns.
    pub columns: Vec<String>,
    /// Keys of the text columns.
    pub labels: Vec<String>,
    /// Whether its rows are L2 channels.
    pub channels: bool,
    /// Rows in the vendor's order.
    pub rows: Vec<RowValues>,
}

/// An evaluated metric.
#[derive(Clone, Debug)]
pub struct RowValues {
    /// `16.3.4`
    pub id: String,
    /// Its name.
    pub metric: String,
    /// Its unit, including the normal unit.
    pub unit: String,
    /// The L2 channel, in tables with a row per channel.
    pub channel: Option<u32>,
    /// Cells of the text columns.
    pub labels: Vec<String>,
    /// Cells of the numeric columns.
    pub cells: Vec<Cell>,
}

/// All wanted tables of the catalogue; empty for an architecture that it does not cover.
pub fn evaluate(dispatches: &Dispatches<'_>, blocks: &Blocks) -> Vec<TableValues> {
    let Some(architecture) = dispatches.architecture() else { return Vec::new() };
    let mut found = Vec::new();
    for panel in &Catalogue::builtin().panels {
        let alone = blocks.0.iter().all(|block| block.panel == panel.number);
        for table in &panel.tables {
            if !blocks.want_table(panel.number, table.number) {
                continue;
            }
            let place = TableContext { panel: panel.number, table, architecture, dispatches };
            let rows = place.rows(blocks);
            let has_values = || rows.iter().any(|row| row.cells.iter().any(Result::is_ok));
            if rows.is_empty() || (panel.optional && !alone && !has_values()) {
                continue;
            }
            let keys = table.columns.iter().map(|column| column.key().to_string());
            found.push(TableValues {
                panel: panel.number,
                panel_title: panel.title.clone(),
                table: table.number,
                title: table.title.replace("normUnit", dispatches.unit().word()),
                columns: keys.chain(table.series.iter().map(|series| series.key.clone())).collect(),
                labels: table.labels.clone(),
                channels: table.channels,
                rows,
            });
        }
    }
    found
}

/// A table being evaluated.
struct TableContext<'a> {
    panel: u32,
    table: &'a PanelTable,
    architecture: usize,
    dispatches: &'a Dispatches<'a>,
}

impl TableContext<'_> {
    fn rows(&self, blocks: &Blocks) -> Vec<RowValues> {
        let mut metrics: Vec<(u32, &Metric)> = self
            .table
            .metrics
            .iter()
            .filter_map(|metric| Some((metric.row(self.architecture)?, metric)))
            .collect();
        metrics.sort_by_key(|(row, _)| *row);
        let mut rows = Vec::new();
        for (row, metric) in metrics {
            let Some(formula) = metric.on(self.architecture) else { continue };
            if !self.table.channels {
                if blocks.want_row(self.panel, self.table.number, row) {
                    rows.push(self.row(row, metric, formula, None));
                }
                continue;
            }
            for channel in 0..self.dispatches.channel_count() {
                if blocks.want_row(self.panel, self.table.number, channel) {
                    rows.push(self.row(channel, metric, formula, Some(channel)));
                }
            }
        }
        rows
    }

    fn row(&self, row: u32, metric: &Metric, formula: &Formula, channel: Option<u32>) -> RowValues {
        let vendor = self.dispatches.rule() == Rule::MeanOfRatios;
        let label = |key: &String| metric.labels.get(key).cloned().unwrap_or_default();
        RowValues {
            id: format!("{}.{}.{row}", self.panel, self.table.number),
            metric: match channel {
                Some(channel) => format!("{} {channel}", metric.name),
                None => metric.name.clone(),
            },
            unit: unit(metric.unit(self.architecture, vendor), self.dispatches.unit()),
            channel,
            labels: self.table.labels.iter().map(label).collect(),
            cells: self.cells(formula, channel),
        }
    }

    fn cells(&self, formula: &Formula, channel: Option<u32>) -> Vec<Cell> {
        let mut values = Values::of(self.dispatches, formula, "value", channel);
        let peak = self.peak(formula);
        let statistics = self.table.columns.iter().map(|&column| match column {
            Statistic::Peak => peak.clone(),
            Statistic::PctOfPeak => pct_of_peak(self.dispatches.rule(), &values.average(), &peak),
            _ => self.rounded(values.statistic(column, formula)),
        });
        let mut cells: Vec<Cell> = statistics.collect();
        cells.extend(
            self.table
                .series
                .iter()
                .map(|series| Values::of(self.dispatches, formula, &series.key, channel).average()),
        );
        cells
    }

    fn peak(&self, formula: &Formula) -> Cell {
        let vendor = self.dispatches.rule() == Rule::MeanOfRatios;
        let text = formula.text("peak", vendor).ok_or("no peak is defined")?;
        let expression = parse(text).map_err(|error| error.to_string())?;
        match Bound::of(&expression, &self.dispatches.pass(None), None) {
            Ok(Bound::Scalar(number)) if !number.is_nan() => Ok(number),
            Ok(_) => Err("not known".into()),
            Err(absent) => Err(absent.to_string()),
        }
    }

    /// The vendor shows whole numbers in its memory chart.
    fn rounded(&self, cell: Cell) -> Cell {
        let rounds = self.table.vendor_rounds && self.dispatches.rule() == Rule::MeanOfRatios;
        cell.map(|value| if rounds { value.round_ties_even() } else { value })
    }
}

fn pct_of_peak(rule: Rule, value: &Cell, peak: &Cell) -> Cell {
    let (value, peak) = (value.clone()?, peak.clone()?);
    let pct = 100.0 * value / peak;
    match rule {
        _ if pct.is_nan() => Err("0 of a peak of 0".into()),
        Rule::RatioOfSums if pct.is_infinite() => Err("the peak is 0".into()),
        _ => Ok(pct),
    }
}

/// The values of a formula over all dispatches, evaluated when a statistic first needs them.
struct Values<'a> {
    bound: Result<Bound<'a>, String>,
    rows: usize,
    rule: Rule,
    each: Option<Vec<f64>>,
    sorted: Option<Vec<f64>>,
}

impl<'a> Values<'a> {
    fn of(dispatches: &'a Dispatches<'a>, formula: &'a Formula, key: &str, channel: Option<u32>) -> Self {
        let vendor = dispatches.rule() == Rule::MeanOfRatios;
        let pass = dispatches.pass(formula.level(vendor));
        let bound = match formula.text(key, vendor) {
            None | Some("none") => Err(super::expression::Absent::Undefined.to_string()),
            Some(text) => match parse(text) {
                Ok(expression) => Bound::of(&expression, &pass, channel).map_err(|absent| absent.to_string()),
                Err(error) => Err(error.to_string()),
            },
        };
        Self { bound, rows: pass.rows(), rule: dispatches.rule(), each: None, sorted: None }
    }

    /// The value for all dispatches together.
    fn average(&mut self) -> Cell {
        let bound = self.bound.as_ref().map_err(String::clone)?;
        let value = match (self.rule, bound) {
            (_, Bound::Scalar(number)) => Some(*number).filter(|number| !number.is_nan()),
            (Rule::RatioOfSums, bound) => bound.total(self.rows),
            (Rule::MeanOfRatios, _) => mean(self.each()?),
        };
        self.present(value)
    }

    fn statistic(&mut self, statistic: Statistic, formula: &Formula) -> Cell {
        let value = match statistic {
            Statistic::Avg | Statistic::Value => return self.average(),
            Statistic::Min => smallest(self.each()?),
            Statistic::Max => {
                let slip = self.rule == Rule::MeanOfRatios
                    && formula.vendor.get("max").is_some_and(|instead| instead == "min");
                if slip { smallest(self.each()?) } else { largest(self.each()?) }
            }
            Statistic::StdDev => deviation(self.each()?),
            Statistic::Q1 => quantile(self.sorted()?, 0.25),
            Statistic::Median => quantile(self.sorted()?, 0.5),
            Statistic::Q3 => quantile(self.sorted()?, 0.75),
            Statistic::Peak | Statistic::PctOfPeak => None,
        };
        if value.is_none() && statistic == Statistic::StdDev && self.rows == 1 {
            return Err("one dispatch has no spread".into());
        }
        self.present(value)
    }

    /// One value per dispatch; under our rule, a division by zero counts as missing.
    fn each(&mut self) -> Result<&Vec<f64>, String> {
        let bound = self.bound.as_ref().map_err(String::clone)?;
        let (rows, rule) = (self.rows, self.rule);
        Ok(self.each.get_or_insert_with(|| {
            let mut values = bound.evaluate(rows);
            if rule == Rule::RatioOfSums {
                values.iter_mut().filter(|value| value.is_infinite()).for_each(|value| *value = f64::NAN);
            }
            values
        }))
    }

    fn sorted(&mut self) -> Result<&mut Vec<f64>, String> {
        if self.sorted.is_none() {
            self.sorted = Some(self.each()?.clone());
        }
        self.sorted.as_mut().ok_or_else(String::new)
    }

    fn present(&self, value: Option<f64>) -> Cell {
        match value {
            None => Err("no dispatch has a value: a division by zero, or no duration".into()),
            Some(value) if value.is_infinite() && self.rule == Rule::RatioOfSums => {
                Err("a division by zero".into())
            }
            Some(value) => Ok(value),
        }
    }
}

/// Turns `Req / N` into "Req per wave".
fn unit(text: &str, by: NormalUnit) -> String {
    match text.strip_suffix(" / N") {
        Some(what) => format!("{what} per {}", by.word()),
        None => text.to_string(),
    }
}
