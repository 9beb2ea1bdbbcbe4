//! The cells of rocprofv3's CSV files: every column by name, for the columns of every release.

use trace::{AgentId, GraphNode, OptI64, RowRef, Table, Trace};

use super::csv::AgentIndex;
use super::words;
use crate::torch::int;

/// Row `i` of the file's table; the counter file has a separate index.
pub(super) struct Row<'a> {
    pub trace: &'a Trace,
    pub i: usize,
    pub counter: Option<(trace::StrId, f64)>,
    /// Older releases write agents as plain numbers.
    pub bare_agents: bool,
    pub agents: AgentIndex,
}

/// Appends one cell.
pub(super) type Cell = fn(&mut Vec<u8>, &Row<'_>);

/// Columns of a file: names and how to write each.
pub(super) type Columns = &'static [(&'static str, Cell)];

fn text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(quote) = memchr::memchr(b'"', rest) {
        out.extend_from_slice(&rest[..=quote]);
        out.push(b'"');
        rest = &rest[quote + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

fn some(out: &mut Vec<u8>, value: OptI64) {
    if let Some(value) = value.get() {
        int(out, value);
    }
}

fn agent(out: &mut Vec<u8>, row: &Row<'_>, agent: AgentId) {
    let known = agent.get().map(|a| &row.trace.agents[a]);
    let index = known.and_then(|agent| match row.agents {
        AgentIndex::Absolute => agent.absolute_index.get(),
        AgentIndex::Relative => agent.logical_index.get().or(agent.absolute_index.get()),
        AgentIndex::TypeRelative => agent.type_index.get(),
    });
    let Some(index) = index else {
        if !row.bare_agents {
            text(out, "");
        }
        return;
    };
    if row.bare_agents {
        int(out, index);
    } else {
        let kind = known.map_or("", |agent| agent.kind.name());
        let word = if row.agents == AgentIndex::TypeRelative && !kind.is_empty() { kind } else { "Agent" };
        out.extend_from_slice(format!("\"{word} ").as_bytes());
        int(out, index);
        out.push(b'"');
    }
}

/// rocprofv3's notation: fixed with six digits from 1 on, scientific with eight below.
fn float(out: &mut Vec<u8>, value: f64) {
    use std::io::Write;
    let written = if value.abs() >= 1.0 || value == 0.0 {
        write!(out, "{value:.6}")
    } else {
        write!(out, "{value:.8e}")
    };
    written.expect("a vector takes all bytes");
}

fn guid(out: &mut Vec<u8>, row: &Row<'_>, process: trace::ProcessId) {
    text(out, process.get().map_or("", |p| row.trace.strings.get(row.trace.processes[p].guid)));
}

fn pid(out: &mut Vec<u8>, row: &Row<'_>, process: trace::ProcessId) {
    if let Some(p) = process.get() {
        int(out, row.trace.processes[p].pid);
    }
}

fn tid(out: &mut Vec<u8>, row: &Row<'_>, thread: trace::ThreadId) {
    if let Some(t) = thread.get() {
        int(out, row.trace.threads[t].tid);
    }
}

fn queue(out: &mut Vec<u8>, row: &Row<'_>, queue: trace::QueueId) {
    if let Some(q) = queue.get() {
        int(out, row.trace.queues[q].id);
    }
}

fn stream(out: &mut Vec<u8>, row: &Row<'_>, stream: trace::StreamId) {
    if let Some(s) = stream.get() {
        int(out, row.trace.streams[s].id);
    }
}

macro_rules! shape {
    ($field:ident) => {
        |out, r| some(out, r.trace.shapes.get(r.trace.kernels.shape[r.i]).$field)
    };
    ($field:ident, $axis:literal) => {
        |out, r| {
            if let Some(size) = r.trace.shapes.get(r.trace.kernels.shape[r.i]).$field {
                int(out, i64::from(size[$axis]));
            }
        }
    };
    (product $field:ident) => {
        |out, r| {
            if let Some(size) = r.trace.shapes.get(r.trace.kernels.shape[r.i]).$field {
                int(out, size.iter().map(|s| i64::from(*s)).product());
            }
        }
    };
}

/// Static LDS is reported in blocks of 512 bytes.
fn lds(out: &mut Vec<u8>, r: &Row<'_>) {
    some(out, r.trace.shapes.get(r.trace.kernels.shape[r.i]).lds_bytes);
}

/// The graph node that a row ran as; zeros for work outside of graphs.
fn graph_node(r: &Row<'_>, row: RowRef) -> GraphNode {
    r.trace.graph_nodes.of(row).unwrap_or_default()
}

fn kernel_id(out: &mut Vec<u8>, r: &Row<'_>) {
    if let Some(symbol) = r.trace.kernels.symbol[r.i].get() {
        int(out, r.trace.symbols[symbol].id);
    }
}

/// `kernel_trace` and `counter_collection`, whose rows are dispatches.
pub(super) const KERNELS: Columns = &[
    ("Graph_Exec_Id", |out, r| int(out, graph_node(r, RowRef::kernel(r.i)).exec)),
    ("Graph_Node_Id", |out, r| int(out, graph_node(r, RowRef::kernel(r.i)).node)),
    ("Guid", |out, r| guid(out, r, r.trace.kernels.process[r.i])),
    ("Pid", |out, r| guid(out, r, r.trace.kernels.process[r.i])),
    ("Kind", |out, _| text(out, "KERNEL_DISPATCH")),
    ("Agent_Id", |out, r| agent(out, r, r.trace.kernels.agent[r.i])),
    ("Queue_Id", |out, r| queue(out, r, r.trace.kernels.queue[r.i])),
    ("Stream_Id", |out, r| stream(out, r, r.trace.kernels.stream[r.i])),
    ("Process_Id", |out, r| pid(out, r, r.trace.kernels.process[r.i])),
    ("Thread_Id", |out, r| tid(out, r, r.trace.kernels.thread[r.i])),
    ("Dispatch_Id", |out, r| some(out, r.trace.kernels.dispatch[r.i])),
    ("Kernel_Id", kernel_id),
    ("Kernel_Name", |out, r| text(out, r.trace.strings.get(r.trace.kernels.name[r.i]))),
    ("Correlation_Id", |out, r| int(out, r.trace.kernels.correlation[r.i])),
    ("Start_Timestamp", |out, r| int(out, r.trace.kernels.start[r.i])),
    ("End_Timestamp", |out, r| int(out, r.trace.kernels.end[r.i])),
    ("LDS_Block_Size", lds),
    ("Group_Segment_Size", lds),
    ("Scratch_Size", shape!(scratch_bytes)),
    ("Private_Segment_Size", shape!(scratch_bytes)),
    ("VGPR_Count", shape!(vgpr)),
    ("Accum_VGPR_Count", shape!(agpr)),
    ("SGPR_Count", shape!(sgpr)),
    ("Workgroup_Size_X", shape!(workgroup, 0)),
    ("Workgroup_Size_Y", shape!(workgroup, 1)),
    ("Workgroup_Size_Z", shape!(workgroup, 2)),
    ("Grid_Size_X", shape!(grid, 0)),
    ("Grid_Size_Y", shape!(grid, 1)),
    ("Grid_Size_Z", shape!(grid, 2)),
    ("Workgroup_Size", shape!(product workgroup)),
    ("Grid_Size", shape!(product grid)),
    ("Counter_Name", |out, r| {
        let name = r.counter.map(|(name, _)| r.trace.strings.get(name));
        text(out, name.unwrap_or(""));
    }),
    ("Counter_Value", |out, r| {
        if let Some((_, value)) = r.counter {
            float(out, value);
        }
    }),
];

/// The files of host calls.
pub(super) const REGIONS: Columns = &[
    ("Guid", |out, r| guid(out, r, r.trace.regions.process[r.i])),
    ("Domain", |out, r| text(out, words::kind(r.trace.strings.get(r.trace.regions.category[r.i])))),
    ("Function", |out, r| text(out, r.trace.strings.get(r.trace.regions.name[r.i]))),
    ("Process_Id", |out, r| pid(out, r, r.trace.regions.process[r.i])),
    ("Thread_Id", |out, r| tid(out, r, r.trace.regions.thread[r.i])),
    ("Correlation_Id", |out, r| int(out, r.trace.regions.correlation[r.i])),
    ("Start_Timestamp", |out, r| int(out, r.trace.regions.start[r.i])),
    ("End_Timestamp", |out, r| int(out, r.trace.regions.end[r.i])),
];

/// Marks of a moment in `marker_api_trace`.
pub(super) const MARKS: Columns = &[
    ("Guid", |out, r| guid(out, r, r.trace.samples.process[r.i])),
    ("Domain", |out, r| text(out, r.trace.strings.get(r.trace.samples.kind[r.i]))),
    ("Function", |out, r| {
        let samples = &r.trace.samples;
        let message = samples.location[r.i];
        text(out, r.trace.strings.get(if message.is_empty() { samples.name[r.i] } else { message }));
    }),
    ("Process_Id", |out, r| pid(out, r, r.trace.samples.process[r.i])),
    ("Thread_Id", |out, r| tid(out, r, r.trace.samples.thread[r.i])),
    ("Correlation_Id", |out, r| int(out, r.trace.samples.correlation[r.i])),
    ("Start_Timestamp", |out, r| int(out, r.trace.samples.start[r.i])),
    ("End_Timestamp", |out, r| int(out, r.trace.samples.end[r.i])),
];

/// `memory_copy_trace`.
pub(super) const COPIES: Columns = &[
    ("Graph_Exec_Id", |out, r| int(out, graph_node(r, RowRef::new(Table::MemoryCopies, r.i)).exec)),
    ("Graph_Node_Id", |out, r| int(out, graph_node(r, RowRef::new(Table::MemoryCopies, r.i)).node)),
    ("Guid", |out, r| guid(out, r, r.trace.memory_copies.process[r.i])),
    ("Kind", |out, _| text(out, "MEMORY_COPY")),
    ("Direction", |out, r| {
        text(out, words::direction(r.trace.strings.get(r.trace.memory_copies.name[r.i])));
    }),
    ("Stream_Id", |out, r| stream(out, r, r.trace.memory_copies.stream[r.i])),
    ("Source_Agent_Id", |out, r| agent(out, r, r.trace.memory_copies.src[r.i])),
    ("Destination_Agent_Id", |out, r| agent(out, r, r.trace.memory_copies.dst[r.i])),
    ("Correlation_Id", |out, r| int(out, r.trace.memory_copies.correlation[r.i])),
    ("Start_Timestamp", |out, r| int(out, r.trace.memory_copies.start[r.i])),
    ("End_Timestamp", |out, r| int(out, r.trace.memory_copies.end[r.i])),
];

fn operation(out: &mut Vec<u8>, r: &Row<'_>) {
    let rows = &r.trace.memory_allocations;
    let (kind, level) = (r.trace.strings.get(rows.kind[r.i]), r.trace.strings.get(rows.level[r.i]));
    text(out, words::allocation(kind, level));
}

/// `memory_allocation_trace` and `scratch_memory_trace`.
pub(super) const ALLOCATIONS: Columns = &[
    ("Guid", |out, r| guid(out, r, r.trace.memory_allocations.process[r.i])),
    ("Kind", |out, r| {
        let level = r.trace.strings.get(r.trace.memory_allocations.level[r.i]);
        text(out, if level == "SCRATCH" { "SCRATCH_MEMORY" } else { "MEMORY_ALLOCATION" });
    }),
    ("Operation", operation),
    ("Agent_Id", |out, r| agent(out, r, r.trace.memory_allocations.agent[r.i])),
    ("Queue_Id", |out, r| queue(out, r, r.trace.memory_allocations.queue[r.i])),
    ("Thread_Id", |out, r| tid(out, r, r.trace.memory_allocations.thread[r.i])),
    ("Alloc_Flags", |out, r| some(out, r.trace.memory_allocations.flags[r.i])),
    ("Allocation_Size", |out, r| some(out, r.trace.memory_allocations.bytes[r.i])),
    ("Address", |out, r| {
        if let Some(address) = r.trace.memory_allocations.address[r.i].get() {
            text(out, &format!("{:#018x}", address as u64));
        }
    }),
    ("Correlation_Id", |out, r| int(out, r.trace.memory_allocations.correlation[r.i])),
    ("Start_Timestamp", |out, r| int(out, r.trace.memory_allocations.start[r.i])),
    ("End_Timestamp", |out, r| int(out, r.trace.memory_allocations.end[r.i])),
];

/// Appends a cell of `agent_info`: from the agent's own fields, or from its source's extra facts.
pub(super) fn agent_info(
    out: &mut Vec<u8>,
    trace: &Trace,
    i: usize,
    column: &str,
    extra: &serde_json::Value,
) {
    let agent = &trace.agents[i];
    let name = trace.strings.get(agent.name);
    let gpu = agent.kind == trace::AgentKind::Gpu;
    match column {
        "Guid" => {
            let process = agent.process.get().map(|p| &trace.processes[p]);
            text(out, process.map_or("", |p| trace.strings.get(p.guid)));
        }
        "Node_Id" => some(out, agent.absolute_index),
        "Logical_Node_Id" => some(out, agent.logical_index),
        "Agent_Type" => text(out, agent.kind.name()),
        "Cu_Count" => some(out, agent.compute_units),
        "Local_Mem_Size" => some(out, agent.memory_bytes),
        "Wave_Front_Size" if gpu && extra.get("wave_front_size").is_none() => {
            int(out, if name.starts_with("gfx9") { 64 } else { 32 });
        }
        "Name" => text(out, name),
        "Product_Name" => text(out, trace.strings.get(agent.product)),
        "Vendor_Name" if extra.get("vendor_name").is_none() => text(out, if gpu { "AMD" } else { "CPU" }),
        _ => match extra.get(column.to_ascii_lowercase()) {
            Some(serde_json::Value::String(value)) => text(out, value),
            Some(serde_json::Value::Number(value)) => out.extend_from_slice(value.to_string().as_bytes()),
            Some(fields) => {
                let layout = PACKED.iter().find(|(packed, _)| *packed == column).map(|(_, layout)| *layout);
                if let Some(number) = layout.and_then(|layout| packed(fields, layout)) {
                    int(out, number);
                }
            }
            None => {
                let axis = column.rsplit_once('_').map(|(name, axis)| {
                    extra
                        .get(name.to_ascii_lowercase())
                        .and_then(|sizes| sizes.get(axis.to_ascii_lowercase()))
                });
                if let Some(Some(serde_json::Value::Number(size))) = axis {
                    out.extend_from_slice(size.to_string().as_bytes());
                }
            }
        },
    }
}

/// Columns that pack into one number what the JSON has as fields: (column, fields and their bits, lowest
/// first).
/// `HSA_ENGINE_VERSION`, `HSA_ENGINE_ID` and `HSA_CAPABILITY` of the thunk's `hsakmttypes.h`.
const PACKED: &[(&str, &[(&str, u32)])] = &[
    ("Sdma_Fw_Version", &[("uCodeSDMA", 10), ("uCodeRes", 10)]),
    ("Fw_Version", &[("uCode", 10), ("Major", 6), ("Minor", 8), ("Stepping", 8)]),
    (
        "Capability",
        &[
            ("HotPluggable", 1),
            ("HSAMMUPresent", 1),
            ("SharedWithGraphics", 1),
            ("QueueSizePowerOfTwo", 1),
            ("QueueSize32bit", 1),
            ("QueueIdleEvent", 1),
            ("VALimit", 1),
            ("WatchPointsSupported", 1),
            ("WatchPointsTotalBits", 4),
            ("DoorbellType", 2),
            ("AQLQueueDoubleMap", 1),
            ("DebugTrapSupported", 1),
            ("WaveLaunchTrapOverrideSupported", 1),
            ("WaveLaunchModeSupported", 1),
            ("PreciseMemoryOperationsSupported", 1),
            ("DEPRECATED_SRAM_EDCSupport", 1),
            ("Mem_EDCSupport", 1),
            ("RASEventNotify", 1),
            ("ASICRevision", 4),
            ("SRAM_EDCSupport", 1),
            ("SVMAPISupported", 1),
            ("CoherentHostAccess", 1),
            ("DebugSupportedFirmware", 1),
            ("PreciseALUOperationsSupported", 1),
            ("PerQueueResetSupported", 1),
        ],
    ),
];

/// The packed number of an object's fields; `None` if it has a field that the layout does not have.
fn packed(fields: &serde_json::Value, layout: &[(&str, u32)]) -> Option<i64> {
    let fields = fields.as_object().filter(|fields| !fields.is_empty())?;
    if fields.keys().any(|key| !layout.iter().any(|(name, _)| name == key)) {
        return None;
    }
    let (mut number, mut shift) = (0, 0);
    for (name, bits) in layout {
        let value = match fields.get(*name) {
            Some(value) => value.as_i64().or(value.as_bool().map(i64::from))?,
            None => 0,
        };
        number |= (value & ((1 << bits) - 1)) << shift;
        shift += bits;
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(column: &str, extra: &str) -> String {
        let mut trace = Trace::default();
        trace.add_agent(trace::Agent::default());
        let mut out = Vec::new();
        agent_info(&mut out, &trace, 0, column, &serde_json::from_str(extra).unwrap());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn agent_info_left_nine_columns_blank_that_extdata_has() {
        let extra = r#"{"workgroup_max_dim":{"x":1024,"y":512,"z":256},"grid_max_dim":{"x":4294967295,"y":65535,"z":7},
            "sdma_fw_version":{"uCodeSDMA":19,"uCodeRes":1},"fw_version":{"uCode":166,"Major":0,"Minor":0,"Stepping":0},
            "capability":{"HotPluggable":0,"QueueSizePowerOfTwo":1,"WatchPointsTotalBits":2,"ASICRevision":1}}"#;
        let columns = [
            ("Workgroup_Max_Dim_X", "1024"),
            ("Workgroup_Max_Dim_Y", "512"),
            ("Workgroup_Max_Dim_Z", "256"),
            ("Grid_Max_Dim_X", "4294967295"),
            ("Grid_Max_Dim_Y", "65535"),
            ("Grid_Max_Dim_Z", "7"),
            ("Sdma_Fw_Version", "1043"),
            ("Fw_Version", "166"),
            ("Capability", "4194824"),
        ];
        for (column, value) in columns {
            assert_eq!(cell(column, extra), value, "{column}");
        }
        assert_eq!(
            cell("Capability", r#"{"capability":{"Unheard":1}}"#),
            "",
            "an unknown layout is no number"
        );
    }
}
