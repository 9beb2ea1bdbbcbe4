//! What was built, what is there and what is wrong, as reports.

use std::collections::{BTreeMap, BTreeSet};

use report::{Column, HealthCheck, HealthStatus, Note, Report, Table, Unit, Value};

use crate::build::Built;
use crate::check::Checked;
use crate::{Address, Manifest, Partition};

const COMMAND: &str = "lake";

fn report() -> Report {
    Report { command: COMMAND.into(), ..Report::default() }
}

fn note(text: String) -> Note {
    Note { text, remedy: None }
}

/// What building wrote and kept.
pub fn built(built: &Built) -> Report {
    let mut report = report();
    let mut ranks = rank_table();
    ranks.columns.insert(3, Column::text("state"));
    for rank in &built.ranks {
        let mut row = rank_row(&rank.manifest);
        row.insert(3, Value::from(if rank.kept { "kept" } else { "written" }));
        ranks.push(row);
    }
    report.tables.push(ranks);
    let mut problems = Table::new("problems", "Not in the lake", vec![Column::text("problem")]);
    problems.rows.extend(built.problems.iter().map(|problem| vec![Value::Text(problem.to_string())]));
    report.tables.extend((!problems.rows.is_empty()).then_some(problems));
    let done: BTreeSet<&Partition> = built.ranks.iter().map(|rank| &rank.manifest.part).collect();
    let (finished, open): (Vec<&Partition>, Vec<&Partition>) =
        built.unfinished.iter().partition(|part| done.contains(part));
    if !finished.is_empty() {
        report.notes.push(note(format!("{} ranks were half-written and are now complete", finished.len())));
    }
    report.health.extend(half_written(&open));
    if !built.left_out.is_empty() {
        let text =
            format!("{} traces are not ranks (captures, helpers) and were left out", built.left_out.len());
        report.notes.push(note(text));
    }
    if built.counted_ranks {
        report
            .notes
            .push(note("Some traces do not record their rank; they were numbered by file name".into()));
    }
    report
}

/// What is in a lake.
pub fn contents(address: &Address, ranks: &[Manifest], unfinished: &BTreeSet<Partition>) -> Report {
    let mut report = report();
    report.health.extend(half_written(&unfinished.iter().collect::<Vec<_>>()));
    let mut runs: BTreeMap<&str, Run> = BTreeMap::new();
    let mut tables: BTreeMap<&str, (usize, u64, u64)> = BTreeMap::new();
    for rank in ranks {
        let run = runs.entry(&rank.part.run).or_default();
        run.nodes.insert(&rank.part.node);
        run.ranks += 1;
        run.kernels += rank.rows("kernels");
        run.kernel_ns += rank.kernel_ns;
        run.bytes += rank.bytes();
        for (table, file) in &rank.tables {
            let sum = tables.entry(table).or_default();
            *sum = (sum.0 + 1, sum.1 + file.rows, sum.2 + file.bytes);
        }
    }
    let mut run_table = Table::new(
        "runs",
        &format!("Runs in {address}"),
        vec![
            Column::text("run"),
            Column::int("nodes", Unit::None).key(),
            Column::int("ranks", Unit::None).key(),
            Column::int("kernels", Unit::None).key(),
            Column::int("kernel_ns", Unit::Ns),
            Column::int("bytes", Unit::Bytes),
        ],
    );
    for (name, run) in runs {
        let numbers =
            [run.nodes.len() as i64, run.ranks, run.kernels as i64, run.kernel_ns, run.bytes as i64];
        run_table.push(std::iter::once(Value::from(name)).chain(numbers.map(Value::Int)).collect());
    }
    let mut rank_rows = rank_table();
    ranks.iter().for_each(|rank| rank_rows.push(rank_row(rank)));
    let mut table_rows = Table::new(
        "tables",
        "Tables",
        vec![
            Column::text("table"),
            Column::int("files", Unit::None),
            Column::int("rows", Unit::None).key(),
            Column::int("bytes", Unit::Bytes).key(),
        ],
    );
    for (name, (files, rows, bytes)) in tables {
        let numbers = [files as i64, rows as i64, bytes as i64].map(Value::Int);
        table_rows.push(std::iter::once(Value::from(name)).chain(numbers).collect());
    }
    report.tables = vec![run_table, rank_rows, table_rows];
    report
}

