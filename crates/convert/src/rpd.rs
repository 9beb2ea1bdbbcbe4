//! `.rpd`: a trace as a database of rocmProfileData's schema 3, as written by its tracer from roctracer's
//! data. For tests and simulated runs.

use std::path::Path;

use files::OutputFile;
use formats::rpd::{IN_WORK_ITEMS, MARKER, table};
use rusqlite::{Connection, Result, params};
use trace::{AgentId, CopyKind, Map, MemoryCopy, ProcessId, RowRef, StreamId, Table, ThreadId, Trace};

const SCHEMA: &str = include_str!("rpd.sql");

/// Why a database could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write `{path}`: {why}", path = path.display())]
pub struct Error {
    /// The database.
    pub path: std::path::PathBuf,
    /// The reason.
    pub why: String,
}

/// Writes a finished trace, and returns the size of the file. Allocations, synchronisations and arguments are
/// left out.
pub fn write(trace: &Trace, target: &Path) -> std::result::Result<u64, Error> {
    let failed = |why: &dyn std::fmt::Display| Error { path: target.into(), why: why.to_string() };
    let output = OutputFile::reserve(target).map_err(|e| failed(&e))?;
    fill(trace, output.partial()).map_err(|e| failed(&e))?;
    let bytes = std::fs::metadata(output.partial()).map_err(|e| failed(&e))?.len();
    output.commit().map_err(|e| failed(&e))?;
    Ok(bytes)
}

fn fill(trace: &Trace, path: &Path) -> Result<()> {
    let connection = Connection::open(path)?;
    connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN")?;
    connection.execute_batch(SCHEMA)?;
    let mut writer = Writer { trace, connection: &connection, strings: Map::default(), ops: 0 };
    writer.string("")?;
    writer.calls()?;
    writer.kernels()?;
    writer.copies()?;
    writer.samples()?;
    connection.execute_batch("COMMIT")
}

struct Writer<'a> {
    trace: &'a Trace,
    connection: &'a Connection,
    strings: Map<String, i64>,
    ops: i64,
}

