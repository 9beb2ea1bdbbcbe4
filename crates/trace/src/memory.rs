//! GPU copies and fills, and allocations.

use crate::columns::{Remap, Remapping, table};
use crate::ids::{AgentId, OptI64, ProcessId, QueueId, StrId, StreamId, ThreadId};
use crate::kernels::Graph;

/// What a row of `memory_copies` did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum CopyKind {
    /// Moved bytes.
    #[default]
    Copy,
    /// Filled memory.
    Fill,
}

impl Remap for CopyKind {
    fn remap(self, _: &Remapping) -> Self {
        self
    }
}

table! {
    /// GPU copies and fills, sorted by (start, end).
    MemoryCopies of
    /// One copy or fill.
    MemoryCopy {
        /// Name in the source.
        name: StrId,
        /// Copy or fill.
        kind: CopyKind,
        /// First nanosecond.
        start: i64,
        /// Nanosecond after the last.
        end: i64,
        /// Bytes moved, if the source has it.
        bytes: OptI64,
        /// The process.
        process: ProcessId,
        /// The thread that requested it, if known.
        thread: ThreadId,
        /// Where the bytes came from.
        src: AgentId,
        /// Where they went.
        dst: AgentId,
        /// Address they came from.
        src_address: OptI64,
        /// Address they went to.
        dst_address: OptI64,
        /// HSA queue.
        queue: QueueId,
        /// HIP stream.
        stream: StreamId,
        /// The call it belongs to, unique per guid only. Zero: none.
        correlation: i64,
        /// torch `External id`.
        external: OptI64,
        /// Replayed from a graph or not.
        graph: Graph,
    }
}

table! {
    /// Allocations and frees, sorted by (start, end).
    MemoryAllocations of
    /// One allocation or free.
    MemoryAllocation {
        /// `ALLOC`, `FREE`, `REALLOC`, `RECLAIM`.
        kind: StrId,
        /// `REAL`, `VIRTUAL`, `SCRATCH`.
        level: StrId,
        /// First nanosecond.
        start: i64,
        /// Nanosecond after the last (equal to `start` for instants).
        end: i64,
        /// Address, as a bit pattern.
        address: OptI64,
        /// Bytes; `NONE` if the source does not have it (a free is paired by address).
        bytes: OptI64,
        /// The process.
        process: ProcessId,
        /// The thread, if known.
        thread: ThreadId,
        /// The device, if known.
        agent: AgentId,
        /// HSA queue.
        queue: QueueId,
        /// HIP stream.
        stream: StreamId,
        /// The call it belongs to. Zero: none.
        correlation: i64,
        /// Flags of a scratch allocation, as numbered by the source.
        flags: OptI64,
    }
}
