//! `panels` as a person and as a program see it.

use crate::common;
use crate::panels_maker;

use std::path::Path;

use common::{json, rocm_perf, run, shared_data, stdout};
use serde_json::Value;

fn screen(arguments: &[&str]) -> String {
    let output =
        rocm_perf().env("COLUMNS", "80").arg("panels").args(arguments).output().expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

fn error(arguments: &[&str]) -> String {
    let output = run(&[&["panels"], arguments].concat());
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A generated workload in a folder that has the same name everywhere.
fn made(keep: impl Fn(&str) -> bool) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let workload = folder.path().join("workload");
    panels_maker::write(&workload, keep);
    let path = workload.to_str().unwrap().to_string();
    (folder, path)
}

fn checks(report: &Value) -> Vec<&str> {
    let checks = report["health"]["checks"].as_array().unwrap();
    checks
        .iter()
        .filter(|check| check["status"] != "pass")
        .map(|check| check["id"].as_str().unwrap())
        .collect()
}

fn row<'r>(report: &'r Value, table: &str, metric: &str) -> &'r Value {
    let rows = report["tables"][table].as_array().unwrap_or_else(|| panic!("no table {table}"));
    rows.iter().find(|row| row["metric"] == metric).unwrap_or_else(|| panic!("no {metric} in {table}"))
}

