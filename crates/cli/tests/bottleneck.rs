//! `bottleneck` as a person sees it: a label with its evidence, and what to collect if nothing is decided.

use crate::common;

use std::path::Path;

use common::{json, rocm_perf, shared_data};

const COLUMNS: &str = "Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,Kernel_Id,Kernel_Name,Workgroup_Size,\
    LDS_Block_Size,Scratch_Size,VGPR_Count,Accum_VGPR_Count,SGPR_Count,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n";

fn gpu(folder: &Path, facts: &str) {
    let columns =
        "Node_Id,Logical_Node_Id,Agent_Type,Num_Xcc,Cu_Count,Max_Engine_Clk_Fcompute,Name,Product_Name";
    std::fs::write(folder.join("run_agent_info.csv"), format!("{columns}\n1,1,GPU,{facts}\n")).unwrap();
}

/// The only row: a kernel of 1 ms with these counters.
fn row_of(folder: &Path, grid: u64, vgpr: u32, counters: &[(&str, f64)]) -> serde_json::Value {
    let mut table = String::from(COLUMNS);
    for (counter, value) in counters {
        table.push_str(&format!(
            "1,1,1,1,7,7,{grid},1,k,256,0,0,{vgpr},0,16,{counter},{value},1000000,2000000\n"
        ));
    }
    std::fs::write(folder.join("run_counter_collection.csv"), table).unwrap();
    json("bottleneck", &[folder], &[])["tables"]["bottlenecks"][0].clone()
}

/// A copy kernel of 1 ms on an MI300X at 4.5 TB/s, with memory traffic counters only.
fn run(folder: &Path) {
    gpu(folder, "8,304,2100,gfx942,MI300X");
    let mut table = String::from(COLUMNS);
    for (counter, value) in [
        ("TCC_EA0_RDREQ_sum", 35_156_250u64),
        ("TCC_EA0_RDREQ_32B_sum", 0),
        ("TCC_BUBBLE_sum", 0),
        ("TCC_EA0_WRREQ_sum", 35_156_250),
        ("TCC_EA0_WRREQ_64B_sum", 35_156_250),
    ] {
        table.push_str(&format!(
            "1,1,1,1,7,7,268435456,1,copy,256,0,0,8,0,16,{counter},{value},1000000,2000000\n"
        ));
    }
    table.push_str("2,2,1,1,7,7,268435456,2,other,256,0,0,8,0,16,SQ_WAVES,4194304,2010000,3010000\n");
    std::fs::write(folder.join("run_counter_collection.csv"), table).unwrap();
}

#[test]
fn labels_and_what_is_missing_in_80_columns() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path());
    let output = rocm_perf()
        .env("COLUMNS", "80")
        .arg("bottleneck")
        .arg(folder.path())
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap());

    let report = json("bottleneck", &[folder.path()], &[]);
    let rows = report["tables"]["bottlenecks"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    assert_eq!(row("copy")["label"], "memory bandwidth");
    assert_eq!(row("copy")["figures"][0]["source"], "counters");
    assert_eq!(row("other")["label"], "not enough data");
    let missing = row("other")["missing"].as_array().unwrap();
    assert!(missing.iter().any(|name| name == "TCC_EA0_RDREQ_sum"));
    assert!(
        !missing.iter().any(|name| name.as_str().unwrap().starts_with("TCC_EA_")),
        "that is another GPU's spelling"
    );
}

/// One of the eight partitions of an MI300X: its cycles are counted once, not eight times.
#[test]
fn a_partition_is_judged_by_its_own_share_of_the_gpu() {
    let folder = tempfile::tempdir().unwrap();
    gpu(folder.path(), "1,38,2100,gfx942,MI300X");
    let counters = [
        ("GRBM_GUI_ACTIVE", 2.1e6),
        ("SQ_ACTIVE_INST_VALU", 0.7 * 38.0 * 2.1e6),
        ("SQ_THREAD_CYCLES_VALU", 64.0 * 0.7 * 38.0 * 2.1e6),
        ("SQ_VALU_MFMA_BUSY_CYCLES", 0.0),
    ];
    let row = row_of(folder.path(), 268_435_456, 8, &counters);
    assert_eq!(row["label"], "vector throughput", "{row}");
    assert!((row["figures"][0]["value"].as_f64().unwrap() - 70.0).abs() < 1e-6, "{row}");
}

/// The hardware does not allocate 68 registers: they are 136, so three workgroups fit and not seven.
#[test]
fn halved_registers_of_gfx950_are_doubled_before_grids_are_judged() {
    let folder = tempfile::tempdir().unwrap();
    gpu(folder.path(), "8,256,2400,gfx950,MI355X");
    let row = row_of(folder.path(), 4 * 256 * 256, 68, &[("SQ_WAVES", 4096.0)]);
    assert_eq!(row["label"], "tail", "{row}");
}

/// Real workloads: a copy at 62 % of the measured bandwidth of its GPU, and one without times.
#[test]
fn measured_peaks_are_ceilings_and_lost_times_are_named() {
    let Some(data) = shared_data().map(|data| data.join("rocprof_compute")) else { return };
    let row = json("bottleneck", &[&data.join("vcopy_MI200")], &[])["tables"]["bottlenecks"][0].clone();
    assert_eq!(row["label"], "memory bandwidth", "{row}");
    let report = json("bottleneck", &[&data.join("vcopy_MI300X_A1")], &[]);
    let row = &report["tables"]["bottlenecks"][0];
    assert_eq!(row["label"], "not enough data");
    assert!(row["missing_facts"].as_array().unwrap().contains(&"duration_ns".into()), "{row}");
    assert!(report["notes"].to_string().contains("no duration"), "{}", report["notes"]);
}

/// Cycles of 21 GHz once passed, and each report computed another occupancy from them.
#[test]
fn cycles_of_an_impossible_clock_fail_health_and_give_one_occupancy() {
    let Some(folder) = testing::data("rocprof_compute/no_roof_MI300X_A1") else { return };
    for command in ["bottleneck", "occupancy", "panels"] {
        let report = json(command, &[&folder], &[]);
        let checks = report["health"]["checks"].as_array().expect("checks");
        let check = checks.iter().find(|check| check["id"] == "impossible_clock").expect(command);
        assert_eq!(check["status"], "fail", "{check}");
        assert!(check["value"].as_f64().is_some_and(|ghz| ghz > 7.0), "{check}");
    }
    let bottleneck = json("bottleneck", &[&folder], &[]);
    let occupancy = json("occupancy", &[&folder], &[]);
    let (judged, fitted) = (&bottleneck["tables"]["bottlenecks"][0], &occupancy["tables"]["kernels"][0]);
    let found = judged["achieved_occupancy_pct"].as_f64().expect("achieved occupancy");
    assert!((found - fitted["achieved_pct"].as_f64().expect("achieved occupancy")).abs() < 1e-3);
    assert!(
        judged["missing"].to_string().contains("GRBM_GUI_ACTIVE"),
        "no rule goes by those cycles: {judged}"
    );
    // A sound workload has no such check.
    let Some(sound) = testing::data("rocprof_compute/vcopy_MI200") else { return };
    assert!(!json("occupancy", &[&sound], &[])["health"].to_string().contains("impossible_clock"));
}
