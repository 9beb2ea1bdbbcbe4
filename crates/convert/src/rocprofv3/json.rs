//! The `rocprofiler-sdk-tool` JSON: one object per process, names in tables, records as streams.

use std::io::{self, Write};
use std::path::Path;

use formats::secrets::redact_text;
use trace::{AgentKind, CounterId, Map, OptI64, ProcessId, RowRef, StrId, Table, Trace};

use super::words::{self, DOMAINS};
use crate::torch::{float, int, string};
use files::OutputFile;

/// Kinds of records by their number in rocprofiler-sdk 1.0; operations are numbered per kind.
const KINDS: [&str; 18] = [
    "NONE",
    "HSA_CORE_API",
    "HSA_AMD_EXT_API",
    "HSA_IMAGE_EXT_API",
    "HSA_FINALIZE_EXT_API",
    "HIP_RUNTIME_API",
    "HIP_COMPILER_API",
    "MARKER_CORE_API",
    "MARKER_CONTROL_API",
    "MARKER_NAME_API",
    "MEMORY_COPY",
    "KERNEL_DISPATCH",
    "SCRATCH_MEMORY",
    "MEMORY_ALLOCATION",
    "RCCL_API",
    "HIP_RUNTIME_API_EXT",
    "HIP_COMPILER_API_EXT",
    "MARKER_CORE_RANGE_API",
];
const MEMORY_COPY: usize = 10;
const KERNEL_DISPATCH: usize = 11;
const SCRATCH_MEMORY: usize = 12;
const MEMORY_ALLOCATION: usize = 13;

/// rocprofiler's number for a completed dispatch.
const DISPATCH_COMPLETE: i64 = 2;

/// Writes a trace as one result file; returns its size.
pub fn write(trace: &Trace, target: &Path) -> io::Result<u64> {
    let mut file = OutputFile::create(target)?;
    let mut json = Json { out: Vec::with_capacity(BUFFER + (1 << 16)), file: &mut file };
    json.raw("{\"rocprofiler-sdk-tool\": [");
    for process in 0..trace.processes.len() {
        if process > 0 {
            json.raw(", ");
        }
        ProcessRecords::new(trace, ProcessId::at(process)).write(&mut json)?;
    }
    json.raw("]}\n");
    json.flush()?;
    let bytes = file.file()?.metadata()?.len();
    file.commit()?;
    Ok(bytes)
}

/// Size at which it is flushed.
const BUFFER: usize = 1 << 20;

struct Json<'a> {
    out: Vec<u8>,
    file: &'a mut OutputFile,
}

impl Json<'_> {
    fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn key(&mut self, key: &str) {
        if !self.out.ends_with(b"{") {
            self.raw(", ");
        }
        self.raw("\"");
        self.raw(key);
        self.raw("\": ");
    }

    fn int(&mut self, key: &str, value: i64) {
        self.key(key);
        int(&mut self.out, value);
    }

    fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        string(&mut self.out, value);
    }

    fn handle(&mut self, key: &str, value: i64) {
        self.key(key);
        self.raw("{\"handle\": ");
        int(&mut self.out, value);
        self.raw("}");
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    fn room(&mut self) -> io::Result<()> {
        if self.out.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// `"key": [ … ]` with one entry per item.
    fn list<T>(
        &mut self,
        key: &str,
        items: impl Iterator<Item = T>,
        mut write: impl FnMut(&mut Self, T) -> io::Result<()>,
    ) -> io::Result<()> {
        self.key(key);
        self.raw("[");
        for (i, item) in items.enumerate() {
            self.raw(if i == 0 { "\n" } else { ",\n" });
            write(self, item)?;
            self.room()?;
        }
        self.raw("]");
        Ok(())
    }
}

/// Operations of each kind, numbered in order of appearance.
#[derive(Default)]
struct Operations {
    kinds: Vec<String>,
    names: Vec<Vec<String>>,
    numbers: Map<(usize, String), i64>,
    known: Map<(StrId, StrId), (i64, i64)>,
}

impl Operations {
    fn new() -> Self {
        let kinds: Vec<String> = KINDS.iter().map(|kind| kind.to_string()).collect();
        let names = kinds.iter().map(|_| Vec::new()).collect();
        Self { kinds, names, ..Self::default() }
    }

    fn kind(&mut self, name: &str) -> usize {
        self.kinds.iter().position(|kind| kind == name).unwrap_or_else(|| {
            self.kinds.push(name.to_string());
            self.names.push(Vec::new());
            self.kinds.len() - 1
        })
    }

    fn operation(&mut self, kind: usize, name: &str) -> i64 {
        if let Some(number) = self.numbers.get(&(kind, name.to_string())) {
            return *number;
        }
        self.names[kind].push(name.to_string());
        let number = self.names[kind].len() as i64 - 1;
        self.numbers.insert((kind, name.to_string()), number);
        number
    }
}

/// All records of one process.
struct ProcessRecords<'a> {
    trace: &'a Trace,
    process: ProcessId,
    operations: Operations,
    /// Number of each kernel name: the symbol's own, or a generated one for sources without symbols.
    kernel_ids: Map<StrId, i64>,
    next_kernel: i64,
}

