//! Which call launched which GPU work.

use trace::{LinkKind, Table, Trace};

/// No call.
const NONE: u32 = u32::MAX;

/// By row of `kernels` and of `memory_copies`: the row of `regions` of the call that launched it, or `u32::MAX`.
pub(crate) fn launch_rows(trace: &Trace) -> (Vec<u32>, Vec<u32>) {
    let mut kernels = vec![NONE; trace.kernels.len()];
    let mut copies = vec![NONE; trace.memory_copies.len()];
    let links = &trace.links;
    for i in 0..links.len() {
        let (LinkKind::Launch, Some(call)) = (links.kind[i], links.from[i].row_of(Table::Regions)) else {
            continue;
        };
        match links.to[i].get() {
            Some((Table::Kernels, row)) => kernels[row] = call as u32,
            Some((Table::MemoryCopies, row)) => copies[row] = call as u32,
            _ => {}
        }
    }
    (kernels, copies)
}
