//! Which kernels are worth optimising, and where they are defined.

use std::path::{Path, PathBuf};

use analysis::causes::critical_path::{self, CriticalPathOptions, WorkSlack};
use model::classify::Classifier;
use serde_json::{Value as Json, json};
use trace::Trace;

use super::propose::{Evidence, rows_of};
use super::session::Ranked;
use super::source::{Source, base_name};
use crate::measure::Reading;

/// Kernels by their share of the run's critical path; by their time if there is no path.
pub(super) fn rank(reading: &Reading, gpu: Option<String>) -> Vec<Ranked> {
    let on_path = reading.trace.as_deref().and_then(on_path);
    let bounds = reading.trace.as_deref().map(bounds);
    let total: i64 = reading.kernels.iter().map(|(_, time)| time.total_ns).sum();
    let mut kernels: Vec<Ranked> = reading
        .kernels
        .iter()
        .map(|(name, time)| {
            let share = on_path
                .as_ref()
                .map(|path| path.iter().find(|(other, _)| other == name).map_or(0.0, |(_, share)| *share));
            let demangled = model::names::demangle(name);
            let by_time = 100.0 * time.total_ns as f64 / total.max(1) as f64;
            let evidence = Evidence {
                dispatches: time.dispatches,
                total_ns: Some(time.total_ns),
                share_pct: Some(share.unwrap_or(by_time)),
                ranked_by: if share.is_some() { "critical path" } else { "kernel time" },
                workgroup: reading.trace.as_deref().and_then(|trace| workgroup(trace, name)),
                gpu: gpu.clone(),
                more: bounds.iter().flat_map(|report| rows_of(report, base_name(&demangled))).collect(),
            };
            Ranked { name: model::names::demangle(name).into_owned(), evidence }
        })
        .collect();
    kernels.sort_by(|a, b| {
        let share = |one: &Ranked| one.evidence.share_pct.unwrap_or(0.0);
        share(b).total_cmp(&share(a)).then(b.evidence.total_ns.cmp(&a.evidence.total_ns))
    });
    kernels
}

/// Least share that makes a kernel worth optimising, in percent.
const LEAST_SHARE: f64 = 5.0;

/// The ranked kernels worth optimising, and a note if they were chosen by kernel time.
///
/// A path with only host work has no kernels; those with the most time are then the best guess.
pub(super) fn worthwhile(ranked: &[Ranked]) -> (Vec<Ranked>, Option<String>) {
    let on_path: Vec<Ranked> = ranked
        .iter()
        .filter(|one| one.evidence.share_pct.is_none_or(|share| share >= LEAST_SHARE))
        .cloned()
        .collect();
    if !on_path.is_empty() || ranked.is_empty() {
        return (on_path, None);
    }
    let total: i64 = ranked.iter().filter_map(|one| one.evidence.total_ns).sum();
    let mut by_time: Vec<Ranked> = ranked
        .iter()
        .filter_map(|one| {
            let share = 100.0 * one.evidence.total_ns? as f64 / total.max(1) as f64;
            let mut one = one.clone();
            one.evidence.share_pct = Some(share);
            one.evidence.ranked_by = "kernel time";
            (share >= LEAST_SHARE).then_some(one)
        })
        .collect();
    by_time.sort_by_key(|one| std::cmp::Reverse(one.evidence.total_ns));
    let note = format!(
        "no kernel has {LEAST_SHARE} % of the critical path: kernels are taken by their time, and a faster one may not shorten the program"
    );
    (by_time, Some(note))
}

/// What bounds each kernel, as far as a trace without counters shows.
fn bounds(trace: &Trace) -> Json {
    let report = analysis::kernels::bottleneck::bottleneck_report(trace, &[]);
    let tables = report.tables.iter().map(|table| (table.name.clone(), report::render::json_rows(table)));
    json!({ "tables": Json::Object(tables.collect()) })
}

/// Share of the critical path of every kernel on it, by the name in the trace.
fn on_path(trace: &Trace) -> Option<Vec<(String, f64)>> {
    let path = critical_path::compute(trace, &Classifier::builtin(), &CriticalPathOptions::default()).ok()?;
    let share = |kernel: &WorkSlack| (trace.strings.get(kernel.name).to_string(), kernel.share_pct);
    let shares: Vec<_> = path.kernels.iter().map(share).collect();
    (!shares.is_empty()).then_some(shares)
}

/// Threads per workgroup, if it is the same for all dispatches of a kernel.
fn workgroup(trace: &Trace, name: &str) -> Option<u32> {
    let mut found = None;
    for row in 0..trace.kernels.len() {
        if trace.strings.get(trace.kernels.name[row]) != name {
            continue;
        }
        let threads = trace.shapes.get(trace.kernels.shape[row]).workgroup.map(|[x, y, z]| x * y * z)?;
        if found.is_some_and(|found| found != threads) {
            return None;
        }
        found = Some(threads);
    }
    found.filter(|threads| *threads > 0)
}

/// Extensions of files that may hold kernels.
const ENDINGS: &[&str] = &["cu", "hip", "cpp", "cc", "cxx", "cuh", "h", "hpp"];
/// Maximum files to search.
const MOST_FILES: usize = 5_000;

/// The only file below a folder that defines the kernel.
pub(super) fn find_source(tree: &Path, out: &Path, kernel: &str) -> Option<PathBuf> {
    let out = out.canonicalize().unwrap_or_default();
    let mut folders = vec![tree.canonicalize().ok()?];
    let (mut found, mut looked) = (Vec::new(), 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).ok()?.flatten() {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && path != out && !entry.file_name().to_string_lossy().starts_with('.') {
                folders.push(path);
            } else if kind.is_file()
                && path.extension().is_some_and(|end| ENDINGS.iter().any(|one| end == *one))
            {
                looked += 1;
                if looked > MOST_FILES {
                    return None;
                }
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                let named = |source: Source| {
                    source.kernels().iter().any(|one| kernel.is_empty() || one.name == base_name(kernel))
                };
                if text.contains("__global__")
                    && text.contains(kernel)
                    && Source::parse(&text).is_some_and(named)
                {
                    found.push(path);
                }
            }
        }
    }
    (found.len() == 1).then(|| found.remove(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(name: &str, total_ns: i64, share_pct: f64) -> Ranked {
        let evidence =
            Evidence { total_ns: Some(total_ns), share_pct: Some(share_pct), ..Evidence::default() };
        Ranked { name: name.into(), evidence }
    }

    #[test]
    fn kernels_on_the_path_come_before_those_with_more_time() {
        let (found, note) = worthwhile(&[ranked("a", 10, 60.0), ranked("b", 90, 2.0)]);
        assert_eq!((found.len(), found[0].name.as_str(), note), (1, "a", None));
    }

    #[test]
    fn a_path_of_the_host_alone_leaves_kernel_time_to_say() {
        let (found, note) = worthwhile(&[ranked("a", 3, 0.0), ranked("b", 97, 0.0)]);
        assert_eq!((found.len(), found[0].name.as_str()), (1, "b"));
        assert_eq!((found[0].evidence.share_pct, found[0].evidence.ranked_by), (Some(97.0), "kernel time"));
        assert!(note.is_some_and(|note| note.contains("may not shorten")));
    }
}