impl Writer<'_> {
    /// The id of a text.
    fn string(&mut self, text: &str) -> Result<i64> {
        if let Some(id) = self.strings.get(text) {
            return Ok(*id);
        }
        let sql = format!("INSERT INTO {}(string) VALUES (?1)", table::STRING);
        self.connection.prepare_cached(&sql)?.execute([text])?;
        let id = self.connection.last_insert_rowid();
        self.strings.insert(text.into(), id);
        Ok(id)
    }

    fn caller(&self, process: ProcessId, thread: ThreadId) -> (i64, i64) {
        let pid = process.get().map_or(0, |p| self.trace.processes[p].pid);
        (pid, thread.get().map_or(pid, |t| self.trace.threads[t].tid))
    }

    /// Calls have their row numbers as ids, from 1.
    fn calls(&mut self) -> Result<()> {
        let trace = self.trace;
        for (i, region) in trace.regions.rows().enumerate() {
            let (name, category) = (trace.strings.get(region.name), trace.strings.get(region.category));
            let marker = category.starts_with("MARKER_");
            let (name, args) = if marker { (MARKER, name) } else { (name, "") };
            let domain = if name.starts_with("hip") { "hip" } else { category };
            let [name, domain, empty] = [self.string(name)?, self.string(domain)?, self.string("")?];
            let sql = format!("INSERT INTO {}(string) VALUES (?1)", table::USTRING);
            self.connection.prepare_cached(&sql)?.execute([args])?;
            let args = self.connection.last_insert_rowid();
            let (pid, tid) = self.caller(region.process, region.thread);
            let sql = format!(
                "INSERT INTO {}(id, pid, tid, start, \"end\", apiName_id, category_id, domain_id, args_id) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                table::API
            );
            let row = params![i as i64 + 1, pid, tid, region.start, region.end, name, empty, domain, args];
            self.connection.prepare_cached(&sql)?.execute(row)?;
        }
        Ok(())
    }

    /// Adds GPU work and the call that launched it.
    fn op(
        &mut self,
        row: RowRef,
        (agent, queue): (AgentId, i64),
        (start, end): (i64, i64),
        description: &str,
        kind: &str,
    ) -> Result<Option<i64>> {
        self.ops += 1;
        let gpu = agent.get().and_then(|a| self.trace.agents[a].type_index.get()).unwrap_or(0);
        let (description, kind) = (self.string(description)?, self.string(kind)?);
        let sql = format!(
            "INSERT INTO {}(id, gpuId, queueId, sequenceId, start, \"end\", description_id, opType_id) \
             VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6, ?7)",
            table::OP
        );
        self.connection.prepare_cached(&sql)?.execute(params![
            self.ops,
            gpu,
            queue,
            start,
            end,
            description,
            kind
        ])?;
        let call = self.trace.links.launch_of(row).map(|region| region as i64 + 1);
        if let Some(call) = call {
            let sql = format!("INSERT INTO {}(api_id, op_id) VALUES (?1, ?2)", table::API_OPS);
            self.connection.prepare_cached(&sql)?.execute([call, self.ops])?;
        }
        Ok(call)
    }

    fn stream(&self, stream: StreamId) -> String {
        format!("0x{:x}", stream.get().map_or(0, |s| self.trace.streams[s].id))
    }

    fn kernels(&mut self) -> Result<()> {
        let trace = self.trace;
        let mut ops = Vec::with_capacity(trace.kernels.len());
        for (i, kernel) in trace.kernels.rows().enumerate() {
            let queue = kernel.queue.get().map_or(0, |q| trace.queues[q].id);
            let name = trace.strings.get(kernel.name);
            let (place, time) = ((kernel.agent, queue), (kernel.start, kernel.end));
            let call = self.op(RowRef::kernel(i), place, time, name, "KernelExecution")?;
            ops.push(self.ops);
            let Some(call) = call else { continue };
            let shape = trace.shapes.get(kernel.shape);
            let workgroup = shape.workgroup.unwrap_or_default();
            let mut grid = shape.grid.unwrap_or_default();
            let region = trace.regions.name[call as usize - 1];
            if !IN_WORK_ITEMS.contains(&trace.strings.get(region)) {
                grid = [0, 1, 2].map(|d| grid[d].checked_div(workgroup[d]).unwrap_or(0));
            }
            let name = self.string(name)?;
            let sql = format!(
                "INSERT OR IGNORE INTO {} VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                table::KERNEL_API
            );
            let (lds, scratch) = (shape.lds_bytes.get().unwrap_or(0), shape.scratch_bytes.get().unwrap_or(0));
            self.connection.prepare_cached(&sql)?.execute(params![
                call,
                self.stream(kernel.stream),
                grid[0],
                grid[1],
                grid[2],
                workgroup[0],
                workgroup[1],
                workgroup[2],
                lds,
                scratch,
                name
            ])?;
        }
        for counter in trace.counters.rows() {
            let (Some(kernel), Some(kind)) = (counter.kernel.row_of(Table::Kernels), counter.counter.get())
            else {
                continue;
            };
            let name = self.string(trace.strings.get(trace.counter_kinds[kind].name))?;
            let sql = format!("INSERT INTO {}(value, op_id, name_id) VALUES (?1, ?2, ?3)", table::COUNTER);
            self.connection.prepare_cached(&sql)?.execute(params![counter.value, ops[kernel], name])?;
        }
        Ok(())
    }

    fn copies(&mut self) -> Result<()> {
        for (i, copy) in self.trace.memory_copies.rows().enumerate() {
            let row = RowRef::new(Table::MemoryCopies, i);
            let agent = if self.is_gpu(copy.dst) { copy.dst } else { copy.src };
            let queue = copy.queue.get().map_or(0, |q| self.trace.queues[q].id);
            let kind = self.kind(&copy);
            let call = self.op(row, (agent, queue), (copy.start, copy.end), "", kind)?;
            let Some(call) = call else { continue };
            let sql = format!(
                "INSERT OR IGNORE INTO {} VALUES (?1, ?2, ?3, 0, 0, 0, ?4, ?5, 0, 0, 0, 0)",
                table::COPY_API
            );
            let address = |address: Option<i64>| format!("0x{:x}", address.unwrap_or(0));
            self.connection.prepare_cached(&sql)?.execute(params![
                call,
                self.stream(copy.stream),
                copy.bytes.get().unwrap_or(0),
                address(copy.dst_address.get()),
                address(copy.src_address.get())
            ])?;
        }
        Ok(())
    }

    fn is_gpu(&self, agent: AgentId) -> bool {
        agent.get().is_some_and(|a| self.trace.agents[a].kind == trace::AgentKind::Gpu)
    }

    /// roctracer's name for the type of a copy.
    fn kind(&self, copy: &MemoryCopy) -> &'static str {
        match (copy.kind, self.is_gpu(copy.src), self.is_gpu(copy.dst)) {
            (CopyKind::Fill, ..) => "FillBuffer",
            (CopyKind::Copy, false, _) => "CopyHostToDevice",
            (CopyKind::Copy, true, false) => "CopyDeviceToHost",
            (CopyKind::Copy, true, true) => "CopyDeviceToDevice",
        }
    }

    fn samples(&mut self) -> Result<()> {
        let trace = self.trace;
        let sql = format!(
            "INSERT INTO {}(deviceType, deviceId, monitorType, start, \"end\", value) VALUES ('gpu', ?1, ?2, ?3, ?3, ?4)",
            table::MONITOR
        );
        let mut insert = self.connection.prepare(&sql)?;
        for sample in trace.samples.rows().filter(|sample| !sample.value.is_nan()) {
            let gpu = sample.agent.get().and_then(|a| trace.agents[a].type_index.get()).unwrap_or(0);
            insert.execute(params![
                gpu,
                trace.strings.get(sample.name),
                sample.start,
                sample.value.to_string()
            ])?;
        }
        Ok(())
    }
}
