//! Panel 0: the kernels with the most time, and the list of dispatches.

use crate::base::kernel_column;
use report::{Column, Table, Unit, Value};
use trace::{Map, StrId, Trace};

use super::dispatches::duration_of;
use super::options::TimeUnit;
use stats::columns::quantile;

/// A kernel and the time of its dispatches.
#[derive(Clone, Debug, PartialEq)]
pub struct TopKernel {
    /// Its name.
    pub name: StrId,
    /// Rows of `kernels`.
    pub rows: Vec<u32>,
    /// Total time in nanoseconds.
    pub total: f64,
    /// Median time in nanoseconds.
    pub median: f64,
    /// Share of all kernels' time, in percent.
    pub share: Option<f64>,
    /// Whether the user selected it.
    pub chosen: bool,
}

/// The kernels of these rows, most time first; ties are sorted by name.
pub fn top_kernels(trace: &Trace, rows: &[u32]) -> Vec<TopKernel> {
    let mut by_name: Map<StrId, Vec<u32>> = Map::default();
    for &row in rows {
        by_name.entry(trace.kernels.name[row as usize]).or_default().push(row);
    }
    let mut kernels: Vec<TopKernel> = by_name
        .into_iter()
        .map(|(name, rows)| {
            let mut durations: Vec<f64> = rows.iter().map(|&row| duration_of(trace, row)).collect();
            let total = durations.iter().filter(|ns| !ns.is_nan()).sum();
            let median = quantile(&mut durations, 0.5).unwrap_or(f64::NAN);
            TopKernel { name, rows, total, median, share: None, chosen: false }
        })
        .collect();
    let name = |kernel: &TopKernel| trace.strings.get(kernel.name);
    kernels.sort_by(|a, b| b.total.total_cmp(&a.total).then_with(|| name(a).cmp(name(b))));
    let all: f64 = kernels.iter().map(|kernel| kernel.total).sum();
    for kernel in &mut kernels {
        kernel.share = (all > 0.0).then(|| 100.0 * kernel.total / all);
    }
    kernels
}

/// Table 0.1, the top kernels.
pub(super) fn kernel_table(trace: &Trace, kernels: &[TopKernel], unit: TimeUnit) -> Table {
    let time = |what: &str| unit.column(what);
    let mut columns = vec![
        Column::int("id", Unit::Exact).key(),
        kernel_column("name"),
        Column::int("dispatches", Unit::None).key(),
        time("total").key(),
        time("mean"),
        time("median"),
        Column::int("share_pct", Unit::Pct).key(),
    ];
    let chosen = kernels.iter().any(|kernel| kernel.chosen);
    if chosen {
        columns.push(Column::text("chosen"));
    }
    let mut table = Table::new("panel_0.1", "0.1 Top kernels", columns);
    for (place, kernel) in kernels.iter().enumerate() {
        let mut row = vec![
            Value::from(place),
            Value::from(trace.strings.get(kernel.name)),
            Value::from(kernel.rows.len()),
            unit.value(kernel.total),
            unit.value(kernel.total / kernel.rows.len() as f64),
            unit.value(kernel.median),
            kernel.share.map_or_else(|| Value::absent("no kernel has a duration"), Value::Float),
        ];
        if chosen {
            row.push(Value::from(if kernel.chosen { "*" } else { "" }));
        }
        table.push(row);
    }
    table
}

/// Table 0.2, the dispatches.
pub(super) fn dispatch_table(trace: &Trace, rows: &[u32], unit: TimeUnit) -> Table {
    let columns = vec![
        Column::int("dispatch", Unit::Exact).key(),
        kernel_column("name"),
        Column::int("gpu", Unit::Exact).key(),
        unit.column("duration").key(),
    ];
    let mut table = Table::new("panel_0.2", "0.2 Dispatches", columns);
    for &row in rows {
        let kernel = trace.kernels.get(row as usize);
        let gpu = kernel.agent.get().and_then(|agent| trace.agents[agent].absolute_index.get());
        table.push(vec![
            Value::Int(kernel.dispatch.get().unwrap_or(i64::from(row))),
            Value::from(trace.strings.get(kernel.name)),
            Value::int_or(gpu, "the source names no GPU"),
            unit.value(duration_of(trace, row)),
        ]);
    }
    table
}
