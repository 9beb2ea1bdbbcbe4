//! Library calls: logs in, counted calls out, joined to kernels if possible.

use rocm_perf_collect::library_calls::{How, Library, LibraryCalls, environment, report};
use trace::{Kernel, Process, Region, Source, Trace};

/// A trace with kernels (name, start), each launched ten nanoseconds before.
fn trace(kernels: &[(&str, i64)]) -> Trace {
    let mut trace = Trace::default();
    let source = trace.add_source(Source::named("run", "rocpd"));
    let guid = trace.strings.intern("guid");
    let process = trace.add_process(Process { guid, ..Process::new(source, 1) });
    let category = trace.strings.intern("HIP_RUNTIME_API_EXT");
    for (n, (name, start)) in kernels.iter().enumerate() {
        let (name, correlation) = (trace.strings.intern(name), n as i64 + 1);
        trace.kernels.push(Kernel {
            name,
            start: *start,
            end: start + 5,
            process,
            correlation,
            ..Kernel::default()
        });
        let launch =
            Region { category, start: start - 10, end: start - 9, process, correlation, ..Region::default() };
        trace.regions.push(launch);
    }
    trace.finish();
    trace
}

#[test]
fn logs_are_counted_and_written_as_the_seed_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let line = "./rocblas-bench -f gemm -m 64 --alpha 1,0";
    std::fs::write(
        folder.path().join("rocblas_calls.log"),
        format!("{line}\n{line}\nnoise\n./rocblas-bench -f axpy\n"),
    )
    .unwrap();
    std::fs::write(folder.path().join("hipblaslt_calls_77.log"), "hipblaslt-bench -m 8\n").unwrap();
    std::fs::write(folder.path().join("other.log"), format!("{line}\n")).unwrap();
    let calls = LibraryCalls::read_folder(folder.path());
    assert_eq!(calls.calls.len(), 4);
    assert!(calls.calls.iter().any(|call| call.library == Library::Hipblaslt && call.pid == Some(77)));
    let path = folder.path().join("library_trace.csv");
    calls.write(&path, "42", "2025-06-16 10:00:00", "train.py").unwrap();
    let expected = "jobid,created_date,model,library,config,calls\n\
        42,2025-06-16 10:00:00,train.py,rocblas,\"-f gemm -m 64 --alpha 1,0\",2\n\
        42,2025-06-16 10:00:00,train.py,rocblas,-f axpy,1\n\
        42,2025-06-16 10:00:00,train.py,hipblaslt,-m 8,1\n";
    assert_eq!(std::fs::read_to_string(path).unwrap(), expected);
    let variables = environment(&["rocblas", "miopen"], folder.path());
    assert!(variables.contains(&("MIOPEN_ENABLE_LOGGING_CMD".into(), "1".into())));
    assert!(variables.iter().all(|(name, _)| !name.starts_with("HIPBLASLT")));
}

#[test]
fn lines_seen_coming_are_joined_by_time() {
    let mut calls = LibraryCalls::default();
    calls.take_line("MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver conv -n 1", 100);
    calls.take_line("MIOpen(HIP): Command [LogCmdBNorm] ./bin/MIOpenDriver bnorm -n 1", 200);
    calls.take_line("MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver conv -n 2", 300);
    let trace =
        trace(&[("igemm_fwd", 120), ("elementwise", 130), ("naive_conv", 150), ("MIOpenBatchNormFwd", 260)]);
    let joined: Vec<(usize, Vec<u32>, How)> =
        calls.join(&trace).into_iter().map(|join| (join.call, join.kernels, join.how)).collect();
    assert_eq!(joined, [(0, vec![0, 2], How::Time), (1, vec![3], How::Time)]);
    let report = report(&calls, &trace);
    let row = |config: &str| {
        let found = report.tables[0].rows.iter().find(|row| row[1] == report::Value::from(config));
        found.unwrap().clone()
    };
    assert_eq!(row("conv -n 1")[4], report::Value::Int(10));
    assert!(matches!(row("conv -n 2")[4], report::Value::Absent(_)));
}

#[test]
fn lines_of_a_file_are_joined_by_order_only_when_the_counts_agree() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("rocblas_calls.log"), "./rocblas-bench -m 1\n./rocblas-bench -m 2\n")
        .unwrap();
    let calls = LibraryCalls::read_folder(folder.path());
    let two = trace(&[("Cijk_A", 50), ("elementwise", 60), ("Cijk_B", 70)]);
    let joined: Vec<(usize, Vec<u32>)> = calls.join(&two).into_iter().map(|j| (j.call, j.kernels)).collect();
    assert_eq!(joined, [(0, vec![0]), (1, vec![2])]);
    let three = trace(&[("Cijk_A", 50), ("Cijk_A", 60), ("Cijk_B", 70)]);
    assert!(calls.join(&three).is_empty());
}

#[test]
fn calls_of_a_real_program_find_the_kernels_they_launched() {
    if !stand_in_rocm::can_compile() {
        testing::skip("no C++ compiler");
        return;
    }
    let (stand_ins, folder) = (stand_in_rocm::StandIns::install().unwrap(), tempfile::tempdir().unwrap());
    let program = stand_ins.example("gemm", folder.path()).unwrap();
    let mut command = stand_ins.command(stand_ins.program("rocprofv3"));
    command
        .args(["--kernel-trace", "--hip-trace", "-o", "run", "-d"])
        .arg(folder.path())
        .arg("--")
        .arg(program);
    let output = command.envs(environment(&["rocblas"], folder.path())).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let calls = LibraryCalls::read_folder(folder.path());
    let database = folder.path().join("run_results.db");
    let trace = ingest::read(&[database], &trace::Needs::everything(), &Default::default()).unwrap();
    let joined = calls.join(&trace);
    assert_eq!(joined.len(), 4);
    for join in &joined {
        let [row] = join.kernels[..] else { panic!("{join:?}") };
        assert!(trace.strings.get(trace.kernels.name[row as usize]).starts_with("Cijk_"));
    }
    let table = &report(&calls, &trace).tables[0];
    let mut counts: Vec<Option<f64>> = table.rows.iter().map(|row| row[2].number()).collect();
    counts.sort_by(|a, b| a.partial_cmp(b).unwrap());
    assert_eq!(counts, [Some(1.0), Some(3.0)]);
}
