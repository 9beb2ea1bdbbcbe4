//! The tables of modelled ops: where they stand, what was measured of them, and how much of the run they are.

use hw::Level;
use hw::peaks::Peaks;
use report::{Column, Finding, Severity, Table, Unit, Value};

use super::joined::{Joined, Measured};
use super::modelled::{Coverage, Modelled, Op, Part};
use super::place::{Bound, place};
use super::tables::{Row, amount, bound};
use stats::percent;

const NO_PEAKS: &str = "the peaks of this GPU are not known";

/// An op under the roofs, as its model has it.
pub(super) fn row_of(op: &Op, ceilings: &Peaks) -> Row {
    let placed = place(&op.work, op.total_ns, ceilings);
    let work = op.work.clone();
    Row { name: op.name.clone(), dispatches: op.calls, total_ns: op.total_ns, work, placed }
}

/// Modelled ops under the roofs, with what was measured of them where counters are there.
pub(super) fn ops(modelled: &Modelled, joined: Option<&Joined>, ceilings: &Peaks) -> Table {
    let mut columns = vec![
        Column::text("op"),
        Column::text("shapes"),
        Column::text("type").detail(),
        Column::int("calls", Unit::None).detail(),
        Column::int("total_ns", Unit::Ns),
        Column::int("flops", Unit::None).detail(),
        Column::int("bytes", Unit::Bytes).detail(),
        Column::int("intensity", Unit::None),
        Column::int("gflops", Unit::None).detail(),
        Column::int("gbps", Unit::Gbps).detail(),
        Column::int("peak_pct", Unit::Pct).key(),
        Column::text("bound"),
        Column::int("achievable_pct", Unit::Pct).detail(),
        Column::text("kernel").data(),
    ];
    if joined.is_some() {
        columns.extend([
            Column::int("measured_flops", Unit::None).detail(),
            Column::int("measured_bytes", Unit::Bytes).detail(),
            Column::int("measured_intensity", Unit::None).detail(),
            Column::int("flops_ratio", Unit::None).detail(),
            Column::int("bytes_ratio", Unit::None).key(),
            Column::text("measured_bound").detail(),
        ]);
    }
    let mut table = Table::new("ops", "Modelled from shapes", columns);
    for (at, op) in modelled.ops.iter().enumerate() {
        let row = row_of(op, ceilings);
        let share = row.placed.nearest.map(|(_, share)| share);
        let mut cells = vec![
            Value::Text(op.name.clone()),
            Value::Text(op.model.shapes.clone()),
            op.model
                .data_type
                .map_or_else(|| Value::absent("no unit computes in its type"), |of| Value::from(of.name())),
            Value::Int(op.calls),
            Value::Int(op.total_ns),
            amount(op.work.total_flops()),
            amount(op.work.level(Level::Hbm)),
            op.work.intensity(Level::Hbm).map_or_else(|| Value::absent("it moves nothing"), Value::Float),
            row.rate(op.work.total_flops()),
            row.rate(op.work.level(Level::Hbm)),
            share.map_or_else(|| Value::absent(NO_PEAKS), Value::Float),
            if share.is_some() { bound(&row) } else { Value::absent(NO_PEAKS) },
            row.placed.achievable_pct.map_or_else(
                || Value::absent("it is not known what libraries reach in its type on this GPU"),
                Value::Float,
            ),
            Value::Text(op.kernel.clone()),
        ];
        if let Some(joined) = joined {
            cells.extend(measured(op, &joined.ops[at], ceilings));
        }
        table.push(cells);
    }
    table
}

/// What was measured of an op, and how much more that is than it must be.
fn measured(op: &Op, measured: &Measured, ceilings: &Peaks) -> Vec<Value> {
    let work = match measured {
        Ok(work) => work,
        Err(why) => return vec![Value::absent(why); 6],
    };
    let (flops, bytes) = (work.total_flops(), work.level(Level::Hbm));
    let ratio = |of: &Result<f64, Vec<String>>, least: Result<f64, Vec<String>>, why: &str| match (of, least)
    {
        (Err(_), _) => amount(of.clone()),
        (Ok(of), Ok(least)) if least > 0.0 => Value::Float(of / least),
        _ => Value::absent(why),
    };
    let row = Row {
        name: op.name.clone(),
        dispatches: op.calls,
        total_ns: op.total_ns,
        placed: place(work, op.total_ns, ceilings),
        work: work.clone(),
    };
    let intensity = match (&flops, &bytes) {
        (Err(missing), _) | (_, Err(missing)) => amount(Err(missing.clone())),
        (Ok(flops), Ok(bytes)) if *bytes > 0.0 => Value::Float(flops / bytes),
        _ => Value::absent("it moved nothing to or from memory"),
    };
    vec![
        amount(flops.clone()),
        amount(bytes.clone()),
        intensity,
        ratio(&flops, op.work.total_flops(), "it has no operations to do"),
        ratio(&bytes, op.work.level(Level::Hbm), "it has no bytes to move"),
        bound(&row),
    ]
}

