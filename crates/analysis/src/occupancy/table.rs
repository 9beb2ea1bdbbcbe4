//! The tables of `occupancy`.

use std::borrow::Cow;
use std::rc::Rc;

use hw::Arch;
use hw::occupancy::{KernelResources, Occupancy, theoretical};
use report::{Column, Note, Remedy, Report, Table, Unit, Value};
use trace::Map;

use super::Subject;
use super::achieved::Resident;
use model::names;

/// A row: a kernel, its name for people, and how many of its waves fit or why that is not known.
struct Line<'a> {
    subject: &'a Subject,
    name: Cow<'a, str>,
    fits: Result<Rc<Occupancy>, String>,
}

/// Adds the tables `kernels` and `gains`, and remarks about what could not be told.
pub(super) fn fill(report: &mut Report, subjects: &[Subject], from_trace: bool) {
    // Libraries have thousands of kernels with few different needs.
    let mut known = Map::default();
    let lines: Vec<Line> = subjects
        .iter()
        .map(|subject| Line {
            subject,
            name: names::demangle(&subject.name),
            fits: work_out(subject, &mut known),
        })
        .collect();
    report.tables.push(kernels(&lines, from_trace));
    let gains = gains(&lines);
    if !gains.rows.is_empty() {
        report.tables.push(gains);
    }
    report.notes.extend(remarks(&lines).into_iter().map(Note::from));
    if lines.iter().any(|line| line.subject.arch_name.is_empty() && line.subject.arch().is_none()) {
        report.notes.push(Note::new("the source does not say which GPU some kernels ran on", Remedy::Arch));
    }
}

/// Counters of shorter dispatches tell little about the waves in their midst.
const SHORT_NS: i64 = 1_000_000;

