//! `att` on PC samples: as a person sees them, from CSV and from a database, and what holds none.

mod common;

use std::path::Path;

use common::{files, json, rocm_perf, synth};

/// Five samples four times over, of one kernel.
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
