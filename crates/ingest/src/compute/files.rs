//! The files of a workload folder.

use std::path::{Path, PathBuf};

use super::header::Header;
use crate::rocprofv3::csv::header::columns;

/// What a file of a workload is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// `pmc_perf.csv`: all passes joined.
    Joined,
    /// `pmc_perf_3.csv`: one pass.
    Pass,
    /// `SQ_LEVEL_WAVES.csv`: the pass of a level counter.
    Level,
    /// `timestamps.csv`: a run without counters.
    Times,
}

impl Part {
    pub fn of(path: &Path) -> Option<Self> {
        let stem = path.file_name()?.to_str()?.strip_suffix(".csv")?;
        match stem {
            "pmc_perf" => Some(Part::Joined),
            "timestamps" => Some(Part::Times),
            _ if stem.strip_prefix("pmc_perf_").is_some_and(is_number) => Some(Part::Pass),
            _ if stem.starts_with("SQ") => Some(Part::Level),
            _ => None,
        }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a file with this name and first line belongs to a workload of ROCm Compute Profiler.
pub(crate) fn is_workload_table(path: &Path, line: &[u8]) -> bool {
    Part::of(path).is_some() && Header::of(&columns(line)).is_dispatches()
}

/// Whether this first line is that of the legacy rocprof's results: with times, or with counters alone.
pub(crate) fn is_legacy_table(line: &[u8]) -> bool {
    let names: Vec<String> = columns(line).iter().map(|name| name.to_ascii_lowercase()).collect();
    let has = |wanted: [&str; 3]| wanted.iter().all(|name| names.iter().any(|known| known == name));
    has(["kernelname", "beginns", "endns"]) || has(["kernelname", "gpu-id", "grd"])
}

/// The workload's folder and its tables, given one of them.
pub(crate) fn workload_of(path: &Path) -> (PathBuf, Vec<PathBuf>) {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| Part::of(path).is_some())
        .collect();
    files.sort();
    (folder.into(), files)
}
