//! The kernels, copies and fills with the most time; the rest is one bar.

use report::chart::{Axis, Bar, Bars, Chart, Ink, Mark, Series};
use report::{Unit, Value, show};
use trace::{Map, RowRef, StrId, Table};

use super::{Gpu, duration};
use model::classify::Category;
use model::names::display_name;
use stats::percent;

/// Bars, not counting the rest.
const SHOWN: usize = 15;

#[derive(Clone, Copy)]
struct Sum {
    calls: i64,
    total: i64,
    first: RowRef,
}

pub fn chart(gpu: &Gpu) -> Option<Chart> {
    let mut sums: Map<(StrId, bool), Sum> = Map::default();
    for row in gpu.lanes.iter().flat_map(|lane| &lane.rows) {
        let key = match row.row.get()? {
            (Table::Kernels, i) => (gpu.trace.kernels.name[i], false),
            (_, i) => (gpu.trace.memory_copies.name[i], true),
        };
        let sum = sums.entry(key).or_insert(Sum { calls: 0, total: 0, first: row.row });
        sum.calls += 1;
        sum.total += row.work.end - row.work.start;
    }
    let whole = gpu.total();
    let name = |id: StrId| gpu.trace.strings.get(id);
    let mut rows: Vec<(StrId, Sum)> = sums.into_iter().map(|((id, _), sum)| (id, sum)).collect();
    rows.sort_by(|a, b| (-a.1.total, name(a.0)).cmp(&(-b.1.total, name(b.0))));
    let end = |total: i64| {
        let share = show(&Value::Float(percent(total, whole)), Unit::Pct);
        format!("{} · {share}", duration(total))
    };
    let mut bars: Vec<Bar> = Vec::new();
    for (id, sum) in rows.iter().take(SHOWN) {
        let category =
            gpu.classes.of_row(gpu.trace, sum.first).map_or(Category::Other, |class| class.category);
        let tip = format!(
            "{}\n{} in {} calls, {} each\n{}",
            name(*id),
            duration(sum.total),
            show(&Value::Int(sum.calls), Unit::None),
            duration(sum.total / sum.calls.max(1)),
            category.name()
        );
        let bar = Bar::new(&display_name(name(*id)), vec![sum.total as f64]);
        bars.push(bar.with_end(end(sum.total)).with_tip(tip).with_ink(gpu.palette.ink(category)));
    }
    let rest = &rows[rows.len().min(SHOWN)..];
    if !rest.is_empty() {
        let total: i64 = rest.iter().map(|(_, sum)| sum.total).sum();
        let label = format!("{} more", show(&Value::from(rest.len()), Unit::None));
        let bar = Bar::new(&label, vec![total as f64]).with_end(end(total)).with_ink(Ink::Rest);
        bars.push(bar.with_tip(format!("{label}\n{} together", duration(total))));
    }
    let bars = Bars { series: vec![Series::new("time", 0)], bars, ..Bars::across() };
    let description =
        "Time of each kernel, copy and fill, and its share of all GPU time; the colour is its category's.";
    let chart = Chart::new("kernel_share", "Kernels by time", Mark::Bars(bars));
    Some(chart.with_description(description).with_x(Axis::of(Unit::Ns)))
}
