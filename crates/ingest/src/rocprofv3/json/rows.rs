//! Records that are intervals: kernels, calls, copies and allocations.

use trace::{
    AgentKind, Graph, GraphNode, Kernel, LaunchShape, MemoryAllocation, MemoryCopy, OptI64, Region, RowRef,
    Sample, SymbolId, Table,
};

use super::Reader;
use super::record::Record;
use crate::rocprofv3::words;
use crate::times::usable;

impl<'a> Reader<'a, '_> {
    /// Start and end; a record without plausible times is counted and left out.
    fn times(&mut self, record: &Record<'a>) -> Option<(i64, i64)> {
        let times = usable(record.start, record.end);
        self.lost.unusable += u64::from(times.is_none());
        times
    }

    pub(super) fn kernel(&mut self, record: &Record<'a>) {
        if let Some(kernel) = self.kernel_row(record) {
            let row = RowRef::kernel(self.trace.kernels.len());
            self.graph_node(record, row);
            self.trace.kernels.push(kernel);
        }
    }

    /// The row of a dispatch; counter records describe dispatches in the same way.
    pub(super) fn kernel_row(&mut self, record: &Record<'a>) -> Option<Kernel> {
        let (start, end) = self.times(record)?;
        let (symbol, name) = self.symbol(record.kernel);
        let shape = self.shape(record, symbol);
        let (trace, process) = (&mut *self.trace, self.process);
        Some(Kernel {
            name,
            start,
            end,
            process,
            thread: self.entities.thread(trace, process, record.thread),
            agent: self.devices.get(trace, process, record.agent, AgentKind::Gpu),
            queue: self.entities.queue(trace, process, record.queue),
            stream: self.entities.stream(trace, process, record.stream),
            correlation: record.correlation.internal.unwrap_or(0),
            external: external(record),
            dispatch: record.dispatch.into(),
            shape: trace.shapes.intern(shape),
            symbol,
            graph: match record.graph {
                None => Graph::Unknown,
                Some(0) => Graph::Direct,
                Some(_) => Graph::Replayed,
            },
            ..Kernel::default()
        })
    }

    /// Registers come from the symbol, everything else from the launch.
    fn shape(&self, record: &Record<'a>, symbol: SymbolId) -> LaunchShape {
        let symbol = symbol.get().map(|row| &self.trace.symbols[row]);
        LaunchShape {
            grid: record.grid,
            workgroup: record.workgroup,
            lds_bytes: record.group_segment.into(),
            scratch_bytes: record.private_segment.into(),
            vgpr: symbol.map_or(OptI64::NONE, |symbol| symbol.vgpr),
            agpr: symbol.map_or(OptI64::NONE, |symbol| symbol.agpr),
            sgpr: symbol.map_or(OptI64::NONE, |symbol| symbol.sgpr),
        }
    }

    /// API calls, markers and all unknown lists; one without a duration becomes a sample, as in rocpd.
    pub(super) fn call(&mut self, record: &Record<'a>) {
        let Some((start, end)) = self.times(record) else { return };
        let strings = &mut self.trace.strings;
        let category = self.names.kind(strings, record.kind);
        let is_marker = strings.get(category).starts_with("MARKER");
        let text = if is_marker { self.names.marker(strings, record.correlation.internal) } else { None };
        let name = text.unwrap_or_else(|| self.names.operation(strings, record.kind, record.operation));
        let process = self.process;
        let thread = self.entities.thread(self.trace, process, record.thread);
        let correlation = record.correlation.internal.unwrap_or(0);
        if start == end {
            let sample = Sample {
                start,
                end,
                kind: category,
                name,
                value: f64::NAN,
                process,
                thread,
                correlation,
                ..Sample::default()
            };
            self.trace.samples.push(sample);
            return;
        }
        let region = Region {
            name,
            category,
            start,
            end,
            process,
            thread,
            correlation,
            parent: record.correlation.ancestor.unwrap_or(0),
            external: external(record),
        };
        self.trace.regions.push(region);
    }

    pub(super) fn copy(&mut self, record: &Record<'a>) {
        let Some((start, end)) = self.times(record) else { return };
        let (trace, process) = (&mut *self.trace, self.process);
        let copy = MemoryCopy {
            name: self.names.operation(&mut trace.strings, record.kind, record.operation),
            start,
            end,
            bytes: record.bytes.into(),
            process,
            thread: self.entities.thread(trace, process, record.thread),
            src: self.devices.get(trace, process, record.src_agent, AgentKind::Unknown),
            dst: self.devices.get(trace, process, record.dst_agent, AgentKind::Unknown),
            src_address: record.src_address.into(),
            dst_address: record.dst_address.into(),
            queue: self.entities.queue(trace, process, record.queue),
            stream: self.entities.stream(trace, process, record.stream),
            correlation: record.correlation.internal.unwrap_or(0),
            external: external(record),
            ..MemoryCopy::default()
        };
        trace.memory_copies.push(copy);
        let row = RowRef::new(Table::MemoryCopies, self.trace.memory_copies.len() - 1);
        self.graph_node(record, row);
    }

    /// Stores the graph node that a row ran as.
    fn graph_node(&mut self, record: &Record<'a>, row: RowRef) {
        let (exec, node) = (record.graph.unwrap_or(0), record.graph_node.unwrap_or(0));
        if exec != 0 {
            self.trace.graph_nodes.push(GraphNode { row, exec, node });
        }
    }

    pub(super) fn allocation(&mut self, record: &Record<'a>) {
        self.allocation_row(record, words::allocation);
    }

    pub(super) fn scratch(&mut self, record: &Record<'a>) {
        self.allocation_row(record, words::scratch);
    }

    fn allocation_row(&mut self, record: &Record<'a>, words: fn(&str) -> (&str, &'static str)) {
        let Some((start, end)) = self.times(record) else { return };
        let (trace, process) = (&mut *self.trace, self.process);
        let operation = self.names.operation(&mut trace.strings, record.kind, record.operation);
        let operation = trace.strings.get(operation).to_string();
        let (kind, level) = words(&operation);
        // A free has no size: rocprofv3 writes zero.
        let bytes = record.allocation.filter(|bytes| *bytes != 0 || kind == "ALLOC");
        let row = MemoryAllocation {
            kind: trace.strings.intern(kind),
            level: trace.strings.intern(level),
            start,
            end,
            address: record.address.into(),
            bytes: bytes.into(),
            process,
            thread: self.entities.thread(trace, process, record.thread),
            agent: self.devices.get(trace, process, record.agent, AgentKind::Unknown),
            queue: self.entities.queue(trace, process, record.queue),
            stream: self.entities.stream(trace, process, record.stream),
            correlation: record.correlation.internal.unwrap_or(0),
            flags: OptI64::NONE,
        };
        trace.memory_allocations.push(row);
    }
}

/// The external id; zero means that none was given.
fn external(record: &Record<'_>) -> OptI64 {
    record.correlation.external.filter(|id| *id != 0).into()
}
