//! The tables of `occupancy`.

use crate::base::kernel_column;
use hw::Arch;
use hw::occupancy::{KernelResources, theoretical};
use report::{Column, Note, Remedy, Report, Table, Unit, Value};

use super::achieved::Resident;
use super::{KernelOccupancy, KernelUse, Occupancies, resources, rounded};
use model::names;

/// Adds the tables `kernels` and `gains`, and notes about what is not known.
pub(super) fn fill(report: &mut Report, occupancies: &Occupancies) {
    let kernels = &occupancies.kernels;
    report.notes.extend(occupancies.notes.iter().cloned());
    report.tables.push(occupancies.table());
    let gains = gains(kernels);
    if !gains.rows.is_empty() {
        report.tables.push(gains);
    }
    report.notes.extend(remarks(kernels).into_iter().map(Note::from));
    if kernels.iter().any(|kernel| kernel.used.arch_name.is_empty() && kernel.used.arch().is_none()) {
        report.notes.push(Note::new("the source does not say which GPU some kernels ran on", Remedy::Arch));
    }
}

/// Counters of shorter dispatches say little about their steady state.
const SHORT_NS: i64 = 1_000_000;

impl Occupancies {
    /// The table `kernels`: what each uses, how many of its waves fit and what limits them.
    pub fn table(&self) -> Table {
        kernels(&self.kernels, self.is_of_run)
    }

    /// The table `resources`: what each kernel uses, and the source of each number.
    pub fn resources_table(&self) -> Table {
        resources::table(self.kernels.iter().map(|kernel| &kernel.used))
    }
}

fn kernels(rows: &[KernelOccupancy], of_run: bool) -> Table {
    let mut columns = vec![
        kernel_column("name"),
        Column::text("arch").detail(),
        Column::int("workgroup", Unit::None).detail(),
        Column::int("vgpr", Unit::None),
        Column::int("agpr", Unit::None),
        Column::int("sgpr", Unit::None).detail(),
        Column::int("lds_bytes", Unit::Bytes),
        Column::int("waves_per_simd", Unit::None).key(),
        Column::int("occupancy_pct", Unit::Pct).key(),
        Column::text("limited_by"),
        Column::int("waves_per_cu", Unit::None).data(),
        Column::int("wave_size", Unit::None).data(),
        Column::int("scratch_bytes", Unit::Bytes).data(),
        Column::int("spilled_registers", Unit::None).data(),
        Column::text("registers_from").data(),
    ];
    let counted = rows.iter().any(|row| matches!(row.used.achieved, Some(Ok(_))));
    if of_run {
        let achieved = Column::int("achieved_pct", Unit::Pct);
        let place = columns.iter().position(|column| column.key == "limited_by").unwrap_or(columns.len());
        columns.insert(place, if counted { achieved.key() } else { achieved.data() });
        columns.push(Column::int("achieved_waves_per_cu", Unit::None).data());
        let run = [
            Column::int("calls", Unit::None).detail(),
            Column::int("total_ns", Unit::Ns),
            Column::int("launched_waves_per_cu", Unit::None).data(),
        ];
        columns.splice(1..1, run);
    }
    let title = if counted { "Occupancy, theoretical and achieved" } else { "Theoretical occupancy" };
    let mut table = Table::new("kernels", title, columns);
    for kernel in rows {
        let KernelOccupancy { used, shown_name, fits } = kernel;
        let mut row = Vec::with_capacity(table.columns.len());
        row.push(Value::from(shown_name.as_str()));
        if of_run {
            row.push(Value::Int(used.calls as i64));
            row.push(Value::Int(used.total_ns));
            row.push(float(used.launched_waves_per_cu, "the source does not say grid or compute units"));
        }
        row.push(text(&used.arch_name, "the source does not say"));
        for number in [used.workgroup, used.vgpr, used.agpr, used.sgpr, used.lds_bytes] {
            row.push(int(number, "the source does not say"));
        }
        match fits {
            Ok(occupancy) => {
                row.push(Value::Float(rounded(occupancy.waves_per_simd())));
                row.push(Value::Float(rounded(occupancy.percent())));
                row.extend(achieved(used, |resident| resident.percent));
                row.push(Value::Text(kernel.limited_by().unwrap_or_default()));
                row.push(Value::Float(rounded(occupancy.waves_per_cu())));
                row.push(int(Some(occupancy.wave_size), ""));
            }
            Err(why) => {
                row.extend((0..2).map(|_| Value::absent(why)));
                row.extend(achieved(used, |resident| resident.percent));
                row.extend((0..3).map(|_| Value::absent(why)));
            }
        }
        row.push(int(used.scratch_bytes, "the source does not say"));
        row.push(int(used.spills, "only code objects say"));
        row.push(text(used.registers_from, "the source does not say"));
        row.extend(achieved(used, |resident| resident.waves_per_cu));
        table.push(row);
    }
    table
}

/// A figure of the resident waves; `None` if the source is not a run.
fn achieved(used: &KernelUse, figure: impl Fn(&Resident) -> f64) -> Option<Value> {
    let value = |resident: &Resident| Value::Float(rounded(figure(resident)));
    used.achieved.as_ref().map(|achieved| achieved.as_ref().map_or_else(|why| Value::absent(why), value))
}

