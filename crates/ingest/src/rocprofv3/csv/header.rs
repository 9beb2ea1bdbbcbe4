//! What a rocprofv3 CSV file contains, from its header: columns are matched by name, whatever the release.

use std::path::Path;

use crate::Progress;
use crate::bytes::{self, Opened};

/// No file's header is longer than this.
const WIDEST_HEADER: usize = 16 << 10;

/// What the rows of a CSV file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum CsvTable {
    /// `agent_info`: devices. First, because rows of the others name them.
    Agents,
    /// `kernel_trace`
    Kernels,
    /// `counter_collection`, one row per dispatch and counter.
    Counters,
    /// `hip_api_trace`, `hsa_api_trace`, `marker_api_trace`, `regions_trace` …
    Calls,
    /// `memory_copy_trace`
    Copies,
    /// `memory_allocation_trace`
    Allocations,
    /// `scratch_memory_trace`
    Scratch,
    /// `pc_sampling_host_trap`, `pc_sampling_stochastic`
    PcSamples,
    /// `graph_launch_trace`
    GraphLaunches,
    /// `hip_event_trace`
    HipEvents,
    /// `*_stats`: totals of rows in the other files.
    Totals,
}

/// Columns that identify a kind; the first match wins.
const KINDS: &[(CsvTable, &[&str])] = &[
    (CsvTable::Counters, &["counter_name", "counter_value"]),
    (CsvTable::Kernels, &["kernel_name", "start_timestamp", "end_timestamp"]),
    (CsvTable::PcSamples, &["sample_timestamp", "dispatch_id"]),
    (CsvTable::HipEvents, &["hip_event_handle", "start_timestamp"]),
    (CsvTable::Copies, &["direction", "start_timestamp", "end_timestamp"]),
    (CsvTable::Scratch, &["operation", "alloc_flags", "start_timestamp"]),
    (CsvTable::Allocations, &["operation", "allocation_size", "start_timestamp"]),
    (CsvTable::Calls, &["function", "start_timestamp", "end_timestamp"]),
    (CsvTable::Calls, &["category", "name", "start_timestamp", "end_timestamp"]),
    (CsvTable::GraphLaunches, &["graph_exec_id", "start_timestamp", "end_timestamp"]),
    (CsvTable::Agents, &["node_id", "agent_type"]),
    (CsvTable::Totals, &["name", "calls", "totaldurationns"]),
];

/// Tables of related tools that share column names, and their descriptions.
const OTHERS: &[(&[&str], &str)] = &[
    (&["lds_per_workgroup", "gpu_id"], "a counter table of rocprof-compute"),
    (&["codeobj", "vaddr"], "instruction statistics of a thread trace"),
];

/// The kind of a file with these column names (any case).
pub(crate) fn kind_of(columns: &[String]) -> Result<CsvTable, Option<&'static str>> {
    let lower: Vec<String> = columns.iter().map(|c| c.to_ascii_lowercase()).collect();
    let has_all = |wanted: &[&str]| wanted.iter().all(|w| lower.iter().any(|c| c == w));
    if let Some((_, what)) = OTHERS.iter().find(|(wanted, _)| has_all(wanted)) {
        return Err(Some(what));
    }
    KINDS.iter().find(|(_, wanted)| has_all(wanted)).map(|(kind, _)| *kind).ok_or(None)
}

/// The kind of a file, if it has one.
pub(crate) fn of_file(path: &Path) -> Option<CsvTable> {
    let progress = Progress::default();
    let line = |bytes: &[u8]| columns(bytes.split(|byte| *byte == b'\n').next().unwrap_or_default());
    let columns = match bytes::open(path, &progress).ok()? {
        Opened::Mapped(map) => line(&map),
        Opened::Stream(mut stream) => {
            let mut head = Vec::new();
            stream.fill(&mut head, WIDEST_HEADER);
            line(&head)
        }
    };
    kind_of(&columns).ok()
}

/// The column names of a header line, without quotes.
pub(crate) fn columns(line: &[u8]) -> Vec<String> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    String::from_utf8_lossy(line)
        .trim_end_matches(['\r', '\n'])
        .split(',')
        .map(|name| name.trim().trim_matches('"').to_string())
        .collect()
}

/// Suffixes of file names that rocprofv3 and `rocpd convert` use; the part before them names the run.
const STEMS: &[&str] = &[
    "agent_info",
    "counter_collection",
    "counter_collection_stats",
    "counter_collection_trace",
    "domain_stats",
    "graph_launch_trace",
    "hip_api_stats",
    "hip_api_trace",
    "hip_event_trace",
    "hip_stats",
    "hip_trace",
    "hsa_api_stats",
    "hsa_api_trace",
    "hsa_stats",
    "hsa_trace",
    "kernel_stats",
    "kernel_trace",
    "marker_api_stats",
    "marker_api_trace",
    "memory_allocation_stats",
    "memory_allocation_trace",
    "memory_copy_stats",
    "memory_copy_trace",
    "pc_sampling_host_trap",
    "pc_sampling_stochastic",
    "rccl_api_stats",
    "rccl_api_trace",
    "regions_trace",
    "rocdecode_api_stats",
    "rocdecode_api_trace",
    "rocjpeg_api_stats",
    "rocjpeg_api_trace",
    "scratch_memory_stats",
    "scratch_memory_trace",
    "spm_counter_collection_trace",
];

/// The run's prefix in a file name (`123` of `123_kernel_trace.csv`, empty of `kernel_trace.csv`).
pub(crate) fn prefix(file_name: &str) -> Option<&str> {
    let name = [".csv", ".csv.gz", ".csv.zst"].iter().find_map(|end| file_name.strip_suffix(end))?;
    let before = STEMS.iter().filter_map(|stem| name.strip_suffix(stem));
    // The longest stem leaves the shortest prefix: `x_hip_api_trace` is not `x_hip_api` + `trace`.
    let shortest = before.filter(|p| p.is_empty() || p.ends_with('_')).min_by_key(|p| p.len())?;
    Some(shortest.strip_suffix('_').unwrap_or(shortest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_name_the_run() {
        for (name, expected) in [
            ("123_kernel_trace.csv", Some("123")),
            ("kernel_trace.csv", Some("")),
            ("out_counter_collection_trace.csv", Some("out")),
            ("out_spm_counter_collection_trace.csv", Some("out")),
            ("a_b_hip_api_trace.csv.gz", Some("a_b")),
            ("pmc_perf.csv", None),
            ("mykernel_trace.csv", None),
            ("123_kernel_trace.txt", None),
        ] {
            assert_eq!(prefix(name), expected, "{name}");
        }
    }

    #[test]
    fn foreign_tables_are_named() {
        let pmc = columns(b"Dispatch_ID,GPU_ID,LDS_Per_Workgroup,Kernel_Name,Counter_Name,Counter_Value");
        assert!(kind_of(&pmc).unwrap_err().unwrap().contains("rocprof-compute"));
        assert_eq!(kind_of(&columns(b"a,b,c")), Err(None));
    }
}
