//! GPU kernel executions.

use crate::columns::{Remap, Remapping, table};
use crate::ids::{AgentId, OptI64, ProcessId, QueueId, ShapeId, StrId, StreamId, SymbolId, ThreadId};

/// How a kernel got onto the GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Graph {
    /// Not recorded by the source.
    #[default]
    Unknown,
    /// Launched by its own call.
    Direct,
    /// Replayed from a captured graph: many kernels share one launch.
    Replayed,
}

impl Remap for Graph {
    fn remap(self, _: &Remapping) -> Self {
        self
    }
}

table! {
    /// GPU kernel executions, sorted by (start, end).
    Kernels of
    /// One kernel execution.
    Kernel {
        /// Name in the source.
        name: StrId,
        /// First nanosecond.
        start: i64,
        /// Nanosecond after the last.
        end: i64,
        /// The process that launched it.
        process: ProcessId,
        /// The thread that launched it, if known.
        thread: ThreadId,
        /// The GPU.
        agent: AgentId,
        /// HSA queue.
        queue: QueueId,
        /// HIP stream.
        stream: StreamId,
        /// rocpd `stack_id`, torch `correlation`: the launch it belongs to, unique per guid only. Zero: none.
        correlation: i64,
        /// torch `External id` or rocpd's external correlation id.
        external: OptI64,
        /// Number of the dispatch in its process.
        dispatch: OptI64,
        /// Grid, workgroup, LDS, scratch and registers.
        shape: ShapeId,
        /// Kernel symbol of the code object.
        symbol: SymbolId,
        /// Region name the user renamed it to (rocpd `region_name_id`).
        region: StrId,
        /// Replayed from a graph or not.
        graph: Graph,
    }
}
