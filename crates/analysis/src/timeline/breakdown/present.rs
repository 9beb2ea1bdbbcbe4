//! The report of `breakdown`.

use report::{Column, Report, Table, Unit, Value};
use trace::{AgentId, Trace};

use super::result::{Breakdown, CategoryTime, GpuTime, LaunchCoverage};
use crate::base;

/// The whole report; tables without rows are left out.
pub fn present(trace: &Trace, breakdown: &Breakdown) -> Report {
    let mut report = base::report("breakdown", trace);
    report.tables = vec![
        timeline(trace, &breakdown.gpus),
        categories(&breakdown.categories, breakdown.by_rank),
        combinations(trace, &breakdown.gpus),
        coverage(trace, &breakdown.coverage),
    ];
    report.tables.retain(|table| !table.rows.is_empty());
    report.notes = breakdown.notes.clone();
    report
}

fn gpu_columns() -> Vec<Column> {
    vec![Column::int("rank", Unit::None).key(), Column::int("agent", Unit::None).key()]
}

fn gpu_cells(trace: &Trace, rank: Option<u32>, agent: AgentId) -> Vec<Value> {
    vec![base::rank_of(rank), base::agent_of(trace, agent)]
}

fn timeline(trace: &Trace, gpus: &[GpuTime]) -> Table {
    let mut columns = gpu_columns();
    columns.extend([
        Column::int("total_ns", Unit::Ns).key(),
        Column::int("busy_ns", Unit::Ns),
        Column::int("idle_ns", Unit::Ns).key(),
        Column::int("compute_ns", Unit::Ns).key(),
        Column::int("communication_ns", Unit::Ns),
        Column::int("memcpy_ns", Unit::Ns),
        Column::int("exposed_communication_ns", Unit::Ns).key(),
        Column::int("exposed_memcpy_ns", Unit::Ns).key(),
    ]);
    let mut table = Table::new("timeline", "GPU timeline", columns);
    for gpu in gpus {
        let mut cells = gpu_cells(trace, gpu.rank, gpu.agent);
        let times = [
            gpu.total_ns,
            gpu.busy_ns,
            gpu.idle_ns,
            gpu.compute_ns,
            gpu.communication_ns,
            gpu.memcpy_ns,
            gpu.exposed_communication_ns,
            gpu.exposed_memcpy_ns,
        ];
        cells.extend(times.map(Value::Int));
        table.push(cells);
    }
    table
}

fn combinations(trace: &Trace, gpus: &[GpuTime]) -> Table {
    let mut columns = gpu_columns();
    columns.extend([
        Column::text("combination"),
        Column::int("total_ns", Unit::Ns).key(),
        Column::int("share_pct", Unit::Pct).key(),
    ]);
    let mut table = Table::new("combinations", "What ran together", columns);
    for gpu in gpus {
        for one in &gpu.combinations {
            let mut cells = gpu_cells(trace, gpu.rank, gpu.agent);
            cells.push(Value::from(one.combination.as_str()));
            cells.extend([Value::Int(one.total_ns), Value::Float(one.share_pct)]);
            table.push(cells);
        }
    }
    table
}

fn categories(categories: &[CategoryTime], by_rank: bool) -> Table {
    let mut columns = if by_rank { vec![Column::int("rank", Unit::None).key()] } else { Vec::new() };
    columns.extend([
        Column::text("stage"),
        Column::text("category"),
        Column::text("backend"),
        Column::int("calls", Unit::None).key(),
        Column::int("total_ns", Unit::Ns).key(),
        Column::int("share_pct", Unit::Pct).key(),
    ]);
    let mut table = Table::new("categories", "Categories of GPU time", columns);
    for one in categories {
        let mut cells = if by_rank { vec![base::rank_of(one.rank)] } else { Vec::new() };
        cells.extend([one.stage, one.category, &one.backend].map(Value::from));
        cells.extend([Value::from(one.calls), Value::Int(one.total_ns), Value::Float(one.share_pct)]);
        table.push(cells);
    }
    table
}

/// Work launched before host recording began, work with its launch, and work whose launch was lost.
fn coverage(trace: &Trace, coverage: &[LaunchCoverage]) -> Table {
    let mut columns = gpu_columns();
    columns.extend([
        Column::text("part"),
        Column::int("calls", Unit::None).key(),
        Column::int("total_ns", Unit::Ns).key(),
        Column::int("busy_ns", Unit::Ns),
        Column::int("share_pct", Unit::Pct).key(),
    ]);
    let mut table = Table::new("coverage", "GPU work and its launches", columns);
    for one in coverage {
        let mut cells = gpu_cells(trace, one.rank, one.agent);
        cells.extend([Value::from(one.part), Value::from(one.calls), Value::Int(one.total_ns)]);
        cells.extend([Value::Int(one.busy_ns), Value::Float(one.share_pct)]);
        table.push(cells);
    }
    table
}
