//! Tables of how evenly work is spread: pipeline stages, experts, kernels and ops.

use model::names::display_name;
use report::{Column, Table, Unit, Value};

use super::{NO_TIMELINE, NO_TIMES, ns, number, rank};
use crate::Ranks;
use crate::balance::{self, Imbalance};
use crate::fleet::ranges;

pub(super) fn pipeline(ranks: &Ranks) -> Table {
    let columns = vec![
        Column::int("stage", Unit::None).key(),
        Column::text("ranks"),
        Column::int("span_ns", Unit::Ns),
        Column::int("compute_ns", Unit::Ns).key(),
        Column::int("bubble_ns", Unit::Ns).key(),
        Column::int("bubble_share_pct", Unit::Pct).key(),
    ];
    let mut table = Table::new("pipeline", "Pipeline stages, means per rank", columns);
    for stage in balance::pipeline(&ranks.fleet, &ranks.meetings, &ranks.figures) {
        let of: Vec<u32> =
            stage.members.iter().map(|&member| ranks.fleet.members[member as usize].rank).collect();
        table.push(vec![
            Value::Int(i64::from(stage.stage)),
            Value::Text(ranges(&of)),
            ns(stage.span_ns, NO_TIMELINE),
            ns(stage.compute_ns, NO_TIMELINE),
            ns(stage.bubble_ns, NO_TIMES),
            number(Some(100.0 * stage.bubble_ns / stage.span_ns), NO_TIMELINE),
        ]);
    }
    table
}

pub(super) fn experts(ranks: &Ranks) -> Table {
    let columns = vec![
        Column::text("rank"),
        Column::int("moe_ns", Unit::Ns).key(),
        Column::int("moe_ratio", Unit::None).key(),
        Column::int("received_bytes", Unit::Bytes),
        Column::int("received_ratio", Unit::None).key(),
        Column::int("sent_bytes", Unit::Bytes).detail(),
    ];
    let mut table = Table::new("experts", "Experts: time and traffic of each rank over the mean", columns);
    let loads = balance::experts(&ranks.fleet);
    let count = loads.len().max(1) as f64;
    let mean_time = loads.iter().map(|load| load.moe_ns as f64).sum::<f64>() / count;
    let mean_bytes = loads.iter().map(|load| load.received as f64).sum::<f64>() / count;
    for load in loads {
        let ratio = |value: f64, mean: f64, why: &str| number((mean > 0.0).then(|| value / mean), why);
        table.push(vec![
            rank(&ranks.fleet.members[load.member as usize]),
            Value::Int(load.moe_ns),
            ratio(load.moe_ns as f64, mean_time, "no kernels of experts are known"),
            Value::Int(load.received as i64),
            ratio(load.received as f64, mean_bytes, "no all-to-all records its sizes"),
            Value::Int(load.sent as i64),
        ]);
    }
    table
}

pub(super) fn imbalance(name: &str, title: &str, ranks: &Ranks, rows: Vec<Imbalance>) -> Table {
    let columns = vec![
        Column::text("name"),
        Column::text("category").detail(),
        Column::int("ranks", Unit::None).detail(),
        Column::int("calls", Unit::None),
        Column::int("mean_ns", Unit::Ns).key(),
        Column::int("min_ns", Unit::Ns),
        Column::text("min_rank").normal(),
        Column::int("max_ns", Unit::Ns).key(),
        Column::text("max_rank"),
        Column::int("imbalance_pct", Unit::Pct).key(),
        Column::int("median_call_ns", Unit::Ns).detail(),
    ];
    let mut table = Table::new(name, title, columns);
    for row in rows {
        let label = |member: u32| rank(&ranks.fleet.members[member as usize]);
        let share = row.percent();
        table.push(vec![
            Value::Text(display_name(&row.name)),
            Value::Text(row.category),
            Value::from(row.ranks),
            Value::Int(row.calls as i64),
            ns(row.mean_ns, NO_TIMELINE),
            Value::Int(row.min.0),
            label(row.min.1),
            Value::Int(row.max.0),
            label(row.max.1),
            Value::Float(share),
            Value::int_or(row.median_call_ns, NO_TIMELINE),
        ]);
    }
    table
}
