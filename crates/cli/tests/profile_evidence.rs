//! What `profile` uses besides times: the code of the program, and thread traces.

use crate::lab;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use lab::{Lab, failed, succeeded};
use serde_json::Value;

/// Two programs with kernels named as in the code objects of the fixtures.
const PROGRAM: &str = r#"
#include <hip/hip_runtime.h>
extern "C" __global__ void tile(float* out) { out[threadIdx.x] = 1.0f; }
extern "C" __global__ void matrix(float* out) { out[threadIdx.x] += 1.0f; }
int main() {
  float* out;
  if (hipMalloc(&out, 4096) != hipSuccess) return 2;
  tile<<<16, 256>>>(out);
  for (int i = 0; i < 50; ++i) matrix<<<64, 256>>>(out);
  hipDeviceSynchronize();
  return hipFree(out) != hipSuccess;
}
"#;

fn fixture(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hw/tests/fixtures").join(name);
    path.canonicalize().expect("the fixture is there")
}

/// Compiles the program; embeds `code` as its GPU code, as hipcc would.
fn program(lab: &Lab, folder: &Path, code: Option<&Path>) -> String {
    let mut source = PROGRAM.to_string();
    if let Some(code) = code {
        let code = code.display();
        source += &format!(
            "__asm__(\".section .hip_fatbin,\\\"a\\\",@progbits\\n.p2align 12\\n.incbin \\\"{code}\\\"\\n.previous\");\n"
        );
    }
    let path = folder.join("program.cu");
    std::fs::write(&path, source).unwrap();
    let made = lab.stand_ins.compile(&path, &folder.join("program")).expect("the program compiles");
    made.display().to_string()
}

fn profile(lab: &Lab, folder: &Path, arch: &str, more: &[&str]) -> Output {
    let mut command = lab.rocm_perf();
    command.env("STAND_IN_ARCH", arch).env("COLUMNS", "80").current_dir(folder);
    command.args(["profile", "--runs", "1", "--warm-up", "0"]).args(more);
    command.output().expect("the binary runs")
}

/// The row of a kernel in a table.
#[track_caller]
fn row<'r>(report: &'r Value, table: &str, name: &str) -> &'r Value {
    let rows = report["tables"][table].as_array().unwrap_or_else(|| panic!("no table {table}"));
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name} in {table}"))
}

fn notes(report: &Value) -> String {
    let notes = report["notes"].as_array().unwrap().iter().filter_map(Value::as_str);
    notes.collect::<Vec<_>>().join("\n")
}

/// The output after the verdict, whose times differ from run to run.
fn below_the_verdict(stdout: &[u8]) -> String {
    let text = String::from_utf8_lossy(stdout).into_owned();
    let (verdict, rest) = text.split_once("\n\n").expect("a verdict comes first");
    assert!(verdict.contains("gfx942, target gfx950: arch_match compatible"), "{verdict}");
    rest.to_string()
}

#[test]
fn registers_are_those_of_the_code_in_the_program() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = program(lab, folder.path(), Some(&fixture("zstd-3.hipfb")));
    let report = succeeded(&profile(lab, folder.path(), "gfx942", &["--json", "--", &program]));
    let matrix = row(&report, "resources", "matrix");
    assert_eq!((matrix["vgpr"].as_i64(), matrix["agpr"].as_i64()), (Some(132), Some(32)), "{matrix}");
    assert_eq!((&matrix["registers_from"], &matrix["lds_from"]), (&"code object".into(), &"profiler".into()));
    assert_eq!(row(&report, "occupancy", "matrix")["waves_per_simd"], 3.0, "164 registers allow three");
    let result = &report["result"];
    assert_eq!(result["kernel"]["name"], "matrix");
    assert_eq!(result["resources"]["vgpr_per_thread"], 132);
    assert_eq!(result["resources"]["registers_from"], "code object");
    assert_eq!(result["occupancy"]["theoretical"], 0.375);
    // The other program has no GPU code: it uses the profiler's counts, and says so.
    let plain = self::program(lab, folder.path(), None);
    let report = succeeded(&profile(lab, folder.path(), "gfx942", &["--json", "--", &plain]));
    assert_eq!(report["result"]["resources"]["registers_from"], "profiler");
    assert_ne!(report["result"]["resources"]["vgpr_per_thread"], 132);
    // Unless it is given; code for another GPU does not count.
    let given = fixture("gfx942.co").display().to_string();
    let other = fixture("gfx90a.co").display().to_string();
    let arguments = ["--json", "--code-object", &given, "--code-object", &other, "--", &plain];
    let report = succeeded(&profile(lab, folder.path(), "gfx942", &arguments));
    assert_eq!(row(&report, "resources", "tile")["vgpr"], 100);
    assert_eq!(row(&report, "resources", "tile")["sgpr"], 14);
    assert!(notes(&report).contains("2 of 2 rows have their registers from the code object"));
    let report = succeeded(&profile(lab, folder.path(), "gfx1100", &arguments));
    assert_eq!(row(&report, "resources", "tile")["registers_from"], "profiler");
}

