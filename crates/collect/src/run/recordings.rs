//! The files of a pass: recordings by process, whether they can be read, and their contents.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ingest::{Format, Progress};
use trace::{Needs, Trace};

use crate::profiler::ProfilerKind;

/// Everything recorded by the processes of one rank, or of a run without ranks.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    /// The rank, if names have it.
    pub rank: Option<u32>,
    /// Files to read, one format per process.
    pub files: Vec<PathBuf>,
    /// Their contents.
    pub trace: Trace,
}

/// Everything that a pass wrote.
#[derive(Debug, Default)]
pub(crate) struct Recordings {
    /// By rank.
    pub ranks: Vec<Recorded>,
    /// Total kernels.
    pub kernels: usize,
    /// Total host regions and samples, which a run without a GPU may have.
    pub host: usize,
    /// Files that cannot be read.
    pub unreadable: Vec<String>,
}

impl Recordings {
    /// Searches a pass's folder.
    pub fn find(folder: &Path, kind: ProfilerKind, needs: &Needs) -> Self {
        match kind {
            ProfilerKind::Rocprofv3 | ProfilerKind::RocprofSys(_) => Self::of_rocprofv3(folder, needs),
            ProfilerKind::Rocprof => Self::of_rocprof(folder, needs),
        }
    }

    fn of_rocprofv3(folder: &Path, needs: &Needs) -> Self {
        let mut found = Self::default();
        let inputs = match ingest::find_usable_inputs(&[folder.to_path_buf()]) {
            Ok((inputs, unusable)) => {
                found.unreadable = unusable.iter().map(ToString::to_string).collect();
                inputs
            }
            Err(ingest::Error::NoTraces { .. }) => return found,
            Err(error) => {
                found.unreadable.push(error.to_string());
                return found;
            }
        };
        // A process may have written several formats: the richest one is read.
        let mut processes: BTreeMap<String, ingest::Input> = BTreeMap::new();
        for input in inputs {
            let Some(order) = order(input.format) else { continue };
            let process = process_of(&input.path);
            match processes.get(&process) {
                Some(known) if order_of(known) <= order => {}
                _ => {
                    processes.insert(process, input);
                }
            }
        }
        let mut ranks: BTreeMap<Option<u32>, Vec<PathBuf>> = BTreeMap::new();
        for input in processes.into_values() {
            let name = input.path.file_name().map(PathBuf::from).unwrap_or_default();
            ranks.entry(ingest::rank_of_path(&name)).or_default().extend(input.files);
        }
        for (rank, files) in ranks {
            let (files, trace) = read(files, needs, &mut found.unreadable);
            if !files.is_empty() {
                if trace.kernels.is_empty() {
                    let damage = trace.health.problems().filter(|check| check.id != "coverage");
                    found.unreadable.extend(damage.map(|check| check.message.clone()));
                }
                found.kernels += trace.kernels.len();
                found.host += trace.regions.len() + trace.samples.len();
                found.ranks.push(Recorded { rank, files, trace });
            }
        }
        found
    }

    /// The legacy profiler's tables: a row for each kernel, whatever its files are called.
    fn of_rocprof(folder: &Path, needs: &Needs) -> Self {
        let mut found = Self::default();
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let tables = files.filter(|path| path.extension().is_some_and(|end| end == "csv"));
        for file in tables.filter(|file| ingest::detect(file).is_ok_and(|found| found == Format::Rocprof)) {
            let rank = file.file_name().and_then(|name| ingest::rank_of_path(Path::new(name)));
            let (files, trace) = read(vec![file], needs, &mut found.unreadable);
            if !files.is_empty() {
                found.kernels += trace.kernels.len();
                found.ranks.push(Recorded { rank, files, trace });
            }
        }
        found.ranks.sort_by_key(|recorded| recorded.rank);
        found
    }

    /// Names of all counters that were recorded.
    pub fn counters(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .ranks
            .iter()
            .flat_map(|recorded| {
                let trace = &recorded.trace;
                trace.counter_kinds.iter().map(|kind| trace.strings.get(kind.name).to_string())
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Reads files together; if that fails, those that can be read.
fn read(files: Vec<PathBuf>, needs: &Needs, unreadable: &mut Vec<String>) -> (Vec<PathBuf>, Trace) {
    let progress = Progress::default();
    let error = match ingest::read(&files, needs, &progress) {
        Ok(trace) => return (files, trace),
        Err(error) => error.to_string(),
    };
    let fits = |file: &PathBuf| ingest::read(std::slice::from_ref(file), needs, &progress).is_ok();
    let usable: Vec<PathBuf> = files.into_iter().filter(fits).collect();
    unreadable.push(error);
    match ingest::read(&usable, needs, &progress) {
        Ok(trace) => (usable, trace),
        Err(_) => (Vec::new(), Trace::default()),
    }
}

fn order(format: Format) -> Option<usize> {
    [Format::Rocpd, Format::Rocprofv3Json, Format::Rocprofv3Csv].iter().position(|known| *known == format)
}

fn order_of(input: &ingest::Input) -> usize {
    order(input.format).unwrap_or(usize::MAX)
}

/// Suffixes that rocprofv3 adds to the name of a process.
const STEMS: &[&str] = &[
    "_results",
    "_kernel_trace",
    "_hip_api_trace",
    "_hsa_api_trace",
    "_marker_api_trace",
    "_rccl_api_trace",
    "_rocdecode_api_trace",
    "_rocjpeg_api_trace",
    "_memory_copy_trace",
    "_memory_allocation_trace",
    "_scratch_memory_trace",
    "_counter_collection",
    "_pc_sampling_host_trap",
    "_pc_sampling_stochastic",
    "_agent_info",
    "_stats",
];

/// What the names of one process's files have in common.
fn process_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let cut = STEMS.iter().find_map(|end| stem.strip_suffix(end)).unwrap_or(&stem);
    path.parent().unwrap_or(Path::new("")).join(cut).display().to_string()
}
