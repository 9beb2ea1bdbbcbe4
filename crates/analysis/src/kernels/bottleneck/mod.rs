//! `bottleneck`: what bounds each kernel, by a table of rules over counters, launch shapes, the GPU's peaks,
//! idle time around the kernel, and features of thread traces.
//!
//! Deterministic: the same figures give the same label. A rule that lacks a figure is undecided and names the
//! missing counters; labels are never guessed. Cost: one pass over kernels and counter rows.

mod figures;
mod present;
mod rules;
mod verdict;
mod waits;

use std::collections::BTreeSet;

use rayon::prelude::*;
use report::Report;
use stats::percent;
use trace::{Needs, Trace};

pub use figures::{FACTS, KernelFigures, kernel_figures};
pub use present::present;
pub use verdict::{Applies, Evidence, Figures, Verdict, bottleneck_counters, judge, judge_on};

pub(crate) use figures::{each_counter, kernel_figures_where, put_counter, put_workgroups};
use verdict::Judge;
pub(crate) use verdict::value as formula_value;

/// Kernels per thread batch.
const SHARE: usize = 4096;

/// What to read from a trace for the bottleneck analysis.
pub fn bottleneck_needs() -> Needs {
    Needs {
        kernels: true,
        shapes: true,
        counters: true,
        counter_columns: true,
        memory_copies: true,
        regions: true,
        syncs: true,
        links: true,
        ..Needs::nothing()
    }
}

/// What bounds each kernel of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bottlenecks {
    /// The program's own kernels before the runtime's, most time first.
    pub kernels: Vec<KernelBottleneck>,
    /// The architecture of the first kernel with a known GPU, as the counter catalogue names it.
    pub arch: Option<String>,
    /// Counters that would decide more, sorted.
    pub missing_counters: Vec<String>,
}

/// What bounds one kernel: all dispatches with one name.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelBottleneck {
    /// Recorded kernel name.
    pub name: String,
    /// Sum of dispatch times.
    pub total_ns: i64,
    /// Share of the time of all kernels.
    pub share_pct: f64,
    /// Labels that apply, and what else to collect.
    pub verdict: Verdict,
    /// Resident waves in percent of the wave slots, or why that is not known.
    pub achieved_occupancy_pct: Result<f64, &'static str>,
}

/// What bounds each kernel of a trace read with [`bottleneck_needs`]; `more` adds features by kernel name.
pub fn compute(trace: &Trace, more: &[(String, Figures)]) -> Bottlenecks {
    let mut kernels = kernel_figures(trace);
    for kernel in &mut kernels {
        for (_, figures) in more.iter().filter(|(name, _)| *name == kernel.name) {
            kernel.figures.extend(figures.clone());
        }
    }
    Bottlenecks::of(&kernels)
}

/// [`compute`] and [`present`] in one.
pub fn bottleneck_report(trace: &Trace, more: &[(String, Figures)]) -> Report {
    present(trace, &compute(trace, more))
}

impl Bottlenecks {
    /// What bounds kernels with known figures.
    pub fn of(kernels: &[KernelFigures]) -> Self {
        let whole: i64 = kernels.iter().map(|kernel| kernel.total_ns).sum();
        let judged = |judge: &mut Judge, kernel: &KernelFigures| KernelBottleneck {
            name: kernel.name.clone(),
            total_ns: kernel.total_ns,
            share_pct: percent(kernel.total_ns, whole),
            verdict: judge.judge(&kernel.figures, kernel.arch.as_deref()),
            achieved_occupancy_pct: achieved(kernel),
        };
        // A judge caches what kernels lack, so batches of kernels share one.
        let of_share = |share: &[KernelFigures]| -> Vec<KernelBottleneck> {
            let mut judge = Judge::default();
            share.iter().map(|kernel| judged(&mut judge, kernel)).collect()
        };
        let judged: Vec<KernelBottleneck> = kernels.par_chunks(SHARE).flat_map_iter(of_share).collect();
        let missing: BTreeSet<&String> =
            judged.iter().flat_map(|kernel| kernel.verdict.counters.iter()).collect();
        let missing_counters = missing.into_iter().cloned().collect();
        let arch = kernels.iter().find_map(|kernel| kernel.arch.clone());
        Self { kernels: judged, arch, missing_counters }
    }
}

