//! Workload folders: passes joined as the vendor joins them, and both forms of counters read alike.

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

/// Writes bytes as a gzip file.
fn packed(path: &Path, text: &str) {
    let mut gz =
        flate2::write::GzEncoder::new(std::fs::File::create(path).unwrap(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gz, text.as_bytes()).unwrap();
    gz.finish().unwrap();
}

#[test]
fn passes_before_analyze_are_read_like_the_table_that_analyze_makes_of_them() {
    let Some(data) = data() else { return };
    let whole = data.join("vcopy_MI300X_A1_rocpd");
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(whole.join("sysinfo.csv"), folder.path().join("sysinfo.csv")).unwrap();
    // A pass is a run: each dispatch has one time per pass, and later passes have later times.
    let mut reader = csv::Reader::from_path(whole.join("pmc_perf.csv")).unwrap();
    let header = reader.headers().unwrap().clone();
    let place = |name: &str| header.iter().position(|known| known == name).unwrap();
    let (dispatch, start) = (place("Dispatch_ID"), place("Start_Timestamp"));
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let mut passes: std::collections::BTreeMap<usize, Vec<&csv::StringRecord>> = Default::default();
    let mut times: std::collections::HashMap<&str, Vec<&str>> = Default::default();
    for row in &rows {
        let known = times.entry(&row[dispatch]).or_default();
        let pass = known.iter().position(|time| *time == &row[start]).unwrap_or_else(|| {
            known.push(&row[start]);
            known.len() - 1
        });
        passes.entry(pass).or_default().push(row);
    }
    assert!(passes.len() > 5, "{} passes", passes.len());
    for (pass, rows) in &passes {
        let mut table = csv::Writer::from_writer(Vec::new());
        table.write_record(&header).unwrap();
        rows.iter().for_each(|row| table.write_record(*row).unwrap());
        let text = String::from_utf8(table.into_inner().unwrap()).unwrap();
        let path = folder.path().join(format!("results_pmc_perf_{pass}.csv"));
        // Later releases compress their tables.
        if pass % 2 == 0 {
            std::fs::write(path, text).unwrap();
        } else {
            packed(&path.with_extension("csv.gz"), &text);
        }
    }
    // Files next to the passes belong to them, and are not a second recording.
    std::fs::write(
        folder.path().join("4711_ps_file_results.json"),
        r#"{"rocprofiler-sdk-tool": [{"metadata": {"pid": 4711}, "buffer_records": {}}]}"#,
    )
    .unwrap();
    let (theirs, ours) = (columns(&whole), columns(folder.path()));
    assert_eq!((theirs.kernels.len(), ours.kernels.len(), ours.sources.len()), (3, 3, 1));
    assert_eq!(theirs.counter_columns.columns.len(), ours.counter_columns.columns.len());
    for column in &theirs.counter_columns.columns {
        let name = theirs.strings.get(column.counter);
        assert_eq!(values(&ours, name), Some(column.values.as_slice()), "{name}");
    }
    assert_eq!(theirs.counter_columns.duration, ours.counter_columns.duration);
}

const RESULTS: &str = "GPU_ID,GUID,Correlation_Id,Dispatch_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,Kernel_Name,Start_Timestamp,End_Timestamp,Kernel_ID,Counter_Name,Counter_Value\n";

#[test]
fn counter_groups_that_take_turns_are_put_together() {
    let folder = tempfile::tempdir().unwrap();
    let mut table = RESULTS.to_string();
    // Seven launches of `f` and one of `g`; A and B alternate, and launch 6 begins an incomplete round.
    for launch in 0..7 {
        let counter = ["A", "B"][launch % 2];
        let start = 1000 * launch;
        let end = start + 100;
        table += &format!("4,guid,{launch},{launch},64,64,0,0,8,0,16,f,{start},{end},0,{counter},{launch}\n");
    }
    table += "4,guid,9,9,64,64,0,0,8,0,16,g,9000,9100,1,A,9\n";
    packed(&folder.path().join("results_pmc_perf.csv.gz"), &table);
    let config = |policy: &str| {
        let text = format!("format_rocprof_output: rocpd\niteration_multiplexing: {policy}\n");
        std::fs::write(folder.path().join("profiling_config.yaml"), text).unwrap();
    };
    config("kernel_launch_params");
    let trace = columns(folder.path());
    let finite = |name| -> Vec<f64> {
        values(&trace, name).unwrap().iter().copied().filter(|v| !v.is_nan()).collect()
    };
    assert_eq!(finite("A"), [0.0, 0.0, 2.0, 2.0, 4.0, 4.0, 6.0, 9.0]);
    assert_eq!(finite("B"), [1.0, 1.0, 3.0, 3.0, 5.0, 5.0, 5.0], "the cut round takes the value before it");
    let check = trace.health.checks.iter().find(|check| check.id == "multiplexed").expect("said");
    assert_eq!((check.status, check.value), (trace::Status::Warn, Some(1.0)), "one launch of `g` is too few");
    // Unless the profiler recorded multiplexing, nothing is filled in.
    config("null");
    let trace = columns(folder.path());
    assert_eq!(values(&trace, "B").unwrap().iter().filter(|value| value.is_nan()).count(), 5);
}

#[test]
fn operators_of_torch_and_triton_own_the_launches_below_them() {
    let folder = tempfile::tempdir().unwrap();
    let rows = "4,one,11,0,64,64,0,0,8,0,16,addmm_kernel,5000,5100,0,SQ_WAVES,1\n\
        4,one,11,1,64,64,0,0,8,0,16,addmm_kernel,5200,5300,0,SQ_WAVES,2\n\
        4,two,11,2,64,64,0,0,8,0,16,relu_kernel,6000,6100,1,SQ_WAVES,3\n\
        4,one,99,3,64,64,0,0,8,0,16,lost_kernel,7000,7100,2,SQ_WAVES,4\n";
    let markers = "Domain,Function,Process_Id,Thread_Id,Correlation_Id,GUID,Start_Timestamp,End_Timestamp\n\
        MARKER_CORE_API,training_loop:net.py:9,77,78,10,one,1000,4000\n\
        MARKER_CORE_API,\"aten::addmm:net.py:36|torch|seqNr=3|tid=1|args=[2, 3]\",77,78,11,one,1100,1300\n\
        MARKER_CORE_API,triton.JITFunction:net.py:40|triton,88,89,11,two,1500,1600\n";
    std::fs::write(folder.path().join("results_pmc_perf_0.csv"), format!("{RESULTS}{rows}")).unwrap();
    packed(
        &folder.path().join("ml_api_trace_pmc_perf_0_counter_collection.csv.gz"),
        &format!("{RESULTS}{rows}"),
    );
    packed(&folder.path().join("ml_api_trace_pmc_perf_0_marker_api_trace.csv.gz"), markers);
    let trace = read(&[folder.path().to_path_buf()], &Needs::everything(), &Progress::default()).unwrap();
    assert_eq!((trace.sources.len(), trace.regions.len(), trace.kernels.len()), (1, 3, 4));
    let operator = |kernel: usize| {
        let launch = trace.links.launch_of(trace::RowRef::kernel(kernel))?;
        Some((
            trace.strings.get(trace.regions.name[launch]),
            trace.strings.get(trace.regions.category[launch]),
        ))
    };
    assert_eq!(operator(0), Some(("aten::addmm", "cpu_op")));
    assert_eq!(operator(1), Some(("aten::addmm", "cpu_op")));
    assert_eq!(operator(2), Some(("triton.JITFunction", "cpu_op")), "ids of two recordings are told apart");
    assert_eq!(operator(3), None);
}
