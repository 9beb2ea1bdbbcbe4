//! `roofline` on real rocprof-compute workloads, against values computed by hand from their counters.

use std::path::{Path, PathBuf};

use ingest::Progress;
use report::{Report, Value};
use rocm_perf_analysis::{PeakSource, RooflineOptions, roofline, roofline_counters, roofline_needs};

fn workload(name: &str) -> Option<PathBuf> {
    testing::data(Path::new("rocprof_compute").join(name))
}

fn of(name: &str, options: &RooflineOptions) -> Option<Report> {
    let trace = ingest::read(&[workload(name)?], &roofline_needs(), &Progress::default()).unwrap();
    Some(roofline(&trace, options))
}

fn cell<'a>(report: &'a Report, table: &str, row: usize, column: &str) -> &'a Value {
    let table = report.table(table).unwrap();
    &table.rows[row][table.column(column).unwrap()]
}

fn number(report: &Report, column: &str) -> f64 {
    cell(report, "kernels", 0, column).number().unwrap_or_else(|| panic!("{column} is absent"))
}

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-6 * expected.abs(), "{value} and not {expected}");
}

#[test]
fn a_copy_on_mi200() {
    let Some(report) = of("vcopy_MI200", &RooflineOptions::default()) else { return };
    // Three dispatches: 393259 reads and 313257 writes, all 64 bytes, in 20480 + 16320 + 15520 ns.
    near(number(&report, "bytes"), 64.0 * (393_259.0 + 313_257.0));
    assert_eq!(number(&report, "dispatches"), 3.0);
    assert_eq!(number(&report, "flops"), 0.0);
    assert_eq!(number(&report, "intensity"), 0.0);
    near(number(&report, "gbps"), 45_217_024.0 / 52_320.0);
    // 1638 GB/s on the data sheet of every product with 104 of these compute units.
    near(number(&report, "peak_pct"), 100.0 * 45_217_024.0 / 52_320.0 / 1638.0);
    assert_eq!(cell(&report, "kernels", 0, "bound"), &Value::from("towards hbm"));
    // 605862 requests of 128 bytes to L2, 1572864 of 64 bytes to L1.
    let levels = report.table("levels").unwrap();
    let bytes: Vec<(String, f64)> =
        levels.rows.iter().map(|row| (format!("{:?}", row[1]), row[2].number().unwrap())).collect();
    assert_eq!(bytes[1].1, 128.0 * 605_862.0);
    assert_eq!(bytes[2].1, 64.0 * 1_572_864.0);
    assert_eq!(bytes[3].1, 0.0);
    // L2 has 32 channels of 128 bytes at 1700 MHz.
    near(levels.rows[1][5].number().unwrap(), 100.0 * 128.0 * 605_862.0 / 52_320.0 / (32.0 * 128.0 * 1.7));
}

#[test]
fn measured_peaks_are_nearer_than_the_data_sheet() {
    let options = RooflineOptions { peaks: PeakSource::Measured, ..RooflineOptions::default() };
    let Some(report) = of("vcopy_MI200", &options) else { return };
    near(number(&report, "peak_pct"), 100.0 * 45_217_024.0 / 52_320.0 / 1388.9302);
    assert_eq!(cell(&report, "kernels", 0, "bound"), &Value::from("hbm"));
}

#[test]
fn reads_of_128_bytes_count_on_mi300x() {
    let Some(report) = of("no_roof_MI300X_A1", &RooflineOptions::default()) else { return };
    // 196608 of 197307 reads are 128 bytes, 393216 writes 64 bytes; 15040 + 16800 + 14000 ns.
    let bytes = 128.0 * 196_608.0 + 64.0 * (197_307.0 - 196_608.0) + 64.0 * 393_216.0;
    near(number(&report, "bytes"), bytes);
    near(number(&report, "gbps"), bytes / 45_840.0);
    // FP8 was not counted, but no matrix instruction ran: a copy has no operations.
    assert_eq!(cell(&report, "kernels", 0, "flops"), &Value::Float(0.0));
    assert_eq!(cell(&report, "kernels", 0, "intensity"), &Value::Float(0.0));
    assert_eq!(cell(&report, "kernels", 0, "bound"), &Value::from("latency"));
}

#[test]
fn the_long_form_gives_the_same_kind_of_numbers() {
    let Some(report) = of("vcopy_MI300X_A1_rocpd", &RooflineOptions::default()) else { return };
    near(number(&report, "bytes"), 128.0 * 196_608.0 + 64.0 * (197_149.0 - 196_608.0) + 64.0 * 393_216.0);
    assert_eq!(number(&report, "flops"), 0.0);
}

#[test]
fn without_durations_there_are_no_rates() {
    let Some(report) = of("vcopy_MI300X_A1", &RooflineOptions::default()) else { return };
    near(number(&report, "bytes"), 128.0 * 196_608.0 + 64.0 * (197_296.0 - 196_608.0) + 64.0 * 393_216.0);
    assert!(matches!(cell(&report, "kernels", 0, "gbps"), Value::Absent(_)));
    assert!(matches!(cell(&report, "kernels", 0, "bound"), Value::Absent(_)));
}

#[test]
fn mi350_needs_the_counters_by_size() {
    let Some(report) = of("vcopy_MI350", &RooflineOptions::default()) else { return };
    let missing = Value::Absent("not collected: TCC_EA0_RDREQ_64B_sum, TCC_EA0_RDREQ_128B_sum".into());
    assert_eq!(cell(&report, "kernels", 0, "bytes"), &missing);
    assert_eq!(number(&report, "flops"), 0.0);
}

#[test]
fn a_roofline_takes_few_passes() {
    for (arch, passes) in [("gfx90a", 3), ("gfx942", 3), ("gfx950", 3), ("gfx1100", 2)] {
        let names = roofline_counters(arch);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let plan = hw::passes::plan(arch, &names).unwrap();
        assert!(plan.optimal);
        assert!(plan.passes.len() <= passes, "{arch} takes {}", plan.passes.len());
    }
}