#[test]
fn the_overview_fits_eighty_columns() {
    let (_folder, path) = made(|_| true);
    let text = screen(&[&path]);
    for line in text.lines().filter(|line| !line.starts_with("more panels") && !line.starts_with("N/A")) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn blocks_show_what_was_asked_for() {
    let (_folder, path) = made(|_| true);
    insta::assert_snapshot!(screen(&[&path, "-b", "7.2", "-b", "16.2,18", "-n", "per_wave", "-t", "us"]));
}

#[test]
fn a_missing_counter_is_named() {
    let (_folder, path) = made(|name| !["SQ_INSTS_SALU", "SQ_LEVEL_WAVES"].contains(&name));
    let report = json("panels", &[Path::new(&path)], &[]);
    let salu = row(&report, "panel_10.1", "SALU");
    assert!(salu["avg"].is_null());
    assert_eq!(salu["absent"]["avg"], "counter SQ_INSTS_SALU was not collected");
    let occupancy = row(&report, "panel_7.2", "Wavefront Occupancy");
    assert_eq!(
        occupancy["absent"]["avg"],
        "counter SQ_ACCUM_PREV_HIRES of pass SQ_LEVEL_WAVES was not collected"
    );
    assert!(row(&report, "panel_10.1", "VALU")["avg"].is_f64(), "the rest is still there");
    assert!(screen(&[&path]).contains("N/A: counter SQ_INSTS_SALU was not collected: 3.1.2"));
}

#[test]
fn a_ratio_of_sums_is_not_a_mean_of_ratios() {
    let (_folder, path) = made(|_| true);
    let path = Path::new(&path);
    let of = |report: &Value| row(report, "panel_7.2", "Instructions per wavefront")["avg"].as_f64().unwrap();
    let (ours, theirs) = (json("panels", &[path], &[]), json("panels", &[path], &["--vendor-parity"]));
    assert_ne!(of(&ours), of(&theirs));
    // With one dispatch there is one ratio.
    let of_one = |more: &[&str]| of(&json("panels", &[path], &[&["-d", "1"], more].concat()));
    assert_eq!(of_one(&[]), of_one(&["--vendor-parity"]));
}

#[test]
fn kernels_dispatches_and_gpus_choose_together() {
    let (_folder, path) = made(|_| true);
    let path = Path::new(&path);
    let grid = |more: &[&str]| {
        let report = json("panels", &[path], more);
        let row = row(&report, "panel_7.1", "Grid Size").clone();
        (row["min"].as_f64().unwrap(), row["max"].as_f64().unwrap())
    };
    assert_eq!(grid(&[]), (4096.0, 65536.0));
    assert_eq!(grid(&["-k", "0"]), (65536.0, 65536.0), "the kernel with most time");
    assert_eq!(grid(&["-k", "reduce(float*)"]), (4096.0, 4096.0), "a name");
    assert_eq!(grid(&["-k", "^red"]), (4096.0, 4096.0), "a pattern");
    assert_eq!(grid(&["-d", "1"]), (4096.0, 4096.0));
    assert_eq!(grid(&["-d", ">1"]), (65536.0, 65536.0));
    assert_eq!(grid(&["--gpu-id", "2", "-d", "0..1"]), (4096.0, 65536.0));
    let path = path.to_str().unwrap();
    assert!(error(&[path, "-k", "7"]).contains("no kernel is `7`"));
    assert!(error(&[path, "-d", "9"]).contains("no dispatch is `9`"));
    assert!(error(&[path, "--gpu-id", "0"]).contains("no dispatch ran on GPU 0"));
    assert!(error(&[path, "-k", "1", "-d", "0"]).contains("no dispatch is `0`"));
    assert!(error(&[path, "-b", "4"]).contains("`4` is not a block"));
    assert!(error(&[path, "-b", "x"]).contains("such as 2, 7.1 or 16.3.4"));
}

#[test]
fn two_runs_stand_side_by_side() {
    let (_one, base) = made(|_| true);
    let (_two, other) = made(|name| name != "SQ_INSTS_VALU");
    insta::assert_snapshot!(screen(&["-p", &base, "-p", &other, "-b", "10.1,7.2"]));
    let report = json("panels", &[], &["-p", &base, "-p", &other, "-b", "10.1"]);
    let salu = row(&report, "panel_10.1", "SALU");
    assert_eq!(salu["avg"], salu["avg_2"]);
    assert_eq!(salu["avg_2_delta_pct"], 0.0);
    assert!(row(&report, "panel_10.1", "VALU")["avg_2_delta_pct"].is_null());
}

#[test]
fn kernels_and_metrics_can_be_listed() {
    let (_folder, path) = made(|_| true);
    insta::assert_snapshot!(screen(&[&path, "--list-stats"]));
    insta::assert_snapshot!(screen(&["--list-metrics", "gfx950", "-b", "12.1"]));
    let by_input = stdout(&["panels", "--list-metrics", &path, "--format", "json"]);
    let report: Value = serde_json::from_str(&by_input).unwrap();
    assert!(report["tables"]["metrics"].as_array().unwrap().len() > 350);
    assert!(
        error(&["--list-metrics", "gfx1100"]).contains("no panels are known for the architecture `gfx1100`")
    );
}

#[test]
fn files_go_to_a_folder_that_is_no_input() {
    let (folder, path) = made(|_| true);
    let out = folder.path().join("tables");
    stdout(&["panels", &path, "-o", out.to_str().unwrap()]);
    let table = std::fs::read_to_string(out.join("panel_2.1.csv")).unwrap();
    assert!(table.starts_with("id,metric,avg,peak,pct_of_peak,unit\n2.1.0,VALU FLOPs,"));
    assert!(std::fs::read_to_string(out.join("memory_chart.svg")).unwrap().starts_with("<svg"));
    let inside = format!("{path}/tables");
    assert!(error(&[&path, "-o", &inside]).contains("is inside an input"));
    assert!(!Path::new(&inside).exists());
}

#[test]
fn what_is_wrong_with_a_workload_is_named_and_the_rest_shown() {
    let (_folder, path) = made(|_| true);
    let folder = Path::new(&path);
    let occupancy = |dispatch: &str| {
        let report = json("panels", &[folder], &["-b", "7.2", "-d", dispatch]);
        row(&report, "panel_7.2", "Wavefront Occupancy")["avg"].as_f64()
    };
    let before = [occupancy("0"), occupancy("1")];
    // A level file with a launch missing and the others in another order.
    let names = ["SQ_ACCUM_PREV_HIRES".to_string()];
    panels_maker::table(&folder.join("SQ_LEVEL_WAVES.csv"), &names, [1, 0].into_iter());
    // An empty pass, and one with only its header.
    let whole = std::fs::read_to_string(folder.join("SQ_IFETCH_LEVEL.csv")).unwrap();
    std::fs::write(folder.join("SQ_INST_LEVEL_LDS.csv"), "").unwrap();
    std::fs::write(folder.join("SQ_INST_LEVEL_SMEM.csv"), whole.lines().next().unwrap().to_string() + "\n")
        .unwrap();
    let report = json("panels", &[folder], &[]);
    let mut found = checks(&report);
    found.sort_unstable();
    assert_eq!(found, ["empty_pass", "empty_pass", "level_rows"]);
    assert_eq!([occupancy("0"), occupancy("1")], before, "launches met by kernel and occurrence");
    assert_eq!(occupancy("2"), None);
    assert!(row(&report, "panel_11.2", "SMEM Latency")["avg"].is_null());

    // A clock of 0 leaves the peaks empty, and the user can set it.
    panels_maker::sysinfo(folder, "gfx90a", "0");
    let report = json("panels", &[folder], &["-b", "2"]);
    assert!(checks(&report).contains(&"clock"));
    let valu = row(&report, "panel_2.1", "VALU FLOPs");
    assert_eq!((valu["avg"].is_f64(), valu["peak"].is_null()), (true, true));
    assert_eq!(valu["absent"]["peak"], "max_sclk is 0");
    let report = json("panels", &[folder], &["-b", "2", "--specs", "max_sclk=1700"]);
    assert_eq!(row(&report, "panel_2.1", "VALU FLOPs")["peak"], 22630.4);

    // An architecture without a catalogue still has kernels and facts.
    panels_maker::sysinfo(folder, "gfx1100", "2500");
    let report = json("panels", &[folder], &[]);
    assert!(checks(&report).contains(&"architecture"));
    assert_eq!(report["tables"]["panel_0.1"].as_array().unwrap().len(), 2);
    assert!(report["tables"]["panel_2.1"].is_null());

    std::fs::remove_file(folder.join("sysinfo.csv")).unwrap();
    assert!(checks(&json("panels", &[folder], &[])).contains(&"sysinfo"));
}

#[test]
fn damaged_times_leave_rates_absent() {
    let (_folder, path) = made(|_| true);
    let file = Path::new(&path).join("pmc_perf.csv");
    let text = std::fs::read_to_string(&file).unwrap();
    let rounded = |line: &str| {
        let fields: Vec<&str> = line.rsplitn(3, ',').collect();
        format!("{},8.1097E+14,8.1097E+14\n", fields[2])
    };
    let lines: String = text.lines().skip(1).map(rounded).collect();
    std::fs::write(&file, format!("{}\n{lines}", text.lines().next().unwrap())).unwrap();
    let report = json("panels", &[Path::new(&path)], &[]);
    assert!(checks(&report).contains(&"durations"));
    assert!(row(&report, "panel_2.1", "VALU FLOPs")["avg"].is_null());
    assert!(row(&report, "panel_2.1", "IPC")["avg"].is_f64());
    assert!(report["tables"]["panel_0.1"][0]["total_ns"].is_null());
}

#[test]
fn other_commands_read_a_workload_too() {
    let (_folder, path) = made(|_| true);
    let info = json("info", &[Path::new(&path)], &[]);
    assert_eq!(info["inputs"][0]["format"], "rocprof-compute");
    let summary = json("summary", &[Path::new(&path)], &[]);
    assert_eq!(summary["tables"]["kernels"][0]["total_ns"], 50_000);
    // One file of a workload selects the whole workload.
    let by_file = json("panels", &[&Path::new(&path).join("pmc_perf.csv")], &["-b", "2"]);
    let by_folder = json("panels", &[Path::new(&path)], &["-b", "2"]);
    assert_eq!(by_file["tables"], by_folder["tables"]);
}

#[test]
fn real_workloads_give_the_vendors_comparison() {
    let Some(data) = shared_data() else { return };
    let data = data.join("rocprof_compute");
    let (base, other) = (data.join("vcopy_MI200"), data.join("dispatch_0_1_MI200"));
    let report = json(
        "panels",
        &[],
        &[
            "-p",
            base.to_str().unwrap(),
            "-p",
            other.to_str().unwrap(),
            "--vendor-parity",
            "--decimal",
            "2",
            "-b",
            "2,7.2,16.3",
        ],
    );
    let expected = data.join("expected/vcopy_MI200__vs_dispatch_0_1_MI200_blocks_2_7.2_16.3_decimal2");
    let mut compared = 0;
    for table in ["2.1", "7.2", "16.3"] {
        let mut reader = csv::Reader::from_path(expected.join(format!("{table}.csv"))).unwrap();
        let headings: Vec<String> = reader.headers().unwrap().iter().map(str::to_lowercase).collect();
        for record in reader.records() {
            let record = record.unwrap();
            let ours = row(&report, &format!("panel_{table}"), &record[0]);
            for (column, heading) in headings.iter().enumerate().skip(1) {
                let key = heading.replace(' ', "_");
                // The second column of a name is `value (change%)`.
                let again = headings[..column].contains(heading);
                let cell = &record[column];
                if ["unit", "abs_diff"].contains(&key.as_str()) || cell.is_empty() {
                    continue;
                }
                let near = |ours: &Value, theirs: &str| {
                    let theirs: f64 = theirs.parse().unwrap();
                    let ours =
                        ours.as_f64().unwrap_or_else(|| panic!("{table} {} {key}: {ours}", &record[0]));
                    assert!(
                        (ours - theirs).abs() <= 0.0100001,
                        "{table} {} {key}: {ours} for {theirs}",
                        &record[0]
                    );
                };
                match cell.split_once(" (") {
                    Some((value, pct)) if again => {
                        if !ours[format!("{key}_2")].is_null() {
                            near(&ours[format!("{key}_2")], value);
                        }
                        near(&ours[format!("{key}_2_delta_pct")], pct.trim_end_matches("%)"));
                    }
                    _ => near(&ours[&key], cell),
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn a_real_workload_is_only_read() {
    let Some(data) = shared_data() else { return };
    let workload = data.join("rocprof_compute/vcopy_MI350");
    let listing = || {
        let mut names: Vec<_> =
            std::fs::read_dir(&workload).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        names
            .into_iter()
            .map(|path| (path.clone(), path.metadata().unwrap().modified().unwrap()))
            .collect::<Vec<_>>()
    };
    let before = listing();
    let report = json("panels", &[&workload], &["--vendor-parity", "--decimal", "10"]);
    assert_eq!(before, listing());
    assert_eq!(row(&report, "panel_2.1", "VALU IOPs")["pct_of_peak"], "inf");
}

#[test]
fn panel_30_is_computed_where_its_counters_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let counters = [
        "GRBM_GUI_ACTIVE",
        "SQ_WAVES",
        "TCC_BUSY_sum",
        "TCC_EA0_RDREQ_DRAM_CREDIT_STALL_sum",
        "TCC_EA0_RDREQ_DRAM_32B_sum",
    ];
    let identity = "Dispatch_ID,Kernel_Name,GPU_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR";
    let text = format!(
        "{identity},{},Start_Timestamp,End_Timestamp\n\
         0,copy,2,256,256,0,0,8,0,16,900,4,1000,100,5000,0,1000\n\
         1,copy,2,256,256,0,0,8,0,16,900,4,3000,700,7000,2000,5000\n",
        counters.join(",")
    );
    std::fs::write(folder.join("pmc_perf.csv"), text).unwrap();
    panels_maker::sysinfo(folder, "gfx950", "2400");
    let report = json("panels", &[folder], &["-b", "30"]);
    // (100 + 700) of (1000 + 3000) cycles, and 32 bytes for each of 12000 in 4000 ns.
    assert_eq!(row(&report, "panel_30.18", "HBM read credits used up")["avg"], 20.0);
    assert_eq!(row(&report, "panel_30.14", "HBM read BW")["avg"], 96.0);
    assert!(row(&report, "panel_30.14", "HBM write BW")["avg"].is_null());
    // Among all panels only its tables with values are shown, and none on other GPUs.
    let all = json("panels", &[folder], &["-b", "all"]);
    let shown = |report: &Value, table: &str| report["tables"].get(table).is_some();
    assert!(shown(&all, "panel_30.14") && !shown(&all, "panel_30.2"), "{}", all["tables"]);
    panels_maker::sysinfo(folder, "gfx942", "2100");
    let other = json("panels", &[folder], &["-b", "30"]);
    assert!(!shown(&other, "panel_30.14"));
    assert!(other["notes"].to_string().contains("gfx950 only"), "{}", other["notes"]);
}