/// Achieved occupancy, or why it is not known.
fn achieved(kernel: &KernelFigures) -> Result<f64, &'static str> {
    match kernel.figures.get("achieved_occupancy_pct") {
        Some(&percent) => Ok(percent),
        None if kernel.impossible_clock => Err(crate::kernels::occupancy::IMPOSSIBLE),
        None => Err("the counters of achieved occupancy were not collected"),
    }
}

#[cfg(test)]
mod tests {
    use super::present::{how_to_collect, what_is_not_known};
    use super::*;
    use report::Remedy;

    fn figures(values: &[(&str, f64)]) -> Figures {
        values.iter().map(|(name, value)| (name.to_string(), *value)).collect()
    }

    /// An MI300X and a 1 ms kernel that fills it.
    fn busy(more: &[(&str, f64)]) -> Figures {
        let mut all = figures(&[
            ("duration_ns", 1e6),
            ("dispatches", 1.0),
            ("mean_ns", 1e6),
            ("launch_idle_ns", 1e3),
            ("host_idle_ns", 0.0),
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
            ("peak_l1_gbps", 81_715.2),
            ("tail_pct", 5.0),
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
            ("TCC_ATOMIC_sum", 0.0),
            ("TCP_TOTAL_CACHE_ACCESSES_sum", 1e6),
            ("SQC_ICACHE_REQ", 1e6),
            ("SQC_ICACHE_MISSES", 1e4),
            ("TCC_BUBBLE_sum", 0.0),
            ("TCC_EA0_RDREQ_sum", 1e6),
            ("TCC_EA0_RDREQ_32B_sum", 0.0),
            ("TCC_EA0_WRREQ_sum", 0.0),
            ("TCC_EA0_WRREQ_64B_sum", 0.0),
        ]);
        all.extend(figures(more));
        all
    }

