//! rocprofv3 JSON: a real result compared with its golden list, and a small example of every record type.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use rocm_perf_ingest::{Error, Format, Input, Progress, rocprofv3};
use trace::{AgentKind, Needs, Status, Table, Trace};

fn data(path: &str) -> Option<PathBuf> {
    testing::data(path)
}

fn read_file(path: &Path, needs: &Needs) -> Result<Trace, Error> {
    let bytes = fs::metadata(path).unwrap().len();
    let input = Input { format: Format::Rocprofv3Json, path: path.into(), files: vec![path.into()], bytes };
    let mut trace = rocprofv3::json::read(&input, needs, &Progress::default())?;
    trace.finish();
    Ok(trace)
}

fn read_text(text: &[u8], needs: &Needs) -> Result<Trace, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1_results.json");
    fs::write(&path, text).unwrap();
    read_file(&path, needs)
}

fn health<'t>(trace: &'t Trace, id: &str) -> Option<&'t str> {
    trace.health.problems().find(|check| check.id == id).map(|check| check.message.as_str())
}

#[test]
fn the_real_result_equals_its_golden_list() {
    let (Some(path), Some(golden)) = (
        data("traces/rocprofv3_908_results.json.gz"),
        data("traces/expected/rocprofv3_908_results/kernel_summary.csv"),
    ) else {
        return;
    };
    let trace = read_file(&path, &Needs::everything()).unwrap();
    assert!(trace.health.checks.iter().all(|check| check.status != Status::Fail), "{:?}", trace.health);
    assert_eq!(health(&trace, "damaged_rows"), None);

    // The golden list has truncated names: the file's own symbols map the full names to them.
    let mut text = String::new();
    flate2::read::GzDecoder::new(fs::File::open(&path).unwrap()).read_to_string(&mut text).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let process = &document["rocprofiler-sdk-tool"][0];
    let short: BTreeMap<i64, &str> = process["kernel_symbols"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| (s["kernel_id"].as_i64().unwrap(), s["truncated_kernel_name"].as_str().unwrap()))
        .collect();
    let mut sums: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for kernel in trace.kernels.rows() {
        let symbol = &trace.symbols[kernel.symbol.get().unwrap()];
        assert_eq!(symbol.display_name, kernel.name);
        let sum = sums.entry(short[&symbol.id]).or_default();
        sum.0 += 1;
        sum.1 += kernel.end - kernel.start;
    }
    let mut golden = csv::Reader::from_path(golden).unwrap();
    let mut seen = 0;
    for row in golden.records() {
        let row = row.unwrap();
        let (count, total) = sums[&row[0]];
        let (expected_count, micros): (i64, f64) = (row[1].parse().unwrap(), row[9].parse().unwrap());
        assert_eq!(count, expected_count, "{}", &row[0]);
        assert!((total as f64 - micros * 1000.0).abs() <= count as f64, "{}: {total} {micros}", &row[0]);
        seen += 1;
    }
    assert_eq!(seen, sums.len());

    let records = process["buffer_records"]["kernel_dispatch"].as_array().unwrap();
    assert_eq!(trace.kernels.len(), records.len());
    let gpus = trace.agents.iter().filter(|agent| agent.kind == AgentKind::Gpu).count();
    assert_eq!((trace.agents.len(), gpus), (10, 8));
    assert_eq!(trace.processes[0].pid, 908);
    assert_eq!(trace.strings.get(trace.agents[2].product), "AMD Instinct MI350X");
    assert_eq!(trace.agents[2].memory_bytes.get(), Some(309_220_868_096));
    // Kernel zero means no kernel.
    assert_eq!(trace.symbols.len(), short.len() - 1);
}

#[test]
fn cuts_and_flips_of_the_real_result_lose_only_what_is_gone() {
    let Some(path) = data("traces/rocprofv3_908_results.json.gz") else { return };
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(fs::File::open(&path).unwrap()).read_to_end(&mut text).unwrap();
    let whole = read_text(&text, &Needs::summary()).unwrap().kernels.len();
    let first = memchr::memmem::find(&text, b"\"kernel_dispatch\":[").unwrap();
    let mut random = 0x2545_f491_4f6c_dd1du64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below as u64) as usize
    };
    for _ in 0..3 {
        let cut = first + next(text.len() - first);
        let there = memchr::memmem::find_iter(&text[first..cut], b"\"stream_id\"").count();
        let trace = read_text(&text[..cut], &Needs::summary()).unwrap();
        assert!(trace.kernels.len() + 1 >= there && trace.kernels.len() <= there, "cut at {cut}");
        assert!(health(&trace, "truncated").is_some(), "cut at {cut}");
    }
    for _ in 0..3 {
        let place = first + 19 + next(text.len() - first - 19);
        let mut flipped = text.clone();
        flipped[place] = b"{}[],:\"\\x\x00\xff"[next(10)];
        let trace = read_text(&flipped, &Needs::summary()).unwrap();
        assert!(trace.kernels.len() + 3 >= whole, "{} of {whole} after {place}", trace.kernels.len());
    }
}

