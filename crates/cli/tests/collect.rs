//! `collect` and `presets` end to end, against the stand-ins of ROCm's programs.

use crate::common;
use crate::lab;

use std::path::Path;
use std::process::Command;

use common::rocm_perf;
use lab::{Lab, failed, run_json, succeeded, traces};
use rusqlite::Connection;
use stand_in_rocm::StandIns;

/// Architectures with tables of counters.
const ARCHS: [&str; 5] = ["gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100"];

/// Counters of a database as (kernel, grid, index among equal launches, counter, value).
fn counters(database: &Path) -> Vec<(String, i64, i64, String, f64)> {
    let connection = Connection::open(database).expect("a database");
    let sql = "select k.name, k.grid_x, row_number() over (partition by k.name, k.grid_x, c.counter_name order by k.dispatch_id),
                      c.counter_name, c.counter_value
               from (select dispatch_id, counter_name, sum(value) as counter_value from counters_collection
                     group by dispatch_id, counter_name) c
               join kernels k on k.dispatch_id = c.dispatch_id";
    let mut statement = connection.prepare(sql).expect("SQL");
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))
        .expect("rows");
    let mut rows: Vec<_> = rows.map(|row| row.expect("a row")).collect();
    rows.sort_by(|a: &(String, i64, i64, String, f64), b| a.partial_cmp(b).expect("no NaN"));
    rows
}

#[test]
fn every_preset_runs_on_every_architecture() {
    let Some(lab) = Lab::get() else { return };
    let presets = collect::presets::builtin();
    assert_eq!(presets.len(), 14);
    for arch in ARCHS {
        for preset in presets {
            let folder = tempfile::tempdir().unwrap();
            let out = folder.path().join("run");
            let env = [("STAND_IN_ARCH", arch)];
            let options = ["--preset", preset.name.as_str(), "--arch", arch];
            let output = lab.collect(&env, &out, &options, &[&lab.app("vector_add"), "2"]);
            if preset.name == "pc-sampling" && ["gfx908", "gfx1100"].contains(&arch) {
                assert!(failed(&output, 2).contains("PC sampling"));
                assert!(!out.exists(), "nothing is begun that cannot be done");
                continue;
            }
            if preset.name == "panels" && arch == "gfx1100" {
                assert!(failed(&output, 2).contains("there are no panels for `gfx1100`"));
                continue;
            }
            let report = succeeded(&output);
            let run = run_json(&out);
            assert_eq!(run["status"], "done", "{} on {arch}: {}", preset.name, run["notes"]);
            assert_eq!(run["observed_arch"], arch);
            let passes = run["passes"].as_array().unwrap();
            let few = ["gfx942", "gfx950"].contains(&arch) && preset.name != "panels";
            assert!(!few || passes.len() <= 2, "{} on {arch}: {} passes", preset.name, passes.len());
            for pass in passes {
                assert_eq!(pass["exit_code"], 0);
                assert!(pass["kernels"].as_u64().unwrap() > 0, "{} on {arch}", preset.name);
            }
            assert!(!report["tables"]["kernels"].as_array().unwrap().is_empty());
            let wanted: Vec<&str> = passes
                .iter()
                .flat_map(|pass| pass["counters"].as_array().unwrap())
                .map(|name| name.as_str().unwrap())
                .collect();
            if !wanted.is_empty() {
                let recorded: Vec<String> =
                    traces(&out).iter().flat_map(|path| counters(path)).map(|row| row.3).collect();
                for name in wanted {
                    assert!(
                        recorded.iter().any(|known| known == name),
                        "{} on {arch}: no {name}",
                        preset.name
                    );
                }
            }
        }
    }
}

#[test]
fn merged_passes_hold_what_each_pass_holds() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    succeeded(&lab.collect(
        &[],
        &out,
        &["--preset", "compute", "--arch", "gfx942"],
        &[&lab.app("vector_add"), "4"],
    ));
    let merged = out.join("merged_results.db");
    assert_eq!(traces(&out), std::slice::from_ref(&merged));
    let passes: Vec<Vec<_>> = ["pass_1", "pass_2"]
        .iter()
        .map(|pass| counters(&common::files(&out.join(pass), "_results.db")[0]))
        .collect();
    let anchors = ["SQ_WAVES", "GRBM_GUI_ACTIVE"];
    let mut expected = passes[0].clone();
    expected.extend(passes[1].iter().filter(|row| !anchors.contains(&row.3.as_str())).cloned());
    expected.sort_by(|a, b| a.partial_cmp(b).unwrap());
    expected.dedup();
    assert_eq!(counters(&merged), expected);
    let run = run_json(&out);
    assert_eq!(run["agreement"][0]["matched"], run["agreement"][0]["dispatches"]);
    assert!(run["agreement"][0]["waves_checked"].as_u64().unwrap() > 0);
    // Other commands see the folder as one run: its passes are not repeats.
    let info = common::json("info", &[&out], &[]);
    assert_eq!(info["inputs"].as_array().unwrap().len(), 1);
}

