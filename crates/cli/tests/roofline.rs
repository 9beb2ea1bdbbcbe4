//! `roofline` of counters and of torch shapes, as a person and as a program see it.

use crate::common;

use std::fmt::Write;
use std::path::Path;

use common::{json, rocm_perf, run, shared_data};

/// Counters of a gfx90a kernel, in the order of the columns.
const COUNTERS: [&str; 24] = [
    "SQ_INSTS_VALU_ADD_F16",
    "SQ_INSTS_VALU_MUL_F16",
    "SQ_INSTS_VALU_FMA_F16",
    "SQ_INSTS_VALU_TRANS_F16",
    "SQ_INSTS_VALU_ADD_F32",
    "SQ_INSTS_VALU_MUL_F32",
    "SQ_INSTS_VALU_FMA_F32",
    "SQ_INSTS_VALU_TRANS_F32",
    "SQ_INSTS_VALU_ADD_F64",
    "SQ_INSTS_VALU_MUL_F64",
    "SQ_INSTS_VALU_FMA_F64",
    "SQ_INSTS_VALU_TRANS_F64",
    "SQ_INSTS_VALU_MFMA_MOPS_F16",
    "SQ_INSTS_VALU_MFMA_MOPS_BF16",
    "SQ_INSTS_VALU_MFMA_MOPS_F32",
    "SQ_INSTS_VALU_MFMA_MOPS_F64",
    "SQ_INSTS_VALU_MFMA_MOPS_I8",
    "TCC_EA_RDREQ_sum",
    "TCC_EA_RDREQ_32B_sum",
    "TCC_EA_WRREQ_sum",
    "TCC_EA_WRREQ_64B_sum",
    "TCC_REQ_sum",
    "TCP_TOTAL_CACHE_ACCESSES_sum",
    "SQ_LDS_IDX_ACTIVE",
];

/// A workload of two kernels on an MI210, a millisecond each: a product at 70 % of the matrix peak of 181.04 TFLOP/s,
/// and a copy at 80 % of 1638 GB/s.
fn workload(folder: &Path) {
    let mut table = String::from(
        "Dispatch_ID,Kernel_Name,GPU_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,\
         Accum_VGPR,SGPR,Wave_Size,Start_Timestamp,End_Timestamp",
    );
    for name in COUNTERS {
        write!(table, ",{name}").unwrap();
    }
    table.push_str(",SQ_LDS_BANK_CONFLICT\n");
    let gemm = [
        ("SQ_INSTS_VALU_MFMA_MOPS_F16", 247_515_625u64),
        ("TCC_EA_RDREQ_sum", 1_000_000),
        ("TCC_REQ_sum", 4_000_000),
    ];
    let copy = [
        ("TCC_EA_RDREQ_sum", 10_237_500),
        ("TCC_EA_WRREQ_sum", 10_237_500),
        ("TCC_EA_WRREQ_64B_sum", 10_237_500),
        ("TCC_REQ_sum", 10_237_500),
    ];
    for (at, (name, counters)) in
        [("gemm", gemm.as_slice()), ("copy", copy.as_slice())].into_iter().enumerate()
    {
        let start = 1_000_000_000 + at * 2_000_000;
        write!(table, "{at},{name},0,1048576,256,0,0,64,0,32,64,{start},{}", start + 1_000_000).unwrap();
        for counter in COUNTERS {
            let value = counters.iter().find(|(known, _)| *known == counter).map_or(0, |(_, value)| *value);
            write!(table, ",{value}").unwrap();
        }
        table.push_str(",0\n");
    }
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("pmc_perf.csv"), table).unwrap();
    let facts = "workload_name,gpu_model,gpu_arch,cu_per_gpu,max_sclk,num_xcd,compute_partition,memory_partition\n\
                 two,MI210,gfx90a,104,1700,1,NA,NA\n";
    std::fs::write(folder.join("sysinfo.csv"), facts).unwrap();
}

