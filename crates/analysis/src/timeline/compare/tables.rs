//! The rows of a comparison as tables of a report.

use crate::base::kernel_column;
use report::{Column, Table, Unit, Value};

use super::ground::CommonGround;
use super::rows::{ComparedRow, ComparedRows, SideFigures, percent};
use model::names;
use stats as statistics;
use stats::bootstrap::Estimate;

const NOT_IN_BASE: &str = "not in the base";
const NOT_IN_CANDIDATE: &str = "not in the candidate";
const NO_TIME: &str = "the base took no time";
const SAME_CALLS: &str = "as many calls on both sides";
const NO_SPREAD: &str = "one value on each side shows no spread";

/// Columns shared by all tables, after the names.
pub(super) fn figures(counted: bool) -> Vec<Column> {
    let mut columns = vec![
        Column::int("base_ns", Unit::Ns).key(),
        Column::int("candidate_ns", Unit::Ns).key(),
        Column::int("delta_pct", Unit::Pct).key(),
        Column::int("ci_low_pct", Unit::Pct),
        Column::int("ci_high_pct", Unit::Pct),
        Column::text("verdict"),
    ];
    if counted {
        columns.extend([
            Column::text("calls_change").normal(),
            Column::int("base_calls", Unit::None).detail(),
            Column::int("candidate_calls", Unit::None).detail(),
            Column::int("base_mean_ns", Unit::Ns).detail(),
            Column::int("candidate_mean_ns", Unit::Ns).detail(),
        ]);
    }
    columns
}

pub(super) fn cells(row: &ComparedRow, counted: bool) -> Vec<Value> {
    let sides = [(row.base, NOT_IN_BASE), (row.candidate, NOT_IN_CANDIDATE)];
    let mut cells: Vec<Value> =
        sides.iter().map(|(side, why)| Value::int_or(side.map(|figures| figures.total), why)).collect();
    cells.push(row.delta_pct().map_or_else(|| Value::absent(why_no_delta(row)), Value::Float));
    cells.extend(bounds(row.estimate.as_ref(), row));
    cells.push(Value::from(row.verdict.name()));
    if counted {
        let calls = |figures: SideFigures| {
            if figures.calls.fract() == 0.0 {
                Value::Int(figures.calls as i64)
            } else {
                Value::Float(figures.calls)
            }
        };
        cells.push(match (row.base, row.candidate, row.calls_changed()) {
            (None, ..) => Value::absent(NOT_IN_BASE),
            (_, None, _) => Value::absent(NOT_IN_CANDIDATE),
            (.., Some((base, candidate))) => Value::Text(format!("{} → {}", count(base), count(candidate))),
            (.., None) => Value::absent(SAME_CALLS),
        });
        cells.extend(sides.iter().map(|(side, why)| side.map_or_else(|| Value::absent(why), calls)));
        cells.extend(sides.iter().map(|(side, why)| Value::int_or(side.map(|figures| figures.mean()), why)));
    }
    cells
}

/// Formats a number of calls, which is a mean over runs.
fn count(calls: f64) -> String {
    if calls.fract() == 0.0 { format!("{calls:.0}") } else { format!("{calls:.1}") }
}

fn bounds(estimate: Option<&Estimate>, row: &ComparedRow) -> [Value; 2] {
    match estimate {
        Some(Estimate { bounds: Some((low, high)), .. }) => {
            [Value::Float(percent(*low)), Value::Float(percent(*high))]
        }
        Some(_) => [Value::absent(NO_SPREAD), Value::absent(NO_SPREAD)],
        None => [Value::absent(why_no_delta(row)), Value::absent(why_no_delta(row))],
    }
}

fn why_no_delta(row: &ComparedRow) -> &'static str {
    match (row.base, row.candidate) {
        (None, _) => NOT_IN_BASE,
        (_, None) => NOT_IN_CANDIDATE,
        _ => NO_TIME,
    }
}

/// The figures of whole runs.
pub(super) fn end_to_end(rows: &ComparedRows) -> Table {
    let columns = [vec![Column::text("name")], figures(false)].concat();
    let mut table = Table::new("end_to_end", "End to end", columns);
    for row in &rows.end_to_end {
        table.push([vec![Value::from(row.name.as_str())], cells(row, false)].concat());
    }
    table
}

