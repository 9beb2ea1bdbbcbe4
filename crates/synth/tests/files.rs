//! Written files: the same bytes for the same seed, the asked size, and the same rows when read back.

use std::path::{Path, PathBuf};

use rocm_perf_synth::{
    Dialect, GenerateOptions, Generated, Options, OutputFormat, Scenario, generate, simulate,
};
use trace::{Needs, RowRef, Trace};

fn small(name: &str, out: &Path, format: OutputFormat) -> GenerateOptions {
    let mut options = GenerateOptions::new(Scenario::builtin(name).unwrap(), out, format);
    options.options.steps = Some(3);
    options
}

fn runs(generated: &Generated) -> Vec<PathBuf> {
    let is_run = |f: &&rocm_perf_synth::GeneratedFile| f.rank.is_some() && f.role.is_none();
    generated.files.iter().filter(is_run).map(|f| f.path.clone()).collect()
}

fn read(path: &Path) -> Trace {
    ingest::read(&[path.to_path_buf()], &Needs::everything(), &ingest::Progress::default()).unwrap()
}

#[test]
fn same_seed_same_bytes() {
    for (_, format) in OutputFormat::ALL {
        let write = |seed: u64| -> Vec<Vec<u8>> {
            let folder = tempfile::tempdir().unwrap();
            let mut options = small("straggler", folder.path(), format);
            options.options.seed = seed;
            let generated = generate(&options).unwrap();
            generated.files.iter().map(|f| std::fs::read(&f.path).unwrap()).collect()
        };
        assert!(write(5) == write(5), "{}", format.name());
        assert!(write(5) != write(6), "{}", format.name());
    }
}

#[test]
fn a_size_is_reached_within_a_tenth() {
    for (name, format, size) in [
        ("clean", OutputFormat::Torch, 3_000_000),
        ("clean", OutputFormat::Rocpd, 12_000_000),
        ("clean", OutputFormat::Rocprofv3Json, 2_000_000),
        ("clean", OutputFormat::Rocprofv3Csv, 2_000_000),
        ("clean", OutputFormat::Xplane, 3_000_000),
        ("training", OutputFormat::Torch, 40_000_000),
        ("clean", OutputFormat::Snapshot, 10_000_000),
        ("straggler", OutputFormat::Inspector, 1_000_000),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut options = GenerateOptions::new(Scenario::builtin(name).unwrap(), folder.path(), format);
        options.size = Some(size);
        options.options.ranks = Some(1);
        let generated = generate(&options).unwrap();
        let bytes: u64 = generated.files.iter().filter(|f| f.rank.is_some()).map(|f| f.bytes).sum();
        let off = bytes as f64 / size as f64;
        assert!((0.9..1.1).contains(&off), "{name} {}: {bytes} of {size}", format.name());
        assert!(
            !std::fs::read_dir(folder.path())
                .unwrap()
                .any(|entry| { entry.unwrap().file_name().to_string_lossy().starts_with('.') })
        );
    }
}

#[test]
fn a_size_that_no_number_of_steps_reaches_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = Scenario::builtin("clean").unwrap();
    let mut options = GenerateOptions::new(scenario, folder.path(), OutputFormat::Inspector);
    options.size = Some(1_000_000);
    options.options.ranks = Some(1);
    let error = generate(&options).unwrap_err();
    assert!(error.to_string().contains("no collectives"), "{error}");
}

#[test]
fn size_before_compression_counts_for_gzip() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = small("clean", folder.path(), OutputFormat::TorchGz);
    options.size = Some(2_000_000);
    let path = &runs(&generate(&options).unwrap())[0];
    let mut text = Vec::new();
    let mut reader = flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap());
    std::io::Read::read_to_end(&mut reader, &mut text).unwrap();
    assert!((1_800_000..2_200_000).contains(&text.len()), "{}", text.len());
    let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert!(json["traceEvents"].as_array().unwrap().len() > 1000);
}

