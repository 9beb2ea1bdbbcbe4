//! Monitors on sysfs: true units, files that agree with the samples, samples in the right place of a trace.

use std::collections::BTreeMap;
use std::time::Duration;

use rocm_perf_collect::monitor::{METRICS, Moment, Monitor, MonitorError, Recorded};
use trace::{Agent, AgentKind, Needs, OptI64, Process, Source, Trace};

use super::fixture::Fixture;

fn record(fixture: &Fixture, kinds: &[&str]) -> Recorded {
    let monitor =
        Monitor::start_below(fixture.root(), kinds, Duration::from_millis(4), &fixture.out()).unwrap();
    std::thread::sleep(Duration::from_millis(30));
    monitor.stop()
}

const ALL: [&str; 5] = ["power", "vram", "clocks", "temperature", "utilisation"];

#[test]
fn values_have_the_units_they_say() {
    let fixture = Fixture::healthy();
    let recorded = record(&fixture, &ALL);
    assert!(recorded.readings >= 2 && recorded.gpus == 2 && recorded.source == "sysfs", "{recorded:?}");
    let first: BTreeMap<&str, f64> =
        recorded.samples.iter().filter(|s| s.gpu == 1).map(|s| (s.metric.name, s.value)).collect();
    let expected = [
        ("GPU power", 140.5),
        ("VRAM used", 308_281_344.0),
        ("VRAM total", 206_141_652_992.0),
        ("VRAM used share", 100.0 * 308_281_344.0 / 206_141_652_992.0),
        ("GPU clock", 1200.0),
        ("Memory clock", 1300.0),
        ("Hotspot temperature", 38.0),
        ("Memory temperature", 41.0),
        ("GPU busy", 0.0),
        ("Memory busy", 3.0),
    ];
    assert_eq!(first, expected.into_iter().collect());
    // This GPU has no edge sensor: counted, not made up.
    assert_eq!(recorded.absent, 2 * recorded.readings);
}

#[test]
fn files_and_samples_agree() {
    let fixture = Fixture::healthy();
    let recorded = record(&fixture, &ALL);
    let read = |name: &str| std::fs::read_to_string(fixture.out().join(name)).unwrap();
    let power = read("gpu_info_power_profiler_output.csv");
    let mut lines = power.lines();
    assert_eq!(lines.next(), Some("time,Power(Watt) GPU0,Power(Watt) GPU1"));
    assert_eq!(lines.clone().count() as u64, recorded.readings);
    assert!(lines.all(|line| line.ends_with(",140.500,140.500")
        && line.len() == "2025-06-16 14:24:55.973751,140.500,140.500".len()));
    assert!(read("gpu_info_vram_profiler_output.csv").starts_with("time,vram(%) GPU0,vram(%) GPU1\n"));
    assert!(read("gpu_info_temperature_profiler_output.csv").contains(",N/A,38,41,"));
    let all = read("monitor_samples.csv");
    let rows = all.lines().skip(1).map(|line| line.split(',').collect::<Vec<&str>>());
    let rows: Vec<Vec<&str>> = rows.filter(|cells| cells[6] != "N/A").collect();
    assert_eq!(rows.len(), recorded.samples.len());
    for (cells, sample) in rows.iter().zip(&recorded.samples) {
        assert_eq!(cells[0].parse::<i64>().unwrap(), sample.moment.boot_ns);
        assert_eq!((cells[5], cells[7]), (sample.metric.name, sample.metric.unit));
        assert!((cells[6].parse::<f64>().unwrap() - sample.value).abs() < 0.001);
    }
}

#[test]
fn samples_land_on_the_clock_of_the_trace_and_survive_rocpd() {
    let fixture = Fixture::healthy();
    let before = Moment::now();
    let recorded = record(&fixture, &["power", "utilisation"]);
    let after = Moment::now();
    let of = |format: &str| {
        let mut trace = Trace::default();
        let source = trace.add_source(Source::named("run", format));
        let process = trace.add_process(Process::new(source, 7));
        let name = trace.strings.intern("gfx942");
        for number in 0..2 {
            let type_index = OptI64::some(number);
            let absolute_index = OptI64::some(number + 2);
            trace.add_agent(Agent {
                process,
                kind: AgentKind::Gpu,
                name,
                type_index,
                absolute_index,
                ..Agent::default()
            });
        }
        recorded.add_to(&mut trace);
        trace.finish();
        trace
    };
    let rocpd = of("rocpd");
    assert_eq!(rocpd.samples.len(), recorded.samples.len());
    assert!(rocpd.samples.start.iter().all(|t| (before.boot_ns..=after.boot_ns).contains(t)));
    assert!(of("torch").samples.start.iter().all(|t| (before.wall_ns..=after.wall_ns).contains(t)));
    let path = fixture.root().join("run.db");
    convert::rocpd::write(&rocpd, &path, &convert::rocpd::Options::default()).unwrap();
    let back = ingest::read(&[path], &Needs::everything(), &Default::default()).unwrap();
    let series = |trace: &Trace| -> Vec<(i64, String, f64, String, Option<i64>)> {
        let row = |s: trace::Sample| {
            let agent = s.agent.get().and_then(|a| trace.agents[a].absolute_index.get());
            (
                s.start,
                trace.strings.get(s.name).to_string(),
                s.value,
                trace.strings.get(s.unit).to_string(),
                agent,
            )
        };
        let mut rows: Vec<_> = trace.samples.rows().map(row).collect();
        rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
        rows
    };
    assert_eq!(series(&back), series(&rocpd));
    assert!(series(&rocpd).iter().any(|row| row.1 == "GPU power" && row.4 == Some(3)));
    // In Perfetto every value is a point of a counter track.
    let path = fixture.root().join("run.pftrace");
    convert::pftrace::write(&rocpd, &path, &Default::default()).unwrap();
    let bytes = std::fs::read(path).unwrap();
    let count = |part: &[u8]| bytes.windows(part.len()).filter(|window| *window == part).count() as u64;
    assert_eq!(count(&140.5f64.to_le_bytes()), 2 * recorded.readings);
    assert!(count(b"GPU power") >= 1);
}

#[test]
fn a_reading_that_fails_is_absent_and_stops_nothing() {
    let fixture = Fixture::healthy();
    let monitor =
        Monitor::start_below(fixture.root(), &["power"], Duration::from_millis(4), &fixture.out()).unwrap();
    std::thread::sleep(Duration::from_millis(12));
    fixture.remove("sys/class/drm/renderD128/device/hwmon/hwmon3/power1_input");
    std::thread::sleep(Duration::from_millis(20));
    let recorded = monitor.stop();
    let of = |gpu| recorded.samples.iter().filter(|s| s.gpu == gpu).count() as u64;
    assert!(of(0) < of(1) && of(1) == recorded.readings && recorded.absent == of(1) - of(0), "{recorded:?}");
    let csv = std::fs::read_to_string(fixture.out().join("gpu_info_power_profiler_output.csv")).unwrap();
    assert!(csv.lines().last().unwrap().ends_with(",N/A,140.500"), "{csv}");
}

#[test]
fn wrong_words_and_machines_without_gpus_are_said() {
    let fixture = Fixture::empty();
    let start = |kinds: &[&str]| {
        Monitor::start_below(fixture.root(), kinds, Duration::from_millis(4), &fixture.out()).err().unwrap()
    };
    assert!(matches!(start(&["voltage"]), MonitorError::UnknownKind(kind) if kind == "voltage"));
    assert!(matches!(start(&["power"]), MonitorError::NoSource));
    assert!(ALL.iter().all(|kind| METRICS.iter().any(|metric| metric.kind == *kind)));
}