#[test]
fn two_kernels_under_their_roofs() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("MI210");
    workload(&input);
    let output = rocm_perf()
        .env("COLUMNS", "80")
        .args(["roofline", "--table", "kernels"])
        .arg(&input)
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap());

    let report = json("roofline", &[&input], &[]);
    let rows = report["tables"]["kernels"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    let number = |name: &str, column: &str| row(name)[column].as_f64().unwrap();
    assert!((number("gemm", "peak_pct") - 70.0).abs() < 0.01);
    assert_eq!(row("gemm")["bound"], "compute");
    assert_eq!(number("gemm", "flops"), 512.0 * 247_515_625.0);
    assert_eq!(number("gemm", "bytes"), 64e6);
    assert_eq!(number("gemm", "intensity"), 512.0 * 247_515_625.0 / 64e6);
    assert!((number("copy", "peak_pct") - 80.0).abs() < 0.01);
    assert_eq!((number("copy", "gbps"), row("copy")["bound"].as_str()), (1310.4, Some("hbm")));
}

#[test]
fn the_picture_and_peaks_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("MI210");
    workload(&input);
    let (svg, png) = (folder.path().join("roof.svg"), folder.path().join("roof.png"));
    for path in [&svg, &png] {
        let output = rocm_perf().arg("roofline").arg(&input).arg("--out").arg(path).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let drawn = std::fs::read_to_string(&svg).unwrap();
    assert!(drawn.starts_with("<svg") && drawn.contains("gemm") && drawn.contains("GB/s"));
    assert!(std::fs::read(&png).unwrap().starts_with(b"\x89PNG"));

    let peaks = folder.path().join("peaks.json");
    std::fs::write(&peaks, r#"{"hbm_gbps": 1400}"#).unwrap();
    let report = json("roofline", &[&input], &["--peaks", peaks.to_str().unwrap()]);
    let rows = report["tables"]["kernels"].as_array().unwrap();
    let copy = rows.iter().find(|row| row["name"] == "copy").unwrap();
    assert!((copy["peak_pct"].as_f64().unwrap() - 100.0 * 1310.4 / 1400.0).abs() < 0.01);
}

#[test]
fn mistakes_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("MI210");
    workload(&input);
    let input = input.to_str().unwrap();
    let error = |arguments: &[&str]| {
        let output = run(&[&["roofline"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let bad = folder.path().join("bad.json");
    std::fs::write(&bad, r#"{"ddr_gbps": 1}"#).unwrap();
    assert!(error(&[input, "--peaks", bad.to_str().unwrap()]).contains("`ddr_gbps` names no peak"));
    assert!(error(&[input, "--out", "picture.gif"]).contains("should end in .svg or .png"));
    let trace = folder.path().join("trace.json");
    std::fs::write(&trace, common::SMALL_TORCH).unwrap();
    assert!(error(&[trace.to_str().unwrap()]).contains("neither counters nor ops with shapes"));
}

#[test]
fn the_counters_to_collect_are_listed_by_pass() {
    let output = run(&["roofline", "--counters", "--arch", "gfx942", "--format", "csv"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("TCC_BUBBLE_sum") && text.contains("SQ_INSTS_VALU_MFMA_MOPS_F8"));
    assert!(text.lines().all(|line| !line.starts_with('4')), "three passes are enough");
}

#[test]
fn ops_of_a_torch_trace_are_modelled() {
    let Some(data) = shared_data() else { return };
    let trace = data.join("traces/mi300_bert-small.json.gz");
    let report = json("roofline", &[&trace], &["--arch", "MI300X"]);
    let ops = report["tables"]["ops"].as_array().unwrap();
    assert!(!ops.is_empty());
    for op in ops {
        // Nothing can be faster than the roof; ops that only move bytes may hit a cache.
        let share = op["peak_pct"].as_f64().unwrap();
        assert!(share > 0.0 && (share < 100.0 || op["flops"] == 0.0), "{op}");
        assert!(op["calls"].as_i64().unwrap() > 0);
    }
    let product = ops.iter().find(|op| op["op"] == "aten::addmm").unwrap();
    let sizes: Vec<f64> =
        product["shapes"].as_str().unwrap().split([' ', 'x']).map(|size| size.parse().unwrap()).collect();
    let (calls, outputs) = (product["calls"].as_f64().unwrap(), sizes[0] * sizes[3]);
    assert_eq!(product["flops"].as_f64().unwrap(), calls * (2.0 * outputs * sizes[1] + outputs));
    let coverage = report["tables"]["coverage"].as_array().unwrap();
    let shares: f64 = coverage.iter().map(|part| part["share_pct"].as_f64().unwrap()).sum();
    assert!((shares - 100.0).abs() < 1e-6);
}

/// A torch trace of two products and a sum, and counters of another run of the same program: the products
/// move 2.5 times their minimum, and the sum was not counted.
fn program(folder: &Path) -> [std::path::PathBuf; 2] {
    let half = r#"["c10::BFloat16", "c10::BFloat16"]"#;
    let calls = [
        ("aten::mm", "[[1024, 1024], [1024, 1024]]", half, "Cijk_Ailk_Bljk_BBS_BH_MT128x128x64", 20),
        ("aten::mm", "[[1024, 1024], [1024, 1024]]", half, "Cijk_Ailk_Bljk_BBS_BH_MT128x128x64", 22),
        ("aten::add", "[[4096, 4096], [4096, 4096]]", r#"["float", "float"]"#, "vectorized_elementwise", 60),
    ];
    let mut events = Vec::new();
    for (at, (op, dims, types, kernel, time)) in calls.into_iter().enumerate() {
        let (id, ts) = (at + 1, 1000 + 100 * at);
        events.push(format!(
            r#"{{"ph": "X", "cat": "cpu_op", "name": "{op}", "pid": 1, "tid": 1, "ts": {ts}, "dur": 30, "args": {{"External id": {id}, "Input Dims": {dims}, "Input type": {types}}}}},
{{"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 1, "tid": 1, "ts": {}, "dur": 5, "args": {{"External id": {id}, "correlation": {id}}}}},
{{"ph": "X", "cat": "kernel", "name": "{kernel}", "pid": 0, "tid": 0, "ts": {}, "dur": {time}, "args": {{"External id": {id}, "device": 0, "stream": 0, "correlation": {id}, "grid": [8, 8, 1], "block": [256, 1, 1]}}}}"#,
            ts + 5,
            ts + 20
        ));
    }
    let trace = folder.join("trace.json");
    let text = format!(r#"{{"schemaVersion": 1, "traceEvents": [{}]}}"#, events.join(",\n"));
    std::fs::write(&trace, text).unwrap();

    let listed = json("roofline", &[], &["--counters", "--arch", "gfx942"]);
    let mut table = String::from(
        "Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,Kernel_Id,Kernel_Name,Workgroup_Size,\
         LDS_Block_Size,Scratch_Size,VGPR_Count,Accum_VGPR_Count,SGPR_Count,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n",
    );
    for counter in listed["tables"]["counters"].as_array().unwrap() {
        let counter = counter["counter"].as_str().unwrap();
        let value = match counter {
            "SQ_INSTS_VALU_MFMA_MOPS_BF16" => 4_194_304,
            "TCC_EA0_RDREQ_sum" => 212_992,
            "TCC_EA0_WRREQ_sum" | "TCC_EA0_WRREQ_64B_sum" => 32_768,
            _ => 0,
        };
        writeln!(
            table,
            "1,1,1,1,7,7,16384,1,Cijk_Ailk_Bljk_BBS_BH_MT128x128x64.kd,256,0,0,64,0,32,{counter},{value},1000000,1090000"
        )
        .unwrap();
    }
    let counters = folder.join("run_counter_collection.csv");
    std::fs::write(&counters, table).unwrap();
    [trace, counters]
}

#[test]
fn measured_stands_beside_modelled() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = program(folder.path());
    let mut shown = String::new();
    for table in ["ops", "coverage"] {
        let output = rocm_perf()
            .env("COLUMNS", "80")
            .args(["roofline", "--arch", "MI300X", "--table", table])
            .args(&inputs)
            .output()
            .expect("the binary runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        shown.push_str(&String::from_utf8(output.stdout).unwrap());
    }
    insta::assert_snapshot!(shown.replace(&folder.path().display().to_string(), "FOLDER"));
}
