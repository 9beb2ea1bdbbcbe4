//! Points in time: monitor samples, PC samples, call-stack samples, instants.

use crate::columns::table;
use crate::ids::{AgentId, OptI64, ProcessId, StrId, ThreadId};

table! {
    /// Points in time, sorted by time.
    Samples of
    /// One sample. `start == end`: the time of the sample.
    Sample {
        /// When.
        start: i64,
        /// Same as `start`: tables are sorted alike.
        end: i64,
        /// What kind: a category such as `amd_smi`, `MARKER_CORE_API`, `pc_sampling`, `counter`, `instant`.
        kind: StrId,
        /// Track or metric name.
        name: StrId,
        /// Value; NaN if the sample has none.
        value: f64,
        /// Unit of the value.
        unit: StrId,
        /// Instruction, source line or message.
        location: StrId,
        /// The process.
        process: ProcessId,
        /// The thread, if known.
        thread: ThreadId,
        /// The device, if known.
        agent: AgentId,
        /// Call or dispatch it belongs to. Zero: none.
        correlation: i64,
        /// Dispatch it was taken in.
        dispatch: OptI64,
    }
}