/// Every record type once, with the records before the facts they refer to.
const SMALL: &str = r#"{"rocprofiler-sdk-tool": [{
  "buffer_records": {
    "kernel_dispatch": [{"size": 184, "kind": 11, "operation": 2, "thread_id": 7,
      "correlation_id": {"internal": 3, "external": 99, "ancestor": 2}, "start_timestamp": 100, "end_timestamp": 150,
      "dispatch_info": {"size": 72, "agent_id": {"handle": 20}, "queue_id": {"handle": 1}, "kernel_id": 5, "dispatch_id": 1,
      "private_segment_size": 16, "group_segment_size": 512, "workgroup_size": {"x": 64, "y": 2, "z": 1},
      "grid_size": {"x": 640, "y": 4, "z": 1}}, "stream_id": {"handle": 4}}],
    "hip_api": [{"size": 1, "kind": 1, "operation": 1, "correlation_id": {"internal": 3, "external": 0, "ancestor": 2},
      "start_timestamp": 10, "end_timestamp": 20, "thread_id": 7}],
    "marker_api": [{"size": 1, "kind": 2, "operation": 0, "correlation_id": {"internal": 8, "external": 0},
      "start_timestamp": 5, "end_timestamp": 500, "thread_id": 7},
      {"size": 1, "kind": 2, "operation": 0, "correlation_id": {"internal": 9, "external": 0},
      "start_timestamp": 6, "end_timestamp": 6, "thread_id": 7}],
    "memory_copy": [{"size": 1, "kind": 3, "operation": 1, "correlation_id": {"internal": 4, "external": 0},
      "start_timestamp": 30, "end_timestamp": 40, "thread_id": 7, "dst_agent_id": {"handle": 20},
      "src_agent_id": {"handle": 10}, "bytes": 4096, "stream_id": {"handle": 0}}],
    "memory_allocation": [
      {"size": 1, "kind": 4, "operation": 1, "correlation_id": {"internal": 5, "external": 0}, "start_timestamp": 1,
       "end_timestamp": 2, "thread_id": 7, "agent_id": {"handle": 20}, "address": {"handle": 18446744073709551615}, "allocation_size": 1024},
      {"size": 1, "kind": 4, "operation": 2, "correlation_id": {"internal": 6, "external": 0}, "start_timestamp": 3,
       "end_timestamp": 4, "thread_id": 7, "agent_id": {"handle": 0}, "address": "0x7f00", "allocation_size": 0}],
    "scratch_memory": [{"size": 1, "kind": 5, "operation": 1, "agent_id": {"handle": 20}, "queue_id": {"handle": 1},
      "thread_id": 7, "start_timestamp": 50, "end_timestamp": 60, "flags": 0, "allocation_size": 77}],
    "pc_sample_host_trap": [{"record": {"hw_id": {"chiplet": 1}, "pc": {"code_object_id": 1, "code_object_offset": 32},
      "exec_mask": 255, "timestamp": 120, "dispatch_id": 1, "corr_id": {"internal": 3, "external": 0}}, "inst_index": 0}],
    "pc_sample_stochastic": [{"record": {"pc": {"code_object_id": 1, "code_object_offset": 32},
      "timestamp": 121, "dispatch_id": 1, "corr_id": {"internal": 3, "external": 0}, "wave_cnt": 3}, "inst_index": -1}]
  },
  "callback_records": {"counter_collection": [
    {"thread_id": 7, "dispatch_data": {"size": 1, "correlation_id": {"internal": 3, "external": 0}, "start_timestamp": 100,
      "end_timestamp": 150, "dispatch_info": {"size": 1, "agent_id": {"handle": 20}, "queue_id": {"handle": 1}, "kernel_id": 5, "dispatch_id": 1}},
      "records": [{"counter_id": {"handle": 1}, "value": 2.5}, {"counter_id": {"handle": 2}, "value": 1}, {"counter_id": {"handle": 2}, "value": 3}]},
    {"thread_id": 7, "dispatch_data": {"size": 1, "correlation_id": {"internal": 12, "external": 0}, "start_timestamp": 200,
      "end_timestamp": 250, "dispatch_info": {"size": 1, "agent_id": {"handle": 20}, "queue_id": {"handle": 1}, "kernel_id": 6, "dispatch_id": 2}},
      "records": [{"counter_id": {"handle": 1}, "value": 4}]}]},
  "kernel_symbols": [
    {"size": 0, "kernel_id": 0, "kernel_name": "", "formatted_kernel_name": "0"},
    {"size": 1, "kernel_id": 5, "code_object_id": 1, "kernel_name": "_Z3fooPf.kd", "sgpr_count": 32, "arch_vgpr_count": 8,
     "accum_vgpr_count": 4, "formatted_kernel_name": "foo(float*, \"x\")", "demangled_kernel_name": "other", "truncated_kernel_name": "foo"},
    {"size": 1, "kernel_id": 6, "kernel_name": "bar.kd", "demangled_kernel_name": "bar(int)"},
    {"size": 1, "kernel_id": 7, "kernel_name": "never.kd"}],
  "counters": [{"agent_id": {"handle": 20}, "id": {"handle": 1}, "name": "SQ_WAVES", "description": "waves", "block": "SQ", "expression": ""},
    {"agent_id": {"handle": 20}, "id": {"handle": 2}, "name": "TCC_HIT", "description": "", "block": "TCC", "expression": ""}],
  "strings": {
    "callback_records": [], "counters": {"dimension_ids": []},
    "buffer_records": [{"kind": "NONE", "operations": []}, {"kind": "HIP_RUNTIME_API_EXT", "operations": ["hipFree", "hipLaunchKernel"]},
      {"kind": "MARKER_CORE_RANGE_API", "operations": ["roctxThreadRangeA"]}, {"kind": "MEMORY_COPY", "operations": ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_DEVICE"]},
      {"kind": "MEMORY_ALLOCATION", "operations": ["NONE", "MEMORY_ALLOCATION_ALLOCATE", "MEMORY_ALLOCATION_FREE"]},
      {"kind": "SCRATCH_MEMORY", "operations": ["NONE", "SCRATCH_MEMORY_ALLOC"]}],
    "marker_api": [{"key": 8, "value": "step \"1\""}, {"key": 9, "value": "mark"}],
    "pc_sample_instructions": ["v_add_f32 v0, v1, v2"], "pc_sample_comments": ["a.hip:3"]},
  "agents": [{"size": 1, "id": {"handle": 10}, "type": 1, "cu_count": 64, "name": "EPYC", "node_id": 0, "logical_node_id": 0, "logical_node_type_id": 0},
    {"size": 1, "id": {"handle": 20}, "type": 2, "cu_count": 304, "name": "gfx942", "product_name": "AMD Instinct MI300X", "node_id": 2,
     "logical_node_id": 1, "logical_node_type_id": 0, "mem_banks": [{"size_in_bytes": 100}, {"size_in_bytes": 28}]}],
  "metadata": {"pid": 42, "init_time": 1, "fini_time": 1000, "command": ["python", "a b.py"],
    "node": {"id": 0, "hash": 77, "machine_id": "m", "hostname": "host1", "release": "5.15"}, "config": {"x": 1}}
}]}"#;

