//! Charts: steps of all ranks, bandwidth by size, the pipeline, all-to-all traffic.

use std::collections::BTreeMap;

use report::chart::{Axis, Chart, Heat, Join, Lane, Lanes, Mark, Point, Series, Span, Xy, XySeries};
use report::{Unit, Value, show};
use stats::robust::median;

use crate::Ranks;
use crate::balance;
use crate::digest::Collective;
use crate::operation::Operation;

/// More rows or columns than this are merged.
const MOST_CELLS: usize = 128;
/// Stages that a strip shows.
const MOST_STAGES: usize = 24;

pub(super) fn charts(ranks: &Ranks) -> Vec<Chart> {
    [step_times(ranks), bandwidth(ranks), pipeline(ranks), all_to_all(ranks)].into_iter().flatten().collect()
}

/// Local work of each rank in each step, over the median of its step.
fn step_times(ranks: &Ranks) -> Option<Chart> {
    let members = &ranks.fleet.members;
    let steps = members.iter().map(|member| member.steps.len()).max().unwrap_or(0);
    if steps < 2 || members.len() < 2 {
        return None;
    }
    // Waiting for others makes all ranks look alike, so only their own time counts.
    let own = |member: usize, step: usize| {
        let step = members[member].steps.get(step)?;
        Some(((step.end - step.start) - step.exposed_ns) as f64)
    };
    let middle: Vec<f64> = (0..steps)
        .map(|step| median(&(0..members.len()).filter_map(|member| own(member, step)).collect::<Vec<_>>()))
        .collect();
    let (row_size, column_size) = (members.len().div_ceil(MOST_CELLS), steps.div_ceil(MOST_CELLS));
    let mut values = Vec::new();
    let mut rows = Vec::new();
    for first in (0..members.len()).step_by(row_size) {
        let of = first..(first + row_size).min(members.len());
        let last = &members[of.end - 1].label;
        rows.push(match row_size {
            1 => format!("rank {}", members[first].label),
            _ => format!("ranks {}-{last}", members[first].label),
        });
        let cell = |from: usize| {
            let cells = of
                .clone()
                .flat_map(|member| (from..(from + column_size).min(steps)).map(move |step| (member, step)));
            let beyond =
                cells.filter_map(|(member, step)| Some(100.0 * (own(member, step)? / middle[step] - 1.0)));
            beyond.filter(|value| value.is_finite()).max_by(f64::total_cmp)
        };
        values.push((0..steps).step_by(column_size).map(cell).collect());
    }
    let columns = (0..steps).step_by(column_size).map(|step| step.to_string()).collect();
    let heat = Heat { rows, columns, values, unit: Unit::Pct, low: 0.0, high: 30.0 };
    let chart = Chart::new("step_times", "Own time of ranks by step, above the median", Mark::Heat(heat));
    Some(chart.with_x(Axis::default().labelled("step")).with_description(
        "Each cell is a rank's time in a step without exposed communication, above the median of all ranks; a dark row is a straggler, a dark column a slow step.",
    ))
}

/// Bus bandwidth by message size, one series for each operation.
fn bandwidth(ranks: &Ranks) -> Option<Chart> {
    let mut found: BTreeMap<Operation, Vec<Point>> = BTreeMap::new();
    for kind in crate::kinds::kinds(ranks) {
        let (Some(bytes), Some(gbps)) = (kind.bytes, kind.bus_gbps) else { continue };
        let shown = show(&Value::Float(gbps), Unit::Gbps);
        found.entry(kind.operation).or_default().push(Point {
            x: kind.operation.message_bytes(bytes, kind.ranks) as f64,
            y: gbps,
            tip: format!("{} of {} ranks ({}): {shown} GB/s", kind.operation.name(), kind.ranks, kind.group),
            ..Point::default()
        });
    }
    let series: Vec<XySeries> = found
        .into_iter()
        .enumerate()
        .map(|(number, (operation, points))| XySeries {
            series: Series::new(operation.name(), number),
            join: Join::Points,
            points,
        })
        .collect();
    let xy = Xy { series, references: Vec::new() };
    let chart = Chart::new("bandwidth", "Bus bandwidth by message size", Mark::Xy(xy))
        .with_x(Axis::log(Unit::Bytes).labelled("message"))
        .with_y(Axis::log(Unit::Gbps).labelled("bus bandwidth, GB/s"));
    (!chart.is_empty()).then(|| {
        chart.with_description("Transfer time alone, without waiting; each point is one kind of collective.")
    })
}

