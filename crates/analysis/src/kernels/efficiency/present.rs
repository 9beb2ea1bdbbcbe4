//! The report of `efficiency`.

use report::chart::{Axis, Chart, Mark, Step};
use report::{Column, HealthCheck, HealthStatus, Report, Table, Unit, Value, show};
use trace::Trace;

use super::part::{Parts, WaterfallStep};
use super::result::Efficiency;
use super::{ClockEvidence, reached_pct};
use crate::base;
use stats::percent;

/// Name of the main table and of its chart.
pub const EFFICIENCY: &str = "efficiency";

/// The whole report; tables without rows are left out.
pub fn present(trace: &Trace, efficiency: &Efficiency) -> Report {
    let mut report = base::report("efficiency", trace);
    report.tables = vec![
        waterfall(efficiency),
        stages(efficiency),
        kernels(efficiency),
        gpus(trace, efficiency),
        steps(efficiency),
        unmeasured(efficiency),
    ];
    report.tables.retain(|table| !table.rows.is_empty());
    report.charts.extend(chart(efficiency));
    report.notes = efficiency.notes.clone();
    report.notes.extend(clock_note(&efficiency.clock).map(Into::into));
    report.health.extend(impossible_clock(&efficiency.clock));
    report
}

/// What each part means.
fn meaning(part: WaterfallStep) -> &'static str {
    match part {
        WaterfallStep::AtPeak => "what the work takes at the GPU's peak rates",
        WaterfallStep::Clock => "what a GPU at its peak clock would save",
        WaterfallStep::Quantisation => "tiles and rounds that are not full",
        WaterfallStep::Compute => "arithmetic units that do less than they can",
        WaterfallStep::Memory => "memory that moves less than it can",
        WaterfallStep::NotMeasured => "kernels whose work is not known",
        WaterfallStep::Communication => "communication that no computation hides",
        WaterfallStep::Copies => "copies that nothing hides",
        WaterfallStep::Launch => "the GPU waits for launches",
        WaterfallStep::Host => "the GPU waits for the host",
        WaterfallStep::Idle => "no work for another reason",
    }
}

/// The table `efficiency`: the parts of all GPUs together, which add up to their spans.
pub fn waterfall(efficiency: &Efficiency) -> Table {
    let columns = vec![
        Column::text("part").key(),
        Column::int("total_ns", Unit::Ns).key(),
        Column::int("share_pct", Unit::Pct).key(),
        Column::text("meaning"),
    ];
    let mut table = Table::new(EFFICIENCY, "From the peak down: where the GPU time goes", columns);
    let all = efficiency.total();
    if all.total() > 0 {
        for part in WaterfallStep::ALL {
            let ns = all.get(part);
            let (time, share) = match efficiency.not_known(part) {
                Some(why) => (Value::absent(why), Value::absent(why)),
                None => (Value::Int(ns), Value::Float(percent(ns, all.total()))),
            };
            table.push(vec![Value::from(part.name()), time, share, Value::from(meaning(part))]);
        }
    }
    table
}

/// A column without any known value appears only in JSON and CSV: the main table says why.
fn part_columns(efficiency: &Efficiency) -> Vec<Column> {
    let column = |part: WaterfallStep| {
        let column = Column::int(part.key(), Unit::Ns);
        match part {
            _ if efficiency.not_known(part).is_some() => column.data(),
            WaterfallStep::AtPeak
            | WaterfallStep::Clock
            | WaterfallStep::Quantisation
            | WaterfallStep::NotMeasured => column,
            _ => column.detail(),
        }
    };
    let reached = Column::int("efficiency_pct", Unit::Pct);
    let is_known = efficiency.not_known(WaterfallStep::AtPeak).is_none();
    let reached = if is_known { reached.key() } else { reached.data() };
    let mut columns = vec![Column::int("span_ns", Unit::Ns).key(), reached];
    columns.extend(WaterfallStep::ALL.map(column));
    columns
}

fn part_cells(efficiency: &Efficiency, all: &Parts, parts: &Parts) -> impl Iterator<Item = Value> {
    let reached = match efficiency.not_known_of(all, WaterfallStep::AtPeak) {
        Some(why) => Value::absent(why),
        None if parts.total() == 0 => Value::absent("it takes no time"),
        None => Value::Float(reached_pct(parts)),
    };
    let cell = |part: WaterfallStep| match efficiency.not_known_of(all, part) {
        Some(why) => Value::absent(why),
        None => Value::Int(parts.get(part)),
    };
    [Value::Int(parts.total()), reached].into_iter().chain(WaterfallStep::ALL.map(cell))
}

fn gpus(trace: &Trace, efficiency: &Efficiency) -> Table {
    let mut columns = vec![Column::int("rank", Unit::Exact).key(), Column::int("agent", Unit::Exact).key()];
    columns.extend(part_columns(efficiency));
    let mut table = Table::new("efficiency_gpus", "Efficiency by GPU", columns);
    let all = efficiency.total();
    for gpu in &efficiency.gpus {
        let mut cells = vec![base::rank_of(gpu.rank), base::agent_of(trace, gpu.agent)];
        cells.extend(part_cells(efficiency, &all, &gpu.parts));
        table.push(cells);
    }
    table
}