#[test]
fn existing_runs_are_kept_and_bad_options_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = small("clean", folder.path(), OutputFormat::Torch);
    generate(&options).unwrap();
    let error = generate(&options).unwrap_err().to_string();
    assert!(error.contains("already"), "{error}");
    options.force = true;
    generate(&options).unwrap();
    options.size = Some(1);
    options.options.kernels = Some(1);
    assert!(generate(&options).is_err());
    options.formats.clear();
    assert!(generate(&options).is_err());
}

type RegionRow = (String, i64, i64, i64, i64, Option<i64>, i64);

/// Host intervals with everything that must survive.
fn regions(trace: &Trace) -> Vec<RegionRow> {
    let mut rows: Vec<_> = trace
        .regions
        .rows()
        .map(|r| {
            let name = trace.strings.get(r.name).to_string();
            let tid = r.thread.get().map_or(0, |t| trace.threads[t].tid);
            (name, r.start, r.end, r.correlation, r.parent, r.external.get(), tid)
        })
        .collect();
    rows.sort();
    rows
}

type KernelRow = (String, i64, i64, i64, i64, Option<i64>, Option<[u32; 3]>, Option<[u32; 3]>, trace::Graph);

fn kernels(trace: &Trace) -> Vec<KernelRow> {
    let mut rows: Vec<_> = trace
        .kernels
        .rows()
        .map(|k| {
            let name = trace.strings.get(k.name).to_string();
            let shape = trace.shapes.get(k.shape);
            let replayed = k.graph == trace::Graph::Replayed;
            let stream = k.stream.get().map_or(-1, |s| trace.streams[s].id);
            let agent = k.agent.get().and_then(|a| trace.agents[a].absolute_index.get());
            // Replayed kernels have no shape in torch traces.
            let grid = shape.grid.filter(|_| !replayed);
            (
                name,
                k.start,
                k.end,
                k.correlation,
                stream,
                agent,
                grid,
                shape.workgroup.filter(|_| !replayed),
                k.graph,
            )
        })
        .collect();
    rows.sort_by(|a, b| (a.1, a.2, &a.0).cmp(&(b.1, b.2, &b.0)));
    rows
}

fn copies(trace: &Trace) -> Vec<(String, i64, i64, i64, Option<i64>)> {
    let mut rows: Vec<_> = trace
        .memory_copies
        .rows()
        .map(|c| (trace.strings.get(c.name).to_string(), c.start, c.end, c.correlation, c.bytes.get()))
        .collect();
    rows.sort();
    rows
}

fn allocations(trace: &Trace) -> Vec<(String, i64, Option<i64>)> {
    let mut rows: Vec<_> = trace
        .memory_allocations
        .rows()
        .map(|a| (trace.strings.get(a.kind).to_string(), a.start, a.address.get()))
        .collect();
    rows.sort();
    rows
}

fn simulated(name: &str, dialect: Dialect) -> Trace {
    let options = Options { steps: Some(3), dialect, ..Options::default() };
    simulate(&Scenario::builtin(name).unwrap(), &options).unwrap().runs.swap_remove(0).trace
}

#[test]
fn torch_files_read_back_as_they_were() {
    for name in ["serving", "training", "allocation-churn", "slow-copies"] {
        for format in [OutputFormat::Torch, OutputFormat::TorchGz] {
            let folder = tempfile::tempdir().unwrap();
            let back = read(&runs(&generate(&small(name, folder.path(), format)).unwrap())[0]);
            let truth = simulated(name, Dialect::Torch);
            assert_eq!(kernels(&back), kernels(&truth), "{name}");
            assert_eq!(copies(&back), copies(&truth), "{name}");
            assert_eq!(allocations(&back), allocations(&truth), "{name}");
            assert!(regions(&back) == regions(&truth), "{name}");
            assert_eq!(back.links.len(), truth.links.len(), "{name}");
            assert_eq!(back.sources[0].rank, Some(0));
            let problems: Vec<_> = back.health.problems().collect();
            assert!(problems.is_empty(), "{name}: {problems:?}");
            // Arguments of a launch name its kernel.
            let key = back.strings.find("kernel").unwrap();
            let launch = back.links.launch_of(RowRef::kernel(0)).unwrap();
            let value = back.args.value(RowRef::region(launch), key).unwrap();
            let kernel: String = serde_json::from_str(back.strings.get(value)).unwrap();
            assert_eq!(kernel, back.strings.get(back.kernels.name[0]));
        }
    }
}

