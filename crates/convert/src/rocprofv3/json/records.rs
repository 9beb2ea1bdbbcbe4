//! The records of a process: kernels, calls, copies, allocations, values of counters.

use std::io;

use trace::{CounterId, Map, OptI64, RowRef, StrId, Table};

use super::operations::{KERNEL_DISPATCH, MEMORY_ALLOCATION, MEMORY_COPY, SCRATCH_MEMORY};
use super::writer::Json;
use super::{ProcessRecords, agent_handle};
use crate::rocprofv3::words::{self, DOMAINS};
use crate::torch::{float, int};

/// rocprofiler's number for a completed dispatch.
const DISPATCH_COMPLETE: i64 = 2;

impl ProcessRecords<'_> {
    pub(super) fn kernels(&self, json: &mut Json<'_>) -> io::Result<()> {
        let kernels = &self.trace.kernels;
        json.list("kernel_dispatch", self.mine(&kernels.process), |json, i| {
            let times = (kernels.start[i], kernels.end[i]);
            let (thread, correlation, external) =
                (kernels.thread[i], kernels.correlation[i], kernels.external[i]);
            let kind = KERNEL_DISPATCH as i64;
            self.begin(json, kind, DISPATCH_COMPLETE, thread, correlation, external, times);
            self.dispatch_info(json, i);
            self.stream(json, kernels.stream[i]);
            json.raw("}");
            Ok(())
        })
    }

    pub(super) fn calls(&self, json: &mut Json<'_>) -> io::Result<()> {
        let regions = &self.trace.regions;
        let mut domains: Map<StrId, usize> = Map::default();
        for (number, domain) in DOMAINS.iter().enumerate() {
            let rows: Vec<usize> = self
                .mine(&regions.process)
                .filter(|&i| {
                    let category = regions.category[i];
                    let text = || words::domain(self.trace.strings.get(category));
                    *domains.entry(category).or_insert_with(text) == number
                })
                .collect();
            json.list(domain.key, rows.into_iter(), |json, i| {
                let key = (regions.category[i], regions.name[i]);
                let (kind, operation) = self.operations.known.get(&key).copied().unwrap_or_default();
                let times = (regions.start[i], regions.end[i]);
                let (thread, correlation, external) =
                    (regions.thread[i], regions.correlation[i], regions.external[i]);
                self.begin(json, kind, operation, thread, correlation, external, times);
                json.raw("}");
                Ok(())
            })?;
        }
        Ok(())
    }

    pub(super) fn copies(&self, json: &mut Json<'_>) -> io::Result<()> {
        let copies = &self.trace.memory_copies;
        json.list("memory_copy", self.mine(&copies.process), |json, i| {
            let name = words::direction(self.trace.strings.get(copies.name[i]));
            let times = (copies.start[i], copies.end[i]);
            let operation = self.operation(MEMORY_COPY, name);
            let (thread, correlation, external) =
                (copies.thread[i], copies.correlation[i], copies.external[i]);
            self.begin(json, MEMORY_COPY as i64, operation, thread, correlation, external, times);
            json.handle("dst_agent_id", copies.dst[i].get().map_or(0, agent_handle));
            json.handle("src_agent_id", copies.src[i].get().map_or(0, agent_handle));
            if let Some(bytes) = copies.bytes[i].get() {
                json.int("bytes", bytes);
            }
            self.stream(json, copies.stream[i]);
            json.raw("}");
            Ok(())
        })
    }

    pub(super) fn allocations(&self, json: &mut Json<'_>) -> io::Result<()> {
        let rows = &self.trace.memory_allocations;
        for (key, wanted) in [("memory_allocation", MEMORY_ALLOCATION), ("scratch_memory", SCRATCH_MEMORY)] {
            let mine = self.mine(&rows.process).filter(|&i| self.allocation(i).0 == wanted);
            json.list(key, mine, |json, i| {
                let operation = self.operation(wanted, self.allocation(i).1);
                let times = (rows.start[i], rows.end[i]);
                let (thread, correlation) = (rows.thread[i], rows.correlation[i]);
                self.begin(json, wanted as i64, operation, thread, correlation, OptI64::NONE, times);
                json.handle("agent_id", rows.agent[i].get().map_or(0, agent_handle));
                if let Some(address) = rows.address[i].get() {
                    json.text("address", &format!("{:#x}", address as u64));
                }
                if let Some(bytes) = rows.bytes[i].get() {
                    json.int("allocation_size", bytes);
                }
                json.raw("}");
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Counter values: one record per dispatch.
    pub(super) fn counter_records(&self, json: &mut Json<'_>) -> io::Result<()> {
        let counters = &self.trace.counters;
        let mut values: Vec<(usize, CounterId, f64)> = (0..counters.len())
            .filter_map(|i| {
                let row = counters.kernel[i].row_of(Table::Kernels)?;
                Some((row, counters.counter[i], counters.value[i]))
            })
            .filter(|(row, ..)| self.trace.kernels.process[*row] == self.process)
            .collect();
        values.sort_by_key(|(row, counter, _)| (*row, *counter));
        json.list("counter_collection", values.chunk_by(|a, b| a.0 == b.0), |json, group| {
            let (i, kernels) = (group[0].0, &self.trace.kernels);
            let tid = kernels.thread[i].get().map(|t| self.trace.threads[t].tid);
            json.raw("{\"thread_id\": ");
            int(&mut json.out, tid.unwrap_or(0));
            json.raw(", \"dispatch_data\": {\"size\": 136, \"correlation_id\": {\"internal\": ");
            int(&mut json.out, kernels.correlation[i]);
            json.raw(", \"external\": 0}");
            json.int("start_timestamp", kernels.start[i]);
            json.int("end_timestamp", kernels.end[i]);
            self.dispatch_info(json, i);
            json.raw("}");
            json.list("records", group.iter(), |json, (_, counter, value)| {
                json.raw("{\"counter_id\": {\"handle\": ");
                int(&mut json.out, i64::from(counter.0) + 1);
                json.raw("}, \"value\": ");
                float(&mut json.out, *value);
                json.raw("}");
                Ok(())
            })?;
            self.stream(json, kernels.stream[i]);
            json.raw("}");
            Ok(())
        })
    }

    /// Size, kind, operation, thread, correlation and times: the beginning of all records.
    #[allow(clippy::too_many_arguments)]
    fn begin(
        &self,
        json: &mut Json<'_>,
        kind: i64,
        operation: i64,
        thread: trace::ThreadId,
        correlation: i64,
        external: OptI64,
        times: (i64, i64),
    ) {
        json.raw("{\"size\": 184");
        json.int("kind", kind);
        json.int("operation", operation);
        let tid = thread.get().map(|t| self.trace.threads[t].tid);
        json.int("thread_id", tid.unwrap_or(self.trace.processes[self.process.0 as usize].pid));
        json.raw(", \"correlation_id\": {\"internal\": ");
        int(&mut json.out, correlation);
        json.int("external", external.get().unwrap_or(0));
        json.raw("}");
        json.int("start_timestamp", times.0);
        json.int("end_timestamp", times.1);
    }

    fn dispatch_info(&self, json: &mut Json<'_>, i: usize) {
        let kernels = &self.trace.kernels;
        let shape = self.trace.shapes.get(kernels.shape[i]);
        json.raw(", \"dispatch_info\": {\"size\": 72");
        json.handle("agent_id", kernels.agent[i].get().map_or(0, agent_handle));
        json.handle("queue_id", kernels.queue[i].get().map_or(0, |q| self.trace.queues[q].id));
        json.int("kernel_id", self.kernel_ids.get(&kernels.name[i]).copied().unwrap_or(0));
        json.int("dispatch_id", kernels.dispatch[i].get().unwrap_or(i as i64 + 1));
        if let Some(bytes) = shape.scratch_bytes.get() {
            json.int("private_segment_size", bytes);
        }
        if let Some(bytes) = shape.lds_bytes.get() {
            json.int("group_segment_size", bytes);
        }
        if let Some(node) = self.trace.graph_nodes.of(RowRef::kernel(i)) {
            json.int("graph_exec_id", node.exec);
            json.int("graph_node_id", node.node);
        }
        for (key, size) in [("workgroup_size", shape.workgroup), ("grid_size", shape.grid)] {
            let Some([x, y, z]) = size else { continue };
            json.key(key);
            json.raw("{\"x\": ");
            int(&mut json.out, i64::from(x));
            json.int("y", i64::from(y));
            json.int("z", i64::from(z));
            json.raw("}");
        }
        json.raw("}");
    }

    fn stream(&self, json: &mut Json<'_>, stream: trace::StreamId) {
        json.handle("stream_id", stream.get().map_or(0, |s| self.trace.streams[s].id));
    }

    fn operation(&self, kind: usize, name: &str) -> i64 {
        self.operations.numbers.get(&(kind, name.to_string())).copied().unwrap_or(0)
    }
}