impl<'a> ProcessRecords<'a> {
    fn new(trace: &'a Trace, process: ProcessId) -> Self {
        let next_kernel = trace.symbols.iter().map(|s| s.id).max().unwrap_or(0) + 1;
        Self { trace, process, operations: Operations::new(), kernel_ids: Map::default(), next_kernel }
    }

    fn mine<'s>(&'s self, processes: &'s [ProcessId]) -> impl Iterator<Item = usize> + 's {
        processes.iter().enumerate().filter(|(_, p)| **p == self.process).map(|(i, _)| i)
    }

    fn write(mut self, json: &mut Json<'_>) -> io::Result<()> {
        self.metadata(json);
        self.agents(json)?;
        self.counters(json)?;
        self.number_operations();
        self.strings(json)?;
        json.raw(
            ", \"code_objects\": [{\"size\": 88, \"code_object_id\": 1, \"agent_id\": {\"handle\": 0}}]",
        );
        self.kernel_symbols(json)?;
        json.raw(", \"host_functions\": [], \"summary\": []");
        json.raw(", \"callback_records\": {");
        self.counter_records(json)?;
        json.raw("}, \"buffer_records\": {");
        self.kernels(json)?;
        self.calls(json)?;
        self.copies(json)?;
        self.allocations(json)?;
        for empty in ["pc_sample_host_trap", "pc_sample_stochastic"] {
            json.key(empty);
            json.raw("[]");
        }
        json.raw("}}");
        Ok(())
    }

    fn metadata(&self, json: &mut Json<'_>) {
        let p = &self.trace.processes[self.process.0 as usize];
        let text = |id: StrId| self.trace.strings.get(id);
        json.raw("{\"metadata\": {\"node\": {\"id\": ");
        int(&mut json.out, p.node.get().unwrap_or(0));
        json.text("machine_id", text(p.machine));
        json.text("system_name", "Linux");
        json.text("hostname", text(p.hostname));
        json.raw("}");
        json.int("pid", p.pid);
        let span = self.trace.span().unwrap_or((0, 0));
        json.int("init_time", p.start.unwrap_or(span.0));
        json.int("fini_time", p.end.unwrap_or(span.1));
        json.key("command");
        json.raw("[");
        for (i, word) in redact_text(text(p.command)).split_whitespace().enumerate() {
            json.raw(if i == 0 { "" } else { ", " });
            string(&mut json.out, word);
        }
        json.raw("], \"config\": {}}");
    }

    fn agents(&self, json: &mut Json<'_>) -> io::Result<()> {
        let mine: Vec<usize> =
            (0..self.trace.agents.len()).filter(|&i| self.trace.agents[i].process == self.process).collect();
        json.list("agents", mine.into_iter(), |json, i| {
            let agent = &self.trace.agents[i];
            json.raw("{\"size\": 304");
            json.handle("id", agent_handle(i));
            json.int("type", if agent.kind == AgentKind::Gpu { 2 } else { 1 });
            json.text("name", self.trace.strings.get(agent.name));
            json.text("product_name", self.trace.strings.get(agent.product));
            let numbers = [
                ("node_id", agent.absolute_index),
                ("logical_node_id", agent.logical_index),
                ("logical_node_type_id", agent.type_index),
                ("cu_count", agent.compute_units),
                ("local_mem_size", agent.memory_bytes),
            ];
            for (key, value) in numbers {
                if let Some(value) = value.get() {
                    json.int(key, value);
                }
            }
            if agent.kind == AgentKind::Gpu {
                json.int("gpu_index", agent.type_index.get().unwrap_or(0));
            }
            json.raw("}");
            Ok(())
        })
    }

    fn counters(&self, json: &mut Json<'_>) -> io::Result<()> {
        json.list("counters", self.trace.counter_kinds.iter().enumerate(), |json, (i, kind)| {
            let text = |id: StrId| self.trace.strings.get(id);
            json.raw("{\"size\": 72");
            json.handle("id", i as i64 + 1);
            json.text("name", text(kind.name));
            json.text("description", text(kind.description));
            json.text("block", text(kind.block));
            json.text("expression", text(kind.expression));
            let derived = if kind.expression.is_empty() { "false" } else { "true" };
            json.raw(", \"is_constant\": false, \"is_derived\": ");
            json.raw(derived);
            json.raw(", \"dimension_ids\": []}");
            Ok(())
        })
    }

