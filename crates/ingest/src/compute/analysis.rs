//! The database of `rocprof-compute analyze --output-format db`: dispatches, and the metrics it computed.
//!
//! ```text
//! compute_workload ─► process, sysinfo
//! compute_kernel ─┬─ compute_dispatch ─► kernels
//!                 └─ compute_kernel_metric_value ──┐
//! compute_metric_definition ───────────────────────┼─► metrics
//! compute_workload_metric_value ───────────────────┘
//! ```

use rapidhash::v3::rapidhash_v3;
use trace::{
    Agent, AgentId, AgentKind, Kernel, Map, Needs, OptI64, Process, ProcessId, Source, SourceId, Status,
    StoredMetric, StrId, Trace,
};

use super::facts::SYSINFO;
use crate::rocpd::open;
use crate::sqlite::{Col, Database, Row};
use crate::{Error, Input, Progress};

/// The schema versions that this reader knows.
const SCHEMA: &str = "2.";

/// Reads an analysis database.
pub fn read(input: &Input, needs: &Needs, progress: &Progress) -> Result<Trace, Error> {
    let database = open(&input.path)?;
    let mut trace = Trace::default();
    let path = input.path.to_string_lossy();
    let source = trace.add_source(Source { bytes: input.bytes, ..Source::named(&path, input.format.name()) });
    let mut reader = Reader {
        database: &database,
        source,
        workloads: Map::default(),
        kernels: Map::default(),
        damaged: 0,
        trace,
    };
    reader.metadata();
    reader.workloads();
    reader.kernels();
    if needs.kernels {
        reader.dispatches();
    }
    if needs.counter_columns {
        reader.metrics();
    }
    progress.advance(input.bytes);
    let Reader { damaged, mut trace, .. } = reader;
    let missing = database.missing_pages();
    if damaged + missing > 0 {
        let message =
            format!("{} pages or rows of the database are damaged and were skipped", damaged + missing);
        trace.health.report("damaged_pages", Status::Fail, Some((damaged + missing) as f64), message);
    }
    Ok(trace)
}

/// A workload and its GPUs.
struct Workload {
    process: ProcessId,
    gpu: Agent,
    agents: Map<i64, AgentId>,
}

struct Reader<'a> {
    database: &'a Database,
    source: SourceId,
    /// By `workload_id`.
    workloads: Map<i64, Workload>,
    /// Name and workload by `kernel_uuid`.
    kernels: Map<i64, (StrId, i64)>,
    damaged: u64,
    trace: Trace,
}

/// A metric's definition.
#[derive(Clone, Copy)]
struct Definition {
    workload: i64,
    id: StrId,
    name: StrId,
    panel: StrId,
    table: StrId,
    unit: StrId,
}