#[test]
fn every_record_type_reaches_its_table() {
    for text in [SMALL.to_string(), SMALL.replace("tool\": [{", "tool\": {").replace("\n}]}", "\n}}")] {
        let trace = read_text(text.as_bytes(), &Needs::everything()).unwrap();
        check_small(&trace);
    }
}

fn check_small(trace: &Trace) {
    let name = |id| trace.strings.get(id);
    let process = &trace.processes[0];
    assert_eq!(
        (process.pid, process.start, process.end, process.node.get()),
        (42, Some(1), Some(1000), Some(77))
    );
    assert_eq!((name(process.command), name(process.hostname)), ("python a b.py", "host1"));

    assert_eq!(trace.kernels.len(), 2, "one dispatch is in the counters only");
    let kernel = trace.kernels.get(0);
    assert_eq!(name(kernel.name), "foo(float*, \"x\")");
    assert_eq!(
        (kernel.start, kernel.end, kernel.correlation, kernel.external.get()),
        (100, 150, 3, Some(99))
    );
    let shape = trace.shapes.get(kernel.shape);
    assert_eq!((shape.grid, shape.workgroup), (Some([640, 4, 1]), Some([64, 2, 1])));
    assert_eq!((shape.lds_bytes.get(), shape.scratch_bytes.get()), (Some(512), Some(16)));
    assert_eq!((shape.vgpr.get(), shape.agpr.get(), shape.sgpr.get()), (Some(8), Some(4), Some(32)));
    assert_eq!(name(trace.symbols[kernel.symbol.get().unwrap()].kernel_name), "_Z3fooPf.kd");
    assert_eq!(trace.symbols.len(), 3);
    let agent = &trace.agents[kernel.agent.get().unwrap()];
    assert_eq!(
        (agent.absolute_index.get(), agent.compute_units.get(), agent.memory_bytes.get()),
        (Some(2), Some(304), Some(128))
    );
    assert_eq!(trace.agents[0].compute_units.get(), None);
    assert_eq!(trace.streams[kernel.stream.get().unwrap()].id, 4);
    assert_eq!(trace.queues[kernel.queue.get().unwrap()].id, 1);
    assert_eq!(trace.threads[kernel.thread.get().unwrap()].tid, 7);
    assert_eq!(name(trace.kernels.name[1]), "bar(int)");
    assert_eq!(trace.links.launch_of(trace::RowRef::kernel(0)), Some(1));

    let regions: Vec<_> = trace.regions.rows().map(|r| (name(r.category), name(r.name), r.parent)).collect();
    assert_eq!(
        regions,
        [("MARKER_CORE_RANGE_API", "step \"1\"", 0), ("HIP_RUNTIME_API_EXT", "hipLaunchKernel", 2)]
    );
    let copy = trace.memory_copies.get(0);
    assert_eq!((name(copy.name), copy.bytes.get()), ("MEMORY_COPY_HOST_TO_DEVICE", Some(4096)));
    assert_eq!((copy.src.get(), copy.dst.get()), (Some(0), Some(1)));

    let allocations: Vec<_> = trace
        .memory_allocations
        .rows()
        .map(|a| (name(a.kind), name(a.level), a.bytes.get(), a.address.get(), a.agent.get()))
        .collect();
    assert_eq!(
        allocations,
        [
            ("ALLOC", "REAL", Some(1024), Some(-1), Some(1)),
            ("FREE", "REAL", None, Some(0x7f00), None),
            ("ALLOC", "SCRATCH", Some(77), None, Some(1)),
        ]
    );
    let counters: Vec<_> = trace
        .counters
        .rows()
        .map(|c| {
            (
                c.kernel.row_of(Table::Kernels),
                name(trace.counter_kinds[c.counter.get().unwrap()].name),
                c.value,
                c.instance.get(),
            )
        })
        .collect();
    assert_eq!(
        counters,
        [
            (Some(0), "SQ_WAVES", 2.5, None),
            (Some(0), "TCC_HIT", 1.0, Some(0)),
            (Some(0), "TCC_HIT", 3.0, Some(1)),
            (Some(1), "SQ_WAVES", 4.0, None),
        ]
    );
    let samples: Vec<_> =
        trace.samples.rows().map(|s| (s.start, name(s.kind), name(s.name), name(s.location))).collect();
    assert_eq!(
        samples,
        [
            (6, "MARKER_CORE_RANGE_API", "mark", ""),
            (120, "pc_sampling", "host_trap", "v_add_f32 v0, v1, v2"),
            (121, "pc_sampling", "stochastic", "code object 1 + 0x20"),
        ]
    );
    let mask = trace.strings.find("exec_mask").unwrap();
    let owner = trace::RowRef::new(Table::Samples, 1);
    assert_eq!(trace.args.value(owner, mask).map(name), Some("255"));
}

#[test]
fn what_is_not_asked_for_is_not_read() {
    let trace = read_text(SMALL.as_bytes(), &Needs { kernels: true, ..Needs::nothing() }).unwrap();
    assert_eq!(trace.kernels.len(), 2);
    assert!(trace.regions.is_empty() && trace.memory_copies.is_empty() && trace.counters.is_empty());
    assert_eq!(trace.symbols.len(), 2, "symbols that never ran are left out");
}

#[test]
fn every_cut_and_flip_is_survived_and_told() {
    let bytes = SMALL.as_bytes();
    for cut in (0..bytes.len() - 4).step_by(7) {
        match read_text(&bytes[..cut], &Needs::everything()) {
            Ok(trace) => assert!(health(&trace, "truncated").is_some(), "cut at {cut}"),
            Err(error) => assert!(matches!(error, Error::Damaged { .. } | Error::Empty { .. }), "{error}"),
        }
    }
    for place in (0..bytes.len()).step_by(13) {
        for bad in [b'{', b'}', b'"', 0xff] {
            let mut flipped = bytes.to_vec();
            flipped[place] = bad;
            let _ = read_text(&flipped, &Needs::everything());
        }
    }
}