fn stages(efficiency: &Efficiency) -> Table {
    let mut columns = vec![Column::text("stage").key()];
    columns.extend(part_columns(efficiency));
    let mut table = Table::new("efficiency_stages", "Efficiency by stage", columns);
    let all = efficiency.total();
    for stage in &efficiency.stages {
        table.push(
            std::iter::once(Value::from(stage.stage))
                .chain(part_cells(efficiency, &all, &stage.parts))
                .collect(),
        );
    }
    table
}

fn steps(efficiency: &Efficiency) -> Table {
    let mut columns = vec![Column::int("step", Unit::Exact).key()];
    columns.extend(part_columns(efficiency));
    let mut table = Table::new("efficiency_steps", "Efficiency by step", columns).detail();
    if efficiency.steps.iter().all(|step| step.number.is_none()) {
        return table;
    }
    let all = efficiency.total();
    for step in &efficiency.steps {
        let number = Value::int_or(step.number.map(i64::from), "work outside steps");
        table.push(std::iter::once(number).chain(part_cells(efficiency, &all, &step.parts)).collect());
    }
    table
}

fn kernels(efficiency: &Efficiency) -> Table {
    let mut columns = vec![base::kernel_column("name").key(), Column::int("calls", Unit::None)];
    columns.extend(part_columns(efficiency));
    let mut table =
        Table::new("efficiency_kernels", "Efficiency by kernel, with the gaps before it", columns);
    let all = efficiency.total();
    for kernel in &efficiency.kernels {
        let mut cells = vec![Value::from(kernel.name.as_str()), Value::from(kernel.calls)];
        cells.extend(part_cells(efficiency, &all, &kernel.parts));
        table.push(cells);
    }
    table
}

fn unmeasured(efficiency: &Efficiency) -> Table {
    let columns = vec![
        Column::text("why").key(),
        Column::int("calls", Unit::None),
        Column::int("total_ns", Unit::Ns).key(),
        Column::text("collect").key(),
    ];
    let mut table =
        Table::new("not_measured", "Kernels that could not be split, and what to collect", columns);
    for row in &efficiency.unmeasured {
        table.push(vec![
            Value::from(row.why),
            Value::from(row.calls),
            Value::Int(row.total_ns),
            Value::from(row.collect),
        ]);
    }
    table
}

/// The waterfall: from the work at peak up to the span.
fn chart(efficiency: &Efficiency) -> Option<Chart> {
    let all = efficiency.total();
    let total = all.total();
    if total == 0 {
        return None;
    }
    let step = |label: &str, ns: i64, is_total: bool| Step {
        label: label.into(),
        value: ns as f64,
        total: is_total,
        tip: format!("{label}: {}, {:.1} % of the span", show(&Value::Int(ns), Unit::Ns), percent(ns, total)),
    };
    if efficiency.not_known(WaterfallStep::AtPeak).is_some() {
        return None;
    }
    let at_peak = WaterfallStep::AtPeak;
    let mut steps = vec![step(at_peak.name(), all.get(at_peak), true)];
    let lost = WaterfallStep::ALL.into_iter().filter(|&part| part != at_peak && all.get(part) > 0);
    steps.extend(lost.map(|part| step(part.name(), all.get(part), false)));
    steps.push(step("span", total, true));
    let chart = Chart::new(EFFICIENCY, "From the peak to what was reached", Mark::Waterfall(steps))
        .with_x(Axis::of(Unit::Ns).labelled("GPU time"))
        .with_description(
            "The first bar is what the work takes at the GPU's peak. Each further bar is lost to one cause. \
             Together they are the span of all GPUs.",
        );
    Some(chart)
}

fn clock_note(clock: &ClockEvidence) -> Option<String> {
    let peak = clock.peak_mhz?;
    Some(match clock.mean_mhz {
        Some(mean) => {
            let from = match (clock.samples, clock.dispatches) {
                (samples, 0) => format!("{samples} samples"),
                (0, dispatches) => format!("the cycles of {dispatches} dispatches"),
                (samples, dispatches) => format!("{samples} samples and the cycles of {dispatches} dispatches"),
            };
            format!("kernels ran at {mean:.0} MHz on average (peak {peak:.0} MHz), from {from}")
        }
        None => "the clock was not recorded, so `clock below peak` is part of what is lost below the roofs: sample clocks \
                 while you collect to split it"
            .into(),
    })
}

fn impossible_clock(clock: &ClockEvidence) -> Option<HealthCheck> {
    let peak = clock.peak_mhz.filter(|_| clock.impossible > 0)?;
    Some(HealthCheck {
        id: "impossible_clock".into(),
        status: HealthStatus::Warn,
        value: Some(clock.impossible_mhz / 1000.0),
        message: format!(
            "{} clocks of up to {:.1} GHz were not used: the GPU reaches {:.1}",
            clock.impossible,
            clock.impossible_mhz / 1000.0,
            peak / 1000.0
        ),
    })
}
