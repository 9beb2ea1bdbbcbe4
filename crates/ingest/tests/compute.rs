//! Workload folders: passes joined as the vendor joins them, and both forms of counters alike.

use std::path::{Path, PathBuf};

use rocm_perf_ingest::{Progress, read};
use trace::{Needs, Trace};

fn data() -> Option<PathBuf> {
    testing::data("rocprof_compute")
}

fn columns(folder: &Path) -> Trace {
    let needs = Needs { counter_columns: true, counters: true, ..Needs::nothing() };
    read(&[folder.to_path_buf()], &needs, &Progress::default()).unwrap()
}

/// Values of a counter of the joined table.
fn values<'t>(trace: &'t Trace, counter: &str) -> Option<&'t [f64]> {
    let is_it = |column: &&trace::CounterColumn| {
        trace.strings.get(column.counter) == counter && trace.strings.get(column.pass).is_empty()
    };
    trace.counter_columns.columns.iter().find(is_it).map(|column| column.values.as_slice())
}

#[test]
fn passes_joined_by_us_are_those_joined_by_the_vendor() {
    let Some(data) = data() else { return };
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(data.join("vcopy_MI350")).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap() != "pmc_perf.csv" {
            std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    let (theirs, ours) = (columns(&data.join("vcopy_MI350")), columns(folder.path()));
    assert_eq!(theirs.kernels.len(), ours.kernels.len());
    let mut compared = 0;
    for column in &theirs.counter_columns.columns {
        let name = theirs.strings.get(column.counter);
        if theirs.strings.get(column.pass).is_empty() {
            assert_eq!(values(&ours, name), Some(column.values.as_slice()), "{name}");
            compared += 1;
        }
    }
    assert!(compared > 500, "{compared} counters");
    for (a, b) in theirs.counter_columns.duration.iter().zip(&ours.counter_columns.duration) {
        assert!((a - b).abs() <= 1.0, "{a} {b}: the vendor's mean is of doubles");
    }
}

#[test]
fn rows_and_columns_hold_the_same_counters() {
    let Some(data) = data() else { return };
    for workload in ["vcopy_MI200", "vcopy_MI300X_A1_rocpd"] {
        let folder = data.join(workload);
        let wide = columns(&folder);
        let needs = Needs { counters: true, ..Needs::nothing() };
        let rows = read(&[folder], &needs, &Progress::default()).unwrap();
        assert!(rows.counter_columns.columns.is_empty());
        let mut compared = 0;
        for row in rows.counters.rows() {
            let name = rows.strings.get(rows.counter_kinds[row.counter.get().unwrap()].name);
            if let Some(values) = values(&wide, name) {
                let kernel = row.kernel.row_of(trace::Table::Kernels).unwrap();
                assert_eq!(values[kernel], row.value, "{workload} {name}");
                compared += 1;
            }
        }
        assert!(compared > 2000, "{workload}: {compared}");
    }
}

#[test]
fn the_machine_and_its_peaks_are_known() {
    let Some(data) = data() else { return };
    let trace = columns(&data.join("vcopy_MI200"));
    let fact = |key: &str| {
        let found = trace.metadata.iter().find(|m| trace.strings.get(m.key) == key);
        found.map(|m| trace.strings.get(m.value))
    };
    assert_eq!(fact("sysinfo.cu_per_gpu"), Some("104"));
    assert_eq!(fact("roofline.0.HBMBw"), Some("1388.9302"));
    assert_eq!(fact("roofline.3.MFMABF16Flops"), Some("171040.98"));
    assert_eq!(trace.strings.get(trace.agents[0].name), "gfx90a");
    assert_eq!(trace.agents[0].absolute_index.get(), Some(2));
}

#[test]
fn results_of_the_legacy_profiler_are_kernels_with_counters() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.csv");
    let table = "\"Index\",\"KernelName\",\"gpu-id\",\"queue-id\",\"queue-index\",\"pid\",\"tid\",\"grd\",\"wgr\",\"lds\",\"scr\",\"arch_vgpr\",\"accum_vgpr\",\"sgpr\",\"wave_size\",\"sig\",\"obj\",\"SQ_WAVES\",\"DispatchNs\",\"BeginNs\",\"EndNs\",\"CompleteNs\",\"DurationNs\"\n\
        0,\"gemm(float*, int) [clone .kd]\",2,0,0,77,78,4096,256,1024,0,32,0,16,64,0x0,0x7f,64,900,1000,3000,3100,2000\n\
        1,\"copy\",2,0,1,77,78,64,64,0,0,8,0,16,64,0x0,0x7f,1,3900,4000,4500,4600,500\n";
    std::fs::write(&path, table).unwrap();
    let needs = Needs { counters: true, ..Needs::summary() };
    let trace = read(&[path], &needs, &Progress::default()).unwrap();
    assert_eq!(trace.sources[0].format, "rocprof");
    assert_eq!(
        (trace.kernels.start.as_slice(), trace.kernels.end.as_slice()),
        (&[1000, 4000][..], &[3000, 4500][..])
    );
    let counted: Vec<(&str, f64)> = (0..trace.counters.len())
        .map(|i| {
            let kind = trace.counters.counter[i].get().unwrap();
            (trace.strings.get(trace.counter_kinds[kind].name), trace.counters.value[i])
        })
        .collect();
    assert_eq!(counted, [("SQ_WAVES", 64.0), ("SQ_WAVES", 1.0)], "times are no counters");
    assert_eq!(trace.strings.get(trace.kernels.name[0]), "gemm(float*, int)", "as other tools name it");
    assert!(trace.health.checks.iter().all(|check| check.status != trace::Status::Fail), "nothing is wrong");
    let shape = trace.shapes.get(trace.kernels.shape[0]);
    assert_eq!(
        (shape.grid, shape.workgroup, shape.lds_bytes.get()),
        (Some([4096, 1, 1]), Some([256, 1, 1]), Some(1024))
    );
}

#[test]
fn legacy_results_without_times_and_with_the_columns_of_old_releases_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input.csv");
    let table = "Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,vgpr,sgpr,fbar,sig,obj,SQ_WAVES\n\
        0,\"gemm.kd\",0,0,0,77,78,4096,256,1024,0,32,16,0,0x0,0x7f,64\n";
    std::fs::write(&path, table).unwrap();
    let trace = read(&[path], &Needs { counters: true, ..Needs::summary() }, &Progress::default()).unwrap();
    let kinds: Vec<&str> = trace.counter_kinds.iter().map(|kind| trace.strings.get(kind.name)).collect();
    assert_eq!((kinds, trace.strings.get(trace.kernels.name[0])), (vec!["SQ_WAVES"], "gemm"));
    assert_eq!(trace.shapes.get(trace.kernels.shape[0]).vgpr.get(), Some(32));
    assert!(
        trace.health.checks.iter().any(|check| check.id == "durations"),
        "that there are no times is said"
    );
}
