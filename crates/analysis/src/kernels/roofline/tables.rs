//! The tables of `roofline`.

use crate::base::kernel_column;
use hw::passes::Plan;
use hw::peaks::Peaks;
use hw::{Level, Pipe};
use report::{Column, Table, Unit, Value};

use super::place::PlacedWork;

/// Billions of operations or bytes per second, or why the rate is not known.
pub(super) fn rate(row: &PlacedWork, amount: Result<f64, Vec<String>>) -> Value {
    match (amount, row.seconds()) {
        (Err(missing), _) => absent(&missing),
        (Ok(_), None) => Value::absent("the source has no duration"),
        (Ok(amount), Some(seconds)) => Value::Float(amount / seconds / 1e9),
    }
}

pub(super) fn kernels(rows: &[PlacedWork]) -> Table {
    let columns = vec![
        kernel_column("name"),
        Column::int("dispatches", Unit::None).detail(),
        Column::int("total_ns", Unit::Ns).detail(),
        Column::int("flops", Unit::None),
        Column::int("flops_at_least", Unit::None).detail(),
        Column::int("bytes", Unit::Bytes),
        Column::int("intensity", Unit::None).key(),
        Column::int("gflops", Unit::None),
        Column::int("gbps", Unit::Gbps),
        Column::int("peak_pct", Unit::Pct).key(),
        Column::text("bound"),
        Column::text("nearest").detail(),
        Column::int("compute_pct", Unit::Pct).detail(),
        Column::int("achievable_pct", Unit::Pct).detail(),
        Column::int("compute_peak_gflops", Unit::None).data(),
    ];
    let mut table = Table::new("kernels", "Roofline", columns);
    for row in rows {
        let hbm = || row.work.level(Level::Hbm);
        let intensity = match (row.work.total_flops(), hbm()) {
            (Err(missing), _) | (_, Err(missing)) => absent(&missing),
            (Ok(_), Ok(0.0)) => Value::absent("it moved nothing to or from memory"),
            (Ok(flops), Ok(bytes)) => Value::Float(flops / bytes),
        };
        table.push(vec![
            Value::Text(row.name.clone()),
            Value::Int(row.dispatches),
            Value::Int(row.total_ns),
            amount(row.work.total_flops()),
            row.work.flops_at_least().map_or_else(|| Value::absent(NO_LOWER_BOUND), Value::Float),
            amount(hbm()),
            intensity,
            rate(row, row.work.total_flops()),
            rate(row, hbm()),
            row.placed.nearest.map_or_else(
                || Value::absent("no ceiling can be compared with"),
                |(_, share)| Value::Float(share),
            ),
            bound(row),
            row.placed.nearest.map_or_else(
                || Value::absent("no ceiling can be compared with"),
                |(bound, _)| Value::from(bound.word()),
            ),
            row.placed.compute_pct.map_or_else(
                || row.work.total_flops().map_or_else(|missing| absent(&missing), |_| no_peak()),
                Value::Float,
            ),
            row.placed.achievable_pct.map_or_else(|| Value::absent(NOT_ACHIEVED), Value::Float),
            row.placed
                .compute_peak
                .map_or_else(|| Value::absent(NO_OPERATIONS), |peak| Value::Float(peak / 1e9)),
        ]);
    }
    table
}

const NOT_ACHIEVED: &str = "it is not known what libraries reach in its types on this GPU";
const NO_LOWER_BOUND: &str = "all operations were counted, or none";
const NO_OPERATIONS: &str = "it does no operations, or their peak is not known";

fn no_peak() -> Value {
    Value::absent("the peaks of this GPU are not known")
}

/// What limits a kernel or an op.
pub(super) fn bound(row: &PlacedWork) -> Value {
    if let Some(bound) = row.bound() {
        return Value::Text(bound);
    }
    if row.total_ns <= 0 {
        return Value::absent("the source has no duration");
    }
    let mut missing = row.work.total_flops().err().unwrap_or_default();
    missing.extend(row.work.missing_bytes.values().flatten().cloned());
    missing.sort();
    missing.dedup();
    absent(&missing)
}

pub(super) fn levels(rows: &[PlacedWork], peaks: &Peaks) -> Table {
    let columns = vec![
        kernel_column("name"),
        Column::text("level"),
        Column::int("bytes", Unit::Bytes),
        Column::int("intensity", Unit::None).key(),
        Column::int("gbps", Unit::Gbps).key(),
        Column::int("peak_pct", Unit::Pct).key(),
        Column::int("ceiling_gflops", Unit::None).detail(),
        Column::int("ceiling_pct", Unit::Pct).detail(),
    ];
    let mut table = Table::new("levels", "Bytes by memory level", columns);
    for row in rows {
        for (&level, &bytes) in &row.work.bytes {
            let share = row.placed.level_pct.get(&level);
            let ceiling = ceiling(row, level, peaks);
            let attained =
                row.work.total_flops().ok().zip(row.seconds()).map(|(flops, seconds)| flops / seconds);
            table.push(vec![
                Value::Text(row.name.clone()),
                Value::from(level.name()),
                Value::Float(bytes),
                row.work
                    .intensity(level)
                    .map_or_else(|| Value::absent("operations or bytes are not known"), Value::Float),
                rate(row, Ok(bytes)),
                share.map_or_else(
                    || Value::absent("the bandwidth or the duration is not known"),
                    |share| Value::Float(*share),
                ),
                ceiling.map_or_else(|| Value::absent(NO_ROOF), |roof| Value::Float(roof / 1e9)),
                ceiling.zip(attained).map_or_else(
                    || Value::absent(NO_ROOF),
                    |(roof, attained)| Value::Float(100.0 * attained / roof),
                ),
            ]);
        }
    }
    table
}