#[derive(Default)]
struct Run<'m> {
    nodes: BTreeSet<&'m str>,
    ranks: i64,
    kernels: u64,
    kernel_ns: i64,
    bytes: u64,
}

/// What is wrong with a lake.
pub fn checked(checked: &Checked) -> Report {
    let mut report = report();
    let mut faults = Table::new(
        "faults",
        "What is wrong",
        vec![
            Column::text("run"),
            Column::text("node"),
            Column::int("rank", Unit::Exact).key(),
            Column::text("file"),
            Column::text("fault"),
        ],
    );
    for fault in &checked.faults {
        let of_rank =
            |of: fn(&Partition) -> Value| fault.part.as_ref().map_or_else(|| Value::absent("of no rank"), of);
        faults.push(vec![
            of_rank(|part| Value::from(part.run.as_str())),
            of_rank(|part| Value::from(part.node.as_str())),
            of_rank(|part| Value::Int(part.rank)),
            fault.file.as_deref().map_or_else(|| Value::absent("of no single file"), Value::from),
            Value::Text(fault.what.words()),
        ]);
    }
    report.tables.extend((!faults.rows.is_empty()).then_some(faults));
    let (ranks, files) = (checked.ranks.len(), checked.files);
    let how = if checked.every_byte { "every byte was checked" } else { "only their metadata was checked" };
    report.notes.push(note(format!("{ranks} ranks in {files} files; {how}")));
    report
}

fn half_written(parts: &[&Partition]) -> Option<HealthCheck> {
    let first = parts.first()?;
    let message = match parts.len() {
        1 => format!("{first} is half-written and left out"),
        more => format!("{more} ranks are half-written and left out, the first is {first}"),
    };
    let value = Some(parts.len() as f64);
    Some(HealthCheck { id: "half_written".into(), status: HealthStatus::Warn, value, message })
}

/// A health check for half-written ranks, which queries do not see.
pub fn half_written_check(unfinished: &BTreeSet<Partition>) -> Option<HealthCheck> {
    half_written(&unfinished.iter().collect::<Vec<_>>())
}

fn rank_table() -> Table {
    Table::new(
        "ranks",
        "Ranks",
        vec![
            Column::text("run"),
            Column::text("node"),
            Column::int("rank", Unit::Exact).key(),
            Column::int("kernels", Unit::None).key(),
            Column::int("kernel_ns", Unit::Ns),
            Column::int("first_ns", Unit::Exact).data(),
            Column::int("last_ns", Unit::Exact).data(),
            Column::int("rows", Unit::None),
            Column::int("bytes", Unit::Bytes),
            Column::int("warnings", Unit::None),
            Column::text("source").detail(),
        ],
    )
}

fn rank_row(rank: &Manifest) -> Vec<Value> {
    let rows: u64 = rank.tables.values().map(|file| file.rows).sum();
    vec![
        Value::from(rank.part.run.as_str()),
        Value::from(rank.part.node.as_str()),
        Value::Int(rank.part.rank),
        Value::Int(rank.rows("kernels") as i64),
        Value::Int(rank.kernel_ns),
        Value::int_or(rank.first_ns, "no GPU work"),
        Value::int_or(rank.last_ns, "no GPU work"),
        Value::Int(rows as i64),
        Value::Int(rank.bytes() as i64),
        Value::from(rank.warnings.len()),
        Value::from(rank.sources.first().map_or("", |source| source.path.as_str())),
    ]
}
