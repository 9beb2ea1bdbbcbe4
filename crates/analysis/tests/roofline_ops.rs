//! Modelled ops of torch traces against TraceLens' figures and values computed by hand, and with counters.

use std::fmt::Write;
use std::path::PathBuf;

use ingest::Progress;
use report::{Report, Value};
use rocm_perf_analysis::{RooflineOptions, roofline, roofline_counters, roofline_needs};
use trace::{Counter, CounterKind, RowRef, Table, Trace};

fn traces() -> Option<PathBuf> {
    testing::data("traces")
}

fn mi300x() -> RooflineOptions {
    let arch = hw::arch::find("gfx942");
    RooflineOptions { arch, product: Some("MI300X".into()), ..RooflineOptions::default() }
}

fn read(paths: &[PathBuf]) -> Trace {
    ingest::read(paths, &roofline_needs(), &Progress::default()).unwrap()
}

struct Rows<'a>(&'a report::Table);

impl<'a> Rows<'a> {
    fn of(report: &'a Report, table: &str) -> Self {
        Rows(report.table(table).unwrap_or_else(|| panic!("there is no {table}")))
    }

    fn cell(&self, row: usize, column: &str) -> &'a Value {
        &self.0.rows[row][self.0.column(column).unwrap_or_else(|| panic!("there is no column {column}"))]
    }

    fn number(&self, row: usize, column: &str) -> f64 {
        let cell = self.cell(row, column);
        cell.number().unwrap_or_else(|| panic!("{column} of row {row} is {cell:?}"))
    }

    fn find(&self, op: &str, shapes: &str) -> usize {
        let fits = |row: usize| {
            *self.cell(row, "op") == Value::from(op) && *self.cell(row, "shapes") == Value::from(shapes)
        };
        (0..self.0.rows.len()).find(|&row| fits(row)).unwrap_or_else(|| panic!("no {op} of {shapes}"))
    }
}

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-6 * expected.abs(), "{value} and not {expected}");
}

/// `[[2, 3], [3, 5], []]` the way we write shapes, starting at a position.
fn shapes(dims: &str, from: usize, count: usize) -> String {
    let dims: Vec<Vec<u64>> = serde_json::from_str(dims).unwrap();
    let text = |sizes: &Vec<u64>| sizes.iter().map(u64::to_string).collect::<Vec<_>>().join("x");
    dims[from..from + count].iter().map(text).collect::<Vec<_>>().join(" ")
}

#[test]
fn products_and_attention_equal_tracelens() {
    let Some(folder) = traces() else { return };
    let mut compared = 0;
    for name in ["mi300_qwen1.5-0.5b", "mi300_bert-small", "h100_qwen1.5-0.5b"] {
        let report = roofline(&read(&[folder.join(format!("{name}.json.gz"))]), &mi300x());
        let ops = Rows::of(&report, "ops");
        for (table, kind) in [("GEMM", "product"), ("SDPA_fwd", "attention")] {
            let path = folder.join("expected").join(name).join(format!("{table}.csv"));
            let mut reader = csv::Reader::from_path(path).unwrap();
            let headers = reader.headers().unwrap().clone();
            for record in reader.records() {
                let record = record.unwrap();
                let get = |column: &str| &record[headers.iter().position(|known| known == column).unwrap()];
                let (mut op, dims) = (get("name"), get("Input Dims_first"));
                let from = usize::from(op == "aten::addmm");
                let mut sizes = shapes(dims, from, if kind == "product" { 2 } else { 3 });
                if kind == "attention" {
                    if name.starts_with("h100") {
                        continue; // Another op launches its kernels there.
                    }
                    // The reference names the outer op; the inner one launches kernels, with heads after
                    // positions.
                    op = "aten::_flash_attention_forward";
                    let swapped = |shape: &str| {
                        let sizes: Vec<&str> = shape.split('x').collect();
                        [sizes[0], sizes[2], sizes[1], sizes[3]].join("x")
                    };
                    sizes = sizes.split(' ').map(swapped).collect::<Vec<_>>().join(" ");
                }
                let row = ops.find(op, &sizes);
                let number = |column: &str| get(column).parse::<f64>().unwrap();
                let calls = number("name_count");
                assert_eq!(ops.number(row, "calls"), calls, "{op} {sizes}");
                near(ops.number(row, "flops"), calls * number("GFLOPS_first") * 1e9);
                near(ops.number(row, "bytes"), calls * number("Data Moved (MB)_first") * (1 << 20) as f64);
                if kind == "product" && name.starts_with("mi300") {
                    // The reference has float microseconds, and on the H100 it includes unlinked fills.
                    let time = number("Kernel Time (µs)_sum") * 1e3;
                    assert!((ops.number(row, "total_ns") - time).abs() < 1000.0, "{op} {sizes}");
                }
                compared += 1;
            }
        }
    }
    println!("{compared} ops compared");
    assert!(compared >= 15);
}

