//! Metrics of omnistat: the three forms give the same samples, assigned to the run that they were taken in.

use std::path::{Path, PathBuf};

use rocm_perf_ingest::{Error, Format, Progress, detect, read};
use trace::{Needs, Status, Trace};

/// 14 November 2023, 22:13:20.
const START_S: i64 = 1_700_000_000;

const TEXT: &str = "# HELP rocm_sclk_clock_mhz current sclk clock speed (Mhz)\n# TYPE rocm_sclk_clock_mhz gauge\n\
    rocm_sclk_clock_mhz{card=\"1\",instance=\"node1:8001\"} 2100.0 1700000000000\n\
    rocm_sclk_clock_mhz{card=\"1\",instance=\"node1:8001\"} 1900 1700000001500\n\
    omnistat_fom{name=\"a \\\"b\\\", c\"} 3.5 1700000001000\n\
    rocm_sclk_clock_mhz{card=\"1\",instance=\"node1:8001\"} NaN 1700000002000\n\
    nonsense here\n";

const RANGE: &str = r#"{"status": "success", "data": {"resultType": "matrix", "result": [
    {"metric": {"__name__": "rocm_sclk_clock_mhz", "card": "1", "instance": "node1:8001"},
     "values": [[1700000000, "2100"], [1700000001.5, "1900"]]},
    {"metric": {"__name__": "omnistat_fom", "name": "a \"b\", c"}, "values": [[1700000001, "3.5"]]}]}}"#;

const EXPORT: &str = r#"{"metric":{"__name__":"rocm_sclk_clock_mhz","card":"1","instance":"node1:8001"},"values":[2100,1900],"timestamps":[1700000000000,1700000001500]}
{"metric":{"__name__":"omnistat_fom","name":"a \"b\", c"},"values":[3.5],"timestamps":[1700000001000]}
"#;

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn of(paths: &[PathBuf]) -> Trace {
    read(paths, &Needs::everything(), &Progress::default()).unwrap()
}

/// Time since the start, name, value, unit and labels.
fn samples(trace: &Trace) -> Vec<(i64, &str, f64, &str, &str)> {
    let text = |id| trace.strings.get(id);
    let mut samples: Vec<_> = trace
        .samples
        .rows()
        .map(|s| (s.start - START_S * 1_000_000_000, text(s.name), s.value, text(s.unit), text(s.location)))
        .collect();
    samples.sort_by_key(|sample| sample.0);
    samples
}

#[test]
fn all_forms_give_the_same_samples() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ("rocm_sclk_clock_mhz", "MHz", "card=1,instance=node1:8001");
    let expected = [
        (0, clock.0, 2100.0, clock.1, clock.2),
        (1_000_000_000, "omnistat_fom", 3.5, "", "name=a \"b\", c"),
        (1_500_000_000, clock.0, 1900.0, clock.1, clock.2),
    ];
    for (name, text, lost) in
        [("dump.txt", TEXT, Some(2.0)), ("range.json", RANGE, None), ("export.jsonl", EXPORT, None)]
    {
        let path = write(folder.path(), name, text);
        assert_eq!(detect(&path).unwrap(), Format::Prometheus, "{name}");
        let trace = of(&[path]);
        assert_eq!(samples(&trace), expected, "{name}");
        let check = trace.health.checks.iter().find(|check| check.id == "lost_rows");
        assert_eq!(check.and_then(|check| check.value), lost, "{name}");
    }
}

fn torch(start_us: i64) -> String {
    format!(
        r#"{{"deviceProperties": [{{"id": 0, "name": "AMD Instinct MI300X"}}, {{"id": 1, "name": "AMD Instinct MI300X"}}], "traceEvents": [
        {{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 1, "tid": 7, "ts": {start_us}, "dur": 2000000, "args": {{"device": 1, "stream": 7, "correlation": 5}}}}]}}"#
    )
}

#[test]
fn samples_within_a_run_belong_to_it_and_others_do_not_stretch_it() {
    let folder = tempfile::tempdir().unwrap();
    let metrics = write(folder.path(), "dump.txt", TEXT);
    let run = write(folder.path(), "run.json", &torch(START_S * 1_000_000 + 900_000));
    let trace = of(&[run, metrics.clone()]);
    let kept: Vec<f64> = trace.samples.rows().map(|sample| sample.value).collect();
    assert_eq!(kept, [3.5, 1900.0], "the first value is before the run");
    let clock = trace.samples.rows().find(|sample| sample.value == 1900.0).unwrap();
    let gpu = &trace.agents[clock.agent.get().expect("a GPU")];
    assert_eq!(gpu.type_index.get().or(gpu.absolute_index.get()), Some(1), "the card is the GPU");
    let (first, last) = trace.span().unwrap();
    assert_eq!(last - first, 2_000_000_000);
    assert_eq!(trace.sources[1].role.as_deref(), Some("monitor"), "it is no rank");
    let check = trace.health.checks.iter().find(|check| check.id == "monitoring").unwrap();
    assert_eq!((check.status, check.value), (Status::Pass, Some(2.0)));
    // Times since boot cannot be compared with times of day.
    let boot = write(folder.path(), "boot.json", &torch(5_000_000));
    let trace = of(&[boot, metrics]);
    assert!(trace.samples.is_empty());
    let check = trace.health.checks.iter().find(|check| check.id == "monitoring").unwrap();
    assert_eq!(check.status, Status::Warn);
}

#[test]
fn values_without_times_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(
        folder.path(),
        "scrape.txt",
        "# TYPE rocm_sclk_clock_mhz gauge\nrocm_sclk_clock_mhz{card=\"0\"} 2100\n",
    );
    let error = read(&[path], &Needs::everything(), &Progress::default()).unwrap_err();
    assert!(matches!(&error, Error::Damaged { why, .. } if why.contains("no times")), "{error}");
}
