//! `att` on PC samples: as a person sees them, from CSV and from a database, and inputs without samples.

use crate::common;

use std::path::Path;

use common::{files, json, rocm_perf, synth};

/// Five samples of one kernel, repeated four times.
fn samples(folder: &Path) {
    let kernels = "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Dispatch_Id\",\"Kernel_Name\",\"Correlation_Id\",\
                   \"Start_Timestamp\",\"End_Timestamp\"\n\"KERNEL_DISPATCH\",\"Agent 2\",1,1,\"gemm\",1,0,8000\n";
    let mut text = "\"Sample_Timestamp\",\"Exec_Mask\",\"Dispatch_Id\",\"Instruction\",\"Instruction_Comment\",\
                    \"Correlation_Id\",\"Wave_Issued_Instruction\",\"Instruction_Type\",\"Stall_Reason\",\"Wave_Count\"\n"
        .to_string();
    let rows = [
        ("global_load_dword v4, v[2:3], off", "k.cu:10", 0, "WAITCNT"),
        ("s_waitcnt vmcnt(0)", "k.cu:11", 0, "WAITCNT"),
        ("s_waitcnt vmcnt(0)", "k.cu:11", 0, "WAITCNT"),
        ("v_fma_f32 v5, v4, v6, v5", "k.cu:12", 1, "NONE"),
        ("v_fma_f32 v5, v4, v6, v5", "k.cu:12", 0, "ALU_DEPENDENCY"),
    ];
    for (n, (instruction, source, issued, reason)) in rows.iter().cycle().take(20).enumerate() {
        text += &format!(
            "{},255,1,\"{instruction}\",\"{source}\",1,{issued},\"OTHER\",\"{reason}\",4\n",
            n * 100
        );
    }
    std::fs::write(folder.join("7_kernel_trace.csv"), kernels).unwrap();
    std::fs::write(folder.join("7_pc_sampling_stochastic.csv"), text).unwrap();
}

#[test]
fn pc_samples_as_a_person_sees_them() {
    let folder = tempfile::tempdir().unwrap();
    samples(folder.path());
    let output =
        rocm_perf().env("COLUMNS", "80").args(["att", "--quiet"]).arg(folder.path()).output().unwrap();
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_database_with_pc_samples_says_the_same() {
    let folder = tempfile::tempdir().unwrap();
    samples(folder.path());
    let database = folder.path().join("samples.db");
    let output = rocm_perf()
        .args(["convert", "--quiet", "--to", "rocpd", "-o"])
        .arg(&database)
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let csv = tempfile::tempdir().unwrap();
    samples(csv.path());
    assert_eq!(json("att", &[&database], &[])["tables"], json("att", &[csv.path()], &[])["tables"]);
}

#[test]
fn what_holds_neither_is_named() {
    let folder = tempfile::tempdir().unwrap();
    synth(folder.path(), &["--to", "rocpd", "--kernels", "20", "--ranks", "1"]);
    let database = files(folder.path(), ".db").remove(0);
    let output = rocm_perf().arg("att").arg(&database).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("holds no decoded thread trace and no PC samples"), "{errors}");
    assert!(errors.contains("not to rocpd databases"), "{errors}");
    let output = rocm_perf().args(["att", "no-such-file.csv"]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("no-such-file.csv"), "{errors}");
}

#[test]
fn memory_lines_of_omniprobe_as_a_person_sees_them() {
    let folder = tempfile::tempdir().unwrap();
    samples(folder.path());
    let access = |line: u32, needed: u32, used: u32| {
        format!(
            r#"{{"source_location": {{"file": "gemm.hip", "line": {line}, "column": 5}}, "code_context": "c[i] = a[i * n] + b[i];",
            "access_info": {{"type": "read", "execution_count": 4096, "ir_bytes": 4, "isa_bytes": 4, "isa_instruction": "global_load_dword",
            "cache_lines": {{"needed": {needed}, "used": {used}}}}}}}"#
        )
    };
    let conflicts = r#"{"source_location": {"file": "gemm.hip", "line": 31, "column": 9}, "code_context": "tile[x][y]",
        "access_info": {"type": "write", "execution_count": 1024, "ir_bytes": 8, "total_conflicts": 32768}}"#;
    // The writer does not close its list.
    let text = format!(
        r#"[{{"kernel_analysis": {{"kernel_info": {{"name": "gemm", "dispatch_id": 1}}, "cache_analysis": {{"accesses": [{}, {}]}},
        "bank_conflicts": {{"accesses": [{conflicts}]}}}}, "metadata": {{"gpu_info": {{"architecture": "gfx942", "cache_line_size": 128}}}}}}"#,
        access(17, 8192, 8192),
        access(12, 8192, 262_144)
    );
    let probe = folder.path().join("probe.json");
    std::fs::write(&probe, text).unwrap();
    let trace = folder.path().join("7_kernel_trace.csv");
    let output =
        rocm_perf().env("COLUMNS", "100").args(["att", "--quiet"]).args([&probe, &trace]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stdout));
    let report = json("att", &[&probe, &trace], &[]);
    assert_eq!(report["tables"]["memory_lines"][0]["source"], "gemm.hip:12", "most excess first");
    assert_eq!(report["tables"]["memory_lines"][0]["kernel_time_ns"], 8000);
}