impl Reader<'_> {
    /// The rows of a table, by columns; empty if there is no such table.
    fn rows<const N: usize, T: Send>(
        &mut self,
        table: &str,
        columns: [&str; N],
        read: impl Fn(&Row<'_>, [Col; N]) -> Option<T> + Sync,
    ) -> Vec<T> {
        let mut found = Vec::new();
        let scanned = self.database.each(table, columns, read, |row| found.push(row));
        self.damaged += scanned.damaged;
        found
    }

    fn metadata(&mut self) {
        let facts = self.rows(
            "compute_metadata",
            ["compute_version", "git_version", "schema_version"],
            |row, columns| Some(columns.map(|column| row.text(column).map(|text| text.into_owned()))),
        );
        let Some(values) = facts.into_iter().next() else { return };
        for (key, value) in ["compute_version", "git_version", "schema_version"].iter().zip(&values) {
            self.trace.add_metadata(self.source, key, value.as_deref().unwrap_or_default());
        }
        if let Some(schema) = values[2].as_ref().filter(|schema| !schema.starts_with(SCHEMA)) {
            let message = format!("schema {schema} is not supported (only 2): unknown tables are ignored");
            self.trace.health.report("schema", Status::Warn, None, message);
        }
    }

    fn workloads(&mut self) {
        let found = self.rows(
            "compute_workload",
            ["workload_id", "name", "sub_name", "sys_info_extdata"],
            |row, [id, name, part, facts]| {
                let text = |column| row.text(column).unwrap_or_default().into_owned();
                Some((row.int(id)?, text(name), text(part), text(facts)))
            },
        );
        for (id, name, part, facts) in found {
            let facts = facts_of(&facts);
            let fact =
                |key: &str| facts.iter().find(|(k, _)| k == key).map_or("", |(_, value)| value.as_str());
            let identity =
                rapidhash_v3(format!("{name}/{part}/{}/{}", fact("timestamp"), fact("command")).as_bytes());
            let trace = &mut self.trace;
            let guid = trace.strings.intern(&format!("compute-analysis-{identity:016x}"));
            let (hostname, command) =
                (trace.strings.intern(fact("hostname")), trace.strings.intern(fact("command")));
            let process =
                trace.add_process(Process { guid, hostname, command, ..Process::new(self.source, 0) });
            // The facts of several machines would look like those of one.
            if self.workloads.is_empty() {
                for (key, value) in &facts {
                    trace.add_metadata(self.source, &format!("{SYSINFO}{key}"), value);
                }
            }
            let gpu = Agent {
                process,
                kind: AgentKind::Gpu,
                name: trace.strings.intern(fact("gpu_arch")),
                product: trace.strings.intern(fact("gpu_model")),
                compute_units: fact("cu_per_gpu").parse().map_or(OptI64::NONE, OptI64::some),
                ..Agent::default()
            };
            self.workloads.insert(id, Workload { process, gpu, agents: Map::default() });
        }
    }

    fn kernels(&mut self) {
        let found = self.rows(
            "compute_kernel",
            ["kernel_uuid", "workload_id", "kernel_name"],
            |row, [id, run, name]| Some((row.int(id)?, row.int(run)?, row.text(name)?.into_owned())),
        );
        for (id, workload, name) in found {
            let name = self.trace.strings.intern(&name);
            self.kernels.insert(id, (name, workload));
        }
    }

    fn dispatches(&mut self) {
        let found = self.rows(
            "compute_dispatch",
            ["kernel_uuid", "dispatch_id", "gpu_id", "start_timestamp", "end_timestamp"],
            |row, [kernel, id, gpu, start, end]| {
                Some((row.int(kernel)?, row.int(id), row.int(gpu), row.int(start)?, row.int(end)?))
            },
        );
        let mut lost = 0u64;
        for (kernel, id, gpu, start, end) in found {
            let known = self.kernels.get(&kernel);
            let workload = known.and_then(|(_, workload)| self.workloads.get_mut(workload));
            let (Some(&(name, _)), Some(workload)) = (known, workload) else {
                lost += 1;
                continue;
            };
            let number = gpu.unwrap_or(0);
            let agent = *workload.agents.entry(number).or_insert_with(|| {
                let index = OptI64::some(number);
                self.trace.add_agent(Agent {
                    absolute_index: index,
                    type_index: index,
                    ..workload.gpu.clone()
                })
            });
            self.trace.kernels.push(Kernel {
                name,
                start,
                end: end.max(start),
                process: workload.process,
                agent,
                dispatch: id.map_or(OptI64::NONE, OptI64::some),
                ..Kernel::default()
            });
        }
        if lost > 0 {
            let message =
                format!("{lost} dispatches name a kernel that is not in the database and were left out");
            self.trace.health.report("lost_rows", Status::Warn, Some(lost as f64), message);
        }
    }

    fn metrics(&mut self) {
        let found = self.rows(
            "compute_metric_definition",
            ["metric_uuid", "workload_id", "metric_id", "name", "table_name", "sub_table_name", "unit"],
            |row, [uuid, workload, texts @ ..]| {
                let texts: [Col; 5] = texts;
                let texts = texts.map(|column| row.text(column).unwrap_or_default().into_owned());
                Some((row.int(uuid)?, row.int(workload)?, texts))
            },
        );
        let mut definitions: Map<i64, Definition> = Map::default();
        for (uuid, workload, texts) in found {
            let [id, name, panel, table, unit] = texts.map(|text| self.trace.strings.intern(&text));
            definitions.insert(uuid, Definition { workload, id, name, panel, table, unit });
        }
        let of_kernels = self.values("compute_kernel_metric_value", "kernel_uuid");
        let of_workloads = self.values("compute_workload_metric_value", "workload_id");
        let kernels = of_kernels.into_iter().map(|value| (true, value));
        for (is_kernel, (metric, owner, statistic, value)) in
            kernels.chain(of_workloads.into_iter().map(|value| (false, value)))
        {
            let Some(definition) = definitions.get(&metric).copied() else { continue };
            let (kernel, workload) = match is_kernel {
                true => self.kernels.get(&owner).copied().unwrap_or((StrId::EMPTY, i64::MIN)),
                false => (StrId::EMPTY, definition.workload),
            };
            let Some(workload) = self.workloads.get(&workload) else { continue };
            let process = workload.process;
            let statistic = self.trace.strings.intern(&statistic);
            let Definition { id, name, panel, table, unit, .. } = definition;
            self.trace.metrics.push(StoredMetric {
                process,
                kernel,
                id,
                name,
                panel,
                table,
                unit,
                statistic,
                value,
            });
        }
    }

    fn values(&mut self, table: &str, owner: &str) -> Vec<(i64, i64, String, f64)> {
        self.rows(
            table,
            ["metric_uuid", owner, "value_name", "value"],
            |row, [metric, owner, name, value]| {
                let name = row.text(name).unwrap_or_default().into_owned();
                Some((row.int(metric)?, row.int(owner)?, name, row.real(value).unwrap_or(f64::NAN)))
            },
        )
    }
}

/// The fields of a JSON object as texts.
fn facts_of(json: &str) -> Vec<(String, String)> {
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(json) else { return Vec::new() };
    let text = |value: serde_json::Value| match value {
        serde_json::Value::String(text) => text,
        serde_json::Value::Null => String::new(),
        other => other.to_string(),
    };
    fields.into_iter().map(|(key, value)| (key, text(value))).collect()
}
