//! rocpd: the names of its tables, and the suffix that identifies their recording.

pub mod versions;

/// Prefix of the tables of recordings.
pub const BEGINNING: &str = "rocpd_";

/// Names of the tables, without the suffix of their recording.
pub mod table {
    /// Facts about the database.
    pub const METADATA: &str = "rocpd_metadata";
    /// Every text, once.
    pub const STRING: &str = "rocpd_string";
    /// Machines.
    pub const INFO_NODE: &str = "rocpd_info_node";
    /// Processes.
    pub const INFO_PROCESS: &str = "rocpd_info_process";
    /// Threads.
    pub const INFO_THREAD: &str = "rocpd_info_thread";
    /// CPUs and GPUs.
    pub const INFO_AGENT: &str = "rocpd_info_agent";
    /// HSA queues.
    pub const INFO_QUEUE: &str = "rocpd_info_queue";
    /// HIP streams.
    pub const INFO_STREAM: &str = "rocpd_info_stream";
    /// Counters.
    pub const INFO_PMC: &str = "rocpd_info_pmc";
    /// Code objects.
    pub const INFO_CODE_OBJECT: &str = "rocpd_info_code_object";
    /// Kernels of code objects.
    pub const INFO_KERNEL_SYMBOL: &str = "rocpd_info_kernel_symbol";
    /// Tracks of samples.
    pub const TRACK: &str = "rocpd_track";
    /// What rows of other tables have in common.
    pub const EVENT: &str = "rocpd_event";
    /// Arguments of calls.
    pub const ARG: &str = "rocpd_arg";
    /// Counter values.
    pub const PMC_EVENT: &str = "rocpd_pmc_event";
    /// Host intervals.
    pub const REGION: &str = "rocpd_region";
    /// Points in time.
    pub const SAMPLE: &str = "rocpd_sample";
    /// Kernels.
    pub const KERNEL_DISPATCH: &str = "rocpd_kernel_dispatch";
    /// Copies.
    pub const MEMORY_COPY: &str = "rocpd_memory_copy";
    /// Allocations.
    pub const MEMORY_ALLOCATE: &str = "rocpd_memory_allocate";
    /// Launches of graphs.
    pub const GRAPH_LAUNCH: &str = "rocpd_graph_launch";
    /// Records of and waits for HIP events.
    pub const HIP_EVENT: &str = "rocpd_hip_event";
    /// Operations of events (a branch).
    pub const EVENT_OPERATION: &str = "rocpd_event_operation";
    /// Categories (4.1).
    pub const INFO_CATEGORY: &str = "rocpd_info_category";
    /// Call stacks (4.1).
    pub const CALL_STACK: &str = "rocpd_call_stack";
    /// Source lines (4.1).
    pub const LINE_INFO: &str = "rocpd_line_info";
    /// Program counters (4.1).
    pub const INFO_PC: &str = "rocpd_info_pc";
    /// Source files (4.1).
    pub const INFO_SOURCE_CODE: &str = "rocpd_info_source_code";
    /// Address ranges (4.1).
    pub const INFO_ADDRESS_RANGE: &str = "rocpd_info_address_range";
    /// Times, by number (4.0).
    pub const TIMESTAMP: &str = "rocpd_timestamp";
}

/// Names of views that people query like tables.
pub mod view {
    /// `kernels`.
    pub const KERNELS: &str = "kernels";
    /// `regions`.
    pub const REGIONS: &str = "regions";
    /// `region_args`.
    pub const REGION_ARGS: &str = "region_args";
    /// `samples`.
    pub const SAMPLES: &str = "samples";
    /// `events_args`.
    pub const EVENTS_ARGS: &str = "events_args";
    /// `pmc_events`.
    pub const PMC_EVENTS: &str = "pmc_events";
    /// `memory_copies`.
    pub const MEMORY_COPIES: &str = "memory_copies";
    /// `memory_allocations`.
    pub const MEMORY_ALLOCATIONS: &str = "memory_allocations";
}

/// Tables of schemas 3 and 4, and those of branches with the same prefix.
pub const TABLES: [&str; 30] = [
    table::METADATA,
    table::STRING,
    table::INFO_NODE,
    table::INFO_PROCESS,
    table::INFO_THREAD,
    table::INFO_AGENT,
    table::INFO_QUEUE,
    table::INFO_STREAM,
    table::INFO_PMC,
    table::INFO_CODE_OBJECT,
    table::INFO_KERNEL_SYMBOL,
    table::TRACK,
    table::EVENT,
    table::ARG,
    table::PMC_EVENT,
    table::REGION,
    table::SAMPLE,
    table::KERNEL_DISPATCH,
    table::MEMORY_COPY,
    table::MEMORY_ALLOCATE,
    table::GRAPH_LAUNCH,
    table::HIP_EVENT,
    table::EVENT_OPERATION,
    table::INFO_CATEGORY,
    table::CALL_STACK,
    table::LINE_INFO,
    table::INFO_PC,
    table::INFO_SOURCE_CODE,
    table::INFO_ADDRESS_RANGE,
    table::TIMESTAMP,
];

/// This many of them are in every database; a missing one is reported.
pub const EXPECTED: usize = 20;

/// The base name of a rocpd table and its suffix. `rocpd_event_operation_1` is not a `rocpd_event`.
pub fn base_of(name: &str) -> Option<(&'static str, &str)> {
    let fits = |base: &&&'static str| {
        name.strip_prefix(**base).is_some_and(|suffix| {
            // Some writers omit the underscore.
            suffix.is_empty()
                || suffix.starts_with('_')
                || suffix.starts_with(|c: char| c.is_ascii_hexdigit())
        })
    };
    let base = TABLES.iter().filter(fits).max_by_key(|base| base.len())?;
    Some((base, &name[base.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_a_common_beginning_stay_apart() {
        assert_eq!(base_of("rocpd_event_12ab"), Some(("rocpd_event", "_12ab")));
        assert_eq!(base_of("rocpd_event_operation_12ab"), Some(("rocpd_event_operation", "_12ab")));
        assert_eq!(base_of("rocpd_event"), Some(("rocpd_event", "")));
        assert_eq!(base_of("rocpd_region12ab"), Some(("rocpd_region", "12ab")));
        assert_eq!(base_of("rocpd_regions"), None);
        assert_eq!(base_of("rocpd_info_process_1"), Some(("rocpd_info_process", "_1")));
        assert_eq!(base_of("rocpd_info_pc_1"), Some(("rocpd_info_pc", "_1")));
        assert_eq!(base_of("rocpd_api"), None);
    }
}