#[test]
fn a_person_sees_who_counted_the_registers() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = program(lab, folder.path(), Some(&fixture("zstd-2.hipfb")));
    let output = profile(lab, folder.path(), "gfx942", &["--quiet", "--table", "resources", "--", &program]);
    insta::assert_snapshot!(below_the_verdict(&output.stdout));
}

#[test]
fn a_file_that_is_no_code_object_is_an_error_before_anything_runs() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "no code").unwrap();
    let arguments = ["--code-object", "notes.txt", "--", "true"];
    let errors = failed(&profile(lab, folder.path(), "gfx942", &arguments), 2);
    assert!(errors.contains("`notes.txt`: neither a code object nor a file that holds one"), "{errors}");
    let errors =
        failed(&profile(lab, folder.path(), "gfx942", &["--code-object", "none.co", "--", "true"]), 2);
    assert!(errors.contains("cannot read `none.co`"), "{errors}");
    assert!(!folder.path().join(".rocpd_profile").exists());
}

#[test]
fn on_gfx950_the_code_object_rights_what_the_profiler_gets_wrong() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plain = program(lab, folder.path(), None);
    let report = succeeded(&profile(lab, folder.path(), "gfx950", &["--json", "--", &plain]));
    assert!(notes(&report).contains("half the registers of gfx950 kernels"), "{}", notes(&report));
    let Some(code) = compiled(folder.path(), "gfx950") else { return };
    let code = code.display().to_string();
    let arguments = ["--json", "--code-object", &code, "--", &plain];
    let report = succeeded(&profile(lab, folder.path(), "gfx950", &arguments));
    let matrix = row(&report, "resources", "matrix");
    assert_eq!((matrix["vgpr"].as_i64(), matrix["agpr"].as_i64()), (Some(132), Some(64)), "{matrix}");
    assert_eq!(matrix["registers_from"], "code object");
    assert_eq!(row(&report, "occupancy", "matrix")["waves_per_simd"], 2.0, "196 registers allow two");
    // Kernels that are not in the code keep the profiler's values.
    assert_ne!(row(&report, "resources", "tile")["registers_from"], "code object");
}

/// A kernel `matrix` of 131 and 64 registers, if a compiler for the GPU is here.
fn compiled(folder: &Path, arch: &str) -> Option<PathBuf> {
    let (source, target) = (folder.join("matrix.cl"), folder.join("matrix.co"));
    let text = "__attribute__((reqd_work_group_size(256, 1, 1))) kernel void matrix(global float *out) {\n\
                __asm__ volatile(\"\" ::: \"v130\", \"a63\"); out[0] = 0; }\n";
    std::fs::write(&source, text).unwrap();
    let clang = ["clang-22", "clang-23", "clang-21", "clang"].into_iter().find(|name| {
        let mut command = Command::new(name);
        command.args(["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", "-nogpulib", "-O2"]);
        command.arg(format!("-mcpu={arch}")).arg(&source).arg("-o").arg(&target);
        command.output().is_ok_and(|output| output.status.success())
    });
    if clang.is_none() {
        testing::skip(&format!("no clang that builds for {arch}"));
    }
    clang.map(|_| target)
}

/// A folder that looks like the one with the decoder of thread traces.
fn decoder(folder: &Path) -> PathBuf {
    let library = folder.join("decoder");
    std::fs::create_dir_all(&library).unwrap();
    std::fs::write(library.join("librocprof-trace-decoder.so"), "").unwrap();
    library
}

fn traced(lab: &Lab, folder: &Path, fault: &str, more: &[&str]) -> Output {
    let mut command = lab.rocm_perf();
    command.env("STAND_IN_ARCH", "gfx942").env("COLUMNS", "80").current_dir(folder);
    command.env("STAND_IN_FAULT", fault).env("ROCPROF_ATT_LIBRARY_PATH", decoder(folder));
    command.args(["profile", "--runs", "1", "--warm-up", "0", "--att"]).args(more);
    command.args(["--", &lab.app("vector_add"), "2"]).output().expect("the binary runs")
}

