//! Synchronisation and collective operations.

use crate::columns::table;
use crate::ids::{AgentId, OptI64, ProcessId, QueueId, StrId, StreamId, ThreadId};
use crate::links::RowRef;

table! {
    /// Event records, event waits and synchronisations, sorted by (start, end).
    Syncs of
    /// One synchronisation.
    Sync {
        /// What it is, as the source names it (`hipEventRecord`, `Stream Wait Event` …).
        kind: StrId,
        /// First nanosecond.
        start: i64,
        /// Nanosecond after the last.
        end: i64,
        /// The process.
        process: ProcessId,
        /// The thread, if it is a host call.
        thread: ThreadId,
        /// The stream that waits or records.
        stream: StreamId,
        /// The event's id.
        event: OptI64,
        /// The stream that it waits for, if the source has it.
        waits_for: StreamId,
        /// The call it belongs to. Zero: none.
        correlation: i64,
        /// Correlation id of the record that it waits for, if the source has it.
        awaited: OptI64,
        /// The GPU that recorded or waited, if the times are the GPU's.
        agent: AgentId,
        /// The HSA queue that recorded or waited.
        queue: QueueId,
        /// The HSA queue that it waits for.
        waits_for_queue: QueueId,
    }
}

table! {
    /// Collective operations, one row per operation and rank.
    Collectives of
    /// One collective operation on a rank.
    Collective {
        /// Process group.
        group: StrId,
        /// Ranks of the group.
        group_size: OptI64,
        /// Number of the operation in its group.
        sequence: OptI64,
        /// `allreduce`, `_allgather_base` …
        operation: StrId,
        /// Bytes sent by this rank.
        bytes: OptI64,
        /// Data type.
        dtype: StrId,
        /// The GPU kernel or host region.
        row: RowRef,
        /// The process.
        process: ProcessId,
        /// The other rank of a send or receive.
        peer: OptI64,
        /// First nanosecond, if the source has it and there is no kernel or region.
        start: OptI64,
        /// How long it took, if there is no kernel or region.
        time_ns: OptI64,
    }
}
