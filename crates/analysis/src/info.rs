//! `info`: what is in the input.

use report::{Column, Report, Table, Unit, Value};
use trace::{AgentKind, Trace};

use crate::base;

/// Sources, table contents, devices and metadata.
pub fn info(trace: &Trace) -> Report {
    let mut report = base::report("info", trace);
    let tables = [sources(trace), contents(trace), agents(trace), metadata(trace)];
    report.tables = tables.into_iter().filter(|table| !table.rows.is_empty()).collect();
    report
}

fn sources(trace: &Trace) -> Table {
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
    for (i, source) in trace.sources.iter().enumerate() {
        let processes: Vec<_> = trace.processes.iter().filter(|p| p.source.get() == Some(i)).collect();
        let mut hosts: Vec<&str> = processes.iter().map(|p| trace.strings.get(p.hostname)).collect();
        hosts.sort_unstable();
        hosts.dedup();
        table.push(vec![
            Value::from(source.path.as_str()),
            Value::from(source.format.as_str()),
            Value::Int(source.bytes as i64),
            Value::int_or(source.rank.map(i64::from), "neither name, metadata nor environment tells a rank"),
            Value::from(source.role.as_deref().unwrap_or("")),
            Value::from(processes.len()),
            Value::from(hosts.join(" ").as_str()),
        ]);
    }
    table
}

fn contents(trace: &Trace) -> Table {
    let columns = vec![
        Column::text("table"),
        Column::int("rows", Unit::None).key(),
        Column::int("first_ns", Unit::Exact).key(),
        Column::int("last_ns", Unit::Exact).key(),
    ];
    let mut table = Table::new("contents", "Contents", columns);
    let timed: [(&str, &[i64], &[i64]); 6] = [
        ("kernels", &trace.kernels.start, &trace.kernels.end),
        ("memory_copies", &trace.memory_copies.start, &trace.memory_copies.end),
        ("memory_allocations", &trace.memory_allocations.start, &trace.memory_allocations.end),
        ("regions", &trace.regions.start, &trace.regions.end),
        ("samples", &trace.samples.start, &trace.samples.end),
        ("syncs", &trace.syncs.start, &trace.syncs.end),
    ];
    for (name, start, end) in timed {
        table.push(vec![
            Value::from(name),
            Value::from(start.len()),
            Value::int_or(start.first().copied(), "no rows"),
            Value::int_or(end.iter().copied().max(), "no rows"),
        ]);
    }
    let frames: u64 = trace.sources.iter().map(|source| source.frames_skipped).sum();
    let untimed = [
        ("python_frames", frames as usize),
        ("counters", trace.counters.len()),
        ("collectives", trace.collectives.len()),
        ("links", trace.links.len()),
        ("processes", trace.processes.len()),
        ("threads", trace.threads.len()),
        ("agents", trace.agents.len()),
        ("streams", trace.streams.len()),
        ("queues", trace.queues.len()),
        ("kernel_symbols", trace.symbols.len()),
    ];
    for (name, rows) in untimed.into_iter().filter(|(_, rows)| *rows > 0) {
        let why =
            if name == "python_frames" { "counted, not read" } else { "rows have no time of their own" };
        table.push(vec![Value::from(name), Value::from(rows), Value::absent(why), Value::absent(why)]);
    }
    table
}

fn agents(trace: &Trace) -> Table {
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
    let mut kernels = vec![0usize; trace.agents.len()];
    for agent in &trace.kernels.agent {
        if let Some(agent) = agent.get() {
            kernels[agent] += 1;
        }
    }
    for (agent, kernels) in trace.agents.iter().zip(kernels) {
        if agent.kind != AgentKind::Gpu && kernels == 0 {
            continue;
        }
        let host = agent.process.get().map_or("", |p| trace.strings.get(trace.processes[p].hostname));
        table.push(vec![
            Value::from(host),
            Value::int_or(agent.absolute_index.get(), "not recorded"),
            Value::from(trace.strings.get(agent.name)),
            Value::from(trace.strings.get(agent.product)),
            Value::int_or(agent.compute_units.get(), "not recorded"),
            Value::int_or(agent.memory_bytes.get(), "not recorded"),
            Value::from(kernels),
        ]);
    }
    table
}

fn metadata(trace: &Trace) -> Table {
    let columns = vec![Column::int("source", Unit::None).key(), Column::text("key"), Column::text("value")];
    let mut table = Table::new("metadata", "Metadata", columns);
    for fact in &trace.metadata {
        table.push(vec![
            Value::int_or(fact.source.get().map(|s| s as i64), "no source"),
            Value::from(trace.strings.get(fact.key)),
            Value::from(trace.strings.get(fact.value)),
        ]);
    }
    table
}
