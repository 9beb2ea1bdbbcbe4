//! The tables of `breakdown`.

use report::{Column, Table, Unit, Value};
use trace::{Map, Trace};

use super::BreakdownOptions;
use super::lanes::{GpuRow, Lane};
use super::sweep::Timeline;
use crate::base;
use model::classify::Classes;
use model::lanes::Bucket;
use stats::percent;

/// The stage when the run is not told apart into stages.
const ONE_STAGE: &str = "all";

fn lane_columns() -> Vec<Column> {
    vec![Column::int("rank", Unit::None).key(), Column::int("agent", Unit::None).key()]
}

fn lane_cells(trace: &Trace, lane: &Lane) -> Vec<Value> {
    vec![base::rank_of(lane.rank), base::agent_of(trace, lane.agent)]
}

pub(super) fn timeline(trace: &Trace, lanes: &[(Lane, Timeline)]) -> Table {
    let mut columns = lane_columns();
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
    for (lane, timeline) in lanes {
        let mut cells = lane_cells(trace, lane);
        let times = [
            timeline.total(),
            timeline.busy(),
            timeline.idle(),
            timeline.of_bucket(Bucket::Compute),
            timeline.of_bucket(Bucket::Communication),
            timeline.of_bucket(Bucket::Memcpy),
            timeline.exposed_communication(),
            timeline.exposed_memcpy(),
        ];
        cells.extend(times.map(Value::Int));
        table.push(cells);
    }
    table
}

pub(super) fn combinations(trace: &Trace, lanes: &[(Lane, Timeline)]) -> Table {
    let mut columns = lane_columns();
    columns.extend([
        Column::text("combination"),
        Column::int("total_ns", Unit::Ns).key(),
        Column::int("share_pct", Unit::Pct).key(),
    ]);
    let mut table = Table::new("combinations", "What ran together", columns);
    for (lane, timeline) in lanes {
        let total = timeline.total();
        let mut rows: Vec<(usize, i64)> = timeline.combinations.into_iter().enumerate().collect();
        rows.retain(|(_, time)| *time > 0);
        rows.sort_by_key(|&(combination, time)| (-time, combination));
        for (combination, time) in rows {
            let mut cells = lane_cells(trace, lane);
            cells.push(Value::Text(Timeline::name(combination)));
            cells.extend([Value::Int(time), Value::Float(percent(time, total))]);
            table.push(cells);
        }
    }
    table
}

/// Calls and time of what one row of `categories` counts.
#[derive(Clone, Copy, Default)]
struct Sum {
    calls: usize,
    total: i64,
}

pub(super) fn categories(
    trace: &Trace,
    classes: &Classes,
    lanes: &[Lane],
    options: &BreakdownOptions,
) -> Table {
    type Key<'a> = (Option<u32>, &'a str, &'static str, &'a str);
    let mut sums: Map<Key<'_>, Sum> = Map::default();
    let mut wholes: Map<(Option<u32>, &str), i64> = Map::default();
    for lane in lanes {
        let rank = lane.rank.filter(|_| options.by_rank);
        for gpu in &lane.rows {
            let Some(class) = classes.of_row(trace, gpu.row) else { continue };
            let stage = options.stage_of.map_or(ONE_STAGE, |stage_of| stage_of(gpu.row));
            let time = gpu.work.end - gpu.work.start;
            let sum = sums.entry((rank, stage, class.category.name(), &class.backend)).or_default();
            sum.calls += 1;
            sum.total += time;
            *wholes.entry((rank, stage)).or_default() += time;
        }
    }
    let mut rows: Vec<(Key<'_>, Sum)> = sums.into_iter().collect();
    rows.sort_by_key(|&((rank, stage, category, backend), sum)| {
        (rank.is_none(), rank, -wholes[&(rank, stage)], stage, -sum.total, category, backend)
    });
    let mut columns = if options.by_rank { vec![Column::int("rank", Unit::None).key()] } else { Vec::new() };
    columns.extend([
        Column::text("stage"),
        Column::text("category"),
        Column::text("backend"),
        Column::int("calls", Unit::None).key(),
        Column::int("total_ns", Unit::Ns).key(),
        Column::int("share_pct", Unit::Pct).key(),
    ]);
    let mut table = Table::new("categories", "Categories of GPU time", columns);
    for ((rank, stage, category, backend), sum) in rows {
        let mut cells = Vec::new();
        if options.by_rank {
            cells.push(Value::int_or(rank.map(i64::from), "the input does not tell its rank"));
        }
        cells.extend([Value::from(stage), Value::from(category), Value::from(backend)]);
        let share = percent(sum.total, wholes[&(rank, stage)]);
        cells.extend([Value::from(sum.calls), Value::Int(sum.total), Value::Float(share)]);
        table.push(cells);
    }
    table
}

/// Rows launched before the recording of the host began, rows with their launch, rows whose launch was lost.
pub(super) fn coverage(trace: &Trace, lanes: &[Lane]) -> Table {
    let mut columns = lane_columns();
    columns.extend([
        Column::text("part"),
        Column::int("calls", Unit::None).key(),
        Column::int("total_ns", Unit::Ns).key(),
        Column::int("busy_ns", Unit::Ns),
        Column::int("share_pct", Unit::Pct).key(),
    ]);
    let mut table = Table::new("coverage", "GPU work and its launches", columns);
    for lane in lanes {
        let first_linked = lane.rows.iter().filter(|row| row.linked).map(|row| row.work.start).min();
        let part_of = |row: &GpuRow| match first_linked {
            _ if row.linked => "linked",
            Some(first) if row.work.start >= first => "unlinked_inside",
            _ => "lead_in",
        };
        let time = |row: &GpuRow| row.work.end - row.work.start;
        let whole: i64 = lane.rows.iter().map(time).sum();
        for part in ["lead_in", "linked", "unlinked_inside"] {
            let rows: Vec<&GpuRow> = lane.rows.iter().filter(|row| part_of(row) == part).collect();
            if rows.is_empty() {
                continue;
            }
            let total: i64 = rows.iter().map(|row| time(row)).sum();
            let work: Vec<_> = rows.iter().map(|row| row.work).collect();
            let mut cells = lane_cells(trace, lane);
            cells.extend([Value::from(part), Value::from(rows.len()), Value::Int(total)]);
            cells.extend([Value::Int(Timeline::of(&work).busy()), Value::Float(percent(total, whole))]);
            table.push(cells);
        }
    }
    table
}
