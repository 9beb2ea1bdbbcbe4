//! Hardware counter values of dispatches.

use crate::columns::table;
use crate::ids::{AgentId, CounterId, OptI64, ProcessId, StrId};
use crate::links::RowRef;

/// What a counter is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CounterKind {
    /// `SQ_WAVES`, `TCC_HIT_sum` …
    pub name: StrId,
    /// Text of the vendor.
    pub description: StrId,
    /// Hardware block.
    pub block: StrId,
    /// Formula of a derived counter.
    pub expression: StrId,
    /// Unit, when given.
    pub unit: StrId,
    /// The process that collected it.
    pub process: ProcessId,
    /// The GPU it was collected on, when the source ties the two.
    pub agent: AgentId,
}

table! {
    /// One row per (dispatch, counter, instance); aggregation over instances is the user's choice.
    Counters of
    /// One counter value.
    Counter {
        /// The dispatch.
        kernel: RowRef,
        /// Which counter.
        counter: CounterId,
        /// Its value.
        value: f64,
        /// Replay or collection pass it came from.
        pass: OptI64,
        /// XCC, where recorded.
        xcc: OptI64,
        /// Shader engine, where recorded.
        shader_engine: OptI64,
        /// Instance, where recorded.
        instance: OptI64,
    }
}