#[test]
fn passes_that_differ_are_told_and_keep_what_agrees() {
    let Some(lab) = Lab::get() else { return };
    for fault in ["drop_dispatch", "extra_dispatch"] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("run");
        let options = ["--preset", "compute", "--arch", "gfx942"];
        succeeded(&lab.collect(&[("STAND_IN_FAULT", fault)], &out, &options, &[&lab.app("vector_add")]));
        assert!(out.join("merged_results.db").is_file(), "{fault}");
    }
}

#[test]
fn run_json_tells_how_the_run_was_made() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let env = [
        ("HSA_ENABLE_SDMA", "0"),
        ("VLLM_API_KEY", "very-secret"),
        ("HIP_VISIBLE_DEVICES", "0,1"),
        ("ROCM_PERF_IMAGE", "rocm/pytorch:7.0"),
    ];
    let app = lab.app("vector_add");
    let output = lab.collect(
        &env,
        &out,
        &["--preset", "full", "--arch", "gfx942"],
        &[&app, "2", "--api-key", "not-for-a-log"],
    );
    succeeded(&output);
    let text = std::fs::read_to_string(out.join("run.json")).unwrap();
    assert!(!text.contains("very-secret") && !text.contains("not-for-a-log"), "{text}");
    let run = run_json(&out);
    assert_eq!(run["environment"]["HSA_ENABLE_SDMA"], "0");
    assert_eq!(run["environment"]["VLLM_API_KEY"], "[redacted]");
    assert_eq!(run["environment"]["NCCL_DEBUG"], "INFO", "variables of the preset are the application's");
    assert_eq!(run["base_image"], "rocm/pytorch:7.0");
    assert_eq!(run["gpu_device_ids"], serde_json::json!([0, 1]));
    assert_eq!(run["command"][3], "[redacted]");
    assert_eq!(run["profiler"]["name"], "rocprofv3");
    assert_eq!(run["rocm_version"], "7.0");
    for file in run["files"].as_array().unwrap() {
        let path = out.join(file["path"].as_str().unwrap());
        let sum = Command::new("sha256sum").arg(&path).output().unwrap();
        let sum = String::from_utf8_lossy(&sum.stdout);
        assert!(sum.contains(file["sha256"].as_str().unwrap()), "{}", path.display());
    }
    assert!(run["files"].as_array().unwrap().len() >= 3);
}

#[test]
fn every_release_of_the_profiler_gets_its_own_words() {
    let Some(lab) = Lab::get() else { return };
    for version in ["6.2", "6.3", "6.4", "7.0", "7.1", "7.2", "7.13", "10.0"] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("run");
        let options = ["--preset", "memory", "--arch", "gfx942"];
        let env = [("STAND_IN_ROCM_VERSION", version)];
        succeeded(&lab.collect(&env, &out, &options, &[&lab.app("vector_add"), "2"]));
        let run = run_json(&out);
        let command = run["passes"][0]["command"].to_string();
        assert_eq!(run["status"], "done", "{version}");
        assert_eq!(command.contains("\"rocpd\""), !version.starts_with('6'), "{version}: {command}");
        // Without `--version` the options show the release; if they do not, the oldest spelling is safe.
        let older = ["6.2", "6.3", "6.4"].contains(&version);
        assert!(older || !command.contains("counters.txt"), "{version}: {command}");
        assert!(version != "6.2" || command.contains("counters.txt"), "{version}: {command}");
    }
}

