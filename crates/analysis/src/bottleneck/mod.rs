//! `bottleneck`: what bounds each kernel, by a table of rules over counters, launch shapes, the GPU's peaks, the
//! time around it, and features of thread traces.
//!
//! Deterministic: the same figures give the same label. A rule that lacks a figure is undecided and its counters are
//! named; no label is guessed. Cost: one pass over kernels and counter rows.

mod figures;
mod rules;
mod verdict;

use report::{Column, Table, Unit, Value};
use trace::{Needs, Trace};

use crate::base;
use crate::statistics::percent;

pub use figures::{FACTS, KernelFigures, kernel_figures};
pub use verdict::{Applies, Figures, Verdict, judge};

pub(crate) use figures::{each_counter, kernel_figures_where, put_counter};
pub(crate) use verdict::value as formula_value;

/// What a trace must be read with.
pub fn bottleneck_needs() -> Needs {
    Needs { kernels: true, shapes: true, counters: true, counter_columns: true, ..Needs::nothing() }
}

/// What bounds each kernel of a trace read with [`bottleneck_needs`]; `more` adds features by kernel name.
pub fn bottleneck_report(trace: &Trace, more: &[(String, Figures)]) -> report::Report {
    let mut kernels = kernel_figures(trace);
    for kernel in &mut kernels {
        for (_, figures) in more.iter().filter(|(name, _)| *name == kernel.name) {
            kernel.figures.extend(figures.clone());
        }
    }
    let mut report = base::report("bottleneck", trace);
    // Host calls were not read, so nothing is missing.
    report.health.retain(|check| check.id != "coverage");
    let (table, missing) = bottlenecks(&kernels);
    report.tables = vec![table];
    if !missing.is_empty() {
        report.notes.push(format!(
            "more could be told with the counters {}; `rocm-perf profile --counters` collects them",
            missing.join(", ")
        ));
    }
    report
}

