//! Which kernels are worth the trouble, and where they are written.

use std::path::{Path, PathBuf};

use analysis::{Classifier, CriticalPathOptions, critical_path};
use trace::Trace;

use super::propose::Evidence;
use super::session::Ranked;
use super::source::{Source, base_name};
use crate::measure::Reading;

/// Kernels by what they contribute to the critical path; by their time where there is no path.
pub(super) fn rank(reading: &Reading, gpu: Option<String>) -> Vec<Ranked> {
    let on_path = reading.trace.as_deref().and_then(on_path);
    let total: i64 = reading.kernels.iter().map(|(_, time)| time.total_ns).sum();
    let mut kernels: Vec<Ranked> = reading
        .kernels
        .iter()
        .map(|(name, time)| {
            let share = on_path
                .as_ref()
                .map(|path| path.iter().find(|(other, _)| other == name).map_or(0.0, |(_, share)| *share));
            let by_time = 100.0 * time.total_ns as f64 / total.max(1) as f64;
            let evidence = Evidence {
                dispatches: time.dispatches,
                total_ns: Some(time.total_ns),
                share_pct: Some(share.unwrap_or(by_time)),
                ranked_by: if share.is_some() { "critical path" } else { "kernel time" },
                workgroup: reading.trace.as_deref().and_then(|trace| workgroup(trace, name)),
                gpu: gpu.clone(),
            };
            Ranked { name: analysis::names::demangle(name).into_owned(), evidence }
        })
        .collect();
    kernels.sort_by(|a, b| {
        let share = |one: &Ranked| one.evidence.share_pct.unwrap_or(0.0);
        share(b).total_cmp(&share(a))
    });
    kernels
}

/// Share of the critical path of every kernel on it, by the name in the trace.
fn on_path(trace: &Trace) -> Option<Vec<(String, f64)>> {
    let path = critical_path(trace, &Classifier::builtin(), &CriticalPathOptions::default()).ok()?;
    let table = path.report.table("kernels")?;
    let (name, share) = (table.column("name")?, table.column("share_pct")?);
    let mut shares = Vec::new();
    for row in &table.rows {
        if let (report::Value::Text(name), Some(share)) = (&row[name], row[share].number()) {
            shares.push((name.clone(), share));
        }
    }
    (!shares.is_empty()).then_some(shares)
}

/// Threads of a workgroup, where all dispatches of a kernel have the same.
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

/// Endings of files that may hold kernels.
const ENDINGS: &[&str] = &["cu", "hip", "cpp", "cc", "cxx", "cuh", "h", "hpp"];
/// Files looked into at most.
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
