//! The tables of `roofline`.

use hw::passes::Plan;
use hw::peaks::Peaks;
use hw::{Level, Pipe};
use report::{Column, Table, Unit, Value};

use super::modelled::Op;
use super::place::{Bound, Placed, Work, place};

/// A kernel with what it did.
pub(super) struct Row {
    pub name: String,
    pub dispatches: i64,
    pub total_ns: i64,
    pub work: Work,
    pub placed: Placed,
}

impl Row {
    fn seconds(&self) -> Option<f64> {
        (self.total_ns > 0).then_some(self.total_ns as f64 / 1e9)
    }

    fn rate(&self, amount: Result<f64, Vec<String>>) -> Value {
        match (amount, self.seconds()) {
            (Err(missing), _) => absent(&missing),
            (Ok(_), None) => Value::absent("the source has no duration"),
            (Ok(amount), Some(seconds)) => Value::Float(amount / seconds / 1e9),
        }
    }
}

pub(super) fn kernels(rows: &[Row]) -> Table {
    let columns = vec![
        Column::text("name"),
        Column::int("dispatches", Unit::None).detail(),
        Column::int("total_ns", Unit::Ns).detail(),
        Column::int("flops", Unit::None),
        Column::int("bytes", Unit::Bytes),
        Column::int("intensity", Unit::None).key(),
        Column::int("gflops", Unit::None),
        Column::int("gbps", Unit::Gbps),
        Column::int("peak_pct", Unit::Pct).key(),
        Column::text("bound"),
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
            amount(hbm()),
            intensity,
            row.rate(row.work.total_flops()),
            row.rate(hbm()),
            row.placed.nearest.map_or_else(
                || Value::absent("no ceiling can be compared with"),
                |(_, share)| Value::Float(share),
            ),
            bound(row),
        ]);
    }
    table
}

fn bound(row: &Row) -> Value {
    let Some(bound) = row.placed.bound else {
        if row.total_ns <= 0 {
            return Value::absent("the source has no duration");
        }
        let mut missing = row.work.total_flops().err().unwrap_or_default();
        missing.extend(row.work.level(Level::Hbm).err().unwrap_or_default());
        return absent(&missing);
    };
    let word = match bound {
        Bound::Compute => "compute".to_owned(),
        Bound::Memory(level) => level.name().to_owned(),
        Bound::Latency => "latency".to_owned(),
    };
    Value::Text(if row.placed.partly { format!("towards {word}") } else { word })
}

/// Modelled ops under the roofs.
pub(super) fn ops(ops: &[Op], ceilings: &Peaks) -> Table {
    let columns = vec![
        Column::text("op"),
        Column::text("shapes"),
        Column::text("type").detail(),
        Column::int("calls", Unit::None).detail(),
        Column::int("total_ns", Unit::Ns),
        Column::int("flops", Unit::None).detail(),
        Column::int("bytes", Unit::Bytes).detail(),
        Column::int("intensity", Unit::None),
        Column::int("gflops", Unit::None),
        Column::int("gbps", Unit::Gbps).detail(),
        Column::int("peak_pct", Unit::Pct).key(),
        Column::text("bound"),
        Column::text("kernel").data(),
    ];
    let mut table = Table::new("ops", "Modelled from shapes", columns);
    for op in ops {
        let row = Row {
            name: op.name.clone(),
            dispatches: op.calls,
            total_ns: op.total_ns,
            work: op.work.clone(),
            placed: place(&op.work, op.total_ns, ceilings),
        };
        let intensity = op.work.intensity(Level::Hbm);
        let share = row.placed.nearest.map(|(_, share)| share);
        table.push(vec![
            Value::Text(row.name.clone()),
            Value::Text(op.shapes.clone()),
            Value::from(op.data_type.name()),
            Value::Int(op.calls),
            Value::Int(op.total_ns),
            amount(op.work.total_flops()),
            amount(op.work.level(Level::Hbm)),
            intensity.map_or_else(|| Value::absent("it moves nothing"), Value::Float),
            row.rate(op.work.total_flops()),
            row.rate(op.work.level(Level::Hbm)),
            share.map_or_else(|| Value::absent("the peaks of this GPU are not known"), Value::Float),
            if share.is_some() { bound(&row) } else { Value::absent("the peaks of this GPU are not known") },
            Value::Text(op.kernel.clone()),
        ]);
    }
    table
}

pub(super) fn levels(rows: &[Row]) -> Table {
    let columns = vec![
        Column::text("name"),
        Column::text("level"),
        Column::int("bytes", Unit::Bytes),
        Column::int("intensity", Unit::None).key(),
        Column::int("gbps", Unit::Gbps).key(),
        Column::int("peak_pct", Unit::Pct).key(),
    ];
    let mut table = Table::new("levels", "Bytes by memory level", columns);
    for row in rows {
        for (&level, &bytes) in &row.work.bytes {
            let share = row.placed.level_pct.get(&level);
            table.push(vec![
                Value::Text(row.name.clone()),
                Value::from(level.name()),
                Value::Float(bytes),
                row.work
                    .intensity(level)
                    .map_or_else(|| Value::absent("operations or bytes are not known"), Value::Float),
                row.rate(Ok(bytes)),
                share.map_or_else(
                    || Value::absent("the bandwidth or the duration is not known"),
                    |share| Value::Float(*share),
                ),
            ]);
        }
    }
    table
}

pub(super) fn types(rows: &[Row]) -> Table {
    let columns = vec![
        Column::text("name"),
        Column::text("type"),
        Column::text("pipe"),
        Column::int("flops", Unit::None).key(),
        Column::int("gflops", Unit::None).key(),
    ];
    let mut table = Table::new("types", "Operations by data type", columns);
    for row in rows {
        for (&(data_type, pipe), &flops) in row.work.flops.iter().filter(|(_, flops)| **flops > 0.0) {
            table.push(vec![
                Value::Text(row.name.clone()),
                Value::from(data_type.name()),
                Value::from(if pipe == Pipe::Vector { "vector" } else { "matrix" }),
                Value::Float(flops),
                row.rate(Ok(flops)),
            ]);
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

/// Counters by pass.
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

/// What is missing for more, once for all kernels.
pub(super) fn remarks(rows: &[Row]) -> Vec<String> {
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
    vec![format!("counters that would tell more were not collected: {}", missing.join(", "))]
}

fn amount(amount: Result<f64, Vec<String>>) -> Value {
    amount.map_or_else(|missing| absent(&missing), Value::Float)
}

fn absent(missing: &[String]) -> Value {
    if missing.is_empty() {
        return Value::absent("there is no formula for this GPU");
    }
    Value::Absent(format!("not collected: {}", missing.join(", ")))
}
