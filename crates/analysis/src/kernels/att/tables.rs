//! The tables of thread traces.

use crate::base;
use std::collections::BTreeMap;

use report::{Column, Table, Unit, Value};

use super::TracedKernel;
use super::classes::class_of;

const STATES: [&str; 5] = ["empty", "idle", "executing", "waiting", "stalled"];

fn kernel(trace: &TracedKernel) -> Value {
    Value::from(trace.kernel.as_str())
}

fn share(part: f64, whole: i64) -> Value {
    if whole > 0 { Value::Float(100.0 * part / whole as f64) } else { Value::absent("no cycle was traced") }
}

/// The kernel column; with a single thread trace, rows need not repeat it.
fn kernel_column(traces: &[TracedKernel]) -> Column {
    let column = base::kernel_column("kernel");
    if traces.len() > 1 { column } else { column.detail() }
}

pub(super) fn stalls(traces: &[TracedKernel]) -> Table {
    let columns = vec![
        base::kernel_column("kernel"),
        Column::text("cause"),
        Column::int("cycles", Unit::None).key(),
        Column::int("share_pct", Unit::Pct).key(),
    ];
    let mut table = Table::new("stalls", "Where the cycles of waves went", columns);
    for trace in traces {
        let charged = &trace.cycles;
        let mut causes: Vec<(&str, f64)> =
            charged.causes.iter().map(|(cause, cycles)| (*cause, *cycles)).collect();
        causes.sort_by(|a, b| b.1.total_cmp(&a.1));
        for (cause, cycles) in causes {
            let whole = Value::Int(cycles.round() as i64);
            table.push(vec![kernel(trace), Value::from(cause), whole, share(cycles, charged.total)]);
        }
    }
    table
}

pub(super) fn instructions(traces: &[TracedKernel]) -> Table {
    let columns = vec![
        kernel_column(traces),
        Column::int("address", Unit::Exact).detail(),
        Column::text("instruction"),
        Column::text("source").normal(),
        Column::int("hits", Unit::None),
        Column::int("own_cycles", Unit::None).key(),
        Column::int("stall_cycles", Unit::None).detail(),
        Column::int("charged_cycles", Unit::None).key(),
        Column::int("charged_pct", Unit::Pct).key(),
    ];
    let mut table = Table::new("instructions", "Instructions by the cycles they cost", columns);
    for trace in traces {
        let charged = &trace.cycles;
        let mut order: Vec<usize> =
            (0..charged.lines.len()).filter(|&line| charged.lines[line].own > 0).collect();
        order.sort_by(|&a, &b| charged.lines[b].charged.total_cmp(&charged.lines[a].charged).then(a.cmp(&b)));
        for line in order {
            let (code, cycles) = (&trace.trace.code[line], &charged.lines[line]);
            let (charged_cycles, charged_pct) = if charged.from_waves {
                (Value::Int(cycles.charged.round() as i64), share(cycles.charged, charged.total))
            } else {
                let why = "needs the trace of single waves, not their sums";
                (Value::absent(why), Value::absent(why))
            };
            table.push(vec![
                kernel(trace),
                Value::Int(code.address),
                Value::from(code.isa.as_str()),
                source(&code.source),
                Value::Int(cycles.hits),
                Value::Int(cycles.own),
                Value::Int(cycles.stall),
                charged_cycles,
                charged_pct,
            ]);
        }
    }
    table
}

fn source(text: &str) -> Value {
    if text.is_empty() { Value::absent("the code object has no line information") } else { Value::from(text) }
}

