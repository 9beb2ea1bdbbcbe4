//! The files of a workload folder.

use std::path::{Path, PathBuf};

use super::header::Header;
use crate::rocprofv3::csv::header::columns;

/// The role of a workload's file, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkloadFile {
    /// `pmc_perf.csv`: all passes joined.
    Joined,
    /// `pmc_perf_3.csv`: one pass.
    Pass,
    /// `SQ_LEVEL_WAVES.csv`: the pass of a level counter.
    Level,
    /// `timestamps.csv`: a run without counters.
    Times,
    /// `results_pmc_perf_3.csv`: one pass before `analyze` joins them.
    Results,
    /// `ml_api_trace_pmc_perf_3_marker_api_trace.csv`: operators of a pass.
    Operators,
    /// `ml_api_trace_pmc_perf_3_counter_collection.csv`: which launches belong to them.
    Launches,
}

impl WorkloadFile {
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        // Release 3.9 compresses tables.
        let stem = name.strip_suffix(".gz").unwrap_or(name).strip_suffix(".csv")?;
        match stem {
            "pmc_perf" => Some(WorkloadFile::Joined),
            "timestamps" => Some(WorkloadFile::Times),
            _ if stem.strip_prefix("pmc_perf_").is_some_and(is_number) => Some(WorkloadFile::Pass),
            _ if stem.starts_with("SQ") => Some(WorkloadFile::Level),
            _ if stem.starts_with("results_") => Some(WorkloadFile::Results),
            _ if !OPERATOR_FILES.iter().any(|start| stem.starts_with(start)) => None,
            _ if stem.ends_with(MARKERS) => Some(WorkloadFile::Operators),
            _ if stem.ends_with(LAUNCHES) => Some(WorkloadFile::Launches),
            _ => None,
        }
    }

    /// Whether such a file holds dispatches of the workload's own table.
    fn is_dispatches(self) -> bool {
        !matches!(self, WorkloadFile::Operators | WorkloadFile::Launches)
    }
}

/// Prefixes of operator files: `torch_trace` before release 3.8.
const OPERATOR_FILES: [&str; 2] = ["ml_api_trace", "torch_trace"];
const MARKERS: &str = "_marker_api_trace";
const LAUNCHES: &str = "_counter_collection";

/// The operators of one pass and the launches below them.
pub(super) struct OperatorFiles<'f> {
    pub markers: &'f Path,
    pub launches: &'f Path,
}

/// The first pass that has both files; `first` is the table whose pass is preferred, because its times are the trace's.
pub(super) fn operator_files<'f>(files: &'f [PathBuf], first: &Path) -> Option<OperatorFiles<'f>> {
    let stem = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.strip_suffix(".gz").unwrap_or(&name).trim_end_matches(".csv").to_string()
    };
    let pairs = || {
        files.iter().filter(|file| WorkloadFile::of(file) == Some(WorkloadFile::Operators)).filter_map(
            |markers| {
                let wanted = stem(markers).replace(MARKERS, LAUNCHES);
                Some(OperatorFiles { markers, launches: files.iter().find(|file| stem(file) == wanted)? })
            },
        )
    };
    let pass = stem(first).trim_start_matches("results_").to_string();
    let same = |pair: &OperatorFiles| stem(pair.markers).trim_end_matches(MARKERS).ends_with(&pass);
    pairs().find(same).or_else(|| pairs().next())
}

/// Whether a file next to a workload's tables repeats them: PC samples, which have their own analysis, and
/// the database that a pass was made from.
pub(crate) fn repeats_workload(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let is_samples = name.starts_with("ps_file_")
        || name.split_once("_ps_file_").is_some_and(|(process, _)| is_number(process));
    let pass = name.strip_suffix(".db").and_then(|stem| stem.rsplit_once('_'));
    is_samples
        || pass.is_some_and(|(pass, process)| {
            let table = |end| path.with_file_name(format!("results_{pass}.csv{end}")).exists();
            is_number(process) && (table("") || table(".gz"))
        })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a file with this name may belong to a workload of ROCm Compute Profiler.
pub(crate) fn has_workload_name(path: &Path) -> bool {
    WorkloadFile::of(path).is_some()
}

/// Whether a file with this name and first line belongs to a workload of ROCm Compute Profiler.
pub(crate) fn is_workload_table(path: &Path, line: &[u8]) -> bool {
    let Some(part) = WorkloadFile::of(path) else { return false };
    if part.is_dispatches() {
        return Header::of(&columns(line)).is_dispatches();
    }
    // Operator files alone are host calls, which rocprofv3's reader handles.
    workload_of(path).1.iter().any(|file| WorkloadFile::of(file).is_some_and(WorkloadFile::is_dispatches))
}

/// Whether this is the header line of the legacy rocprof's results: with times, or with counters only.
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
        .filter(|path| WorkloadFile::of(path).is_some())
        .collect();
    files.sort();
    (folder.into(), files)
}