type Known = Map<(&'static str, KernelResources), Rc<Occupancy>>;

fn work_out(subject: &Subject, known: &mut Known) -> Result<Rc<Occupancy>, String> {
    let arch = match (subject.arch(), subject.arch_name.as_str()) {
        (Some(arch), _) => arch,
        (None, "") => return Err("the source does not say which GPU it ran on".into()),
        (None, name) => return Err(format!("{name} is not among the known architectures")),
    };
    let kernel = subject.resources()?;
    let key = (arch.name.as_str(), kernel);
    Ok(Rc::clone(known.entry(key).or_insert_with(|| Rc::new(theoretical(arch, &kernel)))))
}

fn kernels(lines: &[Line], from_trace: bool) -> Table {
    let mut columns = vec![
        Column::text("name"),
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
    let counted = lines.iter().any(|line| matches!(line.subject.achieved, Some(Ok(_))));
    if from_trace {
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
    for Line { subject, name, fits } in lines {
        let mut row = Vec::with_capacity(table.columns.len());
        row.push(Value::from(name.as_ref()));
        if from_trace {
            row.push(Value::Int(subject.calls as i64));
            row.push(Value::Int(subject.total_ns));
            row.push(float(subject.launched_waves_per_cu, "the source does not say grid or compute units"));
        }
        row.push(text(&subject.arch_name, "the source does not say"));
        for number in [subject.workgroup, subject.vgpr, subject.agpr, subject.sgpr, subject.lds_bytes] {
            row.push(int(number, "the source does not say"));
        }
        match fits {
            Ok(occupancy) => {
                row.push(Value::Float(rounded(occupancy.waves_per_simd())));
                row.push(Value::Float(rounded(occupancy.percent())));
                row.extend(achieved(subject, |resident| resident.percent));
                row.push(Value::Text(limits_text(occupancy)));
                row.push(Value::Float(rounded(occupancy.waves_per_cu())));
                row.push(int(Some(occupancy.wave_size), ""));
            }
            Err(why) => {
                row.extend((0..2).map(|_| Value::absent(why)));
                row.extend(achieved(subject, |resident| resident.percent));
                row.extend((0..3).map(|_| Value::absent(why)));
            }
        }
        row.push(int(subject.scratch_bytes, "the source does not say"));
        row.push(int(subject.spills, "only code objects say"));
        row.push(text(subject.registers_from, "the source does not say"));
        row.extend(achieved(subject, |resident| resident.waves_per_cu));
        table.push(row);
    }
    table
}

/// A figure of the waves that were resident; nothing where the source is no run.
fn achieved(subject: &Subject, figure: impl Fn(&Resident) -> f64) -> Option<Value> {
    let value = |resident: &Resident| Value::Float(rounded(figure(resident)));
    subject.achieved.as_ref().map(|achieved| achieved.as_ref().map_or_else(|why| Value::absent(why), value))
}

fn gains(lines: &[Line]) -> Table {
    let columns = vec![
        Column::text("name"),
        Column::text("change"),
        Column::int("waves_per_simd", Unit::None).key(),
        Column::int("occupancy_pct", Unit::Pct).key(),
    ];
    let mut table = Table::new("gains", "What lets more waves in", columns);
    for Line { name, fits, .. } in lines {
        let Ok(occupancy) = fits else { continue };
        for gain in &occupancy.gains {
            let changes: Vec<String> = gain.changes.iter().map(ToString::to_string).collect();
            let share = 100.0 * f64::from(gain.waves) / f64::from(occupancy.wave_slots.max(1));
            table.push(vec![
                Value::from(name.as_ref()),
                Value::Text(changes.join(" and ")),
                Value::Float(rounded(gain.waves_per_simd)),
                Value::Float(rounded(share)),
            ]);
        }
    }
    table
}

/// Each limit by itself, for one kernel.
pub(super) fn limits(arch: &Arch, kernel: &KernelResources) -> Table {
    let occupancy = theoretical(arch, kernel);
    let columns = vec![
        Column::text("limit"),
        Column::int("uses", Unit::None).key(),
        Column::int("allocated", Unit::None).key(),
        Column::int("waves_per_simd", Unit::None).key(),
    ];
    let mut table = Table::new("limits", "Each limit by itself", columns);
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

fn remarks(lines: &[Line]) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for why in lines.iter().filter_map(|line| line.fits.as_ref().err()) {
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, count)) => *count += 1,
            None => reasons.push((why, 1)),
        }
    }
    remarks.extend(
        reasons.iter().map(|(why, count)| format!("{count} of {} kernels are left out: {why}", lines.len())),
    );
    for Line { subject, fits, .. } in lines {
        if let Some(problem) = fits.as_ref().ok().and_then(|fits| fits.problem.as_ref()) {
            remarks.push(format!("{} cannot be launched: {problem}", names::display_name(&subject.name)));
        }
    }
    let brief = |line: &&Line| {
        let mean = line.subject.total_ns / line.subject.calls.max(1) as i64;
        matches!(line.subject.achieved, Some(Ok(_))) && mean < SHORT_NS
    };
    let brief = lines.iter().filter(brief).count();
    if brief > 0 {
        remarks.push(format!(
            "achieved occupancy of {brief} kernels is rough: they take less than 1 ms, of which the counters also see \
             start and end"
        ));
    }
    let small = |line: &&Line| {
        let Ok(occupancy) = &line.fits else { return false };
        line.subject.launched_waves_per_cu.is_some_and(|launched| launched < occupancy.waves_per_cu())
    };
    let small: Vec<&Line> = lines.iter().filter(small).collect();
    if !small.is_empty() {
        let time = |lines: &mut dyn Iterator<Item = &Line>| lines.map(|line| line.subject.total_ns).sum();
        remarks.push(format!(
            "{} kernels ({:.0} % of kernel time) launch fewer waves than the GPU can hold: their grids are the limit",
            small.len(),
            stats::percent(time(&mut small.iter().copied()), time(&mut lines.iter()))
        ));
    }
    remarks
}

fn limits_text(occupancy: &Occupancy) -> String {
    let words: Vec<&str> = occupancy.limited_by.iter().map(|limiter| limiter.name()).collect();
    words.join(" ")
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

/// Enough digits for any share of waves.
fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}
