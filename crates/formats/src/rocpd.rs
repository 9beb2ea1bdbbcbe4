//! rocpd: the names of its tables, and how they carry the suffix of their recording.

/// How the tables of recordings begin.
pub const BEGINNING: &str = "rocpd_";

/// Tables of schema 3, and those of revisions and branches whose names begin alike.
pub const TABLES: [&str; 30] = [
    "rocpd_metadata",
    "rocpd_string",
    "rocpd_info_node",
    "rocpd_info_process",
    "rocpd_info_thread",
    "rocpd_info_agent",
    "rocpd_info_queue",
    "rocpd_info_stream",
    "rocpd_info_pmc",
    "rocpd_info_code_object",
    "rocpd_info_kernel_symbol",
    "rocpd_track",
    "rocpd_event",
    "rocpd_arg",
    "rocpd_pmc_event",
    "rocpd_region",
    "rocpd_sample",
    "rocpd_kernel_dispatch",
    "rocpd_memory_copy",
    "rocpd_memory_allocate",
    "rocpd_graph_launch",
    "rocpd_hip_event",
    "rocpd_event_operation",
    "rocpd_info_category",
    "rocpd_call_stack",
    "rocpd_line_info",
    "rocpd_info_pc",
    "rocpd_info_source_code",
    "rocpd_info_address_range",
    "rocpd_timestamp",
];

/// Every database of schema 3 has these; one that is missing is worth a word.
pub const EXPECTED: usize = 20;

/// The base name of a rocpd table and its suffix. `rocpd_event_operation_1` is no `rocpd_event`.
pub fn base_of(name: &str) -> Option<(&'static str, &str)> {
    let fits = |base: &&&'static str| {
        name.strip_prefix(**base).is_some_and(|suffix| {
            // Some writers leave the underscore out.
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
