//! Debug annotations: what is known about a row besides its name and times.

use trace::{LaunchShape, OptI64};

use super::wire::{self, annotation, event};

/// The writer's own names, as in AMD's own Perfetto output if it has them. The index is the id.
pub(super) const OWN: &[&str] = &[
    "",
    "corr_id",
    "dispatch_id",
    "queue",
    "stream_id",
    "tid",
    "kernel_id",
    "grid_size",
    "workgroup_size",
    "LDS_Block_Size",
    "Scratch_Size",
    "VGPR_Count",
    "Accum_VGPR_Count",
    "SGPR_Count",
    "graph",
    "graph_exec_id",
    "graph_node_id",
    "region",
    "copy_bytes",
    "src_agent",
    "dst_agent",
    "ancestor_id",
    "external_id",
    "size",
    "address",
    "level",
    "event",
    "waits_for_stream",
    "collective",
    "process_group",
    "sequence",
    "group_size",
    "dtype",
    "message_bytes",
    "message",
    "sync_stream",
    "sync_event",
    "awaited_id",
];

/// The id of one of these names.
pub(super) const fn own(name: &str) -> u64 {
    let mut i = 1;
    while i < OWN.len() {
        if equal(OWN[i].as_bytes(), name.as_bytes()) {
            return i as u64;
        }
        i += 1;
    }
    panic!("an annotation that has no id");
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// The id of one of [`OWN`], looked up at compile time.
macro_rules! id {
    ($name:literal) => {
        const { $crate::pftrace::annotations::own($name) }
    };
}
pub(super) use id;

/// An annotation with an integer.
#[inline]
pub(super) fn int(out: &mut Vec<u8>, name: u64, value: i64) {
    wire::message(out, event::ANNOTATION, |out| {
        wire::uint(out, annotation::NAME, name);
        wire::int(out, annotation::INT, value);
    });
}

/// An integer annotation, if the number is known.
#[inline]
pub(super) fn some(out: &mut Vec<u8>, name: u64, value: OptI64) {
    if let Some(value) = value.get() {
        int(out, name, value);
    }
}

/// An annotation with a floating-point number.
pub(super) fn double(out: &mut Vec<u8>, name: u64, value: f64) {
    wire::message(out, event::ANNOTATION, |out| {
        wire::uint(out, annotation::NAME, name);
        wire::double(out, annotation::DOUBLE, value);
    });
}

/// An annotation with text.
pub(super) fn text(out: &mut Vec<u8>, name: u64, value: &str) {
    wire::message(out, event::ANNOTATION, |out| {
        wire::uint(out, annotation::NAME, name);
        wire::bytes(out, annotation::TEXT, value.as_bytes());
    });
}

/// An argument as printed by its source: a number if it is one, text without quotes.
pub(super) fn argument(out: &mut Vec<u8>, name: u64, value: &str) {
    match value.as_bytes().first() {
        Some(b'"') => match serde_json::from_str::<String>(value) {
            Ok(plain) => text(out, name, &plain),
            Err(_) => text(out, name, value),
        },
        Some(b'0'..=b'9' | b'-') => match (value.parse::<i64>(), value.parse::<f64>()) {
            (Ok(whole), _) => int(out, name, whole),
            (_, Ok(number)) if number.is_finite() => double(out, name, number),
            _ => text(out, name, value),
        },
        _ => text(out, name, value),
    }
}

/// All annotations of a launch shape, encoded once for all of its dispatches.
pub(super) fn shape(shape: &LaunchShape) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, size) in [(id!("grid_size"), shape.grid), (id!("workgroup_size"), shape.workgroup)] {
        if let Some([x, y, z]) = size {
            let items = u128::from(x) * u128::from(y) * u128::from(z);
            text(&mut out, name, &format!("{items} (x={x}, y={y}, z={z})"));
        }
    }
    for (name, value) in [
        (id!("LDS_Block_Size"), shape.lds_bytes),
        (id!("Scratch_Size"), shape.scratch_bytes),
        (id!("VGPR_Count"), shape.vgpr),
        (id!("Accum_VGPR_Count"), shape.agpr),
        (id!("SGPR_Count"), shape.sgpr),
    ] {
        some(&mut out, name, value);
    }
    out
}