#[test]
fn a_thread_trace_says_what_waves_wait_for() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let report = succeeded(&traced(lab, folder.path(), "", &["--json"]));
    let name = report["result"]["kernel"]["name"].as_str().unwrap().to_string();
    let stalls = report["tables"]["stalls"].as_array().unwrap();
    // Compares cycles by cause with the files themselves.
    let mut waits = 0;
    let mut total = 0;
    let run = folder.path().join(".rocpd_profile/att");
    let mut folders = vec![run];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().unwrap().to_string_lossy().starts_with("stats_ui_output_agent_2_") {
                for row in csv::Reader::from_path(&path).unwrap().records() {
                    let row = row.unwrap();
                    let cycles = |at: usize| row[at].parse::<i64>().unwrap();
                    total += cycles(4) + cycles(6);
                    waits += if row[2].contains("vmcnt") { cycles(4) } else { 0 };
                }
            }
        }
    }
    assert!(waits > 0);
    let sum = |cause: Option<&str>| -> i64 {
        let rows = stalls.iter().filter(|row| cause.is_none_or(|cause| row["cause"] == cause));
        rows.map(|row| row["cycles"].as_i64().unwrap()).sum()
    };
    assert_eq!((sum(Some("memory latency")), sum(None)), (waits, total));
    let att = &report["result"]["att"];
    let fractions: f64 =
        att["instruction_mix"].as_object().unwrap().values().map(|share| share.as_f64().unwrap()).sum();
    assert!((fractions - 1.0).abs() < 1e-9, "{att}");
    for field in ["stall_fraction", "idle_fraction", "avg_memory_latency", "ipc"] {
        assert!(att[field].as_f64().is_some_and(|number| number > 0.0), "{field} of {att}");
    }
    // The rules use the trace: its facts need no counters, and with the other counters it decides.
    let wait = "SQ_WAIT_ANY";
    let missing = &report["result"]["bottleneck"]["missing_counters"];
    assert!(!missing.as_array().unwrap().iter().any(|counter| counter == wait), "{missing}");
    let untraced = profile(lab, folder.path(), "gfx942", &["--json", "--", &lab.app("vector_add")]);
    let missing = &succeeded(&untraced)["result"]["bottleneck"]["missing_counters"];
    assert!(missing.as_array().unwrap().iter().any(|counter| counter == wait), "{missing}");
    let report = succeeded(&traced(lab, folder.path(), "", &["--json", "--counters"]));
    let labels = report["tables"]["bottlenecks"].as_array().unwrap();
    let label = labels.iter().find(|row| row["name"] == name.as_str()).unwrap();
    let told = format!("{} {}", label["label"], label["secondary"]);
    assert!(told.contains("memory latency"), "{label}");
    assert!(report["result"]["occupancy"]["achieved"].as_f64().is_some_and(|share| share > 0.0));
}

#[test]
fn a_thread_trace_as_a_person_sees_it() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    for table in ["stalls", "instructions"] {
        let output = traced(lab, folder.path(), "", &["--quiet", "--table", table]);
        insta::assert_snapshot!(table, below_the_verdict(&output.stdout));
    }
}

#[test]
fn thread_traces_that_are_empty_incomplete_or_missing_are_named() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let report = succeeded(&traced(lab, folder.path(), "att_empty", &["--json"]));
    let checks = report["health"]["checks"].to_string();
    assert!(checks.contains("no wave of vector_add"), "{checks}");
    assert!(report["result"]["att"]["stall_fraction"].is_null());
    assert!(report["tables"]["stalls"].is_null(), "no cause without a cycle");

    let report = succeeded(&traced(lab, folder.path(), "att_data_lost", &["--json"]));
    assert!(notes(&report).contains("part of a thread trace was lost: `Data Lost"), "{}", notes(&report));
    assert!(!report["tables"]["stalls"].is_null(), "what is there is shown");

    let report =
        succeeded(&profile(lab, folder.path(), "gfx942", &["--json", "--att", "--", &lab.app("vector_add")]));
    let notes = notes(&report);
    assert!(notes.contains("the thread trace decoder is not installed"), "{notes}");
    assert!(notes.contains("ROCPROF_ATT_LIBRARY_PATH"), "{notes}");
    assert!(report["result"]["runtime_ms"].as_f64().unwrap() > 0.0, "the rest of the profile stands");
    assert!(report["result"]["att"].is_null());
}
