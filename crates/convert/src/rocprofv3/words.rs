//! rocprofiler's names for what a trace holds.

/// Domains of host calls: stem of the CSV file, key in the JSON, prefixes of categories.
pub(super) const DOMAINS: [Domain; 6] = [
    Domain { stem: "hip_api_trace", key: "hip_api", starts: &["HIP_", "cuda_runtime", "cuda_driver"] },
    Domain { stem: "hsa_api_trace", key: "hsa_api", starts: &["HSA_"] },
    Domain { stem: "rccl_api_trace", key: "rccl_api", starts: &["RCCL_"] },
    Domain { stem: "rocdecode_api_trace", key: "rocdecode_api", starts: &["ROCDECODE_"] },
    Domain { stem: "rocjpeg_api_trace", key: "rocjpeg_api", starts: &["ROCJPEG_"] },
    // Markers, and every other host interval: ops, annotations, Python frames.
    Domain { stem: "marker_api_trace", key: "marker_api", starts: &[""] },
];

/// A domain of host calls.
pub(super) struct Domain {
    pub stem: &'static str,
    pub key: &'static str,
    starts: &'static [&'static str],
}

/// The number of the domain that a category belongs to.
pub(super) fn domain(category: &str) -> usize {
    let fits = |domain: &Domain| domain.starts.iter().any(|start| category.starts_with(start));
    DOMAINS.iter().position(fits).unwrap_or(DOMAINS.len() - 1)
}

/// rocprofv3's name for the category.
pub(super) fn kind(category: &str) -> &str {
    const KINDS: [(&str, &str); 4] = [
        ("cuda_runtime", "HIP_RUNTIME_API_EXT"),
        ("cuda_driver", "HIP_RUNTIME_API_EXT"),
        ("user_annotation", "MARKER_CORE_RANGE_API"),
        ("", "MARKER_CORE_RANGE_API"),
    ];
    KINDS.iter().find(|(torch, _)| *torch == category).map_or(category, |(_, kind)| kind)
}

/// Copies: (word in the name, operation).
pub(super) fn direction(name: &str) -> &str {
    const DIRECTIONS: [(&str, &str); 8] = [
        ("HOST_TO_DEVICE", "MEMORY_COPY_HOST_TO_DEVICE"),
        ("DEVICE_TO_HOST", "MEMORY_COPY_DEVICE_TO_HOST"),
        ("DEVICE_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_DEVICE"),
        ("HOST_TO_HOST", "MEMORY_COPY_HOST_TO_HOST"),
        ("HtoD", "MEMORY_COPY_HOST_TO_DEVICE"),
        ("DtoH", "MEMORY_COPY_DEVICE_TO_HOST"),
        ("DtoD", "MEMORY_COPY_DEVICE_TO_DEVICE"),
        ("HtoH", "MEMORY_COPY_HOST_TO_HOST"),
    ];
    DIRECTIONS.iter().find(|(word, _)| name.contains(word)).map_or(name, |(_, operation)| operation)
}

/// Allocations: (kind, level, operation).
const ALLOCATIONS: [(&str, &str, &str); 7] = [
    ("ALLOC", "REAL", "MEMORY_ALLOCATION_ALLOCATE"),
    ("FREE", "REAL", "MEMORY_ALLOCATION_FREE"),
    ("ALLOC", "VIRTUAL", "MEMORY_ALLOCATION_VMEM_ALLOCATE"),
    ("FREE", "VIRTUAL", "MEMORY_ALLOCATION_VMEM_FREE"),
    ("ALLOC", "SCRATCH", "SCRATCH_MEMORY_ALLOC"),
    ("FREE", "SCRATCH", "SCRATCH_MEMORY_FREE"),
    ("RECLAIM", "SCRATCH", "SCRATCH_MEMORY_ASYNC_RECLAIM"),
];

/// The operation of an allocation; its own kind if rocprofiler has none.
pub(super) fn allocation<'a>(kind: &'a str, level: &str) -> &'a str {
    let known = ALLOCATIONS.iter().find(|(k, l, _)| *k == kind && (*l == level || level.is_empty()));
    known.map_or(kind, |(_, _, operation)| operation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_category_has_a_file() {
        assert_eq!(DOMAINS[domain("HIP_RUNTIME_API_EXT")].key, "hip_api");
        assert_eq!(DOMAINS[domain("cuda_runtime")].key, "hip_api");
        assert_eq!(DOMAINS[domain("HSA_CORE_API")].key, "hsa_api");
        assert_eq!(DOMAINS[domain("MARKER_CORE_RANGE_API")].key, "marker_api");
        assert_eq!(DOMAINS[domain("python_function")].key, "marker_api");
        assert_eq!(allocation("FREE", "REAL"), "MEMORY_ALLOCATION_FREE");
        assert_eq!(allocation("NEW", "ODD"), "NEW");
        assert_eq!(direction("Memcpy DtoH (Device -> Pageable)"), "MEMORY_COPY_DEVICE_TO_HOST");
    }
}
