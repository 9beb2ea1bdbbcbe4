//! Parquet files read back with a Parquet reader: every row of every table, exactly.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::schema::types::Type;
use rocm_perf_convert::parquet::{path, write};
use trace::{RowRef, Table, Trace};

/// The columns of a file by name.
type Columns = BTreeMap<String, Vec<Field>>;

fn read(prefix: &Path, table: &str) -> Columns {
    read_some(prefix, table, &|_| true)
}

fn read_some(prefix: &Path, table: &str, wanted: &dyn Fn(&str) -> bool) -> Columns {
    let file = std::fs::File::open(path(prefix, table)).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let schema = reader.metadata().file_metadata().schema();
    let mut fields = schema.get_fields().to_vec();
    fields.retain(|field| wanted(field.name()));
    let schema = Type::group_type_builder(schema.name()).with_fields(fields).build().unwrap();
    let mut columns = Columns::new();
    for row in reader.get_row_iter(Some(schema)).unwrap() {
        for (name, value) in row.unwrap().get_column_iter() {
            columns.entry(name.clone()).or_default().push(value.clone());
        }
    }
    columns
}

fn number(value: impl Into<Option<i64>>) -> Field {
    value.into().map_or(Field::Null, Field::Long)
}

fn text(value: &str) -> Field {
    if value.is_empty() { Field::Null } else { Field::Str(value.into()) }
}

fn check(columns: &Columns, name: &str, expected: impl Iterator<Item = Field>) {
    let found = columns.get(name).unwrap_or_else(|| panic!("no column {name}"));
    let expected: Vec<Field> = expected.collect();
    assert_eq!(found.len(), expected.len(), "{name}");
    for (row, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(found, expected, "row {row} of {name}");
    }
}

fn check_trace(trace: &Trace, prefix: &Path) {
    let files = write(trace, prefix).unwrap();
    let text_of = |id: &trace::StrId| text(trace.strings.get(*id));
    let mut expected: Vec<PathBuf> = Vec::new();
    let rows: BTreeMap<&str, usize> = [
        ("kernels", trace.kernels.len()),
        ("memory_copies", trace.memory_copies.len()),
        ("memory_allocations", trace.memory_allocations.len()),
        ("regions", trace.regions.len()),
        ("counters", trace.counters.len()),
        ("samples", trace.samples.len()),
        ("syncs", trace.syncs.len()),
        ("collectives", trace.collectives.len()),
        ("args", trace.args.len()),
        ("links", trace.links.len()),
        ("agents", trace.agents.len()),
        ("processes", trace.processes.len()),
        ("threads", trace.threads.len()),
        ("queues", trace.queues.len()),
        ("streams", trace.streams.len()),
        ("kernel_symbols", trace.symbols.len()),
        ("metadata", trace.metadata.len()),
        ("sources", trace.sources.len()),
    ]
    .into();
    for table in trace::COLUMNAR_TABLES.iter().filter(|table| rows[*table] > 0) {
        let columns = read(prefix, table);
        for (name, values) in &columns {
            assert_eq!(values.len(), rows[table], "{table}.{name}");
        }
        expected.push(path(prefix, table));
    }
    assert!(files.iter().map(|(path, _)| path).eq(&expected));
    for (path, bytes) in &files {
        assert_eq!(std::fs::metadata(path).unwrap().len(), *bytes);
    }
    let k = &trace.kernels;
    let columns = read(prefix, "kernels");
    check(&columns, "id", (1..=k.len() as i64).map(number));
    check(&columns, "name", k.name.iter().map(text_of));
    check(&columns, "start", k.start.iter().map(|v| number(*v)));
    check(&columns, "end", k.end.iter().map(|v| number(*v)));
    check(&columns, "duration", k.rows().map(|row| number(row.end - row.start)));
    check(&columns, "stack_id", k.correlation.iter().map(|v| number(*v)));
    check(&columns, "corr_id", k.external.iter().map(|v| number(v.get())));
    check(&columns, "agent_id", k.agent.iter().map(|a| number(a.get().map(|a| a as i64 + 1))));
    check(&columns, "stream_id", k.stream.iter().map(|s| number(s.get().map(|s| trace.streams[s].id))));
    check(&columns, "pid", k.process.iter().map(|p| number(p.get().map(|p| trace.processes[p].pid))));
    check(&columns, "rank", k.process.iter().map(|p| number(trace.rank_of(*p).map(i64::from))));
    let shape = |i: usize| trace.shapes.get(k.shape[i]);
    check(&columns, "vgpr_count", (0..k.len()).map(|i| number(shape(i).vgpr.get())));
    let workgroup = |i: usize| shape(i).workgroup.map(|sizes| i64::from(sizes[2]));
    check(&columns, "workgroup_z", (0..k.len()).map(|i| number(workgroup(i))));
    let launch = |i: usize| trace.links.launch_of(RowRef::kernel(i)).map(|row| row as i64 + 1);
    check(&columns, "launch_id", (0..k.len()).map(|i| number(launch(i))));

    // A table without rows, such as regions in a GPU-only trace, has no file.
    assert_eq!(path(prefix, "regions").exists(), !trace.regions.is_empty());
    if !trace.regions.is_empty() {
        let r = &trace.regions;
        let columns = read(prefix, "regions");
        check(&columns, "name", r.name.iter().map(text_of));
        check(&columns, "category", r.category.iter().map(text_of));
        check(&columns, "start", r.start.iter().map(|v| number(*v)));
        check(&columns, "end", r.end.iter().map(|v| number(*v)));
        check(&columns, "parent_stack_id", r.parent.iter().map(|v| number(*v)));
        check(&columns, "tid", r.thread.iter().map(|t| number(t.get().map(|t| trace.threads[t].tid))));
    }

    if !trace.memory_copies.is_empty() {
        let c = &trace.memory_copies;
        let columns = read(prefix, "memory_copies");
        check(&columns, "name", c.name.iter().map(text_of));
        check(&columns, "start", c.start.iter().map(|v| number(*v)));
        check(&columns, "end", c.end.iter().map(|v| number(*v)));
        check(&columns, "size", c.bytes.iter().map(|v| number(v.get())));
        check(&columns, "dst_agent_id", c.dst.iter().map(|a| number(a.get().map(|a| a as i64 + 1))));
    }
    if !trace.counters.is_empty() {
        let c = &trace.counters;
        let columns = read(prefix, "counters");
        check(&columns, "value", c.value.iter().map(|v| Field::Double(*v)));
        let row = |k: &RowRef| number(k.row_of(Table::Kernels).map(|row| row as i64 + 1));
        check(&columns, "kernel_row", c.kernel.iter().map(row));
        let kind =
            |c: &trace::CounterId| c.get().map_or(Field::Null, |c| text_of(&trace.counter_kinds[c].name));
        check(&columns, "counter_name", c.counter.iter().map(kind));
    }
    if !trace.args.is_empty() {
        let columns = read(prefix, "args");
        check(&columns, "value", trace.args.value.iter().map(text_of));
        check(
            &columns,
            "of_row",
            trace.args.owner.iter().map(|o| number(o.get().map(|(_, row)| row as i64 + 1))),
        );
    }
    assert_eq!(path(prefix, "links").exists(), !trace.links.from.is_empty());
    if !trace.links.from.is_empty() {
        let columns = read(prefix, "links");
        let row = |o: &RowRef| number(o.get().map(|(_, row)| row as i64 + 1));
        check(&columns, "from_row", trace.links.from.iter().map(row));
        check(&columns, "to_row", trace.links.to.iter().map(row));
    }
}