pub(super) fn sources(traces: &[TracedKernel]) -> Table {
    let columns = vec![
        kernel_column(traces),
        Column::text("source"),
        Column::int("instructions", Unit::None),
        Column::int("cycles", Unit::None).key(),
        Column::int("share_pct", Unit::Pct).key(),
    ];
    let mut table = Table::new("sources", "Source lines by the cycles they cost", columns);
    for trace in traces {
        let charged = &trace.cycles;
        let mut lines: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
        for (code, cycles) in trace.trace.code.iter().zip(&charged.lines) {
            if !code.source.is_empty() && cycles.own > 0 {
                let line = lines.entry(&code.source).or_default();
                *line = (line.0 + 1, line.1 + cycles.charged);
            }
        }
        let mut lines: Vec<_> = lines.into_iter().collect();
        lines.sort_by(|a, b| b.1.1.total_cmp(&a.1.1).then_with(|| a.0.cmp(b.0)));
        for (source, (instructions, cycles)) in lines {
            table.push(vec![
                kernel(trace),
                Value::from(source),
                Value::from(instructions),
                Value::Int(cycles.round() as i64),
                share(cycles, charged.total),
            ]);
        }
    }
    table
}

pub(super) fn mix(traces: &[TracedKernel]) -> Table {
    let columns = vec![
        base::kernel_column("kernel").normal(),
        Column::text("class"),
        Column::int("issued", Unit::None).key(),
        Column::int("issued_pct", Unit::Pct).key(),
        Column::int("cycles", Unit::None).key(),
        Column::int("cycles_pct", Unit::Pct).key(),
    ];
    let mut table = Table::new("mix", "Instruction mix", columns);
    for trace in traces {
        let charged = &trace.cycles;
        let mut classes: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
        let mut issued = 0;
        for (code, cycles) in trace.trace.code.iter().zip(&charged.lines) {
            if cycles.hits > 0 {
                let class = classes.entry(&class_of(&code.isa).name).or_default();
                *class = (class.0 + cycles.hits, class.1 + cycles.own);
                issued += cycles.hits;
            }
        }
        let mut classes: Vec<_> = classes.into_iter().collect();
        classes.sort_by_key(|(name, (hits, _))| (std::cmp::Reverse(*hits), *name));
        for (class, (hits, cycles)) in classes {
            table.push(vec![
                kernel(trace),
                Value::from(class),
                Value::Int(hits),
                share(hits as f64, issued),
                Value::Int(cycles),
                share(cycles as f64, charged.total),
            ]);
        }
    }
    table
}

pub(super) fn loads(traces: &[TracedKernel]) -> Table {
    let columns = vec![
        kernel_column(traces),
        Column::text("instruction"),
        Column::text("source").normal(),
        Column::int("waits", Unit::None).key(),
        Column::int("median_cycles", Unit::None).key(),
        Column::int("p90_cycles", Unit::None).key(),
        Column::int("max_cycles", Unit::None),
    ];
    let mut table = Table::new("loads", "From the issue of a load to the end of the wait for it", columns);
    let mut rows: Vec<(i64, Vec<Value>)> = Vec::new();
    for trace in traces {
        let charged = &trace.cycles;
        for (code, cycles) in trace.trace.code.iter().zip(&charged.lines) {
            let mut sorted = cycles.latencies.clone();
            sorted.sort_unstable();
            let Some(&last) = sorted.last() else { continue };
            let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
            let median = at(0.5);
            let row = vec![
                kernel(trace),
                Value::from(code.isa.as_str()),
                source(&code.source),
                Value::from(sorted.len()),
                Value::Int(median),
                Value::Int(at(0.9)),
                Value::Int(last),
            ];
            rows.push((median, row));
        }
    }
    rows.sort_by_key(|(median, _)| std::cmp::Reverse(*median));
    rows.into_iter().for_each(|(_, row)| table.push(row));
    table
}

pub(super) fn states(traces: &[TracedKernel]) -> Table {
    let columns = vec![
        base::kernel_column("kernel"),
        Column::text("state"),
        Column::int("cycles", Unit::None).key(),
        Column::int("share_pct", Unit::Pct).key(),
    ];
    let mut table = Table::new("states", "States of waves", columns);
    for trace in traces {
        let charged = &trace.cycles;
        let whole: i64 = charged.states.iter().sum();
        for (state, &cycles) in STATES.iter().zip(&charged.states) {
            if cycles > 0 {
                table.push(vec![
                    kernel(trace),
                    Value::from(*state),
                    Value::Int(cycles),
                    share(cycles as f64, whole),
                ]);
            }
        }
    }
    table
}