#[test]
fn the_legacy_profiler_serves_where_there_is_no_other() {
    let Some(lab) = Lab::get() else { return };
    let legacy = StandIns::only(&["rocprof"]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let output = rocm_perf()
        .env("PATH", legacy.path())
        .args(["collect", "-q", "--preset", "compute", "--arch", "gfx90a", "--out"])
        .arg(&out)
        .args(["--", &lab.app("vector_add"), "2"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let run = run_json(&out);
    assert_eq!(run["profiler"]["name"], "rocprof");
    assert!(run["passes"][0]["kernels"].as_u64().unwrap() > 0);
    assert!(run["passes"].as_array().unwrap().len() > 1, "counters of several passes");
    let shown = rocm_perf().args(["summary", "--json"]).arg(&out).output().unwrap();
    let shown = succeeded(&shown);
    let kernels = shown["tables"]["kernels"].as_array().expect("kernels");
    let calls: u64 = kernels.iter().filter_map(|row| row["calls"].as_u64()).sum();
    assert_eq!(Some(calls), run["passes"][0]["kernels"].as_u64(), "passes are one run, not several");
    let command: Vec<&str> =
        run["passes"][0]["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert!(!command.contains(&"--"), "{command:?}");
}

#[test]
fn words_of_the_application_are_left_alone() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let app = lab.app("vector_add");
    let script = format!("printf '<%s>' \"$@\"; exec {app} 1");
    let output = lab
        .rocm_perf()
        .args(["collect", "--out"])
        .arg(&out)
        .args(["--", "sh", "-c", &script, "x", "--", "--kernel-trace", "a b"])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("<--><--kernel-trace><a b>"), "{errors}");
    let log = std::fs::read_to_string(out.join("output.log")).unwrap();
    assert!(log.contains("<--><--kernel-trace><a b>"), "{log}");
}

#[test]
fn samples_of_monitors_are_in_files_and_in_the_trace() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let options = ["--preset", "lightweight", "--monitor", "power,vram"];
    succeeded(&lab.collect(&[], &out, &options, &[&lab.app("vector_add"), "2"]));
    let run = run_json(&out);
    if run["monitor"].is_null() {
        panic!("nothing was watched: {}", run["notes"]);
    }
    for kind in ["power", "vram"] {
        assert!(out.join(format!("gpu_info_{kind}_profiler_output.csv")).is_file(), "{kind}");
    }
    let mut reader = csv::Reader::from_path(out.join("monitor_samples.csv")).unwrap();
    let mut expected: Vec<(i64, f64)> = reader
        .records()
        .map(|row| row.unwrap())
        .filter_map(|row| Some((row[0].parse().ok()?, row[6].parse().ok()?)))
        .collect();
    assert!(expected.len() >= 4, "two GPUs, twice");
    let trace =
        ingest::read(&traces(&out), &trace::Needs::everything(), &ingest::Progress::default()).unwrap();
    let mut found: Vec<(i64, f64)> =
        trace.samples.start.iter().copied().zip(trace.samples.value.iter().copied()).collect();
    expected.sort_by(|a, b| a.partial_cmp(b).unwrap());
    found.sort_by(|a, b| a.partial_cmp(b).unwrap());
    assert_eq!(found, expected);
}

#[test]
fn rocprof_sys_is_given_a_configuration_and_its_database_is_read() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    common::synth(&folder.path().join("data"), &["--to", "rocpd", "--size", "200kB"]);
    let database = common::files(&folder.path().join("data"), ".db").remove(0);
    let bin = folder.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    // Writes a database where the configuration says, as the real programs do.
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = -- ] || exit 9\nshift\n\"$@\" || exit $?\n\
         out=$(sed -n 's/^ROCPROFSYS_OUTPUT_PATH = //p' \"$ROCPROFSYS_CONFIG_FILE\")\n\
         grep -q 'USE_ROCPD = ON' \"$ROCPROFSYS_CONFIG_FILE\" || exit 8\ncp {} \"$out/rocpd-$$.db\"\n",
        database.display()
    );
    let rewriter = "#!/bin/sh\n[ \"$1\" = -o ] && [ \"$3\" = -- ] && cp \"$4\" \"$2\"\n";
    for (name, text) in [
        ("rocprof-sys-sample", script.as_str()),
        ("rocprof-sys-run", &script),
        ("rocprof-sys-instrument", rewriter),
    ] {
        std::fs::write(bin.join(name), text).unwrap();
        std::fs::set_permissions(bin.join(name), std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
    }
    let path = std::env::join_paths(
        std::iter::once(bin.clone()).chain(std::env::split_paths(&lab.stand_ins.path())),
    )
    .unwrap();
    for mode in ["sample", "instrument", "run"] {
        let out = folder.path().join(mode);
        let output = lab
            .rocm_perf()
            .env("PATH", &path)
            .args(["collect", "-q", "--format", "json", "--tool", "rocprof-sys", "--mode", mode, "--out"])
            .arg(&out)
            .args(["--", &lab.app("vector_add"), "1"])
            .output()
            .unwrap();
        succeeded(&output);
        let run = run_json(&out);
        assert_eq!(run["profiler"]["name"], "rocprof-sys");
        assert!(run["passes"][0]["kernels"].as_u64().unwrap() > 0, "{mode}");
        let config = std::fs::read_to_string(out.join("rocprof-sys.cfg")).unwrap();
        let sampled = config.contains("ROCPROFSYS_USE_SAMPLING = ON");
        assert_eq!(sampled, mode == "sample");
        assert_eq!(out.join("application.inst").is_file(), mode == "instrument");
    }
    let missing = lab.collect(&[], &folder.path().join("x"), &["--tool", "rocprof-sys"], &["true"]);
    assert!(failed(&missing, 3).contains("`rocprof-sys-sample`"));
}

