//! rocprofv3's names for allocations, and rocpd's equivalents.

/// Operations by a part of their name: rocpd's type and level. The first match wins.
const OPERATIONS: &[(&str, &str, &str)] = &[
    ("SCRATCH_MEMORY_ALLOC", "ALLOC", "SCRATCH"),
    ("SCRATCH_MEMORY_FREE", "FREE", "SCRATCH"),
    ("SCRATCH_MEMORY_ASYNC_RECLAIM", "RECLAIM", "SCRATCH"),
    ("VMEM_ALLOCATE", "ALLOC", "VIRTUAL"),
    ("VMEM_FREE", "FREE", "VIRTUAL"),
    // Every name contains the domain, `MEMORY_ALLOCATION`: check the other words first.
    ("FREE", "FREE", "REAL"),
    ("REALLOC", "REALLOC", "REAL"),
    ("ALLOCATE", "ALLOC", "REAL"),
];

/// rocpd's type and level of an operation (`MEMORY_ALLOCATION_ALLOCATE` is `ALLOC`, `REAL`); unknown words
/// are kept.
pub(crate) fn allocation(operation: &str) -> (&str, &'static str) {
    let known = OPERATIONS.iter().find(|(part, ..)| operation.contains(part));
    known.map_or((operation, ""), |(_, kind, level)| (kind, level))
}

/// rocpd's type and level of a scratch memory operation; older releases omit the domain.
pub(crate) fn scratch(operation: &str) -> (&str, &'static str) {
    let kind = ["RECLAIM", "FREE", "ALLOC"].into_iter().find(|word| operation.contains(word));
    (kind.unwrap_or(operation), "SCRATCH")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_become_rocpds_words() {
        assert_eq!(allocation("MEMORY_ALLOCATION_ALLOCATE"), ("ALLOC", "REAL"));
        assert_eq!(allocation("MEMORY_ALLOCATION_VMEM_FREE"), ("FREE", "VIRTUAL"));
        assert_eq!(allocation("MEMORY_ALLOCATION_FREE"), ("FREE", "REAL"));
        assert_eq!(allocation("MEMORY_ALLOCATION_NEW"), ("MEMORY_ALLOCATION_NEW", ""));
        assert_eq!(scratch("SCRATCH_MEMORY_ASYNC_RECLAIM"), ("RECLAIM", "SCRATCH"));
        assert_eq!(scratch("SCRATCH_MEMORY_FREE"), ("FREE", "SCRATCH"));
        assert_eq!(scratch("SCRATCH_MEMORY_ALLOC"), ("ALLOC", "SCRATCH"));
    }
}