/// Kernels, largest difference first.
pub(super) fn kernels(rows: &ComparedRows) -> Table {
    let own = vec![
        Column::text("display_name").data(),
        Column::text("category").data(),
        Column::text("matched_name").detail(),
        Column::int("similarity", Unit::None).data(),
        Column::int("share_pct", Unit::Pct).detail(),
        Column::int("beyond_drift_pct", Unit::Pct).data(),
        Column::int("beyond_drift_low_pct", Unit::Pct).data(),
        Column::int("beyond_drift_high_pct", Unit::Pct).data(),
        Column::int("p_corrected", Unit::None).data(),
    ];
    let columns = [vec![kernel_column("name")], figures(true), own].concat();
    let mut table = Table::new("kernels", "Kernels", columns);
    let whole: i64 = rows.kernels.iter().map(base_total).sum();
    for row in by_difference(&rows.kernels) {
        let mut all = vec![Value::from(row.name.as_str())];
        all.extend(cells(row, true));
        let number = |number: Option<f64>, why: &str| number.map_or_else(|| Value::absent(why), Value::Float);
        let same_name = "the same name on both sides";
        all.push(Value::Text(names::display_name(&row.name)));
        all.push(Value::from(row.group.as_str()));
        all.push(row.matched_name.as_deref().map_or_else(|| Value::absent(same_name), Value::from));
        all.push(number(row.similarity, why_no_delta(row)));
        let share = row.base.map(|base| statistics::percent(base.total, whole));
        all.push(number(share, NOT_IN_BASE));
        let too_few = "too few kernels on both sides to see what they share";
        all.push(number(row.beyond.map(|beyond| percent(beyond.ratio)), too_few));
        all.extend(match row.beyond {
            Some(beyond) => bounds(Some(&beyond), row),
            None => [Value::absent(too_few), Value::absent(too_few)],
        });
        all.push(number(row.estimate.map(|_| row.p), why_no_delta(row)));
        table.push(all);
    }
    table
}

/// Categories, largest difference first.
pub(super) fn categories(rows: &ComparedRows) -> Table {
    let columns = [vec![Column::text("category")], figures(true)].concat();
    let mut table = Table::new("categories", "Categories", columns);
    for row in by_difference(&rows.categories) {
        table.push([vec![Value::from(row.name.as_str())], cells(row, true)].concat());
    }
    table
}

/// Host regions, largest difference first.
pub(super) fn regions(rows: &ComparedRows) -> Table {
    let columns = [vec![Column::text("category"), Column::text("name")], figures(true)].concat();
    let mut table = Table::new("regions", "Host regions", columns);
    for row in by_difference(&rows.regions) {
        let names = vec![Value::from(row.group.as_str()), Value::from(row.name.as_str())];
        table.push([names, cells(row, true)].concat());
    }
    table
}

/// What the traces show about both sides: why they can or cannot be compared.
pub(super) fn comparability(ground: &CommonGround) -> Table {
    let columns = ["fact", "base", "candidate", "status"].map(Column::text).to_vec();
    let mut table = Table::new("comparability", "Are the runs comparable", columns).detail();
    for fact in &ground.facts {
        let side = |side: usize| match fact.sides[side].is_empty() {
            true => Value::absent("the traces do not record it"),
            false => Value::Text(fact.words(side)),
        };
        table.push(vec![Value::from(fact.name), side(0), side(1), Value::from(fact.status().name())]);
    }
    table
}

fn base_total(row: &ComparedRow) -> i64 {
    row.base.map_or(0, |figures| figures.total)
}

fn by_difference(rows: &[ComparedRow]) -> Vec<&ComparedRow> {
    let candidate = |row: &ComparedRow| row.candidate.map_or(0, |figures| figures.total);
    let mut sorted: Vec<&ComparedRow> = rows.iter().collect();
    sorted.sort_by(|a, b| {
        let size = |row: &ComparedRow| (candidate(row) - base_total(row)).abs();
        (size(b), &a.group, &a.name).cmp(&(size(a), &b.group, &b.name))
    });
    sorted
}
