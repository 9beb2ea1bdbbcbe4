//! The tables of modelled ops: where they stand, what was measured, and how much of the run they cover.

use hw::Level;
use report::{Column, Finding, Severity, Table, Unit, Value};

use super::joined::JoinedCounters;
use super::modelled::{CoveredTime, ModelCoverage};
use super::place::{Bound, PlacedWork, Work};
use super::tables::{amount, bound, rate};
use super::{ModelledOp, Roofline};
use stats::percent;

const NO_PEAKS: &str = "the peaks of this GPU are not known";

/// Modelled ops under the roofs, with measured work if there are counters.
pub(super) fn ops(ops: &[ModelledOp], with_measured: bool) -> Table {
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
    if with_measured {
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
    for op in ops {
        let least = &op.least;
        let share = least.placed.nearest.map(|(_, share)| share);
        let intensity = least.work.intensity(Level::Hbm);
        let mut cells = vec![
            Value::Text(least.name.clone()),
            Value::Text(op.shapes.clone()),
            op.data_type
                .map_or_else(|| Value::absent("no unit computes in its type"), |of| Value::from(of.name())),
            Value::Int(least.dispatches),
            Value::Int(least.total_ns),
            amount(least.work.total_flops()),
            amount(least.work.level(Level::Hbm)),
            intensity.map_or_else(|| Value::absent("it moves nothing"), Value::Float),
            rate(least, least.work.total_flops()),
            rate(least, least.work.level(Level::Hbm)),
            share.map_or_else(|| Value::absent(NO_PEAKS), Value::Float),
            if share.is_some() { bound(least) } else { Value::absent(NO_PEAKS) },
            least.placed.achievable_pct.map_or_else(
                || Value::absent("it is not known what libraries reach in its type on this GPU"),
                Value::Float,
            ),
            Value::Text(op.kernel.clone()),
        ];
        match &op.measured {
            Some(Ok(measured)) => cells.extend(measured_cells(&least.work, measured)),
            Some(Err(why)) => cells.extend(vec![Value::absent(why); 6]),
            None => {}
        }
        table.push(cells);
    }
    table
}

/// The measured work of an op, and its ratio to the minimum.
fn measured_cells(least: &Work, measured: &PlacedWork) -> Vec<Value> {
    let (flops, bytes) = (measured.work.total_flops(), measured.work.level(Level::Hbm));
    let ratio = |of: &Result<f64, Vec<String>>, least: Result<f64, Vec<String>>, why: &str| match (of, least)
    {
        (Err(_), _) => amount(of.clone()),
        (Ok(of), Ok(least)) if least > 0.0 => Value::Float(of / least),
        _ => Value::absent(why),
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
        ratio(&flops, least.total_flops(), "it has no operations to do"),
        ratio(&bytes, least.level(Level::Hbm), "it has no bytes to move"),
        bound(measured),
    ]
}

/// An op that does this many times its minimum work is worth a finding.
const MORE_THAN_IT_MUST: f64 = 1.5;
/// Ops below this share of the modelled time are not listed.
const LEAST_SHARE_PCT: f64 = 1.0;
/// Most findings.
const MOST: usize = 5;

/// Ops that compute or move much more than they must, most time first.
pub(super) fn findings(roofline: &Roofline) -> Vec<Finding> {
    let mut found = Vec::new();
    for op in &roofline.ops {
        let least = &op.least;
        let share = percent(least.total_ns, roofline.coverage.modelled.total_ns);
        let Some(Ok(PlacedWork { work, placed, .. })) = &op.measured else { continue };
        if share < LEAST_SHARE_PCT || found.len() >= MOST {
            continue;
        }
        let bound_by_memory = matches!(placed.bound, Some(Bound::Memory(Level::Hbm))) && !placed.partly;
        let bound_by_compute = placed.bound == Some(Bound::Compute) && !placed.partly;
        let sides = [
            (
                "excess_traffic",
                "moves",
                "bytes",
                work.level(Level::Hbm),
                least.work.level(Level::Hbm),
                bound_by_memory,
                "keep tiles in caches: swizzle the order of workgroups, larger tiles, or a layout that is read once",
            ),
            (
                "excess_operations",
                "computes",
                "operations",
                work.total_flops(),
                least.work.total_flops(),
                bound_by_compute,
                "less padding: tile sizes that divide the shapes, or another kernel for them",
            ),
        ];
        for (id, verb, what, measured, needed, binds, advice) in sides {
            let (Ok(measured), Ok(needed)) = (measured, needed) else { continue };
            if needed <= 0.0 || measured < MORE_THAN_IT_MUST * needed {
                continue;
            }
            let ratio = measured / needed;
            found.push(Finding {
                id: id.into(),
                severity: if binds && share >= 10.0 { Severity::Medium } else { Severity::Info },
                title: format!("{} {}: {verb} {ratio:.1} times the minimum", least.name, op.shapes),
                evidence: vec![
                    (format!("measured {what}"), Value::Float(measured)),
                    (format!("least {what}"), Value::Float(needed)),
                    ("time_ns".into(), Value::Int(least.total_ns)),
                ],
                // Only work that is bound by it gets faster with less of it.
                gain_ceiling_ns: binds.then(|| (least.total_ns as f64 * (1.0 - 1.0 / ratio)) as i64),
                recommendation: advice.into(),
                next_step: Some(report::NextStep::Bottleneck(op.kernel.clone())),
                ..Finding::default()
            });
        }
    }
    found
}

/// How much of the GPU time is modelled, and what is not.
pub(super) fn coverage(coverage: &ModelCoverage) -> Table {
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

fn parts(coverage: &ModelCoverage) -> [(&'static str, &CoveredTime); 5] {
    [
        ("modelled", &coverage.modelled),
        ("op without a model", &coverage.no_model),
        ("shapes not recorded", &coverage.not_recorded),
        ("replayed from a graph", &coverage.replayed),
        ("not linked to an op", &coverage.no_op),
    ]
}

/// Notes on the models.
pub(super) fn notes(coverage: &ModelCoverage, joined: Option<&JoinedCounters>) -> Vec<String> {
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
            "{:.3} ms of kernel time ({:.1} %) are not modelled because they were replayed from a graph; add a capture trace to get their ops and shapes",
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
