//! The table `idle_causes`.

use report::{Column, Table, Unit, Value};
use trace::{Map, StrId, Trace};

use super::{Cause, IdleAccounts};
use crate::base;
use stats::percent;

/// Name of the table.
pub const IDLE_CAUSES: &str = "idle_causes";

/// Idle time by GPU, cause and place, largest first; with `busy` it adds up to the span.
pub fn table(trace: &Trace, accounts: &IdleAccounts) -> Table {
    let columns = vec![
        Column::int("rank", Unit::Exact).detail(),
        Column::int("agent", Unit::Exact).detail(),
        Column::text("cause").key(),
        Column::text("where"),
        Column::int("gaps", Unit::None),
        Column::int("idle_ns", Unit::Ns).key(),
        Column::int("share_pct", Unit::Pct).key(),
    ];
    let mut table = Table::new(IDLE_CAUSES, "Idle time by cause", columns);
    for gpu in &accounts.gpus {
        let mut sums: Map<(Cause, StrId), (usize, i64)> = Map::default();
        for piece in &gpu.idle {
            let sum = sums.entry((piece.cause, piece.place)).or_default();
            *sum = (sum.0 + 1, sum.1 + piece.length());
        }
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by_key(|&((cause, place), (_, ns))| (std::cmp::Reverse(ns), cause, place));
        for ((cause, place), (gaps, ns)) in sums {
            table.push(vec![
                base::rank_of(gpu.lane.rank),
                base::agent_of(trace, gpu.lane.agent),
                Value::from(cause.name()),
                Value::from(trace.strings.get(place)),
                Value::from(gaps),
                Value::Int(ns),
                Value::Float(percent(ns, gpu.total())),
            ]);
        }
    }
    table
}