#[test]
fn a_preset_is_shown_whole() {
    let Some(lab) = Lab::get() else { return };
    let show = |preset: &str, arch: &str| {
        let mut command = lab.rocm_perf();
        command.env("COLUMNS", "80").args(["presets", "show", preset, "--arch", arch, "--rocm", "7.0"]);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    insta::assert_snapshot!("memory_on_gfx942", show("memory", "gfx942"));
    insta::assert_snapshot!("compute_on_gfx1100", show("compute", "gfx1100"));
    let list = lab.rocm_perf().env("COLUMNS", "80").args(["presets", "list"]).output().unwrap();
    insta::assert_snapshot!("all_presets", String::from_utf8(list.stdout).unwrap());
}

#[test]
fn a_copied_preset_runs_and_is_never_overwritten() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let copy = || {
        let mut command = lab.rocm_perf();
        command.current_dir(folder.path()).args(["presets", "copy", "memory", "mine.toml"]).output().unwrap()
    };
    assert!(copy().status.success());
    assert!(failed(&copy(), 2).contains("`mine.toml` already exists"));
    let mine = folder.path().join("mine.toml").display().to_string();
    let out = folder.path().join("run");
    succeeded(&lab.collect(
        &[],
        &out,
        &["--preset", &mine, "--arch", "gfx950"],
        &[&lab.app("vector_add"), "1"],
    ));
    assert_eq!(run_json(&out)["passes"].as_array().unwrap().len(), 2);
}

#[test]
fn a_timing_run_gives_the_times() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let options = ["--preset", "compute", "--arch", "gfx942", "--timing"];
    succeeded(&lab.collect(&[], &out, &options, &[&lab.app("vector_add"), "3"]));
    let starts = |path: &Path| -> Vec<i64> {
        let connection = Connection::open(path).unwrap();
        let mut statement = connection.prepare("select start from kernels order by start").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(|row| row.unwrap()).collect()
    };
    let first = &common::files(&out.join("pass_1"), "_results.db")[0];
    assert_eq!(starts(&out.join("merged_results.db")), starts(first));
    assert!(counters(first).is_empty());
    assert!(!counters(&out.join("merged_results.db")).is_empty());
}

#[test]
fn what_a_panel_needs_is_collected_and_shown() {
    let Some(lab) = Lab::get() else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let env = [("STAND_IN_ARCH", "gfx942")];
    // The second one has a level counter that the profiler must accumulate.
    let options = ["--preset", "panels", "--block", "6.1,7.2", "--arch", "gfx942"];
    succeeded(&lab.collect(&env, &out, &options, &[&lab.app("vector_add"), "2"]));
    let shown =
        lab.rocm_perf().args(["panels", "-b", "6.1,7.2", "--format", "json"]).arg(&out).output().unwrap();
    let report = succeeded(&shown);
    for (panel, least) in [("panel_6.1", 6), ("panel_7.2", 7)] {
        let rows = report["tables"][panel].as_array().expect("the panel");
        let missing: Vec<&str> =
            rows.iter().filter(|row| row["avg"].is_null()).filter_map(|row| row["metric"].as_str()).collect();
        assert!(rows.len() >= least && missing.is_empty(), "{missing:?} of {}: {rows:#?}", rows.len());
    }

    let wrong = lab.collect(&env, &out, &["--preset", "compute", "--block", "2"], &[&lab.app("vector_add")]);
    assert!(failed(&wrong, 2).contains("the block `2` belongs to the preset `panels`"));
}
