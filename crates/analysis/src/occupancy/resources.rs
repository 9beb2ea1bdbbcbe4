//! The table of what kernels use, with who says so.

use report::{Column, Table, Unit, Value};

use super::Subject;
use model::names;

pub(super) fn table(subjects: &[Subject]) -> Table {
    let columns = vec![
        Column::text("name"),
        Column::text("arch").detail(),
        Column::int("workgroup", Unit::None).detail(),
        Column::int("vgpr", Unit::None),
        Column::int("agpr", Unit::None),
        Column::int("sgpr", Unit::None),
        Column::int("lds_bytes", Unit::Bytes),
        Column::int("scratch_bytes", Unit::Bytes).detail(),
        Column::int("spilled_registers", Unit::None).detail(),
        Column::text("registers_from"),
        Column::text("lds_from").detail(),
        Column::text("scratch_from").data(),
    ];
    let mut table = Table::new("resources", "What kernels use, and who says so", columns);
    let not_recorded = "the profiler did not record it and no code object has the kernel";
    let number = |number: Option<u32>, why: &str| Value::int_or(number.map(i64::from), why);
    let text = |text: &str| if text.is_empty() { Value::absent(not_recorded) } else { Value::from(text) };
    for subject in subjects {
        table.push(vec![
            Value::from(names::demangle(&subject.name).as_ref()),
            text(&subject.arch_name),
            number(subject.workgroup, not_recorded),
            number(subject.vgpr, not_recorded),
            number(subject.agpr, not_recorded),
            number(subject.sgpr, not_recorded),
            number(subject.lds_bytes, not_recorded),
            number(subject.scratch_bytes, not_recorded),
            number(subject.spills, "only code objects say"),
            text(subject.registers_from),
            text(subject.lds_from),
            text(subject.scratch_from),
        ]);
    }
    table
}
