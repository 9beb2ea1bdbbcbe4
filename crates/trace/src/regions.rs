//! Host intervals: API calls, markers, ops, Python frames, annotations.

use crate::columns::table;
use crate::ids::{OptI64, ProcessId, StrId, ThreadId};

table! {
    /// Host intervals, sorted by (start, end).
    Regions of
    /// One host interval.
    Region {
        /// Name: the API function, op, frame or marker text.
        name: StrId,
        /// The source's own category: `HIP_RUNTIME_API_EXT`, `cpu_op`, `python_function` …
        category: StrId,
        /// First nanosecond.
        start: i64,
        /// Nanosecond after the last.
        end: i64,
        /// The process.
        process: ProcessId,
        /// The thread, if known.
        thread: ThreadId,
        /// rocpd `stack_id`, torch `correlation` (runtime calls only), unique per guid only. Zero: none.
        correlation: i64,
        /// rocpd `parent_stack_id`, torch `Python parent id`; zero: none.
        parent: i64,
        /// torch `External id` (ops, runtime calls), `Python id` (frames); rocpd external correlation id.
        external: OptI64,
    }
}