#[test]
fn a_convolution_and_a_norm_of_a_real_trace() {
    let Some(folder) = traces() else { return };
    let report = roofline(&read(&[folder.join("mi300_falconsai_vit.json.gz")]), &mi300x());
    let ops = Rows::of(&report, "ops");
    // 16x16 patches of 224x224 pixels: 14x14 with 768 channels, each from 3x16x16 values.
    let row = ops.find("aten::miopen_convolution", "4x3x224x224 768x3x16x16");
    let written = 4.0 * 768.0 * 14.0 * 14.0;
    let calls = ops.number(row, "calls");
    near(ops.number(row, "flops"), calls * (2.0 * written * 768.0 + written));
    near(
        ops.number(row, "bytes"),
        calls * 2.0 * (4.0 * 3.0 * 224.0 * 224.0 + 768.0 * 768.0 + 768.0 + written),
    );
    let norm = ops.find("aten::native_layer_norm", "4x197x768 768 768");
    assert_eq!(ops.number(norm, "flops"), 0.0);
    near(
        ops.number(norm, "bytes"),
        ops.number(norm, "calls") * 2.0 * (2.0 * 4.0 * 197.0 * 768.0 + 2.0 * 768.0),
    );
    assert_ne!(ops.cell(norm, "bound"), &Value::from("compute"));
}

#[test]
fn every_nanosecond_is_modelled_or_said_not_to_be() {
    let Some(folder) = traces() else { return };
    // Minimum modelled share in percent of kernel time.
    for (name, least) in [
        ("mi300_qwen1.5-0.5b", 60.0),
        ("mi300_bert-small", 95.0),
        ("mi300_falconsai_vit", 95.0),
        ("sglang_prefilldecode", 99.0),
        ("torch_compile_triton", 95.0),
        ("hta_mi250_minitoy_train", 70.0),
        ("sglang_decode/sglang_Qwen3-8B_decode", 0.0),
        ("vllm_decode_full/graph_execution", 0.0),
    ] {
        let trace = read(&[folder.join(format!("{name}.json.gz"))]);
        let report = roofline(&trace, &mi300x());
        let kernels = &trace.kernels;
        let total: i64 = (0..kernels.len()).map(|i| kernels.end[i] - kernels.start[i]).sum();
        let Some(coverage) = report.table("coverage") else {
            assert_eq!(least, 0.0, "{name} has no models");
            continue;
        };
        let parts: f64 = coverage.rows.iter().map(|row| row[1].number().unwrap()).sum();
        assert_eq!(parts, total as f64, "{name}");
        let share = coverage.rows[0][2].number().unwrap();
        println!("{name}: {share:.1} % modelled");
        assert!(share >= least, "{name}: {share}");
    }
}

/// A torch trace with four products, a sum and an activation, and counters from another run.
struct Program {
    folder: tempfile::TempDir,
}

/// A kernel, its work-items, its workgroup size, and counters.
type Counted = (&'static str, u32, u32, Vec<(&'static str, f64)>);

const GEMM: &str = "Cijk_Ailk_Bljk_BBS";
const SUM: &str = "vecadd(float*, float*, int)";

