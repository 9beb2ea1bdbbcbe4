//! `occupancy` of code objects, of numbers and of traces, as a person and as a program see it.

use crate::common;

use std::path::{Path, PathBuf};

use common::{json, rocm_perf, run, shared_data, stdout, synth};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../hw/tests/fixtures").join(name)
}

fn screen(arguments: &[&str]) -> String {
    let output =
        rocm_perf().env("COLUMNS", "80").arg("occupancy").args(arguments).output().expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

fn error(arguments: &[&str]) -> String {
    let output = run(&[&["occupancy"], arguments].concat());
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_code_object_as_a_person_sees_it() {
    insta::assert_snapshot!(screen(&[fixture("gfx942.co").to_str().unwrap()]));
}

#[test]
fn numbers_as_a_person_sees_them() {
    let arguments =
        ["--arch", "MI300X", "--vgpr", "137", "--workgroup", "256", "--lds", "16384", "--sgpr", "104"];
    insta::assert_snapshot!(screen(&arguments));
}

#[test]
fn the_columns_that_programs_rely_on_are_there() {
    let report = json("occupancy", &[&fixture("zstd-3.hipfb")], &["--arch", "gfx942", "--kernel", "mat"]);
    let rows = report["tables"]["kernels"].as_array().unwrap();
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    assert_eq!(row["name"], "matrix");
    assert_eq!(
        (row["vgpr"].as_i64(), row["agpr"].as_i64(), row["sgpr"].as_i64()),
        (Some(132), Some(32), Some(8))
    );
    assert_eq!((row["lds_bytes"].as_i64(), row["waves_per_simd"].as_f64()), (Some(0), Some(3.0)));
    assert_eq!((row["occupancy_pct"].as_f64(), row["limited_by"].as_str()), (Some(37.5), Some("vgpr")));
}

#[test]
fn workgroups_and_dynamic_lds_are_the_users() {
    let of = |more: &[&str]| {
        let report = json("occupancy", &[&fixture("gfx942.co")], &[&["--kernel", "copy"], more].concat());
        report["tables"]["kernels"][0]["waves_per_cu"].as_f64().unwrap()
    };
    assert_eq!(of(&[]), 32.0, "compiled for 512 threads");
    assert_eq!(of(&["--lds", "32768", "--workgroup", "256"]), 8.0, "two workgroups of four waves");
}

#[test]
fn mistakes_are_named() {
    assert!(error(&[]).contains("no input given"));
    assert!(error(&["--arch", "gfx999", "--vgpr", "1"]).contains("`gfx999` is not a known GPU"));
    assert!(
        error(&["--arch", "gfx942", "--vgpr", "1", "--wave-size", "32"])
            .contains("gfx942 has no waves of 32 lanes")
    );
    let co = fixture("gfx942.co");
    let co = co.to_str().unwrap();
    assert!(error(&["--arch", "gfx942"]).contains("give them with `--vgpr 128`"));
    assert!(error(&["--vgpr", "64"]).contains("name it with `--arch gfx942`"));
    assert!(error(&[co, "--vgpr", "8"]).contains("describe a kernel without an input: drop them"));
    assert!(error(&[co, "--arch", "gfx950"]).contains("they hold kernels for gfx942"));
    assert!(error(&[co, "--kernel", "nothing"]).contains("no kernel in the code objects matches"));
    assert!(error(&[co, "--stream", "0"]).contains("only `--kernel` applies to code objects"));
    assert!(error(&[env!("CARGO_BIN_EXE_rocm-perf")]).contains("without GPU code"));

    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("cut.co");
    std::fs::write(&cut, &std::fs::read(co).unwrap()[..40]).unwrap();
    assert!(error(&[cut.to_str().unwrap()]).contains("a damaged ELF file"));
    let trace = folder.path().join("trace.json");
    std::fs::write(&trace, common::SMALL_TORCH).unwrap();
    assert!(error(&[co, trace.to_str().unwrap()]).contains("traces and code objects"));
    assert!(error(&[trace.to_str().unwrap(), "--lds", "1"]).contains("`--lds` applies to code objects"));
}

#[test]
fn kernels_of_a_trace_have_a_row_each() {
    let folder = tempfile::tempdir().unwrap();
    synth(folder.path(), &["--to", "rocpd", "--kernels", "200"]);
    let databases = common::files(folder.path(), ".db");
    let report = json("occupancy", &[&databases[0]], &[]);
    let rows = report["tables"]["kernels"].as_array().unwrap();
    assert!(!rows.is_empty());
    let summary = json("summary", &[&databases[0]], &[]);
    let total = |report: &serde_json::Value| -> i64 {
        report["tables"]["kernels"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["total_ns"].as_i64().unwrap())
            .sum()
    };
    assert_eq!(total(&report), total(&summary));
}

#[test]
fn halved_registers_of_gfx950_are_restored_and_said() {
    let Some(data) = shared_data() else { return };
    let trace = data.join("traces/rocprofv3_908_results.json.gz");
    let report = json("occupancy", &[&trace], &[]);
    let rows = report["tables"]["kernels"].as_array().unwrap();
    // The hardware allocates registers in eights; the profiler recorded 44 for this kernel.
    let attention = rows.iter().find(|row| row["name"] == "attn_fwd").unwrap();
    assert_eq!((attention["arch"].as_str(), attention["vgpr"].as_i64()), (Some("gfx950"), Some(88)));
    assert!(rows.iter().all(|row| row["vgpr"].as_i64().unwrap() % 8 == 0));
    let text = stdout(&["occupancy", trace.to_str().unwrap()]);
    assert!(text.contains("the profiler gave half the registers of gfx950 kernels"));
}

/// A column of a small CSV file, by its heading.
fn column(path: &Path, heading: &str) -> Vec<f64> {
    let mut reader = csv::Reader::from_path(path).expect("the file is there");
    let place = reader.headers().unwrap().iter().position(|name| name == heading).expect(heading);
    reader.records().map(|row| row.unwrap()[place].parse().unwrap_or(f64::NAN)).collect()
}

#[test]
fn achieved_occupancy_is_what_the_levels_of_waves_say() {
    for workload in ["vcopy_MI200", "vcopy_MI300X_A1"] {
        let Some(folder) = testing::data(Path::new("rocprof_compute").join(workload)) else {
            continue;
        };
        let sum = |heading| column(&folder.join("SQ_LEVEL_WAVES.csv"), heading).iter().sum::<f64>();
        let fact = |heading| column(&folder.join("sysinfo.csv"), heading)[0];
        let cycles = sum("GRBM_GUI_ACTIVE") / fact("num_xcd");
        let expected = 100.0 * sum("SQ_ACCUM_PREV_HIRES") / cycles / fact("cu_per_gpu") / 32.0;
        let report = json("occupancy", &[&folder], &[]);
        let rows = report["tables"]["kernels"].as_array().unwrap();
        assert_eq!(rows.len(), 1, "{workload} has one kernel");
        let achieved = rows[0]["achieved_pct"].as_f64().unwrap_or_else(|| panic!("{}", rows[0]));
        assert!((achieved - expected).abs() < 1e-3, "{workload}: {achieved} is not {expected}");
        assert!((0.0..100.0).contains(&achieved));
    }
}

#[test]
fn without_counters_achieved_occupancy_is_absent_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    synth(folder.path(), &["--to", "rocpd", "--kernels", "200"]);
    let report = json("occupancy", &[folder.path()], &[]);
    let row = &report["tables"]["kernels"][0];
    assert!(row["achieved_pct"].is_null());
    assert_eq!(row["absent"]["achieved_pct"], "no counters were collected");
}
