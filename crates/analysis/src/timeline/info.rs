//! `info`: what is in the input.

use model::completeness::{Completeness, Missing};
use report::{Column, Report, Table, Unit, Value};
use trace::{AgentKind, Ns, Trace};

use crate::base;

/// The contents of an input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceContents {
    /// Files and folders, in the order given.
    pub sources: Vec<SourceContents>,
    /// Recorded rows by kind.
    pub kinds: Vec<RecordedRows>,
    /// GPUs, and other devices that kernels ran on.
    pub gpus: Vec<RecordedDevice>,
    /// Facts that the inputs record about themselves: index of the source, name, value.
    pub metadata: Vec<(Option<usize>, String, String)>,
}

/// One input.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceContents {
    /// Its path.
    pub path: String,
    /// Its format.
    pub format: String,
    /// Its size.
    pub bytes: u64,
    /// Rank in the job.
    pub rank: Option<u32>,
    /// Its role if it is not the recording of a rank; empty otherwise.
    pub role: String,
    /// Processes.
    pub processes: usize,
    /// Hosts of those processes.
    pub hosts: Vec<String>,
}

/// Rows of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRows {
    /// Table name, such as `kernels`.
    pub kind: &'static str,
    /// Number of rows.
    pub rows: usize,
    /// First start and last end, or why they are not known.
    pub times: Result<(Ns, Ns), &'static str>,
}

/// A device.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedDevice {
    /// Its host.
    pub host: String,
    /// Its number on the host.
    pub index: Option<i64>,
    /// Architecture.
    pub name: String,
    /// Product.
    pub product: String,
    /// Compute units.
    pub compute_units: Option<i64>,
    /// Memory.
    pub memory_bytes: Option<i64>,
    /// Dispatches on it.
    pub kernels: usize,
}

/// [`compute`] and [`present`] in one.
pub fn info(trace: &Trace) -> Report {
    present(trace, &compute(trace))
}

/// The contents of a trace.
pub fn compute(trace: &Trace) -> TraceContents {
    let text = |id| trace.strings.get(id).to_string();
    let metadata = trace.metadata.iter();
    TraceContents {
        sources: sources(trace),
        kinds: kinds(trace),
        gpus: gpus(trace),
        metadata: metadata.map(|fact| (fact.source.get(), text(fact.key), text(fact.value))).collect(),
    }
}

/// The whole report.
pub fn present(trace: &Trace, contents: &TraceContents) -> Report {
    let mut report = base::report("info", trace);
    let tables = [
        sources_table(&contents.sources),
        kinds_table(&contents.kinds),
        contents.gpus_table(),
        metadata_table(&contents.metadata),
    ];
    report.tables = tables.into_iter().filter(|table| !table.rows.is_empty()).collect();
    report
}

fn sources(trace: &Trace) -> Vec<SourceContents> {
    let source = |(i, source): (usize, &trace::Source)| {
        let processes: Vec<_> = trace.processes.iter().filter(|p| p.source.get() == Some(i)).collect();
        let mut hosts: Vec<&str> = processes.iter().map(|p| trace.strings.get(p.hostname)).collect();
        hosts.sort_unstable();
        hosts.dedup();
        SourceContents {
            path: source.path.clone(),
            format: source.format.clone(),
            bytes: source.bytes,
            rank: source.rank,
            role: source.role.clone().unwrap_or_default(),
            processes: processes.len(),
            hosts: hosts.into_iter().map(String::from).collect(),
        }
    };
    trace.sources.iter().enumerate().map(source).collect()
}

fn kinds(trace: &Trace) -> Vec<RecordedRows> {
    let timed: [(&str, &[Ns], &[Ns]); 6] = [
        ("kernels", &trace.kernels.start, &trace.kernels.end),
        ("memory_copies", &trace.memory_copies.start, &trace.memory_copies.end),
        ("memory_allocations", &trace.memory_allocations.start, &trace.memory_allocations.end),
        ("regions", &trace.regions.start, &trace.regions.end),
        ("samples", &trace.samples.start, &trace.samples.end),
        ("syncs", &trace.syncs.start, &trace.syncs.end),
    ];
    let frames: u64 = trace.sources.iter().map(|source| source.frames_skipped).sum();
    let untimed = [
        ("python_frames", frames as usize),
        ("counters", trace.counters.len()),
        ("collectives", trace.collectives.len()),
        ("allocator_events", trace.allocator_events.len()),
        ("allocator_segments", trace.allocator_segments.len()),
        ("allocator_blocks", trace.allocator_blocks.len()),
        ("links", trace.links.len()),
        ("processes", trace.processes.len()),
        ("threads", trace.threads.len()),
        ("agents", trace.agents.len()),
        ("streams", trace.streams.len()),
        ("queues", trace.queues.len()),
        ("kernel_symbols", trace.symbols.len()),
    ];
    let timed = timed.into_iter().map(|(kind, start, end)| {
        let times = start.first().copied().zip(end.iter().copied().max()).ok_or("no rows");
        RecordedRows { kind, rows: start.len(), times }
    });
    let untimed = untimed.into_iter().filter(|(_, rows)| *rows > 0).map(|(kind, rows)| {
        let counted = kind == "python_frames";
        let why = if counted { "counted, not read" } else { "rows have no time of their own" };
        RecordedRows { kind, rows, times: Err(why) }
    });
    timed.chain(untimed).collect()
}

