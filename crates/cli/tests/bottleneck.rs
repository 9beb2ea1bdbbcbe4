//! `bottleneck` as a person sees it: a label with its evidence, and what to collect where nothing is decided.

mod common;

use std::path::Path;

use common::{json, rocm_perf};

/// A copy kernel of 1 ms on an MI300X at 4.5 TB/s, with the counters of memory traffic alone.
fn run(folder: &Path) {
    let agents = "Node_Id,Logical_Node_Id,Agent_Type,Num_Xcc,Cu_Count,Max_Engine_Clk_Fcompute,Name,Product_Name\n\
                  1,1,GPU,8,304,2100,gfx942,MI300X\n";
    std::fs::write(folder.join("run_agent_info.csv"), agents).unwrap();
    let mut table = String::from(
        "Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,Kernel_Id,Kernel_Name,Workgroup_Size,\
         LDS_Block_Size,Scratch_Size,VGPR_Count,Accum_VGPR_Count,SGPR_Count,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n",
    );
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