#[test]
fn jax_profiles_read_back_as_they_were() {
    for name in ["serving", "training", "slow-copies"] {
        let folder = tempfile::tempdir().unwrap();
        let path = &runs(&generate(&small(name, folder.path(), OutputFormat::Xplane)).unwrap())[0];
        assert_eq!(ingest::detect(path).unwrap(), ingest::Format::Xplane);
        let (back, truth) = (read(path), simulated(name, Dialect::Torch));
        assert_eq!(back.sources[0].rank, Some(0), "{name}");
        // The profiler records which work was replayed, and nothing about the rest.
        let of = |trace: &Trace| -> Vec<_> {
            let replayed = |row: KernelRow| {
                let replayed = row.8 == trace::Graph::Replayed;
                (row.0, row.1, row.2, row.3, row.4, row.5, row.6, row.7, replayed)
            };
            kernels(trace).into_iter().map(replayed).collect()
        };
        assert_eq!(of(&back), of(&truth), "{name}");
        assert_eq!(copies(&back), copies(&truth), "{name}");
        let launches = |trace: &Trace| {
            let kinds = trace.links.kind.iter();
            kinds.filter(|kind| **kind == trace::LinkKind::Launch).count()
        };
        assert_eq!(launches(&back), launches(&truth), "{name}");
        let problems: Vec<_> = back.health.problems().collect();
        assert!(problems.is_empty(), "{name}: {problems:?}");
        // The op around a launch is the op of its kernel.
        let op = truth.strings.find("cpu_op").unwrap();
        let ops: std::collections::HashMap<i64, &str> = truth
            .regions
            .rows()
            .filter(|region| region.category == op)
            .filter_map(|region| Some((region.external.get()?, truth.strings.get(region.name))))
            .collect();
        let mut compared = 0;
        for (row, kernel) in truth.kernels.rows().enumerate() {
            let Some(launch) = truth.links.launch_of(RowRef::kernel(row)) else { continue };
            let Some(op) = truth.regions.external[launch].get().and_then(|id| ops.get(&id)) else { continue };
            let same = |other: &trace::Kernel| {
                (other.start, other.correlation) == (kernel.start, kernel.correlation)
            };
            let found = back.kernels.rows().find(same).expect("the kernel");
            assert_eq!(back.strings.get(found.region), *op, "{name}");
            compared += 1;
            if compared == 50 {
                break;
            }
        }
        assert!(compared > 0, "{name} has ops");
    }
}