impl Program {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let half = r#"["c10::BFloat16", "c10::BFloat16"]"#;
        let square = "[[1024, 1024], [1024, 1024]]";
        // (op, shapes, types, kernel, grid, block, microseconds)
        let calls = [
            ("aten::mm", square, half, GEMM, 64, 256, 20),
            ("aten::mm", square, half, GEMM, 64, 256, 22),
            ("aten::mm", "[[2048, 1024], [1024, 1024]]", half, GEMM, 128, 256, 40),
            ("aten::mm", "[[512, 512], [512, 512]]", half, "shared", 8, 256, 5),
            ("aten::mm", "[[512, 1024], [1024, 512]]", half, "shared", 8, 256, 6),
            (
                "aten::add",
                "[[4096, 1024], [4096, 1024], []]",
                r#"["float", "float", "Scalar"]"#,
                SUM,
                4096,
                256,
                12,
            ),
            ("aten::silu", "[[4096, 1024]]", r#"["float"]"#, "silu_kernel", 4096, 256, 9),
        ];
        let mut events = String::new();
        for (at, (op, dims, types, kernel, grid, block, time)) in calls.into_iter().enumerate() {
            let (id, ts) = (at + 1, 1000 + 100 * at);
            write!(
                events,
                r#"{{"ph": "X", "cat": "cpu_op", "name": "{op}", "pid": 1, "tid": 1, "ts": {ts}, "dur": 30, "args": {{"External id": {id}, "Input Dims": {dims}, "Input type": {types}}}}},
{{"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 1, "tid": 1, "ts": {}, "dur": 5, "args": {{"External id": {id}, "correlation": {id}}}}},
{{"ph": "X", "cat": "kernel", "name": "{kernel}", "pid": 0, "tid": 0, "ts": {}, "dur": {time}, "args": {{"External id": {id}, "device": 0, "stream": 0, "correlation": {id}, "grid": [{}, 2, 1], "block": [{block}, 1, 1]}}}},
"#,
                ts + 5,
                ts + 20,
                grid / 2,
            )
            .unwrap();
        }
        let text = format!(
            r#"{{"schemaVersion": 1, "traceEvents": [{}]}}"#,
            events.trim_end().trim_end_matches(',')
        );
        std::fs::write(folder.path().join("trace.json"), text).unwrap();
        Self { folder }
    }

    fn trace(&self) -> PathBuf {
        self.folder.path().join("trace.json")
    }

    /// Non-zero gfx942 counters of each kernel, by work-items.
    fn counted() -> Vec<Counted> {
        // The minimum operations of a 1024 product, and 2.5 times its minimum 6 MiB.
        let square = vec![
            ("SQ_INSTS_VALU_MFMA_MOPS_BF16", 2.0 * 1024f64.powi(3) / 512.0),
            ("TCC_EA0_RDREQ_sum", 212_992.0),
            ("TCC_EA0_WRREQ_sum", 32_768.0),
            ("TCC_EA0_WRREQ_64B_sum", 32_768.0),
        ];
        // Twice the rows, padded to three times, and the minimum 10 MiB.
        let tall = vec![
            ("SQ_INSTS_VALU_MFMA_MOPS_BF16", 3.0 * 2.0 * 1024f64.powi(3) / 512.0),
            ("TCC_EA0_RDREQ_sum", 98_304.0),
            ("TCC_EA0_WRREQ_sum", 65_536.0),
            ("TCC_EA0_WRREQ_64B_sum", 65_536.0),
        ];
        let sum = vec![
            ("TCC_EA0_RDREQ_sum", 524_288.0),
            ("TCC_EA0_WRREQ_sum", 262_144.0),
            ("TCC_EA0_WRREQ_64B_sum", 262_144.0),
        ];
        vec![
            (GEMM, 64 * 256, 256, square.clone()),
            (GEMM, 64 * 256, 256, square),
            (GEMM, 128 * 256, 256, tall),
            ("shared", 8 * 256, 256, vec![("TCC_EA0_RDREQ_sum", 1.0)]),
            // Another tool uses the spelling of the code object.
            ("_Z6vecaddPfS_i.kd", 4096 * 256, 256, sum),
        ]
    }

    /// The counters as written by rocprofv3.
    fn counters(&self) -> PathBuf {
        let mut text = String::from(
            "Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,Kernel_Id,Kernel_Name,Workgroup_Size,\
             LDS_Block_Size,Scratch_Size,VGPR_Count,Accum_VGPR_Count,SGPR_Count,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n",
        );
        for (at, (name, items, group, values)) in Self::counted().into_iter().enumerate() {
            let (id, start) = (at + 1, 1_000_000 * (at + 1));
            for counter in roofline_counters("gfx942") {
                let value =
                    values.iter().find(|(known, _)| *known == counter).map_or(0.0, |(_, value)| *value);
                writeln!(
                    text,
                    "{id},{id},1,1,7,7,{items},{id},\"{name}\",{group},0,0,64,0,32,{counter},{value},{start},{}",
                    start + 90_000
                )
                .unwrap();
            }
        }
        let path = self.folder.path().join("run_counter_collection.csv");
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn check_rows(report: &Report) {
    let ops = Rows::of(report, "ops");
    let square = ops.find("aten::mm", "1024x1024 1024x1024");
    assert_eq!(ops.number(square, "calls"), 2.0);
    assert_eq!(ops.number(square, "total_ns"), 42_000.0, "of the run that is not slowed by counters");
    assert_eq!(ops.number(square, "flops"), 2.0 * 2.0 * 1024f64.powi(3));
    assert_eq!(ops.number(square, "measured_flops"), 2.0 * 2.0 * 1024f64.powi(3));
    assert_eq!(ops.number(square, "flops_ratio"), 1.0);
    assert_eq!(ops.number(square, "bytes"), 2.0 * 6.0 * (1 << 20) as f64);
    assert_eq!(ops.number(square, "measured_bytes"), 2.0 * 15.0 * (1 << 20) as f64);
    assert_eq!(ops.number(square, "bytes_ratio"), 2.5);
    near(ops.number(square, "measured_intensity"), ops.number(square, "intensity") / 2.5);
    let tall = ops.find("aten::mm", "2048x1024 1024x1024");
    assert_eq!((ops.number(tall, "flops_ratio"), ops.number(tall, "bytes_ratio")), (1.5, 1.0));
    let sum = ops.find("aten::add", "4096x1024 4096x1024");
    assert_eq!((ops.number(sum, "flops"), ops.number(sum, "measured_flops")), (0.0, 0.0));
    assert_eq!(ops.number(sum, "bytes_ratio"), 1.0);
    let titles: Vec<&str> = report.findings.iter().map(|finding| finding.title.as_str()).collect();
    assert!(titles.contains(&"aten::mm 1024x1024 1024x1024: moves 2.5 times the minimum"), "{titles:?}");
    assert!(titles.contains(&"aten::mm 2048x1024 1024x1024: computes 1.5 times the minimum"), "{titles:?}");
}

#[test]
fn counters_of_another_run_stand_beside_the_models() {
    let program = Program::new();
    let report = roofline(&read(&[program.trace(), program.counters()]), &mi300x());
    check_rows(&report);
    let ops = Rows::of(&report, "ops");
    // Two shapes with the same launch size cannot be separated, and uncounted kernels are not known.
    for (op, shapes, why) in [
        ("aten::mm", "512x512 512x512", "shared serves other shapes with launches alike"),
        ("aten::mm", "512x1024 1024x512", "shared serves other shapes with launches alike"),
        ("aten::silu", "4096x1024", "not counted: silu"),
    ] {
        let row = ops.find(op, shapes);
        assert_eq!(ops.cell(row, "measured_bytes"), &Value::Absent(why.into()));
        assert!(ops.number(row, "bytes") > 0.0);
    }
    let note = "counters are of another run, joined by kernel name and launch size: 3 of 4 kernels of modelled ops were counted; not silu";
    assert!(report.notes.iter().any(|text| text == note), "{:?}", report.notes);
    // Only the torch trace is modelled.
    let coverage = report.table("coverage").unwrap();
    let parts: f64 = coverage.rows.iter().map(|row| row[1].number().unwrap()).sum();
    assert_eq!(parts, 1000.0 * (20.0 + 22.0 + 40.0 + 5.0 + 6.0 + 12.0 + 9.0));
    // Kernels come from the counted run only: its time belongs to its counts.
    let kernels = Rows::of(&report, "kernels");
    let names: Vec<&Value> = (0..kernels.0.rows.len()).map(|row| kernels.cell(row, "name")).collect();
    assert!(!names.contains(&&Value::from("silu_kernel")), "{names:?}");
    let gemm = names.iter().position(|name| **name == Value::from(GEMM)).unwrap();
    assert_eq!(kernels.number(gemm, "total_ns"), 270_000.0);
}

#[test]
fn kernels_that_carry_counters_need_no_join() {
    let program = Program::new();
    let mut trace = read(&[program.trace()]);
    for name in roofline_counters("gfx942") {
        let name_id = trace.strings.intern(&name);
        let kind = trace.add_counter_kind(CounterKind { name: name_id, ..CounterKind::default() });
        for kernel in 0..trace.kernels.len() {
            let spelt = trace.strings.get(trace.kernels.name[kernel]).to_owned();
            let shape = *trace.shapes.get(trace.kernels.shape[kernel]);
            let items: u32 = shape.grid.unwrap().iter().product();
            let counted = Program::counted().into_iter().find(|(known, of, _, _)| {
                let known = if known.starts_with("_Z") { SUM } else { known };
                known == spelt && *of == items
            });
            let Some((_, _, _, values)) = counted else { continue };
            let value = values.iter().find(|(known, _)| *known == name).map_or(0.0, |(_, value)| *value);
            let kernel = RowRef::new(Table::Kernels, kernel);
            trace.counters.push(Counter { kernel, counter: kind, value, ..Counter::default() });
        }
    }
    let report = roofline(&trace, &mi300x());
    check_rows(&report);
    let ops = Rows::of(&report, "ops");
    // Each dispatch has its own counts, so shapes that share a kernel can be separated.
    let shared = ops.find("aten::mm", "512x512 512x512");
    assert_eq!(ops.number(shared, "measured_bytes"), 64.0);
    let silu = ops.find("aten::silu", "4096x1024");
    assert_eq!(
        ops.cell(silu, "measured_bytes"),
        &Value::Absent("not all of its dispatches were counted".into())
    );
    assert!(!report.notes.iter().any(|note| note.contains("another run")), "{:?}", report.notes);
}

#[test]
fn without_counters_no_measured_columns_are_shown() {
    let program = Program::new();
    let report = roofline(&read(&[program.trace()]), &mi300x());
    assert!(report.table("ops").unwrap().column("measured_bytes").is_none());
    assert!(report.notes.iter().any(|note| note == "100.0 % of kernel time is modelled (table `coverage`)"));
}