/// One step of the first rank of each pipeline stage.
fn pipeline(ranks: &Ranks) -> Option<Chart> {
    let stages = balance::pipeline(&ranks.fleet, &ranks.meetings, &ranks.figures);
    let first = &ranks.fleet.members[*stages.first()?.members.first()? as usize];
    let step = first.steps.len() / 2;
    let mut lanes = Vec::new();
    let mut begin = f64::INFINITY;
    for stage in stages.iter().take(MOST_STAGES) {
        let member = *stage.members.first()?;
        let of = &ranks.fleet.members[member as usize];
        let (step, line) = (of.steps.get(step)?, ranks.clocks.line(member)?);
        let own = |row: &&Collective| row.start < step.end && row.end().is_some_and(|end| end > step.start);
        let mut spans = vec![Span::new(line.common(step.start), line.common(step.end), 0)];
        for row in of.collectives.iter().filter(own).filter(|row| row.tail_ns > 0) {
            let end = row.end()?;
            let series = if row.operation.is_message() { 1 } else { 2 };
            spans.push(Span::new(line.common(end - row.tail_ns), line.common(end), series));
        }
        begin = begin.min(spans[0].start);
        lanes.push(Lane { label: format!("stage {} (rank {})", stage.stage, of.label), spans });
    }
    for span in lanes.iter_mut().flat_map(|lane| &mut lane.spans) {
        (span.start, span.end) = (span.start - begin, span.end - begin);
    }
    let series = vec![Series::new("own work", 0), Series::new("message", 1), Series::new("collective", 2)];
    let chart =
        Chart::new("pipeline", &format!("Pipeline in step {step}"), Mark::Lanes(Lanes { series, lanes }));
    Some(chart.with_x(Axis::of(Unit::Ns)).with_description(
        "The first rank of each stage on the common clock; messages and collectives are shown if nothing computes at the same time.",
    ))
}

/// Bytes between ranks in all-to-all operations.
fn all_to_all(ranks: &Ranks) -> Option<Chart> {
    let members = &ranks.fleet.members;
    let highest = members.iter().map(|member| member.rank).max()? as usize + 1;
    if members.iter().all(|member| member.traffic.is_empty()) {
        return None;
    }
    let size = highest.div_ceil(MOST_CELLS);
    let cells = highest.div_ceil(size);
    let mut values: Vec<Vec<Option<f64>>> = vec![vec![None; cells]; cells];
    for member in members {
        for &(to, bytes) in member.traffic.iter().filter(|(to, _)| (*to as usize) < highest) {
            let cell = &mut values[member.rank as usize / size][to as usize / size];
            *cell = Some(cell.unwrap_or(0.0) + bytes as f64);
        }
    }
    let high = values.iter().flatten().flatten().copied().fold(0.0, f64::max);
    let name = |cell: usize| match size {
        1 => format!("rank {cell}"),
        _ => format!("ranks {}-{}", cell * size, ((cell + 1) * size).min(highest) - 1),
    };
    let names: Vec<String> = (0..cells).map(name).collect();
    let columns = (0..cells).map(|cell| (cell * size).to_string()).collect();
    let heat = Heat { rows: names, columns, values, unit: Unit::Bytes, low: 0.0, high };
    let chart = Chart::new("all_to_all", "All-to-all traffic", Mark::Heat(heat));
    Some(
        chart.with_x(Axis::default().labelled("to rank")).with_description(
            "Bytes that a rank (row) sends to another one (column) in all-to-all operations.",
        ),
    )
}