#[test]
fn rocprofv3_and_rocpd_files_read_back_as_they_were() {
    for name in ["serving", "training", "allocation-churn"] {
        let truth = simulated(name, Dialect::Rocprof);
        for format in [
            OutputFormat::Rocprofv3Json,
            OutputFormat::Rocprofv3Csv,
            OutputFormat::Rocpd,
            OutputFormat::Rocpd40,
            OutputFormat::Rocpd41,
        ] {
            let folder = tempfile::tempdir().unwrap();
            let mut options = small(name, folder.path(), format);
            options.options.ranks = Some(if name == "training" { 4 } else { 1 });
            generate(&options).unwrap();
            let all = read(folder.path());
            let first = truth.processes[0].pid;
            let times = |trace: &Trace| -> Vec<(String, i64, i64, i64)> {
                let mine = |p: trace::ProcessId| p.get().is_some_and(|p| trace.processes[p].pid == first);
                let kernels = trace
                    .kernels
                    .rows()
                    .filter(|k| mine(k.process))
                    .map(|k| (k.name, k.start, k.end, k.correlation));
                let copies = trace
                    .memory_copies
                    .rows()
                    .filter(|c| mine(c.process))
                    .map(|c| (c.name, c.start, c.end, c.correlation));
                let calls = trace
                    .regions
                    .rows()
                    .filter(|r| mine(r.process))
                    .map(|r| (r.name, r.start, r.end, r.correlation));
                let mut rows: Vec<_> = kernels
                    .chain(copies)
                    .chain(calls)
                    .map(|(name, start, end, id)| (trace.strings.get(name).to_string(), start, end, id))
                    .collect();
                rows.sort();
                rows
            };
            let (back, made) = (times(&all), times(&truth));
            assert_eq!(back.len(), made.len(), "{name} as {}", format.name());
            // rocpd gives every region an id of its own, markers included.
            let same = back
                .iter()
                .zip(&made)
                .all(|(b, m)| (&b.0, b.1, b.2) == (&m.0, m.1, m.2) && (b.3 == m.3 || m.3 == 0));
            assert!(same, "{name} as {}", format.name());
        }
    }
}

/// Kernels with their shapes, calls and streams, and everything else that has a time.
fn of_rpd(trace: &Trace) -> Vec<String> {
    let text = |id| trace.strings.get(id);
    let call = |row: RowRef| {
        let region = trace.links.launch_of(row);
        region.map(|r| (text(trace.regions.name[r]), trace.regions.start[r]))
    };
    let stream = |id: trace::StreamId| id.get().map(|s| trace.streams[s].id);
    let mut lines: Vec<String> = Vec::new();
    for (i, k) in trace.kernels.rows().enumerate() {
        let shape = trace.shapes.get(k.shape);
        let gpu = k.agent.get().and_then(|a| trace.agents[a].type_index.get());
        lines.push(format!(
            "kernel {} {} {} {gpu:?} {:?} {:?} {:?} {:?} {:?}",
            text(k.name),
            k.start,
            k.end,
            stream(k.stream),
            shape.grid,
            shape.workgroup,
            shape.lds_bytes,
            call(RowRef::kernel(i))
        ));
    }
    for (i, c) in trace.memory_copies.rows().enumerate() {
        let row = RowRef::new(trace::Table::MemoryCopies, i);
        lines.push(format!(
            "{:?} {} {} {:?} {:?} {:?}",
            c.kind,
            c.start,
            c.end,
            c.bytes,
            stream(c.stream),
            call(row)
        ));
    }
    for r in trace.regions.rows() {
        let tid = r.thread.get().map(|t| trace.threads[t].tid);
        lines.push(format!("region {} {} {} {tid:?}", text(r.name), r.start, r.end));
    }
    lines.sort();
    lines
}

#[test]
fn rpd_files_read_back_as_they_were() {
    for name in ["serving", "training", "slow-copies"] {
        let folder = tempfile::tempdir().unwrap();
        let mut options = small(name, folder.path(), OutputFormat::Rpd);
        options.options.graphs = rocm_perf_synth::GraphMode::Off;
        options.options.ranks = Some(1);
        let back = read(&runs(&generate(&options).unwrap())[0]);
        let run_options = Options { dialect: Dialect::Rocprof, ..options.options.clone() };
        let truth =
            simulate(&Scenario::builtin(name).unwrap(), &run_options).unwrap().runs.swap_remove(0).trace;
        let (back_lines, lines) = (of_rpd(&back), of_rpd(&truth));
        if let Some((a, b)) = back_lines.iter().zip(&lines).find(|(a, b)| a != b) {
            panic!("{name}: first difference\n{a}\n{b}");
        }
        assert_eq!(back_lines.len(), lines.len(), "{name}");
        let problems: Vec<_> = back.health.problems().collect();
        assert!(problems.is_empty(), "{name}: {problems:?}");
    }
}
