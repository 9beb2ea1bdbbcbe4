//! The tables of `critical-path`.

use report::{Column, Table, Unit, Value};
use trace::{Map, Trace};

use super::build::Run;
use super::graph::Dependency;
use super::rank::Ranked;
use super::rules::Rules;
use super::walk::{Bound, Path, Place, Segment};
use stats::percent;

/// One row of `what_if`.
pub(super) struct Predicted {
    pub name: String,
    pub factor: Option<f64>,
    pub span: i64,
}

pub(super) fn bounds(path: &Path) -> Table {
    let columns = vec![
        Column::text("kind"),
        Column::int("total_ns", Unit::Ns).key(),
        Column::int("share_pct", Unit::Pct).key(),
        Column::int("segments", Unit::None),
    ];
    let mut table = Table::new("bounds", "What the run waits for", columns);
    let whole: i64 = path.segments.iter().map(duration).sum();
    for bound in Bound::ALL {
        let of = path.segments.iter().filter(|segment| segment.bound == bound);
        let (count, total) = of.fold((0usize, 0), |(count, total), s| (count + 1, total + duration(s)));
        if count > 0 {
            table.push(vec![
                Value::from(bound.name()),
                Value::Int(total),
                Value::Float(percent(total, whole)),
                Value::from(count),
            ]);
        }
    }
    table.sort_by("total_ns");
    table
}

fn duration(segment: &Segment) -> i64 {
    segment.end - segment.start
}

pub(super) fn ranked(trace: &Trace, span: i64, ranked: &[Ranked], copies: bool) -> Table {
    let columns = vec![
        Column::text("name"),
        Column::int("calls", Unit::None).detail(),
        Column::int("total_ns", Unit::Ns),
        Column::int("on_path_ns", Unit::Ns).key(),
        Column::int("share_pct", Unit::Pct).key(),
        Column::int("slack_ns", Unit::Ns).key(),
        Column::int("free_slack_ns", Unit::Ns).detail(),
        Column::int("near_critical", Unit::None).detail(),
        Column::int("saved_by_1pct_ns", Unit::Ns).key(),
    ];
    let (name, title) = match copies {
        true => ("copies", "Copies: 1 % faster here saves that much"),
        false => ("kernels", "Kernels: 1 % faster here saves that much"),
    };
    let mut table = Table::new(name, title, columns);
    for row in ranked.iter().filter(|row| row.copy == copies) {
        table.push(vec![
            Value::from(trace.strings.get(row.name)),
            Value::from(row.calls),
            Value::Int(row.total),
            Value::Int(row.on_path),
            Value::Float(percent(row.on_path, span)),
            Value::Int(row.slack),
            Value::Int(row.free_slack),
            Value::from(row.near),
            Value::int_or(row.saved, "propagated for the kernels with most time on the path only"),
        ]);
    }
    table
}

pub(super) fn what_if(span: i64, predicted: &[Predicted]) -> Table {
    let columns = vec![
        Column::text("name"),
        Column::int("factor", Unit::None).key(),
        Column::int("predicted_span_ns", Unit::Ns).key(),
        Column::int("saving_ns", Unit::Ns).key(),
        Column::int("saving_pct", Unit::Pct).key(),
    ];
    let mut table = Table::new("what_if", "What if", columns);
    for row in predicted {
        let factor = row.factor.map_or_else(|| Value::absent("several questions at once"), Value::Float);
        table.push(vec![
            Value::from(row.name.as_str()),
            factor,
            Value::Int(row.span),
            Value::Int(span - row.span),
            Value::Float(percent(span - row.span, span)),
        ]);
    }
    table
}

