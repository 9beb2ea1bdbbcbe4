//! `profile`: one report from everything recorded of a program: timing runs, counters, a thread trace.
//!
//! Times only come from the timing runs, because counters and thread traces distort them. Anything that was
//! not recorded is absent and says how to get it.

mod result;

use hw::code_object::Contents;
use report::{Note, Remedy, Report, Table};
use trace::{Needs, ThreadTrace, Trace};

use crate::base;
use crate::causes::critical_path::{self, CriticalPathOptions, critical_path_needs};
use crate::causes::idle;
use crate::causes::verdict::{self, VerdictOptions};
use crate::kernels::att;
use crate::kernels::bottleneck::{Bottlenecks, Figures, KernelFigures, kernel_figures, put_workgroups};
use crate::kernels::occupancy::{self, Occupancies, OccupancyOptions, occupancy_needs};
use crate::kernels::roofline::{self, RooflineOptions, roofline_needs};
use crate::timeline::stability::{RunTimes, Stability, stability_tables};
use model::Run;
use model::classify::Classifier;
use stats::percent;

pub use crate::timeline::stability::process_spread;
pub use result::process_result;

/// Everything that was recorded.
pub struct Profiled<'a> {
    /// Times of each timing run, in order.
    pub runs: &'a [RunTimes],
    /// The representative timing run, read with [`timing_needs`].
    pub timing: &'a Trace,
    /// The run with counters, read with [`counter_needs`].
    pub counters: Option<&'a Trace>,
    /// Thread traces.
    pub thread_traces: &'a [ThreadTrace],
    /// Whether thread traces were requested, recorded or not.
    pub traced: bool,
    /// Code of the program; its register counts override the profiler's.
    pub code: Option<&'a Contents>,
}

/// The representative run: the one with kernel time nearest to the median; the first if several tie.
pub fn typical_run(runs: &[RunTimes]) -> Option<usize> {
    let totals: Vec<f64> = runs.iter().map(|run| run.kernels_ns as f64).collect();
    let median = Stability::of(&totals)?.median;
    let off = |run: usize| (totals[run] - median).abs();
    (0..runs.len()).min_by(|&one, &other| off(one).total_cmp(&off(other)))
}

/// What to read from a timing run.
pub fn timing_needs() -> Needs {
    Needs { shapes: true, ..union(critical_path_needs(), &occupancy_needs()) }
}

/// What to read from the run with counters.
pub fn counter_needs() -> Needs {
    roofline_needs()
}

fn union(mut needs: Needs, other: &Needs) -> Needs {
    needs.memory_allocations |= other.memory_allocations;
    needs.counters |= other.counters;
    needs.counter_columns |= other.counter_columns;
    needs
}

/// The tables shown for thread traces; `att` shows the rest.
const ATT_TABLES: [&str; 2] = ["stalls", "instructions"];

/// Everything about a program in one report.
pub fn profile_report(profiled: &Profiled, options: &VerdictOptions) -> Report {
    let Profiled { runs, timing, counters, thread_traces, traced, code } = *profiled;
    let mut report = base::report("profile", timing);
    report.verdict = verdict_on(timing, options);
    let mut kernels = figures(timing, counters, thread_traces);
    let totals: Vec<f64> = runs.iter().map(|run| run.kernels_ns as f64).collect();
    let stability = Stability::of(&totals);

    report.tables.extend(stability_tables(runs));
    let options = OccupancyOptions { code, counters, ..OccupancyOptions::default() };
    let occupancies = occupancy::compute(timing, &options);
    report.tables.push(occupancies.resources_table());
    let fitted = occupancy::present(timing, &options, &occupancies);
    report.notes.extend(fitted.notes);
    report.health.extend(fitted.health.into_iter().filter(|check| check.id == "impossible_clock"));
    report.tables.push(Table { name: "occupancy".into(), ..occupancies.table() });
    take_occupancy(&mut kernels, &occupancies);
    let path = critical_path::compute(timing, &Classifier::builtin(), &CriticalPathOptions::default()).ok();
    if let Some(path) = &path {
        report.health.extend(path.doubts.iter().cloned());
        report.tables.extend(Some(path.bounds_table()).filter(|table| !table.rows.is_empty()));
        report.tables.push(Table { name: "critical_kernels".into(), ..path.kernels_table(timing) });
    }
    let roofline = counters.map(|trace| (trace, roofline::compute(trace, &RooflineOptions::default())));
    if let Some((trace, roofline)) = &roofline {
        report.charts.extend(roofline::present(trace, roofline).charts);
        report.tables.push(Table { name: "roofline".into(), ..roofline.kernels_table() });
    }
    if !thread_traces.is_empty() {
        let traced = att::thread_trace_report(thread_traces);
        report.health.extend(traced.health);
        report.notes.extend(traced.notes);
        report
            .tables
            .extend(traced.tables.into_iter().filter(|table| ATT_TABLES.contains(&table.name.as_str())));
    }
    let bottlenecks = Bottlenecks::of(&kernels);
    report.tables.push(bottlenecks.table());
    report.notes.extend(next_steps(
        &kernels,
        stability.as_ref(),
        &bottlenecks.missing_counters,
        counters.is_some(),
        traced,
    ));
    let parts = result::Parts {
        runs,
        timing,
        stability: stability.as_ref(),
        kernels: &kernels,
        occupancies: &occupancies,
        path: path.as_ref(),
        roofline: roofline.as_ref().map(|(_, roofline)| roofline),
        thread_traces,
    };
    report.result = Some(result::result(&parts));
    report
}

