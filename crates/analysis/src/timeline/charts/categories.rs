//! GPU time by category, and by stage.

use report::chart::{Axis, Bar, Bars, Chart, Mark, Series};
use report::{Unit, Value, show};
use trace::Map;

use super::{Gpu, duration};
use model::classify::Category;
use stats::percent;

fn category(gpu: &Gpu, row: trace::RowRef) -> Category {
    gpu.classes.of_row(gpu.trace, row).map_or(Category::Other, |class| class.category)
}

/// One bar per category.
pub fn chart(gpu: &Gpu) -> Option<Chart> {
    let mut sums: Map<Category, (i64, i64)> = Map::default();
    for row in gpu.lanes.iter().flat_map(|lane| &lane.rows) {
        let sum = sums.entry(category(gpu, row.row)).or_default();
        *sum = (sum.0 + row.work.end - row.work.start, sum.1 + 1);
    }
    let whole = gpu.total();
    let mut rows: Vec<(Category, (i64, i64))> = sums.into_iter().collect();
    rows.sort_by_key(|&(category, (total, _))| (-total, category));
    let bar = |(category, (total, calls)): (Category, (i64, i64))| {
        let share = show(&Value::Float(percent(total, whole)), Unit::Pct);
        let calls = show(&Value::Int(calls), Unit::None);
        Bar::new(category.name(), vec![total as f64])
            .with_end(format!("{} · {share}", duration(total)))
            .with_tip(format!("{}\n{} in {calls} calls", category.name(), duration(total)))
            .with_ink(gpu.palette.ink(category))
    };
    let series = vec![Series::new("time", 0)];
    let bars = Bars { series, bars: rows.into_iter().map(bar).collect(), ..Bars::across() };
    let description = "Time of all GPU work by what it does, and its share; docs/categories.md says what the categories are.";
    let chart = Chart::new("categories", "GPU time by category", Mark::Bars(bars));
    Some(chart.with_description(description).with_x(Axis::of(Unit::Ns)))
}

/// Category shares in each stage; `None` for a run with one stage.
pub fn by_stage(gpu: &Gpu) -> Option<Chart> {
    let stage_of = gpu.stage_of?;
    let mut stages: Vec<(&'static str, Vec<i64>)> = Vec::new();
    for row in gpu.lanes.iter().flat_map(|lane| &lane.rows) {
        let stage = stage_of(row.row);
        let place = stages.iter().position(|(name, _)| *name == stage).unwrap_or_else(|| {
            stages.push((stage, vec![0; gpu.palette.rest() + 1]));
            stages.len() - 1
        });
        stages[place].1[gpu.kind(row.row)] += row.work.end - row.work.start;
    }
    if stages.len() < 2 {
        return None;
    }
    stages.sort_by_key(|(name, sums)| (-sums.iter().sum::<i64>(), *name));
    let (series, numbers) = gpu.palette.used(|kind| stages.iter().any(|(_, sums)| sums[kind] > 0));
    let bar = |(name, sums): (&str, Vec<i64>)| {
        let whole: i64 = sums.iter().sum();
        let shares = sums.iter().zip(&numbers).filter(|(_, number)| number.is_some());
        let values = shares.map(|(sum, _)| percent(*sum, whole)).collect();
        Bar::new(name, values)
            .with_end(duration(whole))
            .with_tip(format!("{name}, {} of GPU time", duration(whole)))
    };
    let bars = Bars { series, bars: stages.into_iter().map(bar).collect(), ..Bars::across() };
    let description = "What each stage spends its GPU time on; at the end of a bar, how much that is.";
    let x = Axis::of(Unit::Pct).between(0.0, 100.0);
    let chart = Chart::new("stage_categories", "Categories by stage", Mark::Bars(bars));
    Some(chart.with_description(description).with_x(x))
}
