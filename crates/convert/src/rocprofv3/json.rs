//! The `rocprofiler-sdk-tool` JSON: one object per process, names in tables, records as streams.

mod operations;
mod records;
mod writer;

use std::io;
use std::path::Path;

use files::OutputFile;
use formats::secrets::redact_text;
use trace::{AgentKind, Map, ProcessId, StrId, Trace};

use super::words;
use crate::torch::{int, string};

use operations::{KERNEL_DISPATCH, MEMORY_ALLOCATION, MEMORY_COPY, Operations, SCRATCH_MEMORY};
use writer::{BUFFER, Json};

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
}

/// A handle for an agent within the file; zero means none.
fn agent_handle(agent: usize) -> i64 {
    agent as i64 + 1
}

#[cfg(test)]
mod tests {
    use super::operations::KINDS;
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
