//! The table of kernel resources with their sources.

use crate::base::kernel_column;
use report::{Column, Table, Unit, Value};

use super::KernelUse;
use model::names;

/// Why a number or its origin is absent.
pub(crate) const NOT_RECORDED: &str = "the profiler did not record it and no code object has the kernel";

pub(super) fn table<'a>(kernels: impl IntoIterator<Item = &'a KernelUse>) -> Table {
    let columns = vec![
        kernel_column("name"),
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
    let mut table = Table::new("resources", "Kernel resources and their sources", columns);
    let number = |number: Option<u32>, why: &str| Value::int_or(number.map(i64::from), why);
    let text = |text: &str| if text.is_empty() { Value::absent(NOT_RECORDED) } else { Value::from(text) };
    for kernel in kernels {
        table.push(vec![
            Value::from(names::demangle(&kernel.name).as_ref()),
            text(&kernel.arch_name),
            number(kernel.workgroup, NOT_RECORDED),
            number(kernel.vgpr, NOT_RECORDED),
            number(kernel.agpr, NOT_RECORDED),
            number(kernel.sgpr, NOT_RECORDED),
            number(kernel.lds_bytes, NOT_RECORDED),
            number(kernel.scratch_bytes, NOT_RECORDED),
            number(kernel.spills, "only code objects say"),
            text(kernel.registers_from),
            text(kernel.lds_from),
            text(kernel.scratch_from),
        ]);
    }
    table
}