    /// A label, the GPU, and figures.
    type Case = (&'static str, &'static str, Vec<(&'static str, f64)>);

    /// Figures that make each label the strongest, on an MI300X unless stated otherwise.
    fn cases() -> Vec<Case> {
        // All compute units fully loaded for a millisecond.
        const CYCLES: f64 = 304.0 * 2.1e6;
        let on = |label, figures: &[(&'static str, f64)]| (label, "gfx942", figures.to_vec());
        vec![
            on("none stands out", &[("att_barrier_pct", 1.0), ("att_fetch_pct", 1.0)]),
            on("launch bound", &[("gpu_idle_pct", 80.0), ("launch_idle_ns", 5e6)]),
            on("host bound", &[("gpu_idle_pct", 60.0), ("host_idle_ns", 2e6)]),
            on("under-filled grid", &[("workgroups", 100.0)]),
            on("tail", &[("workgroups", 2500.0), ("tail_pct", 48.6)]),
            // 4.5 TB/s of 64-byte reads.
            on("memory bandwidth", &[("TCC_EA0_RDREQ_sum", 4.5e9 / 64.0)]),
            on("L2 bandwidth", &[("TCC_REQ_sum", 0.7 * 34.4e9 / 128.0)]),
            on("L1 bandwidth", &[("TCP_TOTAL_CACHE_ACCESSES_sum", 0.8 * 81.7e9 / 128.0)]),
            on("matrix throughput", &[("SQ_VALU_MFMA_BUSY_CYCLES", 0.8 * 4.0 * CYCLES)]),
            on(
                "vector throughput",
                &[("SQ_ACTIVE_INST_VALU", 0.9 * CYCLES), ("SQ_THREAD_CYCLES_VALU", 64.0 * 0.9 * CYCLES)],
            ),
            on("LDS bandwidth", &[("SQ_LDS_IDX_ACTIVE", 0.7 * CYCLES)]),
            on(
                "LDS conflicts",
                &[("SQ_LDS_IDX_ACTIVE", 0.5 * CYCLES), ("SQ_LDS_BANK_CONFLICT", 0.3 * CYCLES)],
            ),
            on(
                "divergence",
                &[("SQ_ACTIVE_INST_VALU", 0.55 * CYCLES), ("SQ_THREAD_CYCLES_VALU", 16.0 * 0.55 * CYCLES)],
            ),
            (
                "spills",
                "gfx90a",
                vec![
                    ("scratch_bytes", 512.0),
                    ("TA_TOTAL_WAVEFRONTS_sum", 1e6),
                    ("TA_BUFFER_READ_WAVEFRONTS_sum", 2e5),
                    ("TA_BUFFER_WRITE_WAVEFRONTS_sum", 1e5),
                ],
            ),
            on("scratch in use", &[("scratch_bytes", 512.0)]),
            on("under-occupied", &[("SQ_WAIT_ANY", 7e8), ("occupancy_pct", 12.5)]),
            on(
                "uncoalesced access",
                &[("SQ_WAIT_ANY", 7e8), ("occupancy_pct", 40.0), ("TCC_EA0_RDREQ_32B_sum", 9e5)],
            ),
            on("few loads in flight", &[("SQ_WAIT_ANY", 7e8)]),
            on("memory latency", &[("SQ_WAIT_ANY", 7e8), ("occupancy_pct", 40.0)]),
            on("atomics", &[("SQ_WAIT_ANY", 7e8), ("occupancy_pct", 40.0), ("TCC_ATOMIC_sum", 4e5)]),
            on("barriers", &[("att_barrier_pct", 35.0)]),
            on("instruction fetch", &[("att_fetch_pct", 25.0)]),
            on(
                "instruction fetch",
                &[("SQ_WAIT_ANY", 7e8), ("occupancy_pct", 40.0), ("SQC_ICACHE_MISSES", 3e5)],
            ),
            on("scalar", &[("SQ_ACTIVE_INST_SCA", 0.7 * CYCLES)]),
            on("clock throttled", &[("duration_ns", 2e6), ("GRBM_GUI_ACTIVE", 8.0 * 2.1e6)]),
        ]
    }

    #[test]
    fn labels_follow_the_figures() {
        for (label, arch, more) in cases() {
            let verdict = judge_on(&busy(&more), Some(arch));
            assert_eq!(verdict.label(), label, "{verdict:?}");
            if let Some(first) = verdict.labels.first() {
                assert!(!first.evidence.is_empty() && first.score > 0.0 && !first.advice.is_empty());
                assert!(first.evidence.iter().all(|item| first.text().contains(item.metric)));
                // No gain exceeds the kernel's time; waits before the kernel are not part of that time.
                let most = if matches!(label, "launch bound" | "host bound") { 1e9 } else { 2e6 };
                let gain = first.gain_ns;
                assert!(gain.is_some() || label == "scratch in use", "{label}");
                assert!(gain.is_none_or(|gain| gain > 0 && gain as f64 <= most), "{label} {gain:?}");
            }
        }
    }

    #[test]
    fn every_rule_can_be_the_label() {
        let cases = cases();
        for rule in &rules::Rules::built_in().rules {
            assert!(cases.iter().any(|(label, ..)| *label == rule.label), "{} is not reached", rule.label);
        }
    }

    #[test]
    fn others_that_apply_are_listed_behind_the_first() {
        let verdict = judge_on(&busy(&[("SQ_WAIT_ANY", 7e8), ("occupancy_pct", 12.5)]), Some("gfx942"));
        let labels: Vec<&str> = verdict.labels.iter().map(|applies| applies.label).collect();
        assert_eq!(labels, ["under-occupied", "memory latency"]);
        let items = &verdict.labels[0].evidence;
        assert_eq!((items[0].metric, items[0].value, items[0].source), ("occupancy_pct", 12.5, "trace"));
        assert_eq!(
            (items[1].metric, items[1].threshold, items[1].source),
            ("wait_pct", "wait_pct >= 40", "counters")
        );
        let traced = judge_on(&busy(&[("att_memory_wait_pct", 80.0)]), Some("gfx942"));
        assert_eq!(traced.labels[0].evidence[0].source, "thread trace");
    }

    #[test]
    fn only_counters_that_the_gpu_has_are_asked_for() {
        let launch = figures(&[
            ("duration_ns", 1e6),
            ("mean_ns", 1e6),
            ("launch_idle_ns", 0.0),
            ("host_idle_ns", 0.0),
            ("gpu_idle_pct", 0.0),
            ("fill_pct", 200.0),
        ]);
        for (arch, there, not_there) in [
            ("gfx90a", "TCC_EA_RDREQ_sum", "TCC_EA0_"),
            ("gfx942", "TCC_EA0_RDREQ_sum", "TCC_EA_"),
            ("gfx950", "TCC_EA0_RDREQ_128B_sum", "TCC_BUBBLE"),
            ("gfx1100", "GL2C_EA_RDREQ_128B_sum", "TCC_"),
        ] {
            let verdict = judge_on(&launch, Some(arch));
            assert_eq!(verdict.label(), "not enough data");
            assert!(verdict.counters.iter().any(|name| name == there), "{arch} {:?}", verdict.counters);
            assert!(
                !verdict.counters.iter().any(|name| name.starts_with(not_there)),
                "{arch} {:?}",
                verdict.counters
            );
            for name in verdict.counters.iter().chain(&bottleneck_counters(arch)) {
                assert!(hw::counters::find(arch, name).is_some(), "{arch} has no {name}");
            }
            assert!(verdict.counters.iter().all(|name| bottleneck_counters(arch).contains(name)));
        }
    }

    #[test]
    fn without_times_or_a_gpu_nothing_is_said_to_stand_out_or_not() {
        for lacking in [["duration_ns", "mean_ns"], ["peak_hbm_gbps", "cus"]] {
            let mut figures = busy(&[]);
            figures.retain(|name, _| !lacking.contains(&name.as_str()));
            let verdict = judge_on(&figures, Some("gfx942"));
            assert_eq!(verdict.label(), "not enough data");
            assert!(verdict.lacks().contains(&lacking[0]), "{:?}", verdict.facts);
            let kernel = KernelFigures { figures, arch: Some("gfx942".into()), ..Default::default() };
            assert_eq!(what_is_not_known(&Bottlenecks::of(&[kernel])).len(), 1);
        }
        // Facts that only other runs record do not keep rates from being judged.
        let mut counted = busy(&[]);
        counted
            .retain(|name, _| !["launch_idle_ns", "host_idle_ns", "gpu_idle_pct"].contains(&name.as_str()));
        assert_eq!(judge_on(&counted, Some("gfx942")).label(), "none stands out");
    }

    #[test]
    fn nobody_is_told_to_collect_what_no_gpu_has() {
        let of = |arch: Option<&str>| {
            let arch = arch.map(str::to_owned);
            let kernels =
                [KernelFigures { figures: figures(&[("mean_ns", 1e6)]), arch, ..Default::default() }];
            how_to_collect(&Bottlenecks::of(&kernels)).unwrap()
        };
        assert!(
            matches!(of(Some("gfx942")).remedy, Some(Remedy::CollectCounters { names, .. }) if !names.is_empty())
        );
        // With an unknown GPU, no counters can be requested.
        assert_eq!(of(None).remedy, None);
    }

    #[test]
    fn what_is_missing_is_named_and_nothing_is_guessed() {
        let verdict = judge(&figures(&[
            ("duration_ns", 1e6),
            ("mean_ns", 1e6),
            ("launch_idle_ns", 0.0),
            ("host_idle_ns", 0.0),
            ("gpu_idle_pct", 0.0),
            ("fill_pct", 200.0),
        ]));
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