#[test]
fn every_row_of_every_table_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    check_trace(&common::example(), &folder.path().join("run"));
    check_trace(&common::example(), &folder.path().join("again"));
    for table in ["kernels", "args"] {
        let [a, b] =
            ["run", "again"].map(|run| std::fs::read(path(&folder.path().join(run), table)).unwrap());
        assert!(a == b, "the same trace gives the same bytes");
    }
}

#[test]
fn real_traces_come_back() {
    for (number, file) in common::shared_traces().iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        check_trace(&common::read(file), &folder.path().join(number.to_string()));
    }
}

/// More rows than a row group, and more distinct names than the writer remembers.
#[test]
fn row_groups_join_without_a_seam() {
    let mut trace = common::example();
    let kernel = trace.kernels.get(0);
    let names: Vec<trace::StrId> =
        (0..9000).map(|i| trace.strings.intern(&format!("kernel number {i}"))).collect();
    for i in 0..1_100_000usize {
        let start = kernel.end + 10 * i as i64;
        let name = names[(i * i) % names.len()];
        trace.kernels.push(trace::Kernel { name, start, end: start + (i % 97) as i64, ..kernel });
    }
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    write(&trace, &prefix).unwrap();
    let file = std::fs::File::open(path(&prefix, "kernels")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    assert_eq!(reader.num_row_groups(), 3);
    let columns = read_some(&prefix, "kernels", &|name| ["start", "name"].contains(&name));
    check(&columns, "start", trace.kernels.start.iter().map(|v| number(*v)));
    check(&columns, "name", trace.kernels.name.iter().map(|id| text(trace.strings.get(*id))));
    for group in reader.metadata().row_groups() {
        let names = group.columns().iter().find(|column| column.column_path().string() == "name").unwrap();
        assert!(names.dictionary_page_offset().is_some(), "a name is stored once");
    }
}

/// An independent reader, if one is installed.
#[test]
fn other_readers_see_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let trace = common::example();
    let prefix = folder.path().join("run");
    write(&trace, &prefix).unwrap();
    let kernels = path(&prefix, "kernels");
    let programs = [
        "import duckdb,sys; print(*duckdb.sql(f\"SELECT count(*), sum(\\\"end\\\" - start), sum(duration), count(DISTINCT name), min(name) FROM '{sys.argv[1]}'\").fetchone(), sep='|')",
        "import pyarrow.parquet as p, sys; t = p.read_table(sys.argv[1]).to_pydict(); print(len(t['id']), sum(t['end']) - sum(t['start']), sum(t['duration']), len(set(t['name'])), min(t['name']), sep='|')",
    ];
    let total: i64 = trace.kernels.rows().map(|row| row.end - row.start).sum();
    let expected =
        format!("{}|{total}|{total}|1|{}", trace.kernels.len(), trace.strings.get(trace.kernels.name[0]));
    for program in programs {
        let run = std::process::Command::new("python3").args(["-c", program]).arg(&kernels).output();
        match run {
            Ok(output) if output.status.success() => {
                assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), expected);
            }
            _ => testing::skip(&format!("no Python with {}", &program[7..14])),
        }
    }
}

#[test]
fn a_failure_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(path(&folder.path().join("run"), "regions").join("in the way")).unwrap();
    assert!(write(&common::example(), &folder.path().join("run")).is_err());
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten().map(|e| e.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("partial")), "{left:?}");
    let file = folder.path().join("file");
    std::fs::write(&file, b"no folder").unwrap();
    assert!(write(&common::example(), &file.join("run")).is_err());
}
