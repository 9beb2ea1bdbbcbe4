//! Hardware counter values of dispatches.

use crate::Map;
use crate::columns::table;
use crate::ids::{AgentId, CounterId, OptI64, ProcessId, StrId};
use crate::links::RowRef;
use crate::trace::Trace;

/// Definition of a counter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CounterKind {
    /// `SQ_WAVES`, `TCC_HIT_sum` …
    pub name: StrId,
    /// The vendor's description.
    pub description: StrId,
    /// Hardware block.
    pub block: StrId,
    /// Formula of a derived counter.
    pub expression: StrId,
    /// Unit, if known.
    pub unit: StrId,
    /// The process that collected it.
    pub process: ProcessId,
    /// The GPU it was collected on, if the source links the two.
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
        /// XCC, if recorded.
        xcc: OptI64,
        /// Shader engine, if recorded.
        shader_engine: OptI64,
        /// Instance, if recorded.
        instance: OptI64,
    }
}

/// How to combine the instances of a counter (XCCs, shader engines, channels) into one value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aggregate {
    /// Added, as the profiler does.
    #[default]
    Sum,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// The mean.
    Avg,
}

impl Trace {
    /// Replaces all instances of a counter of a dispatch by one row. Code that adds up instances afterwards
    /// gets this value; values of single channels are gone.
    pub fn aggregate_counters(&mut self, how: Aggregate) {
        let rows = &self.counters;
        let mut place: Map<(RowRef, CounterId, OptI64), usize> = Map::default();
        let mut merged = Counters::default();
        let mut instances: Vec<f64> = Vec::new();
        for row in rows.rows() {
            let at = *place.entry((row.kernel, row.counter, row.pass)).or_insert_with(|| {
                merged.push(Counter {
                    xcc: OptI64::NONE,
                    shader_engine: OptI64::NONE,
                    instance: OptI64::NONE,
                    ..row
                });
                instances.push(0.0);
                merged.len() - 1
            });
            let first = instances[at] == 0.0;
            instances[at] += 1.0;
            if !first {
                let value = &mut merged.value[at];
                *value = match how {
                    Aggregate::Sum | Aggregate::Avg => *value + row.value,
                    Aggregate::Max => value.max(row.value),
                    Aggregate::Min => value.min(row.value),
                };
            }
        }
        if how == Aggregate::Avg {
            for (value, count) in merged.value.iter_mut().zip(instances) {
                *value /= count;
            }
        }
        self.counters = merged;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_could_only_be_summed() {
        let mut trace = Trace::default();
        for (kernel, instance, value) in [(0, 0, 3.0), (0, 1, 5.0), (1, 0, 7.0), (0, 2, 1.0)] {
            trace.counters.push(Counter {
                kernel: RowRef::kernel(kernel),
                instance: OptI64::some(instance),
                value,
                ..Counter::default()
            });
        }
        let values = |how| {
            let mut trace = trace.clone();
            trace.aggregate_counters(how);
            trace.counters.value.clone()
        };
        assert_eq!(values(Aggregate::Sum), [9.0, 7.0]);
        assert_eq!(values(Aggregate::Max), [5.0, 7.0]);
        assert_eq!(values(Aggregate::Min), [1.0, 7.0]);
        assert_eq!(values(Aggregate::Avg), [3.0, 7.0]);
    }
}
