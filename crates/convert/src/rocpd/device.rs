//! GPU work of a trace as rows: dispatches, counters, copies, allocations.

use trace::{Graph, GraphNode, Map, OptI64, RowRef, StrId, Table, ThreadId};

use super::from_trace::Writer;
use super::identity::Destination;
use super::pages::Value;
use super::{AllocationRow, CopyRow, Error, KernelRow, PmcRow};

/// The types and levels of allocations that the schema allows.
const ALLOCATION_TYPES: [&str; 4] = ["ALLOC", "FREE", "REALLOC", "RECLAIM"];
const ALLOCATION_LEVELS: [&str; 3] = ["REAL", "VIRTUAL", "SCRATCH"];
impl Writer<'_> {
    /// The thread of GPU work: its own, or that of the call that launched it.
    fn launcher(&self, thread: ThreadId, row: RowRef) -> Option<i64> {
        let thread = match thread.get() {
            Some(_) => thread,
            None => self.trace.regions.thread[self.trace.links.launch_of(row)?],
        };
        self.ids.thread(thread)
    }

    /// The graph node that a row ran as; a graph without a number is graph 1.
    fn graph(&self, row: RowRef, graph: Graph) -> GraphNode {
        let unknown = GraphNode { row, exec: i64::from(graph == Graph::Replayed), node: 0 };
        self.trace.graph_nodes.of(row).unwrap_or(unknown)
    }

    fn is_blank(&self, row: usize) -> bool {
        self.options.blank_every > 0 && row % self.options.blank_every == self.options.blank_every - 1
    }

    /// Writes dispatches with their events and arguments.
    pub(super) fn kernels(&mut self) -> Result<(), Error> {
        let trace = self.trace;
        let counters = &trace.counters;
        let passes: Map<RowRef, i64> =
            (0..counters.len()).filter_map(|i| Some((counters.kernel[i], counters.pass[i].get()?))).collect();
        let mut dispatches: Vec<i64> = vec![0; self.next_stack.len()];
        for (i, kernel) in trace.kernels.rows().enumerate() {
            let Destination { group, nid, pid } = self.ids.place(kernel.process);
            let owner = RowRef::kernel(i);
            let blank = self.is_blank(i);
            let event_id = if blank {
                None
            } else {
                let stack = kernel.correlation;
                let id = self.device_event(group, "KERNEL_DISPATCH", stack, kernel.external)?;
                self.args(group, owner, id)?;
                Some(id)
            };
            let shape = trace.shapes.get(kernel.shape);
            let graph = self.graph(owner, kernel.graph);
            dispatches[group] = kernel.dispatch.get().unwrap_or(dispatches[group] + 1);
            let row = KernelRow {
                nid,
                pid,
                tid: if blank { None } else { self.launcher(kernel.thread, owner) },
                agent_id: self.ids.some_agent(kernel.agent, kernel.process, &mut self.db),
                kernel_id: self.ids.symbol(trace, &kernel, &mut self.db),
                dispatch_id: dispatches[group],
                queue_id: self.ids.queue(kernel.queue).unwrap_or(0),
                stream_id: self.ids.stream(kernel.stream).unwrap_or(0),
                start: kernel.start,
                end: kernel.end,
                private_segment_size: shape.scratch_bytes.get(),
                group_segment_size: shape.lds_bytes.get(),
                workgroup: shape.workgroup.unwrap_or_default().map(i64::from),
                grid: shape.grid.unwrap_or_default().map(i64::from),
                region_name_id: if blank { None } else { Some(self.string(group, kernel.region)) },
                event_id,
                graph_exec_id: graph.exec,
                graph_node_id: graph.node,
                replay_pass: passes.get(&owner).copied(),
            };
            self.db.kernel(group, &row)?;
            if !counters.is_empty() {
                self.kernel_events.push(event_id);
            }
        }
        Ok(())
    }

    /// Writes definitions and values of counters.
    pub(super) fn counters(&mut self) -> Result<(), Error> {
        let trace = self.trace;
        let mut kinds = Vec::with_capacity(trace.counter_kinds.len());
        for kind in &trace.counter_kinds {
            let place = self.ids.place(kind.process);
            let text = |id: StrId| Value::Text(trace.strings.get(id));
            let extra = [
                ("description", text(kind.description)),
                ("block", text(kind.block)),
                ("expression", text(kind.expression)),
                ("is_derived", Value::Int(i64::from(!kind.expression.is_empty()))),
            ];
            kinds.push(self.add_pmc(place, kind.name, kind.unit, kind.agent, &extra));
        }
        for value in trace.counters.rows() {
            let (Some(kernel), Some(kind)) = (value.kernel.row_of(Table::Kernels), value.counter.get())
            else {
                continue;
            };
            let row = PmcRow {
                event_id: self.kernel_events[kernel],
                pmc_id: kinds[kind],
                value: value.value,
                sample_id: None,
                xcc: value.xcc.get(),
                shader_engine: value.shader_engine.get(),
                instance: value.instance.get(),
            };
            let group = self.ids.place(trace.kernels.process[kernel]).group;
            self.db.pmc(group, &row)?;
        }
        Ok(())
    }

    /// Writes copies and fills.
    pub(super) fn copies(&mut self) -> Result<(), Error> {
        for (i, copy) in self.trace.memory_copies.rows().enumerate() {
            let Destination { group, nid, pid } = self.ids.place(copy.process);
            let owner = RowRef::new(Table::MemoryCopies, i);
            let blank = self.is_blank(i);
            let event_id = if blank {
                None
            } else {
                let id = self.device_event(group, "MEMORY_COPY", copy.correlation, copy.external)?;
                self.args(group, owner, id)?;
                Some(id)
            };
            let graph = self.graph(owner, copy.graph);
            let row = CopyRow {
                nid,
                pid,
                tid: if blank { None } else { self.launcher(copy.thread, owner) },
                start: copy.start,
                end: copy.end,
                name: self.string(group, copy.name),
                dst_agent_id: self.ids.agent(copy.dst),
                dst_address: copy.dst_address.get(),
                src_agent_id: self.ids.agent(copy.src),
                src_address: copy.src_address.get(),
                size: copy.bytes.get().unwrap_or(0),
                queue_id: self.ids.queue(copy.queue),
                stream_id: self.ids.stream(copy.stream),
                region_name_id: None,
                event_id,
                graph_exec_id: graph.exec,
                graph_node_id: graph.node,
            };
            self.db.copy(group, &row)?;
        }
        Ok(())
    }

    /// Writes allocations and frees.
    pub(super) fn allocations(&mut self) -> Result<(), Error> {
        let strings = &self.trace.strings;
        let allowed = |id: StrId, words: &[&'static str]| {
            let text = strings.get(id);
            words.iter().copied().find(|w| w.eq_ignore_ascii_case(text))
        };
        for (i, row) in self.trace.memory_allocations.rows().enumerate() {
            let Destination { group, nid, pid } = self.ids.place(row.process);
            let owner = RowRef::new(Table::MemoryAllocations, i);
            let level = allowed(row.level, &ALLOCATION_LEVELS);
            let category = if level == Some("SCRATCH") { "SCRATCH_MEMORY" } else { "MEMORY_ALLOCATION" };
            let event_id = self.device_event(group, category, row.correlation, OptI64::NONE)?;
            self.args(group, owner, event_id)?;
            let extdata = row.flags.get().map(|flags| format!("{{\"flags\": \"{flags}\"}}"));
            let row = AllocationRow {
                nid,
                pid,
                tid: self.launcher(row.thread, owner),
                agent_id: self.ids.agent(row.agent),
                kind: allowed(row.kind, &ALLOCATION_TYPES),
                level,
                start: row.start,
                end: row.end,
                address: row.address.get(),
                size: row.bytes.get().unwrap_or(0),
                queue_id: self.ids.queue(row.queue),
                stream_id: self.ids.stream(row.stream),
                event_id: Some(event_id),
                extdata: extdata.as_deref(),
            };
            self.db.allocation(group, &row)?;
        }
        Ok(())
    }
}