/// The table `bottlenecks`, and the counters that would decide more.
pub fn bottlenecks(kernels: &[KernelFigures]) -> (Table, Vec<String>) {
    let columns = vec![
        Column::text("name"),
        Column::int("total_ns", Unit::Ns).normal(),
        Column::int("share_pct", Unit::Pct).key(),
        Column::text("label"),
        Column::int("score", Unit::None),
        Column::text("evidence").normal(),
        Column::text("secondary").normal(),
        Column::text("advice").detail(),
        Column::text("missing").data(),
    ];
    let mut table = Table::new("bottlenecks", "What bounds each kernel", columns);
    let whole: i64 = kernels.iter().map(|kernel| kernel.total_ns).sum();
    let mut missing: Vec<String> = Vec::new();
    for kernel in kernels {
        let verdict = judge(&kernel.figures);
        let first = verdict.labels.first();
        const NONE: &str = "no label applies";
        let of_first = |get: &dyn Fn(&Applies) -> Value| first.map_or_else(|| Value::absent(NONE), get);
        let secondary: Vec<&str> = verdict.labels.iter().skip(1).map(|other| other.label).collect();
        table.push(vec![
            Value::from(kernel.name.as_str()),
            Value::Int(kernel.total_ns),
            Value::Float(percent(kernel.total_ns, whole)),
            Value::from(verdict.label()),
            of_first(&|first| Value::Float(first.score)),
            of_first(&|first| Value::Text(first.evidence.join("; "))),
            Value::Text(secondary.join(", ")),
            of_first(&|first| Value::from(first.advice)),
            Value::Json(serde_json::json!(verdict.counters)),
        ]);
        missing.extend(verdict.counters);
    }
    missing.sort();
    missing.dedup();
    (table, missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(values: &[(&str, f64)]) -> Figures {
        values.iter().map(|(name, value)| (name.to_string(), *value)).collect()
    }

    /// An MI300X and a kernel of 1 ms that fills it.
    fn busy(more: &[(&str, f64)]) -> Figures {
        let mut all = figures(&[
            ("duration_ns", 1e6),
            ("dispatches", 1.0),
            ("mean_ns", 1e6),
            ("gap_ns", 1e3),
            ("gpu_idle_pct", 1.0),
            ("workgroups", 1e5),
            ("workgroups_per_cu", 8.0),
            ("occupancy_pct", 100.0),
            ("scratch_bytes", 0.0),
            ("cus", 304.0),
            ("xccs", 8.0),
            ("simds", 4.0),
            ("clock_mhz", 2100.0),
            ("peak_hbm_gbps", 5300.0),
            ("peak_l2_gbps", 34400.0),
            ("GRBM_GUI_ACTIVE", 8.0 * 2.1e6),
            ("SQ_ACTIVE_INST_VALU", 0.1 * 304.0 * 2.1e6),
            ("SQ_THREAD_CYCLES_VALU", 64.0 * 0.1 * 304.0 * 2.1e6),
            ("SQ_VALU_MFMA_BUSY_CYCLES", 0.0),
            ("SQ_ACTIVE_INST_SCA", 0.0),
            ("SQ_LDS_IDX_ACTIVE", 0.0),
            ("SQ_LDS_BANK_CONFLICT", 0.0),
            ("SQ_WAVE_CYCLES", 1e9),
            ("SQ_WAIT_ANY", 1e8),
            ("TCC_REQ_sum", 1e6),
            ("TCC_BUBBLE_sum", 0.0),
            ("TCC_EA0_RDREQ_sum", 1e6),
            ("TCC_EA0_RDREQ_32B_sum", 0.0),
            ("TCC_EA0_WRREQ_sum", 0.0),
            ("TCC_EA0_WRREQ_64B_sum", 0.0),
        ]);
        all.extend(figures(more));
        all
    }

    #[test]
    fn labels_follow_the_figures() {
        let cases: [(&str, &[(&str, f64)]); 9] = [
            ("none stands out", &[("att_barrier_pct", 1.0), ("att_fetch_pct", 1.0)]),
            // 4.5 TB/s of 64-byte reads.
            ("memory bandwidth", &[("TCC_EA0_RDREQ_sum", 4.5e9 / 64.0)]),
            ("matrix throughput", &[("SQ_VALU_MFMA_BUSY_CYCLES", 0.8 * 304.0 * 4.0 * 2.1e6)]),
            (
                "vector throughput",
                &[
                    ("SQ_ACTIVE_INST_VALU", 0.9 * 304.0 * 2.1e6),
                    ("SQ_THREAD_CYCLES_VALU", 64.0 * 0.9 * 304.0 * 2.1e6),
                ],
            ),
            ("memory latency", &[("SQ_WAIT_ANY", 7e8)]),
            ("under-occupied", &[("SQ_WAIT_ANY", 7e8), ("occupancy_pct", 12.5)]),
            (
                "LDS",
                &[("SQ_LDS_IDX_ACTIVE", 0.5 * 304.0 * 2.1e6), ("SQ_LDS_BANK_CONFLICT", 0.3 * 304.0 * 2.1e6)],
            ),
            ("under-filled grid", &[("workgroups", 100.0)]),
            ("launch bound", &[("mean_ns", 4e3), ("gap_ns", 2e4)]),
        ];
        for (label, more) in cases {
            let verdict = judge(&busy(more));
            assert_eq!(verdict.label(), label, "{verdict:?}");
            if let Some(first) = verdict.labels.first() {
                assert!(!first.evidence.is_empty() && first.score > 0.0);
            }
        }
    }

    #[test]
    fn what_is_missing_is_named_and_nothing_is_guessed() {
        let verdict =
            judge(&figures(&[("mean_ns", 1e6), ("gap_ns", 0.0), ("gpu_idle_pct", 0.0), ("fill_pct", 200.0)]));
        assert_eq!(verdict.label(), "not enough data");
        for counter in ["GRBM_GUI_ACTIVE", "SQ_WAIT_ANY", "SQ_WAVE_CYCLES", "SQ_LDS_IDX_ACTIVE"] {
            assert!(
                verdict.counters.iter().any(|name| name == counter),
                "{counter} of {:?}",
                verdict.counters
            );
        }
        assert!(verdict.facts.iter().any(|name| name == "cus"), "{:?}", verdict.facts);
    }
}