/// From this many times the least on, an op is worth a finding.
const MORE_THAN_IT_MUST: f64 = 1.5;
/// Of ops below this share of the modelled time nothing is said.
const LEAST_SHARE_PCT: f64 = 1.0;
/// Most findings.
const MOST: usize = 5;

/// Ops that compute or move much more than they must, those with most time first.
pub(super) fn findings(modelled: &Modelled, joined: &Joined, ceilings: &Peaks) -> Vec<Finding> {
    let mut found = Vec::new();
    for (op, measured) in modelled.ops.iter().zip(&joined.ops) {
        let share = percent(op.total_ns, modelled.coverage.modelled.total_ns);
        let Ok(work) = measured else { continue };
        if share < LEAST_SHARE_PCT || found.len() >= MOST {
            continue;
        }
        let placed = place(work, op.total_ns, ceilings);
        let bound_by_memory = matches!(placed.bound, Some(Bound::Memory(Level::Hbm))) && !placed.partly;
        let bound_by_compute = placed.bound == Some(Bound::Compute) && !placed.partly;
        let sides = [
            (
                "excess_traffic",
                "moves",
                "bytes",
                work.level(Level::Hbm),
                op.work.level(Level::Hbm),
                bound_by_memory,
                "keep tiles in caches: swizzle the order of workgroups, larger tiles, or a layout that is read once",
            ),
            (
                "excess_operations",
                "computes",
                "operations",
                work.total_flops(),
                op.work.total_flops(),
                bound_by_compute,
                "less padding: tile sizes that divide the shapes, or another kernel for them",
            ),
        ];
        for (id, verb, what, measured, least, binds, advice) in sides {
            let (Ok(measured), Ok(least)) = (measured, least) else { continue };
            if least <= 0.0 || measured < MORE_THAN_IT_MUST * least {
                continue;
            }
            let ratio = measured / least;
            found.push(Finding {
                id: id.into(),
                severity: if binds && share >= 10.0 { Severity::Medium } else { Severity::Info },
                title: format!("{} {}: {verb} {ratio:.1} times what it must", op.name, op.model.shapes),
                evidence: vec![
                    (format!("measured {what}"), Value::Float(measured)),
                    (format!("least {what}"), Value::Float(least)),
                    ("time_ns".into(), Value::Int(op.total_ns)),
                ],
                // Only what is bound by it becomes faster with less of it.
                gain_ceiling_ns: binds.then(|| (op.total_ns as f64 * (1.0 - 1.0 / ratio)) as i64),
                recommendation: advice.into(),
                next_step: Some(report::NextStep::Bottleneck(op.kernel.clone())),
                ..Finding::default()
            });
        }
    }
    found
}

/// How much of the GPU time is modelled, and what is not.
pub(super) fn coverage(coverage: &Coverage) -> Table {
    let columns = vec![
        Column::text("part"),
        Column::int("total_ns", Unit::Ns).key(),
        Column::int("share_pct", Unit::Pct).key(),
        Column::text("examples").normal(),
    ];
    let mut table = Table::new("coverage", "How much is modelled", columns);
    let whole = coverage.total_ns();
    for (name, part) in parts(coverage) {
        table.push(vec![
            Value::from(name),
            Value::Int(part.total_ns),
            Value::Float(percent(part.total_ns, whole)),
            Value::Text(part.examples.join(", ")),
        ]);
    }
    table
}

fn parts(coverage: &Coverage) -> [(&'static str, &Part); 5] {
    [
        ("modelled", &coverage.modelled),
        ("op without a model", &coverage.no_model),
        ("shapes not recorded", &coverage.not_recorded),
        ("replayed from a graph", &coverage.replayed),
        ("not linked to an op", &coverage.no_op),
    ]
}

/// What a reader should know of the models.
pub(super) fn notes(coverage: &Coverage, joined: Option<&Joined>) -> Vec<String> {
    let whole = coverage.total_ns();
    let mut notes = Vec::new();
    if coverage.modelled.total_ns > 0 {
        notes.push(format!(
            "{:.1} % of kernel time is modelled (table `coverage`)",
            percent(coverage.modelled.total_ns, whole)
        ));
    }
    if coverage.replayed.total_ns > 0 {
        notes.push(format!(
            "{:.3} ms of kernel time ({:.1} %) are not modelled because they were replayed from a graph and no capture tells their ops and shapes",
            coverage.replayed.total_ns as f64 / 1e6,
            percent(coverage.replayed.total_ns, whole)
        ));
    }
    if let Some(joined) = joined.filter(|joined| joined.other_run) {
        let mut note = format!(
            "counters are of another run, joined by kernel name and launch size: {} of {} kernels of modelled ops were counted",
            joined.counted, joined.kernels
        );
        if !joined.uncounted.is_empty() {
            let shown: Vec<&str> = joined.uncounted.iter().take(3).map(String::as_str).collect();
            let more = joined.uncounted.len() - shown.len();
            note.push_str(&format!("; not {}", shown.join(", ")));
            if more > 0 {
                note.push_str(&format!(" and {more} more"));
            }
        }
        notes.push(note);
    }
    notes
}
