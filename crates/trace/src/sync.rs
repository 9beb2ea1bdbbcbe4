//! Synchronisation and collective operations.

use crate::columns::table;
use crate::ids::{AgentId, OptI64, ProcessId, QueueId, StrId, StreamId, ThreadId};
use crate::links::RowRef;

table! {
    /// Event records, event waits and synchronisations, sorted by (start, end).
    Syncs of
    /// One synchronisation.
    Sync {
        /// What it is, in the source's words (`hipEventRecord`, `Stream Wait Event` …).
        kind: StrId,
        /// First nanosecond.
        start: i64,
        /// Nanosecond after the last.
        end: i64,
        /// The process.
        process: ProcessId,
        /// The thread, when it is a host call.
        thread: ThreadId,
        /// The stream that waits or records.
        stream: StreamId,
        /// The event's id.
        event: OptI64,
        /// The stream that is waited for, when the source says.
        waits_for: StreamId,
        /// The call it belongs to. Zero: none.
        correlation: i64,
        /// The call that the awaited event recorded after, when the source says.
        awaited: OptI64,
        /// The GPU that recorded or waited, when the times are the GPU's.
        agent: AgentId,
        /// The HSA queue that recorded or waited.
        queue: QueueId,
        /// The HSA queue that is waited for.
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
        /// First nanosecond, where the source tells and no kernel or region does.
        start: OptI64,
        /// How long it took, where no kernel or region tells.
        time_ns: OptI64,
    }
}