fn gains(rows: &[KernelOccupancy]) -> Table {
    let columns = vec![
        kernel_column("name"),
        Column::text("change"),
        Column::int("waves_per_simd", Unit::None).key(),
        Column::int("occupancy_pct", Unit::Pct).key(),
    ];
    let mut table = Table::new("gains", "What lets more waves in", columns);
    for KernelOccupancy { shown_name, fits, .. } in rows {
        let Ok(occupancy) = fits else { continue };
        for gain in &occupancy.gains {
            let changes: Vec<String> = gain.changes.iter().map(ToString::to_string).collect();
            let share = 100.0 * f64::from(gain.waves) / f64::from(occupancy.wave_slots.max(1));
            table.push(vec![
                Value::from(shown_name.as_str()),
                Value::Text(changes.join(" and ")),
                Value::Float(rounded(gain.waves_per_simd)),
                Value::Float(rounded(share)),
            ]);
        }
    }
    table
}

/// Each limit separately, for one kernel.
pub(super) fn limits(arch: &Arch, kernel: &KernelResources) -> Table {
    let occupancy = theoretical(arch, kernel);
    let columns = vec![
        Column::text("limit"),
        Column::int("uses", Unit::None).key(),
        Column::int("allocated", Unit::None).key(),
        Column::int("waves_per_simd", Unit::None).key(),
    ];
    let mut table = Table::new("limits", "Each limit separately", columns);
    let registers = i64::from(kernel.vgpr) + i64::from(kernel.agpr);
    let per_simd = |workgroups: u32| {
        let waves = f64::from(workgroups) * f64::from(occupancy.waves_per_workgroup);
        waves / f64::from(occupancy.simds)
    };
    let mut row = |limit: &str, uses: Value, allocated: Value, waves: Value| {
        table.push(vec![Value::from(limit), uses, allocated, waves]);
    };
    let none = || Value::absent("it limits nothing");
    row(
        "vgpr",
        Value::Int(registers),
        int(Some(occupancy.allocated_vgprs), ""),
        int(Some(occupancy.waves_by_vgpr), ""),
    );
    let scalar =
        if arch.facts.sgpr.waves.is_empty() { none() } else { int(Some(occupancy.waves_by_sgpr), "") };
    row("sgpr", int(Some(kernel.sgpr), ""), Value::absent("given out by the hardware"), scalar);
    let lds = occupancy
        .workgroups_by_lds
        .map_or_else(none, |workgroups| Value::Float(rounded(per_simd(workgroups))));
    row("lds", int(Some(kernel.lds_bytes), ""), int(Some(occupancy.allocated_lds), ""), lds);
    let barriers = if occupancy.waves_per_workgroup > 1 {
        Value::Float(rounded(per_simd(arch.facts.barrier_workgroups_per_cu * occupancy.cus)))
    } else {
        none()
    };
    row("barriers", int(Some(u32::from(occupancy.waves_per_workgroup > 1)), ""), none(), barriers);
    let slots = int(Some(arch.facts.max_waves_per_simd), "");
    row("waves", int(Some(occupancy.waves_per_workgroup), ""), none(), slots);
    table
}

fn remarks(rows: &[KernelOccupancy]) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for why in rows.iter().filter_map(|row| row.fits.as_ref().err()) {
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, count)) => *count += 1,
            None => reasons.push((why, 1)),
        }
    }
    remarks.extend(
        reasons.iter().map(|(why, count)| format!("{count} of {} kernels are left out: {why}", rows.len())),
    );
    for KernelOccupancy { used, fits, .. } in rows {
        if let Some(problem) = fits.as_ref().ok().and_then(|fits| fits.problem.as_ref()) {
            remarks.push(format!("{} cannot be launched: {problem}", names::display_name(&used.name)));
        }
    }
    let brief = |row: &&KernelOccupancy| {
        let mean = row.used.total_ns / row.used.calls.max(1) as i64;
        matches!(row.used.achieved, Some(Ok(_))) && mean < SHORT_NS
    };
    let brief = rows.iter().filter(brief).count();
    if brief > 0 {
        remarks.push(format!(
            "achieved occupancy of {brief} kernels is rough: they take less than 1 ms, of which the counters also see \
             start and end"
        ));
    }
    let small = |row: &&KernelOccupancy| {
        let Ok(occupancy) = &row.fits else { return false };
        row.used.launched_waves_per_cu.is_some_and(|launched| launched < occupancy.waves_per_cu())
    };
    let small: Vec<&KernelOccupancy> = rows.iter().filter(small).collect();
    if !small.is_empty() {
        let time = |rows: &mut dyn Iterator<Item = &KernelOccupancy>| rows.map(|row| row.used.total_ns).sum();
        remarks.push(format!(
            "{} kernels ({:.0} % of kernel time) launch fewer waves than the GPU can hold: their grids are the limit",
            small.len(),
            stats::percent(time(&mut small.iter().copied()), time(&mut rows.iter()))
        ));
    }
    remarks
}

fn int(number: Option<u32>, why: &str) -> Value {
    Value::int_or(number.map(i64::from), why)
}

fn float(number: Option<f64>, why: &str) -> Value {
    number.map_or_else(|| Value::absent(why), |number| Value::Float(rounded(number)))
}

fn text(text: &str, why: &str) -> Value {
    if text.is_empty() { Value::absent(why) } else { Value::from(text) }
}
