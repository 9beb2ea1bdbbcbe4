//! Host regions by category and name, with exclusive time.

use report::{Column, Table, Unit, Value};
use trace::{Map, StrId, Trace};

use super::Ranks;
use super::group::Groups;
use stats::{percent, rounded_mean};
use model::nesting::self_times;

#[derive(Clone)]
struct Calls {
    count: usize,
    total: i64,
    own: i64,
    min: i64,
    max: i64,
}

pub(super) fn table(trace: &Trace, ranks: &Ranks) -> Table {
    let regions = &trace.regions;
    let own = self_times(regions);
    let groups =
        Groups::by(regions.len(), |i| (ranks.of(regions.process[i]), regions.category[i], regions.name[i]));
    let mut calls =
        vec![Calls { count: 0, total: 0, own: 0, min: i64::MAX, max: i64::MIN }; groups.keys.len()];
    for (i, &group) in groups.of_row.iter().enumerate() {
        let duration = regions.end[i] - regions.start[i];
        let calls = &mut calls[group as usize];
        calls.count += 1;
        calls.total += duration;
        calls.own += own[i];
        calls.min = calls.min.min(duration);
        calls.max = calls.max.max(duration);
    }
    // Regions of one category add up; those of different ones are nested in each other.
    let mut category_total: Map<(u32, StrId), i64> = Map::default();
    for (&(rank, category, _), calls) in groups.keys.iter().zip(&calls) {
        *category_total.entry((rank, category)).or_default() += calls.total;
    }
    let mut rows: Vec<_> = groups.keys.iter().zip(&calls).collect();
    let text = |id: StrId| trace.strings.get(id);
    rows.sort_by(|(a, x), (b, y)| {
        (a.0, -x.total, text(a.1), text(a.2)).cmp(&(b.0, -y.total, text(b.1), text(b.2)))
    });
    let columns = vec![
        Column::text("category"),
        Column::text("name"),
        Column::int("calls", Unit::None).key(),
        Column::int("total_ns", Unit::Ns).key(),
        Column::int("self_ns", Unit::Ns).key(),
        Column::int("mean_ns", Unit::Ns),
        Column::int("min_ns", Unit::Ns).detail(),
        Column::int("max_ns", Unit::Ns).detail(),
        Column::int("share_pct", Unit::Pct),
    ];
    let mut table = Table::new("regions", "Host regions", ranks.columns(columns));
    for (&(rank, category, name), calls) in rows {
        let share = percent(calls.total, category_total[&(rank, category)]);
        let cells = vec![
            Value::from(text(category)),
            Value::from(text(name)),
            Value::from(calls.count),
            Value::Int(calls.total),
            Value::Int(calls.own),
            Value::Int(rounded_mean(calls.total, calls.count)),
            Value::Int(calls.min),
            Value::Int(calls.max),
            Value::Float(share),
        ];
        table.push(ranks.row(rank, cells));
    }
    table
}