const NO_ROOF: &str = "it does no operations, or they, bytes or peaks are not known";

/// The roof above a kernel at a level, in operations per second: compute peak or bandwidth limit.
fn ceiling(row: &PlacedWork, level: Level, peaks: &Peaks) -> Option<f64> {
    let through = row.work.intensity(level)? * peaks.bandwidth(level)?;
    row.placed.compute_peak.map(|peak| peak.min(through))
}

pub(super) fn types(rows: &[PlacedWork], peaks: &Peaks) -> Table {
    let mut columns = vec![
        kernel_column("name"),
        Column::text("type"),
        Column::text("pipe"),
        Column::int("flops", Unit::None).key(),
        Column::int("gflops", Unit::None).key(),
        Column::int("peak_pct", Unit::Pct).key(),
        Column::int("achievable_pct", Unit::Pct),
    ];
    const LEVELS: [Level; 4] = [Level::Hbm, Level::L2, Level::L1, Level::Lds];
    columns.extend(LEVELS.map(|level| Column::int(&format!("{level}_intensity"), Unit::None).detail()));
    let mut table = Table::new("types", "Operations by data type", columns);
    for row in rows {
        for (&(data_type, pipe), &flops) in row.work.flops.iter().filter(|(_, flops)| **flops > 0.0) {
            let attained = row.seconds().map(|seconds| flops / seconds);
            let share = |peak: Option<f64>, why: &str| match attained.zip(peak) {
                Some((attained, peak)) => Value::Float(100.0 * attained / peak),
                None => Value::absent(why),
            };
            let reached = peaks.achievable.get(&data_type).filter(|_| pipe == Pipe::Matrix);
            let mut cells = vec![
                Value::Text(row.name.clone()),
                Value::from(data_type.name()),
                Value::from(if pipe == Pipe::Vector { "vector" } else { "matrix" }),
                Value::Float(flops),
                rate(row, Ok(flops)),
                share(peaks.flops(pipe, data_type), "the peak or the duration is not known"),
                share(reached.map(|peak| peak.per_second), NOT_ACHIEVED),
            ];
            cells.extend(LEVELS.map(|level| match row.work.level(level) {
                Ok(bytes) if bytes > 0.0 => Value::Float(flops / bytes),
                Ok(_) => Value::absent("nothing was moved there"),
                Err(missing) => absent(&missing),
            }));
            table.push(cells);
        }
    }
    table
}

pub(super) fn peaks(peaks: &Peaks) -> Table {
    let columns = vec![
        Column::text("ceiling"),
        Column::int("giga_per_s", Unit::None).key(),
        Column::text("formula").normal(),
    ];
    let mut table = Table::new("peaks", &format!("Ceilings of {}", peaks.device), columns);
    let bytes = peaks.bytes.iter().map(|(level, peak)| (format!("{level} bytes"), peak));
    let vector = peaks.vector.iter().map(|(data_type, peak)| (format!("{data_type} vector"), peak));
    let packed = peaks.packed.iter().map(|(data_type, peak)| (format!("{data_type} vector, packed"), peak));
    let matrix = peaks.matrix.iter().map(|(data_type, peak)| (format!("{data_type} matrix"), peak));
    let achievable =
        peaks.achievable.iter().map(|(data_type, peak)| (format!("{data_type} achievable"), peak));
    for (name, peak) in bytes.chain(vector).chain(packed).chain(matrix).chain(achievable) {
        table.push(vec![
            Value::Text(name),
            Value::Float(peak.per_second / 1e9),
            Value::Text(peak.formula.clone()),
        ]);
    }
    table
}

/// The table of counters by pass.
pub(super) fn passes(plan: &Plan, arch: &str) -> Table {
    let columns = vec![
        Column::int("pass", Unit::None).key(),
        Column::text("counter"),
        Column::text("meaning").normal(),
    ];
    let mut table = Table::new("counters", "Counters of a roofline", columns);
    for (at, pass) in plan.passes.iter().enumerate() {
        for name in &pass.counters {
            let meaning = hw::counters::find(arch, name).map_or("", |counter| counter.meaning.as_str());
            table.push(vec![Value::from(at + 1), Value::from(name.as_str()), Value::from(meaning)]);
        }
    }
    table
}

/// What is missing for more figures, once for all kernels.
pub(super) fn remarks(rows: &[PlacedWork]) -> Vec<String> {
    let mut missing: Vec<String> = rows
        .iter()
        .flat_map(|row| {
            let flops = row.work.total_flops().err().unwrap_or_default();
            let bytes = row.work.missing_bytes.values().flatten().cloned();
            flops.into_iter().chain(bytes).collect::<Vec<_>>()
        })
        .collect();
    missing.sort();
    missing.dedup();
    if missing.is_empty() {
        return Vec::new();
    }
    vec![format!("collect these counters for more: {}", missing.join(", "))]
}

pub(super) fn amount(amount: Result<f64, Vec<String>>) -> Value {
    amount.map_or_else(|missing| absent(&missing), Value::Float)
}

fn absent(missing: &[String]) -> Value {
    if missing.is_empty() {
        return Value::absent("there is no formula for this GPU");
    }
    Value::Absent(format!("not collected: {}", missing.join(", ")))
}