fn gpus(trace: &Trace) -> Vec<RecordedDevice> {
    let mut kernels = vec![0usize; trace.agents.len()];
    for agent in trace.kernels.agent.iter().filter_map(|agent| agent.get()) {
        kernels[agent] += 1;
    }
    let devices = trace.agents.iter().zip(kernels);
    let devices = devices.filter(|(agent, kernels)| agent.kind == AgentKind::Gpu || *kernels > 0);
    let device = |(agent, kernels): (&trace::Agent, usize)| RecordedDevice {
        host: agent
            .process
            .get()
            .map_or("", |process| trace.strings.get(trace.processes[process].hostname))
            .to_string(),
        index: agent.absolute_index.get(),
        name: trace.strings.get(agent.name).to_string(),
        product: trace.strings.get(agent.product).to_string(),
        compute_units: agent.compute_units.get(),
        memory_bytes: agent.memory_bytes.get(),
        kernels,
    };
    devices.map(device).collect()
}

fn sources_table(sources: &[SourceContents]) -> Table {
    let columns = vec![
        Column::text("path"),
        Column::text("format"),
        Column::int("bytes", Unit::Bytes).key(),
        Column::int("rank", Unit::None).key(),
        Column::text("role"),
        Column::int("processes", Unit::None),
        Column::text("hosts"),
    ];
    let mut table = Table::new("sources", "Inputs", columns);
    for source in sources {
        table.push(vec![
            Value::from(source.path.as_str()),
            Value::from(source.format.as_str()),
            Value::Int(source.bytes as i64),
            Value::int_or(source.rank.map(i64::from), "no rank in the file name, metadata or environment"),
            Value::from(source.role.as_str()),
            Value::from(source.processes),
            Value::from(source.hosts.join(" ").as_str()),
        ]);
    }
    table
}

fn kinds_table(kinds: &[RecordedRows]) -> Table {
    let columns = vec![
        Column::text("table"),
        Column::int("rows", Unit::None).key(),
        Column::int("first_ns", Unit::Exact).key(),
        Column::int("last_ns", Unit::Exact).key(),
    ];
    let mut table = Table::new("contents", "Contents", columns);
    for RecordedRows { kind, rows, times } in kinds {
        let (first, last) = match times {
            Ok((first, last)) => (Value::Int(*first), Value::Int(*last)),
            Err(why) => (Value::absent(why), Value::absent(why)),
        };
        table.push(vec![Value::from(*kind), Value::from(*rows), first, last]);
    }
    table
}

impl TraceContents {
    /// The table `gpus`.
    pub fn gpus_table(&self) -> Table {
        let columns = vec![
            Column::text("host"),
            Column::int("index", Unit::None).key(),
            Column::text("name"),
            Column::text("product"),
            Column::int("compute_units", Unit::None),
            Column::int("memory_bytes", Unit::Bytes),
            Column::int("kernels", Unit::None).key(),
        ];
        let mut table = Table::new("gpus", "GPUs", columns);
        for gpu in &self.gpus {
            table.push(vec![
                Value::from(gpu.host.as_str()),
                Value::int_or(gpu.index, "not recorded"),
                Value::from(gpu.name.as_str()),
                Value::from(gpu.product.as_str()),
                Value::int_or(gpu.compute_units, "not recorded"),
                Value::int_or(gpu.memory_bytes, "not recorded"),
                Value::from(gpu.kernels),
            ]);
        }
        table
    }
}

/// The table `missing`: GPU work that was launched but is not in the trace, by kind of evidence.
pub fn missing_table(trace: &Trace, complete: &Completeness) -> Table {
    let columns = vec![
        Column::text("evidence"),
        Column::text("recording"),
        Column::int("stream", Unit::Exact),
        Column::int("launches", Unit::None).key(),
        Column::int("of_launches", Unit::None),
        Column::int("kernels", Unit::None),
        Column::int("of_kernels", Unit::None),
        Column::int("first_ns", Unit::Exact).detail(),
        Column::int("last_ns", Unit::Exact).detail(),
        Column::int("time_ns", Unit::Ns).key(),
        Column::int("least_ns", Unit::Ns),
        Column::int("most_ns", Unit::Ns),
    ];
    let mut table = Table::new("missing", "Missing GPU work", columns);
    for missing in &complete.missing {
        let Missing { evidence, recording, launches, of_launches, kernels, of_kernels, .. } = missing;
        let stream =
            missing.stream.and_then(|stream| trace.streams.get(stream.get()?)).map(|stream| stream.id);
        let count = |number: Option<usize>, why| Value::int_or(number.map(|number| number as i64), why);
        let at = |ns: Option<Ns>| Value::int_or(ns, "no launch was recorded");
        let time = |ns: Option<Ns>| Value::int_or(ns, "no such kernel was recorded");
        table.push(vec![
            Value::from(evidence.name()),
            Value::from(recording.as_str()),
            Value::int_or(stream, "not only one stream"),
            Value::from(*launches),
            Value::from(*of_launches),
            count(*kernels, "no such launch was recorded whole"),
            count(*of_kernels, "no such launch was recorded whole"),
            at(missing.between.map(|between| between.0)),
            at(missing.between.map(|between| between.1)),
            time(missing.time.map(|time| time.likely)),
            time(missing.time.map(|time| time.low)),
            time(missing.time.map(|time| time.high)),
        ]);
    }
    table
}

fn metadata_table(metadata: &[(Option<usize>, String, String)]) -> Table {
    let columns = vec![Column::int("source", Unit::None).key(), Column::text("key"), Column::text("value")];
    let mut table = Table::new("metadata", "Metadata", columns);
    for (source, key, value) in metadata {
        table.push(vec![
            Value::int_or(source.map(|source| source as i64), "no source"),
            Value::from(key.as_str()),
            Value::from(value.as_str()),
        ]);
    }
    table
}