    /// Numbers all operations before the table of names is written.
    fn number_operations(&mut self) {
        let trace = self.trace;
        for i in 0..trace.regions.len() {
            let key = (trace.regions.category[i], trace.regions.name[i]);
            if trace.regions.process[i] == self.process && !self.operations.known.contains_key(&key) {
                let category = trace.strings.get(key.0);
                let kind = self.operations.kind(words::kind(category));
                let operation = self.operations.operation(kind, trace.strings.get(key.1));
                self.operations.known.insert(key, (kind as i64, operation));
            }
        }
        for i in 0..trace.memory_copies.len() {
            let name = words::direction(trace.strings.get(trace.memory_copies.name[i]));
            self.operations.operation(MEMORY_COPY, name);
        }
        for i in 0..trace.memory_allocations.len() {
            let (kind, operation) = self.allocation(i);
            self.operations.operation(kind, operation);
        }
        for name in ["KERNEL_DISPATCH_NONE", "KERNEL_DISPATCH_ENQUEUE", "KERNEL_DISPATCH_COMPLETE"] {
            self.operations.operation(KERNEL_DISPATCH, name);
        }
        for i in 0..trace.kernels.len() {
            let name = trace.kernels.name[i];
            if !self.kernel_ids.contains_key(&name) {
                let symbol = trace.kernels.symbol[i].get().map(|s| trace.symbols[s].id);
                let id = symbol.unwrap_or_else(|| {
                    self.next_kernel += 1;
                    self.next_kernel - 1
                });
                self.kernel_ids.insert(name, id);
            }
        }
    }

    fn allocation(&self, i: usize) -> (usize, &'a str) {
        let rows = &self.trace.memory_allocations;
        let level = self.trace.strings.get(rows.level[i]);
        let kind = if level == "SCRATCH" { SCRATCH_MEMORY } else { MEMORY_ALLOCATION };
        (kind, words::allocation(self.trace.strings.get(rows.kind[i]), level))
    }

    fn strings(&self, json: &mut Json<'_>) -> io::Result<()> {
        json.raw(", \"strings\": {");
        for key in ["callback_records", "buffer_records"] {
            let kinds = self.operations.kinds.iter().zip(&self.operations.names);
            json.list(key, kinds, |json, (kind, names)| {
                json.raw("{\"kind\": ");
                string(&mut json.out, kind);
                json.list("operations", names.iter(), |json, name| {
                    string(&mut json.out, name);
                    Ok(())
                })?;
                json.raw("}");
                Ok(())
            })?;
        }
        json.raw(", \"marker_api\": [], \"correlation_id\": {\"external\": []}, \"counters\": {\"dimension_ids\": []}");
        json.raw(", \"pc_sample_instructions\": [], \"pc_sample_comments\": []");
        json.raw(", \"att_filenames\": [], \"code_object_snapshot_filenames\": []}");
        Ok(())
    }

    fn kernel_symbols(&self, json: &mut Json<'_>) -> io::Result<()> {
        let mut symbols: Vec<(i64, StrId)> = self.kernel_ids.iter().map(|(name, id)| (*id, *name)).collect();
        symbols.sort_unstable();
        json.list("kernel_symbols", symbols.into_iter(), |json, (id, name)| {
            let known = self.trace.symbols.iter().find(|s| s.id == id && s.process == self.process);
            let name = self.trace.strings.get(name);
            json.raw("{\"size\": 88");
            json.int("kernel_id", id);
            json.int("code_object_id", known.and_then(|s| s.code_object.get()).unwrap_or(1));
            let mangled = known.map(|s| self.trace.strings.get(s.kernel_name)).filter(|n| !n.is_empty());
            json.text("kernel_name", mangled.unwrap_or(name));
            for key in ["formatted_kernel_name", "demangled_kernel_name", "truncated_kernel_name"] {
                json.text(key, name);
            }
            let numbers = |s: &trace::KernelSymbol| {
                [
                    ("kernarg_segment_size", s.kernarg_bytes),
                    ("group_segment_size", s.group_segment_bytes),
                    ("private_segment_size", s.private_segment_bytes),
                    ("sgpr_count", s.sgpr),
                    ("arch_vgpr_count", s.vgpr),
                    ("accum_vgpr_count", s.agpr),
                ]
            };
            for (key, value) in known.map(numbers).into_iter().flatten() {
                if let Some(value) = value.get() {
                    json.int(key, value);
                }
            }
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

    fn kernels(&self, json: &mut Json<'_>) -> io::Result<()> {
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

    fn calls(&self, json: &mut Json<'_>) -> io::Result<()> {
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

    fn operation(&self, kind: usize, name: &str) -> i64 {
        self.operations.numbers.get(&(kind, name.to_string())).copied().unwrap_or(0)
    }

    fn copies(&self, json: &mut Json<'_>) -> io::Result<()> {
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

    fn allocations(&self, json: &mut Json<'_>) -> io::Result<()> {
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
    fn counter_records(&self, json: &mut Json<'_>) -> io::Result<()> {
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
}

/// A handle for an agent within the file; zero means none.
fn agent_handle(agent: usize) -> i64 {
    agent as i64 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_their_numbers() {
        assert_eq!(KINDS[MEMORY_COPY], "MEMORY_COPY");
        assert_eq!(KINDS[KERNEL_DISPATCH], "KERNEL_DISPATCH");
        assert_eq!(KINDS[SCRATCH_MEMORY], "SCRATCH_MEMORY");
        assert_eq!(KINDS[MEMORY_ALLOCATION], "MEMORY_ALLOCATION");
        assert_eq!(agent_handle(0), 1);
    }
}