pub(super) fn path(trace: &Trace, path: &Path, all: bool) -> Table {
    let columns = vec![
        Column::int("index", Unit::None).key(),
        Column::text("kind"),
        Column::text("name"),
        Column::int("at_ns", Unit::Ns).normal(),
        Column::int("duration_ns", Unit::Ns).key(),
        Column::int("start_ns", Unit::Ns).data(),
        Column::int("end_ns", Unit::Ns).data(),
    ];
    let begin = path.segments.first().map_or(0, |segment| segment.start);
    let mut table = Table::new("path", "The critical path in time order", columns);
    let most = Rules::built_in().limits.path_rows;
    let together = if all { 1 } else { path.segments.len().div_ceil(most).max(1) };
    table.rows.reserve(path.segments.len() / together + 1);
    for (index, run) in path.segments.chunks(together).enumerate() {
        let longest = run.iter().max_by_key(|segment| duration(segment));
        let Some((longest, first, last)) =
            longest.zip(run.first()).zip(run.last()).map(|((l, f), e)| (l, f, e))
        else {
            continue;
        };
        let name = longest.label.text(trace);
        let name = match run.len() {
            1 => name.to_string(),
            more => format!("{name} and {} more", more - 1),
        };
        table.push(vec![
            Value::from(index),
            Value::from(most_time(run).name()),
            Value::Text(name),
            Value::Int(first.start - begin),
            Value::Int(last.end - first.start),
            Value::Int(first.start),
            Value::Int(last.end),
        ]);
    }
    table
}

/// The bound that has most of the time.
fn most_time(run: &[Segment]) -> Bound {
    let time = |bound: Bound| run.iter().filter(|s| s.bound == bound).map(duration).sum::<i64>();
    Bound::ALL
        .into_iter()
        .max_by_key(|&bound| (time(bound), std::cmp::Reverse(bound)))
        .unwrap_or(Bound::NotRecorded)
}

/// Time on the path by stream and thread.
pub(super) fn places(trace: &Trace, run: &Run, path: &Path) -> Table {
    let columns = vec![
        Column::int("rank", Unit::None).detail(),
        Column::int("pid", Unit::Exact).detail(),
        Column::int("agent", Unit::None).detail(),
        Column::text("place"),
        Column::text("kind"),
        Column::int("total_ns", Unit::Ns).key(),
        Column::int("share_pct", Unit::Pct).key(),
    ];
    let mut table = Table::new("places", "Where the path runs", columns);
    let mut totals: Map<(Place, Bound), i64> = Map::default();
    for segment in &path.segments {
        *totals.entry((segment.place, segment.bound)).or_default() += duration(segment);
    }
    let whole: i64 = totals.values().sum();
    let mut rows: Vec<_> = totals.into_iter().collect();
    rows.sort_by_key(|&(key, total)| (std::cmp::Reverse(total), key));
    for ((place, bound), total) in rows {
        let (process, agent, label) = match place {
            Place::Lane(lane) => {
                let lane = &run.works.streams[lane as usize];
                (lane.process, lane.agent, lane.label.clone())
            }
            Place::Thread(thread) => match thread.get().map(|thread| &trace.threads[thread]) {
                Some(thread) => (thread.process, Default::default(), format!("thread {}", thread.tid)),
                None => (Default::default(), Default::default(), "a thread that is not recorded".into()),
            },
            Place::Nowhere => (Default::default(), Default::default(), "elsewhere".into()),
        };
        let rank = trace.rank_of(process).map(i64::from);
        let pid = process.get().map(|process| trace.processes[process].pid);
        let agent = agent.get().and_then(|agent| trace.agents[agent].absolute_index.get());
        table.push(vec![
            Value::int_or(rank, "the input does not tell its rank"),
            Value::int_or(pid, "the input does not tell the process"),
            Value::int_or(agent, "no GPU, or the input does not tell which"),
            Value::Text(label),
            Value::from(bound.name()),
            Value::Int(total),
            Value::Float(percent(total, whole)),
        ]);
    }
    table
}

/// How the run hangs together, and where that is known from.
pub(super) fn dependencies(run: &Run, path: &Path) -> Table {
    let columns = vec![
        Column::text("dependency"),
        Column::text("known_from"),
        Column::int("count", Unit::None).key(),
        Column::int("on_path_ns", Unit::Ns).key(),
    ];
    let mut table = Table::new("dependencies", "What follows what, and where that is known from", columns);
    let mut counts = [0usize; Dependency::ALL.len()];
    run.graph.kind.iter().for_each(|&kind| counts[kind as usize] += 1);
    for kind in Dependency::ALL {
        if counts[kind as usize] > 0 {
            table.push(vec![
                Value::from(kind.name()),
                Value::from(kind.provenance().name()),
                Value::from(counts[kind as usize]),
                Value::Int(path.by_dependency[kind as usize]),
            ]);
        }
    }
    table
}
