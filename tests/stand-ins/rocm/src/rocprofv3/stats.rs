//! The `--stats` files: one per domain that has rows, and one of all domains.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use trace::Trace;

use super::naming;

#[derive(Clone, Default)]
struct Durations(Vec<i64>);

/// Writes the files; returns their paths.
pub(super) fn write(trace: &Trace, prefix: &Path) -> io::Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    let mut all: BTreeMap<String, Durations> = BTreeMap::new();
    for (domain, stem, rows) in domains(trace) {
        if rows.is_empty() {
            continue;
        }
        let path = naming::file(prefix, &format!("{stem}_stats.csv"));
        table(&path, &rows)?;
        written.push(path);
        all.entry(domain.into()).or_default().0.extend(rows.values().flat_map(|d| d.0.iter().copied()));
    }
    if !all.is_empty() {
        let path = naming::file(prefix, "domain_stats.csv");
        table(&path, &all)?;
        written.push(path);
    }
    Ok(written)
}

type Rows = BTreeMap<String, Durations>;

fn domains(trace: &Trace) -> Vec<(&'static str, &'static str, Rows)> {
    let group = |names: Vec<(String, i64)>| {
        let mut rows = Rows::new();
        for (name, duration) in names {
            rows.entry(name).or_default().0.push(duration);
        }
        rows
    };
    let text = |id| trace.strings.get(id).to_string();
    let calls = |start: &str| {
        let rows = trace.regions.rows().filter(|r| trace.strings.get(r.category).starts_with(start));
        group(rows.map(|r| (text(r.name), r.end - r.start)).collect())
    };
    let kernels = trace.kernels.rows().map(|k| (text(k.name), k.end - k.start)).collect();
    let copies = trace.memory_copies.rows().map(|c| (text(c.name), c.end - c.start)).collect();
    vec![
        ("KERNEL_DISPATCH", "kernel", group(kernels)),
        ("HIP_API", "hip_api", calls("HIP_")),
        ("HSA_API", "hsa_api", calls("HSA_")),
        ("MARKER_API", "marker_api", calls("MARKER_")),
        ("MEMORY_COPY", "memory_copy", group(copies)),
    ]
}

fn table(path: &Path, rows: &Rows) -> io::Result<()> {
    let total: i64 = rows.values().flat_map(|d| &d.0).sum();
    let mut sorted: Vec<(&String, &Durations)> = rows.iter().collect();
    sorted.sort_by_key(|(_, durations)| std::cmp::Reverse(durations.0.iter().sum::<i64>()));
    let mut out = String::from(
        "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\",\"MinNs\",\"MaxNs\",\"StdDev\"\n",
    );
    for (name, Durations(durations)) in sorted {
        let (count, sum) = (durations.len() as f64, durations.iter().sum::<i64>());
        let mean = sum as f64 / count;
        let squares: f64 = durations.iter().map(|d| (*d as f64 - mean).powi(2)).sum();
        let deviation = if count > 1.0 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        let percentage = 100.0 * sum as f64 / total.max(1) as f64;
        let (min, max) = (durations.iter().min().unwrap_or(&0), durations.iter().max().unwrap_or(&0));
        let [mean, percentage, deviation] = [mean, percentage, deviation].map(number);
        out.push_str(&format!("\"{name}\",{count},{sum},{mean},{percentage},{min},{max},{deviation}\n"));
    }
    std::fs::write(path, out)
}

fn number(value: f64) -> String {
    if value.abs() >= 1.0 || value == 0.0 { format!("{value:.6}") } else { format!("{value:.8e}") }
}