/// The verdict on the representative timing run.
fn verdict_on(timing: &Trace, options: &VerdictOptions) -> Option<report::Verdict> {
    let run = Run::new(timing, None, &Classifier::builtin(), 0.0).ok()?;
    let accounts = idle::compute(&run);
    Some(verdict::compute(&run, &accounts, &[], options))
}

/// Whether two sources name the same kernel: one name may be mangled.
fn same_kernel(one: &str, other: &str) -> bool {
    one == other || model::names::demangle(one) == model::names::demangle(other)
}

/// Times from the timing run, counters from the counter run, features from thread traces.
fn figures(timing: &Trace, counters: Option<&Trace>, thread_traces: &[ThreadTrace]) -> Vec<KernelFigures> {
    let mut kernels = kernel_figures(timing);
    let counted = counters.map(kernel_figures).unwrap_or_default();
    let features = att::thread_trace_features(thread_traces);
    for kernel in &mut kernels {
        if let Some(other) = counted.iter().find(|other| other.name == kernel.name) {
            let is_counter = |name: &str| name.starts_with(|c: char| c.is_ascii_uppercase());
            let dispatches = |figures: &Figures| figures.get("dispatches").copied().unwrap_or(0.0);
            // Counters are scaled from their dispatches to the timed dispatches.
            let scale = dispatches(&kernel.figures) / dispatches(&other.figures).max(1.0);
            for (name, value) in other.figures.iter().filter(|(name, _)| is_counter(name)) {
                kernel.figures.insert(name.clone(), value * scale);
            }
            kernel.impossible_clock = other.impossible_clock;
            let achieved = other.figures.get("achieved_occupancy_pct").copied();
            kernel.figures.extend(achieved.map(|percent| ("achieved_occupancy_pct".into(), percent)));
        }
        for (_, figures) in features.iter().filter(|(name, _)| same_kernel(name, &kernel.name)) {
            kernel.figures.extend(figures.clone());
        }
    }
    kernels
}

/// The rules use the occupancy as shown: registers from the code object, not from the profiler.
fn take_occupancy(kernels: &mut [KernelFigures], occupancies: &Occupancies) {
    for kernel in kernels {
        let Some(found) = occupancies.of_kernel(&kernel.name) else { continue };
        if let Some(percent) = found.occupancy_pct() {
            kernel.figures.insert("occupancy_pct".into(), percent);
        }
        let group = found.used.workgroup.zip(found.wave_size());
        let group = group.map(|(threads, wave)| (f64::from(threads) / f64::from(wave)).ceil());
        if let Some((waves, group)) = found.waves_per_cu().zip(group).filter(|(_, group)| *group > 0.0) {
            put_workgroups(&mut kernel.figures, waves / group);
        }
    }
}

fn next_steps(
    kernels: &[KernelFigures],
    stability: Option<&Stability>,
    missing: &[String],
    counted: bool,
    traced: bool,
) -> Vec<Note> {
    let mut steps: Vec<Note> = Vec::new();
    if let Some(label) = stability.and_then(|found| found.label).filter(|label| *label != "stable") {
        steps.push(
            format!("the runs are {label}: fix clocks and quiet the machine before trusting small changes")
                .into(),
        );
    }
    let whole: i64 = kernels.iter().map(|kernel| kernel.total_ns).sum();
    if let Some(first) = kernels.iter().find(|kernel| !model::names::is_of_runtime(&kernel.name)) {
        let verdict = first.judge();
        let share = percent(first.total_ns, whole);
        if let Some(label) = verdict.labels.first() {
            steps.push(
                format!(
                    "next: `{}` has {share:.0} % of kernel time ({}): {}",
                    first.name, label.label, label.advice
                )
                .into(),
            );
        }
    }
    if !counted && !missing.is_empty() {
        let text = "next: collect the counters that the roofline and the undecided rules need";
        steps.push(Note::new(text, Remedy::ProfileCounters));
    }
    if !traced && counted {
        let text = "next: trace which instructions waves wait for";
        steps.push(Note::new(text, Remedy::ProfileThreadTrace));
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_the_first_nor_a_disturbed_run_stands_for_all() {
        let run = |kernels_ns| RunTimes { kernels_ns, ..RunTimes::default() };
        let of = |totals: &[i64]| typical_run(&totals.iter().map(|&total| run(total)).collect::<Vec<_>>());
        assert_eq!(of(&[120, 100, 101, 99, 300]), Some(2));
        assert_eq!(of(&[100, 100, 500]), Some(0));
        assert_eq!(of(&[7]), Some(0));
        assert_eq!(of(&[]), None);
    }
}
